//! The verb `collect` from end to end: the program itself runs suites on this machine, and its archives are read as a stranger would.

#![cfg(all(feature = "collect", target_os = "linux"))]

#[cfg(feature = "analyse")]
mod archive_opens;
mod asked;
mod collect_host;
#[cfg(feature = "analyse")]
mod decided;
mod full_disk;
mod gpu;
mod keep;
mod kill;
mod left;
mod look;
mod lost;
#[cfg(feature = "analyse")]
mod metrics;
mod mounts;
mod names;
mod once;
mod scene;
mod secrets;
mod serve;
mod short;
#[cfg(feature = "analyse")]
mod site;
mod stop;
mod suites;
mod unguarded;
