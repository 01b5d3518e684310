//! Environments of a program: wrapping its command line, checking requirements, recording what really ran.
//!
//! In:  settings of a suite, an [`Invocation`].  Out: a [`Job`](sparkbench_host::Job) for the host, and the environment's own word on it afterwards.
//! Not here: the program (see `workload`), statistics.
//!
//! An environment is one file below this folder and one line in [`ENVIRONMENTS`].

mod checks;
mod chroot;
mod contents;
mod docker;
mod driver;
mod kind;
mod leftover;
mod native;
mod nspawn;
mod place;
mod points;
mod root;
mod seen;
mod variables;

pub use kind::{Environment, EnvironmentKind, Examined, Invocation, NATIVE};
pub use place::Place;

/// Every kind of environment.
pub static ENVIRONMENTS: &[&dyn EnvironmentKind] =
    &[&native::Native, &chroot::Chroot, &docker::Docker, &docker::Podman, &nspawn::Nspawn];
