//! Text as programs print it: logs of servers and benchmarks, consoles that were kept, reports with a console inside.
//!
//! In:  text of any size, line by line.  Out: whatever the kinds of text find in it.
//! Not here: what a line means (one file a kind, and one line in [`KINDS`]).
//!
//! A text can be of several kinds at once. A log of `trtllm-bench` holds a result block and the memory lines of its engine. A report in
//! Markdown holds the console of a benchmark. So all kinds read together. Each names its phrases. One automaton finds them all in one pass,
//! and a line goes to a kind only when it holds one of its phrases. Phrases may be anywhere in a line, because every launcher puts its own
//! prefix in front.

mod arguments;
mod boots;
mod columns;
mod command;
mod cut;
mod faults;
mod findings;
mod kind;
mod llama;
mod llama_batched;
mod llama_bench;
mod llama_benchy;
mod marks;
mod mlperf;
mod multi_turn;
mod quoted;
mod script;
mod served;
mod serving;
mod sglang;
mod trtllm;
mod vllm;
mod vllm_offline;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::outline::Outline;
use super::source_file::{unreadable, without_escapes};
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile, not_analysed};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_text::error::Error;

use command::Command;
use kind::LogReader;
pub use kind::TextKind;
use quoted::Prose;
pub(super) use trtllm::{TRTLLM, fingerprint, shape};

use llama::LLAMA;
use llama_batched::LLAMA_BATCHED;
use llama_bench::LLAMA_BENCH;
use llama_benchy::LLAMA_BENCHY;
use mlperf::MLPERF;
use script::SCRIPT;
use sglang::SGLANG;
use trtllm::TRTLLM_SERVER;
use vllm::VLLM;

/// Every kind of text that is read.
pub static KINDS: &[&TextKind] = &[
    &TRTLLM,
    &TRTLLM_SERVER,
    &VLLM,
    &SGLANG,
    &LLAMA,
    &serving::VLLM,
    &serving::SGLANG,
    &vllm_offline::THROUGHPUT,
    &vllm_offline::LATENCY,
    &multi_turn::MULTI_TURN,
    &MLPERF,
    &LLAMA_BENCHY,
    &LLAMA_BENCH,
    &LLAMA_BATCHED,
    &SCRIPT,
];

/// Any text. See the module.
pub(super) struct Text;

/// Endings of files that are text a program printed, whatever its first lines say.
const PRINTED: &[&str] = &[".log", ".out", ".txt", ".stdout", ".stderr"];

/// What becomes of notes.
const PROSE: &str = "prose, kept. A log that it quotes is not read";

struct Marks {
    automaton: Option<AhoCorasick>,
    /// Kind of each pattern.
    kinds: Vec<usize>,
}

impl Marks {
    fn of(kinds: &[&TextKind], phrases: fn(&TextKind) -> &'static [&'static str]) -> Self {
        let pairs =
            || kinds.iter().enumerate().flat_map(|(place, kind)| phrases(kind).iter().map(move |mark| (place, mark)));
        // Only an automaton beyond all bounds can fail to build. Without one every line goes to every kind.
        // A table of all states is twice as fast on a server log as the compact one, and costs a few megabytes.
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(pairs().map(|(_, mark)| mark))
            .ok();
        Self { automaton, kinds: pairs().map(|(place, _)| place).collect() }
    }

    /// The kinds that want this line, as bits.
    fn wanted(&self, line: &str) -> u64 {
        let Some(automaton) = &self.automaton else { return u64::MAX };
        automaton
            .find_overlapping_iter(line)
            .filter_map(|found| self.kinds.get(found.pattern().as_usize()))
            .fold(0, |bits, kind| bits | 1 << kind)
    }
}

static ALL: LazyLock<Marks> = LazyLock::new(|| Marks::of(KINDS, |kind| kind.marks));
static SIGNS: LazyLock<Marks> = LazyLock::new(|| Marks::of(KINDS, |kind| kind.signs));

impl Format for Text {
    fn name(&self) -> &'static str {
        "log"
    }

    fn about(&self) -> About {
        About {
            tool: "any program that prints",
            versions: "",
            sign: "any text (its lines decide, see the kinds of text)",
            reads: "everything that the kinds of text find. Other logs are kept with their run",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        if !head.is_text() || head.outline().is_some_and(is_json) {
            return false;
        }
        let named = |endings: &[&str]| endings.iter().any(|ending| head.name.ends_with(ending));
        // The words may come late in a log, so its name is enough. Other text must show them at once.
        (named(&[".log"]) && !not_analysed::is_kept_log(head))
            || head.text.split(['\n', '\r']).any(|line| SIGNS.wanted(line) != 0)
            || (named(PRINTED) && !not_analysed::NotAnalysed.sniff(head))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        parse_as(file, KINDS, &ALL)
    }
}

/// True for JSON, whatever its texts quote. A bracket alone opens a line of a log too: `[TRT-LLM] ...`, `[2026-06-07 11:57:43] ...`.
fn is_json(outline: &Outline<'_>) -> bool {
    match outline {
        Outline::Map(entries) => !entries.is_empty(),
        Outline::List(Some(first)) => is_json(first) || matches!(**first, Outline::Text(_)),
        _ => false,
    }
}

