//! A plain table of runs: CSV, one row for each run, columns named as in the contracts.
//!
//! In:  a header with at least one metric and at least one label, then rows.  Out: one partial run for each row.
//! Not here: tables of requests, tables of other tools.
//!
//! An empty cell of a metric column is a missing figure, because the column promises it. A row with a cell of the wrong type is left out and
//! named, since its other figures may be shifted. A column of figures whose name the contracts do not know is kept beside the metrics. A
//! warning names it, since it may be a slip. A column of words is only mentioned.

use csv::StringRecord;

use super::figure::{Figure, excerpt, is_missing};
use super::flat::status;
use super::rows::{self, Rows};
use super::sheet::unit_of;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Instant, Metric, Status};
use sparkbench_text::error::{Error, Place};
use sparkbench_text::escape;

/// See the module.
pub(super) struct Table;

const RULE: &str = "table.row";
/// Why a figure in a column of another name is no metric.
const STRANGER: &str = "the name of the column is not a metric of ours";
/// Most columns of such figures. A row of more is no run.
const STRANGERS: usize = 256;

/// Content of a column that is no metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
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

/// Content of one column.
#[derive(Debug, Clone, PartialEq)]
enum Column {
    Label(Label),
    Metric(String),
    Unknown,
}

impl Column {
    fn of(name: &str) -> Self {
        match LABELS.iter().find(|(known, _)| *known == name) {
            Some((_, label)) => Self::Label(*label),
            None => Metric::of_catalogue(name).map_or(Self::Unknown, |metric| Self::Metric(metric.name)),
        }
    }
}

/// True for the names that mark a row as a run.
fn is_mark(name: &str) -> bool {
    matches!(name, "environment" | "model" | "workload")
}

