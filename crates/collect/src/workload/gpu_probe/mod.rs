//! `gpu-probe`: matrix products and reads of memory at full speed: the measured roofline of a machine.
//!
//! In:  precisions and sizes.  Out: the plan ([`ProbePlan`]), the method ([`probe`]), the result ([`Report`]).
//! Not here: the driver (see `host::cuda`), the verb (see `cli`).
//!
//! The figures tell a stuck clock from a healthy GPU, and say what share of the machine a model reaches. The meaning of each is in
//! `docs/gpu-probe.md`.

pub(crate) mod kind;
pub(crate) mod known;
pub(crate) mod method;
pub(crate) mod operand;
pub mod plan;
pub(crate) mod report;

pub use kind::GpuProbe;
pub use method::{ProbeContext, probe};
pub use plan::ProbePlan;
pub use report::Report;
