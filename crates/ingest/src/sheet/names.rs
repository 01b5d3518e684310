//! What runs are called: models, cells, loads, outcomes.
//!
//! In:  ids, lengths, loads and counts.  Out: labels, and the status of a run.
//! Not here: where they are in a file (see `values`).

use sparkbench_model::Status;
use sparkbench_text::slug::slug;

/// The last part of a path or of a model id.
pub(crate) fn last_part(id: &str) -> &str {
    let id = id.trim().trim_end_matches(['/', '\\']);
    id.rsplit(['/', '\\']).next().unwrap_or(id)
}

/// A model as it may be named: its id where it is one. Of a path on some machine only the last part is informative, and the rest is private.
/// A folder of the model cache holds the id (`models--org--name`).
pub(crate) fn model_id(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(['/', '\\']);
    if let Some(cached) = text.split(['/', '\\']).find_map(|part| part.strip_prefix("models--")) {
        return Some(cached.replacen("--", "/", 1));
    }
    let is_path = text.starts_with(['/', '.', '~']) || text.contains(['\\', ':']) || text.matches('/').count() > 1;
    let id = if is_path { last_part(text) } else { text };
    (!id.is_empty() && id != "None").then(|| id.to_owned())
}

/// `random-1024-128-c32`: the known settings that distinguish cells. `None` without any.
pub(crate) fn cell(data: Option<&str>, isl: Option<f64>, osl: Option<f64>, load: Option<String>) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(data.map(str::to_owned));
    match (isl, osl) {
        (Some(isl), Some(osl)) => parts.push(format!("{}-{}", short(isl), short(osl))),
        (Some(isl), None) => parts.push(format!("isl{}", short(isl))),
        (None, Some(osl)) => parts.push(format!("osl{}", short(osl))),
        (None, None) => {}
    }
    parts.extend(load);
    (!parts.is_empty()).then(|| slug(&parts.join("-")))
}

/// `c32` of a limit of concurrency, `r4` or `r1.55` of a rate.
///
/// The client of a sweep chooses its rates by measuring, and their further digits differ from sweep to sweep. Two digits name the cell.
pub(crate) fn load(concurrency: Option<f64>, rate: Option<f64>) -> Option<String> {
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0).map(|rate| {
        let text = format!("{rate:.2}");
        format!("r{}", text.trim_end_matches('0').trim_end_matches('.'))
    });
    let concurrency = concurrency.filter(|n| *n > 0.0).map(|n| format!("c{}", short(n)));
    match (rate, concurrency) {
        (Some(rate), Some(limit)) => Some(format!("{rate}-{limit}")),
        (rate, limit) => rate.or(limit),
    }
}

/// A number as a label shows it: without an empty fraction.
pub(crate) fn short(value: f64) -> String {
    if value.is_infinite() { "inf".to_owned() } else { format!("{value}") }
}

/// How a run ended by its counts of requests: without an answer it has failed. `None` where the file does not count.
pub(crate) fn outcome(answered: Option<f64>, failed: Option<f64>) -> Option<Status> {
    Some(match answered? {
        0.0 => Status::Failed(match failed.filter(|failed| *failed > 0.0) {
            Some(failed) => format!("all {} requests failed", short(failed)),
            None => "no request was answered".to_owned(),
        }),
        _ => Status::Done,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_model_id() {
        for (text, id, label) in [
            ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B", "Qwen3-0.6B"),
            ("/models/me/llama/", "llama", "llama"),
            ("C:\\models\\m.gguf", "m.gguf", "m.gguf"),
            ("/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/0123abcd", "Qwen/Qwen3-8B", "Qwen3-8B"),
            ("m", "m", "m"),
        ] {
            assert_eq!((model_id(text).as_deref(), last_part(id)), (Some(id), label));
        }
        assert_eq!((model_id(" "), model_id("None")), (None, None));
    }

    #[test]
    fn cells_are_named_by_what_tells_them_apart() {
        assert_eq!(
            cell(Some("random"), Some(1024.0), Some(128.0), load(Some(32.0), None)).unwrap(),
            "random-1024-128-c32"
        );
        assert_eq!(cell(None, None, None, load(None, Some(1.5481))).unwrap(), "r1.55");
        assert_eq!(cell(None, None, None, load(None, Some(f64::INFINITY))), None);
    }

    #[test]
    fn a_run_without_an_answer_has_failed() {
        let failed = |why: &str| Some(Status::Failed(why.to_owned()));
        assert_eq!(outcome(Some(0.0), Some(3.0)), failed("all 3 requests failed"));
        assert_eq!(outcome(Some(0.0), Some(0.0)), failed("no request was answered"));
        assert_eq!((outcome(Some(1.0), Some(3.0)), outcome(None, Some(3.0))), (Some(Status::Done), None));
    }
}
