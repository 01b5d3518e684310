//! Secrets that are known beforehand because somebody gave them: a key, a header, a password in an address, a member of a request.
//!
//! In:  names and values.  Out: [`Secrets`], which knows them in every form of [`forms`].
//! Not here: secrets that show by their shape or by a name in a text (see `tokens`, `names`), which members of a request are secrets (see
//! `members`), what takes them out (see [`Veil`]), files (see `stream`, `folder`).
//!
//! Servers tend to repeat what they are sent, whole or encoded. Whoever sends a secret therefore holds one of these and passes everything
//! through it that a server says.
//!
//! Three lengths matter. A value below [`LEAST`] characters is not searched for, because it would be found everywhere. From
//! [`LEAST`] on it is replaced where it is a word of its own, from `KNOWN_ANYWHERE` on inside longer words too. The value of a header whose name
//! says nothing of a secret may be a plain word (`x-team: prod`). Such a word is replaced in what a server says, and not in what we say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::forms::{self, Form};
use super::members::{NameAbove, PART_LEAST, hide_members, is_part, kind_of, named_beside, says_nothing};
use super::scan::{Literal, Scanner};
use super::veil::{LEAST, SHOWN, Veil};
use super::{COMMON, KNOWN_ANYWHERE, Mask, names};
use sparkbench_text::escape::base64;

/// Headers whose values are words of HTTP.
const OF_HTTP: &[&str] = &["accept", "accept-encoding", "accept-language", "connection", "content-type"];
/// Words before a secret in the value of a header.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "apikey", "api-key", "key"];
/// Parts of the value of a header that are no secrets: RFC 7616 section 3.4, RFC 9421.
const OF_DIGEST: &[&str] = &["algorithm", "charset", "nc", "qop", "realm", "uri"];

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

impl Secrets {
    /// Whether a name is plain about it that secrets stand in the list or the table below it.
    pub fn speaks(name: &str) -> bool {
        names::in_text(name).or_else(|| names::of_several(name)).is_some()
    }

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
        members.into_iter().for_each(|(name, value)| self.member(NameAbove::plain(name), value));
    }

    fn member(&mut self, above: NameAbove<'_>, value: &Value) {
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
    fn learn_text(&mut self, above: NameAbove<'_>, text: &str) {
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
        hide_members(NameAbove::plain(""), &mut shown);
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

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeSet<&str> = self.known.values().map(|known| known.name.as_str()).collect();
        f.debug_struct("Secrets").field("of", &names).field("too_short", &self.short).finish()
    }
}

fn literal(form: Form, kind: &'static str, with: &str) -> Literal {
    let Form { bytes, whole } = form;
    Literal { bytes, kind, with: with.as_bytes().to_vec(), whole, any_case: false, secret: true }
}

/// A word of small letters, such as the name of a team.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
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

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
