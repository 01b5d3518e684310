//! Prometheus' text format, as in `/metrics` of a server.
//!
//! In:  a line.  Out: [`Sample`]: name, labels and value.
//! Not here: comments, and which name means what.
//!
//! `NaN` and infinities are values. Time stamps and the exemplars of OpenMetrics are passed over.
//! Source: Prometheus, "Exposition formats", text format 0.0.4.

use std::borrow::Cow;

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// Name with its suffix, e.g. `vllm:prompt_tokens_total`.
    pub name: &'a str,
    /// What stands in the braces.
    pub labels: Labels<'a>,
    /// The value.
    pub value: f64,
}

/// Labels as they were written, without the braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels<'a>(pub &'a str);

impl<'a> Labels<'a> {
    /// Names and values in their order, escapes resolved.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (name, value, after) = label(rest)?;
            rest = after;
            Some((name, value))
        })
    }

    /// The value of a label.
    pub fn get(self, name: &str) -> Option<Cow<'a, str>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// One line: `name{label="value",...} value [timestamp] [# exemplar]`. Nothing when the line is no sample.
pub fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')))?;
    let (name, rest) = line.split_at(end);
    // A word before a colon and a blank begins a line of a log.
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || name.ends_with(':') {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => braced(inside)?,
        None if rest.starts_with(char::is_whitespace) => (Labels(""), rest),
        None => return None,
    };
    let mut words = rest.split_whitespace();
    let value = number(words.next()?)?;
    let mut next = words.next();
    if next.is_some_and(|word| word.parse::<f64>().is_ok()) {
        next = words.next();
    }
    next.is_none_or(|word| word == "#").then_some(Sample { name, labels, value })
}

/// Labels up to the closing brace, and what follows it.
fn braced(inside: &str) -> Option<(Labels<'_>, &str)> {
    let mut rest = inside.trim_start();
    while !rest.starts_with('}') {
        rest = label(rest)?.2;
    }
    Some((Labels(inside.get(..inside.len() - rest.len())?), rest.get(1..)?))
}

/// The first label: its name, its value, and what follows it.
fn label(text: &str) -> Option<(&str, Cow<'_, str>, &str)> {
    let (name, after) = text.split_once('=')?;
    let (value, after) = quoted(after.trim_start().strip_prefix('"')?)?;
    let after = after.trim_start();
    Some((name.trim(), value, after.strip_prefix(',').unwrap_or(after).trim_start()))
}

/// A value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(rest.find(['"', '\\'])?);
        if let Some(after) = special.strip_prefix('"') {
            if value.is_empty() {
                return Some((Cow::Borrowed(plain), after));
            }
            value.push_str(plain);
            return Some((Cow::Owned(value), after));
        }
        value.push_str(plain);
        let mut letters = special.chars();
        letters.next();
        match letters.next()? {
            'n' => value.push('\n'),
            letter @ ('\\' | '"') => value.push(letter),
            // Anything else stays as it is.
            letter => value.extend(['\\', letter]),
        }
        rest = letters.as_str();
    }
}

/// As Go reads numbers. Programs in C print `nan` and `-nan`.
fn number(word: &str) -> Option<f64> {
    let (negative, plain) = match word.strip_prefix('-') {
        Some(plain) => (true, plain),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let value = match plain {
        _ if plain.eq_ignore_ascii_case("inf") => f64::INFINITY,
        _ if plain.eq_ignore_ascii_case("nan") => f64::NAN,
        _ if plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            plain.parse().ok().filter(|value: &f64| value.is_finite())?
        }
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_format_writes_them() {
        for (word, value) in [
            ("0", 0.0),
            ("1.45e+06", 1.45e6),
            ("+Inf", f64::INFINITY),
            ("-Inf", f64::NEG_INFINITY),
            ("3.0", 3.0),
            (".5", 0.5),
            ("-2.5E-3", -0.0025),
            ("1.7917e+09", 1.7917e9),
        ] {
            assert_eq!(sample(&format!("a {word}")).unwrap().value, value, "{word}");
        }
        for word in ["NaN", "nan", "-nan"] {
            assert!(sample(&format!("a {word}")).unwrap().value.is_nan(), "{word}");
        }
    }

    #[test]
    fn a_sample_is_told_from_other_lines() {
        for wrong in [
            "a",
            "a ",
            "a b",
            "a x",
            "a 1 2 3",
            "a 1 b",
            "a infinity",
            "a -",
            "a{b=\"c} 1",
            "a{b=c} 1",
            "1 2",
            "1a 1",
            "a-b 1",
            "a: 1",
            "{} 1",
            "a{b=\"c\" 1",
            "INFO 05-04 x",
            "not a metric line at all",
            "<html>",
            "[{\"iter\": 1}]",
        ] {
            assert_eq!(sample(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn labels_keep_braces_commas_and_escapes_of_their_values() {
        let text = r#"http_requests{ path = "a\\b\"c\nd{e},f=g" , method="post",} 1027 1395066363000"#;
        let found = sample(text).unwrap();
        assert_eq!((found.name, found.value), ("http_requests", 1027.0));
        assert_eq!(found.labels.get("path").as_deref(), Some("a\\b\"c\nd{e},f=g"));
        assert_eq!(found.labels.get("method").as_deref(), Some("post"));
        assert_eq!((found.labels.get("absent"), found.labels.iter().count()), (None, 2));
        let found = sample("a_b{c=\"}\\\"\"} NaN").unwrap();
        assert_eq!((found.name, found.labels.0), ("a_b", "c=\"}\\\"\""));
        assert_eq!(sample("a{} 1").unwrap().labels.iter().count(), 0);
        assert_eq!(sample("a{b=\"ü{}\"} 1").unwrap().labels.get("b").as_deref(), Some("ü{}"));
    }

    #[test]
    fn time_stamps_and_exemplars_do_no_harm() {
        for line in ["a 8", "a 8 1395066363000", "a 8 1395066363.5", "a 8 # {trace=\"x\"} 0.05 1.0", "a 8 5 # {} 1"] {
            assert_eq!(sample(line).map(|found| found.value), Some(8.0), "{line}");
        }
        assert_eq!(sample("b_bucket{le=\" # 1\"} 8 # {trace=\"x\"} 0.05 1.0").unwrap().value, 8.0);
    }

    #[test]
    fn damage_anywhere_in_a_line_never_stops_the_reading() {
        let text = "a{b=\"c\\\"d\",e=\"é\"} 1.5 12";
        for at in 0..text.len() {
            for byte in [b'"', b'\\', b'{', b'}', 0, 255] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                sample(&String::from_utf8_lossy(&bytes));
                bytes.truncate(at);
                sample(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}
