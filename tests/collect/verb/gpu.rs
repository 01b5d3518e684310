//! A GPU in front of the program: what `nvidia-smi` printed once is played back, and everything around it is real.

use std::fs;

use super::scene::{self, collect, gate, head, path_with, runs, script, verifies, watched};

use crate::support::folder::Folder;
use crate::support::program::repository;
use crate::support::wait::until;

/// Of telemetry, seconds. A reading holds for one and a half of it, and the stand-in prints many lines meanwhile (see [`counted`]): no reading
/// is too old, however busy the machine is.
const INTERVAL_S: u32 = 3;

/// Goes on when three samples have a reading of the GPU, with one at full use before the last of them.
const JOB: &str = "#!/bin/sh\n\
    until awk -F, 'NR > 1 && $3 != \"\" { n++; full += last; last = ($2 >= 90) } END { exit !(n >= 3 && full) }' \"$1\"; do sleep 0.1; done\n\
    echo ttft_ms=12.5\n";

/// Stands in front of the stand-in, writes down every start, and lets a loop print five lines a second whatever pace was asked for.
fn counted(folder: &Folder) -> String {
    let real = repository().join("tests/fixtures/nvidia-smi/nvidia-smi");
    let log = folder.path().join("starts.log");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\n\
         for word; do\nshift\ncase $word in --loop-ms=*) word=--loop-ms=200 ;; esac\nset -- \"$@\" \"$word\"\ndone\n\
         exec '{}' \"$@\"\n",
        log.display(),
        real.display()
    );
    script(folder, "front/nvidia-smi", &text);
    path_with(&folder.path().join("front"))
}

fn put_suite(folder: &Folder, temp_max_c: u32, wait_max_s: u32) {
    folder.put("job.sh", JOB);
    let text = format!(
        "{}[environments.native]\n[workloads.job]\nkind = \"command\"\n\
         command = [\"/bin/sh\", \"{{work}}/job.sh\", \"{{work}}/../telemetry.csv\"]\nassets = [\"job.sh\"]\n\
         reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nneeds_gpu = true\nexpected_s = 8\n\
         [telemetry]\ngpu = \"nvidia-smi\"\ninterval_s = {INTERVAL_S}\n\
         [gates]\ngpu_temp_max_c = {temp_max_c}\ncooldown_min_s = 0\nwait_max_s = {wait_max_s}\nhost_load_max_per_core = false\n\
         memory_available_min_gib = false\ndisk_free_min_gib = 0\ngpu_exclusive = false\n\
         [watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n",
        head(2)
    );
    folder.put("suite.toml", text);
}

#[test]
fn a_run_with_a_gpu_is_sampled_gated_and_watched_through_one_child() {
    let folder = Folder::new("gpu-replayed");
    let path = counted(&folder);
    put_suite(&folder, 60, 3600);
    let mut sleeper = std::process::Command::new("sleep").arg("60").env("PATH", &path).spawn().unwrap();
    let front = folder.path().join("front").display().to_string();
    // Its variables are there a moment after it is.
    until("the look for leftovers sees one", || processes(&front).len() == 1);
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
    let ending = collect(&folder, &[], &[("PATH", &path)]).expect(0);
    verifies(&folder);
    let runs = runs(&folder);
    assert_eq!(runs.len(), 2);
    for (id, run) in &runs {
        for moment in ["before", "after"] {
            let celsius = run[moment]["gpu_c"].as_f64().unwrap_or_else(|| panic!("{id}, {moment}: {run}"));
            assert!((30.0..60.0).contains(&celsius), "{id}, {moment}: {celsius}");
        }
        let sampler = &run["sampler"];
        assert_eq!(sampler["gpu_source"], "nvidia-smi");
        assert!(sampler["samples"].as_u64().unwrap() >= 3, "{sampler}");
        assert!(sampler["cpu_s"].as_f64().unwrap() > 0.0 && sampler["cpu_pct"].as_f64().unwrap() > 0.0, "{sampler}");
        // The recorded driver answers N/A, and nvidia-smi has no column for the energy: said, not guessed.
        assert!(run["absent"]["power_instant_w"].as_str().unwrap().contains("N/A"));
        assert!(run["absent"]["energy_mj"].as_str().unwrap().contains("no column"));
        let temperature = gate(run, "gpu-temperature");
        assert_eq!((&temperature["level"], &temperature["limit"]), (&"passed".into(), &"at most 60 C".into()));
        assert!(temperature["value"].as_f64().unwrap() >= 30.0);
        assert!(gate(run, "gpu-present")["reading"].as_str().unwrap().contains("NVIDIA H200"));
        for name in ["throttle-reasons", "throttle-time", "clock-sag"] {
            assert_eq!(watched(run, name)["level"], "passed", "{}", watched(run, name));
        }
        // On a busy machine a reading may come too late for its sample, which is a mark.
        let lost = watched(run, "gpu-lost");
        assert!(lost["level"] == "passed" || lost["level"] == "warned", "{lost}");
        figures(&fs::read_to_string(scene::archive(&folder).join("runs").join(id).join("telemetry.csv")).unwrap());
    }
    let host = &scene::campaign(&folder)["host"];
    assert!(host.to_string().contains("580.159.04"), "the driver is part of the provenance");
    assert!(host["gpu_source_printed"]["nvidia-smi-help-query-gpu.txt"].is_string());
    one_loop(&folder);
    assert!(!ending.err.contains("still refuses"), "{}", ending.err);
}

