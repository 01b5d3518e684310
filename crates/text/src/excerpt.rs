//! The beginning of a text that is too long to be quoted.

/// The first `most` characters, and a sign where there are more.
pub fn excerpt(text: impl IntoIterator<Item = char>, most: usize) -> String {
    let mut letters = text.into_iter();
    let mut shown: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_whole_and_one_that_does_not_ends_in_an_ellipsis() {
        assert_eq!(excerpt("äbc".chars(), 3), "äbc");
        assert_eq!(excerpt("äbcd".chars(), 3), "äbc…");
    }
}
