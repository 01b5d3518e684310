//! Comparisons that share one error rate, look by look.
//!
//! In:  the pairs of a family, a design, the number of looks that were reached.  Out: one [`Course`] a pair.
//! Not here: which comparisons are a family (see `verdict`).
//!
//! At the interim looks each comparison has an even share of the error rate (Bonferroni). At the last look those that are still
//! open go by Holm's method: the comparisons that were declared different hand their share on. A comparison that ended equivalent has
//! declared no difference and hands nothing on.
//!
//! Source: Holm, *Scand. J. Stat.* 6 (1979). Maurer and Bretz, *Stat. Biopharm. Res.* 5 (2013), for the closed test behind both.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::course::{self, Call, Look, Pair};
use super::design::{Design, FIRST_LOOK_MIN, Levels};
use super::futility;

/// A comparison over the looks that were reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// In their order. A look at which the pair has no new block is not among them.
    pub looks: Vec<Look>,
    /// The one that decided, an index of `looks`. What comes after it is shown and changes nothing.
    pub decided: Option<usize>,
    /// Whether no look that is left can decide it.
    pub hopeless: bool,
    /// The levels of the looks, by the same index.
    pub levels: Option<Arc<Levels>>,
}

impl Course {
    /// The look that counts: the one that decided, else the last.
    pub fn counts(&self) -> Option<&Look> {
        self.looks.get(self.place()?)
    }

    /// Its index.
    pub fn place(&self) -> Option<usize> {
        self.decided.or_else(|| self.looks.len().checked_sub(1))
    }

    /// The p-value by stagewise ordering at the look that counts.
    pub fn stagewise_p(&self) -> Option<f64> {
        let at = self.place()?;
        self.looks.get(at)?.stagewise_p(&self.levels.as_ref()?.difference, at)
    }

    /// The median-unbiased overhead at the look that counts, per cent.
    pub fn median_unbiased_pct(&self, direction: crate::Direction) -> Option<f64> {
        let at = self.place()?;
        self.looks.get(at)?.median_unbiased_pct(&self.levels.as_ref()?.difference, at, direction)
    }
}

/// Blocks at the looks, whether the last one ends the design, size of the family, those that share at the end.
type Key = (Vec<usize>, bool, usize, usize);

/// Levels that were computed before: the same looks come again and again.
#[derive(Debug, Default)]
pub struct Known(BTreeMap<Key, Option<Arc<Levels>>>);

impl Known {
    fn levels(&mut self, design: &Design, n: &[usize], ends: bool, family: usize, share: usize) -> Option<Arc<Levels>> {
        let key = (n.to_vec(), ends, family, share);
        self.0.entry(key).or_insert_with(|| Levels::new(design, n, ends, family, share).map(Arc::new)).clone()
    }
}

/// Decides every pair of a family at the looks that were reached. `family` is its size: pairs that cannot be tested count too.
///
/// `known` is kept by the caller and belongs to one design.
pub fn decide(pairs: &[Pair<'_>], design: &Design, family: usize, known: &mut Known) -> Vec<Course> {
    let family = family.max(pairs.len()).max(1);
    let mut courses: Vec<Course> = pairs.iter().map(|pair| follow(pair, design, family, family, known)).collect();
    holm(pairs, design, family, &mut courses, known);
    for (pair, course) in pairs.iter().zip(&mut courses) {
        course.hopeless = course.decided.is_none() && prospects(pair, design, family, known) == Some(false);
    }
    courses
}

/// The looks of a pair that bring new blocks: which of the plan (from 0), and how many blocks.
fn steps(pair: &Pair<'_>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, n) in pair.blocks.iter().enumerate() {
        if *n >= FIRST_LOOK_MIN && found.last().is_none_or(|(_, before)| n > before) {
            found.push((at, *n));
        }
    }
    found
}

fn follow(pair: &Pair<'_>, design: &Design, family: usize, share: usize, known: &mut Known) -> Course {
    let steps = steps(pair);
    let n: Vec<usize> = steps.iter().map(|(_, n)| *n).collect();
    let ends = steps.last().is_some_and(|(at, _)| at + 1 == design.looks().len());
    let levels = (!n.is_empty()).then(|| known.levels(design, &n, ends, family, share)).flatten();
    let Some(levels) = levels else {
        return Course { looks: Vec::new(), decided: None, hopeless: false, levels: None };
    };
    let mut looks = Vec::with_capacity(n.len());
    for (place, (at, n)) in steps.iter().enumerate() {
        let level = |of: &[f64]| of.get(place).copied().unwrap_or(0.0);
        let at_levels = (level(&levels.difference_p), level(&levels.equivalence_p));
        let Some(mut look) = course::look(pair, *n, at_levels) else { break };
        look.look = at + 1;
        look.information = levels.difference.times.get(place).copied().unwrap_or(0.0);
        look.z_boundary = levels.difference.z.get(place).copied().unwrap_or(f64::INFINITY);
        if look.call == Call::GoOn && at + 1 == design.looks().len() {
            look.call = Call::Undecided;
        }
        looks.push(look);
    }
    let decided = looks.iter().position(|look| look.call.decides());
    Course { looks, decided, hopeless: false, levels: Some(levels) }
}

/// The last look, where what is open shares what has been handed on.
fn holm(pairs: &[Pair<'_>], design: &Design, family: usize, courses: &mut [Course], known: &mut Known) {
    let different = |course: &Course| {
        course.decided.and_then(|at| course.looks.get(at)).is_some_and(|look| look.call == Call::Difference)
    };
    loop {
        let declared = courses.iter().filter(|course| different(course)).count();
        let share = family.saturating_sub(declared).max(1);
        let open = |course: &Course| {
            let last = course.looks.last().filter(|look| look.call == Call::Undecided)?;
            (course.decided.is_none() && last.look == design.looks().len()).then_some(last.p)
        };
        let smallest = courses
            .iter()
            .enumerate()
            .filter_map(|(i, course)| Some((i, open(course)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((index, _)) = smallest.filter(|_| share < family) else { return };
        let Some(pair) = pairs.get(index) else { return };
        let again = follow(pair, design, family, share, known);
        if !different(&again) {
            return;
        }
        if let Some(course) = courses.get_mut(index) {
            *course = again;
        }
    }
}

/// Whether a look that is left can decide the pair. Absent where none is left.
fn prospects(pair: &Pair<'_>, design: &Design, family: usize, known: &mut Known) -> Option<bool> {
    let reached = pair.blocks.len();
    let (now, planned) = (*pair.blocks.last()?, *design.looks().get(reached.checked_sub(1)?)?);
    let later: Vec<usize> = design.looks().get(reached..)?.iter().map(|look| now + (look - planned)).collect();
    if later.is_empty() || now < FIRST_LOOK_MIN {
        return None;
    }
    let n: Vec<usize> = steps(pair).into_iter().map(|(_, n)| n).chain(later.iter().copied()).collect();
    let levels = known.levels(design, &n, true, family, family)?;
    Some(!futility::is_hopeless(pair, now, &later, &levels))
}
