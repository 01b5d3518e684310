//! Reads a journal and checks every line against its chain.
//!
//! In:  bytes.  Out: [`Journal`], the entries that fit, and the bytes after them.
//! Not here: writing.

use std::io::{self, Read as _};
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Entry, Event, Moment};
use crate::disk::open_plain;
use crate::manifest::JOURNAL_FILE;
use crate::read::{WHOLE_LIMIT, hash, hex};
use sparkbench_model::Instant;

/// Text between the line and its hash.
const MARK: &[u8] = b",\"chain\":\"";
/// Text after the hash.
const END: &[u8] = b"\"}";
/// Text that every line begins with.
const START: &[u8] = b"{\"seq\":";
/// Length of a SHA-256 in hexadecimal.
const HEX: usize = 64;

/// A journal as far as it fits.
#[derive(Debug, Clone)]
pub struct Journal {
    /// Every line that fits its chain, in order.
    pub entries: Vec<Entry>,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the whole file.
    pub sha256: String,
    /// Bytes after the last line that fits.
    pub tail: Tail,
    /// The tail as torn bytes, where it is damaged. So the next line closes it when its loss is accepted.
    pub(super) given_up: Option<Tail>,
    /// State of the hash over the whole file.
    pub(super) digest: Sha256,
}

/// Bytes after the last line that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: the file ends with a line end.
    Whole,
    /// The last line fits, and only its line end is missing.
    Unended,
    /// Bytes that a crash or a full disk left of a line.
    Torn {
        /// Line of the file, from 1.
        line: u64,
        /// How many, a closing line end not counted.
        bytes: u64,
        /// Their SHA-256.
        sha256: String,
        /// Whether a line end closes them.
        ended: bool,
    },
    /// A line does not fit, and no crash left it so: it was changed after it had been written, or somebody else wrote it.
    Damaged {
        /// Line of the file, from 1.
        line: u64,
        /// Parts that do not fit.
        why: String,
    },
}

/// Reads the journal of an archive.
///
/// # Errors
/// When the file cannot be read, is no plain file (`InvalidData`) or is absurdly large.
pub fn read(folder: &Path) -> io::Result<Journal> {
    let mut bytes = Vec::new();
    open_plain(&folder.join(JOURNAL_FILE))?.take(WHOLE_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > WHOLE_LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than any journal of sparkbench"));
    }
    Ok(scan(&bytes))
}

/// Holds every line of a journal against its chain.
pub fn scan(bytes: &[u8]) -> Journal {
    let mut digest = Sha256::new();
    let mut entries: Vec<Entry> = Vec::new();
    // Where bytes begin that fit no chain, and on which line.
    let mut torn: Option<(usize, u64)> = None;
    let (mut at, mut number, mut ended) = (0, 0, true);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        number += 1;
        let length = rest.iter().position(|byte| *byte == b'\n');
        ended = length.is_some();
        let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or(rest);
        let next = entries.last().map_or(1, |entry| entry.seq + 1);
        let entry = fits(&digest, line).then(|| entry(line, number)).flatten().filter(|entry| entry.seq == next);
        match (entry, torn) {
            (Some(entry), None) => entries.push(entry),
            (Some(entry), Some((from, _))) if heals(&entry, bytes.get(from..at.saturating_sub(1))) => {
                entries.push(entry);
                torn = None;
            }
            (_, None) => torn = Some((at, number)),
            (_, Some(_)) => {}
        }
        let used = line.len() + usize::from(ended);
        digest.update(rest.get(..used).unwrap_or(rest));
        at += used;
    }
    let tail = match torn {
        None if ended => Tail::Whole,
        None => Tail::Unended,
        Some((from, line)) => tail(bytes.get(from..).unwrap_or_default(), line),
    };
    let given_up = match (&tail, torn) {
        (Tail::Damaged { .. }, Some((from, line))) => Some(as_torn(bytes.get(from..).unwrap_or_default(), line)),
        _ => None,
    };
    let sha256 = hex(&digest.clone().finalize());
    Journal { entries, bytes: bytes.len() as u64, sha256, tail, given_up, digest }
}

/// Whether the bytes before a line are those that it says it recovered from.
fn heals(entry: &Entry, torn: Option<&[u8]>) -> bool {
    match (&entry.event, torn) {
        (Some(Event::Recovered { torn_bytes, torn_sha256 }), Some(torn)) => {
            *torn_bytes == torn.len() as u64 && *torn_sha256 == hash(torn)
        }
        _ => false,
    }
}

