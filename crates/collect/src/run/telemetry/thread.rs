//! The sampling thread: one row for each turn.
//!
//! In:  a host, a GPU, the tree of a run, a file.  Out: rows in the file and in memory, and at the end what sampling cost.
//! Not here: the grid itself, columns, readers of the rows.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::columns::Table;
use super::grid::Grid;
use super::worker::Worker;
use super::{Shared, TreeSource};
use crate::run::Row;
use sparkbench_archive::Appender;
use sparkbench_host::Host;
use sparkbench_host::gpu::SharedGpu;
use sparkbench_host::reader::HostReader;
use sparkbench_host::tree::TreeReader;
use sparkbench_text::error::Error;

/// Longest wait for the driver in one turn. Shorter where the interval is, so that the next turn is kept.
const LONGEST_ANSWER: Duration = Duration::from_secs(1);

/// Where rows go.
pub(super) struct Out {
    /// On disk.
    pub file: Appender,
    /// The rows as cells.
    pub table: Arc<Table>,
    /// In memory.
    pub shared: Arc<Shared>,
}

/// See the module.
pub(super) struct Sampling {
    host: Arc<dyn Host>,
    worker: Option<Worker>,
    gpu_source: Option<String>,
    interval: Duration,
    out: Out,
    reader: HostReader,
    tree: Arc<Mutex<TreeSource>>,
    tree_reader: TreeReader,
    lost_lines: u64,
    failure: Option<Error>,
}

/// Results of the ended thread.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Name of the source.
    pub gpu_source: Option<String>,
    /// Processor time of both threads and the child.
    pub cpu: Duration,
    /// Time between beginning and end.
    pub sampled: Duration,
    /// The file is not whole.
    pub failure: Option<Error>,
}

impl Sampling {
    /// Everything in its place, nothing sampled yet.
    pub(super) fn new(
        host: Arc<dyn Host>,
        gpu: Option<SharedGpu>,
        interval: Duration,
        out: Out,
        (reader, tree): (HostReader, Arc<Mutex<TreeSource>>),
    ) -> Self {
        let gpu_source = gpu.as_ref().and_then(|gpu| Some(gpu.try_lock().ok()?.source().to_owned()));
        let worker = gpu.map(|gpu| Worker::start(Arc::clone(&host), gpu, interval));
        let tree_reader = TreeReader::default();
        Self { host, worker, gpu_source, interval, out, reader, tree, tree_reader, lost_lines: 0, failure: None }
    }

    /// Samples until a stop order, or until no sender of orders is left.
    pub(super) fn run(mut self, stop: &Receiver<()>) -> End {
        let cpu = self.host.thread_cpu();
        let begun = self.host.monotonic();
        let mut grid = Grid::new(begun, self.interval);
        loop {
            let late = grid.is_late(self.host.monotonic());
            self.sample(late);
            let wait = grid.next(self.host.monotonic());
            self.out.shared.buffer().tally.skipped = grid.skipped;
            match stop.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Err(error) = self.out.file.sync() {
            self.fail(error);
        }
        let cost = self.worker.as_ref().map(Worker::cost).unwrap_or_default();
        let child = Duration::try_from_secs_f64(cost.child_s).unwrap_or_default();
        let samples = self.out.shared.buffer().tally.samples;
        let failure = self.failure.map(|error| match self.lost_lines {
            0 => error,
            lost => error.detail(format!("{lost} of {samples} rows of telemetry are not in the file")),
        });
        End {
            gpu_source: self.gpu_source,
            cpu: self.host.thread_cpu().saturating_sub(cpu) + cost.thread + child,
            sampled: self.host.monotonic().saturating_sub(begun),
            failure,
        }
    }

    /// Takes one row.
    pub(super) fn sample(&mut self, late: bool) {
        let begun = self.host.monotonic();
        let utc = self.host.utc();
        // The driver works while the files of the kernel are read.
        if let Some(worker) = &mut self.worker {
            worker.ask(begun);
        }
        let host = self.reader.read(self.host.as_ref());
        let source = self.tree.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tree = self.tree_reader.read(self.host.as_ref(), &source);
        let limit = (self.interval * 4 / 5).min(LONGEST_ANSWER);
        let gpu = self.worker.as_mut().map(|worker| worker.answer(begun, limit));
        let (gpu, refusal) = match gpu {
            Some(Ok(sample)) => (Some(sample), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let row = Row { utc, monotonic_s: begun.as_secs_f64(), gpu, host, tree };
        let cells = self.out.table.cells(&row);
        self.write(&cells);
        let took = self.host.monotonic().saturating_sub(begun);
        let mut kept = self.out.shared.buffer();
        kept.tally.note(&cells, refusal, late, took);
        kept.push(row);
    }

    fn write(&mut self, cells: &[Option<String>]) {
        let line = cells.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect::<Vec<_>>().join(",");
        if let Err(error) = self.out.file.line(&line) {
            self.lost_lines += 1;
            self.fail(error);
        }
    }

    /// The first failure is the one to report.
    fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }
}
