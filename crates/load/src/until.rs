//! A load that ends when a figure is known well enough: `ttft_p99=2%`.
//!
//! In:  the wanted precision, requests as they end.  Out: a [`Source`] that ends the load, and an [`UntilReport`] with the precision.
//! Not here: the interval (see `stats::quantile_sequence`), the requests (see `feed`).
//!
//! The interval is a confidence sequence: it holds at every look at once. So a load that ends when it is narrow enough is as honest as one
//! of a fixed length. Requests count in the order in which they ended. Those of warm-up, of the ramp and of the part that is cut off for
//! steady figures do not count. Neighbours are alike. Blocks of them say how many independent requests they are worth.
//!
//! Looks are taken on a thread of their own, after every tenth more requests: the thread that sends and reads is never held up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use serde::Serialize;

use super::contradiction::counted;
use super::order::{Next, Phase, Record, Source};
use sparkbench_host::net::{Ns, now};
use sparkbench_stats::{QuantileSequence, quantile_sequence};

/// Chance that the interval ever misses the true figure.
pub const ALPHA: f64 = 0.05;
/// Requests before the first look by default. With fewer there are too few blocks to judge the correlation of neighbours.
pub const LEAST: u64 = 100;
/// From one look to the next the number of requests grows by at least one part in this many.
const GROWTH: usize = 10;
/// Widest interval that may be asked for, per cent either way: beyond it the figure is not known at all.
const WIDEST_PCT: f64 = 50.0;

/// Figure of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Ttft,
    Tpot,
    E2e,
}

/// Figures by their words, and percentiles by theirs.
const FIGURES: [(&str, Figure); 3] = [("ttft", Figure::Ttft), ("tpot", Figure::Tpot), ("e2e", Figure::E2e)];
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.50), ("p90", 0.90), ("p95", 0.95), ("p99", 0.99)];

/// Precision that a load must reach before it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    figure: Figure,
    percentile: f64,
    /// Half the width of the interval, per cent of the figure.
    width_pct: f64,
    /// Requests before the first look.
    least: u64,
}

impl Until {
    /// Reads `ttft_p99=2%`. `least` are the requests before the first look.
    ///
    /// # Errors
    /// With the forms that are understood.
    pub fn parse(text: &str, least: u64) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not understood: write a figure, a percentile and a width, such as ttft_p99=2% (figures ttft, tpot or e2e, percentiles p50, p90, p95 or p99)"
            )
        };
        let (name, width) = text.split_once('=').ok_or_else(wrong)?;
        let (figure, percentile) = name.trim().split_once('_').ok_or_else(wrong)?;
        let figure = FIGURES.iter().find(|(word, _)| *word == figure).ok_or_else(wrong)?.1;
        let percentile = PERCENTILES.iter().find(|(word, _)| *word == percentile).ok_or_else(wrong)?.1;
        let width = width.trim().strip_suffix('%').unwrap_or(width.trim()).trim();
        let width_pct = width.parse().ok().filter(|pct: &f64| *pct > 0.0 && *pct <= WIDEST_PCT).ok_or_else(|| {
            format!("'{text}' needs a width above 0 and at most {WIDEST_PCT} %: write it as ttft_p99=2%")
        })?;
        Ok(Self { figure, percentile, width_pct, least: least.max(1) })
    }

    /// Requests before the first look.
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// `ttft_p99`.
    fn name(&self) -> String {
        let figure = FIGURES.iter().find(|(_, figure)| *figure == self.figure).map_or("", |(word, _)| word);
        let percentile = PERCENTILES.iter().find(|(_, p)| *p == self.percentile).map_or("", |(word, _)| word);
        format!("{figure}_{percentile}")
    }

    /// The figure of a request, ms. Absent where it has none.
    fn of(&self, record: &Record) -> Option<f64> {
        let (first, last) = (record.first_token?.at(), record.last_token?.at());
        let since = |later: Ns, earlier: Ns| Some(later.checked_sub(earlier)? as f64 / 1e6);
        match self.figure {
            Figure::Ttft => since(first, record.start()?),
            Figure::E2e => since(last, record.start()?),
            Figure::Tpot => {
                let further = counted(record)?.checked_sub(record.first_tokens.unwrap_or(1))?;
                (further > 0).then(|| since(last, first)).flatten().map(|ms| ms / f64::from(further))
            }
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}%", self.name(), self.width_pct)
    }
}

/// How well the figure is known at the end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UntilReport {
    /// The request, e.g. `ttft_p99=2%`.
    pub asked: String,
    /// Whether the load ended because it was known so well.
    pub met: bool,
    /// Requests that counted.
    pub n: usize,
    /// How many independent requests they are worth.
    pub n_effective: f64,
    /// The figure, ms.
    pub estimate_ms: f64,
    /// Lower end of the 95 % confidence sequence, ms. Absent where there are too few requests for one.
    pub low_ms: Option<f64>,
    /// Upper end, ms, likewise.
    pub high_ms: Option<f64>,
    /// Half its width, per cent of the figure.
    pub half_width_pct: Option<f64>,
}

