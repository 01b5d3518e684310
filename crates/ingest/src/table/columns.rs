//! What the columns of a table of runs hold.
//!
//! In:  the names of a header, or the keys of rows in JSON.  Out: [`TableColumns`], and whether such names are those of a table of runs.
//! Not here: cells (see `row`). What people call metrics (see `spelling` of the model).

use crate::figure::{Figure, excerpt, is_missing};
use sparkbench_model::spelling::{self, Spelling, WrittenIn};
use sparkbench_model::{Direction, Metric};
use sparkbench_text::error::{Error, Place};

/// Content of a column that is no metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Campaign,
    Id,
    Environment,
    Model,
    Workload,
    Repeat,
    Block,
    Position,
    Started,
    Ended,
    Status,
    ExitCode,
    ModelId,
    Machine,
    Engine,
    EngineVersion,
    Quantisation,
    Batch,
    Isl,
    Osl,
    ContextLength,
    Requests,
    /// Known, and of no use here: what our own downloads add, and notes on where a row comes from.
    Ignored,
}

const LABELS: &[(&str, Label)] = &[
    ("campaign", Label::Campaign),
    ("id", Label::Id),
    ("environment", Label::Environment),
    ("model", Label::Model),
    ("workload", Label::Workload),
    ("repeat", Label::Repeat),
    ("block", Label::Block),
    ("position", Label::Position),
    ("started_utc", Label::Started),
    ("ended_utc", Label::Ended),
    ("status", Label::Status),
    ("exit_code", Label::ExitCode),
    ("model_id", Label::ModelId),
    ("machine", Label::Machine),
    ("engine", Label::Engine),
    ("engine_version", Label::EngineVersion),
    ("quantisation", Label::Quantisation),
    ("quantization", Label::Quantisation),
    ("batch", Label::Batch),
    ("isl", Label::Isl),
    ("osl", Label::Osl),
    ("requests", Label::Requests),
    ("flags", Label::Ignored),
    ("source", Label::Ignored),
    ("source_ref", Label::Ignored),
];

/// Other names of a label, as [`spelling::plain`] writes them. Counts of tokens are not among them: they differ from repeat to repeat.
const CALLED: &[(&str, Label)] = &[
    ("env", Label::Environment),
    ("model_name", Label::Model),
    ("scenario", Label::Workload),
    ("name", Label::Model),
    ("quant", Label::Quantisation),
    ("precision", Label::Quantisation),
    ("c", Label::Batch),
    ("concurrency", Label::Batch),
    ("max_concurrency", Label::Batch),
    ("conc", Label::Batch),
    ("concurrent_requests", Label::Batch),
    ("num_concurrent_requests", Label::Batch),
    ("concurrent_users", Label::Batch),
    ("num_users", Label::Batch),
    ("users", Label::Batch),
    ("num_clients", Label::Batch),
    ("clients", Label::Batch),
    ("num_streams", Label::Batch),
    ("streams", Label::Batch),
    ("n_parallel", Label::Batch),
    ("batch_size", Label::Batch),
    ("input_len", Label::Isl),
    ("input_length", Label::Isl),
    ("prompt_len", Label::Isl),
    ("prompt_length", Label::Isl),
    ("target_tokens", Label::Isl),
    ("output_len", Label::Osl),
    ("output_length", Label::Osl),
    ("max_tokens", Label::Osl),
    ("context", Label::ContextLength),
    ("context_len", Label::ContextLength),
    ("context_length", Label::ContextLength),
    ("context_tokens", Label::ContextLength),
    ("ctx", Label::ContextLength),
    ("ctx_len", Label::ContextLength),
    ("ctx_size", Label::ContextLength),
    ("ctx_tokens", Label::ContextLength),
    ("n_ctx", Label::ContextLength),
    ("num_prompts", Label::Requests),
    ("num_requests", Label::Requests),
    ("n_requests", Label::Requests),
    ("reqs", Label::Requests),
    ("device", Label::Machine),
    ("gpu_name", Label::Machine),
    ("hardware", Label::Machine),
    ("run_number", Label::Repeat),
    ("trial", Label::Repeat),
    ("iteration", Label::Repeat),
];

