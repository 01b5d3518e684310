//! Which campaign and which launch a file belongs to, by its folder and name.
//!
//! In:  paths.  Out: the folder of its campaign, and what the files of its launch have in common.
//! Not here: what the files say.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::Home;
use sparkbench_archive::manifest::RUNS_FOLDER;

/// Endings of names that part the files of one launch, the extension aside.
const ROLES: &[&str] = &[
    "_metadata",
    "_gpu",
    "-gpu",
    ".gpu",
    "_telemetry",
    "-telemetry",
    ".telemetry",
    "_nvidia_smi",
    "_dmon",
    ".boxstate",
    "_hostmem",
    ".report",
    "_aiperf",
    "_genai_perf",
    "_console",
];

/// The folder of the campaign that a folder belongs to: the nearest one upwards that says so itself, else what was given on the command line,
/// however deep its folders are. What is given together is one.
pub(super) fn home_of(
    folder: &str,
    given: &str,
    homes: &BTreeMap<String, Home>,
    run_folders: &BTreeSet<&str>,
) -> String {
    let nearest = |is_home: fn(&Home) -> bool| {
        let mut at = folder;
        loop {
            if homes.get(at).is_some_and(is_home) {
                return Some(at.to_owned());
            }
            match at.rsplit_once('/') {
                Some((up, _)) => at = up,
                None if at.is_empty() => return None,
                None => at = "",
            }
        }
    };
    // Labels speak of all that lies below them. A table or a study speaks where nobody else does.
    let told = nearest(|home| home.labels.is_some() || home.campaign.is_some()).or_else(|| nearest(|home| home.stands));
    if let Some(home) = told {
        return home;
    }
    // Runs of an archive without its campaign file still are of one campaign.
    match folder.rsplit_once('/') {
        Some((up, _)) if run_folders.contains(folder) => {
            up.strip_suffix(RUNS_FOLDER).map_or(up, |rest| rest.trim_end_matches('/')).to_owned()
        }
        _ => given.to_owned(),
    }
}

/// Common name of the files of one launch.
pub(super) fn key_of(path: &str, run_folders: &BTreeSet<&str>) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if run_folders.contains(folder) {
        return format!("{folder}/");
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = ROLES.iter().find_map(|role| stem.strip_suffix(role)).unwrap_or(stem);
    format!("{folder}/{stem}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Campaign;

    #[test]
    fn files_of_one_launch_have_one_key() {
        let none = BTreeSet::new();
        let keys: BTreeSet<String> =
            ["a/n_m_iter1_x.json", "a/n_m_iter1_x.log", "a/n_m_iter1_x_gpu.csv", "a/n_m_iter1_x_metadata.json"]
                .iter()
                .map(|path| key_of(path, &none))
                .collect();
        assert_eq!(keys.len(), 1, "{keys:?}");
        let runs = BTreeSet::from(["c/runs/r1"]);
        assert_eq!(key_of("c/runs/r1/run.json", &runs), key_of("c/runs/r1/anything.log", &runs));
    }

    #[test]
    fn the_nearest_labelled_folder_upwards_is_the_campaign_else_what_was_given() {
        let labelled = || Home { campaign: Some(Campaign::default()), ..Home::default() };
        let homes = BTreeMap::from([("a".to_owned(), labelled()), ("a/b/c".to_owned(), labelled())]);
        let runs = BTreeSet::from(["x/runs/r1"]);
        for (folder, home) in [
            ("a/b", "a"),
            ("a/b/c/d", "a/b/c"),
            ("z/y", "z"),
            ("z/SERVE--a=1/BENCH--b=2", "z"),
            ("", "z"),
            ("x/runs/r1", "x"),
        ] {
            assert_eq!(home_of(folder, "z", &homes, &runs), home, "{folder}");
        }
    }
}
