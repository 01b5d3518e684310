//! Facts about a server, asked once before the first load.
//!
//! In:  a [`Target`], the settings that all loads share.  Out: [`Known`].
//! Not here: the questions themselves (see `server`), the load.
//!
//! Each answer is used unchanged or not at all. A server that lists no models is still measured when the model was named. One that states no
//! limit gets none. One that honours no exact length gets `max_tokens` alone, and the summary says so.

use std::cell::Cell;

use super::Watcher;
use super::question::{EXACT, Questioner, TOKENIZE};
use crate::server::exact::{self, Probed};
use crate::server::{self, Identity, Served, Tokenize, routes, tokens};
use crate::settings::{Exact, Settings, Word};
use crate::target::Target;
use sparkbench_archive::mask::Veil;
use sparkbench_host::Host;
use sparkbench_host::net::tls::Trust;
use sparkbench_host::web::{HttpAnswer, Tls, Web};
use sparkbench_text::error::Error;

/// See the module.
#[derive(Debug, Clone)]
pub struct Known {
    /// For questions beside the load.
    pub web: Web,
    /// Headers of every request, the key among them.
    pub headers: Vec<(String, String)>,
    /// Whom TLS trusts.
    pub trust: Trust,
    /// The model that is asked for.
    pub model: Served,
    /// Engine and version, as far as they say so.
    pub identity: Identity,
    /// How exact lengths are asked for, and what was tried. Absent where the settings say how.
    pub exact: Option<Probed>,
    /// Counts tokens of a text, where the server does.
    pub tokenize: Option<Tokenize>,
    /// Notes for the reader of the summary.
    pub notes: Vec<String>,
}

impl Known {
    /// Asks. What the server says goes through `veil` before anyone hears it. `target` learns where the API lies.
    ///
    /// # Errors
    /// When the server does not answer at all, wants a key, or does not serve what was asked for.
    pub fn ask(
        host: &dyn Host,
        target: &mut Target,
        settings: &Settings,
        veil: &Veil,
        watcher: &dyn Watcher,
    ) -> Result<Self, Error> {
        let headers = headers(host, settings)?;
        let (web, at) = settled(host, target, settings)?;
        if at != *target {
            watcher.say(&format!(
                "{} is not there, so the API is taken to be at {}",
                web.at(target.place().clone()).asked("/v1/models"),
                at.shown()
            ));
            *target = at;
        }
        if target.endpoint().is_some() || settings.path.is_some() {
            let route = target.shown_route(settings.endpoint);
            watcher.say(&format!("requests go to {route}, endpoint {}", settings.endpoint.word()));
        }
        let mut notes = Vec::new();
        let models = match server::models(&web, server::LIMIT) {
            Ok(models) => models,
            // Whoever names the model does not need the list. A server that is not there will be said to be so all the same.
            Err(error) if settings.model.is_some() && web.get("/v1/models", server::LIMIT).is_ok() => {
                notes.push(format!("the server lists no models ({}), so the model was not checked", error.what));
                Vec::new()
            }
            Err(error) => {
                let named = target.endpoint().is_some() || settings.path.is_some();
                let instead = || routes::instead(&web, target, settings.endpoint, None, server::LIMIT);
                return Err(named.then(instead).flatten().into_iter().fold(error, Error::hint));
            }
        };
        let model = match (&settings.model, models.is_empty()) {
            (Some(asked), true) => Served { id: asked.clone(), ..Served::default() },
            (asked, _) => server::choose(&models, asked.as_deref())?.clone(),
        };
        let identity = server::identify(&web, &models, server::LIMIT);
        let questioner = Questioner { host, settings, veil, watcher };
        let exact = (settings.exact == Exact::Auto).then(|| probe(&questioner, &web, target, &model.id)).transpose()?;
        if let Some(probed) = exact.as_ref().filter(|probed| probed.way == Exact::Off) {
            let tried: Vec<String> =
                probed.tries.iter().map(|tried| format!("{}: {}", tried.way.word(), tried.words)).collect();
            notes.push(format!("no exact output length is honoured ({}). Answers may be shorter", tried.join("; ")));
        }
        notes.iter_mut().for_each(|note| *note = veil.said(note));
        // A route without an answer is none, and neither is one that is closed to us or elsewhere. One that is refused for now may be one.
        let post = |body: &serde_json::Value| {
            questioner.ask(TOKENIZE, &|| {
                let answer = web.post_json(tokens::ROUTE, body, server::LIMIT).unwrap_or_default();
                Ok(if matches!(answer.status, 300..=403) { HttpAnswer::default() } else { answer })
            })
        };
        let tokenize = match settings.tokenizer {
            Some(_) => None,
            None => Tokenize::find(&web, &model.id, server::LIMIT, &post)?,
        };
        let known = Self {
            web,
            headers,
            trust: Trust { insecure: settings.insecure, ca_file: settings.ca_file.clone() },
            model,
            identity,
            exact,
            tokenize,
            notes,
        };
        watcher.say(&veil.said(&known.words(&target.shown())));
        Ok(known)
    }

    /// How exact lengths are asked for.
    pub fn exact(&self, settings: &Settings) -> Exact {
        self.exact.as_ref().map_or(settings.exact, |probed| probed.way)
    }

