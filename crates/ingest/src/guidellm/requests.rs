//! The requests of one benchmark that the file keeps.

use super::super::at::At;
use super::super::json::Kind;
use super::super::sheet::Sheet;

/// Key of a request, metric, factor.
const METRICS: &[(&str, &str, f64)] = &[
    ("request_latency", "e2e_latency_ms", 1000.0),
    ("time_to_first_token_ms", "ttft_ms", 1.0),
    ("inter_token_latency_ms", "tpot_ms", 1.0),
];

/// Most keys of requests that are followed. Far more than the tool has.
const KEYS: usize = 64;

/// Series of the requests that succeeded, when all of them are there. Otherwise, and for the other outcomes, plain lists.
pub(super) fn all(sheet: &mut Sheet<'_, '_>, benchmark: &At<'_>, good: Option<f64>) {
    let Some(requests) = benchmark.get("requests") else { return };
    for (outcome, list) in requests.entries().into_iter().flatten() {
        let Kind::List(items) = &list.node.kind else { continue };
        if items.is_empty() {
            continue;
        }
        let whole = outcome == "successful" && good.is_none_or(|good| items.len() as f64 >= good);
        if outcome == "successful" && !whole {
            let kept = items.len();
            sheet.note(format!(
                "the file keeps {kept} of {} requests: too few to stand for the run",
                good.unwrap_or(0.0)
            ));
        }
        for (name, values) in columns(&list) {
            let metric = METRICS.iter().find(|(key, ..)| *key == name).filter(|_| whole);
            match metric {
                Some((_, metric, factor)) => {
                    let zeros = values.iter().all(|value| value.is_nan() || *value <= 0.0);
                    if !zeros {
                        sheet.series(&list, metric, values.iter().map(|value| value * factor).collect(), false);
                    }
                }
                None => sheet.list(&format!("requests.{outcome}.{name}"), values),
            }
        }
    }
}

/// Numbers of the requests by key, in the order of the file. What one lacks is missing.
fn columns(list: &At<'_>) -> Vec<(String, Vec<f64>)> {
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for (row, request) in list.items().into_iter().flatten().enumerate() {
        for (key, value) in request.entries().into_iter().flatten() {
            let Kind::Number(_) = value.node.kind else { continue };
            let Ok(figure) = value.figure() else { continue };
            let known = columns.iter().position(|(name, _)| name == key);
            if known.is_none() && columns.len() >= KEYS {
                continue;
            }
            let place = known.unwrap_or_else(|| {
                columns.push((key.to_owned(), Vec::new()));
                columns.len() - 1
            });
            if let Some((_, values)) = columns.get_mut(place)
                && values.len() <= row
            {
                values.resize(row, f64::NAN);
                values.push(figure.value);
            }
        }
    }
    columns
}