/// Columns of a table of requests, turns or answers, as [`spelling::plain`] writes them. Its rows are no runs.
const OF_REQUESTS: &[&str] = &[
    "request",
    "request_id",
    "request_index",
    "request_idx",
    "req",
    "req_id",
    "prompt",
    "prompt_id",
    "messages",
    "response",
    "completion",
    "turn",
    "turn_id",
    "session_id",
    "content",
    "choices",
    "finish_reason",
];

/// Columns that say when a row was taken, and columns of a machine. Together they are samples of a run under way, not runs.
const OF_TIME: &[&str] = &["timestamp", "time", "ts", "t", "elapsed", "elapsed_s", "time_s"];
const OF_MACHINE: &[&str] = &["power", "temp", "temperature", "util", "utilization", "utilisation", "clock", "watts"];

/// Columns whose words are remarks and no settings.
const REMARKS: &[&str] = &[
    "error",
    "errors",
    "message",
    "reason",
    "note",
    "notes",
    "comment",
    "comments",
    "remark",
    "remarks",
    "description",
    "timestamp",
    "time",
    "date",
    "datetime",
    "created_at",
    "url",
    "path",
    "file",
    "filename",
    "log",
    "output",
    "output_file",
    "hash",
    "sha",
    "uuid",
    "run_id",
    "host",
    "hostname",
    "user",
    "command",
    "cmd",
];

/// Those of them that say why a row has no figures.
const REASONS: &[&str] = &["error", "errors", "error_message", "message", "reason", "failure", "failure_reason"];

/// Content of one column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TableColumn {
    Label(Label),
    Metric(Spelling),
    Unknown,
}

impl TableColumn {
    /// By its name in the contracts.
    fn of(name: &str) -> Self {
        match LABELS.iter().find(|(known, _)| *known == name) {
            Some((_, label)) => Self::Label(*label),
            None => Metric::of_catalogue(name).map_or(Self::Unknown, |metric| {
                Self::Metric(Spelling { metric: metric.name, unit: WrittenIn::OurUnit })
            }),
        }
    }

    /// By what people call it.
    fn called(name: &str) -> Self {
        let plain = spelling::plain(name);
        let label = LABELS.iter().chain(CALLED).find(|(known, _)| *known == plain).map(|(_, label)| *label);
        match (label, spelling::read(name)) {
            (Some(label), _) => Self::Label(label),
            (None, Some(metric)) => Self::Metric(metric),
            (None, None) => Self::Unknown,
        }
    }

    /// The contract's name of what it holds, where it holds one label or metric.
    fn ours(&self) -> Option<&str> {
        match self {
            Self::Label(Label::Ignored) => None,
            Self::Label(Label::ContextLength) => Some("context_length"),
            Self::Label(label) => LABELS.iter().find(|(_, known)| known == label).map(|(name, _)| *name),
            Self::Metric(spelling) => Some(&spelling.metric),
            Self::Unknown => None,
        }
    }
}

/// The columns of a header. What a contract names comes first: of two columns for one thing the other is a stranger.
fn of_header(names: &[&str]) -> Vec<TableColumn> {
    let mut columns: Vec<TableColumn> = names.iter().map(|name| TableColumn::of(name)).collect();
    for (place, name) in names.iter().enumerate() {
        if columns.get(place) == Some(&TableColumn::Unknown) {
            let called = TableColumn::called(name);
            let is_taken = called.ours().is_some() && columns.iter().any(|column| column.ours() == called.ours());
            if let Some(column) = columns.get_mut(place)
                && !is_taken
            {
                *column = called;
            }
        }
    }
    columns
}

/// True for names of columns that make a table of runs: a label that tells its rows apart, and a metric that is worth comparing.
pub(super) fn is_table(names: &[&str]) -> bool {
    is_by_contract(names) || is_rows(names)
}

fn is_by_contract(names: &[&str]) -> bool {
    names.iter().any(|name| matches!(*name, "environment" | "model" | "workload"))
        && names.iter().any(|name| matches!(TableColumn::of(name), TableColumn::Metric(_)))
}

