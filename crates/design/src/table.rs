//! The runs of one campaign as a table of levels: a row a run, a column a setting that varies.
//!
//! In:  runs with their settings.  Out: [`Table`].
//! Not here: what is asked about (see `cells`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sparkbench_model::{Run, Setting, SettingKind, without_quantisation};

use super::{levels, path_labels};

/// The level of a run whose files do not say a setting that varies among the others.
pub(crate) const UNKNOWN: &str = "unknown";
/// The level of a run whose files could have said a setting and do not: its default.
pub(crate) const DEFAULT: &str = "default";

/// Settings that a source leaves out because it does not know them. Where any other is absent from a source that says it elsewhere, the
/// run has its default.
const NEVER_DEFAULT: &[&str] = &[
    "environment",
    "engine",
    "engine_version",
    "quantisation",
    "model",
    "gpu",
    "tool",
    "tool_version",
    "workload",
    "isl",
    "osl",
    "concurrency",
    "request_rate",
];

/// A rate from which on all requests are sent at once.
const UNLIMITED_REQ_S: f64 = 1e6;

/// Share of different fractions among the values of an undeclared number from which on it was measured and not chosen.
const MEASURED: f64 = 0.5;
/// Fewest values for that.
const MEASURED_LEAST: usize = 4;

/// One setting that varies: the level of each run, as a number that counts levels in the order of the runs.
#[derive(Debug, Default)]
pub(crate) struct Column {
    pub ids: Vec<u32>,
    levels: Vec<String>,
}

impl Column {
    fn of(values: Vec<String>) -> Self {
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut column = Self::default();
        for value in values {
            let next = u32::try_from(column.levels.len()).unwrap_or(u32::MAX);
            let id = *known.entry(value).or_insert_with_key(|value| {
                column.levels.push(value.clone());
                next
            });
            column.ids.push(id);
        }
        column
    }
}

/// Levels of the settings that vary.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub columns: BTreeMap<String, Column>,
    /// How people spell a level, by setting and level.
    shown: BTreeMap<(String, String), String>,
    /// Models without their precisions.
    stems: Vec<Option<String>>,
    /// Number of runs.
    pub rows: usize,
}

impl Table {
    /// Of these runs, with these settings only where any are named.
    ///
    /// Whoever declares cells tells models and workloads apart by their labels, and whoever asks about models by their whole names.
    pub(crate) fn of(runs: &[&Run], only: Option<&[&str]>, wanted: Option<&str>) -> Self {
        let mut table = Self { rows: runs.len(), ..Self::default() };
        let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect();
        let engine = values(runs, "engine");
        let model = values(runs, "model");
        table.stems.clone_from(&model);
        let sources = sources(runs);
        for name in names.into_iter().filter(|name| only.is_none_or(|only| only.contains(name))) {
            let by_label = match name {
                "model" => wanted == Some("model") || only.is_some() && wanted != Some("quantisation"),
                "workload" => only.is_some(),
                _ => false,
            };
            let said = if by_label { raw(runs, name) } else { values(runs, name) };
            if name == "requests" && !runs.iter().any(|run| floods(run)) {
                continue;
            }
            if is_measured(name, &said) {
                continue;
            }
            let mut column = table.level(name, &said);
            if name == "requests" {
                // A load only where all are sent at once.
                column
                    .iter_mut()
                    .zip(runs)
                    .filter(|(_, run)| !floods(run))
                    .for_each(|(level, _)| *level = Some(String::new()));
            }
            let column = Self::complete(name, column, &sources, (&engine, &model));
            let column = Column::of(column);
            if column.levels.len() > 1 {
                table.columns.insert(name.to_owned(), column);
            }
        }
        table
    }

