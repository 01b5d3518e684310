//! Several clients as one load: started with the variables that a launcher sets, and by a real `mpirun`.
//!
//! In:  the built-in server in this process.  Out: nothing.
//! Not here: the connections themselves (see `host::meet`), how fast many clients are (see `benches/README.md`).

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::folder::Folder;
use crate::support::program::{Ending, fair_start, run_in};
use serde_json::Value;
use sparkbench::mock::{self, Settings};

const TOKEN: &str = "SPARKBENCH_TOKEN";
/// Output tokens of each answer.
const OSL: u64 = 8;

/// A server that answers within some milliseconds.
fn server(ttft_ms: u64) -> mock::Running {
    mock::start(Settings { ttft_ns: ttft_ms * 1_000_000, itl_ns: 500_000, tokens: 8, ..Settings::default() }).unwrap()
}

/// A rank as Open MPI starts it, on one machine with all others.
fn start(folder: &Path, token: &str, rank: usize, world: usize, arguments: &[String]) -> Child {
    fair_start();
    Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(arguments)
        .current_dir(folder)
        .env("OMPI_COMM_WORLD_RANK", rank.to_string())
        .env("OMPI_COMM_WORLD_SIZE", world.to_string())
        .env("OMPI_COMM_WORLD_LOCAL_SIZE", world.to_string())
        .env(TOKEN, token)
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// All ranks of one load, in order. Tests run beside each other, so each has a token, and with it a port, of its own.
fn ranks(folder: &Folder, world: usize, arguments: &[String]) -> Vec<Ending> {
    let token = format!("{}", folder.path().display());
    let children: Vec<Child> = (0..world).map(|rank| start(folder.path(), &token, rank, world, arguments)).collect();
    children.into_iter().map(Ending::of).collect()
}

fn load(running: &mock::Running, more: &[&str]) -> Vec<String> {
    let url = format!("http://{}", running.address());
    let shared = ["load", "--url", &url, "--isl", "16", "--osl", "8", "--exact", "min-tokens", "--model", "mock"];
    shared.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|cause| panic!("{cause}: {text}"))
}

/// Places in the plan of all requests of a file.
fn places(file: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| json(line)["index"].as_u64().unwrap()).collect()
}

#[test]
fn eight_ranks_are_one_load_whose_every_request_is_sent_once() {
    let folder = Folder::new("ranks-eight");
    let running = server(5);
    let options = ["--concurrency", "20", "--requests", "400", "--warmup", "20", "--json", "-"];
    let endings = ranks(&folder, 8, &load(&running, &options));
    for (rank, ending) in endings.iter().enumerate() {
        assert_eq!(ending.code, Some(0), "rank {rank}: {}", ending.err);
        assert!(rank == 0 || ending.out.is_empty(), "rank 0 speaks for all: {}", ending.out);
    }
    let summary = json(&endings[0].out);
    let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    assert_eq!((number("/planned"), number("/completed"), number("/failed")), (400.0, 400.0, 0.0), "{summary:#}");
    assert_eq!((number("/before/requests"), number("/before/completed")), (20.0, 20.0));
    assert_eq!(number("/output_tokens"), (400 * OSL) as f64);
    assert_eq!((number("/ttft_ms/n"), number("/steady/target")), (400.0, 20.0));
    assert!(number("/ttft_ms/min") >= 4.9 && number("/ttft_ms/p50") < 100.0, "{summary:#}");
    assert_eq!((&summary["valid"], number("/settings/world")), (&Value::Bool(true), 8.0));
    let lines = summary["ranks"].as_array().unwrap();
    assert_eq!(lines.iter().map(|line| line["completed"].as_u64().unwrap()).sum::<u64>(), 400);
    for (rank, line) in lines.iter().enumerate() {
        assert_eq!(line["rank"], rank);
        assert_eq!(line["planned"], 50);
        assert!(line["client"]["cpu_s"].as_f64().unwrap() > 0.0, "each keeps its certificate");
        assert_eq!(line["clock_bound_ms"].is_null(), rank == 0);
        // They share a machine that may be busy. A millisecond is for a machine at rest.
        assert!(line["first_late_ms"].as_f64().unwrap() < 500.0, "{line}");
    }
    // One client's plan, and one client's figures from it.
    let alone = run_in(folder.path(), &load(&running, &options), &[]).expect(0);
    let alone = json(&alone.out);
    assert_eq!(alone["settings"]["plan_sha256"], summary["settings"]["plan_sha256"]);
    assert_eq!(alone["input_tokens"], summary["input_tokens"], "the same prompts");
    running.stop().unwrap();
}

