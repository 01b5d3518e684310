//! `[nodes]`: further machines that are measured with this one.
//!
//! In:  the table of a suite.  Out: [`Nodes`].
//! Not here: which machines a file or Avahi names (see `run::nodes`).

use crate::suite::{Launcher, NodeSource, Nodes};
use crate::{Faults, Settings};

/// How `ssh` is called unless the suite says otherwise: without questions, and without waiting for a machine that is off.
pub(super) const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=5";
/// Seconds for each way and number of streams.
const LINK_PROBE_S: f64 = 2.0;
/// A link is not measured better for longer than that.
const LINK_PROBE_MAX_S: f64 = 60.0;

/// Reads it.
pub(super) fn nodes(table: &Settings, faults: &mut Faults) -> Nodes {
    let mut reader = table.reader(faults);
    let hosts = reader.texts("hosts");
    let hostfile = reader.text("hostfile");
    let discover = reader.switch("discover").unwrap_or(false);
    let device = reader.text("device");
    let launcher = reader.choice("launcher", &Launcher::ALL.map(Launcher::word));
    let launcher = launcher.and_then(|word| Launcher::ALL.into_iter().find(|known| known.word() == word));
    let named = [!hosts.is_empty(), hostfile.is_some(), discover].into_iter().filter(|named| *named).count();
    let launcher = launcher.unwrap_or_default();
    if named > 1 {
        reader.fault("hosts", "is not the only list of machines", "keep one of hosts, hostfile and discover");
    } else if named == 0 && launcher != Launcher::Srun {
        let remedy = "hosts = [\"spark-1\", \"spark-2\"], hostfile = \"hosts\", discover = true, or launcher = \"srun\" inside a job";
        reader.fault("hosts", "is missing, and nothing else names the machines", remedy);
    }
    if device.is_some() && !discover {
        reader.fault(
            "device",
            "is for discover = true",
            "leave it out, or name the link by link = \"192.168.177.0/24\"",
        );
    }
    let source = match (hostfile, discover) {
        _ if !hosts.is_empty() => NodeSource::Hosts(hosts),
        (Some(file), _) => NodeSource::Hostfile(file),
        (None, true) => NodeSource::Discover(device),
        (None, false) => NodeSource::Slurm,
    };
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect();
    let nodes = Nodes {
        source,
        launcher,
        link: reader.text("link"),
        head: reader.text("head"),
        program: reader.text("program").unwrap_or_else(|| "sparkbench".to_owned()),
        ssh: words(reader.text("ssh").unwrap_or_else(|| SSH.to_owned())),
        launcher_args: reader.texts("launcher_args"),
        port: reader
            .whole_within("port", 0, i64::from(u16::MAX))
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or(0),
        link_probe_s: reader
            .number_or_off("link_probe_s", 0.0, LINK_PROBE_MAX_S)
            .map_or(LINK_PROBE_S, |s| s.unwrap_or(0.0)),
    };
    reader.finish();
    nodes
}
