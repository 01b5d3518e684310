//! Settings as people write them, and a run against a small server with a scripted client.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::attach::Attach;
use super::loader::{Job, Loaded};
use super::work::Work;
use super::*;
use crate::env::Place;
use crate::workload::beside::{At, Done};
use crate::workload::placement::Placement;
use sparkbench_archive::manifest::WindowWire;
use sparkbench_host::replay::Replay;
use sparkbench_host::web::{Tls, Web};
use sparkbench_load::settings::{Lengths, Settings};
use sparkbench_plan::{Faults, Kinds, Suite};
use sparkbench_testing::Folder;

/// Writes down what it was asked for, one file a load.
struct Scripted;

impl Loader for Scripted {
    fn run(&self, job: &Job<'_>) -> Result<Loaded, Error> {
        for load in job.loads {
            let folder = job.folder_of(load);
            fs::create_dir_all(&folder).unwrap();
            let settings = &load.settings;
            let text = format!("{:?} seed {} nonce {}", settings.model, settings.seed, settings.nonce);
            fs::write(folder.join("asked.txt"), text).unwrap();
            if settings.model.as_deref() == Some("impossible") {
                return Err(Error::usage("no such thing").hint("another"));
            }
        }
        (job.say)("loaded");
        Ok(Loaded {
            window: Some(WindowWire { from_s: 1.0, to_s: 2.0 }),
            marks: vec!["a mark".into()],
            ..Loaded::default()
        })
    }
}

fn model(id: Option<&str>, path: Option<&str>) -> Model {
    Model {
        label: "m".to_owned(),
        id: id.map(str::to_owned),
        title: None,
        path: path.map(str::to_owned),
        revision: None,
        quantisation: None,
    }
}

/// A workload, and what is wrong with it.
fn read(text: &str) -> (Option<Box<dyn Workload>>, Vec<String>) {
    let text = format!("[workloads.w]\nkind = 'serve'\n{text}");
    let suite = Suite::parse(&text, &Kinds { environments: &["native"], workloads: &["serve"] }).suite.unwrap();
    let mut faults = Faults::default();
    let mut keys = suite.workloads[0].reader(&mut faults);
    let made = ServeKind { loader: &Scripted }.read(&mut keys, Path::new(sparkbench_testing::ROOT));
    keys.finish();
    (made, faults.sorted().iter().map(|fault| format!("{}: {}", fault.key, fault.what)).collect())
}

fn well(text: &str) -> Box<dyn Workload> {
    let (made, faults) = read(text);
    assert_eq!(faults, Vec::<String>::new(), "{text}");
    made.unwrap()
}

fn argv(workload: &dyn Workload, model: &Model) -> Vec<String> {
    let cell =
        Cell { model, probed: None, prepared: &[], repeat: 1, seed: 7, own_program: None, placement: Placement::ALONE };
    workload.measure(&cell, Path::new("/w")).unwrap().argv
}

/// A load for itself.
fn planned(name: &str, seeded: bool, settings: Settings) -> Planned {
    Planned { name: name.to_owned(), seeded, role: Role::Load, warmups: 0, settings }
}

