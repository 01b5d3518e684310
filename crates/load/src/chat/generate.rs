//! A generation file: how many conversations, of which lengths, made of which texts.
//!
//! In:  the text of a file with `"filetype": "generate_conversations"`.  Out: [`Generation`], or every fault at once.
//! Not here: reading the texts it names, drawing (see `draw`), making the conversations (see `library`).
//!
//! The file is that of vLLM's `benchmark_serving_multi_turn.py` (`generate_multi_turn.json`), every key of it:
//!
//! | key | meaning here |
//! | --- | --- |
//! | `num_conversations` | number of conversations in total |
//! | `text_files` | texts that words are cut from, beside this file or where the program runs |
//! | `print_stats` | whether the drawn lengths are printed before the load |
//! | `prompt_input.num_turns` | turns of user *and* assistant, at least 2, rounded up to an even number: half of them are the user's |
//! | `prompt_input.common_prefix_num_tokens` | tokens that all conversations begin with, drawn once. Optional |
//! | `prompt_input.prefix_num_tokens` | tokens at the head of each conversation's first turn |
//! | `prompt_input.num_tokens` | tokens of each turn of the user |
//! | `prompt_output.num_tokens` | tokens of each answer, asked for as exact length unless limits are given |
//!
//! Deliberate differences from the script: Prefixes come on top of `num_tokens` (the script takes the common one off the first turn's words,
//! down to nothing). Turns hold text of the files alone, without "Please rewrite the following text". A file that is too short is read again
//! from its beginning instead of being refused. And lengths are drawn one conversation at a time (see `draw`).

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::draw::{Draw, LENGTH_MAX, MEDIAN_RATIO};
use super::faults::Faults;
use super::recorded::kind;

/// Type field of such a file.
pub(crate) const FILETYPE: &str = "generate_conversations";
/// Most conversations, the range of their numbers.
const CONVERSATIONS_MAX: u64 = u32::MAX as u64;

/// The plan of a generation file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generation {
    /// Conversations in all.
    pub conversations: u64,
    /// As the file names them.
    pub text_files: Vec<PathBuf>,
    /// Whether the lengths are to be said.
    pub print_stats: bool,
    /// Turns of user and assistant together.
    pub num_turns: Draw,
    /// Shared by all conversations.
    pub common_prefix: Draw,
    /// Of each conversation.
    pub own_prefix: Draw,
    /// Of each turn of the user.
    pub isl: Draw,
    /// Of each answer.
    pub osl: Draw,
}

/// User's turns of a conversation with `turns` turns in total: at least one, and every one has its answer.
pub(crate) const fn user_turns(turns: u32) -> u32 {
    if turns < 2 { 1 } else { turns.div_ceil(2) }
}

/// Whether an object says that it is such a file.
pub(crate) fn is_one(object: &Map<String, Value>) -> bool {
    object.contains_key("filetype")
}

/// Reads it whole. Absent when something that must be there is not. `text` is the file, for the lines.
pub(crate) fn read(text: &str, object: &Map<String, Value>, faults: &mut Faults) -> Option<Generation> {
    let mut file = Part { text, object, path: String::new(), faults };
    file.known(&["filetype", "num_conversations", "text_files", "print_stats", "prompt_input", "prompt_output"]);
    match object.get("filetype") {
        Some(Value::String(word)) if word == FILETYPE => {}
        other => {
            let found = other.map_or_else(|| "missing".to_owned(), Value::to_string);
            file.fault("filetype", &format!("is {found}"), &format!("the only kind there is: \"{FILETYPE}\""));
        }
    }
    let conversations = file.whole("num_conversations", 1, CONVERSATIONS_MAX);
    let text_files = file.texts("text_files");
    let print_stats = match object.get("print_stats") {
        None => Some(false),
        Some(Value::Bool(yes)) => Some(*yes),
        Some(other) => {
            file.fault("print_stats", &format!("is {}", kind(other)), "write true or false");
            None
        }
    };
    let [turns, common, own, isl] = match file.below("prompt_input") {
        Some(mut part) => {
            part.known(&["num_turns", "common_prefix_num_tokens", "prefix_num_tokens", "num_tokens"]);
            let common = if part.object.contains_key("common_prefix_num_tokens") {
                part.draw("common_prefix_num_tokens")
            } else {
                Some(Draw::Constant(0))
            };
            [part.draw("num_turns"), common, part.draw("prefix_num_tokens"), part.draw("num_tokens")]
        }
        None => [None, None, None, None],
    };
    let osl = file.below("prompt_output").and_then(|mut part| {
        part.known(&["num_tokens"]);
        part.draw("num_tokens")
    });
    Some(Generation {
        conversations: conversations?,
        text_files: text_files?,
        print_stats: print_stats?,
        num_turns: turns?,
        common_prefix: common?,
        own_prefix: own?,
        isl: isl?,
        osl: osl?,
    })
}

