//! Questions that people ask of a folder of result files: is FP8 faster than BF16, does the container cost anything, is it better after the
//! change? Each from bare files of another tool, and answered in the terminal, in `compare` and on the site.

#![cfg(feature = "analyse")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::program;
use crate::support::program::{Ending, FEW, run_in};

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
        folder.put(&format!("{at}/run{k}.json"), served(model, first + 2 * k, rate));
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
    ending.answers(&["fp8 is 1.55 times as fast as bf16"]);
    ending.complains(&["Compared by quantisation."]);
    for option in ["quantisation", "quantization"] {
        let ending = sparkbench(&folder, &["analyse", "results", "--site", "site", "--compare-by", option]).expect(0);
        ending.answers(&[RATIO, "A single run does not show how much runs differ by themselves."]);
        assert!(!ending.err.contains("cannot be"), "what is compared is not a reason: {}", ending.err);
    }
    let page = words(&front(&folder));
    for said in [RATIO, "Metric bf16 fp8 Ratio Change Output throughput tok/s 121 188 1.55 +55"] {
        assert!(page.contains(said), "'{said}' is not on the front page:\n{page}");
    }
    assert!(page.contains("A single run does not show how much runs differ by themselves."), "{page}");
    let analysis = analysis(&folder);
    let comparison = throughput(&analysis);
    assert_eq!((&comparison["baseline"], &comparison["candidate"]), (&"bf16".into(), &"fp8".into()));
    assert_eq!(comparison["verdict"]["kind"], "not_comparable", "one run each is not a verdict");
    assert_eq!(comparison["verdict"]["reasons"][0], "N1");
    let ratio = comparison["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 188.0 / 121.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn two_machines_are_two_questions_and_no_repeats() {
    // The arms are the same. One ran mostly on the slower machine, the other mostly on the faster.
    let folder = Folder::new("questions-machines");
    let mut rows = "environment,model,workload,started_utc,exit_code,output_throughput_tok_s,machine\n".to_owned();
    for k in 0..20 {
        let arm = ["native", "docker"][k % 2];
        let other = if arm == "native" { "one" } else { "two" };
        let machine = if k % 10 < 8 { other } else { ["two", "one"][k % 2] };
        let rate = if machine == "two" { 120.0 } else { 100.0 } + 0.3 * (k % 7) as f64;
        rows.push_str(&format!("{arm},m,w,2026-01-01T{:02}:{:02}:00Z,0,{rate},{machine}\n", k / 6, k % 6 * 10));
    }
    folder.put("runs.csv", rows);
    let ending = sparkbench(&folder, &["compare", "runs.csv", "--json"]);
    let report: Value = serde_json::from_str(&ending.out).expect("JSON");
    let comparisons = report["comparisons"].as_array().expect("comparisons");
    assert!(!comparisons.is_empty());
    for comparison in comparisons {
        let kind = comparison["verdict"]["kind"].as_str().expect("a kind");
        assert!(["equivalent", "inconclusive", "not_comparable"].contains(&kind), "{comparison}");
        assert!(comparison["n_baseline"].as_u64() < Some(10), "the runs of two machines are no repeats: {comparison}");
    }
}

#[test]
fn models_that_are_compared_may_differ_in_all_that_follows_from_them() {
    let folder = Folder::new("questions-models");
    arm(&folder, "results/bf16", "org/Nano-30B-A3B-BF16", 0, 121.0);
    arm(&folder, "results/fp8", "org/Nano-30B-A3B-FP8", 1, 188.0);
    folder.put("results/labels.toml", "schema = \"sparkbench.labels/1\"\ncompare_by = \"model\"\n");
    sparkbench(&folder, &["analyse", "results", "--site", "site"])
        .expect(0)
        .answers(&["Nano-30B-A3B-FP8 is 1.55 times as fast as Nano-30B-A3B-BF16 (1.5"]);
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
    ending.answers(&[RATIO]);
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
        sparkbench(&folder, &arguments).expect(0).answers(&[said]);
        let analysis = analysis(&folder);
        assert_eq!(analysis["campaigns"].as_array().map(Vec::len), Some(1), "{paths:?}");
        assert!(words(&front(&folder)).contains(said), "{paths:?}");
    }
    let ending = sparkbench(&folder, &["compare", "x/native", "x/docker"]).expect(0);
    assert!(ending.out.contains(said), "{}", ending.out);
}