impl Format for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn about(&self) -> About {
        About {
            tool: "a person or a script",
            versions: "",
            sign: "a CSV with a row for each run and metrics by their contract names",
            reads: "whatever stands in the columns",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let comma = head.header();
        let is_table = |names: &[&str]| {
            names.iter().any(|name| is_mark(name))
                && names.iter().any(|name| matches!(Column::of(name), Column::Metric(_)))
        };
        // Taken as well when separated by other signs, only to say what is wrong.
        let parted: Vec<&str> =
            comma.iter().flat_map(|cell| cell.split([';', '\t'])).map(|cell| cell.trim().trim_matches('"')).collect();
        is_table(&comma) || is_table(&parted)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut rows = Rows::new(&text);
        let (_, header) = rows.next().unwrap_or_else(|| Err(Error::archive("the table is empty")))?;
        let columns = columns(&header)?;
        let mut parsed = Parsed::default();
        let mut strangers = vec![(false, false); columns.len()];
        let mut marked = Vec::new();
        for row in rows {
            let (line, row) = match row {
                Ok(row) => row,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            for ((cell, column), (figures, words)) in row.iter().zip(&columns).zip(&mut strangers) {
                if *column == Column::Unknown && !is_missing(cell) {
                    *(if Figure::parse(cell).is_some() { figures } else { words }) = true;
                }
            }
            match run(file, line, &row, &header, &columns) {
                Ok(partial) => {
                    marked.extend(row.get(0).filter(|cell| cell.starts_with('#')).map(|_| line));
                    parsed.records.push(Record::Run(Box::new(partial)));
                }
                Err(error) => parsed.left_out.push(error),
            }
        }
        // Whoever put a `#` before a row to take it out has to hear that it counts.
        if let Some(first) = marked.first() {
            parsed.notes.push(format!(
                "{} of its runs start with '#', the first in line {first}. They count: only lines above the header are comments",
                marked.len()
            ));
        }
        for (name, (figures, words)) in header.iter().zip(strangers) {
            if figures {
                let name = excerpt(name);
                parsed
                    .notes
                    .push(format!("column '{name}' is not a metric of ours. Its figures are kept beside the metrics"));
            } else if words {
                parsed.notes.push(format!("column '{}' is not known and not read", excerpt(name)));
            }
        }
        Ok(parsed)
    }
}

fn columns(header: &StringRecord) -> Result<Vec<Column>, Error> {
    if let Some(sign) =
        [';', '\t'].into_iter().find(|sign| header.len() == 1 && header.iter().any(|cell| cell.contains(*sign)))
    {
        let shown = if sign == ';' { "';'" } else { "tabs" };
        return Err(Error::archive("cells are not parted by commas")
            .at(Place::Line(1))
            .detail(format!("expected ',', found {shown}"))
            .hint("save the table as CSV with commas, and with a point as the decimal sign"));
    }
    let mut seen: Vec<&str> = Vec::new();
    for name in header {
        if seen.contains(&name) && Column::of(name) != Column::Unknown {
            return Err(Error::archive("a column stands twice").at(Place::Field(excerpt(name))));
        }
        seen.push(name);
    }
    Ok(header.iter().map(Column::of).collect())
}

fn run(
    file: &SourceFile<'_>,
    line: u64,
    row: &StringRecord,
    header: &StringRecord,
    columns: &[Column],
) -> Result<PartialRun, Error> {
    rows::fits(line, header.len(), row.len())?;
    let mut partial = PartialRun { join_role: JoinRole::Alone, ..PartialRun::default() };
    let (mut outcome, mut exit_code) = (None, None);
    for ((name, cell), column) in header.iter().zip(row).zip(columns) {
        let unlike = |expected: &str| {
            Error::archive("a row is left out")
                .at(Place::LineField(line, name.to_owned()))
                .detail(format!("expected {expected}, found \"{}\"", excerpt(cell)))
        };
        let label = match column {
            Column::Label(label) => *label,
            Column::Metric(metric) => {
                let figure = Figure::parse(cell).ok_or_else(|| unlike("a number"))?;
                let origin = file.origin(Some(line), Some(name.to_owned()), RULE);
                partial.readings.push(figure.reading(metric.as_str(), origin));
                continue;
            }
            Column::Unknown => {
                if let Some(value) = Figure::parse(cell).and_then(Figure::finite)
                    && partial.extras.len() < STRANGERS
                {
                    let origin = file.origin(Some(line), Some(name.to_owned()), RULE);
                    partial.extras.push(Extra::number(name, unit_of(name).1, value, Some(STRANGER), origin));
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
            Label::Started => partial.started = moment()?,
            Label::Ended => partial.ended = moment()?,
            Label::Status => {
                outcome = Some(word(cell).ok_or_else(|| unlike("done, failed or unrecorded"))?);
            }
            Label::ExitCode => exit_code = Some(cell.parse::<i64>().map_err(|_| unlike("a whole number"))?),
            Label::ModelId => partial.setup.model_id = text(),
            Label::Machine => partial.setup.machine = text(),
            Label::Engine => partial.setup.engine = text(),
            Label::EngineVersion => partial.setup.engine_version = text(),
            Label::Quantisation => partial.setup.quantisation = text(),
            Label::Batch => partial.setup.batch = figure()?,
            Label::Isl => partial.setup.isl = figure()?,
            Label::Osl => partial.setup.osl = figure()?,
            Label::Requests => partial.setup.requests = figure()?,
            Label::Ignored => {}
        }
    }
    partial.setup.exit_code = exit_code;
    // A status in words is the source's own judgement. Without one the code decides.
    partial.status = match (outcome, status(exit_code)) {
        (Some(Status::Failed(_)), Some(Status::Failed(code))) => Some(Status::Failed(code)),
        (said, code) => said.or(code),
    };
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

/// `failed` may carry its reason behind a colon.
fn word(cell: &str) -> Option<Status> {
    let (word, reason) = cell.split_once(':').unwrap_or((cell, ""));
    match word.trim().to_ascii_lowercase().as_str() {
        "done" | "ok" | "completed" => Some(Status::Done),
        "failed" if reason.trim().is_empty() => Some(Status::Failed("the source says so".to_owned())),
        "failed" => Some(Status::Failed(reason.trim().to_owned())),
        "unrecorded" => Some(Status::Unrecorded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::ExtraValue;

    fn read(text: &str) -> Parsed {
        let mut input = text.as_bytes();
        Table.parse(&mut SourceFile::new("runs.csv", text.len() as u64, &mut input)).unwrap()
    }

    fn partials(parsed: &Parsed) -> Vec<&PartialRun> {
        parsed.records.iter().map(|r| if let Record::Run(p) = r { &**p } else { panic!("{r:?}") }).collect()
    }

    #[test]
    fn a_row_is_a_run_with_digits_line_and_column() {
        let parsed = read(
            "environment,model,repeat,exit_code,output_throughput_tok_s,ttft_ms_p99\r\nnative,\"a, b\",3,0,70.10,\r\n",
        );
        let run = partials(&parsed)[0];
        assert_eq!((run.model.as_deref(), run.repeat, &run.status), (Some("a, b"), Some(3), &Some(Status::Done)));
        assert_eq!((run.readings[0].value, run.readings[0].decimals), (70.1, Some(2)));
        assert_eq!(
            (run.readings[0].origin.line, run.readings[0].origin.field.as_deref()),
            (Some(2), Some("output_throughput_tok_s"))
        );
        assert!(run.readings[1].value.is_nan(), "an empty cell of a metric column is a missing figure");
    }

    #[test]
    fn a_bad_row_is_named_and_the_others_stay() {
        let parsed = read("environment,model,ttft_ms\na,m,1.5\na,m,fast\n,m,2\na,m\na,m,inf\n");
        let faults: Vec<String> = parsed.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(partials(&parsed).len(), 2);
        assert_eq!(
            faults,
            [
                "a row is left out\n  where: line 3, field 'ttft_ms': expected a number, found \"fast\"",
                "a row is left out\n  where: line 4, field 'environment': expected a name, found \"\"",
                "a row is left out\n  where: line 5: expected 3 cells, found 2",
            ]
        );
    }

    #[test]
    fn a_stranger_column_of_figures_is_kept_beside_and_one_of_words_is_only_named() {
        let parsed = read("environment,model,ttft_ms,ttft_s,remark\na,m,1,0.001,slow day\nb,m,2,,\n");
        assert_eq!((parsed.left_out.len(), parsed.notes.len()), (0, 2));
        assert!(parsed.notes[0].starts_with("column 'ttft_s' is not a metric of ours"), "{:?}", parsed.notes);
        let [first, second] = partials(&parsed)[..] else { panic!() };
        let [extra] = first.extras.as_slice() else { panic!("{:?}", first.extras) };
        assert_eq!(
            (extra.name.as_str(), extra.unit.as_str(), &extra.value),
            ("ttft_s", "s", &ExtraValue::Number(0.001))
        );
        assert_eq!((extra.origin.line, second.extras.len()), (Some(2), 0));
    }

    /// Issue 30: our own downloads hold names that a spreadsheet would run, and are read back.
    #[test]
    fn an_apostrophe_that_keeps_a_cell_from_being_run_is_no_part_of_the_name() {
        let parsed = read("environment,model,ttft_ms\n'=1+1,'a',1\n'@x,'-2,2\n");
        let names: Vec<_> =
            partials(&parsed).iter().map(|run| (run.environment.as_deref(), run.model.as_deref())).collect();
        assert_eq!(names, [(Some("=1+1"), Some("'a'")), (Some("@x"), Some("-2"))]);
    }

    #[test]
    fn semicolons_and_doubled_columns_are_refused() {
        for (text, word) in [
            ("environment;model;ttft_ms\na;m;1,5\n", "found ';'"),
            ("environment,model,ttft_ms,ttft_ms\n", "stands twice"),
        ] {
            let mut input = text.as_bytes();
            let error = Table.parse(&mut SourceFile::new("runs.csv", 1, &mut input)).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_row_that_begins_with_a_hash_is_a_row() {
        let parsed = read("# above\nenvironment,model,ttft_ms\na,m,1\n# a remark\n#b,m,2\n");
        let faults: Vec<String> = parsed.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(faults, ["a row is left out\n  where: line 4: expected 3 cells, found 1"]);
        let names: Vec<_> = partials(&parsed).iter().map(|run| run.environment.as_deref()).collect();
        assert_eq!(names, [Some("a"), Some("#b")]);
        assert!(parsed.notes[0].starts_with("1 of its runs start with '#', the first in line 5"), "{:?}", parsed.notes);
    }
}
