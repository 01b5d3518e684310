//! The estimate that decides a comparison, by the method that its design gets.
//!
//! In:  the layout of two arms, which way is better.  Out: [`EffectEstimate`]: size, interval at any level, p of a difference and of sameness.
//! Not here: which design it is (see `method`), families, words.
//!
//! Everything is told as an overhead in per cent, or as a difference in the unit of the metric where no per cent exists.

use sparkbench_stats::blocks::{self, Block};
use sparkbench_stats::bootstrap::Job;
use sparkbench_stats::contrast::Contrast;
use sparkbench_stats::{self as stats, Direction, consecutive, fieller, overhead, permutation};

use super::method::{Design, Layout, Unit, WholeBlock};

/// Intervals by the paired t of blocks.
pub const PAIRED_T: &str = "paired-t";
/// Intervals by Fieller's formula, of a difference without a per cent by Welch's.
pub const FIELLER: &str = "fieller";
/// The wider of that and the analysis of covariance, on each side.
pub const WITH_TIME: &str = "fieller-and-covariance";

/// One estimate of the difference.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// Of logarithms, or of the values where no per cent exists.
    T(Contrast),
    /// Of the means of two arms that are independent.
    Means(Vec<f64>, Vec<f64>),
}

/// How far apart two arms are.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectEstimate {
    layout: Layout,
    direction: Direction,
    /// All of them have to agree.
    estimates: Vec<Part>,
    /// Overhead in per cent, or the difference.
    size: Option<f64>,
    p: Option<f64>,
}

impl EffectEstimate {
    /// By the method of the layout. `job` draws the splits of the permutation.
    pub fn of(layout: Layout, direction: Direction, job: &Job) -> Self {
        let (a, b) = (layout.of_a(), layout.of_b());
        // Where a value is no positive number there is no logarithm, and the blocks are left aside.
        let has_logs = direction == Direction::DifferenceOnly || a.iter().chain(&b).all(|value| *value > 0.0);
        match layout.design {
            Design::InBlocks if has_logs => Self::in_blocks(layout, direction),
            Design::Mixed | Design::OneAfterTheOther => {
                let time = has_logs.then(|| at_equal_time(&layout, direction)).flatten();
                let p = stats::welch(&a, &b, 0.95).zip(time.as_ref()).map(|(plain, time)| plain.p.max(time.p()));
                // Without it nothing is known of what time did.
                let estimates = time.map(|time| vec![Part::Means(a.clone(), b.clone()), Part::T(time)]);
                Self {
                    size: of_means(&a, &b, direction),
                    estimates: estimates.unwrap_or_default(),
                    p,
                    direction,
                    layout,
                }
            }
            _ => {
                let splits = || permutation::studentised(&a, &b, job).map_or(0.0, |test| test.p);
                let p = stats::welch(&a, &b, 0.95).map(|welch| welch.p.max(splits()));
                Self { size: of_means(&a, &b, direction), estimates: vec![Part::Means(a, b)], p, direction, layout }
            }
        }
    }

    fn in_blocks(layout: Layout, direction: Direction) -> Self {
        let block = |block: &WholeBlock| {
            let (a, b) = (mean_on_scale(&block.a, direction), mean_on_scale(&block.b, direction));
            Block { difference: b - a, mean: 0.5 * (a + b), lead: block.lead }
        };
        let blocks: Vec<Block> = layout.blocks.iter().map(block).collect();
        let found = blocks::in_blocks(&blocks);
        Self {
            direction,
            size: found.map(|found| overhead::from_scale(found.estimate, direction)),
            p: found.as_ref().map(Contrast::p),
            estimates: found.map(Part::T).into_iter().collect(),
            layout,
        }
    }

    /// The same runs as if nobody knew their order: Welch and Fieller alone.
    pub fn without_design(&self) -> Self {
        let (a, b) = (self.layout.of_a(), self.layout.of_b());
        Self {
            layout: Layout { design: Design::Unknown, ..self.layout.clone() },
            direction: self.direction,
            size: of_means(&a, &b, self.direction),
            p: stats::welch(&a, &b, 0.95).map(|test| test.p),
            estimates: vec![Part::Means(a, b)],
        }
    }

    /// The runs it rests on.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Differences of whole blocks on the scale of the estimate, by the number of the block. Absent without blocks.
    pub fn by_block(&self) -> Option<Vec<(u32, f64)>> {
        let difference = |block: &WholeBlock| {
            let (a, b) = (mean_on_scale(&block.a, self.direction), mean_on_scale(&block.b, self.direction));
            (block.number, b - a)
        };
        (self.method() == PAIRED_T).then(|| self.layout.blocks.iter().map(difference).collect())
    }

