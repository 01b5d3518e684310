//! `name=value` and `name: value unit`, as programs print figures that they want read.
//!
//! In:  text, line by line.  Out: one partial run with the figures whose names are metrics.
//! Not here: names of others (see `pattern`).
//!
//! Of a metric that is printed again the last figure counts. A unit behind the figure must be that of the metric.

use super::parser::Parser;
use crate::figure::{Figure, excerpt};
use crate::source_file::each_log_line;
use crate::{JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_model::Metric;
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct Lines;

const RULE: &str = "lines";

/// Words that are units. One of them behind a figure must be the metric's own.
const UNITS: &[&str] = &[
    "tok/s", "req/s", "ms", "s", "us", "ns", "min", "GiB", "MiB", "KiB", "GB", "MB", "KB", "B", "tokens", "%", "W",
    "kW", "J/token", "J", "C", "°C", "MHz", "GHz", "TFLOP/s", "GFLOP/s", "TFLOPS", "GFLOPS", "GB/s", "GiB/s", "MB/s",
    "TB/s", "USD",
];

impl Parser for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut found: Vec<(String, Figure, u64, u32)> = Vec::new();
        each_log_line(file, |number, line| {
            for result in figures(line) {
                match result {
                    Ok((metric, figure)) => match found.iter_mut().find(|(name, ..)| *name == metric) {
                        Some(entry) => (entry.1, entry.2, entry.3) = (figure, number, entry.3 + 1),
                        None => found.push((metric, figure, number, 1)),
                    },
                    Err(error) => parsed.left_out.push(error.at(Place::Line(number))),
                }
            }
        })?;
        if found.is_empty() && parsed.left_out.is_empty() {
            return Err(Error::archive("no line has the form METRIC=NUMBER or METRIC: NUMBER")
                .hint("print the names of the method page, or use the parser \"pattern\""));
        }
        let mut partial = PartialRun { join_role: JoinRole::Trace, ..PartialRun::default() };
        for (metric, figure, line, times) in found {
            if times > 1 {
                parsed.notes.push(format!("{metric} is printed {times} times. The last one is read"));
            }
            let origin = file.origin(Some(line), None, RULE);
            partial.readings.push(figure.reading(metric, origin));
        }
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// Every figure of a line whose name is a metric.
fn figures(line: &str) -> Vec<Result<(String, Figure), Error>> {
    // Blanks around the sign do not matter: the line is cut at blanks and commas, and the sign stands for itself.
    let spaced = line.replace('=', " = ").replace(": ", " : ");
    let words: Vec<&str> = spaced.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).collect();
    let mut results = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let name = word.trim_matches(['"', '\'', '`']);
        if Metric::of_catalogue(name).is_none() || !matches!(words.get(at + 1), Some(&("=" | ":"))) {
            continue;
        }
        let value = words.get(at + 2).copied().unwrap_or_default();
        results.push(figure(name, value, words.get(at + 3).copied()));
    }
    results
}

fn figure(name: &str, value: &str, next: Option<&str>) -> Result<(String, Figure), Error> {
    let unit = Metric::of_catalogue(name).map_or("", |metric| metric.unit);
    let digits = value.strip_suffix(unit).filter(|rest| !rest.is_empty()).unwrap_or(value);
    let Some(figure) = Figure::parse(digits).filter(|_| !digits.is_empty()) else {
        return Err(Error::archive(format!("{name} has no number"))
            .detail(format!("expected a number in {unit}, found \"{}\"", excerpt(value))));
    };
    match next.filter(|next| UNITS.contains(next)) {
        Some(found) if found != unit => Err(Error::archive(format!("{name} has another unit"))
            .detail(format!("expected \"{unit}\", found \"{}\"", excerpt(found)))),
        _ => Ok((name.to_owned(), figure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_however_the_sign_is_set() {
        for (line, expected) in [
            ("gemm_tflops=91.60", Some(91.6)),
            ("[12:00:01] result: gemm_tflops = 91.6, power_w=80", Some(91.6)),
            ("gemm_tflops: 91.6 TFLOP/s", Some(91.6)),
            ("gemm_tflops: 91.6TFLOP/s", Some(91.6)),
            ("\"gemm_tflops\": 91.6,", Some(91.6)),
            ("gemm_tflops is 91.6", None),
            ("my_gemm_tflops=3", None),
        ] {
            let got = figures(line).into_iter().next().map(|result| result.unwrap().1.value);
            assert_eq!(got, expected, "{line}");
        }
    }

    #[test]
    fn another_unit_and_words_for_numbers_are_named() {
        let wrong = |line: &str| figures(line).into_iter().next().unwrap().unwrap_err().to_string();
        assert!(wrong("ttft_ms: 0.5 s").contains("expected \"ms\", found \"s\""));
        assert!(wrong("ttft_ms=fast").contains("found \"fast\""));
        assert!(wrong("ttft_ms=").contains("expected a number"));
    }
}
