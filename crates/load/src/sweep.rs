//! Several loads in sequence: a list of concurrencies or rates, or a search for the point of saturation.
//!
//! In:  the measurements at each value so far ([`SweepPoint`]).  Out: the next value ([`Search::next`]), and why it ended ([`Search::outcome`]).
//! Not here: running a load, the cells of a matrix (see `matrix`).
//!
//! The search doubles until a value no longer pays. Then output throughput grows by less than 5 %, an SLO fails, or requests fail. Then it
//! halves the gap between the last value that paid and the first that did not, until they are near. Everything is decided from the points
//! alone, so that an interrupted search goes on where it stood.
//!
//! Beyond the limit of a server nothing is steady. Requests in flight and the time to the first token grow as long as the load lasts.
//! [`oversaturated`] looks for both, in an open loop. In a closed one the first cannot grow.

use super::settings::Shape;
use sparkbench_stats::drift;
use sparkbench_text::error::Error;

/// Growth of the throughput below which a doubling does not pay.
pub const PAYS: f64 = 0.05;
/// Share of failed requests above which a value is not held.
pub const FAILED: f64 = 0.01;
/// Significance of the growth. Both signs must show it.
pub const ALPHA: f64 = 0.01;
/// Growth over the whole load, relative to its mean, that is worth speaking of.
pub const GROWTH: f64 = 0.25;
/// Loads of one search, whatever happens.
pub const POINTS_MOST: usize = 40;

/// Greatest concurrency of a search that says none.
const CONCURRENCY_MOST: u32 = 1024;
/// A search over rates without a stated end goes up to this many times the first rate.
const RATES: f64 = 1024.0;

/// Measurement at one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint {
    /// Concurrency, or requests per second.
    pub value: f64,
    /// Output tokens per second. Absent where the tokens are not known.
    pub output_tok_s: Option<f64>,
    /// Requests per second that were answered.
    pub request_s: f64,
    /// Share of requests that failed or were never sent.
    pub failed: f64,
    /// Whether the stated SLOs are met. Absent without any, and where that is not known.
    pub slo_met: Option<bool>,
    /// SLOs are stated, and whether they are met is not known.
    pub slo_unknown: bool,
    /// See [`oversaturated`].
    pub oversaturated: bool,
}

/// Why a value does not pay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Requests fail.
    Failed { share: f64 },
    /// An SLO is not met.
    Slo,
    /// Whether an SLO is met is not known, and more load would not tell.
    SloUnknown,
    /// Requests in flight and the time to the first token grow as long as the load lasts.
    Oversaturated,
    /// The throughput grows too little for the load that was added.
    Flat {
        /// Growth over the best of the smaller values, as if it had been doubled.
        growth: f64,
    },
}

impl Limit {
    /// As part of a sentence.
    pub fn words(self) -> String {
        match self {
            Self::Failed { share } => format!("{:.1} % of the requests fail", share * 100.0),
            Self::Slo => "an SLO is not met".to_owned(),
            Self::SloUnknown => "an SLO cannot be judged".to_owned(),
            Self::Oversaturated => "requests pile up until the load ends".to_owned(),
            Self::Flat { growth } if growth < 0.0 => "throughput falls".to_owned(),
            Self::Flat { growth } => {
                format!("throughput grows too little: by {:.1} % for twice the load", growth * 100.0)
            }
        }
    }
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOutcome {
    /// Greatest value that paid. Absent when not even the first did.
    pub best: Option<SweepPoint>,
    /// Least value that did not, and why. Absent when the search came to its end before.
    pub limit: Option<(f64, Limit)>,
}

/// A saturation search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// First value, above 0.
    pub from: f64,
    /// Greatest value that is tried.
    pub to: f64,
    /// Whole numbers alone: concurrencies.
    pub whole: bool,
    /// The two values that it ends between may be so far apart, relative to the lower one.
    pub near: f64,
}

impl Search {
    /// Over concurrencies, from 1.
    pub const fn concurrencies(to: u32) -> Self {
        Self { from: 1.0, to: to as f64, whole: true, near: 0.1 }
    }

    /// Over rates per second.
    pub const fn rates(from: f64, to: f64) -> Self {
        Self { from, to, whole: false, near: 0.05 }
    }

