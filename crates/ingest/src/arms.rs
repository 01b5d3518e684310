//! Labels that distinguish the arms and the cells of a campaign, where the environment alone does not.
//!
//! In:  runs with all their labels.  Out: the same runs, in the arms that the campaign asks for and in cells of one setting each.
//! Not here: labels themselves (see `labelling`), comparing (see `verdict`).
//!
//! Folders of other tools often hold one run for each file, with no environment at all and with settings outside the workload label.
//! Runs of one cell whose settings differ are no repeats of each other. The workload then takes the settings that distinguish them.

use std::collections::{BTreeMap, BTreeSet};

use super::name::UNLABELLED;
use super::path_labels;
use sparkbench_model::{Campaign, Run, without_quantisation};
use sparkbench_text::slug::slug;

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
    // Only beside the runs where another label is compared.
    ("environment", |run| run.setup.more.get(Campaign::ENVIRONMENT_KEY).cloned()),
];

/// Values of each setting in each environment of a question.
type Values = BTreeMap<(String, usize), BTreeSet<String>>;

/// Turns the arms where the campaign compares another label, then parts cells of other tools' files by settings.
///
/// Environments that are named after what differs between them (`bf16` and `fp8`, `vllm` and `sglang`) compare that label, asked or not.
pub(super) fn sort_out(runs: &mut [Run], campaigns: &mut [Campaign]) {
    for campaign in campaigns {
        let mut own: Vec<&mut Run> = runs.iter_mut().filter(|run| run.campaign == campaign.name).collect();
        match campaign.compare_by.as_deref() {
            Some(label) => turn(&mut own, label),
            None => {
                campaign.compare_by = named_after(&own).map(str::to_owned);
                if let Some(label) = campaign.compare_by.as_deref() {
                    own.iter_mut().for_each(|run| widen(run, label));
                }
            }
        }
        part(&mut own, campaign.compare_by.as_deref());
    }
}

/// Names of arms that others are compared with, by default. Of quantisations it is the one that was not quantised.
const REFERENCES: &[&str] = &["native", "baseline", "base", "before", "main", "reference", "bf16", "fp16", "fp32"];

/// Gives campaigns without a baseline the one that the name of an arm suggests.
pub(super) fn reference(runs: &[Run], campaigns: &mut [Campaign]) {
    for campaign in campaigns.iter_mut().filter(|campaign| campaign.baseline.is_none()) {
        let own = || runs.iter().filter(|run| run.campaign == campaign.name).map(|run| run.environment.as_str());
        let named = REFERENCES.iter().find_map(|name| own().find(|arm| arm.eq_ignore_ascii_case(name)));
        campaign.baseline = named.map(str::to_owned);
    }
}

/// Makes the cells of two sides meet that have no model in common, by widening the names of their models. Gives the label that is then compared.
pub fn meet(runs: &mut [Run]) -> Option<&'static str> {
    let label = meets(runs)?;
    runs.iter_mut().for_each(|run| widen(run, label));
    Some(label)
}

/// Label that two sides without a common model compare: the quantisation where the names differ in nothing else, or the models themselves.
/// Nothing where cells meet already, or no label makes them.
pub fn meets(runs: &[Run]) -> Option<&'static str> {
    let shared = runs.iter().any(|a| runs.iter().any(|b| a.environment != b.environment && a.model == b.model));
    if shared {
        return None;
    }
    let stems: BTreeSet<String> = runs.iter().map(stem).collect();
    let quantised = runs.iter().all(|run| run.setup.quantisation.is_some());
    let mut of_arm: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    runs.iter().for_each(|run| _ = of_arm.entry(&run.environment).or_default().insert(&run.model));
    if of_arm.len() < 2 {
        return None;
    }
    if stems.len() == 1 && quantised {
        return Some("quantisation");
    }
    of_arm.values().all(|models| models.len() == 1).then_some("model")
}

/// The label after whose values the environments of these runs are named.
fn named_after(runs: &[&mut Run]) -> Option<&'static str> {
    let environments: BTreeSet<&str> = runs.iter().map(|run| run.environment.as_str()).collect();
    if environments.len() < 2 {
        return None;
    }
    let same = |a: &str, b: &str| slug(a) == slug(b);
    ["quantisation", "engine", "model"].into_iter().find(|label| {
        runs.iter().all(|run| {
            let arm = run.environment.as_str();
            value(run, label).is_some_and(|value| match *label {
                "quantisation" => path_labels::of_model(arm).is_some_and(|said| same(&said, &value)),
                "engine" => same(&path_labels::spelled(arm), &value),
                _ => same(arm, &value),
            })
        })
    })
}

