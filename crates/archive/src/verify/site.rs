//! A site against its own list of hashes, and against what it was made from.
//!
//! In:  the folder, the folders or files of the analysis.  Out: flaws.
//! Not here: whether the pages agree with the analysis.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::expected::Expected;
use super::findings::{Kind, Mismatch, Progressed, Remedy, SUMS, State, Verified};
use crate::{Discovery, FileName, Found, discover, disk, shown};
use sparkbench_text::error::Error;

const ANALYSIS: &str = "data/analysis.json";
/// Files of others that a note names. The rest is counted.
const NAMED: usize = 3;
/// Length of a SHA-256 in hexadecimal.
const HEX: usize = 64;

/// Verifies a site.
pub(super) fn verify(folder: &Path, made_from: &[PathBuf], progressed: Progressed<'_>) -> Result<Verified, Error> {
    let listed = |cause| Error::archive(format!("cannot list '{}'", shown(folder))).because(cause);
    let mut verified = Verified { state: State::Site, ..Verified::default() };
    let mut expected = Expected::default();
    expected.checked(SUMS);
    match disk::read_plain(&folder.join(SUMS)) {
        Ok(list) => sums(&list, &mut expected, &mut verified),
        // What is missing, or is a pipe or another thing in its place, is named with the other files.
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {}
        Err(cause) => verified.flaws.push(Mismatch::new(SUMS, Kind::Unreadable, cause.to_string())),
    }
    let (tree, others) = expected.part(disk::whole_tree(folder).map_err(listed)?);
    let extra = |_: &FileName| (format!("{SUMS} does not list it"), Remedy::Remove);
    expected.hold(folder, &tree, &extra, &mut verified, progressed);
    verified.notes.extend(of_others(&others));
    if !made_from.is_empty() {
        inputs(folder, &discover(made_from)?, &mut verified);
    }
    Ok(verified)
}

/// What people keep in the folder of a site, such as `CNAME`, is no flaw: `analyse` leaves it where it is. Nothing vouches for it either.
fn of_others(names: &[FileName]) -> Option<String> {
    let more = names.len().saturating_sub(NAMED);
    let named: Vec<String> = names.iter().take(NAMED).map(ToString::to_string).collect();
    let (files, were) = if names.len() == 1 { ("file", "was") } else { ("files", "were") };
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty())
        .then(|| format!("{} {files} not listed in {SUMS} {were} not checked: {}{more}", names.len(), named.join(", ")))
}

/// Every line of the list. The list itself must be as it was written, sorted and without anything between.
fn sums(list: &[u8], expected: &mut Expected, verified: &mut Verified) {
    verified.files += 1;
    verified.bytes += list.len() as u64;
    let mut before: Option<FileName> = None;
    for (number, line) in (1u64..).zip(list.split_inclusive(|byte| *byte == b'\n')) {
        let parsed = line.strip_suffix(b"\n").and_then(entry).filter(|(sha256, path)| {
            is_sha256(sha256) && path.is_below() && before.as_ref().is_none_or(|before| before < path)
        });
        match parsed {
            Some((sha256, path)) => {
                expected.file(&path, sha256);
                before = Some(path);
            }
            None => verified.flaws.push(Mismatch::new(
                SUMS,
                Kind::Changed,
                format!("line {number} is not a hash, two blanks and a path below the site, in sorted order"),
            )),
        }
    }
    if before.is_none() {
        verified.flaws.push(Mismatch::new(SUMS, Kind::Changed, "it lists nothing"));
    }
}

/// Hash and path of a line as `sha256sum` writes it. A line begins with a backslash where its path has backslashes or ends of lines, which
/// are then escaped.
fn entry(line: &[u8]) -> Option<(&str, FileName)> {
    let (escaped, line) = line.strip_prefix(b"\\").map_or((false, line), |line| (true, line));
    let (sha256, path) = line.split_at_checked(HEX)?;
    let path = path.strip_prefix(b"  ")?;
    let path = if escaped { unescaped(path)? } else { path.to_vec() };
    Some((std::str::from_utf8(sha256).ok()?, FileName::new(path)))
}

