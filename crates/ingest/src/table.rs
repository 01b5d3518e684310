//! A plain table of runs: CSV, one row for each run, columns named as in the contracts or as people call them. The same in JSON.
//!
//! In:  a header with at least one metric and at least one label, then rows. Or a list of objects with such keys.  Out: one partial run for
//! each row.
//! Not here: tables of requests, tables of other tools.
//!
//! An empty cell of a metric column is a missing figure, because the column promises it. A row with a cell of the wrong type is left out and
//! named, since its other figures may be shifted. A column of figures whose name is not known is kept beside the metrics. A warning names it,
//! since it may be a slip. A column of words is only mentioned. A note says how a name was read that is not the contract's.

mod columns;
mod hint;
mod listed;
#[cfg(test)]
mod people_tests;
mod row;

use csv::StringRecord;

use super::rows::{self, Rows};
use super::{About, Format, Head, Parsed, Record, SourceFile};
use columns::TableColumns;
use sparkbench_text::error::{Error, Place};

pub(super) use hint::{advice, as_csv};

/// See the module.
pub(super) struct Table;

impl Format for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn about(&self) -> About {
        About {
            tool: "a person or a script",
            versions: "",
            sign: "a CSV with a row for each run, or a JSON list of objects, and metrics by their contract names or as people call them",
            reads: "whatever stands in the columns",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        if head.text.trim_start().starts_with(['[', '{']) {
            return listed::is(head);
        }
        let comma = head.header();
        // Taken as well when separated by other signs, only to say what is wrong.
        let parted: Vec<&str> =
            comma.iter().flat_map(|cell| cell.split([';', '\t'])).map(|cell| cell.trim().trim_matches('"')).collect();
        columns::is_table(&comma) || (parted.len() > comma.len() && columns::is_table(&parted))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        if text.trim_start().starts_with(['[', '{']) {
            return listed::parse(file, &text);
        }
        let mut rows = Rows::new(&text);
        let (_, header) = rows.next().unwrap_or_else(|| Err(Error::archive("the table is empty")))?;
        parted_by_commas(&header)?;
        let mut columns = TableColumns::new(&header.iter().collect::<Vec<_>>())?;
        let mut parsed = Parsed::default();
        let mut marked = Vec::new();
        let mut warm_ups = Vec::new();
        for row in rows {
            let (line, row) = match row {
                Ok(row) => row,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            let cells: Vec<(usize, &str)> = row.iter().take(columns.len()).enumerate().collect();
            cells.iter().for_each(|(place, cell)| columns.see(*place, cell));
            if let Some(note) = row::warm_up(&columns, &cells) {
                if !warm_ups.contains(&note) {
                    warm_ups.push(note);
                }
                continue;
            }
            let at = row::RowPlace { line, pointer: None };
            match rows::fits(line, columns.len(), row.len()).and_then(|()| row::run(file, &at, &columns, &cells)) {
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
        parsed.notes.extend(warm_ups);
        parsed.notes.extend(columns.notes());
        Ok(parsed)
    }
}

/// Refuses a header whose cells are parted by other signs.
fn parted_by_commas(header: &StringRecord) -> Result<(), Error> {
    let found =
        [';', '\t'].into_iter().find(|sign| header.len() == 1 && header.iter().any(|cell| cell.contains(*sign)));
    let Some(sign) = found else { return Ok(()) };
    let shown = if sign == ';' { "';'" } else { "tabs" };
    Err(Error::archive("cells are not parted by commas")
        .at(Place::Line(1))
        .detail(format!("expected ',', found {shown}"))
        .hint("save the table as CSV with commas, and with a point as the decimal sign"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartialRun;
    use sparkbench_model::{ExtraValue, Status};

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
