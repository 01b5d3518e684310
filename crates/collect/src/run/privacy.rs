//! Data that must not reach an archive: secrets of our environment and of the suite, names of this machine and its user.
//!
//! In:  a suite, a host.  Out: the [`Mask`] through which everything goes before it is hashed.
//! Not here: how it is found and replaced (see `archive::mask`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use sparkbench_archive::mask::{Identity, Mask, MaskRules, Secrets};
use sparkbench_host::Host;
use sparkbench_plan::Suite;
use sparkbench_plan::settings::{Entry, Settings, Value};
use sparkbench_text::error::Error;

/// Ids of people's accounts. Below and above are those of the system and of its services.
const PEOPLE: Range<u32> = 1000..60_000;
/// Shells of accounts that nobody uses.
const NO_SHELLS: &[&str] = &["nologin", "false"];

/// Knows what this machine and this suite tell.
///
/// # Errors
/// When a pattern of the suite does not make sense.
pub(crate) fn mask(suite: &Suite, host: &dyn Host, archive_id: &str) -> Result<Mask, Error> {
    let labels = suite.environments.iter().chain(&suite.workloads).map(|part| part.label.clone());
    let rules = MaskRules {
        pseudonyms: suite.privacy.pseudonyms,
        secret_variables: suite.privacy.secret_variables.clone(),
        words: suite.privacy.words.clone(),
        keep: labels.chain(suite.models.iter().map(|model| model.label.clone())).chain([suite.name.clone()]).collect(),
    };
    let mut mask = Mask::new(&rules, &identity(host, archive_id))?;
    mask.learn(&host.variables());
    mask.learn_secrets(&secrets(suite, host));
    for part in suite.environments.iter().chain(&suite.workloads) {
        mask.learn(&declared(part));
        learn_lists(&part.settings, &mut mask);
    }
    Ok(mask)
}

/// What the suite gives to servers and programs as a secret: keys, headers, members of bodies, logins of addresses.
pub(crate) fn secrets(suite: &Suite, host: &dyn Host) -> Secrets {
    let mut secrets = Secrets::default();
    for part in suite.environments.iter().chain(&suite.workloads) {
        given(&part.settings, host, Under::Settings, &mut secrets);
    }
    secrets
}

/// Which table a setting is in.
#[derive(Clone, Copy)]
enum Under {
    /// One of the suite's own.
    Settings,
    /// Headers of every request.
    Headers,
}

fn given(settings: &Settings, host: &dyn Host, under: Under, secrets: &mut Secrets) {
    for (name, entry) in &settings.entries {
        value(name, &entry.value, host, under, secrets);
    }
}

fn value(name: &str, value_of: &Value, host: &dyn Host, under: Under, secrets: &mut Secrets) {
    match (value_of, under) {
        (Value::Text(text), Under::Headers) => secrets.learn_header(name, text),
        (Value::Text(text), Under::Settings) if name == "api_key_env" => {
            host.variable(text).into_iter().for_each(|key| secrets.learn(text, "key", &key));
        }
        (Value::Text(text), Under::Settings) => secrets.learn_setting(name, text),
        // Further members of every request's body, and what holds several secrets.
        (Value::Table(_) | Value::List(_), Under::Settings) if name == "extra_body" || Secrets::speaks(name) => {
            secrets.learn_members([(&name.to_owned(), &value_of.json())]);
        }
        (Value::List(items), _) => items.iter().for_each(|item| value(name, &item.value, host, under, secrets)),
        (Value::Table(below), Under::Settings) => {
            let under = if name == "headers" { Under::Headers } else { Under::Settings };
            given(below, host, under, secrets);
        }
        (Value::Table(below), Under::Headers) => given(below, host, under, secrets),
        (Value::Whole(_) | Value::Number(_) | Value::Switch(_), _) => {}
    }
}

/// Every list of texts may be a command line or the flags of one.
fn learn_lists(settings: &Settings, mask: &mut Mask) {
    for entry in settings.entries.values() {
        match &entry.value {
            Value::List(items) => {
                let text = |item: &Entry| match &item.value {
                    Value::Text(text) => Some(text.clone()),
                    _ => None,
                };
                mask.learn_arguments(&items.iter().filter_map(text).collect::<Vec<_>>());
            }
            Value::Table(below) => learn_lists(below, mask),
            _ => {}
        }
    }
}

/// Variables that a part of the suite declares.
fn declared(part: &sparkbench_plan::Part) -> BTreeMap<String, String> {
    let Some(Value::Table(table)) = part.settings.entries.get("env").map(|entry| &entry.value) else {
        return BTreeMap::new();
    };
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    table.entries.iter().filter_map(|(name, entry)| Some((name.clone(), text(&entry.value)?))).collect()
}

fn identity(host: &dyn Host, archive_id: &str) -> Identity {
    let read =
        |path: &str| host.read(Path::new(path)).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let mut identity = Identity {
        hosts: read("/proc/sys/kernel/hostname").into_iter().chain(read("/etc/hostname")).collect(),
        users: ["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|name| host.variable(name)).collect(),
        homes: host.variable("HOME").into_iter().collect(),
        machine_id: read("/etc/machine-id"),
        archive_id: archive_id.to_owned(),
    };
    // People of this machine, as far as its own list names them.
    for line in read("/etc/passwd").unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let (Some(name), Some(id), Some(home)) = (fields.first(), fields.get(2), fields.get(5)) else { continue };
        let shell = fields.get(6).and_then(|shell| shell.trim().rsplit('/').next()).unwrap_or_default();
        if id.parse::<u32>().is_ok_and(|id| PEOPLE.contains(&id)) && !NO_SHELLS.contains(&shell) {
            identity.users.push((*name).to_owned());
            identity.homes.push((*home).to_owned());
        }
    }
    for names in [&mut identity.hosts, &mut identity.users, &mut identity.homes] {
        names.sort();
        names.dedup();
    }
    identity
}

#[cfg(test)]
mod tests {
    use sparkbench_host::replay::Replay;

    use super::*;

    #[test]
    fn accounts_of_services_are_no_people() {
        let list = "root:x:0:0:root:/root:/bin/bash\njane:x:1000:1000:Jane:/home/jane:/bin/bash\n\
                    slurm:x:64030:64030::/nonexistent:/usr/sbin/nologin\nbackups:x:1001:1001::/srv/b:/bin/false\n\
                    nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\nann:x:1002:1002::/home/ann\n";
        let identity = identity(&Replay::new().file("/etc/passwd", list), "abc123");
        assert_eq!(identity.users, ["ann", "jane"]);
        assert_eq!(identity.homes, ["/home/ann", "/home/jane"]);
    }
}
