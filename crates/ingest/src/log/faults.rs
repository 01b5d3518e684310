//! Faults of a server or an engine, counted by kind, and the cause of its end.
//!
//! In:  lines.  Out: counts as extras, the line of the first of each kind, the reason of an end.
//! Not here: whose fault it was.

use super::cut::{after, error_message};
use super::findings::LogFindings;

/// Phrase of a line, kind of trouble, and whether the engine is gone with it.
const KINDS: &[(&str, &str, bool)] = &[
    ("Engine core initialization failed", "engine did not start", true),
    ("EngineCore failed to start", "engine did not start", true),
    ("EngineCore encountered a fatal error", "engine died", true),
    ("EngineDeadError", "engine died", true),
    ("AsyncEngineDeadError", "engine died", true),
    ("Scheduler hit an exception", "scheduler died", true),
    ("Received sigquit from a child process", "scheduler died", true),
    ("Segmentation fault", "segmentation fault", true),
    ("Caught signal", "signal", true),
    ("Free memory on device", NO_MEMORY, true),
    ("No available memory for the cache blocks", NO_MEMORY, true),
    ("Not enough memory. Please try to increase --mem-fraction-static", NO_MEMORY, true),
    ("OutOfMemoryError", "out of memory", false),
    ("CUDA out of memory", "out of memory", false),
    ("Cuda Runtime (out of memory)", "out of memory", false),
    ("CUDA error", "CUDA error", false),
    ("illegal memory access", "CUDA error", false),
    ("NCCL error", "NCCL error", false),
    ("Traceback (most recent call last)", "traceback", false),
    ("Watchdog", "watchdog", false),
    ("failed to load model", "model not loaded", true),
    ("error loading model", "model not loaded", true),
    ("failed to allocate", "allocation failed", false),
    ("GGML_ASSERT", "assertion", true),
];

const NO_MEMORY: &str = "too little free memory";

/// Marks of the lines that [`Faults::read`] wants.
pub(super) const MARKS: &[&str] = &[
    "Engine core initialization failed",
    "EngineCore failed to start",
    "EngineCore encountered a fatal error",
    "EngineDeadError",
    "Scheduler hit an exception",
    "Received sigquit",
    "Segmentation fault",
    "Caught signal",
    "Free memory on device",
    "No available memory for the cache blocks",
    "Not enough memory. Please",
    "out of memory",
    "OutOfMemoryError",
    "CUDA error",
    "illegal memory access",
    "NCCL error",
    "Traceback (most recent",
    "Error:",
    "Killed",
    "Watchdog",
    "HTTP/1.1\"",
];

/// True for a line on an answer: most of a busy server's log, and it holds nothing else.
pub(super) fn is_answer(line: &str) -> bool {
    line.contains("HTTP/1.1\" ")
}

