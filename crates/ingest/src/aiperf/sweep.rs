//! `profile_export_aiperf_sweep.csv`: the points of a sweep, a row each.
//!
//! In:  parameters, then mean, deviation, least and most of each metric over the runs of the point.  Out: one partial run for each row.
//! Not here: which rows repeat a run that lies beside them (see `assemble::copies`). Best points and the frontier, which follow from the rows.
//!
//! The points have folders of their own, so a row is most often a copy. A row over several runs is a mean of runs, and no run. The file names
//! no units: times are milliseconds, as on the console. From 0.13 on a metric has its statistic in its name, `time_to_first_token_p99_mean`.

use super::super::figure::Figure;
use super::super::rows::Rows;
use super::super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use super::{Meaning, RULE, STAT_KEYS, extra_name, mark, meaning, place, why_extra};
use sparkbench_model::{Extra, Status};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct Sweep;

/// Ends of the columns of a metric: its mean over the runs of a point, and their deviation.
const MEAN: &str = "_mean";
const DEVIATION: &str = "_std";
/// Ends of its further columns.
const FURTHER: [&str; 3] = ["_min", "_max", "_cv"];
/// Metrics of ours that a header must have.
const LEAST: usize = 2;
/// Most rows. A sweep has some dozens.
const MOST: usize = 10_000;

impl Format for Sweep {
    fn name(&self) -> &'static str {
        "aiperf-sweep"
    }

    fn about(&self) -> About {
        About {
            tool: "AIPerf, profile_export_aiperf_sweep.csv",
            versions: "2026, to 0.13",
            sign: "a header with parameters, then `..._mean` and `..._std` of its metrics",
            reads: "a run for each point that was run once. Where the point has a folder of its own, it is a copy",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let header = head.header();
        let is_ours = |name: &&str| {
            let Some(metric) = name.strip_suffix(MEAN) else { return false };
            let deviation = format!("{metric}{DEVIATION}");
            meaning(tag_and_stat(metric).0) != Meaning::Other && header.contains(&deviation.as_str())
        };
        header.iter().filter(|name| is_ours(name)).count() >= LEAST
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let mut rows = Rows::new(&text);
        let (_, header) = rows.next().unwrap_or_else(|| Err(Error::archive("the table is empty")))?;
        let names: Vec<&str> = header.iter().collect();
        let mut means = 0;
        for row in rows.take(MOST) {
            let (line, row) = row?;
            // Behind the points stand the best of them, in tables of their own.
            if row.len() != names.len() {
                break;
            }
            let cells: Vec<(&str, &str)> = names.iter().copied().zip(&row).collect();
            let repeated = |(name, cell): &(&str, &str)| {
                name.ends_with(DEVIATION) && Figure::parse(cell).is_some_and(|figure| figure.value > 0.0)
            };
            if cells.iter().any(repeated) {
                means += 1;
            } else {
                parsed.records.push(Record::Run(Box::new(point(file, line, &cells))));
            }
        }
        if means > 0 {
            parsed
                .notes
                .push(format!("{means} rows are means over several runs, which are read from their own folders"));
        }
        Ok(parsed)
    }
}

/// Tag and statistic of a metric as a column names it.
fn tag_and_stat(metric: &str) -> (&str, &str) {
    // `request_count` is a metric.
    let is_stat = |stat: &str| STAT_KEYS.contains(&stat) && !matches!(stat, "count" | "sum" | "value");
    metric.rsplit_once('_').filter(|(_, stat)| is_stat(stat)).unwrap_or((metric, "avg"))
}

