//! The plan as text: the same bytes each time.
//!
//! In:  a [`Plan`].  Out: JSON lines, and their SHA-256.
//! Not here: where they are kept.
//!
//! The first line says what the plan depends on, each further one is an entry. `text` is a mark of the prompt's text, which stands for
//! its words. With the nonce of a cold cache in front the words that are sent differ from load to load, and the plan does not.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::{Entry, Plan, PromptHead, PromptSpec};
use crate::order::Phase;

/// Entries written of a plan that has no end.
const FIRST: u64 = 10_000;

impl Plan {
    /// Writes the plan. Of one without an end the first ten thousand entries.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_jsonl(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_before(u64::MAX, out)
    }

    /// The same, without what comes due at `end` or later, nanoseconds from the start of the measured part.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_before(&self, end: u64, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{self}")?;
        let mut line = String::new();
        let due = |entry: &Entry| entry.at.is_none_or(|at| at < end);
        for entry in self.entries(0).take(self.size().unwrap_or(FIRST) as usize).take_while(due) {
            line.clear();
            self.write_entry(&entry, &mut line);
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    /// SHA-256 of that text, in hexadecimal.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        // A hash takes whatever it is given.
        let _ = self.write_jsonl(&mut hash);
        hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    fn write_entry(&self, entry: &Entry, line: &mut String) {
        let phase = match entry.phase {
            Phase::Probe => "probe",
            Phase::Prime => "prime",
            Phase::Warmup => "warmup",
            Phase::Measured => "measured",
        };
        let number = |value: Option<u64>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        // Writing to a String cannot fail.
        let _ = write!(
            line,
            r#"{{"index":{},"phase":"{phase}","at_ns":{},"isl":{},"osl":{}"#,
            entry.index,
            number(entry.at),
            number(entry.isl.map(u64::from)),
            entry.osl
        );
        let _ = match entry.prompt {
            PromptSpec::Made { head, own } => {
                let _ = write!(line, r#","text":"{:016x}""#, self.writer.mark(own));
                match head {
                    PromptHead::None => Ok(()),
                    PromptHead::Group(text, tokens) => {
                        let group = entry.prefix_group.unwrap_or(0);
                        write!(
                            line,
                            r#","group":{group},"head":"{:016x}","head_tokens":{tokens}"#,
                            self.writer.mark(text)
                        )
                    }
                    PromptHead::Blocks(of, _) => write!(line, r#","blocks_of":{of}"#),
                }
            }
            PromptSpec::Line(of, _) => write!(line, r#","line":{}"#, self.line(of).map_or(0, |given| given.number)),
        };
        line.push_str("}\n");
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described)
    }
}
