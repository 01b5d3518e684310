//! Archives as they are written, broken, taken up again and verified.

mod damage;
#[path = "../support/folder.rs"]
mod folder;
mod maker;
mod masks;
// Its other half is for verbs that judge data.
#[allow(dead_code)]
#[path = "../support/program.rs"]
mod program;
mod steps;
mod trouble;
mod verb;
