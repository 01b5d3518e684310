//! Whatever lies in an archive: the bad part is named, the rest is analysed, nothing panics.

use std::path::PathBuf;

use sparkbench::archive;
use sparkbench::error::Kind;
use sparkbench::ingest::{self, Intake, Options};
use sparkbench::model::Status;
use sparkbench::verdict::report::Input;

use crate::support::folder::Folder;

const GOOD: &str = "environment,model,ttft_ms\nnative,m,1.5\ncontainer,m,1.6\n";

fn read(folder: &Folder) -> Intake {
    ingest::all(&archive::discover(&[folder.path().to_owned()]).unwrap(), &Options::default()).unwrap()
}

/// Reads the files beside a good table. Gives the line on the first of them, and how many runs there are beyond the good two.
fn beside_good(test: &str, files: &[(&str, &[u8])]) -> (Input, usize) {
    let folder = Folder::new(test);
    folder.put("good/runs.csv", GOOD);
    for (name, bytes) in files {
        folder.put(name, bytes);
    }
    let intake = read(&folder);
    let good: Vec<_> = intake.runs.iter().filter(|run| run.campaign == "good").collect();
    assert_eq!(good.len(), 2, "the rest is analysed");
    let input = intake.inputs.iter().find(|input| input.path == files[0].0).unwrap().clone();
    (input, intake.runs.len() - good.len())
}

#[test]
fn each_bad_file_is_named_with_the_field_and_the_rest_is_analysed() {
    let phase1 = r#"{"models":{"m":{"native":[{"iteration":1,"timestamp":"20260101_000000","throughput":"fast","peak_memory":1,"kv_cache":2}]}}}"#;
    let run = |field: &str| {
        format!("{{\"schema\":\"sparkbench.run/1\",\"environment\":\"a\",\"model\":\"m\",\"workload\":\"w\",{field}}}")
    };
    let (run_cut, run_type) = (run("\"repeat\":").replace('}', ""), run("\"repeat\":\"one\""));
    // Name, content, runs that come of it all the same, the message.
    let cases: &[(&str, &[u8], usize, &str)] = &[
        ("b/empty.json", b"", 0, "'b/empty.json' is empty. Try: the program that wrote it may have stopped early"),
        (
            "b/cut.json",
            b"{\"a\": [1, 2",
            0,
            "cannot read 'b/cut.json': not valid JSON, line 1: column 12: expected ',' or ']', the file ends here: it was cut off",
        ),
        (
            "b/other.json",
            b"{\"speed\": 1, \"mood\": 2}",
            0,
            "no known format has the keys of 'b/other.json': it starts with 'speed', 'mood'. Try: 'sparkbench formats' lists what is read. \
             Results of your own go into a table, as docs/archive.md says",
        ),
        (
            "b/results.json",
            phase1.as_bytes(),
            0,
            "a value is not what it should be, line 1, field '/models/m/native/0/throughput': expected a number, found \"fast\"",
        ),
        (
            "b/runs/r/run.json",
            run_cut.as_bytes(),
            0,
            "cannot read 'b/runs/r/run.json' as run: not valid JSON, line 1: column 83: EOF while parsing a value",
        ),
        (
            "b/runs/s/run.json",
            run_type.as_bytes(),
            0,
            "cannot read 'b/runs/s/run.json' as run: a value is not what it should be, line 1, field '/repeat': \
             column 88: invalid type: string \"one\", expected u32",
        ),
        (
            "b/new/run.json",
            br#"{"schema":"sparkbench.run/7","environment":"a"}"#,
            0,
            "cannot read 'b/new/run.json' as run: unknown schema, field 'schema': expected 'sparkbench.run/1', 'sparkbench.run/2', \
             found \"sparkbench.run/7\". Try: a newer version of this program may read it",
        ),
        (
            "b/labels.toml",
            b"schema = \"sparkbench.labels/1\"\nbaseline = 3\n",
            0,
            "cannot read 'b/labels.toml' as labels: not as expected, line 2: invalid type: integer `3`, expected a string",
        ),
        (
            "b/table.csv",
            b"environment,model,ttft_ms,started_utc\na,m,1,\na,m,slow,\na,m,2,yesterday\na,m\n",
            1,
            "a row is left out, line 3, field 'ttft_ms': expected a number, found \"slow\"; \
             a row is left out, line 4, field 'started_utc': expected a moment as 2026-01-31T23:59:59Z, found \"yesterday\"; \
             a row is left out, line 5: expected 4 cells, found 2",
        ),
        (
            "b/semicolons.csv",
            b"environment;model;ttft_ms\na;m;1,5\n",
            0,
            "cannot read 'b/semicolons.csv' as table: cells are not parted by commas, line 1: expected ',', found ';'. \
             Try: save the table as CSV with commas, and with a point as the decimal sign",
        ),
        (
            "b/other.csv",
            b"when,what\n1,2\n",
            0,
            "no known format looks like 'b/other.csv', line 1: \"when,what\". \
             Try: a table of runs has a column that tells its rows apart ('model', 'environment', 'workload', 'concurrency' or \
             'context_length') and names of metrics, such as 'ttft_ms', 'decode_tok_s' or 'output_throughput_tok_s'",
        ),
        (
            "b/rows.json",
            b"[{\"who\": \"m\", \"ttft\": 3, \"tok/s\": 5}]",
            0,
            "no known format has the keys of 'b/rows.json': it is a list, and its rows start with 'who', 'ttft', 'tok/s'. \
             Try: a table of runs has a column that tells its rows apart ('model', 'environment', 'workload', 'concurrency' or \
             'context_length') and names of metrics, such as 'ttft_ms', 'decode_tok_s' or 'output_throughput_tok_s'. \
             'ttft' may be 'ttft_ms', 'tok/s' may be 'output_throughput_tok_s' or 'total_throughput_tok_s' or 'decode_tok_s' \
             or 'prefill_tok_s'",
        ),
        (
            "b/junk.bin",
            &[0, 159, 146, 150, 0, 1, 2, 255],
            0,
            "'b/junk.bin' is not text: it holds zero bytes in its first lines. Try: give a file in JSON, CSV or TOML, or a log",
        ),
        (
            "b/junk.json",
            &[b'{', 0xff, 0xfe, b'"'],
            0,
            "cannot read 'b/junk.json': not valid JSON, line 1: column 2: expected a key in quotes, found '\u{fffd}'",
        ),
        (
            "b/results.json.gz",
            &[0x1f, 0x8b, 8, 0],
            0,
            "cannot read 'b/results.json.gz': reading stopped (unexpected end of file)",
        ),
        ("b/alone.log", b"hello\n", 0, "a log without any figure that is known, and without a result beside it"),
        (
            "b/published.csv",
            b"model,environment,against,metric,statistic,printed,source\nm,a,,speed,mean,1,README\n",
            0,
            "a row is left out, line 2, field 'metric': expected a metric name, found \"speed\"",
        ),
        (
            "b/facts.toml",
            b"schema = \"sparkbench.facts/1\"\n[machines.x]\ntitle = \"X\"\nmemory_gib = 1\nsources = []\n",
            0,
            "cannot read 'b/facts.toml' as facts: a fact has no source, field 'machines.x.sources': expected at least one",
        ),
    ];
    for (number, (name, bytes, runs, message)) in cases.iter().enumerate() {
        let (input, found) = beside_good(&format!("bad-input-{number}"), &[(name, bytes)]);
        assert_eq!(input.reason.as_deref(), Some(*message), "{name}");
        assert!(input.skipped, "{name}");
        assert_eq!(found, *runs, "{name}");
    }
}

