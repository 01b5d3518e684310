//! Patterns of names, addresses and serial numbers in foreign texts.
//!
//! In:  nothing.  Out: [`Shape`]s: those that give a name away, those that are replaced unchanged.
//! Not here: secrets (see `tokens` and `names`), what goes in their place.
//!
//! Sources: RFC 791 and 4291 for addresses, IEEE 802 for hardware addresses, NVIDIA's `nvidia-smi -q` for UUID and serial number, the prompts
//! of common shells, `uname -a`.

use std::sync::OnceLock;

use regex::Regex;

use super::clock;

/// A shape of something private.
pub(super) struct Shape {
    pub kind: &'static str,
    pattern: &'static str,
    cell: OnceLock<Regex>,
    /// Group of the pattern that holds the value.
    pub group: usize,
    /// Whether a find counts, by its place in the text.
    pub counts: fn(&str, usize, usize) -> bool,
}

impl Shape {
    const fn new(
        kind: &'static str,
        pattern: &'static str,
        group: usize,
        counts: fn(&str, usize, usize) -> bool,
    ) -> Self {
        Self { kind, pattern, cell: OnceLock::new(), group, counts }
    }

    pub(super) fn pattern(&self) -> &Regex {
        self.cell.get_or_init(|| compile(self.pattern))
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shape").field("kind", &self.kind).field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

/// A pattern of this program.
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles every pattern")
}

/// Texts that give a name away. The name is then looked for as a word everywhere.
pub(super) static TELLING: [Shape; 10] = [
    Shape::new("user", r"(?:^|/)(?:home|Users)/([A-Za-z0-9][A-Za-z0-9._-]*)", 1, yes),
    Shape::new("user", r"(?-u:\b)[A-Za-z]:\\{1,2}Users\\{1,2}([A-Za-z0-9][A-Za-z0-9._-]*)", 1, yes),
    // A prompt, or the target of a copy: `ann@box:~$`, `ann@box:/data`.
    Shape::new("user", r"(?-u:\b)([a-z_][a-z0-9_-]{0,31})@[A-Za-z0-9][A-Za-z0-9.-]*:[~/]", 1, yes),
    Shape::new("host", r"(?-u:\b)[a-z_][a-z0-9_-]{0,31}@([A-Za-z0-9][A-Za-z0-9.-]*):[~/]", 1, no_address),
    Shape::new("host", HOST_KEY, 1, no_address),
    // Of `uname -a`.
    Shape::new("host", r"(?-u:\b)Linux ([A-Za-z0-9][A-Za-z0-9.-]*) [0-9]+\.[0-9]+\.[0-9]+", 1, no_address),
    // A name without a domain, or in a domain that no public network knows.
    Shape::new(
        "host",
        r"://(?:[^\s/@]*@)?([A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*\.(?:local|lan|internal|intranet|corp|home|localdomain|private))(?-u:\b)",
        1,
        yes,
    ),
    Shape::new("host", r"://(?:[^\s/@]*@)?([A-Za-z][A-Za-z0-9-]*)(?::[0-9]|/|\s|$)", 1, yes),
    Shape::new(
        "user",
        r#"(?i)(?-u:\b)(?:user[_-]?name|logname|sudo_user)["']?\s{0,40}[:=]\s*["']?([A-Za-z0-9][A-Za-z0-9._-]*)"#,
        1,
        yes,
    ),
    Shape::new("user", r#"(?-u:\b)USER=([A-Za-z0-9][A-Za-z0-9._-]*)"#, 1, yes),
];

const HOST_KEY: &str =
    r#"(?i)(?-u:\b)(?:host[_-]?name|node[_-]?name|fqdn)["']?\s{0,40}[:=]\s*["']?([A-Za-z0-9][A-Za-z0-9.-]*)"#;

/// What is replaced unchanged, in this order.
pub(super) static REPLACED: [Shape; 9] = [
    Shape::new(
        "gpu",
        r"(?i)(?-u:\b)((?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
        1,
        yes,
    ),
    Shape::new(
        "serial",
        r#"(?i)(?-u:\b)serial(?:[_ -]?(?:number|num|no))?["']?\s{0,60}[:=]\s*["']?([A-Za-z0-9][A-Za-z0-9-]{5,})"#,
        1,
        has_digit,
    ),
    Shape::new(
        "id",
        r#"(?i)(?-u:\b)(?:machine|boot|system|product|invocation)[_ -]?(?:uu)?id["']?\s{0,60}[:=]\s*["']?([0-9A-Fa-f-]{16,36})"#,
        1,
        yes,
    ),
    Shape::new("mac", r"(?-u:\b)([0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5})(?-u:\b)", 1, stands_alone),
    Shape::new("ip", r"(?-u:\b)([0-9]{1,3}(?:\.[0-9]{1,3}){3})(?-u:\b)", 1, is_ipv4),
    Shape::new("ip", r"([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})", 1, is_ipv6),
    Shape::new(
        "email",
        r"(?-u:\b)([A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})(?-u:\b)",
        1,
        is_email,
    ),
    // Names too short to be looked for as words are replaced in their paths alone.
    Shape::new("user", r"(?:^|/)(?:home|Users)/([A-Za-z0-9][A-Za-z0-9._-]*)", 1, yes),
    Shape::new("user", r"(?-u:\b)[A-Za-z]:\\{1,2}Users\\{1,2}([A-Za-z0-9][A-Za-z0-9._-]*)", 1, yes),
];

/// Folders among people's homes that are not a home.
pub(super) const PLACES: &[&str] = &[
    "all",
    "app",
    "apps",
    "benchmarks",
    "build",
    "builds",
    "cache",
    "code",
    "common",
    "datasets",
    "jovyan",
    "local",
    "localhost",
    "models",
    "project",
    "projects",
    "public",
    "results",
    "scratch",
    "share",
    "shared",
    "software",
    "src",
    "ubuntu",
    "user",
    "users",
    "workspace",
    "workspaces",
    "git",
];

/// What the value of a setting identifies, by the setting's name.
pub(super) fn identity_under(name: &str) -> Option<&'static str> {
    let last = name.rsplit(['.', '/']).next().unwrap_or(name);
    let lower = last.replace('-', "_").to_ascii_lowercase();
    Some(match lower.as_str() {
        "hostname" | "host_name" | "nodename" | "node_name" | "fqdn" => "host",
        "user" | "username" | "user_name" | "login" | "logname" | "sudo_user" => "user",
        "serial" | "serial_number" | "serialno" | "serial_no" | "board_serial" | "gpu_serial" => "serial",
        "gpu_uuid" => "gpu",
        "machine_id" | "boot_id" | "system_uuid" | "product_uuid" | "uuid" => "id",
        "mac" | "mac_address" | "hwaddr" => "mac",
        "ip" | "ip_address" | "ipaddr" => "ip",
        _ => return None,
    })
}

/// Whether a value says nothing.
pub(super) fn is_void(value: &str) -> bool {
    let inner = value.trim().trim_matches(['[', ']']).to_ascii_lowercase();
    matches!(
        inner.as_str(),
        "" | "n/a" | "na" | "none" | "null" | "unknown" | "unset" | "0" | "not" | "localhost" | "*"
    )
}

fn yes(_: &str, _: usize, _: usize) -> bool {
    true
}

fn before(text: &str, start: usize) -> &str {
    text.get(..start).unwrap_or_default()
}

fn after(text: &str, end: usize) -> &str {
    text.get(end..).unwrap_or_default()
}

fn has_digit(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|value| value.bytes().any(|byte| byte.is_ascii_digit()))
}

