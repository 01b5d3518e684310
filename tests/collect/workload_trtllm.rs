//! `trtllm-bench` as a workload: options by version, requests made once, what the report says against what was asked for.
//!
//! The tool itself needs a GPU and is not here. Its help texts are reconstructed (`tests/fixtures/trtllm-bench`), a stand-in shows
//! them and takes the options, and real reports are read where a folder of them is given in `SPARKBENCH_PEERS`.

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::folder::Folder;
use crate::support::workload::{cell, checks, faults, read};
use sparkbench::archive::FileName;
use sparkbench::archive::manifest::ReportWire;
use sparkbench::env::Invocation;
use sparkbench::ingest::reports;
use sparkbench::plan::Model;
use sparkbench::workload::{Cell, Workload};

const SUITE: &str = "requests = 50\nisl = 512\nosl = 128\n";
const WORK: &str = "/w";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/trtllm-bench")
}

fn help(version: &str) -> String {
    std::fs::read_to_string(fixtures().join(format!("help-{version}.txt"))).unwrap()
}

fn model() -> Model {
    Model { label: "m".into(), id: Some("org/m".into()), path: Some("/models/m".into()), ..Model::default() }
}

fn made() -> Vec<FileName> {
    vec![FileName::from("dataset.jsonl")]
}

fn parsed(more: &str) -> Box<dyn Workload> {
    read("trtllm-bench", &format!("{SUITE}{more}"), Path::new(".")).unwrap()
}

/// The measured command line under the help text of a version, in one line. Or the error.
fn line(version: &str, more: &str) -> Result<String, String> {
    let (model, help, prepared) = (model(), help(version), made());
    let cell = Cell { probed: Some(&help), prepared: &prepared, ..cell(&model) };
    parsed(more).measure(&cell, Path::new(WORK)).map(|made| made.argv.join(" ")).map_err(|error| error.to_string())
}

#[test]
fn each_version_gets_the_options_that_it_knows() {
    let all = "streaming = true\nconcurrency = 8\nmax_batch_size = 16\nmax_num_tokens = 4096\nmax_seq_len = 1024\n\
               kv_cache_fraction = 0.8\nwarmup = 2\neos_id = -1\ntp = 1\npp = 1\nep = 1\nbackend = \"pytorch\"\noutputs = true\nextra = [\"--beam_width\", \"1\"]";
    let options = "throughput --dataset /w/dataset.jsonl --num_requests 50 --concurrency 8 --max_batch_size 16 --max_num_tokens 4096 \
                   --max_seq_len 1024 --warmup 2 --eos_id -1 --tp 1 --pp 1 --ep 1 --kv_cache_free_gpu_mem_fraction 0.8 --backend pytorch \
                   --streaming --output_json /w/outputs.json --report_json /w/report.json";
    let head = "trtllm-bench --model org/m --model_path /models/m --workspace /w/workspace";
    for (version, telemetry, requests) in [
        ("0.20", "", ""),
        ("1.0", "", " --request_json /w/requests-report.json"),
        ("1.3", " --no-telemetry", " --request_json /w/requests-report.json"),
    ] {
        assert_eq!(
            line(version, all).unwrap(),
            format!("{head}{telemetry} {options}{requests} --beam_width 1"),
            "{version}"
        );
    }
}

#[test]
fn the_file_of_settings_goes_by_the_name_that_the_version_has() {
    let folder = Folder::new("trtllm-config");
    folder.put("more.yaml", "cuda_graph_config: {}\n");
    let workload = read("trtllm-bench", &format!("{SUITE}config = \"more.yaml\""), folder.path()).unwrap();
    let (model, prepared) = (model(), made());
    assert_eq!(workload.assets(&cell(&model)).unwrap()[0].0, "more.yaml");
    for (version, option) in
        [("0.20", "--extra_llm_api_options"), ("1.0", "--extra_llm_api_options"), ("1.3", "--config")]
    {
        let help = help(version);
        let cell = Cell { probed: Some(&help), prepared: &prepared, ..cell(&model) };
        let argv = workload.measure(&cell, Path::new(WORK)).unwrap().argv;
        assert!(argv.windows(2).any(|pair| pair == [option, "/w/more.yaml"]), "{version}: {argv:?}");
    }
}

