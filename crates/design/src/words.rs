//! Words in names of files and folders that no setting says: somebody chose them, so they are levels of `folder` and `file`.
//!
//! In:  the runs of one campaign with their paths below its folder.  Out: the settings `folder` and `file`, where words remain and differ.
//! Not here: words that spell a setting (see `path_labels`), counters and dates (see `counters`).

use std::collections::{BTreeMap, BTreeSet};

use sparkbench_model::{Run, RunSettings, SettingOrigin, SettingValue};

use super::counters;
use super::levels::{are_near, normal};

/// The level of a name in which no word remains, beside names in which some do.
pub(crate) const NO_WORD: &str = "none";

/// Words before a number, and the settings that they name.
const PREFIXES: &[(&[&str], &[&str])] = &[
    (&["c", "cc", "conc", "concurrency", "users", "bs", "b", "batch", "parallel", "np"], &["concurrency", "parallel"]),
    (&["isl", "in", "i", "input", "prompt", "p", "pp"], &["isl", "parallel"]),
    (&["osl", "out", "o", "output", "tg", "gen"], &["osl"]),
    (&["d", "depth", "ctx", "context", "longctx"], &["depth", "max_model_len"]),
    (&["qps", "rps", "rate", "r"], &["request_rate"]),
    (&["n", "req", "requests", "prompts"], &["requests"]),
    (&["tp", "dp", "ep"], &["parallel", "tensor_parallel_size"]),
    (&["util", "mem", "gmu", "memutil"], &["memory_utilisation"]),
    (&["ub"], &["n_ubatch"]),
    (&["nb"], &["n_batch"]),
    (&["fa"], &["fa", "flash_attn"]),
];

/// From this number on, a word with any letters before a known number means that setting.
const TELLING: f64 = 100.0;
/// Stands in a shape for the number that is looked at.
type Shape = (Vec<Option<String>>, usize);
/// Larger bare numbers are no counters.
const COUNTER_BELOW: u32 = 100;
/// Fewest letters and digits of a word that may be a part of another name without its separators: `llama32` of `Llama-3.2`.
const PART: usize = 4;

/// A run and its path below the folder of its campaign, with `/`.
pub type Placed<'r, 'p> = (&'r mut Run, &'p str);

/// A setting and the parts of a path whose words are its levels.
type Scope = (&'static str, fn(&str) -> Vec<&str>);

const SCOPES: [Scope; 2] = [("folder", folders), ("file", file)];

/// Adds `folder` and `file` to the settings of runs whose names hold words of their own.
pub fn words(runs: &mut [Placed<'_, '_>]) {
    for (scope, parts) in SCOPES {
        let mut all: Vec<Vec<String>> = runs.iter().map(|(run, path)| own_words(run, parts(path))).collect();
        without_numbers(&mut all, &|row| runs.get(row).map(|(run, _)| &run.settings));
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
fn own_words(run: &Run, parts: Vec<&str>) -> Vec<String> {
    let known = Known::of(run);
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
struct Known<'a> {
    settings: &'a RunSettings,
    words: BTreeSet<String>,
    /// Values without separators.
    squashed: Vec<String>,
}

impl<'a> Known<'a> {
    fn of(run: &'a Run) -> Self {
        let mut known = Self { settings: &run.settings, words: BTreeSet::new(), squashed: Vec::new() };
        let ids = [&run.setup.model_id, &run.setup.model_served].into_iter().flatten().map(String::as_str);
        let values = run.settings.iter().filter(|(name, _)| !["folder", "file"].contains(&name.as_str()));
        for value in values.map(|(_, setting)| setting.value.as_str()).chain(ids) {
            let words = split(value);
            known.squashed.push(words.concat().replace('.', ""));
            // A bare number is known only where every run agrees what it means.
            known.words.extend(words.into_iter().filter(|word| word.parse::<f64>().is_err()));
            known.words.insert(normal(value));
        }
        if run.settings.get("request_rate").is_some_and(|rate| rate.value == "unlimited") {
            known.words.extend(["inf", "infqps", "infrps"].map(str::to_owned));
        }
        known.words.retain(|word| word.parse::<f64>().is_err());
        known
    }

    /// Words that are not known. A prefix and the number behind it are one word, and so are a known word and a version behind it of which
    /// nothing is known: `rocm 7 2 3` beside `rocm 6 4 4`.
    fn without(&self, words: Vec<String>) -> Vec<String> {
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        let mut kept: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1).filter(|next| is_number(next));
            if let Some(number) = next.filter(|_| !is_number(word)) {
                let together = format!("{word}{number}");
                if self.says_prefixed(&together) || self.words.contains(&together) {
                    at += 2;
                    continue;
                }
                if self.says(word) && words.get(at + 2).is_some_and(|after| is_number(after)) {
                    kept.push(word.clone());
                    at += 1;
                    continue;
                }
            }
            if !self.says(word) {
                kept.push(word.clone());
            }
            at += 1;
        }
        kept
    }

    fn says(&self, word: &str) -> bool {
        if word.parse::<f64>().is_ok() {
            return false;
        }
        self.words.contains(word)
            || self.words.contains(&normal(word))
            || self.says_prefixed(word)
            || word.split_once('x').is_some_and(|(a, b)| self.has_number(a, None) && self.has_number(b, None))
            || self.is_part(word)
    }

    /// A number behind letters that name a setting of that value, or a large known number behind any.
    fn says_prefixed(&self, word: &str) -> bool {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let prefix = word.strip_suffix(digits).unwrap_or_default();
        let named = PREFIXES.iter().find(|(prefixes, _)| prefixes.contains(&prefix)).map(|(_, names)| *names);
        named.is_some_and(|names| self.has_number(digits, Some(names)))
            || self.has_number(digits, Some(&[prefix]))
            || (number_of(digits).is_some_and(|number| number >= TELLING) && self.has_number(digits, None))
    }

    /// Whether a setting has this number: one of those, where any are named.
    fn has_number(&self, digits: &str, names: Option<&[&str]>) -> bool {
        let Some(number) = number_of(digits) else { return false };
        self.settings.iter().filter(|(name, _)| names.is_none_or(|names| names.contains(&name.as_str()))).any(
            |(name, setting)| {
                let near = ["isl", "osl"].contains(&name.as_str());
                setting.value.parse::<f64>().is_ok_and(|known| known == number || near && are_near(known, number))
            },
        )
    }

    fn is_part(&self, word: &str) -> bool {
        let mixed = word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic());
        mixed && word.len() >= PART && self.squashed.iter().any(|value| value.contains(word))
    }
}

