//! The log of `trtllm-serve`, or of another server around the same engine.
//!
//! In:  a log of any size, line by line.  Out: one partial run for every run against that server.
//! Not here: what a line means (see `engine`).
//!
//! A start of the engine begins where its version is printed. The last start that allocated its KV pool is reported.
//!
//! Seen: TensorRT-LLM 1.1.

use super::super::boots::Boots;
use super::super::faults::is_answer;
use super::super::kind::{LogReader, TextKind};
use super::super::marks::{count, joined};
use super::super::quoted;
use super::super::served::Served;
use super::engine::{self, Engine, SERVER_RULES};
use crate::{About, Parsed, SourceFile};

/// The log of a server around TensorRT-LLM.
pub(crate) static TRTLLM_SERVER: TextKind = TextKind {
    name: "trtllm-server-log",
    about: About {
        tool: "trtllm-serve",
        versions: "TensorRT-LLM 0.16 to 1.3",
        sign: "words that only this engine prints, in a log that holds no benchmark",
        reads: "weights, KV pool and its tokens, profiling peak, blocks, settings, trouble, figures of the planner as extras",
    },
    signs: super::SIGNS,
    marks: MARKS,
    start: || Box::<Log>::default(),
};

const PARTS: &[&[&str]] = &[engine::MARKS, super::BENCH, super::SERVER, super::super::faults::MARKS];
const MARKS: &[&str] = &joined::<{ count(PARTS) }>(PARTS);

#[derive(Default)]
struct Log {
    boots: Boots<Engine>,
    bench: bool,
    server: bool,
}

impl LogReader for Log {
    fn line(&mut self, number: u64, line: &str) {
        if is_answer(line) {
            return self.boots.now().faults.read(number, line);
        }
        self.bench |= super::BENCH.iter().any(|word| line.contains(word));
        self.server |= super::SERVER.iter().any(|word| line.contains(word));
        // Printed once when the package is loaded, before anything else. Worker processes do not print it.
        if line.contains("[TensorRT-LLM] TensorRT") && line.contains("LLM version:") {
            self.boots.start(number, Engine::is_up);
        }
        self.boots.now().read(number, line);
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        let ours = self.boots.any(|engine| engine.ours);
        let trouble = self.boots.any(|engine| engine.faults.trouble().is_some());
        if !ours || self.bench || (trouble && !self.server) || quoted::quotes(file) {
            return None;
        }
        let (mut engine, notes) = self.boots.finish(Engine::is_up);
        let up = engine.is_up();
        engine.close();
        let Engine { found, faults, setup, .. } = engine;
        let (rules, series) = (SERVER_RULES, Vec::new());
        Some(Served { engine: "TensorRT-LLM", rules, up, found, faults, setup, series, notes }.finish(file))
    }
}
