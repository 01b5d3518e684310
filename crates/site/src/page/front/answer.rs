//! The answer of a campaign as a page shows it: its sentence, its expectations, and what they rest on.
//!
//! In:  a finished report of a campaign.  Out: plain values for templates.
//! Not here: how a sentence is worded (see `verdict`).

use std::collections::BTreeMap;

use super::super::index::Site;
use super::super::labels::{self, Badge};
use super::super::link::SourceLink;
use sparkbench_verdict::number::list;
use sparkbench_verdict::report::{CampaignReport, HypothesisReport, Outcome, Sentence, lead_and_more};

/// The expectation before the first run, and the outcome.
pub(crate) struct HypothesisView {
    /// In the words of the authors.
    pub claim: String,
    /// Their expectation.
    pub expected: String,
    /// Result of the comparisons.
    pub found: String,
    /// Its outcome.
    pub badge: Badge,
    /// Address of the comparisons.
    pub because: Vec<SourceLink>,
}

/// The hypotheses of a campaign, in its order.
pub(crate) fn hypotheses(site: &Site<'_>, root: &str, campaign: &CampaignReport) -> Vec<HypothesisView> {
    let view = |h: &HypothesisReport| HypothesisView {
        claim: labels::typeset(&h.claim),
        expected: labels::typeset(&labels::sentence(&h.expected, &site.names())),
        found: labels::typeset(&h.found),
        badge: labels::hypothesis(h.outcome),
        because: site.grounds(root, &campaign.name, &h.because),
    };
    campaign.hypotheses.iter().map(view).collect()
}

/// The answer to the question of a campaign, and what else its headline says.
pub(crate) struct CampaignAnswer {
    /// In one sentence.
    pub answer: Option<String>,
    /// The rest of the headline's sentence that begins with it.
    pub more: String,
    /// Address of the reasons for that sentence.
    pub because: Vec<SourceLink>,
    /// The headline without that sentence, and without those of the table of hypotheses.
    pub rest: Vec<SentenceView>,
    /// Caveats, under the beginning of the sentence that they qualify.
    pub caveats: Vec<(String, Vec<String>)>,
    /// How many.
    pub count: usize,
}

/// A sentence and what it rests on.
pub(crate) struct SentenceView {
    /// As `verdict` words it.
    pub text: String,
    /// Its caveats.
    pub caveats: Vec<String>,
    /// Address of its reasons.
    pub because: Vec<SourceLink>,
    /// Whether its one caveat stands below the list, because others have the same.
    pub starred: bool,
}

impl SentenceView {
    /// Its first sentence, which can be quoted alone.
    pub(crate) fn lead(&self) -> &str {
        lead_and_more(&self.text).0
    }

    /// Text after it. May be empty.
    pub(crate) fn more(&self) -> &str {
        lead_and_more(&self.text).1
    }
}

/// "Of 3 expectations, 2 hold in 5 of 12 comparisons, with the others undecided, and 1 is undecided."
pub(super) fn expected(campaign: &CampaignReport) -> Option<String> {
    // Verbs, expectations, comparisons that confirm them, comparisons.
    let mut counts: Vec<([&str; 2], usize, usize, usize)> = Vec::new();
    for report in &campaign.hypotheses {
        let verbs = outcome(report);
        match counts.iter_mut().find(|(known, ..)| *known == verbs) {
            Some((_, n, confirmed, all)) => {
                (*n, *confirmed, *all) = (*n + 1, *confirmed + report.confirmed, *all + report.comparisons);
            }
            None => counts.push((verbs, 1, report.confirmed, report.comparisons)),
        }
    }
    let said = |([one, more], n, confirmed, all): &([&str; 2], usize, usize, usize)| {
        let verb = if *n == 1 { one } else { more };
        verb.replace("SOME", &format!("{confirmed} of {all} comparisons"))
    };
    let all = campaign.hypotheses.len();
    match counts.as_slice() {
        [] => None,
        [only] if all == 1 => Some(format!("The expectation {}.", said(only))),
        [only] => Some(format!("All {all} expectations {}.", said(only))),
        several => {
            let parts: Vec<String> = several.iter().map(|part| format!("{} {}", part.1, said(part))).collect();
            Some(format!("Of {all} expectations, {}.", list(&parts)))
        }
    }
}

