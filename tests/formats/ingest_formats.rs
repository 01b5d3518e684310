//! Every format has a fixture that it takes, a paragraph in the manual, and gives what a person reads in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sparkbench::archive::{self, manifest};
use sparkbench::ingest::{self, FORMATS, Intake, KINDS, Options, PartialRun, Record};
use sparkbench::model::{ExtraValue, Instant, Run, Status};

use crate::support::folder::Folder;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest")
}

fn read(name: &str) -> Intake {
    ingest::all(&archive::discover(&[fixtures().join(name)]).unwrap(), &Options::default()).unwrap()
}

fn series<'a>(run: &'a Run, metric: &str) -> &'a [f64] {
    &run.series.iter().find(|series| series.metric == metric).unwrap().values
}

#[test]
fn every_format_has_a_fixture_and_a_paragraph_in_the_manual() {
    let taken: BTreeSet<String> = read("").inputs.into_iter().filter_map(|input| input.format).collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let manual: String =
        ["archive.md", "formats.md"].iter().map(|page| std::fs::read_to_string(docs.join(page)).unwrap()).collect();
    for name in FORMATS.iter().map(|format| format.name()).chain(KINDS.iter().map(|kind| kind.name)) {
        assert!(
            taken.iter().any(|format| format.split(" + ").any(|kind| kind == name)),
            "no fixture is taken by '{name}'"
        );
        assert!(manual.contains(&format!("(`{name}`)")), "docs/formats.md has no paragraph on '{name}'");
    }
}

#[test]
fn no_fixture_is_left_out() {
    for input in read("").inputs {
        assert!(!input.skipped, "{input:?}");
    }
}

#[test]
fn a_campaign_of_our_own_layout_is_one_run_with_everything_in_its_folder() {
    let intake = read("campaign");
    let [campaign] = intake.campaigns.as_slice() else { panic!("{:?}", intake.campaigns) };
    assert_eq!(
        (campaign.name.as_str(), campaign.planned_repeats, campaign.baseline.as_deref()),
        ("small", Some(1), Some("native"))
    );
    assert_eq!((campaign.margins_pct["ttft_ms"], campaign.cooldown_s), (5.0, Some(60.0)));
    let [missing_runs] = campaign.missing_runs.as_slice() else { panic!("{:?}", campaign.missing_runs) };
    assert_eq!(
        (missing_runs.id.as_str(), missing_runs.gone.words(), missing_runs.why.as_str()),
        ("b1-docker-m-chat", "skipped", "no daemon answers")
    );
    let [run] = intake.runs.as_slice() else { panic!("{:?}", intake.runs) };
    assert_eq!((run.id.as_str(), run.launch, run.files.len()), ("b1-native-m-chat", None, 3));
    assert_eq!(run.source.path, "runs/b1-native-m-chat/run.json");
    assert_eq!(series(run, "ttft_ms"), [250.0, 500.0]);
    assert_eq!(series(run, "e2e_latency_ms"), [750.0, 1500.0]);
    assert_eq!(series(run, "tpot_ms"), [250.0, 500.0]);
    // Two answers and six tokens from the first send at 1.0 s to the last token at 2.5 s.
    assert!((run.value("output_throughput_tok_s").unwrap() - 4.0).abs() < 1e-12);
    assert!((run.value("request_throughput_req_s").unwrap() - 2.0 / 1.5).abs() < 1e-12);
    assert_eq!((run.value("gpu_temp_start_c"), run.setup.end_temp_c), (Some(38.0), Some(44.0)));
    assert_eq!(
        (run.telemetry.len(), run.telemetry[1].power_w, run.telemetry[1].memory_used_mib),
        (2, Some(38.5), None)
    );
    assert_eq!((run.setup.model_id.as_deref(), run.setup.quantisation.as_deref()), (Some("org/m"), Some("bf16")));
    assert_eq!(run.ended.unwrap().seconds_since(run.started.unwrap()), 4.5);
    let requests = intake.inputs.iter().find(|input| input.path.ends_with("requests.jsonl")).unwrap();
    assert_eq!(requests.reason.as_deref(), Some("1 of 3 requests failed. They are excluded from latencies"));
}

