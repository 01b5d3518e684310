//! A look at the figures of a campaign that is being collected: the judge that `collect` asks.
//!
//! In:  the archive so far.  Out: a table for people, and how many comparisons are decided.
//! Not here: any formula. The archive is read and judged as `analyse` does it, by the same code.

use std::path::Path;

use clap::ColorChoice;

use crate::cli::intake::{self, Judging};
use crate::cli::talk::Talk;
use sparkbench_collect::run::{Judge, Look, LookResult};
use sparkbench_model::{Campaign, Metric};
use sparkbench_text::error::Error;
use sparkbench_text::table;
use sparkbench_verdict::number::{count, decimals, fixed};
use sparkbench_verdict::report::{Comparison, VerdictKind};

/// Judges by the settings that an analysis has where none are given: an archive that stopped by them reads the same afterwards.
pub(super) struct Analyst;

impl Judge for Analyst {
    fn judge(&self, archive: &Path, look: Look) -> Result<LookResult, Error> {
        let judging = Judging::default();
        // What a file lacks is said by the analysis afterwards. At a look the decision is what matters.
        let silent = Talk::new(true, false, ColorChoice::Never);
        let intake = intake::runs_of(&[archive.to_owned()], &judging, &silent)?;
        let judged = intake::judge_runs(intake, &judging, &silent)?;
        let primary: Vec<&Comparison> = judged.analysis.comparisons.all().filter(|c| c.is_answer).collect();
        Ok(ruling(&primary, &missing(&judged.study.campaigns, &primary), look))
    }
}

/// Primary metrics that no run reports: nothing is compared by them, and so nothing can be decided.
fn missing(campaigns: &[Campaign], primary: &[&Comparison]) -> Vec<String> {
    let named = campaigns.iter().flat_map(|campaign| &campaign.primary);
    named.filter(|name| primary.iter().all(|c| c.metric != **name)).cloned().collect()
}

fn ruling(primary: &[&Comparison], missing: &[String], look: Look) -> LookResult {
    let decided = |c: &&&Comparison| is_decided(c);
    let open: Vec<&&Comparison> = primary.iter().filter(|c| !decided(c)).collect();
    let without_prospects = open.iter().filter(|c| is_without_prospects(c)).count() + missing.len();
    let all = primary.len() + missing.len();
    let done = primary.len() - open.len();
    let mut lines = vec![format!(
        "look {} of {}, at {} of {} blocks: {done} of {} decided",
        look.look,
        look.of,
        look.blocks,
        look.most,
        count(all, "primary comparison")
    )];
    let mut rows = vec![["comparison", "change", "repeated interval", "decision"].map(str::to_owned).to_vec()];
    rows.extend(primary.iter().map(|c| row(c)));
    lines.extend(table::lines(&rows).lines().map(|line| format!("  {line}")));
    lines.extend(missing.iter().map(|name| {
        let label = Metric::find(name).map_or_else(|| name.clone(), |metric| metric.label);
        format!("  no run reports {label}, so it cannot decide anything")
    }));
    LookResult { lines, decided: done, open: open.len() + missing.len(), without_prospects }
}

fn is_decided(c: &Comparison) -> bool {
    c.verdict.kind != VerdictKind::NotComparable && c.sequential.as_ref().is_some_and(|looks| looks.is_decided())
}

/// Arms that cannot be compared for another reason than too few runs stay so, however many runs follow.
fn is_without_prospects(c: &Comparison) -> bool {
    let by_number = |code: &String| code.starts_with('N');
    let forbidden = c.verdict.kind == VerdictKind::NotComparable && !c.verdict.reasons.iter().all(by_number);
    forbidden || c.sequential.as_ref().is_some_and(|looks| looks.without_prospects)
}

fn row(c: &Comparison) -> Vec<String> {
    let name = format!("{} · {} · {}: {} against {}", c.model, c.workload, c.label, c.candidate, c.baseline);
    let none = || "none".to_owned();
    let looks = c.sequential.as_ref();
    let ends = looks.and_then(|looks| c.change_within(looks.repeated_interval_pct?));
    let places = ends.map_or(1, |i| decimals(i.low, i.high));
    let change = looks.and_then(|looks| c.change_of(looks.overhead_pct?));
    let decision = match looks {
        _ if c.verdict.kind == VerdictKind::NotComparable => "not comparable".to_owned(),
        None => "too few blocks".to_owned(),
        Some(looks) if looks.is_decided() => format!("{} at look {}", looks.decision.words(), looks.look),
        Some(looks) if looks.without_prospects => "can no longer be decided".to_owned(),
        Some(looks) => looks.decision.words().to_owned(),
    };
    vec![
        name,
        change.map_or_else(none, |change| format!("{} %", fixed(change, places))),
        ends.map_or_else(none, |i| format!("{} to {} %", fixed(i.low, places), fixed(i.high, places))),
        decision,
    ]
}
