//! The suites that sparkbench ships, its starter, and the manual of suites: each is held to what the readers really ask for.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sparkbench::env::ENVIRONMENTS;
use sparkbench::plan::cells::Restrictions;
use sparkbench::plan::{Fault, Faults, Kinds, Parsed, Part, Suite, expand, starter};
use sparkbench::workload::{Common, WORKLOADS};

/// What a shipped suite holds where a person has to put the digest of an image.
const PLACEHOLDER: &str = "@sha256:<digest>";
/// What scripts beside the suites make here (`suites/*-prepare.sh`) is there only for who has run them.
const PREPARED: &str = "names \"/opt/sparkbench-";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn suites() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root().join("suites"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    found.sort();
    found
}

fn parse(text: &str) -> Parsed {
    let environments: Vec<&str> = ENVIRONMENTS.iter().map(|kind| kind.name()).collect();
    let workloads: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name()).collect();
    Suite::parse(text, &Kinds { environments: &environments, workloads: &workloads })
}

/// What the kinds say of their settings.
fn read_kinds(suite: &Suite, folder: &Path) -> Vec<Fault> {
    let mut faults = Faults::default();
    for part in &suite.environments {
        environment(part, folder, &mut faults);
    }
    for part in &suite.workloads {
        workload(part, folder, &mut faults);
    }
    faults.sorted()
}

fn environment(part: &Part, folder: &Path, faults: &mut Faults) {
    let kind = ENVIRONMENTS.iter().find(|kind| kind.name() == part.kind).unwrap();
    let mut reader = part.reader(faults);
    kind.read(&mut reader, folder);
    reader.finish();
}

fn workload(part: &Part, folder: &Path, faults: &mut Faults) {
    let kind = WORKLOADS.iter().find(|kind| kind.name() == part.kind).unwrap();
    let mut reader = part.reader(faults);
    Common::read(&mut reader);
    kind.read(&mut reader, folder);
    reader.finish();
}

fn shown(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{fault}\n  {}\n", fault.remedy)).collect()
}

#[test]
fn every_shipped_suite_is_without_fault_but_for_digests_that_only_its_user_knows() {
    assert!(suites().len() >= 12, "{:?}", suites());
    for path in suites() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let parsed = parse(&text);
        let suite = parsed.suite.unwrap();
        assert_eq!(shown(&parsed.faults.sorted()), "", "{name}");
        assert_eq!(shown(&parsed.warnings), "", "{name}");
        assert_eq!(suite.name, name, "a suite is called like its file");
        assert!(suite.question.is_some() && !suite.primary.is_empty(), "{name}");
        assert!(
            !suite.hypotheses.is_empty() || text.contains("# No hypotheses: "),
            "{name} says neither what it expects nor why not"
        );
        let faults: Vec<Fault> = read_kinds(&suite, path.parent().unwrap())
            .into_iter()
            .filter(|fault| !(fault.key.ends_with(".image") && text.contains(PLACEHOLDER)))
            .filter(|fault| !fault.what.contains(PREPARED))
            .collect();
        assert_eq!(shown(&faults), "", "{name}");
        let restrictions = Restrictions::of(&suite);
        assert!(!expand(&suite, &|cell| restrictions.allows(cell)).runs.is_empty());
    }
}

#[test]
fn a_shipped_suite_says_what_it_asks_where_it_comes_from_and_what_it_costs() {
    for path in suites().into_iter().filter(|path| path.file_stem().unwrap() != "smoke") {
        let text = fs::read_to_string(&path).unwrap();
        let head: String = text.lines().take_while(|line| line.starts_with('#')).collect::<Vec<_>>().join("\n");
        for word in ["# Question ", "# Source ", "# Cost ", "# Before "] {
            assert!(head.contains(word), "{}: no line '{word}'", path.display());
        }
        // Each image that waits for its digest stands below a line that says how to find it, or below another that does.
        assert_eq!(text.contains(PLACEHOLDER), text.contains("# docker image inspect"), "{}", path.display());
    }
}

#[test]
fn the_number_of_runs_in_the_head_of_a_suite_is_the_number_of_runs_of_its_plan() {
    for path in suites().into_iter().filter(|path| path.file_stem().unwrap() != "smoke") {
        let text = fs::read_to_string(&path).unwrap();
        let cost = text.lines().find_map(|line| line.strip_prefix("# Cost ")).unwrap().trim_start();
        let said: usize = cost.split_once(" runs").unwrap().0.parse().unwrap();
        let suite = parse(&text).suite.unwrap();
        let restrictions = Restrictions::of(&suite);
        let plan = expand(&suite, &|cell| restrictions.allows(cell));
        assert_eq!(plan.runs.len(), said, "{}", path.display());
    }
}

