//! Events one after the other: those like earlier ones by their shape, the others by parsing.
//!
//! In:  the data of events.  Out: a [`Delta`] for each.
//! Not here: what an event means (see [`super::delta`]), what a shape is (see [`super::shape`]).

use super::delta::Delta;
use super::fault::Fault;
use super::parse::parse;
use super::shape::Shapes;

/// Reader of events, of one answer or of many. Events alike those before are read without parsing (see `super::shape`).
#[derive(Debug, Default)]
pub struct Deltas {
    shapes: Shapes,
}

impl Deltas {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the data of one event. Empty data has no content.
    ///
    /// Earlier events make it fast and never change the result.
    pub fn read<'a>(&mut self, data: &'a [u8]) -> Result<Delta<'a>, Fault> {
        if let Some(delta) = self.shapes.read(data) {
            return Ok(delta);
        }
        let mut notes = None;
        let delta = parse(data, &mut notes)?;
        if let Some(notes) = notes {
            self.shapes.learn(data, &notes, &delta);
        }
        Ok(delta)
    }

    /// The same without remembering or using anything: what [`Deltas::read`] must give, at its full price.
    #[allow(dead_code, reason = "for tests and fuzzing, which hold the fast way against it")]
    pub fn read_anew(data: &[u8]) -> Result<Delta<'_>, Fault> {
        parse(data, &mut None)
    }
}
