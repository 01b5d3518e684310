//! Campaigns over several machines: one archive, whatever happens to a machine, a link or the head.
//!
//! In:  as the rest of these tests.  Out: nothing.
//! Not here: one load from several clients (see `cluster.rs`).

use std::os::unix::fs::{FileExt as _, PermissionsExt as _};

use super::*;

/// A suite of these tests. `nodes` are the keys of `[nodes]`.
fn text(nodes: &str, rest: &str) -> String {
    format!(
        "schema = 'sparkbench.suite/1'\nname = 'two-machines'\nrepeats = 1\n[environments.native]\n\
         [nodes]\nlink_probe_s = 0.2\n{nodes}\n\
         [gates]\nhost_load_max_per_core = false\ncooldown_min_s = 0\nmemory_available_min_gib = false\ndisk_free_min_gib = 0\n\
         [watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n[telemetry]\ngpu = 'off'\ninterval_s = 0.1\n{rest}"
    )
}

/// The same with the machines of a cluster, reached by its own ssh.
fn suite(cluster: &Cluster, nodes: &str, rest: &str) -> PathBuf {
    let path = cluster.at("suite.toml");
    std::fs::write(&path, text(&format!("hostfile = 'hosts'\nssh = '{}'\n{nodes}", cluster.ssh()), rest)).unwrap();
    path
}

