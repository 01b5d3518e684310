//! Questions that people ask of a folder of result files: is FP8 faster than BF16, does the container cost anything, is it better after the
//! change? Each from bare files of another tool, and answered in the terminal, in `compare` and on the site.

#![cfg(feature = "analyse")]

use std::fs;
use std::path::Path;

use serde_json::Value;

#[path = "support/folder.rs"]
mod folder;
#[path = "support/program.rs"]
mod program;

use folder::Folder;
use program::{Ending, FEW, run_in};

/// A result of `vllm bench serve` as the program writes it: 300 requests of 4,000 and 500 tokens, 25 at a time.
fn served(model: &str, hour: usize, output_tok_s: f64) -> String {
    let duration = 150_317.0 / output_tok_s;
    // Times fall by less than rates rise, so that the one cannot be taken for the other.
    let ms = |at_188: f64| at_188 * (188.0 / output_tok_s).sqrt();
    format!(
        r#"{{"date": "20260807-{hour:02}0536", "endpoint_type": "openai-chat", "backend": "openai-chat", "label": null,
"model_id": "{model}", "tokenizer_id": "{model}", "num_prompts": 300, "request_rate": 1.5, "burstiness": 1.0, "max_concurrency": 25,
"duration": {duration}, "completed": 300, "failed": 0, "total_input_tokens": 1202858, "total_output_tokens": 150317,
"request_throughput": {}, "request_goodput": null, "output_throughput": {output_tok_s}, "total_token_throughput": {},
"mean_ttft_ms": {}, "median_ttft_ms": {}, "std_ttft_ms": 200.0, "p99_ttft_ms": {}, "mean_tpot_ms": {}, "median_tpot_ms": {},
"std_tpot_ms": 3.0, "p99_tpot_ms": {}, "mean_itl_ms": {}, "median_itl_ms": {}, "std_itl_ms": 5.0, "p99_itl_ms": {},
"mean_e2el_ms": {}, "median_e2el_ms": {}, "std_e2el_ms": 900.0, "p99_e2el_ms": {}}}"#,
        300.0 / duration,
        1_353_175.0 / duration,
        ms(1078.0),
        ms(1000.0),
        ms(2000.0),
        ms(126.0),
        ms(125.0),
        ms(140.0),
        ms(126.1),
        ms(120.0),
        ms(300.0),
        ms(64_000.0),
        ms(64_100.0),
        ms(70_000.0),
    )
}

/// Six runs of an arm in the given folder, one every two hours, around a rate.
fn arm(folder: &Folder, at: &str, model: &str, first: usize, output_tok_s: f64) {
    const SHAPE: [f64; 6] = [0.2, -0.7, 0.9, -0.4, 0.6, -0.6];
    for (k, off) in SHAPE.iter().enumerate() {
        let rate = output_tok_s * (1.0 + 0.003 * off);
        folder.put(&format!("{at}/take{k}.json"), served(model, first + 2 * k, rate));
    }
}

fn sparkbench(folder: &Folder, arguments: &[&str]) -> Ending {
    run_in(folder.path(), &[arguments, &FEW[..]].concat(), &[])
}

fn analysis(folder: &Folder) -> Value {
    let text = fs::read_to_string(folder.path().join("site/data/analysis.json")).expect("an analysis");
    serde_json::from_str(&text).expect("JSON")
}

/// The comparison of output throughput.
fn throughput(analysis: &Value) -> &Value {
    let all = analysis["comparisons"].as_array().expect("comparisons");
    all.iter().find(|c| c["metric"] == "output_throughput_tok_s").expect("a comparison")
}

fn front(folder: &Folder) -> String {
    fs::read_to_string(folder.path().join("site/index.html")).expect("a front page")
}

