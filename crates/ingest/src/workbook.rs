//! Sheets of a workbook (`.xlsx`, Office Open XML) as tables.
//!
//! In:  the bytes.  Out: the sheet that has certain columns, as CSV whose lines are the rows of the sheet.
//! Not here: formulas, dates and styles, what a column means.
//!
//! A workbook is an archive of XML that one program wrote and no person edits, so little is needed of either format. A crate for workbooks
//! would unfold strings and whole rectangles of cells without a limit. A few bytes can make these as large as the memory. Here each part is
//! held to the limit of a file that is read whole, and only existing cells take memory.

use std::borrow::Cow;
use std::io::Read as _;

use super::figure::excerpt;
use sparkbench_archive::WHOLE_LIMIT;
use sparkbench_text::error::Error;

/// First bytes of an archive.
const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
/// Bytes of the end record, and of the longest comment behind it.
const END_BYTES: usize = 22;
const COMMENT_BYTES: usize = 1 << 16;
/// Limit for parts and columns that are read.
const PARTS: usize = 4096;
const COLUMNS: usize = 512;
/// Longest word of a cell. One long string may occur in every cell, and no column name or number is as long.
const LONGEST: usize = 64;

/// True for the head of a workbook.
pub(super) fn is(head: &str) -> bool {
    head.starts_with("PK\u{3}\u{4}") && (head.contains("[Content_Types].xml") || head.contains("xl/"))
}

/// The first sheet whose first row has all the columns, as CSV. Nothing when there is none.
///
/// # Errors
/// When it is no archive, or a part of it does not unfold.
pub(super) fn sheet_with(bytes: &[u8], columns: [&str; 3]) -> Result<Option<String>, Error> {
    let parts = parts(bytes)?;
    let shared = match parts.iter().find(|part| part.name == "xl/sharedStrings.xml") {
        Some(part) => part.text(bytes)?,
        None => String::new(),
    };
    let words: Vec<Cow<'_, str>> = elements(&shared, "si").map(|(_, inside)| text_of(inside)).collect();
    for part in parts.iter().filter(|part| part.name.starts_with("xl/worksheets/") && part.name.ends_with(".xml")) {
        let sheet = part.text(bytes)?;
        let mut rows = rows(&sheet, &words).peekable();
        let fits = rows.peek().is_some_and(|(_, row)| columns.iter().all(|name| row.iter().any(|cell| cell == name)));
        if fits {
            return Ok(Some(csv(rows)));
        }
    }
    Ok(None)
}

fn csv<'t>(rows: impl Iterator<Item = (usize, Vec<Cow<'t, str>>)>) -> String {
    let (mut text, mut line) = (String::new(), 1);
    for (number, row) in rows {
        // A row that is not there is an empty line. A jump of more than a screen does not occur in a table.
        const SCREEN: usize = 100;
        if number > line && number - line < SCREEN {
            text.extend(std::iter::repeat_n('\n', number - line));
            line = number;
        }
        for (place, cell) in row.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            text.push('"');
            let cell: String = cell.chars().take(LONGEST).collect();
            text.push_str(&cell.replace('"', "\"\"").replace(['\n', '\r'], " "));
            text.push('"');
        }
        text.push('\n');
        line += 1;
    }
    text
}

/// One part of the archive.
struct Part<'b> {
    name: Cow<'b, str>,
    packed: bool,
    start: usize,
    size: usize,
}

impl Part<'_> {
    fn text(&self, bytes: &[u8]) -> Result<String, Error> {
        let broken = || Error::archive("a part of the workbook cannot be unpacked").detail(excerpt(&self.name));
        let data = bytes.get(self.start..).and_then(|rest| rest.get(..self.size)).ok_or_else(broken)?;
        let mut text = Vec::new();
        let read = if self.packed {
            flate2::read::DeflateDecoder::new(data).take(WHOLE_LIMIT + 1).read_to_end(&mut text)
        } else {
            data.take(WHOLE_LIMIT + 1).read_to_end(&mut text)
        };
        match read {
            Ok(size) if size as u64 <= WHOLE_LIMIT => Ok(String::from_utf8_lossy(&text).into_owned()),
            Ok(_) => Err(broken().hint("it is too large to be read whole. Save the sheet as CSV")),
            Err(cause) => Err(broken().because(cause)),
        }
    }
}

