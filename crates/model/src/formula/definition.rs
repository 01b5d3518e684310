//! Checks the definition of a metric.
//!
//! In:  the name and the [`CustomMetric`].  Out: [`Checked`], ready to be computed, or every fault with its key.
//! Not here: its file, the runs.

use regex::{Regex, RegexBuilder};

use super::unit::Unit;
use super::vocabulary::{self, Aggregate};
use super::{Fault, Formula};
use crate::{CustomMetric, Metric};

/// Largest compiled pattern, bytes: far above any that a person writes, far below what would slow reading. Matching takes time linear in
/// the text whatever the pattern.
const PATTERN_MAX: usize = 1 << 20;
/// Longest name, label and unit, in characters.
const NAME_MAX: usize = 60;
/// Longest time that a command may take, seconds.
const TIME_LIMIT_MAX_S: f64 = 3_600.0;
/// Group of a pattern that holds the figure.
const GROUP: &str = "value";

/// Where the figures of a definition come from.
#[derive(Debug, Clone)]
pub enum DefinitionOrigin {
    /// An expression.
    Formula(Box<Formula>),
    /// A value of a file.
    File(Take),
}

/// The part taken from a file.
#[derive(Debug, Clone)]
pub enum Take {
    /// The value at a JSON pointer.
    Pointer(String),
    /// The cells of a column of a CSV.
    Column(String),
    /// The text that the group of this number matches on each line.
    Pattern(Regex, usize),
    /// The file is the number.
    Whole,
}

/// A definition without a fault.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Where its figures come from.
    pub origin: DefinitionOrigin,
    /// Aggregation of several values into one figure.
    pub aggregate: Aggregate,
    /// Unit of its figures, as given or as the expression gives it.
    pub unit: String,
    /// Whether per cent of it mean nothing.
    pub zero_is_arbitrary: bool,
}

/// A fault of a definition, with the key it is at. The key is empty for the whole definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFault {
    /// Key of the definition.
    pub key: &'static str,
    /// The fault, in a few words that follow the key.
    pub what: String,
    pub remedy: String,
}

fn at(key: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> KeyFault {
    KeyFault { key, what: what.into(), remedy: remedy.into() }
}

/// Checks a definition.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(name: &str, custom: &CustomMetric) -> Result<Checked, Vec<KeyFault>> {
    let mut faults = of_name(name);
    for (key, text) in [("label", &custom.label), ("unit", &custom.unit)] {
        let odd = |text: &String| text.chars().count() > NAME_MAX || text.chars().any(char::is_control);
        if text.as_ref().is_some_and(odd) {
            faults.push(at(key, "is not a short text", format!("give at most {NAME_MAX} characters on one line")));
        }
    }
    if let Some(margin) = custom.margin_pct.filter(|margin| !(*margin > 0.0 && *margin < 100.0)) {
        faults.push(at(
            "margin_pct",
            format!("is {margin}"),
            "give the difference that would not matter to you, in per cent of the baseline, above 0 and below 100",
        ));
    }
    let origin = origin(custom, &mut faults);
    let aggregate = aggregate(custom, origin.as_ref(), &mut faults);
    let given = custom.unit.clone();
    let mut unit = given.clone().unwrap_or_default();
    if let Some(DefinitionOrigin::Formula(formula)) = &origin {
        match &given {
            Some(given) => {
                if let Err(fault) = formula.fits(given) {
                    faults.push(at("unit", format!("cannot be used: the expression {}", fault.what), fault.remedy));
                }
            }
            None => unit = formula.unit().map(Unit::to_string).unwrap_or_default(),
        }
    }
    match origin {
        Some(origin) if faults.is_empty() => {
            let zero_is_arbitrary = Unit::parse(&unit).is_some_and(|unit| unit.has_arbitrary_zero());
            Ok(Checked { origin, aggregate, unit, zero_is_arbitrary })
        }
        _ => Err(faults),
    }
}

fn of_name(name: &str) -> Vec<KeyFault> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !starts || !name.chars().all(plain) || name.len() > NAME_MAX {
        let remedy = format!("write small letters, digits and _, a letter first, at most {NAME_MAX}: tokens_per_joule");
        return vec![at("", "has a name that no metric can have", remedy)];
    }
    if Metric::of_catalogue(name).is_some() || vocabulary::place(vocabulary::SETTINGS, name).is_some() {
        return vec![at("", "has the name of a figure that is known already", "choose another name")];
    }
    Vec::new()
}

