//! One line of a snapshot of metrics.
//!
//! In:  a line.  Out: name, labels, value.
//! Not here: what a family means.

use crate::figure::Figure;

/// Labels that part one family into figures of different meaning.
const TELLING: &[&str] = &[
    "finished_reason",
    "reason",
    "position",
    "quantile",
    "status",
    "code",
    "method",
    "handler",
    "type",
    "mode",
    "cache",
    "gpu",
    "generation",
    "le",
];
/// Labels of the parts of a parallel engine: the first part is not named.
const PARTS: &[&str] = &["engine", "tp_rank", "pp_rank", "dp_rank", "rank"];

/// One line of a snapshot.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    pub name: &'a str,
    pub labels: &'a str,
    pub value: f64,
}

/// `name{labels} value [time]`. Nothing when the line is no sample.
pub(crate) fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).filter(|end| *end > 0)?;
    let name = line.get(..end)?;
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.ends_with(':') {
        return None;
    }
    let rest = line.get(end..)?;
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => {
            let end = closing(inside)?;
            (inside.get(..end)?, inside.get(end + 1..)?)
        }
        None => ("", rest),
    };
    // A value is separate from its name.
    if labels.is_empty() && !rest.starts_with([' ', '\t', '}']) && !rest.is_empty() {
        return None;
    }
    let mut words = rest.split_whitespace();
    let figure = Figure::parse(words.next()?)?;
    let timed = words.next().is_none_or(|word| word == "#" || word.parse::<f64>().is_ok());
    timed.then_some(Sample { name, labels, value: figure.value })
}

/// Where the labels end: the first brace outside of quotes.
fn closing(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// The labels, one after the other.
fn each_label(labels: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = labels;
    std::iter::from_fn(move || {
        let (name, after) = rest.split_once("=\"")?;
        let mut escaped = false;
        let end = after.char_indices().find_map(|(at, c)| match c {
            _ if escaped => {
                escaped = false;
                None
            }
            '\\' => {
                escaped = true;
                None
            }
            '"' => Some(at),
            _ => None,
        })?;
        rest = after.get(end + 1..).unwrap_or_default();
        Some((name.trim_matches([',', ' ']), after.get(..end).unwrap_or_default()))
    })
}

pub(crate) fn label(labels: &str, name: &str) -> Option<String> {
    each_label(labels).find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// Labels that stay in the name of a figure.
pub(crate) fn folded(labels: &str) -> String {
    const LONGEST: usize = 60;
    let mut words = String::new();
    for (name, value) in each_label(labels) {
        let part = PARTS.contains(&name) && value != "0" && !value.is_empty();
        if part || TELLING.contains(&name) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
            words.push_str(&format!(" {name}={value}"));
        }
    }
    words
}
