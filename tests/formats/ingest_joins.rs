//! What is joined to what, by which rule, and what becomes of a file that is joined to nothing (issue 15).
#![cfg(feature = "analyse")]

use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options};

use crate::support::folder::Folder;
use crate::support::program::{FEW, repository, run_in};

/// Thirty samples of a busy GPU, a second apart.
fn samples() -> String {
    let row = |at: u32| format!("2026/01/01 00:00:{at:02}, {} W, {} MHz, 90 %, 61\n", 30 + at, 2000 + at);
    let head = "timestamp, power.draw [W], clocks.current.sm [MHz], utilization.gpu [%], temperature.gpu\n";
    (0..30).fold(head.to_owned(), |text, at| text + &row(at))
}

fn read(folder: &Folder) -> Intake {
    ingest::all(&archive::discover(&[folder.path().to_owned()]).unwrap(), &Options::default()).unwrap()
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(repository().join("tests/fixtures/ingest/formats").join(name)).unwrap()
}

/// Analyses `in` of the folder. Gives what was said and the text of a page.
fn analyse(folder: &Folder) -> (String, impl Fn(&str) -> String) {
    let done = run_in(folder.path(), &[&["analyse", "in", "--site", "site"][..], &FEW].concat(), &[]).expect(0);
    let site = folder.path().join("site");
    (done.err, move |page: &str| std::fs::read_to_string(site.join(page)).unwrap_or_else(|e| panic!("{page}: {e}")))
}

#[test]
fn a_folder_that_holds_only_telemetry_gives_a_site_of_it() {
    let folder = Folder::new("joins-only-telemetry");
    folder.put("in/night_gpu.csv", samples());
    let (said, page) = analyse(&folder);
    let why = "joined to no run: no result lies in the same folder or below it (shown by itself)";
    assert!(said.contains(&format!("night_gpu.csv was read and {why}")), "{said}");
    assert!(!said.contains("say no environment") && !said.contains("says no environment"), "{said}");
    assert!(!said.contains("Nothing is compared yet"), "telemetry has no winner: {said}");
    let run = page("r/night/index.html");
    for words in ["Joined to no other run: no result lies", "Telemetry of this run", "Power", "44.5", "2 014.5"] {
        assert!(run.replace(['\u{2009}', '\u{202f}', '\u{a0}'], " ").contains(words), "{words}");
    }
    assert!(page("data/index.html").contains("Read and joined to no run"));
    assert!(page("c/in/telemetry/index.html").contains("30 to 59"), "least and greatest power");
    // What is only shown is never a result: a gate must not pass on it.
    run_in(folder.path(), &["compare", "in/night_gpu.csv", "in/night_gpu.csv"], &[])
        .expect(5)
        .complains(&["no run found in 'in/night_gpu.csv'"]);
}

#[test]
fn a_folder_that_holds_only_the_log_of_a_server_says_what_stands_in_it() {
    let folder = Folder::new("joins-only-server");
    folder.put("in/server.log", fixture("vllm-server-log/server.log"));
    let (_, page) = analyse(&folder);
    let intake = read(&folder);
    let run = page(&format!("r/{}/index.html", intake.runs[0].id));
    for words in ["Engine version", "Model memory", "KV cache", "Model load time", "What its files say besides"] {
        assert!(run.contains(words), "{words}");
    }
}

#[test]
fn telemetry_beside_a_result_that_it_does_not_belong_to_is_said_with_its_reason() {
    let folder = Folder::new("joins-beside");
    folder.put("in/other_gpu.csv", samples());
    folder.put(
        "in/runs.csv",
        "environment,model,started_utc,ended_utc,ttft_ms\na,m,2026-01-02T00:00:05Z,2026-01-02T00:00:10Z,1\n",
    );
    let (said, page) = analyse(&folder);
    let why = "it was sampled from 2026-01-01T00:00:00Z to 2026-01-01T00:00:29Z, and no run of its folder was made in that time";
    assert!(said.contains(&format!("other_gpu.csv was read and joined to no run: {why}")), "{said}");
    assert!(page("data/index.html").contains(why));
    let listed = run_in(folder.path(), &["inspect", "in"], &[]).expect(0).out;
    let words: Vec<&str> = listed.split_whitespace().collect();
    assert!(words.join(" ").contains(&format!("joined to no run 1 file: {why} other_gpu.csv")), "{listed}");
}

