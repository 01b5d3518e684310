//! `sparkbench link-probe`: round trip and bandwidth between the machines of a cluster.
//!
//! In:  a list of machines.  Out: a table, or JSON; exit code 3 where a machine or a way fails.
//! Not here: which machines (see `nodes`), the measurement (see `host::link`).

use std::sync::Arc;

use serde_json::json;

use super::nodes::{Machines, link_words};
use super::outcome::Outcome;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_collect::run::nodes::here::about;
use sparkbench_collect::run::nodes::link::{Settings, Way, probe};
use sparkbench_collect::run::nodes::nccl::{self, Nccl};
use sparkbench_host::Host;
use sparkbench_host::machine::Machine;
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::plural::count;
use sparkbench_text::table;

/// Measure the links of a cluster: round trip and bandwidth over TCP and RDMA, in each direction
///
/// Machines are named and reached as by `sparkbench nodes`. Directions are measured one after another: 2,000 round trips of 64 bytes, then the
/// bandwidth with one connection and with several. Bandwidth is counted where the bytes arrive. TCP on one processor core does not fill a
/// fast link. If both sides have an RDMA device and ib_write_bw (perftest), it runs too. With --nccl the GPUs of all machines run an
/// all-reduce.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench link-probe --hosts spark-1,spark-2\n  \
    sparkbench link-probe --hostfile hosts --link 192.168.177.0/24 --streams 1,4,8 --seconds 5\n  \
    sparkbench link-probe --hosts spark-1,spark-2 --nccl /opt/nccl-tests/build/all_reduce_perf\n  \
    sparkbench link-probe --hosts spark-1,spark-2 --json | jq '.ways[].measured.rtt_p50_us'\n\n\
    Exit codes: 0 measured, 2 usage, 3 a machine was not reached or a direction could not be measured.")]
