//! The design before the first run: the looks, the spending of the error rate, and the levels for one comparison.
//!
//! In:  looks in blocks, a spending function, an error rate.  Out: [`Design`], [`Levels`].
//! Not here: values (see [`super::course`]).

use super::boundary::{Boundary, LOOKS_MAX, Sides};
use super::spending::Spending;

/// Fewest blocks of a first look: below, an arm has no spread.
pub(crate) const FIRST_LOOK_MIN: usize = 2;

/// A group-sequential design.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    looks: Vec<usize>,
    /// How the error rate is spent.
    pub spending: Spending,
    /// Error rate of the whole family of comparisons, both sides together. And of each equivalence, by its own spending.
    pub alpha: f64,
}

/// Faults of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidDesign {
    /// No look at all.
    NoLook,
    /// More looks than [`LOOKS_MAX`].
    TooMany,
    /// The first look comes before `FIRST_LOOK_MIN` blocks.
    TooEarly,
    /// A look is not later than the one before it.
    NotRising,
    /// The error rate is not inside (0, 0.5].
    Alpha,
}

impl InvalidDesign {
    /// What is wrong, as it fits after "the looks" or "alpha".
    pub fn about(self) -> String {
        match self {
            Self::NoLook => "name no look".to_owned(),
            Self::TooMany => format!("are more than {LOOKS_MAX}"),
            Self::TooEarly => format!("begin before {FIRST_LOOK_MIN} blocks, where an arm has no spread yet"),
            Self::NotRising => "do not rise from one to the next".to_owned(),
            Self::Alpha => "is not above 0 and at most 0.5".to_owned(),
        }
    }
}

impl Design {
    /// A design with looks after these numbers of whole blocks. The last look ends it.
    ///
    /// # Errors
    /// With the first flaw.
    pub fn new(looks: &[usize], spending: Spending, alpha: f64) -> Result<Self, InvalidDesign> {
        let first = *looks.first().ok_or(InvalidDesign::NoLook)?;
        if looks.len() > LOOKS_MAX {
            return Err(InvalidDesign::TooMany);
        }
        if first < FIRST_LOOK_MIN {
            return Err(InvalidDesign::TooEarly);
        }
        if looks.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(InvalidDesign::NotRising);
        }
        if !(alpha > 0.0 && alpha <= 0.5) {
            return Err(InvalidDesign::Alpha);
        }
        Ok(Self { looks: looks.to_vec(), spending, alpha })
    }

    /// Blocks at each look.
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    /// Blocks of the whole plan.
    pub fn blocks(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }

    /// Number of looks for which `blocks` whole rounds of the plan are enough.
    pub fn reached(&self, blocks: usize) -> usize {
        self.looks.partition_point(|look| *look <= blocks)
    }

    /// Default looks: at `min`, at `max`, and at most three more between them. Each is about half as large again as the one before. Early
    /// looks save most, so they are closer together.
    pub fn usual_looks(min: usize, max: usize) -> Vec<usize> {
        const BETWEEN: usize = 3;
        let ratio = (max as f64 / min.max(1) as f64).powf(1.0 / (BETWEEN + 1) as f64);
        let mut looks: Vec<usize> =
            (0..=BETWEEN + 1).map(|k| (min as f64 * ratio.powf(k as f64)).round() as usize).collect();
        if let Some(last) = looks.last_mut() {
            *last = max;
        }
        looks.retain(|look| (min..=max).contains(look));
        looks.dedup();
        looks
    }
}

/// The levels of one comparison at the looks that have been reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Of the test of a difference, two-sided.
    pub difference: Boundary,
    /// Of each of the two one-sided tests of equivalence.
    pub equivalence: Boundary,
    /// Nominal two-sided p of the test of a difference, by look.
    pub difference_p: Vec<f64>,
    /// Nominal one-sided p of the tests of equivalence, by look.
    pub equivalence_p: Vec<f64>,
}

impl Levels {
    /// Levels at looks with `n` whole blocks each. `ends` says that the last of them is the last look of the design: it spends what is left.
    ///
    /// Among `family` comparisons the error rate is shared evenly (Bonferroni). At the last look of the design `share` of them share it
    /// (Holm): those that were declared different have handed theirs on. `share` is at most `family`.
    ///
    /// Absent where `n` does not rise or exceeds the plan.
    pub fn new(design: &Design, n: &[usize], ends: bool, family: usize, share: usize) -> Option<Self> {
        let times: Vec<f64> = n.iter().map(|n| *n as f64 / design.blocks() as f64).collect();
        let boundary = |alpha: f64, last: f64, sides: Sides| {
            let side = 1.0 / f64::from(sides.count());
            let mut spent: Vec<f64> = times.iter().map(|t| design.spending.spent(alpha * side, *t)).collect();
            if let Some(whole) = spent.last_mut().filter(|_| ends) {
                *whole = last * side;
            }
            Boundary::spending(&times, &spent, sides)
        };
        let each = design.alpha / family.max(1) as f64;
        let difference = boundary(each, design.alpha / share.clamp(1, family.max(1)) as f64, Sides::Two)?;
        let equivalence = boundary(design.alpha, design.alpha, Sides::One)?;
        let (difference_p, equivalence_p) = (difference.nominal_p(), equivalence.nominal_p());
        Some(Self { difference, equivalence, difference_p, equivalence_p })
    }
}
