//! What the program is made of: the exceptions of `deny.toml`, and that the tool is run.
//!
//! In:  `deny.toml`, `Cargo.lock`, the scripts of `.ci/`.  Out: nothing.
//! Not here: the judgement itself, which is cargo-deny's (see `.ci/deciding` and `.ci/advisories`).

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::support::program::repository;

fn text(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

fn table(name: &str) -> Table {
    text(name).parse().unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

/// `name@version` of every crate that is locked.
fn locked() -> BTreeSet<String> {
    let lock = table("Cargo.lock");
    let packages = lock["package"].as_array().expect("packages");
    let of = |package: &Value, key: &str| package[key].as_str().expect("a text").to_owned();
    packages.iter().map(|package| format!("{}@{}", of(package, "name"), of(package, "version"))).collect()
}

#[test]
fn every_exception_for_a_crate_has_a_reason_and_is_still_needed() {
    let rules = table("deny.toml");
    let locked = locked();
    let list = |table: &str, key: &str| rules[table][key].as_array().expect("a list").clone();
    for skip in list("bans", "skip") {
        let named = skip["crate"].as_str().expect("a crate");
        let reason = skip["reason"].as_str().unwrap_or_default();
        assert!(reason.len() > 4, "{named}: why is it there twice?");
        assert!(locked.contains(named), "{named} is not in Cargo.lock any more");
        let (name, _) = named.split_once('@').expect("one version");
        let versions = locked.iter().filter(|one| one.split('@').next() == Some(name)).count();
        assert!(versions > 1, "{name} is there once, and needs no exception");
    }
    for known in list("advisories", "ignore") {
        let reason = known["reason"].as_str().unwrap_or_default();
        let id = known["id"].as_str().expect("an advisory");
        let crate_name = reason.split(' ').next().unwrap_or_default();
        let there = locked.iter().any(|one| one.split('@').next() == Some(crate_name));
        assert!(there, "{id}: the reason begins with the name of a crate in Cargo.lock: '{reason}'");
    }
    for (table, key) in [("bans", "multiple-versions"), ("sources", "unknown-registry"), ("sources", "unknown-git")] {
        assert_eq!(rules[table][key].as_str(), Some("deny"), "{table}.{key}");
    }
}

#[test]
fn a_landing_judges_crates_and_the_list_of_known_faults_is_asked_by_a_job_of_its_own() {
    let (common, deciding, advisories) = (text(".ci/common.sh"), text(".ci/deciding"), text(".ci/advisories"));
    assert!(deciding.contains("deny check licenses bans sources"), "{deciding}");
    assert!(
        advisories.contains("cargo-deny\" --locked check advisories") && advisories.ends_with("\ncloses\n"),
        "{advisories}"
    );
    assert!(text(".github/workflows/ci.yml").contains("run: bash .ci/advisories\n"));
    // The tool is one of those that must not change by themselves.
    assert!(common.contains("--require-hashes --no-deps -r .ci/deny.txt"), "{common}");
    assert!(text(".ci/deny.txt").matches("--hash=sha256:").count() >= 2);
}
