//! The verb `collect` from end to end: the program itself runs suites on this machine, and its archives are read as a stranger would.

#![cfg(all(feature = "collect", target_os = "linux"))]

// Shared with the tests of other verbs, which use other parts of them.
#[path = "../support/files.rs"]
mod files;
#[allow(dead_code)]
#[path = "../support/folder.rs"]
mod folder;
#[allow(dead_code)]
#[path = "../support/program.rs"]
mod program;
#[cfg(feature = "analyse")]
#[allow(dead_code)]
#[path = "../support/report.rs"]
mod report;
#[path = "../support/roots.rs"]
mod roots;

mod asked;
#[cfg(feature = "analyse")]
mod decided;
mod full_disk;
mod gpu;
mod keep;
mod kill;
mod left;
mod look;
#[cfg(feature = "analyse")]
mod metrics;
mod once;
mod scene;
mod secrets;
mod serve;
mod short;
#[cfg(feature = "analyse")]
mod site;
mod stop;
mod suites;
