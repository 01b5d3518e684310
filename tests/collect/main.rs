//! Measuring on this machine: suites, environments, the guard, workloads, telemetry, archives.

#[path = "../support/mod.rs"]
mod support;

mod archive;
mod containers;
mod environments;
mod gpu_probe;
mod host_guard;
mod host_machine;
mod host_root;
mod init;
mod plan;
mod status;
mod suites;
mod telemetry;
mod verb;
mod workload_command;
mod workload_python;
mod workload_trtllm;
