//! `sparkbench load` as a person or a script meets it, against the built-in server: every stream shape, and what can go wrong.
//!
//! In:  the server in this process, in each of its shapes.  Out: nothing.
//! Not here: how exact the times are (see `benches/README.md`), a real engine (see `real_server.rs`).

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program;
use crate::support::program::{Ending, fair_start, finished, run_in};
use crate::support::wait::until;
use serde_json::Value;
use sparkbench::mock::shape::{Portion, SHAPES};
use sparkbench::mock::{self, Settings};

/// Output tokens of each answer.
const OSL: u64 = 8;
/// Requests of a load.
const REQUESTS: u64 = 4;

fn load(folder: &Folder, url: &str, more: &[&str]) -> Ending {
    let shared =
        ["load", "--url", url, "--json", "-", "--isl", "16", "--osl", "8", "--requests", "4", "--concurrency", "4"];
    run_in(folder.path(), &[&shared[..], more].concat(), &[])
}

fn url(running: &mock::Running) -> String {
    format!("http://{}", running.address())
}

fn summary(ending: &Ending) -> Value {
    serde_json::from_str(&ending.out).unwrap_or_else(|cause| panic!("{cause}\n{}\n{}", ending.out, ending.err))
}

#[test]
fn every_shape_of_stream_is_reported_as_what_it_is() {
    let folder = Folder::new("load-shapes");
    folder.put("prompts.jsonl", "{\"prompt\": \"say something\"}\n".repeat(4));
    for shape in SHAPES {
        let settings = Settings { shape, ttft_ns: 2_000_000, itl_ns: 200_000, tokens: 8, ..Settings::default() };
        let running = mock::start(settings).unwrap();
        // Questions before the load would meet the shape as well: what is asked for is said instead.
        // Only what never answers is to run into the limit, however busy the machine.
        let limit = if shape.expect.status == "timeout" { "1" } else { "500" };
        let more = ["--model", "mock", "--exact", "min-tokens", "--timeout", limit];
        let answered = matches!(shape.expect.status, "ok" | "short");
        // Where nobody answers, the question for the length of a prompt would end the load. Prompts of a file are sent as they are.
        let ending = if answered {
            load(&folder, &url(&running), &more)
        } else {
            let shared = ["load", "--json", "-", "--osl", "8", "--requests", "4", "--concurrency", "4"];
            let prompts = ["--prompts", "prompts.jsonl", "--url", &url(&running)];
            run_in(folder.path(), &[&shared[..], &prompts, &more].concat(), &[])
        };
        let found = summary(&ending);
        let at = |pointer: &str| found.pointer(pointer).cloned().unwrap_or(Value::Null);
        let number = |pointer: &str| at(pointer).as_u64();
        let (name, expect) = (shape.name, shape.expect);
        let counts = (number("/completed"), number("/failed"));
        let wanted = if answered { (Some(REQUESTS), Some(0)) } else { (Some(0), Some(REQUESTS)) };
        assert_eq!(counts, wanted, "{name}: {found:#}\n{}", ending.err);
        if answered {
            assert_eq!(number("/ttft_ms/n"), Some(REQUESTS), "{name}");
            let first = at("/ttft_ms/min").as_f64().unwrap_or_default();
            // Whatever comes first in the stream, a token never comes before its time.
            assert!(first >= 1.9 || shape.form.reply != mock::shape::Reply::Answer, "{name}: TTFT {first} ms");
            let tokens = (expect.usage && expect.tokens == Portion::All).then_some(REQUESTS * OSL);
            if tokens.is_some() {
                assert_eq!(number("/output_tokens"), tokens, "{name}: {found:#}");
            } else if !expect.usage {
                assert_eq!(at("/output_tokens"), Value::Null, "{name}: nobody counted");
                assert_eq!(at("/tpot_ms/mean"), Value::Null, "{name}");
            }
            ending.expect(0);
        } else {
            let kind = format!("/errors/{}", expect.status);
            assert_eq!(number(&kind), Some(REQUESTS), "{name}: {found:#}");
            assert_eq!(at("/ttft_ms/mean"), Value::Null, "{name}: a failure enters no latency");
            if let Some(http) = expect.http.filter(|http| *http != 200) {
                assert_eq!(number(&format!("/http/{http}")), Some(REQUESTS), "{name}");
            }
            ending.expect(4).complains(&["no request was answered"]);
        }
        running.stop().unwrap();
    }
}

/// Issue 34: a server that was busy counted as one that honours no exact length, and the load asked for another workload. The members of
/// the user's own are in these questions too: they choose the shape here.
#[test]
fn a_question_before_the_load_that_is_refused_for_now_ends_it_and_changes_nothing() {
    let folder = Folder::new("load-refused-question");
    let running = mock::start(Settings::default()).unwrap();
    for shape in ["http-429", "http-503"] {
        let body = format!("{{\"mock\":{{\"shape\":\"{shape}\"}}}}");
        for (exact, question) in
            [("auto", "for an answer of an exact length once"), ("off", "how many tokens a prompt has once")]
        {
            let ending = load(&folder, &url(&running), &["--extra-body", &body, "--exact", exact]).expect(4);
            ending.complains(&[question, &shape.replace("http-", "status "), "--retries"]);
            assert!(!ending.out.contains("completed"), "no load was made: {}", ending.out);
        }
    }
    running.stop().unwrap();
}

