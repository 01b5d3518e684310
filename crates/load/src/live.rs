//! How far a load is, for anyone who watches.
//!
//! In:  counts at one moment.  Out: [`Live`].
//! Not here: counting (see `session`), showing it (see `cli::load`).

/// A load at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// Its name, e.g. `concurrency 8`.
    pub name: String,
    /// Since its first request, seconds.
    pub elapsed_s: f64,
    /// Requests that the plan has, where it is bound by a count. Warm-up and priming included.
    pub planned: Option<u64>,
    /// Planned time, where it is bound by one, seconds.
    pub planned_s: Option<f64>,
    /// Requests ended.
    pub ended: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Of these, waiting to be sent again.
    pub waiting: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Mean TTFT of the last seconds, or so far where nothing was answered in them, ms.
    pub ttft_ms: Option<f64>,
    /// Mean TPOT so far, ms.
    pub tpot_ms: Option<f64>,
    /// Generated pieces per second over the last seconds.
    pub pieces_s: f64,
    /// Output tokens per second over the last seconds. Absent until the server has counted those of an answer.
    pub tokens_s: Option<f64>,
    /// True at the end.
    pub done: bool,
}

impl Live {
    /// Share of the load that is over, where its end is known.
    pub fn share(&self) -> Option<f64> {
        let by_count = self.planned.filter(|planned| *planned > 0).map(|planned| self.ended as f64 / planned as f64);
        let by_time = self.planned_s.map(|planned_s| self.elapsed_s / planned_s);
        by_count.into_iter().chain(by_time).reduce(f64::max).map(|share| share.min(1.0))
    }

    /// Seconds to the end if it goes on like this. Absent before a hundredth is over.
    pub fn left_s(&self) -> Option<f64> {
        self.share().filter(|share| *share >= 0.01).map(|share| self.elapsed_s * (1.0 - share) / share)
    }
}