#[test]
fn what_the_ranks_saw_lies_in_one_archive() {
    let folder = Folder::new("ranks-archive");
    let running = server(2);
    let options = ["--concurrency", "4,8", "--requests", "60", "--archive", "a"];
    let endings = ranks(&folder, 3, &load(&running, &options));
    for ending in &endings {
        assert_eq!(ending.code, Some(0), "{}", ending.err);
    }
    let run = std::fs::read_dir(folder.path().join("a/runs")).unwrap().next().unwrap().unwrap().path();
    for point in ["c4", "c8"] {
        let loads = run.join("loads").join(point);
        let places = places(&loads.join("requests.jsonl"));
        assert_eq!(places.len(), 60);
        assert_eq!(places.iter().copied().collect::<BTreeSet<_>>(), (0..60).collect());
        let summary = json(&std::fs::read_to_string(loads.join("summary.json")).unwrap());
        assert_eq!((&summary["completed"], summary["ranks"].as_array().unwrap().len()), (&Value::from(60), 3));
        assert!(summary["chunk_gap_ms"]["n"].as_u64().unwrap() > 300, "the chunks of all ranks: {summary:#}");
        let left: Vec<_> = std::fs::read_dir(&loads).unwrap().filter_map(Result::ok).map(|e| e.file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{left:?}");
    }
    run_in(folder.path(), &["verify", "a"], &[]).expect(0);
    if cfg!(feature = "analyse") {
        let analysed = run_in(folder.path(), &["analyse", "a", "--site", "s", "--resamples", "999"], &[]).expect(0);
        assert!(!analysed.err.contains("left out: 1"), "{}", analysed.err);
    }
    running.stop().unwrap();
}

#[test]
#[cfg(feature = "analyse")]
fn shares_of_clients_that_loaded_apart_are_put_together_by_the_analysis() {
    let folder = Folder::new("ranks-apart");
    let running = server(5);
    let apart = |rank: &str, archive: &str, seed: &str| {
        let options = ["--concurrency", "4", "--requests", "41", "--warmup", "3", "--seed", seed];
        let which = ["--rank", rank, "--world", "2", "--archive", archive];
        run_in(folder.path(), &load(&running, &[&options[..], &which].concat()), &[]).expect(0)
    };
    apart("0", "all/a", "1");
    apart("1", "all/b", "1");
    let analysed = run_in(folder.path(), &["analyse", "all", "--site", "s", "--resamples", "999"], &[]).expect(0);
    let analysis = json(&std::fs::read_to_string(folder.path().join("s/data/analysis.json")).unwrap());
    let runs = analysis["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["setup"]["requests"]), (1, &Value::from(41.0)), "{}", analysed.err);
    assert_eq!((analysis["campaigns"].as_array().unwrap().len(), &runs[0]["status"]), (1, &Value::from("done")));
    // A share of another plan is no share of this one.
    apart("1", "other/b", "2");
    std::fs::rename(folder.path().join("all/a"), folder.path().join("other/a")).unwrap();
    let analysed = run_in(folder.path(), &["analyse", "other", "--site", "t", "--resamples", "999"], &[]).expect(0);
    analysed.complains(&["one client's share of a load by 2"]);
    running.stop().unwrap();
}

#[test]
fn an_open_loop_and_conversations_are_shared_too() {
    let folder = Folder::new("ranks-open");
    let running = server(2);
    let open = ranks(&folder, 4, &load(&running, &["--rate", "200", "--requests", "200", "--json", "-"]));
    open.iter().for_each(|ending| assert_eq!(ending.code, Some(0), "{}", ending.err));
    let summary = json(&open[0].out);
    assert_eq!(summary["completed"], 200);
    let rate = summary["achieved_rate_req_s"].as_f64().unwrap();
    assert!((150.0..260.0).contains(&rate), "the rate is that of all: {rate}");
    let chat = ["--num-clients", "4", "--max-turns", "6", "--conversations", "12", "--json", "-"];
    let chat: Vec<&str> = chat.into_iter().collect();
    let talk = ranks(&folder, 2, &load(&running, &chat));
    talk.iter().for_each(|ending| assert_eq!(ending.code, Some(0), "{}", ending.err));
    let summary = json(&talk[0].out);
    assert_eq!(summary["conversations"]["conversations"]["done"], 12, "{summary:#}");
    assert_eq!(summary["conversations"]["clients"].as_array().unwrap().len(), 4);
    running.stop().unwrap();
}

#[test]
fn a_dead_rank_is_named_at_once_and_the_load_is_not_valid() {
    let folder = Folder::new("ranks-dead");
    let running = server(20);
    let arguments = load(&running, &["--concurrency", "6", "--duration", "60", "--json", "j.json"]);
    let token = "a dead rank";
    let mut children: Vec<Child> = (0..3).map(|rank| start(folder.path(), token, rank, 3, &arguments)).collect();
    std::thread::sleep(Duration::from_secs(4));
    let began = std::time::Instant::now();
    children[2].kill().unwrap();
    let endings: Vec<Ending> = children.into_iter().map(Ending::of).collect();
    assert!(began.elapsed() < Duration::from_secs(20), "nobody waits for the end of the minute");
    assert_eq!(endings[0].code, Some(4), "{}", endings[0].err);
    endings[0].complains(&["rank 2"]);
    assert_eq!(endings[1].code, Some(0), "{}", endings[1].err);
    let summary = json(&std::fs::read_to_string(folder.path().join("j.json")).unwrap());
    assert_eq!(summary["valid"], false);
    assert!(summary["invalid_because"].to_string().contains("rank 2"), "{}", summary["invalid_because"]);
    assert!(summary["completed"].as_u64().unwrap() > 0, "what the others measured is kept");
    assert!(summary["ranks"][2]["missing"].is_string());
    running.stop().unwrap();
}

#[test]
fn without_rank_0_the_others_end() {
    let folder = Folder::new("ranks-headless");
    let running = server(20);
    let arguments = load(&running, &["--concurrency", "6", "--duration", "60"]);
    let mut children: Vec<Child> = (0..3).map(|rank| start(folder.path(), "headless", rank, 3, &arguments)).collect();
    std::thread::sleep(Duration::from_secs(4));
    children[0].kill().unwrap();
    for ending in children.into_iter().map(Ending::of).skip(1) {
        assert_eq!(ending.code, Some(4), "{}", ending.err);
        ending.complains(&["rank 0 left the load"]);
    }
    running.stop().unwrap();
}

#[test]
fn a_rank_with_other_files_or_another_token_is_refused() {
    let folder = Folder::new("ranks-other");
    let running = server(2);
    for (name, line) in [("0", "one"), ("1", "another")] {
        let text = format!("{{\"prompt\": \"{line}\", \"output_tokens\": 8}}\n").repeat(8);
        folder.put(&format!("{name}/prompts.jsonl"), text);
    }
    let url = format!("http://{}", running.address());
    let words = ["load", "--url", &url, "--prompts", "prompts.jsonl", "--concurrency", "2", "--model", "mock"];
    let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let at = |rank: usize| folder.path().join(rank.to_string());
    let children: Vec<Child> = (0..2).map(|rank| start(&at(rank), "other files", rank, 2, &arguments)).collect();
    let endings: Vec<Ending> = children.into_iter().map(Ending::of).collect();
    assert_eq!(endings[0].code, Some(4), "{}", endings[0].err);
    endings[0].complains(&["rank 1", "another plan"]);

    let mut head = start(&at(0), "one token", 0, 2, &arguments);
    let variables = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        (TOKEN, "another token"),
    ];
    // Another token is another port: it is told where rank 0 is.
    std::thread::sleep(Duration::from_millis(500));
    let listens = listening(head.id());
    let mut arguments = arguments.clone();
    arguments.extend(["--meet".to_owned(), listens]);
    let stranger = run_in(&at(1), &arguments, &variables).expect(3);
    stranger.complains(&["the token is another one", TOKEN]);
    head.kill().unwrap();
    head.wait().unwrap();
    running.stop().unwrap();
}

/// The address that a process listens at.
fn listening(process: u32) -> String {
    for _ in 0..100 {
        let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap();
        let sockets: BTreeSet<String> = std::fs::read_dir(format!("/proc/{process}/fd"))
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
            .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned()))
            .collect();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[3] == "0A" && sockets.contains(fields[9]) {
                let port = u16::from_str_radix(fields[1].rsplit(':').next().unwrap(), 16).unwrap();
                return format!("127.0.0.1:{port}");
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it does not listen");
}

#[test]
fn a_launcher_that_does_not_say_where_is_told_what_to_add() {
    let folder = Folder::new("ranks-where");
    let apart = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "1")];
    let words = ["load", "--url", "http://127.0.0.1:9"];
    run_in(folder.path(), &words, &apart).expect(2).complains(&["token", "mpirun passes it on with -x"]);
    let told = [apart.as_slice(), &[(TOKEN, "t")]].concat();
    run_in(folder.path(), &words, &told).expect(2).complains(&["--meet HOST"]);
    // A load of its own, whatever started it: the server is what is not there.
    let own = run_in(folder.path(), &[words.as_slice(), &["--world", "1"]].concat(), &apart);
    assert_ne!(own.code, Some(2), "{}", own.err);
    let dry = run_in(folder.path(), &[words.as_slice(), &["--dry-run"]].concat(), &apart).expect(0);
    assert!(dry.out.is_empty(), "the plan is printed by rank 0 alone");
}

#[test]
fn mpirun_makes_one_load_of_its_processes() {
    let folder = Folder::new("ranks-mpirun");
    let there = Command::new("mpirun").arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        assert!(std::env::var_os("SPARKBENCH_REQUIRE_ALL").is_none(), "mpirun is not installed");
        eprintln!("skipped: mpirun is not installed (Debian package openmpi-bin)");
        return;
    }
    let running = server(5);
    fair_start();
    let child = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n", "4", env!("CARGO_BIN_EXE_sparkbench")])
        .args(load(&running, &["--concurrency", "8", "--requests", "80", "--json", "j.json"]))
        .current_dir(folder.path())
        .env_remove(TOKEN)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = Ending::of(child).expect(0);
    ended.complains(&["one load of 4 ranks"]);
    let summary = json(&std::fs::read_to_string(folder.path().join("j.json")).unwrap());
    assert_eq!((&summary["completed"], &summary["settings"]["world"]), (&Value::from(80), &Value::from(4)));
    running.stop().unwrap();
}
