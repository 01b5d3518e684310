//! Any program as a workload: settings, places, assets, and what is made of the files that it leaves.

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::folder::Folder;
use crate::support::workload::{cell, checks, faults, read};
use sparkbench::plan::Model;
use sparkbench::workload::Cell;

fn suite(more: &str) -> String {
    format!(
        "command = [\"python3\", \"{{work}}/bench.py\", \"--model={{model.id}}\"]\nassets = [\"bench.py\"]\n\
         reports = [{{ path = \"result.json\", parser = \"result-json\" }}]\n{more}"
    )
}

fn beside() -> Folder {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = Folder::new(&format!("workload-command-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    folder.put("bench.py", "print(1)\n");
    folder.put("data/a/b.txt", "b\n");
    folder.put("other/bench.py", "print(2)\n");
    folder
}

fn model() -> Model {
    Model { label: "m".into(), id: Some("org/m".into()), path: Some("/models/m".into()), ..Model::default() }
}

#[test]
fn the_command_line_is_filled_and_assets_travel_under_their_last_name() {
    let folder = beside();
    let text = suite("env = { SEED = \"{seed}\", OUT = \"{work}/{repeat}\" }\nneeds_gpu = true\nexpected_s = 30")
        .replace("\"bench.py\"]", "\"bench.py\", \"data\"]");
    let workload = read("command", &text, folder.path()).unwrap();
    let model = model();
    let invocation = workload.measure(&cell(&model), Path::new("/sparkbench/work")).unwrap();
    assert_eq!(invocation.argv, ["python3", "/sparkbench/work/bench.py", "--model=org/m"]);
    assert_eq!((invocation.env["SEED"].as_str(), invocation.env["OUT"].as_str()), ("42", "/sparkbench/work/1"));
    let assets = workload.assets(&cell(&model)).unwrap();
    let names: Vec<String> = assets.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["bench.py", "data/a/b.txt"]);
    assert_eq!(
        (workload.needs_gpu(), workload.expected_s(), assets[0].1.as_slice()),
        (true, Some(30.0), &b"print(1)\n"[..])
    );
    assert!(workload.probe(&cell(&model), Path::new("/w")).is_none());
    assert!(workload.lacks(&model).is_empty());
    assert_eq!(workload.lacks(&Model { label: "n".into(), ..Model::default() }), ["id"]);
}

#[test]
fn every_fault_is_named_with_its_key() {
    let folder = beside();
    for (text, words) in [
        ("reports = [{ path = \"a\", parser = \"lines\" }]".to_owned(), "has no program"),
        ("command = [\"a\"]".to_owned(), "names no report"),
        (suite("").replace("{work}", "{wrok}"), "names the unknown place \"{wrok}\""),
        (suite("").replace("bench.py\"]", "gone.py\"]"), "\"gone.py\", which cannot be read"),
        (suite("").replace("[\"bench.py\"]", "[\"bench.py\", \"other/bench.py\"]"), "gives \"bench.py\" twice"),
        (suite("").replace("[\"bench.py\"]", "[\"..\"]"), "names \"..\""),
        (suite("").replace("result-json", "result"), "parser: is \"result\""),
        (suite("").replace("result.json", "../result.json"), "path: is \"../result.json\""),
        (
            suite("").replace("result-json\"", "lines\", patterns = { ttft_ms = \"(x)\" }"),
            "the parser lines takes no patterns",
        ),
        (
            suite("").replace("result-json\"", "pattern\", patterns = { ttft_ms = \"x\" }"),
            "the pattern of ttft_ms has 0 groups",
        ),
        (suite("").replace("result-json\"", "pattern\""), "has no patterns"),
        (suite("").replace(", parser = \"result-json\"", ""), "parser: is missing"),
        (suite("expect = { metrics = [\"speed\"] }"), "holds \"speed\""),
        (suite("expect = { files = [\"/etc/passwd\"] }"), "holds \"/etc/passwd\""),
        (suite("expect = { iterations = 0 }"), "is 0"),
        (suite("expect = { iteration = 1 }"), "is not a key of this table"),
        (suite("asked = { isl = -1 }"), "is -1"),
        (suite("speed = 1"), "is not a key of this table"),
    ] {
        let found = faults("command", &text, folder.path());
        assert!(found.contains(words), "{words} in\n{found}\nof\n{text}");
    }
    assert_eq!(faults("command", &suite(""), folder.path()), "");
}

const RESULT: &str = r#"{"schema":"sparkbench.result/1","metrics":{"gemm_tflops":9.5},
    "iterations":[{"name":"a","metric":"e2e_latency_ms","values":[10,10.1,9.9,10,10.2,9.8,50]}],
    "seen":{"model_id":"org/m","requests":7,"isl":128.5,"quantisation":"torch.bfloat16"}}"#;

