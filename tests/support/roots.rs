//! A suite of short runs in every kind of environment that this machine offers, with a root file system made on the spot.
//!
//! The root is the static busybox of the distribution and a few links to it. The image is the same root, imported.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::needs;

/// Where the distribution puts a busybox that needs no library.
const BUSYBOX: &str = "/bin/busybox";
/// Programs that the scripts of the tests use.
const PROGRAMS: &[&str] = &["sh", "sleep", "setsid", "cat", "echo", "seq", "mkdir", "env", "true", "dd", "ls"];

/// What a run of the suite does: work for a moment, leave a file and figures, and leave behind a process that has cut itself loose.
const JOB: &str = "#!/bin/sh
setsid sleep 100000 >/dev/null 2>&1 </dev/null &
i=0
while [ $i -lt 400 ]; do i=$((i+1)); done
sleep 0.05
echo kept > \"$1/left.txt\"
echo 'ttft_ms=12.5'
";

/// Kinds of environment that can be had here, and for each that cannot, why.
pub struct Roots {
    /// Tables of a suite.
    pub environments: String,
    /// Labels of them.
    pub labels: Vec<&'static str>,
    /// One line each.
    pub missing: Vec<String>,
    image: Option<String>,
}

impl Drop for Roots {
    fn drop(&mut self) {
        if let Some(image) = &self.image {
            let _ = Command::new("docker").args(["image", "rm", "--force", image]).stdout(Stdio::null()).status();
        }
    }
}

/// Makes the root below `folder`, imports it as an image, and says which environments there are. A missing one is told on standard
/// error, and is a failure where `SPARKBENCH_REQUIRE_ALL` is `1`.
pub fn make(folder: &Path) -> Roots {
    make_with(folder, &|_| ())
}

/// As [`make`], with whatever `more` puts into the root.
pub fn make_with(folder: &Path, more: &dyn Fn(&Path)) -> Roots {
    let mut roots = Roots {
        environments: "[environments.native]\n".to_owned(),
        labels: vec!["native"],
        missing: Vec::new(),
        image: None,
    };
    let root = folder.join("root");
    let is_root = fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    if !Path::new(BUSYBOX).exists() {
        roots.missing.push(format!("chroot, nspawn, docker: no {BUSYBOX} (Debian package busybox-static)"));
        return roots.told();
    }
    fill(&root);
    more(&root);
    if is_root {
        roots.add("chroot", "root = \"root\"");
        if works("systemd-nspawn", &["--version"]) {
            roots.add("nspawn", "root = \"root\"");
        } else {
            roots.missing.push("nspawn: no systemd-nspawn (Debian package systemd-container)".to_owned());
        }
    } else {
        roots.missing.push("chroot, nspawn: not root".to_owned());
    }
    if works("docker", &["version"]) {
        let id = import(&root);
        roots.add("docker", &format!("image = \"{id}\""));
        roots.image = Some(id);
    } else {
        roots.missing.push("docker: no engine answers".to_owned());
    }
    roots.told()
}

impl Roots {
    fn add(&mut self, label: &'static str, keys: &str) {
        let _ = write!(self.environments, "[environments.{label}]\n{keys}\n");
        self.labels.push(label);
    }

    fn told(self) -> Self {
        self.missing.iter().for_each(|line| needs::skip(line));
        self
    }

    /// A suite of short runs in all of them. Gates that a test machine cannot hold are off, and no machine is so slow that a run meets the
    /// time limit.
    pub fn suite(&self, folder: &Path, repeats: usize) -> PathBuf {
        fs::write(folder.join("job.sh"), JOB).unwrap();
        let text = format!(
            "schema = \"sparkbench.suite/1\"\nname = \"short runs\"\nrepeats = {repeats}\nseed = 7\nprimary = [\"ttft_ms\"]\n{}\
             [workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/job.sh\", \"{{work}}\"]\nassets = [\"job.sh\"]\n\
             reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpect = {{ files = [\"left.txt\"], metrics = [\"ttft_ms\"] }}\n\
             expected_s = 0.1\ntime_limit_s = 3600\n\
             [gates]\ngpu_required = false\ngpu_temp_max_c = false\ncooldown_min_s = 0\nhost_load_max_per_core = false\n\
             memory_available_min_gib = false\ndisk_free_min_gib = 0\n\
             [watchdogs]\nmemory_floor_gib = false\ngrace_s = 1\nkernel_log = false\n",
            self.environments
        );
        let path = folder.join("suite.toml");
        fs::write(&path, text).unwrap();
        path
    }
}

fn fill(root: &Path) {
    for name in ["bin", "dev", "etc", "proc", "sys", "tmp", "usr", "var", "root", "run"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    copy(Path::new(BUSYBOX), &root.join("bin/busybox"));
    for name in PROGRAMS {
        let link = root.join("bin").join(name);
        if !link.exists() {
            symlink("busybox", link).unwrap();
        }
    }
    // systemd-nspawn takes a folder for a system only with this file in it.
    fs::write(root.join("etc/os-release"), "ID=sparkbench-test\nNAME=\"sparkbench test\"\n").unwrap();
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
}

/// Copies a program. Another process does it: a child that another test starts just then would have our file open for writing for a moment,
/// and the kernel runs no program that somebody may still write to.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args([from, to]).status().expect("cp starts");
    assert!(copied.success(), "{} is not copied to {}", from.display(), to.display());
}

fn import(root: &Path) -> String {
    let mut tar = Command::new("tar")
        .args(["--create", "--directory"])
        .arg(root)
        .arg(".")
        .stdout(Stdio::piped())
        .spawn()
        .expect("tar starts");
    let imported =
        Command::new("docker").args(["import", "-"]).stdin(tar.stdout.take().unwrap()).output().expect("docker starts");
    assert!(
        tar.wait().unwrap().success() && imported.status.success(),
        "{}",
        String::from_utf8_lossy(&imported.stderr)
    );
    String::from_utf8(imported.stdout).unwrap().trim().to_owned()
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}
