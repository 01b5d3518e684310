//! Which way of requesting an exact number of output tokens a server honours.
//!
//! In:  a small request, a way to send it.  Out: [`Probed`]: the first way that is taken and kept, and why the others are not.
//! Not here: sending (see `host::web`), the load.
//!
//! The request is one that a model answers in a word. A control without any option shows whether it stops by itself before [`TOKENS`]. A way
//! is honoured when the answer has exactly that many by the server's own count. If the control does not stop either (a base model that
//! rambles), the count proves nothing. A way that is accepted is then used and reported as unproven.

use serde_json::{Map, Value, json};

use crate::settings::{Endpoint, Exact};
use sparkbench_host::web::HttpAnswer;
use sparkbench_text::error::Error;

/// Requested tokens: more than the expected word, few enough to cost nothing.
pub(crate) const TOKENS: u32 = 16;

/// What is asked, to be answered in one word.
const QUESTION: &str = "Answer with the single word yes and nothing else.";

/// One way that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// The way. [`Exact::Off`] is the control.
    pub way: Exact,
    /// Tokens that the server counted in its answer.
    pub output: Option<u64>,
    /// Its outcome, as part of a sentence.
    pub words: String,
}

/// The findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// The way to ask. [`Exact::Off`] when none is honoured.
    pub way: Exact,
    /// True when the control stopped by itself and the way did not.
    pub proven: bool,
    /// Everything that was tried, the control first.
    pub tries: Vec<Try>,
}

/// Members of a request's body that ask for exactly `tokens` in a way. `max_tokens` is not among them.
pub(crate) fn members(way: Exact, tokens: u32) -> Map<String, Value> {
    let mut map = Map::new();
    if matches!(way, Exact::MinTokens | Exact::MinNewTokens | Exact::IgnoreEos) {
        map.insert("ignore_eos".to_owned(), Value::Bool(true));
    }
    match way {
        Exact::MinTokens => drop(map.insert("min_tokens".to_owned(), tokens.into())),
        Exact::MinNewTokens => drop(map.insert("min_new_tokens".to_owned(), tokens.into())),
        Exact::Auto | Exact::IgnoreEos | Exact::Off => {}
    }
    map
}

/// The body to try with.
pub(crate) fn question(endpoint: Endpoint, model: &str) -> Value {
    match endpoint {
        Endpoint::Chat => {
            json!({"model": model, "messages": [{"role": "user", "content": QUESTION}], "temperature": 0, "stream": false})
        }
        Endpoint::Completions => json!({"model": model, "prompt": QUESTION, "temperature": 0, "stream": false}),
    }
}

/// Tries the ways one after the other. `post` sends a body and gives the answer. A refusal is an answer too.
///
/// # Errors
/// When there was no answer: it decides what is sent, and nothing follows from none.
pub(crate) fn probe(body: &Value, post: &dyn Fn(Value) -> Result<HttpAnswer, Error>) -> Result<Probed, Error> {
    let mut tries = vec![attempt(Exact::Off, body, post)?];
    let stops = tries.first().and_then(|control| control.output).is_some_and(|count| count < u64::from(TOKENS));
    for way in [Exact::MinTokens, Exact::MinNewTokens, Exact::IgnoreEos] {
        let tried = attempt(way, body, post)?;
        let kept = tried.output == Some(u64::from(TOKENS));
        tries.push(tried);
        if kept {
            return Ok(Probed { way, proven: stops, tries });
        }
    }
    Ok(Probed { way: Exact::Off, proven: false, tries })
}

fn attempt(way: Exact, body: &Value, post: &dyn Fn(Value) -> Result<HttpAnswer, Error>) -> Result<Try, Error> {
    let mut body = body.clone();
    if let Some(map) = body.as_object_mut() {
        map.insert("max_tokens".to_owned(), TOKENS.into());
        map.extend(members(way, TOKENS));
    }
    let answer = post(body)?;
    let Some(json) = answer.json().filter(|_| answer.ok()) else {
        return Ok(Try { way, output: None, words: format!("refused: {}", answer.gist()) });
    };
    let output = json.pointer("/usage/completion_tokens").and_then(Value::as_u64);
    let words = match output {
        None => "answered without a count of its tokens".to_owned(),
        Some(count) if count == u64::from(TOKENS) => format!("{count} tokens, as asked"),
        Some(count) => format!("{count} tokens instead of {TOKENS}"),
    };
    Ok(Try { way, output, words })
}
