//! Metrics that people define: from the file with the definition to tables, verdicts and downloads, through the program itself.

#![cfg(feature = "analyse")]

use std::path::Path;
use std::sync::LazyLock;

use crate::shared_folder;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{Ending, FEW, repository, run_in};
use serde_json::{Value, json};

/// Part of this repository's own archive: vLLM on a processor, two blocks of four environments, six loads a run.
fn vllm() -> String {
    static COPIED: LazyLock<Folder> = LazyLock::new(|| {
        let folder = shared_folder("metrics");
        for (path, bytes) in files_below(&repository().join("data/vllm-cpu")) {
            let block = path.strip_prefix("runs/").and_then(|run| run.split('-').next());
            if block.is_none_or(|position| position.parse::<u32>().unwrap() <= 8) && !path.ends_with("seal.json") {
                folder.put(&format!("vllm-cpu/{path}"), bytes);
            }
        }
        folder
    });
    COPIED.path().join("vllm-cpu").to_str().unwrap().to_owned()
}

fn metrics(folder: &Folder, definitions: &str, more: &[&str]) -> Ending {
    folder.put("metrics.toml", format!("schema = \"sparkbench.metrics/1\"\n{definitions}"));
    run_in(folder.path(), &[&["metrics", "--metrics", "metrics.toml"], more].concat(), &[])
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn listed(folder: &Folder, definitions: &str) -> Vec<Value> {
    let ending = metrics(folder, definitions, &[&vllm(), "--json"]).expect(0);
    serde_json::from_str::<Value>(&ending.out).unwrap().as_array().unwrap().clone()
}

fn of<'v>(list: &'v [Value], name: &str) -> &'v Value {
    list.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {list:?}"))
}

#[test]
fn requests_settings_and_server_metrics_of_an_archive_become_figures() {
    let folder = Folder::new("metrics-archive");
    let list = listed(
        &folder,
        "[metrics.ms_per_token_p99]\nexpression = \"p99(e2e_ms / output_tokens)\"\n\
         [metrics.slow_share]\nexpression = \"convert(share(ttft_ms > 20), '%')\"\nunit = \"%\"\ndirection = \"lower_is_better\"\n\
         [metrics.mean_ttft]\nexpression = \"mean(ttft_ms)\"\n\
         [metrics.ttft_again]\nexpression = \"ttft_ms\"\n\
         [metrics.prompt_rate]\nexpression = 'rate(\"vllm:prompt_tokens_total\")'\nunit = \"tok/s\"\n\
         [metrics.running_peak]\nexpression = 'peak(\"vllm:num_requests_running\")'\n\
         [metrics.server_ttft]\nexpression = 'histogram_mean(\"vllm:time_to_first_token_seconds\")'\nunit = \"s\"\n\
         [metrics.for_each_user]\nexpression = \"output_throughput_tok_s / batch\"\n",
    );
    assert_eq!(of(&list, "running_peak")["figures"], of(&list, "running_peak")["runs"]);
    for name in ["ms_per_token_p99", "slow_share", "prompt_rate", "server_ttft"] {
        let one = of(&list, name);
        assert_eq!((&one["figures"], one["custom"].as_bool()), (&one["runs"], Some(true)), "{one}");
        assert!(one["max"].as_f64().unwrap() > 0.0, "{one}");
    }
    // The mean of the requests is the mean that the program reports by itself.
    let (ours, known) = (of(&list, "mean_ttft"), of(&list, "ttft_again"));
    for end in ["min", "max"] {
        let (one, other) = (ours[end].as_f64().unwrap(), known[end].as_f64().unwrap());
        assert!((one / other - 1.0).abs() < 1e-9, "{end}: {one} and {other}");
    }
    assert_eq!(of(&list, "ms_per_token_p99")["unit"], "ms/tok");
    assert_eq!(of(&list, "slow_share")["margin_pct"], Value::Null, "a per cent has no per cent");
    assert_eq!(of(&list, "for_each_user")["unit"], "tok/s");
}

