//! Loads for other programs and for people elsewhere: CSV with one row for each load, a table in Markdown.
//!
//! In:  names, summaries as JSON.  Out: text.
//! Not here: writing it anywhere (see `cli::load`), the table of the terminal (see `points`).

use serde_json::Value;

use super::points;
use super::text::figure;
use sparkbench_text::escape;

/// Figures of a summary with their own statistics.
const METRICS: [&str; 4] = ["ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms"];
/// These statistics.
const STATISTICS: [&str; 7] = ["mean", "p50", "p90", "p95", "p99", "max", "n"];
/// Name of the fact that is an address.
const ADDRESS: &str = "Address";
/// Further content of a row: paths of the summary.
const PLAIN: &[&str] = &[
    "url",
    "model",
    "started_utc",
    "settings.engine",
    "settings.engine_version",
    "settings.concurrency",
    "settings.rate_req_s",
    "settings.isl",
    "settings.osl",
    "valid",
    "planned",
    "completed",
    "failed",
    "cancelled",
    "short",
    "longer",
    "duration_s",
    "input_tokens",
    "output_tokens",
    "request_throughput_req_s",
    "output_throughput_tok_s",
    "total_throughput_tok_s",
    "steady.output_throughput_tok_s",
    "concurrency_mean",
    "offered_rate_req_s",
    "goodput.req_s",
    "goodput.fraction",
    "client.limited",
];

/// Names of the columns: paths of the summary as `--json` has them, with `.` between. The first is the name of the load.
pub fn columns() -> Vec<String> {
    let metrics = METRICS.iter().flat_map(|metric| STATISTICS.iter().map(move |one| format!("{metric}.{one}")));
    std::iter::once("load".to_owned()).chain(PLAIN.iter().map(|&name| name.to_owned())).chain(metrics).collect()
}

