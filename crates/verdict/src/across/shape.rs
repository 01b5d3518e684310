//! The shape of requests: lengths, without the load at which they were sent.
//!
//! In:  places.  Out: the number of the shape for each place, and the batch of a cell.
//! Not here: sweeps.
//!
//! Two cells have one shape when their lengths agree within the tolerance of `alike`. They also have one when their campaign gives them one
//! label except for the load. `random-1024-1024-r2` and `random-1024-1024-r8` asked for the same lengths, although drawn lengths differ a
//! little each time.

use std::collections::BTreeMap;

use crate::alike::TOKENS_TOLERANCE_PCT;
use crate::case::Cell;
use crate::report::across::Place;

/// Words of labels that say a batch or a concurrency limit, longest first. Single letters count only with digits right behind.
const BATCH_WORDS: &[&str] = &["concurrency", "batch", "users", "conc", "bs", "c", "b"];
/// Words of labels that say a rate.
const RATE_WORDS: &[&str] = &["rate", "qps", "rps", "r"];

/// Batch or concurrency limit of a cell: as its runs say, else as the label of its workload does.
pub(crate) fn batch(cell: &Cell<'_>) -> Option<f64> {
    let said = cell.runs.iter().find_map(|run| run.setup.batch);
    said.or_else(|| label_batch(cell.workload)).filter(|batch| *batch > 0.0 && batch.is_finite())
}

/// `isl128 batch8` is 8. `T5` says nothing.
pub(crate) fn label_batch(label: &str) -> Option<f64> {
    words(label).iter().find_map(|word| number_behind(word, BATCH_WORDS)).or_else(|| {
        // The number may be a word of its own: `batch 8`.
        let words = words(label);
        words.windows(2).find_map(|pair| {
            let named = BATCH_WORDS.iter().any(|name| name.len() > 1 && *name == pair[0]);
            pair[1].parse::<f64>().ok().filter(|_| named)
        })
    })
}

/// The label without the words that say a load. Absent where it has none.
pub(crate) fn stem(label: &str) -> Option<String> {
    let all = words(label);
    let is_load = |k: usize| {
        let word = &all[k];
        let named = |word: &str| BATCH_WORDS.iter().chain(RATE_WORDS).any(|name| name.len() > 1 && *name == word);
        number_behind(word, BATCH_WORDS).is_some()
            || number_behind(word, RATE_WORDS).is_some()
            || (named(word) && all.get(k + 1).is_some_and(|next| next.parse::<f64>().is_ok()))
            || (word.parse::<f64>().is_ok() && k > 0 && named(&all[k - 1]))
    };
    let kept: Vec<&str> = (0..all.len()).filter(|k| !is_load(*k)).map(|k| all[k].as_str()).collect();
    (kept.len() < all.len()).then(|| kept.join("-"))
}

/// Lower-case words of letters, digits and points.
fn words(label: &str) -> Vec<String> {
    let parts = label.split(|c: char| !(c.is_alphanumeric() || c == '.'));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn number_behind(word: &str, names: &[&str]) -> Option<f64> {
    let digits = names.iter().find_map(|name| word.strip_prefix(name).filter(|rest| !rest.is_empty()))?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    digits.parse::<f64>().ok().filter(|_| plain)
}

/// Shared key of every cell of a sweep besides its shape. Unnamed machines are one within a campaign only.
type SweepKey<'p> = (Result<&'p str, &'p str>, u64, &'p str, Option<&'p str>);

fn ground(place: &Place) -> SweepKey<'_> {
    let machine = place.machine.as_deref().ok_or(place.cell.campaign.as_str());
    (machine, place.devices.to_bits(), &place.cell.model, place.quantisation.as_deref())
}

/// The shape of each place by a number. Absent where neither lengths nor label say one. Places of one shape share machine, model and precision.
pub(crate) fn shapes(places: &[&Place]) -> Vec<Option<usize>> {
    let mut grounds: BTreeMap<SweepKey<'_>, Vec<usize>> = BTreeMap::new();
    for (k, place) in places.iter().enumerate() {
        grounds.entry(ground(place)).or_default().push(k);
    }
    let mut root: Vec<usize> = (0..places.len()).collect();
    let mut known = vec![false; places.len()];
    for members in grounds.values() {
        let isl = clusters(&members.iter().map(|k| places[*k].isl).collect::<Vec<_>>());
        let osl = clusters(&members.iter().map(|k| places[*k].osl).collect::<Vec<_>>());
        let mut by_length: BTreeMap<(Option<usize>, Option<usize>), usize> = BTreeMap::new();
        let mut by_stem: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for (at, k) in members.iter().enumerate() {
            let place = places[*k];
            // Without its output length a cell is like no other: output a second depends on it most.
            if osl[at].is_some() {
                known[*k] = true;
                let first = *by_length.entry((isl[at], osl[at])).or_insert(*k);
                join(&mut root, first, *k);
            }
            if let Some(stem) = stem(&place.cell.workload) {
                known[*k] = true;
                let first = *by_stem.entry((&place.cell.campaign, stem)).or_insert(*k);
                join(&mut root, first, *k);
            }
        }
    }
    (0..places.len()).map(|k| known[k].then(|| find(&root, k))).collect()
}

fn find(root: &[usize], mut k: usize) -> usize {
    while root[k] != k {
        k = root[k];
    }
    k
}

fn join(root: &mut [usize], a: usize, b: usize) {
    let (a, b) = (find(root, a), find(root, b));
    // The smaller number stays the root, so that numbers do not depend on the order of joining.
    root[a.max(b)] = a.min(b);
}

/// Values that lie within the tolerance of lengths of the first of their cluster are one. Gives the number of its cluster for each.
pub(super) fn clusters(values: &[Option<f64>]) -> Vec<Option<usize>> {
    let mut sorted: Vec<f64> = values.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let mut starts: Vec<f64> = Vec::new();
    for value in sorted {
        if starts.last().is_none_or(|start| value - start > TOKENS_TOLERANCE_PCT / 100.0 * start) {
            starts.push(value);
        }
    }
    let of = |value: f64| starts.iter().rposition(|start| *start <= value);
    values.iter().map(|value| value.and_then(of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_its_batch_only_in_words_that_mean_one() {
        for (label, batch) in [
            ("isl128-b8", Some(8.0)),
            ("5000-250-c128", Some(128.0)),
            ("batch 16", Some(16.0)),
            ("chat, concurrency 4", Some(4.0)),
            ("bs32", Some(32.0)),
            ("T5", None),
            ("b", None),
            ("base64", None),
            ("c-8", None),
            ("128 in, 128 out", None),
        ] {
            assert_eq!(label_batch(label), batch, "{label}");
        }
    }

    #[test]
    fn a_stem_is_the_label_without_its_load() {
        assert_eq!(stem("random-1024-1024-r8").as_deref(), Some("random-1024-1024"));
        assert_eq!(stem("4000-500-c25-r1.5").as_deref(), Some("4000-500"));
        assert_eq!(stem("chat batch 16").as_deref(), Some("chat"));
        assert_eq!(stem("throughput"), None);
        assert_eq!(stem("128 in, 128 out"), None);
    }
}
