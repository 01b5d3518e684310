//! Metrics of a server at one moment.
//!
//! In:  text in Prometheus' format.  Out: [`Snapshot`]: every sample with its name and value.
//! Not here: which name means what (see `counters`), asking for it (see `scrape`), the format (see `text::prometheus`).
//!
//! A line that does not fit is skipped: one odd metric must not hide the others.

use sparkbench_text::prometheus::sample;

/// Most samples that are kept. The largest snapshot seen (vLLM with 8 engines) has 6,000.
const SAMPLES_MAX: usize = 200_000;

/// Everything that one answer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Names with their suffix, e.g. `vllm:prompt_tokens_total`, and values, in the order of the text.
    pub samples: Vec<(String, f64)>,
}

impl Snapshot {
    /// Values of a name, one for each set of labels.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = f64> + 'a {
        self.samples.iter().filter(move |(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Sum over all label sets. Nothing where the name does not occur or has no finite value.
    pub fn sum(&self, name: &str) -> Option<f64> {
        let mut finite = self.of(name).filter(|value| value.is_finite()).peekable();
        finite.peek()?;
        Some(finite.sum())
    }
}

/// Reads a text. Whatever comes, this ends and never fails.
pub(crate) fn parse(text: &str) -> Snapshot {
    let samples = text.lines().filter_map(|line| sample(line.trim())).take(SAMPLES_MAX);
    Snapshot { samples: samples.map(|sample| (sample.name.to_owned(), sample.value)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_exemplars_and_foreign_lines_do_no_harm() {
        let text = "# HELP a Of a.\r\n# TYPE a counter\r\na_total{x=\"1\"} 2\r\na_total{x=\"2\"} 3\r\n\r\n# EOF\n\
                    b_bucket{le=\"0.1\"} 8 # {trace=\"x\"} 0.05 1.0\nnot a metric line at all\nc 1 1395066363.5\n";
        let snapshot = parse(text);
        assert_eq!(snapshot.sum("a_total"), Some(5.0));
        assert_eq!((snapshot.of("b_bucket").next(), snapshot.of("c").next()), (Some(8.0), Some(1.0)));
        assert_eq!(snapshot.samples.len(), 4);
        assert_eq!(snapshot.sum("absent"), None);
        assert_eq!(parse("a NaN\na 2\n").sum("a"), Some(2.0));
        assert_eq!(parse("a NaN\n").sum("a"), None);
        assert_eq!(parse("<html>\n<body>no metrics</body>").samples, []);
        assert_eq!(parse("[{\"iter\": 1}]").samples, []);
    }
}