    /// From the first point of a list or a range. The last one is where it ends.
    ///
    /// # Errors
    /// A usage error for a trace.
    pub fn over(shapes: &[Shape]) -> Result<Self, Error> {
        match (shapes.first(), shapes.last()) {
            (Some(Shape::Closed { concurrency: from }), Some(Shape::Closed { concurrency: to })) => {
                let to = if shapes.len() > 1 { *to } else { CONCURRENCY_MOST.max(*from) };
                Ok(Self { from: f64::from(*from), ..Self::concurrencies(to) })
            }
            (Some(Shape::Open { rate: from, .. }), Some(Shape::Open { rate: to, .. })) => {
                Ok(Self::rates(*from, if shapes.len() > 1 { *to } else { from * RATES }))
            }
            _ => Err(Error::usage("a trace has its own times, so there is nothing to search")),
        }
    }

    /// The next value to measure. Nothing when the search is over.
    pub fn next(&self, points: &[SweepPoint]) -> Option<f64> {
        if points.len() >= POINTS_MOST {
            return None;
        }
        let (low, high) = self.bracket(points);
        let next = match (low, high) {
            (None, None) => self.from,
            // Not even the first pays: smaller ones are not asked for.
            (None, Some(_)) | (_, Some((_, Limit::SloUnknown))) => return None,
            (Some(low), None) if low >= self.to => return None,
            (Some(low), None) => (2.0 * low).min(self.to),
            (Some(low), Some((high, _))) => {
                let middle = 0.5 * (low + high);
                let middle = if self.whole { middle.floor() } else { middle };
                if high - low <= self.near * low || middle <= low || middle >= high {
                    return None;
                }
                middle
            }
        };
        Some(if self.whole { next.round().max(1.0) } else { next })
    }

    /// Findings so far.
    pub fn outcome(&self, points: &[SweepPoint]) -> SearchOutcome {
        let (low, limit) = self.bracket(points);
        SearchOutcome { best: low.and_then(|low| points.iter().copied().find(|point| point.value == low)), limit }
    }

    /// Greatest value that pays below the least that does not.
    fn bracket(&self, points: &[SweepPoint]) -> (Option<f64>, Option<(f64, Limit)>) {
        let mut sorted = points.to_vec();
        sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
        let mut best: Option<SweepPoint> = None;
        for point in sorted {
            if let Some(limit) = limit(&point, best.as_ref()) {
                return (best.map(|best| best.value), Some((point.value, limit)));
            }
            best = Some(point);
        }
        (best.map(|best| best.value), None)
    }
}

/// Why a value does not pay after a smaller one that does.
fn limit(point: &SweepPoint, before: Option<&SweepPoint>) -> Option<Limit> {
    if point.failed > FAILED {
        return Some(Limit::Failed { share: point.failed });
    }
    if point.slo_met == Some(false) {
        return Some(Limit::Slo);
    }
    if point.slo_unknown {
        return Some(Limit::SloUnknown);
    }
    if point.oversaturated {
        return Some(Limit::Oversaturated);
    }
    let before = before?;
    let (now, then) = match (point.output_tok_s, before.output_tok_s) {
        (Some(now), Some(then)) => (now, then),
        // Without tokens requests stand for them.
        _ => (point.request_s, before.request_s),
    };
    let factor = point.value / before.value;
    if then <= 0.0 || factor <= 1.0 {
        return None;
    }
    // Between two neighbours less than a doubling lies: their growth is carried over to one.
    let growth = (now.max(0.0) / then).powf(std::f64::consts::LN_2 / factor.ln()) - 1.0;
    (growth < PAYS).then_some(Limit::Flat { growth })
}