#[test]
fn an_engine_begins_the_command_and_the_suites_arguments_follow_as_they_are() {
    let load = "load = { concurrency = 8 }\n";
    let at = model(Some("org/m"), Some("/models/m"));
    for (engine, expected) in [
        ("vllm", "vllm serve /models/m --host 127.0.0.1 --port 8000 --max-num-seqs 8"),
        (
            "sglang",
            "python3 -m sglang.launch_server --model-path /models/m --host 127.0.0.1 --port 30000 --max-num-seqs 8",
        ),
        ("trtllm-serve", "trtllm-serve serve /models/m --host 127.0.0.1 --port 8000 --max-num-seqs 8"),
        ("llama-server", "llama-server -m /models/m --host 127.0.0.1 --port 8080 --max-num-seqs 8"),
    ] {
        let workload = well(&format!("engine = '{engine}'\nargs = ['--max-num-seqs', '8']\n{load}"));
        assert_eq!(argv(workload.as_ref(), &at).join(" "), expected);
        assert_eq!(
            workload
                .asked(&Cell {
                    model: &at,
                    probed: None,
                    prepared: &[],
                    repeat: 1,
                    seed: 7,
                    own_program: None,
                    placement: Placement::ALONE
                })
                .engine
                .as_deref(),
            Some(engine)
        );
    }
    let vllm = well(&format!("engine = 'vllm'\n{load}"));
    assert_eq!(argv(vllm.as_ref(), &model(Some("org/m"), None))[2], "org/m", "by its id where it has no folder");
    assert_eq!(vllm.lacks(&model(None, None)), ["id"]);
    assert!(vllm.needs_gpu());
    let own = well(&format!(
        "command = ['my', '--listen', '{{host}}:{{port}}', '{{work}}']\nhost = '0.0.0.0'\nport = 9\nenv = {{ P = '{{port}}' }}\n{load}"
    ));
    assert_eq!(argv(own.as_ref(), &at), ["my", "--listen", "0.0.0.0:9", "/w"]);
    assert!(!own.needs_gpu() && !own.needs_own_program() && !own.attached());
    let any = well(&format!("command = ['{{program}}', 'mock', '{{port}}']\nport = 0\n{load}"));
    assert!(any.needs_own_program());
}

#[test]
fn a_list_of_loads_shares_keys_and_each_has_a_name() {
    let (_, faults) = read(
        "command = ['s']\nload = { seed = 3, osl = 16 }\n[[workloads.w.loads]]\nname = 'short'\nisl = 32\n[[workloads.w.loads]]\nname = 'sweep'\nconcurrency = [1, 2]\nosl = 8",
    );
    assert_eq!(faults, Vec::<String>::new());
    for (text, key) in [
        ("command = ['s']", "workloads.w.load"),
        ("load = {}", "workloads.w.command"),
        ("args = ['x']\nload = {}", "workloads.w.args"),
        ("engine = 'other'\nload = {}", "workloads.w.command"),
        ("engine = 'vllm'\ncommand = ['s']\nargs = ['x']\nload = {}", "workloads.w.args"),
        ("engine = 'vlm'\nload = {}", "workloads.w.engine"),
        ("command = ['{prot}']\nload = {}", "workloads.w.command"),
        ("command = ['s']\nport = 70000\nload = {}", "workloads.w.port"),
        ("command = ['s']\nready = { path = 'health' }\nload = {}", "workloads.w.ready.path"),
        ("command = ['s']\nready = { log = '(' }\nload = {}", "workloads.w.ready.log"),
        ("command = ['s']\nattach = { url = 'http://h' }\nload = {}", "workloads.w.command"),
        ("attach = { }\nload = {}", "workloads.w.attach.url"),
        ("attach = { url = 'http://h', container = '--x' }\nload = {}", "workloads.w.attach.container"),
        ("command = ['s']\nloads = [{ isl = 3 }]", "workloads.w.loads[0].name"),
        ("command = ['s']\nloads = [{ name = 'A/b' }]", "workloads.w.loads[0].name"),
        ("command = ['s']\nloads = [{ name = 'a' }, { name = 'a' }]", "workloads.w.loads"),
        ("command = ['s']\nload = { isle = 3 }", "workloads.w.load.isle"),
    ] {
        let (_, faults) = read(text);
        assert!(faults.iter().any(|fault| fault.starts_with(&format!("{key}: "))), "{text}: {faults:?}");
    }
}

