//! GuideLLM's `benchmarks.csv`: one row for each benchmark.
//!
//! In:  a header of one line (to 0.3) or of three (0.4 and later), and rows.  Out: a run for each row, under the names that the JSON has.
//! Not here: single requests and the counts of each distribution, which only the JSON and the YAML hold.
//!
//! Where the JSON of the same benchmarks is there it counts (they have one id). Times are those of the client's clock and name no zone, so
//! they are kept as words and are no start. The sum of the tokens is not in it: mean by count is the same number.

use std::borrow::Cow;

use super::super::at::At;
use super::super::json::{self, Kind, Node};
use super::super::rows::{self, Rows};
use super::super::sheet::{Scale, Sheet, number_at, suffix, text_at};
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::measures::{LATENCIES, NOT_STREAMED, RATES, unit_of, why};
use super::setup;
use sparkbench_model::{Instant, Status};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct GuideLlmCsv;

const RULE: &str = "guidellm-csv";
const DERIVED: &str = "guidellm-csv.derived";

/// Between the parts of a header of several lines.
const PART: &str = " / ";
/// Ends of the column that holds a list, and what is in it.
const LIST_ENDS: &[&str] = &[" [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]", " / Percentiles"];
const LIST: [&str; 11] = ["min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max"];
/// Ends of the columns that hold one statistic.
const ENDS: &[(&str, &str)] = &[
    (" mean", "mean"),
    (" median", "p50"),
    (" std dev", "std_dev"),
    (" / Mean", "mean"),
    (" / Median", "p50"),
    (" / Std Dev", "std_dev"),
    (" / Mean CI", MEAN_CI),
    (" / Percentile CIs", "percentile_cis"),
];
/// Lower and upper bound of the mean.
const MEAN_CI: &str = "mean_ci";
const OUTCOMES: [(&str, &str); 4] =
    [("Successful ", "successful"), ("Incomplete ", "incomplete"), ("Errored ", "errored"), ("Total ", "total")];
/// Headings of the newer file whose key is another word.
const KEYS: &[(&str, &str)] = &[
    ("Request Latency / Sec", "request_latency"),
    ("Dispatch Delay / Sec", "request_dispatch_delay"),
    ("Scheduled Latency / Sec", "request_scheduled_latency"),
    ("Turn Predecessor Delay / Sec", "turn_predecessor_delay"),
    ("Turn Scheduling Delay / Sec", "turn_scheduling_delay"),
    ("Generation Delay / Sec", "generation_delay"),
    ("Streaming Iterations / Count", "request_streaming_iterations_count"),
    ("Time to First Token / ms", "time_to_first_token_ms"),
    ("Time to First Output Token / ms", "time_to_first_output_token_ms"),
    ("Time per Output Token / ms", "time_per_output_token_ms"),
    ("Inter Token Latency / ms", "inter_token_latency_ms"),
    ("Time To Last Round Trip / ms", "time_to_last_round_trip_ms"),
    ("Avg Round Trip Time / ms", "avg_round_trip_time_ms"),
    ("Server Throughput / Requests/Sec", "requests_per_second"),
    ("Server Throughput / Concurrency", "request_concurrency"),
    ("Token Metrics / Input Tokens", "prompt_token_count"),
    ("Token Metrics / Output Tokens", "output_token_count"),
    ("Token Metrics / Total Tokens", "total_token_count"),
    ("Token Throughput / Input Tokens/Sec", "prompt_tokens_per_second"),
    ("Token Throughput / Output Tokens/Sec", "output_tokens_per_second"),
    ("Token Throughput / Total Tokens/Sec", "tokens_per_second"),
    ("Token Streaming / Output Tokens/Iter", "output_tokens_per_iteration"),
    ("Token Streaming / Iter Tokens/Iter", "iter_tokens_per_iteration"),
];
/// Words of the client's clock.
const TIMES: &[&str] = &["Start Time", "End Time", "Timings / Start Time", "Timings / End Time"];