pub(crate) struct LinkProbe {
    #[command(flatten)]
    machines: Machines,
    /// Numbers of parallel connections, each measured by itself
    #[arg(long, value_name = "N,...", default_value = "1,4", value_delimiter = ',')]
    streams: Vec<usize>,
    /// Time for each measurement of bandwidth, in seconds, at most 600
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Path of all_reduce_perf (nccl-tests) on each machine: the GPUs run an all-reduce too
    #[arg(long, value_name = "PATH")]
    nccl: Option<String>,
    /// Additional arguments of mpirun, with --nccl
    #[arg(long, value_name = "WORDS", requires = "nccl", default_value = "", allow_hyphen_values = true)]
    mpirun: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` prints.
const SCHEMA: &str = "sparkbench.link-probe/1";
/// More connections than this fill no link better.
const STREAMS_MAX: usize = 64;

/// Runs the verb.
///
/// # Errors
/// Of usage, or of pre-flight when a machine is not reached or a way fails.
pub(crate) fn run(args: &LinkProbe, talk: &Talk) -> Result<Outcome, Error> {
    if !(args.seconds > 0.0 && args.seconds <= 600.0) {
        return Err(Error::usage("--seconds must be above 0 and at most 600"));
    }
    if args.streams.iter().any(|streams| *streams == 0 || *streams > STREAMS_MAX) {
        return Err(
            Error::usage(format!("--streams must be numbers from 1 to {STREAMS_MAX}")).hint("e.g. --streams 1,4")
        );
    }
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    let entries = args.machines.entries(host.as_ref())?;
    if entries.len() < 2 {
        return Err(Error::usage("a link needs two machines, but only one is named")
            .hint("name at least two, e.g. --hosts spark-1,spark-2"));
    }
    let asked = args.machines.asked(host.as_ref(), &about(&host));
    let settings = Settings { fast: args.machines.link, streams: args.streams.clone(), seconds: args.seconds };
    let bar = talk.spinner();
    let ways = probe(&entries, &asked, &settings, &|what| {
        bar.set_message(what.to_owned());
        bar.tick();
    });
    bar.finish_and_clear();
    let ways = ways.map_err(|(machine, why)| {
        Error::new(Kind::Preflight, format!("{machine} was not reached: {why}"))
            .hint("run sparkbench nodes with the same options to see what is wrong with each machine")
    })?;
    let mpirun: Vec<String> = args.mpirun.split_whitespace().map(str::to_owned).collect();
    let reduced =
        args.nccl.as_deref().map(|program| nccl::measure(&entries, program, &mpirun, host.as_ref())).transpose()?;
    if args.json {
        print(&format!("{:#}\n", json!({ "schema": SCHEMA, "ways": ways, "nccl": reduced })))?;
    } else {
        print(&table(&ways, &args.streams))?;
        if let Some(found) = &reduced {
            print(&all_reduce(found, entries.len()))?;
        }
    }
    match ways.iter().find_map(|way| Some((way, way.error.as_ref()?))) {
        Some((way, why)) => {
            Err(Error::new(Kind::Preflight, format!("{} to {} was not measured: {why}", way.from, way.to))
                .hint("check the firewalls: they must let TCP through on every port between the machines"))
        }
        None => Ok(Outcome::Done),
    }
}

/// What the GPUs reached, in a line.
fn all_reduce(found: &Nccl, machines: usize) -> String {
    let wrong = if found.wrong > 0 { format!(", {} values were WRONG", found.wrong) } else { String::new() };
    format!(
        "all-reduce over {machines} GPUs: {:.2} GB/s bus bandwidth, {} of {} MiB{wrong}\n",
        found.bus_gb_s,
        microseconds(found.time_us),
        found.bytes >> 20
    )
}

fn table(ways: &[Way], streams: &[usize]) -> String {
    let mut rows = vec![["from", "to", "address", "link", "round trip p50", "p99"].map(str::to_owned).to_vec()];
    if let Some(head) = rows.first_mut() {
        head.extend(streams.iter().map(|streams| count(*streams, "stream")));
    }
    let rdma = ways.iter().any(|way| way.rdma_gbit_s.is_some() || way.rdma_error.is_some());
    if let Some(head) = rows.first_mut().filter(|_| rdma) {
        head.push("RDMA".to_owned());
    }
    for way in ways {
        let mut row = vec![
            way.from.clone(),
            way.to.clone(),
            way.address.clone(),
            way.link.as_ref().map_or_else(|| "-".to_owned(), link_words),
        ];
        match &way.measured {
            Some(found) => {
                row.push(microseconds(found.rtt_p50_us));
                row.push(found.rtt_p99_us.map_or_else(|| "-".to_owned(), microseconds));
                let carried = |gbit_s: f64| {
                    let speed = way.link.as_ref().and_then(|link| link.speed_mbit_s);
                    let share = speed.map(|speed| format!(" ({:.0} %)", gbit_s * 100_000.0 / speed));
                    format!("{gbit_s:.2} Gbit/s{}", share.unwrap_or_default())
                };
                row.extend(found.bandwidth.iter().map(|one| carried(one.gbit_s)));
                let why = || way.rdma_error.clone().unwrap_or_else(|| "-".to_owned());
                row.extend(rdma.then(|| way.rdma_gbit_s.map_or_else(why, carried)));
            }
            None => row.push("not measured".to_owned()),
        }
        rows.push(row);
    }
    table::lines(&rows)
}

/// `46.2 µs`, or ms from a thousand of them.
fn microseconds(us: f64) -> String {
    if us >= 1000.0 { format!("{:.2} ms", us / 1000.0) } else { format!("{us:.1} µs") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_collect::run::nodes::Link;
    use sparkbench_host::link::{Bandwidth, Measured};

    #[test]
    fn each_way_has_a_line_with_its_share_of_what_the_link_promises() {
        let link = Link { device: "enp1s0f1np1".into(), speed_mbit_s: Some(200_000.0), ..Link::default() };
        let way = |from: &str, to: &str, measured| Way {
            from: from.into(),
            to: to.into(),
            address: "192.168.177.12".into(),
            link: Some(link.clone()),
            measured,
            rdma_gbit_s: (from == "a").then_some(92.4),
            rdma_error: None,
            error: None,
        };
        let one = |streams, gbit_s| Bandwidth { streams, gbit_s, seconds: 3.0 };
        let found = Measured {
            trips: 2000,
            rtt_p50_us: 46.24,
            rtt_p99_us: Some(1200.0),
            rtt_min_us: 40.0,
            bandwidth: vec![one(1, 23.456), one(4, 92.0)],
        };
        let text = table(&[way("a", "b", Some(found)), way("b", "a", None)], &[1, 4]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "a     b   192.168.177.12  enp1s0f1np1 200 Gbit/s  46.2 µs         1.20 ms  23.46 Gbit/s (12 %)  92.00 Gbit/s (46 %)  92.40 Gbit/s (46 %)"
        );
        assert!(lines[2].ends_with("not measured"), "{text}");
    }
}
