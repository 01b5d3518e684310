//! Provenance of the machine: everything a reader of the numbers may ask for later, recorded once.
//!
//! In:  a host, a GPU where there is one.  Out: a tree of values for `campaign.json`, each absent one with its reason, and changes between
//! two such trees.
//! Not here: environments and workloads (they describe themselves), masking of names (see `archive`).
//!
//! Two levels, `group.key`. Reasons are beside the groups under `absent`, by the same names. No serial number, hardware address or host name
//! is read. The UUID of a GPU is replaced by a hash of it.

mod changes;
mod gpu;
mod machine;
mod memory;
mod place;
mod processor;
mod sheet;
mod software;
#[cfg(test)]
mod tests;
mod weights;

use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::Value;

pub use self::changes::changes;
pub use self::gpu::{Unified, unified};
pub use self::place::file_systems;
use self::sheet::Sheet;
use sparkbench_host::Host;
use sparkbench_host::gpu::Gpu;

/// Takes the inventory. It never fails as a whole.
pub fn inventory(host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>) -> Value {
    inventory_with(host, gpu, &[])
}

/// The inventory, with the file systems that hold these paths (models, the suite), and what lies in those that hold a model.
pub fn inventory_with(host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>, paths: &[PathBuf]) -> Value {
    let mut sheet = Sheet::default();
    let name = gpu::read(host, gpu, &mut sheet);
    machine::read(host, name.as_deref(), &mut sheet);
    processor::read(host, &mut sheet);
    memory::read(host, &mut sheet);
    software::read(host, &mut sheet);
    place::read(host, paths, &mut sheet);
    weights::read(host, paths, &mut sheet);
    sheet.finish()
}
