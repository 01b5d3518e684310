//! Tests with looks while the runs come in, at the error rate of a single look.
//!
//! In:  values of two arms in blocks, a design that was fixed before the first of them.  Out: boundaries, decisions, intervals, p-values.
//! Not here: words such as "slower", which comparisons belong together (see `verdict`), when a campaign looks (see `run`).
//!
//! Whoever tests again and again and stops at the first p below 0.05 is wrong far more often than in 5 % of cases. A group-sequential design
//! spends the 5 % bit by bit. Each look has a stricter level, and all of them together are wrong in 5 %.
//!
//! Sources: Armitage, McPherson and Rowe, *JRSS A* 132 (1969). Lan and DeMets, *Biometrika* 70 (1983). Jennison and Turnbull, *Group
//! Sequential Methods* (2000). Schuirmann, *J. Pharmacokin. Biopharm.* 15 (1987).

pub(crate) mod boundary;
pub(crate) mod course;
pub(crate) mod design;
pub(crate) mod family;
pub(crate) mod futility;
pub(crate) mod spending;
pub(crate) mod stagewise;
mod walk;

pub use boundary::{Boundary, LOOKS_MAX, Sides};
pub use course::{Call, Look, Pair};
pub use design::{Design, InvalidDesign, Levels};
pub use family::{Course, Known, decide};
pub use spending::Spending;

#[cfg(test)]
mod tests;
