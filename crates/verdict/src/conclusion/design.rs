//! The answer of a campaign by the shape of its design: replicates, one load, one treatment, prefill and decode.
//!
//! In:  a case whose settings are laid out, its comparisons.  Out: [`DesignAnswer`]: sentences that can be quoted alone.
//! Not here: verdicts on differences (see `answer`), which settings vary (see the crate `design`).
//!
//! Most people measure once. What they get is their figures in order, with the number of runs, and no claim that a difference is proven.

mod combination;
mod prefill_decode;
mod scaling;
#[cfg(test)]
mod tests;
mod treatment;
mod words;

use super::super::case::Case;
use super::super::number::count;
use super::super::report::{CampaignReport, Comparison, MeasuredRow, Ranking, Sentence};
use super::super::strata::{self, counted};
use super::super::{Settings, distinct::distinct, measured};

/// Letters of a reason that a sentence holds. The rest is a caveat.
const REASON_LETTERS: usize = 60;

/// Caveat of figures of single runs.
const SINGLE: &str = "single runs: they do not show how much runs differ by themselves";

/// The answer and what goes on from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DesignAnswer {
    /// One or two sentences, each with its caveats.
    pub lead: Vec<Sentence>,
    /// The same question asked elsewhere.
    pub further: Vec<Sentence>,
}

impl DesignAnswer {
    /// The lead as one text.
    pub(crate) fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self.lead.iter().map(|sentence| sentence.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// This one first, and another goes on from it.
    fn before(mut self, other: Self) -> Self {
        self.further.extend(other.lead);
        self.further.extend(other.further);
        self
    }

    /// What is always said of single runs.
    fn of_single_runs(&self) -> Option<Sentence> {
        let is_single =
            |sentence: &Sentence| sentence.caveats.iter().any(|said| said == SINGLE || said == measured::ALONE);
        let text = Sentence::ONE_RUN.to_owned();
        self.lead.iter().any(is_single).then(|| Sentence { text, caveats: Vec::new(), because: Vec::new() })
    }
}

/// The answer. Absent where the runs are repeats of one setting, and where verdicts on repeats say more.
pub(crate) fn answer(case: &Case<'_>, comparisons: &[&Comparison], settings: &Settings) -> Option<DesignAnswer> {
    if !strata::is_laid_out(case) {
        return None;
    }
    let all = strata::of(case);
    let found = match case.campaign.asked {
        Some(_) => {
            let ranked = treatment::answer(case, &all, comparisons, settings);
            match prefill_decode::of_each_model(case, &all, settings) {
                Some(grown) => Some(grown.before(ranked.unwrap_or_default())),
                None => ranked,
            }
        }
        None => prefill_decode::answer(case, &all, settings, "").or_else(|| scaling::answer(case, &all, settings)),
    };
    let mut found = found?;
    found.lead.splice(0..0, uncounted(case));
    Some(found)
}

/// Arms in order, stratum by stratum, where the campaign asks about a factor.
pub(crate) fn ranking(case: &Case<'_>, comparisons: &[&Comparison], settings: &Settings) -> Vec<Ranking> {
    case.campaign.asked.as_ref().map_or_else(Vec::new, |_| treatment::rankings(case, comparisons, settings))
}

/// The answer of rows alone, where the design says nothing more: the best of them, and what a user waits for there.
pub(crate) fn of_rows(case: &Case<'_>, rows: &[MeasuredRow]) -> DesignAnswer {
    let mut sentences = measured::sentences(rows).into_iter();
    let mut lead: Vec<Sentence> = uncounted(case).into_iter().collect();
    lead.extend(sentences.next().or_else(|| measured::overloaded(rows)));
    DesignAnswer { lead, further: sentences.collect() }
}

/// Puts an answer behind the hypotheses of a campaign, and behind what is said of load clients.
pub(crate) fn put(report: &mut CampaignReport, answer: DesignAnswer) {
    report.answer = answer.text();
    let first = report.hypotheses.len().min(report.headline.len());
    let is_of_clients = |sentence: &&Sentence| sentence.because.iter().any(|id| id.starts_with(Sentence::AGREEMENT));
    let first = first + report.headline.iter().skip(first).take_while(is_of_clients).count();
    let is_told = report.headline.iter().any(|sentence| sentence.text.starts_with(Sentence::ONE_RUN));
    let single = answer.of_single_runs().filter(|_| !is_told);
    report.headline.splice(first..first, answer.lead.into_iter().chain(single).chain(answer.further));
}

/// Runs that enter no figure of the answer, named before it.
fn uncounted(case: &Case<'_>) -> Option<Sentence> {
    let faults: Vec<(&str, String)> =
        case.runs.iter().filter_map(|run| Some((run.id.as_str(), counted::fault(run)?))).collect();
    let text = match faults.as_slice() {
        [] => return None,
        [(id, why)] => format!("Run {id} is left out, because {}.", short(why)),
        several => format!(
            "{} of {} are left out: they failed or are not valid.",
            several.len(),
            count(case.runs.len(), "run")
        ),
    };
    let caveats = distinct(faults.iter().map(|(_, why)| why.clone()));
    Some(Sentence { text, caveats, because: Vec::new() })
}

/// The beginning of a reason, up to the last colon that a sentence has room for, else up to a word.
fn short(why: &str) -> String {
    let why = why.trim_end_matches('.');
    let end = why.char_indices().nth(REASON_LETTERS).map_or(why.len(), |(at, _)| at);
    let kept = why.get(..end).unwrap_or(why);
    if kept.len() == why.len() {
        return why.to_owned();
    }
    let colon = kept.rfind(": ").filter(|at| kept.find(": ").is_some_and(|first| first < *at));
    let at = colon.or_else(|| kept.rfind(' ')).unwrap_or(kept.len());
    kept.get(..at).unwrap_or(kept).to_owned()
}
