//! Every shape of answer, and what a correct client must report of it.
//!
//! In:  a name.  Out: a [`Shape`]: one sentence, a [`Form`] that the server follows, an [`Expect`] that tests of a client walk.
//! Not here: bytes (see `job`), sockets (see `server`).
//!
//! Most of them reproduce faults of measuring clients. A role-only chunk is taken for the first token, or events are split on LF LF alone.
//! Comments are fed to a JSON reader, or an error object counts as a success. Adding one is one entry of [`SHAPES`], unless it does what
//! none does yet.

mod form;
mod list;

pub use form::{CUT_NS, Cut, Ending, Extras, Form, Framing, HEAD_LINE_NS, IDLE_NS, Pieces, ROLE_NS, Reply, When};
pub use list::SHAPES;

/// Report of a correct client on a shape, for a streamed request that asks for usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// Status word of the record (`ok`, `empty`, `stream-broken`, …).
    pub status: &'static str,
    /// How much of the answer's tokens arrive in the stream.
    pub tokens: Portion,
    /// Whether usage arrives.
    pub usage: bool,
    /// Whether `[DONE]` arrives.
    pub done: bool,
    /// Code of the status line. Absent where there is none.
    pub http: Option<u16>,
}

/// Part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// Every token.
    All,
    /// Those before the fault: `Settings::after`, else half of the answer, at least one.
    BeforeFault,
    /// None.
    Nothing,
}

impl Portion {
    /// Word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::BeforeFault => "before the fault",
            Self::Nothing => "none",
        }
    }
}

/// A name and what is behind it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Word on the command line, in `x-mock-shape`, in the body.
    pub name: &'static str,
    /// Its special property, in one sentence.
    pub what: &'static str,
    /// Report of a correct client.
    pub expect: Expect,
    /// How it is made.
    pub form: Form,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The shape without anything special.
pub fn plain() -> &'static Shape {
    &SHAPES[0]
}

/// The shape of a name.
pub fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

/// All of them as a table for people.
pub fn table() -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for Shape { name, what, expect, .. } in SHAPES {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let http = expect.http.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let _ = writeln!(
            text,
            "{name}\n    {what}\n    right: status {}, tokens {}, usage {}, [DONE] {}, HTTP {http}",
            expect.status,
            expect.tokens.word(),
            yes(expect.usage),
            yes(expect.done),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_a_name_of_its_own_and_a_sentence() {
        for (place, shape) in SHAPES.iter().enumerate() {
            assert!(SHAPES[..place].iter().all(|other| other.name != shape.name), "{} twice", shape.name);
            assert!(shape.what.ends_with('.'), "{}", shape.name);
            assert_eq!(find(shape.name), Some(shape));
            assert!(table().contains(shape.what));
        }
        assert_eq!(plain().name, "plain");
        assert_eq!(find("no such shape"), None);
    }
}
