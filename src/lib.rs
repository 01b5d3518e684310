//! sparkbench measures how fast language models run on a machine, and says how far the numbers can be believed.
//!
//! A run becomes files, files become tables, tables become estimates, estimates become sentences, sentences become pages.
//! Nothing flows back.
//!
//! ```text
//! archive ─▶ ingest ─▶ frame ─▶ stats ─▶ verdict ─▶ chart ─▶ page
//! ```
//!
//! | room | holds |
//! | --- | --- |
//! | [`cli`] | one file per verb |
//! | [`model`] | the words: runs, metrics, campaigns, facts |
//! | [`archive`] | what lies on disk: discovery, bounded reading, hashing, atomic writing |
//! | [`ingest`] | one pure parser per format: bytes in, runs out |
//! | `frame` | polars: records to frames, group-bys, CSV and Parquet |
//! | [`stats`] | formulas over `&[f64]` |
//! | [`verdict`] | estimates and thresholds to judgements, traps and sentences |
//! | `chart` | plotters: values to SVG |
//! | `page` | askama: judgements and charts to a site |
//!
//! The walls between the rooms are tested in `tests/walls.rs`.

pub mod archive;
#[cfg(feature = "chart")]
pub mod chart;
pub mod cli;
pub mod error;
#[cfg(feature = "analyse")]
pub mod frame;
pub mod ingest;
pub mod model;
#[cfg(feature = "page")]
pub mod page;
pub mod stats;
pub mod verdict;
