//! A JSON document written out value by value, so that every pointer has a row.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::json::{Kind, Node};
use sparkbench_model::RawRow;

/// Items of a list of bare values that its row shows. The rest is counted.
const ITEMS: usize = 12;

/// Keys of prompts, answers and error messages of servers. They are private and not shown on a page.
const TEXTS: &[&str] = &[
    "generated_texts",
    "generated_text",
    "errors",
    "prompt",
    "prompts",
    "request_args",
    "output",
    "output_text",
    "responses",
];

/// Whether texts of requests are in the document, in which lines cannot leave them out.
pub(super) fn has_texts(tree: &Node<'_>) -> bool {
    match &tree.kind {
        Kind::Map(entries) => entries.iter().any(|(key, value)| hidden(key, value).is_some() || has_texts(value)),
        Kind::List(items) => items.iter().any(has_texts),
        _ => false,
    }
}

/// Shown in place of the texts of requests. `None` where the value is no such text.
fn hidden(key: &str, node: &Node<'_>) -> Option<String> {
    let is_text = |node: &Node<'_>| matches!(&node.kind, Kind::Text(text) if !text.is_empty());
    if !TEXTS.contains(&key) {
        return None;
    }
    match &node.kind {
        Kind::Text(text) if !text.is_empty() => Some(format!("… {} characters, not shown", text.chars().count())),
        Kind::List(items) if items.iter().any(is_text) => Some(format!("[… {} texts, not shown]", items.len())),
        _ => None,
    }
}

/// One line of JSON without the texts of requests. A line that is not JSON stays unchanged.
///
/// A line may be cut off anywhere: what it began is left out to its end.
pub(super) fn without_texts(line: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Vec<u8> = Vec::new();
    let mut from = 0;
    for quote in memchr::memchr_iter(b'"', line) {
        if quote < from {
            continue;
        }
        let Some(start) = value_of(line, quote) else { continue };
        let end = end_of(line, start);
        out.extend_from_slice(line.get(from..start).unwrap_or_default());
        out.extend_from_slice("… not shown".as_bytes());
        from = end;
    }
    if from == 0 {
        return Cow::Borrowed(line);
    }
    out.extend_from_slice(line.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Where the value of a key of [`TEXTS`] begins at this quote, if it is a text or a list of texts.
fn value_of(line: &[u8], quote: usize) -> Option<usize> {
    let rest = line.get(quote + 1..)?;
    let key = TEXTS.iter().find(|key| rest.starts_with(key.as_bytes()) && rest.get(key.len()) == Some(&b'"'))?;
    let skip = |mut at: usize, which: &dyn Fn(u8) -> bool| {
        while line.get(at).copied().is_some_and(which) {
            at += 1;
        }
        at
    };
    let blank = |byte: u8| byte.is_ascii_whitespace();
    let colon = skip(quote + 2 + key.len(), &blank);
    let start = (line.get(colon) == Some(&b':')).then(|| skip(colon + 1, &blank))?;
    let first = skip(start, &|byte| blank(byte) || byte == b'[');
    (line.get(first) == Some(&b'"')).then_some(start)
}

/// Where a text or a list ends that begins here.
fn end_of(line: &[u8], start: usize) -> usize {
    let (mut depth, mut within, mut escaped) = (0_usize, false, false);
    for (at, byte) in line.iter().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if within => escaped = true,
            b'"' => within = !within,
            b'[' if !within => depth += 1,
            b']' if !within => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !within && depth == 0 && matches!(byte, b'"' | b']') {
            return at + 1;
        }
    }
    line.len()
}

/// The line on which the value at a pointer begins.
pub(super) fn line(tree: &Node<'_>, pointer: &str) -> Option<u64> {
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
pub(super) fn rows(tree: &Node<'_>) -> Vec<RawRow> {
    let mut out = Vec::new();
    write(tree, 0, "", String::new(), "", &mut out);
    out
}

/// The row of each pointer: its own, or that of the nearest list or object around it that has one.
pub(super) fn places(rows: &[RawRow], pointers: &BTreeSet<String>) -> BTreeMap<String, u64> {
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
                let key = format!("{}: ", quoted(name));
                match hidden(name, value) {
                    Some(said) => {
                        let row = format!("{}{key}{said}{comma}", "  ".repeat(depth + 1));
                        out.push(RawRow { number: out.len() as u64 + 1, text: row, cut: 0, pointer: Some(below) });
                    }
                    None => write(value, depth + 1, &below, key, comma, out),
                }
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

/// The first items of a list, and its length.
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