impl UntilReport {
    fn of(until: &Until, found: &QuantileSequence) -> Self {
        let half_width_pct = found.half_width_pct();
        Self {
            asked: until.to_string(),
            met: half_width_pct.is_some_and(|width| width <= until.width_pct),
            n: found.n,
            n_effective: found.n_effective,
            estimate_ms: found.estimate,
            low_ms: found.low,
            high_ms: found.high,
            half_width_pct,
        }
    }

    /// A sentence for people.
    pub fn sentence(&self) -> String {
        let known = match (self.low_ms, self.high_ms) {
            (Some(low), Some(high)) => format!("{low:.1} to {high:.1} ms"),
            (Some(low), None) => format!("at least {low:.1} ms, no upper bound yet"),
            (None, Some(high)) => format!("at most {high:.1} ms, no lower bound yet"),
            (None, None) => "no bound yet".to_owned(),
        };
        let worth = format!("{} requests, worth {:.0} independent ones", self.n, self.n_effective);
        let how = if self.met { "ended because it is known well enough" } else { "ended before it was known as well" };
        format!("{}: {how}. {:.1} ms, 95 % confidence sequence {known}, from {worth}", self.asked, self.estimate_ms)
    }
}

/// The data of a request.
struct Observation {
    end: Ns,
    value: f64,
}

/// A source that ends when the figure is known well enough.
pub struct Watched<'a> {
    source: &'a mut dyn Source,
    until: Until,
    /// Ramp, ns: requests that started within this time after the first do not count.
    ramp: Ns,
    first: Option<Ns>,
    tell: Sender<Observation>,
    /// When it was known. 0 before.
    met_at: Arc<AtomicU64>,
}

/// The thread that checks the estimate.
pub struct WatchThread {
    thread: JoinHandle<Option<UntilReport>>,
    met_at: Arc<AtomicU64>,
}

/// Begins to watch. `ramp_s` and `cut_s` are what does not count at the begin and at the end, seconds. `wake` rouses the engine.
///
/// # Errors
/// When no thread can be started.
pub fn watch<'a>(
    until: Until,
    (ramp_s, cut_s): (f64, f64),
    source: &'a mut dyn Source,
    wake: impl Fn() + Send + 'static,
) -> std::io::Result<(Watched<'a>, WatchThread)> {
    let (tell, told) = channel();
    let met_at = Arc::new(AtomicU64::new(0));
    let nanoseconds = |seconds: f64| (seconds * 1e9) as Ns;
    let (met, cut) = (Arc::clone(&met_at), nanoseconds(cut_s));
    let thread = std::thread::Builder::new().name("until".to_owned()).spawn(move || {
        look(until, cut, &told, || {
            met.store(now().max(1), Relaxed);
            wake();
        })
    })?;
    let watched = Watched { source, until, ramp: nanoseconds(ramp_s), first: None, tell, met_at: Arc::clone(&met_at) };
    Ok((watched, WatchThread { thread, met_at }))
}

impl WatchThread {
    /// After the engine's end and that of [`Watched`]: what is known, and when it was known well enough.
    pub fn finish(self) -> (Option<UntilReport>, Option<Ns>) {
        // The thread may find it in the last of what it was told: first its end, then the moment.
        let report = self.thread.join().ok().flatten();
        let met_at = self.met_at.load(Relaxed);
        (report, (met_at > 0).then_some(met_at))
    }
}

/// Takes data until there is no more, and reports once when the precision is reached. Returns the estimate of then, or of the end.
fn look(until: Until, cut: Ns, told: &Receiver<Observation>, met: impl Fn()) -> Option<UntilReport> {
    let mut all: Vec<Observation> = Vec::new();
    let mut next = usize::try_from(until.least).unwrap_or(usize::MAX);
    let mut found: Option<UntilReport> = None;
    let counted = |all: &[Observation]| -> Vec<f64> {
        let last = all.last().map_or(0, |told| told.end);
        all.iter().take_while(|told| told.end.saturating_add(cut) <= last).map(|told| told.value).collect()
    };
    while let Ok(one) = told.recv() {
        all.push(one);
        if found.as_ref().is_some_and(|report| report.met) || all.len() < next {
            continue;
        }
        let values = counted(&all);
        next = all.len() + (all.len() / GROWTH).max(1);
        if values.len() < usize::try_from(until.least).unwrap_or(usize::MAX) {
            continue;
        }
        found = quantile_sequence(&values, until.percentile, ALPHA).map(|found| UntilReport::of(&until, &found));
        if found.as_ref().is_some_and(|report| report.met) {
            met();
        }
    }
    match found {
        Some(report) if report.met => Some(report),
        // Ended by its bound: everything counts, and the wanted precision no longer matters.
        _ => quantile_sequence(&counted(&all), until.percentile, ALPHA)
            .map(|found| UntilReport { met: false, ..UntilReport::of(&until, &found) }),
    }
}