#[test]
fn a_collected_run_is_read_by_the_parsers_that_it_names_and_by_nobody_else() {
    let intake = read("collected");
    let [campaign] = intake.campaigns.as_slice() else { panic!("{:?}", intake.campaigns) };
    assert_eq!(campaign.name, "collected", "what a program left in its folder is not a campaign");
    let [t1, t2] = intake.runs.as_slice() else { panic!("{:?}", intake.runs) };
    assert_eq!((t1.workload.as_str(), t1.id.as_str()), ("matrix-T1", "b1-native-m-matrix_matrix-t1"));
    assert_eq!((t2.workload.as_str(), t2.together.as_deref()), ("matrix-T2", Some("b1-native-m-matrix")));
    assert_eq!(
        (t1.environment.as_str(), t1.model.as_str(), t1.repeat, &t1.status),
        ("native", "m", Some(1), &Status::Done)
    );
    assert_eq!(series(t1, "e2e_latency_ms"), [500.0, 500.0]);
    assert_eq!((series(t1, "ttft_ms"), series(t2, "ttft_ms")), (&[250.0][..], &[500.0, 750.0][..]));
    // Six tokens in one second of work. The pause between the iterations of T1 counts for nothing.
    assert_eq!((t1.value("output_throughput_tok_s"), t2.value("output_throughput_tok_s")), (Some(6.0), Some(6.0)));
    for run in [t1, t2] {
        assert_eq!((run.value("model_load_s"), run.value("kv_cache_tokens")), (Some(2.5), Some(1_009_696.0)));
        assert_eq!((run.value("gpu_temp_start_c"), run.setup.model_served.as_deref()), (Some(38.0), Some("org/m")));
        assert_eq!(run.setup.engine_version.as_deref(), Some("1.0"));
    }
    assert_eq!((t1.setup.requests, t2.setup.requests, t2.setup.batch), (Some(2.0), Some(2.0), Some(2.0)));
    let kept: Vec<&str> = intake
        .inputs
        .iter()
        .filter(|input| input.format.as_deref() == Some("kept"))
        .map(|input| input.path.as_str())
        .collect();
    assert_eq!(
        kept,
        [
            "runs/b1-native-m-matrix/inspect.json",
            "runs/b1-native-m-matrix/work/campaign.json",
            "runs/b1-native-m-matrix/work/engine.log",
            "runs/b1-native-m-matrix/work/weights.bin",
            "seal.json",
        ]
    );
    assert!(intake.inputs.iter().all(|input| !input.skipped && input.sha256.is_some()), "{:?}", intake.inputs);
}

#[test]
fn a_result_that_lies_anywhere_is_a_run_of_its_own() {
    let intake = read("result");
    let run = intake.runs.iter().find(|run| run.source.path == "my_result.json").unwrap();
    assert_eq!((run.environment.as_str(), run.reading("gemm_tflops").unwrap().decimals), ("unlabelled", Some(2)));
    assert!(run.reading("memory_bandwidth_gb_s").unwrap().value.is_nan(), "promised and not obtained");
    assert_eq!(series(run, "e2e_latency_ms"), [21.5, 22.0, 22.5]);
    let lines = intake.runs.iter().find(|run| run.source.path == "iterations.jsonl").unwrap();
    assert_eq!(
        (lines.value("output_throughput_tok_s"), lines.setup.model_served.as_deref()),
        (Some(10.0), Some("org/m"))
    );
}

