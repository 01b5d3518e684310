//! Masking: secrets and names never reach an archive.
//!
//! In:  rules, names of user and host, variables with their values.  Out: [`Mask`], for text, JSON, command lines, files, folders.
//! Not here: where the names come from (see `host`), which files there are.
//!
//! A secret becomes `<masked:kind>`. Host name, user name and home folder become pseudonyms. A pseudonym stays the same on one machine, so
//! that campaigns of one machine can be recognised. It is the beginning of a SHA-256 over the machine's `machine-id` and the name. The
//! `machine-id` is never written, so nobody can test a guess at the name. Where a machine has none, the archive's id takes its place. Then
//! pseudonyms differ between archives, and a guess can be tested.
//!
//! Not detected: what packed files hold, names inside binary files, and secrets without a known shape, name or value. A value that is known
//! is found in the encodings of `forms` too. Secrets inside binary files are blotted out. Packed files are named (see [`Swept`]).

mod apply;
mod brackets;
mod clock;
mod command;
mod drawn;
mod folder;
mod forms;
mod hit;
mod joined;
mod lexical;
mod members;
mod names;
mod nested;
mod option;
mod packed;
mod pair;
mod perhaps;
mod publish;
mod replacing;
mod scalar;
mod scan;
mod secrets;
mod setting;
mod shapes;
mod stream;
mod table;
mod tokens;
mod under;
mod value;
mod variables;
mod veil;
mod wide;
mod xml;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use super::read::hash;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use hit::tag;
use scan::{Literal, Scanner};
use sparkbench_text::error::Error;

pub use folder::Swept;
pub use publish::{Places, Scrub, WithoutSecrets};
pub use secrets::Secrets;
pub use stream::Masked;
pub use veil::Veil;

/// How often something was replaced, by kind.
pub type Tally = BTreeMap<String, u64>;

/// The suite's privacy settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MaskRules {
    /// Host and user names become pseudonyms.
    pub pseudonyms: bool,
    /// Further names of variables whose values are secret, as globs.
    pub secret_variables: Vec<String>,
    /// Further words replaced wherever they occur as whole words.
    pub words: Vec<String>,
    /// Words that stay whatever else they are: labels of environments, models and workloads, the campaign's name.
    pub keep: Vec<String>,
}

/// Who and where we are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Names of this host: short, full.
    pub hosts: Vec<String>,
    /// Names of users: ours, and the one behind `sudo`.
    pub users: Vec<String>,
    /// Home folders.
    pub homes: Vec<String>,
    /// `/etc/machine-id`. Never written.
    pub machine_id: Option<String>,
    /// Stands in for it where there is none.
    pub archive_id: String,
}

/// Least length of a value that is searched for everywhere. Shorter ones are common words of every log.
const KNOWN_LEAST: usize = 6;
/// From this length on a known value is replaced inside longer words too.
const KNOWN_ANYWHERE: usize = 12;
/// Least length of a name that is replaced.
const NAME_LEAST: usize = 3;
/// Hexadecimal digits of a pseudonym: two names of one archive share one with a chance of 1 in 16 million.
const DIGITS: usize = 6;

/// Names that are words of every log. Replacing them would destroy more than it hides.
const COMMON: &[&str] = &[
    "admin",
    "administrator",
    "archive",
    "bench",
    "benchmark",
    "bin",
    "chroot",
    "client",
    "cloud",
    "container",
    "cuda",
    "daemon",
    "data",
    "debian",
    "default",
    "dev",
    "devel",
    "developer",
    "dgx",
    "docker",
    "ec2",
    "engine",
    "fedora",
    "gpu",
    "guest",
    "home",
    "host",
    "hostname",
    "internal",
    "kernel",
    "linux",
    "llm",
    "lab",
    "local",
    "localdomain",
    "localhost",
    "localhost.localdomain",
    "machine",
    "main",
    "master",
    "model",
    "native",
    "node",
    "nobody",
    "none",
    "nspawn",
    "nvidia",
    "operator",
    "podman",
    "python",
    "root",
    "run",
    "runner",
    "runs",
    "server",
    "service",
    "spark",
    "sparkbench",
    "station",
    "sudo",
    "system",
    "systemd",
    "test",
    "tester",
    "tmp",
    "torch",
    "ubuntu",
    "user",
    "username",
    "usr",
    "vagrant",
    "var",
    "virtual",
    "vllm",
    "vm",
    "work",
    "worker",
    "workstation",
];

