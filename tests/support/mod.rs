//! What several tests share.

pub mod sample_analysis;
pub mod sample_cost;
pub mod site_check;
