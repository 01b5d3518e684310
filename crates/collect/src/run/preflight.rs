//! The pre-flight of a campaign: every gate and every environment, on every machine, before the first run.
//!
//! In:  a [`Request`], the other machines.  Out: warnings, or one refusal that names everything.
//! Not here: waiting for what waiting can cure (see `gates::before`).

use super::cluster::Cluster;
use super::request::Request;
use super::{Watcher, gates};
use sparkbench_model::{Finding, Level};
use sparkbench_text::error::{Error, Kind};

impl Request<'_> {
    /// Reads every gate and every environment once. All refusals come together. What waiting can cure is waited for before each run.
    pub(super) fn preflight(&self, cluster: Option<&Cluster>) -> Result<(), Error> {
        let findings = self.readings(cluster)?;
        tell(&findings, self.watcher)
    }

    /// The finding of each gate and environment, with its place.
    fn readings(&self, cluster: Option<&Cluster>) -> Result<Vec<(String, Finding)>, Error> {
        let host = self.host.as_ref();
        let needs_gpu = self
            .chosen
            .iter()
            .any(|run| self.experiment.workload(&run.workload).is_some_and(|(_, made)| made.needs_gpu()));
        let context = gates::Context {
            host,
            gpu: self.sight.gpu.as_deref(),
            no_gpu: &self.sight.no_gpu,
            gates: &self.experiment.suite.gates,
            archive: &self.options.archive,
            needs_gpu,
            last_ended: None,
            began: None,
            ours: &[],
        };
        let mut findings: Vec<(String, Finding)> =
            gates::lasting(&context).into_iter().map(|finding| ("machine".to_owned(), finding)).collect();
        for (label, environment) in &self.experiment.environments {
            if self.chosen.iter().any(|run| run.environment == *label) {
                findings.extend(environment.ready(host).into_iter().map(|finding| (label.clone(), finding)));
            }
        }
        if let Some(cluster) = cluster {
            let wanted = |label: &&String| self.chosen.iter().any(|run| run.environment == **label);
            let labels: Vec<String> =
                self.experiment.environments.iter().map(|(label, _)| label).filter(wanted).cloned().collect();
            findings.extend(cluster.look(&labels, needs_gpu, host)?);
        }
        Ok(findings)
    }
}

/// Warns of what is odd, and refuses what cannot be.
fn tell(findings: &[(String, Finding)], watcher: &dyn Watcher) -> Result<(), Error> {
    let line = |(place, finding): &(String, Finding)| {
        let remedy = finding.remedy.as_deref().map(|remedy| format!(". Try: {remedy}")).unwrap_or_default();
        let limit = finding.limit.as_deref().map(|limit| format!(" (limit: {limit})")).unwrap_or_default();
        format!("{place}, {}: {}{limit}{remedy}", finding.gate, finding.reading)
    };
    let at = |level: Level| findings.iter().filter(move |(_, finding)| finding.level == level).map(line);
    at(Level::Warned).for_each(|words| watcher.warn(&words));
    let refused: Vec<String> = at(Level::Refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Error::new(Kind::Preflight, format!("the pre-flight check refuses:\n  - {}", refused.join("\n  - ")))
        .hint("see every reading with 'sparkbench check SUITE'"))
}
