//! Settings, and what lies deeper than a format looks: numbers become extras, words become settings.
//!
//! In:  places, and the names under which they are kept.  Out: extras, lists and settings of a [`Sheet`].
//! Not here: metrics (see the module above).
//!
//! Settings of other tools hold addresses, keys, prompts and paths beside the settings that distinguish runs. Where a format names a key,
//! its word is kept unless it looks like an address or a path. Where nobody knows the keys, a word is kept only under a name that promises
//! nothing private. Names may also stand beside their values: `{"name": "HF_TOKEN", "value": "x"}`, `["--api-key", "x"]`, `["api_key", "x"]`.

use super::Sheet;
use super::values::{plain, scalar, unit_of};
use crate::at::At;
use crate::json::{Kind, Node};
use crate::serving::settings;

/// Longest list that is taken one by one. A longer one of numbers is kept as a list, and one of settings is skipped.
const ONE_BY_ONE: usize = 64;
/// Most settings of one configuration.
const SETTINGS: usize = 400;
/// Longest word of a configuration.
const LONGEST_WORD: usize = 80;
/// Longest key as part of a name.
const LONGEST_KEY: usize = 60;
/// Limit for unread leaves that are kept. A file with more is not a result.
const LEAVES: usize = 4096;

/// Parts of names under which nothing is taken, not even a number.
const SECRET: &[&str] =
    &["secret", "passw", "api_key", "apikey", "authorization", "bearer", "credential", "api_routes"];
/// Words of names under which no text is taken: where a machine is, who may enter it, what was asked and answered.
const PRIVATE: &[&str] = &[
    "addr",
    "address",
    "auth",
    "cmd",
    "command",
    "content",
    "cookie",
    "credential",
    "dir",
    "directory",
    "email",
    "endpoint",
    "error",
    "file",
    "folder",
    "header",
    "host",
    "id",
    "ip",
    "key",
    "label",
    "message",
    "namespace",
    "note",
    "artifact",
    "password",
    "path",
    "prompt",
    "route",
    "secret",
    "serial",
    "session",
    "str",
    "target",
    "text",
    "token",
    "uri",
    "url",
    "user",
    "uuid",
];

impl Sheet<'_, '_> {
    /// Keeps a setting under a name of the source.
    pub(crate) fn setting(&mut self, name: &str, value: impl Into<String>) {
        self.partial.setup.more.entry(name.to_owned()).or_insert_with(|| value.into());
    }

    /// Keeps the scalar or the short list at a place as a setting. Nothing of `null`.
    pub(crate) fn setting_at(&mut self, at: &At<'_>, name: &str) {
        if let Some(value) = scalar(at).filter(|_| !hides(at.node)) {
            self.setting(name, value);
        }
    }

    /// Keeps the settings behind these keys, whose names begin with `prefix`.
    pub(crate) fn settings_of(&mut self, at: &At<'_>, prefix: &str, keys: &[&str]) {
        for key in keys {
            if let Some(at) = at.get(key) {
                self.setting_at(&at, &format!("{prefix}{key}"));
            }
        }
    }

    /// Keeps every member of an object as a setting, but those with the keys in `taken`.
    pub(crate) fn settings_but(&mut self, at: &At<'_>, prefix: &str, taken: &[&str]) {
        for (key, at) in at.entries().into_iter().flatten().filter(|(key, _)| !taken.contains(key)) {
            self.setting_at(&at, &format!("{prefix}{key}"));
        }
    }

    /// Keeps a whole configuration, at or below a place, as settings. See the module for what is taken.
    pub(crate) fn configuration(&mut self, at: &At<'_>, name: &str) {
        if secret(name) || self.partial.setup.more.len() >= SETTINGS {
            return;
        }
        // A group called `prompt` or `endpoint` holds lengths and kinds, so only the last word of the name counts.
        let last = name.rsplit('.').find(|part| part.parse::<u32>().is_err()).unwrap_or_default();
        match &at.node.kind {
            Kind::Null | Kind::Packed(_) => {}
            Kind::Bool(value) => self.setting(name, value.to_string()),
            Kind::Number(digits) => self.setting(name, *digits),
            kind @ Kind::Text(_) if private(last) || !says_nothing_private(kind) => {}
            Kind::Text(text) => self.setting(name, text.to_string()),
            Kind::Map(_) => self.each(at, name, &mut |sheet, inner, name| sheet.configuration(inner, name)),
            Kind::List(items) => {
                // A list of two, the first a word, is a name and its value.
                if let [first, second] = items.as_slice()
                    && let Kind::Text(key) = &first.kind
                    && matches!(second.kind, Kind::Bool(_) | Kind::Number(_))
                {
                    let parent = name.rsplit_once('.').map_or(name, |(parent, _)| parent);
                    if let Some(inner) = at.items().into_iter().flatten().nth(1) {
                        self.configuration(&inner, &join(parent, key));
                    }
                } else if items.len() <= ONE_BY_ONE && !is_private_pair(items) {
                    self.each(at, name, &mut |sheet, inner, name| sheet.configuration(inner, name));
                }
            }
        }
    }

