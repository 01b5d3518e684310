//! What workflows may run, and with which rights: those of this repository, and the one that `init` writes.
//!
//! In:  `.github/` and `src/cli/pages.yml`.  Out: nothing.
//! Not here: whether their steps work (see `analyse::workflow`), GitHub's schema (see `.ci/browsers`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use yaml_rust2::{Yaml, YamlLoader};

use crate::support::program::repository;

/// Rights with which a job speaks for the project: it signs, deploys, publishes or comments in its name.
const NO_CODE: &[&str] = &["id-token", "pages", "attestations", "packages", "pull-requests", "actions"];

/// Programs of a runner that such a job may call. All of them come with the machine and do nothing that a file of ours says.
const PLAIN: &[&str] =
    &["echo", "gh", "head", "iconv", "if", "else", "fi", "id=", "comments=", "python3 -m venv ", "#"];

/// Path and text of every workflow and of every action of our own.
fn files() -> Vec<(String, String)> {
    let below = |folder: &str| {
        walkdir::WalkDir::new(repository().join(folder))
            .sort_by_file_name()
            .into_iter()
            .flatten()
            .map(walkdir::DirEntry::into_path)
    };
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
    let files = below(".github").chain(below("src/cli")).filter(is_yaml);
    let named = |path: PathBuf| {
        let name = path.strip_prefix(repository()).unwrap().display().to_string();
        (name, std::fs::read_to_string(&path).unwrap())
    };
    let found: Vec<(String, String)> = files.map(named).collect();
    assert!(found.len() >= 4, "{found:?}");
    found
}

fn parsed() -> Vec<(String, Yaml)> {
    let read = |(name, text): (String, String)| {
        let workflow = YamlLoader::load_from_str(&text).expect("YAML").remove(0);
        (name, workflow)
    };
    files().into_iter().map(read).collect()
}

/// Every job by its name: `.github/workflows/ci.yml, stage`.
fn jobs() -> Vec<(String, Yaml)> {
    let mut found = Vec::new();
    for (file, workflow) in parsed() {
        let jobs = workflow["jobs"].as_hash().cloned().unwrap_or_default();
        found.extend(
            jobs.into_iter().map(|(name, job)| (format!("{file}, {}", name.as_str().unwrap_or_default()), job)),
        );
    }
    assert!(found.len() >= 9, "{} jobs", found.len());
    found
}

fn steps(job: &Yaml) -> &[Yaml] {
    job["steps"].as_vec().map_or(&[], Vec::as_slice)
}

/// What a job may write.
fn writes(job: &Yaml) -> Vec<String> {
    let rights = job["permissions"].as_hash().cloned().unwrap_or_default();
    let writes = rights.iter().filter(|(_, how)| how.as_str() == Some("write"));
    writes.filter_map(|(what, _)| what.as_str().map(str::to_owned)).collect()
}

/// A tag or a branch names other code tomorrow. A hash does not, and people need the version and its age beside it.
#[test]
fn every_action_is_named_by_a_hash_with_its_version_and_date_and_by_one_hash_alone() {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files() {
        for line in text.lines().map(str::trim) {
            let line = line.strip_prefix("- ").unwrap_or(line);
            let Some(used) = line.strip_prefix("uses: ") else { continue };
            // An action of our own is of the same commit.
            if used.starts_with("./") {
                continue;
            }
            let (action, rest) = used.split_once('@').expect("an action and its commit");
            let (hash, note) = rest.split_once(" # ").unwrap_or((rest, ""));
            let is_hash = hash.len() == 40 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            assert!(is_hash, "{file}: {action} is not named by a hash, but by '{hash}'");
            let (version, date) = note.split_once(", ").unwrap_or_default();
            let numbers = |text: &str, sign: char, widths: &[std::ops::RangeInclusive<usize>]| {
                let parts: Vec<&str> = text.split(sign).collect();
                parts.len() == widths.len()
                    && parts.iter().zip(widths).all(|(part, width)| {
                        width.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
                    })
            };
            let version = version.strip_prefix('v').is_some_and(|v| numbers(v, '.', &[1..=4, 1..=4, 1..=4]));
            assert!(
                version && numbers(date, '-', &[4..=4, 2..=2, 2..=2]),
                "{file}: {action} has no '# v1.2.3, 2026-01-02'"
            );
            known.entry(action.to_owned()).or_default().insert(rest.to_owned());
        }
    }
    for (action, hashes) in &known {
        assert_eq!(hashes.len(), 1, "{action}: {hashes:?}");
    }
    assert!(known.len() >= 6, "{known:?}");
}

#[test]
fn a_job_that_speaks_for_the_project_runs_pinned_actions_and_nothing_of_ours() {
    let mut seen = 0;
    for (name, job) in jobs() {
        if !writes(&job).iter().any(|right| NO_CODE.contains(&right.as_str())) {
            continue;
        }
        seen += 1;
        for step in steps(&job) {
            let uses = step["uses"].as_str().unwrap_or_default();
            assert!(
                !uses.starts_with("./") && !uses.starts_with("actions/checkout"),
                "{name} holds files of ours: {uses}"
            );
            for line in step["run"].as_str().unwrap_or_default().lines().map(str::trim) {
                let pip = line.contains("pip install");
                assert!(!pip || line.contains("--require-hashes"), "{name} installs what no hash names: {line}");
                // What was installed by its hash may be called.
                let plain = pip || line.starts_with("venv/bin/") || PLAIN.iter().any(|start| line.starts_with(start));
                assert!(plain, "{name}: may this be called where the project's name is at stake? {line}");
            }
        }
    }
    assert!(seen >= 5, "{seen} jobs");
}

#[test]
fn no_workflow_may_do_more_than_read_unless_a_job_says_so() {
    for (file, workflow) in parsed() {
        let rights = workflow["permissions"].as_hash().unwrap_or_else(|| panic!("{file} states no permissions"));
        assert!(
            rights.len() == 1 && workflow["permissions"]["contents"].as_str() == Some("read"),
            "{file}: {rights:?}"
        );
        // Those run with the rights of this repository on what a stranger wrote.
        for trigger in ["pull_request_target", "workflow_run", "issue_comment"] {
            assert!(workflow["on"][trigger].is_badvalue(), "{file} is started by {trigger}");
        }
    }
    for (name, job) in jobs() {
        let stated = job["permissions"].as_hash();
        assert!(job["permissions"].is_badvalue() || stated.is_some(), "{name}: rights are named one by one");
        for step in steps(&job) {
            // What a stranger names a branch or a title must not become part of a script.
            assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{name}: {step:?}");
            if step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout")) {
                let kept = step["with"]["persist-credentials"].as_bool();
                assert_eq!(kept, Some(false), "{name} leaves its token in the checkout");
            }
        }
    }
}
