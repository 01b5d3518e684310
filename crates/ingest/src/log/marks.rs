//! Marks of several parts of one kind of text, joined at compile time.
#![expect(clippy::indexing_slicing, reason = "constants alone are made here: what is out of bounds does not compile")]

/// Number of all marks.
pub(super) const fn count(parts: &[&[&'static str]]) -> usize {
    let (mut part, mut all) = (0, 0);
    while part < parts.len() {
        all += parts[part].len();
        part += 1;
    }
    all
}

/// All marks, in their order. `N` is their [`count`].
pub(super) const fn joined<const N: usize>(parts: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut place = 0;
        while place < parts[part].len() {
            all[at] = parts[part][place];
            at += 1;
            place += 1;
        }
        part += 1;
    }
    all
}
