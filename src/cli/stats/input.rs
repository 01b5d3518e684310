//! Numbers from files: one a line, a JSON array, a column of a table, or one run a line.
//!
//! In:  a path, `-` for standard input.  Out: values in the order of the file; missing ones are NaN.
//! Not here: what to do about missing and infinite ones (see [`sparkbench_stats::Sample`]).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sparkbench_archive as archive;
use sparkbench_archive::given::refuse_endless;
use sparkbench_text::error::{Error, Place};
use sparkbench_text::excerpt::excerpt;

/// Most bytes that are read: far beyond any list of measurements, and short of what a machine cannot hold.
const MAX_BYTES: u64 = 1 << 30;
/// Longest piece of a file that an error quotes.
const QUOTED: usize = 40;

/// What the file looks like.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format<'a> {
    /// A number a line, or a JSON array.
    Plain,
    /// A column of a table with a header line.
    Column(&'a str),
}

/// Reads a sample. Missing values are NaN.
pub(super) fn numbers(path: &Path, format: Format) -> Result<Vec<f64>, Error> {
    let text = text(path)?;
    match format {
        Format::Column(column) => table_column(&text, column, path),
        Format::Plain if text.trim_start().starts_with('[') => array(&text, path),
        Format::Plain => lines(&text).map(|(line, cell)| number(cell, line, path)).collect(),
    }
}

/// Reads p-values. Missing ones are no members of the family.
pub(super) fn p_values(path: &Path, format: Format) -> Result<Vec<Option<f64>>, Error> {
    let values = numbers(path, format)?;
    if let Some((i, p)) = values.iter().enumerate().find(|(_, p)| **p < 0.0 || **p > 1.0) {
        return Err(unreadable(path, "p-values").detail(format!("value {}: expected 0 to 1, found {p}", i + 1)));
    }
    Ok(values.into_iter().map(|p| (!p.is_nan()).then_some(p)).collect())
}

/// Reads runs, one a line, requests separated by commas. Missing requests are left out. Infinite ones are refused, since no percentile
/// of the run could be trusted. Empty lines are no runs.
pub(super) fn nested(path: &Path) -> Result<Vec<Vec<f64>>, Error> {
    let text = text(path)?;
    let mut runs = Vec::new();
    for (line, content) in lines(&text).filter(|(_, content)| !content.trim().is_empty()) {
        let mut run = Vec::new();
        for cell in content.split(',') {
            let value = number(cell, line, path)?;
            if value.is_infinite() {
                return Err(bad_cell(path, line, "a finite number", cell));
            }
            if !value.is_nan() {
                run.push(value);
            }
        }
        runs.push(run);
    }
    Ok(runs)
}

/// Reads the order of runs: 0 for `a`, 1 for `b`, as often as the arms have lines.
pub(super) fn order(path: &Path, a: &[f64], b: Option<&[f64]>) -> Result<Vec<usize>, Error> {
    let text = text(path)?;
    let labels = lines(&text)
        .filter(|(_, cell)| !cell.trim().is_empty())
        .map(|(line, cell)| match cell.trim() {
            "a" | "A" => Ok(0),
            "b" | "B" => Ok(1),
            _ => Err(bad_cell(path, line, "'a' or 'b'", cell)),
        })
        .collect::<Result<Vec<usize>, Error>>()?;
    for (arm, name, expected) in [(0, 'a', Some(a.len())), (1, 'b', b.map(<[f64]>::len))] {
        let found = labels.iter().filter(|label| **label == arm).count();
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(unreadable(path, "an order of runs")
                .detail(format!("'{name}' occurs {found} times, but {} has {expected} lines", name.to_uppercase()))
                .hint("give one line per run, also for runs without a value"));
        }
    }
    Ok(labels)
}

