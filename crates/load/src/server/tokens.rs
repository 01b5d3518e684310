//! Tokens of a text as the server counts them, where it offers that.
//!
//! In:  a [`Web`], a text.  Out: a number of tokens without the server's template.
//! Not here: counting with a local tokenizer (see `load::tokens`).
//!
//! vLLM and SGLang take `{"model", "prompt"}` and answer with `count`. Llama-server takes `{"content"}` and answers with `tokens`.

use std::time::Duration;

use serde_json::{Value, json};

use sparkbench_host::web::{HttpAnswer, Web};
use sparkbench_text::error::{Error, Kind};

/// Where it is asked.
pub(crate) const ROUTE: &str = "/tokenize";

/// Words that every tokenizer makes tokens of.
const TRIAL: &str = "hello world";

/// The shape of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// vLLM, SGLang.
    Prompt,
    /// llama-server.
    Content,
}

/// A server that counts tokens.
#[derive(Debug, Clone)]
pub struct Tokenize {
    web: Web,
    model: String,
    shape: Shape,
    limit: Duration,
}

impl Tokenize {
    /// Finds out whether a server counts tokens, and how it wants to be asked. Nothing when it does not.
    /// `post` sends a body to [`ROUTE`]. A refusal is an answer.
    ///
    /// # Errors
    /// Errors of `post`.
    pub(crate) fn find(
        web: &Web,
        model: &str,
        limit: Duration,
        post: &dyn Fn(&Value) -> Result<HttpAnswer, Error>,
    ) -> Result<Option<Self>, Error> {
        for shape in [Shape::Prompt, Shape::Content] {
            let found = Self { web: web.clone(), model: model.to_owned(), shape, limit };
            if found.counted(&post(&found.question(TRIAL))?).is_ok_and(|count| count > 0) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Tokens of a text, none of them special.
    ///
    /// # Errors
    /// When the server does not answer as it did before.
    pub fn count(&self, text: &str) -> Result<u64, Error> {
        self.counted(&self.web.post_json(ROUTE, &self.question(text), self.limit)?)
    }

    fn question(&self, text: &str) -> Value {
        match self.shape {
            Shape::Prompt => json!({"model": self.model, "prompt": text, "add_special_tokens": false}),
            Shape::Content => json!({"content": text, "add_special": false}),
        }
    }

    fn counted(&self, answer: &HttpAnswer) -> Result<u64, Error> {
        let counted = answer.json().filter(|_| answer.ok()).and_then(|json| {
            let listed = json.get("tokens").and_then(Value::as_array).map(|tokens| tokens.len() as u64);
            json.get("count").and_then(Value::as_u64).or(listed)
        });
        counted.ok_or_else(|| {
            Error::new(Kind::Workload, format!("{}/tokenize does not count tokens: {}", self.web.base(), answer.gist()))
                .hint("give a tokenizer.json instead: --tokenizer FILE (tokenizer in a suite)")
        })
    }
}
