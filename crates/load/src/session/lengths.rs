//! Makes texts of a wanted length for a server: by a tokenizer here, by the server's own counts, or by a few probes.
//!
//! In:  [`Session`], [`Settings`].  Out: a [`Recipe`] for the plan, [`Texts`] for conversations, and a sentence that names the counter.
//! Not here: counting (see `tokens`), the text (see `plan`).

use serde_json::json;
use std::sync::Arc;

use super::Session;
use super::question::{PROMPT, Questioner};
use crate::chat::{CountedText, Estimate, Texts};
use crate::plan::{Plan, Purpose, Text, TextWriter};
use crate::server::{self, routes};
use crate::settings::{Endpoint, Settings, Work};
use crate::tokens::{Counter, Gauge, Local, Origin, Recipe, Server, Words};
use sparkbench_stats::random::Stream;
use sparkbench_text::error::{Error, Kind};

/// Times that a made text is corrected.
const ROUNDS: u32 = 4;

/// For prompts of the plan, and who counted. Asked of the server once: every load of a session has the same.
///
/// # Errors
/// When the tokenizer cannot be read, or the server's counter fails.
pub(super) fn recipe(session: &Session<'_>, settings: &Settings, plan: &Plan) -> Result<(Recipe, String), Error> {
    let made = plan.longest().0.is_some();
    if !made {
        // Prompts of a file go out as they are. A tokenizer still counts them.
        let counter = local(settings)?.unwrap_or_else(|| Arc::new(Words));
        return Ok((Recipe::new(counter, None)?, "prompts of the file are sent as they are".to_owned()));
    }
    let mut known = session.recipe.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(recipe) = known.as_ref() {
        return Ok((recipe.clone(), words(recipe)));
    }
    let gauge =
        Gauge::take(TextWriter::new(settings.seed, settings.nonce), &mut |text| asked(session, settings, text))?;
    let counter = counter(session, settings)?;
    let recipe = Recipe::new(counter, gauge.as_ref())?;
    let sentence = words(&recipe);
    *known = Some(recipe.clone());
    Ok((recipe, sentence))
}

/// For conversations, and who counts.
///
/// # Errors
/// When the tokenizer cannot be read.
pub(super) fn texts(session: &Session<'_>, settings: &Settings) -> Result<(Box<dyn Texts>, String), Error> {
    match local(settings)? {
        Some(counter) => {
            let writer = TextWriter::new(settings.seed, settings.nonce);
            Ok((
                Box::new(Counted { counter, writer }),
                "lengths of generated turns are counted by the given tokenizer".to_owned(),
            ))
        }
        None => {
            let made = !matches!(&settings.work, Work::Conversations(chat) if matches!(chat.input, crate::settings::ConversationInput::File(_)));
            let what = if made {
                "lengths of generated turns are estimated, count them with --tokenizer"
            } else {
                "turns are sent as they are"
            };
            let _ = session;
            Ok((Box::new(Estimate), what.to_owned()))
        }
    }
}

/// The tokenizer that was given.
///
/// # Errors
/// When it cannot be read.
pub(super) fn local(settings: &Settings) -> Result<Option<Arc<dyn Counter>>, Error> {
    settings
        .tokenizer
        .as_deref()
        .map(|path| Local::read(path).map(|local| Arc::new(local) as Arc<dyn Counter>))
        .transpose()
}

fn counter(session: &Session<'_>, settings: &Settings) -> Result<Arc<dyn Counter>, Error> {
    if let Some(local) = local(settings)? {
        return Ok(local);
    }
    let Some(tokenize) = session.known.tokenize.clone() else { return Ok(Arc::new(Words)) };
    let count = move |text: &str| {
        let tokens = tokenize.count(text)?;
        u32::try_from(tokens)
            .map_err(|_| Error::new(Kind::Workload, format!("the server counts {tokens} tokens in a text")))
    };
    Ok(Arc::new(Server(count)))
}

/// `prompt_tokens` of a request of one token. Nothing where the server refuses it or does not count.
///
/// # Errors
/// When there is no answer: the lengths of all prompts depend on it.
fn asked(session: &Session<'_>, settings: &Settings, text: &str) -> Result<Option<u32>, Error> {
    let mut body = json!({ "model": session.known.model.id, "stream": false, "temperature": 0, "max_tokens": 1 });
    match settings.endpoint {
        Endpoint::Chat => body["messages"] = json!([{ "role": "user", "content": text }]),
        Endpoint::Completions => body["prompt"] = json!(text),
    }
    let veil = session.secrets_of(settings).veil();
    let questioner = Questioner { host: session.host.as_ref(), settings, veil: &veil, watcher: session.watcher };
    let body = questioner.body(body);
    let answer = questioner.ask(PROMPT, &|| {
        session.known.web.post_json(session.target.route(settings.endpoint), &body, questioner.limit())
    })?;
    if routes::is_missing(answer.status) {
        let (known, endpoint) = (&session.known, settings.endpoint);
        return Err(routes::missing(&known.web, &session.target, endpoint, &known.model.id, &answer, server::LIMIT));
    }
    let tokens = answer.json().filter(|_| answer.ok()).and_then(|json| json.pointer("/usage/prompt_tokens")?.as_u64());
    Ok(tokens.and_then(|tokens| u32::try_from(tokens).ok()))
}

fn words(recipe: &Recipe) -> String {
    let template = match recipe.overhead() {
        Some(tokens) => format!("the template of the server adds {tokens}"),
        None => "how much the template of the server adds is not known".to_owned(),
    };
    match recipe.origin() {
        Origin::Unknown => {
            "the tokens of prompts cannot be counted: a word counts as one, and the server may report another length"
                .to_owned()
        }
        origin => format!(
            "tokens of prompts are counted by {} ({:.3} per word, {template})",
            match origin {
                Origin::Local => "the given tokenizer",
                Origin::Server => "the server (/tokenize)",
                Origin::Gauge | Origin::Unknown => "the server's usage of three probes",
            },
            recipe.tokens_per_word()
        ),
    }
}

/// Texts of conversations by a tokenizer.
struct Counted {
    counter: Arc<dyn Counter>,
    writer: TextWriter,
}

impl Counted {
    fn tokens(&self, text: &str) -> u32 {
        self.counter.count(text).ok().flatten().unwrap_or(0)
    }
}

impl Texts for Counted {
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> CountedText {
        let what = Text { purpose: Purpose::Measured, number: stream.next_u64(), nonce: false };
        let mut words = tokens;
        let mut text = String::new();
        for _ in 0..ROUNDS {
            text.clear();
            self.writer.write(what, words, &mut text);
            let is = self.tokens(&text);
            if is == tokens || is == 0 {
                break;
            }
            words = (u64::from(words) * u64::from(tokens)).div_ceil(u64::from(is)) as u32;
        }
        let tokens = self.tokens(&text);
        CountedText { text, tokens }
    }

    fn head(&mut self, text: &str, tokens: u32) -> CountedText {
        if self.tokens(text) <= tokens {
            return CountedText { text: text.to_owned(), tokens: self.tokens(text) };
        }
        // Tokens of a head grow with the head: the longest that is not too long, by halving.
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let fit = ends.partition_point(|end| self.tokens(&text[..*end]) <= tokens);
        let head = &text[..ends.get(fit.saturating_sub(1)).copied().unwrap_or(0)];
        CountedText { text: head.to_owned(), tokens: self.tokens(head) }
    }

    fn count(&mut self, text: &str) -> u32 {
        self.tokens(text)
    }

    fn exact(&self) -> bool {
        true
    }
}
