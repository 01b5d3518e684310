//! Several clients as one load: started with the variables that a launcher sets, and by a real `mpirun`.
//!
//! In:  the built-in server in this process.  Out: nothing.
//! Not here: the connections themselves (see `host::meet`), how fast many clients are (see `benches/README.md`).

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::{Ending, fair_start, run_in};
use crate::support::wait::{until, until_some};
use serde_json::Value;
use sparkbench::mock::{self, Settings};

const TOKEN: &str = "SPARKBENCH_TOKEN";
/// Output tokens of each answer.
const OSL: u64 = 8;

/// A server that answers within some milliseconds.
fn server(ttft_ms: u64) -> mock::Running {
    mock::start(Settings { ttft_ns: ttft_ms * 1_000_000, itl_ns: 500_000, tokens: 8, ..Settings::default() }).unwrap()
}

/// Where rank 0 listens: at a port that the kernel gives. One that is drawn from the token may be anybody's.
const ANY_PORT: &str = "127.0.0.1:0";

/// Ranks that are under way. None outlives its test.
struct Started(Vec<Child>);

impl Started {
    /// How each ended, in order.
    fn ended(mut self) -> Vec<Ending> {
        let mut endings = Vec::new();
        while !self.0.is_empty() {
            endings.push(Ending::of(self.0.remove(0)));
        }
        endings
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A rank as Open MPI starts it, on one machine with all others. What it measures lies in a folder of its own meanwhile.
fn start(folder: &Path, token: &str, (rank, world): (usize, usize), meet: &str, arguments: &[String]) -> Child {
    fair_start();
    std::fs::create_dir_all(scratch(folder, rank)).unwrap();
    Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(arguments)
        .args(["--meet", meet])
        .current_dir(folder)
        .env("OMPI_COMM_WORLD_RANK", rank.to_string())
        .env("OMPI_COMM_WORLD_SIZE", world.to_string())
        .env("OMPI_COMM_WORLD_LOCAL_SIZE", world.to_string())
        .env(TOKEN, token)
        .env("TMPDIR", scratch(folder, rank))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn scratch(folder: &Path, rank: usize) -> PathBuf {
    folder.join(format!("scratch-{rank}"))
}

/// Starts all ranks of one load, each in its folder. The others are told where rank 0 listens.
fn begin(at: impl Fn(usize) -> PathBuf, world: usize, arguments: &[String]) -> Started {
    // Tests run beside each other, and so do copies of them: a path that is nobody else's is a token that is nobody else's.
    let token = at(0).display().to_string();
    let mut all = Started(vec![start(&at(0), &token, (0, world), ANY_PORT, arguments)]);
    let meet = listening(&mut all.0[0]);
    for rank in 1..world {
        all.0.push(start(&at(rank), &token, (rank, world), &meet, arguments));
    }
    all
}

/// All ranks of one load, in order.
fn ranks(folder: &Folder, world: usize, arguments: &[String]) -> Vec<Ending> {
    begin(|_| folder.path().to_path_buf(), world, arguments).ended()
}

/// Whether a load whose files lie below a folder has answers by now.
pub fn has_answers(folder: &Path) -> bool {
    let files = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    files
        .filter(|entry| entry.file_name() == "requests.jsonl")
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .any(|text| text.contains(r#""status":"ok""#))
}

/// Waits until every rank has measured something.
fn under_way(folder: &Folder, world: usize) {
    for rank in 0..world {
        until(&format!("answers of rank {rank}"), || has_answers(&scratch(folder.path(), rank)));
    }
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
    assert_eq!((number("/ttft_ms/n"), number("/settings/concurrency")), (400.0, 20.0));
    // On a machine that is busy enough the 20 may never be in flight at one moment. Then there is no window of full load.
    assert!(summary["steady"].is_null() || number("/steady/target") == 20.0, "{}", summary["steady"]);
    let times = ["min", "p50", "p99", "max"].map(|name| number(&format!("/ttft_ms/{name}")));
    assert!(times[0] >= 4.9 && times.is_sorted(), "{times:?}");
    assert_eq!((&summary["valid"], number("/settings/world")), (&Value::Bool(true), 8.0));
    let lines = summary["ranks"].as_array().unwrap();
    assert_eq!(lines.iter().map(|line| line["completed"].as_u64().unwrap()).sum::<u64>(), 400);
    for (rank, line) in lines.iter().enumerate() {
        assert_eq!(line["rank"], rank);
        assert_eq!(line["planned"], 50);
        assert!(line["client"]["cpu_s"].as_f64().unwrap() > 0.0, "each keeps its certificate");
        assert_eq!(line["clock_bound_ms"].is_null(), rank == 0);
        assert!(line["first_late_ms"].as_f64().unwrap() >= 0.0, "none begins before all may: {line}");
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
    let options = ["--concurrency", "4,8", "--requests", "60", "--warmup", "0", "--archive", "a"];
    let endings = ranks(&folder, 3, &load(&running, &options));
    for ending in &endings {
        assert_eq!(ending.code, Some(0), "{}", ending.err);
    }
    // Each point is a run of its own.
    for run in ["001-native-mock-load-c4-r01", "002-native-mock-load-c8-r01"] {
        let loads = folder.path().join("a/runs").join(run);
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
    let options = load(&running, &["--rate", "200", "--requests", "200", "--json", "-"]);
    let open = ranks(&folder, 4, &options);
    open.iter().for_each(|ending| assert_eq!(ending.code, Some(0), "{}", ending.err));
    let summary = json(&open[0].out);
    assert_eq!(summary["completed"], 200);
    // The moments at which requests are due follow from the seed, and are the same whoever sends them. When they leave is the machine's.
    let alone = json(&run_in(folder.path(), &options, &[]).expect(0).out);
    let due = |summary: &Value| summary["offered_rate_req_s"].as_f64().unwrap();
    assert!((due(&summary) / due(&alone) - 1.0).abs() < 1e-6, "the rate is that of all: {}", due(&summary));
    assert!((150.0..260.0).contains(&due(&summary)), "{}", due(&summary));
    assert!(summary["achieved_rate_req_s"].as_f64().unwrap() > 0.0);
    for line in summary["ranks"].as_array().unwrap() {
        assert!(line["first_late_ms"].as_f64().unwrap() >= 0.0, "nothing is sent before it is due: {line}");
    }
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
    // Whoever waits for the end of the hour is ended as a program that hangs.
    let arguments = load(&running, &["--concurrency", "6", "--duration", "3600", "--json", "j.json"]);
    let mut all = begin(|_| folder.path().to_path_buf(), 3, &arguments);
    under_way(&folder, 3);
    all.0[2].kill().unwrap();
    let endings = all.ended();
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
    let arguments = load(&running, &["--concurrency", "6", "--duration", "3600"]);
    let mut all = begin(|_| folder.path().to_path_buf(), 3, &arguments);
    under_way(&folder, 3);
    all.0[0].kill().unwrap();
    for ending in all.ended().into_iter().skip(1) {
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
    let endings = begin(at, 2, &arguments).ended();
    assert_eq!(endings[0].code, Some(4), "{}", endings[0].err);
    endings[0].complains(&["rank 1", "another plan"]);

    let mut head = Started(vec![start(&at(0), "one token", (0, 2), ANY_PORT, &arguments)]);
    let variables = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        (TOKEN, "another token"),
    ];
    let mut arguments = arguments.clone();
    arguments.extend(["--meet".to_owned(), listening(&mut head.0[0])]);
    let stranger = run_in(&at(1), &arguments, &variables).expect(3);
    stranger.complains(&["the token is another one", TOKEN]);
    drop(head);
    running.stop().unwrap();
}

/// The address that a rank 0 listens at, as soon as it does.
fn listening(head: &mut Child) -> String {
    let process = head.id();
    until_some("rank 0 listens", || {
        if let Some(status) = head.try_wait().unwrap() {
            panic!("rank 0 did not listen: {status}");
        }
        let sockets: BTreeSet<String> = std::fs::read_dir(format!("/proc/{process}/fd"))
            .ok()?
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
            .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned()))
            .collect();
        let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).ok()?;
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[3] != "0A" || !sockets.contains(fields[9]) {
                return None;
            }
            let port = u16::from_str_radix(fields[1].rsplit(':').next()?, 16).ok()?;
            Some(format!("127.0.0.1:{port}"))
        })
    })
}

#[test]
fn a_launcher_that_does_not_say_where_is_told_what_to_add() {
    let folder = Folder::new("ranks-where");
    let apart = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "1")];
    let words = ["load", "--url", "http://127.0.0.1:1"];
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
        return needs::skip("mpirun is not installed (Debian package openmpi-bin)");
    }
    let running = server(5);
    let ended = at_a_drawn_port(|_| {
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
        Ending::of(child)
    });
    ended.expect(0).complains(&["one load of 4 ranks"]);
    let summary = json(&std::fs::read_to_string(folder.path().join("j.json")).unwrap());
    assert_eq!((&summary["completed"], &summary["settings"]["world"]), (&Value::from(80), &Value::from(4)));
    running.stop().unwrap();
}

/// A load whose ranks meet at a port that is drawn from their token. Another job may have it: the program says so, sends nothing, and the
/// job is started with another token. `start` is told how many were taken before.
pub fn at_a_drawn_port(mut start: impl FnMut(u32) -> Ending) -> Ending {
    let mut taken = 0;
    until_some("a port that nobody has", || {
        let ending = start(taken);
        let words = ["rank 0 cannot listen at", "cannot reach rank 0 at"];
        if ending.code != Some(3) || !words.iter().any(|word| ending.err.contains(word)) {
            return Some(ending);
        }
        eprintln!("{}", ending.err);
        taken += 1;
        None
    })
}