impl Source for Watched<'_> {
    fn next(&mut self, now: Ns, in_flight: usize) -> Next {
        if self.met_at.load(Relaxed) > 0 { Next::Done } else { self.source.next(now, in_flight) }
    }

    fn ended(&mut self, now: Ns, record: &Record, text: Option<Vec<u8>>) {
        if let Some(start) = record.start().filter(|_| record.phase == Phase::Measured) {
            let first = *self.first.get_or_insert(start);
            let steady = start >= first.saturating_add(self.ramp);
            if let Some(value) = self.until.of(record).filter(|_| steady && record.status.answered()) {
                // Nobody listens once the thread has ended, which it does only after us.
                let _ = self.tell.send(Observation { end: now, value });
            }
        }
        self.source.ended(now, record, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::net::Stamp;
    use sparkbench_stats::random::{Stream, job_base};

    #[test]
    fn what_is_asked_for_is_read_and_said_again() {
        let until = Until::parse("ttft_p99=2%", 100).unwrap();
        assert_eq!((until.percentile, until.width_pct, until.to_string().as_str()), (0.99, 2.0, "ttft_p99=2%"));
        assert_eq!(Until::parse("e2e_p50=2.5", 7).unwrap().to_string(), "e2e_p50=2.5%");
        for wrong in ["ttft=2%", "ttft_p99", "ttft_p98=2%", "itl_p99=2%", "ttft_p99=0%", "ttft_p99=80%", "ttft_p99=x"] {
            assert!(Until::parse(wrong, 100).is_err(), "{wrong}");
        }
    }

    /// Gives orders for ever, and counts what ended.
    #[derive(Default)]
    struct Endless(usize);

    impl Source for Endless {
        fn next(&mut self, _: Ns, _: usize) -> Next {
            Next::Wait
        }

        fn ended(&mut self, _: Ns, _: &Record, _: Option<Vec<u8>>) {
            self.0 += 1;
        }
    }

    fn record(phase: Phase, start: Ns, ttft: Ns) -> Record {
        let stamp = |at| Some(Stamp { kernel: None, user: at });
        Record {
            phase,
            sent: Some(start),
            first_token: stamp(start + ttft),
            last_token: stamp(start + ttft),
            ..Record::default()
        }
    }

    /// Requests with a TTFT of 50 to 100 ms one after the other, until the load is ended or the number is reached.
    /// Where they are `enough`, the end is waited for: the thread that looks may be far behind.
    fn load(until: Until, most: u64, ramp_s: f64, enough: bool) -> (u64, UntilReport) {
        let mut source = Endless::default();
        let mut stream = Stream::new(job_base(42, "until"), 0);
        let (mut watched, looker) = watch(until, (ramp_s, 0.0), &mut source, || {}).unwrap();
        let mut made = 0;
        for k in 0..most {
            if matches!(watched.next(0, 0), Next::Done) {
                break;
            }
            let at = 1_000_000_000 + k * 100_000_000;
            let ttft = 50_000_000 + stream.next_u64() % 50_000_000;
            // A warm-up between the measured ones counts for nothing.
            watched.ended(at, &record(Phase::Warmup, at, 1), None);
            watched.ended(at + ttft, &record(Phase::Measured, at, ttft), None);
            made = k + 1;
            // The thread checks while requests are in flight.
            std::thread::yield_now();
        }
        if enough {
            sparkbench_testing::until("the figure is known", || matches!(watched.next(0, 0), Next::Done));
        }
        drop(watched);
        let (report, met_at) = looker.finish();
        let report = report.expect("requests were made");
        assert_eq!(report.met, met_at.is_some());
        (made, report)
    }

    #[test]
    fn a_load_ends_when_its_figure_is_known_well_enough() {
        let until = Until::parse("ttft_p50=5%", 100).unwrap();
        let (_, report) = load(until, 100_000, 0.0, true);
        assert!(report.met, "{report:?}");
        // What is looked at follows from the number of requests alone, not from when the thread runs.
        assert!(report.n < 100_000, "{report:?}");
        assert!(report.half_width_pct.unwrap() <= 5.0 && report.n >= 100);
        assert!(report.low_ms.unwrap() < 75.0 && report.high_ms.unwrap() > 75.0, "{report:?}");
        assert!(report.sentence().contains("known well enough"), "{}", report.sentence());
    }

    #[test]
    fn a_load_that_is_too_short_says_how_well_the_figure_is_known() {
        let (made, report) = load(Until::parse("ttft_p99=1%", 100).unwrap(), 300, 0.0, false);
        assert_eq!((made, report.met, report.n, report.high_ms), (300, false, 300, None));
        assert!(report.sentence().contains("no upper bound yet"), "{}", report.sentence());
    }

    #[test]
    fn requests_of_the_ramp_do_not_count() {
        // Ten a second, of which those of the first ten seconds are left out.
        let (_, report) = load(Until::parse("ttft_p50=1%", 100).unwrap(), 300, 10.0, false);
        assert_eq!(report.n, 200);
    }
}
