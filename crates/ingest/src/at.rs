//! A value of a JSON document together with its path.
//!
//! In:  a tree of [`json::Node`](super::json::Node)s.  Out: texts, figures, counts, or an error that names line and JSON pointer.
//! Not here: reading text into a tree.

use std::fmt::Write as _;

use super::figure::{Figure, excerpt};
use super::json::{Kind, Node};
use sparkbench_text::error::{Error, Place};

/// A place in a tree: the value, and the way to it.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The value.
    pub node: &'a Node<'a>,
    parent: Option<&'a At<'a>>,
    key: Key<'a>,
}

#[derive(Clone, Copy)]
enum Key<'a> {
    Root,
    Name(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    /// The whole document.
    pub const fn root(node: &'a Node<'a>) -> Self {
        Self { node, parent: None, key: Key::Root }
    }

    /// JSON pointer (RFC 6901) of this place. Empty for the document.
    pub fn pointer(&self) -> String {
        let mut text = self.parent.map_or_else(String::new, At::pointer);
        match self.key {
            Key::Root => {}
            Key::Name(name) => {
                text.push('/');
                text.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            Key::Index(index) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "/{index}");
            }
        }
        text
    }

    /// The value of a key. `None` when the key is absent or this is no object. `null` is a value.
    pub fn get(&'a self, name: &'a str) -> Option<At<'a>> {
        let Kind::Map(entries) = &self.node.kind else { return None };
        let (_, node) = entries.iter().rev().find(|(key, _)| key == name)?;
        Some(At { node, parent: Some(self), key: Key::Name(name) })
    }

    /// The value of a key that must be there.
    pub fn need(&'a self, name: &'a str) -> Result<At<'a>, Error> {
        self.get(name).ok_or_else(|| {
            let pointer = format!("{}/{name}", self.pointer());
            Error::archive("a field is missing").at(Place::Field(pointer)).detail("expected a value, found nothing")
        })
    }

    /// Members of an object.
    pub fn entries(&'a self) -> Result<impl Iterator<Item = (&'a str, At<'a>)>, Error> {
        let Kind::Map(entries) = &self.node.kind else { return Err(self.unlike("an object")) };
        Ok(entries
            .iter()
            .map(|(key, node)| (key.as_ref(), At { node, parent: Some(self), key: Key::Name(key.as_ref()) })))
    }

    /// Items of a list.
    pub fn items(&'a self) -> Result<impl Iterator<Item = At<'a>>, Error> {
        let Kind::List(items) = &self.node.kind else { return Err(self.unlike("a list")) };
        Ok(items.iter().enumerate().map(|(index, node)| At { node, parent: Some(self), key: Key::Index(index) }))
    }

    /// Text, or absent for `null`.
    pub fn text(&self) -> Result<Option<&'a str>, Error> {
        match &self.node.kind {
            Kind::Text(text) => Ok(Some(text.as_ref())),
            Kind::Null => Ok(None),
            _ => Err(self.unlike("text")),
        }
    }

    /// A number, or a word that stands for a missing or infinite one. `null` is missing.
    pub fn figure(&self) -> Result<Figure, Error> {
        match &self.node.kind {
            Kind::Null => Ok(Figure::MISSING),
            Kind::Number(digits) => Figure::parse(digits).ok_or_else(|| self.unlike("a number")),
            Kind::Text(text) => Figure::parse(text).ok_or_else(|| self.unlike("a number")),
            _ => Err(self.unlike("a number")),
        }
    }

    /// A whole number, or absent for `null`.
    pub fn whole(&self) -> Result<Option<i64>, Error> {
        match &self.node.kind {
            Kind::Null => Ok(None),
            Kind::Number(digits) => digits.parse().map(Some).map_err(|_| self.unlike("a whole number")),
            _ => Err(self.unlike("a whole number")),
        }
    }

    /// A count that fits `u32`, or absent for `null`.
    pub fn count(&self) -> Result<Option<u32>, Error> {
        self.whole()?.map(|n| u32::try_from(n).map_err(|_| self.unlike("a count"))).transpose()
    }

    /// The error for a value of the wrong type.
    pub fn unlike(&self, expected: &str) -> Error {
        let found = match &self.node.kind {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => value.to_string(),
            Kind::Number(digits) => excerpt(digits),
            Kind::Text(text) => format!("\"{}\"", excerpt(text)),
            Kind::List(_) | Kind::Packed(_) => "a list".to_owned(),
            Kind::Map(_) => "an object".to_owned(),
        };
        Error::archive("a value is not what it should be")
            .at(Place::LineField(self.node.line.into(), self.pointer()))
            .detail(format!("expected {expected}, found {found}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::parse;
    use super::*;

    #[test]
    fn digits_lines_and_pointers_survive() {
        let node = parse("\u{feff}{\n \"a/b\": [1, 70.10,\r\n NaN, -Infinity, null]}").unwrap();
        let root = At::root(&node);
        let list = root.get("a/b").unwrap();
        let items: Vec<At> = list.items().unwrap().collect();
        assert_eq!(items[1].figure().unwrap(), Figure { value: 70.1, decimals: Some(2) });
        assert_eq!((items[1].pointer().as_str(), items[1].node.line, items[2].node.line), ("/a~1b/1", 2, 3));
        assert!(items[2].figure().unwrap().value.is_nan() && items[4].figure().unwrap().value.is_nan());
        assert_eq!(items[3].figure().unwrap().value, f64::NEG_INFINITY);
    }

    #[test]
    fn a_wrong_type_is_named_by_its_pointer() {
        let node = parse("{\"runs\": [{\"exit\": \"n/a?\"}]}").unwrap();
        let root = At::root(&node);
        let runs = root.get("runs").unwrap();
        let run = runs.items().unwrap().next().unwrap();
        let error = run.get("exit").unwrap().figure().unwrap_err();
        assert!(error.to_string().contains("field '/runs/0/exit': expected a number, found \"n/a?\""), "{error}");
    }
}
