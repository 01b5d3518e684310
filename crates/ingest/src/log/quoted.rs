//! Words that another file quotes are not a log: a program of its own code, a table with errors, notes on what a server said.
//!
//! In:  lines, and the name of their file.  Out: whether a phrase stands where a program prints it.
//! Not here: JSON, which is no text (see the module above).

use super::cut::place;
use crate::{SourceFile, not_analysed};

/// The text in front of each of these phrases that stands in the line and is not quoted.
pub(super) fn before<'l>(line: &'l str, phrases: &'static [&'static str]) -> impl Iterator<Item = &'l str> {
    phrases.iter().filter_map(move |phrase| line.get(..place(line, phrase)?)).filter(|before| is_free(before))
}

/// True when the line has one of these phrases, and does not quote it.
pub(super) fn is_printed(line: &str, phrases: &'static [&'static str]) -> bool {
    before(line, phrases).next().is_some()
}

/// True for prose, scripts and settings, which may quote a log and are none.
pub(super) fn quotes(file: &SourceFile<'_>) -> bool {
    file.is_prose || not_analysed::by_name(file.name()).is_some()
}

/// Endings of files that hold what a program printed, whatever people would call prose in them.
const PRINTED: &[&str] = &[".log", ".out", ".stdout", ".stderr"];
/// Sentences that a program prints in a log at most, as a share of its lines: one in so many.
const ONE_IN: usize = 5;
/// Lines that are looked at. Nobody writes longer notes above a log.
const LOOKED_AT: usize = 2_000;
/// Words of the shortest sentence. `Application startup complete` is none.
const WORDS: usize = 5;

/// Whether the lines of a text are those of a program or of a person who writes about it.
#[derive(Debug, Default)]
pub(super) struct Prose {
    lines: usize,
    sentences: usize,
}

impl Prose {
    pub(super) fn see(&mut self, line: &str) {
        if self.lines < LOOKED_AT && !line.trim().is_empty() {
            self.lines += 1;
            self.sentences += usize::from(is_sentence(line));
        }
    }

    /// True where a person wrote the text.
    pub(super) fn is(&self, name: &str) -> bool {
        let is_printed = PRINTED.iter().any(|ending| name.ends_with(ending));
        !is_printed && self.sentences >= 2 && self.sentences * ONE_IN >= self.lines
    }
}

/// True for words in a row, as no logger prints them: no level, time, module or field in front, and nearly all of letters.
fn is_sentence(line: &str) -> bool {
    let text = line.trim_start_matches(['#', '*', '-', '>']).trim_end();
    let text = if text.len() < line.trim_end().len() { text.trim_start() } else { text };
    if !text.starts_with(char::is_alphabetic) {
        return false;
    }
    // A level or a field in front, most often.
    let first = text.split_whitespace().next().unwrap_or_default();
    if first.ends_with(':') || (first.len() > 1 && first.chars().all(char::is_uppercase)) {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().take(64).collect();
    let bare = |word: &&str| {
        let letters = word
            .trim_matches(|letter: char| matches!(letter, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '\'' | '"'));
        !letters.is_empty() && letters.chars().all(|letter| letter.is_alphabetic() || matches!(letter, '\'' | '-'))
    };
    let plain = words.iter().filter(|word| bare(word)).count();
    let small = words.iter().filter(|word| word.starts_with(char::is_lowercase)).count();
    let is_trace =
        ["Traceback (", "During handling of", "The above exception"].iter().any(|start| text.starts_with(start));
    words.len() >= WORDS && plain * 10 >= words.len() * 7 && small * 2 >= words.len() && !is_trace
}

/// No quote is open behind this text, and no cell of a table begins. Launchers put words and signs in front of a line, and never these.
fn is_free(before: &str) -> bool {
    let is_open = |quote: char| !before.matches(quote).count().is_multiple_of(2);
    !is_open('"') && !is_open('`') && !before.ends_with([',', ';', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_counts_where_a_program_prints_it_and_not_where_a_line_quotes_it() {
        for (line, printed) in [
            ("llama_server: exiting", true),
            ("0.00.462.405 E srv  llama_server: exiting", true),
            ("bench-1  | \"quoted\" before: llama_server: exiting", true),
            ("  \"error\": \"Server died\\n0.00.462.405 E srv  llama_server: exiting\"", false),
            ("if line.startswith('llama_server: exiting'):", false),
            ("model-b,failed,llama_server: exiting", false),
            ("It ended with `llama_server: exiting` at once.", false),
        ] {
            assert_eq!(is_printed(line, &["llama_server:"]), printed, "{line}");
        }
        let quotes = |name: &str| {
            let mut nothing: &[u8] = &[];
            quotes(&SourceFile::new(name, 0, &mut nothing))
        };
        assert!(quotes("RESULTS.md") && quotes("read_log.py") && !quotes("server.log") && !quotes("console.txt"));
    }

    #[test]
    fn notes_are_told_from_what_a_program_printed_by_their_lines() {
        let is = |name: &str, text: &str| {
            let mut prose = Prose::default();
            text.lines().for_each(|line| prose.see(line));
            prose.is(name)
        };
        const QUOTE: &str = "INFO 03-01 10:01:38 [gpu_worker.py:276] Available KV cache memory: 18.08 GiB\n\
                             INFO 03-01 10:01:38 [kv_cache_utils.py:830] GPU KV cache size: 2,493,464 tokens\n";
        let notes = format!(
            "Notes of 1 March\n\nSingle stream with an fp8 cache, as before.\nAfter the change to two sequences the server said:\n\n{QUOTE}\n\
             So there is room for two of them.\n"
        );
        assert!(is("notes.txt", &notes) && !is("server.log", &notes));
        let boot = format!(
            "Starting the server for the benchmark of today\nINFO:     Application startup complete.\n{QUOTE}\
             Loading safetensors checkpoint shards: 100% Completed | 1/1\n\
             Traceback (most recent call last):\n  File \"x.py\", line 1, in run the whole thing\n\
             During handling of the above exception, another exception occurred:\n"
        );
        assert!(!is("boot.txt", &boot) && !is("boot.txt", QUOTE) && !is("boot.txt", ""));
    }
}