#[test]
fn any_folders_are_compared_and_the_old_option_goes_on_working() {
    let folder = Folder::new("questions-arms");
    arm(&folder, "x/before", "org/Nano-30B", 0, 180.0);
    arm(&folder, "x/after", "org/Nano-30B", 1, 187.2);
    let said = "after is 1.04 times as fast as before (1.0";
    for more in [&[][..], &["--arms-by-folder"], &["--compare-by", "folder"]] {
        let arguments = [&["analyse", "x", "--site", "site"], more].concat();
        sparkbench(&folder, &arguments).expect(0).answers(&[said]);
    }
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
        .answers(&["fp8 is 1.55 times as fast as bf16 (1.5"]);
    // Whoever asks for folders asks for them whatever model lies in each.
    let folder = Folder::new("questions-arms-of-other-models");
    arm(&folder, "x/small", "org/Nano-8B", 0, 300.0);
    arm(&folder, "x/large", "org/Other-30B", 1, 150.0);
    sparkbench(&folder, &["analyse", "x", "--site", "site", "--arms-by-folder"])
        .expect(0)
        .answers(&["large is 0.50 times as fast as small (0.49"]);
}

#[test]
fn a_rate_that_rises_is_never_a_negative_overhead_on_any_page() {
    let folder = Folder::new("questions-change");
    arm(&folder, "x/native", "org/Nano-30B", 0, 100.0);
    arm(&folder, "x/docker", "org/Nano-30B", 1, 177.0);
    sparkbench(&folder, &["analyse", "x", "--site", "site"]).expect(0).answers(&["docker is 1.77 times as fast"]);
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
        let is_manual = ["docs/", "method", "glossary", "v/"].iter().any(|start| named.starts_with(start));
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
fn every_comparison_of_the_campaigns_has_a_line_and_a_promise_stands_in_it() {
    let folder = Folder::new("questions-lines");
    let studies = ["data/h200-chroot", "data/phase1"].map(|study| program::repository().join(study));
    let studies = studies.each_ref().map(|study| study.to_str().expect("a path in words"));
    let asked = [&["analyse"], &studies[..], &["--site", "site", "--no-logs"]].concat();
    let ending = sparkbench(&folder, &asked).expect(0);
    assert!(!ending.err.contains("below 20"), "caveats come on demand: {}", ending.err);
    let analysis = analysis(&folder);
    let mut undecided = 0;
    for c in analysis["comparisons"].as_array().expect("comparisons") {
        let said = c["verdict"]["said"].as_str().expect("a line");
        assert!(!said.is_empty() && !said.ends_with('.') && !said.contains(';'), "{said}");
        assert!(!said.contains('['), "intervals are read aloud: {said}");
        if let Some(blocks) = c["promise"]["blocks"].as_u64() {
            assert!(blocks > 0 && said.contains(&format!("{blocks} more ")), "{said}");
            undecided += 1;
        }
    }
    assert!(undecided > 0);
    let told = sparkbench(&folder, &[&asked[..], &["--verbose"]].concat()).expect(0);
    assert!(told.err.contains("below 20"), "-v lists the caveats: {}", told.err);
}

/// Of six intervals of 95 % one leaves zero out by chance in a quarter of all studies.
#[test]
fn an_interval_beside_zero_among_many_is_no_difference_that_the_rows_support() {
    let folder = Folder::new("questions-chance");
    let mut table = String::from("environment,model,workload,started_utc,output_throughput_tok_s\n");
    for workload in 0..6 {
        let more = if workload == 3 { 1.2 } else { 0.0 };
        for (k, off) in [0.0, 1.0, -1.0, 0.5, -0.5].into_iter().enumerate() {
            let rate = 100.0 + off;
            table += &format!("native,m,w{workload},2026-01-01T1{k}:{workload}0:00Z,{rate}\n");
            table += &format!("box,m,w{workload},2026-01-01T1{k}:{workload}5:00Z,{}\n", rate + more);
        }
    }
    folder.put("in/runs.csv", table);
    sparkbench(&folder, &["analyse", "in", "--site", "site", "--baseline", "native"]).expect(0);
    let analysis = analysis(&folder);
    let of = |workload: &str| {
        let all = analysis["comparisons"].as_array().expect("comparisons");
        all.iter()
            .find(|c| c["workload"] == workload && c["metric"] == "output_throughput_tok_s")
            .expect("a cell")
            .clone()
    };
    assert!(of("w3")["overhead_ci"]["high"].as_f64().is_some_and(|high| high < 0.0), "{}", of("w3"));
    assert!(of("w3")["p_adjusted"]["holm"].as_f64().is_some_and(|p| p > 0.05), "{}", of("w3"));
    let told = fs::read_to_string(folder.path().join("site/data/ANALYSIS.md")).expect("the report");
    assert!(told.contains("and none is shown after adjusting for 6 comparisons"), "{told}");
    assert!(!told.contains("more output throughput than native"), "{told}");
}

/// Three arms of which nothing is decided: one sentence for a metric, and it names them.
#[test]
fn a_sentence_on_undecided_cells_alone_names_the_arms() {
    let folder = Folder::new("questions-arms");
    let mut table = String::from("environment,model,workload,started_utc,output_throughput_tok_s\n");
    for workload in 0..4 {
        for (k, off) in [0.0, 9.0, -9.0].into_iter().enumerate() {
            for (place, arm) in ["native", "box", "jail"].into_iter().enumerate() {
                let rate = 100.0 + off * (1.0 + 0.1 * place as f64);
                table += &format!("{arm},m,w{workload},2026-01-01T1{k}:{workload}{place}:00Z,{rate}\n");
            }
        }
    }
    folder.put("in/runs.csv", table);
    let ending = sparkbench(&folder, &["analyse", "in", "--site", "site", "--baseline", "native", "-v"]).expect(0);
    ending.answers(&[
        "No loss is shown between native and box or jail over all 4 loads. Losses in output throughput up to ",
        "Output throughput: all 8 comparisons are undecided between native and each of box and jail: ",
    ]);
}

#[test]
fn an_answer_names_what_differs_most_and_every_other_once() {
    let folder = Folder::new("questions-answer");
    let table = |rates: &[(&str, f64)]| {
        let mut table = String::from("environment,model,workload,started_utc,output_throughput_tok_s\n");
        for workload in 0..2 {
            for k in 0..6 {
                for (place, (arm, rate)) in rates.iter().enumerate() {
                    let rate = rate * (1.0 + 0.001 * f64::from(k % 3));
                    table += &format!("{arm},m,w{workload},2026-01-01T1{k}:{workload}{place}:00Z,{rate}\n");
                }
            }
        }
        table
    };
    let answer = |rates: &[(&str, f64)]| {
        folder.put("in/runs.csv", table(rates));
        sparkbench(&folder, &["analyse", "in", "--site", "site", "--baseline", "native"]).expect(0);
        analysis(&folder)["campaigns"][0]["answer"].as_str().expect("an answer").to_owned()
    };
    let said = answer(&[("native", 100.0), ("box", 60.0), ("jail", 80.0)]);
    assert_eq!(
        said,
        "Output throughput over both loads: box is 0.60 times as fast as native (0.599 to 0.601), and jail differs too."
    );
    let said = answer(&[("native", 100.0), ("box", 100.0), ("jail", 100.0)]);
    assert_eq!(
        said,
        "No difference in output throughput larger than 2 % between native and box or jail over both loads."
    );
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
        .answers(&[RATIO]);
    let ending = sparkbench(&folder, &["compare", "results/bf16.json", "results/fp8.json"]).expect(6);
    assert!(ending.out.contains("in one run each (188.2 against 121.1 tok/s)"), "{}", ending.out);
}

#[test]
fn a_folder_with_one_run_shows_its_figures_and_what_would_make_a_comparison_possible() {
    let folder = Folder::new("questions-one-run");
    folder.put("results/take.json", served("org/Nano-30B-A3B-FP8", 3, 188.0));
    // 300 requests in 800 s are fewer than the 1.5 a second that were asked for.
    let said = "Nano-30B-A3B-FP8 falls behind with 4010 tokens in and 501 out at 1.5 requests a second, at most 25 at a time: its output \
                throughput is 188 tok/s there.";
    sparkbench(&folder, &["analyse", "results", "--site", "site"]).expect(0).answers(&[said]);
    let page = words(&front(&folder));
    let row = "Nano-30B-A3B-FP8 fp8 4 010 in, 501 out at most 25, 1.5 req/s 188 one run 1 078 126";
    for said in [said, "Model Asked for Output throughput tok/s TTFT ms TPOT ms", row, "all runs are of one setting"] {
        assert!(page.contains(said), "'{said}' is not on the front page:\n{page}");
    }
    assert!(!page.contains("Cost USD"), "no machine is named, so nothing has a price");
    let analysis = analysis(&folder);
    let rows = analysis["campaigns"][0]["measured"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["figures"][1]["metric"], &rows[0]["figures"][1]["mean"]), (&"ttft_ms".into(), &1078.0.into()));
    assert_eq!(rows[0]["usd_per_million_output"], Value::Null);
}