/// The replacement table.
#[derive(Debug, Clone)]
pub struct Mask {
    scanner: Scanner,
    literals: Vec<Literal>,
    secret_names: GlobSet,
    keep: BTreeSet<String>,
    report: Vec<String>,
}

impl Mask {
    /// Knows names and rules. Values of variables are added by [`Mask::learn`].
    ///
    /// # Errors
    /// When a glob of the rules does not make sense.
    pub fn new(rules: &MaskRules, identity: &Identity) -> Result<Self, Error> {
        let mut globs = GlobSetBuilder::new();
        for text in &rules.secret_variables {
            let glob = GlobBuilder::new(text).case_insensitive(true).build().map_err(|cause| {
                Error::usage(format!("'{text}' is not a pattern for names of variables"))
                    .hint("use letters, `*` and `?`, as in `ACME_*`")
                    .because(cause)
            })?;
            globs.add(glob);
        }
        let secret_names =
            globs.build().map_err(|cause| Error::usage("too many patterns for names of variables").because(cause))?;
        let keep = rules.keep.iter().map(|word| word.to_lowercase()).collect();
        let mut mask =
            Self { scanner: Scanner::new(Vec::new()), literals: Vec::new(), secret_names, keep, report: Vec::new() };
        if rules.pseudonyms {
            mask.add_names(identity);
        }
        for word in rules.words.iter().filter(|word| !word.is_empty()) {
            mask.literals.push(known(word.as_bytes(), "word", true));
        }
        if let Some(id) = identity.machine_id.as_deref().filter(|id| id.len() >= KNOWN_ANYWHERE) {
            mask.literals.push(known(id.as_bytes(), "machine-id", false));
        }
        mask.scanner = Scanner::new(mask.literals.clone());
        Ok(mask)
    }

    fn add_names(&mut self, identity: &Identity) {
        let salt = identity.machine_id.as_deref().unwrap_or(&identity.archive_id);
        let pseudonym = |kind: &str, name: &str| {
            let digits = hash(format!("sparkbench {kind}\0{salt}\0{name}").as_bytes());
            format!("{kind}-{}", digits.get(..DIGITS).unwrap_or_default())
        };
        let hosts = identity.hosts.iter().map(|name| ("host", name.trim().trim_matches('.').to_lowercase()));
        let users = identity.users.iter().map(|name| ("user", name.trim().to_owned()));
        let mut seen = BTreeSet::new();
        for (kind, name) in hosts.chain(users) {
            if name.is_empty() || !seen.insert((kind, name.clone())) {
                continue;
            }
            if let Some(why) = self.too_common(&name) {
                self.report.push(format!("{kind} name '{name}' is kept: {why}"));
                continue;
            }
            let with = pseudonym(kind, &name);
            self.report.push(format!("{kind} name '{name}' becomes {with}"));
            self.literals.push(Literal {
                bytes: name.clone().into_bytes(),
                kind: if kind == "host" { "host" } else { "user" },
                with: with.into_bytes(),
                whole: true,
                any_case: kind == "host",
                secret: false,
            });
        }
        for home in identity.homes.iter().map(|home| home.trim_end_matches('/')) {
            // A folder that is named after its user is hidden with the name. System folders tell nothing.
            let named = identity.users.iter().any(|user| home.rsplit('/').next() == Some(user.as_str()));
            if named || home.matches('/').count() < 2 || !seen.insert(("home", home.to_owned())) {
                continue;
            }
            let with = format!("/home/{}", pseudonym("home", home));
            self.report.push(format!("home folder '{home}' becomes {with}"));
            self.literals.push(Literal {
                bytes: home.as_bytes().to_vec(),
                kind: "home",
                with: with.into_bytes(),
                whole: true,
                any_case: false,
                secret: false,
            });
        }
    }