/// The directory at the end of the archive.
fn parts(bytes: &[u8]) -> Result<Vec<Part<'_>>, Error> {
    let broken = |detail: &str| Error::archive("the workbook is not whole").detail(detail.to_owned());
    let tail = bytes.len().saturating_sub(END_BYTES + COMMENT_BYTES);
    let end = bytes.get(tail..).unwrap_or_default().windows(END.len()).rposition(|four| four == END);
    let end = end.map(|place| place + tail).ok_or_else(|| broken("it was cut off"))?;
    let mut at = number(bytes, end + 16, 4).ok_or_else(|| broken("it was cut off"))?;
    let mut parts = Vec::new();
    while parts.len() < PARTS && bytes.get(at..).is_some_and(|rest| rest.starts_with(CENTRAL)) {
        let of = |place: usize, size: usize| number(bytes, at + place, size).ok_or_else(|| broken("it was cut off"));
        let (name_size, extra, comment) = (of(28, 2)?, of(30, 2)?, of(32, 2)?);
        let name = bytes.get(at + 46..).and_then(|rest| rest.get(..name_size)).unwrap_or_default();
        let (local, method, size) = (of(42, 4)?, of(10, 2)?, of(20, 4)?);
        if bytes.get(local..).is_some_and(|rest| rest.starts_with(LOCAL)) && matches!(method, 0 | 8) {
            let skip = |place: usize| number(bytes, local + place, 2).ok_or_else(|| broken("it was cut off"));
            let start = local + 30 + skip(26)? + skip(28)?;
            parts.push(Part { name: String::from_utf8_lossy(name), packed: method == 8, start, size });
        }
        at += 46 + name_size + extra + comment;
    }
    Ok(parts)
}

/// A number of the archive, lowest byte first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.get(..size)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

/// Elements of a name, one after the other: the text of the tag, and its content.
fn elements<'t>(xml: &'t str, name: &'static str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let mut rest = xml;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once('<')?;
            rest = after;
            let Some(tag) = after.strip_prefix(name) else { continue };
            if !tag.starts_with(['>', ' ', '/', '\t', '\n', '\r']) {
                continue;
            }
            let (tag, inside) = tag.split_once('>')?;
            if let Some(tag) = tag.strip_suffix('/') {
                rest = inside;
                return Some((tag, ""));
            }
            let end = closing(inside, name)?;
            rest = inside.get(end..)?;
            return Some((tag, inside.get(..end)?));
        }
    })
}

/// Place of the end tag.
fn closing(inside: &str, name: &str) -> Option<usize> {
    inside.match_indices("</").map(|(place, _)| place).find(|place| {
        let tag = inside.get(place + 2..).and_then(|tag| tag.strip_prefix(name));
        tag.is_some_and(|tag| tag.trim_start().starts_with('>'))
    })
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    tag.split_ascii_whitespace().find_map(|part| part.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
}

/// All text of a string, which may be in several runs.
fn text_of(inside: &str) -> Cow<'_, str> {
    let mut all = elements(inside, "t").map(|(_, text)| text);
    let first = all.next().unwrap_or_default();
    let rest: String = all.collect();
    let text = if rest.is_empty() { Cow::Borrowed(first) } else { Cow::Owned(format!("{first}{rest}")) };
    if !text.contains('&') {
        return text;
    }
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    Cow::Owned(marks.iter().fold(text.into_owned(), |text, (mark, plain)| text.replace(mark, plain)))
}

/// Rows with their numbers. A cell that is not there is empty.
fn rows<'t>(sheet: &'t str, words: &'t [Cow<'t, str>]) -> impl Iterator<Item = (usize, Vec<Cow<'t, str>>)> {
    let mut before = 0;
    elements(sheet, "row").map(move |(tag, inside)| {
        let number = attribute(tag, "r").and_then(|number| number.parse().ok()).unwrap_or(before + 1);
        before = number;
        let mut row: Vec<Cow<'t, str>> = Vec::new();
        for (tag, inside) in elements(inside, "c") {
            let place = attribute(tag, "r").and_then(column).unwrap_or(row.len());
            if place >= COLUMNS {
                continue;
            }
            let value = || elements(inside, "v").next().map_or("", |(_, value)| value);
            let cell = match attribute(tag, "t") {
                Some("s") => {
                    value().parse::<usize>().ok().and_then(|place| words.get(place)).cloned().unwrap_or_default()
                }
                Some("inlineStr") => text_of(inside),
                _ => Cow::Borrowed(value()),
            };
            if row.len() <= place {
                row.resize(place + 1, Cow::Borrowed(""));
            }
            if let Some(slot) = row.get_mut(place) {
                *slot = cell;
            }
        }
        (number, row)
    })
}

