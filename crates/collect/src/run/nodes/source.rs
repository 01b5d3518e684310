//! Gets the list of machines from the source that a suite or a command line names.
//!
//! In:  a [`NodeSource`].  Out: [`Entry`]s, and how to query them.
//! Not here: reading the texts (see `list`).

use std::path::Path;
use std::time::Duration;

use super::{About, Asked, Entry, list};
use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_host::{Host, Question};
use sparkbench_plan::suite::NodeSource;
use sparkbench_text::error::{Error, Kind};

/// How long Avahi listens.
const LISTEN: Duration = Duration::from_secs(20);
/// Devices without a wire, and those of containers: no link of a cluster.
const NOT_WIRED: &[&str] = &["wl", "docker", "br-", "veth", "tailscale", "wg", "tun"];

/// Which machines there are. `folder` is what a hosts file is relative to.
///
/// # Errors
/// A pre-flight error when nothing is listed or a listing program fails. An archive error when a hosts file cannot be read.
pub fn entries(source: &NodeSource, folder: &Path, host: &dyn Host) -> Result<Vec<Entry>, Error> {
    let entries = listed(source, folder, host)?;
    if entries.is_empty() {
        return Err(Error::new(Kind::Preflight, "no machine is listed").hint(
            "name the machines, e.g. spark-1,spark-2. To be discovered, each must run avahi-daemon and offer ssh",
        ));
    }
    Ok(entries)
}

fn listed(source: &NodeSource, folder: &Path, host: &dyn Host) -> Result<Vec<Entry>, Error> {
    match source {
        NodeSource::Hosts(names) => Ok(list::names(&names.join(","))),
        NodeSource::Hostfile(file) => {
            let path = folder.join(file);
            refuse_endless(&path)?;
            let text = std::fs::read_to_string(&path)
                .map_err(|cause| Error::archive(format!("cannot read '{}'", shown(&path))).because(cause))?;
            list::hosts_file(&text)
        }
        NodeSource::Discover(device) => {
            let words = ["avahi-browse", "--parsable", "--resolve", "--terminate", "_ssh._tcp"];
            let text = printed(host, &words, "install avahi-utils, or name the machines, e.g. spark-1,spark-2")?;
            let wanted = |found: &str| match device {
                Some(wanted) => found == wanted,
                None => found != "lo" && !NOT_WIRED.iter().any(|start| found.starts_with(start)),
            };
            Ok(list::avahi(&text, &wanted))
        }
        NodeSource::Slurm => match host.variable("SLURM_JOB_NODELIST") {
            Some(nodes) => {
                let hint = "name the machines, e.g. spark-1,spark-2";
                Ok(list::slurm(&printed(host, &["scontrol", "show", "hostnames", &nodes], hint)?))
            }
            None => Err(Error::usage("no machines are named")
                .hint("name them (hosts, hostfile or discover), or start this inside a Slurm job")),
        },
    }
}

/// Output of a program.
fn printed(host: &dyn Host, words: &[&str], hint: &str) -> Result<String, Error> {
    let program = words.first().copied().unwrap_or_default();
    let failed = |why: String| Error::new(Kind::Preflight, format!("'{program}' fails: {why}")).hint(hint);
    let question = Question::new(words.iter().copied()).within(LISTEN);
    match host.ask(&question) {
        Ok(answer) if answer.ok() => Ok(answer.text()),
        Ok(answer) => Err(failed(answer.complaint())),
        Err(cause) => Err(failed(cause.to_string())),
    }
}

/// How machines are asked. `own` is this one, which needs no `ssh`.
pub fn asked(ssh: &[String], program: &str, own: &About, host: &dyn Host) -> Asked {
    let addresses = own.links.iter().flat_map(|link| link.addresses.clone());
    Asked {
        ssh: ssh.to_vec(),
        program: program.to_owned(),
        own: addresses.chain([own.host.clone(), "localhost".to_owned(), "127.0.0.1".to_owned()]).collect(),
        own_program: host.own_program().map_or_else(|_| program.to_owned(), |path| path.display().to_string()),
    }
}
