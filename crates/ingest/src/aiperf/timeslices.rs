//! `profile_export_aiperf_timeslices.json` and `.csv`: the metrics of a run in slices of equal time.
//!
//! In:  one object, or one row for each statistic of each slice.  Out: a list over the slices for each statistic.
//! Not here: figures of the whole run (see `summary`), which are never computed from slices.
//!
//! The mean of a slice weighs few requests as much as many, so no slice can represent the run. The CSV rounds to two digits.

use std::collections::BTreeMap;

use super::super::at::At;
use super::super::json;
use super::super::rows::{self, Rows};
use super::super::sheet::{bool_at, number_at, text_at};
use super::super::{About, Format, Head, JoinRole, List, Parsed, PartialRun, Record, SourceFile};
use super::{STAT_KEYS, extra_name, is_metric, tag_of};
use crate::figure::{Figure, excerpt};
use sparkbench_model::{Extra, Setup};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct Timeslices;

const RULE: &str = "aiperf-timeslices";
const CSV_RULE: &str = "aiperf-timeslices-csv";
/// Columns of every version. The stamps of the slice came later.
const COLUMNS: [&str; 5] = ["Timeslice", "Metric", "Unit", "Stat", "Value"];
/// Share of a slice that stamps may miss: they are rounded when they are read as numbers.
const TOLERANCE: f64 = 1e-3;
/// Most lists of one file: far more metrics than the tool has, with all their statistics.
const LISTS: usize = 4096;

impl Format for Timeslices {
    fn name(&self) -> &'static str {
        "aiperf-timeslices"
    }

    fn about(&self) -> About {
        About {
            tool: "AIPerf, profile_export_aiperf_timeslices.json and .csv",
            versions: "0.3 to 0.13, `start_ns` and `end_ns` came later",
            sign: "`timeslices` whose first holds metrics, or a header `Timeslice,...,Metric,Unit,Stat,Value`",
            reads: "each statistic as a list over the slices, no figure of the run",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_slice = |at: &super::super::Outline<'_>| {
            at.has(&["start_ns", "end_ns"])
                || at.keys().iter().any(|key| at.get(key).is_some_and(|metric| metric.has(&["unit", "avg"])))
        };
        let header = head.header();
        head.object().and_then(|object| object.get("timeslices")).is_some_and(|list| list.is_list() && is_slice(list))
            || COLUMNS.iter().all(|name| header.contains(name))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut slices = Slices::default();
        let mut parsed = Parsed::default();
        let rule = if text.trim_start().starts_with('{') {
            of_json(&text, &mut slices)?;
            RULE
        } else {
            of_csv(&text, &mut slices, &mut parsed);
            CSV_RULE
        };
        if slices.count == 0 {
            return Err(Error::archive("it holds no slice").hint("the program may have stopped early"));
        }
        slices.finish(file, rule, &mut parsed);
        Ok(parsed)
    }
}

/// Values over the slices by name, in order. What a slice lacks is not in its list.
#[derive(Default)]
struct Slices {
    count: usize,
    partial: usize,
    seconds: Option<f64>,
    line: Option<u64>,
    lists: BTreeMap<String, Vec<f64>>,
    beyond: bool,
}

impl Slices {
    /// A slice from one stamp to another. One that is shorter than the first is not whole, whether or not the file says so.
    fn span(&mut self, start_ns: Option<f64>, end_ns: Option<f64>, cut: bool) {
        let seconds = start_ns.zip(end_ns).map(|(start, end)| (end - start) / 1e9);
        self.seconds = self.seconds.or(seconds);
        let shorter = seconds.zip(self.seconds).is_some_and(|(this, first)| this < first * (1.0 - TOLERANCE));
        self.partial += usize::from(cut || shorter);
    }

    fn put(&mut self, tag: &str, unit: &str, stat: &str, value: f64) {
        if !STAT_KEYS.contains(&stat) || !value.is_finite() {
            return;
        }
        let unit = if unit.is_empty() || stat == "count" { String::new() } else { format!(" ({unit})") };
        let name = format!("timeslices.{}{unit}", extra_name("", tag, stat));
        if self.lists.len() < LISTS || self.lists.contains_key(&name) {
            self.lists.entry(name).or_default().push(value);
        } else {
            self.beyond = true;
        }
    }

    fn finish(self, file: &SourceFile<'_>, rule: &'static str, parsed: &mut Parsed) {
        let count = self.count;
        if self.partial > 0 {
            parsed.notes.push(format!("{} of {count} slices are not whole", self.partial));
        }
        if self.lists.values().any(|values| values.len() < count) {
            parsed.notes.push("some metrics are missing in some slices. Their lists are shorter".to_owned());
        }
        if self.beyond {
            parsed.notes.push(format!("lists beyond the first {LISTS} are not taken"));
        }
        let extra = |name: &str, unit: &str, value: f64| {
            Extra::number(name, unit, value, None, file.origin(self.line, None, rule))
        };
        let mut extras = vec![extra("timeslices", "", count as f64)];
        extras.extend(self.seconds.map(|seconds| extra("timeslice_duration", "s", seconds)));
        let setup = Setup { tool: Some("aiperf".to_owned()), ..Setup::default() };
        let partial = PartialRun { join_role: JoinRole::WholeFolder, extras, setup, ..PartialRun::default() };
        parsed.lists.extend(self.lists.into_iter().map(|(name, values)| List { part: None, name, values }));
        parsed.records.push(Record::Run(Box::new(partial)));
    }
}

