//! `sparkbench check`: the pre-flight alone, every finding at once.
//!
//! In:  nothing, or a suite.  Out: a table on standard output, or JSON; exit code 3 when something refuses.
//! Not here: the gates themselves (see `run::gates`), what an environment needs (see `env`).

mod findings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::outcome::Outcome;
use super::stdout::print;
use super::suite;
use super::talk::Talk;
use sparkbench_collect::env::Environment;
use sparkbench_collect::run::Watcher;
use sparkbench_collect::run::campaign::archive_id;
use sparkbench_collect::run::cluster::Cluster;
use sparkbench_collect::run::experiment::Experiment;
use sparkbench_collect::run::gates::{self, Context};
use sparkbench_host::Host;
use sparkbench_host::gpu::Gpu;
use sparkbench_host::gpu::open::open;
use sparkbench_host::machine::Machine;
use sparkbench_model::{Finding, Level};
use sparkbench_plan::{Gates, PageCache, TelemetrySettings};
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::slug::slug;

/// Check whether this machine is ready for a run, and run nothing
///
/// Reads every gate once: GPU, memory, load, disk, clock and the kernel log. With a SUITE, also checks the suite itself, its limits, its
/// environments and its other machines. Waits for nothing and changes nothing. Prints all findings at once, each with its remedy.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench check                    this machine, with the usual limits\n  \
                        sparkbench check suite.toml         what 'sparkbench collect suite.toml' would find\n  \
                        sparkbench check --json | jq '.findings[] | select(.level == \"refused\")'\n\n\
                        Exit codes: 0 ready, 2 the suite cannot be run as written, 3 a gate refuses.")]
