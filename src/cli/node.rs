//! `sparkbench node`: what another machine asks of this one, over `ssh`.
//!
//! In:  a line each.  Out: what this machine is, in one line of JSON; its clock, or the way to another machine, for each line.
//! Not here: who asks (see `run::nodes`).

use std::io::BufRead as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Outcome, print};
use crate::error::Error;
use crate::host::gpu::open::open;
use crate::host::link::{self, Listening, Measured};
use crate::host::machine::Machine;
use crate::host::net::{clock::wall, now, resolve};
use crate::host::{Host, Question};
use crate::plan::TelemetrySettings;
use crate::run::nodes::About;
use crate::run::provenance::inventory;

/// Say what this machine is, and answer until nobody asks any more
///
/// `sparkbench nodes` starts it on each machine of a cluster through ssh. It prints one line of JSON and then one for each word `clock` on
/// standard input, until that ends. `sparkbench link-probe` has it measure the way to another machine. It changes nothing.
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
    // Who listens does so until nobody asks any more.
    let mut listening = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["clock"] => json!({ "wall_ns": wall(), "monotonic_ns": now() }),
            ["listen", address] => match listen(address) {
                Ok(there) => {
                    let port = there.address.port();
                    listening.push(there);
                    json!({ "port": port })
                }
                Err(why) => json!({ "error": why }),
            },
            ["measure", address, port, seconds, streams] => match measure(address, port, seconds, streams) {
                Ok(measured) => json!({ "measured": measured }),
                Err(why) => json!({ "error": why }),
            },
            _ => json!({ "error": format!("'{line}' is not understood") }),
        };
        print(&format!("{answer}\n"))?;
    }
    Ok(Outcome::Done)
}

fn listen(address: &str) -> Result<Listening, String> {
    let address = address.parse().map_err(|_| format!("'{address}' is no address"))?;
    Listening::start(address).map_err(|cause| format!("cannot listen at {address}: {cause}"))
}

fn measure(address: &str, port: &str, seconds: &str, streams: &str) -> Result<Measured, String> {
    let wrong = |text: &str| format!("'{text}' is not understood");
    let to = match port.parse().ok().and_then(|port| resolve(address, port).ok()?.into_iter().next()) {
        Some(to) => to,
        None => return Err(wrong(address)),
    };
    let seconds: f64 = seconds.parse().map_err(|_| wrong(seconds))?;
    let streams: Vec<usize> =
        streams.split(',').map(|count| count.parse().map_err(|_| wrong(count))).collect::<Result<_, _>>()?;
    link::measure(to, &streams, seconds).map_err(|cause| format!("{address} cannot be measured: {cause}"))
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
