//! The body of a turn: the part around the messages, which is the same for every request.
//!
//! In:  [`Settings`], the model's name, how an exact length is asked for.  Out: bodies.
//! Not here: the messages (see `builder`).
//!
//! The messages come serialised and are copied in: a turn's own words are escaped once, the history never again.

use serde_json::{Map, Value, json};

use crate::settings::{Conversations, Exact, Settings};

/// Least and greatest number of tokens that an answer is asked to have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Least.
    pub min: Option<u32>,
    /// Greatest. `max_tokens`.
    pub max: Option<u32>,
}

impl Limits {
    /// The limit of a turn whose input wants `osl` tokens. Given limits win, and 0 means no limit.
    pub fn of(chat: &Conversations, osl: Option<u32>) -> Self {
        let limit = |given: Option<u32>| match given {
            None => osl,
            Some(0) => None,
            Some(limit) => Some(limit),
        };
        let (min, max) = (limit(chat.min_tokens), limit(chat.max_tokens));
        // One limit alone was given, and the input's own length lies on its other side: what was given wins.
        match (min, max) {
            (Some(least), Some(most)) if least > most && chat.min_tokens.is_none() => Self { min: Some(most), max },
            (Some(least), Some(most)) if least > most => Self { min, max: Some(least) },
            _ => Self { min, max },
        }
    }

    /// The one length that both allow.
    pub fn exact(self) -> Option<u32> {
        self.max.filter(|most| self.min == Some(*most))
    }
}

/// Everything of a body but the messages.
#[derive(Debug, Clone)]
pub struct Frame {
    members: Map<String, Value>,
    extra: Map<String, Value>,
    exact: Exact,
}

impl Frame {
    /// For a model. `exact` is what the server was found to honour. `Auto` is taken as `min_tokens`, which most servers know.
    pub fn new(settings: &Settings, model: &str, exact: Exact) -> Self {
        let mut members = Map::new();
        members.insert("model".to_owned(), json!(model));
        members.insert("stream".to_owned(), json!(true));
        let mut options = Map::new();
        options.insert("include_usage".to_owned(), json!(true));
        if settings.continuous_usage {
            options.insert("continuous_usage_stats".to_owned(), json!(true));
        }
        members.insert("stream_options".to_owned(), Value::Object(options));
        members.insert("temperature".to_owned(), json!(settings.temperature));
        let extra = settings.extra_body.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { members, extra, exact }
    }

    /// Whether limits with one length ask the server for exactly that length.
    pub fn asks_exactly(&self, limits: Limits) -> bool {
        limits.exact().is_some() && self.exact != Exact::Off
    }

    /// The body around messages that are serialised already, without their brackets.
    pub fn body(&self, messages: &[u8], limits: Limits) -> Vec<u8> {
        let mut members = self.members.clone();
        let mut set = |name: &str, value: Value| {
            members.insert(name.to_owned(), value);
        };
        if let Some(most) = limits.max {
            set("max_tokens", json!(most));
        }
        let least = limits.min.filter(|least| *least > 0);
        match (self.exact, least) {
            (Exact::Off, _) | (_, None) => {}
            (Exact::Auto | Exact::MinTokens, Some(least)) => set("min_tokens", json!(least)),
            (Exact::MinNewTokens, Some(least)) => set("min_new_tokens", json!(least)),
            (Exact::IgnoreEos, Some(_)) => {}
        }
        if self.asks_exactly(limits) {
            set("ignore_eos", json!(true));
        }
        for (key, value) in &self.extra {
            set(key, value.clone());
        }
        let tail = Value::Object(members).to_string();
        let mut body = Vec::with_capacity(messages.len() + tail.len() + 16);
        body.extend_from_slice(b"{\"messages\":[");
        body.extend_from_slice(messages);
        body.extend_from_slice(b"],");
        // The members' own opening bracket is at the head already.
        body.extend_from_slice(tail.as_bytes().get(1..).unwrap_or_default());
        body
    }
}