/// A name, no number: addresses have a shape of their own.
fn no_address(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|value| value.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// Not a piece of a longer chain of pairs.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    !before(text, start).ends_with([':', '-']) && !after(text, end).starts_with([':', '-'])
}

/// Words before four numbers with dots that make them a version.
const VERSIONED: &[&str] = &[
    "version", "ver", "v", "release", "rel", "build", "tensorrt", "trt", "cudnn", "cublas", "cufft", "curand",
    "cusolver", "cusparse", "nccl", "nvcc", "cuda", "driver", "firmware", "vbios", "bios", "inforom",
];

/// A real address: neither of the machine itself nor of all, no version of four parts, and no time of a log.
fn is_ipv4(text: &str, start: usize, end: usize) -> bool {
    let Some(value) = text.get(start..end) else { return false };
    let parts: Option<Vec<u8>> =
        value.split('.').map(|part| part.parse().ok().filter(|_| part.len() == 1 || !part.starts_with('0'))).collect();
    let Some([first, ..]) = parts.as_deref() else { return false };
    if matches!(first, 0 | 127 | 255) {
        return false;
    }
    let (left, right) = (before(text, start), after(text, end));
    let goes_on = right.starts_with(['-', '+', '_'])
        || right.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()));
    let pinned = ["==", ">=", "<=", "~=", "!="].iter().any(|sign| left.ends_with(sign));
    let part_of_a_word = left.ends_with('.')
        || left.strip_suffix(['-', '_', '+']).is_some_and(|rest| rest.ends_with(|c: char| c.is_alphanumeric()));
    let word_before = left.trim_end_matches([' ', '\t', ':', '=', '"', '\'', '(', '[']);
    let from = word_before.rfind(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).map_or(0, |at| at + 1);
    let word = word_before.get(from..).unwrap_or_default().to_ascii_lowercase();
    let last = word.rsplit(['-', '_']).next().unwrap_or_default();
    // Of a list of packages: `tensorrt_cu12`, `tensorrt-cu12-libs`.
    let packaged = matches!(last, "bindings" | "libs") || last.strip_prefix("cu").is_some_and(is_count);
    let versioned = VERSIONED.contains(&last) || word.ends_with("version") || word.starts_with("nvidia-") || packaged;
    !(goes_on || pinned || part_of_a_word || versioned || clock::is_time(text, start, end))
}

