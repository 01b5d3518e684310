//! The parts of a body other than its prompt.
//!
//! In:  settings, the model's name, the way to ask for an exact length.  Out: the text before and behind a prompt.
//! Not here: prompts (see [`super::Maker`]).
//!
//! A body is one line of JSON: `model`, `messages` or `prompt`, `stream`, `stream_options`, `temperature`, `max_tokens`. Then come the keys
//! that make the length exact, and the members that the user adds. Those win: a member of ours that is named there gives way, and one that
//! is `null` there is left out. It is `max_tokens` and not `max_completion_tokens`, which llama-server and older releases do not know. Where
//! a server wants the other, `{"max_tokens": null, "max_completion_tokens": N}` does it. Of `stream`, `messages` and `prompt` none can be
//! replaced: without them nothing here could be measured. No `seed` is sent: at temperature 0 it changes nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::order::{Asked, Phase};
use crate::plan::Entry;
use crate::settings::{Endpoint, Exact, Settings, unmeasurable};
use sparkbench_text::error::Error;

/// Parts of a body beside its prompt.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(super) endpoint: Endpoint,
    /// From `{` to just before the prompt's own value.
    pub(super) before: String,
    /// After it, without the number of output tokens.
    pub(super) after: String,
    max_tokens: bool,
    exact: Exact,
    /// Names that the user's members set.
    theirs: Vec<String>,
    /// Output tokens that the user's members ask for.
    fixed_osl: Option<u32>,
    pub(super) nonce: u64,
    pub(super) keep_text: bool,
    pub(super) token_ids: bool,
}

impl Form {
    /// Of settings, the model's name as the server knows it, and the way of asking for exact lengths that was found out. `keep_text` wants
    /// the answers' texts back for the audit.
    ///
    /// # Errors
    /// Further members that cannot be, or [`Exact::Auto`], which has to be settled before.
    pub(crate) fn new(settings: &Settings, model: &str, exact: Exact, keep_text: bool) -> Result<Self, Error> {
        let extra = &settings.extra_body;
        for name in ["stream", "messages", "prompt"] {
            if extra.contains_key(name) {
                return Err(Error::usage(format!("the member '{name}' of the body cannot be set"))
                    .hint("leave it out: the load sets it. Put your own prompts into a file"));
            }
        }
        if let Some(why) = unmeasurable(extra) {
            return Err(Error::usage(why).hint("leave it out"));
        }
        if exact == Exact::Auto {
            return Err(Error::usage("how to ask this server for an exact length is not known")
                .hint("give it: min-tokens, min-new-tokens, ignore-eos or off"));
        }
        if settings.token_ids && settings.endpoint == Endpoint::Chat {
            return Err(
                Error::usage("the chat endpoint takes no token ids").hint("use --endpoint completions with token ids")
            );
        }
        let options = if settings.continuous_usage {
            r#"{"include_usage":true,"continuous_usage_stats":true}"#
        } else {
            r#"{"include_usage":true}"#
        };
        let mut after = String::new();
        let mut member = |name: &str, value: &str| {
            if !extra.contains_key(name) {
                // Writing to a String cannot fail.
                let _ = write!(after, r#","{name}":{value}"#);
            }
        };
        member("stream_options", options);
        member("temperature", &Value::from(settings.temperature).to_string());
        for (name, value) in extra.iter().filter(|(name, value)| *name != "model" && !value.is_null()) {
            let _ = write!(after, ",{}:{value}", Value::from(name.as_str()));
        }
        let model = extra.get("model").cloned().unwrap_or_else(|| Value::from(model));
        let model = if model.is_null() { String::new() } else { format!(r#""model":{model},"#) };
        let prompt = match settings.endpoint {
            Endpoint::Chat => r#""messages":"#,
            Endpoint::Completions => r#""prompt":"#,
        };
        Ok(Self {
            endpoint: settings.endpoint,
            before: format!(r#"{{{model}"stream":true,{prompt}"#),
            after,
            max_tokens: !extra.contains_key("max_tokens"),
            exact,
            theirs: extra.keys().cloned().collect(),
            fixed_osl: osl_of(extra),
            nonce: settings.nonce,
            keep_text,
            token_ids: settings.token_ids,
        })
    }

    /// Output tokens that are asked for in the end.
    fn osl(&self, planned: u32) -> Option<u32> {
        self.fixed_osl.or(self.max_tokens.then_some(planned))
    }

    pub(super) fn finish(&self, entry: &Entry, body: &mut String) -> Asked {
        body.push_str(&self.after);
        if self.max_tokens {
            let _ = write!(body, r#","max_tokens":{}"#, entry.osl);
        }
        let osl = self.osl(entry.osl);
        let mut member = |name: &str, value: &str| {
            if !self.theirs.iter().any(|their| their == name) {
                let _ = write!(body, r#","{name}":{value}"#);
            }
        };
        // Priming wants the prompt alone in the cache: one token, however it comes.
        let exact = self.exact != Exact::Off && entry.phase != Phase::Prime && osl.is_some();
        if let Some(osl) = osl.filter(|_| exact) {
            member("ignore_eos", "true");
            match self.exact {
                Exact::MinTokens => member("min_tokens", &osl.to_string()),
                Exact::MinNewTokens => member("min_new_tokens", &osl.to_string()),
                Exact::Auto | Exact::IgnoreEos | Exact::Off => {}
            }
        }
        body.push('}');
        Asked { isl: entry.isl, isl_sent: None, osl, exact }
    }
}

/// Output tokens that the user's members ask for.
fn osl_of(extra: &BTreeMap<String, Value>) -> Option<u32> {
    let given = |name: &str| extra.get(name).and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok());
    given("max_completion_tokens").or_else(|| given("max_tokens"))
}
