//! The list of machines.
//!
//! In:  text: a hosts file, a list of names, what `scontrol` or `avahi-browse` printed.  Out: [`Entry`] for each machine.
//! Not here: running these programs.
//!
//! Hosts files have two forms. Open MPI's has one host a line, `slots=N` and `max_slots=N` behind it, and `#` comments (mpirun(1), "Host
//! Files"). The playbooks for two Sparks have one address a line. Output of `avahi-browse --parsable`: avahi-browse(1).

use std::collections::BTreeSet;

use sparkbench_text::error::{Error, Place};

/// A machine as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name or address.
    pub host: String,
    /// Processes that it may take. 1 by default.
    pub slots: u32,
    /// Its name, where the list gives it beside the address.
    pub name: Option<String>,
}

impl Entry {
    fn new(host: &str, slots: u32) -> Self {
        Self { host: host.to_owned(), slots, name: None }
    }
}

/// Reads a hosts file.
///
/// # Errors
/// An archive error with the line that is not understood.
pub fn hosts_file(text: &str) -> Result<Vec<Entry>, Error> {
    let mut entries: Vec<Entry> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let plain = line.split('#').next().unwrap_or_default();
        let mut words = plain.split_whitespace();
        let Some(host) = words.next() else { continue };
        let wrong =
            |what: String| Error::archive(what).at(Place::Line(number)).hint("one host a line: spark-1 slots=1");
        let mut slots = None;
        for word in words {
            match word.split_once('=') {
                Some(("slots" | "cpu" | "count", count)) => {
                    slots = Some(count.parse().map_err(|_| wrong(format!("'{word}' is not a number of slots")))?);
                }
                // Known to Open MPI, and of no use here.
                Some(("max_slots" | "max-slots" | "user" | "boot", _)) => {}
                _ => return Err(wrong(format!("'{word}' behind '{host}' is not understood"))),
            }
        }
        let (host, short) = slots_behind(host);
        let slots = slots.or(short).unwrap_or(1);
        match entries.iter_mut().find(|entry| entry.host == host) {
            // A host that is listed again has one more.
            Some(entry) => entry.slots += slots,
            None => entries.push(Entry::new(host, slots)),
        }
    }
    Ok(entries)
}

/// `spark-1,spark-2` or `spark-1:2,spark-2:2`.
pub fn names(text: &str) -> Vec<Entry> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let entry = |word: &str| {
        let (host, slots) = slots_behind(word);
        Entry::new(host, slots.unwrap_or(1))
    };
    words.map(entry).collect()
}

/// `host:N`. An address of version 6 has more than one colon and no such number.
fn slots_behind(word: &str) -> (&str, Option<u32>) {
    match word.split_once(':') {
        Some((host, slots)) if !slots.contains(':') => match slots.parse() {
            Ok(slots) => (host, Some(slots)),
            Err(_) => (word, None),
        },
        _ => (word, None),
    }
}

/// Output of `scontrol show hostnames`: one name a line.
pub fn slurm(text: &str) -> Vec<Entry> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| Entry::new(line, 1)).collect()
}

/// Machines that offer ssh, from the output of `avahi-browse --parsable --resolve --terminate _ssh._tcp`. Taken are IPv4 addresses on the
/// interfaces that `wanted` accepts. A machine that answers on several interfaces is listed once.
pub fn avahi(text: &str, wanted: &dyn Fn(&str) -> bool) -> Vec<Entry> {
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    for line in text.lines() {
        // =.interface.protocol.name.type.domain.host name.address.port.text
        let fields: Vec<&str> = line.split(';').collect();
        let ["=", interface, "IPv4", _, _, _, host, address, ..] = fields.as_slice() else { continue };
        if !wanted(interface) || address.starts_with("127.") || !seen.insert((*host).to_owned()) {
            continue;
        }
        let name = host.trim_end_matches('.').trim_end_matches(".local");
        entries.push(Entry { name: Some(name.to_owned()), ..Entry::new(address, 1) });
    }
    entries
}

/// As Open MPI and the playbooks read it.
pub fn written(entries: &[Entry]) -> String {
    entries.iter().map(|entry| format!("{} slots={}\n", entry.host, entry.slots)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(entries: Vec<Entry>) -> Vec<(String, u32)> {
        entries.into_iter().map(|entry| (entry.host, entry.slots)).collect()
    }

    fn of(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
        pairs.iter().map(|(host, slots)| ((*host).to_owned(), *slots)).collect()
    }

    #[test]
    fn both_forms_of_a_hosts_file_are_read() {
        let mpi = "# two Sparks\nspark-1 slots=2 max_slots=4\n\nspark-2   # the other\n";
        assert_eq!(plain(hosts_file(mpi).unwrap()), of(&[("spark-1", 2), ("spark-2", 1)]));
        let playbook = "169.254.35.62\n169.254.35.63\n";
        assert_eq!(plain(hosts_file(playbook).unwrap()), of(&[("169.254.35.62", 1), ("169.254.35.63", 1)]));
        assert_eq!(plain(hosts_file("a\na\nb:3\n").unwrap()), of(&[("a", 2), ("b", 3)]));
        assert_eq!(plain(hosts_file("fe80::1\n").unwrap()), of(&[("fe80::1", 1)]));
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        for (text, what) in [("a\nb slots=many", "slots=many"), ("a\nb 2", "'2' behind 'b'")] {
            let error = hosts_file(text).unwrap_err();
            assert_eq!(error.place, Some(Place::Line(2)));
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let entries = names("spark-1:2, spark-2,");
        assert_eq!(hosts_file(&written(&entries)).unwrap(), entries);
        assert_eq!(written(&entries), "spark-1 slots=2\nspark-2 slots=1\n");
    }

    #[test]
    fn avahi_lists_each_machine_once_on_the_wanted_interfaces() {
        let text = "+;enp1s0f1np1;IPv4;spark-b;_ssh._tcp;local\n\
            =;wlan0;IPv4;spark-a;_ssh._tcp;local;spark-a.local;192.168.1.7;22;\n\
            =;enp1s0f1np1;IPv6;spark-a;_ssh._tcp;local;spark-a.local;fe80::1;22;\n\
            =;enp1s0f1np1;IPv4;spark-a;_ssh._tcp;local;spark-a.local;169.254.1.2;22;\n\
            =;enp1s0f1np1;IPv4;spark-b;_ssh._tcp;local;spark-b.local;169.254.1.3;22;\n\
            =;enP2p1s0f1np1;IPv4;spark-b;_ssh._tcp;local;spark-b.local;169.254.2.3;22;\n\
            =;lo;IPv4;spark-c;_ssh._tcp;local;spark-c.local;127.0.0.1;22;\n";
        let fast = avahi(text, &|interface| interface.starts_with("en"));
        assert_eq!(plain(fast.clone()), of(&[("169.254.1.2", 1), ("169.254.1.3", 1)]));
        assert_eq!(fast[1].name.as_deref(), Some("spark-b"));
        assert_eq!(avahi(text, &|_| true).len(), 2, "not the one that is only here");
    }

    #[test]
    fn slurm_lists_a_name_a_line() {
        assert_eq!(plain(slurm("n1\nn2\n")), of(&[("n1", 1), ("n2", 1)]));
    }
}