    /// Longest prompt and answer together, tokens, where the server states it.
    pub fn most_tokens(&self) -> Option<u64> {
        self.model.max_model_len.or(self.identity.context)
    }

    /// `http://localhost:8000: vllm 0.11.0, model org/m, 32768 tokens at most, exact lengths by min-tokens`
    fn words(&self, url: &str) -> String {
        let mut words = Vec::new();
        words.extend(self.identity.engine.map(|engine| engine.word().to_owned()));
        if let (Some(last), Some(version)) = (words.last_mut(), &self.identity.version) {
            *last = format!("{last} {version}");
        }
        words.push(format!("model {}", self.model.id));
        words.extend(self.most_tokens().map(|most| format!("{most} tokens at most")));
        words.extend(self.exact.as_ref().map(|probed| match probed.way {
            Exact::Off => "exact lengths not honoured".to_owned(),
            way => format!("exact lengths by {}", way.word()),
        }));
        format!("{url}: {}", words.join(", "))
    }
}

fn probe(questioner: &Questioner<'_>, web: &Web, target: &Target, model: &str) -> Result<Probed, Error> {
    let endpoint = questioner.settings.endpoint;
    let asked = Cell::new(false);
    let post = |body| {
        let body = questioner.body(body);
        let answer = questioner.ask(EXACT, &|| web.post_json(target.route(endpoint), &body, questioner.limit()))?;
        // The first one is plain. Such a no is about the route, and no request of the load would find it.
        if !asked.replace(true) && routes::is_missing(answer.status) {
            return Err(routes::missing(web, target, endpoint, model, &answer, server::LIMIT));
        }
        Ok(answer)
    };
    exact::probe(&exact::question(endpoint, model), &post)
}

/// For questions to a server, with its API where it lies. The target is the same server, with the API at that place.
///
/// # Errors
/// When the key is missing, or the address makes no sense.
pub fn settled(host: &dyn Host, target: &Target, settings: &Settings) -> Result<(Web, Target), Error> {
    let web = web(host, target, settings)?;
    let elsewhere = target.elsewhere().map(|target| (web.at(target.place().clone()), target));
    let elsewhere = elsewhere.filter(|(elsewhere, _)| server::is_as_written(&web, elsewhere, server::LIMIT));
    Ok(elsewhere.unwrap_or_else(|| (web, target.clone())))
}

/// For questions to a server. Nothing is sent.
///
/// # Errors
/// When the key is missing, or the address makes no sense.
pub fn web(host: &dyn Host, target: &Target, settings: &Settings) -> Result<Web, Error> {
    let mut headers = headers(host, settings)?;
    let given = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if let Some(login) = target.authorization().filter(|_| !given) {
        headers.push(("authorization".to_owned(), login.to_owned()));
    }
    let tls = Tls { insecure: settings.insecure, ca_file: settings.ca_file.clone() };
    let web = Web::new(&target.origin(), &headers, &tls)?;
    Ok(web.at(target.place().clone()).with_key(settings.api_key_env.is_some()))
}

/// Headers of every request: what the user gave, and the key where one is named.
///
/// # Errors
/// When the variable that holds the key is not set.
fn headers(host: &dyn Host, settings: &Settings) -> Result<Vec<(String, String)>, Error> {
    let mut headers: Vec<(String, String)> =
        settings.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(name) = &settings.api_key_env {
        let key = host.variable(name).filter(|key| !key.is_empty()).ok_or_else(|| {
            Error::usage(format!("the environment variable '{name}' for the key is not set"))
                .hint(format!("set it with export {name}=..."))
        })?;
        headers.push(match settings.api_key_header.as_deref() {
            Some(name) if !name.eq_ignore_ascii_case("authorization") => (header_name(name)?, key),
            _ => ("authorization".to_owned(), format!("Bearer {key}")),
        });
    }
    Ok(headers)
}

/// The name of a header, as RFC 9110 has it, in small letters.
fn header_name(name: &str) -> Result<String, Error> {
    let lawful = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(lawful) {
        return Err(Error::usage("--api-key-header is not the name of a header")
            .hint("give the name alone, e.g. --api-key-header api-key. The key comes from --api-key-env"));
    }
    Ok(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use sparkbench_host::replay::Replay;

    use super::*;

    #[test]
    fn the_key_goes_into_the_header_that_is_named_and_else_behind_bearer() {
        let host = Replay::new().with_variable("KEY", "k-1");
        let sent = |name: Option<&str>| {
            let (env, name) = (Some("KEY".to_owned()), name.map(str::to_owned));
            headers(&host, &Settings { api_key_env: env, api_key_header: name, ..Settings::default() })
        };
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(sent(None).unwrap(), header("authorization", "Bearer k-1"));
        assert_eq!(sent(Some("Authorization")).unwrap(), header("authorization", "Bearer k-1"));
        assert_eq!(sent(Some("API-Key")).unwrap(), header("api-key", "k-1"));
        for wrong in ["", "api key", "api-key: k-1", "x\r\ny"] {
            let error = sent(Some(wrong)).unwrap_err();
            assert!(error.what.contains("--api-key-header") && !error.to_string().contains("k-1"), "{error}");
        }
    }
}
