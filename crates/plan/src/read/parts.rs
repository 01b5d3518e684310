//! Environments, models, workloads, and the cells left out.
//!
//! In:  tables of a suite.  Out: parts in the order of the file, with their kinds.
//! Not here: the settings of a kind.

use toml::de::{DeTable, DeValue};

use crate::cells::{Chooser, Restrictions, glob};
use crate::settings::{Entry, Value};
use crate::suite::NO_MODEL;
use crate::{Faults, Model, PageCache, Part, Settings, Skip, Suite};
use sparkbench_text::nearest::did_you_mean;
use sparkbench_text::slug::slug;

/// Longest label: three of them, a position and a repeat make the name of a run.
pub(super) const LABEL_MAX: usize = 60;

/// Keys of an environment that the plan takes itself.
pub(super) const ENVIRONMENT_KEYS: &[&str] = &["kind", "page_cache"];
/// Keys of a workload that the plan takes itself. `environments` and `models` are examined here and read with the kind.
pub(super) const WORKLOAD_KEYS: &[&str] = &["kind"];

/// Keys of a table of the file, in their order there.
pub(super) fn in_order(document: &DeTable<'_>, name: &str) -> Vec<String> {
    let found = document.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value.get_ref());
    let Some(DeValue::Table(table)) = found else { return Vec::new() };
    let mut labels: Vec<(usize, String)> =
        table.keys().map(|key| (key.span().start, key.get_ref().to_string())).collect();
    labels.sort();
    labels.into_iter().map(|(_, label)| label).collect()
}

/// `a, b, c`, or that there is none.
pub(super) fn listed(labels: &[String]) -> String {
    if labels.is_empty() { "none yet".to_owned() } else { labels.join(", ") }
}

/// `[environments.LABEL]`.
pub(super) fn environments(
    table: Option<&Settings>,
    labels: &[String],
    kinds: &[&str],
    faults: &mut Faults,
) -> Vec<Part> {
    if labels.is_empty() {
        faults.add(
            table.map(|table| table.line),
            "environments",
            if table.is_some() { "hold no environment" } else { "are missing" },
            "add one table for each, e.g. [environments.native]",
        );
    }
    let mut found = parts(table, labels, "environment", kinds, ENVIRONMENT_KEYS, faults);
    for part in &mut found {
        let mut reader = part.settings.reader(faults);
        let words = [PageCache::Keep.word(), PageCache::Drop.word()];
        part.page_cache = reader
            .choice("page_cache", &words)
            .map(|word| if word == PageCache::Drop.word() { PageCache::Drop } else { PageCache::Keep });
    }
    found
}

/// `[workloads.LABEL]`.
pub(super) fn workloads(table: Option<&Settings>, labels: &[String], kinds: &[&str], faults: &mut Faults) -> Vec<Part> {
    if labels.is_empty() {
        faults.add(
            table.map(|table| table.line),
            "workloads",
            if table.is_some() { "hold no workload" } else { "are missing" },
            "add one table for each, e.g. [workloads.gpu-probe]",
        );
    }
    parts(table, labels, "workload", kinds, WORKLOAD_KEYS, faults)
}

fn parts(
    table: Option<&Settings>,
    labels: &[String],
    what: &str,
    kinds: &[&str],
    taken: &'static [&'static str],
    faults: &mut Faults,
) -> Vec<Part> {
    let Some(table) = table else { return Vec::new() };
    let mut parts = Vec::new();
    for label in labels {
        let Some((entry, settings)) = labelled(table, label, faults) else { continue };
        let mut reader = settings.reader(faults);
        let named = reader.has("kind");
        let kind = if named { reader.text("kind") } else { Some(label.clone()) };
        if let Some(kind) = kind.as_deref().filter(|kind| !kinds.contains(kind)) {
            let near = did_you_mean(kind, kinds.iter().copied());
            let remedy = format!("{near}kinds of {what}: {}", kinds.join(", "));
            if named {
                reader.fault("kind", format!("is \"{kind}\", which is not a kind of {what}"), remedy);
            } else {
                let what = format!("is missing, and the label \"{kind}\" is not a kind of {what}");
                faults.add(Some(entry.line), format!("{}.kind", settings.path), what, remedy);
            }
        }
        parts.push(Part {
            label: label.clone(),
            kind: kind.unwrap_or_default(),
            page_cache: None,
            settings: settings.clone(),
            taken,
        });
    }
    parts
}

