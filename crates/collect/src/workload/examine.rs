//! Examines the files of a run: are they there, readable and as requested, and are there outliers among the iterations?
//!
//! In:  the folder of a run, the expectations, the request.  Out: [`Outcome`].
//! Not here: taking figures out of files (see `ingest::reports`), whether a figure is good.
//!
//! Figures stay in their files: what is read here is checked and let go.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::path::Path;

use super::expect::{Expect, ReportSetting};
use super::outcome::{Outcome, WORK_FOLDER};
use sparkbench_archive::disk;
use sparkbench_archive::manifest::{CheckWire, SeenWire};
use sparkbench_ingest::reports::{self, ReportPart, RunReport};
use sparkbench_model::Metric;
use sparkbench_stats::{self as stats, outlier};

/// Fewest iterations among which some can be called far off.
const OUTLIERS_FROM: usize = 5;
/// Words on parts that could not be used, of one report.
const SHOWN: usize = 3;
/// Numbers of two reports that differ by less than this share are one number.
const SAME_SHARE: f64 = 1e-3;
/// Fields of [`SeenWire`] that are texts: name, how to take one.
type Text = (&'static str, fn(&SeenWire) -> Option<&String>);
/// Likewise numbers.
type Number = (&'static str, fn(&SeenWire) -> Option<f64>);

const TEXTS: &[Text] = &[
    ("model_id", |seen| seen.model_id.as_ref()),
    ("machine", |seen| seen.machine.as_ref()),
    ("engine", |seen| seen.engine.as_ref()),
    ("engine_version", |seen| seen.engine_version.as_ref()),
    ("quantisation", |seen| seen.quantisation.as_ref()),
];
const NUMBERS: &[Number] = &[
    ("batch", |seen| seen.batch),
    ("isl", |seen| seen.isl),
    ("osl", |seen| seen.osl),
    ("requests", |seen| seen.requests),
    ("parameters", |seen| seen.parameters),
    ("device_memory_gib", |seen| seen.device_memory_gib),
    ("model_memory_gib", |seen| seen.model_memory_gib),
];

/// A report that could be read, under the path by which the archive knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Path below the run's folder.
    pub path: String,
    pub report: RunReport,
}

/// Whether a path leads through a link in the run's folder. What lies behind one is not archived.
fn is_below_a_link(folder: &Path, path: &Path) -> bool {
    let mut above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.any(|above| fs::symlink_metadata(folder.join(above)).is_ok_and(|meta| meta.is_symlink()))
}

impl Outcome {
    /// Reads every report. What is missing or broken goes to the faults, what is odd to the marks.
    pub fn read(&mut self, folder: &Path, settings: &[ReportSetting]) -> Vec<Read> {
        let mut read = Vec::new();
        for setting in settings {
            let path = folder.join(&setting.path);
            let Ok(meta) = fs::symlink_metadata(&path) else {
                if setting.required {
                    self.faults.push(format!("the report '{}' is missing", setting.path));
                }
                continue;
            };
            if !meta.is_file() || is_below_a_link(folder, Path::new(&setting.path)) {
                self.faults.push(format!("the report '{}' is not a plain file", setting.path));
                continue;
            }
            let wire = setting.wire();
            let mut file = match disk::open_plain(&path) {
                Ok(file) => BufReader::new(file),
                Err(cause) => {
                    self.faults.push(format!("the report '{}' cannot be read: {cause}", setting.path));
                    continue;
                }
            };
            match reports::report_from(&setting.path, meta.len(), &mut file, &wire) {
                Ok(report) => {
                    self.left_out(setting, &report);
                    self.reports.push(wire);
                    read.push(Read { path: setting.path.clone(), report });
                }
                Err(error) => {
                    let words = error.in_a_line();
                    self.faults.push(format!("the report '{}' cannot be used: {words}", setting.path));
                }
            }
        }
        self.seen = agreed(&read);
        read
    }

    fn left_out(&mut self, setting: &ReportSetting, report: &RunReport) {
        let path = &setting.path;
        self.marks.extend(report.left_out.iter().take(SHOWN).map(|words| format!("{path}: {words}")));
        if report.left_out.len() > SHOWN {
            self.marks.push(format!("{path}: {} more parts are left out", report.left_out.len() - SHOWN));
        }
        self.marks.extend(report.notes.iter().map(|note| format!("{path}: {note}")));
        for part in &report.parts {
            match (&part.failure, &setting.test, &part.name) {
                (None, ..) => {}
                // One load of several, each with a file of its own.
                (Some(why), Some(test), _) => self.failed.push((test.clone(), why.clone())),
                (Some(why), None, Some(name)) => self.faults.push(format!("{name}: {why}")),
                (Some(why), None, None) => self.faults.push(why.clone()),
            }
        }
    }

    /// Holds what was read against what a suite expects.
    pub fn hold_against(&mut self, expect: &Expect, folder: &Path, read: &[Read]) {
        for name in &expect.files {
            let place = Path::new(WORK_FOLDER).join(name);
            if !folder.join(&place).is_file() || is_below_a_link(folder, &place) {
                self.faults.push(format!("the file '{name}' is missing"));
            }
        }
        let parts = || read.iter().flat_map(|read| &read.report.parts);
        for name in &expect.metrics {
            if !parts().any(|part| gives(part, name)) {
                self.faults.push(format!("no report gives {name}"));
            }
        }
        if let Some(least) = expect.iterations {
            let counted: Vec<(&ReportPart, usize)> =
                parts().map(|part| (part, iterations(part))).filter(|(_, count)| *count > 0).collect();
            if counted.is_empty() {
                self.faults.push(format!("no iterations are reported, and {least} are expected"));
            }
            for (part, count) in counted.iter().filter(|(_, count)| (*count as u64) < least) {
                let name = part.name.as_deref().map_or_else(String::new, |name| format!("{name}: "));
                self.faults.push(format!("{name}{count} iterations, and at least {least} are expected"));
            }
        }
    }

    /// Marks iterations far from the others. Nothing is taken out.
    pub fn mark_outliers(&mut self, read: &[Read]) {
        for part in read.iter().flat_map(|read| &read.report.parts) {
            for (metric, values) in part.series.iter().chain(&part.lists) {
                if let Some(mark) = far_off(part.name.as_deref(), metric, values) {
                    self.marks.push(mark);
                }
            }
        }
    }

    /// Adds a check of a text. Nothing was asked for: nothing is checked. `same` tells whether the two mean one thing.
    pub fn check_text(
        &mut self,
        item: &str,
        asked: Option<&str>,
        ran: Option<(&str, &str)>,
        same: impl Fn(&str, &str) -> bool,
    ) {
        let Some(asked) = asked else { return };
        let result = match ran {
            None => "unknown",
            Some((ran, _)) if same(asked, ran) => "match",
            Some(_) => "mismatch",
        };
        self.checks.push(CheckWire {
            item: item.to_owned(),
            asked: Some(asked.to_owned()),
            ran: ran.map(|(ran, _)| ran.to_owned()),
            source: ran.map_or_else(|| "no report says".to_owned(), |(_, source)| source.to_owned()),
            result: result.to_owned(),
        });
    }

    /// Adds a check of a number within a tolerance, per cent of what was asked for.
    pub fn check_number(&mut self, item: &str, asked: Option<f64>, ran: Option<(f64, &str)>, tolerance_pct: f64) {
        let same = |asked: &str, ran: &str| match (asked.parse::<f64>(), ran.parse::<f64>()) {
            (Ok(asked), Ok(ran)) => (ran - asked).abs() <= asked.abs() * tolerance_pct / 100.0,
            _ => false,
        };
        let ran = ran.map(|(value, source)| (value.to_string(), source));
        let asked = asked.map(|value| value.to_string());
        self.check_text(item, asked.as_deref(), ran.as_ref().map(|(text, source)| (text.as_str(), *source)), same);
    }

    /// Checks the model that every report names, one check for each name that differs. An engine that was given a folder names the folder:
    /// it is then the model of that folder that was seen.
    pub fn check_model(&mut self, asked: Option<&str>, path: Option<&str>, read: &[Read]) {
        let same = |asked: &str, ran: &str| {
            ran == asked || path.is_some_and(|path| path.trim_end_matches('/') == ran.trim_end_matches('/'))
        };
        let mut names: BTreeSet<(&str, &str)> = BTreeSet::new();
        for read in read {
            names.extend(
                read.report.parts.iter().filter_map(|part| Some((part.seen.model_id.as_deref()?, read.path.as_str()))),
            );
        }
        let mut told: BTreeSet<&str> = BTreeSet::new();
        if names.is_empty() {
            self.check_text("model_id", asked, None, same);
        }
        if let Some(asked) = asked.filter(|asked| !names.is_empty() && names.iter().all(|(name, _)| same(asked, name)))
        {
            self.seen.model_id = Some(asked.to_owned());
        }
        for (name, source) in names {
            if told.insert(name) {
                self.check_text("model_id", asked, Some((name, source)), same);
            }
        }
    }

    /// Checks the data type or quantisation, where both words are known ones: labels of a suite are free.
    pub fn check_quantisation(&mut self, asked: Option<&str>) {
        let seen = self.seen.quantisation.clone();
        let (Some(asked), Some(ran)) = (asked, seen.as_deref()) else { return };
        if let (Some(_), Some(_)) = (data_type(asked), data_type(ran)) {
            self.check_text("quantisation", Some(asked), Some((ran, "the engine's report")), |asked, ran| {
                data_type(asked) == data_type(ran)
            });
        }
    }
}

/// One name for the spellings of a data type. `None` for other words.
pub(crate) fn data_type(word: &str) -> Option<&'static str> {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let plain = plain.strip_prefix("torch").unwrap_or(&plain);
    Some(match plain {
        "bf16" | "bfloat16" => "bf16",
        "fp16" | "float16" | "f16" | "half" => "fp16",
        "fp32" | "float32" | "f32" | "float" => "fp32",
        "fp8" | "float8" | "fp8e4m3" => "fp8",
        "nvfp4" => "nvfp4",
        "mxfp4" => "mxfp4",
        "int8" => "int8",
        "int4" => "int4",
        "awq" | "w4a16awq" => "awq",
        "gptq" | "w4a16gptq" => "gptq",
        _ => return None,
    })
}

