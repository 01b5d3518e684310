//! Campaigns: the suite's runs in their environments, with gates, telemetry and watchdogs.
//!
//! In:  a plan, a machine.  Out: an archive. Empty on systems other than Linux.
//! Not here: the machine itself (see `host`), load (see `load`), what is made of the measurements.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]
#![cfg(target_os = "linux")]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod env;
pub mod run;
pub mod workload;
