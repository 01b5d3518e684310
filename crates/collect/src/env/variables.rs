//! Variables of a program: only from our own, from an image, from the suite, and from the workload.
//!
//! In:  patterns, the lines of an image's environment, tables.  Out: one table.
//! Not here: reading files, masking secrets (see `run`).

use std::collections::BTreeMap;

use globset::{Glob, GlobSet, GlobSetBuilder};

use sparkbench_host::Host;
use sparkbench_plan::Reader;

/// Variables that a native program gets from our own environment, unless `inherit` says otherwise. They set where programs and libraries are
/// found, who the user is, and the language of programs. Others control CUDA, the driver and the model hub. Everything else (a terminal's
/// settings, a session's leftovers, proxies) differs from one login to the next and would be measured with it.
pub(super) const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LANG", "LD_LIBRARY_PATH", "CUDA_*", "NVIDIA_*", "HF_*"];

/// Where programs are looked for in a root or a container that declares nothing: the path of Debian and of most images.
pub(super) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Takes the table `env`. A name that no system accepts is a fault.
pub(super) fn declared(settings: &mut Reader<'_>) -> BTreeMap<String, String> {
    let table = settings.text_table("env");
    for (name, value) in &table {
        if !lawful(name) || value.contains('\0') {
            settings.fault(
                "env",
                format!("names the variable \"{}\"", name.escape_debug()),
                "use letters, digits and _ in a name, no digit first, and no zero byte in a value",
            );
        }
    }
    table
}

/// Whether a name is one that every shell and engine passes on.
pub(super) fn lawful(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Names of our own variables that a program gets, as names or globs.
#[derive(Debug, Clone)]
pub(super) struct Inherit {
    /// As written.
    pub patterns: Vec<String>,
    set: GlobSet,
}

impl Inherit {
    /// Takes the list `inherit`. Absent is [`INHERITED`], an empty list is nothing at all.
    pub(super) fn read(settings: &mut Reader<'_>) -> Self {
        let patterns = if settings.has("inherit") {
            settings.texts("inherit")
        } else {
            INHERITED.iter().map(|name| (*name).to_owned()).collect()
        };
        let mut builder = GlobSetBuilder::new();
        for pattern in &patterns {
            match Glob::new(pattern) {
                Ok(glob) => {
                    builder.add(glob);
                }
                Err(error) => settings.fault(
                    "inherit",
                    format!("holds \"{pattern}\", which is not a pattern: {error}"),
                    "write a name, or a name with * in it",
                ),
            }
        }
        Self { patterns, set: builder.build().unwrap_or_default() }
    }

    /// Those of `ours` that match.
    pub(super) fn of(&self, ours: BTreeMap<String, String>) -> BTreeMap<String, String> {
        ours.into_iter().filter(|(name, _)| self.set.is_match(name)).collect()
    }
}

/// Reads `NAME=value` lines, as `docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' IMAGE` prints them. Empty lines and lines
/// that begin with `#` are ignored.
///
/// # Errors
/// The number (from 1) of the first line that is neither. A value with a line break looks the same as damage, so it is not guessed.
pub(super) fn image(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let mut variables = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once('=') {
            Some((name, value)) if lawful(name) => {
                variables.insert(name.to_owned(), value.to_owned());
            }
            _ => return Err(number),
        }
    }
    Ok(variables)
}

/// Later tables win.
pub(super) fn merged(tables: &[&BTreeMap<String, String>]) -> BTreeMap<String, String> {
    tables.iter().flat_map(|table| table.iter()).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Variables that a client (`docker`, `podman`, `systemd-nspawn`) itself obeys: they reach the client as ours, never as the program's.
pub(super) fn client_obeys(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "TERM",
        "TMPDIR",
        "SSH_AUTH_SOCK",
        "REGISTRY_AUTH_FILE",
        "GODEBUG",
        "GOMAXPROCS",
        "GOGC",
        "GOMEMLIMIT",
        "GOTRACEBACK",
    ];
    const BEGINNINGS: &[&str] = &[
        "DOCKER_",
        "BUILDKIT_",
        "CONTAINER",
        "PODMAN_",
        "STORAGE_",
        "XDG_",
        "DBUS_",
        "SYSTEMD_",
        "LD_",
        "LC_",
        "GLIBC_",
    ];
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|start| name.starts_with(start))
        || name.to_ascii_lowercase().ends_with("_proxy")
}

