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
//! the tree, runs what has to run afterwards, and exits. See `docs/design/0010-the-guard.md`.

mod cgroup;
mod ending;
mod enter;
mod launch;
mod pump;
mod root;
mod serve;
mod sweep;
mod words;

pub use enter::enter;
pub use launch::launch;
pub use serve::serve;
pub use sweep::end_marked;