fn point(file: &SourceFile<'_>, line: u64, cells: &[(&str, &str)]) -> PartialRun {
    let mut partial = PartialRun { join_role: JoinRole::Alone, ..PartialRun::default() };
    partial.setup.tool = Some("aiperf".to_owned());
    let is_statistic = |name: &str| {
        [MEAN, DEVIATION].iter().chain(&FURTHER).any(|end| {
            name.strip_suffix(end)
                .is_some_and(|metric| cells.iter().any(|(other, _)| other.strip_suffix(MEAN) == Some(metric)))
        })
    };
    for (name, cell) in cells {
        let figure = Figure::parse(cell).filter(|figure| figure.value.is_finite());
        let Some(metric) = name.strip_suffix(MEAN) else {
            if !is_statistic(name) && !cell.is_empty() {
                setting(&mut partial, name.rsplit('.').next().unwrap_or(name), cell, figure);
            }
            continue;
        };
        let Some(figure) = figure else { continue };
        let (tag, stat) = tag_and_stat(metric);
        let unit = match meaning(tag) {
            Meaning::Time(_) => "ms",
            Meaning::Gpu(_, unit) => unit,
            Meaning::Rate(_) | Meaning::Other => "",
        };
        let origin = file.origin(Some(line), Some((*name).to_owned()), RULE);
        match place(tag, unit, stat) {
            Some((metric, _)) => partial.readings.push(figure.reading(metric, origin)),
            None => partial.extras.push(Extra::number(
                extra_name("", tag, stat),
                unit,
                figure.value,
                why_extra(tag, unit),
                origin,
            )),
        }
    }
    let extra = |name: &str| partial.extras.iter().find(|extra| extra.name == name).and_then(Extra::as_number);
    let reading = |name: &str| partial.readings.iter().find(|reading| reading.metric == name).map(|r| r.value);
    let (good, bad) = (extra("request_count"), extra("error_request_count").unwrap_or(0.0));
    let mark = mark(
        "aiperf",
        [good, extra("benchmark_duration"), reading("output_throughput_tok_s"), reading("e2e_latency_ms")],
    );
    let lengths = (extra("input_sequence_length"), extra("output_sequence_length"));
    partial.setup.requests = good.map(|good| good + bad);
    (partial.setup.isl, partial.setup.osl) = lengths;
    partial.fingerprint = mark;
    partial.status = good.map(|_| Status::Done);
    partial
}

/// A parameter of the sweep.
fn setting(partial: &mut PartialRun, name: &str, cell: &str, figure: Option<Figure>) {
    let value = figure.map(|figure| figure.value);
    match name {
        "concurrency" => partial.setup.batch = value,
        "request_rate" => partial.setup.request_rate = value,
        _ => {
            partial.setup.more.insert(name.to_owned(), crate::figure::excerpt(cell));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
        assert!(Sweep.sniff(&Head::new("profile_export_aiperf_sweep.csv", text, text.len() as u64)), "{text}");
        let mut input = text.as_bytes();
        let mut parsed = Sweep
            .parse(&mut SourceFile::new("profile_export_aiperf_sweep.csv", text.len() as u64, &mut input))
            .unwrap();
        let partials = parsed.records.drain(..).filter_map(|r| if let Record::Run(p) = r { Some(*p) } else { None });
        (partials.collect(), parsed)
    }

    /// Issue 32, case 08.
    #[test]
    fn a_point_is_a_run_with_the_mark_of_its_own_file_and_a_mean_of_runs_is_none() {
        let (points, parsed) = read(
            "concurrency,benchmark_duration_mean,benchmark_duration_std,output_token_throughput_mean,output_token_throughput_std,\
             request_count_mean,request_count_std,request_latency_mean,request_latency_std,request_latency_max,time_to_first_token_p99_mean,\
             time_to_first_token_p99_std\n\
             16,300.02,0.00,1790.00,0.00,2098.00,0.00,2273.00,0.00,2500.00,64.68,0.00\n\
             32,300.02,0.10,2901.00,4.00,3400.00,2.00,2816.00,9.00,2900.00,,\n\
             \nBest Configurations\nConfiguration,concurrency,Metric,Unit\nBest Throughput,32,2901.00,tokens/sec\n",
        );
        let [point] = points.as_slice() else { panic!("{points:?}") };
        let found: Vec<(&str, f64)> = point.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("output_throughput_tok_s", 1790.0), ("e2e_latency_ms", 2273.0), ("ttft_ms_p99", 64.68)]);
        assert_eq!((point.setup.batch, point.setup.requests, point.setup.more.len()), (Some(16.0), Some(2098.0), 0));
        assert_eq!(point.fingerprint.as_deref(), Some("aiperf|2098.00|300.02|1790.00|2273.00"));
        assert_eq!(parsed.notes, ["1 rows are means over several runs, which are read from their own folders"]);
    }

    #[test]
    fn other_tables_are_not_taken() {
        for header in ["concurrency,ttft_mean,ttft_std\n", "Metric,avg,min,max\n", "a_mean,a_std,b_mean,b_std\n"] {
            assert!(!Sweep.sniff(&Head::new("x.csv", header, 1)), "{header}");
        }
    }
}
