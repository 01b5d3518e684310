//! Several loads beside each other, a line each: the points of a sweep, the cells of a matrix, the runs of an archive.
//!
//! In:  names, summaries as JSON, of this process or read from an archive.  Out: a table for people.
//! Not here: one load in full (see `text`).

use std::fmt::Write as _;

use serde_json::Value;

use super::text::figure;

/// Narrowest column; a longer head makes its own wider.
const COLUMN: usize = 9;

/// Heads, and where the figure stands in a summary.
const COLUMNS: &[(&str, &str)] = &[
    ("answered", "/completed"),
    ("failed", "/failed"),
    ("requests/s", "/request_throughput_req_s"),
    ("output tok/s", "/output_throughput_tok_s"),
    ("TTFT p50", "/ttft_ms/p50"),
    ("TTFT p99", "/ttft_ms/p99"),
    ("TPOT p50", "/tpot_ms/p50"),
    ("E2E p50", "/e2e_latency_ms/p50"),
];

/// A line for each load, latencies in ms. A load without a name is called as the server's address is.
pub fn table(loads: &[(String, Value)]) -> String {
    let first = loads.iter().map(|load| called(load).chars().count()).max().unwrap_or(0);
    let goodput = loads.iter().any(|(_, summary)| !summary["goodput"].is_null());
    let mut out = heads(first, goodput);
    loads.iter().for_each(|load| out.push_str(&row(load, first, goodput)));
    out
}

fn called((name, summary): &(String, Value)) -> &str {
    if name.is_empty() { summary["url"].as_str().unwrap_or_default() } else { name }
}

fn width(head: &str) -> usize {
    COLUMN.max(head.len()) + 1
}

/// The first line of a table whose names are `first` letters wide; `goodput` where objectives were stated.
pub fn heads(first: usize, goodput: bool) -> String {
    let first = first.max("load".len());
    let mut out = format!("{:first$}", "load");
    for (head, _) in COLUMNS {
        let _ = write!(out, "{head:>0$}", width(head));
    }
    if goodput {
        let _ = write!(out, "{:>1$}", "good %", width(""));
    }
    out.push_str("  client limited\n");
    out
}

/// One load below [`heads`].
pub fn row(load: &(String, Value), first: usize, goodput: bool) -> String {
    let first = first.max("load".len());
    let summary = &load.1;
    let mut out = format!("{:first$}", called(load));
    for (head, pointer) in COLUMNS {
        let cell = match summary.pointer(pointer) {
            Some(Value::Number(number)) => {
                number.as_u64().map_or_else(|| figure(number.as_f64().unwrap_or(0.0)), |whole| whole.to_string())
            }
            _ => "-".to_owned(),
        };
        let _ = write!(out, "{cell:>0$}", width(head));
    }
    if goodput {
        let share = summary.pointer("/goodput/fraction").and_then(Value::as_f64);
        let cell = share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", share * 100.0));
        let _ = write!(out, "{cell:>0$}", width(""));
    }
    let limited = if summary["client"]["limited"] == Value::Bool(true) { "yes" } else { "no" };
    let valid = if summary["valid"] == Value::Bool(false) { ", not valid" } else { "" };
    let _ = writeln!(out, "  {limited}{valid}");
    out
}

/// Why a load cannot be used, in a sentence; absent where it is valid.
pub fn fault((name, summary): &(String, Value)) -> Option<String> {
    if summary["valid"] != Value::Bool(false) {
        return None;
    }
    let why: Vec<&str> =
        summary["invalid_because"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let what = if name.is_empty() { "the load".to_owned() } else { format!("load {name}") };
    Some(format!("{what} is not valid: {}", why.join("; ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_load_is_a_line_and_what_is_absent_is_a_dash() {
        let summary = |limited: bool, p99: Value| {
            json!({
                "url": "http://h", "completed": 40, "failed": 1, "valid": !limited, "request_throughput_req_s": 12.5,
                "output_throughput_tok_s": 1600.25, "ttft_ms": { "p50": 20.125, "p99": p99 }, "tpot_ms": { "p50": 2.0 },
                "e2e_latency_ms": { "p50": null }, "client": { "limited": limited },
            })
        };
        let mut loads =
            vec![("c1".to_owned(), summary(false, Value::Null)), (String::new(), summary(true, json!(30.5)))];
        assert_eq!(
            table(&loads),
            "load      answered    failed requests/s output tok/s  TTFT p50  TTFT p99  TPOT p50   E2E p50  client limited\n\
             c1              40         1      12.50       1600.2     20.12         -     2.000         -  no\n\
             http://h        40         1      12.50       1600.2     20.12     30.50     2.000         -  yes, not valid\n"
        );
        loads[0].1["goodput"] = json!({ "fraction": 0.95 });
        let text = table(&loads);
        assert!(text.lines().next().unwrap().contains(" good %") && text.contains(" 95.0  no"), "{text}");
    }
}