/// Rows with their own moments, and figures of the recording in them.
fn figures(text: &str) {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap_or_else(|| panic!("no {name}"));
    let rows: Vec<Vec<&str>> = lines.collect();
    assert!(rows.len() >= 3, "{text}");
    let moments: Vec<f64> = rows.iter().map(|row| row[at("monotonic_s")].parse().unwrap()).collect();
    // To the millisecond. A late sample and the next one, in time, may be as close.
    assert!(moments.windows(2).all(|pair| pair[0] <= pair[1]), "{moments:?}");
    assert!(rows.iter().all(|row| row[at("timestamp_utc")].ends_with('Z')));
    let with_gpu: Vec<&Vec<&str>> = rows.iter().filter(|row| !row[at("power_w")].is_empty()).collect();
    assert!(with_gpu.len() >= 3, "{text}");
    for row in with_gpu {
        let number = |name: &str| row[at(name)].parse::<f64>().unwrap_or_else(|_| panic!("{name} in {row:?}"));
        assert!((50.0..700.0).contains(&number("power_w")) && (30.0..60.0).contains(&number("gpu_c")));
        assert!(number("sm_clock_mhz") >= 345.0 && (0.0..=100.0).contains(&number("gpu_util_pct")));
        assert!(row[at("throttle_bits")].starts_with("0x") && row[at("power_instant_w")].is_empty());
    }
}

/// One child that prints line after line for the whole campaign. None after it.
fn one_loop(folder: &Folder) {
    let starts = fs::read_to_string(folder.path().join("starts.log")).unwrap();
    let loops = starts.lines().filter(|line| line.contains("--loop-ms") || line.contains("-lms")).count();
    assert_eq!(loops, 1, "{starts}");
    // A sample is never a start: without the loop nothing is asked for utilisation.
    let samples = starts.lines().filter(|line| line.contains("utilization.gpu") && !line.contains("--loop-ms")).count();
    assert_eq!(samples, 0, "{starts}");
    let front = folder.path().join("front").display().to_string();
    until("nothing of nvidia-smi is left", || processes(&front).is_empty());
}

/// Processes that were started with a folder on their `PATH`.
fn processes(front: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        fs::read(entry.path().join("environ")).is_ok_and(|it| String::from_utf8_lossy(&it).contains(front))
    })
    .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " "))
    .collect()
}

#[test]
fn a_gpu_that_stays_too_warm_fails_each_run_with_its_reading_and_nothing_is_started() {
    let folder = Folder::new("gpu-warm");
    let path = counted(&folder);
    put_suite(&folder, 20, 1);
    let ending = collect(&folder, &[], &[("PATH", &path)]).expect(4);
    ending.complains(&["gpu-temperature", "still refuses"]);
    verifies(&folder);
    for (id, run) in &runs(&folder) {
        let finding = gate(run, "gpu-temperature");
        assert_eq!((&finding["level"], &finding["limit"]), (&"refused".into(), &"at most 20 C".into()), "{id}");
        assert!(finding["waited_s"].as_f64().unwrap() >= 1.0, "{finding}");
        let why = scene::failure(run);
        assert!(why.contains("gpu-temperature") && why.contains("at most 20 C"), "{why}");
        assert!(run["started_utc"].is_null() && run["exit_code"].is_null());
        assert!(run["gates"].as_array().unwrap().len() >= 16, "every gate is archived");
    }
}