#[test]
fn nobody_there_no_such_model_and_what_makes_no_sense_are_said() {
    let folder = Folder::new("load-wrong");
    let nobody = load(&folder, "http://127.0.0.1:1", &[]);
    assert!(matches!(nobody.code, Some(3..=5)), "{nobody:?}");
    nobody.complains(&["127.0.0.1"]);
    let running = mock::start(Settings::default()).unwrap();
    let url = url(&running);
    let other = load(&folder, &url, &["--model", "another"]);
    assert_ne!(other.code, Some(0));
    other.complains(&["another", "mock"]);
    let usage: [(&[&str], &str); 9] = [
        (&["--concurrency", "0"], "concurrency"),
        (&["--rate", "0"], "rate"),
        (&["--isl", "many"], "many"),
        (&["--slo", "speed=1"], "speed=1"),
        (&["--osl", "9000000"], "tokens"),
        (&["--header", "no colon"], "header"),
        (&["--extra-body", "[1]"], "extra-body"),
        (&["--api-key-env", "NO_SUCH_VARIABLE_HERE"], "NO_SUCH_VARIABLE_HERE"),
        (&["--prompts", "/nonexistent.jsonl"], "/nonexistent.jsonl"),
    ];
    for (options, word) in usage {
        let mut arguments = vec!["load", "--url", url.as_str()];
        arguments.extend(options);
        let ending = run_in(folder.path(), &arguments, &[]);
        assert!(matches!(ending.code, Some(2 | 5)), "{options:?}: {ending:?}");
        ending.complains(&[word]);
    }
    for wrong in ["ftp://localhost", "localhost:8000/#x", "http://", "http://local host"] {
        run_in(folder.path(), &["load", "--url", wrong], &[]).expect(2);
    }
    running.stop().unwrap();
}

#[test]
fn a_key_and_credentials_are_used_and_shown_nowhere() {
    let folder = Folder::new("load-key");
    let running = mock::start(Settings { api_key: Some("hidden-key-7391".into()), ..Settings::default() }).unwrap();
    let refused = load(&folder, &url(&running), &[]);
    assert_ne!(refused.code, Some(0));
    refused.complains(&["key", "--api-key-env"]);
    let arguments = [
        "load",
        "--url",
        &url(&running),
        "--requests",
        "2",
        "--osl",
        "4",
        "--json",
        "-",
        "--api-key-env",
        "SERVER_KEY",
    ];
    let ending = run_in(folder.path(), &arguments, &[("SERVER_KEY", "hidden-key-7391")]).expect(0);
    assert!(!ending.out.contains("hidden-key") && !ending.err.contains("hidden-key"));
    running.stop().unwrap();
    let open = mock::start(Settings::default()).unwrap();
    let with = format!("http://someone:hidden-word-5520@{}", open.address());
    let ending = load(&folder, &with, &[]).expect(0);
    assert!(!ending.out.contains("hidden-word") && !ending.err.contains("hidden-word"), "{}", ending.err);
    open.stop().unwrap();
}

#[test]
fn more_streams_than_descriptors_are_refused_before_the_first_request() {
    let folder = Folder::new("load-descriptors");
    let running = mock::start(Settings::default()).unwrap();
    let script = format!(
        "ulimit -Sn 64; ulimit -Hn 256; exec {} load --url {} --concurrency 100000 --requests 100000 --exact min-tokens",
        env!("CARGO_BIN_EXE_sparkbench"),
        url(&running)
    );
    // Whoever is root may raise any limit: the test takes that right away.
    let root = nix::unistd::geteuid().is_root();
    let lowered = ["setpriv", "--bounding-set=-sys_resource", "sh", "-c", &script];
    let words = if root { &lowered[..] } else { &lowered[2..] };
    if root && Command::new("setpriv").arg("--version").output().is_err() {
        return needs::skip("root may raise any limit, and setpriv is not installed (Debian package util-linux)");
    }
    let mut command = Command::new(words[0]);
    fair_start();
    let child = command
        .args(&words[1..])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ending = Ending::of(child);
    assert!(matches!(ending.code, Some(2 | 3)), "{ending:?}");
    ending.complains(&["descriptor", "limit"]);
    running.stop().unwrap();
}

#[test]
fn the_same_options_and_seed_print_the_same_plan_and_each_rank_a_part_of_it() {
    let folder = Folder::new("load-plan");
    let plan = |more: &[&str]| {
        let shared =
            ["load", "--url", "http://localhost:1", "--dry-run", "--rate", "50", "--requests", "40", "--isl", "10-90"];
        run_in(folder.path(), &[&shared[..], more].concat(), &[]).expect(0).out
    };
    let whole = plan(&[]);
    assert_eq!(whole, plan(&[]));
    assert_ne!(whole, plan(&["--seed", "43"]));
    assert!(whole.lines().count() >= 40, "{whole}");
}

