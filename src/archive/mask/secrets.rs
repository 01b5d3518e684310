//! Secrets that are known beforehand because somebody gave them: a key, a header, a password in an address, a member of a request.
//!
//! In:  names and values.  Out: [`Secrets`], which takes them out of texts, JSON and errors, in every form of [`forms`].
//! Not here: secrets that show by their shape or by a name in a text (see `tokens`, `names`), files (see `stream`, `folder`).
//!
//! Servers tend to repeat what they are sent, whole or encoded. Whoever sends a secret therefore holds one of these and passes everything
//! through it that a server says.
//!
//! Three lengths matter. A value below [`LEAST`] characters is not searched for, because it would be found everywhere. From
//! [`LEAST`] on it is replaced where it is a word of its own, from `KNOWN_ANYWHERE` on inside longer words too. The value of a header whose name
//! says nothing of a secret may be a plain word (`x-team: prod`). Such a word is replaced in what a server says, and not in what we say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::forms::{self, Form};
use super::scan::{Literal, Scanner};
use super::{COMMON, KNOWN_ANYWHERE, Mask, Tally, names, stream};
use crate::error::Error;
use crate::escape::base64;

/// Least length of a value that is searched for, in bytes.
const LEAST: usize = 4;
/// What stands in place of a secret that is shown to people. Archives have `<masked:kind>`.
const SHOWN: &str = "***";

/// Headers whose values are words of HTTP.
const OF_HTTP: &[&str] = &["accept", "accept-encoding", "accept-language", "connection", "content-type"];
/// Words before a secret in the value of a header.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "apikey", "key"];

/// See the module. Neither `Debug` nor a message shows a value.
#[derive(Clone, Default)]
pub struct Secrets {
    /// By value.
    known: BTreeMap<String, Known>,
    /// What is too short to be searched for, by name.
    short: BTreeSet<String>,
}

/// What is known of a value.
#[derive(Debug, Clone)]
struct Known {
    /// Name of the header, the member or the setting.
    name: String,
    kind: &'static str,
    /// It may be a plain word that somebody put into a header.
    plain: bool,
}

/// [`Secrets`], ready to be looked for.
#[derive(Clone)]
pub struct Veil {
    /// For our own words.
    ours: Scanner,
    /// For the words of others.
    theirs: Scanner,
    /// Values that an excerpt may end in the middle of.
    values: Vec<String>,
}

impl Secrets {
    /// Remembers a value that is a secret.
    pub fn learn(&mut self, name: &str, kind: &'static str, value: &str) {
        self.add(name, kind, false, value);
    }

    /// Remembers the value of a header: whole, and the parts of it that servers repeat alone.
    pub fn learn_header(&mut self, name: &str, value: &str) {
        if OF_HTTP.contains(&name.to_ascii_lowercase().as_str()) {
            return;
        }
        let kind = names::of_variable(name);
        let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'));
        let plain = kind.is_none() && value.len() < KNOWN_ANYWHERE && is_word(value);
        self.add(name, kind.unwrap_or("header"), plain, value);
        let Some(kind) = kind else { return };
        for part in value.split_whitespace().filter(|part| !SCHEMES.contains(&part.to_ascii_lowercase().as_str())) {
            self.add(name, kind, false, part);
        }
        if kind == "cookie" {
            let values = value.split(';').filter_map(|part| part.split_once('='));
            values.for_each(|(_, value)| self.add(name, kind, false, value));
        }
        // Whoever reads the header reads the password.
        if let Some((scheme, coded)) = value.split_once(' ')
            && scheme.eq_ignore_ascii_case("basic")
            && let Some(login) = forms::from_base64(coded.trim()).and_then(|bytes| String::from_utf8(bytes).ok())
        {
            self.learn_login(name, &login);
        }
    }

    /// Remembers `user:password`, and the password alone. A user without a password is a token, unless it is a common name such as `git`.
    fn learn_login(&mut self, name: &str, login: &str) {
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        if password.is_empty() && (user.len() < LEAST || COMMON.contains(&user.to_ascii_lowercase().as_str())) {
            return;
        }
        // As the header has it, where a colon follows although there is no password.
        let sent = if login.contains(':') { login.to_owned() } else { format!("{login}:") };
        self.add(name, "credential", false, &base64(&sent));
        self.add(name, "url", false, &sent);
        match password {
            "" => self.add(name, "token", false, user),
            password => self.add(name, "password", false, password),
        }
    }

