//! The outcome of an answer: its status, and the message for a failure.
//!
//! In:  a [`Job`] that has ended, and how its connection did.  Out: [`Status`] and a message, without secrets.
//! Not here: reading answers (see `answer`), counting.
//!
//! The server's message counts more than the end of the connection after it. An error in the stream stays an error, even if the rest was
//! never read. A message says what came, and where a person can do something about it, what.

use super::answer::{Body, Job};
use super::error_text;
use crate::contradiction::counted;
use crate::finish::Finish;
use crate::order::Status;
use sparkbench_archive::mask::Veil;

/// Member of a request that asks for token counts. Some servers refuse it.
const STREAM_OPTIONS: &str = "stream_options";
/// What leaves it out.
pub const WITHOUT_STREAM_OPTIONS: &str = r#"--extra-body '{"stream_options":null}'"#;

impl Job {
    /// Its outcome, where `ended` is the end of its connection and `key` the header that has a key. Names the failure. No word of the server
    /// keeps a secret.
    pub(super) fn conclude(&mut self, ended: Status, veil: &Veil, key: Option<&str>) {
        let (status, error) = self.outcome(ended, key);
        self.record.status = status;
        self.record.error = error.map(|error| error_text::clean(veil, &error)).filter(|error| !error.is_empty());
        self.unseen.settle(&mut self.record);
        if veil.is_empty() {
            return;
        }
        let record = &mut self.record;
        for said in [&mut record.finish, &mut record.model, &mut record.retry_after].into_iter().flatten() {
            let known = veil.text(said);
            if known != *said {
                *said = known;
            }
        }
    }

    fn outcome(&mut self, ended: Status, key: Option<&str>) -> (Status, Option<String>) {
        let told = self.record.error.take();
        // The server's message counts more than the end of the connection after it. An error in the stream stays an error, even if the rest
        // was never read.
        if let Some(error) = self.in_stream.take() {
            return (Status::InStream, Some(error));
        }
        if let Some(fault) = self.fault.take() {
            return (Status::Malformed, Some(fault));
        }
        if matches!(ended, Status::Cancelled | Status::Timeout | Status::Connect | Status::Tls) {
            return (ended, told);
        }
        match self.record.http {
            Some(200) => {}
            Some(code) => return (Status::Http, Some(self.refusal(code, key))),
            None => return (ended, told),
        }
        if self.body == Body::Other {
            return (Status::Malformed, Some(self.no_stream()));
        }
        if let Some(finish) = self.record.finish.as_deref() {
            let said = || error_text::line(finish, error_text::EXCERPT);
            let why = match Finish::of(finish) {
                Finish::GivenUp => Some(format!("the server gave the answer up (finish_reason {})", said())),
                Finish::Filtered => Some(format!("a content filter ended the answer (finish_reason {})", said())),
                Finish::Whole | Finish::Unknown => None,
            };
            if why.is_some() {
                return (Status::InStream, why);
            }
        }
        if ended == Status::Broken {
            return (ended, told);
        }
        let record = &self.record;
        if self.untyped && record.events == 0 && !record.done && record.bytes > 0 {
            return (
                Status::Malformed,
                Some(format!("the answer is not an event stream: \"{}\"", error_text::excerpt(&self.kept))),
            );
        }
        if record.pieces == 0 && !self.unseen.answers(record) {
            let what =
                if record.events == 0 { "status 200 without an event" } else { "status 200 without a generated token" };
            return (Status::Empty, Some(what.into()));
        }
        if !record.done && record.finish.is_none() {
            return (Status::Broken, Some("the stream ended without finish_reason and without [DONE]".into()));
        }
        // A count of as many or more says that it is not shorter, whatever else it is worth.
        let short =
            |asked: u32| [counted(record), record.usage.output].iter().all(|got| got.is_some_and(|got| got < asked));
        let is_short = record.asked.exact && record.asked.osl.is_some_and(short);
        (if is_short { Status::Short } else { Status::Ok }, None)
    }

    fn refusal(&self, code: u16, key: Option<&str>) -> String {
        let said = error_text::message(&self.kept).unwrap_or_else(|| error_text::excerpt(&self.kept));
        let colon = if said.is_empty() { "" } else { ": " };
        match code {
            300..=399 => match &self.location {
                Some(location) => format!(
                    "status {code}: the server redirects to '{}'. Give that address as --url",
                    without_credentials(location)
                ),
                None => format!("status {code}: the server redirects without an address{colon}{said}"),
            },
            401 | 403 => {
                let sent = match key {
                    Some(name) => format!("an '{name}' header was sent and refused. Check the key"),
                    None => "no 'authorization' header was sent. Give a key with --api-key-env NAME".to_owned(),
                };
                let challenge = self.challenge.as_deref().map_or_else(String::new, |what| format!(" (wants {what})"));
                format!("status {code}{challenge}: {sent}{colon}{said}")
            }
            400..=499 if said.contains(STREAM_OPTIONS) => {
                format!(
                    "status {code}: leave out what the server does not know with {WITHOUT_STREAM_OPTIONS}{colon}{said}"
                )
            }
            _ => format!("status {code}{colon}{said}"),
        }
    }

    fn no_stream(&self) -> String {
        let kind = self.typed.as_deref().unwrap_or("no type");
        if kind.to_ascii_lowercase().contains("json") {
            let value: Option<serde_json::Value> = serde_json::from_slice(&self.kept).ok();
            if value.is_some_and(|value| value.get("choices").is_some()) {
                return format!(
                    "the server did not stream: it answered with one document of {kind}, despite \"stream\": true"
                );
            }
            if let Some(said) = error_text::message(&self.kept) {
                return format!("the answer is {kind} instead of an event stream: {said}");
            }
        }
        format!("the answer is {kind} instead of an event stream: \"{}\"", error_text::excerpt(&self.kept))
    }
}

/// An address as the server gives it, without user and password, and without a query, which may hold a token.
fn without_credentials(location: &str) -> String {
    let location = location.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = location.split_once("//") else { return location.to_owned() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}//{host}{path}")
}
