//! Names of headings, as GitHub gives them: the same `#fragment` leads to the same heading there and here.
//!
//! In:  the words of each heading of a page, in order.  Out: a name for each that no other has.
//! Not here: markup.
//!
//! The rule, from the source of GitHub's own table of contents: small letters, without any sign but letters, digits, `-` and `_`. Each
//! space becomes a `-`. A name that was given before gets `-1`, `-2` and so on.

use std::collections::BTreeSet;

/// Names that a page has given.
#[derive(Debug, Default)]
pub(super) struct Anchors(BTreeSet<String>);

impl Anchors {
    /// The name of the next heading.
    pub(super) fn next(&mut self, heading: &str) -> String {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let base: String = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let numbered = (1..).map(|k| format!("{base}-{k}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !self.0.contains(name));
        let name = free.unwrap_or(base);
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_github() {
        let mut anchors = Anchors::default();
        for (heading, name) in [
            ("Places in texts", "places-in-texts"),
            ("What is joined to what", "what-is-joined-to-what"),
            ("1. Put the results into two folders", "1-put-the-results-into-two-folders"),
            ("[models.LABEL]", "modelslabel"),
            ("nvidia-smi --query-gpu (nvidia-smi-csv)", "nvidia-smi---query-gpu-nvidia-smi-csv"),
            ("Metrics of one's own (metrics)", "metrics-of-ones-own-metrics"),
            ("Größe_2", "größe_2"),
            ("Next", "next"),
            ("Next", "next-1"),
            ("Next", "next-2"),
        ] {
            assert_eq!(anchors.next(heading), name);
        }
    }
}
