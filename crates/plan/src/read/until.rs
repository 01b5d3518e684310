//! `repeats` as a table: a campaign that looks at its figures and stops when it is decided.
//!
//! In:  the table.  Out: the most repeats of a cell, and the design that `campaign.json` fixes.
//! Not here: boundaries (see `stats::sequential`), what happens at a look (see `run`).

use crate::settings::Value;
use crate::{Faults, Reader, Settings};
use sparkbench_model::SequentialDesign;
use sparkbench_stats::sequential::{Design, LOOKS_MAX, Spending};

use super::REPEATS_MAX;

/// Allowed values of `until`.
const DECIDED: &str = "decided";
/// Error rate where the suite gives none.
const ALPHA: f64 = 0.05;
/// The text to write, in one line.
const EXAMPLE: &str = "repeats = { min = 5, max = 30, until = \"decided\" }";

/// Reads the table. Where it has a fault a plan with what could be read stands in for it.
pub(super) fn repeats(table: &Settings, faults: &mut Faults) -> (u32, SequentialDesign) {
    let mut reader = table.reader(faults);
    if reader.required_text("until", EXAMPLE).is_some_and(|until| until != DECIDED) {
        reader.fault("until", "is not \"decided\"", format!("write {EXAMPLE}, or a number for fixed repeats"));
    }
    let named = looks(&mut reader);
    let (first, last) = (named.first().copied(), named.last().copied());
    let min = bound(&mut reader, "min", first);
    let max = bound(&mut reader, "max", last);
    if min > max {
        reader.fault(
            "max",
            format!("is {max}, below min, which is {min}"),
            "set max to the largest number of blocks that you can afford",
        );
    }
    if first.is_some_and(|first| first < min) {
        reader.fault("looks", format!("begin before min, which is {min}"), "begin the looks at min, or lower min");
    }
    if last.is_some_and(|last| last != max) {
        reader.fault(
            "looks",
            format!("do not end at max, which is {max}"),
            "end the looks at max: the last one ends the campaign",
        );
    }
    let spending = reader.choice("spending", &Spending::ALL.map(Spending::word));
    let spending = spending.unwrap_or_else(|| Spending::default().word().to_owned());
    let alpha = reader.number_within("alpha", 1e-6, 0.5).unwrap_or(ALPHA);
    let futility = reader.choice("on_futility", &[SequentialDesign::STOP, SequentialDesign::GO_ON]);
    let looks = if named.is_empty() {
        let usual = Design::usual_looks(min as usize, max.max(min) as usize);
        usual.into_iter().filter_map(|n| u32::try_from(n).ok()).collect()
    } else {
        named
    };
    reader.finish();
    let design = SequentialDesign {
        kind: SequentialDesign::KIND.to_owned(),
        spending,
        alpha,
        looks,
        futility: futility.unwrap_or_else(|| SequentialDesign::GO_ON.to_owned()),
    };
    (max.max(min), design)
}

/// `min` or `max`. The end of the looks stands in for one that is not given.
fn bound(reader: &mut Reader<'_>, key: &'static str, else_by: Option<u32>) -> u32 {
    let least = SequentialDesign::FIRST_LOOK_MIN;
    if !reader.has(key) {
        if else_by.is_none() {
            reader.fault(key, "is missing", format!("give the smallest and the largest number of blocks: {EXAMPLE}"));
        }
        return else_by.unwrap_or(least);
    }
    let given = reader.whole_within(key, i64::from(least), REPEATS_MAX).and_then(|n| u32::try_from(n).ok());
    given.or(else_by).unwrap_or(least)
}

/// The looks, rising whole numbers. Empty where none are named or they have a fault.
fn looks(reader: &mut Reader<'_>) -> Vec<u32> {
    let given = reader.numbers("looks");
    if given.is_empty() {
        return Vec::new();
    }
    let least = f64::from(SequentialDesign::FIRST_LOOK_MIN);
    let whole = given.iter().all(|n| n.fract() == 0.0 && (least..=REPEATS_MAX as f64).contains(n));
    let rising = given.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    if !whole || !rising || given.len() > LOOKS_MAX {
        let what = if given.len() > LOOKS_MAX {
            format!("are more than {LOOKS_MAX}")
        } else {
            format!("are not whole numbers of blocks that rise from at least {least}")
        };
        reader.fault("looks", what, "give the number of blocks at each look, e.g. looks = [5, 8, 12, 20, 30]");
        return Vec::new();
    }
    // Whole and within the bound by the check above, so the cast keeps the value.
    given.into_iter().map(|n| n as u32).collect()
}

/// Whether a value is a table.
pub(super) fn is_table(settings: &Settings, key: &str) -> bool {
    settings.entries.get(key).is_some_and(|entry| matches!(entry.value, Value::Table(_)))
}