#[test]
fn of_telemetry_with_the_name_of_a_run_the_times_decide() {
    let folder = Folder::new("joins-times");
    let stem = "chroot_llama1b_iter1_20261120_234404";
    let mut csv = String::new();
    for end in [".json", ".log", "_metadata.json", "_gpu.csv"] {
        let text = std::fs::read_to_string(repository().join(format!("data/h200-chroot/{stem}{end}"))).unwrap();
        folder.put(&format!("in/{stem}{end}"), &text);
        csv = text;
    }
    let joined = |intake: &Intake| {
        let run = &intake.runs[0];
        let file = run.files.iter().find(|file| file.path.ends_with("_gpu.csv"));
        (run.telemetry.is_empty(), file.and_then(|file| file.joined.clone()))
    };
    let rule = "it has the name of the result, and their times agree";
    assert_eq!(joined(&read(&folder)), (false, Some(rule.to_owned())));
    let (_, page) = analyse(&folder);
    assert!(page(&format!("r/{}/index.html", read(&folder).runs[0].id)).contains(rule));
    folder.put(&format!("in/{stem}_gpu.csv"), csv.replace("2026/11/20", "2026/11/18"));
    let other_day = read(&folder);
    assert_eq!(joined(&other_day), (true, None));
    let input = other_day.inputs.iter().find(|input| input.path.ends_with("_gpu.csv")).unwrap();
    let why = input.not_joined.as_deref().unwrap();
    assert!(why.starts_with("it was sampled from 2026-11-18T23:44:04.730Z"), "{why}");
    assert!(why.contains("the run of its name was made from 2026-11-20T23:44:08.111Z"), "{why}");
}

/// Issue 32: 33 files of telemetry of one owner were joined to no run.
#[test]
fn files_of_one_number_or_one_name_are_of_one_run() {
    let folder = Folder::new("joins-number");
    folder.put("in/01-chat.json", fixture("vllm-bench-serve/detailed.json"));
    folder.put("in/02-rag.json", fixture("vllm-bench-serve/0.10.2/full.json"));
    folder.put("in/01-telemetry.csv", fixture("telemetry-csv/elapsed.csv"));
    folder.put("in/02-rag-power.csv", fixture("telemetry-csv/elapsed.csv"));
    folder.put("in/03-telemetry.csv", fixture("telemetry-csv/elapsed.csv"));
    for (name, cache) in [("01", "18.08"), ("02", "9.5")] {
        let level = "INFO 03-01 10:01:38";
        folder.put(
            &format!("in/{name}-server.log"),
            format!("{level} [x.py:1] Available KV cache memory: {cache} GiB\n"),
        );
    }
    let intake = read(&folder);
    assert_eq!(intake.runs.len(), 2);
    for (main, cache, telemetry, rule) in [
        ("in/01-chat.json", 18.08, "in/01-telemetry.csv", "it has the number of the result"),
        ("in/02-rag.json", 9.5, "in/02-rag-power.csv", "it has the name of the result"),
    ] {
        let run = intake.runs.iter().find(|run| run.source.path == main).unwrap();
        assert_eq!((run.value("kv_cache_gib"), run.telemetry.is_empty()), (Some(cache), false), "{main}");
        let file = run.files.iter().find(|file| file.path == telemetry).unwrap();
        assert_eq!(file.joined.as_deref(), Some(rule));
    }
    let third = intake.inputs.iter().find(|input| input.path == "in/03-telemetry.csv").unwrap();
    assert!(third.not_joined.as_deref().unwrap().contains("its folder holds 2 runs"), "{third:?}");
}

/// Issue 32: a copy in another folder is one run, and equal figures are none.
#[test]
fn a_file_in_a_second_folder_is_counted_once_and_named() {
    let folder = Folder::new("joins-copies");
    let result = fixture("vllm-bench-serve/detailed.json");
    folder.put("in/a/result.json", &result);
    folder.put("in/b/copied.json", &result);
    let row = |model: &str| format!("| {model} | 189.69 GiB | 356.79 B | ROCm | 99 | tg32 | 3.63 ± 0.00 |\n");
    let head = "| model | size | params | backend | ngl | test | t/s |\n| --- | --- | --- | --- | --- | --- | --- |\n";
    folder.put("in/c/m__rocm7.log", format!("{head}{}", row("glm4moe 355B.A32B Q4_K - Medium")));
    folder.put("in/c/m__rocm7__hblt0.log", format!("{head}{}\n", row("glm4moe 355B.A32B Q4_K - Medium")));
    let intake = read(&folder);
    let paths: Vec<&str> = intake.runs.iter().map(|run| run.source.path.as_str()).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    assert!(paths.contains(&"in/a/result.json") && !paths.contains(&"in/b/copied.json"), "{paths:?}");
    let said = "in/b/copied.json is a copy of in/a/result.json and is not counted";
    assert!(intake.warnings.iter().any(|line| line == said), "{:?}", intake.warnings);
}

