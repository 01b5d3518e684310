//! Archives as they are written, broken, taken up again and verified.

mod damage;
mod lost;
mod maker;
mod masks;
mod names;
mod recorded;
// Its other half is for verbs that judge data.
mod steps;
mod trouble;
mod verb;
