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
pub(crate) mod routes;
pub(crate) mod scrape;
pub(crate) mod tokens;

use std::time::Duration;

use serde_json::Value;

use sparkbench_host::Host;
use sparkbench_host::web::{HttpAnswer, Web};
use sparkbench_text::error::{Error, Kind};

pub use cache::CacheCheck;
pub use counters::{Difference, InferenceEngine};
pub use identify::{Identity, identify};
pub use scrape::{Scraped, Scraper};
pub use tokens::Tokenize;

/// Time limit of a query beside the load. A server under load answers late, a stuck one never.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Between two looks at a server that is waited for.
const LOOK: Duration = Duration::from_secs(1);

/// Between two messages while waiting.
const SAY: Duration = Duration::from_secs(60);

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

/// Route of the list of models.
const MODELS: &str = "/v1/models";

/// Whether an API lies where the address says, with nothing added to it: `elsewhere` has a list of models, and `web` does not know the
/// route. Where neither has one, an address that ends with a version is taken at its word.
pub fn is_as_written(web: &Web, elsewhere: &Web, limit: Duration) -> bool {
    if !web.get(MODELS, limit).is_ok_and(|answer| matches!(answer.status, 404 | 405)) {
        return false;
    }
    let listed = |answer: HttpAnswer| match answer.status {
        401 | 403 => true,
        _ => answer.ok() && answer.json().is_some_and(|json| json.get("data").is_some_and(Value::is_array)),
    };
    elsewhere.place().has_version() || elsewhere.get(MODELS, limit).is_ok_and(listed)
}

/// The same server with its API where it is: at `/v1` below the address, or at the address itself.
pub fn settled(web: &Web, limit: Duration) -> Web {
    let elsewhere = web.place().as_written().map(|place| web.at(place));
    elsewhere.filter(|elsewhere| is_as_written(web, elsewhere, limit)).unwrap_or_else(|| web.clone())
}

/// Models that the server lists under `/v1/models`.
///
/// # Errors
/// When it does not answer, wants a key, or answers something else.
pub fn models(web: &Web, limit: Duration) -> Result<Vec<Served>, Error> {
    let answer = web.get(MODELS, limit)?;
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
    let unlisted = || format!("{url} does not list its models: {}", answer.gist());
    match answer.status {
        404 | 405 | 501 => {
            return Err(failed(
                unlisted(),
                "name the model with --model NAME (model in a suite), then no list is needed. Or give another address, which may end in \
                 /chat/completions or /completions",
            )
            .detail(format!("{} was asked", web.asked(MODELS))));
        }
        502..=504 => {
            return Err(failed(
                unlisted(),
                "the server may still load its model: add --wait to wait until it answers (in a suite, ready.limit_s)",
            ));
        }
        _ if !answer.ok() => {
            return Err(failed(
                unlisted(),
                "give the base address of an OpenAI-compatible server, which answers /v1/models below it",
            ));
        }
        _ => {}
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
        let list = settled(web, limit).get(MODELS, limit).map_err(|error| error.what)?;
        // A server that wants a key is up.
        return if list.ok() || matches!(list.status, 401 | 403) {
            Ok(())
        } else {
            Err(format!("/v1/models answers with {}", list.gist()))
        };
    }
    Err(format!("{} answers with {}", path.unwrap_or("/health"), answer.gist()))
}

/// Waits until a server answers: nobody listens yet, it says that it still loads, or an `attempt` at a request fails, which may take the
/// time that is left. Gives the time that it took.
///
/// # Errors
/// When it does not within `limit`, or someone asked us to stop.
pub fn wait(
    web: &Web,
    host: &dyn Host,
    limit: Duration,
    attempt: &dyn Fn(Duration) -> Result<(), String>,
    say: &dyn Fn(&str),
) -> Result<Duration, Error> {
    let began = host.monotonic();
    let mut said = None;
    loop {
        let left = limit.saturating_sub(host.monotonic() - began);
        let why = loading(web).and_then(|()| attempt(left)).err();
        let waited = host.monotonic() - began;
        let Some(why) = why else { return Ok(waited) };
        if host.interrupted() {
            return Err(Error::new(Kind::Workload, "stopped while waiting for the server"));
        }
        if waited >= limit {
            return Err(Error::new(
                Kind::Workload,
                format!("{} did not answer within {} s: {why}", web.base(), limit.as_secs_f64()),
            )
            .hint("read in its log whether it still loads, and give it more time: --wait 30m"));
        }
        if said.is_none_or(|said| waited - said >= SAY) {
            said = Some(waited);
            say(&format!(
                "waiting for {}: {why} (waited {:.0} s, gives up after {} s)",
                web.base(),
                waited.as_secs_f64(),
                limit.as_secs_f64()
            ));
        }
        host.pause(LOOK.min(limit - waited));
    }
}

/// Whether it answers, with whatever it has to say. A server that loads its model may have its list already.
fn loading(web: &Web) -> Result<(), String> {
    for path in ["/health", MODELS] {
        let answer = web.get(path, LIMIT).map_err(|error| error.what)?;
        if matches!(answer.status, 502..=504) {
            return Err(answer.gist());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
