//! What to do next: the option where nothing is compared, and the steps that would make a campaign's answer surer.
//!
//! In:  runs and campaigns, comparisons and traps.  Out: sentences.
//! Not here: advice on one comparison (see `grammar::said`), the remedy of a finding (see `trap`).

use std::collections::{BTreeMap, BTreeSet};

use super::Study;
use super::columns;
use super::grammar::said;
use super::number::{capital, count, list};
use super::report::{Analysis, CampaignReport, Comparison, Sentence, Severity, TrapReport, TrapStatus, VerdictKind};
use super::trap::{self, model_mismatch};
use sparkbench_model::{Campaign, Direction, Metric, Run, without_quantisation};

/// Names in the sentence. More are counted.
const MOST: usize = 3;

/// Steps that one campaign names. Nobody follows a longer list.
const MOST_STEPS: usize = 4;

/// The trap says how to count what was measured, and nothing that could be done.
const NO_STEP: &str = columns::PRODUCT;

/// The trap that says which model ran. The others only doubt the label, so its remedy comes first.
const NAMES_THE_MODEL: &str = model_mismatch::ID;

/// Gives every campaign its next steps.
pub(crate) fn give(analysis: &mut Analysis) {
    let steps: Vec<Vec<Sentence>> = analysis.campaigns.iter().map(|campaign| steps(analysis, campaign)).collect();
    for (campaign, steps) in analysis.campaigns.iter_mut().zip(steps) {
        campaign.next = steps;
    }
}

/// What spoils the answer comes first, then what makes it less sure, then the runs that would decide it: more runs of the same kind would
/// repeat the fault. A finding that few runs or machines cause by themselves is a step only where nothing else is.
fn steps(analysis: &Analysis, campaign: &CampaignReport) -> Vec<Sentence> {
    let fired: Vec<&TrapReport> = analysis
        .traps
        .iter()
        .filter(|t| {
            t.status == TrapStatus::Fired
                && t.subject.campaign == campaign.name
                && !t.remedy.is_empty()
                && t.id != NO_STEP
        })
        .collect();
    let (mut errors, rest): (Vec<&TrapReport>, Vec<&TrapReport>) =
        fired.into_iter().partition(|t| t.severity == Severity::Error);
    let (mut general, mut special): (Vec<&TrapReport>, Vec<&TrapReport>) =
        rest.into_iter().partition(|t| trap::find(t.id).is_some_and(|trap| trap.is_general()));
    errors.sort_by_key(|t| t.id != NAMES_THE_MODEL);
    special.sort_by_key(|t| t.severity);
    general.sort_by_key(|t| t.severity);
    let own = analysis.comparisons.iter().filter(|c| c.campaign == campaign.name && c.primary);
    let mut steps: Vec<Sentence> = Vec::new();
    remedies(&mut steps, &errors, MOST_STEPS / 2);
    remedies(&mut steps, &special, MOST_STEPS - 1);
    steps.extend(more_runs(&own.collect::<Vec<_>>()));
    if steps.is_empty() {
        remedies(&mut steps, &general, 1);
    }
    steps
}

/// The remedy of the gravest finding on each subject, until there are as many steps as asked for.
fn remedies(steps: &mut Vec<Sentence>, findings: &[&TrapReport], most: usize) {
    for finding in findings {
        if steps.len() >= most {
            return;
        }
        let text = format!("{}.", capital(finding.remedy.trim_end_matches('.')));
        let theme = |id: &str| trap::find(id).map(|trap| trap.theme());
        let told = |step: &Sentence| step.because.iter().any(|id| id == finding.id || theme(id) == theme(finding.id));
        if !steps.iter().any(told) {
            steps.push(Sentence { text, caveats: Vec::new(), because: vec![finding.id.to_owned()] });
        }
    }
}

/// "Measure 311 more runs per arm, taking turns. They should decide all 35 undecided comparisons. 38 more would be enough for half of them."
fn more_runs(own: &[&Comparison]) -> Option<Sentence> {
    let open: Vec<&Comparison> = own.iter().filter(|c| c.verdict.kind == VerdictKind::Inconclusive).copied().collect();
    let mut named: Vec<(u64, String)> = open.iter().filter_map(|c| said::more_of(c).zip(said::more_runs(c))).collect();
    named.sort_unstable();
    let (most, runs) = named.last()?;
    let half = named.get((named.len() - 1) / 2).map(|(half, _)| *half).filter(|half| half < most && named.len() > 3);
    let half = half.map_or_else(String::new, |half| format!(" {half} more would be enough for half of them."));
    let what = match (named.len(), open.len()) {
        (1, 1) => "the undecided comparison".to_owned(),
        (some, all) if some == all => format!("all {all} undecided comparisons"),
        (some, all) => format!("{some} of {}", count(all, "undecided comparison")),
    };
    Some(Sentence {
        text: format!("Measure {runs}, taking turns. They should decide {what}.{half}"),
        caveats: Vec::new(),
        because: Vec::new(),
    })
}

