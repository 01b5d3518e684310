//! Machines of a cluster: network namespaces with an sshd each (`cluster/cluster.sh`), and the program on all of them.
//!
//! In:  root, iproute2, openssh-server, Open MPI. Where one is missing the tests say so and are skipped.
//! Out: nothing.
//! Not here: ranks on one machine (see `ranks.rs`).

#![cfg(all(feature = "collect", target_os = "linux"))]

mod campaign;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ranks::{at_a_drawn_port, has_answers};
use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::{Ending, FEW, fair_start, repository, run_in};
use crate::support::wait::until;
use serde_json::Value;
use sparkbench::mock::{self, Settings};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sparkbench");

/// Longest time between two clocks that are one, or a moment and the one that it is for, ms: no test of these lasts as long, and clocks of
/// different starts are further apart.
const ONE_TEST_MS: f64 = 600_000.0;

/// Some machines, gone with the test.
struct Cluster {
    folder: Folder,
    /// The names of the machines begin with it. Copies of this program and the tests of one run beside each other.
    name: String,
    addresses: Vec<String>,
}

/// Eight letters that are nobody else's: `cluster.sh` makes names of devices of them, which may have fifteen.
fn letters() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = |mut value: u32, places: usize| -> String {
        let mut text = Vec::new();
        for _ in 0..places {
            text.push(char::from(b'a' + (value % 26) as u8));
            value /= 26;
        }
        text.into_iter().rev().collect()
    };
    // Numbers of processes have at most 22 bits: five letters.
    format!("s{}{}", number(std::process::id(), 5), number(COUNT.fetch_add(1, Ordering::Relaxed), 2))
}

impl Cluster {
    /// Makes them. Nothing where that cannot be done here.
    fn new(about: &str, machines: usize) -> Option<Self> {
        let works = |program: &str, argument: &str| Command::new(program).arg(argument).output().is_ok();
        let root = nix::unistd::geteuid().is_root();
        let missing = [
            (root, "root"),
            (works("ip", "-V"), "ip (Debian package iproute2)"),
            (Path::new("/usr/sbin/sshd").exists(), "sshd (Debian package openssh-server)"),
            (works("mpirun", "--version"), "mpirun (Debian package openmpi-bin)"),
        ];
        let missing: Vec<&str> = missing.into_iter().filter(|(there, _)| !there).map(|(_, what)| what).collect();
        if !missing.is_empty() {
            needs::skip(&format!("a cluster needs {}", missing.join(", ")));
            return None;
        }
        let folder = Folder::new(&format!("cluster-{about}"));
        let mut cluster = Self { folder, name: letters(), addresses: Vec::new() };
        cluster.script(&["up"], &[&machines.to_string()]);
        let hosts = std::fs::read_to_string(cluster.at("hosts")).unwrap();
        let first = |line: &str| Some(line.split_whitespace().next()?.to_owned());
        cluster.addresses = hosts.lines().filter_map(first).collect();
        Some(cluster)
    }

