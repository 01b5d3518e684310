//! A folder, a line each file: format, tool, model, runs, and what is joined to what.
//!
//! In:  a folder.  Out: a table for people with the rules below it, or JSON with the same.
//! Not here: joining (see `ingest`), what one file says (see `inspect`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cli::talk::wrap;
use sparkbench_archive::manifest::{CAMPAIGN_FILE, JOURNAL_FILE, RUN_FILE, RUNS_FOLDER, SEAL_FILE};
use sparkbench_archive::{self as archive, Discovery};
use sparkbench_ingest::{self as ingest, Intake, Options};
use sparkbench_model::{Altered, Campaign};
use sparkbench_text::error::Error;
use sparkbench_text::plural;

/// Files named below the table for one reason. The rest is counted.
const NAMED: usize = 3;
/// Characters between two columns.
const GAP: usize = 2;
/// Widest columns of format, model and what is joined. The name of the file has what is left.
const WIDEST: [usize; 3] = [26, 20, 30];
/// Narrowest column of names.
const NAME_MIN: usize = 16;

/// One file.
#[derive(Default)]
struct Row {
    path: String,
    format: Option<String>,
    tools: BTreeSet<String>,
    models: BTreeSet<String>,
    /// Runs of which it is the main file.
    runs: usize,
    /// Files joined to its runs, each with the rule.
    joined: BTreeMap<String, String>,
    /// Main files of the runs that it is joined to, each with the rule and the number of runs.
    joined_to: BTreeMap<String, (String, usize)>,
    not_joined: Option<String>,
    left_out: bool,
    remarks: Option<String>,
    /// What became of it since its hash was recorded.
    altered: Option<Altered>,
}

/// All files of a folder.
pub(super) struct List {
    folder: String,
    rows: Vec<Row>,
    runs: usize,
    /// Why nothing of a file could be read.
    refused: Vec<Error>,
}

impl List {
    /// Reads everything below the folder.
    ///
    /// # Errors
    /// When there is nothing to read.
    pub(super) fn of(folder: &Path) -> Result<Self, Error> {
        let found = archive::discover(&[folder.to_path_buf()])?;
        let intake =
            ingest::all(&found, &Options { derive: Some(sparkbench_verdict::derive::all), ..Options::default() })?;
        let odd = odd_records(&found);
        // A link is passed over like everything that it leads to.
        let is_link = |disk: &Path| std::fs::symlink_metadata(disk).is_ok_and(|meta| meta.is_symlink());
        let unread = found.unread.iter().filter(|unread| !is_link(&unread.disk) && !odd.contains_key(&unread.path));
        let unread = unread.map(|unread| (&unread.path, &unread.reason)).chain(&odd);
        let unread = unread.map(|(path, why)| Error::archive(format!("cannot read '{path}': {why}")));
        let refused = intake.refused.iter().cloned().chain(unread).collect();
        Ok(Self { folder: archive::shown(folder), rows: rows(&intake), runs: intake.runs.len(), refused })
    }

    /// The error for files of which nothing could be read, of the kind of the worst of them. Absent where there are none.
    pub(super) fn failure(&self) -> Option<Error> {
        let worst = self.refused.iter().max_by_key(|error| error.kind.exit_code())?;
        let what = format!("{} of '{}' could not be read", plural::count(self.refused.len(), "file"), self.folder);
        let error = Error::new(worst.kind, what).detail(worst.in_short());
        Some(error.hint("`sparkbench inspect FILE` says more about one of them"))
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        let row = |row: &Row| {
            let mut map = Map::new();
            map.insert("path".into(), json!(row.path));
            map.insert("format".into(), json!(row.format));
            map.insert("tools".into(), json!(row.tools));
            map.insert("models".into(), json!(row.models));
            map.insert("runs".into(), json!(row.runs));
            let joined = row.joined.iter().map(|(path, rule)| json!({"path": path, "rule": rule}));
            map.insert("joined".into(), joined.collect());
            let to = row.joined_to.iter();
            let to = to.map(|(path, (rule, runs))| json!({"path": path, "runs": runs, "rule": rule}));
            map.insert("joined_to".into(), to.collect());
            map.insert("not_joined".into(), json!(row.not_joined));
            map.insert("left_out".into(), json!(row.left_out));
            map.insert("remarks".into(), json!(row.remarks));
            map.insert("altered".into(), json!(row.altered));
            Value::Object(map)
        };
        json!({"folder": self.folder, "runs": self.runs, "files": self.rows.iter().map(row).collect::<Vec<Value>>()})
    }

