//! One entry of the table of options: how a value of its kind is read from a suite and written down.
//!
//! In:  a kind, the place of the value, a [`Reader`].  Out: the value, as JSON.
//! Not here: which options there are (see `options`), the command line (see `cli::load::args`).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::values::Word;
use sparkbench_plan::Reader;

/// Headings of the help page.
pub(super) const LOAD: &str = "Load";
pub(super) const BOUNDS: &str = "Bounds";
pub(super) const PROMPTS: &str = "Prompts";
/// Heading, and in a suite a table of its own.
pub const CONVERSATIONS: &str = "Conversations";
pub(super) const JUDGING: &str = "Judging";
pub(super) const CONNECTION: &str = "Connection";
pub(super) const CLIENTS: &str = "Several clients";

/// An option. `O` has a place for the value of each.
#[derive(Debug, Clone, Copy)]
pub struct OptionEntry<O: 'static> {
    /// Name of its place, and of the argument for other arguments.
    pub name: &'static str,
    /// Option on the command line without `--`. Empty where it has none.
    pub long: &'static str,
    /// Further names on the command line.
    pub aliases: &'static [&'static str],
    /// Key in a suite. Empty where it has none.
    pub key: &'static str,
    /// Name in the settings of a summary. Empty where it is not there.
    pub summary: &'static str,
    /// Heading of the help page. Empty for the first options.
    pub group: &'static str,
    /// Word for the value on the help page.
    pub value: &'static str,
    pub help: &'static str,
    /// Default as the help page states it, where there is one for each load.
    pub default: &'static str,
    /// Kind, range and place.
    pub kind: ValueKind<O>,
    /// Whether the command line refuses 0. Suites do so by the range.
    pub positive: bool,
    /// Whether the command line leaves the check of the value to what uses it.
    pub late: bool,
    /// Whether it takes several values at once.
    pub several: bool,
    /// Names of what it cannot stand beside.
    pub conflicts: &'static [&'static str],
    /// Name of what must stand beside it.
    pub requires: &'static str,
}

/// The place of a value.
pub(crate) type Field<O, T> = fn(&mut O) -> &mut Option<T>;

/// How the value is written, its place, and its range in a suite.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind<O: 'static> {
    Switch(Field<O, bool>),
    Small(Field<O, u32>, i64, i64),
    Whole(Field<O, u64>, i64),
    /// A number of tokens. 0 is that of the recorded answer, and below 0 there is none.
    Limit(Field<O, i64>, i64, i64),
    Number(Field<O, f64>, f64, f64),
    Text(Field<O, String>),
    /// One whole number or several.
    Counts(Field<O, String>),
    /// One number or several.
    Rates(Field<O, String>),
    /// A distribution of lengths.
    Lengths(Field<O, String>),
    File(Field<O, PathBuf>),
    /// Files, which a suite has under other keys.
    Files(Field<O, Vec<PathBuf>>),
    /// Pairs, which a suite has as a table.
    List(Field<O, Vec<String>>),
    /// JSON, which a suite has as a table.
    Table(Field<O, String>),
    /// A word of several.
    Choice {
        /// Words of suites, words of the command line, what the help page says.
        words: fn() -> Vec<[&'static str; 3]>,
        /// Takes a word of suites.
        put: fn(&mut O, &str),
        /// Word of suites.
        get: fn(&O) -> Option<&'static str>,
    },
}

/// The words of a choice.
pub(super) fn words<T: Word>() -> Vec<[&'static str; 3]> {
    T::ALL.iter().map(|(value, word, help)| [*word, value.typed(), *help]).collect()
}

/// Rust's type for a kind.
macro_rules! value {
    (Switch) => { bool };
    (Small) => { u32 };
    (Whole) => { u64 };
    (Limit) => { i64 };
    (Number) => { f64 };
    (File) => { PathBuf };
    (Files) => { Vec<PathBuf> };
    (List) => { Vec<String> };
    (Choice $choice:ty) => { $choice };
    ($text:ident) => { String };
}
pub(super) use value;

/// A [`ValueKind`] with the place of its name.
macro_rules! kind {
    ($name:ident Choice $choice:ty) => {
        ValueKind::Choice {
            words: words::<$choice>,
            put: |options, word| options.$name = <$choice as Word>::of(word),
            get: |options| options.$name.map(Word::word),
        }
    };
    ($name:ident $kind:ident $(($($bound:expr),+))?) => { ValueKind::$kind(|options| &mut options.$name $(, $($bound),+)?) };
}
pub(super) use kind;

