//! The house itself: its walls, its words, and what the program says of itself.

#[path = "../support/mod.rs"]
mod support;

mod dependencies;
mod options;
mod prose;
mod readme;
mod shell;
mod stages;
mod terminal;
mod unsafe_code;
mod walls;
mod workflows;
