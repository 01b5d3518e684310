//! Names that are safe in a path, an address and a shell.
//!
//! In:  any text.  Out: a slug of `[a-z0-9._-]`.
//! Not here: uniqueness (see `assemble`).

/// Longest slug. File systems allow 255 bytes. Room is left for suffixes and extensions.
const LONGEST: usize = 120;

/// Lower-case letters, digits, `.`, `_` and `-`. Every other sequence becomes one `-`.
///
/// Never empty, never starts with `.` or `-`, never holds `..`: no path climbs, no file hides, no option is faked.
pub fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    for c in text.chars().flat_map(char::to_lowercase) {
        let c = if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let last = out.chars().next_back();
        if (c == '-' && matches!(last, None | Some('-'))) || (c == '.' && matches!(last, None | Some('.' | '-'))) {
            continue;
        }
        if out.len() == LONGEST {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end_matches(['-', '.']).len());
    if out.is_empty() { "unnamed".to_owned() } else { out }
}

/// Lower-case letters, digits and single hyphens: an anchor that needs no escaping.
pub fn anchor_of(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        for c in part.chars() {
            if c.is_ascii_alphanumeric() || c == '_' {
                out.push(c.to_ascii_lowercase());
            } else if !out.ends_with('-') && !out.is_empty() {
                out.push('-');
            }
        }
    }
    let out = out.trim_end_matches('-');
    // An identifier of a page must not be empty and reads best when it starts with a letter.
    if out.starts_with(|c: char| c.is_ascii_alphabetic()) { out.to_owned() } else { format!("x-{out}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_harmless_ones() {
        for (name, safe) in [
            ("native", "native"),
            ("Qwen2.5-72B Instruct", "qwen2.5-72b-instruct"),
            ("../../etc/passwd", "etc-passwd"),
            ("..", "unnamed"),
            ("a/../b", "a-b"),
            ("<script>alert(1)</script>", "script-alert-1-script"),
            ("=1+1", "1-1"),
            (".hidden", "hidden"),
            ("-rf", "rf"),
            ("Größe", "gr-e"),
            ("CON\0\n", "con"),
            ("", "unnamed"),
        ] {
            assert_eq!(slug(name), safe, "{name:?}");
        }
        assert_eq!(slug(&"x".repeat(500)).len(), LONGEST);
    }

    #[test]
    fn a_slug_is_its_own_slug() {
        for name in ["a..b", "A--B", "..a.-", "x".repeat(400).as_str(), "İ"] {
            assert_eq!(slug(&slug(name)), slug(name), "{name:?}");
        }
    }

    #[test]
    fn anchors_are_plain_and_never_empty() {
        assert_eq!(anchor_of(&["Qwen 2.5/72B", "", "ttft_ms"]), "qwen-2-5-72b-ttft_ms");
        assert_eq!(anchor_of(&["72b"]), "x-72b");
        assert_eq!(anchor_of(&["<>"]), "x-");
    }
}
