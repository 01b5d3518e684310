//! The engine's command line client: its calls, and the meaning of its errors.
//!
//! In:  words.  Out: answers, JSON, errors with a remedy.
//! Not here: which words.

use std::time::Duration;

use serde_json::Value;

use sparkbench_host::{Answer, Host, Question};
use sparkbench_text::error::{Error, Kind};

/// Copying files in and out may take longer than a question.
pub(super) const COPY_LIMIT: Duration = Duration::from_secs(1800);

/// `docker` or `podman`, with the flags that are before every verb.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub program: &'static str,
    /// E.g. `--context`, `--cgroup-manager`.
    pub global: Vec<String>,
}

impl Client {
    /// A whole command line.
    pub(super) fn argv(&self, words: &[&str]) -> Vec<String> {
        let first = std::iter::once(self.program.to_owned()).chain(self.global.iter().cloned());
        first.chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    /// Asks, and takes the answer whatever it is.
    ///
    /// # Errors
    /// When the client cannot be started.
    pub(super) fn ask(&self, host: &dyn Host, question: Question) -> Result<Answer, Error> {
        host.ask(&question).map_err(|error| {
            Error::new(Kind::Preflight, format!("cannot start '{}'", self.program))
                .hint(format!("install {0}, or take the environments of kind {0} out of the suite", self.program))
                .because(error)
        })
    }

    /// Asks something that must succeed.
    ///
    /// # Errors
    /// When it does not, with the client's own reason.
    pub(super) fn must(&self, host: &dyn Host, question: Question, doing: &str) -> Result<Answer, Error> {
        let answer = self.ask(host, question)?;
        if answer.ok() {
            return Ok(answer);
        }
        Err(Error::new(Kind::Workload, format!("{} cannot {doing}: {}", self.program, reason(&answer))))
    }

    /// JSON of an image or a container. Nothing when there is none of that name.
    ///
    /// # Errors
    /// When the engine does not answer, or not in JSON.
    pub(super) fn inspect(&self, host: &dyn Host, kind: &str, name: &str) -> Result<Option<Inspected>, Error> {
        let answer = self.ask(host, Question::new(self.argv(&[kind, "inspect", name])))?;
        if !answer.ok() {
            let why = reason(&answer);
            if why.to_lowercase().contains("no such") || why.contains("not known") {
                return Ok(None);
            }
            return Err(Error::new(
                Kind::Preflight,
                format!("{} cannot look at the {kind} '{name}': {why}", self.program),
            )
            .hint(format!("make sure that the engine answers: {} version", self.program)));
        }
        let parsed: Value = serde_json::from_slice(&answer.stdout).map_err(|error| {
            Error::new(Kind::Preflight, format!("{} {kind} inspect '{name}' does not answer in JSON", self.program))
                .because(error)
        })?;
        let first = parsed.get(0).cloned().unwrap_or(Value::Null);
        Ok(Some(Inspected { value: first, raw: answer.stdout }))
    }
}

/// Answer of `inspect`.
#[derive(Debug, Clone)]
pub(super) struct Inspected {
    /// The one object of its list.
    pub value: Value,
    /// As it was printed.
    pub raw: Vec<u8>,
}

impl Inspected {
    /// A text of the object.
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }

    /// A list of texts. A lone text counts as a list of one, nothing as an empty one.
    pub(super) fn texts(&self, pointer: &str) -> Vec<String> {
        match self.value.pointer(pointer) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}

/// The line of a failed answer that says why: clients print warnings before it and a hint to their help after it.
pub(super) fn reason(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let says = |line: &&str| {
        let line = line.to_lowercase();
        line.starts_with("error") || line.contains("error response from daemon")
    };
    let plain = |line: &&str| !line.starts_with("WARNING") && !line.starts_with("Unable to find image");
    match lines().find(says).or_else(|| lines().find(plain)) {
        Some(line) if !answer.timed_out => line.to_owned(),
        _ => answer.complaint(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_line_that_says_why() {
        for (stderr, expected) in [
            (
                "unknown flag: --gpuz\n\nUsage:  docker create [OPTIONS] IMAGE\n\nRun 'docker create --help' for more\n",
                "unknown flag: --gpuz",
            ),
            (
                "WARNING: no swap limit\nError response from daemon: invalid mode\nSee 'docker create --help'.\n",
                "Error response from daemon: invalid mode",
            ),
            (
                "Unable to find image 'x:latest' locally\ndocker: Error response from daemon: pull access denied\n",
                "docker: Error response from daemon: pull access denied",
            ),
            ("Error: unknown flag: --x\nSee 'podman create --help'\n", "Error: unknown flag: --x"),
            ("", "exit status 125"),
        ] {
            let answer = Answer { code: Some(125), stderr: stderr.as_bytes().to_vec(), ..Answer::default() };
            assert_eq!(reason(&answer), expected);
        }
        assert_eq!(reason(&Answer { timed_out: true, ..Answer::default() }), "no answer within the time limit");
    }
}
