//! The requested settings: model, engine, load, shape.
//!
//! In:  the object of a run.  Out: the setup and the workload.
//! Not here: the server's own words (see `server`).

use crate::at::At;
use crate::sheet::{self, Sheet};
use sparkbench_text::slug::slug;

/// Rule of what is read, and name of the tool.
pub(super) const RULE: &str = "sglang-bench-serving";

/// See the module.
pub(super) fn read(root: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    let count = |key: &str| sheet::number_at(root, key);
    let setup = &mut sheet.partial.setup;
    setup.tool = Some(RULE.to_owned());
    setup.batch = count("max_concurrency");
    let rate = root.get("request_rate").and_then(|at| at.figure().ok()).map(|figure| figure.value);
    setup.request_rate = rate.filter(|rate| !rate.is_nan());
    let (completed, failed) = (count("completed"), count("failed"));
    setup.requests = count("num_prompts")
        .or_else(|| completed.map(|completed| completed + failed.unwrap_or(0.0)))
        .filter(|requests| *requests > 0.0);
    // `random_input_len` is a bound, not a length, unless the ratio is one.
    let exact = count("random_range_ratio") == Some(1.0);
    let mean = |tokens: Option<f64>| tokens.zip(completed.filter(|n| *n > 0.0)).map(|(tokens, n)| tokens / n);
    let output = count("total_output_tokens").or_else(|| count("total_generated_tokens"));
    setup.isl = count("random_input_len").filter(|_| exact).or_else(|| mean(count("total_input_tokens")));
    setup.osl = count("random_output_len").filter(|_| exact).or_else(|| mean(output));
    if let Some(id) = ["model_id", "model"].into_iter().find_map(|key| sheet::text_at(root, key)) {
        sheet.model(&id);
    }
    let backend = sheet::text_at(root, "backend");
    sheet.partial.setup.engine = backend.as_deref().and_then(engine).map(str::to_owned);
    let dataset = sheet::text_at(root, "dataset_name");
    sheet.partial.workload = Some(workload(root, dataset.as_deref(), rate));
    for (name, value) in [("backend", backend), ("dataset_name", dataset)] {
        if let Some(value) = value {
            sheet.setting(name, value);
        }
    }
    if rate.is_none()
        && let Some(word) = sheet::text_at(root, "request_rate")
    {
        sheet.setting("request_rate", word);
    }
}

/// The engine that a backend of the tool speaks to.
fn engine(backend: &str) -> Option<&'static str> {
    [("sglang", "SGLang"), ("vllm", "vLLM"), ("trt", "TensorRT-LLM"), ("lmdeploy", "LMDeploy")]
        .into_iter()
        .find_map(|(start, engine)| backend.starts_with(start).then_some(engine))
}

/// `random-1024-128-c32`, `sharegpt-r4`: everything that makes another cell.
fn workload(root: &At<'_>, dataset: Option<&str>, rate: Option<f64>) -> String {
    let count = |key: &str| sheet::number_at(root, key);
    let mut parts = vec![slug(dataset.unwrap_or("serving"))];
    if dataset.is_none_or(|dataset| dataset.starts_with("random") || dataset == "image") {
        parts.extend(count("random_input_len").map(sheet::short));
        parts.extend(count("random_output_len").map(sheet::short));
        parts.extend(count("random_range_ratio").filter(|r| *r != 0.0).map(|r| format!("ratio{}", sheet::short(r))));
    } else {
        parts.extend(count("sharegpt_output_len").map(|len| format!("osl{}", sheet::short(len))));
    }
    let limit = count("max_concurrency");
    parts.extend(limit.map(|limit| format!("c{}", sheet::short(limit))));
    if let Some(rate) = rate.filter(|rate| !rate.is_nan())
        && (rate.is_finite() || limit.is_none())
    {
        parts.push(format!("r{}", sheet::short(rate)));
    }
    slug(&parts.join("-"))
}
