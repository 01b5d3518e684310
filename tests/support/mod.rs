//! What several tests share. Every test program has all of it and uses its part.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod advice;
pub mod again;
#[cfg(feature = "page")]
pub mod drawing;
pub mod echo;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub mod environment;
pub mod files;
pub mod folder;
pub mod fuzzed;
pub mod limit;
pub mod loads;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub mod machine;
pub mod needs;
pub mod program;
pub mod prose;
pub mod real_server;
pub mod report;
#[cfg(unix)]
pub mod roots;
#[cfg(feature = "page")]
pub mod sample_analysis;
#[cfg(feature = "page")]
pub mod sample_cost;
#[cfg(feature = "page")]
pub mod sample_course;
pub mod site_check;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub mod tree;
pub mod unzip;
pub mod wait;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub mod wire;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub mod workload;