pub(crate) struct Check {
    /// Suite whose limits and environments are checked too
    #[arg(value_name = "SUITE")]
    suite: Option<PathBuf>,
    /// Folder of the archive, to check the space on its disk [default: archive/NAME of the campaign]
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` prints.
const SCHEMA: &str = "sparkbench.check/1";

/// Title of the findings that are not an environment's.
const MACHINE: &str = "machine";

/// Findings by section.
type Sections = Vec<(String, Vec<Finding>)>;

/// Runs the verb.
///
/// # Errors
/// Of usage when the suite has faults, of pre-flight when something refuses.
pub(crate) fn run(args: &Check, talk: &Talk) -> Result<Outcome, Error> {
    let experiment = args.suite.as_deref().map(suite::load).transpose()?;
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    let telemetry = experiment.as_ref().map_or_else(TelemetrySettings::default, |found| found.suite.telemetry.clone());
    let opened = open(&host, &telemetry.gpu, telemetry.gpu_index, Duration::from_secs(1));
    let (no_gpu, gpu) = (opened.why(), opened.gpu.map(Mutex::new));
    let archive = args.archive.clone().unwrap_or_else(|| {
        let name = experiment.as_ref().map(|found| slug(&found.suite.name)).unwrap_or_default();
        Path::new("archive").join(name)
    });
    let mut sections = look(host.as_ref(), gpu.as_ref(), &no_gpu, experiment.as_ref(), &archive);
    if let Some(found) = &experiment {
        sections.extend(elsewhere(found, &host, talk)?);
    }
    if args.json {
        print(&format!("{:#}\n", as_json(args.suite.as_deref(), &sections)))?;
    } else {
        print(&findings::draw(&sections, talk.width(), talk.paints_output()))?;
    }
    talk.say(&summary(&sections));
    verdict(&sections)
}

/// Reads the machine and every environment of the suite.
fn look(
    host: &dyn Host,
    gpu: Option<&Mutex<Box<dyn Gpu>>>,
    no_gpu: &str,
    experiment: Option<&Experiment>,
    archive: &Path,
) -> Sections {
    let mut settings = experiment.map_or_else(Gates::default, |found| found.suite.gates.clone());
    let parts = experiment.map(|found| found.suite.environments.as_slice()).unwrap_or_default();
    if parts.iter().any(|part| part.page_cache == Some(PageCache::Drop)) {
        settings.page_cache = PageCache::Drop;
    }
    let context = Context {
        host,
        gpu,
        no_gpu,
        gates: &settings,
        archive,
        // Without a suite nobody has asked for a GPU: one that is there is looked at, one that is not is said to be absent.
        needs_gpu: experiment
            .map_or(gpu.is_some(), |found| found.workloads.iter().any(|(_, _, workload)| workload.needs_gpu())),
        last_ended: None,
        began: None,
        ours: &[],
    };
    let mut sections = vec![(MACHINE.to_owned(), gates::look(&context))];
    if let Some(found) = experiment {
        let suite = found.warnings.iter().map(|warning| {
            let place = warning.line.map_or_else(String::new, |line| format!("line {line}, "));
            Finding::warned("suite", format!("{place}{}: {}", warning.key, warning.what), &warning.remedy)
        });
        let mut suite: Vec<Finding> = suite.collect();
        if suite.is_empty() {
            suite.push(Finding::passed("suite", format!("{} runs planned, no faults", found.plan.runs.len())));
        }
        sections.push(("suite".to_owned(), suite));
        for (label, made) in &found.environments {
            let mut ready = made.ready(host);
            // What another environment sees under a path is not known here.
            if made.kind() == "native" {
                ready.extend(missing_models(found, host));
            }
            ready.extend(missing_programs(found, label, made.as_ref(), host));
            if ready.is_empty() {
                ready.push(Finding::passed(made.kind(), "this environment has no requirements"));
            }
            sections.push((format!("environment '{label}'"), ready));
        }
    }
    sections
}

/// Models of the suite whose files are not on this machine.
fn missing_models(found: &Experiment, host: &dyn Host) -> Vec<Finding> {
    let absolute = |path: &&str| path.starts_with('/') && !host.exists(Path::new(path));
    let missing = found.suite.models.iter().filter_map(|model| Some((model, model.path.as_deref().filter(absolute)?)));
    missing
        .map(|(model, path)| {
            let remedy = format!("set 'path' in [models.{}] to the folder or file of the weights", model.label);
            Finding::warned("model", format!("{}: '{path}' does not exist here", model.label), &remedy)
        })
        .collect()
}

/// Programs of the suite that are not where the environment looks for them now. They may be there when a run starts.
fn missing_programs(found: &Experiment, label: &str, environment: &dyn Environment, host: &dyn Host) -> Vec<Finding> {
    let Some(path) = environment.search_path(host) else { return Vec::new() };
    let there = |program: &str| match program.contains('/') {
        true => !program.starts_with('/') || host.exists(Path::new(program)),
        false => path.split(':').any(|folder| host.exists(&Path::new(folder).join(program))),
    };
    let run_here = |name: &str| found.plan.runs.iter().any(|run| run.environment == label && run.workload == name);
    let programs = found.workloads.iter().filter(|(name, ..)| run_here(name));
    let programs = programs.filter_map(|(name, _, workload)| Some((name, workload.program()?)));
    programs
        .filter(|(_, program)| !there(program))
        .map(|(name, program)| {
            let remedy = format!("install '{program}', or name it by its whole path in [workloads.{name}]");
            let place = if program.contains('/') { "does not exist here" } else { "is not in the PATH of its runs" };
            Finding::warned("program", format!("{name}: '{program}' {place}"), &remedy)
        })
        .collect()
}

/// What the other machines of the suite find. They are sent home again.
fn elsewhere(experiment: &Experiment, host: &Arc<dyn Host>, talk: &Talk) -> Result<Sections, Error> {
    let Some(cluster) = Cluster::start(experiment, host, &GateReporter(talk))? else { return Ok(Vec::new()) };
    cluster.begin(experiment, &archive_id(host.as_ref())?, &BTreeMap::new(), host.as_ref())?;
    let labels: Vec<String> = experiment.environments.iter().map(|(label, _)| label.clone()).collect();
    let needs_gpu = experiment.workloads.iter().any(|(_, _, workload)| workload.needs_gpu());
    let mut sections: Sections = Vec::new();
    for (section, finding) in cluster.look(&labels, needs_gpu, host.as_ref())? {
        match sections.iter_mut().find(|(title, _)| *title == section) {
            Some((_, findings)) => findings.push(finding),
            None => sections.push((section, vec![finding])),
        }
    }
    Ok(sections)
}

/// Passes on what is said. Nothing is waited for.
struct GateReporter<'a>(&'a Talk);

impl Watcher for GateReporter<'_> {
    fn say(&self, line: &str) {
        self.0.say(line);
    }

    fn warn(&self, line: &str) {
        self.0.warn(line);
    }

    fn waiting(&self, _: &Finding, _: f64, _: f64, _: bool) {}

    fn progress(&self, _: usize, _: usize, _: &str, _: Option<f64>) {}
}

fn count(sections: &Sections, level: Level) -> usize {
    sections.iter().flat_map(|(_, findings)| findings).filter(|finding| finding.level == level).count()
}

fn summary(sections: &Sections) -> String {
    let levels = [Level::Refused, Level::Warned, Level::NotAvailable, Level::Passed];
    let counts: Vec<String> =
        levels.iter().map(|level| format!("{} {}", count(sections, *level), findings::word(*level))).collect();
    counts.join(", ")
}

fn verdict(sections: &Sections) -> Result<Outcome, Error> {
    let refused: Vec<String> = sections
        .iter()
        .flat_map(|(title, findings)| findings.iter().map(move |finding| (title, finding)))
        .filter(|(_, finding)| finding.level == Level::Refused)
        .map(
            |(title, finding)| {
                if title == MACHINE { finding.gate.clone() } else { format!("{} of {title}", finding.gate) }
            },
        )
        .collect();
    if refused.is_empty() {
        return Ok(Outcome::Done);
    }
    Err(Error::new(Kind::Preflight, format!("the pre-flight check refuses: {}", refused.join(", ")))
        .hint("the remedy of each finding is listed above. 'collect' waits up to 'wait_max_s' for gates that can wait"))
}

fn as_json(suite: Option<&Path>, sections: &Sections) -> Value {
    let findings: Vec<Value> = sections
        .iter()
        .flat_map(|(title, findings)| {
            findings.iter().map(move |finding| {
                let mut value = json!(finding);
                if let Some(object) = value.as_object_mut() {
                    object.insert("place".to_owned(), json!(title));
                }
                value
            })
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "suite": suite.map(|path| path.display().to_string()),
        "refused": count(sections, Level::Refused),
        "warned": count(sections, Level::Warned),
        "findings": findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::replay::Replay;

    /// A machine without a GPU and with little on its disk.
    fn machine(disk: u64) -> Replay {
        Replay::new()
            .file(
                "/proc/meminfo",
                "MemTotal: 25000000 kB\nMemFree: 20000000 kB\nMemAvailable: 23000000 kB\nCached: 3000 kB\n",
            )
            .file("/proc/loadavg", "0.10 0 0 1/1 1\n")
            .file("/sys/devices/system/cpu/online", "0-1\n")
            .folder("/data")
            .disk("/", disk)
            .kernel(&[])
    }

    fn sections(disk: u64) -> Sections {
        look(&machine(disk), None, "no nvidia-smi and no libnvidia-ml", None, Path::new("/data/archive"))
    }

    #[test]
    fn a_machine_without_a_gpu_is_told_honestly_and_refuses_nothing() {
        let sections = sections(100 << 30);
        let gpu = sections[0].1.iter().find(|finding| finding.gate == "gpu-present").unwrap();
        assert_eq!((gpu.level, gpu.reading.as_str()), (Level::NotAvailable, "no nvidia-smi and no libnvidia-ml"));
        assert_eq!(verdict(&sections).unwrap(), Outcome::Done);
        assert!(summary(&sections).starts_with("0 refused, 0 warned, "), "{}", summary(&sections));
    }

    #[test]
    fn what_refuses_is_named_with_exit_code_3() {
        let sections = sections(1 << 20);
        let error = verdict(&sections).unwrap_err();
        assert_eq!((error.kind.exit_code(), error.what.as_str()), (3, "the pre-flight check refuses: disk-space"));
    }

    #[test]
    fn json_has_every_finding_with_its_place() {
        let sections = sections(1 << 20);
        let value = as_json(None, &sections);
        assert_eq!((value["schema"].as_str(), value["refused"].as_u64()), (Some(SCHEMA), Some(1)));
        let findings = value["findings"].as_array().unwrap();
        assert_eq!(findings.len(), sections[0].1.len());
        let disk = findings.iter().find(|finding| finding["gate"] == "disk-space").unwrap();
        assert_eq!((disk["level"].as_str(), disk["place"].as_str()), (Some("refused"), Some("machine")));
        assert!(disk["remedy"].is_string());
    }

    #[test]
    fn a_program_that_is_not_in_the_path_of_its_runs_is_named() {
        let suite = |program: &str| {
            let text = format!(
                "schema = \"sparkbench.suite/1\"\nname = \"x\"\nrepeats = 1\n[environments.native]\n[models.m]\nid = \"org/m\"\n\
                 [workloads.w]\nkind = \"command\"\ncommand = [\"{program}\"]\nreports = [{{ path = \"r.json\", parser = \"result-json\" }}]\n"
            );
            Experiment::read(&text, "suite.toml", Path::new("/")).unwrap()
        };
        let host = machine(1 << 40).with_variable("PATH", "/usr/bin:/opt/bin").file("/opt/bin/there", "");
        let missing = |program: &str| {
            let found = suite(program);
            let (label, native) = &found.environments[0];
            missing_programs(&found, label, native.as_ref(), &host)
                .into_iter()
                .map(|one| one.reading)
                .collect::<Vec<_>>()
        };
        assert_eq!(missing("absent"), ["w: 'absent' is not in the PATH of its runs"]);
        assert_eq!(missing("/opt/bin/absent"), ["w: '/opt/bin/absent' does not exist here"]);
        assert!(missing("there").is_empty() && missing("/opt/bin/there").is_empty());
    }
}
