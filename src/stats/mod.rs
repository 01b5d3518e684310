//! Statistics over `&[f64]`.

pub mod bootstrap;
pub mod hierarchical;
pub mod overhead;
pub mod permutation;
pub mod random;
pub mod rank;
pub mod sample;