/// What stands between the tags of a page, each stretch of blanks one.
fn words(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for letter in html.chars() {
        match letter {
            '<' => inside = true,
            '>' => (inside, text) = (false, text + " "),
            _ if !inside => text.push(letter),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One run of each of two models that differ in nothing but their quantisation.
fn pair(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.put("results/bf16.json", served("org/Nano-30B-A3B-BF16", 3, 121.0));
    folder.put("results/fp8.json", served("org/Nano-30B-A3B-FP8", 6, 188.0));
    folder
}

const RATIO: &str = "fp8 is 1.55 times as fast as bf16, in one run each";

#[test]
fn fp8_or_bf16_is_answered_from_the_names_of_the_models() {
    let folder = pair("questions-quantisation");
    let ending = sparkbench(&folder, &["analyse", "results", "--site", "site"]).expect(0);
    ending.complains(&["Nothing is compared yet. To compare bf16 and fp8, add --compare-by quantisation."]);
    assert!(words(&front(&folder)).contains("add --compare-by quantisation"), "the front page says what to add");
    for option in ["quantisation", "quantization"] {
        let ending = sparkbench(&folder, &["analyse", "results", "--site", "site", "--compare-by", option]).expect(0);
        ending.complains(&[RATIO, "A single run does not show how much runs differ by themselves."]);
        assert!(!ending.err.contains("cannot be"), "what is compared is no reason: {}", ending.err);
    }
    let page = words(&front(&folder));
    for said in [RATIO, "Metric bf16 fp8 Ratio Change Output throughput tok/s 121 188 1.55 +55"] {
        assert!(page.contains(said), "'{said}' is not on the front page:\n{page}");
    }
    assert!(page.contains("A single run does not show how much runs differ by themselves."), "{page}");
    let analysis = analysis(&folder);
    let comparison = throughput(&analysis);
    assert_eq!((&comparison["baseline"], &comparison["candidate"]), (&"bf16".into(), &"fp8".into()));
    assert_eq!(comparison["verdict"]["kind"], "not_comparable", "one run each is no verdict");
    assert_eq!(comparison["verdict"]["reasons"][0], "N1");
    let ratio = comparison["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 188.0 / 121.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn models_that_are_compared_may_differ_in_all_that_follows_from_them() {
    let folder = Folder::new("questions-models");
    arm(&folder, "results/bf16", "org/Nano-30B-A3B-BF16", 0, 121.0);
    arm(&folder, "results/fp8", "org/Nano-30B-A3B-FP8", 1, 188.0);
    folder.put("results/labels.toml", "schema = \"sparkbench.labels/1\"\ncompare_by = \"model\"\n");
    sparkbench(&folder, &["analyse", "results", "--site", "site"])
        .expect(0)
        .complains(&["Nano-30B-A3B-FP8 is 1.55 times as fast as Nano-30B-A3B-BF16 (1.5"]);
    let analysis = analysis(&folder);
    let comparison = throughput(&analysis);
    assert_eq!(comparison["verdict"]["kind"], "faster");
    let caveats = comparison["verdict"]["caveats"].to_string();
    assert!(caveats.contains("the quantisation differs too: bf16 against fp8"), "{caveats}");
}

#[test]
fn two_files_are_compared_by_what_tells_them_apart() {
    let folder = pair("questions-files");
    let ending = sparkbench(&folder, &["compare", "results/bf16.json", "results/fp8.json"]).expect(6);
    for said in [RATIO, "in one run each (188 against 121 tok/s)", "A single run does not show"] {
        assert!(ending.out.contains(said), "'{said}' is not in:\n{}", ending.out);
    }
    assert_eq!(ending.out.matches("A single run does not show").count(), 1, "{}", ending.out);
    // Models of other names are compared as models.
    folder.put("results/other.json", served("org/Other-8B", 9, 242.0));
    let ending = sparkbench(&folder, &["compare", "results/bf16.json", "results/other.json"]).expect(6);
    assert!(ending.out.contains("other.json is 2.00 times as fast as bf16.json, in one run each"), "{}", ending.out);
}

#[test]
fn labels_override_what_a_file_says() {
    let folder = Folder::new("questions-set");
    folder.put("results/a.json", served("/models/snapshot-1", 3, 121.0));
    folder.put("results/b.json", served("/models/snapshot-2", 6, 188.0));
    folder.put(
        "results/labels.toml",
        "schema = \"sparkbench.labels/1\"\ncompare_by = \"quantisation\"\n\
         [[files]]\nglob = \"a.json\"\nset = { model = \"Nano-30B-bf16\" }\n\
         [[files]]\nglob = \"b.json\"\nset = { model = \"Nano-30B\", quantisation = \"fp8\" }\n",
    );
    let ending = sparkbench(&folder, &["analyse", "results", "--site", "site"]).expect(0);
    ending.complains(&[RATIO]);
    let analysis = analysis(&folder);
    assert_eq!(analysis["campaigns"][0]["models"], serde_json::json!(["Nano-30B"]));
    let inputs = analysis["inputs"].to_string();
    assert!(inputs.contains("set by a label: model 'Nano-30B-bf16' in place of 'snapshot-1'"), "{inputs}");
    folder.put(
        "results/labels.toml",
        "schema = \"sparkbench.labels/1\"\n[[files]]\nglob = \"*\"\nset = { glob = \"x\", model = \"m\" }\n",
    );
    let ending = sparkbench(&folder, &["analyse", "results", "--site", "site"]);
    assert!(ending.err.contains("files[0].set"), "{}", ending.err);
}

#[test]
fn folders_that_are_called_like_environments_are_compared() {
    let folder = Folder::new("questions-folders");
    for at in ["x", "deep"] {
        let below = if at == "deep" { "/c25" } else { "" };
        arm(&folder, &format!("{at}/native{below}"), "org/Nano-30B", 0, 180.0);
        arm(&folder, &format!("{at}/docker{below}"), "org/Nano-30B", 1, 187.2);
    }
    let said = "docker is 1.04 times as fast as native (1.0";
    for paths in [&["x"][..], &["deep"], &["x/native", "x/docker"]] {
        let arguments = [&["analyse"], paths, &["--site", "site"]].concat();
        sparkbench(&folder, &arguments).expect(0).complains(&[said]);
        let analysis = analysis(&folder);
        assert_eq!(analysis["campaigns"].as_array().map(Vec::len), Some(1), "{paths:?}");
        assert!(words(&front(&folder)).contains(said), "{paths:?}");
    }
    let ending = sparkbench(&folder, &["compare", "x/native", "x/docker"]).expect(0);
    assert!(ending.out.contains(said), "{}", ending.out);
}

#[test]
fn any_folders_are_arms_where_that_is_asked_and_the_option_is_named_where_not() {
    let folder = Folder::new("questions-arms");
    arm(&folder, "x/before", "org/Nano-30B", 0, 180.0);
    arm(&folder, "x/after", "org/Nano-30B", 1, 187.2);
    let hint = "To compare folders, add --arms-by-folder.";
    sparkbench(&folder, &["analyse", "x", "--site", "site"]).expect(0).complains(&[hint]);
    assert!(words(&front(&folder)).contains(hint));
    let said = "after is 1.04 times as fast as before (1.0";
    sparkbench(&folder, &["analyse", "x", "--site", "site", "--arms-by-folder"]).expect(0).complains(&[said]);
    assert!(analysis(&folder)["to_compare"].is_null());
    assert!(!words(&front(&folder)).contains(hint));
    // The site can be made again from what it says of itself.
    let ending = run_in(folder.path(), &["verify", "site", "--archive", "x"], &[]).expect(0);
    assert!(format!("{}{}", ending.out, ending.err).contains("are the same"), "{ending:?}");
    let ending = sparkbench(&folder, &["compare", "x/before", "x/after"]).expect(0);
    assert!(ending.out.contains(said), "{}", ending.out);
    // Folders that are named after engines or quantisations compare these, whatever the files say of them.
    let folder = Folder::new("questions-arms-by-quantisation");
    arm(&folder, "x/bf16", "org/Nano-30B-BF16", 0, 121.0);
    arm(&folder, "x/fp8", "org/Nano-30B-FP8", 1, 188.0);
    sparkbench(&folder, &["analyse", "x", "--site", "site", "--arms-by-folder"])
        .expect(0)
        .complains(&["fp8 is 1.55 times as fast as bf16 (1.5"]);
    // Whoever asks for folders asks for them whatever model lies in each.
    let folder = Folder::new("questions-arms-of-other-models");
    arm(&folder, "x/small", "org/Nano-8B", 0, 300.0);
    arm(&folder, "x/large", "org/Other-30B", 1, 150.0);
    sparkbench(&folder, &["analyse", "x", "--site", "site", "--arms-by-folder"])
        .expect(0)
        .complains(&["small is 2.00 times as fast as large (1.9"]);
}

#[test]
fn a_rate_that_rises_is_never_a_negative_overhead_on_any_page() {
    let folder = Folder::new("questions-change");
    arm(&folder, "x/native", "org/Nano-30B", 0, 100.0);
    arm(&folder, "x/docker", "org/Nano-30B", 1, 177.0);
    sparkbench(&folder, &["analyse", "x", "--site", "site"]).expect(0).complains(&["docker is 1.77 times as fast"]);
    let analysis = analysis(&folder);
    let comparison = throughput(&analysis);
    let number = |key: &str| comparison[key].as_f64().expect("a number");
    assert!((number("overhead_pct") + 43.5).abs() < 0.1, "the file keeps its contract: {comparison}");
    assert!((number("change_pct") - 77.0).abs() < 0.1, "{comparison}");
    let site = folder.path().join("site");
    let mut pages = 0;
    for entry in walk(&site) {
        let kind = entry.extension().and_then(|e| e.to_str()).unwrap_or_default().to_owned();
        let named = entry.strip_prefix(&site).expect("below the site").display().to_string();
        // The manual on the site says what an overhead is, and versions stand twice.
        let is_manual = ["method", "glossary", "v/"].iter().any(|start| named.starts_with(start));
        if !matches!(kind.as_str(), "html" | "md" | "svg") || is_manual {
            continue;
        }
        let text = words(&fs::read_to_string(&entry).expect("a page"));
        for wrong in ["−43.5", "-43.5", "Overhead", "overhead of", "43.5% faster"] {
            let at = text.find(wrong).map(|at| text[..at].chars().rev().take(60).collect::<Vec<_>>());
            let before: Option<String> = at.map(|letters| letters.into_iter().rev().collect());
            assert_eq!(before, None, "{named}: '{wrong}'");
        }
        pages += 1;
    }
    assert!(pages > 20, "{pages}");
    let campaign = words(&fs::read_to_string(site.join("c/x/index.html")).expect("a campaign"));
    assert!(campaign.contains("+77.0"), "{campaign}");
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { all.extend(walk(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

#[test]
fn every_comparison_of_the_campaigns_has_a_line_and_advice_asks_for_more_runs_than_there_are() {
    let folder = Folder::new("questions-lines");
    let data = program::repository().join("data");
    let data = data.to_str().expect("a path in words");
    let ending = sparkbench(&folder, &["analyse", data, "--site", "site", "--no-logs"]).expect(0);
    assert!(!ending.err.contains("below 20"), "caveats come on demand: {}", ending.err);
    let analysis = analysis(&folder);
    let mut undecided = 0;
    for c in analysis["comparisons"].as_array().expect("comparisons") {
        let said = c["verdict"]["said"].as_str().expect("a line");
        assert!(!said.is_empty() && !said.ends_with('.') && !said.contains(';'), "{said}");
        assert!(!said.contains('['), "intervals are read aloud: {said}");
        if let Some(runs) = c["runs_to_decide"].as_u64() {
            let there = c["n_baseline"].as_u64().max(c["n_candidate"].as_u64()).expect("runs");
            assert!(runs > there, "{said}: {runs} where there are {there}");
            undecided += 1;
        }
    }
    assert!(undecided > 0);
    let told = sparkbench(&folder, &["analyse", data, "--site", "site", "--no-logs", "--verbose"]).expect(0);
    assert!(told.err.contains("below 20"), "-v lists the caveats: {}", told.err);
}

/// Files of others, read where they are there and never committed.
#[test]
fn a_real_pair_of_fp8_and_bf16_gets_its_ratio() {
    let peers = program::repository().join("../shared/data/peers/vllm_bench_serve/djangodevreng__dgx-spark-benchmarks");
    let file = |name: &str| peers.join(format!("nemotron-3-nano-30b-a3b__{name}__10-monday-peak.json"));
    if !file("fp8").exists() {
        eprintln!("skipped: the files of others are not here");
        return;
    }
    let folder = Folder::new("questions-real");
    for name in ["bf16", "fp8"] {
        folder.put(&format!("results/{name}.json"), fs::read(file(name)).expect("a file"));
    }
    sparkbench(&folder, &["analyse", "results", "--site", "site", "--compare-by", "quantisation"])
        .expect(0)
        .complains(&[RATIO]);
    let ending = sparkbench(&folder, &["compare", "results/bf16.json", "results/fp8.json"]).expect(6);
    assert!(ending.out.contains("in one run each (188.2 against 121.1 tok/s)"), "{}", ending.out);
}
