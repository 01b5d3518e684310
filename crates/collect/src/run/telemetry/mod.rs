//! Samples of GPU, machine and tree while a run goes on, into `telemetry.csv`.
//!
//! In:  a host, a GPU where there is one, an interval, a file, the place of the run's tree.  Out: [`Sampler`], a thread that samples on a
//! fixed grid, its rows for the watchdogs, at the end its cost and its absent figures.
//! Not here: how a reading is taken (see `host`), what it means (see `watchdog`).
//!
//! The grid does not drift. A late sample does not move the next one, and missed turns are counted, not made up for. A separate thread reads
//! the GPU, so that a driver that no longer answers costs its own columns only. Just then the memory of the machine must be watched most
//! closely.

mod columns;
mod grid;
mod tally;
mod thread;
mod worker;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::columns::Table;
use super::Row;
use sparkbench_archive::Appender;
use sparkbench_archive::manifest::SamplerWire;
use sparkbench_host::Host;
use sparkbench_host::gpu::SharedGpu;
use sparkbench_host::reader::HostReader;
pub use sparkbench_host::tree::TreeSource;
use sparkbench_plan::TelemetrySettings;
use sparkbench_text::error::Error;

/// Seconds between samples when the suite does not say.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The same for runs expected to be shorter than [`SHORT_S`]: thirty samples are the least that a mean can be trusted on.
pub const SHORT_INTERVAL: Duration = Duration::from_millis(100);
/// See [`SHORT_INTERVAL`].
pub const SHORT_S: f64 = 30.0;
/// Rows kept in memory at most, about ten hours at one a second. The file has all of them.
pub const KEPT: usize = 36_000;
/// How long the end of the sampling thread is waited for. A kernel that holds it in a read must not hold the campaign.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval for a run.
///
/// - `expected_s`: how long the run is expected to take. Absent counts as long.
pub fn interval_for(settings: &TelemetrySettings, expected_s: Option<f64>) -> Duration {
    let chosen = settings.interval_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let usual = if expected_s.is_some_and(|seconds| seconds < SHORT_S) { SHORT_INTERVAL } else { INTERVAL };
    // No interval is a mistake that the suite's reader refuses. Here it must not become a thread that never rests.
    chosen.filter(|interval| !interval.is_zero()).unwrap_or(usual)
}

/// A thread that samples until it is stopped. Dropping it stops it too.
pub struct Sampler {
    shared: Arc<Shared>,
    stop: Sender<()>,
    done: Receiver<thread::End>,
    host: Arc<dyn Host>,
    gpu: Option<SharedGpu>,
    interval: Duration,
    table: Arc<Table>,
}

/// Outcome of sampling.
#[derive(Debug)]
pub struct Stopped {
    /// Its cost.
    pub wire: SamplerWire,
    /// Columns that stayed empty, wholly or in part, and why.
    pub absent: BTreeMap<String, String>,
    /// The rows, the newest [`KEPT`] of them.
    #[allow(dead_code, reason = "for tests, which look at what was sampled")]
    pub rows: Vec<Row>,
    /// Why the file is not whole, where it is not.
    pub failure: Option<Error>,
}

/// Between the sampling thread and whoever watches.
#[derive(Default)]
struct Shared {
    buffer: Mutex<Buffer>,
}

#[derive(Default)]
struct Buffer {
    rows: Vec<Row>,
    /// Rows that have been taken.
    taken: usize,
    tally: tally::Tally,
}

impl Shared {
    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffer {
    fn push(&mut self, row: Row) {
        if self.rows.len() >= KEPT {
            // By halves, so that the moving is rare.
            let drained = KEPT / 2;
            self.rows.drain(..drained);
            self.taken = self.taken.saturating_sub(drained);
        }
        self.rows.push(row);
    }
}

impl Sampler {
    /// Begins to sample at once.
    ///
    /// # Errors
    /// When the file cannot be made or its first line cannot be written.
    pub fn start(
        host: Arc<dyn Host>,
        gpu: Option<SharedGpu>,
        interval: Duration,
        mut file: Appender,
        tree: Arc<Mutex<TreeSource>>,
    ) -> Result<Self, Error> {
        let reader = HostReader::open(host.as_ref());
        let table = Arc::new(Table::new(&reader.sensors().names()));
        file.line(&table.header())?;
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = mpsc::channel();
        let (ending, done) = mpsc::channel();
        let sampling = thread::Sampling::new(
            Arc::clone(&host),
            gpu.clone(),
            interval,
            thread::Out { file, table: Arc::clone(&table), shared: Arc::clone(&shared) },
            (reader, tree),
        );
        std::thread::spawn(move || {
            // Nobody waits for it any more when this fails.
            let _ = ending.send(sampling.run(&stopped));
        });
        Ok(Self { shared, stop, done, host, gpu, interval, table })
    }

    /// The newest row.
    #[allow(dead_code, reason = "for tests, which wait for a row")]
    pub fn latest(&self) -> Option<Row> {
        self.shared.buffer().rows.last().cloned()
    }

    /// Rows since the call before, oldest first.
    pub fn take_new(&self) -> Vec<Row> {
        let mut buffer = self.shared.buffer();
        let new = buffer.rows.get(buffer.taken..).unwrap_or_default().to_vec();
        buffer.taken = buffer.rows.len();
        new
    }

    /// Ends the sampling and returns the tally. Waits for the sample that is being taken, not for a driver that does not answer.
    pub fn stop(self) -> Stopped {
        // The thread may have ended by itself only if it panicked. Then there is no receiver.
        let _ = self.stop.send(());
        let end = self.done.recv_timeout(PATIENCE);
        let mut buffer = std::mem::take(&mut *self.shared.buffer());
        let (end, failure) = match end {
            Ok(mut end) => {
                let failure = end.failure.take();
                (end, failure)
            }
            Err(_) => (thread::End::default(), Some(Error::archive("the sampler does not come to its end").hint(
                "a read of the kernel has not come back. The samples up to then are in the file, look for its cause in the kernel log",
            ))),
        };
        let absent = tally::absent(&mut buffer.tally, self.host.as_ref(), self.gpu.as_deref(), &self.table);
        let gpu_source = end.gpu_source.unwrap_or_else(|| "none: no GPU is read".to_owned());
        let wire = buffer.tally.wire(gpu_source, self.interval, end.cpu, end.sampled);
        Stopped { wire, absent, rows: buffer.rows, failure }
    }
}

#[cfg(test)]
mod tests;
