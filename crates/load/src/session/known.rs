//! Facts about a server, asked once before the first load.
//!
//! In:  a [`Target`], the settings that all loads share.  Out: [`Known`].
//! Not here: the questions themselves (see `server`), the load.
//!
//! Each answer is used unchanged or not at all. A server that lists no models is still measured when the model was named. One that states no
//! limit gets none. One that honours no exact length gets `max_tokens` alone, and the summary says so.

use super::Watcher;
use super::question::Questioner;
use crate::server::exact::{self, Probed};
use crate::server::{self, Identity, Served, Tokenize, tokens};
use crate::settings::{Exact, Settings, Word};
use crate::target::Target;
use sparkbench_archive::mask::Veil;
use sparkbench_host::Host;
use sparkbench_host::net::tls::Trust;
use sparkbench_host::web::{Tls, Web};
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
    /// Asks. What the server says goes through `veil` before anyone hears it.
    ///
    /// # Errors
    /// When the server does not answer at all, wants a key, or does not serve what was asked for.
    pub fn ask(
        host: &dyn Host,
        target: &Target,
        settings: &Settings,
        veil: &Veil,
        watcher: &dyn Watcher,
    ) -> Result<Self, Error> {
        let mut headers = headers(host, settings)?;
        if let Some(login) = target.authorization().filter(|_| settings.api_key_env.is_none()) {
            headers.push(("authorization".to_owned(), login.to_owned()));
        }
        let tls = Tls { insecure: settings.insecure, ca_file: settings.ca_file.clone() };
        let web = Web::new(&target.base(), &headers, &tls)?;
        let mut notes = Vec::new();
        let models = match server::models(&web, server::LIMIT) {
            Ok(models) => models,
            // Whoever names the model does not need the list. A server that is not there will be said to be so all the same.
            Err(error) if settings.model.is_some() && web.get("/v1/models", server::LIMIT).is_ok() => {
                notes.push(format!("the server lists no models ({}), so the model was not checked", error.what));
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let model = match (&settings.model, models.is_empty()) {
            (Some(asked), true) => Served { id: asked.clone(), ..Served::default() },
            (asked, _) => server::choose(&models, asked.as_deref())?.clone(),
        };
        let identity = server::identify(&web, &models, server::LIMIT);
        let questioner = Questioner { host, settings, veil, watcher };
        let exact = (settings.exact == Exact::Auto).then(|| probe(&questioner, &web, &model.id)).transpose()?;
        if let Some(probed) = exact.as_ref().filter(|probed| probed.way == Exact::Off) {
            let tried: Vec<String> =
                probed.tries.iter().map(|tried| format!("{}: {}", tried.way.word(), tried.words)).collect();
            notes.push(format!("no exact output length is honoured ({}). Answers may be shorter", tried.join("; ")));
        }
        notes.iter_mut().for_each(|note| *note = veil.said(note));
        // A route without an answer is none, and one that is refused for now may be one.
        let post = |body: &serde_json::Value| {
            questioner.ask("to count tokens (/tokenize)", &|| {
                Ok(web.post_json(tokens::ROUTE, body, server::LIMIT).unwrap_or_default())
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

fn probe(questioner: &Questioner<'_>, web: &Web, model: &str) -> Result<Probed, Error> {
    let endpoint = questioner.settings.endpoint;
    let post = |body| {
        let body = questioner.body(body);
        questioner
            .ask("for an answer of an exact length", &|| web.post_json(endpoint.path(), &body, questioner.limit()))
    };
    exact::probe(&exact::question(endpoint, model), &post)
}

/// Headers of every request: what the user gave, and the key where one is named.
///
/// # Errors
/// When the variable that holds the key is not set.
pub fn headers(host: &dyn Host, settings: &Settings) -> Result<Vec<(String, String)>, Error> {
    let mut headers: Vec<(String, String)> =
        settings.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(name) = &settings.api_key_env {
        let key = host.variable(name).filter(|key| !key.is_empty()).ok_or_else(|| {
            Error::usage(format!("the environment variable '{name}' for the key is not set"))
                .hint(format!("set it with export {name}=..."))
        })?;
        headers.push(("authorization".to_owned(), format!("Bearer {key}")));
    }
    Ok(headers)
}
