//! Figures from the telemetry of a run: power, energy, clock, utilisation, throttling. Each needs samples that support it.
//!
//! In:  runs with samples.  Out: readings and extras of rule [`RULE`]. They never replace a reported figure.
//! Not here: the integration itself (see `stats::integral`), traps that look at the same samples (see `trap`).
//!
//! **The window.** It is the time of the measured load, where the archive states it. Otherwise it runs from start to end of the run. If the
//! two clocks do not match (seconds elapsed, another zone, no times), it runs from the first to the last busy sample. A sample is busy at or
//! above [`BUSY_PCT`]. Every figure states which of the three it rests on. The time before and after is idle and reported separately.
//!
//! **What samples cannot support.** A figure needs [`LEAST_READINGS`] new readings, because a driver repeats its last value until it has
//! another. It also needs [`LEAST_COVERAGE`] of the window between samples without a gap. Runs of one launch share its time, and no sample
//! is assigned to a run. So figures of the launch stay extras there.

mod window;

use std::collections::BTreeMap;

use sparkbench_model::{Extra, ExtraValue, Node, Origin, Reading, Run, Sample};
use sparkbench_stats::integral::{self, Integral};
use sparkbench_stats::mean;

pub(crate) use window::{Cut, Window, window};

/// Rule of everything that is made here.
pub(crate) const RULE: &str = "telemetry.derived";
/// Utilisation from which a GPU is at work, per cent: a desktop's own drawing stays below, decoding lies far above.
pub(crate) const BUSY_PCT: f64 = 20.0;
/// Fewest new readings of a mean: with four, one late reading at either end moves it by more than the margin of power.
pub(crate) const LEAST_READINGS: usize = 5;
/// Share of the window that samples must cover.
pub(crate) const LEAST_COVERAGE: f64 = 0.8;
/// Seconds for which a driver may repeat a value. NVML averages power over a second on Ampere and later. GB10 refreshes less often than four
/// times a second.
pub(crate) const REFRESH_S: f64 = 1.0;
/// Fewest samples of an idle period that is worth a figure.
const LEAST_IDLE: usize = 3;

/// Formats that hold samples, for the origins.
pub(crate) const FORMATS: &[&str] = &[
    "nvidia-smi-csv",
    "telemetry-csv",
    "nvidia-smi-dmon",
    "nvidia-smi-q",
    "nvidia-smi-table",
    "free-log",
    "telemetry-json",
];

/// Extras in which sources count the tokens that were generated in all.
const TOKEN_COUNTS: &[&str] =
    &["output_tokens", "total_output_tokens", "total_generated_tokens", "completion_tokens", "generated_tokens"];

/// Why a figure of a launch does not belong to its runs.
const SHARED: &str = "the launch ran several workloads in this time, and which sample is of which is not recorded";

/// Reasons that hold the clock down against the load: hardware slowdown, software and hardware thermal slowdown, power brake.
pub(crate) const SLOWDOWN_BITS: u64 = 0x08 | 0x20 | 0x40 | 0x80;
/// Bits of `nvmlClocksEventReasons` in words.
pub(crate) const REASONS: &[(u64, &str)] = &[
    (0x04, "software power cap"),
    (0x08, "hardware slowdown"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "power brake"),
];

/// For each run how many were made in the same time, itself among them.
pub(crate) fn shared(runs: &[Run]) -> Vec<usize> {
    let mut launches: BTreeMap<&str, usize> = BTreeMap::new();
    for launch in runs.iter().filter_map(|run| run.together.as_deref()) {
        *launches.entry(launch).or_default() += 1;
    }
    runs.iter().map(|run| run.together.as_deref().and_then(|launch| launches.get(launch)).map_or(1, |n| *n)).collect()
}

