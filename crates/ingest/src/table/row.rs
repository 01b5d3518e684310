//! One row of a table becomes a run.
//!
//! In:  cells with their columns.  Out: a partial run, or why the row is left out.
//! Not here: where rows come from (CSV: see the module above, JSON: see `listed`).

use super::columns::{Label, TableColumn, TableColumns};
use super::listed;
use crate::figure::{Figure, Scale, excerpt, is_missing};
use crate::flat::status;
use crate::serving::warm_up;
use crate::sheet::{cell, load, short, unit_of};
use crate::{JoinRole, PartialRun, SourceFile};
use sparkbench_model::spelling::WrittenIn;
use sparkbench_model::{Extra, Instant, Reading, Status};
use sparkbench_text::error::{Error, Place};
use sparkbench_text::escape;

const RULE: &str = "table.row";
/// Why a figure in a column of another name is no metric.
const STRANGER: &str = "the name of the column is not a metric of ours";
/// Longest word of a setting, letters. What is longer is a remark.
const WORD_MOST: usize = 40;
/// Most columns of such figures. A row of more is no run.
const STRANGERS: usize = 256;

/// Where a row is.
pub(super) struct RowPlace {
    pub line: u64,
    /// JSON pointer of the row, up to the name of a key. None for a row of CSV, whose places are columns.
    pub pointer: Option<String>,
}

impl RowPlace {
    fn field(&self, name: &str) -> String {
        match &self.pointer {
            Some(row) => {
                let (key, statistic) = listed::parted(name);
                format!("{row}/{}{statistic}", key.replace('~', "~0").replace('/', "~1"))
            }
            None => name.to_owned(),
        }
    }
}

/// The note on a row that calls itself a warm-up.
pub(super) fn warm_up(columns: &TableColumns, cells: &[(usize, &str)]) -> Option<String> {
    cells.iter().find_map(|(place, cell)| {
        let (field, _) = columns.at(*place)?;
        warm_up::says_so(field, cell).then(|| warm_up::said_by(&excerpt(field)))
    })
}

/// The run of a row. Each cell comes with the place of its column.
pub(super) fn run(
    file: &SourceFile<'_>,
    at: &RowPlace,
    columns: &TableColumns,
    cells: &[(usize, &str)],
) -> Result<PartialRun, Error> {
    let declared = columns.declare_cells();
    let mut partial = PartialRun { join_role: JoinRole::Alone, declared, ..PartialRun::default() };
    let (mut outcome, mut exit_code, mut context, mut reason, mut without_figure) = (None, None, None, None, None);
    for (place, cell) in cells {
        let (Some((name, column)), cell) = (columns.at(*place), *cell) else { continue };
        let unlike = |expected: &str| {
            Error::archive("a row is left out")
                .at(Place::LineField(at.line, at.field(name)))
                .detail(format!("expected {expected}, found \"{}\"", excerpt(cell)))
        };
        let origin = || file.origin(Some(at.line), Some(at.field(name)), RULE);
        let label = match column {
            TableColumn::Label(label) => *label,
            TableColumn::Metric(metric) => {
                let scale = match metric.unit {
                    WrittenIn::OurUnit => Scale::One,
                    WrittenIn::Seconds => Scale::Seconds,
                    WrittenIn::Mebibytes => Scale::Times(1.0 / 1024.0),
                };
                // `OOM` in the place of a figure says that there is none, and why.
                let says = word(cell).filter(|word| matches!(word, Status::Failed(_)));
                let cell = if says.is_some() { "" } else { cell };
                without_figure = without_figure.or(says);
                let figure = Figure::parse(cell).ok_or_else(|| unlike("a number"))?.scaled(scale);
                partial.readings.push(figure.reading(metric.metric.as_str(), origin()));
                continue;
            }
            TableColumn::Unknown => {
                if columns.is_reason(*place) && !is_missing(cell) {
                    reason.get_or_insert_with(|| excerpt(cell.trim()));
                }
                let is_word = cell.chars().count() <= WORD_MOST && Figure::parse(cell).is_none() && !is_missing(cell);
                if columns.is_setting(*place) && is_word {
                    partial.setup.more.insert(name.to_owned(), cell.trim().to_owned());
                }
                if let Some(value) = Figure::parse(cell).and_then(Figure::finite)
                    && partial.extras.len() < STRANGERS
                {
                    partial.extras.push(Extra::number(name, unit_of(name).1, value, Some(STRANGER), origin()));
                }
                continue;
            }
        };
        if is_missing(cell) {
            if matches!(label, Label::Environment | Label::Model) {
                return Err(unlike("a name"));
            }
            continue;
        }
        // Our own downloads put an apostrophe before what a spreadsheet would run.
        let text = || Some(escape::of_cell(cell).to_owned());
        let count = || cell.parse::<u32>().map(Some).map_err(|_| unlike("a whole number"));
        let figure = || Figure::parse(cell).and_then(Figure::finite).map(Some).ok_or_else(|| unlike("a number"));
        let tokens =
            || thousands(cell).or_else(|| figure().ok()?).map(Some).ok_or_else(|| unlike("a number of tokens"));
        let moment = || Instant::parse(cell).map(Some).ok_or_else(|| unlike("a moment as 2026-01-31T23:59:59Z"));
        match label {
            Label::Campaign => partial.campaign = text(),
            Label::Id => partial.id = text(),
            Label::Environment => partial.environment = text(),
            Label::Model => partial.model = text(),
            Label::Workload => partial.workload = text(),
            Label::Repeat => partial.repeat = count()?,
            Label::Block => partial.block = count()?,
            Label::Position => partial.position = count()?,
            Label::Started => {
                moment()?;
                partial.started_as(cell);
            }
            Label::Ended => partial.ended = moment()?,
            Label::Status => {
                outcome = Some(word(cell).ok_or_else(|| unlike("done, failed, oom, timeout, skipped or unrecorded"))?);
            }
            Label::ExitCode => exit_code = Some(cell.parse::<i64>().map_err(|_| unlike("a whole number"))?),
            Label::ModelId => partial.setup.model_id = text(),
            Label::Machine => partial.setup.machine = text(),
            Label::Engine => partial.setup.engine = text(),
            Label::EngineVersion => partial.setup.engine_version = text(),
            Label::Quantisation => partial.setup.quantisation = text(),
            Label::Batch => partial.setup.batch = figure()?,
            Label::Isl => partial.setup.isl = tokens()?,
            Label::Osl => partial.setup.osl = tokens()?,
            Label::ContextLength => context = tokens()?,
            Label::Requests => partial.setup.requests = figure()?,
            Label::Ignored => {}
        }
    }
    partial.setup.more.extend(context.map(|tokens| ("context_length".to_owned(), short(tokens))));
    if columns.name_workload() {
        let setup = &partial.setup;
        let context = context.map(|tokens| format!("ctx{}", short(tokens)));
        let rest: Vec<String> = context.into_iter().chain(load(setup.batch, None)).collect();
        partial.workload = cell(None, setup.isl, setup.osl, (!rest.is_empty()).then(|| rest.join("-")));
    }
    partial.setup.exit_code = exit_code;
    let is_figure = |reading: &Reading| reading.value.is_finite() && reading.value != 0.0;
    if without_figure.is_some()
        && !matches!(outcome, Some(Status::Failed(_)))
        && !partial.readings.iter().any(is_figure)
    {
        outcome = without_figure;
    }
    if let (Some(Status::Failed(why)), Some(reason)) = (&mut outcome, reason) {
        if why == UNSAID { *why = reason } else { *why = format!("{why}: {reason}") }
    }
    if matches!(outcome, Some(Status::Failed(_))) {
        // Zeros of a row that failed measure nothing.
        partial.readings.retain(|reading| reading.value != 0.0);
    }
    // A status in words is the source's own judgement. Without one the code decides.
    partial.status = match (outcome, status(exit_code)) {
        (Some(Status::Failed(why)), Some(Status::Failed(code))) if why == UNSAID => Some(Status::Failed(code)),
        (Some(Status::Failed(why)), Some(Status::Failed(code))) => Some(Status::Failed(format!("{why} ({code})"))),
        (said, code) => said.or(code),
    };
    if columns.by_people() && partial.status.is_none() && partial.readings.iter().all(|reading| reading.value.is_nan())
    {
        return Err(Error::archive("a row is left out")
            .at(Place::Line(at.line))
            .detail("it holds no figure of a metric"));
    }
    for reading in &partial.readings {
        let value = Some(reading.value).filter(|value| value.is_finite());
        match reading.metric.as_str() {
            "gpu_temp_start_c" => partial.setup.start_temp_c = value,
            "gpu_temp_end_c" => partial.setup.end_temp_c = value,
            "model_memory_gib" => partial.setup.model_memory_gib = value,
            _ => {}
        }
    }
    Ok(partial)
}

