//! The settings of one benchmark.

use super::super::at::At;
use super::super::sheet::{Sheet, cell, find, load, number_at, raw_at, short, text_at};
use sparkbench_text::slug::slug;

/// Where the model is over the versions: below the benchmark, and at the top.
const MODEL: &[&[&str]] = &[
    &["worker", "backend_model"],
    &["config", "backend", "model"],
    &["config", "backend", "model_name"],
    &["benchmarker", "backend", "model"],
];
const MODEL_AT_TOP: &[&[&str]] = &[
    &["config", "spec", "backend", "model"],
    &["args", "model"],
    &["args", "backend_kwargs", "model"],
    &["config", "model"],
];

/// Settings of one benchmark, by the prefix of their names.
const GROUPS: &[(&str, &str)] =
    &[("args", ""), ("config", ""), ("worker", "worker"), ("request_loader", "request_loader")];

/// Results in the profile of 0.3, with their units.
const MEASURED: &[(&str, &str)] = &[("measured_rates", "req/s"), ("measured_concurrencies", "requests")];
const OF_SWEEP: &str = "of each benchmark of the sweep in turn, this one among them";

/// Takes labels and settings.
pub(super) fn read(sheet: &mut Sheet<'_, '_>, root: &At<'_>, benchmark: &At<'_>) {
    for (key, name) in GROUPS {
        if let Some(at) = benchmark.get(key) {
            sheet.configuration(&at, name);
        }
    }
    for key in ["config", "args"] {
        let Some(config) = root.get(key) else { continue };
        for (inner, at) in config.entries().into_iter().flatten() {
            sheet.configuration(&at, if inner == "spec" { "" } else { inner });
        }
    }
    // The profile lists what every benchmark of the sweep measured.
    let is_result = |name: &str| {
        name.strip_prefix("profile.").is_some_and(|name| MEASURED.iter().any(|(start, _)| name.starts_with(start)))
    };
    sheet.partial.setup.more.retain(|name, _| !is_result(name));
    for (key, unit) in MEASURED {
        find(benchmark, ["args", "profile", key], |list| {
            for (place, at) in list.items().ok()?.enumerate() {
                sheet.extra(&at, &format!("profile.{key}.{place}"), unit, Some(OF_SWEEP));
            }
            Some(())
        });
    }
    let warnings = find(benchmark, "warnings", |list| Some(list.items().ok()?.count()));
    if let Some(count) = warnings.filter(|count| *count > 0) {
        sheet.note(format!("the tool gives {count} warnings of its own"));
    }
    let model = MODEL.iter().find_map(|path| raw_at(benchmark, *path));
    if let Some(model) = model.or_else(|| MODEL_AT_TOP.iter().find_map(|path| raw_at(root, *path))) {
        sheet.model(&model);
    }
    let strategy = |key: &str| {
        number_at(benchmark, ["args", "strategy", key]).or_else(|| number_at(benchmark, ["config", "strategy", key]))
    };
    let kind = text_at(benchmark, ["args", "strategy", "type_"])
        .or_else(|| text_at(benchmark, ["config", "strategy", "type_"]))
        .unwrap_or_default();
    let (isl, osl) = asked(root, benchmark);
    let measured = |key: &str| number_at(benchmark, ["metrics", key, "successful", "mean"]).filter(|mean| *mean > 0.0);
    let partial = &mut sheet.partial;
    let setup = &mut partial.setup;
    setup.tool = Some("guidellm".to_owned());
    setup.tool_version = text_at(root, ["metadata", "guidellm_version"]);
    (setup.isl, setup.osl) = (measured("prompt_token_count"), measured("output_token_count"));
    let (batch, rate, word) = match kind.as_str() {
        "synchronous" => (Some(1.0), None, load(Some(1.0), None)),
        "concurrent" => {
            let streams = strategy("streams").or_else(|| strategy("max_concurrency"));
            (streams, None, load(streams, None))
        }
        // As many as the server takes: the limit, where there is one, is that of the client.
        "throughput" => {
            let limit = strategy("max_concurrency");
            (
                limit,
                Some(f64::INFINITY),
                Some(limit.map_or_else(|| kind.clone(), |limit| format!("{kind}-c{}", short(limit)))),
            )
        }
        _ => {
            let rate = strategy("rate").filter(|rate| *rate > 0.0);
            let poisson = if matches!(kind.as_str(), "poisson" | "async") { "poisson-" } else { "" };
            (None, rate, load(None, rate).map(|word| format!("{poisson}{word}")))
        }
    };
    (setup.batch, setup.request_rate) = (batch, rate);
    if !kind.is_empty() {
        setup.more.entry("strategy".to_owned()).or_insert_with(|| kind.clone());
    }
    let word = word.or_else(|| (!kind.is_empty()).then(|| slug(&kind)));
    let data = (isl.is_some() || osl.is_some()).then_some("synthetic");
    partial.workload = cell(data, isl, osl, word);
}

/// Lengths that were asked for: `prompt_tokens=256,output_tokens=128`, or the first data set of the newer settings.
fn asked(root: &At<'_>, benchmark: &At<'_>) -> (Option<f64>, Option<f64>) {
    let said = raw_at(benchmark, ["request_loader", "data"])
        .or_else(|| raw_at(root, ["args", "data"]))
        .or_else(|| raw_at(root, ["config", "data"]))
        .unwrap_or_default();
    let part = |name: &str| {
        let quoted = said.replace(['{', '}', '"', '\'', ' '], "");
        quoted.split(',').find_map(|pair| {
            let (key, value) = pair.split_once(['=', ':'])?;
            (key == name).then(|| value.parse::<f64>().ok()).flatten()
        })
    };
    let newer = |key: &str| {
        let first = |list: &At<'_>| number_at(&list.items().ok()?.next()?, key);
        find(root, ["config", "spec", "data"], first).or_else(|| find(root, ["args", "data"], first))
    };
    let length = |key: &str| part(key).or_else(|| newer(key));
    (length("prompt_tokens"), length("output_tokens"))
}
