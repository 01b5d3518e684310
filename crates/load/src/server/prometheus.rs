//! Prometheus' text format, as in `/metrics` of a server.
//!
//! In:  text.  Out: [`Snapshot`]: every sample with its name, labels and value.
//! Not here: which name means what (see `counters`), asking for it (see `scrape`).
//!
//! A line that does not fit is counted and skipped: one odd metric must not hide the others. `NaN` and infinities are values.
//! Source: Prometheus, "Exposition formats", text format 0.0.4. OpenMetrics' `# EOF` and exemplars are skipped.

use std::collections::BTreeMap;

/// Most samples that are kept. The largest snapshot seen (vLLM with 8 engines) has 6,000.
pub(crate) const SAMPLES_MAX: usize = 200_000;

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name with its suffix, e.g. `vllm:prompt_tokens_total`.
    pub name: String,
    /// Labels as they come, escapes resolved.
    pub labels: Vec<(String, String)>,
    pub value: f64,
    /// Milliseconds since 1970, where given.
    pub timestamp_ms: Option<i64>,
}

impl Sample {
    /// Value of a label.
    #[cfg(test)]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Everything that one answer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// In the order of the text.
    pub samples: Vec<Sample>,
    /// `# TYPE` of each family: `counter`, `gauge`, `histogram`, `summary`, `untyped`.
    pub kinds: BTreeMap<String, String>,
    /// Lines that did not fit, and samples beyond [`SAMPLES_MAX`].
    pub passed_over: u64,
}

impl Snapshot {
    /// Samples of a name.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }

    /// Sum over all label sets. Nothing where the name does not occur or has no finite value.
    pub fn sum(&self, name: &str) -> Option<f64> {
        let mut finite = self.of(name).map(|sample| sample.value).filter(|value| value.is_finite()).peekable();
        finite.peek()?;
        Some(finite.sum())
    }
}

/// Reads a text. Whatever comes, this ends and never fails. See [`Snapshot::passed_over`].
pub(crate) fn parse(text: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_whitespace();
            if let (Some("TYPE"), Some(name), Some(kind)) = (words.next(), words.next(), words.next())
                && snapshot.kinds.len() < SAMPLES_MAX
            {
                snapshot.kinds.insert(name.to_owned(), kind.to_owned());
            }
            continue;
        }
        match sample(line) {
            Some(sample) if snapshot.samples.len() < SAMPLES_MAX => snapshot.samples.push(sample),
            _ => snapshot.passed_over += 1,
        }
    }
    snapshot
}

/// One line: `name{label="value",...} value [timestamp] [# exemplar]`.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    if name.is_empty() || !name.chars().all(named) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let rest = rest.split(" # ").next().unwrap_or(rest);
    let mut words = rest.split_whitespace();
    let value = number(words.next()?)?;
    let timestamp_ms = match words.next() {
        // OpenMetrics writes seconds with a fraction.
        Some(word) => Some(word.parse().ok().or_else(|| Some((word.parse::<f64>().ok()? * 1000.0) as i64))?),
        None => None,
    };
    words.next().is_none().then(|| Sample { name: name.to_owned(), labels, value, timestamp_ms })
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = quoted(after.trim_start().strip_prefix('"')?)?;
        labels.push((name.trim().to_owned(), value));
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// A value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                // A backslash, a quote. Anything else stays as it is.
                other => {
                    if other != '\\' && other != '"' {
                        value.push('\\');
                    }
                    value.push(other);
                }
            },
            other => value.push(other),
        }
    }
    None
}

/// As Go writes numbers.
fn number(word: &str) -> Option<f64> {
    match word {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        // Rust reads "infinity" and "nan" in any case as well. This format does not.
        word if word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => word.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Sample {
        let snapshot = parse(text);
        assert_eq!((snapshot.samples.len(), snapshot.passed_over), (1, 0), "{text}");
        snapshot.samples[0].clone()
    }

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
            assert_eq!(only(&format!("a {word}")).value, value, "{word}");
        }
        assert!(only("a NaN").value.is_nan());
        for wrong in [
            "a",
            "a ",
            "a x",
            "a 1 2 3",
            "a infinity",
            "a{b=\"c} 1",
            "a{b=c} 1",
            "1a 1",
            "a-b 1",
            "{} 1",
            "a{b=\"c\" 1",
        ] {
            let snapshot = parse(wrong);
            assert_eq!((snapshot.samples.len(), snapshot.passed_over), (0, 1), "{wrong}");
        }
    }

    #[test]
    fn labels_keep_braces_commas_and_escapes_of_their_values() {
        let sample = only(r#"http_requests{ path = "a\\b\"c\nd{e},f=g" , method="post",} 1027 1395066363000"#);
        assert_eq!(sample.label("path"), Some("a\\b\"c\nd{e},f=g"));
        assert_eq!(sample.label("method"), Some("post"));
        assert_eq!(sample.timestamp_ms, Some(1_395_066_363_000));
        assert_eq!(only("a{} 1").labels, []);
        assert_eq!(only("a{b=\"ü{}\"} 1").label("b"), Some("ü{}"));
    }

    #[test]
    fn comments_types_exemplars_and_foreign_lines_do_no_harm() {
        let text = "# HELP a Of a.\r\n# TYPE a counter\r\na_total{x=\"1\"} 2\r\na_total{x=\"2\"} 3\r\n\r\n# EOF\n\
                    b_bucket{le=\"0.1\"} 8 # {trace=\"x\"} 0.05 1.0\nnot a metric line at all\nc 1 1395066363.5\n";
        let snapshot = parse(text);
        assert_eq!(snapshot.sum("a_total"), Some(5.0));
        assert_eq!(snapshot.kinds["a"], "counter");
        assert_eq!(snapshot.of("b_bucket").next().unwrap().value, 8.0);
        assert_eq!(snapshot.of("c").next().unwrap().timestamp_ms, Some(1_395_066_363_500));
        assert_eq!(snapshot.passed_over, 1);
        assert_eq!(snapshot.sum("absent"), None);
        assert_eq!(parse("a NaN\na 2\n").sum("a"), Some(2.0));
        assert_eq!(parse("a NaN\n").sum("a"), None);
        assert_eq!(parse("<html>\n<body>no metrics</body>").samples, []);
        assert_eq!(parse("[{\"iter\": 1}]").samples, []);
    }

    #[test]
    fn damage_anywhere_in_a_text_never_stops_the_reading() {
        let text = "a{b=\"c\\\"d\",e=\"é\"} 1.5 12\n# TYPE a gauge\n";
        for at in 0..text.len() {
            for byte in [b'"', b'\\', b'{', b'}', b'\n', 0, 255] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                parse(&String::from_utf8_lossy(&bytes));
                bytes.truncate(at);
                parse(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}