    /// Takes every number at or below a place as an extra under its way from there. Without a unit it has that of its name, which keeps
    /// its ending. Words and truth values are skipped.
    pub(crate) fn numbers(&mut self, at: &At<'_>, name: &str, unit: &str, why: Option<&'static str>) {
        let is_number = |kind: &Kind<'_>| matches!(kind, Kind::Number(_) | Kind::Null);
        match &at.node.kind {
            Kind::Number(_) => self.extra(at, name, if unit.is_empty() { unit_of(name).1 } else { unit }, why),
            Kind::List(items) if items.len() > ONE_BY_ONE && items.iter().all(|item| is_number(&item.kind)) => {
                self.list_at(at, name);
            }
            Kind::Map(_) | Kind::List(_) => {
                self.each(at, name, &mut |sheet, inner, name| sheet.numbers(inner, name, unit, why));
            }
            _ => {}
        }
    }

    /// Keeps unread values: numbers as extras without the ending that says their unit, words as settings, nested names joined by a point.
    /// `taken` are the keys that were asked for, or that are skipped on purpose.
    pub(crate) fn rest(&mut self, at: &At<'_>, taken: &[&str], why: Option<&'static str>) {
        for (key, place) in at.entries().into_iter().flatten().filter(|(key, _)| !taken.contains(key)) {
            self.leaf(&place, &join("", key), why);
        }
    }

    /// The same for one place.
    pub(crate) fn leaf(&mut self, at: &At<'_>, name: &str, why: Option<&'static str>) {
        self.leaves += 1;
        if self.leaves == LEAVES {
            self.note(format!("more than {LEAVES} values that are not metrics. The others are skipped"));
        }
        if self.leaves >= LEAVES || secret(name) {
            return;
        }
        match &at.node.kind {
            Kind::Number(_) => {
                let (name, unit) = unit_of(name);
                self.extra(at, name, unit, why);
            }
            Kind::Map(_) => self.each(at, name, &mut |sheet, inner, name| sheet.leaf(inner, name, why)),
            // Every word of the name counts: nobody knows what its groups hold.
            Kind::Text(_) | Kind::Bool(_) | Kind::List(_) if private(name) => {}
            Kind::List(items) if is_private_pair(items) => {}
            Kind::List(_) if scalar(at).is_none() || hides(at.node) => {
                self.each(at, name, &mut |sheet, inner, name| sheet.leaf(inner, name, why));
            }
            kind if says_nothing_private(kind) => self.setting_at(at, name),
            _ => {}
        }
    }

    /// Every member of an object and every item of a list, with its name. Values are skipped whose name beside them is private.
    fn each(&mut self, at: &At<'_>, name: &str, take: &mut dyn FnMut(&mut Self, &At<'_>, &str)) {
        for (key, inner) in at.entries().into_iter().flatten() {
            if !is_value_of_private(at.node, key, inner.node) {
                take(self, &inner, &join(name, key));
            }
        }
        for (place, inner) in at.items().into_iter().flatten().enumerate() {
            if !is_behind_private(at.node, place) {
                take(self, &inner, &join(name, &place.to_string()));
            }
        }
    }
}

/// Whether a member is the value of a pair whose name is private. A number beside a private name is a count more often than a secret.
fn is_value_of_private(node: &Node<'_>, member: &str, value: &Node<'_>) -> bool {
    let counts = matches!(value.kind, Kind::Number(_) | Kind::Bool(_));
    settings::names_beside(node, member).any(|name| secret(name) || (!counts && private(name)))
        || (!counts && settings::beside_private(node, member))
}

/// Whether an item of a list is the value of a private option.
fn is_behind_private(list: &Node<'_>, place: usize) -> bool {
    matches!(&list.kind, Kind::List(items) if settings::behind_private(items, place))
}

/// Whether a list holds the value of a private option or name.
fn hides(list: &Node<'_>) -> bool {
    let Kind::List(items) = &list.kind else { return false };
    is_private_pair(items) || (0..items.len()).any(|place| settings::behind_private(items, place))
}

/// Whether a list is a private name and its value.
fn is_private_pair(items: &[Node<'_>]) -> bool {
    matches!(items, [Node { kind: Kind::Text(name), .. }, Node { kind: Kind::Text(_), .. }] if settings::is_private_name(name))
}

/// A name and a key below it: short, and nothing that could be an address.
fn join(name: &str, key: &str) -> String {
    let shown = |c: char| if c.is_alphanumeric() || "_-+%".contains(c) { c } else { '_' };
    let key: String = key.chars().take(LONGEST_KEY).map(shown).collect();
    if name.is_empty() { key } else { format!("{name}.{key}") }
}

fn secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// True when a word of a name is private, in the singular or the plural. `tokenizer_mode` is none, `api_key` is one.
fn private(name: &str) -> bool {
    // A short one counts as a whole word only, so that `monkey` is no key.
    let is = |word: &str, private: &str| match private.len() {
        0..=4 => word.trim_end_matches('s') == private,
        _ => word.contains(private),
    };
    // Tokens are counted in this field. One alone may open a door.
    let name = name.to_ascii_lowercase().replace("tokenizer", "").replace("tokens", "");
    name.split(['_', '.', '-', ' ']).any(|word| PRIVATE.iter().any(|private| is(word, private)))
}

/// A number, a truth value, or an informative word without private content: short, and no path, address or text.
fn says_nothing_private(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Text(text) => {
            plain(text).is_some()
                && text.len() <= LONGEST_WORD
                && !text.starts_with(['.', '~'])
                && text.matches(' ').count() <= 3
                && text.matches('/').count() <= 1
                && text.chars().all(|c| c.is_alphanumeric() || " _-+./,=%".contains(c))
                && !["hf_", "sk-", "nvapi-"].iter().any(|start| text.starts_with(start))
        }
        Kind::List(items) => items.iter().all(|item| says_nothing_private(&item.kind)),
        _ => true,
    }
}
