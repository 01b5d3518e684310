//! Each of several things once, in order.
//!
//! In:  things in any order.  Out: a list without doubles.
//! Not here: things that are alike and not equal (see `across::shape`).

/// The things sorted, each once.
pub(crate) fn distinct<T: Ord>(things: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut things: Vec<T> = things.into_iter().collect();
    things.sort_unstable();
    things.dedup();
    things
}