#[test]
fn what_a_version_lacks_is_an_error_that_names_it_and_never_dropped() {
    for (version, more, words) in [
        ("1.3", "backend = \"tensorrt\"", "takes no --backend \"tensorrt\" here"),
        ("1.3", "engine_dir = \"/engines/m\"", "no option --engine_dir here"),
        ("1.0", "mode = \"latency\"\nmax_batch_size = 8", "no option --max_batch_size here"),
        ("0.20", "mode = \"latency\"\nconcurrency = 8", "no option --concurrency here"),
        ("1.0", "mode = \"latency\"\noutputs = true", "no option --output_json here"),
    ] {
        let error = line(version, more).unwrap_err();
        assert!(error.contains(words) && error.contains("try:"), "{version}: {error}");
    }
    assert!(
        line("1.0", "backend = \"tensorrt\"\nengine_dir = \"/engines/m\"").unwrap().contains("--engine_dir /engines/m")
    );
    let (model, prepared) = (model(), made());
    let measure = |probed: Option<&str>, prepared: &[FileName]| {
        let cell = Cell { probed, prepared, ..cell(&model) };
        parsed("").measure(&cell, Path::new(WORK)).unwrap_err().to_string()
    };
    assert!(measure(None, &prepared).contains("was not asked for its options"));
    assert!(measure(Some("sh: 1: trtllm-bench: not found"), &prepared).contains("no mode 'throughput' here"));
    assert!(measure(Some(&help("1.3")), &[]).contains("dataset.jsonl is missing"));
    let revision = Model { path: None, revision: Some("abc".into()), ..model.clone() };
    let old = help("0.20");
    let cell = Cell { probed: Some(&old), prepared: &prepared, ..cell(&revision) };
    assert!(parsed("").measure(&cell, Path::new(WORK)).unwrap_err().to_string().contains("no option --revision here"));
}

#[test]
fn requests_are_made_by_the_command_or_by_the_script_of_older_versions() {
    let model = model();
    let prepare = |help: &str, more: &str| {
        let cell = Cell { probed: Some(help), ..cell(&model) };
        parsed(more).prepare(&cell, Path::new(WORK)).map(|made| made.map(|made| made.argv.join(" ")))
    };
    let shape = "token-norm-dist --num-requests 50 --input-mean 512 --input-stdev 0 --output-mean 128 --output-stdev 0";
    assert_eq!(
        prepare(&help("1.3"), "").unwrap().unwrap(),
        format!("trtllm-bench --model /models/m prepare-dataset --output /w/dataset.jsonl --random-seed 42 {shape}")
    );
    for version in ["0.20", "1.0"] {
        let made = prepare(&help(version), "prepare = [\"python3\", \"/opt/prepare.py\"]").unwrap().unwrap();
        let end = format!(
            "sh /w/dataset.jsonl python3 /opt/prepare.py --stdout --tokenizer /models/m --random-seed 42 {shape}"
        );
        assert!(made.starts_with("sh -c ") && made.ends_with(&end), "{made}");
    }
    assert!(prepare("", "").unwrap_err().to_string().contains("cannot make requests"));
    assert_eq!(prepare("", "dataset = \"/data/requests.jsonl\"").unwrap(), None);
}

#[test]
fn faults_of_the_settings_are_named() {
    let folder = Folder::new("trtllm-faults");
    for (text, words) in [
        ("isl = 1\nosl = 1".to_owned(), "requests: is missing"),
        ("requests = 1".to_owned(), "isl: is missing"),
        ("requests = 1\nisl = 1\nosl = 1\nenv = { OWN = \"{program}\" }".to_owned(), "env: names {program}"),
        (format!("{SUITE}mode = \"serve\""), "mode: is \"serve\""),
        (format!("{SUITE}mode = \"latency\"\nstreaming = true"), "that mode always streams"),
        (format!("{SUITE}kv_cache_fraction = 1.5"), "kv_cache_fraction: is 1.5"),
        (format!("{SUITE}config = \"gone.yaml\""), "\"gone.yaml\", which cannot be read"),
        (format!("{SUITE}dataset = \"gone.jsonl\""), "\"gone.jsonl\", which cannot be read"),
        (format!("{SUITE}max_batchsize = 1"), "is not a key of this table"),
        (format!("{SUITE}extra = [\"{{model}}\"]"), "unknown place \"{model}\""),
    ] {
        let found = faults("trtllm-bench", &text, folder.path());
        assert!(found.contains(words), "{words} in\n{found}");
    }
    assert_eq!(faults("trtllm-bench", "requests = 5\ndataset = \"{work}/x\"", folder.path()), "");
    let nameless = Model { label: "n".into(), ..Model::default() };
    assert_eq!(parsed("").lacks(&nameless), ["id"]);
}

/// Runs a command line as an environment would, and keeps its streams where the archive has them.
fn run(invocation: &Invocation, folder: &Path, version: &str, more: &[(&str, &str)]) -> bool {
    let stream = |name: &str| Stdio::from(std::fs::File::create(folder.join(name)).unwrap());
    let (program, arguments) = invocation.argv.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("FAKE_VERSION", version).envs(more.iter().copied());
    command.stdout(stream("stdout.log")).stderr(stream("stderr.log")).status().unwrap().success()
}