    /// Remembers what an address has before its `@`, as typed and as meant, and the values in its query whose names speak of secrets.
    pub fn learn_address(&mut self, name: &str, address: &str) {
        let rest = address.trim().split_once("://").map_or(address.trim(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((login, _)) = authority.rsplit_once('@').filter(|(login, _)| !login.is_empty()) {
            self.learn_login(name, login);
            let meant = forms::from_percent(login);
            if meant != login {
                self.learn_login(name, &meant);
            }
        }
        let Some((_, query)) = rest.split_once('?') else { return };
        let query = query.split('#').next().unwrap_or_default();
        for (key, value) in query.split(['&', ';']).filter_map(|pair| pair.split_once('=')) {
            if let Some(kind) = kind_of(key, value) {
                self.add(key, kind, false, value);
                self.add(key, kind, false, &forms::from_percent(value));
            }
        }
    }

    /// Remembers the secrets among the members of a request's body, at any depth: what has the name of a secret, and addresses with a login.
    pub fn learn_members<'a>(&mut self, members: impl IntoIterator<Item = (&'a String, &'a Value)>) {
        members.into_iter().for_each(|(name, value)| self.member(name, value));
    }

    fn member(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) => self.learn_member(name, text),
            Value::Array(items) => items.iter().for_each(|item| self.member(name, item)),
            Value::Object(fields) => {
                for (inner, field) in fields {
                    self.member(below(name, inner), field);
                }
            }
            Value::Number(number) if names::in_text(name).is_some() => self.learn_member(name, &number.to_string()),
            _ => {}
        }
    }

    /// Remembers one text of a request's body if its name speaks of a secret, and the login of an address.
    pub fn learn_member(&mut self, name: &str, value: &str) {
        if let Some(kind) = kind_of(name, value) {
            // A gateway may be handed the headers that it is to send on.
            if matches!(name.to_ascii_lowercase().as_str(), "authorization" | "proxy-authorization" | "cookie") {
                self.learn_header(name, value);
            }
            self.add(name, kind, false, value);
        } else if value.contains("://") {
            self.learn_address(name, value);
        }
    }

    /// Whether a name is plain about being that of a secret, so that everything below it is one.
    pub fn is_plain(name: &str) -> bool {
        names::in_text(name).is_some()
    }

    /// Remembers a setting of a suite if its name is plain about it, and the login of an address.
    pub fn learn_setting(&mut self, name: &str, value: &str) {
        if names::in_text(name).is_some() {
            self.learn_member(name, value);
        } else if value.contains("://") {
            self.learn_address(name, value);
        }
    }

    fn add(&mut self, name: &str, kind: &'static str, plain: bool, value: &str) {
        let value = value.trim();
        if value.is_empty() || says_nothing(value) {
            return;
        }
        if value.len() < LEAST {
            self.short.insert(name.to_owned());
            return;
        }
        let known = Known { name: name.to_owned(), kind, plain };
        // What is certain of a value wins.
        let there = self.known.entry(value.to_owned()).or_insert_with(|| known.clone());
        if there.plain && !plain {
            *there = known;
        }
    }

    /// The members of a request's body as they may be shown: secrets by their names are taken out whatever their length.
    pub fn members(&self, members: &BTreeMap<String, Value>) -> Value {
        let mut shown = Value::Object(members.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
        hide_members("", &mut shown);
        self.veil().json(&mut shown);
        shown
    }

    /// Names of what is too short to be searched for.
    pub fn too_short(&self) -> impl Iterator<Item = &str> {
        self.short.iter().map(String::as_str)
    }

    /// Ready to be looked for. Making it costs some microseconds for each value.
    pub fn veil(&self) -> Veil {
        let literals = |others: bool| {
            let told = self.known.iter().filter(|(_, known)| others || !known.plain);
            let forms = told.flat_map(|(value, _)| forms::all(value));
            forms.map(|form| literal(form, "secret", SHOWN)).collect::<Vec<_>>()
        };
        // `Bearer` and a user's name begin values too. The secrets behind them are values of their own.
        let cut =
            self.known.iter().filter(|(value, known)| known.kind != "url" && !value.contains(char::is_whitespace));
        let values = cut.map(|(value, _)| value.clone()).collect();
        Veil { ours: Scanner::of_literals(literals(false)), theirs: Scanner::of_literals(literals(true)), values }
    }

    /// What an archive masks of them.
    fn literals(&self) -> Vec<Literal> {
        let told = self.known.iter().filter(|(_, known)| !known.plain);
        let of = |(value, known): (&String, &Known)| {
            let tag = super::scan::tag(known.kind);
            forms::all(value).into_iter().map(|form| literal(form, known.kind, &tag)).collect::<Vec<_>>()
        };
        told.flat_map(of).collect()
    }
}

impl Mask {
    /// Remembers secrets that somebody gave, to find them wherever they occur and in every form.
    pub fn learn_secrets(&mut self, secrets: &Secrets) {
        let of = |plain: bool| {
            let names: BTreeSet<&str> = secrets
                .known
                .values()
                .filter(|known| known.plain == plain)
                .map(|known| known.name.as_str())
                .filter(|name| !secrets.short.contains(*name))
                .collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let (certain, plain) = (of(false), of(true));
        if !certain.is_empty() {
            self.report.push(format!("values of {certain} are masked wherever they occur"));
        }
        if !plain.is_empty() {
            self.report.push(format!("values of {plain} are plain words and stay in the files"));
        }
        for name in &secrets.short {
            self.report.push(format!("the value of {name} is too short to search for in logs"));
        }
        self.literals.extend(secrets.literals());
        self.scanner = Scanner::new(self.literals.clone());
    }
}

impl Veil {
    /// Whether it takes nothing out.
    pub fn is_empty(&self) -> bool {
        self.theirs.is_empty()
    }