#[test]
fn missing_and_infinite_figures_are_kept_apart_in_every_format() {
    let folder = Folder::new("bad-input-missing");
    folder.put("t/runs.csv", "environment,model,ttft_ms,tpot_ms,itl_ms\na,m,NaN,[N/A],Infinity\n");
    folder.put(
        "p/results.json",
        r#"{"models":{"m":{"native":[{"iteration":1,"throughput":NaN,"output_throughput":-Infinity,"peak_memory":"[N/A]","kv_cache":"inf"}]}}}"#,
    );
    let intake = read(&folder);
    assert_eq!(intake.skipped(), 0, "{:?}", intake.inputs);
    let value = |campaign: &str, metric: &str| {
        intake.runs.iter().find(|run| run.source.path.starts_with(campaign)).unwrap().reading(metric).unwrap().value
    };
    for (campaign, metric) in
        [("t", "ttft_ms"), ("t", "tpot_ms"), ("p", "request_throughput_req_s"), ("p", "peak_memory_gib")]
    {
        assert!(value(campaign, metric).is_nan(), "{campaign} {metric}");
    }
    assert_eq!(value("t", "itl_ms"), f64::INFINITY);
    assert_eq!(value("p", "output_throughput_tok_s"), f64::NEG_INFINITY);
    assert_eq!(value("p", "kv_cache_gib"), f64::INFINITY);
}

