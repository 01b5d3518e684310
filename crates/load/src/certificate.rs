//! Was the client the limit? Named rules over the client's own measurements, and the certificate for every result.
//!
//! In:  [`Evidence`], plain numbers.  Out: [`ClientCertificate`], the `client` of `sparkbench.load/1`.
//! Not here: taking the numbers (see `engine`, `store`, `host::net::usage`), the calibration itself (see `calibrate`).
//!
//! A server cannot be told from its client by their common result: a client that reads late reports a slow server. So the client is
//! put on trial by rules that know nothing of the server. Each has a constant with a reason, and says its numbers when it fires. A
//! verdict of `limited` does not change a figure. It says that the figure may be ours.

use serde::{Deserialize, Serialize};

use super::calibrate::Calibration;
use super::summary::Metric;

/// Read lag (p99) beyond which we partly measure ourselves, ms. It is the program's own bar of accuracy at 1,000 streams.
pub(crate) const READ_LAG_MS: f64 = 1.0;
/// The same as a share of the median TTFT: a late read of 1 ms means nothing where a first token takes a second.
pub(crate) const READ_LAG_SHARE: f64 = 0.05;
/// Schedule lag (p99) of an open loop, ms: what a plan of 1,000 requests a second can still tell apart.
pub(crate) const SCHEDULE_LAG_MS: f64 = 1.0;
/// Share of the time in which the engine's thread did not wait. Beyond it a queue grows at every burst: at 85 % the wait is six times
/// the work.
pub(crate) const BUSY_SHARE: f64 = 0.85;
/// Share of the time in which the engine's thread was ready and had no processor.
pub(crate) const RUN_QUEUE_SHARE: f64 = 0.05;
/// Longest time in ms that the engine may leave its sockets unread before it counts as a stall. Without kernel stamps, everything that
/// arrives in that time is stamped late by as much.
pub(crate) const STALL_MS: f64 = 10.0;
/// Share of the time spent in stalls that is too much.
pub(crate) const STALL_SHARE: f64 = 0.01;
/// Share of the descriptors that were used, beyond which connections may have been refused for lack of one.
pub(crate) const DESCRIPTOR_SHARE: f64 = 0.95;
/// Share of the concurrency asked for that must have been in flight in the steady window.
pub(crate) const CONCURRENCY_SHARE: f64 = 0.98;

/// Shortest load for which that share means anything, seconds. Each slot is empty for a moment at its start and at its end.
pub(crate) const CONCURRENCY_S: f64 = 1.0;

/// p50, p99 and largest of a delay of ours, ms. A p99 of fewer than 100 values is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Lags {
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Values.
    pub n: u64,
}

impl Lags {
    /// Of a figure. Nothing where it has no values.
    pub fn of(metric: &Metric) -> Option<Self> {
        (metric.n > 0).then_some(Self { p50: metric.p50, p99: metric.p99, max: metric.max, n: metric.n })
    }

    /// The p99, or the largest where there are too few values for one: stricter, never laxer.
    pub fn tail(&self) -> Option<f64> {
        self.p99.or(self.max)
    }
}

/// The client's measurements of itself. Unknown ones are absent, and their rules then give no result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Evidence {
    /// Whether times are the kernel's.
    pub kernel_clock: bool,
    /// Requests waited for a cap that the user set: their lag is not ours.
    pub capped: bool,
    /// Sent minus intended. Open loop alone.
    pub schedule_lag_ms: Option<Lags>,
    /// Read minus arrived.
    pub read_lag_ms: Option<Lags>,
    /// Median TTFT of the run, ms.
    pub ttft_p50_ms: Option<f64>,
    /// Length of the load, seconds.
    pub wall_s: f64,
    /// Processor time of the process, seconds.
    pub cpu_s: f64,
    /// Of this, the engine's thread.
    pub engine_cpu_s: Option<f64>,
    /// Share of the time in which the engine's thread did not wait for sockets.
    pub busy: Option<f64>,
    /// Time in which the engine's thread was ready and had no processor, seconds.
    pub run_queue_s: Option<f64>,
    /// Times it was taken off its processor.
    pub involuntary_switches: Option<u64>,
    /// Stalls of the engine longer than [`STALL_MS`].
    pub stalls: u64,
    /// Their sum, seconds.
    pub stalled_s: f64,
    pub longest_stall_ms: Option<f64>,
    /// Times that the engine waited because writing was behind, and how long in all, seconds.
    pub store_waits: u64,
    /// See above.
    pub store_waited_s: f64,
    /// Most descriptors in use.
    pub descriptors: Option<u64>,
    /// How many there may be.
    pub descriptors_limit: Option<u64>,
    /// Requests that were due and never sent because of us (no descriptor, no body ready), not those that a time bound cut.
    pub dropped: u64,
    /// Times that a request was due and its body was not built yet.
    pub bodies_late: u64,
    /// Largest resident set, MiB.
    pub peak_rss_mib: f64,
    /// Requests wanted in flight and their mean in the steady window. Closed loop alone.
    pub concurrency: Option<(f64, f64)>,
}

