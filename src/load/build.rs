//! Bodies, built ahead on a thread of their own.
//!
//! In:  a [`Plan`], a [`Recipe`] that says how many words make so many tokens, what a body has beside its prompt ([`Form`]).
//! Out: orders in the order of the plan, through a queue that the schedule takes them from.
//! Not here: when they are sent (see `schedule`), the head of the request (see `wire`).
//!
//! The thread that sends and reads must never build text. This one keeps a bounded number of bodies ready: at least two for each request
//! in flight, unless they take too much memory. It wakes the poller when the queue had run dry and has something again.
//!
//! A body is one line of JSON: `model`, `messages` or `prompt`, `stream`, `stream_options`, `temperature`, `max_tokens` and what makes
//! the length exact, then the members that the user adds. Those win: a member of ours that is named there gives way, and one that is
//! `null` there is left out. It is `max_tokens` and not `max_completion_tokens`, which llama-server and older releases do not know; where
//! a server wants the other, `{"max_tokens": null, "max_completion_tokens": N}` does it. Of `stream`, `messages` and `prompt` none can be
//! replaced: without them nothing here could be measured. No `seed` is sent: at temperature 0 it changes nothing.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

use super::order::{Asked, Order, Phase};
use super::plan::prompts::Ask;
use super::plan::{Entry, Plan, PromptSpec, Walk};
use super::schedule::{Built, Fed, Feed, request_id};
use super::settings::{Endpoint, Exact, Settings, Shape};
use super::tokens::Recipe;
use crate::error::{Error, Place};

/// Bytes of bodies that may be ready, unless a single one is larger.
const READY_BYTES: usize = 16 << 20;
/// Bodies that may be ready however few are in flight: an open loop has no number of its own.
const READY_LEAST: usize = 64;
/// And however many.
const READY_MOST: usize = 32_768;

/// What a body has beside its prompt.
#[derive(Debug, Clone)]
pub struct Form {
    endpoint: Endpoint,
    /// From `{` to just before the prompt's own value.
    before: String,
    /// After it, without the number of output tokens.
    after: String,
    max_tokens: bool,
    exact: Exact,
    /// Names that the user's members set.
    theirs: Vec<String>,
    /// Output tokens that the user's members ask for.
    fixed_osl: Option<u32>,
    nonce: u64,
    keep_text: bool,
    token_ids: bool,
}

