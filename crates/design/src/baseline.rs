//! The level that others are compared with, where the levels themselves say one.
//!
//! In:  the levels of the treatment with the times of their runs.  Out: a level, or none: then the levels are ranked.
//! Not here: a baseline that somebody named (see `verdict::layout`).

use sparkbench_model::Instant;

use super::levels;

/// Names of levels that others are compared with, the most telling first.
const NAMES: &[&str] = &["native", "baseline", "before", "base", "old", "default", "off", "none"];
/// Treatments whose levels have no order of their own: they are ranked.
const RANKED: &[&str] = &["quantisation", "backend"];
/// Treatments whose levels are versions.
const VERSIONS: &[&str] = &["engine_version", "tool_version"];

/// One level as people spell it, with the first start among its runs and the place of the first of them.
pub(crate) struct Level {
    pub name: String,
    pub started: Option<Instant>,
    pub place: usize,
}

/// The baseline of a treatment.
pub(crate) fn of(treatment: &str, found: &[Level]) -> Option<String> {
    let named = NAMES.iter().find_map(|name| found.iter().find(|level| level.name.eq_ignore_ascii_case(name)));
    if let Some(level) = named {
        return Some(level.name.clone());
    }
    if RANKED.contains(&treatment) {
        return None;
    }
    let first = if VERSIONS.contains(&treatment) {
        found.iter().min_by(|a, b| levels::order(&a.name, &b.name))
    } else if found.iter().all(|level| level.started.is_some()) {
        found.iter().min_by_key(|level| (level.started, level.place))
    } else {
        found.iter().min_by_key(|level| level.place)
    };
    first.map(|level| level.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(treatment: &str, levels: &[(&str, Option<&str>)]) -> Option<String> {
        let found: Vec<Level> = levels
            .iter()
            .enumerate()
            .map(|(place, (name, started))| Level {
                name: (*name).to_owned(),
                started: started.and_then(Instant::parse),
                place,
            })
            .collect();
        of(treatment, &found)
    }

    #[test]
    fn names_come_first_then_versions_then_times_then_the_order_of_arguments() {
        assert_eq!(baseline("file", &[("after", None), ("before", None)]).as_deref(), Some("before"));
        assert_eq!(baseline("engine_version", &[("0.10.1", None), ("0.9.2", None)]).as_deref(), Some("0.9.2"));
        let times = [("a", Some("2026-01-02T00:00:00Z")), ("b", Some("2026-01-01T00:00:00Z"))];
        assert_eq!(baseline("file", &times).as_deref(), Some("b"));
        assert_eq!(baseline("file", &[("a", None), ("b", times[1].1)]).as_deref(), Some("a"));
        assert_eq!(baseline("quantisation", &[("bf16", None), ("fp8", None)]), None);
        assert_eq!(baseline("speculative", &[("mtp", None), ("off", None)]).as_deref(), Some("off"));
    }
}
