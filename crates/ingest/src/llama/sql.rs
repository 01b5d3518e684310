//! The statements of `llama-bench -o sql`: a table, and a row for each test.
//!
//! In:  text.  Out: rows of named cells, each with its line.
//! Not here: what a column means, any other SQL.
//!
//! The program puts every value in single quotes and escapes none, so a path with a quote inside is not valid SQL. Here a quote ends a value
//! only where a comma or the closing bracket follows. That reads what the program wrote, and also what a database dumped. A database doubles
//! quotes, leaves numbers bare, and names the columns in the table alone.

use std::borrow::Cow;

use sparkbench_text::error::{Error, Place};

const TABLE: &str = "CREATE TABLE";
const INSERT: &str = "INSERT INTO";
const VALUES: &str = "VALUES";
/// Far more columns than a test has.
const COLUMNS: usize = 512;

/// One inserted row.
pub(super) struct SqlRow<'t> {
    /// Line of its statement.
    pub line: u64,
    /// Names and values. What is NULL is left out.
    pub cells: Vec<(&'t str, Cow<'t, str>)>,
}

/// True for statements that insert into a table with these columns.
pub(super) fn is(text: &str, columns: &[&str]) -> bool {
    let start = text.trim_start();
    let begins = [TABLE, INSERT, "PRAGMA", "BEGIN"].iter().any(|word| start.starts_with(word));
    begins && columns.iter().all(|name| start.contains(name))
}

/// The rows of a text. A statement that is cut off or does not fit its columns is an error that names its line.
pub(super) fn rows(text: &str) -> impl Iterator<Item = Result<SqlRow<'_>, Error>> {
    let declared = declared(text);
    (1u64..).zip(text.lines()).filter_map(move |(line, statement)| {
        let statement = statement.trim().strip_prefix(INSERT)?;
        let broken =
            |detail: &str| Err(Error::archive("a row is left out").at(Place::Line(line)).detail(detail.to_owned()));
        let Some((into, values)) = statement.split_once(VALUES) else { return Some(broken("it has no values")) };
        let named = into.split_once('(').map(|(_, names)| names.trim_end().trim_end_matches(')'));
        let names: Vec<&str> =
            named.map_or_else(|| declared.clone(), |names| names.split(',').map(str::trim).collect());
        let Some(values) = cells(values.trim_start()) else { return Some(broken("it was cut off")) };
        if names.len() != values.len() {
            return Some(broken("it has not as many values as columns"));
        }
        let cells = names.into_iter().zip(values).filter_map(|(name, value)| value.map(|value| (name, value)));
        Some(Ok(SqlRow { line, cells: cells.collect() }))
    })
}

/// Columns of the table, for rows that name none.
fn declared(text: &str) -> Vec<&str> {
    let inside = text.split_once(TABLE).and_then(|(_, rest)| rest.split_once('(')).map_or("", |(_, rest)| rest);
    let inside = inside.split_once(';').map_or("", |(inside, _)| inside);
    inside.split(',').take(COLUMNS).filter_map(|column| column.split_whitespace().next()).collect()
}

/// The values of `('a', 7, NULL);`, without those that are NULL. Nothing when it does not end.
fn cells(text: &str) -> Option<Vec<Option<Cow<'_, str>>>> {
    let mut rest = text.strip_prefix('(')?;
    let mut cells = Vec::new();
    while cells.len() < COLUMNS {
        rest = rest.trim_start();
        let (cell, after) = match rest.strip_prefix('\'') {
            Some(quoted) => {
                let end = closing(quoted)?;
                (Some(plain(quoted.get(..end)?)), quoted.get(end + 1..)?.trim_start())
            }
            None => {
                let end = rest.find([',', ')'])?;
                let word = rest.get(..end)?.trim();
                (Some(Cow::Borrowed(word)).filter(|_| word != "NULL"), rest.get(end..)?)
            }
        };
        cells.push(cell);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return after.starts_with(')').then_some(cells),
        }
    }
    None
}

/// Place of the quote that ends a value: the first before a comma and a value, or before the bracket that ends the statement.
fn closing(quoted: &str) -> Option<usize> {
    quoted.match_indices('\'').map(|(place, _)| place).find(|place| {
        let after = quoted.get(place + 1..).unwrap_or_default().trim_start();
        let next = after.strip_prefix(',').map(str::trim_start);
        next.is_some_and(|next| next.starts_with(['\'', '-', 'N']) || next.starts_with(|c: char| c.is_ascii_digit()))
            || after.strip_prefix(')').is_some_and(|end| end.trim_start().starts_with(';'))
    })
}

fn plain(value: &str) -> Cow<'_, str> {
    if value.contains("''") { Cow::Owned(value.replace("''", "'")) } else { Cow::Borrowed(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Vec<String>> {
        cells(text).map(|cells| cells.into_iter().map(|cell| cell.unwrap_or_default().into_owned()).collect())
    }

    #[test]
    fn values_with_quotes_inside_end_where_the_program_ended_them() {
        for (text, expected) in [
            ("('a', '7');", Some(vec!["a", "7"])),
            ("('it's', '7');", Some(vec!["it's", "7"])),
            ("('it''s, (so)',7,NULL,-1.5);", Some(vec!["it's, (so)", "7", "", "-1.5"])),
            ("('', '');", Some(vec!["", ""])),
            ("('a', '7", None),
            ("('a'", None),
            ("a", None),
            ("(", None),
        ] {
            assert_eq!(of(text), expected.map(|cells| cells.into_iter().map(str::to_owned).collect()), "{text}");
        }
    }

    #[test]
    fn a_dump_takes_its_columns_from_the_table() {
        let text = "PRAGMA foreign_keys=OFF;\nCREATE TABLE llama_bench (\n  avg_ns INTEGER,\n  avg_ts REAL\n);\nINSERT INTO llama_bench VALUES(5,1.5);\nINSERT INTO llama_bench VALUES(5);\n";
        assert!(is(text, &["avg_ns", "avg_ts"]) && !is(text, &["avg_ms"]));
        let found: Vec<_> = rows(text).collect();
        let row = found[0].as_ref().unwrap();
        assert_eq!((row.line, row.cells.len(), row.cells[1].0, row.cells[1].1.as_ref()), (6, 2, "avg_ts", "1.5"));
        assert!(found[1].is_err());
    }
}
