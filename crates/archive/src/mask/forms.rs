//! The forms in which a program may repeat a text: as it is, in small letters or capitals, escaped, percent-encoded, in base 64, in
//! hexadecimal digits, in UTF-16.
//!
//! In:  a text.  Out: [`Form`]s, bytes to search for.
//! Not here: what is a secret, what goes in its place.
//!
//! A text may also be encoded together with what stands around it (`user:password`, a whole body). In base 64 it then begins at one of three
//! places in a group, and its first and last digit depend on its neighbours. The digits between these are searched for.
//!
//! Sources: RFC 8259 section 7 for JSON, RFC 3986 section 2 for percent-encoding, RFC 4648 for base 64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::{KNOWN_ANYWHERE, KNOWN_LEAST};
use sparkbench_text::address;
use sparkbench_text::escape::base64;

/// Bytes to search for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub bytes: Vec<u8>,
    /// Only as a word of its own.
    pub whole: bool,
}

/// Every form of a text. Short ones count as words of their own alone.
pub(super) fn all(text: &str) -> Vec<Form> {
    let whole = text.len() < KNOWN_ANYWHERE;
    let mut forms: Vec<Form> = plain(text).into_iter().map(|form| Form { bytes: form.into_bytes(), whole }).collect();
    for written in plain(text) {
        let units = || written.encode_utf16();
        forms.push(Form { bytes: units().flat_map(u16::to_le_bytes).collect(), whole });
        forms.push(Form { bytes: units().flat_map(u16::to_be_bytes).collect(), whole });
    }
    // As a label or a variable is made of it. What is shorter may be a word then.
    if !whole {
        let cases = [text.to_ascii_lowercase(), text.to_ascii_uppercase()];
        forms.extend(cases.map(|form| Form { bytes: form.into_bytes(), whole }));
    }
    // What is shorter has too few digits of its own.
    if text.len() >= KNOWN_LEAST {
        let coded = based(text.as_bytes()).into_iter().chain(hexadecimal(text.as_bytes()));
        forms.extend(coded.map(|form| Form { bytes: form.into_bytes(), whole: false }));
    } else {
        forms.push(Form { bytes: base64(text.as_bytes()).into_bytes(), whole: true });
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Itself, and as it stands inside a text of JSON, of HTML, in an address, on one line.
fn plain(text: &str) -> Vec<String> {
    let json = escaped(text, false);
    let ascii = escaped(text, true);
    let mut forms = vec![
        json.replace('/', "\\/"),
        html(text, "&#39;"),
        html(text, "&#x27;"),
        percent(text, b"", true),
        percent(text, b"", false),
        percent(text, b"/", true),
        percent(text, b"/", false),
        percent(text, b"", true).replace("%20", "+"),
        text.split_whitespace().collect::<Vec<_>>().join(" "),
        // As an excerpt shows it that puts itself between quotes.
        text.replace('"', "'"),
        json,
        ascii,
        text.to_owned(),
    ];
    forms.sort();
    forms.dedup();
    forms
}

/// Inside a string of JSON. `ascii`: other letters as `\uXXXX` too, as Python writes them.
fn escaped(text: &str, ascii: bool) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !ascii {
        return inner.to_owned();
    }
    let mut out = String::with_capacity(inner.len());
    for letter in inner.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

fn html(text: &str, apostrophe: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', apostrophe)
}

/// With `%XX` for everything that RFC 3986 reserves, but for `kept`.
fn percent(text: &str, kept: &[u8], capitals: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else if capitals {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// `%XX` as the bytes they stand for. What is no such triple stays.
pub(super) fn from_percent(text: &str) -> String {
    String::from_utf8_lossy(&address::from_percent(text)).into_owned()
}

/// The bytes of a text in base 64, of either alphabet, with or without padding.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    STANDARD_NO_PAD.decode(digits).ok().filter(|bytes| !bytes.is_empty())
}

/// In base 64: whole, and what is certain of it at each of the three places in a group. In both alphabets.
fn based(bytes: &[u8]) -> Vec<String> {
    let mut forms = vec![base64(bytes)];
    for before in 0..3 {
        let coded = base64([&[0, 0][..before.min(2)], bytes].concat());
        // Digits that hold bits of this text alone.
        let (from, to) = ((8 * before).div_ceil(6), 8 * (before + bytes.len()) / 6);
        forms.extend(coded.get(from..to).map(str::to_owned));
    }
    let other: Vec<String> = forms.iter().map(|form| form.replace('+', "-").replace('/', "_")).collect();
    forms.extend(other);
    forms
}

fn hexadecimal(bytes: &[u8]) -> [String; 2] {
    let small: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [small.to_ascii_uppercase(), small]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, form: &str) -> bool {
        all(text).iter().any(|found| found.bytes == form.as_bytes())
    }

    #[test]
    fn a_text_is_known_in_every_form_that_programs_write() {
        for (text, form) in [
            ("plain-key-99", "plain-key-99"),
            ("quote\"and\\back", "quote\\\"and\\\\back"),
            ("a/b/c/d/e", "a\\/b\\/c\\/d\\/e"),
            ("käse-und-brot", "k\\u00e4se-und-brot"),
            ("a&b<c>d'e\"f", "a&amp;b&lt;c&gt;d&#39;e&quot;f"),
            ("a b/c+d", "a%20b%2Fc%2Bd"),
            ("a b/c+d", "a%20b%2fc%2bd"),
            ("a b/c+d", "a%20b/c%2Bd"),
            ("a b/c+d", "a+b%2Fc%2Bd"),
            ("two  blanks", "two blanks"),
            ("sesame-open", "c2VzYW1lLW9wZW4="),
            ("sesame", "736573616d65"),
            ("sesame", "736573616D65"),
            ("door", "ZG9vcg=="),
            ("Plain-Key-99", "plain-key-99"),
            ("Plain-Key-99", "PLAIN-KEY-99"),
        ] {
            assert!(has(text, form), "{form} of {text}");
        }
        assert!(!has("Plain-Key-9", "plain-key-9"), "it may be a word");
        assert!(all("sesame").iter().any(|form| form.bytes == b"s\0e\0s\0a\0m\0e\0"));
        assert!(all("sesame").iter().any(|form| form.bytes == b"\0s\0e\0s\0a\0m\0e"));
    }

    #[test]
    fn in_base_64_a_text_is_found_wherever_it_stands() {
        for before in 0..7 {
            for after in 0..4 {
                let coded = base64(format!("{}open-sesame{}", "?".repeat(before), "~".repeat(after)).as_bytes());
                let found = all("open-sesame").iter().any(|form| {
                    std::str::from_utf8(&form.bytes).is_ok_and(|form| !form.contains('-') && coded.contains(form))
                });
                assert!(found, "{before} before and {after} after: {coded}");
            }
        }
    }

    #[test]
    fn base_64_goes_there_and_back() {
        for (text, coded) in
            [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")]
        {
            assert_eq!(base64(text.as_bytes()), coded);
            assert_eq!(from_base64(coded).as_deref(), Some(text.as_bytes()));
            assert_eq!(from_base64(coded.trim_end_matches('=')).as_deref(), Some(text.as_bytes()));
        }
        assert_eq!(from_base64("no digits of it!"), None);
        assert_eq!(from_percent("p%40ss%2Fw%zz"), "p@ss/w%zz");
    }
}
