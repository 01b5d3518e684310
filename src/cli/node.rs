//! `sparkbench node`: what another machine asks of this one, over `ssh` or a connection of its own.
//!
//! In:  a line each, or the address of a head.  Out: what this machine is, in one line of JSON; its clock, or the way to another machine, for each line.
//! Not here: who asks (see `run::nodes`), the part of a campaign (see `run::cluster`).

use std::io::BufRead as _;
use std::sync::Arc;

use serde_json::json;

use super::outcome::Outcome;
use super::stdout::print;
use sparkbench_collect::run::cluster::member::{self, Join};
use sparkbench_collect::run::nodes::here::about;
use sparkbench_host::Host;
use sparkbench_host::link::{self, Listening, Measured};
use sparkbench_host::machine::Machine;
use sparkbench_host::meet::Secret;
use sparkbench_host::net::{SocketAddr, clock::wall, now, resolve};
use sparkbench_host::rdma;
use sparkbench_load::ranks::place::TOKEN;
use sparkbench_text::error::Error;

/// Describe this machine, or take part in a campaign over several machines
///
/// `sparkbench nodes` starts it on each machine of a cluster through ssh. It prints one line of JSON, and then one for each word `clock` on
/// standard input. `sparkbench link-probe` uses it to measure the link to another machine. It changes nothing.
///
/// With --join it is the part of `sparkbench collect` on each further machine of a suite. There it runs gates, telemetry, watchdogs and the
/// worker of an engine, and ends with the connection to the head. The token that both share comes from the variable SPARKBENCH_TOKEN, or
/// else from the first line of standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench node < /dev/null\n  ssh spark-2 sparkbench node < /dev/null\n\n\
                        Exit codes: 0 standard input ended, 2 usage, 3 the head was not reached, 4 the connection to the head was lost.")]
pub(crate) struct Node {
    /// Address and port of the head of a campaign
    #[arg(long, value_name = "ADDRESS:PORT", requires = "world")]
    join: Option<SocketAddr>,
    /// Number of machines, including the head
    #[arg(long, value_name = "N", requires = "join")]
    world: Option<u32>,
    /// Number of this machine, from 1 [default: one more than the rank that the launcher gives]
    #[arg(long, value_name = "K", requires = "join")]
    rank: Option<u32>,
}

/// Runs the verb.
///
/// # Errors
/// When nobody reads what is said.
pub(crate) fn run(args: &Node) -> Result<Outcome, Error> {
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    if let (Some(head), Some(world)) = (args.join, args.world) {
        return join(head, world, args.rank, &host);
    }
    let about = about(&host);
    // A value of plain texts and numbers cannot fail to become JSON.
    print(&format!("{}\n", serde_json::to_string(&about).unwrap_or_default()))?;
    // Who listens does so until nobody asks any more.
    let mut listening = Vec::new();
    let mut receiving = Vec::new();
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
            ["rdma-listen", device, seconds] => match rdma_listen(device, seconds) {
                Ok(there) => {
                    let port = there.port;
                    receiving.push(there);
                    json!({ "port": port })
                }
                Err(why) => json!({ "error": why }),
            },
            ["rdma-measure", device, address, port, seconds] => {
                match rdma_measure(host.as_ref(), device, address, port, seconds) {
                    Ok(gbit_s) => json!({ "gbit_s": gbit_s }),
                    Err(why) => json!({ "error": why }),
                }
            }
            _ => json!({ "error": format!("'{line}' is not understood") }),
        };
        print(&format!("{answer}\n"))?;
    }
    Ok(Outcome::Done)
}

fn join(head: SocketAddr, world: u32, rank: Option<u32>, host: &Arc<dyn Host>) -> Result<Outcome, Error> {
    let variable = |name: &str| host.variable(name);
    let launched = || variable("OMPI_COMM_WORLD_RANK").or_else(|| variable("SLURM_PROCID"))?.trim().parse::<u32>().ok();
    let rank =
        rank.or_else(|| launched()?.checked_add(1)).filter(|rank| (1..world).contains(rank)).ok_or_else(|| {
            Error::usage(format!("this machine does not know its number among {world}"))
                .hint("add --rank K, from 1 (the head is 0)")
        })?;
    let token = variable(TOKEN).map_or_else(
        || {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|_| line)
        },
        Ok,
    );
    let token = token.map_err(|cause| Error::usage("no token came on standard input").because(cause))?;
    member::serve(&Join { head, rank, world }, Secret::new(token.trim()), host)?;
    Ok(Outcome::Done)
}

fn listen(address: &str) -> Result<Listening, String> {
    let address = address.parse().map_err(|_| format!("'{address}' is not an address"))?;
    Listening::start(address).map_err(|cause| format!("cannot listen at {address}: {cause}"))
}

fn rdma_listen(device: &str, seconds: &str) -> Result<rdma::RdmaReceiver, String> {
    let seconds = seconds.parse().map_err(|_| format!("'{seconds}' is not a number of seconds"))?;
    rdma::RdmaReceiver::start(device, seconds).map_err(|cause| format!("{}: {cause}", rdma::PROGRAM))
}

fn rdma_measure(host: &dyn Host, device: &str, address: &str, port: &str, seconds: &str) -> Result<f64, String> {
    let (Ok(port), Ok(seconds)) = (port.parse(), seconds.parse()) else {
        return Err(format!("'{port} {seconds}' is not understood"));
    };
    rdma::measure(host, device, address, port, seconds).map_err(|cause| format!("{}: {cause}", rdma::PROGRAM))
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
