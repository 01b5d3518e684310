//! Finds the row of the analysis that a few words mean.
//!
//! In:  the words of a reference, rows with named fields.  Out: the one row that fits, or why it is not one.
//! Not here: the content of a row.
//!
//! Words may come in any order: each finds the field that has it. `field=word` says which field is meant where two have it. A field may be
//! left out where the rows that fit leave no choice.

use std::collections::BTreeSet;

use sparkbench_text::nearest::nearest;

/// A row by its fields.
pub(super) struct NamedRow<'a, T> {
    /// Name of the field and its value.
    pub fields: Vec<(&'static str, &'a str)>,
    /// What is behind it.
    pub item: T,
}

/// Why a reference means no one thing: a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The fault.
    pub what: String,
    /// Known names, and the text to write.
    pub hint: String,
}

impl Fault {
    /// Both sentences.
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// Names listed in a hint. Of more the first are listed and the rest is counted.
const MOST_NAMES: usize = 12;

/// The one row that all words fit. `noun` is what rows are called: `comparison`.
pub(super) fn one<'r, 'a, T>(rows: &'r [NamedRow<'a, T>], words: &[&str], noun: &str) -> Result<&'r T, Fault> {
    let Some(first) = rows.first() else {
        return Err(Fault::new(format!("this campaign has no {noun}"), "leave the reference out"));
    };
    let names: Vec<&'static str> = first.fields.iter().map(|(name, _)| *name).collect();
    let mut left: Vec<&NamedRow<'a, T>> = rows.iter().collect();
    for word in words {
        let (field, value) = field_of(rows, &names, word)?;
        left.retain(|row| row.fields.contains(&(field, value)));
        if left.is_empty() {
            let said = words.join(" | ");
            return Err(Fault::new(
                format!("each of '{said}' is known, and no {noun} has them together"),
                format!("with {field} '{value}' there is: {}", together(rows, field, value)),
            ));
        }
    }
    match left[..] {
        [only] => Ok(&only.item),
        _ => {
            let open: Vec<String> = names
                .iter()
                .filter_map(|name| {
                    let values = values(left.iter().copied(), name);
                    (values.len() > 1).then(|| format!("{name} ({})", listed(&values)))
                })
                .collect();
            Err(Fault::new(
                format!("{} {noun}s fit", left.len()),
                format!("say also which {}", open.join(" and which ")),
            ))
        }
    }
}

/// The field that a word names, with the word as the rows spell it.
fn field_of<'a, T>(
    rows: &[NamedRow<'a, T>],
    names: &[&'static str],
    word: &str,
) -> Result<(&'static str, &'a str), Fault> {
    let find = |name: &str, value: &str| {
        rows.iter().find_map(|row| row.fields.iter().find(|(n, v)| *n == name && *v == value).copied())
    };
    let all: BTreeSet<&str> = rows.iter().flat_map(|row| row.fields.iter().map(|(_, value)| *value)).collect();
    // A value may itself hold a sign of equality.
    if let Some((name, value)) = word.split_once('=').filter(|_| !all.contains(word)) {
        let (name, value) = (name.trim(), value.trim());
        if !names.contains(&name) {
            return Err(Fault::new(format!("'{name}' is no field"), format!("fields here: {}", names.join(", "))));
        }
        return find(name, value).ok_or_else(|| unknown(value, &values(rows.iter(), name), &[name]));
    }
    let found: Vec<(&'static str, &'a str)> = names.iter().filter_map(|name| find(name, word)).collect();
    match found[..] {
        [only] => Ok(only),
        [] => Err(unknown(word, &all.into_iter().collect::<Vec<_>>(), names)),
        _ => {
            let ways: Vec<String> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
            Err(Fault::new(
                format!("'{word}' is the name of more than one thing"),
                format!("write {}", ways.join(" or ")),
            ))
        }
    }
}

/// A name that nothing has, with the one that is near and those there are.
pub(super) fn unknown(word: &str, known: &[&str], fields: &[&str]) -> Fault {
    let near = nearest(word, known.iter().copied()).map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    Fault::new(format!("no {} here is called '{word}'", fields.join(", ")), format!("{near}known: {}", listed(known)))
}

fn values<'r, 'a: 'r, T: 'r>(rows: impl Iterator<Item = &'r NamedRow<'a, T>>, name: &str) -> Vec<&'a str> {
    let all: BTreeSet<&'a str> =
        rows.flat_map(|row| row.fields.iter().filter(|(n, _)| *n == name).map(|(_, value)| *value)).collect();
    all.into_iter().collect()
}

/// Fields beside a value.
fn together<T>(rows: &[NamedRow<'_, T>], field: &str, value: &str) -> String {
    let with: Vec<&NamedRow<'_, T>> =
        rows.iter().filter(|row| row.fields.iter().any(|(n, v)| *n == field && *v == value)).collect();
    let names = with.first().map(|row| row.fields.iter().map(|(n, _)| *n).filter(|n| *n != field).collect::<Vec<_>>());
    let told: Vec<String> = names
        .unwrap_or_default()
        .iter()
        .map(|name| format!("{name} {}", listed(&values(with.iter().copied(), name))))
        .collect();
    told.join("; ")
}

fn listed(values: &[&str]) -> String {
    let shown: Vec<&str> = values.iter().take(MOST_NAMES).map(|v| if v.is_empty() { "(none)" } else { v }).collect();
    let more = values.len().saturating_sub(MOST_NAMES);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<NamedRow<'static, u8>> {
        let row = |model, environment, metric, item| NamedRow {
            fields: vec![("model", model), ("environment", environment), ("metric", metric)],
            item,
        };
        vec![
            row("small", "native", "ttft_ms", 1),
            row("small", "chroot", "ttft_ms", 2),
            row("small", "chroot", "tpot_ms", 3),
            row("chroot", "native", "ttft_ms", 4),
        ]
    }

    #[test]
    fn words_find_their_fields_in_any_order_and_may_be_left_out_where_there_is_no_choice() {
        assert_eq!(one(&rows(), &["tpot_ms"], "group"), Ok(&3));
        assert_eq!(one(&rows(), &["ttft_ms", "small", "native"], "group"), Ok(&1));
        assert_eq!(one(&rows(), &["model=chroot"], "group"), Ok(&4));
    }

    #[test]
    fn what_is_unknown_ambiguous_or_never_together_says_what_there_is() {
        let fault = |words: &[&str]| one(&rows(), words, "group").unwrap_err();
        let unknown = fault(&["smal"]);
        assert!(unknown.what.contains("'smal'") && unknown.hint.starts_with("did you mean 'small'?"), "{unknown:?}");
        assert!(fault(&["chroot"]).hint.contains("model=chroot or environment=chroot"));
        assert!(fault(&["small", "ttft_ms"]).hint.contains("which environment (chroot, native)"));
        assert!(fault(&["model=chroot", "tpot_ms"]).what.contains("no group has them together"));
        assert!(fault(&["size=3"]).what.contains("'size' is no field"));
        assert!(one(&Vec::<NamedRow<'_, u8>>::new(), &[], "group").unwrap_err().what.contains("no group"));
    }
}