    /// The same without numbers.
    pub fn differences(&self) -> Option<Vec<f64>> {
        Some(self.by_block()?.into_iter().map(|(_, difference)| difference).collect())
    }

    /// Values of both arms on the scale of the estimate. Absent where they have none there.
    pub fn on_scale(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let values = |units: &[Unit]| -> Option<Vec<f64>> {
            let each = units.iter().map(|unit| overhead::on_scale(unit.value, self.direction));
            each.map(|value| value.is_finite().then_some(value)).collect()
        };
        Some((values(&self.layout.a)?, values(&self.layout.b)?))
    }

    /// A margin on the scale of the estimate, candidate minus baseline. Absent where no per cent exists.
    pub fn limits(&self, margin_pct: f64) -> Option<(f64, f64)> {
        overhead::limits(margin_pct, self.direction)
    }

    /// Overhead in per cent (positive: the candidate costs more), or the difference.
    pub fn size(&self) -> Option<f64> {
        self.size
    }

    /// Two-sided p of no difference, before any adjustment.
    pub fn p(&self) -> Option<f64> {
        self.p
    }

    /// How the interval is made.
    pub fn method(&self) -> &'static str {
        match self.layout.design {
            Design::InBlocks if matches!(self.estimates.as_slice(), [Part::T(_)]) => PAIRED_T,
            design if design.is_apart() => WITH_TIME,
            _ => FIELLER,
        }
    }

    /// The test in words.
    pub fn test(&self) -> &'static str {
        match self.method() {
            PAIRED_T => "paired t in blocks",
            WITH_TIME => "Welch and covariance with time",
            _ => "Welch and permutation",
        }
    }

    /// The interval at a confidence: of several estimates their hull. Absent where one of them has none.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let each = self.estimates.iter().map(|estimate| match estimate {
            Part::T(contrast) => overhead::interval_from_scale(contrast.interval(confidence), self.direction),
            Part::Means(a, b) if self.direction == Direction::DifferenceOnly => {
                stats::welch(a, b, confidence).map(|test| (test.diff_lo, test.diff_hi))
            }
            Part::Means(a, b) => fieller::overhead_pct(a, b, self.direction, confidence),
        });
        let each: Vec<(f64, f64)> = each.collect::<Option<_>>()?;
        each.into_iter().reduce(|x, y| (x.0.min(y.0), x.1.max(y.1)))
    }

    /// Larger p of the two one-sided tests of a difference beyond the margin, per cent on both sides. Absent where no per cent exists.
    pub fn equivalence_p(&self, margin_pct: f64) -> Option<f64> {
        if self.direction == Direction::DifferenceOnly || margin_pct.is_nan() {
            return None;
        }
        if margin_pct <= 0.0 {
            return Some(1.0);
        }
        let (low, high) = self.limits(margin_pct)?;
        let each = self.estimates.iter().map(|estimate| match estimate {
            Part::T(contrast) => Some(contrast.equivalence_p(low, high)),
            Part::Means(a, b) => fieller::overhead_equivalence_p(a, b, self.direction, margin_pct),
        });
        let each: Vec<f64> = each.collect::<Option<_>>()?;
        each.into_iter().reduce(f64::max)
    }

    /// Smallest margin at which sameness would be shown at the level `1 - confidence`, per cent.
    pub fn smallest_margin_pct(&self, confidence: f64) -> Option<f64> {
        if self.direction == Direction::DifferenceOnly {
            return None;
        }
        let (low, high) = self.interval(2.0 * confidence - 1.0)?;
        Some(low.abs().max(high.abs())).filter(|margin| margin.is_finite())
    }
}

fn of_means(a: &[f64], b: &[f64], direction: Direction) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (a, b) = (stats::mean(a), stats::mean(b));
    if direction == Direction::DifferenceOnly { Some(b - a) } else { stats::overhead_pct(a, b, direction) }
}

fn mean_on_scale(values: &[f64], direction: Direction) -> f64 {
    stats::mean(&values.iter().map(|value| overhead::on_scale(*value, direction)).collect::<Vec<_>>())
}

/// The difference at equal time. Hours from the first run, so that no digits are lost.
fn at_equal_time(layout: &Layout, direction: Direction) -> Option<Contrast> {
    let first = layout.a.iter().chain(&layout.b).filter_map(|unit| unit.started).min()?;
    let of = |units: &[Unit]| -> Option<Vec<(f64, f64)>> {
        let point = |unit: &Unit| {
            Some((unit.started?.seconds_since(first) / 3_600.0, overhead::on_scale(unit.value, direction)))
        };
        units.iter().map(point).collect()
    };
    consecutive::at_equal_time(&of(&layout.a)?, &of(&layout.b)?)
}
