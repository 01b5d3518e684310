//! `sparkbench table`: the table of runs, of groups of them, or of requests, for notebooks, databases and people.
//!
//! In:  paths, what is wanted of them.  Out: CSV, JSON lines, Parquet, or a text for people.
//! Not here: how a table is built and written (see `frame`), what a group says (see `stats`), judgements.

mod choose;
mod text;

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use super::intake::{self, CONFIDENCE, Judging};
use super::privacy;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::{shown, write_atomic, write_atomic_by};
use sparkbench_design::Keep;
use sparkbench_frame::{self as frame, GroupSummary, RequestTable, TableFormat, TableWriter};
use sparkbench_model::Run;
use sparkbench_stats as stats;
use sparkbench_text::error::Error;
use sparkbench_text::plural::{count, list};

/// Write the table of runs, of groups of them or of requests, for notebooks and databases
///
/// A run is a row. Its columns are the settings and metrics that any run has. Nothing is judged. A cell that no file fills is empty. On a
/// terminal the table is laid out for people. In a pipe or a file it is CSV, unless --format or the name of the file says otherwise.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench table results\n  sparkbench table results -o runs.parquet\n  \
                        sparkbench table results --requests -o requests.parquet\n  \
                        sparkbench table results --where quantisation=fp8,bf16 --where 'status!=failed'\n  \
                        sparkbench table results --group quantisation,concurrency --columns ttft_ms\n  \
                        sparkbench table results --columns '?'         every column with its unit and meaning\n\n\
                        Exit codes: 0 written, 2 usage, 5 an input could not be read or the table not be written.")]
pub(crate) struct Table {
    /// Archives, and folders or files with results of any tool
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write a row for each request instead of each run
    #[arg(long)]
    requests: bool,
    /// Keep the runs that have one of these levels of a setting, or with != those that have none of them. May be repeated
    #[arg(long = "where", value_name = "SETTING=LEVEL,...", value_parser = Keep::parse)]
    conditions: Vec<Keep>,
    /// Write these columns only, in this order. `?` lists all with their units and meanings
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    columns: Vec<String>,
    /// Write a row for each group of runs that are alike in these settings: mean, n, standard deviation and half of the 95 % interval of each metric
    #[arg(long, value_name = "SETTING,...", value_delimiter = ',', conflicts_with = "requests")]
    group: Vec<String>,
    /// Form of the table. `text` is for people
    #[arg(long, value_name = "FORM", value_parser = ["csv", "jsonl", "parquet", "text"])]
    format: Option<String>,
    /// Write to a file. Its ending says the form: .csv, .jsonl or .parquet
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace names of users and hosts, addresses, serial numbers and secrets, as a site does
    #[arg(long)]
    scrub: bool,
    /// File with labels that files lack (environment, model, workload), by glob
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// File with definitions of metrics for every campaign, in addition to its own
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// File with facts of machines, models and prices that come before the shipped ones
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
}

/// Asks for the list of columns.
const LIST: &str = "?";

/// Rows of requests that a text for people shows. More are for a program.
const ROWS_SHOWN: usize = 50;

/// Settings that a warning names. The rest is counted.
const NAMED: usize = 4;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 18;

/// Student's interval of the mean, as the meaning of a column has it.
const INTERVAL: &str = "Student's 95 % interval";

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Data(TableFormat),
    /// For people.
    Text,
}

/// Rows to be written.
enum Rows<'r> {
    One(frame::Table),
    /// Batch by batch, these columns.
    Batches(RequestTable<'r>, Vec<String>),
}