/// Column of a cell: `B7` is 1.
fn column(cell: &str) -> Option<usize> {
    let letters = cell.bytes().take_while(u8::is_ascii_uppercase);
    let number = letters.take(4).fold(0, |number, letter| number * 26 + usize::from(letter - b'A') + 1);
    number.checked_sub(1)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An archive of these parts, stored as they are.
    pub(crate) fn packed(parts: &[(&str, &str)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        let short = |value: usize| u16::try_from(value).unwrap().to_le_bytes();
        let long = |value: usize| u32::try_from(value).unwrap().to_le_bytes();
        for (name, text) in parts {
            let start = bytes.len();
            bytes.extend(LOCAL);
            bytes.extend([0; 14]);
            bytes.extend(long(text.len()));
            bytes.extend(long(text.len()));
            bytes.extend(short(name.len()));
            bytes.extend(short(0));
            bytes.extend(name.bytes().chain(text.bytes()));
            directory.extend(CENTRAL);
            directory.extend([0; 16]);
            directory.extend(long(text.len()));
            directory.extend(long(text.len()));
            directory.extend(short(name.len()));
            directory.extend([0; 12]);
            directory.extend(long(start));
            directory.extend(name.bytes());
        }
        let start = bytes.len();
        bytes.extend(&directory);
        bytes.extend(END);
        bytes.extend([0; 8]);
        bytes.extend(long(directory.len()));
        bytes.extend(long(start));
        bytes.extend(short(0));
        bytes
    }

    const STRINGS: &str = "<sst><si><t>a</t></si><si><r><t>b &amp; </t></r><r><t xml:space=\"preserve\">c</t></r></si><si><t/></si></sst>";
    const SHEET: &str = "<?xml version=\"1.0\"?><worksheet><cols><col min=\"1\"/></cols><sheetData>\
        <row r=\"1\" spans=\"1:3\"><c r=\"A1\" s=\"1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"s\"><v>1</v></c><c r=\"C1\" t=\"inlineStr\"><is><t>d</t></is></c></row>\
        <row r=\"3\"><c r=\"A3\"><v>1.5</v></c><c r=\"C3\" t=\"s\"><v>9</v></c></row><row><c><v>7</v></c><c r=\"ZZZ4\"><v>1</v></c><c/></row></sheetData></worksheet>";

    #[test]
    fn rows_become_lines_of_their_numbers() {
        let bytes = packed(&[
            ("[Content_Types].xml", ""),
            ("xl/worksheets/sheet1.xml", "<worksheet/>"),
            ("xl/worksheets/sheet2.xml", SHEET),
            ("xl/sharedStrings.xml", STRINGS),
        ]);
        assert!(is(&String::from_utf8_lossy(&bytes)));
        let table = sheet_with(&bytes, ["a", "b & c", "d"]).unwrap().unwrap();
        assert_eq!(table, "\"a\",\"b & c\",\"d\"\n\n\"1.5\",\"\",\"\"\n\"7\",\"\"\n");
        assert_eq!(sheet_with(&bytes, ["a", "d", "e"]).unwrap(), None);
    }

    #[test]
    fn an_archive_that_is_cut_off_or_says_nonsense_is_an_error_or_nothing() {
        let bytes = packed(&[("xl/worksheets/sheet1.xml", SHEET)]);
        // The last two bytes are the length of a comment.
        for cut in 0..bytes.len() - 2 {
            assert!(sheet_with(&bytes[..cut], ["a", "b", "c"]).is_err(), "{cut}");
        }
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0xff;
            let _ = sheet_with(&broken, ["a", "b", "c"]);
        }
    }

    #[test]
    fn columns_are_letters() {
        for (cell, place) in [("A1", Some(0)), ("Z9", Some(25)), ("AA3", Some(26)), ("7", None), ("", None)] {
            assert_eq!(column(cell), place, "{cell}");
        }
    }
}
