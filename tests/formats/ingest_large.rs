//! A huge log costs time, never memory. The peak of memory is that of the whole process, so each test has one of its own.

use std::io::{Seek as _, SeekFrom, Write as _};

use sparkbench::archive::{self, LINE_LIMIT, WHOLE_LIMIT};
use sparkbench::ingest::{self, Options};

use crate::MEMORY;
use crate::support::again;
use crate::support::folder::Folder;

/// Growth of the peak that is allowed: buffers and a cut line, and what the allocator adds. The files are many times as large.
const ALLOWED_BYTES: usize = 24 << 20;

fn reads_in_bounded_memory(name: &str, size: u64) {
    let folder = Folder::new(name);
    folder.put("good/runs.csv", "environment,model,ttft_ms\nnative,m,1.5\n");
    let stem = "flat/native_m_iter1_20260101_000000";
    folder.put(
        &format!("{stem}_metadata.json"),
        r#"{"environment":"native","model_name":"m","iteration":1,"timestamp":"20260101_000000","exit_code":0}"#,
    );
    // A log that turns into one endless line, with the figure behind it. The middle is a hole: it takes no room on disk.
    let log = folder.put(&format!("{stem}.log"), "a line of a log\n".repeat(LINE_LIMIT / 8));
    let mut file = std::fs::OpenOptions::new().write(true).open(log).unwrap();
    file.seek(SeekFrom::Start(size)).unwrap();
    file.write_all(b"\n= PERFORMANCE OVERVIEW\nRequest Throughput (req/sec):  3.25\n").unwrap();
    // A result of that size is refused by its size alone.
    let large =
        folder.put("large/results.json", "{\"models\": {\"peak_memory\": 1, \"kv_cache\": 2, \"iteration\": 3, ");
    std::fs::OpenOptions::new().write(true).open(large).unwrap().set_len(WHOLE_LIMIT + 1).unwrap();

    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let intake = ingest::all(&archive::discover(&[folder.path().to_owned()]).unwrap(), &Options::default()).unwrap();
    let grown = MEMORY.peak_usage().saturating_sub(before);

    assert_eq!(intake.runs.len(), 2);
    let run = intake.runs.iter().find(|run| run.source.path.starts_with("flat/")).unwrap();
    assert_eq!(run.value("request_throughput_req_s"), Some(3.25));
    let large = intake.inputs.iter().find(|input| input.path == "large/results.json").unwrap();
    assert!(large.skipped && large.sha256.is_none());
    let reason = large.reason.as_deref().unwrap();
    assert!(reason.contains("too large to be read whole: 128 MiB, and the limit is 128 MiB"), "{reason}");
    assert!(grown <= ALLOWED_BYTES, "memory grew by {grown} bytes");
}

#[test]
fn a_log_of_200_mib_with_one_endless_line_is_read_in_bounded_memory() {
    again::alone(module_path!(), "a_log_of_200_mib");
}

#[test]
#[ignore = "started by another test"]
fn a_log_of_200_mib() {
    if again::is_inside() {
        reads_in_bounded_memory("large-200m", 200 << 20);
    }
}

#[test]
#[ignore = "takes minutes; `.ci/run` has it among the long ones"]
fn a_log_of_2_gib_with_one_endless_line_is_read_in_bounded_memory() {
    again::alone(module_path!(), "a_log_of_2_gib");
}

#[test]
#[ignore = "started by another test"]
fn a_log_of_2_gib() {
    if again::is_inside() {
        reads_in_bounded_memory("large-2g", 2 << 30);
    }
}
