//! Environments for tests: a root file system and an image of busybox, built on the spot, and one run in an environment of any kind.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use sparkbench::env::{ENVIRONMENTS, Environment, Examined, Invocation, Place};
use sparkbench::host::machine::Machine;
use sparkbench::host::{Closed, Ended, Host as _, Launched};
use sparkbench::plan::{Faults, Settings};

use super::folder::Folder;
use super::machine::machine;
use super::needs::skip;
use super::tree::{archive_id, copy_program, put_program, with_argument};
use super::wait::until_some;

/// Programs of busybox that the tests use inside.
const APPLETS: &[&str] = &["sh", "env", "cat", "sleep", "printf", "tail", "id", "ls", "touch", "true", "mkdir"];

/// A program of the machine, run to its end.
pub fn ask(argv: &[&str]) -> Output {
    let command = Command::new(argv[0]).args(&argv[1..]).stdin(Stdio::null()).output();
    command.unwrap_or_else(|error| panic!("{argv:?}: {error}"))
}

/// What it prints, ends trimmed. It must succeed.
pub fn say(argv: &[&str]) -> String {
    let output = ask(argv);
    assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Time to end politely: more than a program takes that does so.
const GRACE_S: f64 = 120.0;

fn answers(argv: &[&str]) -> bool {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// One environment ready for a test, with everything it needs in a folder of the test's own.
pub struct Stage {
    pub kind: &'static str,
    pub folder: Folder,
    pub environment: Box<dyn Environment>,
    pub archive_id: String,
    pub machine: Machine,
    image: Option<String>,
    /// Id of the image, which keeps it when its tag moves on.
    image_id: Option<String>,
}

/// One run and its end.
pub struct Run {
    pub ended: Ended,
    pub examined: Examined,
    pub closed: Closed,
    pub stdout: String,
    pub stderr: String,
    pub place: Place,
}

impl Run {
    /// Exit status of the program inside.
    pub fn code(&self) -> Option<i32> {
        self.examined.code.or(self.ended.code)
    }

    /// What a check came to.
    pub fn check(&self, item: &str) -> Vec<&str> {
        self.examined.checks.iter().filter(|check| check.item == item).map(|check| check.result.as_str()).collect()
    }

    /// A file of the run's own folder.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.work.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// Reads settings as a suite would.
pub fn read(kind: &str, text: &str, folder: &Path) -> (Option<Box<dyn Environment>>, Faults) {
    let mut faults = Faults::default();
    let table = toml::de::DeTable::parse(text).unwrap();
    let settings = Settings::from_toml(&format!("environments.{kind}"), 1, table.get_ref(), text);
    let mut reader = settings.reader(&mut faults);
    let known = ENVIRONMENTS.iter().find(|known| known.name() == kind).unwrap();
    let environment = known.read(&mut reader, folder);
    reader.finish();
    (environment, faults)
}

/// An environment of a kind. Nothing, and said so, where this machine lacks what it takes. `more` are further settings.
pub fn stage(kind: &'static str, test: &str, more: &str) -> Option<Stage> {
    let archive_id = archive_id();
    let machine = machine();
    if kind != "native" && !machine.is_root() {
        skip(&format!("{kind}: needs root"));
        return None;
    }
    if kind != "native" && !answers(&["busybox", "true"]) {
        skip(&format!("{kind}: needs busybox (apt-get install busybox-static)"));
        return None;
    }
    let there = match kind {
        "docker" => answers(&["docker", "version"]),
        "podman" => answers(&["podman", "version"]),
        "nspawn" => answers(&["systemd-nspawn", "--version"]),
        _ => true,
    };
    if !there && kind == "podman" {
        // Podman is used where it is there. No machine has to have it.
        eprintln!("skipped: podman is not there");
        return None;
    }
    if !there {
        skip(&format!("{kind} is not there or does not answer"));
        return None;
    }
    let folder = Folder::new(&format!("environment-{kind}-{test}-{archive_id}"));
    let (mut image, mut image_id) = (None, None);
    let settings = match kind {
        "native" => String::new(),
        "docker" | "podman" => {
            build_root(&folder.path().join("root"));
            let tag = format!("sparkbench-test:{archive_id}");
            let id = import(kind, &folder.path().join("root"), &tag);
            (image, image_id) = (Some(tag), Some(id.clone()));
            let Some(how) = how_it_runs(kind, &folder.path().join("root")) else {
                // No machine has to have podman, so none has to have one that works.
                eprintln!("skipped: {kind} runs no container on this machine");
                ask(&[kind, "rmi", "--force", image.as_deref().unwrap_or_default()]);
                return None;
            };
            format!("image = '{id}'\n{how}")
        }
        _ => {
            build_root(&folder.path().join("root"));
            "root = 'root'\n".to_owned()
        }
    };
    let (environment, faults) = read(kind, &format!("{settings}{more}"), folder.path());
    assert!(faults.is_empty(), "{faults:?}");
    Some(Stage { kind, folder, environment: environment.unwrap(), archive_id, machine, image, image_id })
}

/// A root of one static program and its many names.
pub fn build_root(root: &Path) {
    for name in ["usr/bin", "etc", "proc", "sys", "dev", "tmp", "run", "var"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    let busybox = PathBuf::from(say(&["sh", "-c", "command -v busybox"]));
    copy_program(&busybox, &root.join("usr/bin/busybox"));
    symlink("usr/bin", root.join("bin")).unwrap();
    for name in APPLETS {
        symlink("busybox", root.join("usr/bin").join(name)).unwrap();
    }
    std::fs::write(root.join("etc/os-release"), "ID=test\nPRETTY_NAME=\"A test\"\n").unwrap();
}

/// Settings with which an engine runs a container here. Podman's usual ones (its network, crun, limits that it raises) are refused on some
/// machines that are containers themselves, where fewer do.
fn how_it_runs(engine: &str, root: &Path) -> Option<&'static str> {
    const PODMAN: &[(&[&str], &[&str], &str)] = &[
        (&[], &["--network=none"], "flags = ['--network=none']\n"),
        (
            &["--runtime=runc"],
            &["--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"],
            "global_flags = ['--runtime=runc']\n\
             flags = ['--network=none', '--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024']\n",
        ),
    ];
    static FOUND: OnceLock<Option<&str>> = OnceLock::new();
    if engine == "docker" {
        return Some("");
    }
    *FOUND.get_or_init(|| {
        let runs = |global: &[&str], flags: &[&str]| {
            let mut argv = vec![engine];
            argv.extend(global);
            argv.extend(["run", "--rm"]);
            argv.extend(flags);
            argv.extend(["--rootfs", root.to_str().unwrap(), "true"]);
            answers(&argv)
        };
        PODMAN.iter().find(|(global, flags, _)| runs(global, flags)).map(|(_, _, settings)| *settings)
    })
}

/// Makes an image of a folder. Gives its id.
pub fn import(engine: &str, root: &Path, tag: &str) -> String {
    let pipe = "tar -C \"$1\" -c . | \"$2\" import - \"$3\"";
    say(&["sh", "-c", pipe, "sh", root.to_str().unwrap(), engine, tag]);
    let id = say(&[engine, "image", "inspect", "-f", "{{.Id}}", tag]);
    if id.contains(':') { id } else { format!("sha256:{id}") }
}

impl Stage {
    /// Where a run would live. Its folders are made.
    pub fn place(&self, run_id: &str) -> Place {
        let folder = self.folder.path().join("runs").join(run_id);
        let work = folder.join("work");
        std::fs::create_dir_all(&work).unwrap();
        Place { archive_id: self.archive_id.clone(), run_id: run_id.to_owned(), folder, work, grace_s: GRACE_S }
    }

    /// Puts a program into a run's own folder.
    pub fn program(place: &Place, name: &str, text: &str) {
        put_program(&place.work.join(name), text);
    }

    /// Wraps and starts. The caller ends it.
    pub fn start(&self, place: &Place, invocation: &Invocation) -> Box<dyn Launched> {
        let job = self.environment.wrap(&self.machine, invocation, place).unwrap();
        self.machine.launch(&job).unwrap()
    }

    /// Looks while it runs, until it has ended.
    pub fn watch(&self, place: &Place, launched: &mut dyn Launched) -> Ended {
        until_some("the run has ended", || {
            self.environment.main_pid(&self.machine, place, launched);
            self.environment.while_running(&self.machine, place, launched);
            launched.wait(Duration::from_millis(50)).unwrap()
        })
    }

    /// Examines and closes.
    pub fn finish(&self, place: Place, launched: Box<dyn Launched>, invocation: &Invocation, ended: Ended) -> Run {
        let examined = self.environment.examine(&self.machine, invocation, &place, &ended).unwrap();
        let closed = launched.close().unwrap();
        let read = |path: PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        Run { ended, examined, closed, stdout: read(place.stdout()), stderr: read(place.stderr()), place }
    }

    /// A whole run. A program that begins with [`super::tree::HELD`] is there until it has been looked at. An engine says itself what it
    /// was told to run, so nothing has to be seen of a container, whose folder cannot be reached from here once it runs.
    pub fn run_in(&self, place: Place, argv: &[&str], env: &[(&str, &str)]) -> Run {
        let invocation = invocation(argv, env);
        let go = || std::fs::write(place.work.join("go"), "").unwrap();
        if self.image.is_some() {
            go();
        }
        let mut launched = self.start(&place, &invocation);
        if self.image.is_none() {
            go();
        }
        let ended = self.watch(&place, launched.as_mut());
        self.finish(place, launched, &invocation, ended)
    }

    /// A whole run in a new place.
    pub fn run(&self, run_id: &str, argv: &[&str], env: &[(&str, &str)]) -> Run {
        self.run_in(self.place(run_id), argv, env)
    }

    /// What a run of this stage could have left: processes that carry `word`, containers, mounts, locks, control groups.
    pub fn left(&self, word: &str) -> Vec<String> {
        let mut left: Vec<String> = with_argument(word).into_iter().map(|pid| format!("process {pid}")).collect();
        if self.image.is_some() {
            let filter = format!("label=sparkbench.archive={}", self.archive_id);
            let names = say(&[self.kind, "ps", "--all", "--filter", &filter, "--format", "{{.Names}}"]);
            left.extend(names.lines().map(|name| format!("container {name}")));
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let own = self.folder.path().to_str().unwrap();
        left.extend(mounts.lines().filter(|line| line.contains(own)).map(|line| format!("mount {line}")));
        let lock = self.folder.path().join(".#root.lck");
        left.extend(lock.exists().then(|| format!("lock {}", lock.display())));
        for folder in ["/run/systemd/nspawn/propagate", "/run/systemd/nspawn/unix-export"] {
            let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
            let ours =
                names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.contains(&self.archive_id));
            left.extend(ours.map(|name| format!("folder {name}")));
        }
        // Groups of others come and go while this looks. What is gone meanwhile is not left.
        let folders = walkdir::WalkDir::new("/sys/fs/cgroup").into_iter().flatten().filter(|e| e.file_type().is_dir());
        let groups = folders.filter(|entry| entry.file_name().to_string_lossy().contains(&self.archive_id));
        left.extend(groups.map(|group| format!("control group {}", group.path().display())));
        left
    }

    /// Tag of the image, for tests that move it.
    pub fn tag(&self) -> &str {
        self.image.as_deref().unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(tag) = &self.image {
            let _ = self.environment.sweep(&self.machine, &self.archive_id);
            ask(&[self.kind, "rmi", "--force", tag]);
            ask(&[self.kind, "rmi", "--force", self.image_id.as_deref().unwrap_or_default()]);
        }
    }
}

/// A command line and the variables a workload sets.
pub fn invocation(argv: &[&str], env: &[(&str, &str)]) -> Invocation {
    Invocation {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>(),
        ..Invocation::default()
    }
}