/// Gives a run the model name that it shares with the runs of the other arms.
fn widen(run: &mut Run, label: &str) {
    match label {
        "quantisation" => run.model = stem(run),
        "model" => Campaign::EVERY_MODEL.clone_into(&mut run.model),
        _ => {}
    }
}

/// The model without its quantisation.
fn stem(run: &Run) -> String {
    run.setup.quantisation.as_deref().map_or_else(|| run.model.clone(), |q| without_quantisation(&run.model, q))
}

/// A run's value for a label.
fn value(run: &Run, label: &str) -> Option<String> {
    let setup = &run.setup;
    match label {
        "engine" => setup.engine.as_deref().map(path_labels::spelled),
        "engine_version" => setup.engine_version.clone(),
        "model" => Some(run.model.clone()).filter(|model| model != UNLABELLED),
        "quantisation" => setup.quantisation.as_ref().map(|q| q.to_lowercase()),
        "tool" => setup.tool.clone(),
        "kv_dtype" => setup.kv_dtype.as_ref().map(|kind| kind.to_lowercase()),
        "parallel" => setup.parallel.clone(),
        "prefix_cache" => setup.prefix_cache.map(|on| if on { "cached" } else { "uncached" }.to_owned()),
        "speculative" => setup.speculative.clone(),
        _ => None,
    }
}

/// Whether a run lacks the label that its campaign compares.
pub(super) fn lacks(run: &Run, label: &str) -> bool {
    value(run, label).is_none()
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
                    run.workload = format!("{}-{}", run.workload, slug(&value));
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
    if !Campaign::LABELS.contains(&label) {
        return;
    }
    for run in runs {
        let arm = value(run, label).unwrap_or_else(|| UNLABELLED.to_owned());
        widen(run, label);
        let own = std::mem::replace(&mut run.environment, arm);
        if own != UNLABELLED {
            run.setup.more.insert(Campaign::ENVIRONMENT_KEY.to_owned(), own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::{Course, Setup, Source, Status};

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
            settings: Default::default(),
            cell: String::new(),
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
            source: Source { path: String::new(), format: String::new(), sha256: String::new(), joined: None },
            files: Vec::new(),
        }
    }

    fn sorted(mut runs: Vec<Run>, compare_by: Option<&str>) -> Vec<(String, String)> {
        let compare_by = compare_by.map(str::to_owned);
        sort_out(&mut runs, &mut [Campaign { name: "c".into(), compare_by, ..Campaign::default() }]);
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
    fn the_names_of_models_give_way_where_quantisations_are_the_arms() {
        let made = |model: &str, quantisation: &str| {
            let mut run = run(UNLABELLED, "vLLM", 8.0);
            run.model = model.into();
            run.setup.quantisation = Some(quantisation.into());
            run
        };
        let mut runs = vec![made("Nano-30B-A3B-BF16", "bf16"), made("Nano-30B-A3B-FP8", "fp8")];
        let compare_by = Some("quantisation".to_owned());
        sort_out(&mut runs, &mut [Campaign { name: "c".into(), compare_by, ..Campaign::default() }]);
        let said: Vec<(&str, &str)> = runs.iter().map(|run| (run.environment.as_str(), run.model.as_str())).collect();
        assert_eq!(said, [("bf16", "Nano-30B-A3B"), ("fp8", "Nano-30B-A3B")]);
    }

    #[test]
    fn arms_that_are_named_after_what_differs_compare_it() {
        let mut runs = vec![run("vllm", "vLLM", 8.0), run("sglang", "SGLang", 8.0)];
        let mut campaigns = [Campaign { name: "c".into(), ..Campaign::default() }];
        sort_out(&mut runs, &mut campaigns);
        assert_eq!(campaigns[0].compare_by.as_deref(), Some("engine"));
        assert_eq!((runs[0].environment.as_str(), runs[1].environment.as_str()), ("vllm", "sglang"));
        let mut mixed = vec![run("native", "vLLM", 8.0), run("docker", "SGLang", 8.0)];
        campaigns[0].compare_by = None;
        sort_out(&mut mixed, &mut campaigns);
        assert_eq!(campaigns[0].compare_by, None);
    }

    #[test]
    fn engines_become_the_arms_where_the_campaign_asks() {
        let runs = vec![run(UNLABELLED, "vLLM", 8.0), run(UNLABELLED, "SGLang", 8.0)];
        assert_eq!(sorted(runs, Some("engine")), pairs(&[("vLLM", "random-1024-128"), ("SGLang", "random-1024-128")]));
    }
}