/// What became of an expectation, said of one and of several. SOME stands for how many comparisons of how many.
fn outcome(report: &HypothesisReport) -> [&'static str; 2] {
    match report.outcome {
        Outcome::Holds => ["holds", "hold"],
        Outcome::HoldsInPart if report.is_open_elsewhere() => {
            ["holds in SOME, with the others undecided", "hold in SOME, with the others undecided"]
        }
        Outcome::HoldsInPart => ["holds in SOME and not in the others", "hold in SOME and not in the others"],
        Outcome::DoesNotHold => ["does not hold", "do not hold"],
        Outcome::Undecided => ["is undecided", "are undecided"],
        Outcome::NotMeasured => ["was not measured", "were not measured"],
        Outcome::NoExpectation => ["names no outcome", "name no outcome"],
    }
}

/// The headline of a campaign with its grounds.
pub(crate) fn said(site: &Site<'_>, root: &str, campaign: &CampaignReport) -> CampaignAnswer {
    let all = sentences(site, root, campaign, &campaign.headline);
    // A point within a number ends no sentence.
    let head = |text: &str| {
        let end = [": ", ". "].iter().filter_map(|mark| text.find(mark)).min();
        end.map_or_else(|| text.trim_end_matches('.'), |end| &text[..end]).to_owned()
    };
    let caveats: Vec<(String, Vec<String>)> =
        all.iter().filter(|s| !s.caveats.is_empty()).map(|s| (head(&s.text), s.caveats.clone())).collect();
    let count = caveats.iter().map(|(_, own)| own.len()).sum();
    let answer = campaign.answer.as_deref().map(|text| labels::typeset(&labels::sentence(text, &site.names())));
    // The table of hypotheses holds the first of them.
    let mut rest: Vec<SentenceView> = all.into_iter().skip(campaign.hypotheses.len()).collect();
    let same = rest.iter().position(|sentence| Some(sentence.lead()) == answer.as_deref());
    let (more, because) = same.map_or_else(Default::default, |at| {
        let own = rest.remove(at);
        (own.more().to_owned(), own.because)
    });
    CampaignAnswer { answer, more, because, rest, caveats, count }
}

/// Sentences with links to what they rest on.
pub(crate) fn sentences(
    site: &Site<'_>,
    root: &str,
    campaign: &CampaignReport,
    from: &[Sentence],
) -> Vec<SentenceView> {
    from.iter()
        .map(|sentence| SentenceView {
            text: labels::typeset(&labels::sentence(&under_heading(&sentence.text), &site.names())),
            caveats: sentence.caveats.iter().map(|caveat| labels::typeset(caveat)).collect(),
            because: site.grounds(root, &campaign.name, &sentence.because),
            starred: false,
        })
        .collect()
}

/// Takes a caveat off the sentences that have no other, where there are many of these. It is given back to be said once.
pub(crate) fn said_once(sentences: &mut [SentenceView]) -> Option<String> {
    const MANY: usize = 3;
    let lone = |sentence: &SentenceView| match sentence.caveats.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for caveat in sentences.iter().filter_map(lone) {
        *counts.entry(caveat).or_default() += 1;
    }
    let (caveat, _) = counts.into_iter().filter(|(_, n)| *n >= MANY).max_by_key(|(_, n)| *n)?;
    for sentence in sentences.iter_mut().filter(|sentence| lone(sentence).as_ref() == Some(&caveat)) {
        sentence.caveats.clear();
        sentence.starred = true;
    }
    Some(caveat)
}

/// The list of what is not supported says so above. Its sentences need not say it again.
fn under_heading(text: &str) -> String {
    let Some(rest) = text.strip_prefix("Not supported: ") else { return text.to_owned() };
    let mut letters = rest.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