/// Reads, chooses, writes.
///
/// # Errors
/// No run in any path, a column or level that there is not, an output that cannot be written.
pub(crate) fn run(args: &Table, talk: &Talk) -> Result<(), Error> {
    let form = form(args, io::stdout().is_terminal())?;
    if let Some(file) = &args.output {
        stays_outside(file, &args.paths)?;
    }
    let judging = Judging {
        labels: args.labels.clone(),
        metrics: args.metrics.clone(),
        facts: args.facts.clone(),
        // No request has a gap of its own, and they would be most of what is read.
        without_gaps: args.requests,
        ..Judging::default()
    };
    let (intake, scrubbed) = intake::scrubbed_runs_of(&args.paths, &judging, args.scrub, talk)?;
    if let Some(scrubbed) = scrubbed {
        let said = privacy::counts(&scrubbed.scrub.places());
        talk.say(&if said.is_empty() { "nothing had to be replaced".to_owned() } else { format!("replaced {said}") });
    }
    // Figures that follow from others are of whole runs.
    let mut runs: Vec<Run> = if args.requests { intake.runs } else { intake::study_of(intake)?.runs };
    let all = frame::Table::of_runs(&runs)?;
    let kept = choose::kept(&all, &args.conditions)?;
    if args.requests {
        let mut kept = kept.iter();
        runs.retain(|_| kept.next().copied().unwrap_or(false));
        return write(&requests(&runs, args, talk)?, form, args, talk);
    }
    let table = all.kept(&kept)?;
    let table = if args.group.is_empty() { table } else { grouped(&table, args, talk)? };
    if table.height() == 0 {
        talk.warn("no run is left");
    }
    write(&Rows::One(selected(table, args)?), form, args, talk)
}

/// The requests of these runs. Tells what cannot be a column.
fn requests<'r>(runs: &'r [Run], args: &Table, talk: &Talk) -> Result<Rows<'r>, Error> {
    let requests = RequestTable::of_runs(runs);
    if requests.rows() == 0 {
        talk.warn("no run has figures of single requests");
    }
    for (metric, runs) in requests.left_out() {
        talk.warn(&format!(
            "{metric} is left out of {}: it has fewer values than there are requests, so nobody can tell whose they are",
            count(runs, "run")
        ));
    }
    let head = requests.head()?;
    if is_list(args) {
        return Ok(Rows::One(head));
    }
    let names = match args.columns.is_empty() {
        true => head.columns().iter().map(|column| column.name.clone()).collect(),
        false => choose::columns(&head, &args.columns, &[])?,
    };
    Ok(Rows::Batches(requests, names))
}

/// A row for each group. Tells over what the means are.
fn grouped(table: &frame::Table, args: &Table, talk: &Talk) -> Result<frame::Table, Error> {
    let keys = choose::keys(table, &args.group)?;
    let done = table.without_failed()?;
    if done.height() < table.height() {
        talk.say(&format!("{} left out of the groups", count(table.height() - done.height(), "failed run")));
    }
    let pooled = done.pooled(&keys)?;
    if !pooled.is_empty() {
        let mut named: Vec<String> =
            pooled.iter().take(NAMED).map(|(name, levels)| format!("{name} ({})", levels.join(", "))).collect();
        named.extend((pooled.len() > NAMED).then(|| format!("{} more", pooled.len() - NAMED)));
        talk.warn(&format!(
            "a group holds several levels of {}. Its means are over all of them. Add them to --group, or choose with --where",
            list(&named)
        ));
    }
    done.grouped(&keys, INTERVAL, &summary)
}

/// What several launches say of one metric.
fn summary(values: &[f64]) -> Option<GroupSummary> {
    let interval = stats::descriptive::t_interval(values, None, CONFIDENCE);
    Some(GroupSummary {
        mean: stats::sample::mean(values),
        sd: stats::sample::sd(values),
        half_width: interval.map(|(low, high)| (high - low) / 2.0),
    })
}

fn selected(table: frame::Table, args: &Table) -> Result<frame::Table, Error> {
    if args.columns.is_empty() || is_list(args) {
        return Ok(table);
    }
    let keys = if args.group.is_empty() { Vec::new() } else { choose::keys(&table, &args.group)? };
    let names = choose::columns(&table, &args.columns, &keys)?;
    table.selected(&names)
}

fn is_list(args: &Table) -> bool {
    args.columns.iter().any(|name| name == LIST)
}

/// The form that was asked for, else that of the name of the file, else what suits the reader.
fn form(args: &Table, terminal: bool) -> Result<Form, Error> {
    let by_name = |name: &str| match name {
        "csv" => Some(Form::Data(TableFormat::Csv)),
        "jsonl" | "ndjson" => Some(Form::Data(TableFormat::Jsonl)),
        "parquet" => Some(Form::Data(TableFormat::Parquet)),
        "text" | "txt" => Some(Form::Text),
        _ => None,
    };
    if let Some(form) = args.format.as_deref().and_then(by_name) {
        return match form {
            Form::Data(TableFormat::Parquet) if args.output.is_none() && terminal && !is_list(args) => {
                Err(Error::usage("a terminal cannot show Parquet").hint("name a file with -o"))
            }
            form => Ok(form),
        };
    }
    let Some(file) = &args.output else {
        return Ok(if terminal { Form::Text } else { Form::Data(TableFormat::Csv) });
    };
    let Some(ending) = file.extension() else { return Ok(Form::Data(TableFormat::Csv)) };
    by_name(&ending.to_string_lossy().to_lowercase()).ok_or_else(|| {
        Error::usage(format!("-o {}: the ending names no form", shown(file)))
            .hint("end it in .csv, .jsonl or .parquet, or say the form with --format")
    })
}