/// A server that is healthy after a number of queries.
fn server(healthy_after: u32, models: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut asked = 0;
        while let Ok((mut stream, _)) = listener.accept() {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).unwrap_or(0);
            let head = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let (status, body) = match head.split(' ').nth(1) {
                Some("/health") => {
                    asked += 1;
                    if asked > healthy_after { (200, "") } else { (503, "loading") }
                }
                Some("/v1/models") => (200, models),
                _ => (404, ""),
            };
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    url
}

const VLLM: &str = r#"{"data":[{"id":"org/m","owned_by":"vllm","max_model_len":4096}]}"#;

fn work(url: &str, ready: Ready, asked: Model) -> Work {
    let settings = Settings { seed: 7, ..Settings::default() };
    Work {
        loader: &Scripted,
        engine: engine::find("vllm"),
        web: Web::new(url, &[], &Tls::default()).unwrap(),
        url: url.to_owned(),
        ready,
        attach: None,
        model: asked,
        loads: vec![planned("", false, settings)],
    }
}

fn run(work: Work, folder: &Path, stop: bool) -> Done {
    let host: Arc<dyn Host> = Arc::new(Replay::new());
    let stop = Arc::new(AtomicBool::new(stop));
    Box::new(work).run(&At { host: &host, folder, stop: &stop, say: &|_| {}, warn: &|_| {} })
}

#[test]
fn a_server_is_waited_for_looked_at_and_loaded() {
    let folder = Folder::new("serve");
    let done = run(work(&server(3, VLLM), Ready::default(), model(Some("org/m"), None)), &folder, false);
    assert_eq!(done.outcome.faults, Vec::<String>::new());
    assert_eq!(done.window, Some(WindowWire { from_s: 1.0, to_s: 2.0 }));
    assert_eq!(done.outcome.marks, ["a mark"]);
    let results: Vec<(&str, &str)> =
        done.outcome.checks.iter().map(|check| (check.item.as_str(), check.result.as_str())).collect();
    assert_eq!(results, [("engine", "match"), ("model_id", "match")]);
    assert_eq!(done.outcome.seen.engine.as_deref(), Some("vllm"));
    assert_eq!(fs::read_to_string(folder.join("asked.txt")).unwrap(), "Some(\"org/m\") seed 7 nonce 0");
    let server: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("server.json")).unwrap()).unwrap();
    assert_eq!(
        (&server["schema"], &server["models"][0]["max_model_len"]),
        (&"sparkbench.server/1".into(), &4096.into())
    );
    assert!(server["ready_s"].as_f64().unwrap() >= 0.7, "three looks of the recorded clock");
}

