//! The lists of `--save-detailed`: one value a request, in the order in which requests were sent.
//!
//! In:  the object of one run.  Out: series in milliseconds, lists of what is no metric.
//! Not here: the texts that were generated: nobody's business, and never copied.
//!
//! Times stand in seconds. A request is out when its error is a text, or when it has no output token and no first one. The E2E latency is
//! that of `latencies` where a version has it, else TTFT plus the sum of the gaps; TPOT is (E2E - TTFT) / (tokens - 1), absent below two
//! tokens. Some versions leave `latencies` and `queue_times` in files without the other lists.

use crate::error::Error;
use crate::ingest::at::At;
use crate::ingest::json::{Kind, Node};
use crate::ingest::{List, Parsed, Piece, SourceFile};
use crate::model::Series;

const RULE: &str = "vllm-bench-serve";
const DERIVED: &str = "vllm-bench-serve.derived";

/// Keys of the lists.
pub const LISTS: &[&str] = &[
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "latencies",
    "start_times",
    "queue_times",
    "generated_texts",
    "errors",
];

/// Lists that are no metric.
const KEPT: &[&str] = &["input_lens", "output_lens", "start_times", "queue_times"];

/// Reads the lists that are there; gives the number of requests that failed.
pub fn read(file: &SourceFile<'_>, root: &At<'_>, piece: &mut Piece, parsed: &mut Parsed) -> usize {
    let nodes = |key| match root.get(key) {
        Some(At { node: Node { kind: Kind::List(items), .. }, .. }) => Some(items.as_slice()),
        _ => None,
    };
    let (ttfts, itls, ends) = (nodes("ttfts"), nodes("itls"), nodes("latencies"));
    let Some(count) = ttfts.or(ends).map(<[Node<'_>]>::len) else { return 0 };
    let odd = LISTS
        .iter()
        .filter(|key| **key != "generated_texts")
        .find(|key| nodes(key).is_some_and(|list| list.len() != count));
    if let Some(key) = odd {
        if let Some(at) = root.get(key) {
            parsed.left_out.push(
                Error::archive("the lists of its requests are left out")
                    .at(crate::error::Place::LineField(at.node.line.into(), at.pointer()))
                    .detail(format!(
                        "expected {count} values as in the others, found {}",
                        nodes(key).map_or(0, <[_]>::len)
                    )),
            );
        }
        return 0;
    }
    let at = |list: Option<&[Node<'_>]>, place: usize| list.and_then(|list| list.get(place)).map_or(f64::NAN, number);
    let (outputs, errors) = (nodes("output_lens"), nodes("errors"));
    let gaps_of = |place: usize| match itls.and_then(|itls| itls.get(place)).map(|node| &node.kind) {
        Some(Kind::List(gaps)) => gaps.as_slice(),
        _ => &[],
    };
    let (mut ttft, mut tpot, mut e2e) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    let mut itl: Vec<f64> = Vec::with_capacity((0..count).map(|place| gaps_of(place).len()).sum());
    let mut failed = 0usize;
    for place in 0..count {
        let (first, tokens) = (at(ttfts, place), at(outputs, place));
        let end = at(ends, place);
        let said = matches!(errors.and_then(|errors| errors.get(place)).map(|node| &node.kind), Some(Kind::Text(text)) if !text.is_empty());
        let silent = [first, end, tokens].iter().all(|value| value.is_nan() || *value <= 0.0);
        if said || silent {
            failed += 1;
            continue;
        }
        let start = itl.len();
        itl.extend(gaps_of(place).iter().map(|gap| number(gap) * 1000.0));
        let gaps: f64 = itl.get(start..).unwrap_or_default().iter().sum();
        let first = if first > 0.0 { first * 1000.0 } else { f64::NAN };
        let whole = if end > 0.0 { end * 1000.0 } else { first + gaps };
        ttft.push(first);
        e2e.push(whole);
        let each = (whole - first) / (tokens - 1.0);
        if tokens >= 2.0 && each > 0.0 {
            tpot.push(each);
        }
    }
    if failed > 0 {
        parsed.notes.push(format!("{failed} of {count} requests failed; they enter no latency"));
    }
    let whole_rule = if ends.is_some() { ("latencies", RULE) } else { ("itls", DERIVED) };
    for (metric, values, key, rule) in [
        ("ttft_ms", ttft, "ttfts", RULE),
        ("tpot_ms", tpot, "output_lens", DERIVED),
        ("itl_ms", itl, "itls", RULE),
        ("e2e_latency_ms", e2e, whole_rule.0, whole_rule.1),
    ] {
        let there = values.iter().any(|value| value.is_finite());
        if let Some(at) = root.get(key).filter(|_| there) {
            let origin = file.origin(Some(at.node.line.into()), Some(at.pointer()), rule);
            piece.series.push(Series { metric: metric.to_owned(), values, origin });
        }
    }
    for key in KEPT {
        if let Some(list) = nodes(key) {
            let values = list.iter().map(number).collect();
            parsed.lists.push(List { part: None, name: (*key).to_owned(), values });
        }
    }
    failed
}

/// A number of a list; anything else is missing. Digits alone come here, so the quick way is enough.
fn number(node: &Node<'_>) -> f64 {
    match &node.kind {
        Kind::Number(digits) => digits.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}
