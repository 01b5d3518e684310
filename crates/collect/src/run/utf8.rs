//! Paths of runs on command lines: an archive may lie anywhere, but a command line is text.
//!
//! In:  an experiment, where its runs will lie.  Out: a refusal before the first run, with everything that needs a path which is UTF-8.
//! Not here: paths that go to the system or to a guard, which may hold any bytes.

use std::collections::BTreeSet;
use std::path::Path;

use super::experiment::Experiment;
use crate::env::Place;
use crate::workload::WORK_FOLDER;
use sparkbench_archive::manifest::PlannedRun;
use sparkbench_archive::shown;
use sparkbench_host::Host;
use sparkbench_text::error::Error;

/// Demands that whatever is told the path of a run's folder as text can be told it. `folder`: absolute, runs lie below it. `remedy`: how
/// another one is chosen.
///
/// # Errors
/// Of usage, when the path is not UTF-8 and something needs it.
pub(super) fn expect(
    experiment: &Experiment,
    runs: &[PlannedRun],
    folder: &Path,
    host: &dyn Host,
    remedy: &str,
) -> Result<(), Error> {
    let is_text = |path: &Path| path.to_str().is_some();
    let place = Place {
        archive_id: String::new(),
        run_id: String::new(),
        work: folder.join(WORK_FOLDER),
        folder: folder.to_path_buf(),
        grace_s: 0.0,
    };
    let program = host.own_program().unwrap_or_default();
    let (mut need_folder, mut need_program) = (BTreeSet::new(), BTreeSet::new());
    for run in runs {
        let (Some(environment), Some((_, workload))) =
            (experiment.environment(&run.environment), experiment.workload(&run.workload))
        else {
            continue;
        };
        let inside = environment.work(&place);
        if environment.names_folder() && !workload.attached() {
            need_folder.insert(format!("environment '{}'", run.environment));
        } else if workload.names_folder() && !is_text(&inside) {
            need_folder.insert(format!("workload '{}' in environment '{}'", run.workload, run.environment));
        }
        // Elsewhere a copy is brought inside, under a name of ours.
        if workload.needs_own_program() && inside == place.work {
            need_program.insert(format!("workload '{}' in environment '{}'", run.workload, run.environment));
        }
    }
    let commands = experiment.suite.metrics.iter().filter(|(_, custom)| !custom.command.is_empty());
    need_folder.extend(commands.map(|(name, _)| format!("the command of metric '{name}'")));
    refuse(folder, "where runs are kept", need_folder, remedy)?;
    refuse(&program, "of this program", need_program, "begin in a folder whose path is UTF-8")
}

fn refuse(path: &Path, what: &str, needed: BTreeSet<String>, remedy: &str) -> Result<(), Error> {
    if path.to_str().is_some() || needed.is_empty() {
        return Ok(());
    }
    let needed: Vec<String> = needed.into_iter().collect();
    Err(Error::usage(format!("the path {what} is not UTF-8: '{}'", shown(path)))
        .detail(format!("a command line or a variable has to hold it as text: {}", needed.join(", ")))
        .hint(remedy))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;
    use sparkbench_host::replay::Replay;

    fn experiment(command: &str, more: &str) -> Experiment {
        let text = format!(
            "schema = \"sparkbench.suite/1\"\nname = \"s\"\nrepeats = 1\nseed = 7\n{more}[workloads.job]\nkind = \"command\"\n\
             command = {command}\nreports = [{{ path = \"stdout\", parser = \"lines\" }}]\n"
        );
        Experiment::read(&text, "suite.toml", Path::new("/s")).unwrap()
    }

    fn refusal(folder: &[u8], command: &str, more: &str) -> Option<String> {
        let experiment = experiment(command, more);
        let folder = Path::new(std::ffi::OsStr::from_bytes(folder));
        let refused = expect(&experiment, &experiment.plan.runs, folder, &Replay::new(), "choose another");
        refused.err().map(|error| {
            assert_eq!(error.kind.exit_code(), 2);
            error.to_string()
        })
    }

    const NATIVE: &str = "[environments.native]\n";
    const DOCKER: &str = "[environments.box]\nkind = \"docker\"\nimage = \"x:1\"\nallow_moving_tag = true\n";
    const CHROOT: &str = "[environments.root]\nkind = \"chroot\"\nroot = \"root\"\n";

    #[test]
    fn only_what_is_told_the_path_as_text_needs_one_that_is_text() {
        let (plain, named) = ("['true']", "['cat', '{work}/x']");
        for more in [NATIVE, DOCKER, CHROOT] {
            assert_eq!(refusal(b"/a", named, more), None);
        }
        for (command, more, named) in [
            (plain, NATIVE, None),
            (named, CHROOT, None),
            (named, NATIVE, Some("workload 'job' in environment 'native'")),
            (plain, DOCKER, Some("environment 'box'")),
        ] {
            let refusal = refusal(b"/a\xff", command, more);
            assert_eq!(refusal.is_some(), named.is_some(), "{refusal:?}");
            let said = refusal.unwrap_or_default();
            assert!(said.contains(named.unwrap_or_default()), "{said}");
            assert!(named.is_none() || (said.contains("'/a\\xFF'") && said.contains("choose another")), "{said}");
        }
    }
}
