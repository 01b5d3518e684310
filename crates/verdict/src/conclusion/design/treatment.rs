//! One treatment: which arm is the fastest, by how much, and where: for one user and for many, at the least depth and at the greatest.
//!
//! In:  strata of a campaign that asks about a factor.  Out: [`DesignAnswer`].
//! Not here: verdicts on repeats (see `conclusion::answer`), words (see `words`).

use super::super::headline::tells;
use super::combination;
use super::words::{self, place, ranking, surroundings};
use super::{DesignAnswer, SINGLE};
use crate::Settings;
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::{count, fixed, list, significant};
use crate::report::{Comparison, Estimate, RankedArm, Ranking, Sentence, VerdictKind};
use crate::strata;
use crate::strata::rank::{Measure, Ranked, overall, ranked};
use crate::strata::{LENGTHS, LOADS};
use crate::strata::{Part, Series, Stratum, counted, series};
use sparkbench_model::{Campaign, Direction};

/// What one user feels, in this order as far as it is measured.
const OF_ONE: [&str; 8] = [
    "decode_tok_s",
    "output_throughput_tok_s",
    "tpot_ms",
    "request_throughput_req_s",
    "e2e_latency_ms",
    "ttft_ms",
    "decode_tok_s_p50",
    "ttft_ms_p50",
];
/// What a server gives to all of them.
const OF_ALL: [&str; 8] = [
    "output_throughput_tok_s",
    "total_throughput_tok_s",
    "request_throughput_req_s",
    "decode_tok_s",
    "tpot_ms",
    "e2e_latency_ms",
    "ttft_ms",
    "ttft_ms_p50",
];
/// How fast a prompt is read.
const OF_PROMPT: [&str; 3] = ["prefill_tok_s", "ttft_ms", "ttft_ms_p50"];
/// Where nothing of these is measured.
const OF_MEMORY: [&str; 4] = ["kv_cache_gib", "kv_cache_tokens", "peak_memory_gib", "model_load_s"];

/// Arms held against each other in one stratum.
struct Held<'s, 'c, 'a> {
    stratum: &'s Stratum<'c, 'a>,
    measure: Measure,
    arms: Vec<Ranked<'a>>,
    place: String,
    at: String,
}

impl Held<'_, '_, '_> {
    /// Whether every arm has repeats, so that a verdict on them exists.
    fn has_repeats(&self) -> bool {
        self.arms.iter().all(|arm| arm.figure.n > 1)
    }
}

struct Asked<'x, 'a> {
    case: &'x Case<'a>,
    comparisons: &'x [&'x Comparison],
    confidence: f64,
}

/// The answer. Absent where no two arms meet, and where the verdicts on repeats are the answer.
pub(super) fn answer<'a>(
    case: &Case<'a>,
    all: &[Stratum<'_, 'a>],
    comparisons: &[&Comparison],
    settings: &Settings,
) -> Option<DesignAnswer> {
    let asked = Asked { case, comparisons, confidence: settings.confidence };
    let judged: Vec<Stratum<'_, 'a>> = all.iter().map(|stratum| asked.judged(stratum)).collect();
    let strata: Vec<&Stratum<'_, 'a>> = judged.iter().filter(|stratum| stratum.cells.len() > 1).collect();
    let has_parts = strata.iter().any(|stratum| stratum.part() != Part::Both);
    let (mut lead, mut further) = if has_parts { asked.by_part(&strata) } else { asked.by_load(&strata) };
    lead.retain(|held| asked.can_be_said(held));
    further.retain(|held| asked.can_be_said(held));
    let first = lead.first()?;
    let overall = asked.overall(&strata, first);
    let measure = |stratum: &Stratum<'_, 'a>| {
        let alone = stratum.part() == Part::Decode || stratum.number("concurrency") == Some(1.0);
        let names = if alone { &OF_ONE[..] } else { &OF_ALL[..] };
        asked.held(stratum, names).filter(|held| !held.has_repeats()).map(|held| held.measure)
    };
    // Output is what people ask for first.
    let written: Vec<&Stratum<'_, 'a>> = judged.iter().filter(|s| s.part() != Part::Prefill).collect();
    let combined = combination::sentences(case, &written, measure, settings);
    let mut said = DesignAnswer {
        lead: lead.iter().map(|held| asked.sentence(held)).collect(),
        further: further.iter().map(|held| asked.sentence(held)).collect(),
    };
    // One place alone stands for nothing where there are others.
    if lead.len() == 1 {
        said.lead.extend(overall)
    } else {
        said.further.extend(overall)
    }
    if let Some(combined) = combined {
        said = DesignAnswer { lead: combined.into(), further: Vec::new() }.before(said);
    }
    if let (Some(first), Some(behind)) = (said.lead.first_mut(), asked.behind(all)) {
        first.caveats.push(behind);
    }
    Some(said)
}

