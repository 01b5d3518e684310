//! One look at one file: its head decides the format, the format reads it, its hash is taken on the way.
//!
//! In:  discovered files.  Out: [`Look`] for each file: its content, or why it was left out.
//! Not here: what the records mean together.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use super::at::At;
use super::belong::{Places, Reader};
use super::figure::excerpt;
use super::load_summary::LoadSummary;
use super::outline::Outline;
use super::{FORMATS, Figure, Format, JoinRole, Parsed, PartialRun, Record, json, long_words, reports};
use sparkbench_archive::given;
use sparkbench_archive::manifest::ReportWire;
use sparkbench_archive::{Discovery, Found, HEAD_BYTES, Hashing, LINE_LIMIT, Lines, WHOLE_LIMIT, shown};
use sparkbench_model::{Origin, Reading, Setup};
use sparkbench_text::error::{Error, Place};

/// Name and first bytes of a file.
#[derive(Debug)]
pub struct Head<'a> {
    /// Last part of the path.
    pub name: &'a str,
    /// First bytes as text, without a byte order mark. Invalid bytes replaced.
    pub text: &'a str,
    /// Size of the whole file. Of a packed one, its packed size.
    pub bytes: u64,
    outline: OnceCell<Option<Outline<'a>>>,
}

/// Longest first line that may be the header of a table: some thousand columns.
const HEADER_BYTES: usize = 64 << 10;

/// Bytes in which a file that is no text shows it.
const TEXT_BYTES: usize = 16 << 10;

impl<'a> Head<'a> {
    /// A head of these parts.
    pub const fn new(name: &'a str, text: &'a str, bytes: u64) -> Self {
        Self { name, text, bytes, outline: OnceCell::new() }
    }

    /// Which keys lie where, when the text opens an object or a list. Made once.
    pub fn outline(&self) -> Option<&Outline<'a>> {
        self.outline.get_or_init(|| Outline::of(self.text)).as_ref()
    }

    /// The outline of a file that is one object, or JSON Lines of objects.
    pub fn object(&self) -> Option<&Outline<'a>> {
        self.outline().filter(|outline| outline.is_map())
    }

    /// The outline of the first item of a file that is a list.
    pub fn list(&self) -> Option<&Outline<'a>> {
        self.outline().filter(|outline| outline.is_list())
    }

    /// True when the head is text: no zero bytes where every format would have some. Further on a log may hold what a program printed by
    /// mistake.
    pub fn is_text(&self) -> bool {
        !self.text.is_empty() && !self.text.bytes().take(TEXT_BYTES).any(|byte| byte == 0)
    }

    /// True when the first character that is no blank opens an object.
    pub fn is_object(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// True when every one of the keys is in the head, in quotes.
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.text.contains(&format!("\"{key}\"")))
    }

    /// Cells of the first line that is no comment and not empty, trimmed and without quotes.
    pub fn header(&self) -> Vec<&str> {
        let first = self.text.get(..HEADER_BYTES).unwrap_or(self.text);
        // The line of a JSON document without line ends is no header. Otherwise every table format would split it again.
        if self.text.len() > HEADER_BYTES && memchr::memchr2(b'\n', b'\r', first.as_bytes()).is_none() {
            return Vec::new();
        }
        let line = self.text.split(['\n', '\r']).find(|line| !line.trim().is_empty() && !line.starts_with('#'));
        line.map_or_else(Vec::new, |line| line.split(',').map(|cell| cell.trim().trim_matches('"')).collect())
    }
}

/// A file as a format reads it: a stream, held whole only on request and only below [`WHOLE_LIMIT`].
pub struct SourceFile<'a> {
    /// Path as the analysis spells it.
    pub path: &'a str,
    /// Size in bytes.
    pub bytes: u64,
    input: &'a mut dyn BufRead,
}

impl<'a> SourceFile<'a> {
    /// A file of this path and size behind a reader.
    pub fn new(path: &'a str, bytes: u64, input: &'a mut dyn BufRead) -> Self {
        Self { path, bytes, input }
    }

