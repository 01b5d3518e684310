//! The table of runs: a row a run, a column a setting, a column a metric.
//!
//! In:  runs.  Out: [`Table`], which is filtered, selected and grouped here.
//! Not here: which columns somebody wants, formulas over a group (the caller gives them), bytes (see `table_writer`), rows for requests (see
//! `request_table`).
//!
//! Which columns there are follows from the declarations of settings and metrics. Only the labels and the source stand here.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use polars_core::prelude::*;

use super::flat::Cell;
use super::measures::broken;
use sparkbench_model::column::{Kind, Meaning, meaning};
use sparkbench_model::setting::{SETTINGS, Setting};
use sparkbench_model::{Metric, Run};
use sparkbench_text::error::Error;
use sparkbench_verdict::report::StatusText;

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Which run it is.
    Label,
    /// What was chosen.
    Setting,
    /// What was measured.
    Metric,
    /// Where it was read.
    Source,
}

/// One column.
#[derive(Debug, Clone)]
pub struct TableColumn {
    pub name: String,
    pub role: Role,
    pub meaning: Meaning,
}

/// A frame, with what each of its columns means.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) frame: DataFrame,
    columns: Vec<TableColumn>,
}

/// What a group says of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupSummary {
    pub mean: f64,
    /// Absent for a single value.
    pub sd: Option<f64>,
    /// Half of the interval of the mean. Absent for a single value.
    pub half_width: Option<f64>,
}

/// Values of a column before its type is known to the frame.
pub(super) enum Cells {
    Words(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
}

type Read = fn(&Run) -> Option<String>;

/// Columns in front: which run it is, with the labels as they are judged.
const LABELS: [(&str, Read); 9] = [
    ("id", |run| Some(run.id.clone())),
    ("campaign", |run| Some(run.campaign.clone())),
    ("cell", |run| (!run.cell.is_empty()).then(|| run.cell.clone())),
    ("status", |run| Some(StatusText(run.status.clone()).word().to_owned())),
    ("started_utc", |run| run.started.map(|at| at.iso())),
    ("environment", |run| Some(run.environment.clone())),
    ("model", |run| Some(run.model.clone())),
    ("workload", |run| Some(run.workload.clone())),
    ("launch", |run| run.launch.map(|launch| launch.to_string())),
];

/// Columns at the end: where the run was read.
const SOURCE: [(&str, Read); 3] = [
    ("source_path", |run| Some(run.source.path.clone())),
    ("source_format", |run| Some(run.source.format.clone())),
    ("source_sha256", |run| Some(run.source.sha256.clone())),
];

/// Labels that are settings too: runs of several of them are not alike.
const CHOSEN: [&str; 4] = ["campaign", "environment", "model", "workload"];

/// Status of runs that are no repeats.
const FAILED: &str = "failed";

/// Digits that a float keeps whatever they are. A longer whole number is a name: a seed, a serial number.
const DIGITS_KEPT: usize = 15;

impl Table {
    /// Every run as a row. Settings come in the order of their declaration, those without one by name behind them, then metrics by the
    /// catalogue. A setting or metric that no run has is no column. Absent is null.
    ///
    /// # Errors
    /// When polars cannot build it.
    pub fn of_runs(runs: &[Run]) -> Result<Self, Error> {
        let mut built = Self { frame: DataFrame::empty_with_height(runs.len()), columns: Vec::new() };
        let words = |of: Read| Cells::Words(runs.iter().map(of).collect());
        for (name, of) in LABELS {
            built.add(described(name, Role::Label), words(of))?;
        }
        let metrics = metrics_of(runs);
        for name in names_of(runs) {
            let said = |run: &Run| run.settings.get(name).map(|setting| setting.value.clone());
            let values: Vec<Option<String>> = runs.iter().map(said).collect();
            if let Some((_, label)) = LABELS.iter().find(|(label, _)| *label == name && CHOSEN.contains(label))
                && runs.iter().zip(&values).all(|(run, value)| value.is_none() || *value == label(run))
            {
                // The label says it already.
                continue;
            }
            let cells = typed(name, values);
            let taken = |names: &[(&str, Read)]| names.iter().any(|(label, _)| *label == name);
            // A key of a file may have the name of a column of ours. So has a label that is judged under another name than the files say.
            let is_taken = taken(&LABELS) || taken(&SOURCE) || metrics.contains(&name);
            let column = if is_taken { format!("setting_{name}") } else { name.to_owned() };
            let unit = SETTINGS.iter().find(|setting| setting.name == name).map_or("", |setting| setting.unit);
            let meaning = Meaning { kind: cells.kind(), unit, direction: "", about: Setting::label_of(name) };
            built.add(TableColumn { name: column, role: Role::Setting, meaning }, cells)?;
        }
        for name in metrics {
            let values = runs.iter().map(|run| run.value(name)).collect();
            built.add(described(name, Role::Metric), Cells::Numbers(values))?;
        }
        for (name, of) in SOURCE {
            built.add(described(name, Role::Source), words(of))?;
        }
        Ok(built)
    }