/// Every stratum in which two arms meet, with the figures that answers are taken from.
pub(super) fn rankings(case: &Case<'_>, comparisons: &[&Comparison], settings: &Settings) -> Vec<Ranking> {
    let asked = Asked { case, comparisons, confidence: settings.confidence };
    let own = case.primary.iter().map(String::as_str);
    let names = distinct(own.chain(OF_ALL).chain(OF_ONE).chain(OF_PROMPT).chain(OF_MEMORY));
    let measures: Vec<Measure> = names.into_iter().filter_map(Measure::find).collect();
    let mut found = Vec::new();
    for stratum in strata::of(case).iter().map(|stratum| asked.judged(stratum)) {
        for measure in &measures {
            let arms = ranked(&stratum, measure, settings.confidence);
            if arms.len() > 1 {
                found.push(Ranking {
                    model: stratum.model.to_owned(),
                    workload: stratum.workload.to_owned(),
                    metric: measure.name.clone(),
                    label: measure.label.clone(),
                    unit: measure.unit,
                    direction: measure.direction,
                    arms: arms.iter().map(of_report).collect(),
                });
            }
        }
    }
    found
}

fn of_report(arm: &Ranked<'_>) -> RankedArm {
    let Estimate { n, mean, low, high } = arm.figure;
    RankedArm { arm: arm.arm.to_owned(), n, mean, low, high, ratio: arm.ratio }
}