impl Form {
    /// Of settings, the model's name as the server knows it, and the way of asking for exact lengths that was found out; `keep_text` wants
    /// the answers' texts back for the audit.
    ///
    /// # Errors
    /// Further members that cannot be, or [`Exact::Auto`], which has to be settled before.
    pub fn new(settings: &Settings, model: &str, exact: Exact, keep_text: bool) -> Result<Self, Error> {
        let extra = &settings.extra_body;
        for name in ["stream", "messages", "prompt"] {
            if extra.contains_key(name) {
                return Err(Error::usage(format!("the body's member '{name}' cannot be set"))
                    .hint("it is what is measured; prompts of your own go into a file"));
            }
        }
        if exact == Exact::Auto {
            return Err(Error::usage("how the server takes an exact length was not found out")
                .hint("say it: min-tokens, min-new-tokens, ignore-eos or off"));
        }
        if settings.token_ids && settings.endpoint == Endpoint::Chat {
            return Err(
                Error::usage("the chat route takes no token ids").hint("use --endpoint completions with token ids")
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

    fn finish(&self, entry: &Entry, body: &mut String) -> Asked {
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

/// Makes orders of entries. One is enough for a load; it keeps its buffers.
#[derive(Debug)]
pub struct Maker {
    plan: Arc<Plan>,
    recipe: Recipe,
    form: Form,
    text: String,
}

impl Maker {
    /// Checks that the file's prompts, where there are any, can be sent to the route.
    ///
    /// # Errors
    /// The first line that cannot.
    pub fn new(plan: Arc<Plan>, recipe: Recipe, form: Form) -> Result<Self, Error> {
        let cold = matches!(plan.entry(0).map(|entry| entry.prompt), Some(PromptSpec::Line(_, Some(_))));
        for line in plan.lines() {
            let wrong =
                |what: &str, hint: &str| Err(Error::usage(what.to_owned()).at(Place::Line(line.number)).hint(hint));
            match (&line.ask, form.endpoint) {
                (Ask::Messages(..), Endpoint::Completions) => {
                    return wrong("a prompt is a list of messages", "messages need --endpoint chat");
                }
                (Ask::Ids(..), Endpoint::Chat) => {
                    return wrong("a prompt is a list of token ids", "token ids need --endpoint completions");
                }
                (Ask::Ids(..), _) | (Ask::Messages(_, None), _) if cold => {
                    return wrong(
                        "a prompt has no text to put the nonce of a cold cache into",
                        "promise nothing of the cache: --cache natural",
                    );
                }
                _ => {}
            }
        }
        if form.token_ids && !recipe.has_ids() {
            return Err(
                Error::usage("prompts as token ids need the model's tokenizer").hint("give --tokenizer tokenizer.json")
            );
        }
        Ok(Self { plan, recipe, form, text: String::new() })
    }

    /// The order of an entry.
    ///
    /// # Errors
    /// When the counter of tokens fails.
    pub fn make(&mut self, entry: &Entry) -> Result<Built, Error> {
        let mut body = String::with_capacity(self.form.before.len() + self.form.after.len() + 128 + self.text.len());
        body.push_str(&self.form.before);
        let isl_sent = match entry.prompt {
            PromptSpec::Made { .. } => self.made(entry, &mut body)?,
            PromptSpec::Line(line, nonce) => self.of_file(line, nonce, &mut body)?,
        };
        let asked = self.form.finish(entry, &mut body);
        let order = Box::new(Order {
            index: entry.index,
            phase: entry.phase,
            intended: None,
            body: body.into_bytes(),
            request_id: request_id(self.form.nonce, entry.index),
            asked: Asked { isl_sent, ..asked },
            keep_text: self.form.keep_text && entry.phase == Phase::Measured,
            turn: None,
        });
        Ok(Built { order, at: entry.at })
    }

    /// The text of an entry's prompt, as it is sent, without the template; for one of a file absent.
    ///
    /// # Errors
    /// When the counter of tokens fails.
    pub fn text(&mut self, entry: &Entry) -> Result<Option<&str>, Error> {
        let PromptSpec::Made { head, own } = entry.prompt else { return Ok(None) };
        self.recipe.write(&self.plan, head, own, entry.isl.unwrap_or(1), &mut self.text)?;
        Ok(Some(&self.text))
    }

    fn made(&mut self, entry: &Entry, body: &mut String) -> Result<Option<u32>, Error> {
        let PromptSpec::Made { head, own } = entry.prompt else { return Ok(None) };
        let isl = entry.isl.unwrap_or(1);
        if self.form.token_ids {
            let ids = self.recipe.ids(&self.plan, head, own, isl, &mut self.text)?;
            body.push('[');
            for (place, id) in ids.iter().enumerate() {
                let _ = write!(body, "{}{id}", if place == 0 { "" } else { "," });
            }
            body.push(']');
            return Ok(u32::try_from(ids.len()).ok());
        }
        let sent = self.recipe.write(&self.plan, head, own, isl, &mut self.text)?;
        // Made text is letters and spaces: nothing to escape.
        match self.form.endpoint {
            Endpoint::Chat => {
                let _ = write!(body, r#"[{{"role":"user","content":"{}"}}]"#, self.text);
            }
            Endpoint::Completions => {
                let _ = write!(body, r#""{}""#, self.text);
            }
        }
        Ok(sent)
    }

    fn of_file(
        &mut self,
        line: u64,
        nonce: Option<super::plan::Text>,
        body: &mut String,
    ) -> Result<Option<u32>, Error> {
        let Some(given) = self.plan.line(line) else {
            return Err(Error::usage(format!("the plan has no line {line}")));
        };
        self.text.clear();
        if let Some(nonce) = nonce {
            self.plan.write_text(nonce, super::plan::NONCE_WORDS, &mut self.text);
            self.text.push_str(r"\n\n");
        }
        Ok(match (&given.ask, self.form.endpoint) {
            (Ask::Text(text), Endpoint::Chat) => {
                let _ = write!(body, r#"[{{"role":"user","content":"{}{text}"}}]"#, self.text);
                self.recipe.count_json(&self.text, text)?
            }
            (Ask::Text(text), Endpoint::Completions) => {
                let _ = write!(body, r#""{}{text}""#, self.text);
                self.recipe.count_json(&self.text, text)?
            }
            (Ask::Messages(json, at), _) => {
                let (head, tail) = json.split_at(at.unwrap_or(0));
                let nonce = if at.is_some() { self.text.as_str() } else { "" };
                let _ = write!(body, "{head}{nonce}{tail}");
                // What a template makes of several messages is the server's own business.
                None
            }
            (Ask::Ids(json, count), _) => {
                body.push_str(json);
                Some(*count)
            }
        })
    }
}

/// The thread's side and the schedule's side of the queue.
struct Shared {
    queue: Mutex<Queue>,
    room: Condvar,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Built>,
    bytes: usize,
    /// The thread rests until the half is gone: to be woken for each body would cost more than the body.
    full: bool,
    /// The schedule found nothing and waits to be woken.
    dry: bool,
    done: bool,
    failed: Option<Error>,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The lock guards a queue that is whole between any two steps.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives what the thread has built; dropping it ends the thread.
pub struct Builder {
    shared: Arc<Shared>,
    most: usize,
    thread: Option<JoinHandle<()>>,
}

/// Starts to build the orders of this client's share. `wake` wakes the engine's poller.
///
/// # Errors
/// When no thread can be had.
pub fn start(mut maker: Maker, settings: &Settings, wake: impl Fn() + Send + 'static) -> Result<Builder, Error> {
    let at_once = match settings.shape {
        Shape::Closed { concurrency } => concurrency,
        Shape::Open { max_concurrency, .. } | Shape::Trace { max_concurrency, .. } => max_concurrency.unwrap_or(1024),
    };
    let most = (at_once as usize).saturating_mul(2).clamp(READY_LEAST, READY_MOST);
    let shared = Arc::new(Shared { queue: Mutex::default(), room: Condvar::new() });
    let ours = Arc::clone(&shared);
    let work = move || {
        let plan = Arc::clone(&maker.plan);
        let mut walk = Walk::new(0);
        while let Some(entry) = walk.next(&plan) {
            if !plan.mine(entry.index) {
                continue;
            }
            let built = maker.make(&entry);
            let mut queue = ours.lock();
            if queue.ready.len() >= most || queue.bytes >= READY_BYTES {
                queue.full = !queue.ready.is_empty();
            }
            while !queue.stop && queue.full {
                queue = ours.room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.stop {
                return;
            }
            match built {
                Ok(built) => {
                    queue.bytes += built.order.body.len();
                    queue.ready.push_back(built);
                }
                Err(error) => {
                    queue.failed = Some(error);
                    break;
                }
            }
            if std::mem::take(&mut queue.dry) {
                drop(queue);
                wake();
            }
        }
        let mut queue = ours.lock();
        queue.done = true;
        drop(queue);
        wake();
    };
    let thread = std::thread::Builder::new().name("bodies".to_owned()).spawn(work).map_err(|error| {
        Error::new(crate::error::Kind::Workload, "no thread for the bodies can be had").because(error)
    })?;
    Ok(Builder { shared, most, thread: Some(thread) })
}

impl Feed for Builder {
    fn take(&mut self) -> Fed {
        let mut queue = self.shared.lock();
        match queue.ready.pop_front() {
            Some(built) => {
                queue.bytes -= built.order.body.len();
                let rested = queue.full && queue.ready.len() <= self.most / 2 && queue.bytes <= READY_BYTES / 2;
                if rested {
                    queue.full = false;
                    drop(queue);
                    self.shared.room.notify_one();
                }
                Fed::Order(built)
            }
            None if queue.done => match queue.failed.take() {
                Some(error) => Fed::Failed(error),
                None => Fed::End,
            },
            None => {
                queue.dry = true;
                Fed::Dry
            }
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.stop = true;
        queue.ready.clear();
        drop(queue);
        self.shared.room.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
