//! Whether a further machine is ready for a run, and whether the end of the run was requested.
//!
//! In:  checks.  Out: one report of each to the head.
//! Not here: starting and ending it (see `member`).

use std::time::Duration;

use super::line::Line;
use super::say::Word;
use crate::workload::Placement;
use sparkbench_host::net::{listens, resolve};

/// Time limit until a worker listens. An engine loads its weights before.
pub(super) const LISTENS: Duration = Duration::from_secs(900);
/// A connection to a worker that listens takes no longer.
const CONNECT: Duration = Duration::from_secs(1);

/// Whether this machine is ready for a run, and whether the end of the run was requested.
pub(super) struct Readiness {
    /// The worker listens at it, until it was seen to.
    pub port: Option<u16>,
    pub until: Duration,
    pub started: bool,
    pub ending: bool,
}

impl Readiness {
    /// Tells the head once, as soon as it does.
    pub(super) fn look(&mut self, placement: &Placement, line: &Line, now: Duration) {
        if self.started || self.ending {
            return;
        }
        let stands = self.port.is_none_or(|port| {
            let to = resolve(placement.address(placement.rank), port).ok().and_then(|found| found.into_iter().next());
            to.is_some_and(|to| listens(&to, CONNECT))
        });
        if stands {
            self.started = true;
            line.say(&Word::Started);
        } else if now > self.until {
            self.tell(line, &format!("its worker was not listening after {} s", LISTENS.as_secs()));
        }
    }

    /// Asks the head for the end, once. A start that comes to nothing is answered so.
    pub(super) fn tell(&mut self, line: &Line, why: &str) {
        if std::mem::replace(&mut self.ending, true) {
            return;
        }
        line.say(&Word::Ending { why: why.to_owned() });
        if !std::mem::replace(&mut self.started, true) {
            line.say(&Word::Unable { why: why.to_owned() });
        }
    }
}