    /// Levels in one spelling.
    fn level(&mut self, name: &str, said: &[Option<String>]) -> Vec<Option<String>> {
        let all: Vec<String> = said.iter().flatten().cloned().collect();
        let near = if ["isl", "osl"].contains(&name) { levels::lengths(&all) } else { BTreeMap::new() };
        said.iter()
            .map(|value| {
                let value = value.as_ref()?;
                let level = near.get(value).cloned().unwrap_or_else(|| levels::normal(value));
                let shown = near.get(value).unwrap_or(value).clone();
                self.shown.entry((name.to_owned(), level.clone())).or_insert(shown);
                Some(level)
            })
            .collect()
    }

    /// Levels for runs that do not say one.
    fn complete(
        name: &str,
        column: Vec<Option<String>>,
        sources: &[usize],
        (engine, model): (&[Option<String>], &[Option<String>]),
    ) -> Vec<String> {
        let saying: BTreeSet<usize> =
            column.iter().zip(sources).filter_map(|(level, source)| level.as_ref().map(|_| *source)).collect();
        let can_default = !NEVER_DEFAULT.contains(&name);
        // What runs of each engine and model say. The nearest runs decide, where they agree: those of its model and engine, as far as it says
        // them.
        let kin = |row: usize| (own(engine, row, name == "engine"), own(model, row, name == "model"));
        let mut said: BTreeMap<Kin<'_>, BTreeSet<&String>> = BTreeMap::new();
        for (row, level) in column.iter().enumerate() {
            if let Some(level) = level {
                said.entry(kin(row)).or_default().insert(level);
            }
        }
        let agree = |a: Option<&String>, b: Option<&String>| a.is_none() || b.is_none() || a == b;
        let mut known: BTreeMap<Kin<'_>, Option<&String>> = BTreeMap::new();
        for own in (0..column.len()).map(kin).collect::<BTreeSet<_>>() {
            let near: BTreeSet<&String> = said
                .iter()
                .filter(|(other, _)| agree(own.0, other.0) && agree(own.1, other.1))
                .flat_map(|(_, levels)| levels.iter().copied())
                .collect();
            let only = near.first().copied().filter(|_| near.len() == 1);
            known.insert(own, only);
        }
        column
            .iter()
            .enumerate()
            .map(|(row, level)| match level {
                Some(level) => level.clone(),
                None if can_default && sources.get(row).is_some_and(|source| saying.contains(source)) => {
                    DEFAULT.to_owned()
                }
                None => known.get(&kin(row)).copied().flatten().cloned().unwrap_or_else(|| UNKNOWN.to_owned()),
            })
            .collect()
    }

    /// A level as people spell it.
    pub(crate) fn shown(&self, name: &str, level: &str) -> String {
        self.shown.get(&(name.to_owned(), level.to_owned())).cloned().unwrap_or_else(|| level.to_owned())
    }

    /// The model of a run without its precision, as people spell it.
    pub(crate) fn stem(&self, row: usize) -> Option<String> {
        self.stems.get(row).cloned().flatten()
    }

    /// The level of a run.
    pub(crate) fn at(&self, name: &str, row: usize) -> Option<&str> {
        let column = self.columns.get(name)?;
        column.levels.get(*column.ids.get(row)? as usize).map(String::as_str)
    }

    /// Levels of a column, in order.
    pub(crate) fn levels(&self, name: &str) -> Vec<String> {
        let mut levels: Vec<String> = self.columns.get(name).map(|column| column.levels.clone()).unwrap_or_default();
        levels.sort_by(|a, b| levels::order(a, b));
        levels
    }

    /// Names of the settings that vary: treatments in the order of asking, then load axes.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.columns.keys().cloned().collect();
        names.sort_by_key(|name| (Setting::kind_of(name) == SettingKind::Load, rank(name)));
        names
    }
}

/// Place of a treatment in the order of asking. Those without a declaration come before `folder` and `file`.
pub(crate) fn rank(name: &str) -> usize {
    let place = |name: &str| sparkbench_model::setting::SETTINGS.iter().position(|setting| setting.name == name);
    let folder = place("folder").unwrap_or(usize::MAX);
    match place(name) {
        Some(place) if place >= folder => place + 1,
        Some(place) => place,
        None => folder,
    }
}