/// Whether a load was more than the server can take. Requests in flight and the time to the first token are compared over equal slices of
/// the measured part. Both must rise together (Mann-Kendall) by a relevant amount. Fewer than eight slices prove nothing.
pub fn oversaturated(in_flight: &[f64], ttft_ms: &[f64]) -> bool {
    let grows = |values: &[f64]| {
        values.len() >= 8
            && drift(values, 1.0 - ALPHA).is_some_and(|found| {
                found.s > 0 && found.p < ALPHA && found.drift_pct.is_some_and(|percent| percent > 100.0 * GROWTH)
            })
    };
    grows(in_flight) && grows(ttft_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose throughput grows to a ceiling.
    fn server(value: f64, ceiling: f64) -> SweepPoint {
        let throughput = 100.0 * value.min(ceiling);
        SweepPoint {
            value,
            output_tok_s: Some(throughput),
            request_s: throughput / 100.0,
            failed: 0.0,
            slo_met: None,
            slo_unknown: false,
            oversaturated: false,
        }
    }

    fn run(search: Search, measure: impl Fn(f64) -> SweepPoint) -> (Vec<f64>, SearchOutcome) {
        let mut points = Vec::new();
        while let Some(value) = search.next(&points) {
            points.push(measure(value));
        }
        (points.iter().map(|point| point.value).collect(), search.outcome(&points))
    }

    #[test]
    fn the_search_doubles_and_then_halves_the_gap() {
        let (asked, found) = run(Search::concurrencies(1024), |value| server(value, 50.0));
        assert_eq!(asked[..8], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        let best = found.best.unwrap().value;
        assert!((50.0..=70.0).contains(&best), "{asked:?}");
        let (value, limit) = found.limit.unwrap();
        assert!(value - best <= 0.1 * best && matches!(limit, Limit::Flat { .. }), "{found:?}");
        assert!(limit.words().starts_with("throughput "), "{}", limit.words());
    }

    #[test]
    fn the_search_ends_at_its_end() {
        let (asked, found) = run(Search::concurrencies(20), |value| server(value, 500.0));
        assert_eq!(asked, [1.0, 2.0, 4.0, 8.0, 16.0, 20.0]);
        assert_eq!((found.best.unwrap().value, found.limit), (20.0, None));
    }

    #[test]
    fn failures_and_objectives_end_it_too() {
        let fails = |value: f64| SweepPoint { failed: if value > 23.0 { 0.2 } else { 0.0 }, ..server(value, 1e9) };
        let (_, found) = run(Search::concurrencies(1024), fails);
        assert_eq!((found.best.unwrap().value, found.limit), (22.0, Some((24.0, Limit::Failed { share: 0.2 }))));
        let slow = |value: f64| SweepPoint { slo_met: Some(value <= 3.3), ..server(value, 1e9) };
        let (_, found) = run(Search::rates(0.5, 100.0), slow);
        assert!((3.1..=3.3).contains(&found.best.unwrap().value) && matches!(found.limit, Some((_, Limit::Slo))));
        let (asked, found) = run(Search::concurrencies(8), |value| SweepPoint { failed: 1.0, ..server(value, 8.0) });
        assert_eq!((asked, found.best), (vec![1.0], None));
    }

    #[test]
    fn an_objective_that_cannot_be_judged_ends_it_at_once_and_is_no_limit_of_the_server() {
        let (asked, found) =
            run(Search::concurrencies(64), |value| SweepPoint { slo_unknown: true, ..server(value, 1e9) });
        assert_eq!((asked, found.best, found.limit), (vec![1.0], None, Some((1.0, Limit::SloUnknown))));
        let later = |value: f64| SweepPoint { slo_unknown: value > 5.0, ..server(value, 1e9) };
        let (asked, found) = run(Search::concurrencies(64), later);
        assert_eq!((asked, found.limit), (vec![1.0, 2.0, 4.0, 8.0], Some((8.0, Limit::SloUnknown))));
        assert_eq!(Limit::SloUnknown.words(), "an SLO cannot be judged");
    }

    #[test]
    fn the_order_of_the_points_does_not_matter() {
        let search = Search::concurrencies(64);
        let points = [4.0, 1.0, 8.0, 2.0].map(|value| server(value, 6.0));
        let mut sorted = points;
        sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
        assert_eq!(search.next(&points), search.next(&sorted));
    }

    #[test]
    fn piling_up_is_seen_and_a_wave_is_not() {
        let rising: Vec<f64> = (0..20).map(|i| 10.0 + 3.0 * f64::from(i)).collect();
        let wave: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i % 4)).collect();
        assert!(oversaturated(&rising, &rising));
        assert!(!oversaturated(&rising, &wave) && !oversaturated(&wave, &rising));
        assert!(!oversaturated(&rising[..7], &rising[..7]), "too little to say");
        let faint: Vec<f64> = (0..20).map(|i| 100.0 + 0.1 * f64::from(i)).collect();
        assert!(!oversaturated(&faint, &faint), "it rises, and by nothing that matters");
    }
}
