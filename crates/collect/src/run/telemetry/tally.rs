//! The tally of sampling: number, delays, cost, and the empty columns with their reasons.
//!
//! In:  each row's cells.  Out: [`SamplerWire`], reasons by column.
//! Not here: taking samples.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::columns::{COLUMNS, From, Table};
use sparkbench_archive::manifest::SamplerWire;
use sparkbench_host::Host;
use sparkbench_host::gpu::{Gpu, lock_within};

/// How long the source is waited for when it is asked for its reasons.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts over the samples of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Samples taken.
    pub samples: u64,
    /// Turns that were missed.
    pub skipped: u64,
    late: u64,
    longest: Duration,
    /// Cells filled, by column.
    filled: Vec<u64>,
    /// Samples without any reading of the GPU, and the last reason.
    no_gpu: Option<(u64, String)>,
}

impl Tally {
    /// One more sample.
    pub(super) fn note(&mut self, cells: &[Option<String>], refusal: Option<String>, late: bool, took: Duration) {
        self.samples += 1;
        self.late += u64::from(late);
        self.longest = self.longest.max(took);
        self.filled.resize(cells.len(), 0);
        for (filled, cell) in self.filled.iter_mut().zip(cells) {
            *filled += u64::from(cell.is_some());
        }
        if let Some(why) = refusal {
            let before = self.no_gpu.take().map_or(0, |(count, _)| count);
            self.no_gpu = Some((before + 1, why));
        }
    }

    /// For `run.json`.
    pub(super) fn wire(&self, gpu_source: String, interval: Duration, cpu: Duration, sampled: Duration) -> SamplerWire {
        let share = cpu.as_secs_f64() / sampled.as_secs_f64() * 100.0;
        SamplerWire {
            gpu_source,
            interval_s: interval.as_secs_f64(),
            samples: self.samples,
            late: self.late,
            skipped: self.skipped,
            longest_ms: self.longest.as_secs_f64() * 1000.0,
            cpu_s: cpu.as_secs_f64(),
            cpu_pct: if share.is_finite() { share } else { 0.0 },
        }
    }
}

/// Columns that stayed empty and why. A column of the driver that is filled in some rows only is named too, with its share. Those of the
/// machine are not, since a process or a control group comes and goes.
pub(super) fn absent(
    tally: &mut Tally,
    host: &dyn Host,
    gpu: Option<&Mutex<Box<dyn Gpu>>>,
    table: &Table,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (told, silent) = match gpu {
        None => (BTreeMap::new(), Some("no GPU is read".to_owned())),
        Some(gpu) => match lock_within(host, gpu, PATIENCE) {
            Some(gpu) => (gpu.absent(), None),
            None => (BTreeMap::new(), Some("the driver does not answer".to_owned())),
        },
    };
    tally.filled.resize(table.names().count(), 0);
    let unread = tally.no_gpu.as_ref().map_or(0, |(count, _)| *count);
    if let Some((count, why)) = &tally.no_gpu {
        found.insert("gpu".to_owned(), format!("no reading in {count} of {} samples: {why}", tally.samples));
    }
    if let Some(gaps) = told.get("gpu_gaps") {
        found.insert("gpu_gaps".to_owned(), gaps.clone());
    }
    for (column, filled) in COLUMNS.iter().zip(&tally.filled) {
        let empty = tally.samples - filled;
        let reason = match column.from {
            From::Clock => continue,
            From::Gpu => {
                let refused = empty.saturating_sub(unread);
                let why = told.get(column.name).cloned().or_else(|| silent.clone());
                let why = why.unwrap_or_else(|| match column.name {
                    "gpu_age_ms" => "each reading is taken on request".to_owned(),
                    _ => "the GPU gave no reading".to_owned(),
                });
                match (filled, refused) {
                    (0, _) => why,
                    (_, 0) => continue,
                    (_, refused) => format!("in {refused} of {} samples: {why}", tally.samples),
                }
            }
            _ if *filled > 0 => continue,
            From::Host(_) if column.name == "host_cpu_busy_pct" && tally.samples < 2 => {
                "a share needs two samples, and the run ended before the second".to_owned()
            }
            From::Host(file) => match host.read(Path::new(file)) {
                Ok(_) => format!("'{file}' does not give it on this machine"),
                Err(cause) => format!("'{file}' cannot be read: {cause}"),
            },
            From::Tree => "no process of the run was seen in a sample".to_owned(),
            From::Group => "the run has no control group of its own to read it from".to_owned(),
        };
        found.insert(column.name.to_owned(), reason);
    }
    found
}