impl<O: Clone> OptionEntry<O> {
    /// An option that is the same everywhere, and not in the summary.
    pub(super) const fn new(name: &'static str, help: &'static str, kind: ValueKind<O>) -> Self {
        Self {
            name,
            long: name,
            aliases: &[],
            key: name,
            summary: "",
            group: "",
            value: "",
            help,
            default: "",
            kind,
            positive: false,
            late: false,
            several: false,
            conflicts: &[],
            requires: "",
        }
    }

    /// Option on the command line without `--`: the name with `-` for `_`, without the unit. Absent where a suite alone has it.
    pub fn option(&self) -> Option<String> {
        let long = self.long.strip_suffix("_s").unwrap_or(self.long);
        (!long.is_empty()).then(|| long.replace('_', "-"))
    }

    /// Whether a suite has it under one key.
    pub(crate) const fn is_key(&self) -> bool {
        !self.key.is_empty() && !matches!(self.kind, ValueKind::Files(_) | ValueKind::List(_) | ValueKind::Table(_))
    }

    /// Takes the key of a suite. Paths are relative to `folder`.
    pub(crate) fn read(&self, options: &mut O, keys: &mut Reader<'_>, folder: &Path) {
        let key = self.key;
        match self.kind {
            ValueKind::Switch(at) => *at(options) = keys.switch(key),
            ValueKind::Small(at, low, high) => {
                *at(options) = keys.whole_within(key, low, high).and_then(|number| u32::try_from(number).ok());
            }
            ValueKind::Whole(at, low) => {
                *at(options) = keys.whole_within(key, low, i64::MAX).and_then(|number| u64::try_from(number).ok());
            }
            ValueKind::Limit(at, low, high) => *at(options) = keys.whole_within(key, low, high),
            ValueKind::Number(at, low, high) => *at(options) = keys.number_within(key, low, high),
            ValueKind::Text(at) => *at(options) = keys.text(key),
            ValueKind::Counts(at) | ValueKind::Rates(at) | ValueKind::Lengths(at) => *at(options) = keys.words(key),
            ValueKind::File(at) => {
                *at(options) = keys.text(key).and_then(|name| found(keys, key, folder, &name));
            }
            ValueKind::Choice { words, put, .. } => {
                let words: Vec<&str> = words().iter().map(|[word, ..]| *word).collect();
                if let Some(word) = keys.choice(key, &words) {
                    put(options, &word);
                }
            }
            ValueKind::Files(_) | ValueKind::List(_) | ValueKind::Table(_) => {}
        }
    }

    /// The value, where there is one. A switch is one when it is on.
    pub fn value(&self, options: &O) -> Option<Value> {
        let options = &mut options.clone();
        match self.kind {
            ValueKind::Switch(at) => at(options).filter(|on| *on).map(Value::Bool),
            ValueKind::Small(at, ..) => at(options).map(Value::from),
            ValueKind::Whole(at, _) => at(options).map(Value::from),
            ValueKind::Limit(at, ..) => at(options).map(Value::from),
            ValueKind::Number(at, ..) => at(options).map(Value::from),
            ValueKind::Text(at) | ValueKind::Lengths(at) | ValueKind::Table(at) => at(options).take().map(Value::from),
            ValueKind::Counts(at) => at(options).as_ref()?.parse::<u64>().ok().map(Value::from),
            ValueKind::Rates(at) => at(options).as_ref()?.parse::<f64>().ok().map(Value::from),
            ValueKind::File(at) => at(options).as_ref().map(|path| json!(path.display().to_string())),
            ValueKind::Files(at) => at(options).as_ref().map(|paths| json!(paths)),
            ValueKind::List(at) => at(options).take().map(Value::from),
            ValueKind::Choice { get, .. } => get(options).map(Value::from),
        }
    }
}

/// A file that a suite names.
pub(crate) fn found(keys: &mut Reader<'_>, key: &'static str, folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    keys.fault(
        key,
        format!("names \"{name}\", which is not a file"),
        "give a path relative to the suite, or an absolute one",
    );
    None
}
