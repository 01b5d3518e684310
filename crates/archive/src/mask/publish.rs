//! Removes what must not be published from an archive of other people: names, addresses, serial numbers and secrets.
//!
//! In:  texts of an analysis with their places, raw files.  Out: the same texts with pseudonyms, the same files without secrets, and counts.
//! Not here: the choice of texts, the report on it.
//!
//! The names of the people behind an archive are not known in advance. They are learned from places that hold them: a home folder, a prompt,
//! a host name under its own key, a plain name in an address. A learned name is then replaced wherever it occurs as a whole word.
//!
//! A pseudonym is the beginning of a SHA-256 over a salt and the value. The salt comes from the bytes of the archive, which are not
//! published. So the same archive gives the same pseudonyms, and a reader of the site cannot test a guess.
//!
//! Not detected: names that no such place holds, and secrets without a known shape or name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::{Captures, Regex};

use super::replacing::{Replacing, Way};
use super::scan::{Literal, Scanner};
use super::shapes::{self, Shape};
use super::table::WithoutColumns;
use super::under::Under;
use super::{COMMON, DIGITS, NAME_LEAST, Tally, add, clock, command, count, stream};
use crate::hash;

/// How often something was replaced, by place and kind. Never what.
pub type Places = BTreeMap<&'static str, Tally>;

/// Replaces in texts that are to be published.
#[derive(Debug)]
pub struct Scrub {
    salt: String,
    keep: BTreeSet<String>,
    names: BTreeSet<Name>,
    scanner: Scanner,
    places: Mutex<Places>,
}

/// A learned name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    kind: &'static str,
    text: String,
}

/// A pseudonym, of ours or of a collector: it stays.
static PSEUDONYM: LazyLock<Regex> =
    LazyLock::new(|| shapes::compile(r"^(?:host|user|home|ip|mac|serial|gpu|mig|id|email)-[0-9a-f]{6}$"));

impl Scrub {
    /// Knows nothing yet. `salt`: something of the archive that is not published. `keep`: words that stay whatever else they are, such
    /// as the labels of environments, models and workloads.
    pub fn new(salt: &str, keep: impl IntoIterator<Item = String>) -> Self {
        Self {
            salt: salt.to_owned(),
            keep: keep.into_iter().map(|word| word.to_lowercase()).collect(),
            names: BTreeSet::new(),
            scanner: Scanner::new(Vec::new()),
            places: Mutex::default(),
        }
    }

    /// Remembers the names that a text gives away, to replace them in every other text too.
    pub fn learn(&mut self, text: &str) {
        let found = self.names_in(text);
        self.names.extend(found);
    }

    /// Remembers the value of a setting whose name says that it is a host or a user.
    pub fn learn_setting(&mut self, name: &str, value: &str) {
        if let Some(kind @ ("host" | "user")) = shapes::identity_under(name)
            && let Some(name) = self.name(kind, value)
        {
            self.names.insert(name);
        }
    }

    /// To be called when everything was learned: makes the look-up for it.
    pub fn ready(&mut self) {
        self.scanner = Scanner::new(self.literals(&self.names));
    }

    /// The text as it may be published. `place` is its place, for the count.
    ///
    /// The same text gives the same answer, whatever was asked before. Names that this text alone gives away are replaced in it.
    pub fn text(&self, place: &'static str, text: &str) -> String {
        let (out, tally) = self.counted(text);
        self.note(place, tally);
        out
    }

    /// Like [`Scrub::text`], with what was replaced, which is not noted.
    pub fn counted(&self, text: &str) -> (String, Tally) {
        let mut tally = Tally::new();
        let out = self.with(&self.scanner_for(text), text, &mut tally);
        (out, tally)
    }

