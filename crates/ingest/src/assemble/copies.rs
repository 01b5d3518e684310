//! Runs that occur twice: the most complete copy is kept.
//!
//! In:  the drafts of all runs.  Out: drafts without copies, and a note for each copy.
//! Not here: which figures could be those of a copy (see `fingerprint` of a partial run).
//!
//! A copy has the same bytes, or the same start, settings and figures. Two settings may decode at the same rate to the digit, so equal figures
//! alone make no copy. Consoles say no start. They are copies where many figures agree, or where their name or folder is that of the result.
//! What lies below one folder that was given is compared, apart from what an archive or a file of labels claims for itself.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::Draft;
use super::join::named::is_one_name;
use crate::file_report::FileReport;
use crate::{JoinRole, PartialRun};
use sparkbench_archive::Discovery;
use sparkbench_archive::manifest::CAMPAIGN_FILE;

/// The file in which a person labels a folder.
const LABELS_FILE: &str = "labels.toml";
/// Share by which two forms of one number may differ that gives all its digits.
const ROUNDING: f64 = 1e-9;
/// Figures that agree by chance in no two runs.
const MANY_FIGURES: usize = 4;

/// Keeps of each run that was copied the fullest: a result before a console, one with a file of its own, then the one with more figures, then
/// the first.
pub(super) fn copies(drafts: &mut Vec<Draft>, found: &Discovery, report: &mut FileReport) {
    let path = |number: usize| found.files.get(number).map_or("", |file| file.path.as_str());
    let folder = |number: usize| path(number).rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut gone = of_bytes(drafts, found, report);
    let rank = |place: usize, draft: &Draft| {
        let partial = &draft.partial;
        let figures = partial.readings.len() + partial.series.len() + partial.extras.len();
        let console = partial.join_role == JoinRole::WholeFolder || is_printed(partial);
        (console, partial.join_role == JoinRole::Alone, usize::MAX - figures, draft.main, place)
    };
    let mut order: Vec<_> = drafts.iter().enumerate().map(|(place, draft)| (rank(place, draft), place)).collect();
    order.sort_unstable();
    let mut kept: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (_, place) in order {
        let Some(draft) = drafts.get(place).filter(|_| !gone.contains_key(&place)) else { continue };
        let Some(mark) = &draft.partial.fingerprint else { continue };
        let known = kept.entry((realm(draft, found), mark.as_str())).or_default();
        let original = known.iter().filter_map(|other| drafts.get(*other)).find(|other| is_copy(draft, other, path));
        match original {
            Some(original) => {
                gone.insert(place, original.main);
            }
            None => known.push(place),
        }
    }
    let mut place = 0;
    drafts.retain(|draft| {
        let original = gone.get(&place);
        place += 1;
        let Some(original) = original else { return true };
        let word =
            if *original == draft.main { "further up".to_owned() } else { format!("from '{}'", path(*original)) };
        report.note(draft.main, format!("a copy of a run that is read {word}. It is not counted twice"));
        if folder(draft.main) != folder(*original) && draft.partial.join_role != JoinRole::Alone {
            report.copied(draft.main, path(*original));
        }
        false
    });
    // A summary of many runs may lie above the folders of the runs that it repeats.
    let below: Vec<&Draft> = drafts
        .iter()
        .filter(|draft| draft.partial.join_role != JoinRole::Alone && draft.partial.fingerprint.is_some())
        .collect();
    let is_below = |home: &str, above: &str| {
        home.strip_prefix(above).is_some_and(|rest| rest.starts_with('/') || (above.is_empty() && !rest.is_empty()))
    };
    let summaries: Vec<Option<usize>> = drafts
        .iter()
        .map(|draft| {
            let alone = draft.partial.join_role == JoinRole::Alone && draft.partial.fingerprint.is_some();
            let same = |other: &&&Draft| {
                other.partial.fingerprint == draft.partial.fingerprint
                    && is_below(&other.home, &draft.home)
                    && is_copy(draft, other, path)
            };
            alone.then(|| below.iter().find(same).map(|kept| kept.main)).flatten()
        })
        .collect();
    let mut summaries = summaries.into_iter();
    drafts.retain(|draft| {
        let Some(kept) = summaries.next().flatten() else { return true };
        report.note(draft.main, format!("a copy of a run that is read from '{}'. It is not counted twice", path(kept)));
        false
    });
}

