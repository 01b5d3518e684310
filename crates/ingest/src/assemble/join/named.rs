//! Which runs the name of a file points to: `01-telemetry.csv` to `01-chat.json`, `chat-server.log` to `chat-results.json`.
//!
//! In:  the names of a file and of the main files of runs.  Out: the runs, and the rule.
//! Not here: endings by which the files of a launch are known at once (see `place`), times (see `times`).
//!
//! Only files of one folder belong together by their names. A name that says only what a file is for points nowhere.

use std::collections::BTreeMap;

/// Last words of names that say what a file is for, and nothing of the run.
const ROLES: &[&str] = &[
    "bench",
    "benchmark",
    "clocks",
    "console",
    "dmon",
    "engine",
    "gpu",
    "gpus",
    "host",
    "hostmem",
    "log",
    "logs",
    "mem",
    "memory",
    "meta",
    "metadata",
    "metrics",
    "monitor",
    "nvidia",
    "out",
    "output",
    "power",
    "prometheus",
    "report",
    "requests",
    "result",
    "results",
    "samples",
    "server",
    "settings",
    "smi",
    "stats",
    "summary",
    "telemetry",
    "temp",
    "temps",
    "thermal",
    "thermals",
    "usage",
    "vllm",
    "vram",
];
/// Digits of a number in front of a name. With more it is a year or a date.
const DIGITS: usize = 3;
/// Endings of packed files, which stand behind the ending of what is packed.
const PACKED: &[&str] = &[".gz", ".zst", ".xz", ".bz2"];

/// By what a file belongs to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    /// Both have one name up to the words for what they are for.
    Stem,
    /// Both have one number in front.
    Number,
}

impl Shared {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Stem => "name",
            Self::Number => "number",
        }
    }

    /// The rule, as it is shown.
    pub(super) const fn rule(self) -> &'static str {
        match self {
            Self::Stem => "it has the name of the result",
            Self::Number => "it has the number of the result",
        }
    }
}

