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
use super::table;
use super::without_log::{self, Begin, WithoutLog, Written};
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
    let format = taker(&look);
    if let Some((format, begin)) = amid_a_log(&look, format) {
        let mut without = WithoutLog::new(reader, begin);
        let outcome = format.parse(&mut SourceFile::new(path, bytes, &mut without));
        let mut outcome = outcome.map_err(|error| named(error, path, Some(format)));
        if let Ok(parsed) = &mut outcome {
            parsed.notes.extend(without.note());
        }
        return (Some(format), outcome);
    }
    let mut file = SourceFile::new(path, bytes, reader);
    let outcome = match format {
        Some(format) => format.parse(&mut file).map_err(|error| named(error, path, Some(format))),
        None => Err(unknown(&mut file, &look)),
    };
    (format, outcome)
}

fn taker(head: &Head<'_>) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.sniff(head)).copied()
}

/// Largest JSON that is searched for lines of a log behind its first. Nobody prints more on a console.
const PRINTED: u64 = 16 << 20;

/// Formats that describe a model or a machine. A program prints such objects into its log too.
const DESCRIPTIONS: &[&str] = &["model-config", "safetensors-index", "sidecar-meta", "telemetry-json"];

/// The format of a result amid lines of a log, and where it begins. `plain` is the format of the file as it is.
fn amid_a_log(head: &Head<'_>, plain: Option<&'static dyn Format>) -> Option<(&'static dyn Format, Begin)> {
    // Files of ours are written whole, so a strange line in one is damage.
    let foreign = |format: &dyn Format| {
        let tool = format.about().tool;
        !tool.starts_with("sparkbench") && tool != "a person"
    };
    let is_text = |format: &dyn Format| matches!(format.name(), "log" | "kept");
    if let Some(format) = plain.filter(|format| !is_text(*format)) {
        let printed = head.bytes <= PRINTED && foreign(format) && without_log::is_json(head.text);
        return printed.then_some((format, Begin { above: 0, written: Written::Json }));
    }
    // Inside a document there are others, which nobody printed for themselves.
    if plain.is_some_and(|format| format.name() == "kept") || without_log::is_json(head.text) {
        return None;
    }
    without_log::begins(head.text).into_iter().find_map(|(begin, text)| {
        let found = taker(&Head::new(head.name, text, head.bytes)).filter(|format| !is_text(*format))?;
        let taken = match plain {
            None => true,
            // A name alone makes a file a log. With `-v`, llama-bench prints the lines of a server too.
            Some(log) => {
                let by_name = !log.sniff(&Head::new("", head.text, head.bytes));
                let of_llama = found.name().starts_with("llama-b") && !head.text.contains("t/s |");
                foreign(found) && !DESCRIPTIONS.contains(&found.name()) && (by_name || of_llama)
            }
        };
        taken.then_some((found, begin))
    })
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

/// What to do with JSON that no format takes.
const OWN_RESULTS: &str =
    "'sparkbench formats' lists what is read. Results of your own go into a table, as docs/archive.md says";

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
            Ok((keys, hint)) => {
                Error::archive(format!("no known format has the keys of '{path}'")).detail(keys).hint(hint)
            }
            Err(error) => named(error, path, None),
        };
    }
    let first = head.text.split(['\n', '\r']).find(|line| !line.trim().is_empty()).unwrap_or_default();
    Error::archive(format!("no known format looks like '{path}'"))
        .at(Place::Line(1))
        .detail(format!("\"{}\"", excerpt(first.trim())))
        .hint(table::advice(&head.header()))
}

