//! Passwords behind short options of programs that take one there: `curl -u ann:x`, `sshpass -p x`, `redis-cli -a x`, `mysql -u ann -px`.
//!
//! In:  bytes, the place of a dash.  Out: [`Hit`].
//! Not here: options with a name that speaks for itself, such as `--password` (see `option`).
//!
//! `-p` is a port and `-u` a user with most programs. So the program must stand before the option, in the same command.
//!
//! Sources: the manual pages of curl, sshpass, redis-cli and mysql.

use std::ops::Range;

use super::hit::{Hit, tag};
use super::lexical::{closing, in_name};
use super::names;
use super::option::between;

/// An option with a password.
struct Login {
    programs: &'static [&'static str],
    /// Behind one dash.
    short: &'static [u8],
    /// Behind two dashes.
    long: &'static [&'static str],
    how: How,
}

/// Where the password stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Behind the colon of `user:password`.
    Colon,
    /// It is the value. The program stands just before the option: what follows is another program with options of its own.
    Next,
    /// It is the value, anywhere behind the program.
    Value,
    /// Right behind the letter, where the command names a user too. Without one, the word may be prose.
    Joined,
}

const LOGINS: &[Login] = &[
    Login { programs: &["curl"], short: b"uU", long: &["user", "proxy-user"], how: How::Colon },
    Login { programs: &["sshpass"], short: b"p", long: &[], how: How::Next },
    Login { programs: &["redis-cli"], short: b"a", long: &[], how: How::Value },
    Login {
        programs: &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mariadb-admin"],
        short: b"p",
        long: &[],
        how: How::Joined,
    },
];

/// Flags of curl without a value, which may stand before `u` behind the same dash.
const FLAGS: &[u8] = b"sSfkLvigjnNO0123456#";
/// Longest part of a command that is looked back at.
const COMMAND: usize = 1 << 10;

/// The password behind an option. `at` is its first dash.
pub(super) fn password(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let before = text.get(..at)?;
    if before.last().is_some_and(|byte| in_name(*byte)) {
        return None;
    }
    LOGINS.iter().find_map(|login| {
        let from = at + login.option(text.get(at..)?)?;
        let range = login.password(text, at, from)?;
        login.is_of(before).then(|| Hit::closed(range.start, range.end, "password"))
    })
}

/// The arguments of a command without these passwords, and how many there were.
pub(super) fn masked(arguments: &[String]) -> (Vec<String>, usize) {
    let mut joined = arguments.join("\0");
    let found = found(&joined);
    for range in found.iter().rev() {
        joined.replace_range(range.clone(), &tag("password"));
    }
    let masked = if found.is_empty() { arguments.to_vec() } else { joined.split('\0').map(str::to_owned).collect() };
    (masked, found.len())
}

/// These passwords of a command.
pub(super) fn passwords(arguments: &[String]) -> Vec<String> {
    let joined = arguments.join("\0");
    found(&joined).into_iter().filter_map(|range| joined.get(range)).map(str::to_owned).collect()
}

/// Their places in arguments with a zero byte between.
fn found(joined: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (dash, _) in joined.match_indices('-') {
        // A password may have dashes.
        if found.last().is_none_or(|last| last.end <= dash)
            && let Some(hit) = password(joined.as_bytes(), dash)
        {
            found.push(hit.start..hit.end);
        }
    }
    found
}

impl Login {
    /// Length of its option where a text begins with it.
    fn option(&self, text: &[u8]) -> Option<usize> {
        let name = text.get(1..)?;
        if let Some(long) = name.strip_prefix(b"-") {
            let length = long.iter().take_while(|byte| in_name(**byte)).count();
            let known = self.long.iter().any(|option| Some(option.as_bytes()) == long.get(..length));
            return known.then_some(2 + length);
        }
        let flags =
            if self.how == How::Colon { name.iter().take_while(|byte| FLAGS.contains(byte)).count() } else { 0 };
        self.short.contains(name.get(flags)?).then_some(2 + flags)
    }

