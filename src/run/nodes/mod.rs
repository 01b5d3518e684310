//! The machines of a cluster: which there are, and what each is.
//!
//! In:  a hosts file, names, Slurm's or Avahi's word.  Out: [`Node`]s with what they said of themselves.
//! Not here: starting a benchmark on them, drawing.
//!
//! A machine is asked through `ssh`, where `sparkbench node` answers: the inventory that `collect` takes at home, its addresses, and its
//! clock. Nothing is installed or changed there.

pub mod about;
mod ask;
pub mod link;
pub mod list;

pub use self::about::{About, Link};
pub use self::ask::{Asked, ask_all};
pub use self::list::Entry;

use self::about::Offset;

/// A machine of the cluster.
#[derive(Debug, Clone)]
pub struct Node {
    /// As it is listed.
    pub entry: Entry,
    /// What it said; or why it said nothing.
    pub about: Result<About, String>,
    /// How far its wall clock is from ours.
    pub clock: Option<Offset>,
}
