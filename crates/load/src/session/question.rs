//! A question before the load whose answer decides what is sent: it is asked until it is answered, or the load ends.
//!
//! In:  a way to send it, [`Settings`].  Out: an answer, which may be a refusal, or an error.
//! Not here: what is asked (see `known` and `lengths`), how long a wait is (see `again`).
//!
//! A server that is busy, broken or still starting says nothing about what it was asked, and neither does one that wants another key. To take
//! that for a no would make another workload of the load. So a question that may be answered later is sent again under the rules of a request:
//! `--retries`, `Retry-After`, the time limit. One that will not be answered ends the load.

use std::time::Duration;

use serde_json::Value;

use super::Watcher;
use crate::again::ResendWait;
use crate::settings::Settings;
use sparkbench_archive::mask::Veil;
use sparkbench_host::Host;
use sparkbench_host::web::HttpAnswer;
use sparkbench_text::error::{Error, Kind};

/// Longest time limit of a question, unless that of a request is shorter. The first request after the start of an engine compiles and warms
/// up.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// Members of a body that belong to the question. Those of the user are for the requests of the load.
const OWN: &[&str] = &[
    "messages",
    "prompt",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "min_new_tokens",
    "ignore_eos",
];

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    /// As the object of "asked".
    pub what: &'static str,
    /// How to do without it, as the end of a sentence.
    pub instead: &'static str,
}

/// Which way of asking for an exact length is honoured.
pub(super) const EXACT: Question = Question {
    what: "for an answer of an exact length",
    instead: "say how with --exact min-tokens, min-new-tokens, ignore-eos or off (exact in a suite)",
};
/// What the server's template adds to a prompt, and how many tokens a word has.
pub(super) const PROMPT: Question =
    Question { what: "how many tokens a prompt has", instead: "give prompts of your own with --prompts FILE" };
/// Whether the server counts tokens.
pub(super) const TOKENIZE: Question = Question {
    what: "to count tokens (/tokenize)",
    instead: "count here with --tokenizer FILE (tokenizer in a suite)",
};

/// What a status says about what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Yes or no.
    Answer,
    /// Nothing yet.
    NotNow,
    /// Nothing, and it will not.
    Never,
}

impl Said {
    /// No is said by what names the request as it is: wrong, unknown, not allowed, too long, not built. 0 stands for a route that is not
    /// there.
    const fn by(status: u16) -> Self {
        match status {
            0 | 200..=299 | 400 | 404 | 405 | 413 | 415 | 422 | 501 => Self::Answer,
            408 | 425 | 429 | 500..=599 => Self::NotNow,
            _ => Self::Never,
        }
    }
}

/// Who asks, and by whose rules.
pub(super) struct Questioner<'a> {
    pub host: &'a dyn Host,
    pub settings: &'a Settings,
    pub veil: &'a Veil,
    pub watcher: &'a dyn Watcher,
}

impl Questioner<'_> {
    /// Time limit of one sending.
    pub(super) fn limit(&self) -> Duration {
        LIMIT.min(Duration::try_from_secs_f64(self.settings.timeout_s).unwrap_or(LIMIT))
    }

    /// The body with the members that the user adds to every request.
    pub(super) fn body(&self, body: Value) -> Value {
        with_members(self.settings, body)
    }

    /// Asks until there is an answer.
    ///
    /// # Errors
    /// When the server still cannot answer after as many tries as a request has, or never will.
    pub(super) fn ask(
        &self,
        question: Question,
        send: &dyn Fn() -> Result<HttpAnswer, Error>,
    ) -> Result<HttpAnswer, Error> {
        let what = question.what;
        let timeout = (self.settings.timeout_s * 1e9) as u64;
        let mut times = 0;
        let mut anew = false;
        loop {
            let began = self.host.monotonic();
            let in_time = || self.host.monotonic().saturating_sub(began) < self.limit();
            let (error, retry_after) = match send() {
                Ok(answer) => match Said::by(answer.status) {
                    Said::Answer => return Ok(answer),
                    Said::NotNow => (Error::new(Kind::Workload, answer.gist()), answer.retry_after),
                    Said::Never => return Err(refused(question, &answer)),
                },
                // As of a request: it may have met a kept connection that the server had closed, and is sent once more.
                Err(_) if !anew && in_time() => {
                    anew = true;
                    continue;
                }
                Err(error) => (error, None),
            };
            times += 1;
            // As of a request: what ran into its time limit is not sent again.
            let in_time = retry_after.is_some() || in_time();
            if times > self.settings.retries || !in_time || self.host.interrupted() {
                return Err(failed(question, times, &error));
            }
            let now_s = self.host.utc().0 as f64 / 1e3;
            let wait = ResendWait::before(times, retry_after.as_deref(), timeout, now_s);
            let said = format!("the server was asked {what}: {}. It is asked again {}", error.what, wait.words());
            self.watcher.say(&self.veil.said(&said));
            self.host.pause(Duration::from_nanos(wait.ns));
            if self.host.interrupted() {
                return Err(failed(question, times, &error));
            }
        }
    }
}

