//! A JSON document written out value by value, so that every pointer has a row.

use std::collections::{BTreeMap, BTreeSet};

use super::super::json::{Kind, Node};
use crate::model::RawRow;

/// Items of a list of bare values that stand on its row; the rest is counted.
const ITEMS: usize = 12;

/// The line on which the value at a pointer begins.
pub fn line(tree: &Node<'_>, pointer: &str) -> Option<u64> {
    find(tree, pointer).map(|node| u64::from(node.line))
}

fn find<'t, 'a>(tree: &'t Node<'a>, pointer: &str) -> Option<&'t Node<'a>> {
    if pointer.is_empty() {
        return Some(tree);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(tree, |node, part| match &node.kind {
        Kind::Map(entries) => {
            let key = part.replace("~1", "/").replace("~0", "~");
            entries.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| value)
        }
        Kind::List(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The document from top to bottom.
pub fn rows(tree: &Node<'_>) -> Vec<RawRow> {
    let mut out = Vec::new();
    write(tree, 0, "", String::new(), "", &mut out);
    out
}

/// The row of each pointer: its own, or that of the nearest list or object around it that has one.
pub fn places(rows: &[RawRow], pointers: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let known: BTreeMap<&str, u64> =
        rows.iter().rev().filter_map(|row| Some((row.pointer.as_deref()?, row.number))).collect();
    let place = |pointer: &str| {
        let mut part = pointer;
        loop {
            if let Some(number) = known.get(part) {
                return Some(*number);
            }
            part = part.rsplit_once('/')?.0;
        }
    };
    pointers.iter().filter_map(|pointer| Some((pointer.clone(), place(pointer)?))).collect()
}

fn write(node: &Node<'_>, depth: usize, pointer: &str, key: String, end: &str, out: &mut Vec<RawRow>) {
    let indent = "  ".repeat(depth);
    let mut put = |text: String, pointer: Option<&str>| {
        let number = out.len() as u64 + 1;
        out.push(RawRow { number, text, cut: 0, pointer: pointer.map(str::to_owned) });
    };
    match &node.kind {
        Kind::Map(entries) if !entries.is_empty() => {
            put(format!("{indent}{key}{{"), Some(pointer));
            for (k, (name, value)) in entries.iter().enumerate() {
                let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                let comma = if k + 1 < entries.len() { "," } else { "" };
                write(value, depth + 1, &below, format!("{}: ", quoted(name)), comma, out);
            }
            closing(out, format!("{indent}}}{end}"));
        }
        Kind::List(items) if items.iter().any(is_deep) => {
            put(format!("{indent}{key}["), Some(pointer));
            for (k, value) in items.iter().enumerate() {
                let comma = if k + 1 < items.len() { "," } else { "" };
                write(value, depth + 1, &format!("{pointer}/{k}"), String::new(), comma, out);
            }
            closing(out, format!("{indent}]{end}"));
        }
        _ => put(format!("{indent}{key}{}{end}", bare(node)), Some(pointer)),
    }
}

fn closing(out: &mut Vec<RawRow>, text: String) {
    let number = out.len() as u64 + 1;
    out.push(RawRow { number, text, cut: 0, pointer: None });
}

const fn is_deep(node: &Node<'_>) -> bool {
    matches!(node.kind, Kind::Map(_) | Kind::List(_))
}

/// The first items of a list of so many.
fn listed(mut first: Vec<String>, len: usize) -> String {
    if len > ITEMS {
        first.push(format!("… {} more", len - ITEMS));
    }
    format!("[{}]", first.join(", "))
}

fn numbers(values: &[f64]) -> String {
    listed(values.iter().take(ITEMS).map(f64::to_string).collect(), values.len())
}

/// A value that fits on its row. A long list says how many items it leaves out.
fn bare(node: &Node<'_>) -> String {
    match &node.kind {
        Kind::Null => "null".into(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(digits) => (*digits).to_owned(),
        Kind::Text(text) => quoted(text),
        Kind::Map(_) => "{}".into(),
        Kind::List(items) => listed(items.iter().take(ITEMS).map(bare).collect(), items.len()),
        Kind::Packed(list) if list.ends.is_none() => numbers(&list.values),
        Kind::Packed(list) => {
            listed((0..list.len().min(ITEMS)).map(|place| numbers(list.inner(place))).collect(), list.len())
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