/// Adds to one run what its telemetry says. `shared` where other runs were made in the same time.
pub(crate) fn of_samples(run: &mut Run, shared: bool) {
    let Some(found) = window(run) else { return };
    let mut made = Made { readings: Vec::new(), extras: Vec::new(), file: file_of(run), shared };
    let span = found.seconds();
    made.words("telemetry window", format!("{:.1} s, {}", span, found.cut.words()));
    let power = made.mean("power_w", "power", "W", &run.telemetry, &found, |s| s.power_w);
    made.mean("gpu_util_pct", "utilisation", "%", &run.telemetry, &found, |s| s.gpu_util_pct);
    if let Some((clock, n)) = busy_clock(run, &found) {
        made.figure("sm_clock_mhz", clock, format!("mean of {n} samples at work, {}", found.cut.words()));
    }
    energy(&mut made, run, &found, power);
    if !run.course.nodes.is_empty() {
        over_machines(&mut made, run, &found);
    }
    extremes(&mut made, run, &found);
    idle(&mut made, run, &found);
    for (bit, word) in REASONS {
        if let Some(seconds) = held(run, &found, *bit).filter(|seconds| *seconds > 0.0) {
            made.extra(&format!("clock held by {word}"), "s", seconds, None);
        }
    }
    for reading in made.readings {
        if run.reading(&reading.metric).is_none() {
            run.readings.push(reading);
        }
    }
    run.extras.extend(made.extras);
}

/// Intermediate results.
struct Made {
    readings: Vec<Reading>,
    extras: Vec<Extra>,
    file: String,
    shared: bool,
}

impl Made {
    fn origin(&self, how: Option<String>) -> Origin {
        Origin { file: self.file.clone(), line: None, field: how, rule: RULE }
    }

    /// A metric of the run. Of a launch that is shared, an extra.
    fn figure(&mut self, metric: &str, value: f64, how: String) {
        let origin = self.origin(Some(how));
        if self.shared {
            let unit = sparkbench_model::Metric::find(metric).map_or("", |metric| metric.unit);
            self.extras.push(Extra {
                name: format!("{metric} of the launch"),
                unit: unit.to_owned(),
                value: ExtraValue::Number(value),
                why: Some(SHARED),
                origin,
            });
        } else {
            self.readings.push(Reading { metric: metric.to_owned(), value, decimals: None, origin });
        }
    }

    fn extra(&mut self, name: &str, unit: &str, value: f64, how: Option<String>) {
        let origin = self.origin(how);
        self.extras.push(Extra {
            name: name.to_owned(),
            unit: unit.to_owned(),
            value: ExtraValue::Number(value),
            why: None,
            origin,
        });
    }

    fn words(&mut self, name: &str, text: String) {
        let origin = self.origin(None);
        self.extras.push(Extra {
            name: name.to_owned(),
            unit: String::new(),
            value: ExtraValue::Text(text),
            why: None,
            origin,
        });
    }

    /// The mean by time over the window, where the samples can carry one.
    fn mean(
        &mut self,
        metric: &str,
        word: &str,
        unit: &str,
        samples: &[Sample],
        window: &Window,
        read: fn(&Sample) -> Option<f64>,
    ) -> Option<Integral> {
        let (times, values) = window.column(samples, read);
        let found = integral::trapezoid(&times, &values, window.from, window.to)?;
        let inside: Vec<(f64, f64)> =
            times.iter().copied().zip(values.iter().copied()).filter(|(time, _)| window.holds(*time)).collect();
        let (t, v): (Vec<f64>, Vec<f64>) = inside.into_iter().unzip();
        let readings = integral::fresh(&t, &v, REFRESH_S);
        let covered = 100.0 * found.coverage();
        if readings < LEAST_READINGS || found.coverage() < LEAST_COVERAGE {
            self.words(
                &format!("no mean {word}"),
                format!("{readings} new readings, {covered:.0} % of the window covered, {} gaps", found.gaps),
            );
            return None;
        }
        let how = format!("mean of {} samples, {covered:.0} % covered, {}", found.n, window.cut.words());
        self.figure(metric, found.mean, how.clone());
        if found.gaps > 0 {
            self.extra(&format!("gaps in {word}"), "", found.gaps as f64, Some(how));
        }
        let busy: Vec<f64> = samples
            .iter()
            .filter(|sample| window.holds(window.time(sample)) && is_busy(sample) && sample.gpu_util_pct.is_some())
            .filter_map(read)
            .collect();
        if metric == "power_w" && busy.len() >= LEAST_READINGS {
            self.extra(
                "power at work",
                unit,
                mean(&busy),
                Some(format!("samples at or above {BUSY_PCT} % utilisation")),
            );
        }
        Some(found)
    }
}

/// True at work. A sample that does not say counts as one.
fn is_busy(sample: &Sample) -> bool {
    sample.gpu_util_pct.is_none_or(|util| util >= BUSY_PCT)
}