    /// A table of these columns.
    ///
    /// # Errors
    /// When polars cannot build it.
    pub(super) fn of_columns(rows: usize, columns: Vec<(TableColumn, Cells)>) -> Result<Self, Error> {
        let mut built = Self { frame: DataFrame::empty_with_height(rows), columns: Vec::new() };
        columns.into_iter().try_for_each(|(column, cells)| built.add(column, cells))?;
        Ok(built)
    }

    fn add(&mut self, column: TableColumn, cells: Cells) -> Result<(), Error> {
        let name = column.name.as_str().into();
        let cells = match cells {
            Cells::Words(values) => Column::new(name, values),
            Cells::Whole(values) => Column::new(name, values),
            Cells::Numbers(values) => Column::new(name, values),
        };
        self.frame.with_column(cells).map_err(broken)?;
        self.columns.push(column);
        Ok(())
    }

    /// Columns from left to right.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.frame.height()
    }

    /// Cells of a column from the top.
    ///
    /// # Errors
    /// There is no such column.
    pub fn cells(&self, name: &str) -> Result<Vec<Cell>, Error> {
        let column = self.frame.column(name).map_err(broken)?;
        Ok(match column.dtype() {
            DataType::String => {
                let words = column.str().map_err(broken)?;
                words.iter().map(|word| word.map_or(Cell::Empty, |word| Cell::Text(word.to_owned()))).collect()
            }
            DataType::Int64 => {
                let whole = column.i64().map_err(broken)?;
                whole.iter().map(|number| number.map_or(Cell::Empty, |number| Cell::Number(number as f64))).collect()
            }
            _ => {
                let numbers = column.f64().map_err(broken)?;
                numbers.iter().map(|number| number.map_or(Cell::Empty, Cell::Number)).collect()
            }
        })
    }

    /// The rows for which `kept` is true.
    ///
    /// # Errors
    /// When polars cannot build it.
    pub fn kept(&self, kept: &[bool]) -> Result<Self, Error> {
        let mask = BooleanChunked::from_slice("kept".into(), kept);
        Ok(Self { frame: self.frame.filter(&mask).map_err(broken)?, columns: self.columns.clone() })
    }

    /// These columns in this order.
    ///
    /// # Errors
    /// There is no such column, or one is named twice.
    pub fn selected(&self, names: &[String]) -> Result<Self, Error> {
        let frame = self.frame.select(names.iter().map(String::as_str)).map_err(broken)?;
        let column = |name: &String| self.columns.iter().find(|column| column.name == *name).cloned();
        Ok(Self { frame, columns: names.iter().filter_map(column).collect() })
    }

    /// The first rows.
    #[must_use]
    pub fn head(&self, rows: usize) -> Self {
        Self { frame: self.frame.head(Some(rows)), columns: self.columns.clone() }
    }