/// The `client` of `sparkbench.load/1`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCertificate {
    /// Whether the figures may be the client's own.
    pub limited: bool,
    /// Why: one sentence for each rule that fired.
    pub because: Vec<String>,
    /// Ids of these rules.
    pub rules: Vec<String>,
    /// `kernel` or `user`: whose time is in the figures.
    pub clock: String,
    /// Processor time of the process, seconds.
    pub cpu_s: f64,
    /// Of one core, over the load.
    pub cpu_share: Option<f64>,
    /// Processor time of the engine's thread, seconds.
    pub engine_cpu_s: Option<f64>,
    /// Share of the time in which the engine's thread did not wait for sockets.
    pub busy_share: Option<f64>,
    /// Time in which the engine's thread was ready and had no processor, seconds.
    pub run_queue_s: Option<f64>,
    /// Times it was taken off its processor.
    pub involuntary_switches: Option<u64>,
    /// Largest resident set, MiB.
    pub peak_rss_mib: f64,
    /// Sent minus intended. Null in a closed loop.
    pub schedule_lag_ms: Option<Lags>,
    /// Read minus arrived. Null without times of the kernel.
    pub read_lag_ms: Option<Lags>,
    /// Times in which the engine did not read its sockets.
    pub stalls: Stalls,
    /// Waits of the engine for the thread that writes.
    pub store_waits: u64,
    /// Most descriptors in use.
    pub descriptors: Option<u64>,
    /// How many there may be.
    pub descriptors_limit: Option<u64>,
    /// Requests due and never sent because of us.
    pub dropped: u64,
    /// The instrument's error on this machine. Null where it was not measured.
    pub calibration: Option<Calibration>,
}

/// Stalls of the engine longer than [`STALL_MS`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// The deciding value, ms.
    pub over_ms: f64,
    /// How many.
    pub n: u64,
    /// In all, seconds.
    pub sum_s: f64,
    /// The longest pause of any length, ms.
    pub longest_ms: Option<f64>,
}