/// Trouble of one start of an engine.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    /// Kind, how many, line of the first.
    counts: Vec<(&'static str, u64, u64)>,
    /// Cause of the end of the engine: kind and line.
    ended: Option<(&'static str, u64)>,
    /// The first error in the words of the program, and its line.
    first: Option<(String, u64)>,
    /// The last word of a shell whose program was killed.
    killed: Option<u64>,
    /// Answers by status: 2xx, 4xx, 5xx.
    answers: [u64; 3],
}

impl Faults {
    /// One line.
    pub(super) fn read(&mut self, number: u64, line: &str) {
        if let Some(rest) = after(line, "HTTP/1.1\" ") {
            self.answer(line, rest);
            return;
        }
        if let Some((_, kind, ends)) = KINDS.iter().find(|(phrase, ..)| line.contains(phrase)) {
            self.count(kind, number);
            if *ends && self.ended.is_none() {
                self.ended = Some((kind, number));
            }
        }
        if line.trim_end().ends_with("Killed") {
            self.count("killed", number);
            self.killed = Some(number);
        }
        if let Some(message) = error_message(line) {
            self.count("error", number);
            self.first.get_or_insert((message, number));
        }
    }

    /// Less memory than none is left, in the words of the log: with this the start ends, whatever it says of it further on.
    pub(super) fn short_of_memory(&mut self, number: u64, words: String) {
        self.count(NO_MEMORY, number);
        self.ended.get_or_insert((NO_MEMORY, number));
        self.first.get_or_insert((words, number));
    }

    fn count(&mut self, kind: &'static str, line: u64) {
        match self.counts.iter_mut().find(|(name, ..)| *name == kind) {
            Some(entry) => entry.1 += 1,
            None => self.counts.push((kind, 1, line)),
        }
    }

    /// Answers to requests for tokens, not to those for health and metrics.
    fn answer(&mut self, line: &str, rest: &str) {
        if !["POST /v1/", "POST /generate", "POST /completion", "POST /chat", "POST /inference/"]
            .iter()
            .any(|way| line.contains(way))
        {
            return;
        }
        let place = match rest.as_bytes().first() {
            Some(b'2') => 0,
            Some(b'4') => 1,
            Some(b'5') => 2,
            _ => return,
        };
        if let Some(count) = self.answers.get_mut(place) {
            *count += 1;
        }
    }

    /// Why the engine is gone, where the log shows that it is. Scripts kill a server when they are done with it, so for one that was `up`
    /// that alone is no failure.
    pub(super) fn reason(&self, up: bool) -> Option<String> {
        let (kind, line) = self.ended.or_else(|| self.killed.filter(|_| !up).map(|line| ("killed", line)))?;
        let first = self.first.as_ref().filter(|(_, at)| *at <= line + FOLLOWS);
        Some(
            first.map_or_else(
                || format!("{kind} (line {line})"),
                |(message, at)| format!("{kind}: {message} (line {at})"),
            ),
        )
    }

    /// The last trouble that a log without a result shows, ended or not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.reason(false).or_else(|| {
            let memory = self.counts.iter().find(|(kind, ..)| *kind == "out of memory");
            match (&self.first, memory.or(self.counts.iter().find(|(kind, ..)| *kind != "error"))) {
                (Some((message, line)), Some((kind, ..))) => Some(format!("{kind}: {message} (line {line})")),
                (Some((message, line)), None) => Some(format!("{message} (line {line})")),
                (None, Some((kind, _, line))) => Some(format!("{kind} (line {line})")),
                (None, None) => None,
            }
        })
    }

    /// Counts, as extras.
    pub(super) fn into(self, found: &mut LogFindings) {
        for (kind, count, line) in &self.counts {
            found.extra(&format!("lines of trouble: {kind}"), "", *count as f64, *line);
        }
        for (count, name) in self.answers.iter().zip(["2xx", "4xx", "5xx"]) {
            if *count > 0 {
                found.over_all(&format!("answers {name}"), "", *count as f64, None);
            }
        }
    }
}

/// An error may be explained some lines behind the line that says that the engine is gone: the whole trace lies between.
const FOLLOWS: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_the_reason_and_every_kind_is_counted() {
        let mut faults = Faults::default();
        for (number, line) in [
            "ERROR [core.py:1] EngineCore failed to start.",
            "ERROR [core.py:1] Traceback (most recent call last):",
            "ERROR [core.py:1] ValueError: no kernel fits",
            "RuntimeError: Engine core initialization failed. See root cause above.",
            "INFO: 1.2.3.4:1 - \"POST /v1/completions HTTP/1.1\" 500 Internal Server Error",
            "INFO: 1.2.3.4:1 - \"GET /health HTTP/1.1\" 200 OK",
        ]
        .iter()
        .enumerate()
        {
            faults.read(number as u64 + 1, line);
        }
        assert_eq!(faults.reason(false).as_deref(), Some("engine did not start: ValueError: no kernel fits (line 3)"));
        assert_eq!(faults.counts, [("engine did not start", 2, 1), ("traceback", 1, 2), ("error", 2, 3)]);
        assert_eq!(faults.answers, [0, 0, 1]);
    }

    #[test]
    fn an_error_that_the_server_survives_ends_nothing() {
        let mut faults = Faults::default();
        faults.read(1, "ValueError: the prompt is too long");
        assert_eq!(
            (faults.reason(false), faults.trouble().as_deref()),
            (None, Some("ValueError: the prompt is too long (line 1)"))
        );
        faults.read(9, "Killed");
        assert_eq!(faults.reason(true), None, "a server that was up may be killed at the end");
        assert_eq!(faults.reason(false).as_deref(), Some("killed: ValueError: the prompt is too long (line 1)"));
    }
}
