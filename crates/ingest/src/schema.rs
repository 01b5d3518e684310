//! The schema that a file of ours says it has.
//!
//! In:  the root of a document.  Out: nothing, or the error for a file of another time.
//! Not here: the text of any schema.

use super::at::At;
use super::figure::excerpt;
use sparkbench_text::error::{Error, Place};

/// Refuses a schema that is not among those read here.
pub(super) fn check_schema(root: &At<'_>, known: &[&str]) -> Result<(), Error> {
    let schema = root.need("schema")?;
    let found = schema.text()?.unwrap_or_default();
    if known.contains(&found) { Ok(()) } else { Err(unknown_schema(found, known)) }
}

/// The error for a file of another time.
pub(super) fn unknown_schema(found: &str, known: &[&str]) -> Error {
    let known = known.join("', '");
    Error::archive("unknown schema")
        .at(Place::Field("schema".into()))
        .detail(format!("expected '{known}', found \"{}\"", excerpt(found)))
        .hint("a newer version of this program may read it")
}
