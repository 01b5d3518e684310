//! The report line of every file: its reader, the number of its runs, what was left out and why.
//!
//! In:  looks, and the additions of assembly.  Out: [`Input`]s, by path.
//! Not here: deciding which files are left out.

use std::collections::BTreeMap;

use super::format::Look;
use super::one_line::one_line;
use super::{JoinRole, PartialRun};
use sparkbench_archive::Discovery;
use sparkbench_model::{Altered, Setup, Source};
use sparkbench_model::{Input, Loss};
use sparkbench_text::error::Error;

/// Messages shown of one file. The rest is counted. Ten thousand bad rows have one cause.
const SHOWN: usize = 5;

/// Files named in a line on several. The rest is counted.
const NAMED: usize = 3;

/// A line for each input that was left out, and one line for many of one kind of reason: twenty thousand unknown files have one cause.
pub fn left_out(inputs: &[Input]) -> Vec<String> {
    let mut kinds: Vec<Vec<(&str, &str)>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for input in inputs.iter().filter(|input| input.skipped) {
        let why = input.reason.as_deref().unwrap_or("left out");
        let place = *places.entry(kind_of(why)).or_insert(kinds.len());
        match kinds.get_mut(place) {
            Some(files) => files.push((&input.path, why)),
            None => kinds.push(vec![(&input.path, why)]),
        }
    }
    kinds.iter().flat_map(|files| lines_of(files, "are left out for one kind of reason. Of the first")).collect()
}

/// What is said of files of one kind: of each file, or of the first of many.
fn lines_of(files: &[(&str, &str)], many: &str) -> Vec<String> {
    match files {
        [(_, first), ..] if files.len() > NAMED => {
            let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
            vec![format!("{} {many}: {first}", several(&paths))]
        }
        _ => files.iter().map(|(path, why)| format!("{path}: {why}")).collect(),
    }
}

/// `3 files (a, b, c)`, or the first ones of more.
fn several(paths: &[&str]) -> String {
    let named = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if paths.len() > NAMED { ", ..." } else { "" };
    format!("{} files ({named}{more})", paths.len())
}

/// What several reasons have in common: their words up to the first comma, without figures and without what they quote.
fn kind_of(why: &str) -> String {
    let mut kind = String::with_capacity(why.len());
    let (mut quote, mut before) = (None, ' ');
    for letter in why.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') if !before.is_alphanumeric() => quote = Some(letter),
            (None, ',') => break,
            (None, '0'..='9') if kind.ends_with('#') => {}
            (None, '0'..='9') => kind.push('#'),
            (None, _) => kind.push(letter),
        }
        before = letter;
    }
    kind
}

struct Entry {
    path: String,
    /// Its bytes in base64, where the path does not spell them.
    name_bytes: Option<String>,
    format: Option<String>,
    sha256: Option<String>,
    runs: usize,
    left_out: Vec<String>,
    more_left_out: usize,
    notes: Vec<String>,
    not_joined: Option<String>,
    altered: Option<Altered>,
    /// What changes the meaning of its figures.
    warned: Option<String>,
    /// File in another folder whose runs it repeats.
    copy_of: Option<String>,
    /// Whether it is a snapshot of the machine, which needs no warning.
    look: bool,
}

/// All files, by number.
pub(super) struct FileReport {
    entries: Vec<Entry>,
    unread: Vec<Input>,
    refused: Vec<Error>,
    warnings: Vec<String>,
}

impl FileReport {
    /// One entry for each file, and a finished line for everything that the walk could not open.
    pub(super) fn new(found: &Discovery, looks: &[Look]) -> Self {
        let entries = found
            .files
            .iter()
            .zip(looks)
            .map(|(file, look)| Entry {
                path: file.path.clone(),
                name_bytes: (file.name != file.path.as_str()).then(|| file.name.base64()),
                format: match &look.outcome {
                    Ok(parsed) if !parsed.kinds.is_empty() => Some(parsed.kinds.join(" + ")),
                    _ => look.format.map(str::to_owned),
                },
                sha256: look.sha256.clone(),
                runs: 0,
                left_out: Vec::new(),
                more_left_out: 0,
                notes: Vec::new(),
                not_joined: None,
                altered: None,
                warned: None,
                copy_of: None,
                look: false,
            })
            .collect();
        let unread = found
            .unread
            .iter()
            .map(|unread| Input {
                path: unread.path.clone(),
                name_bytes: None,
                format: None,
                sha256: None,
                runs: 0,
                skipped: true,
                reason: Some(unread.reason.clone()),
                not_joined: None,
                altered: None,
            })
            .collect();
        let passed: Vec<&str> = found.passed_over.iter().map(String::as_str).collect();
        let warnings = match passed.as_slice() {
            [] => Vec::new(),
            [one] => vec![format!("{one} is passed over: it holds packages or a cache, and no results")],
            _ => vec![format!(
                "{} are passed over: they hold packages or caches, and no results",
                several(&passed).replacen("files", "folders", 1)
            )],
        };
        Self { entries, unread, refused: Vec::new(), warnings }
    }

