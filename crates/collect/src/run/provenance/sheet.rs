//! A tree of two levels that fills up with values and with reasons for those that are missing.
//!
//! In:  values or reasons, each under a group and a key.  Out: one JSON object.
//! Not here: where the values come from.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use sparkbench_host::{Host, Question};

/// Longest wait for a program that tells a version or a state.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    groups: Map<String, Value>,
    absent: BTreeMap<String, String>,
}

impl Sheet {
    /// A value, or why there is none.
    pub(super) fn put<V: Into<Value>>(&mut self, group: &str, key: &str, value: Result<V, String>) {
        match value {
            Ok(value) => {
                let entry = self.groups.entry(group).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(fields) = entry {
                    fields.insert(key.to_owned(), value.into());
                }
            }
            Err(reason) => {
                self.absent.insert(format!("{group}.{key}"), reason);
            }
        }
    }

    /// A value that may be missing, for one reason.
    pub(super) fn maybe<V: Into<Value>>(&mut self, group: &str, key: &str, value: Option<V>, otherwise: &str) {
        self.put(group, key, value.ok_or_else(|| otherwise.to_owned()));
    }

    /// Everything, reasons last.
    pub(super) fn finish(mut self) -> Value {
        let absent = self.absent.into_iter().map(|(name, reason)| (name, Value::String(reason))).collect();
        self.groups.insert("absent".to_owned(), Value::Object(absent));
        Value::Object(self.groups)
    }
}

/// A small file of the kernel without the white space around it. An empty one tells nothing.
pub(super) fn file(host: &dyn Host, path: &str) -> Result<String, String> {
    let text = host.read(Path::new(path)).map_err(|cause| format!("'{path}' cannot be read: {cause}"))?;
    let text = text.trim();
    if text.is_empty() { Err(format!("'{path}' is empty")) } else { Ok(text.to_owned()) }
}

/// A small file that holds a number.
pub(super) fn number(host: &dyn Host, path: &str) -> Result<f64, String> {
    file(host, path)?.parse().map_err(|_| format!("'{path}' holds no number"))
}

/// The chosen one of several words: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Result<String, String> {
    let word = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    word.map(str::to_owned).ok_or_else(|| format!("no choice is marked in '{text}'"))
}

/// Output of a program, within [`LIMIT`].
pub(super) fn says(host: &dyn Host, argv: &[&str]) -> Result<String, String> {
    let command = argv.join(" ");
    let answer = host.ask(&Question::new(argv.iter().copied()).within(LIMIT));
    let answer = answer.map_err(|cause| format!("'{command}' cannot be started: {cause}"))?;
    let text = answer.text().trim().to_owned();
    match answer.ok() {
        true if !text.is_empty() => Ok(text),
        true => Err(format!("'{command}' prints nothing")),
        false => Err(format!("'{command}' failed: {}", answer.complaint())),
    }
}
