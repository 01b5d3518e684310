//! sparkbench measures how fast language models run on a machine, and says how far the numbers can be believed.
//!
//! A run becomes files, files become tables, tables become estimates, estimates become sentences, sentences become pages.
//! Nothing flows back.
//!
//! ```text
//! plan ─▶ run ─▶ archive ─▶ ingest ─▶ frame ─▶ stats ─▶ verdict ─▶ chart ─▶ page
//!         └── host, env, load, workload
//! ```
//!
//! | room | holds |
//! | --- | --- |
//! | [`cli`] | one file per verb |
//! | `plan` | suites: read, checked whole, expanded and shuffled by their seed |
//! | `run` | gates, telemetry, watchdogs, the loop over the plan |
//! | `host` | the only way out: clocks, programs, GPUs, behind one trait with a replaying fake |
//! | `env` | native, chroot, Docker, systemd-nspawn: how a command line is wrapped |
//! | `workload` | what is run, and what raw files it leaves |
//! | `load` | streaming load: plan, engine, records, summary, the client's certificate |
//! | `mock` | a server with known emission times, for calibration and tests |
//! | [`model`] | the words: runs, metrics, campaigns, facts |
//! | [`escape`] | text of others where it would act: Markdown, cells, names of files |
//! | [`archive`] | what is on disk: discovery, bounded reading, hashing, atomic writing |
//! | [`ingest`] | one pure parser per format: bytes in, runs out |
//! | [`formula`] | expressions that define a metric: names, units, one figure of a run |
//! | `frame` | polars: records to frames, group-bys, CSV and Parquet |
//! | [`stats`] | formulas over `&[f64]` |
//! | [`verdict`] | estimates and thresholds to judgements, traps and sentences |
//! | `chart` | plotters: values to SVG |
//! | `page` | askama: judgements and charts to a site |
//!
//! The rooms are compiled as five crates (`core.rs`, `read.rs`, `collect.rs`, `pages.rs` and this one) and shown here under their names.
//!
//! The walls between the rooms are tested in `tests/house/walls.rs`.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

pub mod cli;
#[cfg(feature = "analyse")]
pub mod frame;
#[cfg(test)]
mod testing;

#[cfg(all(feature = "collect", target_os = "linux"))]
pub use sparkbench_collect::{env, host, load, mock, run, workload};
pub use sparkbench_core::{archive, error, escape, model, stats, verdict};
#[cfg(feature = "page")]
pub use sparkbench_pages::{chart, page};
pub use sparkbench_read::{formula, ingest, plan};
