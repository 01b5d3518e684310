//! Messages between rank 0 and the others.
//!
//! In:  words.  Out: JSON, and back.
//! Not here: what follows from them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::report::RankReport;
use crate::live::Live;
use sparkbench_host::net::Ns;

/// Settings of a load, from rank 0.
#[derive(Debug)]
pub struct Called {
    pub name: String,
    /// Its settings as a table of a suite.
    pub table: String,
    /// [`crate::settings::Settings::nonce`].
    pub nonce: u64,
}

/// From rank 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToMember {
    /// Do this load.
    Load { number: u64, name: String, table: String, nonce: u64 },
    /// All have the same plan. Files count from this moment of your clock.
    Go { number: u64, origin: Ns },
    /// This part begins at this moment of your clock.
    Open { number: u64, level: u8, at: Ns },
    /// End it.
    Stop { number: u64, why: String },
    /// There is no further load.
    End,
    /// You cannot be one of us.
    #[serde(rename = "refused")]
    Refused(String),
}

/// To rank 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToHead {
    /// Who I am.
    Hello { host: String, version: String },
    /// My plan is made. This is what it depends on.
    Ready { number: u64, digest: String },
    /// I cannot do this load, or not to its end.
    Unable { number: u64, why: String },
    /// Everything before this part is over here.
    Level { number: u64, level: u8 },
    /// How far I am.
    Heartbeat { number: u64, beat: Heartbeat },
    /// All my files were sent, and this is about them.
    Report { number: u64, report: Box<RankReport> },
}

/// A load at one moment, on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Heartbeat {
    planned: Option<u64>,
    ended: u64,
    in_flight: u64,
    waiting: u64,
    failed: u64,
    pieces_s: f64,
    tokens_s: Option<f64>,
}

impl Heartbeat {
    pub(super) fn of(live: &Live) -> Self {
        let Live { planned, ended, in_flight, waiting, failed, pieces_s, tokens_s, .. } = *live;
        Self { planned, ended, in_flight, waiting, failed, pieces_s, tokens_s }
    }

    /// With what another rank sees.
    pub(super) fn added_to(self, live: Live) -> Live {
        Live {
            planned: live.planned.map(|planned| planned + self.planned.unwrap_or(0)),
            ended: live.ended + self.ended,
            in_flight: live.in_flight + self.in_flight,
            waiting: live.waiting + self.waiting,
            failed: live.failed + self.failed,
            pieces_s: live.pieces_s + self.pieces_s,
            tokens_s: live.tokens_s.map(|rate| rate + self.tokens_s.unwrap_or(0.0)),
            ..live
        }
    }
}

impl ToMember {
    /// As it is sent.
    pub(super) fn value(&self) -> Value {
        // Plain values with plain keys cannot fail to become JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl ToHead {
    /// As it is sent.
    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