    /// Last part of the path, without the ending of a packed file.
    pub fn name(&self) -> &'a str {
        let name = self.path.rsplit_once('/').map_or(self.path, |(_, name)| name);
        name.strip_suffix(".gz").unwrap_or(name)
    }

    /// Some bytes from the beginning, which are still to be read.
    ///
    /// # Errors
    /// Whatever the reader reports.
    pub fn beginning(&mut self) -> Result<&[u8], Error> {
        self.input.fill_buf().map_err(unreadable)
    }

    /// The whole file as it is.
    ///
    /// # Errors
    /// Above the limit, and whatever the reader reports.
    pub fn all_bytes(&mut self) -> Result<Vec<u8>, Error> {
        // Of a packed file this is the packed size, and only a beginning.
        let mut bytes = Vec::with_capacity(usize::try_from(self.bytes.min(WHOLE_LIMIT)).unwrap_or(0) + 1);
        let read = if self.bytes > WHOLE_LIMIT {
            WHOLE_LIMIT + 1
        } else {
            self.input.take(WHOLE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)? as u64
        };
        if read > WHOLE_LIMIT {
            return Err(self.too_large(read));
        }
        Ok(bytes)
    }

    fn too_large(&self, read: u64) -> Error {
        let size = self.bytes.max(read) >> 20;
        Error::archive("the file is too large to be read whole")
            .detail(format!("{size} MiB, and the limit is {} MiB", WHOLE_LIMIT >> 20))
            .hint("split it, or keep one result a file")
    }

    /// The whole file as text, without a byte order mark, invalid bytes replaced by U+FFFD. JSON above the limit comes without its long
    /// words, where that brings it below.
    ///
    /// # Errors
    /// Like [`all_bytes`](Self::all_bytes).
    pub fn text(&mut self) -> Result<String, Error> {
        let large = self.bytes > WHOLE_LIMIT;
        let bytes = if large && matches!(self.beginning()?.trim_ascii_start(), [b'{' | b'[', ..]) {
            let read = long_words::read(&mut *self.input, WHOLE_LIMIT).map_err(unreadable)?;
            read.ok_or_else(|| self.too_large(0))?
        } else {
            self.all_bytes()?
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
        };
        Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        })
    }

    /// The whole file as text, without a byte order mark. For files that a person wrote, in which every letter counts.
    ///
    /// # Errors
    /// Like [`all_bytes`](Self::all_bytes), and when it is no UTF-8.
    pub fn utf8(&mut self) -> Result<String, Error> {
        super::labels::utf8(self.all_bytes()?)
    }

    /// The file line by line, each of at most `limit` bytes.
    pub fn lines(&mut self, limit: usize) -> Lines<&mut dyn BufRead> {
        Lines::new(&mut *self.input, limit)
    }

    /// Where a value is.
    pub fn origin(&self, line: Option<u64>, field: Option<String>, rule: &'static str) -> Origin {
        Origin { file: self.path.to_owned(), line, field, rule }
    }

    /// A reading taken from a JSON value.
    pub fn reading(&self, metric: &str, at: &At<'_>, rule: &'static str) -> Result<Reading, Error> {
        let Figure { value, decimals } = at.figure()?;
        let origin = self.origin(Some(at.node.line.into()), Some(at.pointer()), rule);
        Ok(Reading { metric: metric.to_owned(), value, decimals, origin })
    }
}

/// The error for a read that failed half way.
pub(super) fn unreadable(cause: io::Error) -> Error {
    Error::archive("reading stopped").because(cause)
}

/// Outcome of one file.
#[derive(Debug, Clone)]
pub struct Look {
    /// Format that took it.
    pub format: Option<&'static str>,
    /// Hash, where the file could be read to its end.
    pub sha256: Option<String>,
    /// What it said.
    pub outcome: Result<Parsed, Error>,
}

/// Looks at every file, in parallel. The results are in the order of the files.
pub(super) fn at_all(found: &Discovery, places: &Places) -> Vec<Look> {
    found.files.par_iter().enumerate().map(|(number, file)| at(file, places.reader(number))).collect()
}

/// Looks at one file, by its reader.
pub(super) fn at(found: &Found, reader: &Reader) -> Look {
    let refused = |cause: io::Error| Look {
        format: None,
        sha256: None,
        outcome: Err(Error::archive(format!("cannot open '{}'", found.path))
            .hint("check its permissions")
            .because(cause)),
    };
    match found.open() {
        Ok(file) => {
            let input = BufReader::with_capacity(HEAD_BYTES, file);
            match reader {
                Reader::Sniffed => read(&found.path, found.bytes, input),
                Reader::Run(missing) => {
                    let mut look = read(&found.path, found.bytes, input);
                    if let Ok(parsed) = &mut look.outcome {
                        parsed.left_out.extend(missing.iter().map(|path| {
                            Error::archive(format!("the report '{}' is not there", shown(path.as_ref())))
                                .hint("`sparkbench verify` tells what else is missing")
                        }));
                    }
                    look
                }
                Reader::Named(report) => named_report(&found.path, found.bytes, input, report),
                Reader::Summary(test) => summary(&found.path, found.bytes, input, test.as_deref()),
                Reader::NotAnalysed(word) => kept(input, word),
            }
        }
        Err(cause) => refused(cause),
    }
}

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

/// First bytes of a file packed by gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

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

/// Gives what is in a file, packed by gzip or not, to `read`.
fn unpacked<T>(file: &mut dyn BufRead, read: impl FnOnce(&mut dyn BufRead) -> T) -> T {
    if file.fill_buf().is_ok_and(|start| start.starts_with(GZIP)) {
        read(&mut BufReader::with_capacity(HEAD_BYTES, flate2::bufread::MultiGzDecoder::new(file)))
    } else {
        read(file)
    }
}

/// Gives what is in a discovered file, packed by gzip or not, to `read`.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn opened<T>(found: &Found, read: impl FnOnce(&mut SourceFile<'_>) -> T) -> Result<T, Error> {
    let file = found.open().map_err(|cause| Error::archive(format!("cannot open '{}'", found.path)).because(cause))?;
    let mut input = BufReader::with_capacity(HEAD_BYTES, file);
    Ok(unpacked(&mut input, |text| read(&mut SourceFile::new(&found.path, found.bytes, text))))
}