/// Engine and model of a run, as far as it says them.
type Kin<'k> = (Option<&'k String>, Option<&'k String>);

/// What a run says, unless it is what is asked about.
fn own(values: &[Option<String>], row: usize, is_asked: bool) -> Option<&String> {
    values.get(row).and_then(Option::as_ref).filter(|_| !is_asked)
}

/// The formats that each run was read by, as a number of its own for each set of them.
fn sources(runs: &[&Run]) -> Vec<usize> {
    let mut known: BTreeMap<BTreeSet<&str>, usize> = BTreeMap::new();
    runs.iter()
        .map(|run| {
            let formats = std::iter::once(&run.source).chain(&run.files).map(|file| file.format.as_str()).collect();
            let next = known.len();
            *known.entry(formats).or_insert(next)
        })
        .collect()
}

/// True where all requests of a run were sent at once.
fn floods(run: &Run) -> bool {
    let rate = run.setup.request_rate;
    run.setup.batch.is_none() && rate.is_some_and(|rate| rate >= UNLIMITED_REQ_S)
}

/// An undeclared number with a fraction that differs from run to run was measured.
fn is_measured(name: &str, said: &[Option<String>]) -> bool {
    if Setting::find(name).is_some() {
        return false;
    }
    let numbers: Vec<f64> = said.iter().flatten().filter_map(|value| value.parse().ok()).collect();
    let fractions: BTreeSet<u64> =
        numbers.iter().filter(|number| number.fract() != 0.0).map(|number| number.to_bits()).collect();
    numbers.len() >= MEASURED_LEAST && fractions.len() as f64 > MEASURED * numbers.len() as f64
}

/// What each run says. A model is named without its precision.
fn values(runs: &[&Run], name: &str) -> Vec<Option<String>> {
    runs.iter().map(|run| value(run, name)).collect()
}

fn raw(runs: &[&Run], name: &str) -> Vec<Option<String>> {
    runs.iter().map(|run| run.settings.get(name).map(|setting| setting.value.clone())).collect()
}

/// What a run says of a setting.
pub(crate) fn value(run: &Run, name: &str) -> Option<String> {
    let said = run.settings.get(name).map(|setting| setting.value.clone())?;
    match name {
        // Without a known precision a name is the only thing that tells two runs apart.
        "model" if run.settings.contains_key("quantisation") => Some(stem(&said, run.setup.quantisation.as_deref())),
        "engine" => Some(path_labels::spelled(&said)),
        "workload" => Some(kind_of_work(&said, run)),
        _ => Some(said),
    }
}

/// The words of a workload that no other setting says: `random-1024-128-c8` is `random` beside those lengths and that concurrency.
fn kind_of_work(workload: &str, run: &Run) -> String {
    let number = |name: &str| run.settings.get(name).and_then(|said| said.value.parse::<f64>().ok());
    let near = |name: &str, value: f64| number(name).is_some_and(|said| levels::are_near(said, value));
    let said = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let prefix = word.strip_suffix(digits).unwrap_or_default();
        if word == "rinf" {
            return run.settings.get("request_rate").is_some_and(|said| said.value == "unlimited");
        }
        let Ok(value) = digits.parse::<f64>() else { return false };
        match prefix {
            "" => near("isl", value) || near("osl", value),
            "in" => near("isl", value),
            "out" => near("osl", value),
            "c" => number("concurrency") == Some(value),
            "r" => number("request_rate") == Some(value),
            "n" => number("requests") == Some(value),
            "d" | "ctx" => number("depth") == Some(value),
            "dev" => number("gpus") == Some(value),
            // A test that is named after its lengths: `pp512`, `tg128`.
            "pp" | "tg" => false,
            name => number(name) == Some(value),
        }
    };
    workload.split('-').filter(|word| !said(word)).collect::<Vec<_>>().join("-")
}