/// The sentence, where no two arms of one model and workload met.
pub(crate) fn to_compare(study: &Study, compared: bool) -> Option<String> {
    // Telemetry or a server's log alone hold nothing that could be better or worse.
    if compared || !study.runs.iter().any(has_a_winner) {
        return None;
    }
    let by_quantisation = study.campaigns.iter().find_map(|campaign| {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        differing(&own, |run| run.setup.quantisation.clone(), true)
    });
    if let Some(values) = by_quantisation {
        return Some(option(&values, "quantisation"));
    }
    let by_engine = study.campaigns.iter().find_map(|campaign| {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        differing(&own, |run| run.setup.engine.clone(), false)
    });
    if let Some(values) = by_engine {
        return Some(option(&values, "engine"));
    }
    if study.campaigns.len() > 1 {
        let names: Vec<&str> = study.campaigns.iter().map(|campaign| campaign.name.as_str()).collect();
        return Some(format!(
            "Nothing is compared yet: {} are read as campaigns of their own. To compare folders, add --arms-by-folder.",
            named(&names, "folders")
        ));
    }
    let models: BTreeSet<&str> = study.runs.iter().map(|run| run.model.as_str()).collect();
    if models.len() > 1 && !models.contains(Campaign::UNLABELLED) {
        let names: Vec<&str> = models.into_iter().collect();
        return Some(format!(
            "Nothing is compared yet: all runs are of one environment. To compare {}, add --compare-by model.",
            named(&names, "models")
        ));
    }
    Some(
        "Nothing is compared yet: all runs are of one setting. Put runs of another setting into a folder beside them, give the folder \
         above both, and add --arms-by-folder."
            .to_owned(),
    )
}

fn has_a_winner(run: &Run) -> bool {
    let wins = |name: &str| Metric::find(name).is_some_and(|metric| metric.direction != Direction::Neutral);
    run.readings.iter().any(|reading| reading.value.is_finite() && wins(&reading.metric))
}

/// Values of a label by which runs of one model differ. The models without their quantisation where that is the label.
fn differing(runs: &[&Run], value: impl Fn(&Run) -> Option<String>, stem: bool) -> Option<Vec<String>> {
    let mut models: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for run in runs {
        let Some(value) = value(run) else { continue };
        let model = if stem { without_quantisation(&run.model, &value) } else { run.model.clone() };
        models.entry(model).or_default().insert(value.to_lowercase(), value);
    }
    models.into_values().find(|values| values.len() > 1).map(|values| values.into_values().collect())
}

fn option(values: &[String], label: &str) -> String {
    format!("Nothing is compared yet. To compare {}, add --compare-by {label}.", named(values, label))
}

fn named<S: AsRef<str>>(names: &[S], noun: &str) -> String {
    if names.len() > MOST { format!("{} {noun}", names.len()) } else { list(names) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Subject;
    use crate::testing;

    /// Of ten runs an arm, where this many would decide.
    fn undecided(runs_to_decide: u64) -> Comparison {
        let mut c = testing::comparison(&Metric::find("ttft_ms").unwrap());
        (c.n_baseline, c.n_candidate, c.runs_to_decide) = (10, 10, Some(runs_to_decide));
        c.verdict.kind = VerdictKind::Inconclusive;
        c
    }

    fn finding(id: &'static str, remedy: &str) -> TrapReport {
        TrapReport {
            id,
            code: None,
            title: id,
            severity: Severity::Warning,
            status: TrapStatus::Fired,
            subject: Subject::default(),
            message: String::new(),
            evidence: Vec::new(),
            remedy: remedy.to_owned(),
        }
    }

    #[test]
    fn the_runs_that_decide_half_are_named_where_there_are_many() {
        let open: Vec<Comparison> = [12, 20, 40, 90].into_iter().map(undecided).collect();
        let own: Vec<&Comparison> = open.iter().collect();
        let text = |own: &[&Comparison]| more_runs(own).map(|step| step.text);
        assert_eq!(
            text(&own).as_deref(),
            Some(
                "Measure 80 more runs per arm, taking turns. They should decide all 4 undecided comparisons. 10 more would be enough for half of them."
            )
        );
        assert_eq!(
            text(&own[..1]).as_deref(),
            Some("Measure 2 more runs per arm, taking turns. They should decide the undecided comparison.")
        );
        let hopeless = undecided(1_000_000);
        assert_eq!(
            text(&[own[0], &hopeless]).as_deref(),
            Some("Measure 2 more runs per arm, taking turns. They should decide 1 of 2 undecided comparisons.")
        );
        assert_eq!(text(&[&hopeless]), None);
    }

    #[test]
    fn each_trap_gives_one_step_until_there_are_enough() {
        let findings = [
            finding("drift", "find the cause"),
            finding("drift", "find it"),
            finding("host-load", "wait"),
            finding("p", "stop"),
        ];
        let all: Vec<&TrapReport> = findings.iter().collect();
        let mut steps = Vec::new();
        remedies(&mut steps, &all, 2);
        let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!(texts, ["Find the cause.", "Wait."]);
    }
}