impl Format for GuideLlmCsv {
    fn name(&self) -> &'static str {
        "guidellm-csv"
    }

    fn about(&self) -> About {
        About {
            tool: "GuideLLM, benchmarks.csv",
            versions: "to 0.8.1 (to 0.3 with one line of headers, from 0.4 with three)",
            sign: "headers `Type,Run Id,Id,Name`, or `Run Info` above `Run ID`",
            reads: "the figures of the JSON, without single requests (counted once where the JSON is there)",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let header = head.header();
        let newer = || {
            let second = head.text.split(['\n', '\r']).filter(|line| !line.is_empty()).nth(1);
            matches!(header.as_slice(), ["Run Info", ..]) && second.is_some_and(|line| line.starts_with("Run ID,"))
        };
        matches!(header.as_slice(), ["Type", "Run Id", "Id", "Name", ..]) || newer()
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let mut columns: Vec<String> = Vec::new();
        let mut headers = 0;
        for row in Rows::new(&text) {
            let (line, row) = match row {
                Ok(row) => row,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            let newer = columns.first().is_some_and(|first| first.starts_with("Run Info"));
            if headers == 0 || (newer && headers < 3) {
                headers += 1;
                columns.resize(columns.len().max(row.len()), String::new());
                for (column, part) in columns.iter_mut().zip(row.iter()).filter(|(_, part)| !part.is_empty()) {
                    *column = if column.is_empty() { part.to_owned() } else { format!("{column}{PART}{part}") };
                }
                continue;
            }
            if let Err(error) = rows::fits(line, columns.len(), row.len()) {
                parsed.left_out.push(error);
                continue;
            }
            let cells = columns.iter().zip(row.iter()).filter(|(_, cell)| !cell.is_empty());
            let map = cells.map(|(name, cell)| (Cow::Borrowed(name.as_str()), node(cell))).collect();
            let node = Node { line: 0, kind: Kind::Map(map) };
            let mut sheet = Sheet::new(file, RULE, DERIVED).row(line);
            one(&mut sheet, &At::root(&node), newer);
            sheet.finish(&mut parsed);
        }
        if parsed.records.is_empty() {
            return Err(Error::archive("no row of it is a benchmark").hint("the program may have stopped early"));
        }
        Ok(parsed)
    }
}

/// A cell as a value: a list or an object where it holds one.
fn node(cell: &str) -> Node<'_> {
    let inner = cell.starts_with(['[', '{']).then(|| json::parse(cell).ok()).flatten();
    inner.unwrap_or(Node { line: 0, kind: Kind::Text(Cow::Borrowed(cell)) })
}

/// Part of a distribution in a column: key, outcome, statistic (a list of them when there is none).
struct Column {
    key: String,
    outcome: &'static str,
    stat: Option<&'static str>,
}

fn column(name: &str) -> Option<Column> {
    let list = LIST_ENDS.iter().find_map(|end| Some((name.strip_suffix(end)?, None)));
    let (name, stat) =
        list.or_else(|| ENDS.iter().find_map(|(end, stat)| Some((name.strip_suffix(end)?, Some(*stat)))))?;
    let (group, field) = name.split_once(PART).map_or(("", name), |(group, field)| (group, field));
    let found = OUTCOMES.iter().find_map(|(prefix, outcome)| Some((field.strip_prefix(prefix)?, *outcome)));
    let (field, outcome) = found.unwrap_or((field, "successful"));
    let known = KEYS.iter().find(|(heading, _)| heading.split_once(PART) == Some((group, field))).map(|(_, key)| *key);
    let key = known.map_or_else(|| plain(group, field), str::to_owned);
    Some(Column { key, outcome, stat })
}

/// Heading and field as a key.
fn plain(group: &str, field: &str) -> String {
    let both = if group.is_empty() { field.to_owned() } else { format!("{group} {field}") };
    both.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}

