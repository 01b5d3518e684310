//! Columns that are functions of other columns: products, ratios and straight lines, found by their digits.
//!
//! In:  the readings of runs with the decimals they were printed with.  Out: [`Derived`], one for each column that adds no measurement.
//! Not here: what follows from it (see `judge`), the sentences (see the traps `derived_column`, `affine_columns`).
//!
//! A printed value means an interval of half a unit of its last place on either side. A relation holds in a row when those intervals allow
//! it. It counts as found when it holds in nearly all rows though the columns vary far more than their rounding. The bound on chance treats
//! the columns as independent. Columns that merely move together miss it by their own noise.

mod affine;
mod column;
mod product;

use std::collections::BTreeMap;

use rayon::prelude::*;

use sparkbench_model::{Metric, Run};

use affine::affine;
use column::Column;
use product::product;

/// Fewest rows, and fewest distinct values, from which a relation is read.
pub(crate) const MIN_ROWS: usize = 5;
/// Share of rows in which a product or ratio must hold. Below one, so that a single edited row cannot hide it.
pub(crate) const MATCHING_SHARE: f64 = 0.95;
/// A column must vary by this many times its rounding, or equal digits mean nothing.
pub(crate) const SPREAD_OVER_ROUNDING: f64 = 10.0;
/// A relation is believed when independent columns would show it less often than this.
pub(crate) const CHANCE: f64 = 1e-9;
/// Trap that reports a product or ratio.
pub(crate) const PRODUCT: &str = "derived-column";
/// Trap that reports a straight line.
pub(crate) const AFFINE: &str = "affine-columns";

/// Kind of a relation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Relation {
    /// Product or ratio (rule P5).
    Product,
    /// `intercept + slope x` (rule P7).
    Affine {
        /// Per unit of the other column.
        slope: f64,
        /// Unit of the derived column.
        intercept: f64,
        /// Largest distance of a row from the line, unit of the derived column.
        residual: f64,
    },
}

impl Relation {
    /// Id of the trap that reports it.
    pub const fn trap(&self) -> &'static str {
        match self {
            Self::Product => PRODUCT,
            Self::Affine { .. } => AFFINE,
        }
    }
}

/// A column that can be computed from others.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Metric that adds nothing.
    pub column: String,
    /// Metrics it follows from, the first one the measurement to keep.
    pub from: Vec<String>,
    /// The relation as a formula of metric names.
    pub rule: String,
    /// Which rule found it.
    pub relation: Relation,
    /// Rows that have all columns of the relation.
    pub rows: usize,
    /// Rows in which it holds to the printed digit.
    pub matching: usize,
    /// Ids of runs in which it does not.
    pub exceptions: Vec<String>,
}

/// Every column of these names that is a function of others. The kept column of a relation is the one that is primary, else the one that is first in
/// the catalogue of metrics. A column found derived is never used to explain another.
pub(crate) fn derived(names: &[&str], runs: &[&Run], primary: &[String]) -> Vec<Derived> {
    let mut columns: Vec<Column> = names.iter().filter_map(|name| Column::new(runs, name)).collect();
    columns.sort_by_key(|column| preference(primary, &column.name));
    let groups = [vec![(0..runs.len()).collect::<Vec<_>>()], by_workload(runs)];
    let mut kept: Vec<&Column> = Vec::new();
    let mut found = Vec::new();
    for column in &columns {
        match explain(runs, column, &kept, &groups) {
            Some(derived) => found.push(derived),
            None => kept.push(column),
        }
    }
    found
}

fn preference(primary: &[String], name: &str) -> (usize, usize, String) {
    let place = primary.iter().position(|p| p == name).unwrap_or(primary.len());
    (place, Metric::find(name).map_or(usize::MAX, |m| m.rank()), name.to_owned())
}

fn by_workload(runs: &[&Run]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        groups.entry(&run.workload).or_default().push(i);
    }
    groups.into_values().collect()
}

/// Looks for the simplest relation first: two columns, then a straight line, then three columns.
fn explain(runs: &[&Run], y: &Column, kept: &[&Column], groupings: &[Vec<Vec<usize>>]) -> Option<Derived> {
    let product = |terms: &[(&Column, i32)]| groupings.iter().find_map(|groups| product(runs, y, terms, groups));
    let pair = kept.iter().find_map(|x| product(&[(x, 1)]).or_else(|| product(&[(x, -1)])));
    pair.or_else(|| kept.iter().find_map(|x| affine(runs.len(), y, x))).or_else(|| {
        kept.par_iter().enumerate().with_max_len(1).find_map_first(|(i, a)| {
            kept[i + 1..]
                .iter()
                .find_map(|b| [(1, 1), (1, -1), (-1, 1)].into_iter().find_map(|(p, q)| product(&[(a, p), (b, q)])))
        })
    })
}
