//! Request bodies, built ahead on a separate thread.
//!
//! In:  a [`Plan`], a [`Recipe`] (words for a number of tokens), the other parts of a body ([`Form`]).
//! Out: orders in the order of the plan, through a queue that the schedule takes them from.
//! Not here: when they are sent (see `schedule`), the head of the request (see `wire`).
//!
//! The thread that sends and reads must never build text: the [`Maker`] does, on the thread of the [`BodyBuilder`].

mod form;
mod queue;

use std::fmt::Write as _;
use std::sync::Arc;

pub(crate) use form::Form;
pub(crate) use queue::start;

use super::order::{Asked, Order, Phase};
use super::plan::prompts::Ask;
use super::plan::{Entry, Plan, PromptSpec};
use super::schedule::{BuiltOrder, request_id};
use super::settings::Endpoint;
use super::tokens::Recipe;
use sparkbench_text::error::{Error, Place};

/// Makes orders of entries. One is enough for a load. It keeps its buffers.
#[derive(Debug)]
pub(crate) struct Maker {
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
    pub(crate) fn new(plan: Arc<Plan>, recipe: Recipe, form: Form) -> Result<Self, Error> {
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
                    return wrong("a prompt has no text to put the nonce of a cold cache into", "use --cache natural");
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
    pub(crate) fn make(&mut self, entry: &Entry) -> Result<BuiltOrder, Error> {
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
        Ok(BuiltOrder { order, at: entry.at })
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

#[cfg(test)]
mod tests;
