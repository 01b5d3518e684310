//! What ran is held against what was asked for: arguments, programs, models, images, reports.

use std::path::Path;
use std::process::Command;

use super::scene::{LENIENT, archive, check, collect, failure, head, runs, verifies};
use super::short::{Collector, in_flight};
use crate::support::folder::Folder;
use crate::support::roots;
use crate::support::wait::until;

/// Prints each argument in brackets, and stays until it is told to go: until then it can be looked at.
const ECHO: &str = "#!/bin/sh\nfor word in \"$@\"; do echo \"[$word]\"; done\n\
                    while [ -z \"$AT_ONCE\" ] && [ ! -e \"${0%/*}/go\" ]; do sleep 0.05; done\necho ttft_ms=12.5\n";

#[test]
fn every_argument_arrives_as_it_was_written_in_every_environment() {
    let folder = Folder::new("asked-arguments");
    let roots = roots::make(folder.path());
    folder.put("echo.sh", ECHO);
    let words = ["a b", "", "q\"uo'te", "*", "größe→", "$HOME", "--", "-x", "back\\slash", "`id`"];
    let listed = words.map(|word| serde_json::Value::from(word).to_string()).join(", ");
    folder.put(
        "suite.toml",
        format!(
            "{}{}[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/echo.sh\", {listed}]\nassets = [\"echo.sh\"]\n\
             reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpected_s = 1\n{LENIENT}",
            head(1),
            // The engine keeps the arguments of a container that has ended, and nothing can be put into it from outside.
            roots.environments.replace("[environments.docker]\n", "[environments.docker]\nenv = { AT_ONCE = \"1\" }\n")
        ),
    );
    let archive = archive(&folder);
    let mut collector = Collector::start(folder.path(), &archive, &[]);
    until("every run has been looked at and has ended", || {
        let held = |path: &Path| !path.file_name().is_some_and(|name| name.to_string_lossy().contains("-docker-"));
        // The arguments are looked at before the first sample. The header stands there before the program starts.
        let sampled = |path: &Path| {
            std::fs::read_to_string(path.join("telemetry.csv")).is_ok_and(|text| text.lines().count() > 1)
        };
        let seen = in_flight(&archive).filter(|path| held(path) && sampled(path));
        if let Some(go) = seen.map(|path| path.join("work/go")).filter(|go| !go.exists()) {
            // A run that failed by itself is told below.
            let _ = std::fs::write(go, "");
        }
        collector.is_over()
    });
    collector.end().expect(0);
    verifies(&folder);
    let runs = runs(&folder);
    assert_eq!(runs.len(), roots.labels.len());
    for (id, run) in &runs {
        assert_eq!(check(run, "arguments"), Some("match"), "{id}: {}", run["checks"]);
        let printed = std::fs::read_to_string(folder.path().join("archive/runs").join(id).join("stdout.log")).unwrap();
        let expected = words.map(|word| format!("[{word}]\n")).concat();
        assert!(printed.starts_with(&expected), "{id}: {printed}");
    }
}

#[test]
fn a_missing_program_a_broken_report_and_another_model_fail_their_runs_with_the_reason() {
    let folder = Folder::new("asked-faults");
    let roots = roots::make(folder.path());
    folder.put(
        "other.sh",
        "#!/bin/sh\necho '{\"schema\":\"sparkbench.result/1\",\"seen\":{\"model_id\":\"org/other\"},\"metrics\":{\"ttft_ms\":3}}' > \
         \"$1/result.json\"\n",
    );
    folder.put("garbage.sh", "#!/bin/sh\necho nonsense > \"$1/result.json\"\n");
    let workload = |name: &str, command: &str, reports: &str| {
        format!(
            "[workloads.{name}]\nkind = \"command\"\ncommand = {command}\nreports = [{reports}]\nexpected_s = 0.1\n"
        )
    };
    let result = "{ path = \"result.json\", parser = \"result-json\" }";
    let text = [
        head(1),
        roots.environments.clone(),
        "[models.m]\nid = \"org/asked\"\n".to_owned(),
        workload("missing", "[\"no-such-program\", \"x\"]", "{ path = \"stdout\", parser = \"lines\" }"),
        workload("garbage", "[\"/bin/sh\", \"{work}/garbage.sh\", \"{work}\"]", result) + "assets = [\"garbage.sh\"]\n",
        workload("absent", "[\"/bin/true\"]", result),
        workload("other", "[\"/bin/sh\", \"{work}/other.sh\", \"{work}\"]", result) + "assets = [\"other.sh\"]\n",
        LENIENT.to_owned(),
    ]
    .concat();
    folder.put("suite.toml", text);
    let ending = collect(&folder, &[], &[]).expect(4);
    verifies(&folder);
    let runs = runs(&folder);
    assert_eq!(runs.len(), 4 * roots.labels.len());
    for (id, run) in &runs {
        let why = failure(run);
        let words: &[&str] = match run["workload"].as_str().unwrap() {
            "missing" => &["no-such-program"],
            "garbage" => &["result.json", "not valid JSON"],
            "absent" => &["result.json", "is missing"],
            _ => &["model_id", "org/asked", "org/other"],
        };
        assert!(words.iter().all(|word| why.contains(word)), "{id}: {why}");
        assert!(ending.err.contains(&format!("{id} failed: ")), "{id} is not named in:\n{}", ending.err);
        if run["workload"] == "other" {
            assert_eq!((check(run, "model_id"), &run["exit_code"]), (Some("mismatch"), &0.into()), "{id}");
        }
    }
}