#[test]
fn a_sweep_over_concurrency_has_its_chart_on_the_front_page_and_the_best_load_is_marked() {
    let folder = Folder::new("questions-sweep");
    for (hour, concurrency, rate) in [(1, 4, 90.0), (3, 16, 260.0), (5, 64, 210.0)] {
        let text =
            served("org/Nano-30B-A3B-FP8", hour, rate).replace(r#""request_rate": 1.5"#, r#""request_rate": "inf""#);
        let limit = format!(r#""max_concurrency": {concurrency}"#);
        folder.put(&format!("results/c{concurrency}.json"), text.replace(r#""max_concurrency": 25"#, &limit));
    }
    sparkbench(&folder, &["analyse", "results", "--site", "site"]).expect(0);
    let html = front(&folder);
    let page = words(&html);
    for said in ["grows up to 16 users: from 90 for 4 users to 260 tok/s", "against load", "260 one run, best of 3"] {
        assert!(page.contains(said), "'{said}' is not on the front page:\n{page}");
    }
    let (head, _) = html.split_once("What could mislead").expect("the caveats");
    assert!(head.contains("<svg"), "the chart stands with the figures");
    let all = analysis(&folder);
    let best: Vec<&Value> = all["campaigns"][0]["measured"].as_array().unwrap().iter().map(|r| &r["best_of"]).collect();
    assert_eq!(best, [&Value::Null, &3.into(), &Value::Null]);
}

#[test]
fn where_anything_is_compared_the_front_page_shows_the_verdicts_and_no_table_of_single_figures() {
    let folder = pair("questions-compared");
    sparkbench(&folder, &["analyse", "results", "--site", "site", "--compare-by", "quantisation"]).expect(0);
    assert_eq!(analysis(&folder)["campaigns"][0].get("measured"), None);
    assert!(!front(&folder).contains("c-results-measured"));
}

/// A campaign whose suite states what it expects, over arms in folders.
const EXPECTED: &str = r#"{"schema": "sparkbench.campaign/1", "name": "costs", "baseline": "native", "hypotheses": [
{"claim": "Docker costs a third of the throughput.", "metric": "output_throughput_tok_s", "candidate": "docker", "expect": "slower"},
{"claim": "A chroot is as fast as native", "metric": "output_throughput_tok_s", "candidate": "chroot", "expect": "faster"},
{"claim": "nspawn costs nothing.", "metric": "output_throughput_tok_s", "candidate": "nspawn", "expect": "equivalent", "margin_pct": 3.0}]}"#;

#[test]
fn what_was_expected_leads_the_site_with_what_was_found() {
    let folder = Folder::new("questions-hypotheses");
    arm(&folder, "results/native", "org/Nano-30B-A3B-FP8", 0, 188.0);
    arm(&folder, "results/docker", "org/Nano-30B-A3B-FP8", 1, 121.0);
    arm(&folder, "results/chroot", "org/Nano-30B-A3B-FP8", 13, 187.9);
    folder.put("results/campaign.json", EXPECTED);
    let told = "\u{201c}Docker costs a third of the throughput.\u{201d} This holds. Output throughput: docker is 0.64 times as fast as native";
    let answer = "Output throughput: docker is 0.64 times as fast as native";
    sparkbench(&folder, &["analyse", "results", "--site", "site", "-v"]).expect(0).answers(&[answer, told]);
    let campaign = &analysis(&folder)["campaigns"][0];
    assert!(campaign["headline"][0]["text"].as_str().unwrap().starts_with(told), "{}", campaign["headline"]);
    let outcomes: Vec<&Value> = campaign["hypotheses"].as_array().unwrap().iter().map(|h| &h["outcome"]).collect();
    assert_eq!(outcomes, ["holds", "does_not_hold", "not_measured"]);
    assert_eq!(
        campaign["margins_pct"]["output_throughput_tok_s"], 3.0,
        "the margin of a hypothesis is that of its metric"
    );
    // The pair that a claim speaks about is told once.
    let again = campaign["headline"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|s| s["text"].as_str().unwrap().contains("docker is 0.64"));
    assert_eq!(again.count(), 1, "{}", campaign["headline"]);
    let counted = "Of 3 expectations, 1 holds, 1 does not hold and 1 was not measured.";
    assert!(
        words(&front(&folder)).contains(counted),
        "the front page counts, and the page of the campaign has the table"
    );
    for page in ["c/costs/index.html"] {
        let html = fs::read_to_string(folder.path().join("site").join(page)).expect(page);
        let (_, main) = html.split_once("<main").expect("a page");
        let text = words(main);
        let (mut from, mut rest) = (0, text.as_str());
        for said in [
            answer,
            "Claim Outcome Found Expected",
            "Docker costs a third of the throughput. \u{2713} holds",
            "docker slower than native in output throughput.",
            "A chroot is as fast as native \u{d7} does not hold",
            "chroot faster than native in output throughput.",
            "\u{25cb} not measured No run of this campaign speaks about it.",
            "No difference in output throughput between native and nspawn beyond 3 %.",
            "What could mislead",
        ] {
            let at = rest.find(said).unwrap_or_else(|| panic!("'{said}' is not on {page} in its place"));
            from += at;
            rest = &text[from..];
        }
    }
}

#[test]
fn traps_that_few_runs_trip_by_themselves_are_one_line_and_what_is_particular_comes_first() {
    let folder = Folder::new("questions-general-traps");
    arm(&folder, "results/native", "org/Nano-30B-A3B-FP8", 0, 188.0);
    arm(&folder, "results/docker", "org/Nano-30B-A3B-FP8", 13, 121.0);
    sparkbench(&folder, &["analyse", "results", "--site", "site"]).expect(0);
    let page = |path: &str| {
        let html = fs::read_to_string(folder.path().join("site").join(path)).expect(path);
        let (_, main) = html.split_once("<main").expect("a page");
        (words(main), main.to_owned())
    };
    let (text, main) = page("c/results/index.html");
    let line = "3 more checks found only that there are few runs, requests or machines (3 findings)";
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("'{what}' is not on the page"));
    // The order of the arms is particular to these data, and nothing of the general ones is lost.
    assert!(at("! warning Environments run one after the other") < at(line));
    for general in ["Few runs", "Percentiles of too few requests", "An outlier rule that cannot fire"] {
        assert!(text[at(line)..].contains(general), "{general}");
        assert!(!text[at("What could mislead")..at(line)].contains(general), "{general}");
    }
    assert!(main.contains("traps/index.html#small-n"), "each leads to its place");
    // The front page has the three that could change the answer, the open cause first, and one line for all.
    let (text, main) = page("index.html");
    let (_, beware) = text.split_once("What could mislead").expect("the caveats");
    let (beware, _) = beware.split_once("Which ones").expect("the line of all checks");
    assert!(beware.trim_start().starts_with("! warning Environments run one after the other"), "{beware}");
    assert!(beware.contains(" checks: ") && beware.contains(" found something, "), "{beware}");
    assert!(main.matches("class=\"chip\"").count() <= 3, "{beware}");
}

/// The archive of the fixture, with a suite that names no model.
fn without_a_model(folder: &Folder, served: bool) {
    let from = program::repository().join("tests/fixtures/ingest/collected");
    let none = |text: String| text.replace(r#""model": "m""#, r#""model": "none""#);
    let campaign = fs::read_to_string(from.join("campaign.json")).unwrap();
    let mut models: Value = serde_json::from_str(&none(campaign)).unwrap();
    // As `load --archive` lists it.
    models["models"] = serde_json::json!({ "none": { "id": null, "title": null } });
    folder.put("arch/campaign.json", models.to_string());
    let run = none(fs::read_to_string(from.join("runs/b1-native-m-matrix/run.json")).unwrap());
    let mut run: Value = serde_json::from_str(&run).unwrap();
    if !served {
        run["asked"]["model_id"] = Value::Null;
        run["seen"]["model_id"] = Value::Null;
    }
    folder.put("arch/runs/b1-native-m-matrix/run.json", run.to_string());
    for file in ["stdout.log", "work/engine.log", "work/requests.jsonl"] {
        let file = format!("runs/b1-native-m-matrix/{file}");
        folder.put(&format!("arch/{file}"), fs::read(from.join(&file)).unwrap());
    }
}

#[test]
fn no_page_is_called_none_where_a_suite_names_no_model() {
    for (served, name, page) in [(true, "m", "m/m/index.html"), (false, "matrix", "m/matrix/index.html")] {
        let folder = Folder::new(&format!("questions-no-model-{name}"));
        without_a_model(&folder, served);
        sparkbench(&folder, &["analyse", "arch", "--site", "site"]).expect(0);
        let all = analysis(&folder);
        let models: Vec<&Value> = all["runs"].as_array().unwrap().iter().map(|run| &run["model"]).collect();
        assert!(!models.is_empty() && models.iter().all(|model| *model == name), "{models:?}");
        assert!(folder.path().join("site").join(page).is_file(), "{page}");
        assert!(!folder.path().join("site/m/none").exists());
        let html = fs::read_to_string(folder.path().join("site").join(page)).unwrap();
        assert!(html.contains(&format!("<h1 class=\"run\">{name}</h1>")), "the heading of {page}");
    }
}