    /// Replaces in the rows of one file, some of which may be missing between. Names that any of them gives away are replaced in all.
    /// The rows of a private key are replaced one by one, so that their number stays.
    ///
    /// Gives how often something was replaced, which is noted for the place too.
    pub fn rows(&self, place: &'static str, rows: Vec<&mut String>) -> Tally {
        let mut tally = Tally::new();
        let texts: Vec<&str> = rows.iter().map(|row| row.as_str()).collect();
        let (scanner, clocks) = (self.scanner_for(&texts.join("\n")), clock::proven(&texts));
        let mut in_key = false;
        for (row, clock) in rows.into_iter().zip(clocks) {
            let of_key = row.trim().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=:,- ".contains(&byte));
            if in_key && of_key {
                in_key = !row.contains("-----END ");
                *row = super::hit::tag("key");
                continue;
            }
            in_key = row.contains("-----BEGIN ") && row.contains("PRIVATE KEY-----") && !row.contains("-----END ");
            let (time, rest) = row.split_at_checked(clock).unwrap_or(("", row.as_str()));
            let new = format!("{time}{}", self.with(&scanner, rest, &mut tally));
            *row = new;
        }
        self.note(place, tally.clone());
        tally
    }

    /// Everything that an answer depends on beside the text: the same mark, the same answers.
    pub fn mark(&self) -> String {
        let names = self.names.iter().flat_map(|name| [name.kind, name.text.as_str()]);
        let all: Vec<&str> = std::iter::once(self.salt.as_str())
            .chain(std::iter::once("kept"))
            .chain(self.keep.iter().map(String::as_str))
            .chain(std::iter::once("names"))
            .chain(names)
            .collect();
        // No word holds a zero byte, so none runs into the next.
        hash(all.join("\0").as_bytes())
    }

