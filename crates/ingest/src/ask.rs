//! Missing labels: which files lack which label, and a `labels.toml` to fill in.
//!
//! In:  runs and where their files lie.  Out: [`Ask`]: one message, and the text of the file.
//! Not here: reading the filled file (see `labels_file`).

use std::collections::{BTreeMap, BTreeSet};

use super::labels_file::SCHEMA;
use super::name::{ONE_WORKLOAD, UNLABELLED};
use sparkbench_archive::Found;
use sparkbench_model::{Campaign, Run};

/// Files named in the message. The rest is counted.
const NAMED: usize = 3;

/// The open questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// One line.
    pub message: String,
    /// A `labels.toml` with an entry for each file with a run: what is known as comments, an empty value for what is missing.
    pub labels: String,
}

/// One file in the text to fill in.
#[derive(Default)]
struct Entry {
    runs: usize,
    known: BTreeMap<&'static str, BTreeSet<String>>,
    missing: BTreeSet<String>,
}

/// The question about these runs. `None` when every label is known. `found` gives the file of a path.
pub(super) fn ask<'a, 'r>(
    runs: impl Iterator<Item = &'r Run>,
    campaigns: &[Campaign],
    found: impl Fn(&str) -> Option<&'a Found>,
) -> Option<Ask> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    let mut asked: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        let path = below(&run.source.path, found(&run.source.path));
        // What is compared has to be known. Nothing else has.
        let question = campaigns.iter().find(|c| c.name == run.campaign).and_then(|c| c.asked.as_ref());
        let lacking = question.map(|asked| asked.factor.as_str()).filter(|_| run.environment == UNLABELLED);
        let entry = entries.entry(path.clone()).or_default();
        entry.runs += 1;
        let said = |label: &'r str| Some(label).filter(|label| *label != UNLABELLED);
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let (environment, model) = (run.settings.get("environment").map(|e| e.value.as_str()), said(&run.model));
        let setup = &run.setup;
        for (name, value) in [
            ("tool", setup.tool.clone()),
            ("environment", environment.map(str::to_owned)),
            ("model", model.map(str::to_owned)),
            ("engine", setup.engine.clone()),
            ("engine_version", setup.engine_version.clone()),
            ("quantisation", setup.quantisation.clone()),
            ("machine", setup.machine.clone()),
            ("workload", Some(run.workload.clone()).filter(|workload| workload != ONE_WORKLOAD)),
            ("batch", number(setup.batch)),
            ("isl", number(setup.isl)),
            ("osl", number(setup.osl)),
            ("requests", number(setup.requests)),
            ("repeat", run.repeat.map(|repeat| repeat.to_string())),
        ] {
            entry.known.entry(name).or_default().extend(value);
        }
        let mut miss = |label: &'r str| {
            asked.entry(label).or_default().insert(path.clone());
            entry.missing.insert(label.to_owned());
        };
        if model.is_none() {
            miss("model");
        }
        if let Some(label) = lacking.and_then(|label| FILLED.iter().find(|known| **known == label)) {
            miss(label);
        }
    }
    if asked.is_empty() {
        return None;
    }
    let said: Vec<String> = asked.iter().map(|(label, paths)| format!("{} no {label}", sentence(paths))).collect();
    Some(Ask { message: said.join("; "), labels: file(&entries) })
}

fn sentence(paths: &BTreeSet<String>) -> String {
    let named: Vec<&str> = paths.iter().take(NAMED).map(String::as_str).collect();
    let more = if paths.len() > named.len() { ", ..." } else { "" };
    let (noun, verb) = if paths.len() == 1 { ("file", "says") } else { ("files", "say") };
    format!("{} {noun} ({}{more}) {verb}", paths.len(), named.join(", "))
}

fn below(path: &str, file: Option<&Found>) -> String {
    let base = file.map_or("", |file| file.base.as_str());
    path.strip_prefix(base).map_or(path, |rest| rest.trim_start_matches('/')).to_owned()
}

/// Settings that a `labels.toml` can say of a file.
const FILLED: &[&str] = &["environment", "engine", "engine_version", "quantisation"];

/// Labels that a person may be able to say of any file, beside those that are asked for.
const OFFERED: &[&str] = &["engine", "quantisation"];

fn file(entries: &BTreeMap<String, Entry>) -> String {
    let mut text = format!(
        "# Comments show what the files say. Empty values are missing. Fill in what you know, and put this file beside the results as\n\
         # labels.toml, or give it with --labels FILE. Values that stay empty are ignored. One entry with a pattern such as\n\
         # glob = \"docker/*\" can cover many files.\n\
         schema = \"{SCHEMA}\"\n\
         # compare_by = \"engine\"   # compares engines instead of environments. Or: model, quantisation, tool\n"
    );
    for (path, entry) in entries {
        text.push_str(&format!("\n[[files]]\nglob = {}\n", quoted(&escape(path))));
        if entry.runs > 1 {
            text.push_str(&format!("# runs: {}\n", entry.runs));
        }
        for (name, values) in entry.known.iter().filter(|(_, values)| !values.is_empty()) {
            let shown: Vec<String> = values.iter().take(NAMED * 2).map(|value| comment(value)).collect();
            let more = if values.len() > shown.len() { ", ..." } else { "" };
            text.push_str(&format!("# {name}: {}{more}\n", shown.join(", ")));
        }
        let unsaid = |name: &&str| entry.known.get(*name).is_some_and(BTreeSet::is_empty);
        let offered = OFFERED.iter().copied().filter(unsaid).filter(|name| !entry.missing.contains(*name));
        for name in entry.missing.iter().map(String::as_str).chain(offered) {
            let hint = if name == "environment" { "   # native, docker, chroot, ..." } else { "" };
            text.push_str(&format!("{name} = \"\"{hint}\n"));
        }
    }
    text
}

/// A path as a pattern that fits it alone.
fn escape(path: &str) -> String {
    path.chars().fold(String::with_capacity(path.len()), |mut out, letter| {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            out.push('\\');
        }
        out.push(letter);
        out
    })
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// On one line, whatever a file calls its model.
fn comment(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(80).collect()
}
