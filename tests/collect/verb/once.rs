//! What is asked and made once: the options of a program's version and the requests, kept in the archive, the same for every run.

use std::collections::BTreeMap;

use sparkbench::archive;
use sparkbench::ingest::{self, Options};

use super::scene::{self, LENIENT, check, collect, head, path_with, runs, script, verifies};
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::repository;

/// The stand-in for trtllm-bench. Its requests differ from call to call, so that requests made twice would show.
pub fn stand_in(folder: &Folder) {
    let fake = repository().join("tests/fixtures/trtllm-bench/fake.py");
    let text = format!(
        "#!/bin/sh\npython3 '{}' \"$@\" || exit\nwhile [ $# -gt 1 ]; do [ \"$1\" = --output ] && cat /proc/sys/kernel/random/uuid >> \"$2\"\nshift\ndone\nexit 0\n",
        fake.display()
    );
    script(folder, "bin/trtllm-bench", &text);
}

#[test]
fn probes_and_prepared_requests_are_made_once_and_every_run_gets_the_same_bytes() {
    if !std::process::Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        needs::skip("no python3");
        return;
    }
    let folder = Folder::new("once");
    stand_in(&folder);
    let program = folder.path().join("bin/trtllm-bench");
    folder.put(
        "suite.toml",
        format!(
            "{}planned_metrics = [\"output_throughput_tok_s\"]\n[environments.native]\ninherit = [\"PATH\"]\n[environments.other]\nkind = \"native\"\ninherit = [\"PATH\"]\n\
             [models.m]\nid = \"org/m\"\n[workloads.bench]\nkind = \"trtllm-bench\"\nprogram = \"{}\"\nrequests = 3\nisl = 512\nosl = 128\n\
             env = {{ FAKE_VERSION = \"1.3\" }}\nexpected_s = 1\n[telemetry]\ngpu = \"nvidia-smi\"\n\
             interval_s = 5\n{LENIENT}",
            head(2),
            program.display()
        )
        .replace("[gates]\n", "[gates]\ngpu_exclusive = false\n"),
    );
    // At this interval a reading of the GPU holds for seconds, so that no gate finds it too old, however busy the machine is.
    let path = path_with(&repository().join("tests/fixtures/nvidia-smi"));
    // The rest is made by a second collector: it uses what the first one made.
    collect(&folder, &["--only", "*r01"], &[("PATH", &path)]).expect(0);
    let once = made(&folder);
    collect(&folder, &["--resume"], &[("PATH", &path)]).expect(0);
    verifies(&folder);
    assert_eq!(made(&folder), once);
    for name in
        ["probes/native-bench/stdout.log", "probes/other-bench/stdout.log", "prepared/bench-m/work/dataset.jsonl"]
    {
        assert!(once.contains_key(name), "{name} is not among {:?}", once.keys());
    }
    let requests = &once["prepared/bench-m/work/dataset.jsonl"];
    let runs = runs(&folder);
    assert_eq!(runs.len(), 4);
    for (id, run) in &runs {
        let own = std::fs::read(scene::archive(&folder).join("runs").join(id).join("work/dataset.jsonl")).unwrap();
        assert_eq!(&own, requests, "{id} had requests of its own");
        assert_eq!(
            (check(run, "model_id"), check(run, "requests"), check(run, "isl")),
            (Some("match"), Some("match"), Some("match")),
            "{id}"
        );
        let command = run["command"].to_string();
        assert!(
            command.contains("--no-telemetry") && command.contains("--request_json"),
            "the options of version 1.3: {command}"
        );
    }
    let intake = ingest::all(&archive::discover(&[scene::archive(&folder)]).unwrap(), &Options::default()).unwrap();
    assert_eq!((intake.runs.len(), intake.skipped()), (4, 0));
    let throughput: Vec<f64> = intake.runs.iter().map(|run| run.value("output_throughput_tok_s").unwrap()).collect();
    assert_eq!(throughput, [256.123456; 4]);
}

/// What was asked and made once.
fn made(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let all = files_below(&scene::archive(folder));
    all.into_iter().filter(|(name, _)| name.starts_with("probes/") || name.starts_with("prepared/")).collect()
}