#[test]
fn a_sweep_gives_a_list_and_an_interrupt_what_was_measured_so_far() {
    let folder = Folder::new("load-sweep");
    let running = mock::start(Settings { ttft_ns: 1_000_000, ..Settings::default() }).unwrap();
    let arguments =
        ["load", "--url", &url(&running), "--concurrency", "1..4", "--osl", "4", "--requests", "8", "--json", "-"];
    let ending = run_in(folder.path(), &arguments, &[]).expect(0);
    let found = summary(&ending);
    let concurrencies: Vec<u64> =
        found.as_array().unwrap().iter().filter_map(|one| one.pointer("/settings/concurrency")?.as_u64()).collect();
    assert_eq!(concurrencies, [1, 2, 4]);
    running.stop().unwrap();

    // The first answer takes a moment, the second more than an hour: one is answered and one is on its way when the interrupt comes.
    let lines = [4, 100_000].map(|tokens| format!("{{\"prompt\": \"{tokens}\", \"output_tokens\": {tokens}}}\n"));
    folder.put("prompts.jsonl", lines.concat());
    let slow = mock::start(Settings { ttft_ns: 50_000_000, itl_ns: 50_000_000, ..Settings::default() }).unwrap();
    fair_start();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(["load", "--url", &url(&slow), "--prompts", "prompts.jsonl", "--requests", "2", "--concurrency", "1"])
        .args(["--exact", "min-tokens", "--warmup", "0", "--timeout", "7200", "--json", "cut.json"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It tells how far it is every few seconds.
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !(line.contains("1 of 2") && line.contains("1 in flight")) {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before the interrupt");
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(finished(child).status.code(), Some(4));
    let cut: Value = serde_json::from_slice(&std::fs::read(folder.path().join("cut.json")).unwrap()).unwrap();
    assert_eq!(cut["completed"].as_u64(), Some(1), "{cut:#}");
    assert_eq!((cut["valid"].as_bool(), cut["errors"]["cancelled"].as_u64()), (Some(false), Some(1)), "{cut:#}");
    // Nothing failed: whoever stopped the load ended that request.
    assert_eq!((cut["cancelled"].as_u64(), cut["failed"].as_u64()), (Some(1), Some(0)), "{cut:#}");
    slow.stop().unwrap();
}

/// Issue 15: what was measured before a server died was lost.
#[test]
fn a_sweep_whose_server_dies_keeps_each_finished_point_and_ends_with_4() {
    let folder = Folder::new("load-sweep-dies");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 1_000_000, ..Settings::default() }).unwrap();
    fair_start();
    // The server takes 21 ms and more for an answer, so the second point takes more than a minute: it dies within that.
    let mut child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(["load", "--url", &url(&running), "--concurrency", "32,1,2", "--osl", "20", "--requests", "3200"])
        .args(["--json", "points.json"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let file = folder.path().join("points.json");
    until("a point is written while the load runs", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        file.exists()
    });
    running.stop().unwrap();
    let output = finished(child);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{out}{err}");
    assert!(out.contains("output tok/s") && out.lines().any(|line| line.starts_with("c32 ")), "{out}");
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    // Of three points not all were measured, and it is a list all the same.
    let points = written.as_array().unwrap();
    let first = &points[0];
    assert!((1..3).contains(&points.len()), "{}", points.len());
    assert_eq!((first["completed"].as_u64(), first["valid"].as_bool()), (Some(3200), Some(true)));
    assert!(
        err.contains("error:") && err.contains("measured before the error") && err.contains("points.json"),
        "{err}"
    );
}

/// Issue 15: a load that nobody can use ended with 0.
#[test]
fn a_load_that_is_not_valid_ends_with_4_with_and_without_an_archive() {
    let folder = Folder::new("load-invalid");
    // One prompt of eight is longer than the server takes. It is refused, and the others are answered.
    let line = |n: usize| {
        let prompt = "word ".repeat(if n == 3 { 600 } else { 2 });
        format!("{{\"prompt\": \"{}\"}}\n", prompt.trim())
    };
    folder.put("prompts.jsonl", (0..8).map(line).collect::<String>());
    let running = mock::start(Settings { max_model_len: 400, ..Settings::default() }).unwrap();
    for more in [&[][..], &["--archive", "kept"]] {
        let address = url(&running);
        let shared = ["load", "--url", &address, "--prompts", "prompts.jsonl", "--osl", "4"];
        let bounds = ["--requests", "8", "--concurrency", "8"];
        let ending = run_in(folder.path(), &[&shared[..], &bounds, more].concat(), &[]).expect(4);
        ending.complains(&["1 of 8 requests failed, more than 1 %"]);
    }
    running.stop().unwrap();
}

/// Issue 15: the summary of one load was longer than a screen.
#[test]
fn a_summary_has_at_most_twenty_lines_and_all_of_them_with_v() {
    let folder = Folder::new("load-brief");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 200_000, ..Settings::default() }).unwrap();
    let arguments = ["load", "--url", &url(&running), "--requests", "8", "--osl", "8", "--slo", "ttft=500"];
    let brief = run_in(folder.path(), &arguments, &[]).expect(0).out;
    // Two lines of the twenty are the client's certificate. Where a busy machine held the client up, the certificate says so in more
    // lines, and so may a note that is told of.
    let (figures, _) = brief.split_once("client limited").expect("the certificate comes last");
    let lines = figures.lines().filter(|line| !line.contains("more note")).count();
    assert!(lines <= 18, "{lines} lines before the certificate:\n{brief}");
    for word in ["ttft_ms", "tpot_ms", "e2e_latency_ms", "output tok/s", "goodput", "client limited"] {
        assert!(brief.contains(word), "{word} is not in\n{brief}");
    }
    let whole = run_in(folder.path(), &[&arguments[..], &["-v"]].concat(), &[]).expect(0).out;
    assert!(whole.contains("tokens_per_chunk") && !brief.contains("tokens_per_chunk"), "{whole}");
    running.stop().unwrap();
}

/// What a user of `vllm bench serve` types by habit.
#[test]
fn options_of_other_clients_mean_what_they_mean_there() {
    let folder = Folder::new("load-aliases");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 200_000, ..Settings::default() }).unwrap();
    let run = |words: &str| {
        let address = url(&running);
        let shared = ["load", "--url", &address, "--json", "-", "--random-input-len", "16", "--random-output-len", "4"];
        let arguments: Vec<&str> = shared.into_iter().chain(words.split(' ')).collect();
        summary(&run_in(folder.path(), &arguments, &[]).expect(0))
    };
    let closed = run("--num-prompts 8 --max-concurrency 4");
    assert_eq!((closed["completed"].as_u64(), closed["settings"]["concurrency"].as_u64()), (Some(8), Some(4)));
    assert_eq!(closed["output_tokens"].as_u64(), Some(32));
    let at_once = run("--num-prompts 6 --request-rate inf");
    assert_eq!(at_once["settings"]["concurrency"].as_u64(), Some(6), "{:#}", at_once["settings"]);
    let open = run("--num-prompts 6 --request-rate 50 --goodput ttft:500 tpot:50");
    assert_eq!(open["settings"]["rate_req_s"].as_f64(), Some(50.0), "{:#}", open["settings"]);
    assert_eq!(open["goodput"]["slos"].as_object().map(serde_json::Map::len), Some(2), "{:#}", open["goodput"]);
    running.stop().unwrap();
    // What is typed is never dropped: a cap beside something that sets the concurrency itself is refused.
    for (beside, words) in [("--matrix concurrencies", "--concurrency"), ("--num-clients 2", "--concurrency")] {
        let arguments = ["load", "--url", "localhost:1", "--max-concurrency", "4"];
        let all: Vec<&str> = arguments.into_iter().chain(beside.split(' ')).collect();
        run_in(folder.path(), &all, &[]).expect(2).complains(&[words]);
    }
    let both = ["load", "--url", "localhost:1", "--request-rate", "5", "--rate", "5"];
    run_in(folder.path(), &both, &[]).expect(2).complains(&["--request-rate cannot be combined with --rate"]);
}

