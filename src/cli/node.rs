//! `sparkbench node`: what another machine asks of this one, over `ssh`.
//!
//! In:  a word a line.  Out: what this machine is, in one line of JSON; its clock for each word `clock`.
//! Not here: who asks (see `run::nodes`).

use std::io::BufRead as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Outcome, print};
use crate::error::Error;
use crate::host::gpu::open::open;
use crate::host::machine::Machine;
use crate::host::net::{clock::wall, now};
use crate::host::{Host, Question};
use crate::plan::TelemetrySettings;
use crate::run::nodes::About;
use crate::run::provenance::inventory;

/// Say what this machine is, and answer until nobody asks any more
///
/// `sparkbench nodes` starts it on each machine of a cluster through ssh. It prints one line of JSON and then one for each word `clock` on
/// standard input, until that ends. It changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench node < /dev/null\n  ssh spark-2 sparkbench node < /dev/null")]
pub struct Node {}

/// Runs the verb.
///
/// # Errors
/// When nobody reads what is said.
pub fn run(_: &Node) -> Result<Outcome, Error> {
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    let about = about(&host);
    // A value of plain texts and numbers cannot fail to become JSON.
    print(&format!("{}\n", serde_json::to_string(&about).unwrap_or_default()))?;
    for word in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = match word.trim() {
            "clock" => json!({ "wall_ns": wall(), "monotonic_ns": now() }),
            other => json!({ "unknown": other }),
        };
        print(&format!("{answer}\n"))?;
    }
    Ok(Outcome::Done)
}

/// What this machine is.
pub fn about(host: &Arc<dyn Host>) -> About {
    let telemetry = TelemetrySettings::default();
    let gpu = open(host, &telemetry.gpu, telemetry.gpu_index, Duration::from_secs(1)).gpu.map(Mutex::new);
    let inventory = inventory(host.as_ref(), gpu.as_ref());
    let addresses = host.ask(&Question::new(["ip", "-json", "address"])).ok().filter(crate::host::Answer::ok);
    let addresses: Value = addresses.and_then(|answer| serde_json::from_slice(&answer.stdout).ok()).unwrap_or_default();
    let name = host.read(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    let rdma = |device: &str| {
        let folder = format!("/sys/class/net/{device}/device/infiniband");
        host.list(Path::new(&folder)).ok()?.into_iter().next()
    };
    let mut about = About::of(name.trim(), &inventory, &addresses, &rdma);
    // client address, client port, server address, server port
    let ssh = host.variable("SSH_CONNECTION");
    about.reached_at = ssh.and_then(|text| text.split_whitespace().nth(2).map(str::to_owned));
    about
}
