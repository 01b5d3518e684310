//! Files of all kinds as they are read: ours, those of other tools, damaged ones, huge ones.

#[path = "../support/mod.rs"]
mod support;

/// Counts what readers hold. A test that looks at it runs in a process of its own.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

mod bad_input;
mod definitions;
mod ingest_corpus;
mod ingest_data;
mod ingest_formats;
mod ingest_golden;
mod ingest_joins;
mod ingest_large;
mod ingest_large_server;
mod ingest_mutations;
mod inspect_codes;
mod labels;
mod peers_aiperf;
mod peers_logs;
mod peers_sglang;
mod peers_telemetry;
mod peers_vllm;
mod physics_cost;
mod reading_paths;
mod vllm_runs;