fn is_count(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A real address of 128 bits: hexadecimal groups that the standard library takes, neither `::` nor `::1`.
fn is_ipv6(text: &str, start: usize, end: usize) -> bool {
    let Some(value) = text.get(start..end) else { return false };
    let joined = |c: char| c.is_alphanumeric() || c == ':' || c == '_';
    if before(text, start).ends_with(joined) || after(text, end).starts_with(joined) {
        return false;
    }
    let telling = value.matches(':').count() >= 3 && value.bytes().any(|byte| byte.is_ascii_digit());
    telling
        && value.parse::<std::net::Ipv6Addr>().is_ok_and(|address| !address.is_loopback() && !address.is_unspecified())
}

/// A person's address, not the name of a service's account.
fn is_email(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|value| !value.starts_with("git@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        for shape in TELLING.iter().chain(&REPLACED) {
            let compiled = Regex::new(shape.pattern).unwrap_or_else(|e| panic!("{}: {e}", shape.pattern));
            assert!(compiled.captures_len() > shape.group, "{}", shape.pattern);
        }
    }

    #[test]
    fn versions_of_four_parts_are_no_addresses() {
        let found = |text: &str| {
            let shape = REPLACED.iter().find(|s| s.pattern.contains("{1,3}(?:")).unwrap();
            shape.pattern().captures_iter(text).filter_map(|c| c.get(1)).any(|m| is_ipv4(text, m.start(), m.end()))
        };
        for text in [
            "tensorrt==10.9.0.34",
            "TensorRT version: 10.9.0.34",
            "cuDNN 9.10.2.21",
            "nvidia-cublas-cu12 12.4.5.8",
            "v1.2.3.4",
            "libfoo-1.2.3.4.so",
            "1.2.3.4.post1",
            "127.0.0.1:8000",
            "0.0.0.0",
            "999.1.1.1",
            "driver_version=550.90.07.1",
            "tensorrt_cu12                 10.9.0.34",
            "tensorrt-cu12-libs 10.9.0.34",
            "10.12.118.200 I slot print_timing: id  0 | task 0 | prompt eval time = 1220.04 ms",
        ] {
            assert!(!found(text), "{text}");
        }
        for text in [
            "http://10.9.0.34:8000/v1",
            "from 192.168.1.17",
            "--host=172.16.4.2",
            "peer 8.8.4.4,",
            "10.0.0.5",
            "10.12.118.200 node1",
        ] {
            assert!(found(text), "{text}");
        }
    }

    #[test]
    fn times_paths_and_code_are_no_addresses_of_128_bits() {
        let found = |text: &str| {
            let shape = REPLACED.iter().find(|s| s.pattern.contains("{2,7}")).unwrap();
            shape.pattern().captures_iter(text).filter_map(|c| c.get(1)).any(|m| is_ipv6(text, m.start(), m.end()))
        };
        for text in ["12:34:56", "00000000:01:00.0", "std::vector", "::1", "a::b::c", "2026-11-22T05:41:07"] {
            assert!(!found(text), "{text}");
        }
        for text in ["[fe80::1ff:fe23:4567:890a]:80", "2001:db8::8:800:200c:417a", "2001:db8:0:0:8:800:200c:417a"] {
            assert!(found(text), "{text}");
        }
    }
}
