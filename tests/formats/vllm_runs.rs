//! Results of vLLM's benchmarks in one folder become the runs that were made, each once.

use std::path::{Path, PathBuf};

use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options};
use sparkbench::model::Run;

use crate::support::folder::Folder;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest/formats")
}

/// A fresh folder with copies of fixtures: name in the folder, fixture.
fn folder(name: &str, files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(&format!("vllm-runs-{name}"));
    for (to, from) in files {
        folder.put(to, std::fs::read(fixtures().join(from)).unwrap());
    }
    folder
}

fn read(folder: &Folder) -> Intake {
    let intake = ingest::all(&archive::discover(&[folder.path().to_owned()]).unwrap(), &Options::default()).unwrap();
    assert_eq!(intake.skipped(), 0, "{:?}", intake.inputs);
    intake
}

fn reason<'a>(intake: &'a Intake, path: &str) -> &'a str {
    intake.inputs.iter().find(|input| input.path == path).and_then(|input| input.reason.as_deref()).unwrap_or_default()
}

fn only(intake: &Intake) -> &Run {
    match intake.runs.as_slice() {
        [run] => run,
        runs => panic!("{runs:?}"),
    }
}

#[test]
fn a_file_and_its_console_of_one_name_are_one_run_with_the_digits_of_the_file() {
    let files = [("r.json", "vllm-bench-serve/detailed.json"), ("r.log", "vllm-bench-serve-console/console.log")];
    let intake = read(&folder("one-name", &files));
    let run = only(&intake);
    assert_eq!((run.source.path.as_str(), run.files.len()), ("r.json", 1));
    assert_eq!(run.value("ttft_ms"), Some(74.29025576691244));
    assert_eq!(run.setup.more.get("dataset_name").map(String::as_str), Some("random"), "which the console alone says");
    assert!(!reason(&intake, "r.log").contains("where the result beside it says"), "{}", reason(&intake, "r.log"));
}

#[test]
fn a_console_of_another_name_is_known_as_a_copy() {
    let files = [("b.json", "vllm-bench-serve/detailed.json"), ("a.log", "vllm-bench-serve-console/console.log")];
    let intake = read(&folder("two-names", &files));
    assert_eq!(only(&intake).source.path, "b.json");
    assert!(
        reason(&intake, "a.log").contains("a copy of a run that is read from 'b.json'"),
        "{}",
        reason(&intake, "a.log")
    );
}

#[test]
fn the_blocks_of_one_console_yield_to_the_files_of_their_runs() {
    let place = folder("blocks", &[("z.json", "vllm-bench-serve/detailed.json")]);
    let block = std::fs::read_to_string(fixtures().join("vllm-bench-serve-console/console.log")).unwrap();
    let other = std::fs::read_to_string(fixtures().join("vllm-bench-serve-console/report.md")).unwrap();
    std::fs::write(place.path().join("all.log"), format!("{block}\n{other}")).unwrap();
    let intake = read(&place);
    let mut sources: Vec<&str> = intake.runs.iter().map(|run| run.source.path.as_str()).collect();
    sources.sort_unstable();
    assert_eq!(sources, ["all.log", "z.json"]);
}

#[test]
fn the_summary_of_a_sweep_repeats_its_runs_and_adds_none() {
    let sweep = "vllm-bench-serve/BENCH--max_concurrency=2,rate=inf";
    let names = ["run=0.json", "run=1.json", "summary.json"];
    let from: Vec<String> = names.iter().map(|name| format!("{sweep}/{name}")).collect();
    let files: Vec<(&str, &str)> = names.into_iter().zip(from.iter().map(String::as_str)).collect();
    let intake = read(&folder("sweep", &files));
    let repeats: Vec<Option<u32>> = intake.runs.iter().map(|run| run.repeat).collect();
    assert_eq!(repeats, [Some(1), Some(2)]);
    assert!(intake.runs.iter().all(|run| run.workload == "512-12-c2"), "both are of one cell");
    assert!(reason(&intake, "summary.json").contains("a copy"), "{}", reason(&intake, "summary.json"));
}

#[test]
fn the_table_over_a_whole_experiment_adds_none_either() {
    let run = "vllm-bench-serve/BENCH--max_concurrency=2,rate=inf/run=0.json";
    let place = folder("experiment", &[("BENCH--a/run=0.json", run)]);
    let text = std::fs::read_to_string(fixtures().join(run)).unwrap();
    let result: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let names: Vec<&str> = result.keys().map(String::as_str).collect();
    let cells: Vec<String> = result
        .values()
        .map(|value| match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => String::new(),
            other => other.to_string(),
        })
        .collect();
    let row = cells.join(",");
    let other = row
        .replace("20260601-150000", "20260601-160000")
        .replace(&cells[names.iter().position(|name| *name == "mean_ttft_ms").unwrap()], "99.5");
    std::fs::write(place.path().join("summary.csv"), format!(",{}\n0,{row}\n1,{other}\n", names.join(","))).unwrap();
    let intake = read(&place);
    let mut times: Vec<Option<f64>> = intake.runs.iter().map(|run| run.value("ttft_ms")).collect();
    times.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(
        (times.len(), times[1]),
        (2, Some(99.5)),
        "one is read from its file, the other stands in the table alone"
    );
    assert!(reason(&intake, "summary.csv").contains("'BENCH--a/run=0.json'"), "{}", reason(&intake, "summary.csv"));
}

#[test]
fn requests_as_list_and_as_table_and_their_console_are_one_run() {
    let files = [
        ("a.json", "vllm-multi-turn/requests.json"),
        ("b.csv", "vllm-multi-turn/raw-data.csv"),
        ("c.log", "vllm-multi-turn-console/console.log"),
    ];
    let intake = read(&folder("turns", &files));
    assert_eq!(only(&intake).source.path, "a.json");
}

#[test]
fn a_sheet_of_settings_is_of_every_run_in_its_folder() {
    let files = [
        ("meta.json", "sidecar-meta/meta.json"),
        ("x.json", "sidecar-meta/chat.json"),
        ("below/y.json", "vllm-bench-serve/detailed.json"),
    ];
    let intake = read(&folder("sidecar", &files));
    assert_eq!(intake.runs.len(), 2);
    for run in &intake.runs {
        assert_eq!((run.setup.max_model_len, run.setup.engine_version.as_deref()), (Some(49152.0), Some("0.26.0")));
        assert_eq!((run.setup.quantisation.as_deref(), run.setup.prefix_cache), (Some("fp8"), Some(false)));
    }
}

#[test]
fn prompts_hosts_and_keys_reach_nothing() {
    let ours = std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        ["vllm-", "sglang-bench-serving-console", "sidecar-"].iter().any(|start| name.starts_with(start))
    });
    let found = archive::discover(&ours.collect::<Vec<_>>()).unwrap();
    let intake = ingest::all(&found, &Options::default()).unwrap();
    let all = format!("{:?}{:?}", intake.runs, intake.inputs);
    for word in ["host.example", "none-of-your-business", "somebody", "an answer with", "192.0.2.1", "/root/"] {
        assert!(!all.contains(word), "{word}");
    }
}