/// The first keys of an object, or of the rows of a list, and what to do.
fn keys(node: &json::Node<'_>) -> (String, String) {
    const SHOWN: usize = 6;
    let root = At::root(node);
    let row = root.items().ok().and_then(|mut items| items.find(|item| item.entries().is_ok()));
    let names: Vec<&str> = row.as_ref().unwrap_or(&root).entries().into_iter().flatten().map(|(key, _)| key).collect();
    let first: Vec<String> = names.iter().take(SHOWN).map(|key| format!("'{}'", excerpt(key))).collect();
    let first = if first.is_empty() { "nothing".to_owned() } else { first.join(", ") };
    match (&row, root.entries()) {
        (Some(_), _) => (format!("it is a list, and its rows start with {first}"), table::advice(&names)),
        (None, Ok(_)) => (format!("it starts with {first}"), OWN_RESULTS.to_owned()),
        (None, Err(_)) => ("it is not an object".to_owned(), OWN_RESULTS.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = r#"{"model_filename": "m.gguf", "model_type": "llama 7B Q4_0", "n_prompt": 0, "n_gen": 64, "avg_ns": 640000000, "avg_ts": 100.5}"#;
    const LOG: &str =
        "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA GB10, compute capability 12.1, VMM: yes\n";

    /// Format, runs, parts left out, notes.
    fn seen(name: &str, text: &str) -> (Option<&'static str>, usize, usize, Vec<String>) {
        let look = read(name, text.len() as u64, text.as_bytes());
        let parsed = look.outcome.unwrap_or_default();
        (look.format, parsed.records.len(), parsed.left_out.len(), parsed.notes)
    }

    #[test]
    fn a_result_amid_lines_of_a_log_is_read_and_the_lines_are_named() {
        let note = |text: &str| vec![text.to_owned()];
        let bench = Some("llama-bench");
        for name in ["run.jsonl", "run.log", "run.txt", "run"] {
            let text = format!("{LOG}{TEST}\n{TEST}\n");
            let expected = note("2 lines of a log are skipped, the first is line 1");
            assert_eq!(seen(name, &text), (bench, 2, 0, expected), "{name}");
        }
        // Between and behind, and one document.
        let text = format!("{TEST}\nmain: next test\n{TEST}\ndone\n");
        let expected = note("2 lines of a log are skipped, the first is line 2");
        assert_eq!(seen("run.jsonl", &text), (bench, 2, 0, expected));
        let text = format!("{LOG}[\n  {TEST},\nmain: next test\n  {TEST}\n]\n\nllama_perf: done\n");
        let expected = note("4 lines of a log are skipped, the first is line 1");
        assert_eq!(seen("run.json", &text), (bench, 2, 0, expected));
        let rows = "model_filename,model_type,n_prompt,n_gen,avg_ns,avg_ts\nm.gguf,x,0,64,640000000,100.5\n";
        let expected = note("3 lines of a log are skipped, the first is line 1");
        assert_eq!(seen("run.csv", &format!("{LOG}{rows}bye\n")), (bench, 1, 0, expected));
        // With `-v` it prints the lines of a server too.
        let text = format!("load_tensors: CUDA0 model buffer size = 1.00 MiB\n{TEST}\n");
        assert_eq!(seen("run.log", &text).0, bench);
    }

    #[test]
    fn a_log_that_holds_other_objects_stays_a_log_and_damage_stays_damage() {
        assert_eq!(seen("a.log", &format!("{LOG}{{\"level\": \"info\"}}\n")).0, Some("log"));
        let text =
            format!("{LOG}{{\"power_w\": 1, \"temperature_c\": 2, \"sm_clock_mhz\": 3, \"utilization_gpu\": 4}}\n");
        assert_eq!(seen("a.log", &text).0, Some("log"));
        let (format, runs, left_out, notes) = seen("a.jsonl", &format!("{TEST}\nx\"n_gen\": 3}}\n"));
        assert_eq!((format, runs, left_out, notes), (Some("llama-bench"), 1, 1, Vec::new()));
        let (format, ..) = seen("a.json", &format!("{{\"mine\": [\n{TEST}\n]}}\n"));
        assert_ne!(format, Some("llama-bench"), "a test inside another document is no file of tests");
    }
}
