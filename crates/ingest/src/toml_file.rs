//! TOML that a person wrote.
//!
//! In:  a path, bytes or text.  Out: what it says, or the first fault with its line.
//! Not here: what its keys mean (see `labels_file`, `custom` and `facts`).

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::schema::unknown_schema;
use sparkbench_archive::{WHOLE_LIMIT, shown};
use sparkbench_text::error::{Error, Kind, Place};

/// Reads a file that a person wrote and named, as `what`. A fault in what it says is one of usage, and so is a name that leads nowhere. A file
/// that cannot be read ends the program as any other does.
pub(super) fn named<T>(path: &Path, what: &str, parse: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
    let named = |kind: Kind, mut error: Error| {
        error.kind = kind;
        error.what = format!("cannot use '{}' as {what}: {}", shown(path), error.what);
        error
    };
    let closed = |cause: std::io::Error| {
        let kind = if cause.kind() == std::io::ErrorKind::NotFound { Kind::Usage } else { Kind::Archive };
        named(kind, Error::archive("it cannot be opened").hint("check the path and its permissions").because(cause))
    };
    let meta = std::fs::metadata(path).map_err(closed)?;
    // A pipe would be waited for, perhaps for ever.
    if !meta.is_file() {
        let found = if meta.is_dir() { "it is a folder" } else { "it is not a regular file" };
        return Err(named(Kind::Archive, Error::archive(found).hint("name a regular file")));
    }
    if meta.len() > WHOLE_LIMIT {
        return Err(named(Kind::Archive, Error::archive("it is too large").hint("name the file that a person wrote")));
    }
    let bytes = std::fs::read(path).map_err(closed)?;
    let text = utf8(bytes).map_err(|error| named(Kind::Archive, error))?;
    parse(&text).map_err(|error| named(Kind::Usage, error))
}

/// The text of a file in which every letter counts, without a byte order mark.
///
/// # Errors
/// When it is no UTF-8. Replaced letters would make other names of it.
pub(super) fn utf8(bytes: Vec<u8>) -> Result<String, Error> {
    let text = String::from_utf8(bytes).map_err(|cause| {
        Error::archive("it is not UTF-8 text")
            .hint("save it as UTF-8, which editors may call 'UTF-8 without BOM'")
            .because(cause)
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Checks the schema before anything else, so that a file of another time is called that and not full of unknown keys.
pub(super) fn schema(text: &str, known: &str) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Any {
        schema: Option<String>,
    }
    let any: Any = from_toml(text)?;
    match any.schema {
        Some(found) if found == known => Ok(()),
        Some(found) => Err(unknown_schema(&found, &[known])),
        None => Err(Error::archive("a field is missing")
            .at(Place::Field("schema".into()))
            .detail(format!("expected schema = \"{known}\", found nothing"))),
    }
}

/// TOML with the line of what does not fit.
pub(super) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|cause| {
        let line =
            cause.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() as u64 + 1);
        let error = Error::archive("not as expected").detail(cause.message().replace('\n', " "));
        match line {
            Some(line) => error.at(Place::Line(line)),
            None => error,
        }
    })
}