/// The places of runs whose files have the bytes of another one that is read, with the number of that file.
fn of_bytes(drafts: &[Draft], found: &Discovery, report: &FileReport) -> BTreeMap<usize, usize> {
    let mut first: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut gone = BTreeMap::new();
    let measured = |draft: &Draft| !(draft.partial.readings.is_empty() && draft.partial.series.is_empty());
    for (place, draft) in drafts.iter().enumerate().filter(|(_, draft)| measured(draft)) {
        let Some(bytes) = report.sha256(draft.main) else { continue };
        let main = *first.entry((realm(draft, found), bytes)).or_insert(draft.main);
        if main != draft.main {
            gone.insert(place, main);
        }
    }
    gone
}

/// Where two files can be copies of each other: the folder that an archive or labels claim, else all that one folder given holds.
fn realm<'a>(draft: &'a Draft, found: &'a Discovery) -> &'a str {
    let claimed = [CAMPAIGN_FILE, LABELS_FILE].iter().any(|name| {
        let path = if draft.home.is_empty() { (*name).to_owned() } else { format!("{}/{name}", draft.home) };
        found.get(&path).is_some()
    });
    if claimed { &draft.home } else { found.files.get(draft.main).map_or("", |file| file.base.as_str()) }
}

/// Whether two runs with one mark are one.
fn is_copy<'a>(one: &Draft, other: &Draft, path: impl Fn(usize) -> &'a str) -> bool {
    let (a, b) = (&one.partial, &other.partial);
    let forms = [a, b].map(|partial| partial.readings.first().map(|reading| reading.origin.rule));
    if contradict(a, b, forms[0] == forms[1]) {
        return false;
    }
    if let (Some(ours), Some(theirs)) = (a.started, b.started) {
        return ours == theirs;
    }
    let (ours, theirs) = (path(one.main), path(other.main));
    let is_beside =
        ours.rsplit_once('/').map(|(folder, _)| folder) == theirs.rsplit_once('/').map(|(folder, _)| folder);
    let another_form = forms[0] != forms[1] && is_beside;
    another_form || is_strong(a) || figures_agree(a, b) || (one.main != other.main && is_one_name(ours, theirs))
}

/// Whether the mark itself holds figures that agree by chance in no two runs. Counts of requests and tokens were chosen.
fn is_strong(partial: &PartialRun) -> bool {
    let is_figure = |part: &&str| part.contains('.') && part.parse::<f64>().is_ok();
    partial.fingerprint.as_ref().is_some_and(|mark| mark.split('|').filter(is_figure).count() >= MANY_FIGURES)
}

/// A console prints fewer digits than a file holds. Its figures are in lines and not in fields.
fn is_printed(partial: &PartialRun) -> bool {
    partial.readings.first().is_some_and(|reading| reading.origin.field.is_none())
}

/// Whether two runs say different settings. Two forms of a result spell some of them differently, so only numbers are held against each other.
fn contradict(a: &PartialRun, b: &PartialRun, one_form: bool) -> bool {
    fn unlike<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
        a.is_some() && b.is_some() && a != b
    }
    let (ours, theirs) = (&a.setup, &b.setup);
    let numbers = unlike(&ours.batch, &theirs.batch) || unlike(&ours.request_rate, &theirs.request_rate);
    // A console may know only of the requests that ended.
    let words = || {
        unlike(&ours.requests, &theirs.requests)
            || unlike(&ours.model_id, &theirs.model_id)
            || unlike(&ours.machine, &theirs.machine)
            || unlike(&ours.engine_version, &theirs.engine_version)
            || unlike(&ours.quantisation, &theirs.quantisation)
            || unlike(&ours.parallel, &theirs.parallel)
            || ours.more.iter().any(|(name, value)| theirs.more.get(name).is_some_and(|other| other != value))
    };
    numbers || (one_form && words())
}