/// `--dataset-name` and `--dataset-path` of vLLM's and SGLang's clients.
#[test]
fn a_file_of_conversations_gives_first_questions_and_the_lengths_of_their_answers() {
    let folder = Folder::new("load-dataset");
    let talk = |n: usize| {
        let turns = [
            ("human", format!("what is the number {n} good for")),
            ("gpt", "well ".repeat(4 + n)),
            ("human", "so".into()),
        ];
        let turns: Vec<Value> =
            turns.iter().map(|(from, value)| serde_json::json!({ "from": from, "value": value })).collect();
        serde_json::json!({ "id": "not unique", "conversations": turns })
    };
    std::fs::write(folder.path().join("talks.json"), Value::from((0..40).map(talk).collect::<Vec<_>>()).to_string())
        .unwrap();
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, ..Settings::default() }).unwrap();
    let address = url(&running);
    let run = |words: &str| {
        let shared = ["load", "--url", &address, "--json", "-", "--max-concurrency", "4"];
        let arguments: Vec<&str> = shared.into_iter().chain(words.split(' ')).collect();
        run_in(folder.path(), &arguments, &[])
    };
    let drawn = summary(&run("--dataset-name sharegpt --dataset-path talks.json --num-prompts 12").expect(0));
    assert_eq!((drawn["completed"].as_u64(), drawn["short"].as_u64()), (Some(12), Some(0)), "{drawn:#}");
    // Answers of 20 to 215 bytes: five tokens at least, by the estimate that a note names.
    let asked = drawn["lengths"]["osl_asked_p50"].as_f64().unwrap();
    assert!((5.0..=54.0).contains(&asked) && drawn["lengths"]["osl_reported_p50"].as_f64() == Some(asked), "{drawn:#}");
    let notes = drawn["notes"].to_string();
    assert!(notes.contains("first turns of 12 of 40 conversations") && notes.contains("estimated"), "{notes}");
    let fixed = summary(&run("--dataset-path talks.json --num-prompts 4 --sharegpt-output-len 9").expect(0));
    assert_eq!(fixed["output_tokens"].as_u64(), Some(36));
    let random =
        summary(&run("--dataset-name random --num-prompts 4 --random-input-len 16 --random-output-len 5").expect(0));
    assert_eq!(random["output_tokens"].as_u64(), Some(20));
    run("--dataset-path talks.json --num-prompts 400").expect(2).complains(&["the file has 40 to measure"]);
    // In an archive the file and the draw are the same.
    run("--dataset-name sharegpt --dataset-path talks.json --num-prompts 4 --archive kept").expect(0);
    running.stop().unwrap();
    std::fs::write(folder.path().join("plain.txt"), "a line\n").unwrap();
    for (words, remedy) in [
        ("--dataset-name sharegpt", "--dataset-path"),
        ("--dataset-name random --dataset-path talks.json", "--dataset-name sharegpt"),
        ("--dataset-path plain.txt", "--prompts"),
    ] {
        run(words).expect(2).complains(&[remedy]);
    }
}

/// Issue 15: the plan of a load bound by time had ten thousand lines, whatever the time.
#[test]
fn a_dry_run_ends_where_the_duration_does() {
    let folder = Folder::new("load-dry-duration");
    let plan = |more: &[&str]| {
        let shared = ["load", "--url", "http://localhost:1", "--dry-run", "--warmup", "0"];
        run_in(folder.path(), &[&shared[..], more].concat(), &[]).expect(0)
    };
    let entries = plan(&["--rate", "10", "--arrival", "constant", "--duration", "2"]).out.lines().count() - 1;
    assert!((19..=21).contains(&entries), "{entries}");
    let counted = plan(&["--rate", "10", "--arrival", "constant", "--duration", "2", "--requests", "5"]);
    assert_eq!(counted.out.lines().count() - 1, 5);
    // A closed loop has no times: its plan says so.
    plan(&["--concurrency", "2", "--duration", "2"]).complains(&["the speed of the server decides how many"]);
}

/// Issue 15: twenty gaps of a Poisson process often give quite another rate.
#[test]
fn a_drawn_rate_far_from_the_one_asked_for_is_the_first_note() {
    let folder = Folder::new("load-rate-off");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, ..Settings::default() }).unwrap();
    let address = url(&running);
    let run = |arrival: &str| {
        let shared = ["load", "--url", &address, "--rate", "20", "--requests", "20", "--osl", "4", "--json", "-"];
        summary(&run_in(folder.path(), &[&shared[..], &["--arrival", arrival]].concat(), &[]).expect(0))
    };
    let drawn = run("poisson");
    let off = (drawn["offered_rate_req_s"].as_f64().unwrap() / 20.0 - 1.0) * 100.0;
    assert!(off.abs() > 5.0, "the seed draws a rate far off: {off}");
    let first = drawn["notes"][0].as_str().unwrap();
    assert!(first.contains("than the 20 asked for") && first.contains("20 arrivals"), "{first}");
    assert!(!run("constant")["notes"].to_string().contains("random gaps"));
    running.stop().unwrap();
}