#[test]
fn a_defined_metric_is_judged_shown_and_downloaded_like_any_other() {
    let folder = Folder::new("metrics-site");
    folder.put(
        "metrics.toml",
        "schema = \"sparkbench.metrics/1\"\n[metrics.ms_per_token_p99]\nlabel = \"Slowest token\"\ndirection = \"lower_is_better\"\n\
         margin_pct = 20\nexpression = \"p99(e2e_ms / output_tokens)\"\n",
    );
    let archive = vllm();
    let arguments = ["analyse", &archive, "--metrics", "metrics.toml", "--site", "site", "--quiet"];
    run_in(folder.path(), &[&arguments[..], &FEW[..]].concat(), &[]).expect(0);
    let site = folder.path().join("site");
    let analysis = read(&site.join("data/analysis.json"));
    assert_eq!(analysis["campaigns"][0]["metrics"]["ms_per_token_p99"]["expression"], "p99(e2e_ms / output_tokens)");
    let named = |list: &str| {
        analysis[list]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["metric"] == "ms_per_token_p99")
            .cloned()
            .collect::<Vec<_>>()
    };
    let groups = named("groups");
    assert_eq!(groups.len(), 24, "four environments, six loads");
    assert!(groups.iter().all(|group| group["unit"] == "ms/tok" && group["direction"] == "lower_is_better"));
    let comparisons = named("comparisons");
    assert_eq!(comparisons.len(), 18);
    assert!(comparisons.iter().all(|c| c["label"] == "Slowest token" && c["tost"]["margin_pct"] == 20.0));
    let run = &analysis["runs"][0];
    let origin = &run["origins"]["ms_per_token_p99"];
    assert_eq!(origin["rule"], "custom.expression");
    assert!(origin["file"].as_str().unwrap().ends_with("requests.jsonl.gz"), "{origin}");
    let csv = std::fs::read_to_string(site.join("data/runs.csv")).unwrap();
    assert!(csv.lines().next().unwrap().ends_with(",ms_per_token_p99"));
    let columns = std::fs::read_to_string(site.join("data/datapackage.json")).unwrap();
    assert!(columns.contains("Slowest token: p99(e2e_ms / output_tokens)"));
    let page = std::fs::read_to_string(site.join("c/vllm-cpu/index.html")).unwrap();
    assert!(page.contains("Slowest token"));
    let method = std::fs::read_to_string(site.join("method/index.html")).unwrap();
    assert!(method.contains("p99(e2e_ms / output_tokens)"));
    // The same file makes it again. Without it the difference is said.
    let verify =
        |more: &[&str]| run_in(folder.path(), &[&["verify", "site", "--archive", &archive], more].concat(), &[]);
    verify(&["--metrics", "metrics.toml"]).expect(0);
    verify(&[]).expect(5).complains(&["the site was made with --metrics"]);
}

#[test]
fn a_wrong_definition_is_an_error_with_place_and_nearest_name() {
    let folder = Folder::new("metrics-wrong");
    for (definition, words) in [
        (
            "[metrics.x]\nexpression = \"output_throughput / power_w\"",
            &["field 'metrics.x.expression'", "column 1: it names \"output_throughput\"", "output_throughput_tok_s"][..],
        ),
        ("[metrics.x]\nexpression = \"p99(e2e_ms\"", &["cannot be read", "its end"]),
        (
            "[metrics.x]\nexpression = \"mean(e2e_ms)\"\nunit = \"tok\"",
            &["gives ms, and the unit is tok", "unit = \"ms\""],
        ),
        ("[metrics.x]\nexpresion = \"isl\"", &["line 3", "unknown field `expresion`"]),
        ("[metrics.x]\nexpression = \"isl\"\nfile = \"a\"", &["cannot be combined with keys of a file"]),
        ("[metrics.ttft_ms]\nexpression = \"isl\"", &["has the name of a figure"]),
        ("[metrics.\"a b\"]\nexpression = \"isl\"", &["has a name that no metric can have"]),
    ] {
        metrics(&folder, definition, &[]).expect(2).complains(words);
        // The same file beside the results.
        folder.put("rows.csv", "environment,model,workload,repeat,ttft_ms\nnative,m,w,1,100\n");
        let ending = run_in(folder.path(), &["metrics", "."], &[]).expect(5);
        ending.complains(&["cannot use 'metrics.toml' as definitions of metrics"]);
    }
}

