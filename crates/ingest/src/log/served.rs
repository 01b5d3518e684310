//! The last step for the log of a server: one partial run for every run against that server.
//!
//! In:  what one start of a server printed.  Out: its partial run.
//! Not here: what a line means.

use super::faults::Faults;
use super::findings::LogFindings;
use crate::sheet::last_part;
use crate::{JoinRole, Parsed, PartialRun, Record, ServerState, SourceFile};
use sparkbench_model::{Extra, Reading, Series, Setup, Status};

/// The time to be up of which a server that is up has one.
const LOAD_TIME: &str = "model_load_s";

/// Output of one start of a server.
pub(super) struct Served {
    /// Name of the engine.
    pub engine: &'static str,
    /// Rule of figures in the log, and of figures computed from it.
    pub rules: (&'static str, &'static str),
    /// Whether it came up.
    pub up: bool,
    /// Figures.
    pub found: LogFindings,
    /// Lines of trouble.
    pub faults: Faults,
    pub setup: Setup,
    /// Figures of each request, where the log has them.
    pub series: Vec<Series>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Served {
    /// A server that did not come up is a failed run with its first error.
    pub(super) fn finish(mut self, file: &SourceFile<'_>) -> Parsed {
        let status = self.faults.reason(self.up).map(Status::Failed);
        self.faults.into(&mut self.found);
        let (mut readings, mut extras) = self.found.finish(file, self.rules);
        let setup = Setup { engine: Some(self.engine.to_owned()), ..self.setup };
        let never = status.is_some() && !self.up;
        if never {
            // Loading that came to nothing is no load time of a server.
            let is_load = |reading: &Reading| reading.metric == LOAD_TIME;
            extras.extend(readings.iter().filter(|reading| is_load(reading)).map(|reading| {
                Extra::number(
                    "model_load",
                    "s",
                    reading.value,
                    Some("the server never came up"),
                    reading.origin.clone(),
                )
            }));
            readings.retain(|reading| !is_load(reading));
        }
        let partial = PartialRun {
            join_role: JoinRole::WholeFolder,
            server: Some(if never { ServerState::NeverUp } else { ServerState::Served }),
            model: setup.model_id.as_deref().map(|id| last_part(id).to_owned()),
            status,
            readings,
            series: self.series,
            extras,
            setup,
            ..PartialRun::default()
        };
        Parsed { records: vec![Record::Run(Box::new(partial))], notes: self.notes, ..Parsed::default() }
    }
}
