//! `data/VERSIONS.md`: the versions of everything that was measured, as the archives say them, and of the analysis.
//!
//! In:  the analysis, `campaign.json` of the archives that have one.  Out: Markdown.
//! Not here: any judgement of versions (see the traps on engines and settings).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::PathBuf;

use serde_json::Value;

use sparkbench_archive::{self as archive, Scrub, WHOLE_LIMIT};
use sparkbench_text::escape::markdown as escape;
use sparkbench_verdict::report::{Analysis, RunReport};

/// Parts of a name that make its value a version of something, or what something is.
const WORDS: &[&str] = &[
    "version",
    "driver",
    "cuda",
    "image",
    "digest",
    "release",
    "kernel",
    "commit",
    "revision",
    "os",
    "firmware",
    "vbios",
    "microcode",
    "sha256",
    "model",
    "architecture",
    "tool",
    "engine",
    "python",
    "torch",
    "toolkit",
    "compiler",
    "virtualisation",
];

/// Parts of an archive that speak of versions and have none: what could not be read, weaknesses of the processor.
const ELSEWHERE: &[&str] = &["absent", "vulnerabilities"];

/// Lists longer than this (packages of an image) are counted, not listed.
const LISTED: usize = 12;
/// Longest value that is a version and no text.
const LONGEST: usize = 200;

/// The file.
pub(super) fn markdown(analysis: &Analysis, paths: &[PathBuf], scrub: Option<&Scrub>) -> String {
    let mut out = String::from("# Versions\n\n");
    let settings = &analysis.settings;
    // Writing to a string does not fail. The results of `writeln!` are let go throughout.
    let _ = writeln!(
        out,
        "Analysis: {} {}, schema {}, {} bootstrap draws, seed {}. The same version gives the same bytes from the same files.\n",
        analysis.tool.name, analysis.tool.version, analysis.schema, settings.resamples, settings.seed
    );
    let archives = of_archives(paths);
    for campaign in &analysis.campaigns {
        let _ = writeln!(out, "## {}\n", escape(&campaign.title));
        let _ = writeln!(out, "Files: SHA-256 {}\n", campaign.archive_sha256);
        for line in &campaign.provenance {
            let _ = writeln!(out, "- {}", escape(line));
        }
        if !campaign.provenance.is_empty() {
            out.push('\n');
        }
        let runs: Vec<&RunReport> = analysis.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        table(&mut out, "What the runs say", "Runs", &of_runs(&runs));
        if let Some(archive) = archives.get(&campaign.name) {
            let said: BTreeMap<(String, String), usize> = archive
                .iter()
                .map(|(name, value)| {
                    let text = |text: &str| scrub.map_or_else(|| text.to_owned(), |scrub| scrub.text("versions", text));
                    let value = scrub.map_or_else(|| value.clone(), |scrub| scrub.setting("versions", name, value));
                    ((text(name), value), 0)
                })
                .collect();
            table(&mut out, "What campaign.json says", "", &said);
        }
    }
    out
}

fn table(out: &mut String, title: &str, count: &str, rows: &BTreeMap<(String, String), usize>) {
    let counted = !count.is_empty();
    if rows.is_empty() {
        if counted {
            out.push_str("The runs name no version of anything.\n\n");
        }
        return;
    }
    let _ = writeln!(out, "{title}:\n");
    out.push_str(if counted {
        "| What | Version | Runs |\n| --- | --- | ---: |\n"
    } else {
        "| What | Version |\n| --- | --- |\n"
    });
    for ((what, value), times) in rows {
        let (what, value) = (escape(what), escape(value));
        let _ = if counted {
            writeln!(out, "| {what} | {value} | {times} |")
        } else {
            writeln!(out, "| {what} | {value} |")
        };
    }
    out.push('\n');
}