/// Whether many figures of both agree to the digits of the one that has fewer, and none does not. What was computed from one figure of a source
/// is one figure. Of a list each value is one.
fn figures_agree(a: &PartialRun, b: &PartialRun) -> bool {
    let mut places: BTreeSet<(Option<u64>, Option<&str>)> = BTreeSet::new();
    for ours in a.readings.iter().filter(|reading| reading.value.is_finite()) {
        let Some(theirs) = b.readings.iter().find(|theirs| theirs.metric == ours.metric) else { continue };
        let digits = [ours.decimals, theirs.decimals].into_iter().flatten().min();
        let unit = digits.map_or(ours.value.abs() * ROUNDING, |digits| 0.5001 * 10_f64.powi(-i32::from(digits)));
        if (ours.value - theirs.value).abs() > unit {
            return false;
        }
        places.insert((ours.origin.line, ours.origin.field.as_deref()));
    }
    let mut agreeing = places.len();
    for ours in &a.series {
        let Some(theirs) = b.series.iter().find(|theirs| theirs.metric == ours.metric) else { continue };
        let same = |(one, other): (&f64, &f64)| {
            (one.is_nan() && other.is_nan()) || (one - other).abs() <= one.abs() * ROUNDING
        };
        if ours.values.len() != theirs.values.len() || !ours.values.iter().zip(&theirs.values).all(same) {
            return false;
        }
        agreeing += ours.values.len();
    }
    agreeing >= MANY_FIGURES
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::{Instant, Origin, Reading};

    fn run(main: usize, rule: &'static str, figures: &[f64], more: &[(&str, &str)], started: Option<i64>) -> Draft {
        let origin = |field| Origin { file: String::new(), line: None, field: Some(field), rule };
        let reading = |(place, value): (usize, &f64)| {
            let metric = format!("m{place}");
            Reading { metric: metric.clone(), value: *value, decimals: Some(2), origin: origin(metric) }
        };
        // A rate and its inverse are one figure.
        let inverse = |field: &str| Reading {
            metric: "tpot_ms".to_owned(),
            value: 275.5,
            decimals: None,
            origin: origin(field.to_owned()),
        };
        let mut partial = PartialRun {
            readings: figures.iter().enumerate().map(reading).chain([inverse("m0")]).collect(),
            started: started.map(Instant),
            ..PartialRun::default()
        };
        partial.setup.more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Draft { partial, home: String::new(), main, others: Vec::new(), together: None, shown_only: false }
    }

    /// Issue 32: two back ends decoded at 3.63 tok/s, and one was lost.
    #[test]
    fn equal_figures_alone_make_no_copy() {
        let paths = ["a/rocm7.log", "a/rocm7-hblt0.log", "a/rocm7.json", "a/rocm7-results.log", "b/rocm7.json"];
        let (few, many): (&[f64], &[f64]) = (&[3.63, 18.59, 101.2], &[3.63, 18.59, 101.2, 44.0]);
        let table = "llama-bench-markdown";
        for (what, one, other, is) in [
            ("three figures", run(0, table, few, &[], None), run(1, table, few, &[], None), false),
            ("two rows of one file", run(0, table, few, &[], None), run(0, table, few, &[], None), false),
            ("a table beside its file", run(0, table, few, &[], None), run(2, "llama-bench", few, &[], Some(7)), true),
            ("one name", run(0, table, few, &[], None), run(3, table, few, &[], None), true),
            ("many figures", run(0, table, many, &[], None), run(1, table, many, &[], None), true),
            (
                "another setting",
                run(0, table, many, &[("fa", "1")], None),
                run(1, table, many, &[("fa", "0")], None),
                false,
            ),
            ("one start", run(2, table, few, &[], Some(7)), run(4, table, few, &[], Some(7)), true),
            ("another start", run(2, table, many, &[], Some(7)), run(4, table, many, &[], Some(8)), false),
        ] {
            assert_eq!(is_copy(&one, &other, |number| paths[number]), is, "{what}");
        }
    }
}