fn text(path: &Path) -> Result<String, Error> {
    let fail = |cause| {
        Error::archive(format!("cannot read {}", shown(path)))
            .hint("give a file with one number a line, or - for standard input")
            .because(cause)
    };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        refuse_endless(path)?;
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(fail)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unreadable(path, "numbers").detail(format!("it holds more than {} MiB", MAX_BYTES >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|cause| {
        let good = cause.utf8_error().valid_up_to();
        let line = 1 + cause.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count();
        unreadable(path, "numbers").at(Place::Line(line as u64)).detail("it is not UTF-8 text")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Lines with their numbers, counted from 1.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines())
}

/// One cell: a number, or one of the spellings of missing and infinite.
fn number(cell: &str, line: u64, path: &Path) -> Result<f64, Error> {
    let cell = cell.trim();
    if cell.is_empty() || ["null", "nan"].iter().any(|word| cell.eq_ignore_ascii_case(word)) {
        return Ok(f64::NAN);
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_infinite() && cell.contains(|c: char| c.is_ascii_digit()) => {
            Err(bad_cell(path, line, "a number within the range of a double", cell))
        }
        Ok(value) => Ok(value),
        Err(_) => {
            let error = bad_cell(path, line, "a number", cell);
            Err(if cell.contains([',', ';', '\t']) {
                error.hint("for a table, name the column with --column. For one run a line, use --nested")
            } else if line == 1 {
                error.hint("for a table with a header line, name the column with --column")
            } else {
                error
            })
        }
    }
}

/// A flat JSON array. Python also writes NaN and Infinity there, which JSON has no words for. They are taken for what they mean.
fn array(text: &str, path: &Path) -> Result<Vec<f64>, Error> {
    let broken = |line, what: &str| unreadable(path, "a JSON array of numbers").at(Place::Line(line)).detail(what);
    let last_line = text.trim_end().lines().count() as u64;
    let inner = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or_else(|| broken(last_line, "expected ']' at the end: the file may be cut off"))?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    // Where the array starts, counting blank lines before the bracket.
    let mut line = 1 + text.len().checked_sub(text.trim_start().len()).map_or(0, |skip| newlines(&text[..skip]));
    let mut values = Vec::new();
    for cell in inner.split(',') {
        let leading = cell.len() - cell.trim_start().len();
        let here = line + newlines(&cell[..leading]);
        line += newlines(cell);
        let bare = cell.trim();
        let word = bare.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(bare);
        if word.trim().is_empty() {
            return Err(broken(here, "expected a number between two commas, found nothing"));
        }
        values.push(number(word, here, path)?);
    }
    Ok(values)
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn table_column(text: &str, column: &str, path: &Path) -> Result<Vec<f64>, Error> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let fail = |cause: csv::Error| {
        let error = unreadable(path, "a table");
        match cause.position().map(csv::Position::line) {
            Some(line) => error.at(Place::Line(line)).detail(cause.to_string()),
            None => error.because(cause),
        }
    };
    let header = reader.headers().map_err(fail)?.clone();
    let mut found = header.iter().enumerate().filter(|(_, name)| *name == column).map(|(i, _)| i);
    let Some(index) = found.next() else {
        let names: Vec<&str> = header.iter().collect();
        return Err(Error::usage(format!("{} has no column '{column}'", shown(path)))
            .hint(format!("its columns are: {}", names.join(", "))));
    };
    if found.next().is_some() {
        return Err(unreadable(path, "a table").at(Place::Field(column.into())).detail("two columns have this name"));
    }
    let mut values = Vec::new();
    for record in reader.records() {
        let record = record.map_err(fail)?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = number(record.get(index).unwrap_or(""), line, path);
        values.push(value.map_err(|error| error.at(Place::LineField(line, column.into())))?);
    }
    Ok(values)
}

fn bad_cell(path: &Path, line: u64, expected: &str, found: &str) -> Error {
    let quoted = excerpt(found.trim().chars(), QUOTED);
    unreadable(path, "numbers").at(Place::Line(line)).detail(format!("expected {expected}, found {quoted:?}"))
}

fn unreadable(path: &Path, kind: &str) -> Error {
    Error::archive(format!("cannot read {} as {kind}", shown(path)))
}

fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { format!("'{}'", archive::shown(path)) }
}
