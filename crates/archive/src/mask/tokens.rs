//! Secrets that show by their own shape: tokens with a known beginning, JSON web tokens, bearers, addresses with a password, private keys.
//!
//! In:  bytes and a place in them.  Out: [`Hit`], the part to replace.
//! Not here: names before values, values known beforehand.
//!
//! Shapes are those of the issuers' documentation: Hugging Face, NVIDIA NGC, GitHub, GitLab, OpenAI, Anthropic, AWS, Google, Slack, npm, PyPI,
//! Docker. RFC 7519 for JSON web tokens, RFC 3986 section 3.2.1 for user information, RFC 7468 for private keys.

use super::drawn::has_word;
use super::hit::Hit;
use super::lexical::{Class, find, word_start};
use super::variables;

/// A beginning, what follows it, how many of that at least, and at most where the length is fixed. Whether a digit must be among them.
struct Shape(&'static str, Class, usize, Option<usize>, bool);

const SHAPES: &[Shape] = &[
    Shape("hf_", Class::Alnum, 20, None, false),
    Shape("api_org_", Class::Alnum, 20, None, false),
    Shape("nvapi-", Class::Dashed, 20, None, false),
    Shape("sk-", Class::Dashed, 20, None, true),
    Shape("ghp_", Class::Alnum, 30, None, false),
    Shape("gho_", Class::Alnum, 30, None, false),
    Shape("ghu_", Class::Alnum, 30, None, false),
    Shape("ghs_", Class::Alnum, 30, None, false),
    Shape("ghr_", Class::Alnum, 30, None, false),
    Shape("github_pat_", Class::Dashed, 20, None, false),
    Shape("glpat-", Class::Dashed, 20, None, false),
    Shape("AKIA", Class::Capital, 16, Some(16), false),
    Shape("ASIA", Class::Capital, 16, Some(16), false),
    Shape("AIza", Class::Dashed, 35, Some(35), false),
    Shape("xoxb-", Class::Dashed, 20, None, true),
    Shape("xoxp-", Class::Dashed, 20, None, true),
    Shape("npm_", Class::Alnum, 36, Some(36), false),
    Shape("pypi-", Class::Dashed, 50, None, true),
    Shape("dckr_pat_", Class::Dashed, 20, None, false),
];

/// First bytes of what begins a word. `-` and `:` begin anywhere.
pub(super) const FIRST: &[u8] = b"hansgAxpdeEBbtkTKSP";

/// Longest user information looked at in an address.
const USERINFO: usize = 512;
/// Longest private key: 16,384 bits take 13 KiB.
const PEM: usize = 64 << 10;

/// A secret that begins (or whose introduction begins) at `at`.
pub(super) fn at(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let here = text.get(at..)?;
    match here.first()? {
        b'-' => private_key(text, at),
        b':' => address(text, at),
        _ if !word_start(text, at) => None,
        b'e' => web_token(text, at),
        b'b' | b'B' => bearer(text, at),
        _ => {
            let shape = SHAPES.iter().find_map(|shape| shaped(text, at, shape));
            let spoken = shape.or_else(|| spoken(text, at)).or_else(|| of_netrc(text, at));
            spoken.or_else(|| variables::behind_word(text, at))
        }
    }
}

/// Hexadecimal digits behind a word for a secret and a blank: `token 0123...`. Without the word they may be the hash of a commit.
fn spoken(text: &[u8], at: usize) -> Option<Hit<'static>> {
    const WORDS: &[(&str, &str)] =
        &[("token", "token"), ("key", "key"), ("secret", "secret"), ("password", "password"), ("apikey", "key")];
    const LEAST: usize = 32;
    const BLANKS: usize = 4;
    let starts =
        |word: &str| text.get(at..at + word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    let (word, kind) = WORDS.iter().find(|(word, _)| starts(word))?;
    let gap = at + word.len();
    let blanks = text.get(gap..)?.iter().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    // Before the end is looked for: a run of many such words would be read once a word.
    (blanks > 0).then_some(())?;
    let end = Class::Alnum.end(text, gap + blanks);
    let run = text.get(gap + blanks..end)?;
    let drawn = run.len() >= LEAST && run.iter().all(u8::is_ascii_hexdigit) && run.iter().any(u8::is_ascii_digit);
    (drawn && !is_of_models(text, at)).then(|| Hit::new(gap + blanks, end, kind, Class::Alnum))
}

/// Whether the word before makes a `key` or `token` at `at` one of models or of data: `cache key 0123...` is a hash.
pub(super) fn is_of_models(text: &[u8], at: usize) -> bool {
    const BACK: usize = 64;
    let before = text.get(at.saturating_sub(BACK)..at).unwrap_or_default();
    let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let before = before.get(..before.len() - blanks).unwrap_or_default();
    let letters = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    blanks > 0 && before.get(before.len() - letters..).is_some_and(super::names::is_of_models)
}

/// `machine h login bob password x`, on one line or several, as `.netrc` has it.
fn of_netrc(text: &[u8], at: usize) -> Option<Hit<'static>> {
    const WORD: &[u8] = b"password";
    const BACK: usize = 256;
    const LEAST: usize = 4;
    text.get(at..)?.starts_with(WORD).then_some(())?;
    let gap = at + WORD.len();
    let from = gap + text.get(gap..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (from > gap).then_some(())?;
    let end = Class::Blank.end(text, from);
    let value = text.get(from..end)?;
    let before = text.get(at.saturating_sub(BACK)..at)?;
    let mut words = before.split(u8::is_ascii_whitespace).rev().filter(|word| !word.is_empty());
    // A user stands between.
    let login = words.nth(1) == Some(b"login".as_slice());
    let machine = words.next() == Some(b"default".as_slice()) || words.next() == Some(b"machine".as_slice());
    let secret = login && machine && value.len() >= LEAST && !super::names::is_void(value);
    secret.then(|| Hit::new(from, end, "password", Class::Blank))
}

fn shaped(text: &[u8], at: usize, Shape(start, class, least, most, digit): &Shape) -> Option<Hit<'static>> {
    // The first byte alone turns nearly all away.
    if text.get(at) != start.as_bytes().first() || !text.get(at..)?.starts_with(start.as_bytes()) {
        return None;
    }
    /// A digit stands among so many, or there is none: `sk-sk-sk-...` would be read to its end from each of its parts.
    const JUDGED: usize = 512;
    let from = at + start.len();
    let near = text.get(from..class.end(text.get(..text.len().min(from + JUDGED))?, from))?;
    if near.len() < *least || (*digit && (!near.iter().any(u8::is_ascii_digit) || is_of_a_model(near))) {
        return None;
    }
    let end = class.end(text, from);
    most.is_none_or(|most| end - from <= most).then(|| Hit::new(at, end, "token", *class))
}

