//! Describes this machine for the head of a cluster.
//!
//! In:  a host.  Out: [`About`].
//! Not here: its whole inventory (see `provenance`).

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::About;
use crate::run::provenance::inventory;
use sparkbench_host::gpu::open::open;
use sparkbench_host::{Answer, Host, Question};
use sparkbench_plan::TelemetrySettings;

/// Description of this machine.
pub fn about(host: &Arc<dyn Host>) -> About {
    let telemetry = TelemetrySettings::default();
    let gpu = open(host, &telemetry.gpu, telemetry.gpu_index, Duration::from_secs(1)).gpu.map(Mutex::new);
    let inventory = inventory(host.as_ref(), gpu.as_ref());
    let addresses = host.ask(&Question::new(["ip", "-json", "address"])).ok().filter(Answer::ok);
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