/// Mean SM clock of the samples at work within the window, and how many there are.
///
/// A chip that waits clocks itself down, which says nothing about the work. So only work counts.
pub(crate) fn busy_clock(run: &Run, window: &Window) -> Option<(f64, usize)> {
    let clocks = busy_clocks(run, window);
    let (times, values) = window.column(&run.telemetry, |sample| sample.sm_clock_mhz);
    let covered = integral::trapezoid(&times, &values, window.from, window.to)?.coverage();
    (clocks.len() >= LEAST_READINGS && covered >= LEAST_COVERAGE).then(|| (mean(&clocks), clocks.len()))
}

/// SM clocks of the samples at work within the window.
pub(crate) fn busy_clocks(run: &Run, window: &Window) -> Vec<f64> {
    let at_work = |sample: &&Sample| window.holds(window.time(sample)) && is_busy(sample);
    run.telemetry.iter().filter(at_work).filter_map(|sample| sample.sm_clock_mhz).collect()
}

/// Energy of the window by the counter or by integration, and per token.
fn energy(made: &mut Made, run: &Run, window: &Window, power: Option<Integral>) {
    let (times, counts) = window.column(&run.telemetry, |sample| sample.energy_j);
    let counter = integral::increase(&times, &counts, window.from, window.to)
        .filter(|found| found.coverage() >= LEAST_COVERAGE && found.value > 0.0);
    let (found, way) = match (counter, power) {
        (Some(counter), _) => (counter, "energy counter"),
        (None, Some(power)) => (power, "power integrated by the trapezoid rule"),
        (None, None) => return,
    };
    // Uncovered time is assumed to be like the covered time. The share is reported.
    let joules = found.mean * window.seconds();
    let how = format!("{way}, {:.0} % covered, {}", 100.0 * found.coverage(), window.cut.words());
    made.extra("energy", "J", joules, Some(how.clone()));
    if counter.is_some() && power.is_none() {
        made.figure("power_w", found.mean, how.clone());
    }
    if made.shared {
        return;
    }
    if let Some((tokens, from)) = tokens(run, window).filter(|(tokens, _)| *tokens > 0.0) {
        made.figure("energy_j_per_token", joules / tokens, format!("{how}; output tokens: {from}"));
    }
}

/// Figures of which those of all machines are summed.
const SUMMED: [&str; 2] = ["power_w", "energy_j_per_token"];

/// Power and energy of a run on several machines are sums, and only where every machine reports its own. What the head alone drew is no
/// figure of the run, and is among the extras.
fn over_machines(made: &mut Made, run: &Run, window: &Window) {
    let others: Option<f64> = run.course.nodes.iter().map(|node| power_of(node, window)).sum();
    let machines = run.course.nodes.len() + 1;
    let tokens = tokens(run, window).map(|(tokens, _)| tokens).filter(|tokens| *tokens > 0.0);
    let (summed, kept): (Vec<Reading>, Vec<Reading>) =
        std::mem::take(&mut made.readings).into_iter().partition(|reading| SUMMED.contains(&reading.metric.as_str()));
    made.readings = kept;
    for reading in summed {
        let unit = sparkbench_model::Metric::find(&reading.metric).map_or("", |metric| metric.unit);
        made.extra(&format!("{} of the head", reading.metric), unit, reading.value, reading.origin.field.clone());
        let more = match reading.metric.as_str() {
            "power_w" => others,
            _ => others.zip(tokens).map(|(watts, tokens)| watts * window.seconds() / tokens),
        };
        match more {
            Some(more) => {
                made.figure(
                    &reading.metric,
                    reading.value + more,
                    format!("sum of {machines} machines, {}", window.cut.words()),
                );
            }
            None => made.words(
                &format!("no {} of the run", reading.metric),
                format!("not every one of {machines} machines tells its power in this time"),
            ),
        }
    }
}

/// Mean power of a further machine over the window of the run. Nothing where its samples cannot carry one.
fn power_of(node: &Node, window: &Window) -> Option<f64> {
    let (times, values) = window.column(&node.telemetry, |sample| sample.power_w);
    let found = integral::trapezoid(&times, &values, window.from, window.to)?;
    (found.n >= LEAST_READINGS && found.coverage() >= LEAST_COVERAGE).then_some(found.mean)
}