/// One row.
fn one(sheet: &mut Sheet<'_, '_>, row: &At<'_>, newer: bool) {
    let count = |name: &str| {
        number_at(row, format!("Request Counts{PART}{name}").as_str())
            .or_else(|| number_at(row, format!("{name} Requests").as_str()))
    };
    let outcomes = OUTCOMES.map(|(name, outcome)| (outcome, count(name.trim_end())));
    let of = |outcome: &str| outcomes.iter().find(|(name, _)| *name == outcome).and_then(|(_, count)| *count);
    let (good, bad, cut) = (of("successful"), of("errored").unwrap_or(0.0), of("incomplete").unwrap_or(0.0));
    let failed = good.is_some_and(|good| good <= 0.0);
    let duration = number_at(row, "Duration").or_else(|| number_at(row, "Timings / Duration / Sec"));
    let zeros = LATENCIES.map(|(key, ..)| {
        let list = find(row, key, None);
        let most = list.and_then(|list| list.items().ok()?.last()?.figure().ok()?.finite());
        (key, most.is_some_and(|most| most <= 0.0))
    });
    let unmeasured = |key: &str| zeros.iter().any(|(name, zeros)| *name == key && *zeros);
    settings(sheet, row);
    if !failed {
        rates(sheet, row, good, duration.filter(|seconds| *seconds > 0.0));
    }
    for (name, at) in row.entries().into_iter().flatten() {
        let Some(Column { key, outcome, stat }) = column(name) else {
            other(sheet, name, &at);
            continue;
        };
        // An outcome without requests is filled with zeros, and the total repeats what is alone.
        let empty = of(outcome).is_some_and(|count| count <= 0.0) || (outcome == "total" && bad + cut <= 0.0);
        if empty {
            continue;
        }
        match (stat, &at.node.kind) {
            (Some(stat), Kind::List(_) | Kind::Map(_)) => bounds(sheet, (&key, outcome, stat), &at),
            (Some(stat), _) => statistic(sheet, (&key, outcome, stat), &at, failed, unmeasured(&key)),
            (None, Kind::List(_)) => {
                for (stat, at) in LIST.into_iter().zip(at.items().into_iter().flatten()) {
                    statistic(sheet, (&key, outcome, stat), &at, failed, unmeasured(&key));
                }
            }
            _ => sheet.note(format!("'{name}' holds no list and is left out")),
        }
    }
    if newer {
        sheet.note("inter_token_latency_ms weighs each request by its tokens. So does what is read as TPOT");
    }
    let partial = &mut sheet.partial;
    partial.setup.requests = of("total").or(good);
    partial.status = good.map(|_| match failed {
        true => Status::Failed(format!("no request succeeded: {bad} failed, {cut} were cut off")),
        false => Status::Done,
    });
    let id = text_at(row, "Benchmark / ID").or_else(|| text_at(row, "Id"));
    partial.fingerprint = id.map(|id| format!("guidellm|{id}"));
    partial.join_role = JoinRole::Body;
}

/// One statistic of one distribution.
fn statistic(
    sheet: &mut Sheet<'_, '_>,
    (key, outcome, stat): (&str, &str, &str),
    at: &At<'_>,
    failed: bool,
    zeros: bool,
) {
    let latency = LATENCIES.iter().find(|(name, ..)| *name == key).filter(|_| !failed && outcome == "successful");
    let zeros = zeros && outcome == "successful";
    if let Some(((_, metric, factor), suffix)) = latency.zip(suffix(stat))
        && !zeros
    {
        sheet.scaled(at, &format!("{metric}{suffix}"), Scale::Times(*factor));
        return;
    }
    // It is the request throughput.
    let taken = sheet.reading("request_throughput_req_s").is_some();
    if key == "requests_per_second" && outcome == "successful" && stat == "mean" && taken {
        return;
    }
    let name = if outcome == "successful" { key.to_owned() } else { format!("{key}.{outcome}") };
    sheet.extra(at, &format!("{name}_{stat}"), unit_of(key), if zeros { Some(NOT_STREAMED) } else { why(key) });
}

/// The bounds of an interval, under the names that the JSON has.
fn bounds(sheet: &mut Sheet<'_, '_>, (key, outcome, stat): (&str, &str, &str), at: &At<'_>) {
    let name = if outcome == "successful" { format!("{key}_{stat}") } else { format!("{key}.{outcome}_{stat}") };
    let Kind::List(_) = at.node.kind else {
        sheet.numbers(at, &name, unit_of(key), why(key));
        return;
    };
    for (bound, at) in ["lower", "upper"].into_iter().zip(at.items().into_iter().flatten()) {
        sheet.numbers(&at, &format!("{name}.{bound}"), unit_of(key), why(key));
    }
}

/// Throughput, as in the JSON: tokens by the duration, mean times count being their sum.
fn rates(sheet: &mut Sheet<'_, '_>, row: &At<'_>, good: Option<f64>, duration: Option<f64>) {
    let mean = |key: &str| find(row, key, Some("mean"));
    if let Some(at) = mean("requests_per_second") {
        sheet.metric(&at, "request_throughput_req_s");
    }
    for (key, metric, counts) in RATES {
        let sums = counts.iter().map(|count| mean(count)?.figure().ok()?.finite());
        let per_request: Option<f64> = sums.sum();
        let first = counts.first().and_then(|count| mean(count));
        if let (Some(tokens), Some(good), Some(seconds), Some(at)) = (per_request, good, duration, first) {
            sheet.derive(&at, metric, tokens * good / seconds);
            sheet
                .note("throughput in tokens is the mean over the successful requests by their number and the duration");
        } else if let Some(at) = mean(key) {
            sheet.metric(&at, metric);
            sheet.note("throughput in tokens is the mean over time that the file gives");
        }
    }
}