#[test]
fn what_cannot_be_written_or_measured_is_said_before_anything_is() {
    let folder = Folder::new("load-before");
    let running = mock::start(Settings::default()).unwrap();
    let address = url(&running);
    let run = |more: &str| {
        let arguments: Vec<&str> = ["load", "--url", &address].into_iter().chain(more.split(' ')).collect();
        run_in(folder.path(), &arguments, &[])
    };
    std::fs::create_dir(folder.path().join("results")).unwrap();
    run("--json results").expect(2).complains(&["'results'", "a folder"]);
    run("--json a.json --csv a.json").expect(2).complains(&["two outputs", "'a.json'"]);
    run("--archive kept --json kept/a.json").expect(2).complains(&["lies in the archive"]);
    // A wrong model or address leaves no archive behind.
    run("--archive kept --model nobody").expect(2).complains(&["'nobody'", "mock"]);
    run_in(folder.path(), &["load", "--url", "127.0.0.1:1", "--archive", "kept"], &[]).complains(&["start the server"]);
    assert!(!folder.path().join("kept").exists());
    run_in(folder.path(), &["load", "localhost:8000"], &[]).expect(2).complains(&["--url localhost:8000"]);
}

/// A stopped load shows what it has, also where it is archived.
#[test]
fn an_archived_sweep_that_is_stopped_prints_and_writes_the_loads_that_were_done() {
    let folder = Folder::new("load-archive-stopped");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 1_000_000, ..Settings::default() }).unwrap();
    fair_start();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(["load", "--url", &url(&running), "--concurrency", "32,1", "--requests", "3200", "--osl", "20"])
        .args(["--archive", "kept", "--json", "cut.json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The server takes 21 ms and more for an answer, so the second load takes more than a minute: it is stopped when it has begun.
    until("the second load has begun", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        walkdir::WalkDir::new(folder.path().join("kept"))
            .into_iter()
            .filter_map(Result::ok)
            .any(|entry| entry.file_name() == "requests.jsonl" && entry.path().to_string_lossy().contains("load-c1"))
    });
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ending = Ending::of(child).expect(4);
    assert!(ending.out.lines().any(|line| line.starts_with("c32 ")), "{}", ending.out);
    ending.complains(&["stopped before the end", "kept/interrupted", "the same command with --resume"]);
    let written: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("cut.json")).unwrap()).unwrap();
    let first = &written.as_array().unwrap()[0];
    assert_eq!((&first["settings"]["concurrency"], &first["completed"]), (&32.into(), &3200.into()));
}

/// Issue 15: a load or a sweep as a table, for an issue, and as a page, without an archive.
#[test]
fn loads_are_written_as_csv_markdown_and_one_page_that_needs_no_other_file() {
    let folder = Folder::new("load-outputs");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 200_000, ..Settings::default() }).unwrap();
    let address = url(&running);
    let shared = ["load", "--url", &address, "--osl", "4", "--requests", "8", "--json", "s.json"];
    let run = |more: &str| {
        let arguments: Vec<&str> = shared.into_iter().chain(more.split(' ')).collect();
        run_in(folder.path(), &arguments, &[])
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let pages = cfg!(feature = "page");
    let html = if pages { " --html s.html" } else { "" };
    run(&format!("--concurrency 1,2,4 --csv s.csv --markdown s.md{html}")).expect(0);
    let summaries: Vec<Value> = serde_json::from_str(&read("s.json")).unwrap();
    let csv = read("s.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4, "{csv}");
    for (row, summary) in rows[1..].iter().zip(&summaries) {
        for path in ["settings.concurrency", "output_throughput_tok_s", "ttft_ms.p50", "tpot_ms.mean", "client.limited"]
        {
            let at = rows[0].iter().position(|head| *head == path).unwrap();
            let value = summary.pointer(&format!("/{}", path.replace('.', "/"))).unwrap();
            // Where a busy client read every answer in one piece there is no time between its tokens: an empty cell.
            let cell = if value.is_null() { String::new() } else { value.to_string() };
            assert_eq!(row[at], cell, "{path}");
        }
        assert_eq!(row[rows[0].iter().position(|head| *head == "ttft_ms.p99").unwrap()], "", "8 requests have no p99");
    }
    let markdown = read("s.md");
    assert!(markdown.contains("Model: mock") && markdown.contains("| c4 | 8 | 0 |"), "{markdown}");
    if pages {
        let page = read("s.html");
        for word in ["<h1>Loads of mock</h1>", "<svg", "Output throughput by concurrency", "<th scope=\"row\">c4</th>"]
        {
            assert!(page.contains(word), "{word}");
        }
        for outside in ["src=\"http", "href=\"http", "url(http", "<link rel=\"stylesheet"] {
            assert!(!page.contains(outside), "{outside}: the page needs the network");
        }
        run("--concurrency 2 --html one.html").expect(0);
        let one = read("one.html");
        assert!(
            one.contains("Figures of requests") && one.contains("e2e_latency_ms") && !one.contains("<svg"),
            "{one}"
        );
        // The same beside an archive.
        run("--concurrency 1,2 --archive kept --html kept.html --csv kept.csv").expect(0);
        assert!(read("kept.html").contains("<svg") && read("kept.csv").lines().count() == 3);
    } else {
        run("--concurrency 2 --html s.html").expect(2).complains(&["this build has no pages", "--markdown"]);
    }
    let arguments = ["load", "--url", &address, "--osl", "4", "--requests", "4", "--csv", "-"];
    let streamed = run_in(folder.path(), &arguments, &[]).expect(0).out;
    assert!(streamed.starts_with("load,url,model") && streamed.lines().count() == 2, "{streamed}");
    run("--csv - --markdown -").expect(2).complains(&["one of --json, --csv and --markdown"]);
    run("--html -").expect(2);
    running.stop().unwrap();
}

/// Issue 15: `--matrix` printed every pass, those that warm up among them.
#[test]
fn a_matrix_is_one_row_a_cell_with_its_spread_and_no_warm_up_in_any_figure() {
    let folder = Folder::new("load-matrix");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 20_000, ..Settings::default() }).unwrap();
    let address = url(&running);
    let shared = ["load", "--url", &address, "--matrix", "t1-t6", "--json", "m.json"];
    for more in [&[][..], &["--archive", "kept"]] {
        let ending = run_in(folder.path(), &[&shared[..], more].concat(), &[]).expect(0);
        let lines: Vec<&str> = ending.out.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 7, "{}", ending.out);
        assert!(lines[0].contains("passes") && !ending.out.contains("warm"), "{}", ending.out);
        for (line, (test, requests)) in
            lines[1..].iter().zip([("t1", 3), ("t2", 3), ("t3", 3), ("t4", 12), ("t5", 48), ("t6", 96)])
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(
                (words[0].to_lowercase().as_str(), words[1], words[2]),
                (test, "3", requests.to_string().as_str()),
                "{line}"
            );
            assert!(line.contains('±'), "{line}");
        }
        let text = std::fs::read_to_string(folder.path().join("m.json")).unwrap();
        let summaries: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(summaries.len(), 18, "six cells of three passes, and none to warm up");
    }
    running.stop().unwrap();
}

