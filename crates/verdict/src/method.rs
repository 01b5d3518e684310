//! Which method a comparison gets: the one tree, by how the runs of its two arms lie in time.
//!
//! In:  the figures of both arms, each with its block, round and start.  Out: [`Layout`]: the design, and the blocks or times it rests on.
//! Not here: the estimates (see `effect`), the words.
//!
//! ```text
//! whole blocks that hold both arms, one after another ── in-blocks          paired t of the logarithms
//! no start times ─────────────────────────────────────── unknown            as interleaved, and said
//! turns in alternating or random order ───────────────── interleaved        Fieller, Welch and permutation
//! one arm after the other ────────────────────────────── one-after-the-other   analysis of covariance with time beside it
//! anything between ───────────────────────────────────── mixed              the same
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use sparkbench_model::Instant;
use sparkbench_stats::{self as stats, OrderKind};

/// Least probability of so few stretches under which an order counts as random.
const RANDOM_ORDER: f64 = 0.05;
/// Fewest whole blocks that are a design.
const LEAST_BLOCKS: usize = 2;

/// How the runs of two arms lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Blocks that hold both arms.
    InBlocks,
    /// Turns without blocks.
    Interleaved,
    /// Arms that overlap in part.
    Mixed,
    OneAfterTheOther,
    /// No start times.
    Unknown,
    /// Two moments: time itself is what is compared.
    OverTime,
}

impl Design {
    /// Name in the contracts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InBlocks => "in-blocks",
            Self::Interleaved => "interleaved",
            Self::Mixed => "mixed",
            Self::OneAfterTheOther => "one-after-the-other",
            Self::Unknown => "unknown",
            Self::OverTime => "over-time",
        }
    }

    /// Whether time and arm are confounded, wholly or in part.
    pub const fn is_apart(self) -> bool {
        matches!(self, Self::Mixed | Self::OneAfterTheOther)
    }
}

/// The figure of one arm from one run, or from one launch where several of its runs share it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unit {
    /// Id of the run, of the first where it is several.
    pub run: String,
    pub block: Option<u32>,
    /// Which run of its cell.
    pub repeat: Option<u32>,
    pub started: Option<Instant>,
    pub value: f64,
}

impl Unit {
    /// Hours since 1970.
    fn hours(&self) -> Option<f64> {
        self.started.map(|at| at.0 as f64 / 3_600_000.0)
    }
}

/// One whole block: what both arms measured in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WholeBlock {
    /// Its number, as the runs give it.
    pub number: u32,
    /// Figures of the baseline. More than one where it ran several times.
    pub a: Vec<f64>,
    /// Figures of the candidate.
    pub b: Vec<f64>,
    /// Runs behind the first figure of each.
    pub runs: [String; 2],
    /// How much later the candidate ran than the baseline, in blocks. 0 where nobody knows.
    pub lead: f64,
}

/// The design of a comparison, with its figures in order of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layout {
    pub design: Design,
    /// The baseline.
    pub a: Vec<Unit>,
    /// The candidate.
    pub b: Vec<Unit>,
    /// Whole blocks in order of time. Empty but for a design in blocks.
    pub blocks: Vec<WholeBlock>,
    /// From the start of a block to that of the next, hours. Without blocks, from a run of both arms to the next.
    pub hours_a_block: Option<f64>,
}

impl Layout {
    /// Takes the figures of two arms, each in order of time.
    pub fn of(a: Vec<Unit>, b: Vec<Unit>) -> Self {
        let blocks = blocks(&a, &b, |unit| unit.block, true)
            .or_else(|| blocks(&a, &b, |unit| unit.repeat, false))
            .unwrap_or_default();
        let design = if blocks.is_empty() { by_order(&a, &b) } else { Design::InBlocks };
        let hours_a_block = span(&a, &b).map(|hours| {
            let steps = if blocks.is_empty() { a.len().max(b.len()) } else { blocks.len() };
            hours / (steps.max(2) - 1) as f64
        });
        Self { design, a, b, blocks, hours_a_block }
    }

    /// Two moments of one arm: no blocks, and no time that could be taken off.
    pub fn over_time(a: Vec<Unit>, b: Vec<Unit>) -> Self {
        Self { design: Design::OverTime, a, b, blocks: Vec::new(), hours_a_block: None }
    }

    /// Figures of the baseline.
    pub fn of_a(&self) -> Vec<f64> {
        self.a.iter().map(|unit| unit.value).collect()
    }

    /// Figures of the candidate.
    pub fn of_b(&self) -> Vec<f64> {
        self.b.iter().map(|unit| unit.value).collect()
    }

