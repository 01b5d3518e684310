//! What several tests share.

pub mod sample_analysis;
pub mod site_check;
