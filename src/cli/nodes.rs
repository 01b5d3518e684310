//! `sparkbench nodes`: the machines of a cluster, and what each is.
//!
//! In:  a hosts file, names, Slurm or Avahi.  Out: a table, JSON, a hosts file; exit code 3 where one cannot be reached.
//! Not here: asking them (see `run::nodes`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::outcome::Outcome;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::{shown, write_atomic};
use sparkbench_collect::run::nodes::about::Range;
use sparkbench_collect::run::nodes::{About, Asked, Entry, Link, Node, ask_all, here, list, source};
use sparkbench_host::Host;
use sparkbench_host::machine::Machine;
use sparkbench_plan::suite::NodeSource;
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::table;

/// List the machines of a cluster, with the GPU, driver, memory, version, link and clock of each
///
/// The machines come from --hosts, from --hostfile, from Slurm inside a job, or from --discover. Each is asked through ssh, without a
/// password. sparkbench must be installed there. Nothing is changed on any machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench nodes --hosts spark-1,spark-2\n  \
    sparkbench nodes --hostfile hosts --link 192.168.177.0/24\n  \
    sparkbench nodes --discover --write-hosts hosts\n  \
    sparkbench nodes --hostfile hosts --json | jq '.nodes[] | .about.driver'\n\n\
    Exit codes: 0 all were reached, 2 usage, 3 one was not reached or is of another version, 5 a file could not be read or written.")]
pub(crate) struct Nodes {
    #[command(flatten)]
    machines: Machines,
    /// Write a hosts file for mpirun with the machines that were reached
    #[arg(long, value_name = "FILE")]
    write_hosts: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which machines, and how they are reached.
#[derive(Debug, clap::Args)]
pub(crate) struct Machines {
    /// Names or addresses, separated by commas
    #[arg(long, value_name = "HOST,...", group = "source")]
    hosts: Option<String>,
    /// File with one host a line, in the form of Open MPI
    #[arg(long, value_name = "FILE", group = "source")]
    hostfile: Option<String>,
    /// Find machines that offer ssh on a wired device, by asking Avahi
    #[arg(long, group = "source")]
    discover: bool,
    /// Network device to discover machines on, e.g. enp1s0f1np1 [default: every wired device]
    #[arg(long, value_name = "DEVICE", requires = "discover")]
    device: Option<String>,
    /// Address range of the fast link, e.g. 192.168.177.0/24 [default: the device that ssh uses]
    #[arg(long, value_name = "RANGE")]
    pub link: Option<Range>,
    /// Path of sparkbench on the machines
    #[arg(long, value_name = "PATH", default_value = "sparkbench")]
    program: String,
    /// Command that reaches a machine. The name of the machine is added to it
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes -o ConnectTimeout=5")]
    ssh: String,
}

/// Version of what `--json` prints.
const SCHEMA: &str = "sparkbench.nodes/1";
/// Runs the verb.
///
/// # Errors
/// Of usage without a list of machines, of pre-flight when one does not answer.
pub(crate) fn run(args: &Nodes, talk: &Talk) -> Result<Outcome, Error> {
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    let entries = args.machines.entries(host.as_ref())?;
    let own = here::about(&host);
    let asked = args.machines.asked(host.as_ref(), &own);
    let bar = talk.spinner();
    bar.set_message(format!("asking {} machines", entries.len()));
    let nodes = ask_all(&entries, &asked);
    bar.finish_and_clear();
    if args.json {
        print(&format!("{:#}\n", as_json(&nodes, args.machines.link.as_ref())))?;
    } else {
        print(&table(&nodes, args.machines.link.as_ref()))?;
    }
    if let Some(path) = &args.write_hosts {
        write_hosts(path, &nodes, args.machines.link.as_ref(), talk)?;
    }
    verdict(&nodes, &own.version)
}

impl Machines {
    /// Which machines there are.
    ///
    /// # Errors
    /// Of usage without a list, of pre-flight when it is empty.
    pub(crate) fn entries(&self, host: &dyn Host) -> Result<Vec<Entry>, Error> {
        source::entries(&self.source(), Path::new(""), host)
    }

    fn source(&self) -> NodeSource {
        if let Some(text) = &self.hosts {
            NodeSource::Hosts(vec![text.clone()])
        } else if let Some(path) = &self.hostfile {
            NodeSource::Hostfile(path.clone())
        } else if self.discover {
            NodeSource::Discover(self.device.clone())
        } else {
            NodeSource::Slurm
        }
    }