/// The model without its quantisation.
pub(crate) fn stem(model: &str, quantisation: Option<&str>) -> String {
    let short = quantisation.map_or_else(|| model.to_owned(), |quantisation| without_quantisation(model, quantisation));
    path_labels::of_model(&short).map_or(short.clone(), |said| without_quantisation(&short, &said))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sparkbench_model::{SettingOrigin, SettingValue, Setup, Source, Status};

    /// A run with these settings.
    pub(crate) fn run(settings: &[(&str, &str)]) -> Run {
        let number =
            |name: &str| settings.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok());
        let word = |name: &str| settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Run {
            campaign: "c".into(),
            environment: word("environment").unwrap_or_else(|| "unlabelled".into()),
            model: word("model").unwrap_or_else(|| "unlabelled".into()),
            workload: word("workload").unwrap_or_else(|| "default".into()),
            status: Status::Done,
            setup: Setup { quantisation: word("quantisation"), batch: number("concurrency"), ..Setup::default() },
            settings: settings
                .iter()
                .map(|(name, value)| {
                    ((*name).to_owned(), SettingValue { value: (*value).to_owned(), origin: SettingOrigin::Result })
                })
                .collect(),
            source: Source { format: "f".into(), ..Source::default() },
            ..Run::default()
        }
    }

    fn table(runs: &[Run]) -> Table {
        Table::of(&runs.iter().collect::<Vec<_>>(), None, None)
    }

    #[test]
    fn a_flag_that_is_absent_has_its_default_and_an_engine_that_is_absent_is_that_of_the_others() {
        let mut runs = vec![run(&[("engine", "vLLM"), ("fa", "on")]), run(&[("engine", "vLLM")]), run(&[("fa", "on")])];
        runs[2].source.format = "g".into();
        let found = table(&runs);
        assert_eq!(found.columns.keys().collect::<Vec<_>>(), ["fa"]);
        assert_eq!((0..3).map(|row| found.at("fa", row).unwrap()).collect::<Vec<_>>(), ["on", "default", "on"]);
    }

    #[test]
    fn what_varies_among_the_neighbours_is_unknown_where_nobody_says_it() {
        let runs = vec![run(&[("engine", "vLLM")]), run(&[("engine", "SGLang")]), run(&[("x", "y")])];
        let found = table(&runs);
        assert_eq!(
            (0..3).map(|row| found.at("engine", row).unwrap()).collect::<Vec<_>>(),
            ["vllm", "sglang", "unknown"]
        );
    }

    #[test]
    fn precisions_of_one_model_leave_one_model() {
        let runs = vec![
            run(&[("model", "Nano-30B-BF16"), ("quantisation", "bf16")]),
            run(&[("model", "Nano-30B-FP8"), ("quantisation", "FP8")]),
        ];
        let found = table(&runs);
        assert_eq!(found.names(), ["quantisation"]);
        assert_eq!(
            (found.levels("quantisation"), found.shown("quantisation", "fp8")),
            (vec!["bf16".into(), "fp8".into()], "FP8".into())
        );
    }

    #[test]
    fn the_number_of_requests_is_a_load_only_where_all_come_at_once() {
        let made = |requests: &str, rate: f64, batch: Option<f64>| {
            let mut run = run(&[("requests", requests)]);
            (run.setup.request_rate, run.setup.batch) = (Some(rate), batch);
            run
        };
        assert_eq!(table(&[made("10", f64::INFINITY, None), made("200", f64::INFINITY, None)]).names(), ["requests"]);
        assert!(
            table(&[made("10", f64::INFINITY, Some(8.0)), made("200", f64::INFINITY, Some(8.0))]).names().is_empty()
        );
        assert!(table(&[made("10", 2.0, None), made("200", 2.0, None)]).names().is_empty());
    }
}
