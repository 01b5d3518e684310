//! YAML as programs dump it, turned into JSON whose values keep their lines.
//!
//! In:  text.  Out: JSON text for `json`, so that a format that reads JSON reads YAML with the same lines and pointers.
//! Not here: what a key means, tags, merges, several documents (the first is read).
//!
//! JSON allows a line break between any two of its parts, so each value is moved down to its line by breaks alone. An alias would let a
//! small file unfold to any size. None is followed, and what it names is missing.

use yaml_rust2::Event;
use yaml_rust2::parser::Parser;
use yaml_rust2::scanner::{Marker, TScalarStyle};

use super::figure::excerpt;
use super::json;
use sparkbench_text::error::{Error, Place};

/// Deepest nesting that is followed, as that of JSON.
const DEPTH: usize = 96;

/// See the module. And how many aliases were skipped.
///
/// # Errors
/// Names the line of the first character that does not fit.
pub(super) fn to_json(text: &str) -> Result<(String, usize), Error> {
    let mut out = Out { text: String::with_capacity(text.len()), line: 1, open: Vec::new(), aliases: 0 };
    let mut events = Parser::new_from_str(text);
    loop {
        let (event, mark) = events.next_token().map_err(|cause| {
            let line = u64::try_from(cause.marker().line()).unwrap_or(u64::MAX);
            Error::archive("not valid YAML").at(Place::Line(line)).detail(excerpt(cause.info()))
        })?;
        match event {
            Event::Scalar(word, style, ..) => out.scalar(&word, style, mark)?,
            Event::Alias(_) => {
                out.aliases += 1;
                out.scalar("null", TScalarStyle::Plain, mark)?;
            }
            Event::MappingStart(..) => out.begin('{', '}', mark)?,
            Event::SequenceStart(..) => out.begin('[', ']', mark)?,
            Event::MappingEnd | Event::SequenceEnd => out.end(),
            Event::DocumentEnd | Event::StreamEnd => return Ok((out.text, out.aliases)),
            Event::Nothing | Event::StreamStart | Event::DocumentStart => {}
        }
    }
}

struct Out {
    text: String,
    line: usize,
    /// Closing text of each open part, and its number of keys and values.
    open: Vec<(char, usize)>,
    aliases: usize,
}

impl Out {
    /// Goes to the line of a value and puts the text in front of it. True for a key.
    fn place(&mut self, mark: Marker) -> bool {
        while self.line < mark.line() {
            self.text.push('\n');
            self.line += 1;
        }
        let Some((closing, count)) = self.open.last_mut() else { return false };
        let map = *closing == '}';
        let key = map && *count % 2 == 0;
        match (*count > 0, map && !key) {
            (_, true) => self.text.push(':'),
            (true, false) => self.text.push(','),
            (false, false) => {}
        }
        *count += 1;
        key
    }

    fn scalar(&mut self, word: &str, style: TScalarStyle, mark: Marker) -> Result<(), Error> {
        let key = self.place(mark);
        match plain(word).filter(|_| style == TScalarStyle::Plain && !key) {
            Some(value) => self.text.push_str(value),
            None => {
                let quoted =
                    serde_json::to_string(word).map_err(|cause| Error::archive("not valid YAML").because(cause))?;
                self.text.push_str(&quoted);
            }
        }
        Ok(())
    }

    fn begin(&mut self, opening: char, closing: char, mark: Marker) -> Result<(), Error> {
        let place = Place::Line(u64::try_from(mark.line()).unwrap_or(u64::MAX));
        if self.place(mark) {
            return Err(Error::archive("not valid YAML")
                .at(place)
                .detail("expected a word as a key, found a list or more keys"));
        }
        if self.open.len() >= DEPTH {
            return Err(Error::archive("not valid YAML").at(place).detail("expected less than 96 levels of nesting"));
        }
        self.text.push(opening);
        self.open.push((closing, 0));
        Ok(())
    }

    fn end(&mut self) {
        if let Some((closing, _)) = self.open.pop() {
            self.text.push(closing);
        }
    }
}

/// A word without quotes as JSON has it. Nothing when it is text.
fn plain(word: &str) -> Option<&str> {
    Some(match word {
        "" | "~" | "null" | "Null" | "NULL" => "null",
        "true" | "True" | "TRUE" => "true",
        "false" | "False" | "FALSE" => "false",
        ".inf" | ".Inf" | ".INF" => "Infinity",
        "-.inf" | "-.Inf" | "-.INF" => "-Infinity",
        ".nan" | ".NaN" | ".NAN" => "NaN",
        _ => {
            let starts = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
            return Some(word).filter(|word| starts && json::parse(word).is_ok());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::at::At;
    use super::super::json::Kind;
    use super::*;

    #[test]
    fn values_keep_their_lines_and_words_their_kinds() {
        let text = "a:\n- x: 1.50\n  y: '7'\n- null\n- .inf\n- {z: [true, 2026-01-02, 1.0e-05]}\nb: 'one\n\n  two'\nc: &id [1]\nd: *id\n";
        let (json, aliases) = to_json(text).unwrap();
        let node = json::parse(&json).unwrap();
        let root = At::root(&node);
        let list = root.get("a").unwrap();
        let items: Vec<_> = list.items().unwrap().collect();
        assert_eq!(items.iter().map(|item| item.node.line).collect::<Vec<_>>(), [2, 4, 5, 6]);
        let x = items[0].get("x").unwrap();
        assert_eq!((x.node.line, x.figure().unwrap().decimals, x.pointer()), (2, Some(2), "/a/0/x".to_owned()));
        assert!(matches!(items[0].get("y").unwrap().node.kind, Kind::Text(_)));
        assert_eq!(items[2].figure().unwrap().value, f64::INFINITY);
        let z = items[3].get("z").unwrap();
        let kinds: Vec<_> = z.items().unwrap().map(|item| item.node.kind.clone()).collect();
        assert!(matches!(kinds[..], [Kind::Bool(true), Kind::Text(_), Kind::Number("1.0e-05")]), "{kinds:?}");
        assert_eq!(root.get("b").unwrap().text().unwrap(), Some("one\ntwo"));
        assert_eq!((root.get("d").unwrap().node.kind.clone(), aliases), (Kind::Null, 1));
    }

    #[test]
    fn what_is_no_yaml_is_named_with_its_line() {
        for (text, word) in
            [("a: 1\nb: [1, 2\n", "not valid YAML"), ("a: 1\n? [b]\n: 2\n", "line 2"), (&"[".repeat(200), "nesting")]
        {
            let error = to_json(text).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
