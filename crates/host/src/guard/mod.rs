//! Programs whose whole tree is ended, even when the collector dies.
//!
//! In:  a [`Job`](super::Job).  Out: [`launch`] for the collector, [`serve`] and [`enter`], the two hidden processes behind it, and
//! [`end_marked`] for what a crash left.
//! Not here: what is run, and when it is ended.
//!
//! ```text
//! collector ──orders──▶ guard ──the job──▶ stage ══becomes══▶ the program ──▶ its children
//!           ◀──news───        ◀──steps──
//! ```
//!
//! All three are this executable. The connection for orders is the life line: when it closes, the collector has died. Then the guard ends
//! the tree, runs what has to run afterwards, and exits. The other way round, the collector ends the tree of a guard that is gone or says
//! nothing any more. See `docs/design/0010-the-guard.md` and `docs/design/0022-a-guard-that-is-lost.md`.

mod cgroup;
mod ending;
mod enter;
mod launch;
mod lost;
mod messages;
pub(super) mod paths;
mod pump;
mod root;
mod serve;
mod sweep;

pub use enter::enter;
pub use launch::launch;
pub use serve::serve;
pub use sweep::end_marked;