/// Issue 30, point 12: `/models/m/` was asked for and listed, and was taken for another model.
#[test]
fn a_name_that_ends_in_slashes_is_found_in_the_list() {
    for (listed, asked, loaded) in [
        (r#"{"data":[{"id":"/models/m/"}]}"#, "/models/m/", Some("/models/m/")),
        (r#"{"data":[{"id":"/models/m/"}]}"#, "/models/m", Some("/models/m/")),
        (r#"{"data":[{"id":"/models/m"}]}"#, "/models/m/", Some("/models/m")),
        (r#"{"data":[{"id":"m/"},{"id":"m"}]}"#, "m", Some("m")),
        (r#"{"data":[{"id":"m"},{"id":"m/"}]}"#, "m/", Some("m/")),
        (r#"{"data":[{"id":"///"}]}"#, "///", Some("///")),
        (r#"{"data":[{"id":"///"}]}"#, "/", None),
        (r#"{"data":[{"id":"///"}]}"#, "m", None),
    ] {
        let folder = Folder::new("serve");
        let done = run(work(&server(0, listed), Ready::default(), model(Some(asked), None)), &folder, false);
        let check = done.outcome.checks.iter().find(|check| check.item == "model_id").unwrap();
        let result = if loaded.is_some() { "match" } else { "mismatch" };
        assert_eq!(check.result, result, "{listed} {asked}");
        let sent = fs::read_to_string(folder.join("asked.txt")).ok();
        assert_eq!(sent, loaded.map(|name| format!("{:?} seed 7 nonce 0", Some(name))), "{listed} {asked}");
    }
}

#[test]
fn another_model_than_the_one_asked_for_is_a_mismatch_and_is_not_loaded() {
    let folder = Folder::new("serve");
    let done = run(work(&server(0, VLLM), Ready::default(), model(Some("org/other"), None)), &folder, false);
    let check = done.outcome.checks.iter().find(|check| check.item == "model_id").unwrap();
    assert_eq!(
        (check.asked.as_deref(), check.ran.as_deref(), check.result.as_str()),
        (Some("org/other"), Some("org/m"), "mismatch")
    );
    assert!(!folder.join("asked.txt").exists());
    // By the folder that the server was given, or its last name.
    let by_path = r#"{"data":[{"id":"/models/m/"}]}"#;
    let by_name = r#"{"data":[{"id":"m"}]}"#;
    for listed in [by_path, by_name] {
        let done =
            run(work(&server(0, listed), Ready::default(), model(Some("org/m"), Some("/models/m"))), &folder, false);
        assert!(
            done.outcome.checks.iter().any(|check| check.item == "model_id" && check.result == "match"),
            "{done:?}"
        );
    }
    let two = r#"{"data":[{"id":"a"},{"id":"b"}]}"#;
    let unclear = run(work(&server(0, two), Ready::default(), model(None, None)), &folder, false);
    assert!(unclear.outcome.faults[0].contains("several models: a, b"), "{:?}", unclear.outcome.faults);
    let engine = run(
        work(&server(0, r#"{"data":[{"id":"m","owned_by":"sglang"}]}"#), Ready::default(), model(None, None)),
        &folder,
        false,
    );
    assert_eq!(engine.outcome.checks[0].result, "mismatch");
}

#[test]
fn a_server_that_does_not_get_ready_fails_with_the_last_lines_of_its_log() {
    let folder = Folder::new("serve");
    let lines: String = (1..=99).map(|line| format!("line {line}\n")).collect();
    fs::write(folder.join(Place::STDOUT), lines).unwrap();
    fs::write(folder.join(Place::STDERR), "ValueError: no kernel image\n\n").unwrap();
    let ready = Ready { limit_s: 3.0, ..Ready::default() };
    let done = run(work(&server(u32::MAX, VLLM), ready, model(None, None)), &folder, false);
    let fault = &done.outcome.faults[0];
    assert!(
        fault.starts_with("the server was not ready within 3 s: /health answers with status 503: loading\n"),
        "{fault}"
    );
    assert!(fault.contains("\n  line 70\n") && fault.contains("line 99") && !fault.contains("line 69"), "{fault}");
    assert!(fault.ends_with("last lines of stderr.log:\n  ValueError: no kernel image"), "{fault}");
    let stopped = run(work(&server(0, VLLM), Ready::default(), model(None, None)), &folder, true);
    assert_eq!(stopped.outcome.faults, ["stopped before the server was ready"]);
}

#[test]
fn a_line_of_the_log_can_be_waited_for_first() {
    let folder = Folder::new("serve");
    let ready = |limit_s| Ready { limit_s, log: Some(regex::Regex::new("fired up and ready").unwrap()), path: None };
    let without = run(work(&server(0, VLLM), ready(1.0), model(None, None)), &folder, false);
    assert!(without.outcome.faults[0].contains("the line of its log has not come"), "{:?}", without.outcome.faults);
    fs::write(folder.join(Place::STDERR), "x\nThe server is fired up and ready to roll!").unwrap();
    let done = run(work(&server(0, VLLM), ready(1.0), model(None, None)), &folder, false);
    assert_eq!(done.outcome.faults, Vec::<String>::new());
}

#[test]
fn a_load_that_cannot_be_run_is_a_fault_in_one_line() {
    let folder = Folder::new("serve");
    let listed = r#"{"data":[{"id":"impossible"}]}"#;
    let done = run(work(&server(0, listed), Ready::default(), model(None, None)), &folder, false);
    assert_eq!(done.outcome.faults, ["the load could not be run: no such thing try: another"]);
}

#[test]
fn a_port_that_somebody_listens_on_is_not_started_on() {
    let url = server(0, VLLM);
    let port = url.rsplit(':').next().unwrap();
    let workload = well(&format!("command = ['s']\nport = {port}\nload = {{}}"));
    let at = model(None, None);
    let cell = Cell {
        model: &at,
        probed: None,
        prepared: &[],
        repeat: 1,
        seed: 7,
        own_program: None,
        placement: Placement::ALONE,
    };
    workload.measure(&cell, Path::new("/w")).unwrap();
    let error = workload.beside(&cell, &Replay::new()).err().unwrap();
    assert!(error.what.contains("answers at") && error.what.contains("before the server was started"), "{error}");
}

#[test]
fn a_container_gives_its_log_and_its_description_to_the_run() {
    let attach = Attach { url: "http://h".into(), container: Some("vllm".into()), runtime: "docker".into() };
    let since = sparkbench_model::Instant(1_700_000_000_000);
    let iso = since.iso();
    let answer = |text: &str| sparkbench_host::Answer {
        code: Some(0),
        stdout: text.into(),
        ..sparkbench_host::Answer::default()
    };
    let host = Replay::new()
        .answer(&["docker", "inspect", "--format", "{{.State.Status}}", "vllm"], answer("running\n"))
        .answer(&["docker", "logs", "--timestamps", "--since", iso.as_str(), "vllm"], answer("a line\n"))
        .answer(&["docker", "inspect", "vllm"], answer("[{}]\n"));
    attach.look(&host).unwrap();
    let folder = Folder::new("serve");
    assert_eq!(attach.keep(&host, since, &folder), Vec::<String>::new());
    assert_eq!(fs::read_to_string(folder.join("server.log")).unwrap(), "a line\n");
    let gone = Attach { container: Some("other".into()), ..attach };
    assert!(gone.look(&host).is_err());
    assert_eq!(gone.keep(&host, since, &folder).len(), 2);
}

#[test]
fn seeds_and_nonces_are_those_of_the_campaign_and_the_requests_of_every_load_are_read() {
    let load = |name: &str, seeded| planned(name, seeded, Settings::default());
    let serve = Serve {
        loader: &Scripted,
        engine: None,
        argv: Vec::new(),
        worker: Vec::new(),
        worker_port: None,
        env: BTreeMap::new(),
        assets: Assets::default(),
        host: String::new(),
        port: 1,
        url: None,
        ready: Ready::default(),
        attach: None,
        loads: vec![load("a", false), load("b", true)],
        expect: Expect::default(),
        needs_gpu: false,
        expected_s: None,
        chosen: Mutex::new(1),
    };
    let at = model(None, None);
    let cell = Cell {
        model: &at,
        probed: None,
        prepared: &[],
        repeat: 1,
        seed: 7,
        own_program: None,
        placement: Placement::ALONE,
    };
    let loads = serve.loads_of(&cell, 100);
    let drawn: Vec<(u64, u64)> = loads.iter().map(|load| (load.settings.seed, load.settings.nonce)).collect();
    assert_eq!(drawn, [(7, 100), (42, 101)]);
    let paths: Vec<String> = serve.reports(Path::new("")).into_iter().map(|report| report.path).collect();
    assert_eq!(paths, ["loads/a/requests.jsonl", "loads/b/requests.jsonl"]);
    assert!(matches!(
        loads[0].settings.work,
        sparkbench_load::settings::Work::Synthetic { isl: Lengths::Fixed(128), .. }
    ));
}

#[test]
fn an_engine_spreads_over_machines_by_its_own_way() {
    let at = model(Some("org/m"), Some("/m"));
    let load = "load = { concurrency = 8 }\n";
    let addresses = vec!["10.0.0.1".into(), "10.0.0.2".into()];
    let placement = Placement { rank: 0, addresses, devices: vec!["eth0".into(), "eth1".into()] };
    let vllm = well(&format!("engine = 'vllm'\nacross = 'native'\nenv = {{ NCCL_SOCKET_IFNAME = 'mine' }}\n{load}"));
    let there = placement.at(1);
    let cell =
        Cell { model: &at, probed: None, prepared: &[], repeat: 1, seed: 7, own_program: None, placement: &there };
    let env = vllm.worker(&cell, Path::new("/w")).unwrap().unwrap().env;
    assert_eq!((env["GLOO_SOCKET_IFNAME"].as_str(), env["NCCL_SOCKET_IFNAME"].as_str()), ("eth1", "mine"));
    assert_eq!(env["VLLM_HOST_IP"], "10.0.0.2");
    let both = |text: &str| {
        let workload = well(&format!("{text}\n{load}"));
        let line = |placement: &Placement| {
            let cell =
                Cell { model: &at, probed: None, prepared: &[], repeat: 1, seed: 7, own_program: None, placement };
            let made = if placement.rank == 0 {
                Some(workload.measure(&cell, Path::new("/w")).unwrap())
            } else {
                workload.worker(&cell, Path::new("/w")).unwrap()
            };
            made.map(|made| made.argv.join(" ")).unwrap_or_default()
        };
        (line(&placement), line(&placement.at(1)), workload.worker_port())
    };
    let (head, worker, port) = both("engine = 'vllm'\nacross = 'native'\nargs = ['-tp', '2']");
    let shared = "--nnodes 2 --node-rank";
    assert_eq!(head, format!("vllm serve /m --host 127.0.0.1 --port 8000 {shared} 0 --master-addr 10.0.0.1 -tp 2"));
    assert_eq!(worker, format!("vllm serve /m {shared} 1 --master-addr 10.0.0.1 --headless -tp 2"));
    assert_eq!(port, None);
    let (head, worker, port) = both("engine = 'llama-server'\nacross = 'rpc'\nargs = ['-ngl', '99']");
    assert_eq!(head, "llama-server -m /m --host 127.0.0.1 --port 8080 --rpc 10.0.0.2:50052 -ngl 99");
    assert_eq!((worker.as_str(), port), ("ggml-rpc-server --host 10.0.0.2 --port 50052", Some(50_052)));
    let (head, worker, _) = both("engine = 'trtllm-serve'\nacross = 'mpirun'");
    assert!(head.starts_with("mpirun -n 2 -H 10.0.0.1,10.0.0.2 trtllm-llmapi-launch trtllm-serve serve /m"), "{head}");
    assert_eq!(worker, "", "mpirun starts it");
    let (head, worker, _) = both("engine = 'vllm'\nacross = 'ray'");
    assert!(head.contains("ray start --head --node-ip-address=10.0.0.1") && head.ends_with("ray"), "{head}");
    assert!(worker.contains("--address=10.0.0.1:6379") && worker.contains("--node-ip-address=10.0.0.2"), "{worker}");
    let (_, worker, port) =
        both("engine = 'vllm'\nworker = ['w', '{node.rank}', '{worker_port}', '{node.workers}']\nworker_port = 7");
    assert_eq!((worker.as_str(), port), ("w 1 7 10.0.0.2:7", Some(7)));
    let (_, faults) = read(&format!("engine = 'other'\ncommand = ['x']\nacross = 'rpc'\n{load}"));
    assert!(faults[0].contains("across"), "{faults:?}");
    let (_, faults) = read(&format!("engine = 'vllm'\nacross = 'rpc'\n{load}"));
    assert!(faults[0].contains("native") || faults[0].contains("across"), "{faults:?}");
}