    /// The same without some runs.
    pub fn without(&self, runs: &[&str]) -> Self {
        let kept = |units: &[Unit]| units.iter().filter(|unit| !runs.contains(&unit.run.as_str())).cloned().collect();
        let (a, b) = (kept(&self.a), kept(&self.b));
        if self.design == Design::OverTime { Self::over_time(a, b) } else { Self::of(a, b) }
    }
}

/// Hours from the first start to the last. Absent where any start is unknown, or all are one.
fn span(a: &[Unit], b: &[Unit]) -> Option<f64> {
    let starts: Vec<f64> = a.iter().chain(b).map(Unit::hours).collect::<Option<_>>()?;
    let ends = starts.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(*at), high.max(*at)));
    Some(ends.1 - ends.0).filter(|hours| *hours > 0.0 && hours.is_finite())
}

/// Whole blocks by one numbering, in order of time. Absent where it is no numbering of blocks: where they overlap in time, or where too few
/// runs are in a whole one. A number that is called a block is believed without times (`declared`). A round is not: runs that were numbered
/// arm by arm have one too.
fn blocks(a: &[Unit], b: &[Unit], number: fn(&Unit) -> Option<u32>, declared: bool) -> Option<Vec<WholeBlock>> {
    let mut members: BTreeMap<u32, [Vec<&Unit>; 2]> = BTreeMap::new();
    for (arm, units) in [a, b].into_iter().enumerate() {
        for unit in units {
            let block = members.entry(number(unit)?).or_default();
            block.get_mut(arm)?.push(unit);
        }
    }
    members.retain(|_, [a, b]| !a.is_empty() && !b.is_empty());
    let inside: usize = members.values().map(|[a, b]| a.len() + b.len()).sum();
    if members.len() < LEAST_BLOCKS || 2 * inside < a.len() + b.len() {
        return None;
    }
    let mut found: Vec<(Option<(f64, f64)>, WholeBlock)> = members
        .into_iter()
        .map(|(number, [a, b])| {
            let mean = |units: &[&Unit]| -> Option<f64> {
                let hours: Vec<f64> = units.iter().map(|unit| unit.hours()).collect::<Option<_>>()?;
                Some(stats::mean(&hours))
            };
            let all: Option<Vec<f64>> = a.iter().chain(&b).map(|unit| unit.hours()).collect();
            let ends = all
                .map(|all| all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), at| (l.min(*at), h.max(*at))));
            let values = |units: &[&Unit]| units.iter().map(|unit| unit.value).collect();
            let first = |units: &[&Unit]| units.first().map(|unit| unit.run.clone()).unwrap_or_default();
            let lead = mean(&b).zip(mean(&a)).map_or(0.0, |(b, a)| b - a);
            (ends, WholeBlock { number, a: values(&a), b: values(&b), runs: [first(&a), first(&b)], lead })
        })
        .collect();
    let timed = found.iter().all(|(ends, _)| ends.is_some());
    if !timed {
        found.iter_mut().for_each(|(_, block)| block.lead = 0.0);
        return declared.then(|| found.into_iter().map(|(_, block)| block).collect());
    }
    let begin = |ends: &Option<(f64, f64)>| ends.map_or(0.0, |(begin, _)| begin);
    found.sort_by(|x, y| begin(&x.0).total_cmp(&begin(&y.0)));
    let overlap = found.windows(2).any(|pair| match pair {
        [(Some((_, end)), _), (Some((begin, _)), _)] => end >= begin,
        _ => false,
    });
    if overlap {
        return None;
    }
    // In blocks: that is how a drift from block to block is measured.
    let first = found.first().map_or(0.0, |(ends, _)| begin(ends));
    let last = found.last().map_or(0.0, |(ends, _)| begin(ends));
    let step = (last - first) / (found.len() - 1) as f64;
    Some(
        found
            .into_iter()
            .map(|(_, block)| WholeBlock { lead: if step > 0.0 { block.lead / step } else { 0.0 }, ..block })
            .collect(),
    )
}