    /// Where the password stands behind the option, which begins at `at` and ends at `from`.
    fn password(&self, text: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
        let (gap, parts) = between(text, at, from)?;
        let joined = parts.iter().all(|byte| b"\"'".contains(byte));
        let next_line = parts.contains(&b'\n') && !parts.iter().any(|byte| b",\\-".contains(byte));
        if (self.how == How::Joined && !joined) || next_line {
            return None;
        }
        let start = from + gap;
        let quote = parts.last().copied().filter(|byte| b"\"'".contains(byte));
        let end = match quote {
            Some(quote) if !parts.ends_with(b"\\\"") => closing(text, start, quote),
            _ => {
                let word = word(text.get(start..)?);
                if self.how == How::Colon && word.iter().position(|byte| *byte == b':') == word.len().checked_sub(1) {
                    // `-u ann:'x'`
                    let open = start + word.len();
                    let quote = text.get(open).copied().filter(|byte| b"\"'".contains(byte))?;
                    let end = closing(text, open + 1, quote);
                    let secret = text.get(open + 1..end).filter(|_| text.get(end) == Some(&quote))?;
                    let variable = quote == b'"' && secret.starts_with(b"$");
                    // The quote of the whole command may close here.
                    let closes = secret.first().is_some_and(|first| b" ,:;)]}".contains(first));
                    let odd = variable || closes || names::is_void(secret);
                    return (!odd).then_some(open + 1..end);
                }
                start + word.len() - word.iter().rev().take_while(|byte| b";,)]}>".contains(byte)).count()
            }
        };
        let value = text.get(start..end)?;
        let user = match self.how {
            How::Colon => value.iter().position(|byte| *byte == b':')? + 1,
            _ => 0,
        };
        let secret = value.get(user..)?;
        let variable = secret.starts_with(b"$") && quote != Some(b'\'');
        let odd = value.starts_with(b"-") || value.get(..user)?.iter().any(u8::is_ascii_whitespace);
        (!odd && !variable && !names::is_void(secret)).then_some(start + user..end)
    }

    /// Whether its program stands before the option, in the same command.
    fn is_of(&self, before: &[u8]) -> bool {
        let before = before.get(before.len().saturating_sub(COMMAND)..).unwrap_or_default();
        // A line goes on behind a backslash, and a list behind a comma.
        let goes_on = |at: usize| {
            let line = before.get(..at).unwrap_or_default().trim_ascii_end();
            line.ends_with(b"\\") || line.ends_with(b",")
        };
        let mut ends = before.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let start = ends.find(|at| !goes_on(*at)).map_or(0, |at| at + 1);
        let command = last_command(before.get(start..).unwrap_or_default());
        let words = command.rsplit(|byte| byte.is_ascii_whitespace() || b"\"',=[]()`\\\0".contains(byte));
        let (mut names_user, mut flags_alone) = (false, true);
        for word in words.filter(|word| !word.is_empty()) {
            let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(word);
            let name = name.strip_suffix(b".exe").unwrap_or(name);
            if self.programs.iter().any(|program| program.as_bytes() == name) {
                return match self.how {
                    How::Colon | How::Value => true,
                    How::Next => flags_alone,
                    How::Joined => names_user,
                };
            }
            flags_alone &= word.starts_with(b"-");
            names_user |= word.starts_with(b"-u") || word.starts_with(b"--user");
        }
        false
    }
}

/// The word that a text begins with, as a shell reads it: a backslash makes the sign behind it a letter.
fn word(text: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let is_letter = |next: &u8| next.is_ascii_punctuation() && !b"\"'`\\".contains(next);
        match byte {
            // `\n` of JSON ends it.
            b'\\' if text.get(at + 1).is_some_and(is_letter) => at += 2,
            _ if byte.is_ascii_whitespace() || b"\"'`\\|\0".contains(byte) => break,
            _ => at += 1,
        }
    }
    text.get(..at).unwrap_or_default()
}

/// What stands behind the last `;`, `|`, `&` or `&&` of a line. Between quotes they are letters, unless a quote is left open.
fn last_command(line: &[u8]) -> &[u8] {
    let (mut start, mut plain, mut quote) = (0, 0, None);
    for (at, byte) in line.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        // An address has one of them between its fields, and `2>&1` in it.
        let ends = match byte {
            b';' | b'|' => true,
            b'&' => before == Some(&b'&') || (before == Some(&b' ') && line.get(at + 1) == Some(&b' ')),
            _ => false,
        };
        match quote {
            _ if ends => {
                plain = at + 1;
                if quote.is_none() {
                    start = at + 1;
                }
            }
            None if b"\"'".contains(byte) && before != Some(&b'\\') => quote = Some(*byte),
            Some(open) if open == *byte && before != Some(&b'\\') => quote = None,
            _ => {}
        }
    }
    let start = if quote.is_none() { start } else { plain };
    line.get(start..).unwrap_or_default()
}
