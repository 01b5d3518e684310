//! The requests of a run, as `--output-details` adds them: one list for each quantity, in the order of sending.
//!
//! In:  the object of a run.  Out: series of TTFT, ITL, TPOT and end-to-end latency, and the lists of lengths.
//! Not here: texts of answers and errors, which are never taken.
//!
//! A failed request has a text in `errors`, no output and a TTFT of 0. An answer of 200 without content has the same but for the text.
//! Both are left out. End-to-end is TTFT and all gaps, where the file has no `latencies`.

use crate::at::At;
use crate::json::Kind;
use crate::sheet::Sheet;

/// How answers came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Token by token.
    Streamed,
    /// One token each: the first is there, no gap is.
    OneToken,
    /// Several tokens in one partial run: no time of a token was seen.
    Whole,
}

/// Keys that are read here, or hold texts.
pub(super) const KEYS: &[&str] = &[
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "latencies",
    "successes",
    "start_times",
    "generated_texts",
    "errors",
    "metric_itls",
    "cached_tokens",
    "cached_tokens_details",
];

/// Milliseconds in a second: all lists of times are in seconds.
const MS: f64 = 1000.0;

/// See the module.
pub(super) fn read(root: &At<'_>, sheet: &mut Sheet<'_, '_>, came: Stream) {
    let numbers = |key: &str| -> Option<Vec<f64>> {
        let at = root.get(key)?;
        Some(at.items().ok()?.map(|item| item.figure().map_or(f64::NAN, |figure| figure.value)).collect())
    };
    for key in ["input_lens", "output_lens", "start_times", "cached_tokens"] {
        if let Some(values) = numbers(key) {
            sheet.list(key, values);
        }
    }
    let (Some(ttfts), Some(at)) = (numbers("ttfts"), root.get("ttfts")) else { return };
    let (outputs, whole) = (numbers("output_lens"), numbers("latencies"));
    let failed: Vec<bool> = texts(root);
    let gaps_at = root.get("itls");
    let mut gaps_of = gaps_at.as_ref().and_then(|at| at.items().ok());
    let (mut ttft, mut e2e, mut tpot, mut itl) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut passed_over = 0usize;
    for (place, first) in ttfts.iter().copied().enumerate() {
        let gaps: Option<Vec<f64>> = gaps_of.as_mut().and_then(Iterator::next).and_then(|item| {
            Some(item.items().ok()?.map(|gap| gap.figure().map_or(f64::NAN, |figure| figure.value)).collect())
        });
        let tokens = outputs.as_ref().and_then(|lens| lens.get(place)).copied();
        if failed.get(place).copied().unwrap_or(false) || first.is_nan() || first <= 0.0 || tokens == Some(0.0) {
            passed_over += 1;
            continue;
        }
        let summed = gaps.as_ref().map(|gaps| first + gaps.iter().sum::<f64>());
        let last = whole.as_ref().and_then(|all| all.get(place)).copied().or(summed).unwrap_or(f64::NAN);
        ttft.push(first * MS);
        e2e.push(last * MS);
        if let Some(tokens) = tokens.filter(|tokens| *tokens >= 2.0) {
            tpot.push((last - first) / (tokens - 1.0) * MS);
        }
        itl.extend(gaps.into_iter().flatten().map(|gap| gap * MS));
    }
    let sent = ttfts.len() as f64;
    if sheet.partial.setup.requests.is_none_or(|requests| requests < sent) {
        sheet.partial.setup.requests = Some(sent);
    }
    if passed_over > 0 {
        sheet
            .note(format!("{passed_over} requests without an answer are left out of the latencies of single requests"));
    }
    if came != Stream::Whole {
        sheet.series(&at, "ttft_ms", ttft, false);
    }
    sheet.series(&root.get("latencies").unwrap_or(at), "e2e_latency_ms", e2e, whole.is_none());
    if came == Stream::Streamed && tpot.iter().any(|value| *value > 0.0) {
        sheet.series(&at, "tpot_ms", tpot, true);
        if let Some(at) = gaps_at {
            sheet.series(&at, "itl_ms", itl, false);
        }
    }
}

/// Which requests failed, by `successes` or by a text in `errors`.
fn texts(root: &At<'_>) -> Vec<bool> {
    let list = |key: &str, failed: fn(&Kind<'_>) -> bool| -> Option<Vec<bool>> {
        let at = root.get(key)?;
        Some(at.items().ok()?.map(|item| failed(&item.node.kind)).collect())
    };
    list("successes", |kind| *kind == Kind::Bool(false))
        .or_else(|| list("errors", |kind| matches!(kind, Kind::Text(text) if !text.is_empty())))
        .unwrap_or_default()
}
