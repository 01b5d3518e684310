//! Judgements: estimates and named thresholds become verdicts, traps and sentences.
//!
//! In:  campaigns, runs and facts as plain values.  Out: [`report::Analysis`], the one structure that pages and `analysis.json` show.
//! Not here: files, frames, drawing, HTML.

pub mod case;
pub mod report;
pub mod trap;