#[test]
fn a_report_that_is_gone_or_broken_is_named_and_the_run_stays() {
    let folder = Folder::new("report-gone");
    let run = manifest::RunWire {
        schema: manifest::RUN_SCHEMA.into(),
        environment: "native".into(),
        model: "m".into(),
        workload: "w".into(),
        exit_code: Some(0),
        reports: ["work/gone.json", "work/broken.json", "work/strange.txt"]
            .iter()
            .zip(["result-json", "result-json", "nonesuch"])
            .map(|(path, parser)| manifest::ReportWire {
                path: (*path).into(),
                parser: parser.into(),
                ..manifest::ReportWire::default()
            })
            .collect(),
        ..manifest::RunWire::default()
    };
    folder.put("runs/r1/run.json", serde_json::to_string(&run).unwrap());
    folder.put("runs/r1/work/broken.json", "{\"schema\": \"sparkbench.result/1\", ");
    folder.put("runs/r1/work/strange.txt", "x");
    let found = archive::discover(&[folder.path().to_owned()]).unwrap();
    let intake = ingest::all(&found, &Options::default()).unwrap();
    assert_eq!((intake.runs.len(), intake.skipped()), (1, 3));
    let reasons: Vec<&str> = intake.inputs.iter().filter_map(|input| input.reason.as_deref()).collect();
    for words in [
        "the report 'work/gone.json' is not there",
        "as result-json: not valid JSON",
        "there is no parser \"nonesuch\"",
    ] {
        assert!(reasons.iter().any(|reason| reason.contains(words)), "{words}: {reasons:?}");
    }
}

#[test]
fn what_is_written_by_the_manifest_types_is_read_back() {
    let run = manifest::RunWire {
        schema: manifest::RUN_SCHEMA.into(),
        environment: "a".into(),
        model: "m".into(),
        workload: "w".into(),
        failure: Some("the engine was killed".into()),
        ..manifest::RunWire::default()
    };
    let text = serde_json::to_string_pretty(&run).unwrap();
    assert_eq!(serde_json::from_str::<manifest::RunWire>(&text).unwrap(), run);
    let fixture = std::fs::read_to_string(fixtures().join("campaign/campaign.json")).unwrap();
    let campaign: manifest::CampaignWire = serde_json::from_str(&fixture).unwrap();
    let again = serde_json::to_string(&campaign).unwrap();
    assert_eq!(serde_json::from_str::<manifest::CampaignWire>(&again).unwrap(), campaign);
    assert_eq!((campaign.schema.as_str(), campaign.plan.len()), (manifest::CAMPAIGN_SCHEMA, 2));
}

#[test]
fn the_flat_layout_joins_metadata_log_and_telemetry() {
    let intake = read("flat");
    let [run] = intake.runs.as_slice() else { panic!("{:?}", intake.runs) };
    assert_eq!((run.environment.as_str(), run.model.as_str(), run.repeat), ("my_env", "my_model", Some(1)));
    assert_eq!(run.started, Instant::parse("20260101_000000"), "the stamp of the name is the start");
    assert_eq!(run.ended, Instant::parse("20260101_000500"), "the later one inside is the end");
    assert_eq!((run.telemetry.len(), run.telemetry[0].power_w), (2, Some(38.2)));
    assert_eq!(run.value("output_throughput_tok_s"), Some(27784.9728));
    assert_eq!(run.setup.model_id.as_deref(), Some("org/my"));
    assert_eq!(
        run.setup.model_served.as_deref(),
        Some("nvidia/Llama-3.1-8B-Instruct-FP8"),
        "asked and served are kept apart"
    );
    assert_eq!(run.id, "my_env_my_model_iter1_20260101_000000");
}

