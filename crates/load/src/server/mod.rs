//! A server's own information: models, health, engine, counters, tokens of a text, exact lengths.
//!
//! In:  a [`Web`].  Out: plain values. What the server does not report is absent.
//! Not here: the load (see `session`), starting a server (see `workload`).
//!
//! Nothing is guessed. An engine is named by its own words: the owner of its models, its routes, the prefix of its metrics. The limit of
//! length is the one that the server states. A counter is read under the names that an engine is known to use.

pub(crate) mod cache;
pub(crate) mod counters;
pub(crate) mod exact;
pub(crate) mod identify;
pub(crate) mod prometheus;
pub(crate) mod scrape;
pub(crate) mod tokens;

use std::time::Duration;

use serde_json::Value;

use sparkbench_host::web::Web;
use sparkbench_text::error::{Error, Kind};

pub use cache::CacheCheck;
pub use counters::{Difference, InferenceEngine};
pub use identify::{Identity, identify};
pub use scrape::{Scraped, Scraper};
pub use tokens::Tokenize;

/// Time limit of a query beside the load. A server under load answers late, a stuck one never.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Models that a message names.
const NAMED: usize = 12;

/// A model that the server lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// By this name it is asked for.
    pub id: String,
    /// Where its weights come from, as the server says (`root`).
    pub root: Option<String>,
    /// Longest prompt and answer together, tokens, where the server states it.
    pub max_model_len: Option<u64>,
    /// `owned_by`: engines write their own name there.
    pub owner: Option<String>,
}

/// Models that the server lists under `/v1/models`.
///
/// # Errors
/// When it does not answer, wants a key, or answers something else.
pub fn models(web: &Web, limit: Duration) -> Result<Vec<Served>, Error> {
    let answer = web.get("/v1/models", limit)?;
    let failed = |what: String, hint: &str| Error::new(Kind::Workload, what).hint(hint);
    let url = web.base();
    if matches!(answer.status, 401 | 403) {
        return Err(if web.authorized() {
            failed(
                format!("{url} does not accept the key: {}", answer.gist()),
                "check the variable that --api-key-env names (api_key_env in a suite), or the login in the address",
            )
        } else {
            failed(
                format!("{url} requires a key: {}", answer.gist()),
                "put the key into an environment variable, and name it with --api-key-env NAME (api_key_env in a suite)",
            )
        });
    }
    if !answer.ok() {
        return Err(failed(
            format!("{url} does not list its models: {}", answer.gist()),
            "give the base address of an OpenAI-compatible server, which answers /v1/models below it",
        ));
    }
    let list = answer.json().and_then(|json| json.get("data").and_then(Value::as_array).cloned()).ok_or_else(|| {
        let kind = answer.content_type.as_deref().unwrap_or("no content type");
        failed(
            format!("{url} answers /v1/models with something that is not a list of models ({kind})"),
            "give the base address of an OpenAI-compatible server",
        )
    })?;
    Ok(list.iter().filter_map(served).collect())
}

fn served(entry: &Value) -> Option<Served> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Served {
        id: text("id")?,
        root: text("root"),
        max_model_len: entry.get("max_model_len").and_then(Value::as_u64),
        owner: text("owned_by"),
    })
}

/// The model to ask for: the one that was asked for, else the only one.
///
/// # Errors
/// When it is not served, or several are and none was asked for.
pub fn choose<'a>(models: &'a [Served], asked: Option<&str>) -> Result<&'a Served, Error> {
    let mut names: Vec<&str> = models.iter().take(NAMED).map(|model| model.id.as_str()).collect();
    if models.len() > NAMED {
        names.push("...");
    }
    let names = names.join(", ");
    match (asked, models) {
        (_, []) => {
            Err(Error::new(Kind::Workload, "the server lists no model")
                .hint("read in its log whether it has loaded one"))
        }
        (Some(asked), _) => models.iter().find(|model| model.id == asked).ok_or_else(|| {
            Error::usage(format!("the model '{asked}' was asked for, but the server serves: {names}"))
                .hint("ask for one of these, or start the server with the model you want")
        }),
        (None, [only]) => Ok(only),
        (None, _) => Err(Error::usage(format!("the server serves several models: {names}"))
            .hint("choose one with --model NAME (model in a suite)")),
    }
}

/// Whether the server is ready to be asked.
///
/// - `path`: what is asked. Absent is `/health`, and `/v1/models` where the server has no such route.
///
/// # Errors
/// Why it is not ready, as part of a sentence.
pub fn ready(web: &Web, path: Option<&str>, limit: Duration) -> Result<(), String> {
    let ask = |path: &str| web.get(path, limit).map_err(|error| error.what);
    let answer = ask(path.unwrap_or("/health"))?;
    if answer.ok() {
        return Ok(());
    }
    if path.is_none() && matches!(answer.status, 404 | 405 | 501) {
        let list = ask("/v1/models")?;
        // A server that wants a key is up.
        return if list.ok() || matches!(list.status, 401 | 403) {
            Ok(())
        } else {
            Err(format!("/v1/models answers with {}", list.gist()))
        };
    }
    Err(format!("{} answers with {}", path.unwrap_or("/health"), answer.gist()))
}

#[cfg(test)]
mod tests;