/// The value on which all reports that state it agree.
fn agreed(read: &[Read]) -> SeenWire {
    let parts = || read.iter().flat_map(|read| &read.report.parts);
    let text = |name: &str| {
        let (_, take) = TEXTS.iter().find(|(known, _)| *known == name)?;
        let all: BTreeSet<&String> = parts().filter_map(|part| take(&part.seen)).collect();
        (all.len() == 1).then(|| all.into_iter().next().cloned()).flatten()
    };
    let number = |name: &str| {
        let (_, take) = NUMBERS.iter().find(|(known, _)| *known == name)?;
        let mut all = parts().filter_map(|part| take(&part.seen));
        let first = all.next()?;
        // A log prints fewer digits than the report beside it.
        all.all(|other| (other - first).abs() <= first.abs() * SAME_SHARE).then_some(first)
    };
    SeenWire {
        model_id: text("model_id"),
        machine: text("machine"),
        engine: text("engine"),
        engine_version: text("engine_version"),
        quantisation: text("quantisation"),
        batch: number("batch"),
        isl: number("isl"),
        osl: number("osl"),
        requests: number("requests"),
        parameters: number("parameters"),
        device_memory_gib: number("device_memory_gib"),
        model_memory_gib: number("model_memory_gib"),
    }
}

/// True when a part has a figure of the metric, or a series from which it follows.
fn gives(part: &ReportPart, name: &str) -> bool {
    let base = Metric::of_catalogue(name).map_or_else(|| name.to_owned(), |metric| metric.base().to_owned());
    part.metrics.get(name).is_some_and(Option::is_some)
        || part.series.get(&base).is_some_and(|values| values.iter().any(|value| value.is_finite()))
}

