//! The form of every named parser.
//!
//! In:  nothing.  Out: [`Parser`].
//! Not here: any one parser, and which there are (see the module above).

use std::collections::BTreeMap;

use crate::{Parsed, SourceFile};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_text::error::Error;

/// Takes figures from a file that was named.
pub trait Parser: Sync {
    /// Name in suites and in `run.json`.
    fn name(&self) -> &'static str;
    /// Checks what a suite gives beside the name. The words of what is wrong and what to do.
    ///
    /// # Errors
    /// When the table of patterns does not fit this parser.
    fn accepts(&self, patterns: &BTreeMap<String, String>) -> Result<(), (String, String)> {
        if patterns.is_empty() {
            return Ok(());
        }
        Err((
            format!("the parser {} takes no patterns", self.name()),
            "use parser = \"pattern\", or leave them out".to_owned(),
        ))
    }
    /// The whole file in, records out. Pure: the same bytes and the same entry always give the same records.
    ///
    /// # Errors
    /// When nothing of the file can be used.
    fn parse(&self, file: &mut SourceFile<'_>, report: &ReportWire) -> Result<Parsed, Error>;
}
