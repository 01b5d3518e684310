//! What a text is by the names above it: in lists and objects of JSON, and behind names that were made of such (`api_keys.0`).
//!
//! In:  names, the outermost first, and a text.  Out: the kind of secret that it is, if any.
//! Not here: lists and objects in texts (see `nested`, `brackets`), members of a request's body (see `members`).

use serde_json::{Map, Value};

use super::drawn::is_drawn;
use super::names;
use super::nested::OF_SCHEMA;

/// What the names above a text say of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Under<'a> {
    /// Nothing of a secret.
    #[default]
    Nothing,
    /// It is one.
    Plain(&'static str),
    /// It is one if it looks drawn. The name stands before other things too.
    Perhaps(&'static str, &'a str),
}

impl<'a> Under<'a> {
    /// One name deeper. The outermost name that is plain about it decides, unless a deeper one is plain too.
    pub(super) fn name(self, name: &'a str) -> Self {
        let perhaps = || names::perhaps_in_text(name).or_else(|| names::perhaps_of_several(name));
        match names::in_text(name).or_else(|| names::of_several(name)) {
            Some(kind) => Self::Plain(kind),
            None if matches!(self, Self::Plain(_)) => self,
            None if names::is_of_hash(name) => Self::Nothing,
            None => perhaps().map_or(self, |kind| Self::Perhaps(kind, name)),
        }
    }

    /// Below every name of a flattened one: `server.api_keys.0`.
    pub(super) fn flattened(name: &'a str) -> Self {
        name.split('.').fold(Self::Nothing, Self::name)
    }

    /// The kind of secret that a text is here. A word for nothing and a count are none.
    pub(super) fn kind_of(self, text: &str) -> Option<&'static str> {
        let kind = match self {
            Self::Nothing => return None,
            Self::Plain(kind) => kind,
            Self::Perhaps(kind, name) => is_drawn(name, text.as_bytes()).then_some(kind)?,
        };
        (!names::is_void(text.as_bytes()) && !names::is_count(kind, text.as_bytes())).then_some(kind)
    }
}

/// Whether an object describes the form of a field, as a schema does. What stands in it is not the field's value.
pub(super) fn describes(value: &Value) -> bool {
    value.as_object().is_some_and(|fields: &Map<String, Value>| OF_SCHEMA.iter().any(|word| fields.contains_key(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flattened_name_is_secret_where_any_part_of_it_is() {
        for (name, text, kind) in [
            ("api_keys.0", "plainkey", Some("key")),
            ("server.passwords.ann", "hunter2", Some("password")),
            ("access_tokens.0.value", "abcdefgh", Some("token")),
            ("credentials.ann.pin", "ab12", Some("credential")),
            ("env.HF_TOKENS.1", "abcdefgh", Some("token")),
            ("tokens.0", "Zx81plainButDrawn77", Some("token")),
            ("auth.bearer.0", "Zx81plainButDrawn77", Some("credential")),
            ("tokens.0", "hello", None),
            ("api_keys.0", "none", None),
            ("api_keys.count", "12", None),
            ("prompt_tokens.0", "hello", None),
            ("stop_tokens.0", "Zx81plainButDrawn77", None),
            ("token_pool.sha256", "a94a8fe5ccb19ba61c4c0873d391e987", None),
            ("keys.0", "a94a8fe5ccb19ba61c4c0873d391e987", None),
        ] {
            assert_eq!(Under::flattened(name).kind_of(text), kind, "{name} {text}");
        }
    }
}
