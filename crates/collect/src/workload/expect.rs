//! Expected results of a run, from a suite: report files with their parsers, further files, iterations, metrics.
//!
//! In:  settings.  Out: [`ReportSetting`]s, [`Expect`].
//! Not here: looking whether it is there (see `examine`).

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crate::env::Place;
use sparkbench_archive::manifest::ReportWire;
use sparkbench_ingest::reports;
use sparkbench_model::Metric;
use sparkbench_plan::Reader;

use super::outcome::WORK_FOLDER;

/// A report file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSetting {
    /// Path below the run's folder.
    pub path: String,
    /// Name of the parser.
    pub parser: String,
    /// For the parser `pattern`.
    pub patterns: BTreeMap<String, String>,
    /// Test that the whole file belongs to.
    pub test: Option<String>,
    /// Whether the run fails without it.
    pub required: bool,
}

impl ReportSetting {
    /// One that must be there, by its path below the run's own folder.
    pub fn inside(path: &str, parser: &str) -> Self {
        Self {
            path: format!("{WORK_FOLDER}/{path}"),
            parser: parser.to_owned(),
            patterns: BTreeMap::new(),
            test: None,
            required: true,
        }
    }

    /// The entry of `run.json`.
    pub fn wire(&self) -> ReportWire {
        ReportWire {
            path: self.path.clone(),
            parser: self.parser.clone(),
            patterns: self.patterns.clone(),
            test: self.test.clone(),
            failure: None,
        }
    }
}

/// Required parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expect {
    /// Files below the run's own folder.
    pub files: Vec<String>,
    /// Least number of measured iterations, of each test.
    pub iterations: Option<u64>,
    /// Metrics that a report must give.
    pub metrics: Vec<String>,
}

/// The remedy for a name that leads elsewhere.
const INSIDE: &str =
    "name a file below the run's own folder, like \"out/result.json\": no / in front or at the end, no . or .. between";

/// Takes the list of tables `reports`.
pub(crate) fn reports(settings: &mut Reader<'_>) -> Vec<ReportSetting> {
    let mut list: Vec<ReportSetting> = Vec::new();
    for table in settings.tables("reports") {
        if let Some(report) = report(settings.below(table)) {
            if list.iter().any(|other| other.path == report.path) {
                settings.fault("reports", format!("names \"{}\" twice", report.path), "one parser reads a file");
            }
            list.push(report);
        }
    }
    list
}

fn report(mut keys: Reader<'_>) -> Option<ReportSetting> {
    let path = keys.required_text("path", "name a file below the run's own folder, or \"stdout\" or \"stderr\"");
    let parser = keys.required_text("parser", &format!("one of: {}", reports::names()));
    let patterns = keys.text_table("patterns");
    let required = keys.switch("required").unwrap_or(true);
    if let Some(path) = &path
        && !is_inside(path)
    {
        keys.fault("path", format!("is \"{path}\""), INSIDE);
    }
    if let Some(name) = &parser {
        match reports::find(name) {
            None => keys.fault("parser", format!("is \"{name}\""), format!("one of: {}", reports::names())),
            Some(parser) => {
                if let Err((what, remedy)) = parser.accepts(&patterns) {
                    keys.fault(if patterns.is_empty() { "parser" } else { "patterns" }, what, remedy);
                }
            }
        }
    }
    keys.finish();
    let path = match path?.as_str() {
        "stdout" => Place::STDOUT.to_owned(),
        "stderr" => Place::STDERR.to_owned(),
        inside => format!("{WORK_FOLDER}/{inside}"),
    };
    Some(ReportSetting { path, parser: parser?, patterns, test: None, required })
}

/// Takes the table `expect`.
pub(crate) fn expect(settings: &mut Reader<'_>) -> Expect {
    let mut expect = Expect::default();
    if let Some(table) = settings.table("expect") {
        let mut keys = settings.below(table);
        expect.files = keys.texts("files");
        if let Some(name) = expect.files.iter().find(|name| !is_inside(name)) {
            let what = format!("holds \"{name}\"");
            keys.fault("files", what, INSIDE);
        }
        expect.iterations =
            keys.whole_within("iterations", 1, 1_000_000_000).and_then(|count| u64::try_from(count).ok());
        expect.metrics = keys.texts("metrics");
        let unknown: Vec<String> =
            expect.metrics.iter().filter(|name| Metric::of_catalogue(name).is_none()).cloned().collect();
        for name in unknown {
            let known: Vec<&str> = Metric::names().collect();
            keys.fault("metrics", format!("holds \"{name}\""), format!("known: {}", known.join(", ")));
        }
        keys.finish();
    }
    expect
}

/// True for a relative path that stays below its folder, written with `/` and without detours. Linux takes any other sign in a name, `\`
/// included.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains('\0')
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
        && !path.split('/').any(|part| part.is_empty() || part == ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_folder_are_told_from_those_that_stay() {
        for (path, inside) in [
            ("a", true),
            ("a/b.json", true),
            ("../a", false),
            ("/a", false),
            ("a/../b", false),
            ("", false),
            ("./a", false),
            ("a//b", false),
            ("a/", false),
            ("a\\b.json", true),
            ("..\\a", true),
            ("a\nb", true),
            ("a\0b", false),
        ] {
            assert_eq!(is_inside(path), inside, "{path}");
        }
    }
}