    /// A text of ours without the secrets.
    pub fn text(&self, text: &str) -> String {
        stream::replaced(&self.ours, text, &mut Tally::new())
    }

    /// A text of others without the secrets, plain words among them too. An excerpt may end in the middle of one: that part goes as well.
    pub fn said(&self, text: &str) -> String {
        let text = stream::replaced(&self.theirs, text, &mut Tally::new());
        let uncut = |piece: &str| {
            let body = piece.trim_end_matches(['"', '\'', ')', ' ', '\\']);
            let tail = piece.get(body.len()..).unwrap_or_default();
            match self.cut(body) {
                0 => piece.to_owned(),
                length => format!("{}{SHOWN}{tail}", body.get(..body.len() - length).unwrap_or_default()),
            }
        };
        text.split('…').map(uncut).collect::<Vec<_>>().join("…")
    }

    /// Bytes at the end of a text with which a value begins that goes on behind it. A few letters say little and may be chance.
    fn cut(&self, text: &str) -> usize {
        const TELLING: usize = 8;
        let of = |value: &String| {
            let least = LEAST.max(TELLING.min(value.len() / 2));
            let mut ends = value.char_indices().rev().map(|(at, _)| at).take_while(|at| *at >= least);
            ends.find(|at| value.get(..*at).is_some_and(|head| text.ends_with(head))).unwrap_or(0)
        };
        self.values.iter().map(of).max().unwrap_or(0)
    }

    /// Takes them out of every text of a value. Keys stay.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| self.json(field)),
            _ => {}
        }
    }

    /// The error without them.
    #[must_use]
    pub fn error(&self, error: Error) -> Error {
        error.reworded(&|text| self.said(text))
    }

    /// A writer that takes them out of what is written line by line.
    pub fn over<W: Write>(self, out: W) -> Veiled<W> {
        Veiled { veil: self, line: Vec::new(), out }
    }
}

impl Default for Veil {
    fn default() -> Self {
        Secrets::default().veil()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeSet<&str> = self.known.values().map(|known| known.name.as_str()).collect();
        f.debug_struct("Secrets").field("of", &names).field("too_short", &self.short).finish()
    }
}

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veil")
    }
}

/// See [`Veil::over`].
#[derive(Debug)]
pub struct Veiled<W: Write> {
    veil: Veil,
    /// What has no end of a line yet.
    line: Vec<u8>,
    out: W,
}

impl<W: Write> Veiled<W> {
    fn put(&mut self, length: usize) -> io::Result<()> {
        let rest = self.line.split_off(length);
        let line = std::mem::replace(&mut self.line, rest);
        self.out.write_all(self.veil.said(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Veiled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(last) = self.line.iter().rposition(|byte| *byte == b'\n') {
            self.put(last + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put(self.line.len())?;
        self.out.flush()
    }
}

fn literal(form: Form, kind: &'static str, with: &str) -> Literal {
    let Form { bytes, whole } = form;
    Literal { bytes, kind, with: with.as_bytes().to_vec(), whole, any_case: false, secret: true }
}

/// The kind of secret that a value under a name is, where it is one.
fn kind_of(name: &str, value: &str) -> Option<&'static str> {
    let kind = names::of_variable(name).or_else(|| names::in_text(name))?;
    (!says_nothing(value) && !names::is_count(kind, value.as_bytes())).then_some(kind)
}

/// A word for nothing. What was given is taken for what it is, so a `$` at its head is no reference to something else.
fn says_nothing(value: &str) -> bool {
    !value.starts_with(['$', '{', '%']) && names::is_void(value.as_bytes())
}

/// The name that decides about a field: that of the outermost field that speaks of a secret.
fn below<'a>(outer: &'a str, inner: &'a str) -> &'a str {
    if names::in_text(outer).is_some() && names::of_variable(inner).is_none() { outer } else { inner }
}

/// Takes out what has the name of a secret.
fn hide_members(name: &str, value: &mut Value) {
    match value {
        Value::String(text) => {
            if kind_of(name, text).is_some() {
                SHOWN.clone_into(text);
            } else if text.contains("://") {
                *text = stream::replaced(&Scanner::new(Vec::new()), text, &mut Tally::new());
            }
        }
        Value::Number(_) if names::in_text(name).is_some() => *value = Value::String(SHOWN.to_owned()),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_members(name, item)),
        Value::Object(fields) => {
            for (inner, field) in fields.iter_mut() {
                let decides = below(name, inner).to_owned();
                hide_members(&decides, field);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