    /// Without runs that failed: these are no repeats.
    ///
    /// # Errors
    /// When polars cannot build it.
    pub fn without_failed(&self) -> Result<Self, Error> {
        let is_kept = |cell: &Cell| *cell != Cell::Text(FAILED.to_owned());
        self.kept(&self.cells("status")?.iter().map(is_kept).collect::<Vec<_>>())
    }

    /// One row for each group of runs that are alike in `keys`: the keys, the number of runs, and of each metric that has a value the mean,
    /// the number of launches behind it, their standard deviation and half of the interval of the mean. `interval` names that interval.
    ///
    /// Runs of one launch are averaged first, and count once. A run whose launch is not recorded counts for itself. Groups stand in the
    /// order of their keys: numbers rising, words by name, absent last.
    ///
    /// # Errors
    /// There is no such column.
    pub fn grouped(
        &self,
        keys: &[String],
        interval: &str,
        summary: &dyn Fn(&[f64]) -> Option<GroupSummary>,
    ) -> Result<Self, Error> {
        let groups = self.groups(keys)?;
        let first: Vec<IdxSize> = groups.iter().filter_map(|rows| rows.first()).map(|row| *row as IdxSize).collect();
        let selected = self.selected(keys)?;
        let frame = selected.frame.take(&IdxCa::from_vec("first".into(), first)).map_err(broken)?;
        let mut built = Self { frame, columns: selected.columns };
        let count = |about: &str| Meaning { kind: Kind::Integer, unit: "", direction: "", about: about.to_owned() };
        let column = |name: String, meaning: Meaning| TableColumn { name, role: Role::Metric, meaning };
        let runs = groups.iter().map(|rows| Some(rows.len() as i64)).collect();
        built.add(column("runs".to_owned(), count("runs of the group")), Cells::Whole(runs))?;
        let launches = self.launches(&groups)?;
        for metric in self.columns.iter().filter(|column| column.role == Role::Metric) {
            let cells = self.cells(&metric.name)?;
            let figures: Vec<(usize, Option<GroupSummary>)> =
                launches.iter().map(|launches| of_launches(launches, &cells, summary)).collect();
            if figures.iter().all(|(n, _)| *n == 0) {
                continue;
            }
            let told = |of: fn(&GroupSummary) -> Option<f64>| {
                Cells::Numbers(figures.iter().map(|(_, figure)| figure.as_ref().and_then(of)).collect())
            };
            let of_metric = |direction, about: &str| Meaning {
                direction,
                about: format!("{}, {about}", metric.meaning.about),
                ..metric.meaning.clone()
            };
            let name = |end: &str| format!("{}_{end}", metric.name);
            let mean = of_metric(metric.meaning.direction, "mean of the launches");
            built.add(column(name("mean"), mean), told(|figure| Some(figure.mean)))?;
            let n = figures.iter().map(|(n, _)| Some(*n as i64)).collect();
            built.add(
                column(name("n"), count("launches with a figure, or runs where none are recorded")),
                Cells::Whole(n),
            )?;
            let sd = of_metric("", "standard deviation of the launches");
            built.add(column(name("sd"), sd), told(|figure| figure.sd))?;
            let half = of_metric("", &format!("half of {interval} of the mean"));
            built.add(column(name("half_width"), half), told(|figure| figure.half_width))?;
        }
        Ok(built)
    }

