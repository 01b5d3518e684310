//! Folders as the arms of a comparison: `native/` beside `docker/`, or names of a user's choice.
//!
//! In:  drafts and where their files lie.  Out: the same drafts, in one campaign where folders differ in their arm alone.
//! Not here: labels from names (see `path_labels`), other labels (see `labelling`).
//!
//! A folder is a campaign of its own, as long as nothing says otherwise. `x/native` and `x/docker` would then be two campaigns, and nothing
//! would be compared. The distinguishing part of such folders is taken out of their path, and equal rests are one campaign.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{Draft, Home};
use super::file_report::FileReport;
use super::path_labels;
use sparkbench_archive::Discovery;
use sparkbench_model::Campaign;

/// Makes the first folder in which the paths of runs differ their environment. What a file says of its own stays among the settings.
pub(super) fn name_arms(found: &Discovery, drafts: &mut [Draft], report: &mut FileReport) {
    let Some(depth) = depth(found, drafts) else { return };
    for draft in drafts {
        let Some(arm) = found.files.get(draft.main).and_then(|file| parts(file.folder()).nth(depth)) else { continue };
        let own = draft.partial.environment.replace(arm.to_owned());
        if let Some(own) = own.filter(|own| own != arm) {
            draft.partial.setup.more.insert(Campaign::ENVIRONMENT_KEY.to_owned(), own);
        }
        report.note(draft.main, format!("arm '{arm}' by its folder"));
    }
}

/// Gives drafts whose folders differ in their arm alone one home.
pub(super) fn gather(found: &Discovery, homes: &mut BTreeMap<String, Home>, drafts: &mut [Draft], by_folder: bool) {
    let depth = if by_folder { depth(found, drafts) } else { None };
    let without = |home: &str| match depth {
        Some(depth) => parts(home).nth(depth).map(|arm| (arm.to_owned(), apart(home, depth))),
        None if by_folder => None,
        None => named(home),
    };
    // Where the homes would go, and which arms meet there.
    let mut meeting: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for draft in drafts.iter() {
        let told = |home: &Home| home.labels.is_some() || home.campaign.is_some();
        // A campaign that says itself what belongs to it stays whole, unless a person asks for more.
        if homes.get(&draft.home).is_some_and(told) && !by_folder {
            continue;
        }
        if let Some((arm, rest)) = without(&draft.home) {
            meeting.entry(rest).or_default().insert(arm);
        }
    }
    for draft in drafts {
        let Some((arm, rest)) = without(&draft.home) else { continue };
        if meeting.get(&rest).is_none_or(|arms| arms.len() < 2 || !arms.contains(&arm)) {
            continue;
        }
        let words = homes.get(&draft.home).and_then(|home| home.campaign.clone());
        let home = homes.entry(rest.clone()).or_default();
        home.campaign = home.campaign.take().or(words);
        draft.home = rest;
    }
}

/// The outermost folder that is called like an environment, and the path without it.
fn named(home: &str) -> Option<(String, String)> {
    let (depth, label) =
        parts(home).enumerate().find_map(|(depth, part)| Some((depth, path_labels::of_folder(part)?)))?;
    Some((label, apart(home, depth)))
}

/// How many folders all runs have in common. Absent where no run is deeper.
fn depth(found: &Discovery, drafts: &[Draft]) -> Option<usize> {
    let folders: Vec<Vec<&str>> = drafts
        .iter()
        .filter_map(|draft| Some(parts(found.files.get(draft.main)?.folder()).collect()))
        .filter(|folders: &Vec<&str>| !folders.is_empty())
        .collect();
    let (first, longest) = (folders.first()?, folders.iter().map(Vec::len).max()?);
    (0..longest).find(|at| folders.iter().any(|other| other.get(*at) != first.get(*at)))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// A path without the part at this depth.
fn apart(path: &str, depth: usize) -> String {
    let kept = parts(path).enumerate().filter(|(at, _)| *at != depth).map(|(_, part)| part);
    kept.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_folders_apart_is_taken_out_of_their_path() {
        for (home, expected) in [
            ("native", Some(("native", ""))),
            ("x/Docker", Some(("docker", "x"))),
            ("x/native/c8", Some(("native", "x/c8"))),
            ("results-podman-2026", Some(("podman", ""))),
            ("x/fp8", None),
            ("", None),
        ] {
            let expected = expected.map(|(arm, rest)| (arm.to_owned(), rest.to_owned()));
            assert_eq!(named(home), expected, "{home}");
        }
        assert_eq!(apart("a/b/c", 1), "a/c");
    }
}
