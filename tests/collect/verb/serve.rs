//! Servers under load: started, loaded by our own client, ended. And those that do not do as they should.

use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, setsockopt, socket, sockopt};
use nix::unistd::Pid;
use serde_json::Value;

use super::left;
use super::scene::{LENIENT, archive, check, collect, failure, head, json, runs, verifies, watched};
use super::short::{Collector, events, expect_no_process, in_flight};
use crate::support::folder::Folder;
use crate::support::program::{repository, run_in};
use crate::support::roots;
use crate::support::tree::{copy_program, text};
use crate::support::wait::until;

/// The server of this program, which answers at known times. Its port is filled in by [`Port::fill`].
const MOCK: &str = "command = ['{program}', 'mock', '--port', '{port}', '--model', '{model.id}', '--ttft-ms', '5', '--itl-ms', '1']\nport = 0\n";

/// Longer than any test: what runs for so long is ended by something else.
const FOR_EVER_S: u32 = 100_000;

/// A port of this machine that the kernel gives to nobody else while this lives: bound, and not listened on. A server that is told its number
/// can listen there, as both share addresses (`SO_REUSEADDR`). A suite with `port = 0` takes one that is free and lets go of it until its
/// server has started, and a server of another test may get it meanwhile.
#[must_use = "the port is kept as long as this lives"]
struct Port {
    number: u16,
    _held: OwnedFd,
}

