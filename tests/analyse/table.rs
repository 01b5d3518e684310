//! The verb `table`: rows and columns as other programs get them, what is chosen, and the programs of `docs/table.md`.

#![cfg(feature = "analyse")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use polars_io::{SerReader as _, prelude::ParquetReader};
use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::{Ending, repository, run_in};

/// Results of two precisions at three concurrencies, one run of which failed.
fn results(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.put("results/runs.csv", std::fs::read(repository().join("tests/fixtures/table/runs.csv")).unwrap());
    folder
}

fn table(folder: &Folder, more: &[&str]) -> Ending {
    run_in(folder.path(), &[&["table", "results"], more].concat(), &[])
}

/// Rows of a CSV, each by the names of its columns.
fn rows(text: &str) -> Vec<Vec<(String, String)>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_owned);
        names.iter().map(|name| (*name).to_owned()).zip(cells).collect()
    };
    lines.map(row).collect()
}

fn cell<'r>(row: &'r [(String, String)], name: &str) -> &'r str {
    &row.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no {name} in {row:?}")).1
}

#[test]
fn a_run_is_a_row_with_its_labels_settings_metrics_and_source() {
    let folder = results("table-runs");
    let ending = table(&folder, &[]).expect(0);
    let all = rows(&ending.out);
    assert_eq!(all.len(), 18);
    let names: Vec<&str> = all[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[..9],
        ["id", "campaign", "cell", "status", "started_utc", "environment", "model", "workload", "launch"]
    );
    assert_eq!(names[names.len() - 3..], ["source_path", "source_format", "source_sha256"]);
    let first = &all[0];
    for (name, value) in [
        ("status", "done"),
        ("started_utc", "2026-02-03T09:00:00Z"),
        ("environment", "native"),
        ("engine", "vllm"),
        ("quantisation", "bf16"),
        ("concurrency", "1"),
        ("output_throughput_tok_s", "20.1"),
        ("ttft_ms_p99", "61"),
        ("source_path", "runs.csv"),
        ("source_format", "table"),
        ("launch", ""),
    ] {
        assert_eq!(cell(first, name), value, "{name}");
    }
    let failed: Vec<&str> =
        all.iter().filter(|row| cell(row, "status") == "failed").map(|row| cell(row, "quantisation")).collect();
    assert_eq!(failed, ["fp8"]);
    // The same bytes each time.
    assert_eq!(table(&folder, &[]).expect(0).out, ending.out);
}

#[test]
fn the_three_forms_hold_the_same_and_the_name_of_a_file_says_which() {
    let folder = results("table-forms");
    let csv = table(&folder, &[]).expect(0).out;
    table(&folder, &["-o", "runs.csv"]).expect(0).complains(&["18 rows in runs.csv"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("runs.csv")).unwrap(), csv);
    table(&folder, &["-o", "runs.jsonl"]).expect(0);
    let lines = std::fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    assert_eq!(table(&folder, &["--format", "jsonl"]).expect(0).out, lines);
    let objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    table(&folder, &["-o", "runs.parquet"]).expect(0);
    let file = std::fs::File::open(folder.path().join("runs.parquet")).unwrap();
    let frame = ParquetReader::new(file).finish().unwrap();
    let all = rows(&csv);
    assert_eq!((all.len(), objects.len(), frame.height()), (18, 18, 18));
    for (at, (row, object)) in all.iter().zip(&objects).enumerate() {
        for (name, text) in row {
            let value = &object[name.as_str()];
            let said = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            assert_eq!(&said, text, "{name} of row {at}");
            let column = frame.column(name).unwrap();
            let written = match column.dtype().to_string().as_str() {
                "str" => column.str().unwrap().get(at).unwrap_or_default().to_owned(),
                "i64" => column.i64().unwrap().get(at).map(|number| number.to_string()).unwrap_or_default(),
                _ => column.f64().unwrap().get(at).map(|number| number.to_string()).unwrap_or_default(),
            };
            assert_eq!(&written, text, "{name} of row {at}");
        }
    }
    assert!(objects[0]["concurrency"].is_i64() && objects[0]["launch"].is_null(), "{}", objects[0]);
    // What is in a file of an unknown form nobody can say.
    table(&folder, &["-o", "runs.xls"]).expect(2).complains(&["--format"]);
    table(&folder, &["-o", "runs.xls", "--format", "csv"]).expect(0);
}