/// The same for rows of JSON, which the contracts do not name.
pub(super) fn is_rows(keys: &[&str]) -> bool {
    keys.len() <= WIDEST && is_of_runs(keys) && !is_of_requests(keys) && !is_of_samples(keys)
}

/// Whether a name is that of a metric.
pub(super) fn is_figure(name: &str) -> bool {
    matches!(TableColumn::called(name), TableColumn::Metric(_))
}

/// Whether any name is that of a metric of which one way is better.
pub(super) fn has_figure<'n>(mut names: impl Iterator<Item = &'n str>) -> bool {
    names.any(|name| is_judged(&TableColumn::called(name)))
}

/// Whether a name is that of a label which rows within an object share with it.
pub(super) fn is_label(name: &str) -> bool {
    matches!(TableColumn::called(name), TableColumn::Label(label) if ![Label::Repeat, Label::Id, Label::Status].contains(&label))
}

/// The same of a cell: a label, or a word that a person put there.
pub(super) fn is_shared(name: &str, cell: &str) -> bool {
    let is_word =
        || Figure::parse(cell).is_none() && !is_missing(cell) && !REMARKS.contains(&spelling::plain(name).as_str());
    is_label(name) || TableColumn::called(name) == TableColumn::Unknown && is_word()
}

fn is_of_samples(names: &[&str]) -> bool {
    let plain: Vec<String> = names.iter().map(|name| spelling::plain(name)).collect();
    plain.iter().any(|name| OF_TIME.contains(&name.as_str()))
        && plain.iter().any(|name| name.split('_').any(|word| OF_MACHINE.contains(&word)))
        && !names.iter().any(|name| matches!(TableColumn::called(name), TableColumn::Label(Label::Model)))
}

/// Most columns of a table whose names are compared with those of people.
const WIDEST: usize = 4096;

fn is_of_runs(names: &[&str]) -> bool {
    let columns = of_header(names);
    columns.iter().any(tells_apart) && columns.iter().any(is_judged)
}

/// True for a label by which rows differ as runs do.
fn tells_apart(column: &TableColumn) -> bool {
    matches!(
        column,
        TableColumn::Label(
            Label::Environment
                | Label::Model
                | Label::Workload
                | Label::Quantisation
                | Label::Batch
                | Label::Isl
                | Label::ContextLength
        )
    )
}

/// True for a metric of which one way is better. Power and memory alone are telemetry.
fn is_judged(column: &TableColumn) -> bool {
    let direction = |spelling: &Spelling| Metric::of_catalogue(&spelling.metric).map(|metric| metric.direction);
    matches!(column, TableColumn::Metric(spelling) if direction(spelling).is_some_and(|is| is != Direction::Neutral))
}

/// True where a column says that each row is a request.
pub(super) fn is_of_requests(names: &[&str]) -> bool {
    names.iter().any(|name| OF_REQUESTS.contains(&spelling::plain(name).as_str()))
}

/// The columns of one table, and which of its strangers hold figures and which words.
pub(super) struct TableColumns {
    names: Vec<String>,
    of: Vec<TableColumn>,
    strangers: Vec<(bool, bool)>,
    /// The names are not those of the contracts, so everything that tells rows apart does.
    by_people: bool,
}