#[test]
fn a_good_run_has_its_reports_checks_and_marks_and_no_faults() {
    let folder = beside();
    let text = suite(
        "asked = { requests = 7, isl = 128, osl = 32 }\nexpect = { iterations = 7, metrics = [\"gemm_tflops\", \"e2e_latency_ms_p99\"], files = [\"result.json\"] }",
    );
    let workload = read("command", &text, folder.path()).unwrap();
    folder.put("run/work/result.json", RESULT);
    let model = Model { quantisation: Some("bf16".into()), ..model() };
    let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    assert_eq!((outcome.reports.len(), outcome.reports[0].path.as_str()), (1, "work/result.json"));
    assert_eq!((outcome.seen.model_id.as_deref(), outcome.seen.requests), (Some("org/m"), Some(7.0)));
    assert_eq!(
        checks(&outcome),
        ["model_id match", "quantisation match", "requests match", "isl match", "osl unknown"],
        "half a token of 128 is within one per cent"
    );
    assert_eq!(
        outcome.marks,
        ["e2e_latency_ms: 1 of 7 iterations are far off (modified z above 3.5): 50 at iteration 7"]
    );
}

#[test]
fn a_command_that_names_this_program_is_given_it() {
    let folder = beside();
    let model = model();
    let with = read("command", &suite("env = { SPARKBENCH = \"{program}\" }"), folder.path()).unwrap();
    assert!(with.needs_own_program(), "it is then brought inside");
    let at = Cell { own_program: Some(Path::new("/w/.program")), ..cell(&model) };
    assert_eq!(with.measure(&at, Path::new("/w")).unwrap().env["SPARKBENCH"], "/w/.program");
    assert!(!read("command", &suite(""), folder.path()).unwrap().needs_own_program());
}

#[test]
fn lists_under_names_of_the_programs_own_are_counted_and_looked_at() {
    let folder = beside();
    let workload = read("command", &suite("expect = { iterations = 6 }"), folder.path()).unwrap();
    let model = Model { label: "none".into(), ..Model::default() };
    let text = r#"{"schema":"sparkbench.result/1","metrics":{"gemm_tflops":1},"iterations":[{"name":"gemm 2048","values":[1,1,1.1,0.9,1,9]}]}"#;
    folder.put("run/work/result.json", text);
    let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
    assert!(outcome.faults.is_empty() && outcome.checks.is_empty(), "{outcome:?}");
    assert_eq!(outcome.marks, ["gemm 2048: 1 of 6 iterations are far off (modified z above 3.5): 9 at iteration 6"]);
    folder.put("run/work/result.json", text.replace(",9]", "]"));
    let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
    assert_eq!(outcome.faults, ["5 iterations, and at least 6 are expected"]);
}

