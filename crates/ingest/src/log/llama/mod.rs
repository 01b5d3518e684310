//! The log of `llama-server` and of other programs of llama.cpp.
//!
//! In:  a log of any size, line by line.  Out: one partial run for every run against that server.
//! Not here: `llama-bench` and its tables.
//!
//! Sizes are MiB a device. The model's memory is that of the GPU that holds most of it, else that of the host. A server without a GPU, or
//! one with mapped weights on unified memory, prints the host's part alone. A one-token answer shows `1000000.00 tokens per second`: it has
//! no time per token.
//!
//! Times of requests are a series of the server's life: it becomes a run's own only where the log is alone.
//!
//! A start is announced by `llama_server: initializing ...`, by its build, or by both. At the verbosity of default only by the first. With
//! `-v`, `llama-bench` prints the lines of a load too. Each test has its own cache, and no cache represents all where their sizes differ.
//!
//! Seen: lines of builds of 2024 to 2026 from their source and from reports, and logs of one build of 2026.

mod boot;
mod settings;

use self::boot::LlamaBoot;
use super::boots::Boots;
use super::kind::{LogReader, TextKind};
use super::quoted;
use super::served::Served;
use crate::{About, Parsed, SourceFile};
use sparkbench_model::Series;

/// Rule, and rule of what was computed.
const RULES: (&str, &str) = ("llama-server-log", "llama-server-log.derived");

/// The log of `llama-server`.
pub(super) static LLAMA: TextKind = TextKind {
    name: "llama-server-log",
    about: About {
        tool: "llama-server",
        versions: "llama.cpp 2024 to 2026: with and without a clock in front, `kv_self size` or `llama_kv_cache: size`",
        sign: "buffers of the model and of the KV cache, timings of requests",
        reads: "model and KV memory by device, cells, context, time per token of each request, prompt rates, drafts, settings",
    },
    signs: SIGNS,
    marks: boot::MARKS,
    start: || Box::<Log>::default(),
};

/// Phrases that no other program prints.
const SIGNS: &[&str] = &[
    "model buffer size =",
    "KV buffer size =",
    "llama_model_loader:",
    "llama_kv_cache",
    "llm_load_tensors:",
    "load_tensors:",
    "prompt eval time =",
    "llama_server:",
    "llama_context:",
];

#[derive(Default)]
struct Log {
    boots: Boots<LlamaBoot>,
    /// Which of its two lines announced the present start: that of the server, that of the build.
    announced: [bool; 2],
    ours: bool,
}

impl Log {
    /// The line of the build behind that of the server, or the other way round, begins no start of its own.
    fn announce(&mut self, number: u64, line: &str) {
        let server = line.trim_end().ends_with(": initializing ...")
            && (line.contains("llama_server:") || (line.contains("srv") && line.contains(" init:")));
        if !server && boot::build(line).is_none() {
            return;
        }
        let [by_server, by_build] = self.announced;
        let (same, other) = if server { (by_server, by_build) } else { (by_build, by_server) };
        if same || !other || self.boots.now().is_up() {
            self.boots.start(number, LlamaBoot::is_up);
            self.announced = [false; 2];
        }
        self.announced = if server { [true, self.announced[1]] } else { [self.announced[0], true] };
    }
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        self.ours = self.ours || quoted::is_printed(line, SIGNS);
        // A draft model is loaded behind the model, so the loader alone does not begin a start.
        self.announce(number, line);
        self.boots.now().read(number, line);
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if !self.ours || quoted::quotes(file) {
            return None;
        }
        let (mut boot, mut notes) = self.boots.finish(LlamaBoot::is_up);
        boot.close();
        let up = boot.is_up();
        if boot.has_varied() {
            notes.push("its tests have caches of several sizes, so none is taken".to_owned());
        }
        if boot.dropped > 0 {
            notes.push(format!("times of {} more requests are not listed one by one", boot.dropped));
        }
        let series = (!boot.tpot.is_empty()).then(|| Series {
            metric: "tpot_ms".to_owned(),
            values: std::mem::take(&mut boot.tpot),
            origin: file.origin(None, None, RULES.0),
        });
        let LlamaBoot { found, faults, setup, .. } = boot;
        let (rules, series) = (RULES, series.into_iter().collect());
        Some(Served { engine: "llama.cpp", rules, up, found, faults, setup, series, notes }.finish(file))
    }
}

#[cfg(test)]
mod tests;
