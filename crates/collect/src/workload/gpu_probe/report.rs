//! The result of a probe: rates from times, the two figures of the contracts, the file, the table.
//!
//! In:  timed intervals.  Out: [`Report`], its JSON (`sparkbench.result/1`), its lines for people.
//! Not here: measuring, where the JSON goes.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::known::{Health, health};
use super::plan::{Part, ProbePlan, QUICK_SIZE};
use sparkbench_host::cuda::{Facts, Precision, Timed};
use sparkbench_host::gpu::GpuSample;
use sparkbench_stats::{Descriptive, Sample, describe};

/// Whether the values of a result are right.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Places that were examined.
    pub places: usize,
    /// Largest difference from the exact value.
    pub worst_error: f64,
    /// The same as a share of what is allowed.
    pub worst_share: f64,
    /// The first value that is wrong, in words.
    pub wrong: Option<String>,
}

/// One part's times.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Operations (products) or bytes (memory) of one launch.
    pub work: f64,
    /// Launches of each interval.
    pub launches: u32,
    /// Launches before the first interval.
    pub warmup_launches: u32,
    /// In the order of measuring.
    pub timed: Vec<Timed>,
    /// The GPU while it worked.
    pub gpu: Option<GpuSample>,
    /// Whether the result is right.
    pub check: Check,
    /// Oddities of the times.
    pub marks: Vec<String>,
}

impl Measured {
    /// Work per second of each interval, by the clock of the device: operations or bytes.
    fn rates(&self) -> Vec<f64> {
        self.timed.iter().map(|t| self.work * f64::from(t.launches) / t.device_s).collect()
    }

    /// Why the part counts as failed, if it does: a wrong value, or an invalid time.
    fn fault(&self) -> Option<String> {
        if let Some(wrong) = &self.check.wrong {
            return Some(format!("the result is wrong: {wrong}"));
        }
        let none = self.timed.iter().any(|t| !(t.device_s > 0.0 && t.device_s.is_finite()));
        (none || self.timed.is_empty()).then(|| "the device counts no time for an interval".to_owned())
    }
}

/// How a part ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PartOutcome {
    /// With times.
    Measured(Box<Measured>),
    /// It does not fit, and why.
    Skipped(String),
    /// It did not work, and why.
    Failed(String),
}

/// One part and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct PartResult {
    /// The measurements.
    pub part: Part,
    /// How it ended.
    pub outcome: PartOutcome,
}

impl PartResult {
    /// Name in files and tables.
    pub fn name(&self) -> String {
        match self.part {
            Part::Gemm { precision, n } => format!("gemm {} {n}", precision.name()),
            Part::Copy => "copy".to_owned(),
            Part::ReadGemv => "read sgemv".to_owned(),
            Part::ReadAsum => "read sasum".to_owned(),
        }
    }

    /// Unit of its rate, and how many units of work per second make one.
    const fn unit(&self) -> (&'static str, f64) {
        match self.part {
            Part::Gemm { .. } => ("TFLOP/s", 1e12),
            Part::Copy | Part::ReadGemv | Part::ReadAsum => ("GB/s", 1e9),
        }
    }

    /// Why it counts as failed, if it does. A part that does not fit has not failed.
    pub fn fault(&self) -> Option<String> {
        match &self.outcome {
            PartOutcome::Measured(measured) => measured.fault(),
            PartOutcome::Skipped(_) => None,
            PartOutcome::Failed(why) => Some(why.clone()),
        }
    }

    /// Rate of each interval in its unit. Nothing when it failed or was skipped.
    pub fn rates(&self) -> Option<Vec<f64>> {
        match &self.outcome {
            PartOutcome::Measured(measured) if measured.fault().is_none() => {
                Some(measured.rates().into_iter().map(|rate| rate / self.unit().1).collect())
            }
            _ => None,
        }
    }

    /// Its rate: the median of its intervals.
    pub fn rate(&self) -> Option<f64> {
        describe(&Sample::new(self.rates()?), 0.95).median
    }
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The device.
    pub facts: Facts,
    /// Number format that gives `gemm_tflops`.
    pub headline: Precision,
    /// Whether it was a quick probe.
    pub quick: bool,
    /// In the order of measuring.
    pub results: Vec<PartResult>,
    /// Variables that change what CUDA or cuBLAS do, as they were set.
    pub variables: Vec<(String, String)>,
    /// Why no reading of the GPU is there, where it is missing.
    pub no_sample: Option<String>,
}

impl Report {
    /// Nothing measured yet.
    pub fn new(facts: Facts, plan: &ProbePlan) -> Self {
        Self {
            facts,
            headline: plan.headline,
            quick: plan.quick,
            results: Vec::new(),
            variables: Vec::new(),
            no_sample: None,
        }
    }

    /// The largest product of a precision that was asked for. Nothing when it gave no rate. A smaller one does not stand in for it:
    /// under one name there must be one size.
    fn largest(&self, precision: Precision) -> Option<&PartResult> {
        let sized = self.results.iter().filter_map(|result| match result.part {
            Part::Gemm { precision: own, n } if own == precision => Some((n, result)),
            _ => None,
        });
        sized.max_by_key(|(n, _)| *n).map(|(_, result)| result).filter(|result| result.rate().is_some())
    }

