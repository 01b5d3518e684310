//! Commands of metrics, run after each run.
//!
//! In:  the definitions of a suite, a run that is over, its folder.  Out: `commands/NAME.txt` with what each printed, and a finding for each.
//! Not here: what the figure in it is (see `ingest::custom`).
//!
//! A command runs on this machine, outside of the environment that is measured, once the run has been taken down. It is ended at its time
//! limit with everything that it started. One that fails loses its own figure and nothing else. The run stays valid, and the output of the
//! command is in `commands/NAME.failed.txt`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::Watcher;
use super::folder::write_asset;
use sparkbench_archive::manifest::{COMMANDS_FOLDER, PlannedRun};
use sparkbench_host::{Host, Question};
use sparkbench_model::custom::TIME_LIMIT_S;
use sparkbench_model::{CustomMetric, Finding};
use sparkbench_text::error::Error;

/// Name of the findings.
const CHECK: &str = "metric-command";
/// Most bytes of an output that are kept.
const OUTPUT_MAX: usize = 16 << 20;

/// Runs the commands, one after the other, by name.
///
/// # Errors
/// When their output cannot be written.
pub(super) fn after(
    host: &dyn Host,
    metrics: &BTreeMap<String, CustomMetric>,
    run: &PlannedRun,
    folder: &Path,
    watcher: &dyn Watcher,
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for (name, custom) in metrics.iter().filter(|(_, custom)| !custom.command.is_empty()) {
        let limit = Duration::from_secs_f64(custom.time_limit_s.unwrap_or(TIME_LIMIT_S));
        let mut env = host.variables();
        env.extend([
            ("SPARKBENCH_RUN".to_owned(), folder.display().to_string()),
            ("SPARKBENCH_ENVIRONMENT".to_owned(), run.environment.clone()),
            ("SPARKBENCH_MODEL".to_owned(), run.model.clone()),
            ("SPARKBENCH_WORKLOAD".to_owned(), run.workload.clone()),
        ]);
        let question = Question { env: Some(env), ..Question::new(custom.command.clone()).within(limit) };
        let (good, printed, why) = match host.ask(&question) {
            Ok(answer) if answer.ok() => (true, answer.stdout, String::new()),
            Ok(answer) => {
                let why = answer.complaint();
                let mut all = answer.stdout;
                all.extend_from_slice(&answer.stderr);
                (false, all, why)
            }
            Err(cause) => (false, Vec::new(), format!("it cannot be started: {cause}")),
        };
        let file = format!("{name}.{}", if good { "txt" } else { "failed.txt" });
        write_asset(&folder.join(COMMANDS_FOLDER), file, printed.get(..OUTPUT_MAX).unwrap_or(&printed))?;
        findings.push(if good {
            Finding::passed(CHECK, format!("the command of '{name}' ended with status 0"))
        } else {
            watcher.warn(&format!("{}: no figure of '{name}': its command failed: {why}", run.id));
            Finding::not_available(CHECK, format!("the command of '{name}' failed: {why}"))
        });
    }
    Ok(findings)
}