#[test]
fn telemetry_of_no_run_is_read_and_said_to_be_of_none() {
    let log = b"timestamp, power.draw [W]\n2026/01/01 00:00:00, 5 W\n2026/01/01 00:00:01, 5 W\n";
    let (input, more) = beside_good("bad-input-telemetry", &[("b/alone_gpu.csv", log)]);
    assert_eq!((input.format.as_deref(), input.skipped, more), (Some("nvidia-smi-csv"), false, 0));
    assert_eq!(input.reason.as_deref(), Some("joined to no run: no result lies in the same folder or below it"));
}

#[test]
fn telemetry_joins_the_runs_of_its_folder_that_were_made_in_its_time() {
    let folder = Folder::new("bad-input-telemetry-joins");
    let row = |second: u32| format!("2026/01/01 00:00:{second:02}, 5 W\n");
    let log: String = (0..30).map(row).collect();
    folder.put("c/gpu.csv", format!("timestamp, power.draw [W]\n{log}"));
    folder.put(
        "c/runs.csv",
        "environment,model,started_utc,ended_utc,ttft_ms\na,m,2026-01-01T00:00:05Z,2026-01-01T00:00:10Z,1\n\
         a,m,2026-01-01T01:00:05Z,2026-01-01T01:00:10Z,2\n",
    );
    let intake = read(&folder);
    let samples: Vec<usize> = intake.runs.iter().map(|run| run.telemetry.len()).collect();
    assert_eq!(samples, [30, 0], "{:?}", intake.inputs);
    let reason = intake.inputs[0].reason.as_deref();
    assert_eq!(reason, Some("joined to 1 of 2 runs of its folder: it was sampled while the run was made"));
    let joined: Vec<_> = intake.runs[0].files.iter().map(|file| (file.path.as_str(), file.joined.as_deref())).collect();
    assert_eq!(joined, [("c/gpu.csv", Some("it was sampled while the run was made"))]);
}

#[test]
fn a_byte_order_mark_and_crlf_change_nothing() {
    let folder = Folder::new("bad-input-bom");
    folder.put("a/runs.csv", GOOD);
    folder.put("b/runs.csv", format!("\u{feff}{}", GOOD.replace('\n', "\r\n")));
    let labels = "schema = \"sparkbench.labels/1\"\r\ntitle = \"B\"\r\n";
    folder.put("b/labels.toml", format!("\u{feff}{labels}"));
    let intake = read(&folder);
    assert_eq!(intake.skipped(), 0, "{:?}", intake.inputs);
    let lines = |campaign: &str| -> Vec<(String, Option<u64>, f64)> {
        let runs = intake.runs.iter().filter(|run| run.campaign == campaign);
        runs.map(|run| (run.environment.clone(), run.readings[0].origin.line, run.readings[0].value)).collect()
    };
    assert_eq!(lines("a"), lines("b"));
    assert_eq!(intake.campaigns[1].title.as_deref(), Some("B"));
}

#[test]
fn two_runs_with_one_id_are_both_kept_and_said_to_be() {
    let folder = Folder::new("bad-input-ids");
    folder.put("x/runs.csv", "id,environment,model,ttft_ms\nr1,a,m,1\nr1,a,m,2\n");
    let intake = read(&folder);
    let ids: Vec<&str> = intake.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["r1", "r1-2"]);
    let reason = intake.inputs[0].reason.as_deref();
    assert_eq!(reason, Some("two runs have the id 'r1'. Both are kept, the later one as 'r1-2'"));
}

#[test]
fn hostile_names_stay_labels_and_never_become_paths() {
    let folder = Folder::new("bad-input-names");
    let table = "id,environment,model,workload,ttft_ms\n../../etc/passwd,<script>alert(1)</script>,=1+1,..,1\n";
    folder.put("<b>/=cmd.csv", table);
    folder.put("<b>/labels.toml", "schema = \"sparkbench.labels/1\"\nname = \"../up\"\nprose = \"../../secret.md\"\n");
    folder.put("secret.md", "not to be read");
    let intake = read(&folder);
    let run = &intake.runs[0];
    assert_eq!((run.id.as_str(), run.campaign.as_str()), ("etc-passwd", "up"));
    assert_eq!((run.environment.as_str(), run.model.as_str()), ("<script>alert(1)</script>", "=1+1"));
    assert_eq!(intake.campaigns[0].prose, None);
    let labels = intake.inputs.iter().find(|input| input.path == "<b>/labels.toml").unwrap();
    assert_eq!(
        labels.reason.as_deref(),
        Some("the prose is left out, field 'prose': '../../secret.md' is not beside it")
    );
}