impl<'a> Asked<'_, 'a> {
    /// A stratum without the arms that a check forbids to compare, and without runs of which nobody knows the arm.
    fn judged<'c>(&self, stratum: &Stratum<'c, 'a>) -> Stratum<'c, 'a> {
        let is_barred = |arm: &str| {
            let mut own = self
                .comparisons
                .iter()
                .filter(|c| c.model == stratum.model && c.workload == stratum.workload && c.candidate == arm)
                .peekable();
            arm == Campaign::UNLABELLED || (own.peek().is_some() && !own.any(|c| tells(c)))
        };
        stratum.kept(|arm| !is_barred(arm))
    }

    /// The first of these measures that most arms of a stratum have.
    fn held<'s, 'c>(&self, stratum: &'s Stratum<'c, 'a>, names: &[&str]) -> Option<Held<'s, 'c, 'a>> {
        let own = self.case.campaign.primary.iter().map(String::as_str);
        let known = own.chain(names.iter().copied()).chain(OF_MEMORY);
        let mut best: Option<Held<'s, 'c, 'a>> = None;
        for measure in known.filter_map(Measure::find) {
            let arms = ranked(stratum, &measure, self.confidence);
            if arms.len() > best.as_ref().map_or(1, |best| best.arms.len()) {
                best = Some(Held { stratum, measure, arms, place: String::new(), at: String::new() });
            }
        }
        best
    }

    /// Strata in which as many arms meet as anywhere.
    fn whole<'s, 'c>(&self, strata: &[&'s Stratum<'c, 'a>], names: &[&str]) -> Vec<&'s Stratum<'c, 'a>> {
        let arms = |stratum: &'s Stratum<'c, 'a>| self.held(stratum, names).map_or(0, |held| held.arms.len());
        let most = strata.iter().map(|stratum| arms(stratum)).max().unwrap_or(0);
        strata.iter().filter(|stratum| most > 1 && arms(stratum) == most).copied().collect()
    }

    /// The stratum with the least levels of everything.
    fn least<'s, 'c>(&self, strata: &[&'s Stratum<'c, 'a>]) -> Option<&'s Stratum<'c, 'a>> {
        // What fills the context counts most, and who says nothing of it starts from an empty one.
        let depth = |stratum: &Stratum<'_, '_>| stratum.number("depth").unwrap_or(0.0);
        let key = |stratum: &Stratum<'c, 'a>| (stratum.key(self.case.campaign, None), stratum.workload);
        strata.iter().min_by(|a, b| depth(a).total_cmp(&depth(b)).then_with(|| key(a).cmp(&key(b)))).copied()
    }

    /// Prefill and decode, each at the least depth, and then at the greatest.
    fn by_part<'s, 'c>(&self, strata: &[&'s Stratum<'c, 'a>]) -> (Vec<Held<'s, 'c, 'a>>, Vec<Held<'s, 'c, 'a>>) {
        let (mut lead, mut further) = (Vec::new(), Vec::new());
        for (part, names) in [(Part::Decode, &OF_ONE[..]), (Part::Prefill, &OF_PROMPT[..])] {
            let own: Vec<&Stratum<'c, 'a>> = strata.iter().filter(|s| s.part() == part).copied().collect();
            let own = self.whole(&own, names);
            let depths = series(self.case.campaign, &own, &["depth"]);
            let ends = match &depths {
                Some(depths) => [depths.first(), depths.last()],
                None => [self.least(&own).map(|stratum| (0.0, stratum)), None],
            };
            let around = [surroundings, words::work];
            for ((end, into), around) in ends.into_iter().zip([&mut lead, &mut further]).zip(around) {
                let Some((depth, stratum)) = end else { continue };
                let Some(held) = self.held(stratum, names) else { continue };
                let place = depths.as_ref().map_or_else(String::new, |_| place("depth", depth));
                let at = around(self.case.campaign, stratum, Some("depth"));
                into.push(Held { place, at, ..held });
            }
        }
        (lead, further)
    }

    /// For one user and for many, or with the least of what varies and the most.
    fn by_load<'s, 'c>(&self, strata: &[&'s Stratum<'c, 'a>]) -> (Vec<Held<'s, 'c, 'a>>, Vec<Held<'s, 'c, 'a>>) {
        let campaign = self.case.campaign;
        let whole = self.whole(strata, &OF_ALL);
        let found = series(campaign, &whole, LOADS).or_else(|| series(campaign, &whole, LENGTHS));
        let Some(found) = found else {
            let Some(stratum) = self.least(&whole) else { return (Vec::new(), Vec::new()) };
            let alone = stratum.number("concurrency") == Some(1.0);
            let held = self.held(stratum, if alone { &OF_ONE } else { &OF_ALL });
            let place = surroundings(campaign, stratum, None).trim_start().to_owned();
            return (held.map(|held| Held { place, ..held }).into_iter().collect(), Vec::new());
        };
        let is_load = LOADS.contains(&found.axis);
        let mut lead = Vec::new();
        let ends = [(found.first(), &OF_ONE[..]), (found.last(), if is_load { &OF_ALL[..] } else { &OF_ONE[..] })];
        for (end, names) in ends {
            let Some((level, stratum)) = end else { continue };
            let Some(held) = self.held(stratum, names) else { continue };
            let around = if lead.is_empty() { surroundings } else { words::work };
            let others = around(campaign, stratum, Some(found.axis));
            lead.push(Held { place: format!("{}{others}", place(found.axis, level)), ..held });
        }
        if let [low, high] = lead.as_mut_slice()
            && low.arms.first().map(|arm| arm.arm) != high.arms.first().map(|arm| arm.arm)
            && let Some(from) = self.since_when(&found, high)
            && let Some((level, _)) = found.last()
        {
            high.at = format!(" {}", place(found.axis, level));
            high.place = format!(
                "from {} on{}",
                words::load(found.axis, from),
                words::work(campaign, high.stratum, Some(found.axis))
            );
        }
        let prompt = [found.first(), found.last()].into_iter().flatten().filter_map(|(level, stratum)| {
            let held = self.held(stratum, &OF_PROMPT).filter(|held| OF_PROMPT.contains(&held.measure.name.as_str()))?;
            Some(Held { place: place(found.axis, level), ..held })
        });
        let further = prompt.collect();
        (lead, further)
    }

    /// The least load from which on the arm that is best at the end is always the best. Absent where that is the last load alone.
    fn since_when(&self, found: &Series<'_, '_, 'a>, high: &Held<'_, '_, 'a>) -> Option<f64> {
        let winner = high.arms.first()?.arm;
        let wins = |stratum: &Stratum<'_, 'a>| {
            ranked(stratum, &high.measure, self.confidence).first().is_some_and(|arm| arm.arm == winner)
        };
        let since: Vec<f64> =
            found.points.iter().rev().take_while(|(_, stratum)| wins(stratum)).map(|(level, _)| *level).collect();
        let is_axis = ["concurrency", "request_rate"].contains(&found.axis);
        since.last().copied().filter(|_| is_axis && since.len() > 1)
    }

    /// Figures of single runs can always be said. Of repeats only a ranking in which the best is shown to differ from each other arm.
    fn can_be_said(&self, held: &Held<'_, '_, 'a>) -> bool {
        if !held.has_repeats() {
            return true;
        }
        let Some((best, others)) = held.arms.split_first() else { return false };
        // Where nothing was compared there is no verdict that a ranking could contradict.
        if self.about(held).next().is_none() {
            return true;
        }
        let is_pair = |c: &Comparison, arm: &str| {
            [(best.arm, arm), (arm, best.arm)].contains(&(c.baseline.as_str(), c.candidate.as_str()))
        };
        let is_shown = |arm: &str| {
            self.about(held).any(|c| {
                let apart = !matches!(
                    c.verdict.kind,
                    VerdictKind::Equivalent | VerdictKind::Inconclusive | VerdictKind::NotComparable
                );
                is_pair(c, arm) && apart
            })
        };
        others.len() > 1 && self.case.campaign.baseline.is_none() && others.iter().all(|arm| is_shown(arm.arm))
    }

    fn sentence(&self, held: &Held<'_, '_, 'a>) -> Sentence {
        let mut arms = held.arms.clone();
        // What is in no order of better is told in the order of the levels.
        if held.measure.direction == Direction::Neutral {
            let levels = self
                .case
                .campaign
                .factors
                .iter()
                .find(|factor| self.case.campaign.asked.as_ref().is_some_and(|asked| asked.factor == factor.name));
            let order = |arm: &str| levels.and_then(|f| f.levels.iter().position(|level| level == arm));
            arms.sort_by_key(|arm| (order(arm.arm), arm.arm));
        }
        // Two arms, of which one is what the other is held against.
        if let ([_, second], Some(base)) = (arms.as_slice(), self.case.campaign.baseline.as_deref())
            && second.arm != base
            && held.measure.direction != Direction::Neutral
        {
            arms.reverse();
            if let [a, b] = arms.as_mut_slice() {
                (a.ratio, b.ratio) = (1.0, 1.0 / a.ratio);
            }
        }
        let text = ranking(self.case.campaign, &held.measure, &arms, &held.place, &held.at);
        Sentence { text, caveats: self.caveats(held), because: self.rests_on(held) }
    }

    /// How many runs, and how far their intervals reach.
    fn caveats(&self, held: &Held<'_, '_, 'a>) -> Vec<String> {
        let mut said = Vec::new();
        if !held.has_repeats() {
            said.push(SINGLE.to_owned());
        } else if self.about(held).next().is_none() {
            said.push("means of repeats that were not compared".to_owned());
        }
        let ends: Vec<String> = held
            .arms
            .iter()
            .filter_map(|arm| {
                let (low, high) = arm.figure.low.zip(arm.figure.high)?;
                let runs = count(arm.figure.n, "run");
                Some(format!("{} {} to {} ({runs})", arm.arm, significant(low, 4), significant(high, 4)))
            })
            .collect();
        if !ends.is_empty() {
            said.push(format!("intervals: {}", list(&ends)));
        }
        said
    }

    /// The comparisons of the same stratum and figure.
    fn about<'s>(&'s self, held: &'s Held<'_, '_, 'a>) -> impl Iterator<Item = &'s Comparison> {
        self.comparisons.iter().copied().filter(move |c| {
            c.model == held.stratum.model && c.workload == held.stratum.workload && c.metric == held.measure.name
        })
    }

    /// Their ids.
    fn rests_on(&self, held: &Held<'_, '_, 'a>) -> Vec<String> {
        let mut ids: Vec<String> = self.about(held).map(|c| c.ident()).collect();
        ids.dedup();
        ids
    }

    /// "Over all 5 workloads that they share, fp8 is fastest in 4. On average nvfp4 is 0.85 times as fast."
    fn overall(&self, strata: &[&Stratum<'_, 'a>], first: &Held<'_, '_, 'a>) -> Option<Sentence> {
        const MOST: usize = 3;
        if !first.measure.is_speed() || first.has_repeats() {
            return None;
        }
        let part = first.stratum.part();
        let own: Vec<&Stratum<'_, 'a>> = strata.iter().filter(|stratum| stratum.part() == part).copied().collect();
        let found = overall(&own, &first.measure, self.confidence).filter(|found| found.strata > 1)?;
        let name = |arm: &str| words::arm(arm, self.case.campaign);
        let (best, _) = found.arms.first()?;
        let others = found.arms.iter().skip(1).take(MOST);
        let each: Vec<String> = others.map(|(arm, ratio)| format!("{} {}", name(arm), fixed(*ratio, 2))).collect();
        let label = sparkbench_model::within(&first.measure.label);
        let shared = if found.strata == 2 { "both".to_owned() } else { format!("all {}", found.strata) };
        let best_in = if found.best_in == found.strata { "each".to_owned() } else { found.best_in.to_string() };
        Some(Sentence {
            text: format!(
                "Over {shared} workloads that they share, {} has the best {label} in {best_in}. Beside it, on average: {} times.",
                name(best),
                list(&each)
            ),
            caveats: vec!["geometric means of ratios".to_owned()],
            because: Vec::new(),
        })
    }

    /// Loads with which the server did not keep up. They take no part.
    fn behind(&self, all: &[Stratum<'_, 'a>]) -> Option<String> {
        let cells: Vec<_> = all.iter().flat_map(|stratum| &stratum.cells).collect();
        let behind = cells.iter().filter(|cell| counted::keeps_up(cell) == Some(false)).count();
        (behind > 0).then(|| {
            format!("the server fell behind in {behind} of {}, which are left out", count(cells.len(), "load"))
        })
    }
}