/// The table of a label. The label must be lawful as a name of files, containers and addresses, unchanged.
fn labelled<'a>(table: &'a Settings, label: &str, faults: &mut Faults) -> Option<(&'a Entry, &'a Settings)> {
    let entry = table.entries.get(label)?;
    let key = format!("{}.{label}", table.path);
    let safe = slug(label);
    if safe != label {
        let remedy = format!("use only small letters, digits, '-', '_' and '.', e.g. \"{safe}\"");
        faults.add(Some(entry.line), key.clone(), format!("has a label that is not a plain name: \"{label}\""), remedy);
    } else if label.len() > LABEL_MAX {
        let what = format!("has a label of {} characters", label.len());
        faults.add(Some(entry.line), key.clone(), what, format!("at most {LABEL_MAX}"));
    }
    match &entry.value {
        Value::Table(settings) => Some((entry, settings)),
        other => {
            faults.add(
                Some(entry.line),
                key.clone(),
                format!("holds {}", other.kind()),
                format!("make it a table: [{key}]"),
            );
            None
        }
    }
}

/// `[models.LABEL]`. One without a name where the suite has none.
pub(super) fn models(table: Option<&Settings>, labels: &[String], faults: &mut Faults) -> Vec<Model> {
    let mut models = Vec::new();
    for label in labels {
        let Some((entry, settings)) = table.and_then(|table| labelled(table, label, faults)) else { continue };
        if label == NO_MODEL {
            let what = format!("has the label \"{NO_MODEL}\", which stands for \"no model\"");
            faults.add(Some(entry.line), settings.path.clone(), what, "choose another label");
        }
        let mut reader = settings.reader(faults);
        models.push(Model {
            label: label.clone(),
            id: reader.text("id"),
            title: reader.text("title"),
            path: reader.text("path"),
            revision: reader.text("revision"),
            quantisation: reader.text("quantisation").or_else(|| reader.text("quantization")),
        });
        reader.finish();
    }
    if models.is_empty() {
        models.push(Model { label: NO_MODEL.to_owned(), ..Model::default() });
    }
    models
}

/// `[[skip]]`, and the globs of the workloads: each must match something, or it is a slip of the pen.
pub(super) fn skips(tables: &[&Settings], suite: &Suite, faults: &mut Faults) -> Vec<Skip> {
    let environments: Vec<&str> = suite.environments.iter().map(|part| part.label.as_str()).collect();
    let models: Vec<&str> = suite.models.iter().map(|model| model.label.as_str()).collect();
    let workloads: Vec<&str> = suite.workloads.iter().map(|part| part.label.as_str()).collect();
    for part in &suite.workloads {
        for (key, labels) in [("environments", &environments), ("models", &models)] {
            let Some(Entry { value: Value::List(items), .. }) = part.settings.entries.get(key) else { continue };
            for item in items {
                if let Value::Text(pattern) = &item.value {
                    let key = format!("{}.{key}", part.settings.path);
                    check(pattern, labels, item.line, &key, faults);
                }
            }
        }
    }
    let mut skips = Vec::new();
    for table in tables {
        let mut reader = table.reader(faults);
        let skip = Skip {
            environment: reader.text("environment"),
            model: reader.text("model"),
            workload: reader.text("workload"),
            reason: reader
                .required_text("reason", "give the reason: the pages show it in place of the figures")
                .unwrap_or_default(),
        };
        if skip.environment.is_none() && skip.model.is_none() && skip.workload.is_none() {
            reader.fault(
                "environment",
                "is missing, and model and workload too",
                "name at least one, or remove the skip",
            );
        }
        reader.finish();
        let globs = [
            ("environment", &skip.environment, &environments),
            ("model", &skip.model, &models),
            ("workload", &skip.workload, &workloads),
        ];
        let sound = globs.into_iter().fold(true, |sound, (key, pattern, labels)| {
            let line = table.entries.get(key).map_or(table.line, |entry| entry.line);
            let key = format!("{}.{key}", table.path);
            pattern.as_ref().is_none_or(|pattern| check(pattern, labels, line, &key, faults)) && sound
        });
        let alone = Suite { skip: vec![skip.clone()], ..suite.clone() };
        let (chooser, restrictions) = (Chooser::of(&alone), Restrictions::of(&alone));
        let hits = suite.cells().any(|cell| restrictions.allows(&cell) && chooser.left_out(&cell).is_some());
        if sound && !hits && !suite.environments.is_empty() && !suite.workloads.is_empty() {
            faults.add(
                Some(table.line),
                table.path.clone(),
                "leaves out no cell",
                "remove it: what it names is not planned anyway",
            );
        }
        skips.push(skip);
    }
    skips
}

/// False, with a fault, when a glob is invalid or matches no label.
fn check(pattern: &str, labels: &[&str], line: usize, key: &str, faults: &mut Faults) -> bool {
    match glob(pattern) {
        Ok(matcher) if labels.iter().any(|label| matcher.is_match(label)) => true,
        Ok(_) => {
            let remedy = format!("{}labels: {}", did_you_mean(pattern, labels.iter().copied()), labels.join(", "));
            faults.add(Some(line), key, format!("\"{pattern}\" matches nothing"), remedy);
            false
        }
        Err(cause) => {
            faults.add(
                Some(line),
                key,
                format!("\"{pattern}\" is not a glob: {}", cause.kind()),
                "use * and ?, e.g. docker*",
            );
            false
        }
    }
}
