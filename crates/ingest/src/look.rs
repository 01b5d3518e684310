//! One look at one file: its head decides the format, the format reads it, its hash is taken on the way.
//!
//! In:  a file.  Out: [`Look`]: its content, or why it was left out.
//! Not here: files whose reader is known before (see `discovered`), what the records mean together.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use super::at::At;
use super::figure::excerpt;
use super::format::{Format, Look, Parsed};
use super::formats::FORMATS;
use super::json;
use super::source_file::{GZIP, Head, SourceFile, unreadable};
use sparkbench_archive::{HEAD_BYTES, Hashing, WHOLE_LIMIT, given, shown};
use sparkbench_text::error::{Error, Place};

/// Reads one file from any reader. The first [`HEAD_BYTES`] decide who reads it. A file packed by gzip is read as what is in it. Its hash
/// is that of the packed bytes.
pub fn read(path: &str, bytes: u64, mut input: impl BufRead) -> Look {
    let head = match head_of(&mut input) {
        Ok(head) => head,
        Err(cause) => return Look { format: None, sha256: None, outcome: Err(named(unreadable(cause), path, None)) },
    };
    let mut reader = Hashing::new(io::Cursor::new(&head).chain(input));
    let (format, outcome) = if head.starts_with(GZIP) {
        let mut unpacked = BufReader::with_capacity(HEAD_BYTES, flate2::bufread::MultiGzDecoder::new(&mut reader));
        match head_of(&mut unpacked) {
            Ok(inner) => by_format(path, bytes, &inner, &mut io::Cursor::new(&inner).chain(unpacked)),
            Err(cause) => (None, Err(named(unreadable(cause), path, None))),
        }
    } else {
        by_format(path, bytes, &head, &mut reader)
    };
    // A file too large for its format is not read to its end only to be hashed.
    let sha256 =
        if outcome.is_err() && bytes > WHOLE_LIMIT { None } else { reader.finish().ok().map(|(hash, _)| hash) };
    Look { format: format.map(Format::name), sha256, outcome }
}

/// A reader may hand out its bytes in small parts, so the head is collected. The caller puts it back in front.
fn head_of(input: &mut (impl BufRead + ?Sized)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Asks the formats in their order, and has the file read by the first that takes it.
fn by_format(
    path: &str,
    bytes: u64,
    head: &[u8],
    reader: &mut dyn BufRead,
) -> (Option<&'static dyn Format>, Result<Parsed, Error>) {
    let text = String::from_utf8_lossy(head);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let look = Head::new(name.strip_suffix(".gz").unwrap_or(name), text, bytes);
    let format = FORMATS.iter().find(|format| format.sniff(&look)).copied();
    let mut file = SourceFile::new(path, bytes, reader);
    let outcome = match format {
        Some(format) => format.parse(&mut file).map_err(|error| named(error, path, Some(format))),
        None => Err(unknown(&mut file, &look)),
    };
    (format, outcome)
}

/// Reads a file by the format that its look says, for a parser that was named.
pub(super) fn sniffed(file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
    let (path, bytes) = (file.path, file.bytes);
    let head = head_of(&mut *file.input).map_err(unreadable)?;
    by_format(path, bytes, &head, &mut io::Cursor::new(&head).chain(&mut *file.input)).1
}

/// Reads one file of this machine as [`all`](super::all) would, for anyone who wants to see what is taken from it. A pipe that a shell
/// hands over is held whole.
///
/// # Errors
/// When it cannot be opened, is no regular file, or is a pipe that gives more than [`WHOLE_LIMIT`].
pub fn inspect(path: &Path) -> Result<Look, Error> {
    let named = shown(path);
    let hint = match path == Path::new("-") {
        true => "give /dev/stdin to read standard input",
        false => "name a file that can be read",
    };
    let cannot = |cause: io::Error| Error::archive(format!("cannot open '{named}'")).hint(hint).because(cause);
    given::refuse_endless(path)?;
    let file = File::open(path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if meta.is_dir() {
        return Err(Error::usage(format!("'{named}' is a folder"))
            .hint("name one file, or give the folder to `sparkbench analyse`"));
    }
    if meta.is_file() {
        return Ok(read(&named, meta.len(), BufReader::with_capacity(HEAD_BYTES, file)));
    }
    // A pipe does not tell its size, and its writer may go on for ever.
    let mut bytes = Vec::new();
    file.take(WHOLE_LIMIT + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > WHOLE_LIMIT {
        return Err(Error::archive(format!("'{named}' gives more than {} MiB", WHOLE_LIMIT >> 20)).hint(given::REMEDY));
    }
    Ok(read(&named, bytes.len() as u64, bytes.as_slice()))
}

/// Puts the file's name and the format's in front of what went wrong.
pub(super) fn named(mut error: Error, path: &str, format: Option<&dyn Format>) -> Error {
    error.what = match format {
        Some(format) => format!("cannot read '{path}' as {}: {}", format.name(), error.what),
        None => format!("cannot read '{path}': {}", error.what),
    };
    error
}

/// Why no format took the file, as exactly as it can be said.
fn unknown(file: &mut SourceFile<'_>, head: &Head<'_>) -> Error {
    let path = file.path;
    if head.bytes == 0 || head.text.is_empty() {
        return Error::archive(format!("'{path}' is empty")).hint("the program that wrote it may have stopped early");
    }
    if head.text.contains('\0') {
        return Error::archive(format!("'{path}' is not text"))
            .detail("it holds zero bytes in its first lines")
            .hint("give a file in JSON, CSV or TOML, or a log");
    }
    if head.name.ends_with(".json") || head.is_object() {
        return match file.text().and_then(|text| json::parse(&text).map(|node| keys(&node))) {
            Ok(keys) => Error::archive(format!("no known format has the keys of '{path}'")).detail(keys).hint(
                "'sparkbench formats' lists what is read. Results of your own go into a table, as docs/archive.md says",
            ),
            Err(error) => named(error, path, None),
        };
    }
    let first = head.text.split(['\n', '\r']).find(|line| !line.trim().is_empty()).unwrap_or_default();
    Error::archive(format!("no known format looks like '{path}'"))
        .at(Place::Line(1))
        .detail(format!("\"{}\"", excerpt(first.trim())))
        .hint("a table of runs has a header with 'environment', 'model' and metric names")
}

fn keys(node: &json::Node<'_>) -> String {
    const SHOWN: usize = 6;
    let root = At::root(node);
    match root.entries() {
        Ok(entries) => {
            let names: Vec<String> = entries.take(SHOWN).map(|(key, _)| format!("'{}'", excerpt(key))).collect();
            format!("it starts with {}", if names.is_empty() { "nothing".to_owned() } else { names.join(", ") })
        }
        Err(_) => "it is not an object".to_owned(),
    }
}