impl Port {
    fn new() -> Self {
        let held = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        bind(held.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        setsockopt(&held, sockopt::ReuseAddr, &true).unwrap();
        let address: SockaddrIn = getsockname(held.as_raw_fd()).unwrap();
        Self { number: address.port(), _held: held }
    }

    /// Puts it into a suite in place of any port that is free.
    fn fill(&self, suite: &str) -> String {
        suite.replace("port = 0\n", &format!("port = {}\n", self.number))
    }
}

/// A suite of one server and its load, and the port of the server.
fn suite(folder: &Folder, workload: &str) -> Port {
    let port = Port::new();
    let text = format!(
        "{}[environments.native]\n[models.mock]\nid = 'mock'\n[workloads.server]\nkind = 'serve'\n{workload}\nexpected_s = 1\n{LENIENT}",
        head(1)
    );
    folder.put("suite.toml", port.fill(&text));
    port
}

/// Whether a request of the measured load was answered and written down.
fn answered(run: &Path) -> bool {
    text(&run.join("requests.jsonl")).contains("\"status\":\"ok\"")
}

/// The only run.
fn only(folder: &Folder) -> (std::path::PathBuf, Value) {
    let runs = runs(folder);
    assert_eq!(runs.len(), 1, "{:?}", runs.keys());
    let (name, run) = runs.into_iter().next().unwrap();
    (archive(folder).join("runs").join(name), run)
}

#[test]
fn a_server_is_started_loaded_and_ended_and_everything_is_archived() {
    let folder = Folder::new("serve");
    let _port =
        suite(&folder, &format!("{MOCK}load = {{ concurrency = 4, isl = 16, osl = 8, requests = 24, warmup = 2 }}"));
    collect(&folder, &[], &[]).expect(0);
    let (path, run) = only(&folder);
    assert_eq!(failure(&run), "");
    assert_eq!(check(&run, "model_id"), Some("match"));
    assert_eq!(check(&run, "requests"), Some("match"));
    assert_eq!(watched(&run, "exit-status")["level"], "passed");
    assert_eq!(run["process"]["why"], "the load against it is done");
    let (from, to) = (run["window"]["from_s"].as_f64().unwrap(), run["window"]["to_s"].as_f64().unwrap());
    let (started, ended) = (run["started_monotonic_s"].as_f64().unwrap(), run["ended_monotonic_s"].as_f64().unwrap());
    assert!(started < from && from < to && to <= ended, "{started} {from} {to} {ended}");
    let hashed: Vec<&str> = run["files"].as_array().unwrap().iter().filter_map(|file| file["path"].as_str()).collect();
    for file in [
        "requests.jsonl",
        "chunks.sbc",
        "summary.json",
        "server.json",
        "metrics/before.txt",
        "metrics/after.txt",
        "stdout.log",
    ] {
        assert!(hashed.contains(&file), "{file} is not in {hashed:?}");
    }
    assert_eq!(run["reports"][0]["parser"], "requests");
    let summary = json(&path.join("summary.json"));
    assert_eq!((&summary["completed"], &summary["failed"]), (&Value::from(24), &Value::from(0)));
    assert_eq!(json(&path.join("server.json"))["models"][0]["id"], "mock");
    let metrics = fs::read_to_string(path.join("metrics/after.txt")).unwrap();
    assert!(metrics.contains("prompt_tokens"), "{metrics}");
    verifies(&folder);
    expect_no_process(&left::archive_id(&archive(&folder)).unwrap());
}

#[test]
fn several_loads_share_one_start() {
    let folder = Folder::new("serve-loads");
    let loads = "load = { isl = 16, osl = 4, requests = 6 }\nloads = [{ name = 'few' }, { name = 'more', concurrency = [1, 2] }]";
    let _port = suite(&folder, &format!("{MOCK}{loads}"));
    collect(&folder, &[], &[]).expect(0);
    let (path, run) = only(&folder);
    let tests: Vec<&str> =
        run["reports"].as_array().unwrap().iter().filter_map(|report| report["test"].as_str()).collect();
    assert_eq!(tests, ["few", "more-c1", "more-c2"]);
    for test in tests {
        let summary = json(&path.join("loads").join(test).join("summary.json"));
        assert_eq!(summary["completed"], 6, "{test}");
    }
    verifies(&folder);
}

#[test]
fn a_matrix_measures_every_cell_that_fits_the_server_and_says_which_do_not() {
    let folder = Folder::new("serve-matrix");
    let server =
        format!("{}\n", MOCK.trim_end().replace("'--itl-ms', '1']", "'--itl-ms', '0', '--max-model-len', '700']"));
    let _port = suite(&folder, &format!("{server}load = {{ matrix = 't1-t6', warmup_passes = 1 }}"));
    collect(&folder, &[], &[]).expect(0).complains(&["load t3 is skipped: 2048 + 512 tokens are more than the 700"]);
    let (path, run) = only(&folder);
    assert_eq!(failure(&run), "");
    let tests: Vec<&str> =
        run["reports"].as_array().unwrap().iter().filter_map(|report| report["test"].as_str()).collect();
    assert_eq!(tests, ["t1", "t2", "t4", "t5", "t6"]);
    for (test, requests) in [("t1", 1), ("t4", 4), ("t6", 32)] {
        let own = path.join("loads").join(test);
        assert_eq!(json(&own.join("summary.json"))["completed"], requests, "{test}");
        assert_eq!(
            json(&own.join("warmup-1/summary.json"))["completed"],
            requests,
            "the warm-up of {test} is kept too"
        );
    }
    assert!(run.to_string().contains("t3 is skipped"), "{run}");
    verifies(&folder);
}

#[test]
fn a_search_archives_every_point_that_it_went_to() {
    let folder = Folder::new("serve-search");
    let load = "load = { saturation = true, concurrency = '1..4', isl = 16, osl = 4, requests = 24 }";
    let _port = suite(&folder, &format!("{MOCK}{load}"));
    collect(&folder, &[], &[]).expect(0);
    let (path, run) = only(&folder);
    let reports = run["reports"].as_array().unwrap();
    let tests: Vec<&str> = reports.iter().filter_map(|report| report["test"].as_str()).collect();
    assert!(tests.len() >= 2 && tests.starts_with(&["c1", "c2"]), "{tests:?}");
    for report in reports {
        assert!(path.join(report["path"].as_str().unwrap()).is_file(), "{report}");
    }
    verifies(&folder);
}

#[test]
fn a_server_that_does_not_start_fails_the_run_with_the_last_lines_of_its_log() {
    let folder = Folder::new("serve-dead");
    let _port = suite(
        &folder,
        "command = ['sh', '-c', 'echo loading; echo no kernel image >&2; exit 3']\nport = 0\nload = { requests = 2 }",
    );
    // Whoever waited until it is ready would wait for half an hour.
    collect(&folder, &[], &[]).expect(4).complains(&["ended by itself before the load was done", "no kernel image"]);
    let (_, run) = only(&folder);
    let why = failure(&run);
    assert!(why.contains("exit status 3") && why.contains("last lines of stdout.log:\n  loading"), "{why}");
}

#[test]
fn a_server_that_does_not_get_ready_is_ended_at_its_limit() {
    let folder = Folder::new("serve-slow");
    let workload = format!(
        "command = ['sh', '-c', 'echo still loading; exec sleep {FOR_EVER_S}']\nport = 0\nready = {{ limit_s = 5 }}\nload = {{ requests = 2 }}"
    );
    let _port = suite(&folder, &workload);
    collect(&folder, &[], &[]).expect(4).complains(&["the server was not ready within 5 s", "still loading"]);
    expect_no_process(&left::archive_id(&archive(&folder)).unwrap());
}

#[test]
fn a_server_that_dies_under_load_fails_the_run_and_keeps_what_was_measured() {
    let folder = Folder::new("serve-dies");
    // It serves until an answer of it was written down.
    folder.put(
        "server.sh",
        "#!/bin/sh\nrequests=$1/../requests.jsonl\nshift\n\"$@\" &\n\
         until grep -qs '\"status\":\"ok\"' \"$requests\"; do sleep 0.1; done\nkill -KILL $!\nexit 3\n",
    );
    let command = "command = ['sh', '{work}/server.sh', '{work}', '{program}', 'mock', '--port', '{port}', '--model', 'mock', '--itl-ms', '1']\n\
                   assets = ['server.sh']\nport = 0\n";
    let load = format!("load = {{ concurrency = 2, isl = 16, osl = 16, duration_s = {FOR_EVER_S} }}");
    let _port = suite(&folder, &format!("{command}{load}"));
    collect(&folder, &[], &[]).expect(4).complains(&["ended by itself before the load was done"]);
    let (path, _) = only(&folder);
    assert!(answered(&path));
    verifies(&folder);
}

#[test]
fn another_model_than_the_one_asked_for_fails_the_run() {
    let folder = Folder::new("serve-model");
    let _port = suite(&folder, &format!("{}load = {{ requests = 2 }}", MOCK.replace("{model.id}", "other")));
    collect(&folder, &[], &[]).expect(4).complains(&["model_id: asked for mock, but ran other (/v1/models)"]);
    let (path, run) = only(&folder);
    assert_eq!(check(&run, "model_id"), Some("mismatch"));
    assert!(!path.join("summary.json").exists(), "nothing was sent");
}

#[test]
fn a_signal_stops_the_load_first_and_then_the_server() {
    let folder = Folder::new("serve-stop");
    let load = format!("load = {{ concurrency = 2, isl = 16, osl = 16, duration_s = {FOR_EVER_S} }}");
    let _port = suite(&folder, &format!("{MOCK}{load}"));
    let archive = archive(&folder);
    let collector = Collector::start(folder.path(), &archive, &[]);
    until("the load is at work", || in_flight(&archive).is_some_and(|run| answered(&run)));
    kill(Pid::from_raw(collector.pid() as i32), Signal::SIGINT).unwrap();
    collector.end().expect(4).complains(&["every finished run is archived"]);
    expect_no_process(&left::archive_id(&archive).unwrap());
    let interrupted = events(&archive, "interrupted");
    assert_eq!(interrupted.len(), 1);
    let kept = archive.join(interrupted[0]["folder"].as_str().unwrap());
    assert_eq!(
        json(&kept.join("summary.json"))["valid"],
        false,
        "what was measured so far is kept, and said not to be whole"
    );
    verifies(&folder);
}

#[test]
fn a_time_limit_stops_the_load_and_the_server() {
    let folder = Folder::new("serve-limit");
    let load = format!("load = {{ concurrency = 1, osl = 16, duration_s = {FOR_EVER_S} }}\ntime_limit_s = 3");
    let _port = suite(&folder, &format!("{MOCK}{load}"));
    collect(&folder, &[], &[]).expect(4).complains(&["time-limit"]);
    expect_no_process(&left::archive_id(&archive(&folder)).unwrap());
}

/// Ended with the test.
struct Stands(std::process::Child);

impl Drop for Stands {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_stands_already_is_loaded_and_left_alone() {
    use std::io::{BufRead as _, BufReader};
    let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(["mock", "--model", "mock", "--ttft-ms", "2"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut server = Stands(server);
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("its address").to_owned();
    let folder = Folder::new("serve-attach");
    let load = "load = { concurrency = 2, isl = 16, osl = 4, requests = 8 }";
    let _port = suite(&folder, &format!("attach = {{ url = '{url}' }}\n{load}"));
    collect(&folder, &[], &[]).expect(0);
    let (path, run) = only(&folder);
    assert_eq!((failure(&run), &run["command"]), ("", &Value::Array(Vec::new())));
    assert_eq!(json(&path.join("summary.json"))["completed"], 8);
    assert_eq!(json(&path.join("server.json"))["attached"], true);
    assert!(server.0.try_wait().unwrap().is_none(), "it was not ours to end");
    verifies(&folder);
}

/// Puts the program that is tested into a root, with the libraries that it names.
fn install(root: &Path) {
    let program = env!("CARGO_BIN_EXE_sparkbench");
    copy_program(Path::new(program), &root.join("bin/sparkbench"));
    let needs = std::process::Command::new("ldd").arg(program).output().expect("ldd starts");
    for word in String::from_utf8_lossy(&needs.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(word.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        copy_program(Path::new(word), &place);
    }
}

#[test]
fn a_server_is_loaded_in_every_environment_that_there_is() {
    let folder = Folder::new("serve-everywhere");
    let roots = roots::make_with(folder.path(), &install);
    let text = format!(
        "{}{}[models.mock]\nid = 'mock'\n[workloads.server]\nkind = 'serve'\n{}load = {{ concurrency = 2, isl = 16, osl = 8, requests = 12 }}\n\
         expected_s = 1\n{LENIENT}",
        head(1),
        // The client finds the server where the machine's own network is used.
        roots.environments.replace("[environments.docker]\n", "[environments.docker]\nflags = ['--network=host']\n"),
        MOCK.replace("{program}", "/bin/sparkbench"),
    );
    // The machine itself has the program elsewhere.
    let text = text.replace("[environments.native]\n", "").replace("baseline = \"native\"\n", "");
    if roots.labels == ["native"] {
        return;
    }
    let port = Port::new();
    folder.put("suite.toml", port.fill(&text));
    collect(&folder, &[], &[]).expect(0);
    let runs = runs(&folder);
    assert_eq!(runs.len(), roots.labels.len() - 1, "{:?}", runs.keys());
    for (name, run) in &runs {
        assert_eq!(failure(run), "", "{name}");
        assert_eq!(check(run, "model_id"), Some("match"), "{name}");
        assert_eq!(watched(run, "exit-status")["level"], "passed", "{name}");
        let path = archive(&folder).join("runs").join(name);
        assert_eq!(json(&path.join("summary.json"))["completed"], 12, "{name}");
        assert!(fs::metadata(path.join("stdout.log")).unwrap().len() > 0, "{name}: the server's log is kept");
    }
    verifies(&folder);
    expect_no_process(&left::archive_id(&archive(&folder)).unwrap());
}

/// Issue 15, point 18: the suite of `init` had one environment and a workload that needs a GPU.
#[test]
fn the_suite_of_init_runs_once_the_path_of_a_model_is_filled_in() {
    let folder = Folder::new("serve-starter");
    // What stands for vLLM: it takes vLLM's options, wants the weights where it was told, and answers at known times.
    let engine = |program: &str| {
        format!(
            "#!/bin/sh\ncat \"$2/config.json\" || exit 3\nexec {program} mock --host \"$4\" --port \"$6\" --model \"$2\" --ttft-ms 5 --itl-ms 1\n"
        )
    };
    let roots = roots::make_with(folder.path(), &|root| {
        install(root);
        super::scene::script(&folder, "root/bin/vllm", &engine("/bin/sparkbench"));
    });
    let Some((_, image)) = roots.environments.split_once("[environments.docker]\nimage = \"") else { return };
    super::scene::script(&folder, "bin/vllm", &engine(env!("CARGO_BIN_EXE_sparkbench")));
    folder.put("model/config.json", "{}");
    run_in(folder.path(), &["init", "--source", ""], &[]).expect(0).complains(&["fill in the path of a model"]);
    let path = folder.path().join("model");
    let text = fs::read_to_string(folder.path().join("suite.toml")).unwrap();
    let text = text.replace("/path/to/model", path.to_str().unwrap());
    // A port that nobody else has in place of the engine's own.
    let port = Port::new();
    let text = text.replace("engine = \"vllm\"\n", "engine = \"vllm\"\nport = 0\n");
    let text = port.fill(&text);
    assert!(text.contains(&format!("\nport = {}\n", port.number)), "{text}");
    // The image of the test in place of vLLM's, one repeat, and gates that a busy machine without a GPU can hold.
    let text = text
        .replace("vllm/vllm-openai:latest", image.split('"').next().unwrap())
        .replace("\nrepeats = 10", "\nrepeats = 1");
    let text = text.replace("\"--gpus=all\", ", "").replace("# gpu_required = true", "gpu_required = false");
    let lenient = [
        "cooldown_min_s = 0",
        "host_load_max_per_core = false",
        "memory_available_min_gib = false",
        "disk_free_min_gib = 0",
    ];
    let text = text.replace("\n[gates]\n", &format!("\n[gates]\n{}\n", lenient.join("\n")));
    folder.put(
        "suite.toml",
        text.replace("\n[watchdogs]\n", "\n[watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n"),
    );
    collect(&folder, &[], &[("PATH", &super::scene::path_with(&folder.path().join("bin")))]).expect(0);
    let runs = runs(&folder);
    assert_eq!(
        runs.keys().filter(|name| name.contains("native") || name.contains("docker")).count(),
        2,
        "{:?}",
        runs.keys()
    );
    for (name, run) in &runs {
        assert_eq!(failure(run), "", "{name}");
        let summary = json(&archive(&folder).join("runs").join(name).join("summary.json"));
        assert_eq!(summary["completed"], 64, "{name}");
    }
    verifies(&folder);
}

#[test]
fn the_shipped_suite_with_known_times_runs_and_its_figures_are_the_known_ones() {
    let folder = Folder::new("serve-mock");
    let text = fs::read_to_string(repository().join("suites/serve-mock.toml")).unwrap();
    // Once, with a port that nobody else has, and with all the time that a busy machine takes.
    let port = Port::new();
    let text = text.replace("repeats = 3\n", "repeats = 1\n").replace("limit_s = 30 }", "limit_s = 3600 }");
    folder.put("suite.toml", port.fill(&text).replace("time_limit_s = 120\n", "time_limit_s = 3600\n"));
    run_in(folder.path(), &["collect", "suite.toml", "--archive", "archive"], &[]).expect(0);
    let (path, _) = only(&folder);
    for load in ["closed", "open"] {
        let summary = json(&path.join("loads").join(load).join("summary.json"));
        assert!(summary["completed"].as_u64() > Some(0), "{load}: {summary}");
        // On a busy machine the server is late, never early: 20 ms to the first token, 5 ms to each of 31 more. A first token that is late by
        // itself brings the others closer to it, so that no single distance has a least value, but all of them together.
        // Two clocks are read for each arrival. A hundredth of a millisecond is what they may be apart.
        for (figure, least) in [("ttft_ms", 20.0), ("e2e_latency_ms", 20.0 + 31.0 * 5.0)] {
            let [min, p50, max] = ["min", "p50", "max"].map(|key| summary[figure][key].as_f64().unwrap());
            assert!(min >= least - 0.01 && min <= p50 && p50 <= max, "{load}: {figure} {min} {p50} {max}");
        }
        assert!(summary["tpot_ms"]["p50"].as_f64().is_some_and(|tpot| tpot > 0.0), "{load}: {}", summary["tpot_ms"]);
    }
}
