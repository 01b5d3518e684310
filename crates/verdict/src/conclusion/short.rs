//! Long names of arms in sentences: what all of them share is left out, so that the sentence stays readable.
//!
//! In:  campaigns with their sentences.  Out: the same with shorter names. Tables keep the whole ones.
//! Not here: names that are read (see the crate `design`).

use crate::report::CampaignReport;
use sparkbench_model::Campaign;

/// Letters of a name from which on it is long.
const LONG: usize = 20;
/// Between the words of a name.
const SEPARATORS: [char; 6] = ['-', '_', '/', ' ', '.', ':'];

/// Shortens the names of arms in the answer and the headline.
pub(crate) fn give(campaign: &mut CampaignReport) {
    let names: Vec<&str> =
        campaign.environments.iter().map(String::as_str).filter(|name| *name != Campaign::UNLABELLED).collect();
    let mut short: Vec<(String, String)> = names
        .iter()
        .map(|name| (*name).to_owned())
        .zip(shortened(&names))
        .filter(|(name, short)| name != short)
        .collect();
    // A name may begin another one.
    short.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let texts = campaign.headline.iter_mut().map(|sentence| &mut sentence.text).chain(&mut campaign.answer);
    for text in texts {
        for (name, short) in &short {
            *text = text.replace(name, short);
        }
    }
}

/// Each name without the words at its ends that all of them share. Unchanged where that leaves nothing of one, or a number alone.
fn shortened(names: &[&str]) -> Vec<String> {
    let whole = || names.iter().map(|name| (*name).to_owned()).collect();
    let [first, rest @ ..] = names else { return Vec::new() };
    if rest.is_empty() || names.iter().all(|name| name.len() < LONG) {
        return whole();
    }
    let start = rest.iter().fold(first.len(), |start, name| start.min(common(first.chars(), name.chars())));
    let end = rest.iter().fold(first.len(), |end, name| end.min(common(first.chars().rev(), name.chars().rev())));
    // Up to the last separator of what is shared at the start, and from the first one of what is shared at the end.
    let start = first.get(..start).and_then(|shared| shared.rfind(SEPARATORS)).map_or(0, |at| at + 1);
    let tail = first.get(first.len() - end..).unwrap_or_default();
    let end = tail.find(SEPARATORS).map_or(0, |at| tail.len() - at);
    for (start, end) in [(start, end), (0, end), (start, 0)] {
        let middle = |name: &&str| name.get(start..name.len().checked_sub(end)?).map(str::to_owned);
        let short: Option<Vec<String>> = names.iter().map(middle).collect();
        let says = |short: &String| short.chars().any(char::is_alphabetic);
        if let Some(short) = short.filter(|short| short.iter().all(says)) {
            return short;
        }
    }
    whole()
}

/// Bytes of the letters that two names share from the start of each.
fn common(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(letter, _)| letter.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_names_share_at_their_ends_is_left_out_where_a_word_remains() {
        for (names, short) in [
            (
                &["DeepSeek-R1-Distill-Qwen-7B-Q4_K_M.gguf", "microsoft_Phi-4-mini-instruct-Q4_K_M.gguf"][..],
                &["DeepSeek-R1-Distill-Qwen-7B", "microsoft_Phi-4-mini-instruct"][..],
            ),
            (&["results-2026-long-before", "results-2026-long-after"], &["before", "after"]),
            (&["before", "after"], &["before", "after"]),
            (&["a-rather-long-name-8", "a-rather-long-name-16"], &["a-rather-long-name-8", "a-rather-long-name-16"]),
            (&["qwen-very-long-name-tp2", "qwen-very-long-name"], &["name-tp2", "name"]),
            (&["only-one-name-of-some-length"], &["only-one-name-of-some-length"]),
        ] {
            assert_eq!(shortened(names), short);
        }
    }
}
