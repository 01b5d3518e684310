//! A load while it runs, from its counters.
//!
//! In:  [`Progress`] of the engine.  Out: [`Live`].
//! Not here: showing it (see `cli::load`), the same of several clients (see `ranks`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::seconds;
use crate::engine::Progress;
use crate::live::Live;
use crate::settings::Settings;
use sparkbench_host::net::{Ns, now};

/// Length of the window for current rates on the screen: the last five seconds.
const CURRENT: Ns = 5_000_000_000;

/// Makes moments for anyone who watches.
pub(super) struct View<'a> {
    began: Ns,
    /// Observations of the last seconds, the oldest first.
    past: VecDeque<Seen>,
    name: &'a str,
    planned: Option<u64>,
    settings: &'a Settings,
}

/// Counts at one moment.
#[derive(Clone, Copy, Default)]
struct Seen {
    at: Ns,
    pieces: u64,
    ttft: (u64, u64),
}

impl<'a> View<'a> {
    /// Of a load that began then, with as many requests of every part.
    pub(super) const fn new(began: Ns, name: &'a str, planned: Option<u64>, settings: &'a Settings) -> Self {
        Self { began, past: VecDeque::new(), name, planned, settings }
    }

    /// How far it is now.
    pub(super) fn look(&mut self, progress: &Arc<Progress>, done: bool) -> Live {
        let at = now();
        let seen = Seen { at, pieces: progress.pieces.load(Relaxed), ttft: progress.ttft.totals() };
        while self.past.front().is_some_and(|old| at.saturating_sub(old.at) > CURRENT) && self.past.len() > 1 {
            self.past.pop_front();
        }
        let old = self.past.front().copied().unwrap_or(Seen { at: self.began, ..Seen::default() });
        self.past.push_back(seen);
        let past_s = seconds(at.saturating_sub(old.at)).max(1e-9);
        let pieces_s = seen.pieces.saturating_sub(old.pieces) as f64 / past_s;
        let (count, sum) = (seen.ttft.0.saturating_sub(old.ttft.0), seen.ttft.1.saturating_sub(old.ttft.1));
        let ttft = if count > 0 { Some(sum as f64 / count as f64) } else { progress.ttft.mean() };
        let counted = progress.counted_pieces.load(Relaxed);
        let tokens = progress.output_tokens.load(Relaxed);
        let failed = progress.failed.load(Relaxed);
        Live {
            name: self.name.to_owned(),
            elapsed_s: seconds(at.saturating_sub(self.began)),
            planned: self.planned,
            planned_s: self.settings.duration_s,
            ended: progress.ok.load(Relaxed) + failed + progress.others.load(Relaxed),
            in_flight: progress.in_flight.load(Relaxed),
            waiting: progress.waiting.load(Relaxed),
            failed,
            ttft_ms: ttft.map(|ns| ns / 1e6),
            tpot_ms: progress.tpot.mean().map(|ns| ns / 1e6),
            pieces_s,
            tokens_s: (counted > 0 && tokens > 0).then(|| pieces_s * tokens as f64 / counted as f64),
            done,
        }
    }
}