/// Our own variables that a client needs.
pub(super) fn client(host: &dyn Host) -> BTreeMap<String, String> {
    host.variables().into_iter().filter(|(name, _)| client_obeys(name)).collect()
}

/// A program's variables on their way through a client: arguments that name them, and the client's own environment that holds their
/// values. A value is on the command line (where every user of the machine can read it) only when the client itself obeys the name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PassedVariables {
    /// One for each variable: `NAME`, or `NAME=value` where the client obeys the name.
    pub words: Vec<String>,
    /// The client's environment.
    pub client: BTreeMap<String, String>,
}

impl PassedVariables {
    /// Sends `variables` through a client whose own variables are `client`.
    pub(super) fn new(variables: &BTreeMap<String, String>, mut client: BTreeMap<String, String>) -> Self {
        let mut words = Vec::new();
        for (name, value) in variables {
            if client_obeys(name) {
                words.push(format!("{name}={value}"));
            } else {
                words.push(name.clone());
                client.insert(name.clone(), value.clone());
            }
        }
        Self { words, client }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_plan::{Faults, Settings};

    fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn settings(text: &str) -> Settings {
        Settings::from_toml("environments.e", 1, toml::de::DeTable::parse(text).unwrap().get_ref(), text)
    }

    fn inherit(text: &str) -> (Inherit, Faults) {
        let mut faults = Faults::default();
        let settings = settings(text);
        let mut reader = settings.reader(&mut faults);
        let inherit = Inherit::read(&mut reader);
        reader.finish();
        (inherit, faults)
    }

    #[test]
    fn only_what_is_named_is_inherited() {
        let ours =
            table(&[("PATH", "/bin"), ("CUDA_VISIBLE_DEVICES", "0"), ("SSH_AUTH_SOCK", "/x"), ("HF_HOME", "/m")]);
        let (standard, faults) = inherit("");
        assert!(faults.is_empty());
        assert_eq!(
            standard.of(ours.clone()).into_keys().collect::<Vec<_>>(),
            ["CUDA_VISIBLE_DEVICES", "HF_HOME", "PATH"]
        );
        assert!(inherit("inherit = []").0.of(ours.clone()).is_empty(), "an empty list is nothing at all");
        assert_eq!(inherit("inherit = ['SSH_*']").0.of(ours).len(), 1);
    }

    #[test]
    fn a_pattern_that_is_none_is_a_fault() {
        let (_, faults) = inherit("inherit = ['a[']");
        assert_eq!(faults.sorted().len(), 1);
    }

    #[test]
    fn a_name_that_no_shell_accepts_is_a_fault() {
        for (text, expected) in
            [("env = { A_1 = 'x' }", 0), ("env = { '1A' = 'x' }", 1), ("env = { 'A-B' = 1, '' = 2 }", 2)]
        {
            let mut faults = Faults::default();
            let settings = settings(text);
            let mut reader = settings.reader(&mut faults);
            declared(&mut reader);
            reader.finish();
            assert_eq!(faults.sorted().len(), expected, "{text}");
        }
    }

    #[test]
    fn an_images_variables_are_lines() {
        let text = "PATH=/usr/bin:/bin\nEMPTY=\nA=b=c  \n\n# by hand\n";
        assert_eq!(image(text), Ok(table(&[("PATH", "/usr/bin:/bin"), ("EMPTY", ""), ("A", "b=c  ")])));
        assert_eq!(image(""), Ok(BTreeMap::new()));
        assert_eq!(image("A=first\nsecond line of a value\n"), Err(2));
    }

    #[test]
    fn a_secret_does_not_stand_on_the_clients_command_line() {
        let passage = PassedVariables::new(
            &table(&[("HF_TOKEN", "hf_x"), ("PATH", "/opt/bin"), ("https_proxy", "p")]),
            table(&[("PATH", "/usr/bin")]),
        );
        assert_eq!(passage.words, ["HF_TOKEN", "PATH=/opt/bin", "https_proxy=p"]);
        assert_eq!(passage.client, table(&[("PATH", "/usr/bin"), ("HF_TOKEN", "hf_x")]));
    }
}
