//! `--where SETTING=LEVEL`: the runs that somebody asks about.
//!
//! In:  words as typed, runs with their settings or the levels of a row.  Out: whether a run is kept.
//! Not here: what is done with the rest.

use std::fmt;

use sparkbench_model::{Run, Setting, spelling::plain};
use sparkbench_text::nearest::did_you_mean;

use super::{levels, table};

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The setting as it was typed.
    pub name: String,
    /// Any of these levels, as they were typed. A level may hold a comma, so the whole text is one too.
    levels: Vec<String>,
    /// All of the text behind the sign.
    whole: String,
    /// None of these.
    not: bool,
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}={}", self.name, if self.not { "!" } else { "" }, self.whole)
    }
}

impl Keep {
    /// Reads `SETTING=LEVEL`, `SETTING=LEVEL,LEVEL` or `SETTING!=LEVEL`.
    ///
    /// # Errors
    /// Text without a `=`, without a name before it or without a level behind it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((name, wanted)) = text.split_once('=') else {
            return Err(format!("'{text}' has no '='. Write it as SETTING=LEVEL, such as concurrency=8"));
        };
        let (name, not) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        let (name, whole) = (name.trim(), wanted.trim());
        let levels: Vec<String> =
            whole.split(',').map(|level| level.trim().to_owned()).filter(|level| !level.is_empty()).collect();
        if named(name).is_empty() || levels.is_empty() {
            return Err(format!(
                "'{text}' lacks a setting or a level. Write it as SETTING=LEVEL, such as concurrency=8"
            ));
        }
        Ok(Self { name: name.to_owned(), levels, whole: whole.to_owned(), not })
    }

    /// Whether something with these levels fulfils it. What does not say the setting has no level of it.
    pub fn holds<'l>(&self, mut own: impl Iterator<Item = &'l str>) -> bool {
        own.any(|level| self.levels.iter().chain([&self.whole]).any(|wanted| are_same(wanted, level))) != self.not
    }

    /// The first of its levels that is none of these.
    pub fn unknown(&self, known: &[String]) -> Option<&str> {
        let is_known = |wanted: &str| known.iter().any(|level| are_same(wanted, level));
        if is_known(&self.whole) {
            return None;
        }
        self.levels.iter().map(String::as_str).find(|level| !is_known(level))
    }

    /// Whether a run fulfils it.
    fn keeps(&self, run: &Run) -> bool {
        let setting = named(&self.name);
        let own = run.settings.get(&setting).map(|setting| setting.value.clone());
        self.holds([own, table::value(run, &setting)].iter().flatten().map(String::as_str))
    }
}

fn are_same(one: &str, other: &str) -> bool {
    levels::normal(one) == levels::normal(other)
}

/// Whether a text can be the name of a setting: a declared one, or a key of somebody's file.
pub fn is_name(text: &str) -> bool {
    let plain = plain(text);
    !plain.is_empty() && plain.len() <= LONGEST_NAME
}

/// Longest name of a setting, bytes.
const LONGEST_NAME: usize = 64;

/// A setting as it is declared, whichever of its names was typed.
pub fn named(name: &str) -> String {
    let plain = plain(name);
    Setting::find(&plain).map_or(plain, |setting| setting.name.to_owned())
}

/// Keeps the runs that fulfil every condition.
///
/// # Errors
/// A condition on a setting that no run has. Names the nearest, and all that there are.
pub fn keep(runs: &mut Vec<Run>, conditions: &[Keep]) -> Result<(), String> {
    for condition in conditions {
        let setting = named(&condition.name);
        if !runs.iter().any(|run| run.settings.contains_key(&setting)) {
            let mut known: Vec<&str> = runs.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect();
            known.sort_unstable();
            known.dedup();
            let hint = did_you_mean(&setting, known.iter().copied());
            return Err(format!("no run says the setting '{setting}'. {hint}The runs have: {}", known.join(", ")));
        }
    }
    runs.retain(|run| conditions.iter().all(|condition| condition.keeps(run)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::run;

    #[test]
    fn conditions_keep_the_levels_that_they_name() {
        let all = || vec![run(&[("concurrency", "1")]), run(&[("concurrency", "8.0")]), run(&[("x", "y")])];
        let left = |conditions: &[&str]| {
            let mut runs = all();
            keep(&mut runs, &conditions.iter().map(|text| Keep::parse(text).unwrap()).collect::<Vec<_>>()).unwrap();
            runs.len()
        };
        assert_eq!(left(&["concurrency=8"]), 1);
        assert_eq!(left(&["batch=1,8"]), 2, "a synonym, and any of several levels");
        assert_eq!(left(&["concurrency!=8"]), 2);
        for wrong in ["quantisation", "=fp8", "quantisation=", "!=fp8", "concurrency=,", ""] {
            assert!(Keep::parse(wrong).is_err(), "{wrong}");
        }
        let error = keep(&mut all(), &[Keep::parse("concurency=8").unwrap()]).unwrap_err();
        assert!(error.contains("did you mean \"concurrency\"?"), "{error}");
    }

    #[test]
    fn levels_of_other_spellings_are_one_and_a_level_may_hold_a_comma() {
        let holds = |typed: &str, own: &str| Keep::parse(typed).unwrap().holds(std::iter::once(own));
        for (typed, own, is_held) in [
            ("concurrency=8.0", "8", true),
            ("concurrency=80", "8", false),
            ("quantisation=bfloat16", "BF16", true),
            ("quantisation != fp8, bf16", "bf16", false),
            ("speculative=mtp, 2 tokens", "mtp, 2 tokens", true),
            // The first sign counts: a level may hold one.
            ("flags=--seed=1", "--seed=1", true),
        ] {
            assert_eq!(holds(typed, own), is_held, "{typed} {own}");
        }
        let known = ["8".to_owned(), "a, b".to_owned()];
        assert_eq!(Keep::parse("x=8.0,16").unwrap().unknown(&known), Some("16"));
        assert_eq!(Keep::parse("x=a, b").unwrap().unknown(&known), None);
    }
}
