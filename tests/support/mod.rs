//! What several tests share.

pub mod sample_analysis;
pub mod sample_cost;
pub mod sample_course;
pub mod site_check;
