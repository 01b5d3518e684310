//! How many requests the settings of a load make: those that warm up, and those of one client.
//!
//! In:  [`Settings`].  Out: counts.
//! Not here: which requests these are (see `plan`).

use super::options::Settings;
use super::values::{Cache, Lengths, Shape, Work};

/// Most warm-up requests of a load that does not say how many.
const WARMUP_USUAL: u64 = 16;

impl Settings {
    /// Requests before the measured part. Where nobody said how many, one for each place of a closed loop. An open loop has one, or
    /// `WARMUP_USUAL` where its prompts differ in length, because each length may be a shape of its own for the engine.
    ///
    /// There is none where something else warms up or nothing may: conversations have a step of their own, a primed cache has its own requests,
    /// and a cache that keeps what it was sent would know the lines of a file.
    pub fn warmups(&self) -> u64 {
        if let Some(asked) = self.warmup {
            return asked;
        }
        let from_file = matches!(self.work, Work::Prompts { .. });
        if matches!(self.work, Work::Conversations(_))
            || self.cache == Cache::Primed
            || (from_file && self.cache != Cache::Cold)
        {
            return 0;
        }
        let usual = match (&self.shape, &self.work) {
            (Shape::Closed { concurrency }, _) => WARMUP_USUAL.min(u64::from(*concurrency)),
            (Shape::Open { .. }, Work::Synthetic { isl: Lengths::Fixed(_), .. }) => 1,
            _ => WARMUP_USUAL,
        };
        usual.min(self.requests.unwrap_or(usual))
    }

    /// Measured requests of this client's share, where they have a number.
    pub fn own_requests(&self) -> Option<u64> {
        let requests = self.requests?;
        // As the plan goes: warm-up, priming, measured part.
        let before = self.warmups() + if self.cache == Cache::Primed { requests } else { 0 };
        Some(self.share.first(before + requests) - self.share.first(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Arrival, Prefix};

    #[test]
    fn a_load_that_does_not_say_how_many_warms_up_once_a_place_or_once_a_shape() {
        let of = |shape, work, cache, requests| {
            Settings { shape, work, cache, requests, warmup: None, ..Settings::default() }.warmups()
        };
        let closed = |concurrency| Shape::Closed { concurrency };
        let open = || Shape::Open { rate: 2.0, arrival: Arrival::Poisson, max_concurrency: None };
        let made = |isl| Work::Synthetic { isl, osl: Lengths::PLAIN, prefix: Prefix::default() };
        let (one, many) = (|| made(Lengths::PLAIN), || made(Lengths::Uniform(100, 200)));
        let file = || Work::Prompts { path: "p".into(), osl: None };
        for (settings, expected) in [
            (of(closed(4), one(), Cache::Cold, Some(100)), 4),
            (of(closed(64), one(), Cache::Natural, None), 16),
            (of(closed(64), one(), Cache::Cold, Some(3)), 3),
            (of(open(), one(), Cache::Cold, Some(100)), 1),
            (of(open(), many(), Cache::Cold, Some(100)), 16),
            (of(closed(4), file(), Cache::Cold, None), 4),
            (of(closed(4), file(), Cache::Natural, None), 0),
            (of(closed(4), one(), Cache::Primed, Some(100)), 0),
        ] {
            assert_eq!(settings, expected);
        }
        assert_eq!(Settings { warmup: Some(2), ..Settings::default() }.warmups(), 2);
    }
}