/// The design of runs without blocks.
fn by_order(a: &[Unit], b: &[Unit]) -> Design {
    let timed = |units: &[Unit]| -> Option<Vec<i64>> { units.iter().map(|unit| unit.started.map(|at| at.0)).collect() };
    let (Some(of_a), Some(of_b)) = (timed(a), timed(b)) else { return Design::Unknown };
    // One moment for all runs of an arm is that of the file.
    let at_once = |starts: &[i64]| starts.len() > 1 && starts.iter().all(|at| Some(at) == starts.first());
    if at_once(&of_a) || at_once(&of_b) {
        return Design::Unknown;
    }
    let mut labels: Vec<(i64, usize)> =
        of_a.into_iter().map(|at| (at, 0)).chain(of_b.into_iter().map(|at| (at, 1))).collect();
    labels.sort_by_key(|(at, _)| *at);
    let labels: Vec<usize> = labels.into_iter().map(|(_, arm)| arm).collect();
    let Some(found) = stats::order(&labels) else { return Design::Unknown };
    match found.kind {
        OrderKind::Interleaved => Design::Interleaved,
        OrderKind::Blocked => Design::OneAfterTheOther,
        OrderKind::Mixed if found.p_too_few.is_some_and(|p| p >= RANDOM_ORDER) => Design::Interleaved,
        OrderKind::Mixed => Design::Mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of one arm that start at these minutes, numbered from 1.
    fn arm(name: &str, minutes: &[i64]) -> Vec<Unit> {
        let unit = |(k, minute): (usize, &i64)| Unit {
            run: format!("{name}{}", k + 1),
            block: None,
            repeat: Some(k as u32 + 1),
            started: Some(Instant(1_700_000_000_000 + minute * 60_000)),
            value: 100.0 + k as f64,
        };
        minutes.iter().enumerate().map(unit).collect()
    }

    fn design(a: &[i64], b: &[i64]) -> Design {
        Layout::of(arm("a", a), arm("b", b)).design
    }

    #[test]
    fn rounds_that_follow_each_other_are_blocks_and_rounds_of_each_arm_alone_are_not() {
        let layout = Layout::of(arm("a", &[0, 30, 40, 70]), arm("b", &[10, 20, 50, 60]));
        assert_eq!(layout.design, Design::InBlocks);
        let halves: Vec<f64> = layout.blocks.iter().map(|block| (1e6 * block.lead).round() / 1e6).collect();
        assert_eq!(halves, [0.5, -0.5, 0.5, -0.5]);
        assert_eq!(layout.blocks[1].runs, ["a2", "b2"]);
        assert_eq!(design(&[0, 10, 20, 30], &[40, 50, 60, 70]), Design::OneAfterTheOther);
    }

    #[test]
    fn a_block_that_lacks_an_arm_leaves_that_block_only() {
        let mut a = arm("a", &[0, 30, 40, 70]);
        a.remove(1);
        let layout = Layout::of(a, arm("b", &[10, 20, 50, 60]));
        assert_eq!(layout.design, Design::InBlocks);
        assert_eq!(layout.blocks.iter().map(|block| block.number).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn without_blocks_the_order_decides() {
        let bare = |minutes: &[i64], name: &str| {
            arm(name, minutes).into_iter().map(|unit| Unit { repeat: None, ..unit }).collect::<Vec<_>>()
        };
        let of = |a: &[i64], b: &[i64]| Layout::of(bare(a, "a"), bare(b, "b")).design;
        assert_eq!(of(&[0, 20, 40, 60], &[10, 30, 50, 70]), Design::Interleaved);
        assert_eq!(of(&[0, 10, 40, 60], &[20, 30, 50, 70]), Design::Interleaved, "random");
        let stretches = (&[0, 1, 2, 3, 4, 20, 21, 22, 23, 24], &[10, 11, 12, 13, 14, 30, 31, 32, 33, 34]);
        assert_eq!(of(stretches.0, stretches.1), Design::Mixed);
        assert_eq!(of(&[5, 5, 5], &[5, 5, 5]), Design::Unknown, "the moment of a file");
    }

    #[test]
    fn a_number_that_is_called_a_block_is_believed_without_times() {
        let untimed = |name: &str, declared: bool| {
            let unit = |unit: Unit| Unit { started: None, block: unit.repeat.filter(|_| declared), ..unit };
            arm(name, &[0, 0, 0]).into_iter().map(unit).collect::<Vec<_>>()
        };
        assert_eq!(Layout::of(untimed("a", true), untimed("b", true)).design, Design::InBlocks);
        assert_eq!(Layout::of(untimed("a", false), untimed("b", false)).design, Design::Unknown);
    }

    #[test]
    fn arms_that_never_share_a_block_are_blocked_by_round() {
        let unit = |unit: Unit, block: u32| Unit { block: Some(block), ..unit };
        let a: Vec<Unit> = arm("a", &[0, 20, 40]).into_iter().map(|u| unit(u, 1)).collect();
        let b: Vec<Unit> = arm("b", &[10, 30, 50]).into_iter().map(|u| unit(u, 2)).collect();
        assert_eq!(Layout::of(a, b).design, Design::InBlocks);
    }
}
