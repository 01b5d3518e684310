//! Keys and texts of result files: values behind keys, statistics, units by ending, texts that may be kept.
//!
//! In:  keys and places.  Out: numbers, texts, suffixes, units.
//! Not here: partial runs (see the module above).

use crate::at::At;
use crate::json::Kind;
use sparkbench_text::error::Error;

/// Longest text that is kept as a setting, in characters.
const TEXT: usize = 200;
/// Most items of a list that are kept as one setting.
const ITEMS: usize = 256;

/// Statistics by the names that tools use, and the suffix of the metric.
pub(crate) const STATISTICS: &[(&str, &str)] = &[
    ("mean", ""),
    ("avg", ""),
    ("median", "_p50"),
    ("p50", "_p50"),
    ("p90", "_p90"),
    ("p95", "_p95"),
    ("p99", "_p99"),
    ("max", "_max"),
];

/// The suffix of the metric that a statistic makes. None for one that is not one of our metrics (`std`, `p75`).
pub(crate) fn suffix(statistic: &str) -> Option<&'static str> {
    STATISTICS.iter().find(|(name, _)| *name == statistic).map(|(_, suffix)| *suffix)
}

/// A name and the unit that its ending says. The name stays whole where the ending says none.
pub(crate) fn unit_of(name: &str) -> (&str, &'static str) {
    const ENDINGS: &[(&str, &str)] = &[
        ("_ms", "ms"),
        ("_ns", "ns"),
        ("_secs", "s"),
        ("_seconds", "s"),
        ("_sec", "s"),
        ("_s", "s"),
        ("_gib", "GiB"),
        ("_gb", "GB"),
        ("_gbs", "GB/s"),
        ("_pct", "%"),
        ("_percentage", "%"),
        ("_percent", "%"),
        ("_tok_s", "tok/s"),
        ("_tokens_per_sec", "tok/s"),
        ("_tokens_per_s", "tok/s"),
        ("_per_sec", "1/s"),
        ("_per_second", "1/s"),
        ("_per_s", "1/s"),
        ("_per_minute", "1/min"),
        ("_per_hour", "1/h"),
        ("_c", "°C"),
        ("_w", "W"),
    ];
    let found = ENDINGS.iter().filter(|(ending, _)| name.len() > ending.len() && name.ends_with(ending));
    match found.max_by_key(|(ending, _)| ending.len()) {
        Some((ending, unit)) => (name.strip_suffix(ending).unwrap_or(name), unit),
        None => (name, ""),
    }
}

/// A text that may be kept: short, without control characters, no address.
pub(crate) fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().nth(TEXT).is_none();
    (fits && !text.contains("://") && !text.starts_with('/') && !text.chars().any(char::is_control))
        .then(|| text.to_owned())
}

/// A scalar as text, or a list of them with blanks between. None for `null`, an object, and what may not be kept.
pub(crate) fn scalar(at: &At<'_>) -> Option<String> {
    match &at.node.kind {
        Kind::Text(text) => plain(text),
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Number(digits) => Some((*digits).to_owned()),
        Kind::List(items) if !items.is_empty() && items.len() <= ITEMS => {
            let parts: Option<Vec<String>> = at
                .items()
                .ok()?
                .map(|item| match &item.node.kind {
                    Kind::List(_) | Kind::Map(_) => None,
                    _ => scalar(&item),
                })
                .collect();
            parts.map(|parts| parts.join(" "))
        }
        _ => None,
    }
}

/// The way from a place down to a value: a key, or one after the other.
pub(crate) trait Way {
    /// The keys in their order.
    fn keys(&self) -> &[&str];
}

impl Way for &str {
    fn keys(&self) -> &[&str] {
        std::slice::from_ref(self)
    }
}

impl<const N: usize> Way for [&str; N] {
    fn keys(&self) -> &[&str] {
        self
    }
}

impl Way for &[&str] {
    fn keys(&self) -> &[&str] {
        self
    }
}

/// What `read` makes of the value at the end of a way.
pub(crate) fn find<T>(at: &At<'_>, way: impl Way, read: impl FnOnce(&At<'_>) -> Option<T>) -> Option<T> {
    // A place borrows the one above it, so it cannot be handed out.
    fn down<T>(at: &At<'_>, keys: &[&str], read: impl FnOnce(&At<'_>) -> Option<T>) -> Option<T> {
        match keys.split_first() {
            None => read(at),
            Some((key, rest)) => down(&at.get(key)?, rest, read),
        }
    }
    down(at, way.keys(), read)
}

/// A finite number at the end of a way, where there is one.
pub(crate) fn number_at(at: &At<'_>, way: impl Way) -> Option<f64> {
    find(at, way, |at| at.figure().ok()?.finite())
}

/// A text at the end of a way, where there is one that may be kept. Of a list, the first.
pub(crate) fn text_at(at: &At<'_>, way: impl Way) -> Option<String> {
    plain(&raw_at(at, way)?)
}

/// A text at the end of a way as it is, to read from. It may hold what is private. Of a list, the first.
pub(crate) fn raw_at(at: &At<'_>, way: impl Way) -> Option<String> {
    let text = |at: &At<'_>| at.text().ok().flatten().map(str::to_owned);
    let found = find(at, way, |at| text(at).or_else(|| text(&at.items().ok()?.next()?)));
    found.filter(|text| !text.trim().is_empty())
}

/// `true` or `false` at the end of a way.
pub(crate) fn bool_at(at: &At<'_>, way: impl Way) -> Option<bool> {
    find(at, way, |at| match at.node.kind {
        Kind::Bool(value) => Some(value),
        _ => None,
    })
}

/// The numbers of a list, missing as NaN.
pub(crate) fn values(at: &At<'_>) -> Result<Vec<f64>, Error> {
    at.items()?.map(|item| item.figure().map(|figure| figure.value)).collect()
}