#[test]
fn conditions_keep_runs_by_any_name_of_a_setting() {
    let folder = results("table-where");
    let ids = |more: &[&str]| rows(&table(&folder, more).expect(0).out).len();
    assert_eq!(ids(&["--where", "quantisation=fp8"]), 9);
    assert_eq!(ids(&["--where", "quantization=FP8"]), 9, "a synonym, and capitals");
    assert_eq!(ids(&["--where", "concurrency=1,8.0"]), 12);
    assert_eq!(ids(&["--where", "concurrency!=1,8"]), 6);
    assert_eq!(ids(&["--where", "concurrency=32", "--where", "status!=failed", "--where", "quantisation=fp8"]), 2);
    let none = table(&folder, &["--where", "status=failed", "--where", "quantisation=bf16"]).expect(0);
    none.complains(&["no run is left"]);
    assert_eq!(none.out.lines().count(), 1, "{}", none.out);
}

#[test]
fn what_there_is_not_is_named_with_the_nearest_and_with_all_that_there_is() {
    let folder = results("table-wrong");
    for (more, words) in [
        (["--where", "quantsation=fp8"], &["'quantisation'", "the settings are: id, campaign", "--columns '?'"][..]),
        (["--where", "quantisation=fp9"], &["no run has quantisation = 'fp9'", "bf16, fp8", "did you mean 'fp8'"]),
        (["--where", "quantisation"], &["has no '='"]),
        (["--where", "quantisation="], &["lacks a setting or a level"]),
        (["--columns", "ttft_ms_p9"], &["'ttft_ms_p99'", "the columns are: id"]),
        (["--columns", "output"], &["'output_throughput_tok_s'"]),
        (["--group", "concurency"], &["'concurrency'"]),
        (["--group", "ttft_ms_p99"], &["it is a metric"]),
    ] {
        table(&folder, &more).expect(2).complains(words);
    }
    let list = table(&folder, &["--columns", "?"]).expect(0).out;
    for words in ["concurrency", "integer", "tok/s", "Time to first token, p99", "started_utc"] {
        assert!(list.contains(words), "{words} is not in\n{list}");
    }
}

#[test]
fn columns_come_in_the_order_in_which_they_are_named() {
    let folder = results("table-columns");
    let out = table(&folder, &["--columns", "ttft_ms_p99,quantization,id,ttft_ms_p99"]).expect(0).out;
    assert!(out.starts_with("ttft_ms_p99,quantisation,id\n61,bf16,"), "{out}");
}

#[test]
fn a_group_has_the_mean_n_and_the_interval_of_its_runs_without_the_failed_one() {
    let folder = results("table-group");
    let columns = ["--columns", "output_throughput_tok_s"];
    let ending = table(&folder, &[&["--group", "quantisation,concurrency"], &columns[..]].concat()).expect(0);
    ending.complains(&["1 failed run left out of the groups"]);
    assert!(!ending.err.contains("several levels"), "{}", ending.err);
    let all = rows(&ending.out);
    let keys: Vec<(&str, &str)> = all.iter().map(|row| (cell(row, "quantisation"), cell(row, "concurrency"))).collect();
    assert_eq!(keys, [("bf16", "1"), ("bf16", "8"), ("bf16", "32"), ("fp8", "1"), ("fp8", "8"), ("fp8", "32")]);
    let number =
        |row: usize, end: &str| -> f64 { cell(&all[row], &format!("output_throughput_tok_s_{end}")).parse().unwrap() };
    // 20.1, 19.8 and 20.5. Student's t at 97.5 % with two degrees of freedom is 4.3027.
    let sd = 0.351_188_458;
    assert_eq!((number(0, "n"), number(5, "n")), (3.0, 2.0));
    assert!((number(0, "mean") - 60.4 / 3.0).abs() < 1e-9);
    assert!((number(0, "sd") - sd).abs() < 1e-8);
    assert!((number(0, "half_width") - 4.302_652_73 * sd / 3.0_f64.sqrt()).abs() < 1e-7);
    // A mean over what somebody chose is told.
    let pooled = table(&folder, &[&["--group", "quantisation"], &columns[..]].concat()).expect(0);
    pooled.complains(&["several levels of concurrency (1, 8, 32)", "--group", "--where"]);
    // For people the mean and its interval stand in one cell.
    let text = table(&folder, &["--group", "quantisation", "--where", "concurrency=1", "--format", "text"]).expect(0);
    assert!(text.out.contains("20.133 ± 0.8724"), "{}", text.out);
}

#[test]
fn people_get_what_tells_rows_apart_and_once_what_all_share() {
    let folder = results("table-text");
    let text = table(&folder, &["--format", "text", "--where", "status!=failed"]).expect(0).out;
    assert!(
        text.starts_with("in 17 rows: campaign results, status done, environment native, model qwen3-8b,"),
        "{text}"
    );
    let table = text.split("\n\n").nth(1).unwrap();
    let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert!(head.contains(&"quantisation") && head.contains(&"output_throughput_tok_s"), "{text}");
    assert!(!head.contains(&"engine") && !head.contains(&"source_sha256"), "{text}");
    assert!(table.lines().last().unwrap().starts_with("17 rows"), "{text}");
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{text}");
}

