//! Which rows and columns of a table are wanted.
//!
//! In:  words as typed, the table.  Out: names of columns, and whether each row is kept.
//! Not here: what is done with them.

use std::collections::BTreeSet;

use sparkbench_frame::{Cell, Role, Table};
use sparkbench_model::Setting;
use sparkbench_model::spelling::plain;
use sparkbench_text::error::Error;
use sparkbench_text::nearest::nearest;

/// Levels that an error lists. The rest is counted.
const LISTED: usize = 20;

/// Beginning of the column of a setting whose name is that of another column.
const BESIDE: &str = "setting_";

/// Ends of the columns that a group has of each metric.
const OF_GROUP: [&str; 4] = ["mean", "n", "sd", "half_width"];

/// One condition.
#[derive(Debug, PartialEq, Eq)]
struct Condition<'t> {
    typed: &'t str,
    setting: &'t str,
    levels: &'t str,
    not: bool,
}

/// Reads `SETTING=LEVEL`, `SETTING=LEVEL,LEVEL` or `SETTING!=LEVEL`.
fn parse(typed: &str) -> Result<Condition<'_>, Error> {
    let hint = "write it as SETTING=LEVEL or SETTING!=LEVEL, such as --where concurrency=8,16";
    let Some((setting, levels)) = typed.split_once('=') else {
        return Err(Error::usage(format!("--where {typed}: it has no '='")).hint(hint));
    };
    let (setting, not) = setting.strip_suffix('!').map_or((setting, false), |setting| (setting, true));
    let (setting, levels) = (setting.trim(), levels.trim());
    if setting.is_empty() || levels.is_empty() {
        return Err(Error::usage(format!("--where {typed}: it lacks a setting or a level")).hint(hint));
    }
    Ok(Condition { typed, setting, levels, not })
}

/// Whether each row fulfils every condition. A run that does not say a setting has no level of it.
///
/// # Errors
/// A condition that cannot be read, a column that there is not, a level that no run has.
pub(super) fn kept(table: &Table, conditions: &[String]) -> Result<Vec<bool>, Error> {
    let mut kept = vec![true; table.height()];
    for typed in conditions {
        let condition = parse(typed)?;
        let name = column(table, "where", condition.setting)?;
        // A label may be judged under another name than the files say. Either is meant.
        let beside = format!("{BESIDE}{name}");
        let mut columns = vec![table.cells(&name)?];
        if has(table, &beside) {
            columns.push(table.cells(&beside)?);
        }
        let levels = levels(&condition, &name, &columns)?;
        for (row, kept) in kept.iter_mut().enumerate() {
            let own = columns.iter().filter_map(|cells| cells.get(row));
            let is_one = own.into_iter().any(|cell| levels.iter().any(|level| is_level(cell, level)));
            *kept &= is_one != condition.not;
        }
    }
    Ok(kept)
}

/// The levels that a condition names. A level may hold a comma: then all of the text is one.
fn levels<'t>(condition: &Condition<'t>, name: &str, columns: &[Vec<Cell>]) -> Result<Vec<&'t str>, Error> {
    let is_there = |level: &str| columns.iter().flatten().any(|cell| is_level(cell, level));
    if is_there(condition.levels) {
        return Ok(vec![condition.levels]);
    }
    let levels: Vec<&str> = condition.levels.split(',').map(str::trim).filter(|level| !level.is_empty()).collect();
    let Some(unknown) = levels.iter().find(|level| !is_there(level)) else { return Ok(levels) };
    let mut seen = BTreeSet::new();
    let all = columns.iter().flatten().filter(|cell| **cell != Cell::Empty).map(Cell::text);
    let known: Vec<String> = all.filter(|text| seen.insert(text.clone())).collect();
    let more = known.len().saturating_sub(LISTED);
    let listed = known.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let listed = if more > 0 { format!("{listed} and {more} more") } else { listed };
    let error = Error::usage(format!("--where {}: no run has {name} = '{unknown}'", condition.typed))
        .detail(format!("the levels of {name} are: {listed}"));
    Err(match nearest(unknown, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error,
    })
}