/// Whether a server may answer later what it did not answer with this status.
pub(super) const fn may_answer_later(status: u16) -> bool {
    matches!(Said::by(status), Said::NotNow)
}

/// A body with the members that the user adds to every request.
pub(super) fn with_members(settings: &Settings, mut body: Value) -> Value {
    let extra = &settings.extra_body;
    let Some(members) = body.as_object_mut() else { return body };
    for (name, value) in extra.iter().filter(|(name, _)| !OWN.contains(&name.as_str())) {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    // A server that wants the other name of the limit may refuse this one.
    if extra.get("max_completion_tokens").is_some_and(|value| !value.is_null())
        && let Some(limit) = members.remove("max_tokens")
    {
        members.insert("max_completion_tokens".to_owned(), limit);
    }
    body
}

fn failed(Question { what, instead }: Question, times: u32, error: &Error) -> Error {
    let how_often = if times == 1 { "once".to_owned() } else { format!("{times} times") };
    Error::new(Kind::Workload, format!("the server was asked {what} {how_often} and did not answer: {}", error.what))
        .hint(format!(
            "wait until the server is ready and less busy, or ask more often with --retries N (retries in a suite). Without this question: \
             {instead}"
        ))
}

fn refused(Question { what, instead }: Question, answer: &HttpAnswer) -> Error {
    let hint = match answer.status {
        401 | 403 => "check the key: --api-key-env NAME (api_key_env in a suite)".to_owned(),
        300..=399 => "give the address to which the server redirects as --url".to_owned(),
        _ => format!("read in its log why. Without this question: {instead}"),
    };
    Error::new(Kind::Workload, format!("the server was asked {what} and refused to answer: {}", answer.gist()))
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;
    use sparkbench_host::replay::Replay;

    use super::*;
    use crate::live::Live;

    /// Keeps what is said.
    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    impl Watcher for Kept {
        fn say(&self, line: &str) {
            self.0.lock().unwrap().push(line.to_owned());
        }

        fn warn(&self, _: &str) {}

        fn live(&self, _: &Live) {}
    }

    /// The answer to a question that meets these one after the other, how often it was asked, how long was waited, what was said.
    fn asked(
        settings: &Settings,
        answers: Vec<Result<(u16, Option<&str>), &str>>,
    ) -> (Result<u16, Error>, usize, Duration, Vec<String>) {
        let (host, heard, veil) = (Replay::new(), Kept::default(), Veil::default());
        let questioner = Questioner { host: &host, settings, veil: &veil, watcher: &heard };
        let (began, left) = (host.monotonic(), Mutex::new(answers.into_iter()));
        let times = Mutex::new(0);
        let answer = questioner.ask(Question { what: "for an answer", instead: "ask nothing" }, &|| {
            *times.lock().unwrap() += 1;
            match left.lock().unwrap().next().expect("no more questions than answers") {
                Ok((status, after)) => {
                    Ok(HttpAnswer { status, retry_after: after.map(str::to_owned), ..HttpAnswer::default() })
                }
                Err(why) => Err(Error::new(Kind::Workload, why)),
            }
        });
        let times = *times.lock().unwrap();
        (answer.map(|answer| answer.status), times, host.monotonic() - began, heard.0.into_inner().unwrap())
    }

    fn settings(retries: u32, timeout_s: f64) -> Settings {
        Settings { retries, timeout_s, ..Settings::default() }
    }

    #[test]
    fn a_refusal_for_now_is_asked_again_and_any_other_one_is_an_answer() {
        let busy = |status| Ok((status, Some("1")));
        for status in [408, 425, 429, 500, 502, 503, 504, 529] {
            let (answer, times, waited, said) = asked(&settings(3, 600.0), vec![busy(status), busy(status), busy(200)]);
            assert_eq!((answer.unwrap(), times, waited), (200, 3, Duration::from_secs(2)));
            assert_eq!(
                said[0],
                format!("the server was asked for an answer: status {status}. It is asked again in 1 s")
            );
        }
        for status in [200, 400, 404, 405, 415, 422, 501] {
            let (answer, times, ..) = asked(&settings(3, 600.0), vec![busy(status)]);
            assert_eq!((answer.unwrap(), times), (status, 1));
        }
        // What will never be answered says neither yes nor no.
        for (status, remedy) in [(401, "--api-key-env"), (403, "--api-key-env"), (307, "--url"), (402, "ask nothing")] {
            let (answer, times, ..) = asked(&settings(3, 600.0), vec![busy(status)]);
            let error = answer.unwrap_err();
            assert_eq!((error.kind.exit_code(), times), (4, 1), "{error}");
            assert!(error.what.ends_with(&format!("refused to answer: status {status}")), "{error}");
            assert!(error.hint.as_ref().unwrap().contains(remedy), "{error}");
        }
        // A date and a fraction are waits too.
        for (after, wanted) in [("2.5", 2_500), ("Thu, 01 Jan 1970 00:00:00 GMT", 0)] {
            let (_, _, waited, _) = asked(&settings(1, 600.0), vec![Ok((429, Some(after))), busy(200)]);
            assert_eq!(waited, Duration::from_millis(wanted), "{after}");
        }
        // The first of them may have met a kept connection that the server had closed.
        let closed = || Err("the connection was closed before an answer came");
        let (answer, times, ..) = asked(&settings(0, 600.0), vec![closed(), busy(200)]);
        assert_eq!((answer.unwrap(), times), (200, 2));
        let (answer, times, ..) = asked(&settings(1, 600.0), vec![closed(), closed(), busy(200)]);
        assert_eq!((answer.unwrap(), times), (200, 3));
        let (answer, times, ..) = asked(&settings(0, 600.0), vec![closed(), closed()]);
        assert_eq!((answer.unwrap_err().kind.exit_code(), times), (4, 2));
    }

    #[test]
    fn a_server_that_stays_busy_ends_the_load_with_exit_code_4_and_a_remedy() {
        let (answer, times, waited, _) = asked(&settings(2, 5.0), vec![Ok((429, Some("7200"))); 3]);
        let error = answer.unwrap_err();
        assert_eq!((times, waited), (3, Duration::from_secs(10)), "a wait is no longer than the time limit");
        assert_eq!(error.what, "the server was asked for an answer 3 times and did not answer: status 429");
        assert_eq!(error.kind.exit_code(), 4);
        assert!(error.hint.unwrap().contains("--retries"));
        let (answer, times, ..) = asked(&settings(0, 600.0), vec![Ok((503, None))]);
        assert!(answer.unwrap_err().what.contains("once"));
        assert_eq!(times, 1);
    }

    #[test]
    fn a_question_has_the_members_that_the_user_adds_and_keeps_its_own() {
        let members = json!({ "chat_template_kwargs": { "enable_thinking": false }, "temperature": 0.7, "model": null,
            "max_completion_tokens": 900, "stream_options": {}, "ignore_eos": true, "messages": [] });
        let settings = Settings { extra_body: serde_json::from_value(members).unwrap(), ..Settings::default() };
        let (host, heard, veil) = (Replay::new(), Kept::default(), Veil::default());
        let questioner = Questioner { host: &host, settings: &settings, veil: &veil, watcher: &heard };
        let body = json!({ "model": "m", "messages": ["q"], "temperature": 0, "stream": false, "max_tokens": 16, "min_tokens": 16 });
        assert_eq!(
            questioner.body(body),
            json!({ "messages": ["q"], "temperature": 0.7, "stream": false, "max_completion_tokens": 16, "min_tokens": 16,
                    "chat_template_kwargs": { "enable_thinking": false } })
        );
    }
}
