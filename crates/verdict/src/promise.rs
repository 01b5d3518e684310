//! How many more blocks decide an answer that is open, and how surely.
//!
//! In:  comparisons with their effects.  Out: [`PromiseReport`], and the same in words.
//! Not here: the formulas (see `stats::promise`).

use sparkbench_stats::promise::Alpha;
use sparkbench_stats::{bootstrap, power, promise};

use super::Settings;
use super::effect::EffectEstimate;
use super::method::Design;
use super::number::{count, significant};
use super::report::{Comparison, PromiseReport};

/// More than this are no advice.
const MOST: u64 = 1_000;

/// What would decide a comparison that is open. Nothing for arms that ran one after the other: more of the same would cost four times as much
/// as taking turns.
pub(crate) fn of(c: &Comparison, settings: &Settings) -> Option<PromiseReport> {
    let effect = c.effect.as_ref()?;
    let limits = c.tost.as_ref().and_then(|tost| effect.limits(tost.margin_pct));
    let level = level(c, settings);
    let found = match effect.layout().design {
        Design::InBlocks => promise::more_blocks(&effect.differences()?, limits, level, power::TARGET_POWER, MOST),
        Design::Interleaved | Design::Unknown => {
            let (a, b) = effect.on_scale()?;
            promise::more_runs(&a, &b, limits, level, power::TARGET_POWER, MOST)
        }
        Design::Mixed | Design::OneAfterTheOther | Design::OverTime => None,
    }?;
    Some(report(found, effect))
}

/// What would decide all of several, by whole blocks that all of them have. Absent where they have none in common.
pub(crate) fn of_all(open: &[&Comparison], settings: &Settings) -> Option<PromiseReport> {
    if let [one] = open {
        return one.promise;
    }
    let effects: Vec<&EffectEstimate> = open.iter().map(|c| c.effect.as_ref()).collect::<Option<_>>()?;
    let numbered: Vec<Vec<(u32, f64)>> = effects.iter().map(|effect| effect.by_block()).collect::<Option<_>>()?;
    let first = numbered.first()?;
    let rows: Vec<Vec<f64>> = first
        .iter()
        .filter_map(|(number, _)| {
            let at = |blocks: &Vec<(u32, f64)>| blocks.iter().find(|(own, _)| own == number).map(|(_, d)| *d);
            numbered.iter().map(at).collect()
        })
        .collect();
    let limits: Vec<Option<(f64, f64)>> = open
        .iter()
        .zip(&effects)
        .map(|(c, effect)| c.tost.as_ref().and_then(|tost| effect.limits(tost.margin_pct)))
        .collect();
    let levels: Vec<Alpha> = open.iter().map(|c| level(c, settings)).collect();
    let key = open.iter().map(|c| c.ident()).collect::<Vec<_>>().join("~");
    let job: bootstrap::Job = settings.job(format!("{key}|promise"));
    let found = promise::more_blocks_for_all(&rows, &limits, &levels, power::TARGET_POWER, MOST, &job)?;
    Some(report(found, effects.first()?))
}

/// The levels at which an answer has to be shown at worst. Sameness of answers is not adjusted.
fn level(c: &Comparison, settings: &Settings) -> Alpha {
    let alpha = settings.alpha();
    Alpha { difference: alpha / c.p_adjusted.family_size.max(1) as f64, equivalence: alpha }
}

fn report(found: promise::Promise, effect: &EffectEstimate) -> PromiseReport {
    let hours = effect.layout().hours_a_block.map(|hours| hours * found.blocks as f64);
    PromiseReport { blocks: found.blocks, hours, probability: found.probability }
}

/// "8 more blocks (3 h)".
pub(crate) fn amount(promise: &PromiseReport, design: Design) -> String {
    let blocks = usize::try_from(promise.blocks).unwrap_or(usize::MAX);
    let blocks = match design {
        Design::InBlocks => count(blocks, "more block"),
        _ => format!("{} of each arm", count(blocks, "more run")),
    };
    let time = promise.hours.map(|hours| match hours {
        short if short < 1.0 => format!(" ({} min)", significant((60.0 * short).max(1.0), 2)),
        long => format!(" ({} h)", significant(long, 2)),
    });
    format!("{blocks}{}", time.unwrap_or_default())
}

/// "8 more blocks (3 h) decide it with probability 0.8".
pub(crate) fn text(promise: &PromiseReport, design: Design) -> String {
    let verb = if promise.blocks == 1 { "decides" } else { "decide" };
    format!("{} {verb} it with probability {}", amount(promise, design), probability(promise))
}

/// To two places, and never 1.
pub(crate) fn probability(promise: &PromiseReport) -> String {
    significant((100.0 * promise.probability).floor() / 100.0, 2)
}