/// A rule: its id, and a sentence where it fires.
type Rule = (&'static str, fn(&Evidence) -> Option<String>);

/// Every rule, in the order in which reasons are given.
pub(crate) const RULES: &[Rule] = &[
    ("dropped-sends", |e| (e.dropped > 0).then(|| format!("requests that were due and never sent: {}", e.dropped))),
    ("read-lag", |e| {
        let most = e.ttft_p50_ms.map_or(READ_LAG_MS, |ttft| READ_LAG_MS.max(READ_LAG_SHARE * ttft));
        let lag = e.read_lag_ms?.tail().filter(|lag| *lag > most)?;
        Some(format!("answers were unread for {lag:.2} ms (p99), at most {most:.2} ms is accepted"))
    }),
    ("schedule-lag", |e| {
        let lag = e.schedule_lag_ms.filter(|_| !e.capped)?.tail().filter(|lag| *lag > SCHEDULE_LAG_MS)?;
        Some(format!("requests were sent {lag:.2} ms late (p99), at most {SCHEDULE_LAG_MS:.2} ms is accepted"))
    }),
    ("busy", |e| {
        let busy = e.busy.filter(|busy| *busy > BUSY_SHARE)?;
        Some(format!(
            "its thread was busy {:.0} % of the time, at most {:.0} % is accepted",
            busy * 100.0,
            BUSY_SHARE * 100.0
        ))
    }),
    ("run-queue", |e| {
        // With the kernel's times what it delays is sending, and that shows in the rules above.
        let share = e
            .run_queue_s
            .filter(|_| !e.kernel_clock)
            .map(|waited| waited / e.wall_s)
            .filter(|share| *share > RUN_QUEUE_SHARE)?;
        Some(format!(
            "its thread waited for a processor {:.0} % of the time, at most {:.0} % is accepted",
            share * 100.0,
            RUN_QUEUE_SHARE * 100.0
        ))
    }),
    ("stalls", |e| {
        // With the kernel's times a late read is no late time, and what it delays shows in the rules above.
        let share = e.stalled_s / e.wall_s;
        (!e.kernel_clock && share > STALL_SHARE).then(|| {
            format!(
                "it did not read its sockets for more than {STALL_MS:.0} ms, {} times, and arrival times are its own",
                e.stalls
            )
        })
    }),
    ("store-behind", |e| {
        (e.store_waits > 0)
            .then(|| format!("writing records delayed it {} times, {:.2} s in total", e.store_waits, e.store_waited_s))
    }),
    ("bodies-late", |e| {
        (e.bodies_late > 0).then(|| format!("{} requests were due before their prompt was built", e.bodies_late))
    }),
    ("descriptors", |e| {
        let (used, limit) = e.descriptors.zip(e.descriptors_limit)?;
        (used as f64 > DESCRIPTOR_SHARE * limit as f64)
            .then(|| format!("{used} of {limit} descriptors were in use. Raise the limit (`ulimit -n`)"))
    }),
    ("concurrency", |e| {
        let (wanted, mean) = e.concurrency.filter(|_| e.wall_s >= CONCURRENCY_S)?;
        (mean < CONCURRENCY_SHARE * wanted)
            .then(|| format!("{mean:.1} requests were in flight in the steady window where {wanted:.0} were wanted"))
    }),
];

/// Applies every rule.
pub(crate) fn judge(evidence: &Evidence, calibration: Option<Calibration>) -> ClientCertificate {
    let fired: Vec<(&'static str, String)> =
        RULES.iter().filter_map(|(id, rule)| Some((*id, rule(evidence)?))).collect();
    ClientCertificate {
        limited: !fired.is_empty(),
        rules: fired.iter().map(|(id, _)| (*id).to_owned()).collect(),
        because: fired.into_iter().map(|(_, why)| why).collect(),
        clock: if evidence.kernel_clock { "kernel" } else { "user" }.to_owned(),
        cpu_s: evidence.cpu_s,
        cpu_share: (evidence.wall_s > 0.0).then(|| evidence.cpu_s / evidence.wall_s),
        engine_cpu_s: evidence.engine_cpu_s,
        busy_share: evidence.busy,
        run_queue_s: evidence.run_queue_s,
        involuntary_switches: evidence.involuntary_switches,
        peak_rss_mib: evidence.peak_rss_mib,
        schedule_lag_ms: evidence.schedule_lag_ms,
        read_lag_ms: evidence.read_lag_ms,
        stalls: Stalls {
            over_ms: STALL_MS,
            n: evidence.stalls,
            sum_s: evidence.stalled_s,
            longest_ms: evidence.longest_stall_ms,
        },
        store_waits: evidence.store_waits,
        descriptors: evidence.descriptors,
        descriptors_limit: evidence.descriptors_limit,
        dropped: evidence.dropped,
        calibration,
    }
}

/// The certificate of several clients that made one load: one that is limited limits all. `schedule` and `read` are the lags over all
/// requests. `steady` is what was wanted in flight and what was, where it is a closed loop.
pub(crate) fn together(
    clients: &[(u32, &ClientCertificate)],
    schedule: Option<Lags>,
    read: Option<Lags>,
    wall_s: f64,
    steady: Option<(f64, f64)>,
) -> ClientCertificate {
    let sum = |of: fn(&ClientCertificate) -> f64| clients.iter().map(|(_, client)| of(client)).sum::<f64>();
    let count = |of: fn(&ClientCertificate) -> u64| clients.iter().map(|(_, client)| of(client)).sum::<u64>();
    let known = |of: fn(&ClientCertificate) -> Option<f64>| clients.iter().filter_map(move |(_, client)| of(client));
    let mut rules: Vec<String> = Vec::new();
    let mut because: Vec<String> = Vec::new();
    for (rank, client) in clients {
        because.extend(client.because.iter().map(|why| format!("rank {rank}: {why}")));
        rules.extend(client.rules.iter().filter(|rule| !rules.contains(rule)).cloned().collect::<Vec<_>>());
    }
    // Each rank may hold its own places and all together not the whole: they began and ended apart.
    let apart = Evidence { wall_s, concurrency: steady, ..Evidence::default() };
    if let Some((id, why)) =
        RULES.iter().find(|(id, _)| *id == "concurrency").and_then(|(id, rule)| Some((id, rule(&apart)?)))
    {
        because.push(why);
        if !rules.iter().any(|rule| rule == id) {
            rules.push((*id).to_owned());
        }
    }
    let kernel = !clients.is_empty() && clients.iter().all(|(_, client)| client.clock == "kernel");
    ClientCertificate {
        limited: !rules.is_empty(),
        because,
        rules,
        clock: if kernel { "kernel" } else { "user" }.to_owned(),
        cpu_s: sum(|client| client.cpu_s),
        cpu_share: known(|client| client.cpu_share).reduce(|a, b| a + b),
        engine_cpu_s: known(|client| client.engine_cpu_s).reduce(|a, b| a + b),
        busy_share: known(|client| client.busy_share).reduce(f64::max),
        run_queue_s: known(|client| client.run_queue_s).reduce(|a, b| a + b),
        involuntary_switches: clients.iter().filter_map(|(_, client)| client.involuntary_switches).reduce(|a, b| a + b),
        peak_rss_mib: sum(|client| client.peak_rss_mib),
        schedule_lag_ms: schedule,
        read_lag_ms: read,
        stalls: Stalls {
            over_ms: STALL_MS,
            n: count(|client| client.stalls.n),
            sum_s: sum(|client| client.stalls.sum_s),
            longest_ms: known(|client| client.stalls.longest_ms).reduce(f64::max),
        },
        store_waits: count(|client| client.store_waits),
        descriptors: clients.iter().filter_map(|(_, client)| client.descriptors).max(),
        descriptors_limit: clients.iter().filter_map(|(_, client)| client.descriptors_limit).min(),
        dropped: count(|client| client.dropped),
        calibration: clients.first().and_then(|(_, client)| client.calibration.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lags(p99: f64) -> Option<Lags> {
        Some(Lags { p50: Some(0.01), p99: Some(p99), max: Some(p99 * 2.0), n: 1000 })
    }

    fn good() -> Evidence {
        Evidence {
            kernel_clock: true,
            schedule_lag_ms: lags(0.9),
            read_lag_ms: lags(0.9),
            ttft_p50_ms: Some(10.0),
            wall_s: 10.0,
            cpu_s: 2.0,
            busy: Some(0.84),
            run_queue_s: Some(0.49),
            descriptors: Some(95),
            descriptors_limit: Some(100),
            concurrency: Some((100.0, 98.1)),
            // With the kernel's times a stall does no harm.
            stalls: 40,
            stalled_s: 4.0,
            ..Evidence::default()
        }
    }

    #[test]
    fn a_client_within_every_limit_is_not_the_limit() {
        let client = judge(&good(), None);
        assert_eq!(
            (client.limited, client.because.len(), client.clock.as_str(), client.cpu_share),
            (false, 0, "kernel", Some(0.2))
        );
        // Nothing known, nothing claimed.
        assert!(!judge(&Evidence::default(), None).limited);
    }

    #[test]
    fn each_rule_fires_alone_just_beyond_its_limit() {
        type Change = fn(&mut Evidence);
        let cases: [(&str, Change); 10] = [
            ("dropped-sends", |e| e.dropped = 1),
            ("read-lag", |e| e.read_lag_ms = lags(1.01)),
            ("schedule-lag", |e| e.schedule_lag_ms = lags(1.01)),
            ("busy", |e| e.busy = Some(0.86)),
            ("run-queue", |e| (e.kernel_clock, e.run_queue_s, e.stalled_s) = (false, Some(0.51), 0.0)),
            ("stalls", |e| e.kernel_clock = false),
            ("store-behind", |e| e.store_waits = 1),
            ("bodies-late", |e| e.bodies_late = 1),
            ("descriptors", |e| e.descriptors = Some(96)),
            ("concurrency", |e| e.concurrency = Some((100.0, 97.9))),
        ];
        assert_eq!(cases.len(), RULES.len());
        for (id, change) in cases {
            let mut evidence = good();
            change(&mut evidence);
            let client = judge(&evidence, None);
            assert!(client.limited && client.rules == [id], "{id}: {:?}", client.because);
        }
    }

    #[test]
    fn a_lag_that_is_small_beside_the_server_passes_and_few_values_are_judged_by_the_largest() {
        let mut evidence = Evidence { ttft_p50_ms: Some(1000.0), read_lag_ms: lags(49.0), ..good() };
        assert!(!judge(&evidence, None).limited, "5 % of a second");
        evidence.read_lag_ms = lags(51.0);
        assert!(judge(&evidence, None).limited);
        let few = Lags { p50: Some(0.1), p99: None, max: Some(60.0), n: 5 };
        evidence.read_lag_ms = Some(few);
        assert_eq!(judge(&evidence, None).rules, ["read-lag"]);
    }

    #[test]
    fn one_limited_client_limits_the_load_and_says_which_it_is() {
        let good = judge(&good(), None);
        let busy = judge(&Evidence { busy: Some(0.9), ..self::good() }, None);
        let all = together(&[(0, &good), (3, &busy)], lags(0.5), None, 10.0, Some((100.0, 99.0)));
        assert!(all.limited);
        assert_eq!(all.rules, ["busy"]);
        assert!(all.because[0].starts_with("rank 3: its thread was busy"), "{:?}", all.because);
        assert_eq!((all.cpu_s, all.busy_share, all.clock.as_str()), (4.0, Some(0.9), "kernel"));
        let none = together(&[(0, &good), (1, &good)], None, None, 10.0, Some((100.0, 99.0)));
        assert!(!none.limited);
        let apart = together(&[(0, &good), (1, &good)], None, None, 10.0, Some((100.0, 90.0)));
        assert_eq!(apart.rules, ["concurrency"]);
    }
}
