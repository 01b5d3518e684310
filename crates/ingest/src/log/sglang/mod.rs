//! The log of an SGLang server.
//!
//! In:  a log of any size, line by line.  Out: one partial run for every run against that server.
//! Not here: what a line of the start means (see `boot`), batches (see `traffic`).
//!
//! A start begins with the line of all arguments. Its GB are counted in 2^30, so they are GiB. The rank is inside the bracket with the
//! time: `[2026-06-07 11:57:43 DP1 TP3]`.
//!
//! Seen: SGLang 0.5.11. Lines of 0.4 and of later versions from reports.

mod boot;
mod settings;
mod traffic;

use self::boot::SglangBoot;
use super::boots::Boots;
use super::cut::after;
use super::faults::is_answer;
use super::kind::{LogReader, TextKind};
use super::marks::{count, joined};
use super::quoted;
use super::served::Served;
use crate::{About, Parsed, SourceFile};
use sparkbench_model::Setup;

/// Rule, and rule of what was computed.
const RULES: (&str, &str) = ("sglang-server-log", "sglang-server-log.derived");

/// The log of `sglang.launch_server`.
pub(super) static SGLANG: TextKind = TextKind {
    name: "sglang-server-log",
    about: About {
        tool: "SGLang",
        versions: "0.4 to 0.5 (since 2026 the data type of the cache comes before its tokens, and GB means GiB)",
        sign: "its KV cache, its batches, its line of arguments",
        reads: "weights, KV cache, tokens, CUDA graphs, load times, settings, batches, hits of the prefix cache, retractions, trouble",
    },
    signs: SIGNS,
    marks: MARKS,
    start: || Box::<Log>::default(),
};

/// Phrases that no other program prints.
const SIGNS: &[&str] = &[
    "server_args=ServerArgs(",
    "max_total_num_tokens=",
    "KV Cache is allocated.",
    "Load weight end.",
    "The server is fired up and ready to roll!",
    "== SGLang ==",
    "Decode batch, #running-req",
    "Decode batch. #running-req",
    "Prefill batch, #new-seq",
    "Prefill batch. #new-seq",
];

const PARTS: &[&[&str]] = &[SIGNS, boot::MARKS, traffic::MARKS, super::faults::MARKS];
const MARKS: &[&str] = &joined::<{ count(PARTS) }>(PARTS);

#[derive(Default)]
struct Log {
    boots: Boots<SglangBoot>,
    /// Printed by the container, once.
    version: Option<String>,
    ours: bool,
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        if is_answer(line) {
            return self.boots.now().faults.read(number, line);
        }
        self.ours = self.ours || quoted::is_printed(line, SIGNS);
        if self.ours && self.boots.now().traffic.read(line) {
            return;
        }
        if let Some(version) = after(line, "SGLang Version ") {
            self.version = version.split_whitespace().next().map(str::to_owned);
        }
        if line.contains("server_args=") {
            self.boots.start(number, SglangBoot::is_up);
        }
        self.boots.now().read(number, line);
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if !self.ours || quoted::quotes(file) {
            return None;
        }
        let (mut boot, notes) = self.boots.finish(SglangBoot::is_up);
        boot.close();
        let up = boot.is_up();
        let SglangBoot { mut found, faults, traffic, setup, .. } = boot;
        traffic.into(&mut found);
        let setup = Setup { engine_version: setup.engine_version.or(self.version), ..setup };
        let served = Served { engine: "SGLang", rules: RULES, up, found, faults, setup, series: Vec::new(), notes };
        Some(served.finish(file))
    }
}

#[cfg(test)]
mod tests;
