//! Verifies every byte of an archive against its records, or of a site against its list and its archive. A folder
//! that holds archives is each of them.
//!
//! In:  a folder.  Out: [`Verified`], every flaw by path.
//! Not here: whether the numbers in it make sense, printing.
//!
//! What holds what: the seal holds the journal and `campaign.json`. Each line of the journal holds all lines before it. The journal holds
//! every `run.json`, and every file of `probes/`, `prepared/` and `interrupted/`. `run.json` holds every file beside it. What nothing
//! holds does not belong there.

mod campaign;
mod expected;
mod findings;
mod several;
mod site;
mod whole;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::expected::Expected;
use self::several::is_archive;
use super::manifest::{RUN_FILE, RunWire};
use super::{FileName, disk, lock, shown};
use sparkbench_text::error::Error;

pub use findings::{Below, Kind, Mismatch, Progressed, Remedy, Runs, SUMS, State, Verified};

/// Verifies an archive of a campaign, a site, or every archive in a folder. A site also against the folders or files that it was made
/// from, where they are given.
///
/// # Errors
/// When the folder is neither, or cannot be listed. Everything else is a flaw.
pub fn verify(folder: &Path, made_from: &[PathBuf], progressed: Progressed<'_>) -> Result<Verified, Error> {
    std::fs::read_dir(folder).map_err(|cause| {
        Error::archive(format!("cannot open '{}'", shown(folder)))
            .hint("give the folder of an archive (campaign.json), of several archives, or of a site (data/SHA256SUMS)")
            .because(cause)
    })?;
    let data = folder.join("data");
    if let Ok(to) = std::fs::read_link(&data)
        && !data.exists()
        && !is_archive(folder)
    {
        return Err(Error::archive(format!("'{}' leads nowhere", shown(&data)))
            .detail(format!("it is a link to '{}'", shown(&to)))
            .hint("put the folder back that it leads to, or remove the link if this is no site"));
    }
    let is_site = data.is_dir() && (folder.join(SUMS).exists() || folder.join("index.html").exists());
    if !made_from.is_empty() && !is_site {
        return Err(Error::usage(format!("'{}' is not a site", shown(folder)))
            .hint("use --archive only with a site that was made from it"));
    }
    let mut verified = if is_archive(folder) {
        campaign::verify(folder, lock::held(folder) == Some(true), progressed)?
    } else if is_site {
        site::verify(folder, made_from, progressed)?
    } else {
        several::verify(folder, progressed)?
    };
    verified.flaws.sort();
    verified.flaws.dedup();
    Ok(verified)
}

/// Verifies the archive of a campaign for the one who holds its lock.
///
/// # Errors
/// When the folder cannot be listed. Everything else is a flaw.
pub(super) fn held(folder: &Path, progressed: Progressed<'_>) -> Result<Verified, Error> {
    let mut verified = campaign::verify(folder, false, progressed)?;
    verified.flaws.sort();
    verified.flaws.dedup();
    Ok(verified)
}

/// Verifies the archive of a campaign for one who has read its files: `sums` are their hashes by path below it. Whatever else lies among the
/// runs is read here. Of what lies aside of them only the presence is checked.
///
/// # Errors
/// When the folder cannot be listed. Everything else is a flaw.
pub(super) fn with_sums(folder: &Path, sums: BTreeMap<FileName, String>) -> Result<Verified, Error> {
    let running = lock::held(folder) == Some(true);
    let mut verified = campaign::verify_as(folder, running, Expected::of_runs(sums), &mut |_, _| {})?;
    verified.flaws.sort();
    verified.flaws.dedup();
    Ok(verified)
}

/// Holds the folder of one run against what its `run.json` lists, for one who has read its files.
///
/// # Errors
/// When the folder cannot be listed. Everything else is a flaw.
pub(super) fn run_with_sums(
    folder: &Path,
    run: &RunWire,
    sums: BTreeMap<FileName, String>,
) -> Result<Vec<Mismatch>, Error> {
    let tree = disk::whole_tree(folder)
        .map_err(|cause| Error::archive(format!("cannot list '{}'", shown(folder))).because(cause))?;
    let mut verified = Verified::default();
    let mut expected = Expected::knowing(sums);
    expected.checked(RUN_FILE);
    for file in &run.files {
        // A path that leads elsewhere would have other files hashed in its name.
        if file.path.is_below() {
            expected.file(&file.path, &file.sha256);
        } else {
            let what = format!("it lists '{}', which is not a path below it", file.path);
            verified.flaws.push(Mismatch::new(RUN_FILE, Kind::Contradiction, what));
        }
    }
    let extra = |_: &FileName| (format!("{RUN_FILE} does not list it"), Remedy::Remove);
    expected.hold(folder, &tree, &extra, &mut verified, &mut |_, _| {});
    verified.flaws.sort();
    Ok(verified.flaws)
}
