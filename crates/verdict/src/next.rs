//! What to do next: what else could be compared, and the steps that would make a campaign's answer surer.
//!
//! In:  runs and campaigns, comparisons and traps.  Out: sentences.
//! Not here: advice on one comparison (see `grammar::said`), the remedy of a finding (see `trap`).

use std::collections::BTreeSet;

use super::columns;
use super::number::{capital, count, list};
use super::promise;
use super::report::{Analysis, CampaignReport, Comparison, Sentence, Severity, TrapReport, TrapStatus, VerdictKind};
use super::trap::{self, model_mismatch};
use super::{Settings, Study};
use sparkbench_model::{AskedFactor, Campaign, Direction, Factor, Metric, Run, Setting, SettingKind, Taken};

/// Names and campaigns in the sentence. More are counted.
const MOST: usize = 3;

/// Steps that one campaign names. Nobody follows a longer list.
const MOST_STEPS: usize = 4;

/// The trap says how to count what was measured, and nothing that could be done.
const NO_STEP: &str = columns::PRODUCT;

/// The trap that says which model ran. The others only doubt the label, so its remedy comes first.
const NAMES_THE_MODEL: &str = model_mismatch::ID;

/// Gives every campaign its next steps.
pub(crate) fn give(analysis: &mut Analysis, settings: &Settings) {
    let steps: Vec<Vec<Sentence>> =
        analysis.campaigns.iter().map(|campaign| steps(analysis, campaign, settings)).collect();
    for (campaign, steps) in analysis.campaigns.iter_mut().zip(steps) {
        campaign.next = steps;
    }
}