#[test]
fn another_model_than_asked_is_a_mismatch_and_its_folder_is_not() {
    let folder = beside();
    let workload = read("command", &suite("asked = { requests = 8 }"), folder.path()).unwrap();
    let model = model();
    for (seen, expected) in
        [("org/n", "model_id mismatch"), ("/models/m/", "model_id match"), ("org/m", "model_id match")]
    {
        folder.put("run/work/result.json", RESULT.replace("org/m", seen));
        let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
        assert_eq!(checks(&outcome), [expected, "requests mismatch"], "{seen}");
    }
    let silent = RESULT.replace("\"model_id\":\"org/m\",", "");
    folder.put("run/work/result.json", silent);
    let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
    assert_eq!(checks(&outcome)[0], "model_id unknown");
}

#[test]
fn what_is_missing_broken_or_too_little_fails_the_run() {
    let folder = beside();
    let text = suite("expect = { iterations = 8, metrics = [\"ttft_ms\"], files = [\"gone.txt\"] }");
    let workload = read("command", &text, folder.path()).unwrap();
    let model = model();
    let run = folder.path().join("run");
    std::fs::create_dir_all(run.join("work")).unwrap();
    let outcome = workload.examine(&cell(&model), &run);
    assert_eq!(
        outcome.faults,
        [
            "the report 'work/result.json' is missing",
            "the file 'gone.txt' is missing",
            "no report gives ttft_ms",
            "no iterations are reported, and 8 are expected"
        ]
    );
    assert!(outcome.reports.is_empty(), "what is not there is not named");
    folder.put("run/work/result.json", RESULT);
    let outcome = workload.examine(&cell(&model), &run);
    assert!(outcome.faults.contains(&"7 iterations, and at least 8 are expected".to_owned()), "{:?}", outcome.faults);
    for broken in ["", "{", "[1]", "{\"schema\":\"sparkbench.result/9\"}", "\0\0"] {
        folder.put("run/work/result.json", broken);
        let outcome = workload.examine(&cell(&model), &run);
        assert!(outcome.faults[0].starts_with("the report 'work/result.json' cannot be used"), "{:?}", outcome.faults);
        assert!(outcome.reports.is_empty());
    }
    std::fs::remove_file(run.join("work/result.json")).unwrap();
    std::fs::create_dir(run.join("work/result.json")).unwrap();
    let outcome = workload.examine(&cell(&model), &run);
    assert_eq!(outcome.faults[0], "the report 'work/result.json' is not a plain file");
}

#[test]
fn standard_output_is_read_by_lines_or_by_patterns() {
    let folder = beside();
    let model = model();
    let text = suite("").replace("\"result.json\", parser = \"result-json\"", "\"stdout\", parser = \"lines\"");
    let workload = read("command", &text, folder.path()).unwrap();
    folder.put("run/stdout.log", "starting\ndecode_tok_s=12.5\nttft_ms: 3 s\n");
    let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
    assert_eq!((outcome.faults.len(), outcome.reports[0].path.as_str()), (0, "stdout.log"));
    assert!(outcome.marks[0].contains("expected \"ms\", found \"s\""), "{:?}", outcome.marks);
    let patterns = suite("").replace(
        "\"result.json\", parser = \"result-json\"",
        "\"stdout\", parser = \"pattern\", patterns = { decode_tok_s = 'tok_s=(\\S+)', \"seen.model_id\" = 'start(\\S+)' }",
    );
    let workload = read("command", &patterns, folder.path()).unwrap();
    let outcome = workload.examine(&cell(&model), &folder.path().join("run"));
    assert_eq!(outcome.seen.model_id.as_deref(), Some("ing"));
    assert_eq!(outcome.reports[0].patterns["decode_tok_s"], r"tok_s=(\S+)", "the archive holds the patterns");
}

#[test]
fn a_report_that_may_be_missing_fails_nothing() {
    let folder = beside();
    let text = suite("").replace("\"result-json\"", "\"result-json\", required = false");
    let workload = read("command", &text, folder.path()).unwrap();
    let model = model();
    let cell: Cell<'_> = cell(&model);
    assert!(workload.examine(&cell, folder.path()).faults.is_empty());
}