/// Reads a text as one kind, which the user of the program named.
///
/// # Errors
/// When reading stops.
pub(super) fn parse_kind(file: &mut SourceFile<'_>, kind: &TextKind) -> Result<Parsed, Error> {
    parse_as(file, &[kind], &Marks::of(&[kind], |kind| kind.marks))
}

fn parse_as(file: &mut SourceFile<'_>, kinds: &[&TextKind], marks: &Marks) -> Result<Parsed, Error> {
    let mut readers: Vec<Box<dyn LogReader>> = kinds.iter().map(|kind| (kind.start)()).collect();
    let mut first = String::new();
    let mut give = |number: u64, line: &str, mut wanted: u64| {
        for reader in &mut readers {
            if wanted & 1 == 1 {
                reader.line(number, line);
            }
            wanted >>= 1;
        }
    };
    let mut open: Option<Command> = None;
    let mut prose = Prose::default();
    let mut lines = file.lines(LINE_LIMIT);
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        let raw = String::from_utf8_lossy(line.bytes);
        let plain = if raw.contains('\u{1b}') { without_escapes(&raw).into() } else { raw };
        if first.is_empty() && !plain.trim().is_empty() {
            first = super::figure::excerpt(plain.trim());
        }
        prose.see(&plain);
        if open.as_mut().is_some_and(|command| command.take(&plain)) {
            continue;
        }
        if let Some(Command { number, text, .. }) = open.take() {
            give(number, &text, marks.wanted(&text));
        }
        let wanted = marks.wanted(&plain);
        // What a kind reads of a command is a mark of it.
        open = Some(&plain).filter(|_| wanted != 0).and_then(|plain| Command::begin(line.number, plain));
        if open.is_none() {
            give(line.number, &plain, wanted);
        }
    }
    if let Some(Command { number, text, .. }) = open {
        give(number, &text, marks.wanted(&text));
    }
    // Whoever names the kind knows what it is.
    file.is_prose = kinds.len() > 1 && prose.is(file.name());
    let mut all = Parsed::default();
    for (kind, reader) in kinds.iter().zip(readers) {
        let Some(found) = reader.finish(file) else { continue };
        all.kinds.push(kind.name);
        all.records.extend(found.records);
        all.left_out.extend(found.left_out);
        all.notes.extend(found.notes);
        all.not_understood.extend(found.not_understood);
        all.lists.extend(found.lists);
    }
    if all.kinds.is_empty()
        && let Some(word) = not_analysed::by_name(file.name())
    {
        // A table in it looked like a result of an unknown format.
        all.kinds.push(not_analysed::NotAnalysed.name());
        all.notes.push(word.to_owned());
    } else if all.kinds.is_empty() && file.is_prose {
        all.kinds.push(not_analysed::NotAnalysed.name());
        all.notes.push(PROSE.to_owned());
    } else if all.kinds.is_empty() {
        // It stays with the run that it is beside. Alone it is named with its first line.
        all.records.push(Record::Run(Box::new(PartialRun { join_role: JoinRole::Detail, ..PartialRun::default() })));
        if !first.is_empty() {
            all.not_understood.push(format!("it begins \"{first}\""));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_json_quotes_makes_it_no_log_and_a_bracket_in_front_does_not_make_a_log_json() {
        const QUOTE: &str =
            "I srv  load_model: x\\n0.00.462.405 E srv  llama_server: exiting due to model loading error";
        let sniff = |name: &str, text: &str| Text.sniff(&Head::new(name, text, text.len() as u64));
        for json in [
            format!("[\n {{\n  \"name\": \"m\", \"failures\": [{{\"error\": \"{QUOTE}\"}}]\n }}\n]\n"),
            format!("{{\"error\": \"{QUOTE}\"}}\n"),
            format!("[\"{QUOTE}\"]"),
        ] {
            assert!(!sniff("final_results.json", &json) && !sniff("run.log", &json), "{json}");
        }
        assert!(sniff("out", "[TRT-LLM] [I] Using LLM with PyTorch backend\n"));
        assert!(sniff("out", "[2026-06-07 11:57:43] server_args=ServerArgs(model_path='m')\n"));
    }

    #[test]
    fn a_row_for_each_process_is_no_log() {
        let pmon = "# gpu         pid   type     sm    command\n# Idx           #    C/G      %    name\n    0  12  C  98  x\n";
        assert!(!Text.sniff(&Head::new("pmon.log", pmon, 1)) && !Text.sniff(&Head::new("pmon.txt", pmon, 1)));
    }

    #[test]
    fn kinds_fit_into_the_bits_and_have_marks() {
        assert!(KINDS.len() <= 64);
        for kind in KINDS {
            assert!(
                !kind.marks.is_empty() && kind.marks.iter().all(|mark| !mark.is_empty()) && !kind.signs.is_empty(),
                "{}",
                kind.name
            );
        }
    }
}