/// What spoils the answer comes first, then what makes it less sure, then the runs that would decide it: more runs of the same kind would
/// repeat the fault. A finding that few runs or machines cause by themselves is a step only where nothing else is.
fn steps(analysis: &Analysis, campaign: &CampaignReport, settings: &Settings) -> Vec<Sentence> {
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
    let answers: Vec<&Comparison> = analysis.comparisons.answers(&campaign.name).collect();
    let mut steps: Vec<Sentence> = Vec::new();
    remedies(&mut steps, &errors, MOST_STEPS / 2);
    remedies(&mut steps, &special, MOST_STEPS - 1);
    steps.extend(more_runs(&answers, settings));
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

/// "Measure 8 more blocks (3 h), taking turns. With probability 0.8 they decide all 3 open answers."
fn more_runs(answers: &[&Comparison], settings: &Settings) -> Option<Sentence> {
    let is_open = |c: &&&Comparison| c.verdict.kind == VerdictKind::Inconclusive && c.sequential.is_none();
    let open: Vec<&Comparison> = answers.iter().filter(is_open).copied().collect();
    let first = open.first()?;
    let found = promise::of_all(&open, settings)?;
    let (they, what) = match open.len() {
        1 => ("it decides", "the open answer".to_owned()),
        2 => ("they decide", "both open answers".to_owned()),
        all => ("they decide", format!("all {all} open answers")),
    };
    let they = if found.blocks > 1 { "they decide" } else { they };
    let text = format!(
        "Measure {}, taking turns. With probability {} {they} {what}.",
        promise::amount(&found, first.design),
        promise::probability(&found)
    );
    Some(Sentence { text, caveats: Vec::new(), because: open.iter().map(|c| c.ident()).collect() })
}

/// By what each campaign is compared and what else could be asked, or why nothing is compared. The campaigns that have comparisons are named.
pub(crate) fn to_compare(study: &Study, compared: &BTreeSet<&str>) -> Option<String> {
    let several = study.campaigns.len() > 1;
    let mut said: Vec<String> = Vec::new();
    for campaign in &study.campaigns {
        let runs: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        // Telemetry or a server's log alone hold nothing that could be better or worse.
        if !runs.iter().any(|run| has_a_winner(run)) {
            continue;
        }
        let text = match &campaign.asked {
            Some(asked) => question(campaign, asked, compared.contains(campaign.name.as_str())),
            None if several || runs.iter().all(|run| run.cell.is_empty()) => None,
            None => Some(no_question(&campaign.factors)),
        };
        let name = campaign.title.as_ref().unwrap_or(&campaign.name);
        said.extend(text.map(|text| if several { format!("{name}: {text}") } else { text }));
    }
    let more = said.len().saturating_sub(MOST);
    said.truncate(MOST);
    said.extend((more > 0).then(|| format!("So it is with {}.", count(more, "more campaign"))));
    (!said.is_empty()).then(|| said.join(" "))
}

/// "Compared by quantisation. With it change: folder, model. To ask about the engine, add --compare-by engine." Nothing where environments
/// are compared and nothing else varies: nobody would ask.
fn question(campaign: &Campaign, asked: &AskedFactor, is_compared: bool) -> Option<String> {
    let label = Setting::label_of(&asked.factor);
    let with: Vec<String> = campaign
        .factors
        .iter()
        .filter(|factor| factor.name == asked.factor)
        .flat_map(|factor| &factor.aliased_with)
        .map(|name| Setting::label_of(name))
        .collect();
    if is_compared
        && with.is_empty()
        && asked.others.is_empty()
        && (asked.taken == Taken::Asked || label == "environment")
    {
        return None;
    }
    let mut said = vec![match is_compared {
        true => format!("Compared by {label}."),
        false => format!(
            "Nothing can be compared by {label}: no two of its levels were measured with the same other settings."
        ),
    }];
    if !with.is_empty() {
        let more = with.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {}", count(more, "other")) } else { String::new() };
        said.push(format!("With it change: {}{more}.", with.get(..MOST).unwrap_or(&with).join(", ")));
    }
    match asked.others.as_slice() {
        [] => {}
        [one] => said.push(format!("To ask about the {}, add --compare-by {one}.", Setting::label_of(one))),
        several => {
            said.push(format!("To ask about another setting, add --compare-by with one of: {}.", several.join(", ")))
        }
    }
    Some(said.join(" "))
}

/// Why nothing is compared: what varies is the load alone, or nothing at all.
fn no_question(factors: &[Factor]) -> String {
    let of = |kind: SettingKind| factors.iter().filter(move |factor| factor.kind == kind);
    let names = |kind: SettingKind| -> Vec<String> { of(kind).map(|factor| Setting::label_of(&factor.name)).collect() };
    let treatments = names(SettingKind::Treatment);
    if let Some(first) = of(SettingKind::Treatment).next() {
        let of = if treatments.len() > MOST { count(treatments.len(), "setting") } else { list(&treatments) };
        return format!(
            "Nothing is compared: the levels of {of} share little or none of the work. To compare them where they do, add --compare-by {}.",
            first.name
        );
    }
    let why = match names(SettingKind::Load).as_slice() {
        [] => "all runs are of one setting".to_owned(),
        [one] => format!("only the {one} varies"),
        several => format!("only the work varies ({})", list(several)),
    };
    format!(
        "Nothing is compared: {why}. To compare, put runs of another setting into a folder beside these, and give the folder above both."
    )
}

fn has_a_winner(run: &Run) -> bool {
    let wins = |name: &str| Metric::find(name).is_some_and(|metric| metric.direction != Direction::Neutral);
    run.readings.iter().any(|reading| reading.value.is_finite() && wins(&reading.metric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Design;
    use crate::report::{PromiseReport, Subject};
    use crate::testing;

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
    fn the_blocks_that_decide_an_open_answer_are_promised_with_their_probability() {
        let mut open = testing::comparison(&Metric::find("ttft_ms").unwrap());
        open.verdict.kind = VerdictKind::Inconclusive;
        open.design = Design::InBlocks;
        open.promise = Some(PromiseReport { blocks: 8, hours: Some(2.96), probability: 0.812 });
        let settings =
            Settings { confidence: 0.95, resamples: 999, seed: 1, baseline: None, margins_pct: Default::default() };
        let text = |own: &[&Comparison]| more_runs(own, &settings).map(|step| step.text);
        assert_eq!(
            text(&[&open]).as_deref(),
            Some("Measure 8 more blocks (3 h), taking turns. With probability 0.81 they decide the open answer.")
        );
        open.verdict.kind = VerdictKind::Slower;
        assert_eq!(text(&[&open]), None);
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

    fn study(factors: Vec<Factor>, question: Option<(&str, Taken, &[&str])>) -> Study {
        let asked = question.map(|(factor, taken, others)| AskedFactor {
            factor: factor.to_owned(),
            taken,
            others: others.iter().map(|name| (*name).to_owned()).collect(),
        });
        let campaign = Campaign { name: "c".into(), factors, asked, ..Campaign::default() };
        let mut run = testing::run_of("a", "w", "x", &[("ttft_ms", 1.0)]);
        run.cell = "1".into();
        Study { campaigns: vec![campaign], runs: vec![run], facts: Default::default(), inputs: Vec::new() }
    }

    #[test]
    fn the_question_that_was_taken_is_named_with_what_changes_with_it_and_what_else_could_be_asked() {
        let compared = BTreeSet::from(["c"]);
        let factors = vec![testing::factor("quantisation", &["bf16", "fp8"], &["folder", "model"])];
        let one = study(factors.clone(), Some(("quantisation", Taken::Default, &["engine"])));
        assert_eq!(
            to_compare(&one, &compared).as_deref(),
            Some(
                "Compared by quantisation. With it change: folder, model. To ask about the engine, add --compare-by engine."
            )
        );
        assert_eq!(
            to_compare(&one, &BTreeSet::new()).as_deref(),
            Some(
                "Nothing can be compared by quantisation: no two of its levels were measured with the same other settings. With it \
                 change: folder, model. To ask about the engine, add --compare-by engine."
            )
        );
        let plain = study(Vec::new(), Some(("environment", Taken::Default, &[])));
        assert_eq!(to_compare(&plain, &compared), None);
    }

    #[test]
    fn where_no_treatment_varies_it_is_said_what_does() {
        let said = |factors: Vec<Factor>| to_compare(&study(factors, None), &BTreeSet::new()).unwrap();
        assert!(said(Vec::new()).starts_with("Nothing is compared: all runs are of one setting."));
        let word = testing::factor("folder", &["none", "old"], &[]);
        assert_eq!(
            said(vec![word]),
            "Nothing is compared: the levels of folder share little or none of the work. To compare them where they do, add --compare-by \
             folder."
        );
        let axis = testing::factor("concurrency", &["1", "2"], &[]);
        assert!(said(vec![axis]).starts_with("Nothing is compared: only the concurrency varies."));
        let mut silent = study(Vec::new(), None);
        silent.runs[0].readings.clear();
        assert_eq!(to_compare(&silent, &BTreeSet::new()), None);
    }
}