/// Adds a message to a serialised history.
pub(crate) fn push_message(messages: &mut Vec<u8>, role: &str, content: &str) {
    if !messages.is_empty() {
        messages.push(b',');
    }
    messages.extend_from_slice(b"{\"role\":\"");
    messages.extend_from_slice(role.as_bytes());
    messages.extend_from_slice(b"\",\"content\":");
    // Writing a text into memory cannot fail.
    let _ = serde_json::to_writer(&mut *messages, content);
    messages.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(min: Option<u32>, max: Option<u32>, osl: Option<u32>) -> (Option<u32>, Option<u32>) {
        let chat = Conversations { min_tokens: min, max_tokens: max, ..Conversations::default() };
        let limits = Limits::of(&chat, osl);
        (limits.min, limits.max)
    }

    #[test]
    fn limits_mean_what_they_mean_in_the_known_script() {
        for (given, osl, expected) in [
            ((None, None), Some(80), (Some(80), Some(80))),
            ((None, None), None, (None, None)),
            ((Some(0), Some(0)), Some(80), (None, None)),
            ((Some(10), Some(20)), Some(80), (Some(10), Some(20))),
            ((Some(0), None), Some(80), (None, Some(80))),
            ((None, Some(20)), Some(80), (Some(20), Some(20))),
            ((Some(100), None), Some(80), (Some(100), Some(100))),
        ] {
            assert_eq!(limits(given.0, given.1, osl), expected, "{given:?} of {osl:?}");
        }
    }

    #[test]
    fn a_body_is_json_with_the_history_and_the_limits() {
        let settings = Settings::default();
        let mut messages = Vec::new();
        push_message(&mut messages, "user", "a \"b\"\n\u{1}ä");
        push_message(&mut messages, "assistant", "c");
        let body = Frame::new(&settings, "m", Exact::Auto).body(&messages, Limits { min: Some(5), max: Some(5) });
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            value,
            json!({ "messages": [{ "role": "user", "content": "a \"b\"\n\u{1}ä" }, { "role": "assistant", "content": "c" }],
                    "model": "m", "stream": true, "stream_options": { "include_usage": true }, "temperature": 0.0,
                    "max_tokens": 5, "min_tokens": 5, "ignore_eos": true })
        );
    }

    #[test]
    fn each_way_to_ask_for_a_length_has_its_members() {
        let settings = Settings::default();
        let body = |exact, min, max| {
            let body = Frame::new(&settings, "m", exact).body(b"", Limits { min, max });
            let value: Value = serde_json::from_slice(&body).unwrap();
            ["max_tokens", "min_tokens", "min_new_tokens", "ignore_eos"]
                .iter()
                .filter(|key| value.get(**key).is_some())
                .copied()
                .collect::<Vec<_>>()
        };
        assert_eq!(body(Exact::MinTokens, Some(5), Some(5)), ["max_tokens", "min_tokens", "ignore_eos"]);
        assert_eq!(body(Exact::MinNewTokens, Some(5), Some(5)), ["max_tokens", "min_new_tokens", "ignore_eos"]);
        assert_eq!(body(Exact::IgnoreEos, Some(5), Some(5)), ["max_tokens", "ignore_eos"]);
        assert_eq!(body(Exact::Off, Some(5), Some(5)), ["max_tokens"]);
        assert_eq!(body(Exact::MinTokens, Some(5), Some(9)), ["max_tokens", "min_tokens"]);
        assert_eq!(body(Exact::MinTokens, None, None), [""; 0]);
    }

    #[test]
    fn members_of_the_users_own_win() {
        let mut settings = Settings::default();
        settings.extra_body.insert("temperature".to_owned(), json!(0.7));
        settings.extra_body.insert("top_p".to_owned(), json!(0.9));
        let value: Value =
            serde_json::from_slice(&Frame::new(&settings, "m", Exact::Off).body(b"", Limits::default())).unwrap();
        assert_eq!((&value["temperature"], &value["top_p"]), (&json!(0.7), &json!(0.9)));
    }
}
