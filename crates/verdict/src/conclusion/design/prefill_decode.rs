//! Prefill and decode without a treatment: both rates at the least depth or length, and at the greatest.
//!
//! In:  strata.  Out: [`DesignAnswer`].
//! Not here: arms beside each other (see `treatment`).

use super::words::{figure, place, surroundings};
use super::{DesignAnswer, SINGLE};
use crate::Settings;
use crate::case::Case;
use crate::distinct::distinct;
use crate::number::{capital, fixed};
use crate::report::{Estimate, Sentence};
use crate::strata::rank::{Measure, figure as mean_of};
use crate::strata::{LENGTHS, LOADS, Part, Series, Stratum, series};
use sparkbench_model::{AskedFactor, Direction, Taken, within};

/// How fast a prompt is read, and how fast an answer is written.
const FIGURES: [&[&str]; 2] =
    [&["prefill_tok_s", "ttft_ms"], &["decode_tok_s", "tpot_ms", "output_throughput_tok_s", "e2e_latency_ms"]];

/// A figure at both ends. The far one is absent where nothing varies.
struct Seen {
    measure: Measure,
    near: (String, Estimate),
    far: Option<(String, Estimate)>,
}

/// Models of which each is told how it grows. More are ranked.
const MOST_MODELS: usize = 3;
/// Fewest lengths that show how something grows.
const LEAST_LENGTHS: usize = 3;

/// How the rates of each model go with the length, where nobody asked which model is faster and a length was varied on purpose.
pub(super) fn of_each_model(case: &Case<'_>, all: &[Stratum<'_, '_>], settings: &Settings) -> Option<DesignAnswer> {
    let is_default = |asked: &&AskedFactor| asked.factor == "model" && asked.taken == Taken::Default;
    case.campaign.asked.as_ref().filter(is_default)?;
    let models = distinct(all.iter().flat_map(|stratum| stratum.cells.iter().map(|cell| cell.environment)));
    let whole: Vec<&Stratum<'_, '_>> = all.iter().filter(|stratum| stratum.cells.len() == models.len()).collect();
    let lengths = series(case.campaign, &whole, LENGTHS)?;
    if models.len() > MOST_MODELS || lengths.points.len() < LEAST_LENGTHS {
        return None;
    }
    let of_model = |model: &str| {
        let strata: Vec<Stratum<'_, '_>> = whole.iter().map(|stratum| stratum.kept(|arm| arm == model)).collect();
        answer(case, &strata, settings, &format!("of {model} "))
    };
    let answers: Option<Vec<DesignAnswer>> = models.into_iter().map(of_model).collect();
    let lead = answers?.into_iter().flat_map(|answer| answer.lead).collect();
    Some(DesignAnswer { lead, further: Vec::new() })
}

/// Absent where neither is measured alone nor any length varies, and where how much is asked for at once varies too. `of` begins the sentence.
pub(super) fn answer(case: &Case<'_>, all: &[Stratum<'_, '_>], settings: &Settings, of: &str) -> Option<DesignAnswer> {
    let strata: Vec<&Stratum<'_, '_>> = all.iter().collect();
    let has_parts = strata.iter().any(|stratum| stratum.part() != Part::Both);
    if !has_parts
        && (series(case.campaign, &strata, LOADS).is_some() || series(case.campaign, &strata, LENGTHS).is_none())
    {
        return None;
    }
    let parts = [Part::Prefill, Part::Decode];
    let seen: Vec<Seen> = parts
        .into_iter()
        .zip(FIGURES)
        .filter_map(|(part, names)| {
            let own: Vec<&Stratum<'_, '_>> =
                strata.iter().filter(|s| !has_parts || s.part() == part).copied().collect();
            names
                .iter()
                .filter_map(|name| Measure::find(name))
                .find_map(|measure| see(case, &own, measure, has_parts, settings))
        })
        .collect();
    let single = seen.iter().all(|seen| seen.near.1.n == 1);
    let caveats = if single { vec![SINGLE.to_owned()] } else { Vec::new() };
    let text = capital(&format!("{of}{}", said(&seen)?));
    Some(DesignAnswer { lead: vec![Sentence { text, caveats, because: Vec::new() }], further: Vec::new() })
}

fn see(
    case: &Case<'_>,
    strata: &[&Stratum<'_, '_>],
    measure: Measure,
    has_parts: bool,
    settings: &Settings,
) -> Option<Seen> {
    let of = |stratum: &Stratum<'_, '_>| mean_of(stratum.cells.first()?, &measure, settings.confidence);
    let known: Vec<&Stratum<'_, '_>> = strata.iter().filter(|stratum| of(stratum).is_some()).copied().collect();
    let axes: &[&str] = if has_parts { &["depth", "isl", "osl"] } else { LENGTHS };
    let found: Option<Series<'_, '_, '_>> = series(case.campaign, &known, axes);
    let Some(found) = found else {
        let stratum = known.iter().min_by_key(|s| (s.key(case.campaign, None), s.workload))?;
        let near = (surroundings(case.campaign, stratum, None).trim_start().to_owned(), of(stratum)?);
        return Some(Seen { near, far: None, measure });
    };
    let end = |(level, stratum): (f64, &Stratum<'_, '_>)| Some((place(found.axis, level), of(stratum)?));
    Some(Seen { near: end(found.first()?)?, far: found.last().and_then(end), measure })
}

/// "The prefill rate falls from 1210 tok/s at a depth of 0 to 402 tok/s at a depth of 32768, and ..." Two sentences for both where the ends are
/// the same.
fn said(seen: &[Seen]) -> Option<String> {
    let value = |seen: &Seen, of: &Estimate| format!("{} {}", figure(of.mean), seen.measure.unit);
    let label = |seen: &Seen| within(&seen.measure.label);
    if let [a, b] = seen
        && a.near.0 == b.near.0
        && let (Some(far_a), Some(far_b)) = (&a.far, &b.far)
        && far_a.0 == far_b.0
    {
        return Some(format!(
            "{} the {} is {} and the {} {}. {} they are {} and {}.",
            a.near.0,
            label(a),
            value(a, &a.near.1),
            label(b),
            value(b, &b.near.1),
            capital(&far_a.0),
            value(a, &far_a.1),
            value(b, &far_b.1)
        ));
    }
    let each: Vec<String> = seen
        .iter()
        .map(|seen| {
            let near = value(seen, &seen.near.1);
            let place = if seen.near.0.is_empty() { String::new() } else { format!(" {}", seen.near.0) };
            match &seen.far {
                None => format!("the {} is {near}{place}", label(seen)),
                Some((far, of)) => {
                    let times = of.mean / seen.near.1.mean;
                    let goes = if times >= 1.0 { "grows" } else { "falls" };
                    let times = if seen.measure.direction == Direction::LowerIsBetter && times >= 1.0 {
                        format!(" ({} times)", fixed(times, 1))
                    } else {
                        String::new()
                    };
                    format!("the {} {goes} from {near}{place} to {} {far}{times}", label(seen), value(seen, of))
                }
            }
        })
        .collect();
    (!each.is_empty()).then(|| format!("{}.", each.join(", and ")))
}
