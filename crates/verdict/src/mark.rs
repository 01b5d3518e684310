//! One hash over all inputs of a judgement: the same mark means the same judgement.
//!
//! In:  runs, cells, groups, settings.  Out: [`Mark`], a SHA-256.
//! Not here: the values behind a mark (see `memory`).
//!
//! A cryptographic hash costs no more than a few milliseconds a million values, and spares the question what happens when two
//! inputs share one. Every text comes with its length, so that two lists of texts never give the same bytes.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{CellValues, Settings};
use sparkbench_model::{Course, Instant, LooseStart, Origin, Reading, Run, Sample, Series, Source, Span};

/// Distinguishes one input from another.
pub type Mark = [u8; 32];

/// Collects what a judgement reads.
#[derive(Debug, Clone, Default)]
pub struct Marker(Sha256);

impl Marker {
    /// Bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// A number, to the bit.
    pub fn number(&mut self, value: f64) -> &mut Self {
        self.0.update(value.to_bits().to_le_bytes());
        self
    }

    /// Numbers, to the bit. Collected first: the hash takes one long piece faster than many of eight bytes.
    pub fn numbers(&mut self, values: impl Iterator<Item = f64>) -> &mut Self {
        let mut bytes = Vec::with_capacity(8 * values.size_hint().0);
        values.for_each(|value| bytes.extend_from_slice(&value.to_bits().to_le_bytes()));
        self.bytes(&bytes)
    }

    /// A whole number.
    pub fn count(&mut self, value: u64) -> &mut Self {
        self.0.update(value.to_le_bytes());
        self
    }

    /// Whatever can be written as JSON. Only for values whose numbers are finite: JSON has one word for all others.
    pub fn json(&mut self, value: &impl Serialize) -> &mut Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.bytes(&bytes),
            // What cannot be written has no mark that could be relied on. The words of the fault are its own.
            Err(fault) => self.text(&fault.to_string()),
        }
    }

    /// A plain value in its `Debug` form: every field by name, and every number in a unique spelling, NaN and infinities too.
    pub fn debug(&mut self, value: &impl std::fmt::Debug) -> &mut Self {
        self.text(&format!("{value:?}"))
    }

    /// The mark of all that was collected.
    pub fn finish(self) -> Mark {
        self.0.finalize().into()
    }
}

/// Everything that a run holds, and whether it is `shared`. A field that is added to [`Run`] does not compile here until it is taken in.
///
/// Long lists enter by the hashes of their source files, where all are known. The same bytes give the same lists.
pub fn of_run(run: &Run, shared: bool) -> Mark {
    let Run {
        id,
        campaign,
        environment,
        model,
        workload,
        repeat,
        block,
        position,
        launch,
        together,
        started,
        ended,
        measured,
        status,
        readings,
        series,
        extras,
        telemetry,
        course: Course { gates, watched, requests, nodes, loose_start },
        setup,
        settings,
        cell,
        source,
        files,
    } = run;
    let mut marker = Marker::default();
    marker.count(u64::from(shared));
    for text in [id, campaign, environment, model, workload] {
        marker.text(text);
    }
    marker.json(&(repeat, block, position, launch, together, status, extras, setup, source, files));
    marker.json(&(gates, watched));
    marker.json(settings).text(cell);
    for node in nodes {
        marker.json(&(&node.name, node.rank, &node.command, &node.failure, &node.gates, &node.watched));
        marker.json(&(node.clock_before, node.clock_after));
    }
    marker.json(&[started, ended].map(|at| at.map(|Instant(at)| at)));
    marker.json(&loose_start.map(|(Instant(at), loose)| (at, loose == LooseStart::Name)));
    marker.json(&measured.map(|(Instant(from), Instant(to))| (from, to)));
    // No bound on a rate and no rate at all look alike in JSON. This is the one number that may be infinite.
    marker.number(setup.request_rate.unwrap_or(f64::NAN));
    marker.count(readings.len() as u64);
    for Reading { metric, value, decimals, origin } in readings {
        marker.text(metric).number(*value).json(decimals);
        of_origin(&mut marker, origin);
    }
    of_lists(&mut marker, (series, telemetry, requests), std::iter::once(source).chain(files));
    marker.finish()
}

/// Requests, telemetry and times of requests that were read from these files. The marker must hold the hashes of the files already.
pub fn of_lists<'a>(
    marker: &mut Marker,
    (series, telemetry, spans): (&[Series], &[Sample], &[Span]),
    mut files: impl Iterator<Item = &'a Source>,
) {
    if files.all(|file| !file.sha256.is_empty()) {
        let lengths: Vec<(&str, usize)> = series.iter().map(|one| (one.metric.as_str(), one.values.len())).collect();
        marker.json(&(lengths, telemetry.len(), spans.len()));
        return;
    }
    marker.count(series.len() as u64);
    series.iter().for_each(|one| of_series(marker, one));
    of_telemetry(marker, telemetry);
    marker.json(&spans);
}