/// Issue 32, case 08: the aggregate of a sweep repeats its points.
#[test]
fn a_point_of_a_sweep_that_lies_in_its_own_folder_is_counted_once_and_there() {
    let folder = Folder::new("joins-sweep");
    let point = "Metric,avg,min,max,p50\r\nRequest Latency (ms),410.50,1.00,700.00,400.00\r\n\r\nMetric,Value\r\nRequest Count,195.00\r\n\
                 Benchmark Duration (sec),20.02\r\nOutput Token Throughput (tokens/sec),180.50\r\n";
    folder.put("in/concurrency_4/profile_export_aiperf.csv", point);
    let aggregate = "in/sweep_aggregate/profile_export_aiperf_sweep.csv";
    folder.put(aggregate, fixture("aiperf-sweep/profile_export_aiperf_sweep.csv"));
    let intake = read(&folder);
    let mut paths: Vec<&str> = intake.runs.iter().map(|run| run.source.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["in/concurrency_4/profile_export_aiperf.csv", aggregate], "the second point has no folder");
    let reason = intake.inputs.iter().find(|input| input.path == aggregate).unwrap().reason.clone().unwrap();
    assert!(
        reason.contains("a copy of a run that is read from 'in/concurrency_4/profile_export_aiperf.csv'"),
        "{reason}"
    );
}

#[test]
fn a_sheet_of_settings_is_joined_to_no_run_of_another_model() {
    let folder = Folder::new("joins-sheet");
    folder.put("in/result.json", fixture("vllm-bench-serve/detailed.json"));
    let sheet = |model: &str| {
        folder.put(
            "in/meta.json",
            format!(
                r#"{{"model": "example/{model}", "vllm_version": "0.9.9", "server_config": {{"max_model_len": 4096}}}}"#
            ),
        );
        let intake = read(&folder);
        let run = &intake.runs[0];
        let rule = run.files.iter().find(|file| file.path == "in/meta.json").and_then(|file| file.joined.clone());
        let input = intake.inputs.iter().find(|input| input.path == "in/meta.json").unwrap();
        (run.setup.max_model_len, rule, input.not_joined.clone())
    };
    assert_eq!(sheet("Small-8B-Instruct"), (Some(4096.0), Some("the model is the same".to_owned()), None));
    let why = "it is of big-70b, the run is of small-8b-instruct";
    assert_eq!(sheet("Big-70B"), (None, None, Some(why.to_owned())));
}

#[test]
fn a_folder_is_inspected_with_one_line_a_file_and_the_same_in_json() {
    let folder = Folder::new("joins-inspect");
    folder.put("in/a/result.json", fixture("vllm-bench-serve/detailed.json"));
    folder.put(
        "in/a/meta.json",
        r#"{"model": "example/Small-8B-Instruct", "vllm_version": "0.9.9", "server_config": {}}"#,
    );
    folder.put(&format!("in/b/{}_gpu.csv", "long-name-".repeat(12)), samples());
    folder.put("in/b/broken.json", "{\"a\": ");
    let listed = run_in(folder.path(), &["inspect", "in"], &[]).expect(5).out;
    assert!(listed.lines().all(|line| line.chars().count() <= 100), "{listed}");
    let line = |name: &str| {
        let of = |line: &&str| line.trim_start().starts_with(name);
        let words = listed.lines().find(of).unwrap_or_else(|| panic!("{name}: {listed}")).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("result.json"), "result.json vllm-bench-serve Small-8B-Instruct 1 + 1 file");
    assert_eq!(line("meta.json"), "meta.json sidecar-meta to 1 run");
    assert!(line("long-name-").ends_with("nvidia-smi-csv to no run"), "{listed}");
    for words in [
        "  1 file: the model is the same\n      a/meta.json to result.json\n",
        "  1 file: no result lies in the same folder or below it\n",
        "something left out\n",
        "4 files: 1 run in 1 of them. Files joined to a run: 1, to no run: 1, with something left out: 1\n",
    ] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let json = run_in(folder.path(), &["inspect", "--json", "in"], &[]).expect(5).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let file = |path: &str| json["files"].as_array().unwrap().iter().find(|file| file["path"] == path).unwrap().clone();
    let result = file("a/result.json");
    assert_eq!((&result["runs"], &result["models"][0]), (&1.into(), &"Small-8B-Instruct".into()));
    assert_eq!(result["joined"][0]["path"], "a/meta.json");
    assert_eq!(file("a/meta.json")["joined_to"][0]["rule"], "the model is the same");
    assert_eq!(file("b/broken.json")["left_out"], true);
}
