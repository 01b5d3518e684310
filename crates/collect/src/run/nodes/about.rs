//! The facts that a machine reports to the head of a cluster.
//!
//! In:  the inventory, `ip -json address`.  Out: [`About`], to and from JSON, and the clock of another machine.
//! Not here: asking over a network (see `ask`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Schema of the first line that `sparkbench node` prints.
pub const SCHEMA: &str = "sparkbench.node/1";

/// The first line of `sparkbench node`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub schema: String,
    /// Version of the program there.
    pub version: String,
    /// Name of the machine.
    pub host: String,
    pub kernel: Option<String>,
    pub processor: Option<String>,
    pub gpu: Option<String>,
    /// How many of them.
    pub gpus: Option<f64>,
    pub driver: Option<String>,
    /// Memory of the machine, GiB.
    pub memory_gib: Option<f64>,
    /// Network devices with an address, the loopback left out.
    pub links: Vec<Link>,
    /// The address at which `ssh` reached it.
    pub reached_at: Option<String>,
}

/// A network device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the device.
    pub device: String,
    /// Its addresses, without the length of the network.
    pub addresses: Vec<String>,
    /// As the driver says, Mbit/s.
    pub speed_mbit_s: Option<f64>,
    /// Largest packet, bytes.
    pub mtu: Option<f64>,
    /// Name of the RDMA device behind it.
    pub rdma: Option<String>,
}

impl About {
    /// From the inventory of this machine, what `ip -json address` printed, and names that the inventory leaves out.
    pub fn of(host: &str, inventory: &Value, addresses: &Value, rdma: &dyn Fn(&str) -> Option<String>) -> Self {
        let text = |at: &str| inventory.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let number = |at: &str| inventory.pointer(at).and_then(Value::as_f64);
        let links = addresses.as_array().into_iter().flatten().filter_map(|device| {
            let name = device["ifname"].as_str()?;
            let addresses: Vec<String> = device["addr_info"]
                .as_array()?
                .iter()
                .filter(|address| address["scope"] != "host")
                .filter_map(|address| Some(address["local"].as_str()?.to_owned()))
                .collect();
            (name != "lo" && !addresses.is_empty()).then(|| Link {
                device: name.to_owned(),
                addresses,
                speed_mbit_s: number(&format!("/network/{name}/speed_mbit_s")),
                mtu: number(&format!("/network/{name}/mtu")),
                rdma: rdma(name),
            })
        });
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: host.to_owned(),
            kernel: text("/system/kernel"),
            processor: text("/processor/model"),
            gpu: text("/gpu/name"),
            gpus: number("/gpu/count"),
            driver: text("/gpu/driver"),
            memory_gib: number("/memory/total_kib").map(|kib| kib / f64::from(1 << 20)),
            links: links.collect(),
            reached_at: None,
        }
    }

    /// The device that an address belongs to: that of `fast` where one is named, else that through which it was reached.
    pub fn link(&self, listed: &str, fast: Option<&Range>) -> Option<&Link> {
        let has = |link: &&Link, wanted: &dyn Fn(&str) -> bool| link.addresses.iter().any(|address| wanted(address));
        match fast {
            Some(range) => self.links.iter().find(|link| has(link, &|address| range.holds(address))),
            None => {
                let reached = self.reached_at.as_deref();
                self.links
                    .iter()
                    .find(|link| has(link, &|address| address == listed))
                    .or_else(|| self.links.iter().find(|link| has(link, &|address| Some(address) == reached)))
            }
        }
    }
}

/// A range of addresses of version 4: `192.168.177.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    network: u32,
    mask: u32,
}

impl std::str::FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a range of addresses, such as 192.168.177.0/24");
        let (network, length) = text.split_once('/').ok_or_else(wrong)?;
        let network = bits(network).ok_or_else(wrong)?;
        let length: u32 = length.parse().ok().filter(|length| *length <= 32).ok_or_else(wrong)?;
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        Ok(Self { network: network & mask, mask })
    }
}

/// `192.168.177.11` as a number.
fn bits(address: &str) -> Option<u32> {
    let parts: Vec<u8> = address.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    <[u8; 4]>::try_from(parts).ok().map(u32::from_be_bytes)
}

impl Range {
    /// Whether an address lies in it.
    pub fn holds(&self, address: &str) -> bool {
        bits(address).is_some_and(|address| address & self.mask == self.network)
    }
}

/// How far the wall clock of another machine is from ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Offset {
    /// Its time less ours, ms.
    pub ahead_ms: f64,
    /// The most by which that may be wrong: half of the shortest round trip, ms.
    pub bound_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_its_inventory_and_its_addresses() {
        let inventory = serde_json::json!({
            "system": { "kernel": "6.14.0" }, "processor": { "model": "GB10" }, "memory": { "total_kib": 125829120 },
            "gpu": { "name": "NVIDIA GB10", "driver": "580.95", "count": 1 },
            "network": { "enp1s0f1np1": { "speed_mbit_s": 200000.0, "mtu": 9000 } }
        });
        let addresses = serde_json::json!([
            { "ifname": "lo", "addr_info": [{ "local": "127.0.0.1", "scope": "host" }] },
            { "ifname": "enP7s7", "addr_info": [{ "local": "192.168.1.7", "scope": "global" }] },
            { "ifname": "enp1s0f1np1", "addr_info": [{ "local": "169.254.35.62", "scope": "link" }, { "local": "fe80::1", "scope": "link" }] },
            { "ifname": "down0", "addr_info": [] }
        ]);
        let mut about = About::of("spark-a", &inventory, &addresses, &|device| {
            (device == "enp1s0f1np1").then(|| "rocep1s0f1".to_owned())
        });
        assert_eq!((about.gpu.as_deref(), about.memory_gib), (Some("NVIDIA GB10"), Some(120.0)));
        assert_eq!(about.links.len(), 2);
        let fast: Range = "169.254.0.0/16".parse().unwrap();
        let link = about.link("spark-a", Some(&fast)).unwrap();
        assert_eq!(
            (link.device.as_str(), link.speed_mbit_s, link.rdma.as_deref()),
            ("enp1s0f1np1", Some(200_000.0), Some("rocep1s0f1"))
        );
        assert_eq!(about.link("192.168.1.7", None).unwrap().device, "enP7s7");
        assert!(about.link("spark-a", None).is_none());
        about.reached_at = Some("192.168.1.7".into());
        assert_eq!(about.link("spark-a", None).unwrap().device, "enP7s7");
        let text = serde_json::to_string(&about).unwrap();
        assert_eq!(serde_json::from_str::<About>(&text).unwrap(), about);
    }

    #[test]
    fn a_range_holds_its_addresses_and_no_others() {
        let range: Range = "192.168.177.0/24".parse().unwrap();
        assert!(range.holds("192.168.177.11") && !range.holds("192.168.178.11") && !range.holds("fe80::1"));
        assert!("0.0.0.0/0".parse::<Range>().unwrap().holds("8.8.8.8"));
        for wrong in ["192.168.177.0", "192.168.177.0/33", "x/8"] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }
}
