//! Members of a request's body, and settings like them: which of them are secrets, by the names at any depth above a text.
//!
//! In:  names and values.  Out: the kind of secret that a text is, the members as they may be shown.
//! Not here: what is remembered of them (see `secrets`), JSON that is archived (see `under`).

use serde_json::Value;

use super::scan::Scanner;
use super::veil::SHOWN;
use super::{Tally, names, stream};

/// Least length of a part of a value that is searched for alone, and of a text that may be a secret.
pub(super) const PART_LEAST: usize = 8;

/// The kind of secret that a value under a name is, where it is one.
pub(super) fn kind_of(name: &str, value: &str) -> Option<&'static str> {
    let kind = names::of_variable(name).or_else(|| names::in_text(name))?;
    (!says_nothing(value) && !names::is_count(kind, value.as_bytes())).then_some(kind)
}

/// A word for nothing. What was given is taken for what it is, so a `$` at its head is no reference to something else.
pub(super) fn says_nothing(value: &str) -> bool {
    !value.starts_with(['$', '{', '%']) && names::is_void(value.as_bytes())
}

/// A name of several things as that of one: `access_tokens`.
fn of_one(name: &str) -> Option<&str> {
    name.strip_suffix(['s', 'S'])
}

/// The name that decides about a member of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameAbove<'a> {
    pub(super) name: &'a str,
    /// It is the name of a table above, and may stand before other things too: `auth`, `token`.
    doubtful: bool,
}

impl<'a> NameAbove<'a> {
    pub(super) const fn plain(name: &'a str) -> Self {
        Self { name, doubtful: false }
    }

    /// The name that decides about a field of a table: that of the outermost field that is plain about it, else the innermost that speaks
    /// of a secret. `named` is the name in the field beside a `value`.
    pub(super) fn below(self, inner: &'a str, named: Option<&'a str>) -> Self {
        if let Some(named) = named.filter(|_| inner.eq_ignore_ascii_case("value")) {
            return Self::plain(named);
        }
        let one = |name: &str| of_one(name).and_then(names::in_text).is_some();
        let speaks =
            |name: &str| names::of_variable(name).is_some() || of_one(name).and_then(names::of_variable).is_some();
        let certain = !self.doubtful && (names::in_text(self.name).is_some() || one(self.name));
        if certain && names::of_variable(inner).is_none() {
            self
        } else if names::in_text(inner).is_some() || speaks(inner) {
            Self::plain(inner)
        } else if speaks(self.name) {
            Self { doubtful: true, ..self }
        } else {
            Self::plain(inner)
        }
    }

    /// The kind of secret that a text is, where it is one.
    pub(super) fn kind_of(self, text: &str) -> Option<&'static str> {
        if !self.doubtful
            && let Some(kind) = kind_of(self.name, text)
        {
            return Some(kind);
        }
        let one = of_one(self.name);
        if !self.doubtful
            && let Some(kind) = one.and_then(names::in_text)
        {
            return (!says_nothing(text) && !names::is_count(kind, text.as_bytes())).then_some(kind);
        }
        let kind = names::of_variable(self.name).or_else(|| one.and_then(names::of_variable))?;
        let counts = says_nothing(text) || names::is_count(kind, text.as_bytes());
        (is_made(text) && !counts).then_some(kind)
    }

    /// Whether a number is a secret. Names of several things count them: `max_tokens`.
    pub(super) fn tells_of_numbers(self) -> bool {
        !self.doubtful && names::in_text(self.name).is_some()
    }
}

/// Whether a part of a value is long enough to be searched for alone.
pub(super) fn is_part(text: &str) -> bool {
    text.len() >= PART_LEAST && !text.contains(char::is_whitespace)
}

/// Whether a text below a doubtful name is a secret rather than a word, a sentence, an address or a token of a model.
fn is_made(text: &str) -> bool {
    is_part(text)
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && !text.contains("://")
        && !text.contains(['<', '>', '|', '{', '}', '[', ']', '(', ')', '"'])
}

/// The name of a pair whose `value` is a secret: `{"name": "Authorization", "value": "x"}`.
pub(super) fn named_beside(fields: &serde_json::Map<String, Value>) -> Option<String> {
    let names = ["name", "key", "header"].iter().filter_map(|field| fields.get(*field).and_then(Value::as_str));
    let mut secret = names.filter(|name| names::in_text(name).is_some());
    secret.next().map(str::to_owned)
}

/// Takes out what has the name of a secret, and what shows in a text.
pub(super) fn hide_members(above: NameAbove<'_>, value: &mut Value) {
    match value {
        Value::String(text) => {
            if above.kind_of(text).is_some() {
                SHOWN.clone_into(text);
            } else {
                *text = stream::replaced(&Scanner::new(Vec::new()), text, &mut Tally::new());
            }
        }
        Value::Number(_) if above.tells_of_numbers() => *value = Value::String(SHOWN.to_owned()),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_members(above, item)),
        Value::Object(fields) => {
            let named = named_beside(fields);
            for (inner, field) in fields.iter_mut() {
                hide_members(above.below(inner, named.as_deref()), field);
            }
        }
        _ => {}
    }
}