#[test]
fn the_starter_satisfies_the_kinds_too() {
    for gpu in [true, false] {
        let parsed = parse(&starter(gpu));
        assert_eq!(shown(&parsed.faults.sorted()), "");
        assert_eq!(shown(&read_kinds(&parsed.suite.unwrap(), root())), "");
    }
}

/// Issue 18 of the first ten minutes: the list of kinds lacked `serve`.
#[test]
fn the_starter_names_every_kind_and_every_engine() {
    let text = starter(true);
    let list = |word: &str| {
        let rest = text.split_once(word).expect(word).1;
        rest.lines().next().unwrap().trim_end_matches([' ', '-', '.']).to_owned()
    };
    let environments: Vec<&str> = ENVIRONMENTS.iter().map(|kind| kind.name()).collect();
    let workloads: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name()).collect();
    let engines: Vec<&str> = sparkbench::workload::serve::engine::PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(list("kind = \"docker\". Kinds: "), environments.join(", "));
    assert_eq!(list("One table each. Kinds: "), workloads.join(", "));
    assert_eq!(list("Engines: "), engines.join(", "));
}

/// Keys that a reader asked for, from what it says of one that nobody knows.
fn known(faults: Vec<Fault>) -> Vec<(String, Vec<String>)> {
    faults
        .into_iter()
        .filter_map(|fault| {
            let table = fault.key.strip_suffix("zzzzzzzzz")?.trim_end_matches('.').to_owned();
            let keys = fault.remedy.rsplit_once("known here: ")?.1.split(", ").map(str::to_owned).collect();
            Some((table, keys))
        })
        .collect()
}

/// The first cells of the table below a heading, without their quotes.
fn documented(manual: &str, heading: &str) -> BTreeSet<String> {
    let start =
        manual.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("docs/suite.md has no '## {heading}'"));
    let section = &manual[start + 4..];
    let section = section.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.split(", ").map(|key| key.trim_matches('`').to_owned()).collect::<Vec<_>>()).collect()
}

#[test]
fn every_key_that_is_read_stands_in_the_manual_and_no_other() {
    let manual = fs::read_to_string(root().join("docs/suite.md")).unwrap();
    let tables = [
        "[gates]",
        "[watchdogs]",
        "[telemetry]",
        "[retention]",
        "[privacy]",
        "[[hypotheses]]",
        "[[skip]]",
        "[models.a]",
    ];
    let mut text = String::from("zzzzzzzzz = 1\n");
    for table in tables {
        text += &format!("{table}\nzzzzzzzzz = 1\n");
    }
    let asked = known(parse(&text).faults.sorted());
    assert_eq!(asked.len(), tables.len() + 1);
    for (table, keys) in asked {
        let heading = match table.as_str() {
            "" => "The file".to_owned(),
            "models.a" => "`[models.LABEL]`".to_owned(),
            list if list.ends_with(']') => format!("`[[{}]]`", list.split('[').next().unwrap()),
            plain => format!("`[{plain}]`"),
        };
        assert_eq!(keys.into_iter().collect::<BTreeSet<_>>(), documented(&manual, &heading), "{heading}");
    }
    for metric in sparkbench::model::Metric::names() {
        assert!(manual.contains(&format!("`{metric}`")), "{metric}");
    }
}

#[test]
fn every_key_of_every_kind_stands_in_the_manual_and_no_other() {
    let manual = fs::read_to_string(root().join("docs/suite.md")).unwrap();
    let mut asked = Vec::new();
    for kind in ENVIRONMENTS {
        let text = format!("[environments.a]\nkind = \"{}\"\nzzzzzzzzz = 1\n", kind.name());
        let mut faults = Faults::default();
        environment(&parse(&text).suite.unwrap().environments[0], root(), &mut faults);
        asked.push((format!("Environment `{}`", kind.name()), "Environments", known(faults.sorted())));
    }
    for kind in WORKLOADS {
        let text = format!("[workloads.a]\nkind = \"{}\"\nzzzzzzzzz = 1\n", kind.name());
        let mut faults = Faults::default();
        workload(&parse(&text).suite.unwrap().workloads[0], root(), &mut faults);
        asked.push((format!("Workload `{}`", kind.name()), "Workloads", known(faults.sorted())));
    }
    for (heading, common, keys) in asked {
        let keys: BTreeSet<String> = keys.into_iter().flat_map(|(_, keys)| keys).collect();
        let common = documented(&manual, common);
        assert!(common.is_subset(&keys), "{heading}: {common:?}");
        assert_eq!(
            keys.difference(&common).cloned().collect::<BTreeSet<_>>(),
            documented(&manual, &heading),
            "{heading}"
        );
    }
}