#[test]
fn an_empty_input_is_exit_code_5_and_says_what_was_expected() {
    let folder = Folder::new("bad-input-empty");
    let absent = folder.path().join("absent");
    for path in [folder.path().to_owned(), absent] {
        let error = archive::discover(std::slice::from_ref(&path)).unwrap_err();
        assert_eq!(error.kind, Kind::Archive);
        assert_eq!(error.kind.exit_code(), 5);
        assert!(error.hint.as_deref().unwrap().contains("folder"), "{error}");
    }
    let error = archive::discover(&[folder.path().to_owned()]).unwrap_err().to_string();
    assert!(error.contains("give a folder with a table (runs.csv), a campaign (campaign.json and runs/)"), "{error}");
}

#[test]
fn labels_from_the_command_line_that_cannot_be_used_are_a_usage_error() {
    let folder = Folder::new("bad-input-labels");
    folder.put("runs.csv", GOOD);
    let labels = folder.put("other/wrong.toml", "schema = \"sparkbench.labels/1\"\nnmae = \"x\"\n");
    let found = archive::discover(&[folder.path().to_owned()]).unwrap();
    for path in [labels, PathBuf::from("no/such/file.toml")] {
        let error = ingest::all(&found, &Options { labels: Some(path), ..Options::default() }).unwrap_err();
        assert_eq!(error.kind, Kind::Usage, "{error}");
        assert!(error.what.contains("as labels"), "{error}");
    }
}

#[test]
fn a_site_of_ours_and_hidden_folders_are_passed_over_without_a_word() {
    let folder = Folder::new("bad-input-site");
    folder.put("good/runs.csv", GOOD);
    folder.put("site/data/analysis.json", "{\"schema\": \"sparkbench.analysis/1\"");
    folder.put("site/data/runs.csv", GOOD);
    folder.put(".git/config", "x");
    let paths: Vec<String> = read(&folder).inputs.into_iter().map(|input| input.path).collect();
    assert_eq!(paths, ["good/runs.csv"]);
}

#[test]
fn a_log_without_its_result_block_is_a_failed_run_whatever_the_exit_code() {
    let folder = Folder::new("bad-input-failed");
    let stem = "x/native_m_iter1_20260101_000000";
    folder.put(
        &format!("{stem}_metadata.json"),
        r#"{"environment":"native","model_name":"m","iteration":1,"timestamp":"20260101_000000","exit_code":0}"#,
    );
    folder.put(&format!("{stem}.log"), "[TRT-LLM] [I] starting\ntorch.OutOfMemoryError: CUDA out of memory.\n");
    let intake = read(&folder);
    let [run] = intake.runs.as_slice() else { panic!("{:?}", intake.runs) };
    assert_eq!(
        run.status,
        Status::Failed(
            "the log has no result block: out of memory: torch.OutOfMemoryError: CUDA out of memory. (line 2)".into()
        )
    );
}

#[cfg(unix)]
#[test]
fn links_sockets_and_unreadable_files_are_listed_and_never_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("bad-input-links");
    folder.put("good/runs.csv", GOOD);
    symlink("..", folder.path().join("good/loop")).unwrap();
    symlink("/etc", folder.path().join("good/outside")).unwrap();
    symlink("nowhere", folder.path().join("good/dangling")).unwrap();
    let secret = folder.put("good/secret.csv", GOOD);
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    let intake = read(&folder);
    for name in ["good/loop", "good/outside", "good/dangling"] {
        let input = intake.inputs.iter().find(|input| input.path == name).unwrap();
        assert_eq!(input.reason.as_deref(), Some("a link, and links are not followed"), "{name}");
        assert!(input.skipped);
    }
    let input = intake.inputs.iter().find(|input| input.path == "good/secret.csv").unwrap();
    // A privileged user may read everything. Then there is nothing to complain about.
    if std::fs::File::open(&secret).is_ok() {
        assert!(!input.skipped);
    } else {
        assert!(
            input.skipped && input.reason.as_deref().unwrap().contains("cannot open 'good/secret.csv'"),
            "{input:?}"
        );
        assert_eq!(intake.runs.len(), 2);
    }
}

#[cfg(unix)]
#[test]
fn a_link_given_as_the_root_is_taken_at_its_word() {
    let folder = Folder::new("bad-input-root-link");
    folder.put("real/runs.csv", GOOD);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("real", &link).unwrap();
    let intake = ingest::all(&archive::discover(&[link]).unwrap(), &Options::default()).unwrap();
    assert_eq!((intake.runs.len(), intake.inputs[0].path.as_str()), (2, "runs.csv"));
}
