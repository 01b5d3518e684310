//! Counts the tokens of a text, and makes a text with a given number of tokens.
//!
//! In:  a `tokenizer.json`, a server that counts, a server that reports what it was sent, or nothing.
//! Out: [`Counter`]s, a [`Recipe`] for texts of a wanted length, an [`Audit`] after the load.
//! Not here: the words themselves (see `plan::text`), asking over the network (see `server`).
//!
//! Three ways to know, each better than the next. [`Local`] counts with the model's own `tokenizer.json`. [`Server`] lets the server count,
//! before and after a load. It never asks while the load runs, since that would add load. [`Gauge`] sends a few prompts of known numbers of
//! words and fits a straight line to the reported prompt tokens. The line gives the cost of the template and of a word, and the deviation of
//! the points is kept with it. With [`Words`] nothing is known. A word is taken for a token, since nearly every model has it so. The sent
//! length is then *unknown*, never the number that was asked for.
//!
//! The ISL of a plan is what the server should report, with its template. So a text is shortened by the cost of the template, where a gauge
//! has measured it. Without one the template comes on top and the server reports more than was asked for, which the audit shows.

mod audit;
mod gauge;
mod local;
mod recipe;

pub(crate) use audit::{AuditRow, audit};
pub(crate) use gauge::Gauge;
pub(crate) use local::Local;
pub(crate) use recipe::Recipe;

use sparkbench_text::error::Error;

/// Who counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The model's tokenizer on this machine.
    Local,
    /// The server, asked.
    Server,
    /// The server's usage of a few probes.
    Gauge,
    /// Nobody.
    Unknown,
}

/// Counts tokens of a text, none of them special, without a template.
pub(crate) trait Counter: Send + Sync {
    /// Who counts.
    fn origin(&self) -> Origin;
    /// Tokens of a text. Absent where it cannot tell.
    ///
    /// # Errors
    /// When a counter that can tell could not this time.
    fn count(&self, text: &str) -> Result<Option<u32>, Error>;
    /// The tokens themselves, where it knows them.
    ///
    /// # Errors
    /// As above.
    fn ids(&self, _text: &str) -> Result<Option<Vec<u32>>, Error> {
        Ok(None)
    }
    /// Whether it may be asked while the load runs: it costs the server nothing.
    fn live(&self) -> bool {
        false
    }
}

/// Counts through a closure that asks the server.
pub(crate) struct Server<F>(pub F);

impl<F: Fn(&str) -> Result<u32, Error> + Send + Sync> Counter for Server<F> {
    fn origin(&self) -> Origin {
        Origin::Server
    }

    fn count(&self, text: &str) -> Result<Option<u32>, Error> {
        (self.0)(text).map(Some)
    }
}

/// Knows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Words;

impl Counter for Words {
    fn origin(&self) -> Origin {
        Origin::Unknown
    }

    fn count(&self, _text: &str) -> Result<Option<u32>, Error> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