    /// Name of a machine, from 1.
    fn machine(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    fn at(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn script(&self, act: &[&str], more: &[&str]) {
        let script = repository().join("tests/load/cluster/cluster.sh");
        let done = Command::new("sh")
            .arg(script)
            .args(act)
            .arg(self.folder.path())
            .arg(&self.name)
            .args(more)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{act:?}: {said}");
    }

    /// Words that reach a machine of it.
    fn ssh(&self) -> String {
        format!("ssh -F {}", self.at("ssh_config").display())
    }

    /// Address of this machine on their network.
    fn own(&self) -> String {
        let (network, _) = self.addresses[0].rsplit_once('.').unwrap();
        format!("{network}.254")
    }

    /// The server that all of them load.
    fn server(&self) -> mock::Running {
        let settings = Settings { ttft_ns: 20_000_000, itl_ns: 1_000_000, tokens: 8, ..Settings::default() };
        mock::start(Settings { address: format!("{}:0", self.own()).parse().unwrap(), ..settings }).unwrap()
    }

    /// A rank of two, started on its machine by ssh as a launcher does. `before` are words before the program. Rank 0 listens at a port that
    /// is drawn: nobody else is on its machine.
    fn rank(&self, rank: usize, before: &str, load: &str) -> Child {
        fair_start();
        let scratch = self.scratch(rank);
        std::fs::create_dir_all(&scratch).unwrap();
        let variables = format!(
            "OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=1 SPARKBENCH_TOKEN={}",
            self.name
        );
        let words = format!(
            "cd {} && TMPDIR={} {variables} {before} {PROGRAM} load --meet {} {load}",
            self.folder.path().display(),
            scratch.display(),
            self.addresses[0]
        );
        Command::new("ssh")
            .arg("-F")
            .arg(self.at("ssh_config"))
            .arg(&self.addresses[rank])
            .arg(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Where a rank keeps what it measures until it hands it in.
    fn scratch(&self, rank: usize) -> PathBuf {
        self.at(&format!("scratch-{rank}"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.script(&["down"], &[]);
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_machines_of_a_cluster_are_listed_and_written_down() {
    let Some(cluster) = Cluster::new("nodes", 2) else { return };
    let hosts = cluster.at("hosts").display().to_string();
    let out = cluster.at("out").display().to_string();
    let ssh = cluster.ssh();
    let list = ["nodes", "--hostfile", &hosts, "--ssh", &ssh, "--program", PROGRAM];
    let more = ["--write-hosts", out.as_str(), "--json"];
    let listed = run_in(cluster.folder.path(), &[&list[..], &more].concat(), &[]).expect(0);
    let found: Value = serde_json::from_str(&listed.out).unwrap();
    for (number, node) in (1..).zip(found["nodes"].as_array().unwrap()) {
        assert_eq!(node["about"]["host"], cluster.machine(number));
        assert_eq!(node["link"]["device"], "eth0");
        let clock = &node["clock"];
        let (ahead, bound) = (clock["ahead_ms"].as_f64().unwrap(), clock["bound_ms"].as_f64().unwrap());
        // Both are rounded to the nanosecond.
        assert!(ahead.abs() <= bound + 1e-6, "one machine has one clock: {clock}");
    }
    assert_eq!(std::fs::read_to_string(&out).unwrap(), std::fs::read_to_string(&hosts).unwrap());
    // One that is not there is named, and the others are listed all the same.
    let silent = format!("{},{}", cluster.addresses[0], cluster.own().replace(".254", ".99"));
    let some = ["nodes", "--hosts", silent.as_str(), "--ssh", ssh.as_str(), "--program", PROGRAM];
    let listed = run_in(cluster.folder.path(), &some, &[]).expect(3);
    assert!(listed.out.contains(&cluster.machine(1)) && listed.out.contains("not reached"), "{}", listed.out);
    listed.complains(&["1 of 2 machines were not reached", "ssh-copy-id"]);
}

#[test]
fn the_link_between_two_machines_is_measured_each_way() {
    let Some(cluster) = Cluster::new("link", 2) else { return };
    let hosts = cluster.at("hosts").display().to_string();
    let ssh = cluster.ssh();
    let shared = ["link-probe", "--hostfile", &hosts, "--ssh", &ssh, "--program", PROGRAM];
    let more = ["--seconds", "0.5", "--streams", "1,2", "--json"];
    let probed = run_in(cluster.folder.path(), &[&shared[..], &more].concat(), &[]).expect(0);
    let found: Value = serde_json::from_str(&probed.out).unwrap();
    let ways = found["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 2);
    for way in ways {
        let measured = &way["measured"];
        let trips = ["rtt_min_us", "rtt_p50_us", "rtt_p99_us"].map(|name| measured[name].as_f64());
        let trips: Vec<f64> = trips.into_iter().flatten().collect();
        assert!(trips.len() >= 2 && trips[0] > 0.0 && trips.is_sorted(), "{way}");
        let carried = measured["bandwidth"].as_array().unwrap();
        let streams: Vec<_> = carried.iter().map(|one| one["streams"].as_u64().unwrap()).collect();
        assert_eq!(streams, [1, 2]);
        for one in carried {
            // How much is the machine's.
            assert!(one["gbit_s"].as_f64().unwrap() >= 0.0 && one["seconds"].as_f64().unwrap() >= 0.5, "{way}");
        }
    }
    let range = cluster.own().replace(".254", ".0/24");
    let link = ["--link", range.as_str(), "--seconds", "0.2", "--streams", "1"];
    let table = run_in(cluster.folder.path(), &[&shared[..], &link].concat(), &[]).expect(0);
    assert!(table.out.contains(&cluster.machine(1)) && table.out.contains("Gbit/s"), "{}", table.out);
    let none = ["--link", "192.0.2.0/24"];
    run_in(cluster.folder.path(), &[&shared[..], &none].concat(), &[]).expect(3).complains(&["in the range of --link"]);
}

#[test]
fn mpirun_over_two_machines_is_one_load() {
    let Some(cluster) = Cluster::new("mpi", 2) else { return };
    let running = cluster.server();
    let network = cluster.own().replace(".254", ".0/24");
    fair_start();
    let child = Command::new("mpirun")
        .args(["--allow-run-as-root", "--map-by", "node", "-n", "4", "-x", "SPARKBENCH_TOKEN", "--hostfile"])
        .arg(cluster.at("hosts"))
        .args(["--mca", "plm_rsh_args", &format!("-F {}", cluster.at("ssh_config").display())])
        .args(["--mca", "oob_tcp_if_include", &network, "--mca", "btl_tcp_if_include", &network])
        .args([PROGRAM, "load", "--meet", &cluster.addresses[0], "--url", &format!("http://{}", running.address())])
        .args(["--osl", "8", "--isl", "16", "--concurrency", "16", "--requests", "200", "--json"])
        .arg(cluster.at("j.json"))
        .current_dir(cluster.folder.path())
        .env("SPARKBENCH_TOKEN", &cluster.name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (one, other) = (cluster.machine(1), cluster.machine(2));
    Ending::of(child).expect(0).complains(&["one load of 4 ranks", &format!("2 on {one}, 2 on {other}")]);
    let summary = json(&cluster.at("j.json"));
    assert_eq!((&summary["completed"], &summary["valid"]), (&Value::from(200), &Value::Bool(true)));
    let hosts: Vec<&str> = summary["ranks"].as_array().unwrap().iter().filter_map(|r| r["host"].as_str()).collect();
    assert_eq!(hosts, [&one, &other, &one, &other]);
    running.stop().unwrap();
}

/// A Slurm of this machine alone, gone with the test.
struct Slurm {
    folder: Folder,
    /// Its ports and its keys are there once a machine: one Slurm at a time, whoever wants it.
    _turn: File,
}

impl Slurm {
    fn new(nodes: usize) -> Self {
        let turn = File::create("/run/sparkbench-slurm.lock").unwrap();
        turn.lock().unwrap();
        let slurm = Self { folder: Folder::new("cluster-slurm"), _turn: turn };
        slurm.script(&["up"], &[&nodes.to_string()]);
        slurm
    }

    fn script(&self, act: &[&str], more: &[&str]) {
        let script = repository().join("tests/load/cluster/slurm.sh");
        // What it starts lives on and must not hold our end of a pipe.
        let said = File::create(self.folder.path().join("slurm.err")).unwrap();
        let mut command = Command::new("sh");
        command.arg(script).args(act).arg(self.folder.path()).args(more);
        let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).status().unwrap();
        let said = std::fs::read_to_string(self.folder.path().join("slurm.err")).unwrap();
        assert!(done.success(), "{act:?}: {said}");
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.script(&["down"], &[]);
    }
}

#[test]
fn the_tasks_of_a_slurm_step_are_one_load() {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !(nix::unistd::geteuid().is_root() && ["slurmctld", "slurmd", "munged"].into_iter().all(there)) {
        return needs::skip("a Slurm needs root, slurmctld, slurmd and munged (Debian packages slurm-wlm and munge)");
    }
    let slurm = Slurm::new(2);
    let folder = slurm.folder.path();
    let running =
        mock::start(Settings { ttft_ns: 5_000_000, itl_ns: 500_000, tokens: 8, ..Settings::default() }).unwrap();
    let met = at_a_drawn_port(|taken| {
        fair_start();
        let child = Command::new("srun")
            .args(["--overcommit", "-n", "4", PROGRAM, "load", "--osl", "8", "--isl", "16", "--url"])
            .arg(format!("http://{}", running.address()))
            .args(["--concurrency", "8", "--requests", "80", "--json", "j.json", "--meet", "127.0.0.1"])
            .current_dir(folder)
            .env("SLURM_CONF", folder.join("slurm.conf"))
            .env("SPARKBENCH_TOKEN", format!("{} {taken}", folder.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Ending::of(child)
    });
    let campaign = campaign::inside_slurm(folder);
    campaign.expect(0).complains(&["by srun"]);
    run_in(folder, &["verify", "archive"], &[]).expect(0);
    met.expect(0).complains(&["one load of 4 ranks", "started by Slurm"]);
    let summary = json(&folder.join("j.json"));
    assert_eq!((&summary["completed"], &summary["settings"]["world"]), (&Value::from(80), &Value::from(4)));
    running.stop().unwrap();
}

#[test]
fn a_clock_of_another_start_changes_nothing() {
    let Some(cluster) = Cluster::new("clock", 2) else { return };
    let running = cluster.server();
    let load = format!(
        "--url http://{} --osl 8 --isl 16 --concurrency 8 --requests 80 --warmup 8 --json j.json",
        running.address()
    );
    // The machine of rank 1 started 11 days earlier, and 50 ms.
    let other = cluster.rank(1, "unshare --time --fork --monotonic 1000000", &load);
    let head = cluster.rank(0, "", &load);
    Ending::of(head).expect(0);
    Ending::of(other).expect(0);
    let summary = json(&cluster.at("j.json"));
    assert_eq!((&summary["completed"], &summary["valid"]), (&Value::from(80), &Value::Bool(true)));
    // A clock of eleven days ago that is taken for ours would show in each of these.
    let duration = summary["duration_s"].as_f64().unwrap();
    assert!(duration * 1000.0 < ONE_TEST_MS, "{duration} s: both on one clock");
    let rank = &summary["ranks"][1];
    assert!(rank["clock_drift_ms"].as_f64().unwrap().abs() < ONE_TEST_MS, "{rank}");
    assert!((0.0..ONE_TEST_MS).contains(&rank["first_late_ms"].as_f64().unwrap()), "{rank}");
    // Each has four places at most. On two clocks one of them would be counted where the other is not.
    let concurrency = summary["concurrency_mean"].as_f64().unwrap();
    assert!(concurrency > 0.0 && concurrency <= 8.0 + 1e-6, "{concurrency}");
    running.stop().unwrap();
}

#[test]
fn a_cut_link_is_told_within_seconds_and_leaves_nothing_running() {
    let Some(cluster) = Cluster::new("cut", 2) else { return };
    let running = cluster.server();
    // Whoever waits for the end of the hour is ended as a program that hangs.
    let load = format!(
        "--url http://{} --osl 8 --isl 16 --concurrency 4 --duration 3600 --drain 1 --json j.json",
        running.address()
    );
    let (head, mut other) = (cluster.rank(0, "", &load), cluster.rank(1, "", &load));
    for rank in 0..2 {
        until(&format!("answers of rank {rank}"), || has_answers(&cluster.scratch(rank)));
    }
    cluster.script(&["cut"], &["2"]);
    let told = Ending::of(head);
    assert_eq!(told.code, Some(4), "{}", told.err);
    let lost = cluster.machine(2);
    told.complains(&[&format!("rank 1 on {lost} left the load"), "nothing was heard of it"]);
    let summary = json(&cluster.at("j.json"));
    assert_eq!(summary["valid"], false);
    assert!(summary["completed"].as_u64().unwrap() > 0);
    // The other ends too: nobody tells it to go on.
    until("no load runs on the lost machine", || {
        let pids = Command::new("ip").args(["netns", "pids", &lost]).output().unwrap();
        let pids = String::from_utf8_lossy(&pids.stdout).into_owned();
        pids.lines()
            .filter_map(|pid| std::fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).ok())
            .all(|words| !words.starts_with(PROGRAM))
    });
    // The ssh that started it waits for a machine that is no longer there.
    other.kill().unwrap();
    other.wait().unwrap();
    running.stop().unwrap();
}