#[test]
fn a_tag_that_moves_during_a_campaign_moves_no_run_of_it() {
    let folder = Folder::new("asked-image");
    let roots = roots::make(folder.path());
    if !roots.labels.contains(&"docker") {
        return;
    }
    let id = roots.environments.split("image = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let tag = format!("sparkbench-e2e-{}:moving", std::process::id());
    docker(&["tag", &id, &tag]);
    folder.put(
        "suite.toml",
        format!(
            "{}[environments.docker]\nimage = \"{tag}\"\nallow_moving_tag = true\n[workloads.job]\nkind = \"command\"\n\
             command = [\"/bin/sh\", \"-c\", \"echo later=$LATER; echo ttft_ms=1\"]\n\
             reports = [{{{{ path = \"stdout\", parser = \"lines\" }}}}]\n{LENIENT}",
            head(2).replace("baseline = \"native\"\n", "")
        )
        .replace("{{", "{")
        .replace("}}", "}"),
    );
    collect(&folder, &["--only", "*r01"], &[]).expect(0);
    let container = docker(&["create", &id, "/bin/true"]);
    let other = docker(&["commit", "--change", "ENV LATER=7", &container]);
    docker(&["rm", "--force", &container]);
    docker(&["tag", &other, &tag]);
    let ending = collect(&folder, &["--resume"], &[]);
    docker(&["image", "rm", "--force", "--no-prune", &tag]);
    let _ = Command::new("docker").args(["image", "rm", "--force", "--no-prune", &other]).output();
    ending.expect(0);
    verifies(&folder);
    let runs = runs(&folder);
    assert_eq!(runs.len(), 2);
    for (run_id, run) in &runs {
        assert_eq!(check(run, "image_digest"), Some("match"), "{run_id}");
        assert!(run["checks"].to_string().contains(&id), "{run_id}: {}", run["checks"]);
        let printed =
            std::fs::read_to_string(folder.path().join("archive/runs").join(run_id).join("stdout.log")).unwrap();
        assert!(printed.starts_with("later=\n"), "{run_id} ran the image of a later tag: {printed}");
    }
}

#[track_caller]
fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("docker starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn the_result_of_another_client_is_read_by_its_look_and_keeps_the_labels_of_the_suite() {
    let folder = Folder::new("asked-by-look");
    let result = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ingest/formats/vllm-bench-serve/detailed.json");
    folder.put("result.json", std::fs::read_to_string(result).unwrap());
    folder.put("nothing.json", "{\"no\": \"result\"}");
    let workload = |name: &str, path: &str| {
        format!(
            "[workloads.{name}]\nkind = \"command\"\ncommand = [\"/bin/cat\", \"{{work}}/{path}\"]\nassets = [\"{path}\"]\n\
             reports = [{{ path = \"{path}\", parser = \"by-look\" }}]\nexpected_s = 0.1\n"
        )
    };
    let loads = [workload("c4", "result.json"), workload("none", "nothing.json")].concat();
    folder.put("suite.toml", format!("{}[environments.native]\n{loads}{LENIENT}", head(1)));
    collect(&folder, &[], &[]).expect(4);
    verifies(&folder);
    let all = runs(&folder);
    let why = failure(&all["002-native-none-none-r01"]);
    assert!(why.contains("nothing.json"), "{why}");
    let found = sparkbench::archive::discover(&[folder.path().join("archive")]).unwrap();
    let intake = sparkbench::ingest::all(&found, &sparkbench::ingest::Options::default()).unwrap();
    let run = intake.runs.iter().find(|run| run.workload == "c4").expect("the run of the client");
    assert_eq!((run.environment.as_str(), run.setup.tool.as_deref()), ("native", Some("vllm-bench-serve")));
    assert!(run.value("ttft_ms").is_some() && run.value("output_throughput_tok_s").is_some(), "{:?}", run.readings);
    let spent = sparkbench::model::known_extra::number(run, &[sparkbench::model::known_extra::PROCESSOR_S]);
    assert!(spent.is_some_and(|seconds| seconds >= 0.0), "{spent:?}");
}
