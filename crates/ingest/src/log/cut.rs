//! Cutting figures and settings out of one line of a log.
//!
//! In:  a line.  Out: the figure behind a phrase, the value behind a key.
//! Not here: their meaning.

use crate::figure::Figure;

/// Position at which a phrase begins. A line contains hardly any of the phrases. `contains` finds that out by vector instructions, while
/// `find` first prepares tables for the phrase. That took half the time of reading the log of a busy server.
pub(super) fn place(line: &str, phrase: &str) -> Option<usize> {
    if line.contains(phrase) { line.find(phrase) } else { None }
}

/// The text behind a phrase.
pub(super) fn after<'a>(line: &'a str, phrase: &str) -> Option<&'a str> {
    line.get(place(line, phrase)? + phrase.len()..)
}

/// The first word as a finite number: thousands separators, and a unit, a sign of percent or a stop behind the digits go.
pub(super) fn number(text: &str) -> Option<Figure> {
    let word = text.trim_start().split([' ', '\t', ')', ']', '}', ';', '/']).next()?;
    let digits = word
        .find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-' | '+' | 'e' | 'E'))
        .map_or(word, |end| word.get(..end).unwrap_or_default());
    let digits = digits.trim_end_matches(['.', ',', 'e', 'E', '-', '+']);
    if !digits.contains(',') {
        return Figure::parse(digits).filter(|figure| !digits.is_empty() && figure.value.is_finite());
    }
    // A comma parts thousands only in front of three digits. Any other ends the number.
    let (head, tail) = digits.split_once('.').map_or((digits, ""), |(head, tail)| (head, tail));
    let mut groups = head.split(',');
    let first = groups.next()?;
    let whole = (1..=3).contains(&first.trim_start_matches('-').len()) && groups.clone().all(|group| group.len() == 3);
    if !whole || tail.contains(',') {
        return Figure::parse(first).filter(|figure| !first.is_empty() && figure.value.is_finite());
    }
    Figure::parse(&digits.replace(',', "")).filter(|figure| figure.value.is_finite())
}

/// The figure behind a phrase.
pub(super) fn number_after(line: &str, phrase: &str) -> Option<Figure> {
    number(after(line, phrase)?)
}

/// The figure behind a phrase, as a plain value.
pub(super) fn value_after(line: &str, phrase: &str) -> Option<f64> {
    number_after(line, phrase).map(|figure| figure.value)
}

/// A figure followed by `GiB`, apart or stuck to it. One in any other unit is another kind of line.
pub(super) fn gib(text: &str) -> Option<Figure> {
    with_unit(text, "GiB")
}

/// A figure followed by this unit.
pub(super) fn with_unit(text: &str, unit: &str) -> Option<Figure> {
    let text = text.trim_start();
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-' | '+'))?;
    let rest = text.get(end..)?.trim_start().strip_prefix(unit)?;
    // `GB` is not the beginning of `GBit`.
    if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    number(text.get(..end)?)
}

/// The value of `key=` in a line of settings: up to the comma or blank that ends it, with brackets and quotes closed. Quotes around it go.
pub(super) fn setting<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = line;
    loop {
        let at = place(rest, key)?;
        let value = rest.get(at + key.len()..)?;
        let before = rest.get(..at)?.chars().next_back();
        if before.is_none_or(|c| matches!(c, ' ' | ',' | '(' | '{' | '\t' | '[')) {
            return Some(unquoted(closed(value))).filter(|value| !value.is_empty());
        }
        rest = value;
    }
}

/// A setting with a value. Python's `None` means no value.
pub(super) fn set<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    setting(line, key).filter(|value| *value != "None")
}

/// Up to the comma, blank or closing bracket outside of all brackets and quotes.
fn closed(text: &str) -> &str {
    let text = text.trim_start();
    let (mut depth, mut quote) = (0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => return text.get(..at).unwrap_or_default(),
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',' | ' ' | '\t') if depth == 0 => return text.get(..at).unwrap_or_default(),
            _ => {}
        }
    }
    text
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .unwrap_or_else(|| text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text))
}

/// The message of an error as Python prints it, `ValueError: no kernel`, with control characters gone and its length bounded.
pub(super) fn error_message(line: &str) -> Option<String> {
    const LONGEST: usize = 160;
    let at = place(line, "Error: ").or_else(|| line.strip_suffix("Error:").map(str::len))?;
    let start =
        line.get(..at)?.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).map_or(0, |at| at + 1);
    // A name of a class, not a word in a sentence.
    let text = line.get(start..)?;
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) || text.starts_with("Error:") {
        return None;
    }
    Some(text.trim_end().chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_logs_print_them() {
        for (text, value) in [
            ("1,399,712 tokens", 1_399_712.0),
            ("8,192", 8192.0),
            (" 27.81x", 27.81),
            ("0.0%, Prefix", 0.0),
            ("6827, K size: 0.09 GB", 6827.0),
            ("4,5 and more", 4.0),
            ("1.63E+14", 1.63e14),
            ("39.26.", 39.26),
            ("33/33 layers", 33.0),
            ("-4.74 GiB", -4.74),
        ] {
            assert_eq!(number(text).map(|figure| figure.value), Some(value), "{text}");
        }
        for text in ["", "None", "n/a", "soon 3", "inf"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn a_figure_in_another_unit_is_another_line() {
        assert_eq!(gib(" 54.89GiB.").map(|figure| figure.value), Some(54.89));
        assert_eq!(gib("0.66 GiB (actual)").map(|figure| figure.value), Some(0.66));
        assert_eq!((gib("1013.01 MiB"), gib("1.5 GB"), gib("1.5")), (None, None, None));
        assert_eq!(with_unit("1.5 GB,", "GB").map(|figure| figure.value), Some(1.5));
    }

    #[test]
    fn a_setting_ends_where_its_brackets_and_quotes_end() {
        let line = "config: model='a b, c', speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=3), max_seq_len=8192, x_model=1 y=2)";
        assert_eq!(setting(line, "model="), Some("a b, c"));
        assert_eq!(setting(line, "speculative_config="), Some("SpeculativeConfig(method='mtp', num_spec_tokens=3)"));
        assert_eq!(
            (setting(line, "max_seq_len="), setting(line, "y="), setting(line, "z=")),
            (Some("8192"), Some("2"), None)
        );
        assert_eq!(setting("'gpu': {'a': 1}, 'b': 'x'", "'b':"), Some("x"));
    }

    #[test]
    fn errors_are_told_from_words() {
        assert_eq!(
            error_message("(E pid=1) ERROR [c.py:1] ValueError: no kernel").as_deref(),
            Some("ValueError: no kernel")
        );
        assert_eq!(
            error_message("torch.OutOfMemoryError: CUDA out").as_deref(),
            Some("torch.OutOfMemoryError: CUDA out")
        );
        assert_eq!((error_message("Error: x"), error_message("fine")), (None, None));
    }
}