#[test]
fn a_table_is_not_put_among_the_results_that_it_is_made_of() {
    let folder = results("table-inside");
    for place in ["results/table.csv", "results/deep/table.parquet", "results/runs.csv", "./results/../results/x.csv"] {
        table(&folder, &["-o", place]).expect(2).complains(&["lies in 'results'", "outside"]);
    }
    assert_eq!(std::fs::read_dir(folder.path().join("results")).unwrap().count(), 1);
    table(&folder, &["-o", "deep/table.csv"]).expect(0);
    assert!(folder.path().join("deep/table.csv").exists());
}

#[test]
fn a_request_is_a_row_and_its_run_is_the_id_of_a_row_of_runs() {
    let folder = Folder::new("table-requests");
    let detailed = repository().join("tests/fixtures/ingest/formats/vllm-bench-serve/0.33.0/full.json");
    let bytes = std::fs::read(detailed).unwrap();
    folder.put("results/one.json", &bytes);
    let source: Value = serde_json::from_slice(&bytes).unwrap();
    let runs = rows(&table(&folder, &[]).expect(0).out);
    let all = rows(&table(&folder, &["--requests"]).expect(0).out);
    let names: Vec<&str> = all[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..3], ["campaign", "run", "request"]);
    assert!(!names.contains(&"itl_ms"), "{names:?}");
    // Two of the requests were refused.
    assert_eq!(all.len(), source["completed"].as_u64().unwrap() as usize);
    let id = cell(&runs[0], "id");
    assert!(all.iter().enumerate().all(|(at, row)| cell(row, "run") == id && cell(row, "request") == at.to_string()));
    let mean = all.iter().map(|row| cell(row, "ttft_ms").parse::<f64>().unwrap()).sum::<f64>() / all.len() as f64;
    assert!((mean - source["mean_ttft_ms"].as_f64().unwrap()).abs() < 1e-6, "{mean}");
    let chosen = table(&folder, &["--requests", "--columns", "run,ttft_ms", "--where", "model!=nobody"]);
    chosen.expect(2).complains(&["no run has model = 'nobody'"]);
    let chosen = table(&folder, &["--requests", "--columns", "ttft_ms,run"]).expect(0).out;
    assert!(chosen.starts_with("ttft_ms,run\n"), "{chosen}");
    table(&folder, &["--requests", "--group", "model"]).expect(2);
}

#[test]
fn runs_without_requests_give_a_head_and_a_word() {
    let folder = results("table-no-requests");
    let ending = table(&folder, &["--requests"]).expect(0);
    ending.complains(&["no run has figures of single requests"]);
    assert_eq!(ending.out, "campaign,run,request\n");
}

#[test]
fn names_stay_as_they_were_read_unless_they_are_to_be_scrubbed() {
    let folder = Folder::new("table-scrub");
    folder.put(
        "results/runs.csv",
        "environment,model,machine,ttft_ms\nnative,m,/home/annabel/gb10,12\nnative,m,/home/annabel/gb10,13\n",
    );
    let plain = table(&folder, &[]).expect(0);
    assert!(plain.out.contains("annabel"), "{}", plain.out);
    let scrubbed = table(&folder, &["--scrub"]).expect(0);
    assert!(!scrubbed.out.contains("annabel") && !scrubbed.err.contains("annabel"), "{}", scrubbed.out);
    scrubbed.complains(&["replaced user names 4"]);
    let site = ["analyse", "results", "--site", "site", "--resamples", "999"];
    run_in(folder.path(), &site, &[]).expect(0);
    let published = std::fs::read_to_string(folder.path().join("site/data/analysis.json")).unwrap();
    let gpu = rows(&scrubbed.out)[0].iter().find(|(name, _)| name == "gpu").unwrap().1.clone();
    assert!(published.contains(&gpu), "{gpu} is not the pseudonym of the site");
}

#[test]
fn what_a_spreadsheet_would_run_is_neutral_in_csv_and_as_it_was_in_json() {
    let folder = Folder::new("table-formula");
    folder.put("results/runs.csv", "environment,model,ttft_ms\nnative,=1+1,12\n");
    let csv = table(&folder, &["--columns", "model"]).expect(0).out;
    assert_eq!(csv, "model\n'=1+1\n");
    let json = table(&folder, &["--columns", "model", "--format", "jsonl"]).expect(0).out;
    assert_eq!(json, "{\"model\":\"=1+1\"}\n");
    let text = "environment,model,ttft_ms\nnative,\"a\u{1b}[2Jb\",12\n";
    folder.put("results/runs.csv", text);
    let shown = table(&folder, &["--columns", "model", "--format", "text"]).expect(0).out;
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

/// Blocks of the page, each with its kind.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).map(|(kind, text)| (kind, text.trim_end())).collect()
}