/// Whether a run is words and numbers, as in `sk-hynix-1b-instruct-2024-05`, and no part of it is long enough for a token.
fn is_of_a_model(run: &[u8]) -> bool {
    const TOKEN: usize = 16;
    has_word(run) && run.split(|byte| *byte == b'-').all(|part| part.len() < TOKEN)
}

/// First letters of a JSON object in base 64.
const OBJECT: &[u8] = b"eyJ";

/// Header, claims and signature in base 64, the first two being JSON objects.
fn web_token(text: &[u8], at: usize) -> Option<Hit<'static>> {
    const LEAST: [usize; 3] = [10, 10, 5];
    if !text.get(at..)?.starts_with(OBJECT) || !is_first(text, at) {
        return None;
    }
    let mut end = at;
    for (index, least) in LEAST.into_iter().enumerate() {
        if index > 0 {
            (text.get(end) == Some(&b'.')).then_some(())?;
            end += 1;
        }
        let from = end;
        end = Class::Dashed.end(text, from);
        (end - from >= least).then_some(())?;
    }
    Some(Hit::new(at, end, "token", Class::Dashed))
}

/// Whether no other header begins before this one in the same run of letters. Both end together, so what follows the first one was no token.
/// Without this a run of many beginnings would be read to its end from each of them.
fn is_first(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let run = before.iter().enumerate().rev().take_while(|(_, byte)| Class::Dashed.has(**byte));
    let begins = |start: usize| text.get(start..).is_some_and(|rest| rest.starts_with(OBJECT));
    !run.map(|(start, _)| start).any(|start| begins(start) && word_start(text, start))
}

