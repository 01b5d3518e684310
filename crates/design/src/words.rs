//! Words in names of files and folders that no setting says: somebody chose them, so they are levels of `folder` and `file`.
//!
//! In:  the runs of one campaign with their paths below its folder.  Out: the settings `folder` and `file`, where words remain and differ.
//! Not here: words that spell a setting (see `path_labels`), counters and dates (see `counters`).

use std::collections::{BTreeMap, BTreeSet};

use sparkbench_model::{Run, RunSettings, SettingOrigin, SettingValue};

use super::counters;
use super::levels::normal;

/// The level of a name in which no word remains, beside names in which some do.
pub(crate) const NO_WORD: &str = "none";

/// Words before a number that name a setting.
const PREFIXES: &[&str] = &[
    "c",
    "cc",
    "conc",
    "concurrency",
    "users",
    "bs",
    "b",
    "batch",
    "isl",
    "in",
    "i",
    "input",
    "prompt",
    "osl",
    "out",
    "o",
    "output",
    "d",
    "depth",
    "ctx",
    "context",
    "tp",
    "pp",
    "dp",
    "ep",
    "qps",
    "rps",
    "rate",
    "n",
    "np",
    "req",
    "requests",
    "p",
    "tg",
    "gen",
    "util",
    "mem",
    "fa",
    "ub",
    "nb",
    "ngl",
];
/// From this number on, a word with any letters before a known number means that setting.
const TELLING: f64 = 100.0;
/// Larger bare numbers are no counters.
const COUNTER_BELOW: u32 = 100;
/// Fewest letters and digits of a word that may be a part of another name without its separators: `llama32` of `Llama-3.2`.
const PART: usize = 4;

/// A run and its path below the folder of its campaign, with `/`.
pub type Placed<'r, 'p> = (&'r mut Run, &'p str);

/// Adds `folder` and `file` to the settings of runs whose names hold words of their own.
pub fn words(runs: &mut [Placed<'_, '_>]) {
    let scopes: [(&str, fn(&str) -> Vec<&str>); 2] = [("folder", folders), ("file", file)];
    for (scope, parts) in scopes {
        let mut all: Vec<Vec<String>> = runs.iter().map(|(run, path)| own_words(&run.settings, parts(path))).collect();
        without_counters(&mut all);
        let common: BTreeSet<String> = all
            .iter()
            .map(|words| words.iter().cloned().collect::<BTreeSet<String>>())
            .reduce(|a, b| a.intersection(&b).cloned().collect())
            .unwrap_or_default();
        all.iter_mut().for_each(|words| words.retain(|word| !common.contains(word)));
        let levels: BTreeSet<&Vec<String>> = all.iter().collect();
        if levels.len() < 2 {
            continue;
        }
        for ((run, _), words) in runs.iter_mut().zip(all) {
            let value = if words.is_empty() { NO_WORD.to_owned() } else { words.join("-") };
            run.settings.insert(scope.to_owned(), SettingValue { value, origin: SettingOrigin::Path });
        }
    }
}

fn folders(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    parts
}

/// The name of the file without what says how it is written.
fn file(path: &str) -> Vec<&str> {
    const ENDINGS: &[&str] =
        &["gz", "zst", "xz", "json", "jsonl", "csv", "tsv", "txt", "log", "md", "yaml", "yml", "xlsx", "out", "html"];
    let mut stem = path.rsplit('/').next().unwrap_or(path);
    while let Some((rest, ending)) = stem.rsplit_once('.') {
        if !ENDINGS.contains(&ending.to_lowercase().as_str()) {
            break;
        }
        stem = rest;
    }
    vec![stem]
}

/// Words of parts of a path that neither a setting of the run says nor anything counts.
fn own_words(settings: &RunSettings, parts: Vec<&str>) -> Vec<String> {
    let known = Known::of(settings);
    parts.into_iter().flat_map(|part| known.without(counters::without(split(part)))).collect()
}

