//! Archives as they are written, broken, taken up again and verified.

mod archive_opens;
mod damage;
mod lost;
mod maker;
mod masks;
mod masks_lines;
mod names;
mod recorded;
// Its other half is for verbs that judge data.
mod steps;
mod trouble;
mod verb;
