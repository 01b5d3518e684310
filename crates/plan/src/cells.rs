//! The cells of a suite, and the cells that are left out.
//!
//! In:  a [`Suite`].  Out: its cells, and why a cell is left out.
//! Not here: repeats and their order (see `expand`).

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};

use super::settings::Value;
use super::{Cell, Part, Suite};

/// Reason of a cell that its workload does not allow.
pub const NOT_ALLOWED: &str = "the workload is not meant for it";

/// A glob over labels: `*` and `?` match any letters, also `/` where labels are joined by it.
///
/// # Errors
/// When it is none.
pub fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Glob::new(pattern).map(|glob| glob.compile_matcher())
}

impl Suite {
    /// Every cell: workloads and models in the order of the file, and under each the environments.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.workloads.iter().flat_map(move |workload| {
            self.models.iter().flat_map(move |model| {
                self.environments.iter().map(move |environment| Cell {
                    environment: environment.label.clone(),
                    model: model.label.clone(),
                    workload: workload.label.clone(),
                })
            })
        })
    }
}

/// The `[[skip]]` of a suite, ready to be asked. An invalid glob matches nothing. `read` has reported it.
pub struct Chooser<'a>(Vec<([Option<Option<GlobMatcher>>; 3], &'a str)>);

impl<'a> Chooser<'a> {
    /// Of a suite.
    pub fn of(suite: &'a Suite) -> Self {
        let matcher = |pattern: &Option<String>| pattern.as_ref().map(|pattern| glob(pattern).ok());
        let skips = suite.skip.iter();
        Self(
            skips
                .map(|s| ([matcher(&s.environment), matcher(&s.model), matcher(&s.workload)], s.reason.as_str()))
                .collect(),
        )
    }

    /// Why the suite leaves the cell out. Absent when it does not.
    pub fn left_out(&self, cell: &Cell) -> Option<&'a str> {
        let labels = [&cell.environment, &cell.model, &cell.workload];
        let hit = |matchers: &[Option<Option<GlobMatcher>>; 3]| {
            matchers.iter().any(Option::is_some)
                && matchers.iter().zip(labels).all(|(matcher, label)| match matcher {
                    None => true,
                    Some(glob) => glob.as_ref().is_some_and(|glob| glob.is_match(label)),
                })
        };
        self.0.iter().find(|(matchers, _)| hit(matchers)).map(|(_, reason)| *reason)
    }
}

/// The keys `environments` and `models` of the workloads, ready to be asked.
pub struct Restrictions(BTreeMap<String, [Option<Vec<GlobMatcher>>; 2]>);

impl Restrictions {
    /// Of a suite.
    pub fn of(suite: &Suite) -> Self {
        Self(
            suite
                .workloads
                .iter()
                .map(|part| (part.label.clone(), [globs(part, "environments"), globs(part, "models")]))
                .collect(),
        )
    }

    /// Whether the workload of the cell is meant for its environment and its model.
    pub fn allows(&self, cell: &Cell) -> bool {
        let Some([environments, models]) = self.0.get(&cell.workload) else { return true };
        let any = |globs: &Option<Vec<GlobMatcher>>, label: &str| {
            globs.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.is_match(label)))
        };
        any(environments, &cell.environment) && any(models, &cell.model)
    }
}

/// Absent where the key is absent or its list empty: both mean "all".
fn globs(part: &Part, key: &str) -> Option<Vec<GlobMatcher>> {
    let Value::List(items) = &part.settings.entries.get(key)?.value else { return None };
    let patterns: Vec<&str> = items
        .iter()
        .filter_map(|item| match &item.value {
            Value::Text(pattern) => Some(pattern.as_str()),
            _ => None,
        })
        .collect();
    (!patterns.is_empty()).then(|| patterns.into_iter().filter_map(|pattern| glob(pattern).ok()).collect())
}