/// A campaign on the two machines of an allocation of Slurm, whose folder holds its settings.
pub fn inside_slurm(folder: &Path) -> Ending {
    let path = folder.join("suite.toml");
    // Both are this machine, and one port serves one of them: no worker.
    let rest = serve(20).lines().filter(|line| !line.starts_with("worker")).collect::<Vec<_>>().join("\n");
    std::fs::write(&path, text(&format!("launcher = 'srun'\nhead = '127.0.0.1'\n{}", program(PROGRAM)), &rest))
        .unwrap();
    fair_start();
    let child = Command::new("salloc")
        .args(["--quiet", "-N", "2", PROGRAM, "collect", "--archive", "archive"])
        .arg(&path)
        .current_dir(folder)
        .env("SLURM_CONF", folder.join("slurm.conf"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Ending::of(child)
}

fn program(path: &str) -> String {
    format!("program = '{path}'")
}

/// A server with known times here, and a worker on each other machine that listens like one of llama.cpp.
fn serve(requests: u32) -> String {
    format!(
        "[models.mock]\nid = 'mock'\n[workloads.w]\nkind = 'serve'\n\
         command = ['{{program}}', 'mock', '--host', '{{host}}', '--port', '{{port}}', '--model', '{{model.id}}', '--ttft-ms', '20', '--itl-ms', '5']\n\
         worker = ['{{program}}', 'mock', '--host', '{{node.address}}', '--port', '{{worker_port}}']\nworker_port = 18080\n\
         port = 0\nready = {{ limit_s = 300 }}\nload = {{ isl = 16, osl = 16, concurrency = 2, requests = {requests} }}\n"
    )
}

impl Cluster {
    /// A program in place of ours on the machines: `words` stand before it.
    fn wrapped(&self, name: &str, script: &str) -> String {
        let path = self.at(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn collect(&self, suite: &Path, more: &[&str]) -> Child {
        fair_start();
        Command::new(PROGRAM)
            .args(["collect", "--archive", "archive"])
            .arg(suite)
            .args(more)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The same, with what it says in a file that can be looked at meanwhile.
    fn collect_to(&self, suite: &Path, said: &Path) -> Child {
        fair_start();
        Command::new(PROGRAM)
            .args(["collect", "--archive", "archive"])
            .arg(suite)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(said).unwrap())
            .spawn()
            .unwrap()
    }

    fn archive(&self) -> PathBuf {
        self.at("archive")
    }

    /// `run.json` of the only run.
    fn run(&self) -> Value {
        let folder = std::fs::read_dir(self.archive().join("runs")).unwrap().next().unwrap().unwrap();
        json(&folder.path().join("run.json"))
    }

    fn verify(&self) {
        run_in(self.folder.path(), &["verify", "archive"], &[]).expect(0);
    }

    /// Processes in a machine, by words of their command lines.
    fn processes(&self, machine: usize, words: &str) -> Vec<u32> {
        let pids = Command::new("ip").args(["netns", "pids", &self.machine(machine)]).output().unwrap();
        let pids = String::from_utf8_lossy(&pids.stdout).into_owned();
        let of = |pid: &str| -> Option<u32> {
            let line = std::fs::read(format!("/proc/{}/cmdline", pid.trim())).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(words).then(|| pid.trim().parse::<u32>().unwrap())
        };
        pids.lines().filter_map(of).collect()
    }

    /// Waits until a run is under way on every machine, and the first answers of its load lie in the archive.
    fn under_way(&self, machines: usize) {
        until("a worker on each machine", || {
            (1..=machines).all(|machine| !self.processes(machine, "mock --host").is_empty())
        });
        until("the first answers of the load", || has_answers(&self.archive()));
    }

    /// Waits until nothing of ours is left on the machines.
    fn left_alone(&self, machines: usize) {
        let left = |machine| [PROGRAM, "mock --host"].map(|words| self.processes(machine, words));
        until("nothing of ours is left on the machines", || {
            (1..=machines).all(|machine| left(machine).iter().all(Vec::is_empty))
        });
    }
}

#[test]
fn a_campaign_over_two_machines_is_one_archive() {
    let Some(cluster) = Cluster::new("camp", 2) else { return };
    // One of them has another clock, as a machine that was started at another time has.
    let (one, other) = (cluster.machine(1), cluster.machine(2));
    let shifted = format!(
        "[ \"$(hostname)\" = {other} ] && exec unshare --time --fork --kill-child --monotonic 1000000 {PROGRAM} \"$@\"\nexec {PROGRAM} \"$@\""
    );
    let suite = suite(&cluster, &program(&cluster.wrapped("shifted.sh", &shifted)), &serve(200));
    let plan = Ending::of(cluster.collect(&suite, &["--dry-run"])).expect(0);
    assert!(plan.out.contains("this one is the head, with the machines in hosts, by ssh"), "{}", plan.out);
    let checked = ["check".to_owned(), suite.display().to_string(), "--json".to_owned()];
    let found: Value = serde_json::from_str(&run_in(cluster.folder.path(), &checked, &[]).out).unwrap();
    let places: Vec<&str> = found["findings"].as_array().unwrap().iter().filter_map(|f| f["place"].as_str()).collect();
    for place in [format!("{one} (node-1), machine"), format!("{other} (node-2), machine")] {
        assert!(places.contains(&place.as_str()), "{places:?}");
    }
    let done = Ending::of(cluster.collect(&suite, &[])).expect(0);
    done.complains(&[
        &format!("{one} has joined: node-1"),
        &format!("{other} has joined: node-2"),
        "measuring the link from node-1 to node-2",
    ]);
    cluster.left_alone(2);
    cluster.verify();
    let campaign = json(&cluster.archive().join("campaign.json"));
    assert_eq!(campaign["links"].as_array().unwrap().len(), 6, "each way between three machines");
    assert!(campaign["nodes"]["node-2"]["inventory"]["system"]["kernel"].is_string());
    let run = cluster.run();
    assert_eq!(run["failure"], Value::Null);
    for (name, ahead_s) in [("node-1", 0.0), ("node-2", 1e6)] {
        let node = &run["nodes"][name];
        assert_eq!(node["command"][1], "mock", "the worker is this program, as seen from there");
        assert!(node["gates"].as_array().unwrap().len() > 10 && node["watched"].as_array().unwrap().len() > 5);
        assert!(node["sampler"]["samples"].as_u64().unwrap() > 0, "{node}");
        for when in ["clock_before", "clock_after"] {
            let clock = &node[when];
            let [ahead, wall, bound] = ["ahead_s", "wall_ahead_s", "bound_s"].map(|key| clock[key].as_f64().unwrap());
            // A million seconds as a float are known to a fraction of a nanosecond.
            assert!((ahead - ahead_s).abs() <= bound + 1e-6, "{name}: {clock}");
            // Two clocks of a machine are read one after the other, and whoever reads them may lose the processor in between.
            assert!(wall.abs() * 1000.0 < ONE_TEST_MS, "{name}: {clock}");
        }
        let files: Vec<&str> =
            run["files"].as_array().unwrap().iter().filter_map(|file| file["path"].as_str()).collect();
        for file in ["telemetry.csv", "meminfo-before.txt", "stderr.log"] {
            assert!(files.contains(&format!("nodes/{name}/{file}").as_str()), "{files:?}");
        }
    }
    // Neither token nor names: they are nobody's business.
    let text = std::fs::read_to_string(cluster.archive().join("campaign.json")).unwrap();
    let text = text.replace(&cluster.folder.path().display().to_string(), "");
    assert!(!text.contains(&one) && !text.contains(&other));
    let site = ["analyse", "archive", "--site", "site", "--quiet", FEW[0], FEW[1]];
    run_in(cluster.folder.path(), &site, &[]).expect(0);
    let analysis = json(&cluster.at("site/data/analysis.json"));
    let course = &analysis["courses"]["runs"][0];
    assert_eq!(course["nodes"].as_array().unwrap().len(), 2);
    assert!(
        course["nodes"][0]["quantities"].as_array().unwrap().iter().any(|q| q["name"] == "host_memory_available_mib")
    );
    let fired = |id: &str| {
        let traps = analysis["traps"].as_array().unwrap();
        let of: Vec<&Value> = traps.iter().filter(|trap| trap["id"] == id).collect();
        of.iter().map(|trap| trap["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // One clock agrees with itself, but how well that is known is the machine's: a busy one may say that it is not known well.
    let clocks = fired("clocks-disagree");
    assert!(clocks == ["passed"] || clocks == ["fired"], "{clocks:?}");
    assert_eq!(fired("link-below-promise").len(), 1);
    let id = run["id"].as_str().unwrap();
    let page = std::fs::read_to_string(cluster.at(&format!("site/r/{id}/index.html"))).unwrap();
    assert!(page.contains("Its machines side by side") && page.contains("node-2"));
}

#[test]
fn mpirun_starts_the_machines_of_a_campaign() {
    let Some(cluster) = Cluster::new("campmpi", 2) else { return };
    let network = cluster.own().replace(".254", ".0/24");
    let launcher = format!(
        "launcher = 'mpirun'\nlink = '{network}'\nlauncher_args = ['--allow-run-as-root', '--mca', 'plm_rsh_args', '-F {}', '--mca', \
         'oob_tcp_if_include', '{network}', '--mca', 'btl_tcp_if_include', '{network}']\n{}",
        cluster.at("ssh_config").display(),
        program(PROGRAM)
    );
    let suite = suite(&cluster, &launcher, &serve(50));
    Ending::of(cluster.collect(&suite, &[])).expect(0).complains(&["by mpirun"]);
    cluster.left_alone(2);
    cluster.verify();
    assert_eq!(cluster.run()["nodes"].as_object().unwrap().len(), 2);
}

#[test]
fn a_machine_that_dies_ends_the_run_in_order() {
    let Some(cluster) = Cluster::new("campdie", 2) else { return };
    let suite = suite(&cluster, &program(PROGRAM), &serve(100_000));
    let head = cluster.collect(&suite, &[]);
    cluster.under_way(2);
    let pid = cluster.processes(1, &format!("{PROGRAM} node"))[0];
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), nix::sys::signal::Signal::SIGKILL).unwrap();
    // The load would take more than an hour: whoever waits for its end is ended as a program that hangs.
    let told = Ending::of(head);
    assert_eq!(told.code, Some(4), "{}", told.err);
    told.complains(&[&format!("{} (node-1) is gone", cluster.machine(1)), "--resume"]);
    cluster.left_alone(2);
    cluster.verify();
    let run = cluster.run();
    assert!(run["failure"].as_str().unwrap().contains("is gone"), "{}", run["failure"]);
    assert!(run["nodes"]["node-1"]["failure"].as_str().unwrap().contains("is gone"));
    assert!(run["nodes"]["node-2"]["sampler"]["samples"].as_u64().unwrap() > 0, "the other told what it had");
}

#[test]
fn a_head_that_dies_leaves_nothing_running_anywhere() {
    let Some(cluster) = Cluster::new("camphead", 2) else { return };
    let suite = suite(&cluster, &program(PROGRAM), &serve(400));
    let mut head = cluster.collect(&suite, &[]);
    cluster.under_way(2);
    head.kill().unwrap();
    head.wait().unwrap();
    cluster.left_alone(2);
    // ... and the campaign goes on.
    Ending::of(cluster.collect(&suite, &["--resume"])).expect(0);
    cluster.left_alone(2);
    cluster.verify();
    assert_eq!(cluster.run()["failure"], Value::Null);
}

#[test]
fn a_cut_link_ends_the_run_in_order() {
    let Some(cluster) = Cluster::new("campcut", 2) else { return };
    let suite = suite(&cluster, &program(PROGRAM), &serve(100_000));
    let head = cluster.collect(&suite, &[]);
    cluster.under_way(2);
    cluster.script(&["cut"], &["2"]);
    let told = Ending::of(head);
    assert_eq!(told.code, Some(4), "{}", told.err);
    let lost = cluster.machine(2);
    told.complains(&[&format!("{lost} (node-2) is gone"), "nothing was heard of it"]);
    cluster.left_alone(2);
    assert!(cluster.run()["failure"].as_str().unwrap().contains(&lost), "{}", cluster.run()["failure"]);
}

#[test]
fn a_gate_that_refuses_on_one_machine_refuses_the_run_and_a_slow_one_is_waited_for() {
    let Some(cluster) = Cluster::new("campgate", 2) else { return };
    let other = cluster.machine(2);
    // The other machine is busy with something else: it reads its load from a file. However busy this one is, it is not as busy as that.
    std::fs::write(cluster.at("load"), "99999999.00 9 9 1/99 99\n").unwrap();
    let busy = format!(
        "[ \"$(hostname)\" = {other} ] || exec {PROGRAM} \"$@\"\n\
         exec unshare --mount sh -c 'mount --bind $0/load /proc/loadavg; exec \"$@\"' {} {PROGRAM} \"$@\"",
        cluster.folder.path().display()
    );
    let path = suite(&cluster, &program(&cluster.wrapped("busy.sh", &busy)), &serve(20));
    let text = std::fs::read_to_string(&path).unwrap();
    let limited = |wait_s: u32| {
        let limits = format!("wait_max_s = {wait_s}\nhost_load_max_per_core = 1000.0");
        std::fs::write(&path, text.replace("host_load_max_per_core = false", &limits)).unwrap();
    };
    limited(3);
    let told = Ending::of(cluster.collect(&path, &[])).expect(4);
    let refusal = format!("gate host-load on {other} (node-2)");
    told.complains(&[&refusal]);
    let run = cluster.run();
    assert!(run["failure"].as_str().unwrap().contains(&refusal), "{}", run["failure"]);
    let refused =
        |node: &str| run["nodes"][node]["gates"].as_array().unwrap().iter().any(|gate| gate["level"] == "refused");
    assert!(refused("node-2") && !refused("node-1"));
    cluster.verify();
    std::fs::remove_dir_all(cluster.archive()).unwrap();
    // This time the load falls, but not before the head waits for it.
    limited(7200);
    let said = cluster.at("said");
    let mut head = cluster.collect_to(&path, &said);
    until("the head waits for the load of the other machine", || {
        assert!(head.try_wait().unwrap().is_none(), "{}", std::fs::read_to_string(&said).unwrap());
        std::fs::read_to_string(&said).unwrap().contains("waiting for host-load of node-2")
    });
    // As many bytes as before, so that no look finds half of them.
    let low = File::options().write(true).open(cluster.at("load")).unwrap();
    low.write_all_at(b"00000000.10 0 0 1/99 99\n", 0).unwrap();
    assert_eq!(Ending::of(head).code, Some(0), "{}", std::fs::read_to_string(&said).unwrap());
    assert!(std::fs::read_to_string(&said).unwrap().contains("host-load of node-2 passes after"));
}

#[test]
fn machines_that_cannot_take_part_are_named_before_anything_runs() {
    let Some(cluster) = Cluster::new("campno", 2) else { return };
    let fails = |nodes: &str, words: &[&str]| {
        let path = suite(&cluster, nodes, &serve(20));
        Ending::of(cluster.collect(&path, &[])).expect(3).complains(words);
        assert!(!cluster.archive().exists(), "nothing was started");
    };
    fails(&program("/no/such/program"), &["was not reached", "/no/such/program"]);
    fails(&format!("link = '198.51.100.0/24'\n{}", program(PROGRAM)), &["no address in the range"]);
    let other = cluster.wrapped("dead.sh", "echo 'out of order' >&2; exit 7");
    fails(&program(&other), &["was not reached", "out of order"]);
    cluster.left_alone(2);
    let path = suite(&cluster, "launcher = 'mpiexec'", &serve(20));
    Ending::of(cluster.collect(&path, &[])).expect(2).complains(&["nodes.launcher", "mpirun"]);
}