/// What, which, in how many runs.
fn of_runs(runs: &[&RunReport]) -> BTreeMap<(String, String), usize> {
    let mut rows = BTreeMap::new();
    let mut add = |what: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            *rows.entry((what.to_owned(), value.to_owned())).or_default() += 1;
        }
    };
    for run in runs {
        let setup = &run.setup;
        let joined = |name: &Option<String>, version: &Option<String>| {
            name.as_ref().map(|name| {
                version.as_ref().map_or_else(|| format!("{name}, version not recorded"), |v| format!("{name} {v}"))
            })
        };
        add("machine", setup.machine.as_deref());
        add("engine", joined(&setup.engine, &setup.engine_version).as_deref());
        add("benchmark", joined(&setup.tool, &setup.tool_version).as_deref());
        add("model asked for", setup.model_id.as_deref());
        add("model that ran", setup.model_served.as_deref());
        add("quantisation", setup.quantisation.as_deref());
        for (name, value) in setup.more.iter().filter(|(name, value)| tells(name) && value.len() <= LONGEST) {
            add(name, Some(value));
        }
    }
    rows
}

fn tells(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let parts: BTreeSet<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    WORDS.iter().any(|word| parts.contains(word))
}

/// What `campaign.json` says, by the name of the campaign.
fn of_archives(paths: &[PathBuf]) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut archives = BTreeMap::new();
    // What cannot be read is told by the intake.
    let found = archive::discover(paths).map(|found| found.files).unwrap_or_default();
    for file in
        found.iter().filter(|file| file.path.rsplit('/').next() == Some("campaign.json") && file.bytes < WHOLE_LIMIT)
    {
        let mut bytes = Vec::new();
        let read = file.open().and_then(|open| open.take(WHOLE_LIMIT).read_to_end(&mut bytes));
        let parsed = read.ok().and_then(|_| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(campaign) = parsed else { continue };
        let Some(name) = campaign.get("name").and_then(Value::as_str) else { continue };
        let mut rows = BTreeSet::new();
        for part in ["tool", "machine", "host", "environments"] {
            if let Some(value) = campaign.get(part) {
                collect(part, value, tells(part) && !value.is_object(), &mut rows);
            }
        }
        archives.insert(name.to_owned(), rows);
    }
    archives
}

/// Leaves whose name, or that of the list or object around them, tells a version.
fn collect(path: &str, value: &Value, telling: bool, rows: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !ELSEWHERE.contains(&name.as_str())) {
                collect(&format!("{path}.{name}"), field, tells(name) || (telling && !field.is_object()), rows);
            }
        }
        Value::Array(items) if items.len() > LISTED && items.iter().all(Value::is_string) => {
            rows.insert((path.to_owned(), format!("{} entries, listed in campaign.json", items.len())));
        }
        Value::Array(items) if telling || items.iter().any(Value::is_object) => {
            items.iter().for_each(|item| collect(path, item, telling, rows));
        }
        // A path is no version, and tells of a machine what nobody asked.
        Value::String(text) if telling && !text.is_empty() && text.len() <= LONGEST && !text.starts_with('/') => {
            rows.insert((path.to_owned(), text.clone()));
        }
        Value::Number(number) if telling => drop(rows.insert((path.to_owned(), number.to_string()))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_are_told_from_other_facts_of_a_host() {
        let host = json!({
            "system": {"kernel": "6.8.0", "os": "Debian 12", "uptime_s": 12.5, "cmdline": "quiet"},
            "gpus": [{"driver_version": "580.95.05", "memory_gib": 128, "position": 0}],
            "absent": {"driver": "none"},
            "image": {"digest": "sha256:ab", "image_env": "/srv/x.env", "packages": vec!["x 1"; 20]},
        });
        let mut rows = BTreeSet::new();
        collect("host", &host, false, &mut rows);
        let said: Vec<String> = rows.into_iter().map(|(what, value)| format!("{what} = {value}")).collect();
        assert_eq!(
            said,
            [
                "host.gpus.driver_version = 580.95.05",
                "host.image.digest = sha256:ab",
                "host.image.packages = 20 entries, listed in campaign.json",
                "host.system.kernel = 6.8.0",
                "host.system.os = Debian 12"
            ]
        );
    }
}