    /// Settings of which a group of `keys` holds several levels, with the levels of the first such group: a mean is one over all of them.
    /// Of several whose levels go together one to one there is the first, a setting before a label.
    ///
    /// # Errors
    /// There is no such column.
    pub fn pooled(&self, keys: &[String]) -> Result<Vec<(String, Vec<String>)>, Error> {
        let groups = self.groups(keys)?;
        let of_role = |role| self.columns.iter().filter(move |column| column.role == role);
        let labels = of_role(Role::Label).filter(|column| CHOSEN.contains(&column.name.as_str()));
        let (mut pooled, mut partings) = (Vec::new(), Vec::new());
        for column in of_role(Role::Setting).chain(labels).filter(|column| !keys.contains(&column.name)) {
            let cells = self.cells(&column.name)?;
            let mut several = groups.iter().map(|rows| levels(rows.iter().filter_map(|row| cells.get(*row))));
            let Some(found) = several.find(|levels| levels.len() > 1) else { continue };
            let mut known = BTreeMap::new();
            let place = |cell: &Cell| {
                let next = known.len();
                *known.entry(cell.text()).or_insert(next)
            };
            let parting: Vec<usize> = cells.iter().map(place).collect();
            if !partings.contains(&parting) {
                partings.push(parting);
                pooled.push((column.name.clone(), found));
            }
        }
        Ok(pooled)
    }

    /// Rows of each group, in the order of the keys.
    fn groups(&self, keys: &[String]) -> Result<Vec<Vec<usize>>, Error> {
        if self.height() == 0 {
            return Ok(Vec::new());
        }
        let grouped = self.frame.group_by_stable(keys).map_err(broken)?;
        let mut groups: Vec<Vec<usize>> = grouped
            .get_groups()
            .iter()
            .map(|group| match group {
                GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| *row as usize).collect(),
                GroupsIndicator::Slice([first, length]) => (first as usize..first as usize + length as usize).collect(),
            })
            .collect();
        let keys = keys.iter().map(|key| self.cells(key)).collect::<Result<Vec<_>, _>>()?;
        groups.sort_by(|one, other| {
            let by_key = keys.iter().map(|key| order(first(one, key), first(other, key)));
            by_key.fold(Ordering::Equal, Ordering::then)
        });
        Ok(groups)
    }

    /// Rows of each launch of each group. A launch is one of its campaign.
    fn launches(&self, groups: &[Vec<usize>]) -> Result<Vec<Vec<Vec<usize>>>, Error> {
        let (campaign, launch) = (self.cells("campaign")?, self.cells("launch")?);
        let of_group = |rows: &Vec<usize>| {
            let mut launches: Vec<Vec<usize>> = Vec::new();
            let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
            for row in rows {
                let recorded = launch.get(*row).filter(|launch| **launch != Cell::Empty);
                let name = campaign.get(*row).zip(recorded).map(|(campaign, launch)| (campaign.text(), launch.text()));
                let place = name.map_or(launches.len(), |name| *known.entry(name).or_insert(launches.len()));
                match launches.get_mut(place) {
                    Some(rows) => rows.push(*row),
                    None => launches.push(vec![*row]),
                }
            }
            launches
        };
        Ok(groups.iter().map(of_group).collect())
    }
}

impl Cells {
    const fn kind(&self) -> Kind {
        match self {
            Self::Words(_) => Kind::Text,
            Self::Whole(_) => Kind::Integer,
            Self::Numbers(_) => Kind::Number,
        }
    }
}

/// A column that the dictionary of columns describes.
pub(super) fn described(name: &str, role: Role) -> TableColumn {
    let unknown = || Meaning { kind: Kind::Number, unit: "", direction: "", about: name.replace('_', " ") };
    TableColumn { name: name.to_owned(), role, meaning: meaning(name).unwrap_or_else(unknown) }
}

/// Metrics that any run reports, by the catalogue.
fn metrics_of(runs: &[Run]) -> Vec<&str> {
    let names: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.readings.iter().map(|reading| reading.metric.as_str())).collect();
    by_catalogue(names)
}

/// Names of metrics in the order of tables.
pub(super) fn by_catalogue(names: BTreeSet<&str>) -> Vec<&str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| (Metric::find(name).map_or(usize::MAX, |metric| metric.rank()), *name));
    names
}