    /// The part behind `gemm_tflops`: the largest product in the headline's precision.
    pub fn gemm(&self) -> Option<&PartResult> {
        self.largest(self.headline)
    }

    /// The part behind `memory_bandwidth_gb_s`: the faster way to read.
    pub fn read(&self) -> Option<&PartResult> {
        let reads = self.results.iter().filter(|result| matches!(result.part, Part::ReadGemv | Part::ReadAsum));
        reads
            .filter(|result| result.rate().is_some())
            .max_by(|a, b| a.rate().unwrap_or_default().total_cmp(&b.rate().unwrap_or_default()))
    }

    fn copy(&self) -> Option<f64> {
        self.results.iter().find(|result| result.part == Part::Copy)?.rate()
    }

    /// Relation to published figures of this GPU, where there are any.
    pub fn health(&self) -> Option<Health> {
        let product = self.largest(Precision::Bf16)?;
        match product.part {
            Part::Gemm { n, .. } if n >= QUICK_SIZE => health(&self.facts.name, product.rate()?),
            // A small product does not load every unit: its rate says nothing about the clock.
            _ => None,
        }
    }

    /// Every part that failed, with its reason.
    pub fn faults(&self) -> Vec<String> {
        self.results.iter().filter_map(|result| result.fault().map(|why| format!("{}: {why}", result.name()))).collect()
    }