    /// Something of the file is left out.
    pub(super) fn leave_out(&mut self, number: usize, error: &Error) {
        if let Some(entry) = self.entries.get_mut(number) {
            if entry.left_out.len() < SHOWN {
                entry.left_out.push(one_line(error));
            } else {
                entry.more_left_out += 1;
            }
        }
    }

    /// Nothing of the file could be read.
    pub(super) fn refuse(&mut self, number: usize, error: Error) {
        self.leave_out(number, &error);
        self.refused.push(error);
    }

    /// Everything of [`FileReport::refuse`], in order.
    pub(super) fn take_refused(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.refused)
    }

    /// Something that changes the meaning of the figures. It is shown before the verdicts.
    pub(super) fn warn(&mut self, line: String) {
        self.warnings.push(line);
    }

    /// The same of one file. Of one kind there is one line.
    pub(super) fn warn_of(&mut self, number: usize, what: &str) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.warned.get_or_insert_with(|| what.to_owned());
        }
    }

    /// Parts of the archive of a campaign that its owner gave up as lost. It is shown before the verdicts: runs that were made again in their
    /// place look like any other.
    pub(super) fn lost(&mut self, number: usize, lost: &[Loss]) {
        let path = self.entries.get(number).map_or("", |entry| entry.path.as_str());
        let named = lost.iter().take(NAMED).map(Loss::to_string).collect::<Vec<_>>().join(", ");
        let more = if lost.len() > NAMED { ", ..." } else { "" };
        let what = if lost.len() == 1 { "a loss is".to_owned() } else { format!("{} losses are", lost.len()) };
        self.warn(format!("{what} on record in {path}: {named}{more}. `sparkbench verify` lists every loss"));
    }

    /// A file is not what was recorded of it. One that is not there gets a line too.
    pub(super) fn altered(&mut self, altered: &Altered) {
        let place = self.entries.iter_mut().find(|entry| entry.path == altered.path).map(|entry| &mut entry.altered);
        let unread = self.unread.iter_mut().find(|input| input.path == altered.path).map(|input| &mut input.altered);
        match place.or(unread) {
            Some(place) => *place = Some(altered.clone()),
            None => self.unread.push(Input {
                path: altered.path.clone(),
                name_bytes: None,
                format: None,
                sha256: None,
                runs: 0,
                skipped: false,
                reason: None,
                not_joined: None,
                altered: Some(altered.clone()),
            }),
        }
    }

    /// Everything of [`FileReport::warn`], in order, then copies of runs in other folders and what was joined to no run: a line for each reason.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut lines = self.warnings.clone();
        let copies = self.entries.iter().filter_map(|entry| Some((entry.path.as_str(), entry.copy_of.as_deref()?)));
        let copies: Vec<(&str, &str)> = copies.collect();
        match copies.as_slice() {
            [] => {}
            [(copy, of)] => lines.push(format!("{copy} is a copy of {of} and is not counted")),
            [(copy, of), ..] => {
                let paths: Vec<&str> = copies.iter().map(|(copy, _)| *copy).collect();
                lines.push(format!(
                    "{} are copies of files in other folders and are not counted. The first, {copy}, is a copy of {of}",
                    several(&paths)
                ));
            }
        }
        let warned = self.by_kind(|entry| entry.warned.as_deref());
        lines.extend(warned.iter().flat_map(|files| lines_of(files, "have one fault. The first")));
        let unjoined = self.by_kind(|entry| entry.not_joined.as_deref().filter(|_| !entry.look));
        lines.extend(unjoined.iter().filter_map(|files| match files.as_slice() {
            [] => None,
            [(path, why)] => Some(format!("{path} was read and joined to no run: {why}")),
            [(_, why), ..] => {
                let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
                Some(format!("{} were read and joined to no run: {why}", several(&paths)))
            }
        }));
        lines
    }

    /// Files with what is said of them, together where it differs only in figures and names.
    fn by_kind<'e>(&'e self, said: impl Fn(&'e Entry) -> Option<&'e str>) -> Vec<Vec<(&'e str, &'e str)>> {
        let mut kinds: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
        for (entry, what) in self.entries.iter().filter_map(|entry| Some((entry, said(entry)?))) {
            kinds.entry(kind_of(what)).or_default().push((&entry.path, what));
        }
        kinds.into_values().collect()
    }

    /// The runs of a file are those of another one in another folder.
    pub(super) fn copied(&mut self, number: usize, of: &str) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.copy_of.get_or_insert_with(|| of.to_owned());
        }
    }

    /// Hash of the bytes of a file.
    pub(super) fn sha256(&self, number: usize) -> Option<&str> {
        self.entries.get(number)?.sha256.as_deref()
    }

    /// The file was read, describes runs, and belongs to none of the known ones.
    pub(super) fn joined_to_none(&mut self, number: usize, why: &str) {
        self.note(number, format!("joined to no run: {why}"));
        if let Some(entry) = self.entries.get_mut(number) {
            entry.not_joined = Some(why.to_owned());
        }
    }

    /// Nothing is left out, and a reader should know.
    pub(super) fn note(&mut self, number: usize, note: String) {
        if let Some(entry) = self.entries.get_mut(number)
            && entry.notes.len() < SHOWN
            && !entry.notes.contains(&note)
        {
            entry.notes.push(note);
        }
    }

    /// A detail that belongs to no run, for this reason.
    pub(super) fn orphan(&mut self, number: usize, partial: &PartialRun, why: &str) {
        match partial.telemetry.len() {
            0 if self.entries.get(number).is_some_and(|e| e.format.as_deref() == Some("log")) => {
                self.leave_out(
                    number,
                    &Error::archive("a log without any figure that is known, and without a result beside it"),
                );
            }
            0 if partial.extras.is_empty() && partial.series.is_empty() && partial.setup == Setup::default() => {
                self.note(number, "it holds nothing".to_owned());
            }
            samples => {
                self.joined_to_none(number, why);
                // It describes the machine, so nothing is lost that a figure could rest on.
                if samples <= 1 && partial.join_role == JoinRole::Detail && partial.series.is_empty() {
                    self.note(number, "kept and not analysed".to_owned());
                    if let Some(entry) = self.entries.get_mut(number) {
                        entry.look = true;
                    }
                }
            }
        }
    }

    /// A run came from these files.
    pub(super) fn count_run(&mut self, main: usize, others: impl Iterator<Item = usize>) {
        for number in std::iter::once(main).chain(others) {
            if let Some(entry) = self.entries.get_mut(number) {
                entry.runs += 1;
            }
        }
    }

    /// How a run names the file.
    pub(super) fn source(&self, number: usize) -> Source {
        self.entries.get(number).map_or_else(Source::default, |entry| Source {
            path: entry.path.clone(),
            format: entry.format.clone().unwrap_or_default(),
            sha256: entry.sha256.clone().unwrap_or_default(),
            joined: None,
        })
    }

    /// The finished lines, by path.
    pub(super) fn into_inputs(self) -> Vec<Input> {
        let mut inputs = self.unread;
        inputs.extend(self.entries.into_iter().map(|entry| {
            let skipped = !entry.left_out.is_empty();
            let mut words = entry.left_out;
            if entry.more_left_out > 0 {
                words.push(format!("and {} more of this kind", entry.more_left_out));
            }
            words.extend(entry.notes);
            Input {
                path: entry.path,
                name_bytes: entry.name_bytes,
                format: entry.format,
                sha256: entry.sha256,
                runs: entry.runs,
                skipped,
                reason: (!words.is_empty()).then(|| words.join("; ")),
                not_joined: entry.not_joined,
                altered: entry.altered,
            }
        }));
        inputs.sort_by(|a, b| a.path.cmp(&b.path));
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(path: &str, reason: &str) -> Input {
        Input {
            path: path.to_owned(),
            name_bytes: None,
            format: None,
            sha256: None,
            runs: 0,
            skipped: true,
            reason: Some(reason.to_owned()),
            not_joined: None,
            altered: None,
        }
    }

    /// Issue 32: 20,000 unknown files gave 20,000 lines.
    #[test]
    fn inputs_that_are_left_out_for_one_kind_of_reason_are_one_line_with_a_count() {
        let unknown =
            |path: &str| input(path, &format!("no known format has the keys of '{path}': it starts with 'x'"));
        let many: Vec<Input> = (0..20_000).map(|n| unknown(&format!("f{n:05}.json"))).collect();
        let lines = left_out(&many);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with("20000 files (f00000.json, f00001.json, f00002.json, ...) are left out"),
            "{lines:?}"
        );
        assert!(lines[0].ends_with("no known format has the keys of 'f00000.json': it starts with 'x'"), "{lines:?}");
        let two = left_out(&[input("a", "a row is left out, line 4"), input("b", "a row is left out, line 51")]);
        assert_eq!(two, ["a: a row is left out, line 4", "b: a row is left out, line 51"]);
        assert_eq!(left_out(&[unknown("a"), input("b", "cut")]).len(), 2);
        assert_eq!(left_out(&[unknown("a")]), ["a: no known format has the keys of 'a': it starts with 'x'"]);
    }
}