/// Output tokens of the window, and where the number comes from.
fn tokens(run: &Run, window: &Window) -> Option<(f64, &'static str)> {
    let counted = run.extras.iter().find_map(|extra| match extra.value {
        ExtraValue::Number(count) if TOKEN_COUNTS.contains(&extra.name.as_str()) => Some(count),
        _ => None,
    });
    if let Some(count) = counted {
        return Some((count, "counted by the source"));
    }
    if let Some((requests, length)) = run.setup.requests.zip(run.setup.osl) {
        return Some((requests * length, "requests times output length"));
    }
    // From start to end holds loading too, in which nothing was generated at that rate.
    let rate = run.value("output_throughput_tok_s").filter(|_| window.cut != Cut::StartToEnd)?;
    Some((rate * window.seconds(), "throughput times the window"))
}

/// Greatest values within the window.
fn extremes(made: &mut Made, run: &Run, window: &Window) {
    type Quantity = (&'static str, &'static str, fn(&Sample) -> Option<f64>);
    const QUANTITIES: &[Quantity] = &[
        ("power, greatest", "W", |s| s.power_w),
        ("GPU temperature, greatest", "°C", |s| s.gpu_c),
        ("GPU memory in use, greatest", "MiB", |s| s.memory_used_mib),
        ("memory of the machine in use, greatest", "MiB", |s| s.host_memory_used_mib),
        ("swap in use, greatest", "MiB", |s| s.host_swap_used_mib),
        ("activity of the memory controller, greatest", "%", |s| s.memory_util_pct.filter(|pct| *pct > 0.0)),
    ];
    for (name, unit, read) in QUANTITIES {
        let inside = run.telemetry.iter().filter(|sample| window.holds(window.time(sample)));
        if let Some(greatest) = inside.filter_map(read).max_by(f64::total_cmp) {
            made.extra(name, unit, greatest, None);
        }
    }
}

/// Power before and after the window.
fn idle(made: &mut Made, run: &Run, window: &Window) {
    let mut side = |name: &str, wanted: &dyn Fn(f64) -> bool| {
        let outside = run.telemetry.iter().filter(|sample| wanted(window.time(sample)));
        let watts: Vec<f64> = outside.filter_map(|sample| sample.power_w).collect();
        if watts.len() >= LEAST_IDLE {
            made.extra(name, "W", mean(&watts), Some(format!("mean of {} samples", watts.len())));
        }
    };
    side("power before the run", &|time| time < window.from);
    side("power after the run", &|time| time > window.to);
}

/// Seconds of the window in which the clock was held down for one of the reasons. `None` where no sample has reasons.
pub(crate) fn held(run: &Run, window: &Window, bits: u64) -> Option<f64> {
    intervals(run, window, bits).map(|found| found.iter().map(|(from, to)| to - from).sum())
}

/// Periods of the window in which the clock was held down for one of the reasons, seconds since the first sample.
///
/// A reason holds from its sample to the next one, or for one median step where a gap follows.
pub(crate) fn intervals(run: &Run, window: &Window, bits: u64) -> Option<Vec<(f64, f64)>> {
    let told: Vec<(f64, u64)> = run
        .telemetry
        .iter()
        .filter_map(|sample| Some((window.time(sample), sample.throttle_bits?)))
        .filter(|(time, _)| window.holds(*time))
        .collect();
    if told.is_empty() {
        return None;
    }
    let times: Vec<f64> = told.iter().map(|(time, _)| *time).collect();
    let step = integral::median_step(&times).unwrap_or(0.0);
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (place, (from, reasons)) in told.iter().enumerate() {
        if reasons & bits == 0 {
            continue;
        }
        let next = times.get(place + 1).copied().unwrap_or(from + step);
        let to = if next - from > step * integral::GAP_FACTOR { from + step } else { next }.min(window.to);
        match found.last_mut() {
            Some(last) if last.1 >= *from => last.1 = to,
            _ => found.push((*from, to)),
        }
    }
    Some(found)
}

/// Words of the reasons that are set.
pub(crate) fn reasons(bits: u64) -> Vec<&'static str> {
    REASONS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect()
}

/// The file that the samples came from.
pub(crate) fn file_of(run: &Run) -> String {
    let all = || run.files.iter().chain(std::iter::once(&run.source));
    let known = all().find(|file| FORMATS.contains(&file.format.as_str()));
    known.unwrap_or(&run.source).path.clone()
}

#[cfg(test)]
#[path = "telemetry/tests.rs"]
mod tests;
