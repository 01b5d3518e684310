//! An error as one line, for a list of files.
//!
//! In:  an error.  Out: text without line ends.
//! Not here: an error that ends the program, which has a line for each part.

use sparkbench_text::error::Error;

/// An error as one line: what, where, cause, what to do. Control characters are gone.
pub fn one_line(error: &Error) -> String {
    let clean = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line = clean(&error.what);
    if let Some(place) = &error.place {
        line.push_str(&format!(", {}", clean(&place.to_string())));
    }
    if let Some(detail) = &error.detail {
        line.push_str(&format!(": {}", clean(detail)));
    }
    if let Some(cause) = std::error::Error::source(error) {
        line.push_str(&format!(" ({})", clean(&cause.to_string())));
    }
    if let Some(hint) = &error.hint {
        line.push_str(&format!(". Try: {}", clean(hint)));
    }
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