/// Settings that any run has: as declared, then by name.
fn names_of(runs: &[Run]) -> Vec<&str> {
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    let place = |name: &str| SETTINGS.iter().position(|setting| setting.name == name).unwrap_or(SETTINGS.len());
    names.sort_by_key(|name| (place(name), *name));
    names
}

/// Values of a setting: numbers where every one is a number, else words.
fn typed(name: &str, values: Vec<Option<String>>) -> Cells {
    let numbers: Option<Vec<Option<f64>>> = match is_word(name) {
        true => None,
        false => {
            values.iter().map(|value| value.as_deref().map(number).map_or(Some(None), |read| read.map(Some))).collect()
        }
    };
    let Some(numbers) = numbers else { return Cells::Words(values) };
    if numbers.iter().flatten().all(|number| number.fract() == 0.0) {
        // At most fifteen digits.
        return Cells::Whole(numbers.into_iter().map(|number| number.map(|number| number as i64)).collect());
    }
    Cells::Numbers(numbers)
}

/// Settings whose levels are names whatever they look like: version 0.10 is not 0.1.
fn is_word(name: &str) -> bool {
    name.ends_with("version") || matches!(name, "folder" | "file" | "tool" | "engine")
}

/// A number as files write it. `0821` is a name, `12e4567` a hash, and a whole number of many digits would lose some.
fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_plain = unsigned.bytes().all(|byte| is_digit(byte) || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+'));
    let is_padded = unsigned.len() > 1 && unsigned.starts_with('0') && !unsigned.starts_with("0.");
    let is_exact = unsigned.contains('.') || unsigned.len() <= DIGITS_KEPT;
    let is_hash = unsigned.contains(['e', 'E']) && !unsigned.contains(['.', '-', '+']);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit()) || !is_plain || is_padded || !is_exact || is_hash {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite() && (number.fract() != 0.0 || number.abs() < 1e15))
}

/// Different words for the cells, in order. Absent is none.
fn levels<'c>(cells: impl Iterator<Item = &'c Cell>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<&Cell> =
        cells.filter(|cell| **cell != Cell::Empty).filter(|cell| seen.insert(cell.text())).collect();
    found.sort_by(|one, other| order(Some(one), Some(other)));
    found.into_iter().map(Cell::text).collect()
}

/// The cell of the first row of a group.
fn first<'c>(rows: &[usize], cells: &'c [Cell]) -> Option<&'c Cell> {
    rows.first().and_then(|row| cells.get(*row))
}

/// Numbers rising, then words by name, then what is absent.
fn order(one: Option<&Cell>, other: Option<&Cell>) -> Ordering {
    let rank = |cell: Option<&Cell>| match cell {
        Some(Cell::Number(_)) => 0,
        Some(Cell::Text(_)) => 1,
        _ => 2,
    };
    match (one, other) {
        (Some(Cell::Number(one)), Some(Cell::Number(other))) => one.total_cmp(other),
        (Some(Cell::Text(one)), Some(Cell::Text(other))) => one.cmp(other),
        _ => rank(one).cmp(&rank(other)),
    }
}

/// How many launches have a figure, and what they say together.
fn of_launches(
    launches: &[Vec<usize>],
    cells: &[Cell],
    summary: &dyn Fn(&[f64]) -> Option<GroupSummary>,
) -> (usize, Option<GroupSummary>) {
    let figure = |row: &usize| match cells.get(*row) {
        Some(Cell::Number(figure)) => Some(*figure),
        _ => None,
    };
    let of_launch = |rows: &Vec<usize>| {
        let figures: Vec<f64> = rows.iter().filter_map(figure).collect();
        match figures.as_slice() {
            [] => None,
            [one] => Some(*one),
            several => summary(several).map(|summary| summary.mean),
        }
    };
    let means: Vec<f64> = launches.iter().filter_map(of_launch).collect();
    let together = if means.is_empty() { None } else { summary(&means) };
    (means.len(), together)
}

#[cfg(test)]
mod tests;