/// Whether a cell is the level that was typed. Capitals do not count, and 8 is 8.0.
fn is_level(cell: &Cell, level: &str) -> bool {
    match cell {
        Cell::Empty => false,
        Cell::Number(value) => level.parse() == Ok(*value),
        cell => cell.text().to_lowercase() == level.to_lowercase(),
    }
}

/// The columns of these names. One that is named twice is one. Of a table of groups, a metric is all that the group says of it, behind the
/// keys.
///
/// # Errors
/// A column that there is not.
pub(super) fn columns(table: &Table, typed: &[String], keys: &[String]) -> Result<Vec<String>, Error> {
    let mut found = keys.to_vec();
    for name in typed {
        let of_group = OF_GROUP.map(|end| format!("{}_{end}", name.trim()));
        let names = match of_group.iter().all(|name| has(table, name)) && !keys.is_empty() {
            true => of_group.to_vec(),
            false => vec![column(table, "columns", name)?],
        };
        for name in names {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    Ok(found)
}

/// The columns to group by.
///
/// # Errors
/// A column that there is not, or one of figures.
pub(super) fn keys(table: &Table, typed: &[String]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for name in typed {
        let name = column(table, "group", name)?;
        let is_metric = table.columns().iter().any(|column| column.name == name && column.role == Role::Metric);
        if is_metric {
            return Err(Error::usage(format!("--group {name}: it is a metric"))
                .detail(format!("the settings are: {}", names(table, |role| role != Role::Metric)))
                .hint("group by settings, and choose metrics with --columns"));
        }
        if !found.contains(&name) {
            found.push(name);
        }
    }
    Ok(found)
}

fn has(table: &Table, name: &str) -> bool {
    table.columns().iter().any(|column| column.name == name)
}

/// The column of a name: as it stands, or of the setting that it means.
fn column(table: &Table, option: &str, typed: &str) -> Result<String, Error> {
    let typed = typed.trim();
    let plain = plain(typed);
    let meant = Setting::find(&plain).map(|setting| setting.name);
    for name in [typed, &plain].into_iter().chain(meant) {
        let beside = format!("{BESIDE}{name}");
        if let Some(name) = [name, &beside].into_iter().find(|name| has(table, name)) {
            return Ok(name.to_owned());
        }
    }
    let known = || table.columns().iter().map(|column| column.name.as_str());
    let begins = || known().find(|name| !plain.is_empty() && name.starts_with(&plain));
    let near = nearest(typed, known()).or_else(begins);
    let near = near.map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
    let listed = match option {
        "columns" => format!("the columns are: {}", names(table, |_| true)),
        _ => format!("the settings are: {}", names(table, |role| role != Role::Metric)),
    };
    Err(Error::usage(format!("--{option} {typed}: the table has no such column"))
        .detail(listed)
        .hint(format!("{near}--columns '?' lists all with their meanings")))
}

fn names(table: &Table, wanted: fn(Role) -> bool) -> String {
    let names = table.columns().iter().filter(|column| wanted(column.role)).map(|column| column.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_a_setting_and_levels() {
        let read = |typed| parse(typed).map(|read| (read.setting, read.levels, read.not));
        assert_eq!(read("quantisation=fp8").unwrap(), ("quantisation", "fp8", false));
        assert_eq!(read("concurrency != 8, 16").unwrap(), ("concurrency", "8, 16", true));
        // The first sign counts: a level may hold one.
        assert_eq!(read("flags=--seed=1").unwrap(), ("flags", "--seed=1", false));
        for wrong in ["quantisation", "=fp8", "quantisation=", "!=fp8", ""] {
            assert!(parse(wrong).unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_level_is_a_number_or_a_word_without_its_case() {
        let cases = [
            (Cell::Number(8.0), "8.0", true),
            (Cell::Number(8.0), "80", false),
            (Cell::Number(8.0), "eight", false),
            (Cell::Text("FP8".into()), "fp8", true),
            (Cell::Text("8".into()), "8.0", false),
            (Cell::Empty, "", false),
        ];
        for (cell, level, is_one) in cases {
            assert_eq!(is_level(&cell, level), is_one, "{cell:?} {level}");
        }
    }
}
