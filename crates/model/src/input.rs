//! A file that was examined, and what became of it.
//!
//! In:  nothing.  Out: [`Input`], a row of `inputs` in `analysis.json`.
//! Not here: reading it (see `ingest`).

use serde::Serialize;

use crate::Altered;

/// One file that was examined.
#[derive(Debug, Clone, Serialize)]
pub struct Input {
    /// Below the folder that was given. Bytes that are no text, and control characters, are `\xNN`.
    pub path: String,
    /// The bytes of the path in base64, where `path` is not the path letter by letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_bytes: Option<String>,
    /// Format that took it, absent when none did.
    pub format: Option<String>,
    /// SHA-256, absent when the file could not be read whole.
    pub sha256: Option<String>,
    /// Runs that came from it.
    pub runs: usize,
    /// True when something in it was left out.
    pub skipped: bool,
    /// Parts left out, and why.
    pub reason: Option<String>,
    /// Why it was joined to no run, although it was read and describes runs: telemetry, the log of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_joined: Option<String>,
    /// What became of it since its hash was recorded, where it is not what it was then. A file that is missing has a row for this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub altered: Option<Altered>,
}
