//! Lists of SHA-256 hashes as `sha256sum`, `shasum` and `openssl` write them.
//!
//! In:  a file such as `SHA256SUMS`, or `NAME.sha256`.  Out: paths below its folder, each with its hash.
//! Not here: comparing them.

use std::path::{Component, Path, PathBuf};

/// Length of a SHA-256 in hexadecimal.
const HEX: usize = 64;
/// Endings of the name of a list about the file without the ending.
const ABOUT_ONE: [&str; 2] = [".sha256", ".sha256sum"];

/// Whether a name is that of a list.
pub(super) fn is_list(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".txt").unwrap_or(&name);
    matches!(stem, "sha256sums" | "sha256sum") || stem.ends_with(".sha256sums") || about_one(stem).is_some()
}

/// The name without the ending of a list about one file.
fn about_one(name: &str) -> Option<&str> {
    let cut = |end: &str| {
        let at = name.len().checked_sub(end.len()).filter(|at| *at > 0 && name.is_char_boundary(*at))?;
        let (start, tail) = name.split_at(at);
        tail.eq_ignore_ascii_case(end).then_some(start)
    };
    ABOUT_ONE.iter().find_map(|end| cut(end))
}

/// Every entry of a list: a path below its folder, and the hash in lower case. Lines that are no entry are passed over, as are paths that
/// lead elsewhere. A list that is no plain file or too large has no entry.
pub(super) fn read(list: &Path, most: u64, folder: &Path) -> Vec<(PathBuf, String)> {
    let Some(bytes) = super::plain(list, most) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let name = list.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let own = about_one(&name);
    let entries: Vec<(Option<String>, String)> =
        text.trim_start_matches('\u{feff}').lines().filter_map(entry).collect();
    let alone = entries.len() == 1;
    let named = |(name, sha256): (Option<String>, String)| {
        let path = match (name, own) {
            // The hash alone speaks of the file that the list is named after. So does the only entry, wherever it was made.
            (None, Some(own)) => PathBuf::from(own),
            (Some(name), Some(own)) if alone && name.rsplit(['/', '\\']).next() == Some(own) => PathBuf::from(own),
            (Some(name), _) => below(&name, folder)?,
            (None, None) => return None,
        };
        Some((path, sha256))
    };
    entries.into_iter().filter_map(named).collect()
}

/// A path below the folder. One that begins with the folder's own name was written from the folder above.
fn below(name: &str, folder: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let from_above = || path.strip_prefix(folder.canonicalize().ok()?.file_name()?).ok().map(Path::to_owned);
    if folder.join(&path).symlink_metadata().is_err()
        && let Some(rest) = from_above().filter(|rest| folder.join(rest).symlink_metadata().is_ok())
    {
        return Some(rest);
    }
    (!path.as_os_str().is_empty()).then_some(path)
}

/// One line: the name, where it has one, and the hash.
fn entry(line: &str) -> Option<(Option<String>, String)> {
    let line = line.trim_end();
    tagged(line).or_else(|| plain(line))
}

/// `HASH  NAME`, `HASH *NAME`, or the hash alone. A line that begins with a backslash has a name with escapes.
fn plain(line: &str) -> Option<(Option<String>, String)> {
    let (escaped, line) = line.strip_prefix('\\').map_or((false, line), |line| (true, line));
    let (sha256, rest) = line.trim_start().split_at_checked(HEX)?;
    let sha256 = hash(sha256)?;
    if rest.is_empty() {
        return Some((None, sha256));
    }
    let name = rest.strip_prefix([' ', '\t'])?;
    let name = name.strip_prefix([' ', '*']).unwrap_or(name);
    let name = if escaped { unescaped(name) } else { name.to_owned() };
    Some(((!name.is_empty()).then_some(name), sha256))
}

/// `SHA256 (NAME) = HASH`, as BSD and OpenSSL write it.
fn tagged(line: &str) -> Option<(Option<String>, String)> {
    let rest = ["SHA256", "SHA2-256"].iter().find_map(|tag| line.strip_prefix(tag))?;
    let (name, sha256) = rest.trim_start().strip_prefix('(')?.rsplit_once(')')?;
    Some((Some(name.to_owned()), hash(sha256.trim_start().strip_prefix('=')?.trim())?))
}

fn hash(text: &str) -> Option<String> {
    (text.len() == HEX && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

fn unescaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            other => out.extend(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_testing::Folder;

    fn sum(digit: &str) -> String {
        digit.repeat(HEX)
    }

    #[test]
    fn every_way_of_writing_a_hash_and_a_name_is_read() {
        let (a, upper) = (sum("a"), sum("A"));
        for (line, name) in [
            (format!("{a}  x.json"), Some("x.json")),
            (format!("{a} *x.json\r"), Some("x.json")),
            (format!("{a} x.json"), Some("x.json")),
            (format!("{upper}  sub/x y.json"), Some("sub/x y.json")),
            (format!("\\{a}  two\\nlines"), Some("two\nlines")),
            (format!("SHA256 (x (1).json) = {a}"), Some("x (1).json")),
            (format!("SHA2-256(x.json)= {a}"), Some("x.json")),
            (a.clone(), None),
        ] {
            assert_eq!(entry(&line), Some((name.map(str::to_owned), a.clone())), "{line}");
        }
        for line in ["", "# a remark", "-----BEGIN PGP SIGNED MESSAGE-----", "abc  x.json", &sum("g")] {
            assert_eq!(entry(line), None, "{line}");
        }
    }

    #[test]
    fn a_list_is_known_by_its_name() {
        for (name, known) in [
            ("SHA256SUMS", true),
            ("sha256sums.txt", true),
            ("results.sha256", true),
            ("results.json.sha256sum", true),
            (".sha256", false),
            ("MD5SUMS", false),
            ("sha256.json", false),
        ] {
            assert_eq!(is_list(name), known, "{name}");
        }
        assert_eq!(about_one("ä.SHA256"), Some("ä"));
        assert_eq!(about_one("aé"), None);
    }

    #[test]
    fn a_name_leads_to_a_file_below_the_list_or_nowhere() {
        let folder = Folder::new("hash-list");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("x.json", "{}");
        let own = folder.canonicalize().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        write(
            "SHA256SUMS",
            &format!(
                "{a}  ./x.json\n{a}  {own}/x.json\n{a}  ../x.json\n{a}  /etc/passwd\n{a}  gone.json\n{a}\n",
                a = sum("a")
            ),
        );
        let paths = |name: &str| -> Vec<PathBuf> {
            read(&folder.join(name), 1 << 20, &folder).into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(paths("SHA256SUMS"), ["x.json", "x.json", "gone.json"].map(PathBuf::from));
        write("x.json.sha256", &format!("{}  /home/of/somebody/x.json\n", sum("a")));
        assert_eq!(paths("x.json.sha256"), [PathBuf::from("x.json")]);
        write("x.json.sha256", &format!("{}\n", sum("a")));
        assert_eq!(paths("x.json.sha256"), [PathBuf::from("x.json")]);
    }
}
