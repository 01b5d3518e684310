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
//! | crate or module | holds |
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
//! Each is a crate of `crates/` or a module of one, shown here under its short name. CONTRIBUTING says which may use which. Cargo keeps
//! these walls, and `tests/house/walls.rs` those that Cargo cannot see.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

pub mod cli;

#[cfg(feature = "analyse")]
pub use sparkbench_frame as frame;
pub use sparkbench_model::formula;
#[cfg(feature = "page")]
pub use sparkbench_site::{chart, page};
pub use sparkbench_text::{error, escape};
pub use {
    sparkbench_archive as archive, sparkbench_ingest as ingest, sparkbench_model as model, sparkbench_plan as plan,
    sparkbench_stats as stats, sparkbench_verdict as verdict,
};
#[cfg(all(feature = "collect", target_os = "linux"))]
pub use {
    sparkbench_collect::{env, run, workload},
    sparkbench_host as host, sparkbench_load as load, sparkbench_mock as mock,
};

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");