/// Why a row failed that says no more than that.
const UNSAID: &str = "the source says so";
/// Words for a row without a result, and what they say of it.
const FAILURES: &[(&str, &str)] = &[
    ("failed", UNSAID),
    ("fail", UNSAID),
    ("failure", UNSAID),
    ("error", UNSAID),
    ("oom", "out of memory"),
    ("out of memory", "out of memory"),
    ("timeout", "timeout"),
    ("timed out", "timeout"),
    ("crash", "crashed"),
    ("crashed", "crashed"),
    ("killed", "killed"),
    ("aborted", "aborted"),
    ("cancelled", "cancelled"),
    ("canceled", "cancelled"),
    ("skipped", "skipped"),
    ("skip", "skipped"),
    ("not run", "not run"),
    ("unsupported", "not supported"),
    ("not supported", "not supported"),
];

/// A word for how a row ended. That of a failure may carry its reason behind a colon.
fn word(cell: &str) -> Option<Status> {
    let (word, reason) = cell.split_once(':').unwrap_or((cell, ""));
    let (word, reason) = (word.trim().to_ascii_lowercase().replace(['_', '-'], " "), reason.trim());
    if let Some((_, what)) = FAILURES.iter().find(|(known, _)| *known == word) {
        return Some(Status::Failed(match (*what, reason) {
            (what, "") => what.to_owned(),
            (UNSAID, reason) => reason.to_owned(),
            (what, reason) => format!("{what}: {reason}"),
        }));
    }
    match word.as_str() {
        "done" | "ok" | "completed" | "complete" | "success" | "successful" | "succeeded" | "passed" | "finished" => {
            Some(Status::Done)
        }
        "unrecorded" => Some(Status::Unrecorded),
        _ => None,
    }
}

/// `4k`, `32K`, `1M` tokens: those of a context of 4096, 32768 and 1048576.
fn thousands(cell: &str) -> Option<f64> {
    let (digits, factor) = match cell.trim().char_indices().last()? {
        (at, 'k' | 'K') => (cell.trim().get(..at)?, 1024.0),
        (at, 'm' | 'M') => (cell.trim().get(..at)?, 1024.0 * 1024.0),
        _ => return None,
    };
    Figure::parse(digits.trim()).and_then(Figure::finite).filter(|count| *count > 0.0).map(|count| count * factor)
}
