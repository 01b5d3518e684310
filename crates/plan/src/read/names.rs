//! Lawful labels, and names of campaigns, for names that others chose.
//!
//! In:  any text, e.g. the model that a server lists, or the name of a folder.  Out: a label or a name that a suite may have.
//! Not here: slugs (see `ingest::slug`), labels that people type into a suite (see `parts`), which are refused and never changed.
//!
//! A slug drops what it cannot hold, and a label is short. Where something is lost, the first digits of a hash of the whole name are
//! added, so that names which differ only there keep labels of their own.

use super::NAME_MAX;
use super::parts::LABEL_MAX;
use crate::suite::NO_MODEL;
use sparkbench_archive::hash;
use sparkbench_text::slug::slug;

/// Digits of the hash: 32 bits. Among a thousand names that share a slug, two get one label with a chance of 1 in 8,600.
const HASH_DIGITS: usize = 8;

/// The label of a model, an environment or a workload of any name. It is its own slug and at most 60 characters long.
///
/// `/` and `:` become `-`, and capitals become small letters: that is how people write such names as a label. Any other change adds
/// the hash. So two names share a label only where they differ in nothing but these.
pub fn label_of(name: &str) -> String {
    let slug = slug(name);
    // Not `to_lowercase`: the Kelvin sign would become a plain `k`, and is another letter.
    let expected = name.trim_matches('/').replace(['/', ':'], "-").to_ascii_lowercase();
    if slug == expected && slug.len() <= LABEL_MAX && slug != NO_MODEL { slug } else { hashed(&slug, name, LABEL_MAX) }
}

/// The name of a campaign whose folder may be called anything. It holds a letter or a digit and at most 80 characters.
///
/// A name that a suite may have stays as it is.
pub fn campaign_name_of(name: &str) -> String {
    if name.chars().count() <= NAME_MAX && name.chars().any(|c| c.is_ascii_alphanumeric()) {
        name.to_owned()
    } else {
        hashed(&slug(name), name, NAME_MAX)
    }
}

/// `qwen-7b-1f3a9c02`: a slug that is cut where it is too long, and the first digits of the hash of the whole name.
fn hashed(slug: &str, name: &str, longest: usize) -> String {
    // Slugs are ASCII: every byte is a character.
    let cut = slug.get(..longest - HASH_DIGITS - 1).unwrap_or(slug).trim_end_matches(['-', '.', '_']);
    let digits = hash(name.as_bytes());
    format!("{cut}-{}", digits.get(..HASH_DIGITS).unwrap_or(&digits))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Names as servers list them, and worse.
    fn odd_names() -> Vec<String> {
        let cache = "/models/hub/models--nvidia--Llama-3_3-Nemotron-Super-49B-v1_5-NVFP4/snapshots/";
        let long = |end: &str| format!("{cache}{end}");
        let mut names: Vec<String> = [
            "",
            " ",
            "/",
            "///",
            ".",
            "..",
            "-",
            "--",
            "none",
            "None",
            "unnamed",
            "模型",
            "モデル",
            "a b",
            "a  b",
            "a\nb",
            "a\tb",
            "aé",
            "aè",
            "a+b",
            "a@b",
            "a//b",
            "k",
            "\u{212a}",
            "<script>",
            "a\0",
            "../a",
        ]
        .map(str::to_owned)
        .to_vec();
        names.extend([
            long("0123456789abcdef0123456789abcdef01234567"),
            long("0123456789abcdef0123456789abcdef01234568"),
            "x".repeat(60),
            "x".repeat(61),
            "x".repeat(4_000),
            "x".repeat(4_001),
            "é".repeat(4_000),
            format!("{}-{}", "x".repeat(50), "y".repeat(50)),
        ]);
        names
    }

    #[test]
    fn the_label_of_any_name_is_lawful_and_no_two_names_share_one() {
        let mut seen = BTreeSet::new();
        for name in odd_names() {
            let label = label_of(&name);
            assert_eq!(slug(&label), label, "{name:.80?}");
            assert!((1..=LABEL_MAX).contains(&label.len()) && label != NO_MODEL, "{name:.80?}: {label}");
            assert_eq!(label, label_of(&name));
            assert!(seen.insert(label.clone()), "{name:.80?} shares the label {label}");
        }
    }

    #[test]
    fn usual_names_get_the_label_that_people_would_write() {
        for (name, label) in [
            ("openai/gpt-oss-120b", "openai-gpt-oss-120b"),
            ("Qwen/Qwen2.5-7B-Instruct", "qwen-qwen2.5-7b-instruct"),
            ("llama3:8b", "llama3-8b"),
            ("/models/qwen/", "models-qwen"),
            ("mock", "mock"),
        ] {
            assert_eq!(label_of(name), label);
        }
        assert_eq!(label_of(&"x".repeat(60)), "x".repeat(60));
        assert!(label_of("///").starts_with("unnamed-"), "{}", label_of("///"));
    }

    #[test]
    fn a_folder_of_any_name_gives_a_campaign_a_name() {
        for name in ["kept", "Größe 7", &"x".repeat(80)] {
            assert_eq!(campaign_name_of(name), name);
        }
        let mut seen = BTreeSet::new();
        for name in ["日本語", "中文", "---", "é", &"x".repeat(81), &"x".repeat(82), &"ü".repeat(255)] {
            let made = campaign_name_of(name);
            assert!(made.chars().count() <= NAME_MAX && made.bytes().any(|b| b.is_ascii_alphanumeric()), "{made}");
            assert!(seen.insert(made), "{name}");
        }
    }
}
