//! The lists of `--save-detailed`: one value for each request, in the order in which requests were sent.
//!
//! In:  the object of one run.  Out: series in milliseconds, and lists of other values.
//! Not here: the generated texts, which are private and never copied.
//!
//! Times are in seconds. A request is out when its error is a text, or when it has no output token and no first one. The E2E latency is
//! that of `latencies` where a version has it, else TTFT plus the sum of the gaps. TPOT is (E2E - TTFT) / (tokens - 1), absent below two
//! tokens. Some versions leave `latencies` and `queue_times` in files without the other lists.

use crate::at::At;
use crate::json::{Kind, Node};
use crate::packed::Packed;
use crate::{Parsed, PartialRun, SourceFile};
use sparkbench_model::Series;
use sparkbench_text::error::Error;

const RULE: &str = "vllm-bench-serve";
const DERIVED: &str = "vllm-bench-serve.derived";

/// Keys of the lists that hold numbers, or lists of numbers, and are read without a tree.
pub(super) const TIMES: &[&str] = &[
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "latencies",
    "start_times",
    "queue_times",
    "server_ttfts",
    "server_queue_times",
];

/// Keys of the lists that hold texts.
const TEXTS: &[&str] = &["generated_texts", "errors"];

/// Keys of all lists.
pub(super) fn lists() -> impl Iterator<Item = &'static str> {
    TIMES.iter().chain(TEXTS).copied()
}

/// Lists that are no metric.
const KEPT: &[&str] =
    &["input_lens", "output_lens", "start_times", "queue_times", "server_ttfts", "server_queue_times"];

/// Reads the lists that are there. Gives the number of requests that failed.
pub(super) fn read(file: &SourceFile<'_>, root: &At<'_>, partial: &mut PartialRun, parsed: &mut Parsed) -> usize {
    let lists = |key| root.get(key).and_then(|at| List::of(at.node));
    let (ttfts, itls, ends) = (lists("ttfts"), lists("itls"), lists("latencies"));
    let Some(count) = ttfts.or(ends).map(List::len) else { return 0 };
    let odd = self::lists()
        // What the server told of itself may be of fewer requests, and is no metric.
        .filter(|key| *key != "generated_texts" && !key.starts_with("server_"))
        .find(|key| lists(key).is_some_and(|list| list.len() != count));
    if let Some(key) = odd {
        if let Some(at) = root.get(key) {
            parsed.left_out.push(
                Error::archive("the lists of its requests are left out")
                    .at(sparkbench_text::error::Place::LineField(at.node.line.into(), at.pointer()))
                    .detail(format!(
                        "expected {count} values as in the others, found {}",
                        lists(key).map_or(0, List::len)
                    )),
            );
        }
        return 0;
    }
    let at = |list: Option<List<'_>>, place: usize| list.map_or(f64::NAN, |list| list.number(place));
    let (outputs, errors) = (lists("output_lens"), lists("errors"));
    let (mut ttft, mut tpot, mut e2e) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    let mut itl: Vec<f64> = Vec::with_capacity(itls.map_or(0, List::inner_values));
    let mut failed = 0usize;
    for place in 0..count {
        let (first, tokens) = (at(ttfts, place), at(outputs, place));
        let end = at(ends, place);
        let said = errors.is_some_and(|errors| errors.is_said(place));
        let silent = [first, end, tokens].iter().all(|value| value.is_nan() || *value <= 0.0);
        if said || silent {
            failed += 1;
            continue;
        }
        let start = itl.len();
        itls.inspect(|itls| itls.each_inner(place, |gap| itl.push(gap * 1000.0)));
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
        parsed.notes.push(format!("{failed} of {count} requests failed. They are excluded from latencies"));
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
            partial.series.push(Series { metric: metric.to_owned(), values, origin });
        }
    }
    for key in KEPT {
        if let Some(list) = lists(key) {
            let values = (0..list.len()).map(|place| list.number(place)).collect();
            parsed.lists.push(crate::List { part: None, name: (*key).to_owned(), values });
        }
    }
    failed
}

/// A list in either of its shapes.
#[derive(Clone, Copy)]
enum List<'a> {
    Tree(&'a [Node<'a>]),
    Packed(&'a Packed),
}

impl<'a> List<'a> {
    const fn of(node: &'a Node<'a>) -> Option<Self> {
        match &node.kind {
            Kind::List(items) => Some(Self::Tree(items.as_slice())),
            Kind::Packed(packed) => Some(Self::Packed(packed)),
            _ => None,
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Tree(items) => items.len(),
            Self::Packed(packed) => packed.len(),
        }
    }

    /// The number of a place. Missing where there is none.
    fn number(self, place: usize) -> f64 {
        match self {
            Self::Tree(items) => items.get(place).map_or(f64::NAN, number),
            Self::Packed(Packed { values, ends: None }) => values.get(place).copied().unwrap_or(f64::NAN),
            Self::Packed(_) => f64::NAN,
        }
    }

    /// Whether the text of a place says anything.
    fn is_said(self, place: usize) -> bool {
        matches!(self, Self::Tree(items) if matches!(items.get(place).map(|node| &node.kind), Some(Kind::Text(text)) if !text.is_empty()))
    }

    /// Gives each number of the list at a place.
    fn each_inner(self, place: usize, mut take: impl FnMut(f64)) {
        match self {
            Self::Tree(items) => {
                if let Some(Kind::List(inner)) = items.get(place).map(|node| &node.kind) {
                    inner.iter().for_each(|node| take(number(node)));
                }
            }
            Self::Packed(packed) => packed.inner(place).iter().for_each(|value| take(*value)),
        }
    }

    /// Numbers in all the lists that it holds.
    fn inner_values(self) -> usize {
        match self {
            Self::Tree(items) => {
                items.iter().map(|node| if let Kind::List(inner) = &node.kind { inner.len() } else { 0 }).sum()
            }
            Self::Packed(packed) => packed.ends.as_ref().map_or(0, |_| packed.values.len()),
        }
    }
}

/// A number of a list. Anything else is missing. Digits alone come here, so the quick way is enough.
fn number(node: &Node<'_>) -> f64 {
    match &node.kind {
        Kind::Number(digits) => digits.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}