#[test]
fn host_and_port_are_address_enough() {
    let folder = Folder::new("load-bare");
    let running = mock::start(Settings::default()).unwrap();
    load(&folder, &running.address().to_string(), &[]).expect(0);
    load(&folder, &running.address().to_string(), &["--archive", "kept"]).expect(0);
    running.stop().unwrap();
    load(&folder, "localhost", &[]).expect(2).complains(&["neither a scheme nor a port", "--url http://localhost"]);
}

#[test]
fn an_address_of_a_route_is_used_as_it_is_with_its_query() {
    let folder = Folder::new("load-route");
    let running = mock::start(Settings::default()).unwrap();
    let server = url(&running);
    let ending =
        load(&folder, &format!("{server}/v1/completions?version=1&key=hidden-7391"), &["--wait", "--seed", "7"]);
    let found = summary(&ending);
    assert_eq!(found["settings"]["endpoint"], "completions");
    assert_eq!(found["url"], server);
    assert!(!format!("{}{}", ending.out, ending.err).contains("hidden-7391"), "{}", ending.err);
    assert!(ending.err.contains("/v1/completions, endpoint completions"), "{}", ending.err);
    ending.expect(0);
    let own = load(&folder, &server, &["--path", "/v1/completions"]);
    assert_eq!(summary(&own)["settings"]["endpoint"], "completions");
    own.expect(0);
    let other = load(&folder, &format!("{server}/v1/completions"), &["--endpoint", "chat"]);
    other.expect(2).complains(&["/completions", "--endpoint completions"]);
    load(&folder, &format!("{server}/v1/embeddings"), &[]).expect(2).complains(&["/embeddings"]);
    running.stop().unwrap();
}