/// A cell that is no statistic. A number is an extra, and a time of the client's clock is kept as it is. Other words are at most settings.
fn other(sheet: &mut Sheet<'_, '_>, name: &str, at: &At<'_>) {
    let (group, field) = name.split_once(PART).map_or(("", name), |(group, field)| (group, field));
    if TIMES.contains(&name) {
        if let Some(time) = text_at(at, []).filter(|time| Instant::parse(time).is_some()) {
            sheet.partial.setup.more.insert(plain("client", field), time);
        }
        return;
    }
    let name = match (group, field) {
        ("Timings", "Duration / Sec") | ("", "Duration") => "duration".to_owned(),
        ("Timings", "Warmup / Sec") => "warmup_duration".to_owned(),
        ("Timings", "Cooldown / Sec") => "cooldown_duration".to_owned(),
        _ => plain(group, field),
    };
    let seconds = field.ends_with("/ Sec") || field == "Duration";
    match &at.node.kind {
        Kind::List(_) => sheet.numbers(at, &name, "", None),
        Kind::Text(_) if at.figure().is_ok() => sheet.extra(at, &name, if seconds { "s" } else { "" }, None),
        _ => {}
    }
}

/// The settings lie in cells of JSON: they are put where the JSON has them. Of the strategy the newer file says a word such as `concurrent@2`.
fn settings(sheet: &mut Sheet<'_, '_>, row: &At<'_>) {
    let cell = |name: &'static str| Some(row.get(name)?.node.clone());
    let word = |name: &'static str, of: &str| (name, Some(text(of.to_owned())));
    let said = text_at(row, "Benchmark / Strategy");
    let strategy = said.as_deref().map(|said| {
        let (kind, value) = said.split_once('@').unwrap_or((said, ""));
        let name = match kind {
            "concurrent" => "streams",
            "throughput" => "max_concurrency",
            _ => "rate",
        };
        object(vec![word("type_", kind), word(name, value)])
    });
    let config = object(vec![
        ("strategy", strategy),
        ("backend", cell("Run Info / Backend")),
        ("profile", cell("Run Info / Profile")),
        ("constraints", cell("Benchmark / Constraints")),
    ]);
    let count = |key: &'static str| {
        let mean = find(row, key, Some("mean"))?.node.clone();
        Some(object(vec![("successful", Some(object(vec![("mean", Some(mean))])))]))
    };
    let counts = ["prompt_token_count", "output_token_count"].map(|key| (key, count(key)));
    let benchmark = object(vec![
        ("args", cell("Args")),
        ("worker", cell("Worker")),
        ("request_loader", cell("Request Loader")),
        ("config", Some(config)),
        ("metrics", Some(object(counts.to_vec()))),
    ]);
    let root =
        object(vec![("metadata", cell("Runtime Info / Metadata")), ("config", cell("Runtime Info / Arguments"))]);
    setup::read(sheet, &At::root(&root), &At::root(&benchmark));
}

const fn text<'n>(word: String) -> Node<'n> {
    Node { line: 0, kind: Kind::Text(Cow::Owned(word)) }
}

fn object<'n>(entries: Vec<(&'static str, Option<Node<'n>>)>) -> Node<'n> {
    let known = entries.into_iter().filter_map(|(key, node)| Some((Cow::Borrowed(key), node?)));
    Node { line: 0, kind: Kind::Map(known.collect()) }
}

/// The column of one statistic, or of the list, of the requests that succeeded.
fn find<'a>(row: &'a At<'a>, key: &str, stat: Option<&str>) -> Option<At<'a>> {
    let is = |name: &str| {
        column(name).is_some_and(|column| column.key == key && column.outcome == "successful" && column.stat == stat)
    };
    row.entries().ok()?.find(|(name, _)| is(name)).map(|(_, at)| at)
}

#[cfg(test)]
mod tests;