fn of_origin(marker: &mut Marker, Origin { file, line, field, rule }: &Origin) {
    marker.text(file).count(line.map_or(0, |line| line + 1));
    marker.count(u64::from(field.is_some())).text(field.as_deref().unwrap_or_default()).text(rule);
}

/// The values of one metric.
fn of_series(marker: &mut Marker, Series { metric, values, origin }: &Series) {
    marker.text(metric).numbers(values.iter().copied());
    of_origin(marker, origin);
}

/// Every field of every sample. An absent one is a number of its own that no sensor gives.
fn of_telemetry(marker: &mut Marker, telemetry: &[Sample]) {
    const FIELDS: usize = 15;
    let mut bytes = Vec::with_capacity(telemetry.len() * FIELDS * 8);
    for sample in telemetry {
        let Sample {
            at: Instant(at),
            gpu_util_pct,
            power_w,
            gpu_c,
            sm_clock_mhz,
            memory_used_mib,
            memory_util_pct,
            memory_clock_mhz,
            power_limit_w,
            energy_j,
            host_memory_used_mib,
            host_memory_available_mib,
            host_swap_used_mib,
            pstate,
            throttle_bits,
        } = sample;
        let mut push = |bits: u64| bytes.extend_from_slice(&bits.to_le_bytes());
        push(at.cast_unsigned());
        for value in [
            gpu_util_pct,
            power_w,
            gpu_c,
            sm_clock_mhz,
            memory_used_mib,
            memory_util_pct,
            memory_clock_mhz,
            power_limit_w,
            energy_j,
            host_memory_used_mib,
            host_memory_available_mib,
            host_swap_used_mib,
        ] {
            push(value.map_or(u64::MAX, f64::to_bits));
        }
        push(pstate.map_or(u64::MAX, u64::from));
        push(throttle_bits.unwrap_or(u64::MAX));
    }
    marker.bytes(&bytes);
}

/// A cell and metric with its values.
pub(super) fn of_cell(marker: &mut Marker, cell: &CellValues) {
    let CellValues { campaign, model, workload, environment, metric, run_ids, values } = cell;
    for text in [campaign, model, workload, environment, metric] {
        marker.text(text);
    }
    marker.json(run_ids).numbers(values.iter().copied());
}

/// Settings of the command line for intervals, draws and margins.
pub(super) fn of_settings(marker: &mut Marker, settings: &Settings) {
    let Settings { confidence, resamples, seed, baseline, margins_pct } = settings;
    marker.number(*confidence).count(*resamples as u64).count(*seed).json(baseline).json(margins_pct);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::{Extra, ExtraValue, Setup, Status};

    fn run() -> Run {
        super::super::testing::measured("n1", Setup::default(), &[("ttft_ms", 10.0)])
    }

    #[test]
    fn texts_do_not_run_together() {
        let mark = |texts: [&str; 2]| {
            let mut marker = Marker::default();
            texts.iter().for_each(|text| {
                marker.text(text);
            });
            marker.finish()
        };
        assert_ne!(mark(["ab", "c"]), mark(["a", "bc"]));
    }

    #[test]
    fn whatever_changes_in_a_run_changes_its_mark() {
        let origin = Origin { file: "a".into(), line: None, field: None, rule: "test" };
        let plain = of_run(&run(), false);
        assert_eq!(plain, of_run(&run(), false));
        type Change = Box<dyn Fn(&mut Run)>;
        let changes: Vec<Change> = vec![
            Box::new(|run| run.id.push('x')),
            Box::new(|run| run.workload.push('x')),
            Box::new(|run| run.repeat = Some(77)),
            Box::new(|run| run.ended = Some(Instant(77))),
            Box::new(|run| run.measured = Some((Instant(1), Instant(2)))),
            Box::new(|run| run.status = Status::Failed("why".into())),
            Box::new(|run| run.readings[0].value += 1e-12),
            Box::new(|run| run.readings[0].decimals = Some(9)),
            Box::new(|run| run.readings[0].origin.line = Some(0)),
            Box::new(|run| run.telemetry.push(Sample { power_w: Some(0.0), ..Sample::new(Instant(0)) })),
            Box::new(|run| run.setup.request_rate = Some(f64::INFINITY)),
            Box::new(|run| run.setup.exit_code = Some(3)),
            Box::new(|run| run.source.sha256.push('0')),
            Box::new(|run| run.files.push(run.source.clone())),
            Box::new({
                let origin = origin.clone();
                move |run| {
                    run.series.push(Series { metric: "ttft_ms".into(), values: vec![1.0], origin: origin.clone() })
                }
            }),
            Box::new(move |run| {
                let (name, unit, value) = ("x".to_owned(), String::new(), ExtraValue::Number(1.0));
                run.extras.push(Extra { name, unit, value, why: None, origin: origin.clone() });
            }),
        ];
        let mut marks = vec![plain, of_run(&run(), true)];
        for change in changes {
            let mut changed = run();
            change(&mut changed);
            marks.push(of_run(&changed, false));
        }
        let all = marks.len();
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), all, "two runs that are unlike share a mark");
    }
}