    /// For people, as wide as the terminal.
    pub(super) fn text(&self, width: usize) -> String {
        let mut lines: Vec<[String; 5]> = self.rows.iter().map(cells).collect();
        let widest = |lines: &[[String; 5]], column: usize, least: usize, most: usize| {
            lines.iter().map(|line| length(&line[column])).max().unwrap_or(0).clamp(least, most)
        };
        let [format, model] = [(1, 13), (2, 5)].map(|(at, least)| widest(&lines, at, least, WIDEST[at - 1]));
        let runs = widest(&lines, 3, 4, 8);
        let left = width.saturating_sub(2 + format + model + runs + 4 * GAP);
        let longest = widest(&lines, 0, 4, usize::MAX);
        let mut joined = widest(&lines, 4, 6, WIDEST[2]);
        if longest + joined > left {
            // Names tell files apart. What is joined is named below the table then.
            lines.iter_mut().zip(&self.rows).for_each(|(line, row)| line[4] = number_joined(row));
            joined = widest(&lines, 4, 6, WIDEST[2]);
        }
        let name = left.saturating_sub(joined).max(NAME_MIN).min(longest);
        let line = |[file, kind, of, count, with]: [&str; 5]| {
            let row = format!(
                "  {:name$}  {:format$}  {:model$}  {count:>runs$}  {}",
                cut(file, name),
                cut(kind, format),
                cut(of, model),
                cut(with, joined)
            );
            format!("{}\n", row.trim_end())
        };
        let mut out = line(["file", "format (tool)", "model", "runs", "joined"]);
        let mut at = None;
        for (row, [file, kind, of, count, with]) in self.rows.iter().zip(&lines) {
            let folder = row.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
            if at.replace(folder) != Some(folder) {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{}/", cut(folder, width.saturating_sub(1)));
            }
            out.push_str(&line([file, kind, of, count, with]));
        }
        self.reasons(&mut out, width);
        out
    }

    /// Below the table: which rule joined, what was joined to nothing, what was left out.
    fn reasons(&self, out: &mut String, width: usize) {
        let mut rules: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for row in &self.rows {
            for (main, (rule, _)) in &row.joined_to {
                let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
                let beside = row.path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
                let main = if beside { main.rsplit('/').next().unwrap_or(main) } else { main };
                rules.entry(rule).or_default().insert(format!("{} to {main}", row.path));
            }
        }
        section(out, width, "joined to runs", &rules);
        let of = |read: &dyn Fn(&Row) -> Option<&str>| {
            let mut reasons: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for row in &self.rows {
                if let Some(why) = read(row) {
                    reasons.entry(why.to_owned()).or_default().insert(row.path.clone());
                }
            }
            reasons
        };
        section(out, width, "joined to no run", &of(&|row| row.not_joined.as_deref()));
        let altered = |row: &Row| row.altered.as_ref().map(|altered| altered.kind.word());
        section(out, width, "not what was recorded", &of(&|row| altered(row)));
        section(out, width, "something left out", &of(&|row| row.remarks.as_deref().filter(|_| row.left_out)));
        let count = |is: &dyn Fn(&Row) -> bool| self.rows.iter().filter(|row| is(row)).count();
        let _ = writeln!(
            out,
            "\n{}: {} in {} of them. Files joined to a run: {}, to no run: {}, with something left out: {}",
            plural::count(self.rows.len(), "file"),
            plural::count(self.runs, "run"),
            count(&|row| row.runs > 0),
            count(&|row| !row.joined_to.is_empty()),
            count(&|row| row.not_joined.is_some()),
            count(&|row| row.left_out),
        );
    }
}

/// A title, and for each reason the files that it holds for.
fn section<K: AsRef<str>>(out: &mut String, width: usize, title: &str, reasons: &BTreeMap<K, BTreeSet<String>>) {
    if reasons.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    for (why, paths) in reasons {
        let count = plural::count(paths.len(), "file");
        for (at, line) in wrap(&format!("{count}: {}", why.as_ref()), width.saturating_sub(4)).iter().enumerate() {
            let _ = writeln!(out, "  {}{line}", if at == 0 { "" } else { "  " });
        }
        for path in paths.iter().take(NAMED) {
            for (at, line) in wrap(path, width.saturating_sub(8)).iter().enumerate() {
                let _ =
                    writeln!(out, "      {}{}", if at == 0 { "" } else { "  " }, cut(line, width.saturating_sub(8)));
            }
        }
        if paths.len() > NAMED {
            let _ = writeln!(out, "      and {} more", paths.len() - NAMED);
        }
    }
}

