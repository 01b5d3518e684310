//! Columns that are functions of other columns: products, ratios and straight lines, found by their digits.
//!
//! In:  a campaign's readings with the decimals they were printed with.  Out: [`Derived`], one for each column that adds no measurement.
//! Not here: what follows from it (see `judge`), the sentences (see `derived_column`, `affine_columns`).
//!
//! A printed value stands for an interval of half a unit of its last place on either side. A relation holds in a row when those
//! intervals allow it, and it counts as found when it holds in nearly all rows though the columns vary far more than their rounding.
//! The bound on chance treats the columns as independent; columns that merely move together miss it by their own noise.

use std::collections::BTreeMap;

use crate::model::{Metric, Run};
use crate::verdict::case::Case;
use crate::verdict::number::significant;

/// Fewest rows, and fewest distinct values, from which a relation is read.
pub const MIN_ROWS: usize = 5;
/// Share of rows in which a product or ratio must hold; below one, so that a single edited row cannot hide it.
pub const MATCHING_SHARE: f64 = 0.95;
/// A column must vary by this many times its rounding, or equal digits mean nothing.
pub const SPREAD_OVER_ROUNDING: f64 = 10.0;
/// A relation is believed when independent columns would show it less often than this.
pub const CHANCE: f64 = 1e-9;
/// Error of a value that was computed and stored in full: far above the last bit of a double, far below any clock or meter.
pub const STORED_PRECISION: f64 = 1e-9;
/// Rows of the first look at a relation.
const SAMPLE_ROWS: usize = 32;
/// More decimals than this are a computed value stored in full, not a rounded one.
const PRINTED_DECIMALS: usize = 8;

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

/// One metric over all runs.
struct Column {
    name: String,
    /// Half a unit of the last printed place; 0 for values stored in full.
    half: f64,
    /// By run.
    values: Vec<Option<f64>>,
}

impl Column {
    fn new(case: &Case<'_>, name: &str) -> Option<Self> {
        let values: Vec<Option<f64>> = case.runs.iter().map(|run| run.value(name)).collect();
        // Per cent and temperatures have no ratios, and a zero or a negative time has no meaning in a product.
        if Metric::find(name).is_some_and(|m| !m.ratio_scale) || values.iter().flatten().any(|v| *v <= 0.0) {
            return None;
        }
        let printed = case.runs.iter().filter_map(|run| run.reading(name)?.decimals).max().map(usize::from);
        let decimals = printed.unwrap_or_else(|| values.iter().flatten().map(|v| decimals(*v)).max().unwrap_or(0));
        let half = if decimals > PRINTED_DECIMALS { 0.0 } else { 0.5 * 10f64.powi(-(decimals as i32)) };
        Some(Self { name: name.to_owned(), half, values })
    }

    fn error(&self, value: f64) -> f64 {
        self.half.max(STORED_PRECISION * value.abs())
    }

    /// Range over rounding, both for the given rows; 0 for a constant.
    fn spread(&self, rows: &[usize]) -> f64 {
        let values = || rows.iter().filter_map(|i| self.values[*i]);
        let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if high > low { (high - low) / self.error(high) } else { 0.0 }
    }