    /// Why a name is left as it is.
    fn too_common(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        if name.chars().count() < NAME_LEAST {
            Some(format!("shorter than {NAME_LEAST} characters"))
        } else if COMMON.contains(&lower.as_str()) {
            Some("a common word of logs".to_owned())
        } else if !name.chars().any(char::is_alphabetic) {
            Some("it has no letter".to_owned())
        } else if self.keep.contains(&lower) {
            Some("the suite uses this word itself".to_owned())
        } else {
            None
        }
    }

    /// Remembers the values of variables with secret names, to find them later, wherever they occur.
    pub fn learn(&mut self, variables: &BTreeMap<String, String>) {
        let mut names = Vec::new();
        for (name, value) in variables {
            let Some(kind) = self.secret(name, value) else { continue };
            names.push(name.as_str());
            let value = value.trim();
            if value.len() < KNOWN_LEAST {
                self.report.push(format!("the value of {name} is too short to search for in logs"));
                continue;
            }
            for value in std::iter::once(value).chain(listed(name, value)) {
                self.literals.extend(forms::all(value).into_iter().map(|form| known(&form.bytes, kind, form.whole)));
            }
        }
        if !names.is_empty() {
            self.report.push(format!("values of {} are masked wherever they occur", names.join(", ")));
        }
        self.scanner = Scanner::new(self.literals.clone());
    }

    /// Remembers the secrets of a command line behind plain options (`--api-key X`, `--token=X`, `-e HF_TOKEN=X`, `curl -u ann:X`). The
    /// program may print them in any form.
    pub fn learn_arguments(&mut self, arguments: &[String]) {
        let mut before = None;
        for argument in arguments {
            let behind =
                before.take().filter(|_| !argument.starts_with('-')).map(|option: &str| (option, argument.as_str()));
            for (name, value) in behind.into_iter().chain(argument.split_once('=')) {
                if names::in_command(name).is_some() {
                    self.learn(&BTreeMap::from([(name.to_owned(), value.to_owned())]));
                }
            }
            before = argument.starts_with('-').then_some(argument.as_str());
        }
        for password in command::passwords(arguments) {
            self.learn(&BTreeMap::from([("password".to_owned(), password)]));
        }
    }

    /// Replaced and kept texts, one line each. For the terminal only, because it has the names themselves.
    pub fn report(&self) -> Vec<String> {
        self.report.clone()
    }
}

/// The values in a variable that holds several: `API_KEYS=a,b`. A word of small letters among them is one of every log.
fn listed<'a>(name: &str, value: &'a str) -> impl Iterator<Item = &'a str> {
    let several = names::of_several(name).is_some();
    let parts = value.split(|c: char| c.is_whitespace() || "[]\"',;".contains(c)).filter(move |_| several);
    parts.filter(|part| part.len() >= KNOWN_LEAST && !part.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// A value that is replaced everywhere.
fn known(bytes: &[u8], kind: &'static str, whole: bool) -> Literal {
    Literal { bytes: bytes.to_vec(), kind, with: tag(kind).into_bytes(), whole, any_case: false, secret: true }
}

fn count(tally: &mut Tally, kind: &str) {
    *tally.entry(kind.to_owned()).or_default() += 1;
}

fn add(tally: &mut Tally, more: Tally) {
    more.into_iter().for_each(|(kind, times)| *tally.entry(kind).or_default() += times);
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "known_name_tests.rs"]
mod known_name_tests;
