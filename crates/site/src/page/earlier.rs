//! Earlier versions in the site's folder: read before a new site is drawn, carried over when it is written.
//!
//! In:  the folder of a site.  Out: [`Earlier`] versions, and their files copied into the new site.
//! Not here: what a version is, what changed between two.
//!
//! The main part of a version certifies itself: the name of its folder is the head of the hash of its analysis. If a version was changed,
//! that is an error and nothing is written. Versions exist to rule out silent changes.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use super::publish::version::{DIGITS, Earlier, SCHEMA, Version};
use sparkbench_archive::disk::read_plain;
use sparkbench_archive::shown;
use sparkbench_text::error::Error;
use sparkbench_text::hash::hash;

/// Folder of versions below a site.
pub(super) const FOLDER: &str = "v";

/// Versions in the folder of a site, the oldest first. A site that does not exist has none.
///
/// # Errors
/// A version whose record cannot be read, or whose files are not those that were published.
pub fn earlier(site: &Path) -> Result<Vec<Earlier>, Error> {
    let folder = site.join(FOLDER);
    let mut found = Vec::new();
    for name in names(&folder)? {
        found.push(one(&folder.join(&name), &name)?);
    }
    found.sort_by(|a, b| {
        (a.version.number, &a.version.analysis_sha256).cmp(&(b.version.number, &b.version.analysis_sha256))
    });
    Ok(found)
}

/// True for a folder that holds versions of ours and nothing else, as a workflow leaves it that brings back what was published before.
pub(super) fn holds_versions_alone(site: &Path) -> bool {
    let entries = fs::read_dir(site).map(|entries| entries.flatten().map(|e| e.file_name()).collect::<Vec<_>>());
    entries.is_ok_and(|entries| entries == [FOLDER]) && names(&site.join(FOLDER)).is_ok_and(|names| !names.is_empty())
}

/// Copies what the new site does not bring itself.
pub(super) fn carry(old: &Path, fresh: &Path) -> Result<(), Error> {
    for name in names(&old.join(FOLDER))? {
        let (from, to) = (old.join(FOLDER).join(&name), fresh.join(FOLDER).join(&name));
        fs::create_dir_all(&to).map_err(|e| fault("create", &to, e))?;
        for file in files(&from)? {
            fs::copy(from.join(&file), to.join(&file)).map_err(|e| fault("carry over", &from.join(&file), e))?;
        }
    }
    Ok(())
}

/// Whether a path below a site is the folder of all versions or that of one.
pub(super) fn is_version(path: &str) -> bool {
    path == FOLDER || path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/')).is_some_and(is_name)
}

/// Whether a path below a site is that of a file of a version.
pub(super) fn is_of_version(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folder, _)| folder != FOLDER && is_version(folder))
}

fn is_name(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Names of folders that are the head of a hash. Anything else there is foreign and is not looked at here.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(fault("look into", folder, cause)),
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_name(name))
        .collect();
    names.sort();
    Ok(names)
}

/// Files of a version, by name. A version has no folders.
fn files(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(folder).map_err(|e| fault("look into", folder, e))?;
    let mut files: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    files.sort();
    Ok(files)
}

fn one(folder: &Path, name: &str) -> Result<Earlier, Error> {
    let changed = |what: String| {
        Error::archive(format!("the published version '{name}' in '{}' is not what was published", shown(folder)))
            .detail(what)
            .hint("bring it back from a copy, or remove its folder if it shall be forgotten")
    };
    let read =
        |file: &str| read_plain(&folder.join(file)).map_err(|e| changed(format!("'{file}' cannot be read: {e}")));
    let version: Version =
        serde_json::from_slice(&read("index.json")?).map_err(|e| changed(format!("'index.json' is no record: {e}")))?;
    if version.schema != SCHEMA {
        return Err(changed(format!("its record has the schema '{}', expected {SCHEMA}", version.schema)));
    }
    let sums = read("SHA256SUMS")?;
    let mut files = vec![(format!("{FOLDER}/{name}/SHA256SUMS"), hash(&sums))];
    for line in String::from_utf8_lossy(&sums).lines() {
        let Some((sum, file)) = line.split_once("  ").filter(|(_, file)| !file.contains(['/', '\\'])) else {
            return Err(changed("its list of hashes is no such list".into()));
        };
        if hash(&read(file)?) != sum {
            return Err(changed(format!("'{file}' does not have the hash that was written down")));
        }
        files.push((format!("{FOLDER}/{name}/{file}"), sum.to_owned()));
    }
    let mut hasher = Sha256::new();
    let mut analysis = GzDecoder::new(io::Cursor::new(read("analysis.json.gz")?));
    let mut part = vec![0; 1 << 16];
    loop {
        match analysis.read(&mut part) {
            Ok(0) => break,
            Ok(n) => hasher.update(part.get(..n).unwrap_or_default()),
            Err(cause) => return Err(changed(format!("'analysis.json.gz' cannot be unpacked: {cause}"))),
        }
    }
    let sum: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if !sum.starts_with(name) || sum != version.analysis_sha256 {
        return Err(changed(format!("its analysis has the hash {sum}")));
    }
    let listed: Vec<&str> = files.iter().filter_map(|(path, _)| path.rsplit('/').next()).collect();
    if let Some(more) = self::files(folder)?.iter().find(|file| !listed.contains(&file.as_str())) {
        return Err(Error::archive(format!("'{more}' in '{}' was not published", shown(folder)))
            .detail("the version itself is as it was published")
            .hint(format!("move '{more}' out of that folder")));
    }
    Ok(Earlier { version, files })
}

fn fault(what: &str, path: &Path, cause: io::Error) -> Error {
    Error::archive(format!("cannot {what} '{}'", shown(path))).because(cause)
}