    fn distinct(&self, rows: &[usize]) -> usize {
        let mut values: Vec<f64> = rows.iter().filter_map(|i| self.values[*i]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    }
}

/// Digits after the point of the shortest text that reads back as the value: how a number that came without text was printed.
fn decimals(value: f64) -> usize {
    let text = format!("{value}");
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// Every column that is a function of others. The kept column of a relation is the one that is primary, else the one that stands first in
/// the catalogue of metrics; a column found derived is never used to explain another.
pub fn derived_columns(case: &Case<'_>) -> Vec<Derived> {
    let mut columns: Vec<Column> = case.metrics().into_iter().filter_map(|name| Column::new(case, name)).collect();
    columns.sort_by_key(|column| preference(case, &column.name));
    let groups = [vec![(0..case.runs.len()).collect::<Vec<_>>()], by_workload(&case.runs)];
    let mut kept: Vec<&Column> = Vec::new();
    let mut found = Vec::new();
    for column in &columns {
        match explain(case, column, &kept, &groups) {
            Some(derived) => found.push(derived),
            None => kept.push(column),
        }
    }
    found
}

fn preference(case: &Case<'_>, name: &str) -> (usize, usize, String) {
    let primary = case.primary.iter().position(|p| p == name).unwrap_or(case.primary.len());
    (primary, Metric::find(name).map_or(usize::MAX, |m| m.rank()), name.to_owned())
}

fn by_workload(runs: &[&Run]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        groups.entry(&run.workload).or_default().push(i);
    }
    groups.into_values().collect()
}

/// Looks for the simplest relation first: two columns, then a straight line, then three columns.
fn explain(case: &Case<'_>, y: &Column, kept: &[&Column], groupings: &[Vec<Vec<usize>>]) -> Option<Derived> {
    let product = |terms: &[(&Column, i32)]| groupings.iter().find_map(|groups| product(case, y, terms, groups));
    let pair = kept.iter().find_map(|x| product(&[(x, 1)]).or_else(|| product(&[(x, -1)])));
    pair.or_else(|| kept.iter().find_map(|x| affine(case, y, x))).or_else(|| {
        kept.iter().enumerate().find_map(|(i, a)| {
            kept[i + 1..]
                .iter()
                .find_map(|b| [(1, 1), (1, -1), (-1, 1)].into_iter().find_map(|(p, q)| product(&[(a, p), (b, q)])))
        })
    })
}

/// `y = k x1^±1 ...` with one k for each group of rows.
fn product(case: &Case<'_>, y: &Column, terms: &[(&Column, i32)], groups: &[Vec<usize>]) -> Option<Derived> {
    let (mut rows, mut matching, mut chance) = (0, 0, 1.0_f64);
    let (mut factors, mut exceptions) = (Vec::new(), Vec::new());
    let mut names: Vec<(String, usize)> = Vec::new();

    for group in groups {
        let complete: Vec<usize> = group
            .iter()
            .copied()
            .filter(|i| y.values[*i].is_some() && terms.iter().all(|(x, _)| x.values[*i].is_some()))
            .collect();
        if !passes_sample(y, terms, &complete) {
            return None;
        }
        let columns = || std::iter::once(y).chain(terms.iter().map(|(x, _)| *x));
        let least_spread = columns().map(|c| c.spread(&complete)).fold(f64::INFINITY, f64::min);
        if complete.len() < MIN_ROWS
            || columns().any(|c| c.distinct(&complete) < MIN_ROWS.min(3))
            || least_spread < SPREAD_OVER_ROUNDING
        {
            continue;
        }
        let intervals: Vec<(f64, f64)> = complete.iter().filter_map(|i| factor(y, terms, *i)).collect();
        let (k, hits) = densest(&intervals)?;
        if (hits as f64) < MATCHING_SHARE * complete.len() as f64 {
            return None;
        }
        rows += complete.len();
        matching += hits;
        // Each further row would have to land within the rounding of both sides, out of the spread of the columns.
        chance *= (2.0 * (terms.len() as f64 + 1.0) / least_spread).min(1.0).powi(hits as i32 - 1);
        exceptions.extend(
            complete
                .iter()
                .zip(&intervals)
                .filter(|(_, (l, h))| k < *l || k > *h)
                .map(|(i, _)| case.runs[*i].id.clone()),
        );
        for name in settings_that_give(case.runs[complete[0]], k) {
            let all = complete.iter().zip(&intervals).all(|(i, (l, h))| {
                k < *l || k > *h || settings_near(case.runs[*i], &name).is_some_and(|v| v >= *l && v <= *h)
            });
            match names.iter_mut().find(|(n, _)| *n == name) {
                Some((_, groups)) if all => *groups += 1,
                None if all => names.push((name, 1)),
                _ => {}
            }
        }
        factors.push((k, intervals.iter().map(|(l, h)| (h - l) / 2.0).fold(f64::INFINITY, f64::min)));
    }
    if factors.is_empty() || chance > CHANCE {
        return None;
    }
    Some(Derived {
        column: y.name.clone(),
        from: terms.iter().map(|(x, _)| x.name.clone()).collect(),
        rule: formula(
            y,
            terms,
            &factors,
            names.iter().find(|(_, groups)| *groups == factors.len()).map(|(name, _)| name.as_str()),
        ),
        relation: Relation::Product,
        rows,
        matching,
        exceptions,
    })
}

/// A figure taken from the settings of a run.
type Setting = fn(&Run) -> Option<f64>;

/// Settings of a run that stand behind constants: lengths, batch, requests, and the thousand between seconds and milliseconds.
const SETTINGS: &[(&str, Setting)] = &[
    ("osl", |r| r.setup.osl),
    ("1000 x osl", |r| Some(1000.0 * r.setup.osl?)),
    ("batch", |r| r.setup.batch),
    ("1000 x batch", |r| Some(1000.0 * r.setup.batch?)),
    ("batch x osl", |r| Some(r.setup.batch? * r.setup.osl?)),
    ("1000 x batch x osl", |r| Some(1000.0 * r.setup.batch? * r.setup.osl?)),
    ("(isl + osl)", |r| Some(r.setup.isl? + r.setup.osl?)),
    ("(isl + osl) / osl", |r| Some((r.setup.isl? + r.setup.osl?) / r.setup.osl?)),
    ("requests", |r| r.setup.requests),
    ("requests x osl", |r| Some(r.setup.requests? * r.setup.osl?)),
];

/// Names of settings whose value is near a factor: candidates, to be held against every row.
fn settings_that_give(run: &Run, k: f64) -> Vec<String> {
    let near = |v: f64| (v / k - 1.0).abs() < 1e-3;
    SETTINGS.iter().filter(|(_, value)| value(run).is_some_and(near)).map(|(name, _)| (*name).to_owned()).collect()
}

fn settings_near(run: &Run, name: &str) -> Option<f64> {
    SETTINGS.iter().find(|(n, _)| *n == name).and_then(|(_, value)| value(run))
}

/// A cheap look at a few rows, so that archives of many runs and many columns stay quick. Small groups are looked at in full anyway.
fn passes_sample(y: &Column, terms: &[(&Column, i32)], rows: &[usize]) -> bool {
    if rows.len() <= 2 * SAMPLE_ROWS {
        return true;
    }
    let sample: Vec<(f64, f64)> =
        rows.iter().step_by(rows.len() / SAMPLE_ROWS).filter_map(|i| factor(y, terms, *i)).collect();
    // Looser than the rule itself: a sample may catch more of the exceptions than its share.
    densest(&sample).is_some_and(|(_, hits)| 2 * hits > sample.len())
}

/// The factors k that one row allows.
fn factor(y: &Column, terms: &[(&Column, i32)], row: usize) -> Option<(f64, f64)> {
    let value = y.values[row]?;
    let error = y.error(value);
    let (mut low, mut high) = (value - error, value + error);
    for (x, power) in terms {
        let value = x.values[row]?;
        let error = x.error(value);
        let (l, h) = ((value - error).max(f64::MIN_POSITIVE), value + error);
        (low, high) = if *power > 0 { (low / h, high / l) } else { (low * l, high * h) };
    }
    Some((low, high))
}

/// A point that lies in as many intervals as possible, and in how many.
fn densest(intervals: &[(f64, f64)]) -> Option<(f64, usize)> {
    // Starts sort before ends at the same place: touching intervals share a point.
    let mut edges: Vec<(f64, bool)> = intervals.iter().flat_map(|(l, h)| [(*l, false), (*h, true)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut open, mut best) = (0usize, None);
    for (i, (place, end)) in edges.iter().enumerate() {
        if *end {
            open -= 1;
        } else {
            open += 1;
            if best.is_none_or(|(_, hits)| open > hits) {
                // The next edge closes the stretch in which these intervals overlap.
                let next = edges.get(i + 1).map_or(*place, |edge| edge.0);
                best = Some(((place + next) / 2.0, open));
            }
        }
    }
    best
}

/// `output_throughput_tok_s = 128 x request_throughput_req_s`, turned so that the factor is above one where there are two columns.
fn formula(y: &Column, terms: &[(&Column, i32)], factors: &[(f64, f64)], name: Option<&str>) -> String {
    let number = |k: f64, uncertainty: f64| {
        let whole = k.round();
        if (k - whole).abs() <= uncertainty.max(1e-9 * k) { significant(whole, 15) } else { significant(k, 6) }
    };
    let constant = match factors {
        [(k, uncertainty)] => Some((*k, *uncertainty)),
        _ => None,
    };
    if let ([(x, -1)], Some(name)) = (terms, name) {
        return format!("{} = {name} / {}", y.name, x.name);
    }
    if let ([(x, power)], Some((k, uncertainty))) = (terms, constant) {
        return match *power {
            1 if (k - 1.0).abs() <= uncertainty => format!("{} = {}", y.name, x.name),
            1 if k >= 1.0 => format!("{} = {} x {}", y.name, number(k, uncertainty), x.name),
            1 => format!("{} = {} x {}", x.name, number(1.0 / k, uncertainty / (k * k)), y.name),
            _ => format!("{} = {} / {}", y.name, number(k, uncertainty), x.name),
        };
    }
    let mut text = format!("{} = ", y.name);
    match constant {
        _ if name.is_some() => text += &format!("{} x ", name.unwrap_or_default()),
        Some((k, uncertainty)) if (k - 1.0).abs() > uncertainty => text += &format!("{} x ", number(k, uncertainty)),
        Some(_) => {}
        None => text += "(a constant of each workload) x ",
    }
    for (i, (x, power)) in terms.iter().enumerate() {
        let sign = match (i, *power > 0) {
            (0, true) => "",
            (0, false) => "1 / ",
            (_, true) => " x ",
            (_, false) => " / ",
        };
        text += &format!("{sign}{}", x.name);
    }
    text
}

/// `y = a + b x` over all rows, residuals within the rounding of both columns.
fn affine(case: &Case<'_>, y: &Column, x: &Column) -> Option<Derived> {
    let rows: Vec<usize> = (0..case.runs.len()).filter(|i| y.values[*i].is_some() && x.values[*i].is_some()).collect();
    if rows.len() < MIN_ROWS || x.distinct(&rows) < MIN_ROWS || y.distinct(&rows) < MIN_ROWS {
        return None;
    }
    let spread = x.spread(&rows).min(y.spread(&rows));
    // Two numbers are fitted, so two rows carry no information.
    let chance = (4.0 / spread.max(1.0)).min(1.0).powi(i32::try_from(rows.len()).unwrap_or(i32::MAX) - 2);
    if spread < SPREAD_OVER_ROUNDING || chance > CHANCE {
        return None;
    }
    let points: Vec<(f64, f64)> = rows.iter().filter_map(|i| x.values[*i].zip(y.values[*i])).collect();
    let (intercept, slope) = line(&points)?;
    let residual = points.iter().map(|(x, y)| (y - intercept - slope * x).abs()).fold(0.0, f64::max);
    let allowed = points.iter().map(|(a, b)| y.error(*b) + slope.abs() * x.error(*a)).fold(f64::INFINITY, f64::min);
    (residual <= allowed && slope != 0.0).then(|| {
        let digits = |v: f64| significant(v, 6);
        let rule = if slope < 0.0 && intercept > 0.0 {
            format!("{} = {} x ({} - {})", y.name, significant(-slope, 4), digits(-intercept / slope), x.name)
        } else {
            format!(
                "{} = {} {} {} x {}",
                y.name,
                digits(intercept),
                if slope < 0.0 { "-" } else { "+" },
                significant(slope.abs(), 4),
                x.name
            )
        };
        let relation = Relation::Affine { slope, intercept, residual };
        let n = rows.len();
        Derived {
            column: y.name.clone(),
            from: vec![x.name.clone()],
            rule,
            relation,
            rows: n,
            matching: n,
            exceptions: Vec::new(),
        }
    })
}

/// Least squares about the means; `None` without spread.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let (sxx, sxy) =
        points.iter().fold((0.0, 0.0), |(xx, xy), (x, y)| (xx + (x - mx) * (x - mx), xy + (x - mx) * (y - my)));
    let slope = (sxx > 0.0).then(|| sxy / sxx)?;
    Some((my - slope * mx, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_point_lies_in_most_intervals() {
        let (k, hits) = densest(&[(1.0, 2.0), (1.5, 3.0), (1.8, 1.9), (5.0, 6.0)]).unwrap();
        assert!((1.8..=1.9).contains(&k));
        assert_eq!(hits, 3);
        assert_eq!(densest(&[]), None);
    }

    #[test]
    fn the_last_place_is_read_from_the_shortest_text() {
        for (value, expected) in [(119.1443, 4), (69.0, 0), (0.1, 1), (2.157254695892334, 15)] {
            assert_eq!(decimals(value), expected, "{value}");
        }
    }

    #[test]
    fn a_line_through_exact_points_is_found_exactly() {
        assert_eq!(line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), Some((1.0, 2.0)));
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
