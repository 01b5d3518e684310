//! Ids of tables and names of their rows.
//!
//! In:  labels.  Out: text in which no two are alike.
//! Not here: which tables there are.

use std::collections::BTreeSet;

/// Lower-case letters, digits and single hyphens.
pub(super) fn slug(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        for c in part.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
                _ if out.ends_with('-') || out.is_empty() => {}
                _ => out.push('-'),
            }
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Makes ids unique in their order: a second `a` becomes `a-2`.
pub(super) fn unique(taken: &mut BTreeSet<String>, base: String) -> String {
    let base = if base.is_empty() { "all".to_owned() } else { base };
    let mut id = base.clone();
    let mut k = 2;
    while !taken.insert(id.clone()) {
        id = format!("{base}-{k}");
        k += 1;
    }
    id
}

/// Names that distinguish rows: the first part, and of the others, in their order, those that part rows which were alike so far.
pub(super) fn labels(rows: &[Vec<String>]) -> Vec<String> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let named = |parts: &[usize]| -> Vec<String> {
        let told = |row: &Vec<String>| -> Vec<String> {
            parts.iter().filter_map(|k| row.get(*k)).filter(|part| !part.is_empty()).cloned().collect()
        };
        rows.iter().map(|row| told(row).join(", ")).collect()
    };
    let distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len();
    let mut parts = vec![0];
    let mut names = named(&parts);
    for k in 1..width {
        parts.push(k);
        let more = named(&parts);
        if distinct(&more) > distinct(&names) {
            names = more;
        } else {
            parts.pop();
        }
    }
    names
}