/// `Bearer x`, where `x` looks like no word.
fn bearer(text: &[u8], at: usize) -> Option<Hit<'static>> {
    const WORD: &[u8] = b"bearer";
    const LEAST: usize = 8;
    const LONG: usize = 20;
    text.get(at..at + WORD.len())?.eq_ignore_ascii_case(WORD).then_some(())?;
    let gap = at + WORD.len();
    let from = gap + text.get(gap..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    (from > gap).then_some(())?;
    let end = Class::Bearer.end(text, from);
    let run = text.get(from..end)?;
    let secret = run.len() >= LEAST && (run.len() >= LONG || run.iter().any(u8::is_ascii_digit));
    secret.then(|| Hit::new(from, end, "token", Class::Bearer))
}

/// `//user:password@`, or a long user name with digits, which is a token.
fn address(text: &[u8], at: usize) -> Option<Hit<'static>> {
    const MARK: &[u8] = b"://";
    const TOKEN: usize = 16;
    text.get(at..)?.starts_with(MARK).then_some(())?;
    let from = at + MARK.len();
    let rest = text.get(from..text.len().min(from + USERINFO))?;
    let end =
        rest.iter().position(|byte| byte.is_ascii_whitespace() || b"/\"'`<>\\\0".contains(byte)).unwrap_or(rest.len());
    let user = rest.get(..rest.get(..end)?.iter().rposition(|byte| *byte == b'@')?)?;
    let secret = match user.iter().position(|byte| *byte == b':') {
        Some(colon) => colon + 1 < user.len() && !super::names::is_void(user.get(colon + 1..)?),
        None => user.len() >= TOKEN && user.iter().any(u8::is_ascii_digit),
    };
    secret.then(|| Hit::closed(from, from + user.len(), "url"))
}

/// From the first dash of `BEGIN` to the last dash of `END`. A cut one to the end of what can belong to it.
fn private_key(text: &[u8], at: usize) -> Option<Hit<'static>> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const KEY: &[u8] = b"PRIVATE KEY-----";
    const END: &[u8] = b"-----END ";
    const TITLE: usize = 24;
    let here = text.get(at..)?;
    here.starts_with(BEGIN).then_some(())?;
    let title = here.get(BEGIN.len()..)?;
    let key = find(title.get(..title.len().min(TITLE + KEY.len()))?, KEY)?;
    let body = at + BEGIN.len() + key + KEY.len();
    let rest = text.get(body..text.len().min(body + PEM))?;
    // The next key has an end of its own, and every byte is read for one key only.
    let rest = rest.get(..find(rest, BEGIN).unwrap_or(rest.len()))?;
    if let Some(end) = find(rest, END)
        && let Some(key) = find(rest.get(end..rest.len().min(end + END.len() + TITLE + KEY.len()))?, KEY)
    {
        return Some(Hit::closed(at, body + end + key + KEY.len(), "key"));
    }
    Some(Hit::new(at, Class::Pem.end(text, body), "key", Class::Pem))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads a run from each of its beginnings takes a minute for 8 MiB.
    #[test]
    fn a_run_of_many_beginnings_is_read_from_the_first_one_alone() {
        let firsts = |text: &[u8]| {
            let begins = |at: &usize| text.get(*at..).is_some_and(|rest| rest.starts_with(OBJECT));
            (0..text.len()).filter(begins).filter(|at| word_start(text, *at) && is_first(text, *at)).count()
        };
        assert_eq!(firsts(&b"-eyJ".repeat(10_000)), 1);
        let part = [&b"-eyJ".repeat(1_000)[..], b".", &b"a".repeat(60_000), b"\n"].concat();
        assert_eq!(firsts(&part), 1);
        assert_eq!(firsts(&part.repeat(20)), 20);
        let text = "-eyJ".repeat(2 << 20);
        assert!((0..text.len()).all(|at| web_token(text.as_bytes(), at).is_none()));
    }

    #[test]
    fn a_web_token_is_found_behind_other_letters_of_its_run() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
        for before in ["", "x-", "id_", "-eyJ-", "\\n", "\x1b[1m", "aeyJ-"] {
            let text = format!("{before}{token} end");
            let hit = (0..text.len())
                .find_map(|at| if word_start(text.as_bytes(), at) { super::at(text.as_bytes(), at) } else { None });
            let (start, end) = hit.map(|hit| (hit.start, hit.end)).unwrap();
            assert_eq!(end, text.len() - 4, "{before}");
            assert!(start <= before.len(), "{before}");
        }
        // A header of any length.
        let long = format!("eyJ{}.eyJhbGciOiJIUzI1NiJ9.abcdef", "a".repeat(5_000));
        assert_eq!(web_token(long.as_bytes(), 0).map(|hit| hit.end), Some(long.len()));
    }
}
