//! What nobody said: which files lack which label, and a `labels.toml` to fill in.
//!
//! In:  runs and where their files lie.  Out: [`Ask`]: one message, and the text of the file.
//! Not here: reading the filled file (see `labels`).

use std::collections::{BTreeMap, BTreeSet};

use super::arms;
use super::labels::SCHEMA;
use super::name::UNLABELLED;
use crate::archive::Found;
use crate::model::{Campaign, Run};

/// Files named in the message; the rest is counted.
const NAMED: usize = 3;

/// What is to be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// One line.
    pub message: String,
    /// A `labels.toml` with an empty value wherever one is missing.
    pub labels: String,
}

/// One rule of the file to fill in.
#[derive(Default)]
struct Group {
    paths: BTreeSet<String>,
    known: BTreeMap<&'static str, BTreeSet<String>>,
}

/// The question about these runs; `None` when every label is known. `found` gives the file of a path.
pub(super) fn ask<'a>(runs: &[Run], campaigns: &[Campaign], found: impl Fn(&str) -> Option<&'a Found>) -> Option<Ask> {
    let mut groups: BTreeMap<(String, bool, bool), Group> = BTreeMap::new();
    let (mut environments, mut models) = (BTreeSet::new(), BTreeSet::new());
    let mut labelled: BTreeSet<String> = BTreeSet::new();
    let mut others: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        let path = below(&run.source.path, found(&run.source.path));
        // Where another label tells the arms apart nobody needs an environment.
        let another = campaigns.iter().find(|c| c.name == run.campaign).and_then(|c| c.compare_by.as_deref());
        let compared = another.filter(|label| *label != "model" && arms::lacks(run, label));
        let (environment, model) = (run.environment == UNLABELLED && another.is_none(), run.model == UNLABELLED);
        if let Some(label) = compared {
            others.entry(label.to_owned()).or_default().insert(path.clone());
        }
        if !environment && !model {
            labelled.insert(path);
            continue;
        }
        if environment {
            environments.insert(path.clone());
        }
        if model {
            models.insert(path.clone());
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let group = groups.entry((folder, environment, model)).or_default();
        for (name, value) in [
            ("tool", run.setup.tool.as_deref()),
            ("engine", run.setup.engine.as_deref()),
            ("model", Some(run.model.as_str()).filter(|_| !model)),
            ("environment", Some(run.environment.as_str()).filter(|_| !environment)),
            ("quantisation", run.setup.quantisation.as_deref()),
            ("workload", Some(run.workload.as_str())),
        ] {
            group.known.entry(name).or_default().extend(value.map(str::to_owned));
        }
        group.paths.insert(path);
    }
    if groups.is_empty() && others.is_empty() {
        return None;
    }
    let compared = others.iter().map(|(label, paths)| (label.as_str(), paths));
    let said: Vec<String> = [("environment", &environments), ("model", &models)]
        .into_iter()
        .chain(compared)
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(label, paths)| format!("{} no {label}", sentence(paths)))
        .collect();
    let mut labels = file(&groups, &labelled);
    for (label, paths) in &others {
        for path in paths {
            labels.push_str(&format!("\n[[files]]\nglob = {}\n{label} = \"\"\n", quoted(&escape(path))));
        }
    }
    Some(Ask { message: said.join("; "), labels })
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

fn file(groups: &BTreeMap<(String, bool, bool), Group>, labelled: &BTreeSet<String>) -> String {
    let mut text = format!(
        "# Labels that no file says. Fill in what is empty and leave out what you do not know; then put this file beside the results\n\
         # as labels.toml, or give it with --labels FILE. An empty value is as good as none.\n\
         schema = \"{SCHEMA}\"\n\
         # compare_by = \"engine\"   # holds engines against each other in place of environments; also: model, quantisation, tool\n"
    );
    for ((folder, environment, model), group) in groups {
        text.push('\n');
        for (name, values) in &group.known {
            if !values.is_empty() {
                let shown: Vec<String> = values.iter().take(NAMED * 2).map(|value| comment(value)).collect();
                let more = if values.len() > shown.len() { ", ..." } else { "" };
                text.push_str(&format!("# {name}: {}{more}\n", shown.join(", ")));
            }
        }
        // A pattern for the whole folder where nothing else lies in it, else one rule a file.
        let in_folder = |path: &String| path.rsplit_once('/').map_or("", |(at, _)| at) == folder;
        let others = groups.iter().any(|((at, ..), other)| at == folder && other.paths != group.paths);
        let whole = group.paths.len() > 1 && !labelled.iter().any(in_folder) && !others;
        let globs: Vec<String> = if whole {
            let start = if folder.is_empty() { String::new() } else { format!("{}/", escape(folder)) };
            vec![format!("{start}*")]
        } else {
            group.paths.iter().map(|path| escape(path)).collect()
        };
        for glob in globs {
            text.push_str(&format!("[[files]]\nglob = {}\n", quoted(&glob)));
            if *environment {
                text.push_str("environment = \"\"   # native, docker, chroot, ...\n");
            }
            if *model {
                text.push_str("model = \"\"\n");
            }
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
