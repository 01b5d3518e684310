//! The outline of a JSON text that may be cut off anywhere: keys and their places. It decides formats and reads no values.
//!
//! In:  the head of a file.  Out: [`Outline`]: of an object its keys in order, of a list its first item, of JSON Lines the first line.
//! Not here: complete reading (see `json`).
//!
//! A search for `"key"` anywhere in the head would also find it deep inside, or in the text of a prompt.

/// Deepest nesting that is read.
const DEPTH: usize = 8;
/// Most keys that are kept of one head.
const KEYS: usize = 4096;

/// The content of one place.
#[derive(Debug, Clone, PartialEq)]
pub enum Outline<'a> {
    /// Keys in order, as written (escapes are not undone), with the value of each.
    Map(Vec<(&'a str, Outline<'a>)>),
    /// The first item, where there is one.
    List(Option<Box<Outline<'a>>>),
    /// Text as written, without the quotes.
    Text(&'a str),
    /// A number or a word, as written. Empty where the head ends or nesting is too deep.
    Bare(&'a str),
}

impl<'a> Outline<'a> {
    /// The outline of the first value. Nothing when the text opens neither an object nor a list.
    pub fn of(text: &'a str) -> Option<Self> {
        let mut scan = Scan { text, at: 0, keys: 0 };
        scan.space();
        matches!(scan.peek(), Some(b'{' | b'[')).then(|| scan.value(0))
    }

    /// The value of a key. For a list, of that key in its first item.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| *name == key).map(|(_, inner)| inner),
            Self::List(first) => first.as_deref()?.get(key),
            _ => None,
        }
    }

    /// True when all the keys are there. Of a list, in its first item.
    pub fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.get(key).is_some())
    }

    /// True for a list.
    pub const fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }

    /// True for an object.
    pub const fn is_map(&self) -> bool {
        matches!(self, Self::Map(_))
    }

    /// Text in quotes.
    pub const fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Keys of the object, or of the first item of the list.
    pub fn keys(&self) -> Vec<&'a str> {
        match self {
            Self::Map(entries) => entries.iter().map(|(key, _)| *key).collect(),
            Self::List(Some(first)) => first.keys(),
            _ => Vec::new(),
        }
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    keys: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Outline<'a> {
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH || self.keys >= KEYS => {
                self.skip();
                Outline::Bare("")
            }
            Some(b'{') => {
                self.at += 1;
                let mut entries = Vec::new();
                loop {
                    self.space();
                    if self.peek() != Some(b'"') {
                        break;
                    }
                    let key = self.string();
                    self.space();
                    if self.peek() != Some(b':') {
                        break;
                    }
                    self.at += 1;
                    self.space();
                    self.keys += 1;
                    entries.push((key, self.value(depth + 1)));
                    self.space();
                    if self.peek() != Some(b',') {
                        break;
                    }
                    self.at += 1;
                }
                self.at += usize::from(self.peek() == Some(b'}'));
                Outline::Map(entries)
            }
            Some(b'[') => {
                self.at += 1;
                self.space();
                let first = (!matches!(self.peek(), Some(b']') | None)).then(|| Box::new(self.value(depth + 1)));
                self.rest();
                Outline::List(first)
            }
            Some(b'"') => Outline::Text(self.string()),
            _ => {
                let start = self.at;
                while self.peek().is_some_and(|byte| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'))
                {
                    self.at += 1;
                }
                Outline::Bare(self.text.get(start..self.at).unwrap_or_default())
            }
        }
    }

    /// Text between quotes. Stops at the end of the head.
    fn string(&mut self) -> &'a str {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.text.len());
        self.at = (end + 1).min(self.text.len());
        self.text.get(start..end).unwrap_or_default()
    }

    /// Passes over one object or list.
    fn skip(&mut self) {
        self.at += 1;
        self.rest();
    }

    /// Passes over what is left of the object or list that is open.
    fn rest(&mut self) {
        let mut depth = 1usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_where_they_lie_and_nowhere_else() {
        let text = r#"{"a": [{"b": 1, "x": {"y": 2}}, {"c": 3}], "d": "\"mean_ttft_ms\": 1", "e": {"f": null}}"#;
        let outline = Outline::of(text).unwrap();
        assert_eq!(outline.keys(), ["a", "d", "e"]);
        assert_eq!(outline.get("a").unwrap().keys(), ["b", "x"]);
        assert!(outline.get("a").unwrap().is_list() && !outline.has(&["mean_ttft_ms"]) && outline.has(&["d", "e"]));
        assert_eq!(outline.get("e").unwrap().get("f"), Some(&Outline::Bare("null")));
    }

    #[test]
    fn a_text_that_is_cut_off_anywhere_gives_what_is_there() {
        let text = r#"{"date": "2026", "list": [1, [2], {"k": "v"}], "last": {"in": 1}}"#;
        for end in 0..=text.len() {
            if let Some(outline) = text.get(..end).and_then(Outline::of) {
                assert!(outline.keys().len() <= 3);
            }
        }
        assert_eq!(Outline::of(&text[..40]).unwrap().keys(), ["date", "list"]);
        assert_eq!(Outline::of("plain"), None);
        assert_eq!(Outline::of("[").unwrap(), Outline::List(None));
        assert!(Outline::of(&"[".repeat(100_000)).is_some());
    }

    #[test]
    fn of_json_lines_the_first_line_counts() {
        assert_eq!(Outline::of("{\"a\": 1}\n{\"b\": 2}\n").unwrap().keys(), ["a"]);
    }
}