    /// The look-up with the names that this text alone gives away.
    fn scanner_for(&self, text: &str) -> Cow<'_, Scanner> {
        let own: BTreeSet<Name> = self.names_in(text).difference(&self.names).cloned().collect();
        if own.is_empty() {
            return Cow::Borrowed(&self.scanner);
        }
        Cow::Owned(Scanner::new(self.literals(&self.names.union(&own).cloned().collect())))
    }

    fn with(&self, scanner: &Scanner, text: &str, tally: &mut Tally) -> String {
        let mut out = Cow::Owned(stream::replaced(scanner, text, tally));
        for shape in &shapes::REPLACED {
            out = self.shape(shape, out, tally);
        }
        out.into_owned()
    }

    /// The value of a setting: whole where its name says that it is private, else as [`Scrub::text`].
    pub fn setting(&self, place: &'static str, name: &str, value: &str) -> String {
        let (out, tally) = self.counted_setting(name, value);
        self.note(place, tally);
        out
    }

    /// Like [`Scrub::setting`], with what was replaced, which is not noted.
    pub fn counted_setting(&self, name: &str, value: &str) -> (String, Tally) {
        let one = |kind: &str, with: String| (with, Tally::from([(kind.to_owned(), 1)]));
        if !shapes::is_void(value) {
            let by_name = super::names::of_variable(name).map_or_else(|| Under::flattened(name), Under::Plain);
            if let Some(kind) = by_name.kind_of(value) {
                return one(kind, super::hit::tag(kind));
            }
            if let Some(kind) = shapes::identity_under(name).filter(|_| !self.is_kept(value)) {
                return one(kind, self.pseudonym(kind, value));
            }
        }
        if !name.to_lowercase().contains("version") {
            return self.counted(value);
        }
        // A version of four parts is no address.
        let (masked, tally) = self.counted(&format!("version {value}"));
        (masked.strip_prefix("version ").map_or_else(|| masked.clone(), str::to_owned), tally)
    }

    /// Replaces the passwords behind short options in the arguments of one command (`curl -u ann:x`). Whether there were any.
    ///
    /// Notes how often for the place.
    pub fn arguments(&self, place: &'static str, arguments: &mut Vec<String>) -> bool {
        let (masked, passwords) = command::masked(arguments);
        let any = passwords > 0;
        if any {
            *arguments = masked;
            self.note(place, Tally::from([("password".to_owned(), passwords as u64)]));
        }
        any
    }

    /// How often something was replaced so far.
    pub fn places(&self) -> Places {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts what was replaced in a place, in a text of which the answer was kept.
    pub fn note(&self, place: &'static str, tally: Tally) {
        if tally.is_empty() {
            return;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        add(places.entry(place).or_default(), tally);
    }

    fn shape<'a>(&self, shape: &Shape, text: Cow<'a, str>, tally: &mut Tally) -> Cow<'a, str> {
        let replaced = shape.pattern().replace_all(&text, |found: &Captures<'_>| {
            let whole = found.get(0).map_or("", |m| m.as_str());
            let Some(value) = found.get(shape.group) else { return whole.to_owned() };
            let start = found.get(0).map_or(0, |m| m.start());
            if !(shape.counts)(&text, value.start(), value.end()) || self.is_kept(value.as_str()) {
                return whole.to_owned();
            }
            count(tally, shape.kind);
            let (before, after) = (value.start() - start, value.end() - start);
            format!(
                "{}{}{}",
                whole.get(..before).unwrap_or_default(),
                self.pseudonym(shape.kind, value.as_str()),
                whole.get(after..).unwrap_or_default()
            )
        });
        match replaced {
            Cow::Borrowed(_) => text,
            Cow::Owned(new) => Cow::Owned(new),
        }
    }

    /// Whether a value stays: it is generic, a word of the campaign, or replaced already.
    fn is_kept(&self, value: &str) -> bool {
        let lower = value.to_lowercase();
        COMMON.contains(&lower.as_str())
            || shapes::PLACES.contains(&lower.as_str())
            || self.keep.contains(&lower)
            || shapes::is_void(value)
            || value.starts_with("<masked:")
            || PSEUDONYM.is_match(&lower)
    }

    fn pseudonym(&self, kind: &str, value: &str) -> String {
        let value = if matches!(kind, "host" | "mac" | "gpu") { value.to_lowercase() } else { value.to_owned() };
        let digits = hash(format!("sparkbench publish {kind}\0{}\0{value}", self.salt).as_bytes());
        format!("{kind}-{}", digits.get(..DIGITS).unwrap_or_default())
    }

    fn name(&self, kind: &'static str, text: &str) -> Option<Name> {
        let text = text.trim_matches('.');
        let telling = text.chars().count() >= NAME_LEAST && text.chars().any(char::is_alphabetic);
        (telling && !self.is_kept(text)).then(|| Name { kind, text: text.to_owned() })
    }

    fn names_in(&self, text: &str) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        for shape in &shapes::TELLING {
            for found in shape.pattern().captures_iter(text) {
                if let Some(value) = found.get(shape.group)
                    && (shape.counts)(text, value.start(), value.end())
                {
                    names.extend(self.name(shape.kind, value.as_str()));
                    // The short name of a host goes with its full one.
                    let short = value.as_str().split_once('.').filter(|_| shape.kind == "host");
                    names.extend(short.and_then(|(short, _)| self.name(shape.kind, short)));
                }
            }
        }
        names
    }

    fn literals(&self, names: &BTreeSet<Name>) -> Vec<Literal> {
        let literal = |name: &Name| Literal {
            bytes: name.text.clone().into_bytes(),
            kind: name.kind,
            with: self.pseudonym(name.kind, &name.text).into_bytes(),
            whole: true,
            any_case: name.kind == "host",
            secret: false,
        };
        names.iter().map(literal).collect()
    }
}

/// Secrets alone.
static SECRETS: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Vec::new()));

/// Reads a text as `collect` would keep it: secrets are replaced, over several lines too, and names stay.
///
/// The number of lines stays. The lines that a secret stood on follow empty behind its own. Memory does not grow with the text.
pub struct WithoutSecrets<R>(Replacing<'static, WithoutColumns<R>>);

impl<R: Read> WithoutSecrets<R> {
    /// Reads the beginning, which tells whether the text is a table.
    ///
    /// # Errors
    /// Whatever the reader reports.
    pub fn new(input: R) -> io::Result<Self> {
        Ok(Self(Replacing::new(&SECRETS, Way::Lines, WithoutColumns::new(input)?)))
    }

    /// How often something was replaced in what was read.
    pub fn into_tally(self) -> Tally {
        let (columns, mut tally) = self.0.into_parts();
        add(&mut tally, columns.into_tally());
        tally
    }
}

impl<R: Read> Read for WithoutSecrets<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
