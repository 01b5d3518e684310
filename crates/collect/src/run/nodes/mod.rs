//! The machines of a cluster, and a description of each.
//!
//! In:  a hosts file, names, output of Slurm or Avahi.  Out: [`Node`]s with their own descriptions.
//! Not here: starting a benchmark on them, drawing.
//!
//! A machine is asked through `ssh`, where `sparkbench node` answers: the inventory that `collect` takes at home, its addresses, and its
//! clock. Nothing is installed or changed there.

pub mod about;
mod ask;
pub mod here;
pub mod link;
pub mod list;
pub mod nccl;
pub mod source;

pub use self::about::{About, Link};
pub use self::ask::{Asked, ask_all};
pub use self::list::Entry;

use self::about::Offset;

/// A machine of the cluster.
#[derive(Debug, Clone)]
pub struct Node {
    /// As it is listed.
    pub entry: Entry,
    /// Its answer, or why there is none.
    pub about: Result<About, String>,
    /// How far its wall clock is from ours.
    pub clock: Option<Offset>,
}