    /// How they are asked. `own` is this machine.
    pub(crate) fn asked(&self, host: &dyn Host, own: &About) -> Asked {
        let ssh: Vec<String> = self.ssh.split_whitespace().map(str::to_owned).collect();
        source::asked(&ssh, &self.program, own, host)
    }
}

const COLUMNS: [&str; 8] = ["machine", "address", "GPU", "driver", "memory", "version", "link", "clock"];

/// A line each. What is wrong with one stands behind its address.
fn table(nodes: &[Node], fast: Option<&Range>) -> String {
    let unknown = || "-".to_owned();
    let row = |node: &Node| match &node.about {
        Err(why) => vec![
            node.entry.name.clone().unwrap_or_else(unknown),
            node.entry.host.clone(),
            format!("not reached: {why}"),
        ],
        Ok(about) => {
            let gpu = about.gpu.clone().unwrap_or_else(|| "none".to_owned());
            let several = about.gpus.filter(|count| *count > 1.0).map(|count| format!("{count} x "));
            vec![
                about.host.clone(),
                node.entry.host.clone(),
                format!("{}{gpu}", several.unwrap_or_default()),
                about.driver.clone().unwrap_or_else(unknown),
                about.memory_gib.map_or_else(unknown, |gib| format!("{gib:.0} GiB")),
                about.version.clone(),
                about.link(&node.entry.host, fast).map_or_else(unknown, link_words),
                node.clock.map_or_else(
                    || "this one".to_owned(),
                    |clock| format!("{:+.2} ms ±{:.2}", clock.ahead_ms, clock.bound_ms),
                ),
            ]
        }
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(COLUMNS.map(str::to_owned).to_vec()).chain(nodes.iter().map(row)).collect();
    table::lines(&rows)
}

/// `enp1s0f1np1 200 Gbit/s RDMA`
pub(crate) fn link_words(link: &Link) -> String {
    let mut words = vec![link.device.clone()];
    words.extend(
        link.speed_mbit_s.map(|speed| {
            if speed >= 1000.0 { format!("{} Gbit/s", speed / 1000.0) } else { format!("{speed} Mbit/s") }
        }),
    );
    words.extend(link.rdma.as_ref().map(|_| "RDMA".to_owned()));
    words.join(" ")
}

fn as_json(nodes: &[Node], fast: Option<&Range>) -> Value {
    let nodes: Vec<Value> = nodes
        .iter()
        .map(|node| {
            let link = node.about.as_ref().ok().and_then(|about| about.link(&node.entry.host, fast));
            json!({
                "host": node.entry.host, "slots": node.entry.slots, "name": node.entry.name,
                "reached": node.about.is_ok(), "error": node.about.as_ref().err(), "about": node.about.as_ref().ok(),
                "link": link, "clock": node.clock,
            })
        })
        .collect();
    json!({ "schema": SCHEMA, "nodes": nodes })
}

/// Those that were reached, by their address on the fast link where one is named.
fn write_hosts(path: &Path, nodes: &[Node], fast: Option<&Range>, talk: &Talk) -> Result<(), Error> {
    let reached = nodes.iter().filter_map(|node| {
        let about = node.about.as_ref().ok()?;
        let on_link = |range: &Range| {
            about.link(&node.entry.host, fast)?.addresses.iter().find(|address| range.holds(address)).cloned()
        };
        let host = fast.and_then(on_link).unwrap_or_else(|| node.entry.host.clone());
        Some(Entry { host, ..node.entry.clone() })
    });
    let reached: Vec<Entry> = reached.collect();
    write_atomic(path, list::written(&reached).as_bytes())?;
    talk.say(&format!("{} machines written to {}", reached.len(), shown(path)));
    Ok(())
}

fn verdict(nodes: &[Node], own_version: &str) -> Result<Outcome, Error> {
    let missing = nodes.iter().filter(|node| node.about.is_err()).count();
    if missing > 0 {
        return Err(Error::new(Kind::Preflight, format!("{missing} of {} machines were not reached", nodes.len()))
            .hint(
                "set up ssh without a password (ssh-copy-id), and give the path of the program there with --program PATH",
            ));
    }
    let other = nodes.iter().find_map(|node| {
        let about = node.about.as_ref().ok()?;
        (about.version != own_version).then(|| format!("{} has version {}", about.host, about.version))
    });
    match other {
        Some(other) => Err(Error::new(Kind::Preflight, format!("{other}, this machine has {own_version}"))
            .hint("install the same version on all machines")),
        None => Ok(Outcome::Done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_collect::run::nodes::about::Offset;

    #[test]
    fn the_table_has_a_line_a_machine_and_says_why_one_is_missing() {
        let about = About {
            host: "spark-a".into(),
            version: "0.1.0".into(),
            gpu: Some("NVIDIA GB10".into()),
            driver: Some("580.95".into()),
            memory_gib: Some(119.7),
            links: vec![Link {
                device: "enp1s0f1np1".into(),
                addresses: vec!["169.254.1.2".into()],
                speed_mbit_s: Some(200_000.0),
                rdma: Some("rocep1s0f1".into()),
                ..Link::default()
            }],
            ..About::default()
        };
        let entry = |host: &str| list::names(host).remove(0);
        let nodes = [
            Node {
                entry: entry("169.254.1.2"),
                about: Ok(about),
                clock: Some(Offset { ahead_ms: -0.34, bound_ms: 0.21 }),
            },
            Node { entry: entry("169.254.1.3"), about: Err("Permission denied (publickey).".into()), clock: None },
        ];
        let lines = table(&nodes, None);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(
            lines[1],
            "spark-a  169.254.1.2  NVIDIA GB10  580.95  120 GiB  0.1.0    enp1s0f1np1 200 Gbit/s RDMA  -0.34 ms ±0.21"
        );
        assert_eq!(lines[2], "-        169.254.1.3  not reached: Permission denied (publickey).");
        assert!(verdict(&nodes, "0.1.0").is_err());
        assert!(verdict(&nodes[..1], "0.2.0").unwrap_err().to_string().contains("has version 0.1.0"));
        assert!(verdict(&nodes[..1], "0.1.0").is_ok());
    }
}