/// Refuses a file among the results: the next reading would take the table for one of them.
fn stays_outside(file: &Path, paths: &[PathBuf]) -> Result<(), Error> {
    let Ok(whole) = std::path::absolute(file) else { return Ok(()) };
    // Of what is not there yet, the nearest folder that is.
    let there = whole.ancestors().find_map(|part| Some((part.canonicalize().ok()?, whole.strip_prefix(part).ok()?)));
    let Some((folder, rest)) = there else { return Ok(()) };
    let whole = folder.join(rest);
    let around = paths.iter().find(|path| path.canonicalize().is_ok_and(|path| whole.starts_with(path)));
    around.map_or(Ok(()), |path| {
        Err(Error::usage(format!("-o {} lies in '{}', which is read", shown(file), shown(path)))
            .detail("the next reading would take the table for a result")
            .hint("write it to a place outside"))
    })
}

fn write(rows: &Rows<'_>, form: Form, args: &Table, talk: &Talk) -> Result<(), Error> {
    if is_list(args) {
        return print(&text::list(&rows.head()?));
    }
    match (form, &args.output) {
        (Form::Text, file) => {
            let text = rows.text(!args.columns.is_empty(), talk.width())?;
            file.as_ref().map_or_else(|| print(&text), |file| write_atomic(file, text.as_bytes()))
        }
        (Form::Data(format), None) => {
            let mut out = BufWriter::with_capacity(BUFFER, Patient(io::stdout().lock()));
            rows.write(format, &mut out)?;
            out.flush().map_err(|cause| Error::archive("cannot write to standard output").because(cause))
        }
        (Form::Data(format), Some(file)) => {
            write_atomic_by(file, &mut |out| {
                let mut out = BufWriter::with_capacity(BUFFER, out);
                rows.write(format, &mut out).map_err(io::Error::other)?;
                out.flush()
            })?;
            talk.say(&format!("{} in {}", count(rows.height(), "row"), shown(file)));
            Ok(())
        }
    }
}

impl Rows<'_> {
    fn height(&self) -> usize {
        match self {
            Self::One(table) => table.height(),
            Self::Batches(requests, _) => requests.rows(),
        }
    }

    /// The columns. It need not have all rows.
    fn head(&self) -> Result<frame::Table, Error> {
        match self {
            Self::One(table) => Ok(table.clone()),
            Self::Batches(requests, names) => requests.head()?.selected(names),
        }
    }

    fn write(&self, format: TableFormat, out: &mut dyn Write) -> Result<(), Error> {
        let head = self.head()?;
        match self {
            Self::One(table) => {
                let mut writer = TableWriter::new(format, out, &head, "sparkbench.table-runs/1")?;
                writer.add(table)?;
                writer.finish()
            }
            Self::Batches(requests, names) => {
                let mut writer = TableWriter::new(format, out, &head, "sparkbench.table-requests/1")?;
                requests.batches().try_for_each(|batch| writer.add(&batch?.selected(names)?))?;
                writer.finish()
            }
        }
    }

    /// For people. `chosen`: every column was asked for by its name.
    fn text(&self, chosen: bool, width: usize) -> Result<String, Error> {
        match self {
            Self::One(table) if chosen => text::whole(table),
            Self::One(table) => text::fitted(table, width),
            Self::Batches(requests, names) => {
                let first = requests.batches().next().unwrap_or_else(|| requests.head())?;
                let mut text = text::whole(&first.selected(names)?.head(ROWS_SHOWN))?;
                let more = self.height().saturating_sub(ROWS_SHOWN);
                if more > 0 {
                    text.push_str(&format!("{} more. -o FILE writes all\n", count(more, "row")));
                }
                Ok(text)
            }
        }
    }
}

/// A reader that goes away (`| head`) is no fault: what it does not want is dropped.
struct Patient<W>(W);

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}
