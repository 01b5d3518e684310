//! Words that another file quotes are not a log: a program of its own code, a table with errors, notes on what a server said.
//!
//! In:  lines, and the name of their file.  Out: whether a phrase stands where a program prints it.
//! Not here: JSON, which is no text (see the module above).

use super::cut::place;
use crate::not_analysed;

/// The text in front of each of these phrases that stands in the line and is not quoted.
pub(super) fn before<'l>(line: &'l str, phrases: &'static [&'static str]) -> impl Iterator<Item = &'l str> {
    phrases.iter().filter_map(move |phrase| line.get(..place(line, phrase)?)).filter(|before| is_free(before))
}

/// True when the line has one of these phrases, and does not quote it.
pub(super) fn is_printed(line: &str, phrases: &'static [&'static str]) -> bool {
    before(line, phrases).next().is_some()
}

/// True for prose, scripts and settings, which may quote a log and are none.
pub(super) fn quotes(name: &str) -> bool {
    not_analysed::by_name(name).is_some()
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
        assert!(quotes("RESULTS.md") && quotes("read_log.py") && !quotes("server.log") && !quotes("console.txt"));
    }
}