fn unescaped(path: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        out.push(match rest.next()? {
            b'\\' => b'\\',
            b'n' => b'\n',
            b'r' => b'\r',
            _ => return None,
        });
    }
    Some(out)
}

fn is_sha256(text: &str) -> bool {
    text.len() == HEX && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The files that the analysis names against those that are there now.
fn inputs(folder: &Path, found: &Discovery, verified: &mut Verified) {
    let read =
        disk::read_plain(&folder.join(ANALYSIS)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(inputs) = read.as_ref().and_then(|analysis| analysis.get("inputs")).and_then(Value::as_array) else {
        verified.flaws.push(Mismatch::new(
            ANALYSIS,
            Kind::Unreadable,
            "it does not list the files that it was made from",
        ));
        return;
    };
    let mut named = BTreeSet::new();
    // A path that was scrubbed for the site is not the one on disk. The hash still is.
    let mut by_hash = Unnamed::of(inputs, found);
    for input in inputs {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (path, sha256) = (text("path"), text("sha256"));
        named.insert(path);
        // Links and what could not be opened have no hash.
        if !is_sha256(sha256) {
            continue;
        }
        let Some(file) = found.get(path).or_else(|| by_hash.take(sha256)) else {
            verified.flaws.push(Mismatch::new(path, Kind::Missing, "the site was made from it, but it is missing"));
            continue;
        };
        match disk::sha256_of(&file.disk) {
            Ok((now, bytes)) => {
                verified.files += 1;
                verified.bytes += bytes;
                if now != sha256 {
                    let what = format!("the site was made from SHA-256 {sha256}, found {now}");
                    verified.flaws.push(Mismatch::new(path, Kind::Changed, what));
                }
            }
            Err(cause) => verified.flaws.push(Mismatch::new(path, Kind::Unreadable, cause.to_string())),
        }
    }
    let taken = by_hash.taken;
    let unknown = |file: &&Found| !named.contains(file.path.as_str()) && !taken.contains(&file.path);
    for file in found.files.iter().filter(unknown) {
        verified.flaws.push(Mismatch::new(
            &file.path,
            Kind::Extra,
            "it was not there when the site was made, or not given",
        ));
    }
}

/// Files that the analysis does not name by their path.
struct Unnamed<'a> {
    files: Vec<&'a Found>,
    /// By hash. Filled when the first is asked for.
    hashes: Option<Vec<(String, &'a Found)>>,
    taken: BTreeSet<String>,
}

impl<'a> Unnamed<'a> {
    fn of(inputs: &[Value], found: &'a Discovery) -> Self {
        let paths: BTreeSet<&str> =
            inputs.iter().filter_map(|input| input.get("path").and_then(Value::as_str)).collect();
        let files = found.files.iter().filter(|file| !paths.contains(file.path.as_str())).collect();
        Self { files, hashes: None, taken: BTreeSet::new() }
    }

    /// A file with this hash that is not matched yet.
    fn take(&mut self, sha256: &str) -> Option<&'a Found> {
        let files = &self.files;
        let hashes = self.hashes.get_or_insert_with(|| {
            files.iter().filter_map(|file| Some((disk::sha256_of(&file.disk).ok()?.0, *file))).collect()
        });
        let (_, file) = hashes.iter().find(|(hash, file)| hash == sha256 && !self.taken.contains(&file.path))?;
        self.taken.insert(file.path.clone());
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_sha256sum_writes_it() {
        let sha256 = "5f".repeat(32);
        for (start, path, name) in [
            ("", &b"data/a b.csv"[..], &b"data/a b.csv"[..]),
            ("", b"\xf6", b"\xf6"),
            ("\\", b"a\\nb\\\\c\\r", b"a\nb\\c\r"),
            // Without a backslash at the start of the line, those in the path are its own.
            ("", b"a\\n", b"a\\n"),
        ] {
            let line = [start.as_bytes(), sha256.as_bytes(), b"  ", path].concat();
            assert_eq!(entry(&line), Some((sha256.as_str(), FileName::new(name))), "{line:?}");
        }
        for odd in [&b""[..], b"5f5f  a", &[b"\\", sha256.as_bytes(), b"  a\\x"].concat()] {
            assert_eq!(entry(odd), None, "{odd:?}");
        }
    }
}