/// Small letters and digits, apart at everything else. A point within a number belongs to it.
fn split(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    let digit = |place: Option<&char>| place.is_some_and(char::is_ascii_digit);
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let inside =
            *letter == '.' && digit(at.checked_sub(1).and_then(|at| letters.get(at))) && digit(letters.get(at + 1));
        if letter.is_alphanumeric() || inside {
            if let Some(word) = words.last_mut() {
                word.push(*letter);
            }
        } else if words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What the settings of one run say.
struct Known {
    words: BTreeSet<String>,
    numbers: Vec<f64>,
    /// Values without separators.
    squashed: Vec<String>,
}

impl Known {
    fn of(settings: &RunSettings) -> Self {
        let mut known = Self { words: BTreeSet::new(), numbers: Vec::new(), squashed: Vec::new() };
        for (name, setting) in settings.iter().filter(|(name, _)| !["folder", "file"].contains(&name.as_str())) {
            let words = split(&setting.value);
            known.squashed.push(words.concat().replace('.', ""));
            known.words.extend(words);
            known.words.insert(normal(&setting.value));
            known.numbers.extend(setting.value.parse::<f64>().ok());
            if name == "request_rate" && setting.value == "unlimited" {
                known.words.extend(["inf", "infqps", "infrps"].map(str::to_owned));
            }
        }
        known
    }

    /// Words that are not known. A prefix goes with the known number behind it.
    fn without(&self, words: Vec<String>) -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            if !self.says(&word) {
                kept.push(word);
            } else if word.parse::<f64>().is_ok() && kept.last().is_some_and(|last| PREFIXES.contains(&last.as_str())) {
                kept.pop();
            }
        }
        kept
    }

    fn says(&self, word: &str) -> bool {
        self.words.contains(word)
            || self.words.contains(&normal(word))
            || self.says_number(word)
            || word.split_once('x').is_some_and(|(a, b)| self.says_number(a) && self.says_number(b))
            || self.is_part(word)
    }

    /// A known number, alone or behind letters that name a setting.
    fn says_number(&self, word: &str) -> bool {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let prefix = word.strip_suffix(digits).unwrap_or_default();
        let (digits, thousands) = digits.strip_suffix('k').map_or((digits, 1.0), |digits| (digits, 1024.0));
        let Ok(number) = digits.parse::<f64>() else { return false };
        let number = number * thousands;
        let is_known = self.numbers.iter().any(|known| *known == number);
        is_known && (prefix.is_empty() || PREFIXES.contains(&prefix) || number >= TELLING)
    }

    fn is_part(&self, word: &str) -> bool {
        let mixed = word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic());
        mixed && word.len() >= PART && self.squashed.iter().any(|value| value.contains(word))
    }
}

