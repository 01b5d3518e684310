//! How many measured requests are in flight, over time.
//!
//! In:  the moments of sends and ends.  Out: [`Flow`]: means over all of it, and over the time in which there was something to send.
//! Not here: which requests they are (see `flight`).

use sparkbench_host::net::Ns;

/// Measured requests in flight, as an area.
#[derive(Debug, Default)]
pub(super) struct Flow {
    now: u64,
    since: Ns,
    area: u128,
    first: Option<Ns>,
    last_end: Ns,
    /// Moment of the last send, and the area up to it.
    last_send: (Ns, u128),
}

impl Flow {
    fn advance(&mut self, at: Ns) {
        // Moments of different sources may be out of order by a little. The area must not shrink.
        self.area += u128::from(self.now) * u128::from(at.saturating_sub(self.since));
        self.since = self.since.max(at);
    }

    pub(super) fn sent(&mut self, at: Ns) {
        self.advance(at);
        self.now += 1;
        self.first.get_or_insert(at);
        self.last_send = (at, self.area);
    }

    pub(super) fn ended(&mut self, at: Ns) {
        self.advance(at);
        self.now = self.now.saturating_sub(1);
        self.last_end = self.last_end.max(at);
    }

    /// From the first send to the last end.
    pub(super) fn mean(&self) -> Option<f64> {
        self.over(self.area, self.last_end)
    }

    /// From the first send to the last one: what ends behind it has no successor.
    pub(super) fn mean_sending(&self) -> Option<f64> {
        let (until, area) = self.last_send;
        self.over(area, until)
    }

    fn over(&self, area: u128, until: Ns) -> Option<f64> {
        let time = until.checked_sub(self.first?).filter(|time| *time > 0)?;
        Some(area as f64 / time as f64)
    }
}
