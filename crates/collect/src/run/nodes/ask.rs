//! Asks every machine at once.
//!
//! In:  [`Entry`]s, how `ssh` is called.  Out: [`Node`]s.
//! Not here: which machines there are (see `list`).

use std::io;
use std::time::Duration;

use serde_json::Value;

use super::about::{About, Offset, SCHEMA};
use super::{Entry, Node};
use sparkbench_host::net::clock::wall;
use sparkbench_host::net::now;
use sparkbench_host::remote::Remote;
use sparkbench_text::excerpt::excerpt;

/// Time limit for the program there to examine its machine.
const LOOK: Duration = Duration::from_secs(30);
/// Time limit for it to report its clock.
const TELL: Duration = Duration::from_secs(5);
/// Round trips that a clock is read by: the shortest of them counts.
const TRIPS: usize = 16;
/// Machines that are asked at a time.
const TOGETHER: usize = 32;

/// How machines are asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Words before the name of the machine, e.g. `ssh -o BatchMode=yes`.
    pub ssh: Vec<String>,
    /// The program there.
    pub program: String,
    /// Names and addresses of this machine, which is asked without `ssh`.
    pub own: Vec<String>,
    /// This program here.
    pub own_program: String,
}

impl Asked {
    fn is_here(&self, entry: &Entry) -> bool {
        self.own.contains(&entry.host)
    }
}

/// Asks them all. A machine that does not answer delays the others by this at most.
pub fn ask_all(entries: &[Entry], asked: &Asked) -> Vec<Node> {
    let mut nodes = Vec::new();
    for some in entries.chunks(TOGETHER) {
        let found: Vec<Node> = std::thread::scope(|scope| {
            let threads: Vec<_> = some.iter().map(|entry| (entry, scope.spawn(|| ask(entry, asked)))).collect();
            let told = |(entry, thread): (&Entry, std::thread::ScopedJoinHandle<'_, Node>)| {
                thread.join().unwrap_or_else(|_| Node {
                    entry: entry.clone(),
                    about: Err("the thread that asked it stopped unexpectedly".to_owned()),
                    clock: None,
                })
            };
            threads.into_iter().map(told).collect()
        });
        nodes.extend(found);
    }
    nodes
}

fn ask(entry: &Entry, asked: &Asked) -> Node {
    match open(entry, asked) {
        Ok((mut there, about)) => {
            let clock = if asked.is_here(entry) { None } else { offset(&mut there) };
            Node { entry: entry.clone(), about: Ok(about), clock }
        }
        Err(why) => Node { entry: entry.clone(), about: Err(why.to_string()), clock: None },
    }
}

/// Starts the program on a machine. It answers until what is given here is dropped.
pub(super) fn open(entry: &Entry, asked: &Asked) -> io::Result<(Remote, About)> {
    let argv: Vec<String> = if asked.is_here(entry) {
        vec![asked.own_program.clone(), "node".to_owned()]
    } else {
        asked.ssh.iter().cloned().chain([entry.host.clone(), asked.program.clone(), "node".to_owned()]).collect()
    };
    let mut there = Remote::start(&argv)?;
    let (line, _) = there.hear(LOOK)?;
    let about: About = serde_json::from_str(&line)
        .ok()
        .filter(|about: &About| about.schema == SCHEMA)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("it answered \"{}\"", short(&line))))?;
    Ok((there, about))
}

fn short(line: &str) -> String {
    const MOST: usize = 60;
    excerpt(line.chars(), MOST)
}

/// From the shortest of some round trips.
fn offset(there: &mut Remote) -> Option<Offset> {
    let mut best: Option<Offset> = None;
    for _ in 0..TRIPS {
        let (asked, asked_wall) = (now(), wall());
        there.say("clock").ok()?;
        let (line, heard) = there.hear(TELL).ok()?;
        let told: Value = serde_json::from_str(&line).ok()?;
        let told = told["wall_ns"].as_u64()?;
        let trip = heard.saturating_sub(asked);
        let ahead = told as i128 - i128::from(asked_wall + trip / 2);
        let found = Offset { ahead_ms: ahead as f64 / 1e6, bound_ms: trip as f64 / 2e6 };
        best = best.filter(|best| best.bound_ms <= found.bound_ms).or(Some(found));
    }
    best
}
