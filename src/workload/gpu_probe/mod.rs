//! `gpu-probe`: matrix products and reads of memory at full speed: the measured roofline of a machine.
//!
//! In:  precisions and sizes.  Out: what is measured ([`Wish`]), how ([`probe`]), what was found ([`Report`]).
//! Not here: the driver (see `host::cuda`), the verb (see `cli`).
//!
//! The figures tell a stuck clock from a healthy GPU, and say what share of the machine a model reaches. What each one means stands in
//! `docs/gpu-probe.md`.

pub mod kind;
pub mod known;
pub mod method;
pub mod operand;
pub mod report;
pub mod wish;

pub use kind::GpuProbe;
pub use method::{Around, probe};
pub use report::Report;
pub use wish::Wish;
