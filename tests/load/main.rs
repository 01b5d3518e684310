//! Loading a server: the verb, the wire, several clients, machines of a cluster.

#[path = "../support/mod.rs"]
mod support;

mod calibrate;
mod chunks;
mod cluster;
mod ranks;
mod resume;
mod secrets;
mod servers;
mod verb;
mod wire_corpus;
mod wire_property;