/// A beginning of a JSON object is never an object. So a whole object among lines that do not fit was whole once, and was changed. What is
/// not the beginning of a line of ours was never begun by us.
fn tail(region: &[u8], line: u64) -> Tail {
    for (number, text) in (line..).zip(region.split(|byte| *byte == b'\n')) {
        if is_whole(text) {
            let why = if number == line {
                "it does not match its chain: this line or an earlier one was changed, added or removed".to_owned()
            } else {
                format!("it is not a line of a journal, but the later line {number} is complete")
            };
            return Tail::Damaged { line, why };
        }
    }
    let body = region.strip_suffix(b"\n").unwrap_or(region);
    if body.is_empty() {
        return Tail::Damaged { line, why: "an empty line was added".to_owned() };
    }
    match (line..).zip(body.split(|byte| *byte == b'\n')).find(|(_, text)| !is_beginning(text)) {
        Some((line, _)) => {
            Tail::Damaged { line, why: "it is not a line of this journal. Something else wrote it".to_owned() }
        }
        None => as_torn(region, line),
    }
}

/// Bytes that fit nothing, as the line after them will name them.
fn as_torn(region: &[u8], line: u64) -> Tail {
    let ended = region.last() == Some(&b'\n');
    let torn = region.get(..region.len() - usize::from(ended)).unwrap_or_default();
    Tail::Torn { line, bytes: torn.len() as u64, sha256: hash(torn), ended }
}

/// Whether a line was written to its end once: it is an object, or it still ends in a chain.
fn is_whole(line: &[u8]) -> bool {
    let chain = || {
        let mark = line.len().checked_sub(MARK.len() + HEX + END.len())?;
        line.get(mark..)?.strip_prefix(MARK)?.strip_suffix(END)
    };
    chain().is_some() || serde_json::from_slice::<Value>(line).is_ok_and(|value| value.is_object())
}

/// Whether a crash can have left this of a line: its beginning, then zeros where the file had grown and its bytes had not come to the disk.
fn is_beginning(line: &[u8]) -> bool {
    let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let text = line.get(..end).unwrap_or(line);
    text.starts_with(START) || START.starts_with(text)
}

/// Whether a line, without its end, carries the chain that belongs to the bytes before it.
fn fits(before: &Sha256, line: &[u8]) -> bool {
    let Some(mark) = line.len().checked_sub(MARK.len() + HEX + END.len()) else { return false };
    let (head, chain) = line.split_at(mark);
    let expected = hex(&before.clone().chain_update(head).finalize());
    chain.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(END)) == Some(expected.as_bytes())
}

fn entry(line: &[u8], number: u64) -> Option<Entry> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Entry {
        line: number,
        seq: value.get("seq")?.as_u64()?,
        utc: text("utc").as_deref().and_then(Instant::parse),
        monotonic_s: value.get("monotonic_s").and_then(Value::as_f64),
        name: text("event")?,
        event: serde_json::from_value(value).ok(),
    })
}

/// A JSON object as a line that carries the chain for the bytes before it. With its end.
pub(crate) fn chained(before: &Sha256, object: &[u8]) -> Vec<u8> {
    let head = object.strip_suffix(b"}").unwrap_or(object);
    let chain = hex(&before.clone().chain_update(head).finalize());
    [head, MARK, chain.as_bytes(), END, b"\n"].concat()
}

/// The object of an entry, without its chain.
pub(super) fn object(seq: u64, now: Moment, event: &Event) -> serde_json::Result<Vec<u8>> {
    #[derive(serde::Serialize)]
    struct Line<'a> {
        seq: u64,
        utc: Instant,
        monotonic_s: f64,
        #[serde(flatten)]
        event: &'a Event,
    }
    // A microsecond is finer than anything that is concluded from it.
    let monotonic_s = (now.monotonic_s * 1e6).round() / 1e6;
    serde_json::to_vec(&Line { seq, utc: now.utc, monotonic_s, event })
}
/// Whether a file of one line is whole and fits the bytes before it.
pub(crate) fn is_chained(before: &Journal, file: &[u8]) -> bool {
    file.strip_suffix(b"\n").is_some_and(|line| !line.contains(&b'\n') && fits(&before.digest, line))
}