#[test]
fn a_trtllm_bench_log_gives_the_figures_that_stand_in_it_and_the_last_memory_line() {
    let intake = read("trtllm-bench");
    let [run] = intake.runs.as_slice() else { panic!("{:?}", intake.runs) };
    let expected: BTreeMap<&str, (f64, Option<u8>)> = [
        ("request_throughput_req_s", (217.0701, Some(4))),
        ("output_throughput_tok_s", (27784.9728, Some(4))),
        ("total_throughput_tok_s", (55569.9457, Some(4))),
        ("e2e_latency_ms", (68236.6379, Some(4))),
        ("e2e_latency_ms_p50", (68923.2602, Some(4))),
        ("e2e_latency_ms_p90", (117628.9925, Some(4))),
        ("kv_cache_gib", (61.18, Some(2))),
        ("kv_cache_tokens", (1_002_304.0, Some(0))),
        ("peak_memory_gib", (11.77, Some(2))),
        ("model_memory_gib", (8.55, Some(2))),
    ]
    .into();
    for (metric, figure) in &expected {
        let reading = run.reading(metric).unwrap_or_else(|| panic!("{metric}"));
        assert_eq!((reading.value, reading.decimals), *figure, "{metric}");
        assert!(reading.origin.line.is_some());
    }
    assert_eq!((run.setup.device_memory_gib, run.setup.engine_version.as_deref()), (Some(79.18), Some("0.20.0")));
    assert_eq!(
        (run.setup.isl, run.setup.osl, run.setup.batch, run.setup.requests),
        (Some(128.0), Some(128.0), Some(2048.0), Some(30000.0))
    );
    assert_eq!((run.setup.quantisation.as_deref(), run.status.clone()), (Some("FP8"), Status::Done));
    assert_eq!((run.environment.as_str(), run.model.as_str()), ("unlabelled", "Llama-3.1-8B-Instruct-FP8"));
    let reason = intake.inputs[0].reason.as_deref().unwrap();
    assert!(reason.contains("no environment is known, so it stands as 'unlabelled'"), "{reason}");
}

#[test]
fn a_table_of_every_column_is_read_cell_by_cell() {
    let intake = read("table");
    let [first, second] = intake.runs.as_slice() else { panic!("{:?}", intake.runs) };
    assert_eq!((first.id.as_str(), first.environment.as_str(), first.campaign.as_str()), ("r1", "native", "two-rows"));
    assert_eq!((second.environment.as_str(), second.position), ("contai\"ner, two", Some(2)));
    assert_eq!(second.status, Status::Failed("out of memory (exit code 137)".into()));
    assert_eq!(second.reading("ttft_ms_p99").unwrap().value, f64::INFINITY);
    assert!(second.reading("ttft_ms").unwrap().value.is_nan());
    assert_eq!(
        (first.setup.isl, first.setup.requests, first.setup.machine.as_deref()),
        (Some(512.0), Some(100.0), Some("NVIDIA GB10"))
    );
    assert_eq!(intake.campaigns[0].prose.as_deref(), Some("# Prose\n"));
    let reason = |path: &str| intake.inputs.iter().find(|input| input.path == path).unwrap().reason.clone();
    assert_eq!(reason("runs.csv").as_deref(), Some("column 'remark' is not known and not read"));
    assert_eq!(reason("labels.toml").as_deref(), Some("the pattern 'absent/**' fits no file with a run"));
}

#[test]
fn labels_from_the_command_line_fill_what_files_lack() {
    let folder = Folder::new("given-labels");
    let labels = folder.put(
        "given.toml",
        "schema = \"sparkbench.labels/1\"\nname = \"given\"\n[[files]]\nglob = \"*.txt\"\nenvironment = \"docker\"\nstarted_utc = \"20260602_030944\"\n\
         [models.llama]\nid = \"nvidia/Llama-3.1-8B-Instruct-FP8\"\n",
    );
    let found = archive::discover(&[fixtures().join("trtllm-bench")]).unwrap();
    let intake = ingest::all(&found, &Options { labels: Some(labels), ..Options::default() }).unwrap();
    let run = &intake.runs[0];
    assert_eq!((run.environment.as_str(), run.model.as_str(), run.campaign.as_str()), ("docker", "llama", "given"));
    assert_eq!(run.started, Instant::parse("2026-06-02T03:09:44Z"));
}

#[test]
fn facts_are_handed_over_as_they_stand() {
    let [file] = &read("facts").facts[..] else { panic!("one file") };
    assert_eq!((file.file.as_str(), file.wins), ("x.toml", false));
    assert_eq!(file.facts.machine("NVIDIA x100 (PCIe)").unwrap().memory_gib, Some(100.0));
    assert_eq!(file.facts.models["org/m"].weight_bytes, Some(2e9));
}