#[test]
fn an_archived_load_is_a_campaign_that_verifies_and_says_what_the_summary_says() {
    let folder = Folder::new("load-archive");
    let running = mock::start(Settings { ttft_ns: 2_000_000, itl_ns: 500_000, ..Settings::default() }).unwrap();
    let address = format!("http://someone:hidden-word-8841@{}", running.address());
    let arguments =
        ["load", "--url", &address, "--concurrency", "2,4", "--osl", "8", "--requests", "8", "--json", "s.json"];
    let ending = run_in(folder.path(), &[&arguments[..], &["--archive", "kept"]].concat(), &[]).expect(0);
    run_in(folder.path(), &["verify", "kept"], &[]).expect(0);
    // The folder above is no archive. The one in it is named.
    run_in(folder.path(), &["status", "."], &[]).expect(5).complains(&["./kept"]);
    let text = std::fs::read_to_string(folder.path().join("s.json")).unwrap();
    let summaries: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(
        summaries.iter().map(|one| one["completed"].as_u64()).collect::<Vec<_>>(),
        [Some(8), Some(8)],
        "{}",
        ending.err
    );
    // A line for each load, below the heads.
    let shown: Vec<&str> = ending.out.lines().collect();
    assert!(shown.len() == 3 && shown[0].contains("output tok/s"), "{}", ending.out);
    let mut lines = 0;
    for entry in walk(&folder.path().join("kept")) {
        let bytes = std::fs::read(&entry).unwrap();
        let hidden = bytes.windows(11).any(|part| part == b"hidden-word");
        assert!(!hidden, "{} holds the password", entry.display());
        if entry.ends_with("requests.jsonl") {
            lines += String::from_utf8(bytes).unwrap().lines().filter(|line| line.contains(r#""status":"ok""#)).count();
        }
    }
    assert!(lines >= 16, "{lines} requests");
    running.stop().unwrap();
}

/// Issue 15: pages of an archived load were called `none`, and lengths and machine were lost.
#[cfg(feature = "analyse")]
#[test]
fn an_archived_load_keeps_model_lengths_and_machine_for_its_pages() {
    let folder = Folder::new("load-archive-labels");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, ..Settings::default() }).unwrap();
    let address = url(&running);
    let shared = ["load", "--url", &address, "--isl", "48", "--osl", "8", "--requests", "8"];
    let named = ["--archive", "named", "--title", "A night with my Spark", "--environment", "Docker"];
    run_in(folder.path(), &[&shared[..], &named].concat(), &[]).expect(0);
    run_in(folder.path(), &[&shared[..], &["--archive", "kept", "--concurrency", "2,4"]].concat(), &[]).expect(0);
    running.stop().unwrap();
    run_in(folder.path(), &["analyse", "named", "--site", "of-named"], &[]).expect(0);
    let text = std::fs::read_to_string(folder.path().join("of-named/data/analysis.json")).unwrap();
    let analysis: Value = serde_json::from_str(&text).unwrap();
    let (campaign, run) = (&analysis["campaigns"][0], &analysis["runs"][0]);
    assert_eq!(
        (campaign["title"].as_str(), run["environment"].as_str()),
        (Some("A night with my Spark"), Some("docker"))
    );
    run_in(folder.path(), &["analyse", "kept", "--site", "site"], &[]).expect(0);
    let text = std::fs::read_to_string(folder.path().join("site/data/analysis.json")).unwrap();
    let analysis: Value = serde_json::from_str(&text).unwrap();
    let runs = analysis["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["environment"] == "native"), "a process of this machine, in no container");
    for (run, batch) in runs.iter().zip([2.0, 4.0]) {
        let setup = &run["setup"];
        let found = (run["model"].as_str(), setup["model_id"].as_str(), setup["isl"].as_f64(), setup["osl"].as_f64());
        assert_eq!(found, (Some("mock"), Some("mock"), Some(48.0), Some(8.0)), "{run:#}");
        assert_eq!(setup["batch"].as_f64(), Some(batch));
    }
    let pages: Vec<String> = walk(&folder.path().join("site")).iter().map(|page| page.display().to_string()).collect();
    assert!(pages.iter().any(|page| page.ends_with("m/mock/index.html")), "{pages:#?}");
    assert!(!pages.iter().any(|page| page.contains("/none/")), "{pages:#?}");
    // The mock runs here, so its machine is this one. A processor that says no name is a machine without one.
    let campaign = std::fs::read_to_string(folder.path().join("kept/campaign.json")).unwrap();
    let campaign: Value = serde_json::from_str(&campaign).unwrap();
    let named = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains("model name");
    assert!(campaign["machine"].is_string() || !named, "{:#}", campaign["machine"]);
}

/// Issue 30, point 12: such a server could be loaded, and the load could not be archived.
#[cfg(feature = "analyse")]
#[test]
fn a_model_of_any_name_is_archived_with_its_name_in_full_and_no_two_become_one() {
    let folder = Folder::new("load-archive-names");
    let cache = "/models/hub/models--nvidia--Llama-3_3-Nemotron-Super-49B-v1_5-NVFP4/snapshots";
    let mut names = vec![
        format!("{cache}/0123456789abcdef0123456789abcdef01234567"),
        format!("{cache}/0123456789abcdef0123456789abcdef01234568"),
        "x".repeat(4_000),
        "x".repeat(4_001),
    ];
    names.extend(["///", "/models/m/", "..", "none", "モデル", "模型", "a b", "a\nb", "a  b"].map(str::to_owned));
    for (k, name) in names.iter().enumerate() {
        let settings =
            Settings { model: name.clone(), ttft_ns: 1_000_000, itl_ns: 100_000, tokens: 4, ..Settings::default() };
        let running = mock::start(settings).unwrap();
        let (address, archive) = (url(&running), format!("all/a{k}"));
        let arguments = ["load", "--url", &address, "--osl", "4", "--requests", "2", "--archive", &archive];
        run_in(folder.path(), &arguments, &[]).expect(0);
        running.stop().unwrap();
        let campaign = std::fs::read_to_string(folder.path().join(&archive).join("campaign.json")).unwrap();
        let campaign: Value = serde_json::from_str(&campaign).unwrap();
        let models: Vec<&Value> = campaign["models"].as_object().unwrap().values().collect();
        assert!(models.len() == 1 && models[0]["id"] == name.as_str(), "{models:?}");
    }
    run_in(folder.path(), &["verify", "all"], &[]).expect(0);
    run_in(folder.path(), &["analyse", "all", "--site", "site"], &[]).expect(0);
    let text = std::fs::read_to_string(folder.path().join("site/data/analysis.json")).unwrap();
    let analysis: Value = serde_json::from_str(&text).unwrap();
    let of = |list: &str, key: fn(&Value) -> &Value| -> BTreeSet<String> {
        let found = analysis[list].as_array().unwrap();
        assert_eq!(found.len(), names.len(), "{list}: {found:#?}");
        found.iter().filter_map(|one| key(one).as_str().map(str::to_owned)).collect()
    };
    let wanted: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(of("runs", |run| &run["setup"]["model_id"]), wanted);
    assert_eq!(of("model_summaries", |model| &model["title"]), wanted, "each model has a page of its own");
    assert_eq!(of("runs", |run| &run["model"]).len(), names.len());
    let page = std::fs::read_to_string(folder.path().join("site/m/index.html")).unwrap();
    for name in &names[..2] {
        assert!(page.contains(name.as_str()), "the list of models does not hold {name}");
    }
}

/// Issue 30, point 12: the name of the folder becomes that of the campaign, and a suite takes few of those that a folder may have.
#[test]
fn a_load_is_archived_into_a_folder_of_any_name() {
    let folder = Folder::new("load-archive-folders");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, ..Settings::default() }).unwrap();
    let mut seen = BTreeSet::new();
    for name in ["日本語", "---", &"x".repeat(120), &"x".repeat(121)] {
        let (address, archive) = (url(&running), format!("./{name}"));
        let arguments = ["load", "--url", &address, "--osl", "4", "--requests", "2", "--archive", &archive];
        run_in(folder.path(), &arguments, &[]).expect(0);
        run_in(folder.path(), &["verify", &archive], &[]).expect(0);
        let campaign = std::fs::read_to_string(folder.path().join(name).join("campaign.json")).unwrap();
        let campaign: Value = serde_json::from_str(&campaign).unwrap();
        assert_eq!(campaign["title"], name);
        assert!(seen.insert(campaign["name"].as_str().unwrap().to_owned()), "{campaign:#}");
    }
    running.stop().unwrap();
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() { found.extend(walk(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

/// What became of an option of the script.
enum Here {
    /// It exists under this name.
    Same,
    /// This option does it.
    As(&'static str),
    /// There is nothing to ask for: why.
    Not(&'static str),
}

/// Every option of `benchmark_serving_multi_turn.py` (vLLM, `benchmarks/multi_turn`, read in 2026), and the two that forks of it add.
const SCRIPT_OPTIONS: &[(&str, Here)] = &[
    ("input-file", Here::Same),
    ("num-clients", Here::Same),
    ("max-active-conversations", Here::Same),
    ("request-rate", Here::Same),
    ("max-num-requests", Here::Same),
    ("max-turns", Here::Same),
    ("max-time-sec", Here::Same),
    ("warmup-step", Here::Same),
    ("limit-min-tokens", Here::Same),
    ("limit-max-tokens", Here::Same),
    ("conversation-sampling", Here::Same),
    ("request-timeout-sec", Here::Same),
    ("print-content", Here::Same),
    ("no-early-stop", Here::Same),
    ("seed", Here::Same),
    ("model", Here::Same),
    ("url", Here::Same),
    ("header", Here::Same),
    ("served-model-name", Here::As("model")),
    ("api-key", Here::As("api-key-env")),
    ("max-retries", Here::As("retries")),
    ("output-file", Here::As("archive")),
    ("stats-json-output", Here::As("json")),
    ("excel-output", Here::Not("sparkbench analyse writes a workbook")),
    ("verify-output", Here::Not("conversations.jsonl holds every answer to compare")),
    ("warmup-percentages", Here::Not("the archive holds every request, so any share can be left out afterwards")),
    ("no-stream", Here::Not("without a stream there is no time to the first token")),
    ("send-conversation-id", Here::Not("the x-request-id of each turn names its conversation")),
    ("trust-remote-code", Here::Not("no code of a model is ever run")),
    ("verbose", Here::Not("conversations.jsonl says what each client did")),
];

#[test]
fn every_option_of_the_known_multi_turn_script_is_there_or_says_why_not() {
    let folder = Folder::new("load-script-options");
    let help = run_in(folder.path(), &["load", "--help"], &[]).expect(0).out;
    let there = |name: &str| help.contains(&format!("--{name} ")) || help.contains(&format!("--{name}\n"));
    for (name, here) in SCRIPT_OPTIONS {
        match here {
            Here::Same => assert!(there(name), "--{name}"),
            Here::As(other) => assert!(there(other), "--{name} is to be --{other}"),
            Here::Not(why) => assert!(!why.is_empty(), "--{name}"),
        }
    }
}

#[test]
fn answers_are_recounted_where_a_tokenizer_is_given() {
    let folder = Folder::new("load-audit");
    let running = mock::start(Settings { ttft_ns: 1_000_000, ..Settings::default() }).unwrap();
    let tokenizer = program::repository().join("tests/fixtures/load/llama-server/tokenizer.json");
    let ending = load(&folder, &url(&running), &["--tokenizer", &tokenizer.display().to_string()]).expect(0);
    let notes = summary(&ending)["notes"].to_string();
    assert!(notes.contains("check by the given tokenizer: of 4 answers"), "{notes}");
    assert!(notes.contains("tokens more in a prompt than were sent as text"), "{notes}");
    running.stop().unwrap();
}

/// An option is wrong, or its file says something else than it should: 2. The file cannot be read: 5.
#[test]
fn an_input_that_cannot_be_read_is_told_apart_from_one_that_says_something_else() {
    let folder = Folder::new("load-inputs");
    let running = mock::start(Settings::default()).unwrap();
    let here = url(&running);
    // An address that asks for certificates. Nothing is sent there.
    let secure = "https://127.0.0.1:1".to_owned();
    folder.put("wrong", "{\n");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let absent = "no\u{1b}thing";
    for (option, address) in [
        ("--prompts", &here),
        ("--trace", &here),
        ("--input-file", &here),
        ("--dataset-path", &here),
        ("--tokenizer", &here),
        ("--ca-file", &secure),
    ] {
        for (file, code) in [(absent, 5), ("folder", 5), ("wrong", 2)] {
            let ending = run_in(folder.path(), &["load", "--url", address, option, file], &[]);
            assert_eq!(ending.code, Some(code), "{option} {file:?}:\n{}", ending.err);
            let named = if file == absent { "no\\x1Bthing" } else { file };
            ending.complains(&[named]);
        }
    }
    running.stop().unwrap();
}

#[test]
fn a_pipe_that_nobody_reads_ends_a_load_with_an_error_and_those_of_a_shell_are_written() {
    use nix::{sys::stat::Mode, unistd::mkfifo};
    let folder = Folder::new("load-pipe");
    mkfifo(&folder.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let running = mock::start(Settings::default()).unwrap();
    let address = url(&running);
    for option in ["--json", "--csv", "--markdown"] {
        let arguments = ["load", "--url", &address, "--osl", "4", "--requests", "2", option, "pipe"];
        let ending = run_in(folder.path(), &arguments, &[]).expect(5);
        ending.complains(&["cannot write '", "nothing reads from the other end of it", "start what reads it first"]);
        assert!(ending.out.contains("ttft_ms"), "the figures are printed: {}", ending.out);
    }
    for output in ["--json /dev/stdout | cat", "--json >(cat)", "--json /dev/stdout"] {
        let script = format!("\"$1\" load --url {address} --osl 4 --requests 2 --quiet {output}");
        fair_start();
        let child = Command::new("bash")
            .args(["-c", &script, "bash", env!("CARGO_BIN_EXE_sparkbench")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let ending = Ending::of(child).expect(0);
        assert!(ending.out.contains("\"completed\": 2"), "{output}: {}", ending.out);
        if output.contains("/dev/stdout") {
            let alone: Result<serde_json::Value, _> = serde_json::from_str(&ending.out);
            assert!(alone.is_ok(), "{output}: nothing else is on standard output: {}", ending.out);
        }
    }
    running.stop().unwrap();
}