#[test]
fn hostile_definitions_end_with_a_message_and_lose_nothing() {
    let folder = Folder::new("metrics-hostile");
    let deep = format!("[metrics.x]\nexpression = \"{}isl{}\"", "(".repeat(100), ")".repeat(100));
    metrics(&folder, &deep, &[]).expect(2).complains(&["is nested too deeply"]);
    let huge = r"[metrics.x]
pattern = '((((((((((a{99}){99}){99}){99}){99}){99}){99}){99}){99}){99})'";
    metrics(&folder, huge, &[]).expect(2).complains(&["is not a regular expression"]);
    // What is only seen at a run makes the figure absent, with the reason, and leaves the others as they are.
    let ending = metrics(
        &folder,
        "[metrics.nought]\nexpression = \"ttft_ms / (isl - isl)\"\n[metrics.power]\nexpression = \"power(9, power(9, 9)) * ttft_ms\"\n\
         [metrics.slow]\nfile = \"stdout.log\"\npattern = '(x+x+)+y(.)'\n[metrics.fine]\nexpression = \"ttft_ms\"\n\
         [metrics.gone]\nfile = \"gone.json\"\npointer = \"/a\"\n[metrics.output]\ncommand = [\"sleep\", \"1000\"]\n",
        &[&vllm(), "--json"],
    )
    .expect(0);
    ending.complains(&[
        "metric 'nought' of 'vllm-cpu' is absent in all",
        "division by zero",
        "the result is not a finite number",
        "the pattern fits no line",
        "no file fits 'gone.json'",
        "its command was not run",
    ]);
    let list: Vec<Value> = serde_json::from_str(&ending.out).unwrap();
    assert_eq!(of(&list, "fine")["figures"], of(&list, "fine")["runs"]);
    assert_eq!(of(&list, "nought")["figures"], 0);
}

/// Results of a foreign tool in one folder, with what it does not know in further files.
fn foreign(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (environment, speed) in [("native", 100.0), ("docker", 110.0)] {
        for repeat in 1..=4 {
            let at = |file: &str| format!("in/{environment}/run{repeat}/{file}");
            let speed = speed + f64::from(repeat) * 0.1;
            folder.put(
                &at("result.json"),
                serde_json::to_string(&json!({
                    "environment": environment, "model": "m", "workload": "w", "repeat": repeat,
                    "metrics": {"ttft_ms": speed}, "quality": {"accuracy": 0.5 + 0.01 * f64::from(repeat), "scores": [1, 2, 3]}
                }))
                .unwrap(),
            );
            folder.put(&at("eval.csv"), "step,loss\n1,4.5\n2,3.5\n3,\n");
            folder.put(&at("train.log"), "loss=9.5\nstep done\nloss=1,234.5\n");
        }
    }
    folder
}

