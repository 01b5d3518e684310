//! How fast result files are read, without what is made of them: files to runs with their tables of requests.
//!
//! In:  folders or files.  Out: one line on standard output: files, runs, values of requests, megabytes, seconds, megabytes a second.
//! Not here: statistics, pages, assertions.
//!
//! Everything that reading is in `analyse` is in it: walking the folders, recognising each format, hashing every byte, checking lists
//! against each other, putting the files of a run together; with the feature `analyse` also the data frame of requests.
//!
//! `cargo run --release --no-default-features --features examples --example read_results -- FOLDER`

use std::path::PathBuf;
use std::time::Instant;

use sparkbench::archive;
use sparkbench::ingest::{self, Options};

fn main() {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let began = Instant::now();
    let found = archive::discover(&paths).unwrap_or_else(|error| fail(&error));
    let bytes: u64 = found.files.iter().map(|file| file.bytes).sum();
    let intake = ingest::all(&found, &Options::default()).unwrap_or_else(|error| fail(&error));
    #[cfg(feature = "analyse")]
    std::hint::black_box(sparkbench::frame::requests(&intake.runs).unwrap_or_else(|error| fail(&error)));
    let took = began.elapsed().as_secs_f64();
    let values: usize = intake.runs.iter().flat_map(|run| &run.series).map(|series| series.values.len()).sum();
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{} files, {} runs, {values} values of requests, {megabytes:.0} MB, {took:.2} s, {:.0} MB/s",
        found.files.len(),
        intake.runs.len(),
        megabytes / took
    );
}

fn fail<T>(error: &sparkbench::error::Error) -> T {
    eprintln!("error: {error}");
    std::process::exit(5)
}
