//! The machines of a run, as the templates of a suite name them.
//!
//! In:  addresses.  Out: [`Placement`].
//! Not here: which machines there are (see `run::nodes`).

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Which of them this is. 0 is the head.
    pub rank: u32,
    /// Address of each on the link between them, the head first. Empty where a run has one machine.
    pub addresses: Vec<String>,
    /// Network device of each with that address, e.g. `enp1s0f1np1`.
    pub devices: Vec<String>,
}

/// The device of a machine that has no other.
const LOOPBACK_DEVICE: &str = "lo";
/// The address of a machine that has no other: its own.
const LOOPBACK: &str = "127.0.0.1";

impl Placement {
    /// One machine.
    pub const ALONE: &Self = &Self { rank: 0, addresses: Vec::new(), devices: Vec::new() };

    /// How many there are.
    pub fn count(&self) -> usize {
        self.addresses.len().max(1)
    }

    /// Address of one of them.
    pub fn address(&self, rank: u32) -> &str {
        self.addresses.get(rank as usize).map_or(LOOPBACK, String::as_str)
    }

    /// Device of this one.
    pub fn device(&self) -> &str {
        self.devices.get(self.rank as usize).map_or(LOOPBACK_DEVICE, String::as_str)
    }

    /// All addresses with commas between, the head first.
    pub fn hosts(&self) -> String {
        if self.addresses.is_empty() { LOOPBACK.to_owned() } else { self.addresses.join(",") }
    }

    /// `address:port` of each but the head, with commas between.
    pub fn workers(&self, port: u16) -> String {
        let written = |address: &String| {
            if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
        };
        self.addresses.iter().skip(1).map(written).collect::<Vec<_>>().join(",")
    }

    /// As another of them sees it.
    #[must_use]
    pub fn at(&self, rank: u32) -> Self {
        Self { rank, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_machines_are_named_and_one_is_its_own_head() {
        let addresses = vec!["10.0.0.1".into(), "fe80::2".into()];
        let placement = Placement { rank: 0, addresses, devices: vec!["eth0".into(), "enp1s0f1np1".into()] }.at(1);
        assert_eq!((placement.device(), Placement::ALONE.device()), ("enp1s0f1np1", "lo"));
        assert_eq!(
            (placement.count(), placement.address(0), placement.address(placement.rank)),
            (2, "10.0.0.1", "fe80::2")
        );
        assert_eq!(
            (placement.hosts().as_str(), placement.workers(50052).as_str()),
            ("10.0.0.1,fe80::2", "[fe80::2]:50052")
        );
        assert_eq!((Placement::ALONE.count(), Placement::ALONE.address(0)), (1, "127.0.0.1"));
        assert_eq!(Placement::ALONE.workers(1), "");
    }
}
