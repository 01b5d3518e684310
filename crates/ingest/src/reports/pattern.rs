//! Regular expressions that a suite gives for the output of a program which prints figures in its own words.
//!
//! In:  text, line by line, and a table from metric to expression.  Out: one partial run with what the groups caught.
//! Not here: expressions of ours.
//!
//! The table is in `run.json`, so the figures can be taken again from the archive alone. Each expression has one group and is
//! tried on each line. Of several matches the last counts. A key `seen.model_id` and the like catches a setting instead of a figure.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::parser::Parser;
use crate::figure::{Figure, excerpt, thousands};
use crate::source_file::each_log_line;
use crate::{JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_model::{Metric, Setup};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct Pattern;

const RULE: &str = "pattern";

/// Largest compiled expression: far above any that a person writes, far below what would slow reading.
const SIZE_LIMIT: usize = 1 << 20;

/// Settings that a pattern may catch.
const TEXTS: &[&str] = &["model_id", "machine", "engine", "engine_version", "quantisation"];
/// Likewise, as numbers.
const NUMBERS: &[&str] = &["batch", "isl", "osl", "requests"];

impl Parser for Pattern {
    fn name(&self) -> &'static str {
        "pattern"
    }

    fn accepts(&self, patterns: &BTreeMap<String, String>) -> Result<(), (String, String)> {
        if patterns.is_empty() {
            return Err((
                "has no patterns".to_owned(),
                "give patterns = { METRIC = 'words (\\d+\\.\\d+)' }".to_owned(),
            ));
        }
        patterns.iter().try_for_each(|(key, text)| compile(key, text).map(|_| ()))
    }

    fn parse(&self, file: &mut SourceFile<'_>, report: &ReportWire) -> Result<Parsed, Error> {
        let mut rules = Vec::new();
        for (key, text) in &report.patterns {
            let regex = compile(key, text).map_err(|(what, remedy)| {
                Error::archive(what).at(Place::Field(format!("/reports/patterns/{key}"))).hint(remedy)
            })?;
            rules.push((key.as_str(), regex, None::<(String, u64, u32)>));
        }
        each_log_line(file, |number, line| {
            for (_, regex, caught) in &mut rules {
                if let Some(group) = regex.captures(line).and_then(|captures| captures.get(1)) {
                    let times = caught.as_ref().map_or(1, |(_, _, times)| times + 1);
                    *caught = Some((group.as_str().trim().to_owned(), number, times));
                }
            }
        })?;
        let mut parsed = Parsed::default();
        let mut partial = PartialRun { join_role: JoinRole::Trace, ..PartialRun::default() };
        for (key, _, caught) in rules {
            let Some((text, line, times)) = caught else {
                parsed.notes.push(format!("the pattern of {key} fits no line"));
                continue;
            };
            if times > 1 {
                parsed.notes.push(format!("the pattern of {key} fits {times} lines. The last one is read"));
            }
            if let Some(field) = key.strip_prefix("seen.").filter(|field| TEXTS.contains(field)) {
                set_text(&mut partial.setup, field, text);
                continue;
            }
            // Many logs have thousands separators. A comma that parts decimals does not fit here and is named below.
            let digits = if thousands(&text) { text.replace(',', "") } else { text.clone() };
            let Some(figure) = Figure::parse(&digits) else {
                let found = excerpt(&text);
                let error = Error::archive(format!("the pattern of {key} caught no number"))
                    .at(Place::Line(line))
                    .detail(format!("found \"{found}\""));
                parsed.left_out.push(error);
                continue;
            };
            match key.strip_prefix("seen.") {
                Some(field) => set_number(&mut partial.setup, field, figure.value),
                None => {
                    let origin = file.origin(Some(line), None, RULE);
                    partial.readings.push(figure.reading(key, origin));
                }
            }
        }
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

fn set_text(setup: &mut Setup, field: &str, text: String) {
    let place = match field {
        "model_id" => &mut setup.model_served,
        "machine" => &mut setup.machine,
        "engine" => &mut setup.engine,
        "engine_version" => &mut setup.engine_version,
        _ => &mut setup.quantisation,
    };
    *place = Some(text).filter(|text| !text.is_empty());
}

fn set_number(setup: &mut Setup, field: &str, value: f64) {
    let place = match field {
        "batch" => &mut setup.batch,
        "isl" => &mut setup.isl,
        "osl" => &mut setup.osl,
        _ => &mut setup.requests,
    };
    *place = Some(value).filter(|value| value.is_finite());
}

fn compile(key: &str, text: &str) -> Result<Regex, (String, String)> {
    let setting = key.strip_prefix("seen.").is_some_and(|field| TEXTS.contains(&field) || NUMBERS.contains(&field));
    if !setting && Metric::of_catalogue(key).is_none() {
        return Err((
            format!("\"{}\" is neither a metric nor a setting", excerpt(key)),
            format!(
                "metrics are those of the method page. Settings are seen.{}",
                [TEXTS, NUMBERS].concat().join(", seen.")
            ),
        ));
    }
    let regex = RegexBuilder::new(text).size_limit(SIZE_LIMIT).build().map_err(|cause| {
        let words = cause.to_string();
        let last = words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        (
            format!("the pattern of {key} is not a regular expression: {last}"),
            "correct it. A backslash stands as it is in '...'".to_owned(),
        )
    })?;
    match regex.captures_len() {
        2 => Ok(regex),
        groups => Err((
            format!("the pattern of {key} has {} groups", groups - 1),
            "put one pair of parentheses around the figure, and write the others (?:...)".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_needs_a_metric_and_one_group() {
        let wrong = |key: &str, text: &str| compile(key, text).unwrap_err().0;
        assert!(wrong("speed", "(x)").contains("neither a metric nor a setting"));
        assert!(wrong("ttft_ms", "x").contains("has 0 groups"));
        assert!(wrong("ttft_ms", "(a)(b)").contains("has 2 groups"));
        assert!(wrong("ttft_ms", "(").contains("not a regular expression"));
        assert!(compile("seen.model_id", "model (?:is|was) (\\S+)").is_ok());
    }

    #[test]
    fn thousands_are_told_from_decimals() {
        for (text, yes) in [("1,234", true), ("1,234,567.8", true), ("1,23", false), ("12", false), ("1234,567", false)]
        {
            assert_eq!(thousands(text), yes, "{text}");
        }
    }
}
