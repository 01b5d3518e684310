//! Statistics and what is said of them: known answers, references, properties, traps, the verb `stats`.

#[path = "../support/mod.rs"]
mod support;

mod bootstrap_coverage;
mod bootstrap_reference;
mod stats_known;
mod stats_properties;
mod stats_reference;
mod stats_verb;
mod traps;
