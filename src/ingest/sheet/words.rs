//! Names, units and texts of result files: names of statistics, units by ending, texts that may be kept.
//!
//! In:  keys and places.  Out: suffixes, units, settings.
//! Not here: partial runs (see the module above).

use super::super::at::At;
use super::super::json::Kind;

/// Longest text that is kept as a setting, in characters.
const TEXT: usize = 200;
/// Most items of a list that are kept as one setting.
const ITEMS: usize = 256;
/// Words of a key whose text is never kept: where a machine is, who may enter it, what was asked and answered.
const PRIVATE: &[&str] = &[
    "key",
    "secret",
    "password",
    "credential",
    "auth",
    "header",
    "cookie",
    "url",
    "uri",
    "host",
    "addr",
    "endpoint",
    "path",
    "folder",
    "directory",
    "file",
    "cmd",
    "command",
    "prompt",
    "text",
    "message",
    "user",
    "email",
    "serial",
    "uuid",
    "ip",
    "note",
    "notes",
    "error",
    "errors",
];

/// Statistics by the names that tools use, and the suffix of the metric.
const STATISTICS: &[(&str, &str)] = &[
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
pub fn suffix(statistic: &str) -> Option<&'static str> {
    STATISTICS.iter().find(|(name, _)| *name == statistic).map(|(_, suffix)| *suffix)
}

/// A name and the unit that its ending says. The name stays whole where the ending says none.
pub fn unit_of(name: &str) -> (&str, &'static str) {
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
pub fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().nth(TEXT).is_none();
    (fits && !text.contains("://") && !text.starts_with('/') && !text.chars().any(char::is_control))
        .then(|| text.to_owned())
}

/// The last part of a path or of a model id.
pub fn last_part(id: &str) -> &str {
    id.trim_end_matches('/').rsplit('/').next().unwrap_or(id)
}

/// Last words of compound keys that are private. `tokenizer_mode` is not, `api_key` is.
pub fn private(name: &str) -> bool {
    name.split(['_', '.', '-', ' ']).any(|part| PRIVATE.contains(&part.to_ascii_lowercase().as_str()))
}

/// A scalar as text, or a list of them with blanks between. None for `null`, an object, and what may not be kept.
pub fn scalar(at: &At<'_>) -> Option<String> {
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

/// A finite number behind a key, where there is one.
pub fn number_at(at: &At<'_>, key: &str) -> Option<f64> {
    at.get(key)?.figure().ok()?.finite()
}

/// A text behind a key, where there is one that may be kept.
pub fn text_at(at: &At<'_>, key: &str) -> Option<String> {
    match &at.get(key)?.node.kind {
        Kind::Text(text) => plain(text),
        _ => None,
    }
}

/// `true` or `false` behind a key.
pub fn bool_at(at: &At<'_>, key: &str) -> Option<bool> {
    match at.get(key)?.node.kind {
        Kind::Bool(value) => Some(value),
        _ => None,
    }
}

/// A number as a slug shows it: without an empty fraction.
pub fn short(value: f64) -> String {
    if value.is_infinite() { "inf".to_owned() } else { format!("{value}") }
}
