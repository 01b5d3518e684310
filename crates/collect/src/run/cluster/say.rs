//! Messages between the head of a cluster and the other machines.
//!
//! In:  nothing.  Out: [`Order`] from the head, [`Word`] from a machine. Each is one JSON value.
//! Not here: how messages travel (see `host::meet`), how orders are carried out (see `member`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::nodes::About;
use crate::workload::Placement;
use sparkbench_archive::FileName;
use sparkbench_archive::manifest::{NodeWire, PlannedRun};
use sparkbench_host::link::Measured;
use sparkbench_model::Finding;

/// Order of the head.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Order {
    /// This is the campaign. Ends what an earlier collector of it left. Answered by [`Word::Ready`].
    Begin(Box<Begin>),
    /// Every gate once, and whether these environments are ready. Answered by [`Word::Found`].
    Look {
        /// Labels.
        environments: Vec<String>,
        /// Whether a run needs a GPU.
        needs_gpu: bool,
    },
    /// Every gate before a run, waiting where that helps. Answered by [`Word::Gates`].
    Gates {
        environment: String,
        /// Whether the run needs a GPU.
        needs_gpu: bool,
    },
    /// Sample, watch, and start the worker if there is one. Answered by [`Word::Started`].
    Start(Box<PlannedRun>),
    /// Take it down and send what there is. Answered by files and [`Word::Ended`].
    End { why: String },
    /// Listen for a measurement of the link. Answered by [`Word::Listening`].
    Listen,
    /// Measure the way to an address. Answered by [`Word::Measured`].
    Measure {
        /// Address and port.
        to: String,
        /// Numbers of connections at a time.
        streams: Vec<usize>,
        /// Seconds for each.
        seconds: f64,
    },
    /// Listen for a measurement by RDMA. Answered by [`Word::Port`].
    RdmaListen {
        device: String,
        /// Seconds of the measurement.
        seconds: f64,
    },
    /// Measure the way by RDMA. Answered by [`Word::Carried`].
    RdmaMeasure {
        device: String,
        /// Address of the listening machine.
        address: String,
        /// Likewise.
        port: u16,
        seconds: f64,
    },
    /// Tell both clocks. Answered by [`Word::Clocks`].
    Clocks,
    /// Nothing more.
    Leave,
}

/// A campaign, for a machine that helps with it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Random name of the archive.
    pub archive_id: String,
    /// The suite as it was written.
    pub suite: String,
    /// Its name, for messages.
    pub file: String,
    /// Where it lies: its files are looked for in the same place.
    pub folder: PathBuf,
    /// Contents of each environment on this machine when the campaign began. Empty at its beginning.
    pub held: BTreeMap<String, Value>,
    /// The machines of the campaign as this one sees them.
    pub placement: Placement,
}

/// Message of a machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
pub(crate) enum Word {
    /// Who it is, and its address on the way to the head.
    Hello {
        /// As `sparkbench nodes` shows it.
        about: Box<About>,
        /// For the other machines.
        address: String,
    },
    /// It knows the campaign.
    Ready {
        inventory: Value,
        /// Contents of each environment there.
        environments: BTreeMap<String, Value>,
        /// Leftovers of an earlier collector.
        swept: Vec<String>,
    },
    /// Findings by section.
    Found {
        /// Section and finding.
        findings: Vec<(String, Finding)>,
    },
    /// It waits for a gate. No answer.
    Waiting {
        gate: Finding,
        /// Duration, seconds.
        waited_s: f64,
        /// Time limit, seconds.
        limit_s: f64,
        /// The wait is over.
        done: bool,
    },
    /// Every gate.
    Gates {
        /// In their order.
        gates: Vec<Finding>,
    },
    /// The machine is ready for the run.
    Started,
    /// The run has to end now. No answer.
    Ending { why: String },
    /// A file of the run follows, in pieces. No answer.
    File {
        /// Below the machine's folder of the run.
        path: FileName,
    },
    /// All of the run was sent.
    Ended {
        /// For `run.json`.
        node: Box<NodeWire>,
    },
    /// It listens for a measurement.
    Listening {
        /// Address and port.
        at: String,
    },
    /// The way was measured.
    Measured {
        /// Its outcome.
        measured: Measured,
    },
    /// It listens for a measurement by RDMA.
    Port {
        /// There.
        port: u16,
    },
    /// The way was measured by RDMA.
    Carried { gbit_s: f64 },
    /// Both clocks at one moment, ns.
    Clocks {
        /// Wall clock, since 1970.
        wall_ns: u64,
        /// Monotonic clock.
        monotonic_ns: u64,
    },
    /// An order could not be carried out.
    Unable { why: String },
}

impl Word {
    /// Whether it answers an order. Others come in between.
    pub(crate) const fn answers(&self) -> bool {
        !matches!(self, Self::Waiting { .. } | Self::Ending { .. } | Self::File { .. })
    }
}

/// The form for the connection. The number of the order comes first, so that a late answer is not taken for one to the next order.
pub(crate) fn value<T: Serialize>(number: u64, said: &T) -> Value {
    // Plain texts, numbers and maps with texts as keys cannot fail to become JSON.
    serde_json::to_value((number, said)).unwrap_or_default()
}

/// As it came, with its number.
///
/// # Errors
/// When it is none of the known messages.
pub(crate) fn heard<T: DeserializeOwned>(value: Value) -> Result<(u64, T), String> {
    serde_json::from_value(value).map_err(|cause| format!("its message was not understood ({cause})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let order = Order::Gates { environment: "native".into(), needs_gpu: true };
        let Ok((7, Order::Gates { environment, needs_gpu })) = heard(value(7, &order)) else { panic!("another order") };
        assert_eq!((environment.as_str(), needs_gpu), ("native", true));
        let (_, word): (u64, Word) = heard(value(7, &Word::Started)).unwrap();
        assert!(word.answers() && !Word::Ending { why: "x".into() }.answers());
        assert!(heard::<Word>(serde_json::json!([7, { "word": "hullo" }])).unwrap_err().contains("not understood"));
    }
}
