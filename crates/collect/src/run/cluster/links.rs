//! The links between the machines of a campaign, each way, measured before the first run.
//!
//! In:  machines that are there.  Out: [`MeasuredLink`]s.
//! Not here: the measurement itself (see `host::link` and `host::rdma`), the verb that does the same by `ssh` (see `nodes::link`).

use super::Cluster;
use super::say::{Order, Word};
use crate::run::Watcher;
use crate::run::nodes::{About, Link};
use sparkbench_host::link::{self, Listening, Measured};
use sparkbench_host::net::{IpAddr, SocketAddr};
use sparkbench_host::{Host, rdma};
use sparkbench_model::MeasuredLink;
use sparkbench_text::error::{Error, Kind};

/// Numbers of connections by which a link is measured.
const STREAMS: [usize; 2] = [1, 4];
/// Name of the head among the links.
pub(super) const HEAD: &str = "head";

impl Cluster {
    /// Measures every way between the machines, one after the other.
    ///
    /// # Errors
    /// When a machine is gone.
    pub fn links(&self, watcher: &dyn Watcher, host: &dyn Host) -> Result<Vec<MeasuredLink>, Error> {
        let count = u32::try_from(self.placement.count()).unwrap_or(u32::MAX);
        let mut links = Vec::new();
        if self.settings.link_probe_s <= 0.0 {
            return Ok(links);
        }
        for from in 0..count {
            for to in (0..count).filter(|to| *to != from) {
                if let Some(why) = self.gone() {
                    return Err(Error::new(Kind::Preflight, why));
                }
                let (sender, receiver) = (self.link_name(from), self.link_name(to));
                watcher.say(&format!("measuring the link from {sender} to {receiver}"));
                let found = self.link(to);
                let mut wire = MeasuredLink {
                    from: sender,
                    to: receiver,
                    device: found.as_ref().map(|link| link.device.clone()),
                    speed_mbit_s: found.as_ref().and_then(|link| link.speed_mbit_s),
                    rdma: found.as_ref().and_then(|link| link.rdma.clone()),
                    mtu: found.as_ref().and_then(|link| link.mtu),
                    ..MeasuredLink::default()
                };
                match self.way(from, to, host) {
                    Ok(measured) => {
                        (wire.rtt_p50_us, wire.rtt_p99_us) = (Some(measured.rtt_p50_us), measured.rtt_p99_us);
                        let carried = |one: &link::Bandwidth| (u32::try_from(one.streams).unwrap_or(0), one.gbit_s);
                        wire.tcp_gbit_s = measured.bandwidth.iter().map(carried).collect();
                        match self.way_by_rdma(from, to, host) {
                            Ok(gbit_s) => wire.rdma_gbit_s = gbit_s,
                            Err(why) => watcher.say(&format!("not measured by RDMA: {why}")),
                        }
                    }
                    Err(why) => {
                        watcher.warn(&format!("the link was not measured: {why}"));
                        wire.error = Some(why);
                    }
                }
                links.push(wire);
            }
        }
        Ok(links)
    }

    fn link_name(&self, rank: u32) -> String {
        self.names.get(&rank).cloned().unwrap_or_else(|| HEAD.to_owned())
    }

    /// The device of a machine with its address on the link.
    fn link(&self, rank: u32) -> Option<Link> {
        let address = self.placement.address(rank);
        let of = |about: &About| about.link(address, None).cloned();
        if rank == 0 { of(&self.own) } else { self.state.with(|peers| of(&peers.get(&rank)?.about)) }
    }

    fn way(&self, from: u32, to: u32, host: &dyn Host) -> Result<Measured, String> {
        let own = self.placement.address(0).parse::<IpAddr>().map_err(|cause| cause.to_string())?;
        let mut listening = None;
        let at = if to == 0 {
            let there = Listening::start(own).map_err(|cause| format!("cannot listen at {own}: {cause}"))?;
            listening.insert(there).address.to_string()
        } else {
            match self.ask_one(to, Order::Listen, host)? {
                Word::Listening { at } => at,
                _ => return Err("it does not say where it listens".to_owned()),
            }
        };
        let (streams, seconds) = (STREAMS.to_vec(), self.settings.link_probe_s);
        if from == 0 {
            let to = at.parse::<SocketAddr>().map_err(|cause| cause.to_string())?;
            return link::measure(to, &streams, seconds).map_err(|cause| cause.to_string());
        }
        match self.ask_one(from, Order::Measure { to: at, streams, seconds }, host)? {
            Word::Measured { measured } => Ok(measured),
            _ => Err("it does not say what it measured".to_owned()),
        }
    }

    /// Gbit/s by `ib_write_bw`. Nothing where a side has no device for RDMA.
    fn way_by_rdma(&self, from: u32, to: u32, host: &dyn Host) -> Result<Option<f64>, String> {
        let device = |rank: u32| self.link(rank).and_then(|link| link.rdma);
        let Some((sends, receives)) = device(from).zip(device(to)) else { return Ok(None) };
        let seconds = self.settings.link_probe_s;
        let mut receiving = None;
        let port = if to == 0 {
            let there = rdma::RdmaReceiver::start(&receives, seconds).map_err(|cause| cause.to_string())?;
            receiving.insert(there).port
        } else {
            match self.ask_one(to, Order::RdmaListen { device: receives, seconds }, host)? {
                Word::Port { port } => port,
                _ => return Err("it does not say where it listens".to_owned()),
            }
        };
        let address = self.placement.address(to).to_owned();
        if from == 0 {
            return rdma::measure(host, &sends, &address, port, seconds).map(Some).map_err(|cause| cause.to_string());
        }
        match self.ask_one(from, Order::RdmaMeasure { device: sends, address, port, seconds }, host)? {
            Word::Carried { gbit_s } => Ok(Some(gbit_s)),
            _ => Err("it does not say what it measured".to_owned()),
        }
    }
}
