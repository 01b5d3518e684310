//! Secrets of YAML on the lines below their name: blocks (`password: |`, `>-`), lists, texts in quotes over several lines.
//!
//! In:  bytes, the place of a colon, the kind that the name before it speaks of.  Out: [`Hit`], with every line in its place.
//! Not here: values on the line of their name (see `value`).
//!
//! Words in YAML have no end of their own: the indentation of the lines tells it. So the name must begin its line, behind blanks and the
//! dashes of lists alone. Prose and logs have other words before it.
//!
//! Source: YAML 1.2.2, sections 7.3 (quotes), 8.1 (blocks) and 8.2.1 (lists).

use super::hit::Hit;
use super::joined::Joined;
use super::lexical::{Class, MARK, bare, closing_all, colours, in_name};
use super::variables;

/// Longest beginning of a line that is looked back at.
const LINE: usize = 256;

/// Everything below `password: |`, each line on its own. `sign` is the colon, `from` is behind the `|` or `>`.
pub(super) fn block(text: &[u8], sign: usize, from: usize, kind: &'static str) -> Option<Hit<'static>> {
    let (column, _) = named(text, sign)?;
    let lines = Lines::of(text, from)?;
    let signs = lines.first.iter().take_while(|byte| b"+-123456789".contains(byte)).count();
    is_end(lines.first.get(signs..)?).then_some(())?;
    let mut found = Joined::new(kind);
    let goes_on = add_deeper(&mut found, text, lines, column);
    let hit = found.hit()?;
    Some(Hit { open: goes_on.then_some(Class::Lines(column)), ..hit })
}

/// Adds all lines up to the first one that is not deeper than a column. Whether there is none such. The last line of a long text may be cut,
/// so that its beginning says nothing.
fn add_deeper(found: &mut Joined, text: &[u8], lines: Lines<'_>, column: usize) -> bool {
    const LONG: usize = 64 << 10;
    let from = lines.at;
    for line in lines {
        if line.value.is_empty() {
            continue;
        }
        if line.indent <= column {
            return false;
        }
        let end = line.start + line.value.len();
        if end - from > LONG && !text.get(end..).unwrap_or_default().contains(&b'\n') {
            let end = text.strip_suffix(b"\r").unwrap_or(text).len();
            found.put(text, line.start, end);
        } else {
            found.add(text, line.start, end);
        }
    }
    true
}

/// The lines of a block that go on at a place, which may be in the middle of one. `column` is that of their name.
pub(super) fn rest(text: &[u8], at: usize, column: usize, kind: &'static str) -> Hit<'static> {
    let before = text.get(..at).unwrap_or_default();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let is_begun = before.get(start..).is_some_and(|line| !line.trim_ascii().is_empty());
    // Of a line that was begun the beginning was replaced.
    let next = if is_begun { Class::Lines(column).end(text, at) } else { at };
    let lines = Lines { text, first: &[], at: if is_begun { next + 1 } else { start } };
    let end = if text.get(at..next).is_some_and(|line| line.ends_with(b"\r")) { next - 1 } else { next };
    let mut found = Joined::behind(at, end, kind);
    let goes_on = add_deeper(&mut found, text, lines, column);
    Hit { open: goes_on.then_some(Class::Lines(column)), ..found.rest(at) }
}

/// Every item of the list below `passwords:` for which `is_secret` holds. `sign` is the colon. Items with further names are left alone, as is
/// a sentence.
pub(super) fn list(
    text: &[u8],
    sign: usize,
    kind: &'static str,
    is_secret: &dyn Fn(&[u8]) -> bool,
) -> Option<Hit<'static>> {
    let (column, _) = named(text, sign)?;
    let lines = Lines::of(text, sign + 1)?;
    is_end(lines.first).then_some(())?;
    let mut found = Joined::new(kind);
    let mut add = |start: usize, end: usize| {
        if text.get(start..end).is_some_and(is_secret) {
            found.add(text, start, end);
        }
    };
    let (mut indent, mut open) = (None, None);
    for line in lines {
        if line.value.is_empty() || (open.is_none() && line.value.starts_with(b"#")) {
            continue;
        }
        let of_items = *indent.get_or_insert(line.indent);
        if line.indent < column || line.indent < of_items {
            break;
        }
        let end = line.start + line.value.len();
        if line.indent > of_items {
            if let Some(quote) = open {
                let closed = closing_all(text, line.start, quote).min(end);
                add(line.start, closed);
                open = open.filter(|_| closed == end);
            }
            continue;
        }
        let Some(item) = line.value.strip_prefix(b"-").filter(|item| item.first() == Some(&b' ')) else { break };
        let start = end - bare(item).len();
        open = None;
        let quote = text.get(start).copied().filter(|byte| b"\"'".contains(byte));
        if let Some(quote) = quote.filter(|quote| closing_all(text, start + 1, *quote) >= end) {
            add(start + 1, end);
            open = Some(quote);
        } else if let Some((start, end)) = scalar(text, start, end) {
            add(start, end);
        }
    }
    found.hit()
}

/// The value of `password: "a` whose quote closes on another line, each line on its own. `sign` is the colon, `from` is the quote.
pub(super) fn in_quotes(text: &[u8], sign: usize, from: usize, kind: &'static str) -> Option<Hit<'static>> {
    let (column, _) = named(text, sign)?;
    // A private key shows by itself, to its last line.
    let is_key = text.get(from + 1..).is_some_and(|value| value.starts_with(b"-----BEGIN "));
    (!is_key).then_some(())?;
    let goes_on = |next: &[u8]| {
        let line = next.split(|byte| *byte == b'\n').next().unwrap_or_default();
        line.trim_ascii().is_empty() || lead(line, b" ").1 > column
    };
    variables::over_lines(text, from, kind, &goes_on)
}

/// Where the text of an item stands: between its quotes, or one word.
fn scalar(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let item = text.get(start..end)?;
    let (from, length) = match *item.first()? {
        quote @ (b'"' | b'\'') => (1, item.get(1..)?.iter().rposition(|byte| *byte == quote)?),
        b'[' | b'{' | b'&' | b'*' | b'!' | b'|' | b'>' | b'-' => return None,
        _ => (0, item.iter().take_while(|byte| !byte.is_ascii_whitespace()).count()),
    };
    let value = item.get(from..from + length)?;
    let of_mapping = from == 0 && value.ends_with(b":");
    (is_end(item.get(2 * from + length..)?) && !of_mapping).then_some((start + from, start + from + length))
}

/// Whether nothing more stands in a line but a comment.
fn is_end(rest: &[u8]) -> bool {
    let text = bare(rest);
    text.is_empty() || (text.starts_with(b"#") && !rest.starts_with(b"#"))
}

/// Whether the name before a colon begins its line, as in YAML.
pub(super) fn begins_line(text: &[u8], sign: usize) -> bool {
    named(text, sign).is_some()
}

/// Whether a quote before the name is still open at its colon: the line is a text in quotes.
pub(super) fn begins_quote(text: &[u8], sign: usize) -> bool {
    let name = named(text, sign).map_or(&b""[..], |(_, name)| name);
    b"\"'".iter().any(|quote| !name.iter().filter(|byte| *byte == quote).count().is_multiple_of(2))
}

/// The name before a colon, and where in its line it begins, in bytes. Nothing but blanks and dashes of lists may stand before it.
fn named(text: &[u8], sign: usize) -> Option<(usize, &[u8])> {
    let back = text.get(sign.saturating_sub(LINE)..sign)?;
    let line = back.rsplit(|byte| *byte == b'\n').next()?;
    // The beginning of the line must be in sight.
    (line.len() < back.len() || back.len() == sign).then_some(())?;
    let line = if line.len() == sign { line.strip_prefix(MARK).unwrap_or(line) } else { line };
    let (first, column) = lead(line, b" -");
    let name = bare(line.get(first..)?);
    let is_name = !name.is_empty() && name.iter().all(|byte| in_name(*byte) || b"\"'.".contains(byte));
    is_name.then_some((column, name))
}

/// Bytes before the text of a line, and how many of them are such blanks. The others are colours.
fn lead(line: &[u8], blanks: &[u8]) -> (usize, usize) {
    let (mut at, mut column) = (0, 0);
    loop {
        let rest = line.get(at..).unwrap_or_default();
        let code = colours(rest);
        let found = rest.iter().skip(code).take_while(|byte| blanks.contains(byte)).count();
        if code + found == 0 {
            return (at, column);
        }
        at += code + found;
        column += found;
    }
}

/// The name of the mapping that a member belongs to, or the list of mappings: `token` of `token:` and, on a line below, `value: x` or
/// `- value: x`. `sign` is the member's colon.
pub(super) fn above(text: &[u8], sign: usize) -> Option<&str> {
    /// How far the name may stand above.
    const BACK: usize = 512;
    let (column, _) = named(text, sign)?;
    let cut = sign.saturating_sub(BACK);
    let back = text.get(cut..sign)?;
    // Of the first line in sight the beginning may be missing.
    let skipped = if cut == 0 { 0 } else { back.iter().position(|byte| *byte == b'\n')? + 1 };
    let mut lines = back.get(skipped..)?.rsplit(|byte| *byte == b'\n');
    lines.next()?;
    let mut lines = lines.map(|line| {
        let (first, at) = lead(line, b" -");
        (at, bare(line.get(first..).unwrap_or_default()))
    });
    let (_, line) = lines.find(|(at, line)| !line.is_empty() && !line.starts_with(b"#") && *at < column)?;
    let colon = line.iter().position(|byte| *byte == b':')?;
    is_end(line.get(colon + 1..)?).then_some(())?;
    let name = std::str::from_utf8(bare(line.get(..colon)?)).ok()?.trim_matches(['"', '\'']);
    name.bytes().all(in_name).then_some(name)
}

/// Lines below a place.
struct Lines<'t> {
    text: &'t [u8],
    /// Rest of the line of that place.
    first: &'t [u8],
    at: usize,
}

/// One of them.
struct Line<'t> {
    /// Blanks before its text.
    indent: usize,
    /// Where its text begins.
    start: usize,
    /// Without blanks around it.
    value: &'t [u8],
}

impl<'t> Lines<'t> {
    /// None where no line follows.
    fn of(text: &'t [u8], from: usize) -> Option<Self> {
        let rest = text.get(from..)?;
        let first = rest.get(..rest.iter().position(|byte| *byte == b'\n')?)?;
        Some(Self { text, first, at: from + first.len() + 1 })
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = rest.split(|byte| *byte == b'\n').next()?;
        let (first, indent) = lead(line, b" ");
        let rest = line.get(first..).unwrap_or_default();
        let start = self.at + first + (rest.len() - rest.trim_ascii_start().len());
        self.at += line.len() + 1;
        Some(Line { indent, start, value: bare(rest) })
    }
}
