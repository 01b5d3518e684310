//! `peak memory` that was read before the KV pool existed is not the engine's peak (P15).
//!
//! In:  the straight line between KV cache and memory, the machine's kind of memory.  Out: one finding for each campaign.
//! Not here: how the line is found (see `columns`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use crate::case::Case;
use crate::columns::{Derived, MIN_ROWS, Relation};
use crate::number::significant;
use crate::report::{Evidence, Severity, Subject};

/// Fractions of the free memory that engines give to their cache. A slope outside is no sizing formula.
pub(super) const POOL_FRACTION: (f64, f64) = (0.3, 1.0);

const PEAK: &str = "peak_memory_gib";
const CACHE: &str = "kv_cache_gib";

/// Peak memory is not a peak.
pub(super) struct MemoryScope;

/// The line that shows the KV pool as a fraction of free memory. The memory figure was read before the pool was allocated.
pub fn sized_before_the_pool(case: &Case<'_>) -> Option<Derived> {
    let found = case.derived().iter().find(|d| {
        let both = (d.column == CACHE && d.from == [PEAK]) || (d.column == PEAK && d.from == [CACHE]);
        both && fraction(d).is_some_and(|f| f >= POOL_FRACTION.0 && f <= POOL_FRACTION.1)
    });
    found.cloned()
}

/// GiB of cache lost per GiB in use.
fn fraction(derived: &Derived) -> Option<f64> {
    match derived.relation {
        Relation::Affine { slope, .. } if derived.column == CACHE => Some(-slope),
        Relation::Affine { slope, .. } => Some(-1.0 / slope),
        Relation::Product => None,
    }
}

impl Trap for MemoryScope {
    fn id(&self) -> &'static str {
        "memory-scope"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P15")
    }
    fn title(&self) -> &'static str {
        "Peak memory is not a peak"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Memory
    }
    fn about(&self) -> String {
        format!(
            "The memory figure counts more than the engine, or less than its peak.\n\n\
             Engines print a memory figure while they decide how large the KV cache may be. It counts everything in use on the \
             device at that moment, without the cache that comes after. So it is neither the peak nor the engine's own. Where host \
             and device share one memory it includes the page cache. Whatever was read from disk before then looks like \
             consumption.\n\n\
             The check fires when the KV cache falls by a constant {} to {} GiB for each GiB in use. This must hold to the rounding \
             in at least {MIN_ROWS} runs. The cache was then computed from the figure, so the figure came first.\n\n\
             Read the memory of the process at the end of the measured window. Archive free, available and cached memory at the \
             start.",
            POOL_FRACTION.0, POOL_FRACTION.1
        )
    }
    fn undermines(&self) -> &'static str {
        "that one environment makes the engine use more memory than another"
    }
    fn leaves_cause_open(&self, metric: &str) -> bool {
        metric == PEAK
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let subject = Subject::of(case).with_metric(PEAK);
        let Some(line) = sized_before_the_pool(case) else { return vec![without(case, subject)] };
        let unified = case.machine().is_some_and(|m| m.unified_memory);
        let scope = if unified {
            "; on this machine host and device share one memory, so it includes the page cache"
        } else {
            ""
        };
        let message = format!(
            "peak memory was read when the KV cache was sized, before the cache existed ({}, {} rows). It is memory in use on the machine and not the engine's peak{scope}",
            line.rule, line.rows
        );
        let evidence = fraction(&line)
            .map(|f| Evidence::text(format!("each GiB in use takes {} GiB from the KV cache", significant(f, 3))));
        let remedy = if unified {
            "read the memory of the process after the measured window. Drop the page cache before each run, or record it, so that file reads do not count"
        } else {
            "read the memory of the process after the measured window"
        };
        vec![Finding::fired(subject, message).evidence(evidence).remedy(remedy)]
    }
}

fn without(case: &Case<'_>, subject: Subject) -> Finding {
    let (peaks, caches) = (case.distinct_values(PEAK), case.distinct_values(CACHE));
    if peaks == 0 || caches == 0 {
        let missing = if peaks == 0 { "peak memory" } else { "the KV cache" };
        return Finding::not_evaluated(subject, format!("no run reports {missing}"));
    }
    if peaks < MIN_ROWS {
        let message = format!(
            "peak memory takes {peaks} distinct values. {MIN_ROWS} are needed to see whether the KV cache follows it"
        );
        return Finding::not_evaluated(subject, message);
    }
    Finding::passed(subject, "the KV cache does not follow peak memory by a sizing formula")
}