fn of_json(text: &str, slices: &mut Slices) -> Result<(), Error> {
    let node = json::parse(text)?;
    let root = At::root(&node);
    let list = root.need("timeslices")?;
    for slice in list.items()? {
        slices.count += 1;
        slices.line.get_or_insert(u64::from(slice.node.line));
        let cut = bool_at(&slice, "is_complete") == Some(false);
        slices.span(number_at(&slice, "start_ns"), number_at(&slice, "end_ns"), cut);
        for (tag, metric) in slice.entries()?.filter(|(_, at)| is_metric(at)) {
            let unit = text_at(&metric, "unit").unwrap_or_default();
            for (stat, value) in metric.entries()? {
                if let Ok(figure) = value.figure() {
                    slices.put(&tag_of(tag), &unit, stat, figure.value);
                }
            }
        }
    }
    Ok(())
}

fn of_csv(text: &str, slices: &mut Slices, parsed: &mut Parsed) {
    let mut places: Option<[Option<usize>; 7]> = None;
    let mut width = 0;
    let mut last = String::new();
    for row in Rows::new(text) {
        let (line, row) = match row {
            Ok(row) => row,
            Err(error) => {
                parsed.left_out.push(error);
                continue;
            }
        };
        let Some(columns) = places else {
            let of = |name: &str| row.iter().position(|cell| cell == name);
            let [slice, metric, unit, stat, value] = COLUMNS.map(of);
            width = row.len();
            places = Some([slice, metric, unit, stat, value, of("Start_NS"), of("End_NS")]);
            continue;
        };
        if let Err(error) = rows::fits(line, width, row.len()) {
            parsed.left_out.push(error);
            continue;
        }
        let [slice, metric, unit, stat, value, start, end] =
            columns.map(|place| place.and_then(|place| row.get(place)).unwrap_or_default());
        if slices.count == 0 || slice != last {
            slices.count += 1;
            slices.line.get_or_insert(line);
            last = slice.to_owned();
            slices.span(start.parse().ok(), end.parse().ok(), false);
        }
        match Figure::parse(value) {
            Some(figure) => slices.put(&tag_of(metric), unit, stat, figure.value),
            None => parsed.left_out.push(
                Error::archive("a cell is left out")
                    .at(Place::LineField(line, "Value".to_owned()))
                    .detail(format!("expected a number, found \"{}\"", excerpt(value))),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::ExtraValue;

    fn read(name: &str, text: &str) -> (PartialRun, Parsed) {
        assert!(Timeslices.sniff(&Head::new(name, text, 1)));
        let mut input = text.as_bytes();
        let mut parsed = Timeslices.parse(&mut SourceFile::new(name, text.len() as u64, &mut input)).unwrap();
        match parsed.records.remove(0) {
            Record::Run(partial) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn slices_are_lists_and_no_figure_of_the_run() {
        let (json, lists) = read(
            "t.json",
            r#"{"timeslices": [{"start_ns": 1000000000, "end_ns": 3000000000, "request_latency": {"unit": "ms", "avg": 5.5, "p99": 7.0}},
            {"start_ns": 3000000000, "end_ns": 4000000000, "is_complete": false, "request_latency": {"unit": "ms", "avg": 6.5}}],
            "input_config": {"endpoint": {"urls": ["http://box"]}}}"#,
        );
        let (csv, same) = read(
            "t.csv",
            "Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value\r\n0,1000000000,3000000000,Request Latency,ms,avg,5.50\r\n\
             0,1000000000,3000000000,Request Latency,ms,p99,7.00\r\n1,3000000000,4000000000,Request Latency,ms,avg,6.50\r\n",
        );
        for (partial, parsed) in [(&json, &lists), (&csv, &same)] {
            let found: Vec<(&str, &[f64])> =
                parsed.lists.iter().map(|list| (list.name.as_str(), list.values.as_slice())).collect();
            let expected = [
                ("timeslices.request_latency (ms)", &[5.5, 6.5][..]),
                ("timeslices.request_latency_p99 (ms)", &[7.0][..]),
            ];
            assert_eq!(found, expected);
            assert!(
                partial.readings.is_empty() && partial.series.is_empty() && partial.join_role == JoinRole::WholeFolder
            );
            let values: Vec<_> =
                partial.extras.iter().map(|extra| (extra.name.as_str(), extra.value.clone())).collect();
            let expected = [("timeslices", 2.0), ("timeslice_duration", 2.0)];
            assert_eq!(values, expected.map(|(name, value)| (name, ExtraValue::Number(value))));
            assert!(!format!("{partial:?}{parsed:?}").contains("box"));
            assert_eq!(parsed.notes[0], "1 of 2 slices are not whole", "the CSV does not say so, its stamps do");
        }
    }

    #[test]
    fn a_row_of_another_length_is_no_slice() {
        let (partial, parsed) = read(
            "t.csv",
            "Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value\r\n0,1000000000,3000000000,Request Latency,ms,avg,5.50\r\n# remark\r\n",
        );
        assert!(parsed.left_out[0].to_string().contains("line 3: expected 7 cells, found 1"), "{:?}", parsed.left_out);
        assert_eq!(partial.extras[0].value, ExtraValue::Number(1.0), "the number of slices");
    }
}