fn origin(custom: &CustomMetric, faults: &mut Vec<KeyFault>) -> Option<DefinitionOrigin> {
    let takes = [
        ("pointer", custom.pointer.is_some()),
        ("column", custom.column.is_some()),
        ("pattern", custom.pattern.is_some()),
    ];
    let from_file = custom.file.is_some() || !custom.command.is_empty() || takes.iter().any(|(_, there)| *there);
    if let Some(text) = &custom.expression {
        if from_file || custom.aggregate.is_some() || custom.time_limit_s.is_some() {
            faults.push(at(
                "expression",
                "cannot be combined with keys of a file or a command",
                "keep one of them: a metric comes from one place",
            ));
        }
        return match Formula::parse(text) {
            Ok(formula) => Some(DefinitionOrigin::Formula(Box::new(formula))),
            Err(Fault { column, what, remedy }) => {
                let place = column.map_or_else(String::new, |column| format!("column {column}: "));
                faults.push(at("expression", format!("{place}{what}"), remedy));
                None
            }
        };
    }
    if !from_file {
        let remedy = "give one of expression, pointer, column, pattern or command";
        faults.push(at("", "does not say where its figures come from", remedy));
        return None;
    }
    if takes.iter().filter(|(_, there)| *there).count() > 1 {
        faults.push(at(
            "pointer",
            "cannot be combined with another way to read the file",
            "keep one of pointer, column and pattern",
        ));
    }
    if custom.file.is_some() && !custom.command.is_empty() {
        faults.push(at(
            "file",
            "cannot be combined with command",
            "remove one of them: the output of the command is the file",
        ));
    }
    if let Some(file) = &custom.file {
        let leaves = file.starts_with('/') || file.split('/').any(|part| part == "..");
        let valid = globset::GlobBuilder::new(file).literal_separator(true).build().is_ok();
        if file.is_empty() || leaves || !valid {
            faults.push(at(
                "file",
                "is not a pattern below the folder of a run",
                "write a name such as report.json or logs/*.csv",
            ));
        }
    }
    if custom.command.iter().any(|word| word.contains('\0')) || custom.command.first().is_some_and(String::is_empty) {
        faults.push(at("command", "is not a command", "write [\"program\", \"argument\"]"));
    }
    if let Some(limit) = custom.time_limit_s {
        if custom.command.is_empty() {
            faults.push(at("time_limit_s", "needs a command", "remove it"));
        } else if !(limit > 0.0 && limit <= TIME_LIMIT_MAX_S) {
            faults.push(at(
                "time_limit_s",
                format!("is {limit}"),
                format!("give seconds above 0, at most {TIME_LIMIT_MAX_S}"),
            ));
        }
    }
    Some(DefinitionOrigin::File(take(custom, faults)?))
}

fn take(custom: &CustomMetric, faults: &mut Vec<KeyFault>) -> Option<Take> {
    if let Some(pointer) = &custom.pointer {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            faults.push(at("pointer", "does not begin with /", format!("write /{}", pointer.replace('.', "/"))));
        }
        return Some(Take::Pointer(pointer.clone()));
    }
    if let Some(column) = &custom.column {
        return Some(Take::Column(column.clone()));
    }
    let Some(text) = &custom.pattern else { return Some(Take::Whole) };
    match RegexBuilder::new(text).size_limit(PATTERN_MAX).dfa_size_limit(PATTERN_MAX).build() {
        Ok(regex) if regex.captures_len() < 2 => {
            faults.push(at("pattern", "has no group", r"put the figure into brackets: 'loss (?<value>[0-9.]+)'"));
            None
        }
        Ok(regex) => {
            let group = regex.capture_names().position(|name| name == Some(GROUP)).unwrap_or(1);
            Some(Take::Pattern(regex, group))
        }
        Err(cause) => {
            let words = cause.to_string();
            let last = words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            faults.push(at(
                "pattern",
                format!("is not a regular expression: {last}"),
                "correct it. Look-around and back references are not supported",
            ));
            None
        }
    }
}

/// Aggregation of several values into one figure. By default it is the mean of a column or of a list, and the last match of a pattern.
fn aggregate(custom: &CustomMetric, origin: Option<&DefinitionOrigin>, faults: &mut Vec<KeyFault>) -> Aggregate {
    let Some(name) = &custom.aggregate else {
        return match origin {
            Some(DefinitionOrigin::File(Take::Pattern(..))) => Aggregate::Last,
            _ => Aggregate::Mean,
        };
    };
    vocabulary::aggregate(name).filter(|known| *known != Aggregate::Share).unwrap_or_else(|| {
        let remedy = "write mean, median, min, max, sum, sd, count, last or a percentile such as p99";
        faults.push(at("aggregate", format!("is \"{name}\""), remedy));
        Aggregate::Mean
    })
}
