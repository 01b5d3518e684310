//! Processes of the machine as `/proc` shows them.
//!
//! In:  pids.  Out: parents, names, arguments, environments. A process that has ended is absent.
//! Not here: signals, control groups.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};

use super::files;

/// A process, from one line of `/proc/<pid>/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Name of the program, cut at 15 bytes by the kernel.
    pub name: String,
    /// `R`, `S`, `D`, `T`, `Z` ...
    pub state: char,
    /// Processor time so far, in user mode and in the kernel, ticks of the kernel.
    pub ticks: u64,
    /// Its session: the pid of the process that began it.
    pub session: u32,
    /// When it began, ticks of the kernel since the machine started. With the pid it names one process for good.
    pub began: u64,
}

impl Process {
    /// Still runs, or could: a zombie only waits to be counted.
    pub fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Reads the line. The name is in brackets and may hold blanks and brackets itself.
    ///
    /// Source: proc(5), `/proc/pid/stat`.
    fn parse(line: &str) -> Option<Self> {
        let (pid, rest) = line.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            ticks: number(11)?.saturating_add(number(12)?),
            // Negative for one that is being let go of.
            session: fields.get(3)?.parse().unwrap_or(0),
            began: number(19)?,
        })
    }

    /// One process.
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&shown(pid, "stat")?))
    }
}

/// Every process that can be seen.
///
/// # Errors
/// When `/proc` cannot be listed: then nothing may be concluded from an empty list.
pub fn all() -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        found.extend(pid.and_then(Process::read));
    }
    Ok(found)
}

/// The living descendants of a process, itself not included, parents before their children.
///
/// # Errors
/// Like [`all`].
pub fn below(ancestor: u32) -> io::Result<Vec<Process>> {
    Ok(descendants(all()?, ancestor))
}

/// Those of a picture of all processes that are below one and live, parents before their children.
pub(super) fn descendants(all: Vec<Process>, ancestor: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: Vec<Process> = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        // Taken out, so that a torn picture of a changing tree cannot lead in a circle.
        let below = children.remove(&process.pid).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    // A zombie may still have children in the picture: they were followed above, it is dropped here.
    found.retain(Process::lives);
    found
}

/// Ourselves and those above us.
pub fn own_line() -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut pid = std::process::id();
    while pid != 0 && line.insert(pid) {
        pid = Process::read(pid).map_or(0, |process| process.parent);
    }
    line
}

fn shown(pid: u32, name: &str) -> Option<Vec<u8>> {
    files::bytes(&Path::new("/proc").join(pid.to_string()).join(name)).ok()
}

/// Arguments. Absent for kernel threads, for zombies, and for what has gone.
pub fn arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = shown(pid, "cmdline")?;
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    let words = || bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    (!bytes.is_empty()).then(words)
}

/// Value of a variable of the environment it was started with. Absent without the right to look.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let bytes = shown(pid, "environ")?;
    let value = |entry: &[u8]| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    let value = bytes.split(|byte| *byte == 0).find_map(value)?;
    Some(String::from_utf8_lossy(&value).into_owned())
}

/// Processor time of a process so far.
pub fn cpu(pid: u32) -> Option<Duration> {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten()?;
    let ticks = Process::read(pid)?.ticks;
    Some(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn process(pid: u32, parent: u32, state: char) -> Process {
        Process { pid, parent, name: format!("p{pid}"), state, ticks: 0, session: 0, began: 0 }
    }

    #[test]
    fn a_name_may_hold_blanks_and_brackets() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 0 0 0 13 4 0 0 20 0 1 0 100 0 0";
        let read = Process::parse(line).unwrap();
        assert_eq!((read.name.as_str(), read.parent, read.state, read.ticks), ("a) b (c", 7, 'S', 17));
        assert_eq!((read.session, read.began), (42, 100));
        for broken in ["", "42", "42 (a", "42 (a) S", "x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13"] {
            assert_eq!(Process::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_tree_is_everything_below_and_a_zombie_does_not_count() {
        let all =
            vec![process(5, 3, 'S'), process(2, 1, 'S'), process(3, 2, 'Z'), process(4, 1, 'S'), process(9, 9, 'S')];
        let pids = |ancestor| -> Vec<u32> { descendants(all.clone(), ancestor).iter().map(|p| p.pid).collect() };
        assert_eq!(pids(1), [2, 4, 5]);
        assert_eq!(pids(2), [5]);
        assert!(pids(77).is_empty());
        assert_eq!(pids(9), [9], "a picture that is torn into a circle ends");
    }

    #[test]
    fn arguments_are_seen_whole_or_not_at_all_however_short_a_program_lives() {
        let long = "x".repeat(100_000);
        // It reports when it runs, because it has no arguments just after its start. It lives as long as its input is open.
        let asked = ["/bin/sh", "-c", "echo; read line", "a first word that is longer than thirty-two bytes", &long];
        for _ in 0..200 {
            let mut command = Command::new(asked[0]);
            command.args(&asked[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let seen = |words: &[String]| assert!(words == asked, "{} bytes", words.concat().len());
            seen(&arguments(child.id()).expect("it is alive"));
            drop(child.stdin.take());
            while let Some(words) = arguments(child.id()) {
                seen(&words);
            }
            child.wait().unwrap();
        }
    }

    #[test]
    fn we_see_ourselves() {
        let own = Process::read(std::process::id()).unwrap();
        assert!(own.lives());
        assert!(own_line().contains(&own.parent));
        assert!(arguments(own.pid).is_some());
        assert_eq!(variable(own.pid, "PATH"), std::env::var("PATH").ok());
        assert_eq!(variable(own.pid, "NO_SUCH_VARIABLE_HERE"), None);
        assert!(cpu(own.pid).is_some());
    }
}