/// Reads a file by the parser that the run names for it.
fn named_report(path: &str, bytes: u64, input: impl BufRead, report: &ReportWire) -> Look {
    let mut reader = Hashing::new(input);
    let name = reports::find(&report.parser).map(|parser| parser.name());
    let outcome = unpacked(&mut reader, |text| reports::parse(&mut SourceFile::new(path, bytes, text), report));
    let outcome = outcome.map_err(|mut error| {
        error.what = match name {
            Some(name) => format!("cannot read '{path}' as {name}: {}", error.what),
            None => format!("cannot read '{path}': {}", error.what),
        };
        error
    });
    Look { format: name, sha256: reader.finish().ok().map(|(hash, _)| hash), outcome }
}

/// Reads the summary of a load for what its requests beside it cannot say: the gaps between tokens, whose times lie in `chunks.sbc`.
fn summary(path: &str, bytes: u64, input: impl BufRead, test: Option<&str>) -> Look {
    let mut reader = Hashing::new(input);
    let outcome = unpacked(&mut reader, |text| LoadSummary.parse(&mut SourceFile::new(path, bytes, text)));
    let outcome = outcome.map(|mut parsed| {
        for record in &mut parsed.records {
            if let Record::Run(partial) = record {
                // No request holds the requested lengths. Without them no two cells of a matrix can be distinguished.
                let Setup { batch, isl, osl, .. } = partial.setup;
                let share = partial.share.take();
                let gaps = std::mem::take(&mut partial.readings)
                    .into_iter()
                    .filter(|reading| reading.metric.starts_with(GAPS));
                **partial = PartialRun {
                    join_role: JoinRole::Detail,
                    part: test.map(str::to_owned),
                    readings: gaps.collect(),
                    setup: Setup { batch, isl, osl, ..Setup::default() },
                    share,
                    ..PartialRun::default()
                };
            }
        }
        parsed
    });
    let outcome = outcome.map_err(|error| named(error, path, Some(&LoadSummary)));
    Look { format: Some(LoadSummary.name()), sha256: reader.finish().ok().map(|(hash, _)| hash), outcome }
}

/// Beginning of the metrics of gaps.
const GAPS: &str = "itl_ms";

/// Hashes a file and takes nothing from it.
fn kept(input: impl BufRead, word: &str) -> Look {
    let parsed = Parsed { notes: vec![word.to_owned()], ..Parsed::default() };
    match Hashing::new(input).finish() {
        Ok((hash, _)) => {
            Look { format: Some(super::not_analysed::NotAnalysed.name()), sha256: Some(hash), outcome: Ok(parsed) }
        }
        Err(cause) => Look { format: None, sha256: None, outcome: Err(unreadable(cause)) },
    }
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
fn named(mut error: Error, path: &str, format: Option<&dyn Format>) -> Error {
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

/// Longest line of a JSON Lines file: one request with the arrival times of some 50,000 tokens.
pub(super) const JSON_LINE_LIMIT: usize = 1 << 20;

/// Reads a log: lines of at most [`LINE_LIMIT`] bytes, as text without terminal escapes.
pub(super) fn each_log_line(file: &mut SourceFile<'_>, mut take: impl FnMut(u64, &str)) -> Result<(), Error> {
    let mut lines = file.lines(LINE_LIMIT);
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        let text = String::from_utf8_lossy(line.bytes);
        if text.contains('\u{1b}') {
            take(line.number, &without_escapes(&text));
        } else {
            take(line.number, &text);
        }
    }
    Ok(())
}

/// Drops `ESC [ ... letter`. Engines colour fragments in the middle of a line.
pub(super) fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(code) => {
                code.find(|c: char| ('@'..='~').contains(&c)).and_then(|end| code.get(end + 1..)).unwrap_or_default()
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_above_the_limit_is_read_without_its_long_words() {
        let text = format!("{{\"a\": 1.50, \"generated_texts\": [\"{}\"]}}", "word ".repeat(100));
        let mut input = text.as_bytes();
        let short = SourceFile::new("r.json", WHOLE_LIMIT + 1, &mut input).text().unwrap();
        assert!(short.starts_with("{\"a\": 1.50") && short.len() < 120 && json::parse(&short).is_ok(), "{short}");
        let mut input = text.as_bytes();
        assert_eq!(SourceFile::new("r.json", text.len() as u64, &mut input).text().unwrap(), text);
        let mut input = "a,b\n".as_bytes();
        assert!(SourceFile::new("r.csv", WHOLE_LIMIT + 1, &mut input).text().is_err());
    }

    #[test]
    fn escapes_go_and_text_stays() {
        assert_eq!(without_escapes("\u{1b}[33;20m[TRT]\u{1b}[0m x\u{1b}[K"), "[TRT] x");
        assert_eq!(without_escapes("plain"), "plain");
        assert_eq!(without_escapes("cut \u{1b}[3"), "cut ");
    }
}
