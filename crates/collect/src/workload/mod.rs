//! What is run: a command line, the files it needs, the files it leaves, and whether it did the requested work.
//!
//! In:  settings of a suite, a model.  Out: invocations for an environment, and the [`Outcome`] read from their files.
//! Not here: where it runs (see `env`), when (see `run`), what the figures mean.
//!
//! A workload is one file below this folder and one line in [`WORKLOADS`]. A run makes exactly one measured invocation. Prerequisites
//! (options of a program's version, a dataset) are probed or prepared once for the campaign. So every arm gets the same bytes and no arm
//! pays for it. Where the program is a server, the load against it works beside it (see `beside`).

pub(crate) mod assets;
pub(crate) mod beside;
mod cell;
pub(crate) mod command;
pub(crate) mod examine;
pub(crate) mod expect;
pub mod gpu_probe;
mod kind;
mod outcome;
pub(crate) mod placement;
pub(crate) mod python;
pub mod serve;
pub(crate) mod template;
pub(crate) mod trtllm_bench;

pub use self::cell::Cell;
pub use self::kind::{Common, Workload, WorkloadKind};
pub use self::outcome::{Outcome, WORK_FOLDER};
pub use self::placement::Placement;

/// The client that loads servers.
static SESSIONS: serve::session::Sessions = serve::session::Sessions::new();

/// Every kind of workload.
pub static WORKLOADS: &[&dyn WorkloadKind] = &[
    &command::CommandKind,
    &gpu_probe::GpuProbe,
    &python::PythonKind,
    &serve::ServeKind { loader: &SESSIONS },
    &trtllm_bench::TrtllmBenchKind,
];
