//! A site against its own list of hashes, and against what it was made from.
//!
//! In:  the folder, the folders or files of the analysis.  Out: flaws.
//! Not here: whether the pages agree with the analysis.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::expected::Expected;
use super::{Kind, Mismatch, Progressed, SUMS, State, Verified};
use crate::archive::{Discovery, Found, discover, disk};
use crate::error::Error;

const ANALYSIS: &str = "data/analysis.json";
/// Length of a SHA-256 in hexadecimal.
const HEX: usize = 64;

/// Verifies a site.
pub(super) fn verify(folder: &Path, made_from: &[PathBuf], progressed: Progressed<'_>) -> Result<Verified, Error> {
    let listed = |cause| Error::archive(format!("cannot list '{}'", folder.display())).because(cause);
    let mut verified = Verified { state: State::Site, ..Verified::default() };
    let mut expected = Expected::default();
    expected.checked(SUMS);
    match std::fs::read_to_string(folder.join(SUMS)) {
        Ok(text) => sums(&text, &mut expected, &mut verified),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
        Err(cause) => verified.flaws.push(Mismatch::new(SUMS, Kind::Unreadable, cause.to_string())),
    }
    let tree = disk::tree(folder).map_err(listed)?;
    expected.hold(folder, &tree, &|_| format!("{SUMS} does not list it"), &mut verified, progressed);
    if !made_from.is_empty() {
        inputs(folder, &discover(made_from)?, &mut verified);
    }
    Ok(verified)
}

/// Every line of the list. The list itself must be as it was written, sorted and without anything between.
fn sums(text: &str, expected: &mut Expected, verified: &mut Verified) {
    verified.files += 1;
    verified.bytes += text.len() as u64;
    let mut before: Option<&str> = None;
    for (number, line) in (1u64..).zip(text.split_inclusive('\n')) {
        let parsed = line.strip_suffix('\n').and_then(|line| line.split_once("  ")).filter(|(sha256, path)| {
            let outside = path.split('/').any(|part| matches!(part, "" | "." | ".."));
            is_sha256(sha256) && !outside && before.is_none_or(|before| before < *path)
        });
        match parsed {
            Some((sha256, path)) => {
                expected.file(path, sha256);
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

fn is_sha256(text: &str) -> bool {
    text.len() == HEX && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The files that the analysis names against those that are there now.
fn inputs(folder: &Path, found: &Discovery, verified: &mut Verified) {
    let read = std::fs::read(folder.join(ANALYSIS)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
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