/// A Python that has what the page is written for.
fn python() -> Option<String> {
    let python = std::env::var("SPARKBENCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import duckdb, pandas, polars, pyarrow"]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    needs::skip(
        "no Python with pandas, Polars and DuckDB. `pip install -r .ci/notebooks.txt`, and name it with SPARKBENCH_PYTHON",
    );
    None
}

fn ran(python: &str, program: &str, folder: &Path) -> String {
    let mut child = Command::new(python)
        .arg("-")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let ending = Ending::of(child).expect(0);
    ending.out.trim_end().to_owned()
}

/// Issue 32: "A page of the manual shows one question in each of pandas, Polars and DuckDB, and a test runs them."
#[test]
fn the_programs_of_the_page_give_the_answer_that_it_shows() {
    let page = std::fs::read_to_string(repository().join("docs/table.md")).unwrap();
    let folder = results("table-page");
    let blocks = blocks(&page);
    let commands: Vec<&str> =
        blocks.iter().filter(|(kind, _)| *kind == "sh").flat_map(|(_, text)| text.lines()).collect();
    let mut printed = Vec::new();
    for command in commands {
        let words: Vec<&str> = command.split(" #").next().unwrap_or_default().split_whitespace().collect();
        let words: Vec<&str> = words.into_iter().map(|word| word.trim_matches('\'')).collect();
        let (program, arguments) = words.split_first().unwrap();
        assert_eq!(*program, "sparkbench", "{command}");
        printed.push(run_in(folder.path(), arguments, &[]).expect(0).out.trim_end().to_owned());
    }
    let answers: Vec<&str> = blocks.iter().filter(|(kind, _)| *kind == "text").map(|(_, text)| *text).collect();
    let [answer, shown] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(printed.iter().any(|printed| printed == shown), "the page shows\n{shown}\nand the program\n{printed:#?}");
    let programs: Vec<&str> = blocks.iter().filter(|(kind, _)| *kind == "python").map(|(_, text)| *text).collect();
    for name in ["import pandas", "import polars", "import duckdb"] {
        assert_eq!(programs.iter().filter(|program| program.contains(name)).count(), 1, "{name}");
    }
    let Some(python) = python() else { return };
    for program in programs {
        assert_eq!(ran(&python, program, folder.path()), *answer, "{program}");
    }
}

#[test]
fn requests_in_many_row_groups_are_read_by_other_programs() {
    let folder = Folder::new("table-groups");
    // Half a row group each.
    let requests = 1 << 16;
    for run in 0..3 {
        let ttfts: Vec<String> = (0..requests).map(|k| format!("0.{:03}", (k + run) % 1000 + 1)).collect();
        let list = |value: &str| vec![value; requests].join(",");
        folder.put(
            &format!("results/run{run}.json"),
            format!(
                "{{\"date\": \"20260201-10000{run}\", \"backend\": \"vllm\", \"model_id\": \"m\", \"num_prompts\": {requests}, \
                 \"max_concurrency\": {}, \"duration\": 9.0, \"completed\": {requests}, \"mean_ttft_ms\": 500.5, \"request_throughput\": 9.0, \
                 \"output_throughput\": 9.0, \"ttfts\": [{}], \"itls\": [{}], \"input_lens\": [{}], \"output_lens\": [{}], \"errors\": [{}]}}",
                run + 1,
                ttfts.join(","),
                list("[0.01]"),
                list("8"),
                list("2"),
                list("\"\""),
            ),
        );
    }
    table(&folder, &["--requests", "-o", "requests.parquet"]).expect(0);
    let file = std::fs::File::open(folder.path().join("requests.parquet")).unwrap();
    let mut reader = ParquetReader::new(file);
    let groups: Vec<usize> = reader.get_metadata().unwrap().row_groups.iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [2 * requests, requests]);
    let Some(python) = python() else { return };
    let program = "import duckdb, pandas, polars\n\
        print(duckdb.sql(\"select count(*), count(distinct run), max(request) from 'requests.parquet'\").fetchall()[0])\n\
        print(polars.read_parquet('requests.parquet').shape[0], round(pandas.read_parquet('requests.parquet').ttft_ms.mean(), 3))\n";
    let wanted = format!("({}, 3, {})\n{} ", 3 * requests, requests - 1, 3 * requests);
    let said = ran(&python, program, folder.path());
    assert!(said.starts_with(&wanted), "{said}");
}
