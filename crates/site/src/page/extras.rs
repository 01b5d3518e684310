//! What pages show beyond the analysis.
//!
//! In:  raw values, names for people, prose that belongs to code, the earlier content of the site.  Out: [`Extras`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::HashedPage;
use super::publish::version::Earlier;
use sparkbench_model::{RawText, Sample, Series, Span};
use sparkbench_verdict::report::Severity;

/// Content of pages beyond `analysis.json`: raw values, names for people, and prose that belongs to code.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// GPU telemetry by run id, in time order. A run without any is absent.
    pub telemetry: BTreeMap<String, Vec<Sample>>,
    /// Per-request values by run id, in the order they were measured. A run without any is absent.
    pub requests: BTreeMap<String, Vec<Series>>,
    /// Measured requests in time by run id, in order of sending. A run without any is absent.
    pub spans: BTreeMap<String, Vec<Span>>,
    /// Machine label to its name for people. The label itself is shown where it is absent.
    pub machine_titles: BTreeMap<String, String>,
    /// Model label to its name for people. The label itself is shown where it is absent.
    pub model_titles: BTreeMap<String, String>,
    /// Every trap the program knows, in the order in which pages list them.
    pub traps: Vec<TrapAbout>,
    /// Thresholds that the prose of the method page quotes, by name, as text. The names are [`super::CONSTANTS`].
    pub constants: BTreeMap<&'static str, String>,
    /// Raw files of the runs as text, by path. Those that are absent have no page, and their places are named without a link.
    pub logs: Vec<Arc<RawText>>,
    /// The command that makes this site again.
    pub reproduce: String,
    /// Address of the site, and its earlier content.
    pub publication: Publication,
    /// Ready files of other rooms (`data/runs.csv`, `data/requests.parquet`): listed and written as they are.
    pub extra_files: Vec<Arc<HashedPage>>,
}

/// What a trap is about, whether or not it fired anywhere.
#[derive(Debug, Clone)]
pub struct TrapAbout {
    /// Contract id. The anchor on the traps page.
    pub id: &'static str,
    /// `P1` to `P17`, where it is one of these.
    pub code: Option<&'static str>,
    /// Name for people.
    pub title: &'static str,
    /// How bad it is when it fires, unless the finding says otherwise.
    pub severity: Severity,
    /// Markdown: why it misleads, how it is detected, how to avoid it.
    pub about: String,
}

/// Address of the site, and its earlier content.
#[derive(Debug, Clone, Default)]
pub struct Publication {
    /// The address that the site will have, with a slash at its end. Checked by [`super::base_url`]. Without one, pages say nothing that needs it.
    pub base_url: Option<String>,
    /// Versions that lie in the site's folder, the oldest first.
    pub earlier: Vec<Earlier>,
}