/// Records of the archives in a folder that are no plain files, such as a link or a folder, with the reason. Without them an archive says less
/// than it holds.
fn odd_records(found: &Discovery) -> BTreeMap<String, String> {
    let mut archives: BTreeMap<&str, &Path> = BTreeMap::new();
    for file in &found.files {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let disk = file.disk.parent();
        let of_run = || {
            // `runs/ID/run.json`
            let runs = folder.rsplit_once('/').map(|(runs, _)| runs)?;
            let archive = if runs == RUNS_FOLDER { "" } else { runs.strip_suffix(RUNS_FOLDER)?.strip_suffix('/')? };
            Some((archive, disk?.parent()?.parent()?))
        };
        let archive = match name {
            CAMPAIGN_FILE | JOURNAL_FILE | SEAL_FILE => disk.map(|disk| (folder, disk)),
            RUN_FILE => of_run(),
            _ => None,
        };
        archives.extend(archive.filter(|_| !file.alone));
    }
    let path = |folder: &str, name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
    let of_archive = |(folder, disk): (&str, &Path)| {
        let odd = archive::odd_records(disk).into_iter();
        odd.map(|(name, what)| (path(folder, name), format!("it is {what}, not a file"))).collect::<Vec<_>>()
    };
    archives.into_iter().flat_map(of_archive).collect()
}

fn rows(intake: &Intake) -> Vec<Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for input in &intake.inputs {
        rows.insert(
            &input.path,
            Row {
                path: input.path.clone(),
                format: input.format.clone(),
                not_joined: input.not_joined.clone(),
                left_out: input.skipped,
                remarks: input.reason.clone(),
                altered: input.altered.clone(),
                ..Row::default()
            },
        );
    }
    for run in &intake.runs {
        let main = run.source.path.as_str();
        for (file, rule) in run.files.iter().filter_map(|file| Some((file, file.joined.as_deref()?))) {
            if let Some(row) = rows.get_mut(file.path.as_str()) {
                row.joined_to.entry(main.to_owned()).or_insert_with(|| (rule.to_owned(), 0)).1 += 1;
            }
            if let Some(row) = rows.get_mut(main) {
                row.joined.insert(file.path.clone(), rule.to_owned());
            }
        }
        if let Some(row) = rows.get_mut(main) {
            row.runs += 1;
            row.tools.extend(run.setup.tool.clone());
            row.models.extend(Some(run.model.clone()).filter(|model| model != Campaign::UNLABELLED));
        }
    }
    rows.into_values().collect()
}

/// File, format with the tool, model, runs, what is joined.
fn cells(row: &Row) -> [String; 5] {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let several = |all: &BTreeSet<String>, what: &str| match all.len() {
        0 | 1 => all.first().cloned().unwrap_or_default(),
        many => format!("{many} {what}"),
    };
    let format = row.format.clone().unwrap_or_else(|| "not known".to_owned());
    let tool = several(&row.tools, "tools");
    // Most formats have the name of their tool.
    let format = if tool.is_empty() || format.starts_with(&tool) { format } else { format!("{format} ({tool})") };
    let only = |paths: &mut dyn Iterator<Item = &String>| paths.next().map(|path| name(path)).unwrap_or_default();
    let joined = match (row.joined.len(), row.joined_to.len()) {
        (0, 1) => format!("to {}", only(&mut row.joined_to.keys())),
        (1, _) => format!("+ {}", only(&mut row.joined.keys())),
        _ => number_joined(row),
    };
    let runs = if row.runs == 0 { String::new() } else { row.runs.to_string() };
    [name(&row.path), format, several(&row.models, "models"), runs, joined]
}

/// What is joined, in numbers.
fn number_joined(row: &Row) -> String {
    let to: usize = row.joined_to.values().map(|(_, runs)| runs).sum();
    match row.joined.len() {
        0 if to > 0 => format!("to {}", plural::count(to, "run")),
        0 if row.not_joined.is_some() => "to no run".to_owned(),
        0 => String::new(),
        files => format!("+ {}", plural::count(files, "file")),
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// At most so many characters: the beginning and the end, which tell files of one folder apart. No control character passes.
fn cut(text: &str, width: usize) -> String {
    let clean: Vec<char> = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if clean.len() <= width {
        return clean.into_iter().collect();
    }
    let left = width.saturating_sub(3);
    let (head, tail) = (left - left / 2, left / 2);
    let end = clean.len().saturating_sub(tail);
    let (head, end): (String, String) = (clean.iter().take(head).collect(), clean.iter().skip(end).collect());
    format!("{head}...{end}")
}
