//! The connection from a further machine to the head.
//!
//! In:  a connection.  Out: [`Line`], whose messages carry the number of their order, and [`GateReporter`].
//! Not here: the messages (see `say`).

use std::sync::atomic::{AtomicU64, Ordering};

use super::say::{self, Word};
use crate::run::Watcher;
use sparkbench_host::meet::Client;
use sparkbench_model::Finding;

/// The way to the head.
pub(super) struct Line {
    pub client: Client,
    /// Number of the current order.
    pub number: AtomicU64,
}

impl Line {
    pub(super) fn say(&self, word: &Word) {
        self.client.say(say::value(self.number.load(Ordering::Relaxed), word));
    }

    /// Behind the pieces of files. False where the head is gone.
    pub(super) fn say_behind(&self, word: &Word) -> bool {
        self.client.say_behind(say::value(self.number.load(Ordering::Relaxed), word))
    }
}

/// Tells the head what a gate waits for.
pub(super) struct GateReporter<'a>(pub &'a Line);

impl Watcher for GateReporter<'_> {
    fn say(&self, _: &str) {}

    fn warn(&self, _: &str) {}

    fn waiting(&self, gate: &Finding, waited_s: f64, limit_s: f64, done: bool) {
        self.0.say(&Word::Waiting { gate: gate.clone(), waited_s, limit_s, done });
    }

    fn progress(&self, _: usize, _: usize, _: &str, _: Option<f64>) {}
}