/// Takes away bare numbers that count up without a gap among names that are alike otherwise.
fn without_counters(all: &mut [Vec<String>]) {
    let number = |word: &String| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| word.parse::<u32>().ok())
            .flatten()
            .filter(|n| *n < COUNTER_BELOW)
    };
    type Shape = (Vec<Option<String>>, usize);
    let shape = |words: &[String], place: usize| -> Shape {
        (words.iter().enumerate().map(|(at, word)| (at != place).then(|| word.clone())).collect(), place)
    };
    let mut seen: BTreeMap<Shape, BTreeSet<u32>> = BTreeMap::new();
    for words in all.iter() {
        for (place, found) in words.iter().enumerate().filter_map(|(place, word)| Some((place, number(word)?))) {
            seen.entry(shape(words, place)).or_default().insert(found);
        }
    }
    let counts = |numbers: &BTreeSet<u32>| {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
        numbers.len() > 1 && (last - first) as usize + 1 == numbers.len()
    };
    for words in all.iter_mut() {
        let gone: BTreeSet<usize> = (0..words.len())
            .filter(|place| words.get(*place).and_then(number).is_some())
            .filter(|place| seen.get(&shape(words, *place)).is_some_and(counts))
            .collect();
        let mut place = 0;
        words.retain(|_| {
            place += 1;
            !gone.contains(&(place - 1))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::run;

    /// Levels of `folder` and `file` of runs with these paths and settings.
    fn levels(runs: &[(&str, &[(&str, &str)])]) -> Vec<(String, String)> {
        let mut made: Vec<(Run, &str)> = runs.iter().map(|(path, settings)| (run(settings), *path)).collect();
        let mut placed: Vec<Placed<'_, '_>> = made.iter_mut().map(|(run, path)| (run, *path)).collect();
        words(&mut placed);
        let of = |run: &Run, name: &str| run.settings.get(name).map_or(String::new(), |setting| setting.value.clone());
        made.iter().map(|(run, _)| (of(run, "folder"), of(run, "file"))).collect()
    }

    fn files(names: &[&str]) -> Vec<String> {
        let runs: Vec<(&str, &[(&str, &str)])> = names.iter().map(|name| (*name, &[][..])).collect();
        levels(&runs).into_iter().map(|(_, file)| file).collect()
    }

    #[test]
    fn before_and_after_are_levels_and_run1_and_run2_are_repeats() {
        assert_eq!(files(&["before.json", "after.json"]), ["before", "after"]);
        assert_eq!(files(&["run1.json", "run2.json"]), ["", ""]);
        assert_eq!(files(&["a-1.json", "a-2.json", "a-3.json"]), ["", "", ""]);
        assert_eq!(files(&["a-1.json", "a-4.json"]), ["1", "4"]);
        assert_eq!(files(&["v1.json", "v2.json"]), ["v1", "v2"]);
        assert_eq!(files(&["0821.csv", "0822.csv"]), ["0821", "0822"]);
        assert_eq!(files(&["bench_20251211_143639.txt", "bench_20251212_080000.txt"]), ["", ""]);
    }

    #[test]
    fn what_another_setting_says_is_no_word() {
        let said = levels(&[
            (
                "x/gpt-oss-20b-mxfp4__vulkan_radv__fa1__longctx32768.log",
                &[("model", "gpt-oss-20b-MXFP4"), ("fa", "1"), ("depth", "32768")],
            ),
            ("x/gpt-oss-20b-mxfp4__rocm6_4_4__fa1.log", &[("model", "gpt-oss-20b-MXFP4"), ("fa", "1")]),
        ]);
        assert_eq!(said, [(String::new(), "vulkan-radv".to_owned()), (String::new(), "rocm6-4-4".to_owned())]);
        let said = levels(&[
            ("llama32-1b.default-hip.jsonl", &[("model", "Llama-3.2-1B-Instruct-Q4_K_M.gguf")]),
            ("gpt-oss-20b.default-hip.jsonl", &[("model", "gpt-oss-20b-F16.gguf")]),
        ]);
        assert_eq!(said, [(String::new(), String::new()), (String::new(), String::new())]);
        let said = levels(&[
            (
                "10-320-i10240-o256/b.log",
                &[("concurrency", "10"), ("requests", "320"), ("isl", "10240"), ("osl", "256")],
            ),
            (
                "80-320-i10240-o256/b.log",
                &[("concurrency", "80"), ("requests", "320"), ("isl", "10240"), ("osl", "256")],
            ),
        ]);
        assert_eq!(said, [(String::new(), String::new()), (String::new(), String::new())]);
    }

    #[test]
    fn folders_that_differ_in_a_word_are_levels_and_a_name_without_one_is_a_level_too() {
        let said = levels(&[("t/01/a.log", &[]), ("t/01_old/a.log", &[])]);
        assert_eq!(said.iter().map(|(folder, _)| folder.as_str()).collect::<Vec<_>>(), ["none", "old"]);
    }
}
