//! Levels: values of a setting that mean the same, and lengths that are the same up to how they were measured.
//!
//! In:  values as sources spell them.  Out: one spelling for each level, and levels of lengths.
//! Not here: values that nobody said (see `table`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Lengths within this share of the smallest of a level are of that level.
const SHARE: f64 = 0.05;
/// Lengths within so many tokens of the smallest of a level are of that level too.
const TOKENS: f64 = 8.0;

/// Spellings of one value.
const ALIASES: &[(&str, &str)] = &[
    ("bfloat16", "bf16"),
    ("float16", "fp16"),
    ("half", "fp16"),
    ("f16", "fp16"),
    ("float32", "fp32"),
    ("f32", "fp32"),
    ("fp8_e4m3", "fp8"),
    ("true", "on"),
    ("yes", "on"),
    ("enabled", "on"),
    ("false", "off"),
    ("no", "off"),
    ("disabled", "off"),
];

/// A value as it is compared: without the case, the library before a data type, needless digits and other names.
pub(crate) fn normal(value: &str) -> String {
    let small = value.trim().to_lowercase();
    let small = small.strip_prefix("torch.").map_or(small.clone(), str::to_owned);
    if let Some((_, alias)) = ALIASES.iter().find(|(known, _)| *known == small) {
        return (*alias).to_owned();
    }
    match small.parse::<f64>() {
        Ok(number) if number.is_finite() => format!("{number}"),
        _ => small,
    }
}

/// The level of each length: the smallest of those that are near it. Levels go upwards and do not chain. A length of zero is a part of the
/// work that was left out.
pub(crate) fn lengths(values: &[String]) -> BTreeMap<String, String> {
    let mut numbers: Vec<(f64, &String)> =
        values.iter().filter_map(|value| Some((value.parse::<f64>().ok()?, value))).collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut levels = BTreeMap::new();
    let mut first: Option<(f64, &String)> = None;
    for (number, value) in numbers {
        let near = |(least, _): &(f64, &String)| are_near(*least, number);
        let level = first.filter(near).unwrap_or((number, value));
        first = Some(level);
        levels.insert(value.clone(), shown(level.0));
    }
    levels
}

/// Whether two lengths may be of one level.
pub(crate) fn are_near(a: f64, b: f64) -> bool {
    let least = a.min(b);
    a == b || least > 0.0 && (a - b).abs() <= (least * SHARE).max(TOKENS)
}

fn shown(number: f64) -> String {
    format!("{}", number.round())
}

/// Numbers rise, and so do words with numbers in them: `c8` before `c16`, version 0.9 before 0.10.
pub(crate) fn order(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        _ => parts(a).cmp(&parts(b)).then_with(|| a.cmp(b)),
    }
}

/// Words and numbers of a text by turns.
fn parts(text: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = vec![(String::new(), 0)];
    let mut in_number = false;
    for letter in text.chars() {
        let digit = letter.to_digit(10);
        if digit.is_none() && in_number {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        if let Some((word, number)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(u64::from(digit)),
                None => word.extend(letter.to_lowercase()),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Vec<String> {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let levels = lengths(&values);
        values.iter().map(|value| levels[value].clone()).collect()
    }

    #[test]
    fn spellings_of_one_value_are_one_level() {
        for (value, level) in [
            ("bfloat16", "bf16"),
            ("torch.bfloat16", "bf16"),
            ("BF16", "bf16"),
            ("0.90", "0.9"),
            ("8.0", "8"),
            ("True", "on"),
            ("NVIDIA GB10", "nvidia gb10"),
        ] {
            assert_eq!(normal(value), level, "{value}");
        }
    }

    #[test]
    fn measured_lengths_that_are_near_are_one_level_and_do_not_chain() {
        // Issue 32, case 13: two means that are whole by chance.
        assert_eq!(of(&["143", "149"]), ["143", "143"]);
        assert_eq!(of(&["262.99", "265.35"]), ["263", "263"]);
        assert_eq!(of(&["100", "104", "108", "112"]), ["100", "100", "100", "112"]);
        assert_eq!(of(&["512", "1024"]), ["512", "1024"]);
        assert_eq!(of(&["0", "4", "10"]), ["0", "4", "4"]);
    }

    #[test]
    fn numbers_within_words_rise() {
        let mut words = ["c16", "c8", "0.10.1", "0.9.2", "b", "a"];
        words.sort_by(|a, b| order(a, b));
        assert_eq!(words, ["0.9.2", "0.10.1", "a", "b", "c8", "c16"]);
    }
}