/// `4096`, `0.25`, `32k`.
fn number_of(digits: &str) -> Option<f64> {
    let (digits, thousands) = digits.strip_suffix('k').map_or((digits, 1.0), |digits| (digits, 1024.0));
    digits.parse::<f64>().ok().map(|number| number * thousands)
}

/// Takes away bare numbers, among names that are alike otherwise, that one setting says in all of them, or that count up without a gap.
fn without_numbers<'r>(all: &mut [Vec<String>], settings: &dyn Fn(usize) -> Option<&'r RunSettings>) {
    let number = |word: &String| word.parse::<f64>().ok();
    let shape = |words: &[String], place: usize| -> Shape {
        (words.iter().enumerate().map(|(at, word)| (at != place).then(|| word.clone())).collect(), place)
    };
    let mut seen: BTreeMap<Shape, Vec<(usize, String)>> = BTreeMap::new();
    for (row, words) in all.iter().enumerate() {
        for (place, word) in words.iter().enumerate().filter(|(_, word)| number(word).is_some()) {
            seen.entry(shape(words, place)).or_default().push((row, word.clone()));
        }
    }
    let is_said = |found: &[(usize, String)]| {
        let names: BTreeSet<&String> =
            found.iter().filter_map(|(row, _)| settings(*row)).flat_map(|own| own.keys()).collect();
        names.into_iter().any(|name| {
            found.iter().all(|(row, word)| {
                let said = settings(*row).and_then(|own| own.get(name)).and_then(|said| said.value.parse::<f64>().ok());
                said.is_some() && said == number(word)
            })
        })
    };
    let counts = |found: &[(usize, String)]| {
        let numbers: Option<BTreeSet<u32>> =
            found.iter().map(|(_, word)| word.parse::<u32>().ok().filter(|number| *number < COUNTER_BELOW)).collect();
        let Some(numbers) = numbers else { return false };
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
        numbers.len() > 1 && (last - first) as usize + 1 == numbers.len()
    };
    let gone: BTreeSet<Shape> =
        seen.into_iter().filter(|(_, found)| is_said(found) || counts(found)).map(|(shape, _)| shape).collect();
    for words in all.iter_mut() {
        let places: BTreeSet<usize> = (0..words.len())
            .filter(|place| words.get(*place).and_then(number).is_some() && gone.contains(&shape(words, *place)))
            .collect();
        let mut place = 0;
        words.retain(|_| {
            place += 1;
            !places.contains(&(place - 1))
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
