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
use sparkbench_text::error::Error;
use sparkbench_text::escape::base64;

/// Least length of a value that is searched for, in bytes.
const LEAST: usize = 4;
/// What stands in place of a secret that is shown to people. Archives have `<masked:kind>`.
const SHOWN: &str = "***";

/// Headers whose values are words of HTTP.
const OF_HTTP: &[&str] = &["accept", "accept-encoding", "accept-language", "connection", "content-type"];
/// Words before a secret in the value of a header.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "apikey", "api-key", "key"];
/// Parts of the value of a header that are no secrets: RFC 7616 section 3.4, RFC 9421.
const OF_DIGEST: &[&str] = &["algorithm", "charset", "nc", "qop", "realm", "uri"];
/// Least length of a part of a value that is searched for alone, and of a text that may be a secret.
const PART_LEAST: usize = 8;

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
        let plain = |text: &str| kind.is_none() && text.len() < KNOWN_ANYWHERE && is_word(text);
        self.add(name, kind.unwrap_or("header"), plain(value), value);
        let sent = behind_scheme(value);
        if sent.len() < value.trim().len() && sent.len() >= LEAST {
            self.add(name, kind.unwrap_or("header"), plain(sent), sent);
        }
        self.learn_parts(name, kind, sent);
        // Whoever reads the header reads the password.
        if let Some((scheme, coded)) = value.split_once(' ')
            && scheme.eq_ignore_ascii_case("basic")
            && let Some(login) = forms::from_base64(coded.trim()).and_then(|bytes| String::from_utf8(bytes).ok())
            && (kind.is_some() || login.contains(':'))
        {
            self.learn_login(name, &login);
        }
        let Some(kind) = kind else { return };
        for part in value.split_whitespace().filter(|part| !SCHEMES.contains(&part.to_ascii_lowercase().as_str())) {
            self.add(name, kind, false, part);
        }
        if kind == "cookie" {
            let values = value.split(';').filter_map(|part| part.split_once('='));
            values.for_each(|(_, value)| self.add(name, kind, false, bare(value)));
        }
    }

    /// Remembers what the value of a header is made of: `id=1; secret="x"`, `id:x`. `kind` is absent where its name says nothing.
    fn learn_parts(&mut self, name: &str, kind: Option<&'static str>, value: &str) {
        let certain = kind.is_some();
        let kind = kind.unwrap_or("header");
        for piece in value.split([',', ';']) {
            let words = piece.split_whitespace().filter(|word| word.contains('=') || (certain && word.contains(':')));
            for piece in std::iter::once(piece).chain(words).map(bare) {
                if piece.contains("://") {
                    self.learn_address(name, piece);
                    continue;
                }
                let (label, rest) = piece.split_once('=').unwrap_or(("", piece));
                if OF_DIGEST.contains(&label.trim().to_ascii_lowercase().as_str()) {
                    continue;
                }
                // `=` ends what is in base 64 too.
                let part = bare(if rest.trim_matches('=').is_empty() { piece } else { rest });
                let behind = part.trim_end_matches('=').rsplit_once('=').map(|(_, end)| bare(end));
                for part in [part, part.trim_end_matches('=')].into_iter().chain(behind) {
                    if is_part(part) && !is_word(part) {
                        self.add(name, kind, false, part);
                    }
                }
                let ends = part.split_once(':').into_iter().chain(part.rsplit_once(':'));
                for end in ends.map(|(_, end)| bare(end)) {
                    if is_part(end) && (certain || !is_word(end)) {
                        self.add(name, kind, false, end);
                    }
                }
            }
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

    /// Remembers the secrets among the members of a request's body, at any depth: what has the name of a secret, addresses with a login, and
    /// what a text has behind such a name.
    pub fn learn_members<'a>(&mut self, members: impl IntoIterator<Item = (&'a String, &'a Value)>) {
        members.into_iter().for_each(|(name, value)| self.member(Above::plain(name), value));
    }

    fn member(&mut self, above: Above<'_>, value: &Value) {
        match value {
            Value::String(text) => self.learn_text(above, text),
            Value::Array(items) => items.iter().for_each(|item| self.member(above, item)),
            Value::Object(fields) => {
                let named = named_beside(fields);
                for (inner, field) in fields {
                    self.member(above.below(inner, named.as_deref()), field);
                }
            }
            Value::Number(number) if above.tells_of_numbers() => {
                self.add(above.name, names::in_text(above.name).unwrap_or("secret"), false, &number.to_string());
            }
            _ => {}
        }
    }

    /// Remembers one text of a request's body if its name speaks of a secret, and what shows in it.
    fn learn_text(&mut self, above: Above<'_>, text: &str) {
        let name = above.name;
        if let Some(kind) = above.kind_of(text) {
            // A gateway may be handed the headers that it is to send on.
            let sent = behind_scheme(text);
            if is_header(name) || (sent != text.trim() && !sent.contains(char::is_whitespace)) {
                self.learn_header(name, text);
            }
            self.add(name, kind, false, text);
        } else if text.contains("://") {
            self.learn_address(name, text);
        }
        if text.trim_start().starts_with(['{', '['])
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            self.member(above, &inner);
            return;
        }
        self.learn_lines(name, text);
    }

    /// Remembers what a text has behind the names of secrets (`Authorization: Bearer x`, `HF_TOKEN=x`), and what shows by its shape.
    fn learn_lines(&mut self, member: &str, text: &str) {
        for line in text.lines() {
            let Some((name, value)) = line.split_once([':', '=']) else { continue };
            let name = name.trim().trim_start_matches("export ").trim_start();
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
            if !is_name || names::in_text(name).is_none() {
                continue;
            }
            let value = bare(value);
            // A sentence may follow the name too.
            let is_one = is_header(name) || !behind_scheme(value).contains(char::is_whitespace);
            if is_one && kind_of(name, value).is_some() {
                self.learn_header(name, value);
            }
        }
        let shapes = Scanner::new(Vec::new());
        let mut at = 0;
        while let Some(hit) = shapes.next(text.as_bytes(), at, text.len()) {
            at = hit.end;
            let Some(found) = text.get(hit.start..hit.end) else { continue };
            if hit.kind == "url" {
                self.learn_login(member, found);
            } else if found.len() >= PART_LEAST && !is_word(found) {
                self.add(member, hit.kind, false, found);
            }
        }
    }

    /// Remembers a setting of a suite if its name is plain about it, and the login of an address.
    pub fn learn_setting(&mut self, name: &str, value: &str) {
        if let Some(kind) = kind_of(name, value).filter(|_| names::in_text(name).is_some()) {
            if is_header(name) {
                self.learn_header(name, value);
            }
            self.add(name, kind, false, value);
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
        hide_members(Above::plain(""), &mut shown);
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
            let tag = super::hit::tag(known.kind);
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

/// A word of small letters, such as the name of a team.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
}

/// Whether a part of a value is long enough to be searched for alone.
fn is_part(text: &str) -> bool {
    text.len() >= PART_LEAST && !text.contains(char::is_whitespace)
}

/// Without blanks and quotes around it.
fn bare(text: &str) -> &str {
    text.trim().trim_matches(['"', '\'']).trim()
}

/// What follows `Bearer` and its like, else the whole value.
fn behind_scheme(value: &str) -> &str {
    let value = value.trim();
    match value.split_once(char::is_whitespace) {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => rest.trim(),
        _ => value,
    }
}

/// Whether a member is a header that holds secrets.
fn is_header(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "authorization" | "proxy-authorization" | "cookie")
}