    /// Lines that a reader of the figures should know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for result in &self.results {
            match &result.outcome {
                PartOutcome::Skipped(why) => notes.push(format!("{} skipped: {why}", result.name())),
                PartOutcome::Measured(measured) => {
                    notes.extend(measured.marks.iter().map(|mark| format!("{}: {mark}", result.name())));
                }
                PartOutcome::Failed(_) => {}
            }
        }
        notes.extend(self.faults().into_iter().map(|fault| format!("failed: {fault}")));
        if let Some(health) = self.health().filter(|health| health.state == "slow") {
            notes.push(format!(
                "BF16 at {:.1} TFLOP/s: published are {} for a healthy and {} for a stuck GPU of this kind ({})",
                health.bf16_tflops, health.healthy_tflops, health.stuck_tflops, health.source
            ));
        }
        if !self.variables.is_empty() {
            let names: Vec<&str> = self.variables.iter().map(|(name, _)| name.as_str()).collect();
            notes.push(format!("variables that change what CUDA or cuBLAS do are set: {}", names.join(", ")));
        }
        notes.extend(self.no_sample.as_ref().map(|why| format!("the GPU's own readings are missing: {why}")));
        notes
    }

    /// `sparkbench.result/1`.
    pub fn json(&self) -> Value {
        let (gemm, read) = (self.gemm(), self.read());
        let mut metrics = serde_json::Map::new();
        let promised = |kind: fn(&Part) -> bool| self.results.iter().any(|result| kind(&result.part));
        if promised(|part| matches!(part, Part::Gemm { .. })) {
            metrics.insert("gemm_tflops".to_owned(), json!(gemm.and_then(PartResult::rate)));
        }
        if promised(|part| matches!(part, Part::ReadGemv | Part::ReadAsum)) {
            metrics.insert("memory_bandwidth_gb_s".to_owned(), json!(read.and_then(PartResult::rate)));
        }
        let iterations: Vec<Value> = self
            .results
            .iter()
            .filter_map(|result| {
                let mut entry = json!({"name": result.name(), "unit": result.unit().0, "values": result.rates()?});
                let metric = match result.part {
                    _ if gemm == Some(result) => Some("gemm_tflops"),
                    _ if read == Some(result) => Some("memory_bandwidth_gb_s"),
                    _ => None,
                };
                if let (Some(metric), Some(entry)) = (metric, entry.as_object_mut()) {
                    entry.insert("metric".to_owned(), json!(metric));
                }
                Some(entry)
            })
            .collect();
        json!({
            "schema": "sparkbench.result/1",
            "metrics": metrics,
            "iterations": iterations,
            "seen": {
                "machine": self.facts.name,
                "engine": "cuBLAS",
                "engine_version": self.facts.cublas,
                "quantisation": gemm.map(|_| self.headline.name()),
                "device_memory_gib": self.facts.memory_bytes as f64 / (1_u64 << 30) as f64,
            },
            "notes": self.notes(),
            "probe": {
                "quick": self.quick,
                "device": self.facts,
                "headline": self.headline,
                "copy_gb_s": self.copy(),
                "read_gb_s": read.and_then(PartResult::rate),
                "health": self.health(),
                "variables": self.variables.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<serde_json::Map<_, _>>(),
                "parts": self.results.iter().map(part_json).collect::<Vec<_>>(),
            },
        })
    }

    /// A table with its remarks.
    pub fn table(&self) -> String {
        let facts = &self.facts;
        let memory = if facts.integrated { "memory shared with the host" } else { "memory of its own" };
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "of unknown version".to_owned());
        let mut text = format!(
            "GPU {}: {}, compute capability {}, {memory} ({:.1} GiB)\nCUDA {}, cuBLAS {}\n\n",
            facts.index,
            facts.name,
            facts.compute_capability,
            facts.memory_bytes as f64 / (1_u64 << 30) as f64,
            or_unknown(&facts.cuda),
            or_unknown(&facts.cublas),
        );
        let _ = writeln!(
            text,
            "{:<18} {:>9} {:<8} {:>9} {:>9} {:>10} {:>6} {:>7} {:>5}",
            "part", "median", "", "lowest", "highest", "ms/launch", "MHz", "W", "C"
        );
        for result in &self.results {
            text.push_str(&row(result));
        }
        text.push('\n');
        let shown = |value: Option<f64>| value.map_or_else(|| "not obtained".to_owned(), |value| format!("{value:.1}"));
        if let Some(gemm) = self.gemm() {
            let _ = writeln!(text, "gemm_tflops            {}  ({})", shown(gemm.rate()), gemm.name());
        }
        if let Some(read) = self.read() {
            let _ = writeln!(text, "memory_bandwidth_gb_s  {}  ({})", shown(read.rate()), read.name());
        }
        if let Some(health) = self.health() {
            let _ = writeln!(
                text,
                "health                 {}  (BF16: {} TFLOP/s published for a healthy one, {} for a stuck one)",
                health.state, health.healthy_tflops, health.stuck_tflops
            );
        }
        for note in self.notes() {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

fn part_json(result: &PartResult) -> Value {
    let (unit, _) = result.unit();
    let mut object = json!({"name": result.name(), "unit": unit});
    let fill = match &result.outcome {
        PartOutcome::Skipped(why) => json!({"state": "skipped", "reason": why}),
        PartOutcome::Failed(why) => json!({"state": "failed", "reason": why}),
        PartOutcome::Measured(measured) => {
            let per_launch = |seconds: fn(&Timed) -> f64| -> Vec<f64> {
                measured.timed.iter().map(|t| seconds(t) * 1000.0 / f64::from(t.launches)).collect()
            };
            let fault = measured.fault();
            let spread = result.rates().map(|rates| describe(&Sample::new(rates), 0.95));
            json!({
                "state": if fault.is_some() { "failed" } else { "measured" },
                "reason": fault,
                "rate": spread.as_ref().and_then(|s: &Descriptive| s.median),
                "mean": spread.as_ref().and_then(|s| s.mean),
                "sd": spread.as_ref().and_then(|s| s.sd),
                "lowest": spread.as_ref().and_then(|s| s.min),
                "highest": spread.as_ref().and_then(|s| s.max),
                "work_per_launch": measured.work,
                "launches_per_interval": measured.launches,
                "warmup_launches": measured.warmup_launches,
                "device_ms_per_launch": per_launch(|t| t.device_s),
                "host_ms_per_launch": per_launch(|t| t.host_s),
                "check": {
                    "places": measured.check.places,
                    "worst_error": finite(measured.check.worst_error),
                    "worst_share_of_allowed": finite(measured.check.worst_share),
                    "wrong": measured.check.wrong,
                },
                "marks": measured.marks,
                "gpu_under_load": measured.gpu,
            })
        }
    };
    if let (Some(object), Value::Object(fill)) = (object.as_object_mut(), fill) {
        if let Part::Gemm { precision, n } = result.part {
            object.insert("n".to_owned(), json!(n));
            object.insert("precision".to_owned(), json!(precision));
            object.insert("method".to_owned(), json!(precision.method()));
            object.insert("accumulate".to_owned(), json!("fp32"));
        }
        object.extend(fill);
    }
    object
}

/// JSON has no infinite numbers. Absent then.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn row(result: &PartResult) -> String {
    let name = result.name();
    let measured = match &result.outcome {
        PartOutcome::Skipped(_) => return format!("{name:<18} skipped\n"),
        PartOutcome::Measured(measured) if measured.fault().is_none() => measured,
        _ => return format!("{name:<18} failed\n"),
    };
    let rates = describe(&Sample::new(result.rates().unwrap_or_default()), 0.95);
    let times: Vec<f64> = measured.timed.iter().map(|t| t.device_s * 1000.0 / f64::from(t.launches)).collect();
    let once = describe(&Sample::new(times), 0.95).median;
    let gpu = measured.gpu.clone().unwrap_or_default();
    let cell = |value: Option<f64>, digits: usize| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"));
    format!(
        "{name:<18} {:>9} {:<8} {:>9} {:>9} {:>10} {:>6} {:>7} {:>5}\n",
        cell(rates.median, 2),
        result.unit().0,
        cell(rates.min, 2),
        cell(rates.max, 2),
        cell(once, 4),
        cell(gpu.sm_clock_mhz, 0),
        cell(gpu.power_w, 1),
        cell(gpu.temp_c, 0),
    )
}
