//! Makes foreign text safe to show: nothing in it moves a cursor, hides a character or turns the direction of writing.

/// The text of these bytes: at most `most` bytes of it, and how many bytes were left out.
///
/// Bytes that are no text become U+FFFD. Control characters become the pictures that Unicode has for them, so that a terminal escape is
/// visible and harmless. Characters without a shape are written as their number.
pub(super) fn text(bytes: &[u8], most: usize) -> (String, u64) {
    let shown = bytes.get(..most).unwrap_or(bytes);
    // A character that the cut goes through would look like damage of the file.
    let whole = match std::str::from_utf8(shown) {
        Err(fault) if fault.error_len().is_none() && shown.len() < bytes.len() => &shown[..fault.valid_up_to()],
        _ => shown,
    };
    let mut out = String::with_capacity(whole.len());
    for c in String::from_utf8_lossy(whole).chars() {
        match c {
            '\t' => out.push(c),
            '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            '\u{7f}' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}' => out.push('\u{fffd}'),
            _ if is_shapeless(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            _ => out.push(c),
        }
    }
    (out, (bytes.len() - whole.len()) as u64)
}

/// Marks of direction, joiners, invisible letters and private characters.
const fn is_shapeless(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_or_a_reader_is_seen_and_does_nothing() {
        for (bytes, shown) in [
            (&b"\x1b[31mred\x07"[..], "␛[31mred␇"),
            (b"a\tb", "a\tb"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
            ("abc\u{202e}fed".as_bytes(), "abc⟨U+202E⟩fed"),
            (b"\x7f", "␡"),
        ] {
            assert_eq!(text(bytes, 100), (shown.to_owned(), 0));
        }
    }

    #[test]
    fn a_cut_goes_between_characters_and_is_counted() {
        assert_eq!(text("aé".as_bytes(), 2), ("a".to_owned(), 2));
        assert_eq!(text(b"abcdef", 4), ("abcd".to_owned(), 2));
    }
}
