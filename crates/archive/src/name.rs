//! Names of files: any bytes that Linux allows, shown to people as text and written to JSON without loss.
//!
//! In:  bytes, paths, JSON.  Out: [`FileName`].
//! Not here: which files there are.
//!
//! Linux allows every byte but zero in a name, and `/` between two. A name that is UTF-8 is a string in JSON. Any other is
//! `{"name_bytes": BASE64}` there, so that a reader gets its very bytes back. People see bytes that are no text as `\xNN`. They see control
//! characters so too, which would act on a terminal. Two names can look alike in that form, so names are never compared by it.

use std::fmt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use sparkbench_text::escape::shown;
use sparkbench_text::escape::{base64, spelled};

/// Path of a file below a folder, with `/` between its parts. Ordered by its bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Vec<u8>);

/// A name that is no UTF-8, in JSON.
#[derive(Serialize, Deserialize)]
struct Coded {
    /// Its bytes in base64, with padding (RFC 4648, section 4).
    name_bytes: String,
}

impl FileName {
    /// The name of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The part of `path` below `folder`. All of it where it lies elsewhere.
    pub fn below(folder: &Path, path: &Path) -> Self {
        let below = path.strip_prefix(folder).unwrap_or(path);
        let parts: Vec<&[u8]> = below.components().map(|part| part.as_os_str().as_encoded_bytes()).collect();
        Self(parts.join(&b'/'))
    }

