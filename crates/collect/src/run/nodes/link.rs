//! The links between the machines of a cluster, each way.
//!
//! In:  [`Entry`]s, the range of the fast link.  Out: [`Way`] for each ordered pair, one after the other.
//! Not here: the measurement itself (see `host::link`).

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::about::{About, Link, Range};
use super::ask::open;
use super::{Asked, Entry};
use sparkbench_host::link::Measured;
use sparkbench_host::net::resolve;
use sparkbench_host::remote::Remote;

/// Time limit of a machine in addition to the measurement.
const BESIDE: Duration = Duration::from_secs(45);

/// How it is measured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Addresses of the fast link. Absent takes those that the machines are listed or reached by.
    pub fast: Option<Range>,
    /// Numbers of connections at a time.
    pub streams: Vec<usize>,
    /// For each of them, seconds.
    pub seconds: f64,
}

/// From one machine to another.
#[derive(Debug, Clone, Serialize)]
pub struct Way {
    /// Name of the machine that sends.
    pub from: String,
    /// On the receiving machine.
    pub to: String,
    /// Its address on the link.
    pub address: String,
    /// The receiver's device with that address.
    pub link: Option<Link>,
    pub measured: Option<Measured>,
    /// By RDMA, Gbit/s, where both sides have a device for it and `ib_write_bw`.
    pub rdma_gbit_s: Option<f64>,
    /// Why not by RDMA, where both sides have a device.
    pub rdma_error: Option<String>,
    /// Why nothing was.
    pub error: Option<String>,
}

/// A machine that answers.
struct There {
    entry: Entry,
    about: About,
    remote: Remote,
}

/// Measures every way, one at a time: two at once would share what they measure. `tell` hears of each before it begins.
///
/// # Errors
/// When a machine cannot be reached: its name and why.
pub fn probe(
    entries: &[Entry],
    asked: &Asked,
    settings: &Settings,
    tell: &dyn Fn(&str),
) -> Result<Vec<Way>, (String, String)> {
    let mut machines = Vec::new();
    for entry in entries {
        let (remote, about) = open(entry, asked).map_err(|why| (entry.host.clone(), why.to_string()))?;
        machines.push(There { entry: entry.clone(), about, remote });
    }
    let mut ways = Vec::new();
    for from in 0..machines.len() {
        for to in (0..machines.len()).filter(|to| *to != from) {
            let Ok([sender, receiver]) = machines.get_disjoint_mut([from, to]) else { continue };
            tell(&format!("{} to {}", sender.about.host, receiver.about.host));
            ways.push(way(sender, receiver, settings));
        }
    }
    Ok(ways)
}

fn way(from: &mut There, to: &mut There, settings: &Settings) -> Way {
    let link = to.about.link(&to.entry.host, settings.fast.as_ref()).cloned();
    let on_link = |range: &Range| link.as_ref()?.addresses.iter().find(|address| range.holds(address)).cloned();
    let address = match &settings.fast {
        Some(range) => on_link(range),
        None => to.about.reached_at.clone().or_else(|| named(&to.entry.host)),
    };
    let mut way = Way {
        from: from.about.host.clone(),
        to: to.about.host.clone(),
        address: address.clone().unwrap_or_default(),
        link,
        measured: None,
        rdma_gbit_s: None,
        rdma_error: None,
        error: None,
    };
    let devices = from.about.link(&from.entry.host, settings.fast.as_ref()).and_then(|link| link.rdma.clone());
    let devices = devices.zip(way.link.as_ref().and_then(|link| link.rdma.clone()));
    let found = match address {
        Some(address) => {
            let found = measure(from, to, &address, settings);
            if let (Ok(_), Some(devices)) = (&found, &devices) {
                match by_rdma(from, to, &address, (&devices.0, &devices.1), settings.seconds) {
                    Ok(gbit_s) => way.rdma_gbit_s = Some(gbit_s),
                    Err(why) => way.rdma_error = Some(why.to_string()),
                }
            }
            found
        }
        None => Err(io::Error::other("it has no address in the range of --link")),
    };
    match found {
        Ok(measured) => way.measured = Some(measured),
        Err(why) => way.error = Some(why.to_string()),
    }
    way
}

/// The address of a machine that was not reached by ssh, which is this one. The loopback leads nowhere.
fn named(host: &str) -> Option<String> {
    let found = resolve(host, 0).ok()?.into_iter().map(|address| address.ip());
    found.filter(|address| !address.is_loopback()).map(|address| address.to_string()).next()
}

fn measure(from: &mut There, to: &mut There, address: &str, settings: &Settings) -> io::Result<Measured> {
    let listening = question(&mut to.remote, &format!("listen {address}"), BESIDE)?;
    let port = listening["port"].as_u64().ok_or_else(|| io::Error::other("it does not say where it listens"))?;
    let streams: Vec<String> = settings.streams.iter().map(usize::to_string).collect();
    let words = format!("measure {address} {port} {} {}", settings.seconds, streams.join(","));
    let limit = BESIDE + Duration::from_secs_f64(settings.seconds * settings.streams.len() as f64);
    let found = question(&mut from.remote, &words, limit)?;
    serde_json::from_value(found["measured"].clone()).map_err(io::Error::other)
}

/// By `ib_write_bw` on both sides.
fn by_rdma(
    from: &mut There,
    to: &mut There,
    address: &str,
    (sends, receives): (&str, &str),
    seconds: f64,
) -> io::Result<f64> {
    let listening = question(&mut to.remote, &format!("rdma-listen {receives} {seconds}"), BESIDE)?;
    let port = listening["port"].as_u64().ok_or_else(|| io::Error::other("it does not say where it listens"))?;
    let words = format!("rdma-measure {sends} {address} {port} {seconds}");
    let found = question(&mut from.remote, &words, BESIDE + Duration::from_secs_f64(seconds))?;
    found["gbit_s"].as_f64().ok_or_else(|| io::Error::other("it does not say what it measured"))
}

/// Says a line and hears the answer.
fn question(remote: &mut Remote, words: &str, limit: Duration) -> io::Result<Value> {
    remote.say(words)?;
    let (line, _) = remote.hear(limit)?;
    let answer: Value = serde_json::from_str(&line)?;
    match answer["error"].as_str() {
        Some(why) => Err(io::Error::other(why.to_owned())),
        None => Ok(answer),
    }
}
