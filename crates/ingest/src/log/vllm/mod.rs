//! The log of a vLLM server.
//!
//! In:  a log of any size, line by line.  Out: one partial run for every run against that server.
//! Not here: what a line of the start means (see `boot`), windows of traffic (see `traffic`).
//!
//! A start begins at the line by which an engine core names itself and its settings. Engines of one data-parallel server each print one, so
//! a second line of the *same* process name is the next start. What is in front of the first belongs to it.
//!
//! Windows of traffic and totals over the life of a server are kept as extra figures. They include warm-up, other clients and idle time.
//!
//! Seen: vLLM 0.19 to 0.32, the last built for a processor. Lines of 0.4 to 0.11 from their source and from reports.

mod boot;
mod settings;
mod traffic;

use self::boot::VllmBoot;
use super::boots::Boots;
use super::faults::is_answer;
use super::kind::{LogReader, TextKind};
use super::marks::{count, joined};
use super::quoted;
use super::served::Served;
use crate::{About, Parsed, SourceFile};

/// Rule, and rule of what was computed.
const RULES: (&str, &str) = ("vllm-server-log", "vllm-server-log.derived");

/// The log of `vllm serve`.
pub(super) static VLLM: TextKind = TextKind {
    name: "vllm-server-log",
    about: About {
        tool: "vLLM",
        versions: "0.4 to 0.32: memory of weights in GB, then GiB, then `GiB memory`, with KV size and concurrency on one line or two",
        sign: "words of its engine core: its settings, its KV cache, its windows of throughput",
        reads: "weights, KV cache, tokens, concurrency, CUDA graphs, load times, settings, windows, speculation, preemptions, trouble",
    },
    signs: SIGNS,
    marks: MARKS,
    start: || Box::<Log>::default(),
};

/// Phrases that no other program prints.
const SIGNS: &[&str] = &[
    "Initializing a V1 LLM engine",
    "Initializing a V0 LLM engine",
    "Initializing an LLM engine (v",
    "vLLM API server version",
    "GPU KV cache size:",
    "CPU KV cache size:",
    "Available KV cache memory:",
    "Avg generation throughput:",
    "[gpu_model_runner.py:",
    "[model_runner.py:",
    " model_runner.py:",
    "[default_loader.py:",
];

const PARTS: &[&[&str]] = &[SIGNS, boot::MARKS, traffic::MARKS, super::faults::MARKS];
const MARKS: &[&str] = &joined::<{ count(PARTS) }>(PARTS);

/// Levels, of which vLLM's logger puts one in front of each line.
const LEVELS: &[&str] = &["INFO", "WARNING", "ERROR", "DEBUG"];

/// True for a line as the logger prints it. Notes quote the words alone, unlike the settings of a start, which nobody copies by hand.
fn is_logged(line: &str) -> bool {
    quoted::before(line, SIGNS)
        .any(|before| LEVELS.iter().any(|level| before.contains(level)) || line.contains(" with config: "))
}

#[derive(Default)]
struct Log {
    boots: Boots<VllmBoot>,
    /// Output of the server before its engine starts.
    before: VllmBoot,
    ours: bool,
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        if is_answer(line) {
            return self.boots.now().faults.read(number, line);
        }
        self.ours = self.ours || is_logged(line);
        if self.ours && self.boots.now().traffic.read(number, line) {
            return;
        }
        if boot::is_start(line) {
            let rank = boot::rank(line);
            if !self.boots.now().knows(rank) {
                // Another engine of the same server, or the first.
                if self.boots.now().is_fresh() {
                    self.boots.start(number, VllmBoot::is_up);
                }
            } else {
                self.boots.start(number, VllmBoot::is_up);
                std::mem::swap(self.boots.now(), &mut self.before);
            }
            self.boots.now().begin(rank);
        }
        let early = boot::is_early(line) && !self.boots.now().is_fresh();
        if early {
            self.before.read(number, line);
        } else {
            self.boots.now().read(number, line);
        }
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if !self.ours || quoted::quotes(file) {
            return None;
        }
        let (mut boot, notes) = self.boots.finish(VllmBoot::is_up);
        boot.add_parts();
        let up = boot.is_up();
        let VllmBoot { mut found, faults, traffic, setup, .. } = boot;
        traffic.into(&mut found);
        let served = Served { engine: "vLLM", rules: RULES, up, found, faults, setup, series: Vec::new(), notes };
        Some(served.finish(file))
    }
}

#[cfg(test)]
mod tests;