    /// The same file, seen from the folder above `folder`. An empty `folder` changes nothing.
    #[must_use]
    pub fn inside(&self, folder: &str) -> Self {
        if folder.is_empty() { self.clone() } else { Self([folder.as_bytes(), b"/", self.as_bytes()].concat()) }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name as text. None where it is no UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Its bytes in base64, as JSON has them for a name that is no UTF-8.
    pub fn base64(&self) -> String {
        base64(&self.0)
    }

    /// The last part: the name within its folder.
    pub fn last(&self) -> &[u8] {
        self.0.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// Folders above it, the top one not.
    pub(crate) fn above(&self) -> impl Iterator<Item = Self> {
        let ends = self.0.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.filter_map(|(end, _)| self.0.get(..end)).map(Self::new)
    }

    /// Whether it leads to a file below its folder and nowhere else. A name that was read from a file can say anything.
    pub fn is_below(&self) -> bool {
        let odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        !self.0.contains(&0) && !self.0.split(|byte| *byte == b'/').any(odd)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled(&self.0))
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(unix)]
impl AsRef<Path> for FileName {
    fn as_ref(&self) -> &Path {
        use std::os::unix::ffi::OsStrExt as _;
        Path::new(std::ffi::OsStr::from_bytes(&self.0))
    }
}

/// Elsewhere names are text. A name of other bytes, from an archive that Linux made, leads to no file.
#[cfg(not(unix))]
impl AsRef<Path> for FileName {
    fn as_ref(&self) -> &Path {
        Path::new(self.text().unwrap_or("\u{fffd}"))
    }
}

impl From<&str> for FileName {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for FileName {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<&String> for FileName {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Self> for FileName {
    fn from(name: &Self) -> Self {
        name.clone()
    }
}

/// The form for people.
impl From<&FileName> for String {
    fn from(name: &FileName) -> Self {
        name.to_string()
    }
}

impl PartialEq<str> for FileName {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for FileName {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl Serialize for FileName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => serializer.serialize_str(text),
            None => Coded { name_bytes: self.base64() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a string, or an object with `name_bytes`")]
        enum Wire {
            Text(String),
            Coded(Coded),
        }
        match Wire::deserialize(deserializer)? {
            Wire::Text(text) => Ok(Self::from(text)),
            Wire::Coded(coded) => STANDARD.decode(&coded.name_bytes).map(Self).map_err(|_| {
                de::Error::invalid_value(de::Unexpected::Str(&coded.name_bytes), &"bytes in base64, with padding")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as people see them, and as JSON has them.
    const CASES: &[(&[u8], &str, &str)] = &[
        (b"work/out.txt", "work/out.txt", "\"work/out.txt\""),
        ("Gr\u{f6}\u{df}e.bin".as_bytes(), "Gr\u{f6}\u{df}e.bin", "\"Gr\u{f6}\u{df}e.bin\""),
        (b"Gr\xf6\xdfe.bin", "Gr\\xF6\\xDFe.bin", "{\"name_bytes\":\"R3L232UuYmlu\"}"),
        (b"Gr\\xF6\\xDFe.bin", "Gr\\xF6\\xDFe.bin", "\"Gr\\\\xF6\\\\xDFe.bin\""),
        (b"\xff", "\\xFF", "{\"name_bytes\":\"/w==\"}"),
        (b"a\xff/b", "a\\xFF/b", "{\"name_bytes\":\"Yf8vYg==\"}"),
        (b"a\nb\x1b", "a\\x0Ab\\x1B", "\"a\\nb\\u001b\""),
        ("\u{85}".as_bytes(), "\\xC2\\x85", "\"\u{85}\""),
        (b"-rf", "-rf", "\"-rf\""),
        // The beginning of a letter whose rest is missing, and a letter that Unicode does not have.
        (b"\xe2\x82", "\\xE2\\x82", "{\"name_bytes\":\"4oI=\"}"),
        (b"\xed\xa0\x80", "\\xED\\xA0\\x80", "{\"name_bytes\":\"7aCA\"}"),
    ];

    #[test]
    fn a_name_comes_back_from_json_as_the_bytes_it_had() {
        for (bytes, shown, json) in CASES {
            let name = FileName::new(*bytes);
            assert_eq!((name.to_string().as_str(), serde_json::to_string(&name).unwrap().as_str()), (*shown, *json));
            assert_eq!(serde_json::from_str::<FileName>(json).unwrap().as_bytes(), *bytes);
        }
        for odd in ["3", "null", "{}", "{\"name_bytes\":\"=\"}", "{\"name_bytes\":\"Yf8vYg\"}", "[1]"] {
            assert!(serde_json::from_str::<FileName>(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn names_that_look_alike_are_still_two() {
        let (byte, letters) = (FileName::new(*b"\xf6"), FileName::from("\\xF6"));
        assert_eq!(byte.to_string(), letters.to_string());
        assert_ne!(byte, letters);
        assert_ne!(FileName::new(*b"\xf6"), FileName::new(*b"\xdf"));
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_told() {
        for (name, below) in [
            ("a", true),
            ("a/b.c", true),
            ("...", true),
            ("a\\..\\b", true),
            ("", false),
            ("/a", false),
            ("a/", false),
            ("a//b", false),
            ("./a", false),
            ("a/../../b", false),
            ("a\0b", false),
        ] {
            assert_eq!(FileName::from(name).is_below(), below, "{name:?}");
        }
    }

    #[test]
    fn parts_of_a_name_are_found_by_their_bytes() {
        let name = FileName::new(*b"a/b\xff/c");
        assert_eq!((name.last(), FileName::from("a").last()), (&b"c"[..], &b"a"[..]));
        assert_eq!(name.above().collect::<Vec<_>>(), [FileName::from("a"), FileName::new(*b"a/b\xff")]);
        assert_eq!(name.inside("runs/r1"), FileName::new(*b"runs/r1/a/b\xff/c"));
        assert_eq!(name.inside(""), name);
    }

    #[cfg(unix)]
    #[test]
    fn a_name_leads_to_the_file_it_was_made_of() {
        let folder = Path::new("/x");
        for (bytes, ..) in CASES {
            let path = folder.join(FileName::new(*bytes));
            assert_eq!(FileName::below(folder, &path).as_bytes(), *bytes);
        }
    }
}
