//! Reads a figure from a file of a run: by JSON pointer, column, pattern, or whole.
//!
//! In:  a discovered file.  Out: [`Taken`], with the place.
//! Not here: which file it is (see `of_run`).
//!
//! Files are read as all files are: packed or not, a line at a time or whole below the limit. A pattern takes time linear in the text.

use crate::SourceFile;
use crate::at::At;
use crate::figure::{Figure, excerpt, thousands};
use crate::json::{self, Kind, Node};
use crate::one_line::one_line;
use crate::rows::Rows;
use crate::source_file::{self, unreadable};
use sparkbench_archive::{Found, LINE_LIMIT};
use sparkbench_model::formula::definition::Take;
use sparkbench_model::formula::{Aggregate, over};

/// Most values that are taken of one file.
const VALUES_MAX: usize = 10_000_000;

/// A figure and where it is.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub value: f64,
    /// Digits after the point, where one text was read.
    pub decimals: Option<u8>,
    pub line: Option<u64>,
    pub field: Option<String>,
}

/// Findings on the way.
#[derive(Default)]
struct Values {
    values: Vec<f64>,
    last: Option<(Option<u8>, u64)>,
}

impl Values {
    fn push(&mut self, figure: Figure, line: u64) {
        // Missing is missing. It is no value.
        if figure.value.is_finite() && self.values.len() < VALUES_MAX {
            self.values.push(figure.value);
            self.last = Some((figure.decimals, line));
        }
    }
}

/// Takes the figure.
///
/// # Errors
/// Why there is none, in a few words.
pub(super) fn take(file: &Found, how: &Take, aggregate: Aggregate) -> Result<Taken, String> {
    source_file::opened(file, |text| {
        let (found, field) = match how {
            Take::Pointer(pointer) => (by_pointer(text, pointer)?, Some(pointer.clone())),
            Take::Column(column) => (by_column(text, column)?, Some(column.clone())),
            Take::Pattern(regex, group) => (by_pattern(text, regex, *group)?, None),
            Take::Whole => (whole(text)?, None),
        };
        let (Some((decimals, line)), false) = (found.last, found.values.is_empty()) else {
            return Err("it holds no finite number there".to_owned());
        };
        let value = over(aggregate, &found.values)?;
        // One value has a line and digits of its own. Of several the aggregate is named instead.
        let single = found.values.len() == 1 || aggregate == Aggregate::Last;
        Ok(Taken { value, decimals: decimals.filter(|_| single), line: Some(line).filter(|_| single), field })
    })
    .map_err(|error| one_line(&error))?
    .map_err(|why| format!("{}: {why}", file.path.rsplit('/').next().unwrap_or(&file.path)))
}

fn text_of(file: &mut SourceFile<'_>) -> Result<String, String> {
    file.text().map_err(|error| one_line(&error))
}

/// The value at a JSON pointer (RFC 6901).
fn walk<'n>(root: &'n Node<'n>, pointer: &str) -> Option<&'n Node<'n>> {
    pointer.split('/').skip(1).try_fold(root, |node, word| {
        let word = word.replace("~1", "/").replace("~0", "~");
        match &node.kind {
            Kind::Map(entries) => entries.iter().rev().find(|(key, _)| *key == word).map(|(_, value)| value),
            Kind::List(items) => items.get(word.parse::<usize>().ok()?),
            _ => None,
        }
    })
}

/// A number at a pointer, or the numbers of a list there. JSON Lines are asked line by line.
fn by_pointer(file: &mut SourceFile<'_>, pointer: &str) -> Result<Values, String> {
    let text = text_of(file)?;
    let mut found = Values::default();
    let mut there = false;
    let mut one = |text: &str, first: u64| -> Result<(), String> {
        let node = json::parse(text).map_err(|error| one_line(&error))?;
        let Some(place) = walk(&node, pointer) else { return Ok(()) };
        there = true;
        let line = |node: &Node<'_>| first + u64::from(node.line) - 1;
        match &place.kind {
            Kind::List(items) => {
                for item in items {
                    if let Ok(figure) = At::root(item).figure() {
                        found.push(figure, line(item));
                    }
                }
            }
            _ => {
                let figure = At::root(place).figure().map_err(|error| one_line(&error))?;
                found.push(figure, line(place));
            }
        }
        Ok(())
    };
    // One document, or else one for each line.
    if let Err(whole) = one(&text, 1) {
        let mut lines = text.lines().zip(1_u64..).filter(|(line, _)| !line.trim().is_empty());
        if lines.clone().nth(1).is_none() || lines.try_for_each(|(line, number)| one(line, number)).is_err() {
            return Err(whole);
        }
    }
    if there { Ok(found) } else { Err(format!("it has nothing at {pointer}")) }
}

fn by_column(file: &mut SourceFile<'_>, column: &str) -> Result<Values, String> {
    let text = text_of(file)?;
    let mut rows = Rows::new(&text).map(|row| row.map_err(|error| one_line(&error)));
    let (_, header) = rows.next().unwrap_or_else(|| Ok((1, csv::StringRecord::new())))?;
    let Some(place) = header.iter().position(|name| name == column) else {
        let known: Vec<&str> = header.iter().take(12).collect();
        return Err(format!("it has no column '{column}' among {}", excerpt(&known.join(", "))));
    };
    let mut found = Values::default();
    for row in rows {
        let (line, row) = row?;
        if let Some(figure) = row.get(place).and_then(Figure::parse) {
            found.push(figure, line);
        }
    }
    Ok(found)
}

fn by_pattern(file: &mut SourceFile<'_>, regex: &regex::Regex, group: usize) -> Result<Values, String> {
    let mut found = Values::default();
    let mut lines = file.lines(LINE_LIMIT);
    let mut odd = None;
    while let Some(line) = lines.next_line().map_err(|cause| one_line(&unreadable(cause)))? {
        let text = String::from_utf8_lossy(line.bytes);
        for caught in regex.captures_iter(&text).filter_map(|captures| captures.get(group)) {
            let caught = caught.as_str().trim();
            let digits = if thousands(caught) { caught.replace(',', "") } else { caught.to_owned() };
            match Figure::parse(&digits) {
                Some(figure) => found.push(figure, line.number),
                None => odd = Some(excerpt(caught)),
            }
        }
    }
    match odd {
        Some(odd) if found.values.is_empty() => Err(format!("the pattern caught \"{odd}\", which is not a number")),
        _ if found.values.is_empty() => Err("the pattern fits no line".to_owned()),
        _ => Ok(found),
    }
}

/// A file that holds one number, and blanks.
fn whole(file: &mut SourceFile<'_>) -> Result<Values, String> {
    let text = text_of(file)?;
    let figure = Figure::parse(text.trim())
        .ok_or_else(|| format!("it holds \"{}\", which is not a number: give a pattern", excerpt(text.trim())))?;
    let mut found = Values::default();
    found.push(figure, 1);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_table_that_begins_with_a_hash_counts() {
        let text = "# ttft_ms of each try\nname, ttft_ms\na, 1.5\n#2, 2.5\n# a remark\nc, 3.5\n";
        let mut input = text.as_bytes();
        let found = by_column(&mut SourceFile::new("t.csv", text.len() as u64, &mut input), "ttft_ms").unwrap();
        assert_eq!((found.values, found.last), (vec![1.5, 2.5, 3.5], Some((Some(1), 6))));
    }
}