impl TableColumns {
    /// The columns of these names.
    ///
    /// # Errors
    /// When a known one stands twice.
    pub(super) fn new(names: &[&str]) -> Result<Self, Error> {
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            if !seen.insert(name) && TableColumn::of(name) != TableColumn::Unknown {
                return Err(Error::archive("a column stands twice").at(Place::Field(excerpt(name))));
            }
        }
        Ok(Self {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            of: if names.len() > WIDEST {
                names.iter().map(|name| TableColumn::of(name)).collect()
            } else {
                of_header(names)
            },
            strangers: vec![(false, false); names.len()],
            by_people: !is_by_contract(names),
        })
    }

    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Name and content of one.
    pub(super) fn at(&self, place: usize) -> Option<(&str, &TableColumn)> {
        Some((self.names.get(place)?, self.of.get(place)?))
    }

    /// True where the header has lengths or a concurrency by names that the contracts do not have, and no name of the workload.
    pub(super) fn name_workload(&self) -> bool {
        let is_of_work = |column: &TableColumn| {
            matches!(column, TableColumn::Label(Label::Isl | Label::Osl | Label::ContextLength | Label::Batch))
        };
        !self.of.contains(&TableColumn::Label(Label::Workload))
            && (self.by_people
                || self
                    .names
                    .iter()
                    .zip(&self.of)
                    .any(|(name, column)| is_of_work(column) && TableColumn::of(name) != *column))
    }

    /// True for a column of words that nobody declared and that a person put there to tell rows apart.
    pub(super) fn is_setting(&self, place: usize) -> bool {
        self.by_people
            && self.of.get(place) == Some(&TableColumn::Unknown)
            && self.names.get(place).is_some_and(|name| !REMARKS.contains(&spelling::plain(name).as_str()))
    }

    /// True where the names are those of the contracts and one of them is the environment: rows say themselves what a cell is.
    pub(super) fn declare_cells(&self) -> bool {
        !self.by_people && self.of.contains(&TableColumn::Label(Label::Environment))
    }

    /// True where the names are not those of the contracts.
    pub(super) fn by_people(&self) -> bool {
        self.by_people
    }

    /// True for a column that says why something failed.
    pub(super) fn is_reason(&self, place: usize) -> bool {
        self.names.get(place).is_some_and(|name| REASONS.contains(&spelling::plain(name).as_str()))
    }

    /// Remembers what a stranger holds.
    pub(super) fn see(&mut self, place: usize, cell: &str) {
        if let Some((figures, words)) = self.strangers.get_mut(place)
            && self.of.get(place) == Some(&TableColumn::Unknown)
            && !is_missing(cell)
        {
            *(if Figure::parse(cell).is_some() { figures } else { words }) = true;
        }
    }

    /// What a reader should know of the names.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let renamed: Vec<String> = self.renamed().collect();
        if !renamed.is_empty() {
            notes.push(format!("columns are read by what they are called: {}", renamed.join(", ")));
        }
        for (name, (figures, words)) in self.names.iter().zip(&self.strangers) {
            let name = excerpt(name);
            if *figures {
                notes.push(format!("column '{name}' is not a metric of ours. Its figures are kept beside the metrics"));
            } else if *words {
                notes.push(format!("column '{name}' is not known and not read"));
            }
        }
        notes
    }

    /// `'tg_tok_s' as decode_tok_s`, of every column whose name is not the contract's.
    pub(super) fn renamed(&self) -> impl Iterator<Item = String> {
        self.names.iter().zip(&self.of).filter_map(|(name, column)| {
            let ours = column.ours()?;
            (TableColumn::of(name) == TableColumn::Unknown).then(|| format!("'{}' as {ours}", excerpt(name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_runs_has_a_label_that_tells_rows_apart_and_a_metric_that_is_judged() {
        for (header, is) in [
            ("environment,model,ttft_ms", true),
            ("name,params_b,quant,device,status,pp_tok_s,tg_tok_s,vram_mb,error,timestamp", true),
            ("ctx_tokens,prefill_tokens,prefill_tps,gen_tokens,gen_tps,kvcache_bytes", true),
            ("concurrency,n,ttft_p50_ms,decode_tps_p50,aggregate_tps,wall_s", true),
            ("Model,TTFT (ms)", true),
            ("ttft_ms,tpot_ms", false),
            ("model,prefill_tps", true),
            ("model,timestamp,avg_power_watts", false),
            ("request_id,concurrency,ttft_p50_ms", false),
            ("when,what", false),
        ] {
            assert_eq!(is_table(&header.split(',').collect::<Vec<_>>()), is, "{header}");
        }
    }

    #[test]
    fn the_name_of_the_contract_comes_before_what_people_call_it() {
        let columns = of_header(&["ttft_s", "ttft_ms", "name", "model"]);
        assert_eq!((&columns[0], &columns[2]), (&TableColumn::Unknown, &TableColumn::Unknown));
        assert_eq!(columns[3], TableColumn::Label(Label::Model));
        assert_eq!(of_header(&["name", "gen_tps"])[0], TableColumn::Label(Label::Model));
    }
}
