//! Which rows and columns of a table are wanted.
//!
//! In:  words as typed, the table.  Out: names of columns, and whether each row is kept.
//! Not here: what is done with them.

use std::collections::BTreeSet;

use sparkbench_design::Keep;
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

/// Whether each row fulfils every condition. A run that does not say a setting has no level of it.
///
/// # Errors
/// A column that there is not, a level that no run has.
pub(super) fn kept(table: &Table, conditions: &[Keep]) -> Result<Vec<bool>, Error> {
    let mut kept = vec![true; table.height()];
    for condition in conditions {
        let name = column(table, "where", &condition.name)?;
        // A label may be judged under another name than the files say. Either is meant.
        let beside = format!("{BESIDE}{name}");
        let names = [&name, &beside].into_iter().filter(|name| has(table, name));
        let columns = names.map(|name| table.cells(name)).collect::<Result<Vec<_>, _>>()?;
        let known = distinct(columns.iter().flatten().filter(|cell| **cell != Cell::Empty).map(Cell::text));
        if let Some(unknown) = condition.unknown(&known) {
            return Err(no_level(condition, &name, unknown, &known));
        }
        for (row, kept) in kept.iter_mut().enumerate() {
            let own: Vec<String> = columns.iter().filter_map(|cells| cells.get(row)).map(Cell::text).collect();
            *kept &= condition.holds(own.iter().map(String::as_str));
        }
    }
    Ok(kept)
}

fn distinct(levels: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    levels.filter(|level| seen.insert(level.clone())).collect()
}

fn no_level(condition: &Keep, name: &str, unknown: &str, known: &[String]) -> Error {
    let more = known.len().saturating_sub(LISTED);
    let listed = known.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let listed = if more > 0 { format!("{listed} and {more} more") } else { listed };
    let error = Error::usage(format!("--where {condition}: no run has {name} = '{unknown}'"))
        .detail(format!("the levels of {name} are: {listed}"));
    match nearest(unknown, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error,
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