/// One row for each load below [`columns`]. What is absent is an empty cell.
pub fn csv(loads: &[(String, Value)]) -> String {
    let columns = columns();
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Memory takes whatever is written.
    let _ = writer.write_record(&columns);
    for (name, summary) in loads {
        let paths = columns.iter().skip(1).map(|column| match summary.pointer(&pointer(column)) {
            // Names come from servers. A figure below zero is no formula.
            Some(Value::String(text)) => escape::cell(text),
            _ => cell(summary, column),
        });
        let _ = writer.write_record(std::iter::once(escape::cell(name)).chain(paths));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The figures of one load: heads, and a row for each with its statistics.
pub fn figures(summary: &Value) -> (Vec<String>, Vec<Vec<String>>) {
    let heads = std::iter::once("figure").chain(STATISTICS).map(str::to_owned).collect();
    let row = |metric: &&str| {
        let found = |one: &&str| summary.pointer(&format!("/{metric}/{one}"));
        let text = |one: &str| match found(&one) {
            Some(Value::Number(number)) if one == "n" => number.to_string(),
            Some(Value::Number(number)) => number.as_f64().map_or_else(|| "-".to_owned(), figure),
            _ => "-".to_owned(),
        };
        std::iter::once((*metric).to_owned()).chain(STATISTICS.iter().map(|one| text(one))).collect()
    };
    (heads, METRICS.iter().map(row).collect())
}

/// The place of a column in a summary.
fn pointer(column: &str) -> String {
    format!("/{}", column.replace('.', "/"))
}

fn cell(summary: &Value, column: &str) -> String {
    match summary.pointer(&pointer(column)) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Shared settings of all loads, each in a line of Markdown, and a table of the loads.
pub fn markdown(loads: &[(String, Value)]) -> String {
    let mut out = String::new();
    for (name, value) in facts(loads) {
        // An address is there to be copied. In a code span it is, and links nowhere.
        let value = if name == ADDRESS { escape::code(&value) } else { escape::markdown(&value) };
        out.push_str(&format!("{name}: {value}  \n"));
    }
    let (heads, rows) = points::cells(loads);
    out.push('\n');
    let mut line = |cells: &[String]| out.push_str(&format!("| {} |\n", cells.join(" | ")));
    line(&heads);
    line(&heads.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "--:" }.to_owned()).collect::<Vec<_>>());
    for mut row in rows {
        // The figures behind the name are our own.
        if let Some(name) = row.first_mut() {
            *name = escape::markdown(name);
        }
        line(&row);
    }
    out.push_str("\nLatencies in ms.");
    if heads.iter().any(|head| head == points::PASSES) {
        out.push_str(" ± is the standard deviation between passes.");
    }
    out.push('\n');
    out
}

/// Shared settings, from the first load: server, model, lengths, program.
pub fn facts(loads: &[(String, Value)]) -> Vec<(&'static str, String)> {
    let Some((_, first)) = loads.first() else { return Vec::new() };
    let same = |path: &str| {
        let value = cell(first, path);
        (!value.is_empty() && loads.iter().all(|(_, other)| cell(other, path) == value)).then_some(value)
    };
    let pair = |one: &str, other: &str, between: &str| Some(format!("{}{between}{}", same(one)?, same(other)?));
    let total =
        |path: &str| loads.iter().map(|(_, load)| load.pointer(path).and_then(Value::as_u64).unwrap_or(0)).sum::<u64>();
    let answers = |path: &str| {
        Some(total(path))
            .filter(|number| *number > 0)
            .map(|number| format!("{number} of {} answers", total("/completed")))
    };
    [
        ("Model", same("model")),
        ("Server", pair("settings.engine", "settings.engine_version", " ").or_else(|| same("settings.engine"))),
        (ADDRESS, same("url")),
        ("Input / output tokens", pair("settings.isl", "settings.osl", " / ")),
        ("Shorter than asked", answers("/short")),
        ("Longer than asked", answers("/longer")),
        ("Measured with", pair("tool.name", "tool.version", " ")),
        ("Started", Some(cell(first, "started_utc"))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn loads() -> Vec<(String, Value)> {
        let load = |rate: f64| {
            json!({
                "url": "http://h:1", "model": "a|b", "tool": { "name": "sparkbench", "version": "1" }, "valid": true, "completed": 8,
                "failed": 0, "output_throughput_tok_s": rate, "ttft_ms": { "p50": 20.125, "p99": null, "n": 8 },
                "settings": { "isl": "128", "osl": "32", "concurrency": 4 }, "client": { "limited": false },
            })
        };
        vec![("c4".to_owned(), load(1600.25)), ("c8".to_owned(), load(2000.0))]
    }

    #[test]
    fn a_row_has_the_names_and_the_values_of_the_summary() {
        let text = csv(&loads());
        let mut lines = text.lines();
        let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
        let row: Vec<&str> = lines.next().unwrap().split(',').collect();
        let at = |name: &str| row[heads.iter().position(|head| *head == name).unwrap()];
        assert_eq!([at("load"), at("model"), at("settings.concurrency"), at("valid")], ["c4", "a|b", "4", "true"]);
        assert_eq!([at("output_throughput_tok_s"), at("ttft_ms.p50"), at("ttft_ms.p99")], ["1600.25", "20.125", ""]);
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn a_table_in_markdown_cannot_be_broken_by_a_name() {
        let text = markdown(&loads());
        assert!(text.starts_with("Model: a\\|b  \n"), "{text}");
        assert!(text.contains("Input / output tokens: 128 / 32  \n"), "{text}");
        assert!(text.contains("| c4 | 8 | 0 |") && text.contains("| 1600.2 |"), "{text}");
        let bars: Vec<usize> =
            text.lines().filter(|line| line.starts_with('|')).map(|line| line.matches(" | ").count()).collect();
        assert_eq!(bars, [bars[0]; 4]);
    }

    /// Issue 30: what a server calls itself acts neither in a comment nor in a spreadsheet.
    #[test]
    fn names_of_servers_are_no_formulas_and_call_nobody() {
        let mut loads = loads();
        for (_, load) in &mut loads {
            load["model"] = json!("=HYPERLINK(\"http://x\")");
            load["settings"]["engine"] = json!("@org/team ~~x~~");
            load["steady"] = json!({ "output_throughput_tok_s": -1.5 });
        }
        loads[0].0 = "+1 GH-1".to_owned();
        let text = csv(&loads);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let heads = reader.headers().unwrap().clone();
        let row = reader.records().next().unwrap().unwrap();
        let at = |name: &str| &row[heads.iter().position(|head| head == name).unwrap()];
        assert_eq!([at("load"), at("model")], ["'+1 GH-1", "'=HYPERLINK(\"http://x\")"]);
        assert_eq!([at("settings.engine"), at("steady.output_throughput_tok_s")], ["'@org/team ~~x~~", "-1.5"]);
        let text = markdown(&loads);
        assert!(text.contains("Address: `http://h:1`  \n"), "{text}");
        assert!(text.contains("Server: @\u{200b}org/team \\~\\~\u{200b}x\\~\\~  \n"), "{text}");
        assert!(text.contains("Model: =HYPERLINK(\"http:\u{200b}//x\")  \n"), "{text}");
        assert!(text.contains("| +1 GH-\u{200b}1 | 8 | 0 |"), "{text}");
    }
}
