//! The result block of a serving benchmark, `============ Serving Benchmark Result ============`, as vLLM and SGLang print it.
//!
//! In:  a console, a log, a report with the block inside.  Out: one run for each block, in the order of appearance.
//! Not here: what a figure means. A label is translated into the key that the JSON of the tool has, and read as that (`serving::figures`).
//!
//! SGLang began as a copy of vLLM's script and prints the same frame. A `Backend:` line inside identifies it. Both kinds read every block and
//! keep their own. Whatever a launcher puts in front of each line is as long as what is before the `=` of the first.
//!
//! Seen: vLLM 0.6 to 0.33 with its compiled client, SGLang 0.3 to 0.5 (with the typing error `Max reqeuest concurrency`).

mod block;
mod sglang;

use super::arguments;
use super::cut::{after, place};
use super::kind::{LogReader, TextKind};
use crate::serving::warm_up;
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile};
use block::{Block, Flavour};

/// Header of a block.
const HEADER: &str = "= Serving Benchmark Result =";
/// That of conversations, which vLLM's compiled client has.
const TURNS: &str = "= Multi-Turn Benchmark Result =";
/// Most blocks of one text: a sweep of days.
const MOST: usize = 2_000;

const MARKS: &[&str] = &[
    HEADER,
    TURNS,
    "- Turn ",
    "==========",
    // Labels are padded to a column.
    ":   ",
    "(ms):",
    "tok/s):",
    "req/s):",
    "Namespace(",
    "bench serve",
    "bench_serving",
    "benchmark_serving",
    "Traffic request rate:",
    "Burstiness factor:",
    "Maximum request concurrency:",
];

/// The console of `vllm bench serve`.
pub(super) static VLLM: TextKind = TextKind {
    name: "vllm-bench-serve-console",
    about: About {
        tool: "vllm bench serve, benchmark_serving.py",
        versions: "0.6 to 0.33, and its compiled client (`Total Token throughput` in older ones, failed requests and peaks in newer ones)",
        sign: "`= Serving Benchmark Result =` without a `Backend:` line below",
        reads: "everything in every block of the text, and harmless arguments above it",
    },
    signs: &[HEADER, TURNS],
    marks: MARKS,
    start: || Box::new(Console::of(Flavour::Vllm)),
};

/// The console of SGLang's `bench_serving`.
pub(super) static SGLANG: TextKind = TextKind {
    name: "sglang-bench-serving-console",
    about: About {
        tool: "sglang.bench_serving",
        versions: "0.3 to 0.5, `Max reqeuest concurrency` and `Total throughput` in older ones",
        sign: "`= Serving Benchmark Result =` with a `Backend:` line below",
        reads: "everything in every block of the text, and harmless arguments above it",
    },
    signs: &[HEADER],
    marks: MARKS,
    start: || Box::new(Console::of(Flavour::Sglang)),
};

/// See the module.
struct Console {
    flavour: Flavour,
    /// Settings printed since the last block.
    before: Vec<(String, String)>,
    /// What the arguments since then call a warm-up.
    warm_up: Option<String>,
    open: Option<Block>,
    /// The open block is that of a warm-up.
    open_is_warm_up: bool,
    done: Vec<Block>,
    more: usize,
    /// Notes on blocks of warm-ups.
    warm_ups: Vec<String>,
}

impl Console {
    const fn of(flavour: Flavour) -> Self {
        Self {
            flavour,
            before: Vec::new(),
            warm_up: None,
            open: None,
            open_is_warm_up: false,
            done: Vec::new(),
            more: 0,
            warm_ups: Vec::new(),
        }
    }

    fn close(&mut self) {
        let Some(block) = self.open.take() else { return };
        if std::mem::take(&mut self.open_is_warm_up) {
            return;
        }
        if self.done.len() < MOST {
            self.done.push(block);
        } else {
            self.more += 1;
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.before.retain(|(have, _)| have != name);
        self.before.push((name.to_owned(), value.to_owned()));
    }

    /// Lines before a block about the load of the next run.
    fn load(&mut self, line: &str) {
        const LINES: &[(&str, &str)] = &[
            ("Traffic request rate:", "request_rate"),
            ("Burstiness factor:", "burstiness"),
            ("Maximum request concurrency:", "max_concurrency"),
        ];
        for (label, name) in LINES {
            if let Some(value) = after(line, label) {
                let value = value.split_whitespace().next().unwrap_or_default();
                self.set(name, value);
                return;
            }
        }
        for (name, value) in arguments::of_line(line) {
            self.set(&name, &value);
        }
        if let Some(field) = arguments::warm_up(line) {
            self.warm_up = Some(warm_up::said_by(&field));
        }
    }
}

impl LogReader for Console {
    fn line(&mut self, number: u64, line: &str) {
        if let Some((at, turns)) = place(line, HEADER).map(|at| (at, false)).or(place(line, TURNS).map(|at| (at, true)))
        {
            self.close();
            let start = line.get(..at).map_or(0, |before| before.trim_end_matches('=').len());
            self.open = Some(Block::new(number, start, turns, std::mem::take(&mut self.before)));
            if let Some(note) = self.warm_up.take() {
                self.open_is_warm_up = true;
                if !self.warm_ups.contains(&note) {
                    self.warm_ups.push(note);
                }
            }
            return;
        }
        match &mut self.open {
            Some(block) => {
                if block.line(number, line) {
                    self.close();
                }
            }
            None => self.load(line),
        }
    }

    fn finish(mut self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        self.close();
        let mut parsed = Parsed::default();
        parsed.notes.append(&mut self.warm_ups);
        let mut partials: Vec<PartialRun> = Vec::new();
        for block in self.done {
            if block.flavour() != self.flavour || block.is_empty() {
                continue;
            }
            let partial = block.partial(file, &mut parsed);
            if partials.iter().any(|other| partial.repeats(other)) {
                parsed.notes.push("a block that stands in it twice is counted once".to_owned());
            } else {
                partials.push(partial);
            }
        }
        if partials.is_empty() && parsed.notes.is_empty() {
            return None;
        }
        if self.more > 0 {
            parsed.notes.push(format!("{} further blocks are skipped", self.more));
        }
        let several = partials.len() > 1;
        for (place, mut partial) in (1..).zip(partials) {
            if several {
                (partial.join_role, partial.position) = (JoinRole::Alone, Some(place));
            }
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        Some(parsed)
    }
}

#[cfg(test)]
mod tests;