#[test]
fn a_whole_run_of_the_stand_in_is_probed_prepared_measured_and_examined() {
    for version in ["0.20", "1.0", "1.3"] {
        let folder = Folder::new(&format!("trtllm-run-{version}"));
        let (run_folder, work) = (folder.path().join("run"), folder.path().join("run/work"));
        std::fs::create_dir_all(&work).unwrap();
        let fake = fixtures().join("fake.py").display().to_string();
        let suite = format!(
            "{SUITE}program = \"{fake}\"\nprepare = [\"{fake}\", \"script\"]\nmax_batch_size = 8\nbackend = \"pytorch\""
        );
        let workload = read("trtllm-bench", &suite, folder.path()).unwrap();
        let model = Model { quantisation: Some("bf16".into()), ..model() };
        assert!(run(&workload.probe(&cell(&model), &work).unwrap(), &run_folder, version, &[]), "{version}");
        let probed = std::fs::read_to_string(run_folder.join("stdout.log")).unwrap();
        let before = Cell { probed: Some(&probed), ..cell(&model) };
        assert!(run(&workload.prepare(&before, &work).unwrap().unwrap(), &run_folder, version, &[]), "{version}");
        let prepared: Vec<FileName> = std::fs::read_dir(&work)
            .unwrap()
            .map(|entry| FileName::from(&*entry.unwrap().file_name().into_string().unwrap()))
            .collect();
        assert_eq!(prepared, [FileName::from("dataset.jsonl")], "{version}");
        let cell = Cell { prepared: &prepared, ..before };
        let measure = workload.measure(&cell, &work).unwrap();
        assert!(run(&measure, &run_folder, version, &[]), "{version}");
        let outcome = workload.examine(&cell, &run_folder);
        assert!(outcome.faults.is_empty(), "{version}: {:?}", outcome.faults);
        assert_eq!(
            checks(&outcome),
            [
                "model_id match",
                "quantisation match",
                "requests match",
                "isl match",
                "osl match",
                "max_batch_size match",
                "backend match"
            ],
            "{version}"
        );
        assert_eq!((outcome.seen.engine_version.as_deref(), outcome.seen.requests), (Some(version), Some(50.0)));
        assert_eq!(outcome.reports.len(), if version == "0.20" { 2 } else { 3 });

        assert!(run(
            &measure,
            &run_folder,
            version,
            &[("FAKE_MODEL", "org/other"), ("FAKE_REQUESTS", "49"), ("FAKE_STREAM", "stderr")]
        ));
        let outcome = workload.examine(&cell, &run_folder);
        let all = checks(&outcome);
        assert!(
            all.contains(&"model_id mismatch".into()) && all.contains(&"requests mismatch".into()),
            "{version}: {all:?}"
        );
        assert_eq!(outcome.reports.last().unwrap().path, "stderr.log", "the stream that holds the result is read");

        std::fs::remove_file(work.join("report.json")).unwrap();
        std::fs::write(run_folder.join("stdout.log"), "[TRT-LLM] [E] torch.OutOfMemoryError: CUDA out of memory\n")
            .unwrap();
        std::fs::write(run_folder.join("stderr.log"), "").unwrap();
        let faults = workload.examine(&cell, &run_folder).faults;
        assert!(faults.contains(&"the report 'work/report.json' is missing".into()), "{faults:?}");
        assert!(
            faults.iter().any(|fault| fault.contains("no result block: out of memory: torch.OutOfMemoryError")),
            "{faults:?}"
        );
    }
}

#[test]
fn real_reports_are_read_where_they_are_given() {
    let Some(peers) = std::env::var_os("SPARKBENCH_PEERS").map(PathBuf::from) else {
        eprintln!("skipped: SPARKBENCH_PEERS names no folder with recorded reports");
        return;
    };
    let mut read = 0;
    for entry in walkdir::WalkDir::new(peers.join("trtllm_bench")).sort_by_file_name() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy();
        let parser = if name.ends_with(".report.json") {
            "trtllm-bench-json"
        } else if name.ends_with(".txt") {
            "trtllm-bench-log"
        } else {
            continue;
        };
        let wire = ReportWire { path: name.to_string(), parser: parser.into(), ..ReportWire::default() };
        let report = reports::report(&name, &std::fs::read(entry.path()).unwrap(), &wire).unwrap();
        assert!(report.left_out.is_empty(), "{name}: {:?}", report.left_out);
        let part = &report.parts[0];
        assert!(part.failure.is_some() || part.metrics["output_throughput_tok_s"].is_some(), "{name}");
        read += 1;
    }
    assert!(read > 0, "no report lies in {}", peers.display());
}
