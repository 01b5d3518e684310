//! How late the mock's own writes were: a histogram of fixed size.
//!
//! In:  nanoseconds.  Out: quantiles to the microsecond, the maximum exactly.
//! Not here: formulas for figures that are published (see `stats`): this is the mock's word about itself.

/// Microseconds that have a bucket each. What is later shares the last one.
const BUCKETS: usize = 20_000;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Late {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
}

impl Default for Late {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max_ns: 0 }
    }
}

impl Late {
    /// Counts one.
    pub(super) fn add(&mut self, ns: u64) {
        let bucket = usize::try_from(ns / 1_000).unwrap_or(BUCKETS).min(BUCKETS - 1);
        self.counts[bucket] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many were counted.
    pub(super) const fn count(&self) -> u64 {
        self.total
    }

    /// The largest, microseconds. Absent without any.
    pub(super) fn max_us(&self) -> Option<f64> {
        (self.total > 0).then_some(self.max_ns as f64 / 1_000.0)
    }

    /// The least whole microsecond that `share` (0 to 1) of them do not exceed. Absent without any. From 20 ms on it is the maximum.
    pub(super) fn quantile_us(&self, share: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (us, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let last = us + 1 == BUCKETS;
                return if last { self.max_us() } else { Some((us + 1) as f64) };
            }
        }
        self.max_us()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_bounds_in_microseconds() {
        let mut late = Late::default();
        assert_eq!((late.quantile_us(0.5), late.max_us()), (None, None));
        for us in 0..100 {
            late.add(us * 1_000 + 500);
        }
        assert_eq!(late.quantile_us(0.5), Some(50.0));
        assert_eq!(late.quantile_us(0.99), Some(99.0));
        assert_eq!(late.max_us(), Some(99.5));
        late.add(5_000_000_000);
        assert_eq!(late.quantile_us(1.0), Some(5_000_000.0));
    }
}
