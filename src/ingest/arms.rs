//! What tells the arms and the cells of a campaign apart, where the environment alone does not.
//!
//! In:  runs with all their labels.  Out: the same runs, in the arms that the campaign asks for and in cells of one setting each.
//! Not here: labels themselves (see `words`), comparing (see `verdict`).
//!
//! Folders of other tools often hold one run a file, with no environment at all and with settings that nobody wrote into a workload.
//! Runs of one cell whose settings differ are no repeats of each other; the workload then takes the settings that tell them apart.

use std::collections::{BTreeMap, BTreeSet};

use super::name::UNLABELLED;
use super::path_labels;
use crate::model::{Campaign, Run};

/// Settings that make two runs two cells, and how the workload says them.
type Setting = (&'static str, fn(&Run) -> Option<String>);

const SETTINGS: &[Setting] = &[
    ("tool", |run| run.setup.tool.clone()),
    ("engine", |run| run.setup.engine.as_deref().map(path_labels::spelled)),
    ("quantisation", |run| run.setup.quantisation.as_ref().map(|q| q.to_lowercase())),
    ("batch", |run| run.setup.batch.map(|batch| format!("c{batch}"))),
    ("request_rate", |run| run.setup.request_rate.map(|rate| format!("r{rate}"))),
    ("parallel", |run| run.setup.parallel.as_ref().map(|parallel| parallel.replace(' ', ""))),
    ("speculative", |run| run.setup.speculative.clone()),
    ("prefix_cache", |run| run.setup.prefix_cache.map(|on| if on { "cached" } else { "uncached" }.to_owned())),
];

/// What is seen of each setting in each environment of a question.
type Values = BTreeMap<(String, usize), BTreeSet<String>>;

/// Parts cells of other tools' files by settings, then turns the arms where the campaign compares another label.
pub(super) fn sort_out(runs: &mut [Run], campaigns: &[Campaign]) {
    for campaign in campaigns {
        let compared = campaign.compare_by.as_deref();
        let mut own: Vec<&mut Run> = runs.iter_mut().filter(|run| run.campaign == campaign.name).collect();
        part(&mut own, compared);
        if let Some(label) = compared {
            turn(&mut own, label);
        }
    }
}

/// One more word in the workload for each setting that differs within an environment of a question.
fn part(runs: &mut [&mut Run], compared: Option<&str>) {
    let question = |run: &Run| (run.model.clone(), run.workload.clone());
    let mut seen: BTreeMap<(String, String), Values> = BTreeMap::new();
    for run in runs.iter().filter(|run| foreign(run)) {
        let cells = seen.entry(question(run)).or_default();
        for (place, (name, of)) in SETTINGS.iter().enumerate() {
            if let Some(value) = of(run).filter(|_| compared != Some(name)) {
                cells.entry((run.environment.clone(), place)).or_default().insert(value);
            }
        }
    }
    for run in runs.iter_mut().filter(|run| foreign(run)) {
        let Some(cells) = seen.get(&question(run)) else { continue };
        let apart: BTreeSet<usize> =
            cells.iter().filter(|(_, values)| values.len() > 1).map(|((_, place), _)| *place).collect();
        for (_, (_, of)) in SETTINGS.iter().enumerate().filter(|(place, _)| apart.contains(place)) {
            if let Some(value) = of(run) {
                // A slug that holds the words already says them.
                if !format!("-{}-", run.workload).contains(&format!("-{value}-")) {
                    run.workload = format!("{}-{}", run.workload, super::slug(&value));
                }
            }
        }
    }
}

/// Runs of a known tool of others: our own archives and tables say themselves what a cell is.
fn foreign(run: &Run) -> bool {
    run.setup.tool.as_deref().is_some_and(|tool| !tool.starts_with("sparkbench"))
}

/// Makes a label the arm. The environment goes to the settings, where it must agree like any other.
fn turn(runs: &mut [&mut Run], label: &str) {
    for run in runs {
        let value = match label {
            "engine" => run.setup.engine.as_deref().map(path_labels::spelled),
            "quantisation" => run.setup.quantisation.as_ref().map(|q| q.to_lowercase()),
            "tool" => run.setup.tool.clone(),
            "model" => Some(std::mem::replace(&mut run.model, "every model".to_owned())),
            _ => continue,
        };
        let own = std::mem::replace(&mut run.environment, value.unwrap_or_else(|| UNLABELLED.to_owned()));
        if own != UNLABELLED {
            run.setup.more.insert(Campaign::ENVIRONMENT_KEY.to_owned(), own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Course, Setup, Source, Status};

    fn run(environment: &str, engine: &str, batch: f64) -> Run {
        Run {
            id: format!("{environment}-{engine}-{batch}"),
            campaign: "c".into(),
            environment: environment.into(),
            model: "m".into(),
            workload: "random-1024-128".into(),
            repeat: None,
            block: None,
            position: None,
            launch: None,
            started: None,
            ended: None,
            measured: None,
            status: Status::Done,
            readings: Vec::new(),
            series: Vec::new(),
            extras: Vec::new(),
            telemetry: Vec::new(),
            course: Course::default(),
            setup: Setup {
                tool: Some("guidellm".into()),
                engine: Some(engine.into()),
                batch: Some(batch),
                ..Setup::default()
            },
            source: Source { path: String::new(), format: String::new(), sha256: String::new() },
            files: Vec::new(),
        }
    }

    fn sorted(mut runs: Vec<Run>, compare_by: Option<&str>) -> Vec<(String, String)> {
        let compare_by = compare_by.map(str::to_owned);
        sort_out(&mut runs, &[Campaign { name: "c".into(), compare_by, ..Campaign::default() }]);
        runs.into_iter().map(|run| (run.environment, run.workload)).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn runs_of_other_settings_are_other_cells_and_no_repeats() {
        let runs = vec![run(UNLABELLED, "vLLM", 1.0), run(UNLABELLED, "vLLM", 8.0), run(UNLABELLED, "SGLang", 8.0)];
        let expected = [
            (UNLABELLED, "random-1024-128-vllm-c1"),
            (UNLABELLED, "random-1024-128-vllm-c8"),
            (UNLABELLED, "random-1024-128-sglang-c8"),
        ];
        assert_eq!(sorted(runs, None), pairs(&expected));
    }

    #[test]
    fn a_setting_that_only_differs_between_environments_is_left_to_the_verdict() {
        let runs = vec![run("native", "vLLM", 8.0), run("docker", "SGLang", 8.0)];
        assert_eq!(sorted(runs, None), pairs(&[("native", "random-1024-128"), ("docker", "random-1024-128")]));
    }

    #[test]
    fn engines_become_the_arms_where_the_campaign_asks() {
        let runs = vec![run(UNLABELLED, "vLLM", 8.0), run(UNLABELLED, "SGLang", 8.0)];
        assert_eq!(sorted(runs, Some("engine")), pairs(&[("vLLM", "random-1024-128"), ("SGLang", "random-1024-128")]));
    }
}
