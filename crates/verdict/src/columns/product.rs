//! Products and ratios: one factor for all rows of a group (rule P5).
//!
//! In:  columns.  Out: [`Derived`], where one factor fits nearly all rows.
//! Not here: straight lines, the choice of columns.

use super::column::Column;
use super::{CHANCE, Derived, MATCHING_SHARE, MIN_ROWS, Relation, SPREAD_OVER_ROUNDING};
use crate::number::significant;
use sparkbench_model::Run;

/// Rows of the first look at a relation.
const SAMPLE_ROWS: usize = 32;

/// `y = k x1^±1 ...` with one k for each group of rows.
pub(super) fn product(runs: &[&Run], y: &Column, terms: &[(&Column, i32)], groups: &[Vec<usize>]) -> Option<Derived> {
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
                .filter(|(_, (l, h))| !(*l..=*h).contains(&k))
                .map(|(i, _)| runs[*i].id.clone()),
        );
        for name in settings_that_give(runs[complete[0]], k) {
            let all = complete.iter().zip(&intervals).all(|(i, (l, h))| {
                k < *l || k > *h || settings_near(runs[*i], &name).is_some_and(|v| v >= *l && v <= *h)
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

/// Settings of a run that explain constants: lengths, batch, requests, and the thousand between seconds and milliseconds.
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

/// Names of settings whose value is near a factor: candidates, to be compared with every row.
fn settings_that_give(run: &Run, k: f64) -> Vec<String> {
    let near = |v: f64| (v / k - 1.0).abs() < 1e-3;
    SETTINGS.iter().filter(|(_, value)| value(run).is_some_and(near)).map(|(name, _)| (*name).to_owned()).collect()
}

fn settings_near(run: &Run, name: &str) -> Option<f64> {
    SETTINGS.iter().find(|(n, _)| *n == name).and_then(|(_, value)| value(run))
}

/// A cheap look at a few rows, so that archives of many runs and many columns stay quick. Small groups are examined in full anyway.
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

/// A point that lies in as many intervals as possible, and in how many. Intervals beyond the range of numbers hold no point.
fn densest(intervals: &[(f64, f64)]) -> Option<(f64, usize)> {
    // Starts sort before ends at the same place: touching intervals share a point.
    let usable = intervals.iter().filter(|(l, h)| l.is_finite() && h.is_finite() && l <= h);
    let mut edges: Vec<(f64, bool)> = usable.flat_map(|(l, h)| [(*l, false), (*h, true)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut open, mut best) = (0usize, None);
    for (i, (place, end)) in edges.iter().enumerate() {
        if *end {
            open -= 1;
        } else {
            open += 1;
            if best.is_none_or(|(_, hits)| open > hits) {
                // The next edge closes the segment in which these intervals overlap.
                let next = edges.get(i + 1).map_or(*place, |edge| edge.0);
                best = Some((place / 2.0 + next / 2.0, open));
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
    fn intervals_that_left_the_range_of_numbers_hold_no_point() {
        let lost = [(f64::NAN, 1.0), (1.0, -f64::NAN), (f64::INFINITY, f64::INFINITY), (3.0, 2.0)];
        assert_eq!(densest(&lost), None);
        let (k, hits) = densest(&[lost[0], (1e308, 1.5e308), lost[2]]).unwrap();
        assert!((1e308..=1.5e308).contains(&k) && hits == 1);
    }
}
