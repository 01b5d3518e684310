//! Shared by SGLang's console and files: the mark of a run and the name of its workload.
//!
//! In:  the figures and settings of a block.  Out: the same texts as the result file of the run gives.
//! Not here: any figure.
//!
//! The files of this tool name the data set and the lengths that were asked for. Its console does so in the arguments above the block.

use crate::serving::figures::Figures;
use sparkbench_model::Setup;
use sparkbench_text::slug::slug;

/// Counts and wall time, which are in files and consoles of every version.
pub(super) fn mark(figures: &Figures) -> Option<String> {
    let tokens = |key| figures.get(key).map(|count| count.to_string()).unwrap_or_default();
    let (completed, seconds) = figures.get("completed").zip(figures.get("duration"))?;
    let (input, output) = (tokens("total_input_tokens"), tokens("total_output_tokens"));
    Some(format!("sglang-bench|{completed}|{input}|{output}|{seconds:.2}"))
}

/// Data set, lengths that were asked for, users and rate: `random-1024-128-c32`. Nothing without arguments.
pub(super) fn workload(setup: &Setup) -> Option<String> {
    let number = |name: &str| setup.more.get(name).and_then(|value| value.parse::<f64>().ok());
    let dataset = setup.more.get("dataset_name")?;
    let mut parts = vec![slug(dataset)];
    if dataset.starts_with("random") || dataset == "image" {
        parts.extend(number("random_input_len").map(|length| length.to_string()));
        parts.extend(number("random_output_len").map(|length| length.to_string()));
        parts.extend(number("random_range_ratio").filter(|ratio| *ratio != 0.0).map(|ratio| format!("ratio{ratio}")));
    } else {
        parts.extend(number("sharegpt_output_len").map(|length| format!("osl{length}")));
    }
    parts.extend(setup.batch.map(|users| format!("c{users}")));
    if let Some(rate) = setup.request_rate.filter(|rate| rate.is_finite() || setup.batch.is_none()) {
        parts.push(format!("r{rate}"));
    }
    Some(slug(&parts.join("-")))
}