/// Runs by the names of their main files.
pub(super) struct Names<'a> {
    stems: BTreeMap<(&'a str, Vec<String>), Vec<usize>>,
    numbers: BTreeMap<(&'a str, Vec<String>), Vec<usize>>,
}

impl<'a> Names<'a> {
    /// Of the main files of all runs, by their places.
    pub(super) fn of(mains: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self { stems: BTreeMap::new(), numbers: BTreeMap::new() };
        for (at, (folder, name)) in mains.map(parts).enumerate() {
            if let Some(stem) = stem(name) {
                names.stems.entry((folder, stem)).or_default().push(at);
            }
            if let Some(number) = number(name) {
                names.numbers.entry((folder, number)).or_default().push(at);
            }
        }
        names
    }

    /// The places of the runs whose main files are in the folder of `path` and share its name, else its number.
    pub(super) fn points_to(&self, path: &'a str) -> Option<(Shared, &[usize])> {
        let (folder, name) = parts(path);
        let of_stem = || Some((Shared::Stem, self.stems.get(&(folder, stem(name)?))?.as_slice()));
        let of_number = || Some((Shared::Number, self.numbers.get(&(folder, number(name)?))?.as_slice()));
        of_stem().or_else(of_number)
    }

    /// The places of the runs of the folder whose names begin with that of `path` up to the words for what it is for: `qwen-server.log` is
    /// about `qwen-c1.json` and `qwen-c8.json`.
    pub(super) fn begun_by(&self, path: &'a str) -> Vec<usize> {
        let (folder, name) = parts(path);
        let Some(stem) = stem(name) else { return Vec::new() };
        let from = (folder, stem.clone());
        let begun = self.stems.range(from..).take_while(|((at, words), _)| *at == folder && words.starts_with(&stem));
        begun.flat_map(|(_, runs)| runs.iter().copied()).collect()
    }
}

/// True for files of one folder whose names differ only in what they are for.
pub(in super::super) fn is_one_name(a: &str, b: &str) -> bool {
    parts(a).0 == parts(b).0 && stem(parts(a).1).is_some_and(|stem| Some(stem) == self::stem(parts(b).1))
}

fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The number of a name with the words in front of it: `1` of `01-chat.json`, `bf16 1` of `bf16-01-chat.json`. Behind words it has two digits,
/// as a script counts its steps: `3` may be a part of the name of a model. Several in a row are a date.
fn number(name: &str) -> Option<Vec<String>> {
    let is_number = |word: &str| word.bytes().all(|letter| letter.is_ascii_digit());
    let words: Vec<&str> = bare(name).split(['-', '_', ' ']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| is_number(word))?;
    let digits = words.get(at)?;
    let is_count = if at == 0 { digits.len() <= DIGITS } else { digits.len() == 2 };
    let is_date = words.get(at + 1).is_some_and(|next| is_number(next));
    (is_count && !is_date).then(|| {
        let count = digits.trim_start_matches('0').to_owned();
        words.iter().take(at).map(|word| word.to_lowercase()).chain([count]).collect()
    })
}

/// A name without its endings.
fn bare(name: &str) -> &str {
    let name = PACKED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let is_ending = |ending: &str| ending.bytes().any(|letter| letter.is_ascii_alphabetic());
    name.rsplit_once('.').filter(|(_, ending)| is_ending(ending)).map_or(name, |(stem, _)| stem)
}

/// The words of a name up to those for what it is for. None where no other words are left.
fn stem(name: &str) -> Option<Vec<String>> {
    let name = bare(name).to_lowercase();
    let mut words: Vec<&str> = name.split(['-', '_', '.', ' ']).filter(|word| !word.is_empty()).collect();
    while words.last().is_some_and(|last| ROLES.contains(last)) {
        words.pop();
    }
    let says = words.iter().any(|word| word.bytes().any(|letter| letter.is_ascii_alphabetic()));
    says.then(|| words.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_points_to_the_runs_of_its_stem_and_else_to_those_of_its_number() {
        let mains = [
            "a/01-chat.log",
            "a/01-chat.log",
            "a/07-office-baseline.json",
            "a/chat_c8.json",
            "a/fp8-07-office.json",
            "a/fp8-3-x.json",
            "a/2026-08-13-x.json",
            "b/07-x.json",
        ];
        for (path, shared, runs) in [
            ("a/07-telemetry.csv", Some(Shared::Number), &[2][..]),
            ("a/7_gpu.csv", Some(Shared::Number), &[2]),
            ("a/01-telemetry.csv", Some(Shared::Number), &[0, 1]),
            ("a/07-office-baseline-server.log", Some(Shared::Stem), &[2]),
            ("a/chat-c8-nvidia-smi.csv.gz", Some(Shared::Stem), &[3]),
            ("a/chat-c16-telemetry.csv", None, &[]),
            ("a/telemetry.csv", None, &[]),
            ("a/fp8-07-telemetry.csv", Some(Shared::Number), &[4]),
            ("a/bf16-07-telemetry.csv", None, &[]),
            ("a/fp8-3-telemetry.csv", None, &[]),
            ("a/2026-08-14-telemetry.csv", None, &[]),
            ("a/20260814-telemetry.csv", None, &[]),
            ("c/07-telemetry.csv", None, &[]),
        ] {
            let names = Names::of(mains.into_iter());
            assert_eq!(names.points_to(path), shared.map(|shared| (shared, runs)), "{path}");
        }
    }

    #[test]
    fn a_name_begins_the_names_of_the_runs_that_its_file_is_about() {
        let mains = ["a/qwen-c1.json", "a/qwen-c8.json", "a/qwen3-c8.json", "b/qwen-c1.json"];
        let names = Names::of(mains.into_iter());
        assert_eq!(names.begun_by("a/qwen-server.log"), [0, 1]);
        assert_eq!((names.begun_by("a/server.log"), names.begun_by("a/meta.json")), (vec![], vec![]));
    }

    #[test]
    fn one_name_is_one_whatever_its_files_are_for() {
        assert!(is_one_name("a/01-chat.log", "a/01-chat.md") && is_one_name("x-results.json", "x.log"));
        assert!(!is_one_name("a/01-chat.log", "b/01-chat.log") && !is_one_name("a/results.json", "a/log.json"));
        assert!(!is_one_name("rocm7__hblt0.log", "rocm7.log"));
    }
}