/// Measured iterations of a part: its longest list.
fn iterations(part: &ReportPart) -> usize {
    part.series.values().chain(part.lists.values()).map(Vec::len).max().unwrap_or(0)
}

/// A mark for a series with values beyond the rule of modified z (Iglewicz and Hoaglin).
fn far_off(part: Option<&str>, metric: &str, values: &[f64]) -> Option<String> {
    let finite: Vec<(usize, f64)> = values.iter().copied().enumerate().filter(|(_, value)| value.is_finite()).collect();
    if finite.len() < OUTLIERS_FROM {
        return None;
    }
    let plain: Vec<f64> = finite.iter().map(|(_, value)| *value).collect();
    let flagged = stats::outliers(&plain)?.modified_z;
    if flagged.is_empty() {
        return None;
    }
    let places: Vec<String> = flagged
        .iter()
        .take(SHOWN)
        .filter_map(|at| finite.get(*at))
        .map(|(place, value)| format!("{value} at iteration {}", place + 1))
        .collect();
    let more = flagged.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let of = part.map_or_else(String::new, |name| format!(" of {name}"));
    Some(format!(
        "{metric}{of}: {} of {} iterations are far off (modified z above {}): {}{more}",
        flagged.len(),
        plain.len(),
        outlier::MODIFIED_Z,
        places.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_behind_a_link_is_not_the_runs_but_a_link_above_the_run_is_nothing_to_it() {
        let folder = sparkbench_testing::Folder::new("below-a-link");
        let (run, elsewhere) = (folder.join("run"), folder.join("elsewhere"));
        for place in [run.join("work/plain"), elsewhere.join("deep")] {
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("x"), "12.5").unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, run.join("work/link")).unwrap();
        std::os::unix::fs::symlink(&run, folder.join("by-a-link")).unwrap();
        for (path, behind) in [
            ("x", false),
            ("work/plain/x", false),
            ("work/absent/x", false),
            ("work/link/x", true),
            ("work/link/deep/x", true),
            // What is said of a link itself is said where it is looked at.
            ("work/link", false),
        ] {
            assert_eq!(is_below_a_link(&run, Path::new(path)), behind, "{path}");
            assert_eq!(is_below_a_link(&folder.join("by-a-link"), Path::new(path)), behind, "{path}");
        }
        let setting = ReportSetting::inside("link/deep/x", "lines");
        let mut outcome = Outcome::default();
        assert_eq!(outcome.read(&run, &[setting]), []);
        let expect = Expect { files: vec!["link/deep/x".to_owned(), "plain/x".to_owned()], ..Expect::default() };
        outcome.hold_against(&expect, &run, &[]);
        assert_eq!(outcome.faults.len(), 2, "{:?}", outcome.faults);
        assert!(outcome.faults[0].contains("not a plain file"), "{:?}", outcome.faults);
        assert_eq!(outcome.faults[1], "the file 'link/deep/x' is missing");
    }

    #[test]
    fn every_request_of_a_long_load_counts_however_large_its_file_is() {
        let folder = sparkbench_testing::Folder::new("examine");
        let mut file = std::io::BufWriter::new(fs::File::create(folder.join("requests.jsonl")).unwrap());
        // Long lines, so that few of them make more than what is ever held whole.
        let (lines, filler) = (300, "x".repeat(500_000));
        for index in 0..lines {
            let times = r#""phase":"measured","sent_s":1.0,"first_token_s":1.5,"last_token_s":2.0,"output_tokens":3,"status":"ok""#;
            writeln!(file, r#"{{"index":{index},{times},"request_id":"{filler}"}}"#).unwrap();
        }
        drop(file);
        assert!(fs::metadata(folder.join("requests.jsonl")).unwrap().len() > sparkbench_archive::WHOLE_LIMIT);
        let setting = ReportSetting { required: true, ..ReportSetting::inside("requests.jsonl", "requests") };
        let setting = ReportSetting { path: "requests.jsonl".to_owned(), ..setting };
        let mut outcome = Outcome::default();
        let read = outcome.read(&folder, &[setting]);
        assert_eq!((outcome.faults, outcome.seen.requests), (Vec::<String>::new(), Some(f64::from(lines))));
        assert_eq!(read.len(), 1);
    }
}
