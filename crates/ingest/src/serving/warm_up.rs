//! Records that say of themselves that they are warm-ups.
//!
//! In:  a field of a record and its value.  Out: whether it says so, and the note on what was left out.
//! Not here: marks of one tool's own, such as the number of a run below 0.

use crate::at::At;
use crate::json::Kind;

/// Fields in which people write what a record is, as in `--metadata type=warmup`.
const FIELDS: &[&str] = &["type", "phase", "stage", "kind", "label", "tag", "run_type"];
/// Fields that are a warm-up when they are true.
const FLAGS: &[&str] = &["warmup", "warm_up", "is_warmup", "is_warm_up"];

/// True when a field says that its record is a warm-up.
pub(crate) fn says_so(field: &str, value: &str) -> bool {
    let is_one_of = |known: &[&str]| known.iter().any(|name| field.eq_ignore_ascii_case(name));
    let value = value.trim();
    let word = || value.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    (is_one_of(FIELDS) && word().eq(*b"warmup")) || (is_one_of(FLAGS) && value.eq_ignore_ascii_case("true"))
}

/// What is noted of a record that says that it is a warm-up. None for any other.
pub(crate) fn note(record: &At<'_>) -> Option<String> {
    record.entries().ok()?.find_map(|(field, at)| {
        let is = match &at.node.kind {
            Kind::Text(text) => says_so(field, text),
            Kind::Bool(true) => says_so(field, "true"),
            _ => false,
        };
        is.then(|| said_by(field))
    })
}

/// The note, with the field that says it.
pub(crate) fn said_by(field: &str) -> String {
    format!("what `{field}` calls a warm-up is no run and is not counted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_field_on_the_kind_of_a_record_says_that_it_is_a_warm_up() {
        for (record, is) in [
            (r#"{"type": "warmup"}"#, true),
            (r#"{"phase": "Warm-up"}"#, true),
            (r#"{"stage": "warm_up"}"#, true),
            (r#"{"is_warmup": true}"#, true),
            (r#"{"warmup": false}"#, false),
            (r#"{"phase": "warm"}"#, false),
            (r#"{"type": "measure", "warmup": 8}"#, false),
            (r#"{"dataset": "warmup"}"#, false),
        ] {
            assert_eq!(note(&At::root(&json::parse(record).unwrap())).is_some(), is, "{record}");
        }
    }
}
