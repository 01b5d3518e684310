//! `--where SETTING=LEVEL`: the runs that somebody asks about.
//!
//! In:  words as typed, runs with their settings.  Out: whether a run is kept.
//! Not here: what is done with the rest.

use std::fmt;

use sparkbench_model::{Run, Setting, spelling::plain};
use sparkbench_text::nearest::did_you_mean;

use super::{levels, table};

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    setting: String,
    /// Any of these.
    levels: Vec<String>,
    /// None of these.
    not: bool,
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}={}", self.setting, if self.not { "!" } else { "" }, self.levels.join(","))
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
        let setting = named(name);
        let wanted: Vec<String> = wanted.split(',').map(levels::normal).filter(|level| !level.is_empty()).collect();
        if setting.is_empty() || wanted.is_empty() {
            return Err(format!(
                "'{text}' lacks a setting or a level. Write it as SETTING=LEVEL, such as concurrency=8"
            ));
        }
        Ok(Self { setting, levels: wanted, not })
    }

    /// Whether a run fulfils it. One that does not say the setting has no level of it.
    fn holds(&self, run: &Run) -> bool {
        let own = run.settings.get(&self.setting).map(|setting| levels::normal(&setting.value));
        let short = table::value(run, &self.setting).map(|value| levels::normal(&value));
        let is_one = [own, short].iter().flatten().any(|level| self.levels.contains(level));
        is_one != self.not
    }
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
        if !runs.iter().any(|run| run.settings.contains_key(&condition.setting)) {
            let mut known: Vec<&str> = runs.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect();
            known.sort_unstable();
            known.dedup();
            let hint = did_you_mean(&condition.setting, known.iter().copied());
            return Err(format!(
                "no run says the setting '{}'. {hint}The runs have: {}",
                condition.setting,
                known.join(", ")
            ));
        }
    }
    runs.retain(|run| conditions.iter().all(|condition| condition.holds(run)));
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
        assert!(Keep::parse("concurrency").is_err() && Keep::parse("=8").is_err() && Keep::parse("a=").is_err());
        let error = keep(&mut all(), &[Keep::parse("concurency=8").unwrap()]).unwrap_err();
        assert!(error.contains("did you mean \"concurrency\"?"), "{error}");
    }
}