/// Line of a key, from 1: each part of its path is looked for behind the one before. What is missing has its parent's line.
fn line_of(text: &str, path: &str) -> usize {
    let mut at = 0;
    for part in path.split('.') {
        let Some(found) = text.get(at..).and_then(|rest| rest.find(&format!("\"{part}\""))) else { break };
        at += found + 1;
    }
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// An object of the file with its path.
struct Part<'a, 'f> {
    text: &'a str,
    object: &'a Map<String, Value>,
    path: String,
    faults: &'f mut Faults,
}

impl<'a> Part<'a, '_> {
    fn fault(&mut self, key: &str, what: &str, remedy: &str) {
        let key = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.faults.add(line_of(self.text, &key), &key, what, remedy);
    }

    /// Any other key is a fault, so that a typing error is never silently ignored.
    fn known(&mut self, keys: &[&str]) {
        let strange: Vec<&String> = self.object.keys().filter(|key| !keys.contains(&key.as_str())).collect();
        for key in strange {
            self.fault(key, "is not a key of this object", &format!("known here: {}", keys.join(", ")));
        }
    }

    fn below(&mut self, key: &str) -> Option<Part<'a, '_>> {
        match self.object.get(key) {
            Some(Value::Object(object)) => {
                let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
                Some(Part { text: self.text, object, path, faults: self.faults })
            }
            other => {
                let found = other.map_or("missing", kind);
                self.fault(key, &format!("is {found}"), "give an object. See generate_multi_turn.json of vLLM");
                None
            }
        }
    }

    fn whole(&mut self, key: &str, low: u64, high: u64) -> Option<u64> {
        let found = match self.object.get(key) {
            Some(Value::Number(number)) => match number.as_u64() {
                Some(number) if (low..=high).contains(&number) => return Some(number),
                _ => number.to_string(),
            },
            other => other.map_or("missing", kind).to_owned(),
        };
        self.fault(key, &format!("is {found}"), &format!("give a whole number from {low} to {high}"));
        None
    }

    fn number(&mut self, key: &str, fits: fn(f64) -> bool, remedy: &str) -> Option<f64> {
        let found = match self.object.get(key) {
            Some(Value::Number(number)) => match number.as_f64() {
                Some(number) if fits(number) => return Some(number),
                _ => number.to_string(),
            },
            other => other.map_or("missing", kind).to_owned(),
        };
        self.fault(key, &format!("is {found}"), remedy);
        None
    }

    fn texts(&mut self, key: &str) -> Option<Vec<PathBuf>> {
        let remedy = "name at least one text file, e.g. [\"pg1184.txt\"]";
        let Some(Value::Array(list)) = self.object.get(key) else {
            let found = self.object.get(key).map_or("missing", kind);
            self.fault(key, &format!("is {found}"), remedy);
            return None;
        };
        let names: Option<Vec<PathBuf>> = list.iter().map(|name| name.as_str().map(PathBuf::from)).collect();
        match names {
            Some(names) if !names.is_empty() => Some(names),
            Some(_) => {
                self.fault(key, "is empty", remedy);
                None
            }
            None => {
                self.fault(key, "holds something else than names", remedy);
                None
            }
        }
    }

    /// A distribution. `max` and everything else within what a body can hold.
    fn draw(&mut self, key: &str) -> Option<Draw> {
        let mut part = self.below(key)?;
        let longest = u64::from(LENGTH_MAX);
        let positive: fn(f64) -> bool = |number| number > 0.0 && number <= f64::from(LENGTH_MAX);
        let word = match part.object.get("distribution") {
            Some(Value::String(word)) => word.clone(),
            other => other.map_or("missing", kind).to_owned(),
        };
        let greatest = |part: &mut Part<'_, '_>| match part.object.get("max") {
            None | Some(Value::Null) => Some(None),
            Some(_) => part.whole("max", 1, longest).map(|max| u32::try_from(max).ok()),
        };
        match word.as_str() {
            "constant" => {
                part.known(&["distribution", "value"]);
                part.whole("value", 0, longest).and_then(|value| u32::try_from(value).ok()).map(Draw::Constant)
            }
            "uniform" => {
                part.known(&["distribution", "min", "max"]);
                let (low, high) = (part.whole("min", 0, longest), part.whole("max", 0, longest));
                let (low, high) = (u32::try_from(low?).ok()?, u32::try_from(high?).ok()?);
                if low > high {
                    part.fault("min", &format!("is {low}, more than max, which is {high}"), "swap the two");
                    return None;
                }
                Some(Draw::Uniform(low, high))
            }
            "lognormal" if part.object.contains_key("average") => {
                part.known(&["distribution", "average", "median_ratio", "max"]);
                let average =
                    part.number("average", |number| (1.0..=1e7).contains(&number), "give a number of at least 1");
                let ratio = if part.object.contains_key("median_ratio") {
                    part.number("median_ratio", |ratio| ratio > 0.0 && ratio < 1.0, "give a number between 0 and 1")
                } else {
                    Some(MEDIAN_RATIO)
                };
                let greatest = greatest(&mut part);
                Some(Draw::log_normal_around(average?, ratio?, greatest?))
            }
            "lognormal" => {
                part.known(&["distribution", "mean", "sigma", "max"]);
                let remedy = "give mean and sigma of the logarithm, as numpy takes them, or give average instead";
                let mean = part.number("mean", |mean| mean > 0.0 && mean < 20.0, remedy);
                let sigma = part.number("sigma", |sigma| (0.0..20.0).contains(&sigma), remedy);
                let greatest = greatest(&mut part);
                Some(Draw::LogNormal(mean?, sigma?, 0, greatest?))
            }
            "zipf" => {
                part.known(&["distribution", "alpha", "max"]);
                let alpha = part.number("alpha", |alpha| alpha > 1.0 && alpha < 1000.0, "give a number above 1");
                let greatest = greatest(&mut part);
                Some(Draw::Zipf(alpha?, greatest?))
            }
            "poisson" => {
                part.known(&["distribution", "alpha", "max"]);
                let alpha = part.number("alpha", positive, "give the mean, a number above 0");
                let greatest = greatest(&mut part);
                Some(Draw::Poisson(alpha?, greatest?))
            }
            _ => {
                part.fault(
                    "distribution",
                    &format!("is {word}"),
                    "one of: constant, uniform, lognormal, zipf, poisson",
                );
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<Generation>, String) {
        let value: Value = serde_json::from_str(text).unwrap();
        let mut faults = Faults::default();
        let found = read(text, value.as_object().unwrap(), &mut faults);
        let said = faults.into_result(std::path::Path::new("g.json"), "a generation file");
        (found, said.err().map(|error| error.to_string()).unwrap_or_default())
    }

    /// The shape of the known script's example, with other numbers and a file of our own.
    const EXAMPLE: &str = include_str!("../../../../tests/fixtures/load/chat/generate.json");

    #[test]
    fn the_shape_of_the_known_scripts_file_is_read() {
        let (found, said) = parsed(EXAMPLE);
        assert_eq!(said, "");
        let found = found.unwrap();
        assert_eq!((found.conversations, found.print_stats), (6, false));
        assert_eq!(found.text_files, [PathBuf::from("corpus.txt")]);
        assert_eq!(found.num_turns, Draw::Uniform(3, 6));
        assert_eq!(found.common_prefix, Draw::Constant(20));
        assert_eq!(found.own_prefix, Draw::log_normal_around(30.0, MEDIAN_RATIO, Some(60)));
        assert_eq!((found.isl, found.osl), (Draw::Uniform(8, 12), Draw::Uniform(4, 6)));
    }

    #[test]
    fn turns_of_both_sides_become_turns_of_the_user() {
        // The script: at least 2, then rounded up to an even number.
        assert_eq!([0, 1, 2, 3, 4, 12, 13, 18].map(user_turns), [1, 1, 1, 2, 2, 6, 7, 9]);
    }

    #[test]
    fn every_distribution_is_read() {
        let cases = [
            (r#"{"distribution":"constant","value":500}"#, Draw::Constant(500)),
            (r#"{"distribution":"lognormal","mean":6,"sigma":0.5,"max":9}"#, Draw::LogNormal(6.0, 0.5, 0, Some(9))),
            (
                r#"{"distribution":"lognormal","average":100,"median_ratio":0.5}"#,
                Draw::log_normal_around(100.0, 0.5, None),
            ),
            (r#"{"distribution":"zipf","alpha":1.2,"max":100}"#, Draw::Zipf(1.2, Some(100))),
            (r#"{"distribution":"poisson","alpha":10,"max":50}"#, Draw::Poisson(10.0, Some(50))),
        ];
        for (text, draw) in cases {
            let mut file: Value = serde_json::from_str(EXAMPLE).unwrap();
            file["prompt_input"]["num_tokens"] = serde_json::from_str(text).unwrap();
            let (found, said) = parsed(&file.to_string());
            assert_eq!(said, "");
            assert_eq!(found.unwrap().isl, draw);
        }
    }

    #[test]
    fn a_common_prefix_may_be_left_out() {
        let mut file: Value = serde_json::from_str(EXAMPLE).unwrap();
        file["prompt_input"].as_object_mut().unwrap().remove("common_prefix_num_tokens");
        assert_eq!(parsed(&file.to_string()).0.unwrap().common_prefix, Draw::Constant(0));
    }

    #[test]
    fn every_fault_is_found_at_once() {
        let (found, said) = parsed(
            r#"{"filetype":"other","num_conversations":0,"text_files":[],"print_stats":1,"extra":2,
                "prompt_input":{"num_turns":{"distribution":"uniform","min":5,"max":3},
                                "prefix_num_tokens":{"distribution":"zipf","alpha":1.0},
                                "num_tokens":{"distribution":"lognormal","average":100,"median_ratio":1.5,"max":-1}},
                "prompt_output":{"num_tokens":{"distribution":"gamma"}}}"#,
        );
        assert_eq!(found, None);
        for part in [
            "10 faults",
            "filetype: is \"other\"",
            "num_conversations: is 0",
            "text_files: is empty",
            "print_stats: is a number",
            "extra: is not a key",
            "prompt_input.num_turns.min: is 5, more than max",
            "prompt_input.prefix_num_tokens.alpha: is 1.0",
            "prompt_input.num_tokens.median_ratio: is 1.5",
            "prompt_input.num_tokens.max: is -1",
            "line 5, prompt_output.num_tokens.distribution: is gamma",
            "line 2, prompt_input.num_turns.min: is 5",
        ] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
    }

    #[test]
    fn a_part_that_is_missing_is_named() {
        let (_, said) = parsed(r#"{"filetype":"generate_conversations"}"#);
        for part in [
            "num_conversations: is missing",
            "text_files: is missing",
            "prompt_input: is missing",
            "prompt_output: is missing",
        ] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
    }
}