#[test]
fn one_run_of_llama_bench_in_two_forms_is_counted_once_and_a_sweep_is_no_row_of_repeats() {
    let both = read("formats/llama-bench/both");
    let labels: Vec<&str> = both.runs.iter().map(|run| run.workload.as_str()).collect();
    assert_eq!(labels, ["pp32", "tg16"], "{:?}", both.inputs);
    assert!(both.runs.iter().all(|run| run.source.path.ends_with("bench.jsonl")));
    let markdown = read("formats/llama-bench-markdown");
    let of = |file: &str| markdown.runs.iter().filter(|run| run.source.path.ends_with(file)).collect::<Vec<_>>();
    let sweep: BTreeSet<&str> = of("sweep.md").iter().map(|run| run.cell.as_str()).collect();
    assert_eq!((of("sweep.md").len(), sweep.len()), (24, 24), "{sweep:?}");
    let [pp, tg] = of("verbose-console.txt")[..] else { panic!("{:?}", markdown.inputs) };
    assert_eq!((pp.workload.as_str(), tg.workload.as_str()), ("pp32", "tg16"));
}

#[test]
fn batched_tables_and_lines_of_llama_are_runs_of_so_many_sequences() {
    for (folder, labels) in [
        ("formats/llama-batched-bench", &["pp32-tg16-c1", "pp32-tg16-c2"][..]),
        ("formats/llama-batched-bench-markdown", &["pp32-tg16-c1", "pp32-tg16-c2", "pp64-tg16-c1", "pp64-tg16-c2"]),
    ] {
        let intake = read(folder);
        let found: Vec<&str> = intake.runs.iter().map(|run| run.workload.as_str()).collect();
        assert_eq!(found, labels, "{:?}", intake.inputs);
        assert_eq!(intake.runs[1].setup.batch, Some(2.0));
        assert!(intake.runs[1].value("total_throughput_tok_s") > intake.runs[1].value("output_throughput_tok_s"));
    }
}

#[test]
fn logs_of_a_real_llama_server_are_read_at_every_verbosity() {
    let of = |file: &str| {
        let bytes = std::fs::read(fixtures().join("formats/llama-server-log").join(file)).unwrap();
        let parsed = ingest::read(file, bytes.len() as u64, bytes.as_slice()).outcome.unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        ((**partial).clone(), parsed.notes)
    };
    let (default, notes) = of("default.log");
    assert_eq!((default.model.as_deref(), default.setup.max_model_len), (Some("model.gguf"), Some(4096.0)));
    assert_eq!((default.series[0].values.len(), notes.len()), (4, 0), "one of five answers has one token");
    let metric = |partial: &PartialRun, name: &str| {
        partial.readings.iter().find(|r| r.metric == name).map(|r| (r.value, r.origin.line.unwrap()))
    };
    let extra = |partial: &PartialRun, name: &str| {
        partial.extras.iter().find(|extra| extra.name == name).map(|extra| extra.value.clone())
    };
    let (twice, notes) = of("twice.log");
    assert_eq!(metric(&twice, "kv_cache_tokens"), Some((8192.0, 137)));
    assert_eq!(extra(&twice, "requests"), Some(ExtraValue::Number(2.0)));
    assert_eq!(twice.setup.engine_version.as_deref(), Some("0 (unknown)"));
    assert!(notes[1].contains("begins at line 92"), "{notes:?}");
    let (draft, notes) = of("draft.log");
    assert_eq!((metric(&draft, "kv_cache_tokens").unwrap().0, notes.len()), (4096.0, 0));
    assert_eq!(extra(&draft, "kv cache K"), Some(ExtraValue::Number(2.0)));
    let first = metric(&draft, "model_memory_gib").unwrap().1;
    assert!(first < 60, "that of the draft model stands on a line behind: {first}");
    assert_eq!(extra(&draft, "spec_decode_drafted"), Some(ExtraValue::Number(194.0)));
}
