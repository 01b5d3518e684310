//! Whether an archive was begun with what is typed now.
//!
//! In:  a folder, the suite that says what was typed.  Out: an error that names each setting that is another one.
//! Not here: going on with the archive (see `archive`), files of `--json` (see `resume`).

use std::path::Path;

use toml::{Table, Value as Toml};

use super::archived::WORKLOAD;
use super::resume::Differences;
use sparkbench_archive::manifest::CAMPAIGN_FILE;
use sparkbench_archive::{hash, read_campaign, shown};
use sparkbench_load::session::earlier::SettingChange;
use sparkbench_load::settings::OPTIONS;
use sparkbench_text::error::Error;

/// Holds what is typed now against what the archive was begun with. One that does not exist is begun.
///
/// # Errors
/// Of usage, with each setting. Of an archive, where it cannot be read.
pub(super) fn expect_same(archive: &Path, text: &str) -> Result<(), Error> {
    if !archive.join(CAMPAIGN_FILE).exists() {
        return Ok(());
    }
    let wire = read_campaign(archive)?;
    if wire.suite_sha256.as_deref() == Some(hash(text.as_bytes()).as_str()) {
        return Ok(());
    }
    let read = |text: &str| text.parse::<Table>().unwrap_or_default();
    let (was, now) = (read(wire.suite.as_deref().unwrap_or_default()), read(text));
    let mut others = Differences::default();
    compare(&mut Vec::new(), Some(&Toml::Table(was)), Some(&Toml::Table(now)), &mut others);
    others.into_result(
        &format!("'{}'", shown(archive)),
        "give the settings of then, or begin another archive with --archive ANOTHER-FOLDER",
    )
}

/// Adds each value that is another one.
fn compare(path: &mut Vec<String>, was: Option<&Toml>, now: Option<&Toml>, others: &mut Differences) {
    if was == now {
        return;
    }
    let of_tables = [was, now].map(|side| side.is_none_or(Toml::is_table));
    let whole =
        path.len() == 2 && path.first().is_some_and(|first| first == "workloads") && (was.is_none() || now.is_none());
    if of_tables == [true, true] && !whole {
        let [was, now] = [was, now].map(|side| side.and_then(Toml::as_table).cloned().unwrap_or_default());
        let more = now.keys().filter(|key| !was.contains_key(*key));
        for key in was.keys().chain(more) {
            path.push(key.clone());
            compare(path, was.get(key), now.get(key), others);
            path.pop();
        }
        return;
    }
    let shown = |side: Option<&Toml>| match side {
        _ if whole => if side.is_some() { "asked for" } else { "not asked for" }.to_owned(),
        None => "not set".to_owned(),
        Some(Toml::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let (load, setting) = place(path);
    others.add(load, SettingChange { setting, was: shown(was), now: shown(now) });
}

/// The load that a value of the suite is of, and its setting as it is typed.
fn place(path: &[String]) -> (&str, String) {
    let option = |key: &str| {
        let option = OPTIONS.iter().find(|option| option.key == key).and_then(|option| option.option());
        option.map_or_else(|| key.to_owned(), |option| format!("--{option}"))
    };
    match path {
        [first, label, table, key, ..] if first == "workloads" && table == "load" => (point(label), option(key)),
        [first, _, table, key, ..] if first == "workloads" && table == "attach" => ("", format!("--{key}")),
        [first, label] if first == "workloads" => ("", format!("load {}", point(label))),
        [key] if ["seed", "repeats"].contains(&key.as_str()) => ("", format!("--{key}")),
        _ => ("", path.join(".")),
    }
}

/// Name of the load that a label is made of.
fn point(label: &str) -> &str {
    label.strip_prefix(WORKLOAD).map_or(label, |rest| rest.trim_start_matches('-'))
}
