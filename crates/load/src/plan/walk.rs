//! The plan from one entry to the next.
//!
//! In:  a [`Plan`], where to begin.  Out: entries in order.
//! Not here: what an entry is (see `entry`).
//!
//! In an open loop the time of an entry is a sum over gaps. A single entry costs up to a thousand drawn gaps. A walk through the plan in
//! order draws each gap once.

use super::arrivals::ArrivalCursor;
use super::{Entry, Plan, Times};
use crate::order::Phase;

/// Goes through a plan in order, and draws each gap once. The plan is lent step by step.
#[derive(Debug)]
pub struct Walk {
    next: u64,
    cursor: Option<ArrivalCursor>,
}

impl Walk {
    /// From entry `first` on.
    pub const fn new(first: u64) -> Self {
        Self { next: first, cursor: None }
    }

    /// The next entry. Always of the same plan.
    pub fn next(&mut self, plan: &Plan) -> Option<Entry> {
        let mut entry = plan.untimed(self.next)?;
        self.next += 1;
        if entry.phase == Phase::Measured {
            let j = entry.index - plan.warmup - plan.primed;
            entry.at = match &plan.times {
                Times::Open(arrivals) => Some(arrivals.step(self.cursor.get_or_insert_with(|| arrivals.from(j)))),
                _ => plan.at(j),
            };
        }
        Some(entry)
    }
}

/// Entries in order: each gap is drawn once.
#[derive(Debug)]
pub struct Entries<'a> {
    plan: &'a Plan,
    walk: Walk,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.walk.next(self.plan)
    }
}

impl Plan {
    /// All entries from `first` on, in order.
    pub fn entries(&self, first: u64) -> Entries<'_> {
        Entries { plan: self, walk: Walk::new(first) }
    }
}
