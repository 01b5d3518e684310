//! The files of a campaign as they are on disk: `campaign.json`, `runs/<id>/run.json`, `requests.jsonl`, `telemetry.csv`.
//!
//! In:  nothing.  Out: one serde type a file, the schema names, the fixed names of the layout, unfinished ones too.
//! Not here: writing a campaign, or making runs of it (see `ingest`).
//!
//! Contract: `docs/archive.md`. Fields may be added. A rename or a change of meaning needs a new schema number. Readers ignore fields
//! that they do not know. Absent is `null` or no key. The raw files can rebuild every summary here.

mod campaign;
mod claim;
mod node;
mod request;
mod run;

pub use self::campaign::{CampaignWire, HypothesisWire, LossWire, PlannedRun, SealWire};
pub use self::claim::Claim;
pub use self::node::NodeWire;
pub use self::request::{Delivery, RequestWire};
pub use self::run::{
    CheckWire, DroppedWire, FileHash, PackedWire, ProcessWire, ReportWire, RunWire, SamplerWire, SeenWire, StateWire,
    WindowWire,
};

/// Schema of [`CampaignWire`].
pub const CAMPAIGN_SCHEMA: &str = "sparkbench.campaign/1";
/// Schema of [`RunWire`].
pub const RUN_SCHEMA: &str = "sparkbench.run/2";
/// Every schema of [`RunWire`] that is read. In the first, names of files were text.
pub const RUN_SCHEMAS: &[&str] = &["sparkbench.run/1", RUN_SCHEMA];
/// Schema of [`SealWire`].
pub const SEAL_SCHEMA: &str = "sparkbench.seal/1";
/// Name of the campaign's own file.
pub const CAMPAIGN_FILE: &str = "campaign.json";
pub const RUNS_FOLDER: &str = "runs";
/// Name of a run's own file.
pub const RUN_FILE: &str = "run.json";
/// Name of the per-request records.
pub const REQUESTS_FILE: &str = "requests.jsonl";
/// Name of the samples of GPU and host.
pub const TELEMETRY_FILE: &str = "telemetry.csv";
/// Folder of a run with one folder for each further machine.
pub const NODES_FOLDER: &str = "nodes";
/// Folder of a run with what the commands of its metrics printed: `NAME.txt`, or `NAME.failed.txt`.
pub const COMMANDS_FOLDER: &str = "commands";
/// Folder of runs that were begun and did not end. Nothing in it is analysed.
pub const INTERRUPTED_FOLDER: &str = "interrupted";
/// Folder of what was asked once in each environment. Nothing in it is analysed.
pub const PROBES_FOLDER: &str = "probes";
/// Folder of what was made once for each model. Nothing in it is analysed.
pub const PREPARED_FOLDER: &str = "prepared";
/// The append-only record of a campaign.
pub const JOURNAL_FILE: &str = "journal.jsonl";
/// Written once when every planned run is accounted for: the hash of the journal at its end.
pub const SEAL_FILE: &str = "seal.json";
/// A new disk has it. It is no part of an archive.
pub const OF_THE_DISK: &str = "lost+found";
/// Ends the names of unfinished folders.
pub const PART: &str = ".part";
/// Folders that hold folders which are made once.
pub const PARENTS: [&str; 3] = [RUNS_FOLDER, PROBES_FOLDER, PREPARED_FOLDER];
/// All folders of an archive.
pub const FOLDERS: [&str; 4] = [RUNS_FOLDER, PROBES_FOLDER, PREPARED_FOLDER, INTERRUPTED_FOLDER];

/// The name of an unfinished folder's final place.
pub fn unfinished(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(PART)
}