/// A name of several things as that of one: `access_tokens`.
fn of_one(name: &str) -> Option<&str> {
    name.strip_suffix(['s', 'S'])
}

/// The name that decides about a member of a body.
#[derive(Debug, Clone, Copy)]
struct Above<'a> {
    name: &'a str,
    /// It is the name of a table above, and may stand before other things too: `auth`, `token`.
    doubtful: bool,
}

impl<'a> Above<'a> {
    const fn plain(name: &'a str) -> Self {
        Self { name, doubtful: false }
    }

    /// The name that decides about a field of a table: that of the outermost field that is plain about it, else the innermost that speaks
    /// of a secret. `named` is the name in the field beside a `value`.
    fn below(self, inner: &'a str, named: Option<&'a str>) -> Self {
        if let Some(named) = named.filter(|_| inner.eq_ignore_ascii_case("value")) {
            return Self::plain(named);
        }
        let one = |name: &str| of_one(name).and_then(names::in_text).is_some();
        let speaks =
            |name: &str| names::of_variable(name).is_some() || of_one(name).and_then(names::of_variable).is_some();
        let certain = !self.doubtful && (names::in_text(self.name).is_some() || one(self.name));
        if certain && names::of_variable(inner).is_none() {
            self
        } else if names::in_text(inner).is_some() || speaks(inner) {
            Self::plain(inner)
        } else if speaks(self.name) {
            Self { doubtful: true, ..self }
        } else {
            Self::plain(inner)
        }
    }

    /// The kind of secret that a text is, where it is one.
    fn kind_of(self, text: &str) -> Option<&'static str> {
        if !self.doubtful
            && let Some(kind) = kind_of(self.name, text)
        {
            return Some(kind);
        }
        let one = of_one(self.name);
        if !self.doubtful
            && let Some(kind) = one.and_then(names::in_text)
        {
            return (!says_nothing(text) && !names::is_count(kind, text.as_bytes())).then_some(kind);
        }
        let kind = names::of_variable(self.name).or_else(|| one.and_then(names::of_variable))?;
        let counts = says_nothing(text) || names::is_count(kind, text.as_bytes());
        (is_made(text) && !counts).then_some(kind)
    }

    /// Whether a number is a secret. Names of several things count them: `max_tokens`.
    fn tells_of_numbers(self) -> bool {
        !self.doubtful && names::in_text(self.name).is_some()
    }
}

/// Whether a text below a doubtful name is a secret rather than a word, a sentence, an address or a token of a model.
fn is_made(text: &str) -> bool {
    is_part(text)
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && !text.contains("://")
        && !text.contains(['<', '>', '|', '{', '}', '[', ']', '(', ')', '"'])
}

/// The name of a pair whose `value` is a secret: `{"name": "Authorization", "value": "x"}`.
fn named_beside(fields: &serde_json::Map<String, Value>) -> Option<String> {
    let names = ["name", "key", "header"].iter().filter_map(|field| fields.get(*field).and_then(Value::as_str));
    let mut secret = names.filter(|name| names::in_text(name).is_some());
    secret.next().map(str::to_owned)
}

/// Takes out what has the name of a secret, and what shows in a text.
fn hide_members(above: Above<'_>, value: &mut Value) {
    match value {
        Value::String(text) => {
            if above.kind_of(text).is_some() {
                SHOWN.clone_into(text);
            } else {
                *text = stream::replaced(&Scanner::new(Vec::new()), text, &mut Tally::new());
            }
        }
        Value::Number(_) if above.tells_of_numbers() => *value = Value::String(SHOWN.to_owned()),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_members(above, item)),
        Value::Object(fields) => {
            let named = named_beside(fields);
            for (inner, field) in fields.iter_mut() {
                hide_members(above.below(inner, named.as_deref()), field);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