#[test]
fn files_beside_a_result_are_read_by_pointer_column_and_pattern() {
    let folder = foreign("metrics-files");
    folder.put("rows.csv", "environment,model,workload,repeat,ttft_ms\nnative,m,w,1,100\nnative,m,w,2,101\n");
    folder.put("in/metrics.toml", "not read: another folder is asked for");
    folder.put(
        "one/result.json",
        "{\"environment\": \"native\", \"metrics\": {\"ttft_ms\": 100}, \"quality\": {\"accuracy\": 0.75, \"scores\": [1, 2, 6]}}",
    );
    folder.put("one/eval.csv", "step,loss\n1,4.5\n2,3.5\n3,\n");
    folder.put("one/train.log", "loss=9.5\nstep done\nloss=1,234.5\n");
    folder.put("one/rows.csv", "environment,model,workload,repeat,ttft_ms\nnative,m,w,1,100\n");
    folder.put(
        "one/metrics.toml",
        "schema = \"sparkbench.metrics/1\"\n\
         [metrics.accuracy]\nfile = \"result.json\"\npointer = \"/quality/accuracy\"\nunit = \"%\"\n\
         [metrics.score]\nfile = \"result.json\"\npointer = \"/quality/scores\"\naggregate = \"max\"\n\
         [metrics.loss]\nfile = \"eval.csv\"\ncolumn = \"loss\"\n\
         [metrics.last_loss]\nfile = \"train.log\"\npattern = 'loss=(?<value>[0-9.,]+)'\n\
         [metrics.nowhere]\nfile = \"eval.csv\"\ncolumn = \"gain\"\n\
         [metrics.ratio]\nexpression = \"ttft_ms / 4\"\n",
    );
    let ending = run_in(folder.path(), &["metrics", "one", "--json"], &[]).expect(0);
    ending.complains(&["eval.csv: it has no column 'gain' among step, loss"]);
    let list: Vec<Value> = serde_json::from_str(&ending.out).unwrap();
    for (name, value) in [("accuracy", 0.75), ("score", 6.0), ("loss", 4.0), ("last_loss", 1234.5), ("ratio", 25.0)] {
        assert_eq!(of(&list, name)["max"].as_f64(), Some(value), "{name}");
    }
}

#[test]
fn two_campaigns_that_mean_different_things_are_never_compared() {
    let folder = Folder::new("metrics-apart");
    for (name, expression) in [("a", "ttft_ms / 2"), ("b", "ttft_ms / 3")] {
        folder.put(
            &format!("{name}/rows.csv"),
            "environment,model,workload,repeat,ttft_ms\nnative,m,w,1,100\nnative,m,w,2,101\ndocker,m,w,1,100\ndocker,m,w,2,101\n",
        );
        folder.put(
            &format!("{name}/labels.toml"),
            format!(
                "schema = \"sparkbench.labels/1\"\nname = \"{name}\"\nprimary = [\"half\"]\n[margins_pct]\nhalf = 3\n\
                 [metrics.half]\nexpression = \"{expression}\"\ndirection = \"lower_is_better\"\n"
            ),
        );
    }
    let ending = run_in(folder.path(), &["metrics", "a", "b", "--json"], &[]).expect(0);
    ending.complains(&["'half' is defined in several ways"]);
    let list: Vec<Value> = serde_json::from_str(&ending.out).unwrap();
    let names: Vec<&str> = list.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| name.starts_with("half__")) && names[0] != names[1], "{names:?}");
    let ending = run_in(folder.path(), &[&["compare", "a#native", "b#native"], &FEW[..]].concat(), &[]);
    ending.complains(&["'half' is defined differently in the sides and is not compared"]);
    // Each for itself keeps its name.
    let ending = run_in(folder.path(), &[&["compare", "a#native", "a#docker"], &FEW[..]].concat(), &[]);
    assert!(ending.out.contains("Half"), "{}\n{}", ending.out, ending.err);
}

#[test]
fn the_list_has_every_metric_with_unit_and_definition() {
    let folder = Folder::new("metrics-list");
    let ending = run_in(folder.path(), &["metrics"], &[]).expect(0);
    assert!(ending.out.lines().count() >= 23 && ending.out.contains("tpot_ms"), "{}", ending.out);
    let list: Vec<Value> =
        serde_json::from_str(&run_in(folder.path(), &["metrics", "--json"], &[]).expect(0).out).unwrap();
    assert!(list.iter().all(|one| !one["definition"].as_str().unwrap().is_empty() && one["unit"].is_string()));
    let functions = run_in(folder.path(), &["metrics", "--functions"], &[]).expect(0).out;
    for word in ["share(condition)", "histogram_quantile(q, \"name\")", "e2e_latency_ms", "convert(x, 'unit')", "batch"]
    {
        assert!(functions.contains(word), "{word} in {functions}");
    }
    let listed = metrics(&folder, "[metrics.mine]\nexpression = \"power_w / batch\"\n", &[]).expect(0);
    assert!(listed.out.contains("power_w / batch"), "{}", listed.out);
}
