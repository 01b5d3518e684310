//! A huge log costs time, never memory. Alone in its file: the peak of memory is that of the whole process.

use std::io::{Seek as _, SeekFrom, Write as _};

use sparkbench::archive::{self, LINE_LIMIT, WHOLE_LIMIT};
use sparkbench::ingest::{self, Options};

#[path = "support/folder.rs"]
mod folder;
use folder::Folder;

/// Growth of the peak that is allowed: buffers and a cut line, and what the allocator adds. The files are many times as large.
const ALLOWED_MIB: u64 = 24;

/// Peak resident memory of this process in MiB, where the system says it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

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

    let before = peak_mib();
    let intake = ingest::all(&archive::discover(&[folder.path().to_owned()]).unwrap(), &Options::default()).unwrap();
    let after = peak_mib();

    assert_eq!(intake.runs.len(), 2);
    let run = intake.runs.iter().find(|run| run.campaign == "flat").unwrap();
    assert_eq!(run.value("request_throughput_req_s"), Some(3.25));
    let large = intake.inputs.iter().find(|input| input.path == "large/results.json").unwrap();
    assert!(large.skipped && large.sha256.is_none());
    let reason = large.reason.as_deref().unwrap();
    assert!(reason.contains("too large to be read whole: 128 MiB, and the limit is 128 MiB"), "{reason}");
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after - before <= ALLOWED_MIB, "memory grew by {} MiB", after - before);
    }
}

#[test]
fn a_log_of_200_mib_with_one_endless_line_is_read_in_bounded_memory() {
    reads_in_bounded_memory("large-200m", 200 << 20);
}

#[test]
#[ignore = "takes long without optimisation; run it with --release"]
fn a_log_of_2_gib_with_one_endless_line_is_read_in_bounded_memory() {
    reads_in_bounded_memory("large-2g", 2 << 30);
}
