//! Sentences of a text, and which of them are above the aims of plain English.
//!
//! In:  prose as plain text, its paragraphs parted by empty lines.  Out: sentences, figures, faults.
//! Not here: taking the prose out of Markdown (see `tests/house/prose.rs`) or of a page (see `tests/analyse/words.rs`).

#![allow(dead_code, reason = "each test crate uses its own part")]

/// Words a sentence, the median: what a reader takes in without going back.
pub const MEDIAN: usize = 15;
/// Words a sentence, the 90th percentile.
pub const NINETIETH: usize = 25;
/// Words of the longest sentence.
pub const LONGEST: usize = 40;
/// Fewer words are a label and no sentence.
pub const WORDS_LEAST: usize = 4;
/// Of fewer sentences no percentile says anything.
pub const SENTENCES_LEAST: usize = 5;
/// Sentences that a fault of the whole text names: enough to begin with, and still read in a failed test.
pub const NAMED: usize = 5;

/// The sentences of a text whose paragraphs are parted by empty lines.
pub fn sentences(prose: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(letter) = prose[at..].chars().next() {
        let gap = gap(&prose[..at], &prose[at..]);
        if gap == 0 {
            at += letter.len_utf8();
        } else {
            parts.push(&prose[from..at]);
            at += gap;
            from = at;
        }
    }
    parts.push(&prose[from..]);
    let whole = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    parts.into_iter().map(whole).filter(|sentence| words(sentence) >= WORDS_LEAST).collect()
}

/// Bytes between two sentences, 0 within one: blanks behind a stop, an empty line, the mark of an item in a list.
fn gap(before: &str, here: &str) -> usize {
    let blank = here.len() - here.trim_start().len();
    if blank > 0 && before.ends_with(['.', '!', '?']) {
        return blank;
    }
    let Some(line) = here.strip_prefix('\n') else { return 0 };
    let last = here[..blank].rfind('\n').unwrap_or(0);
    if last > 0 {
        return last + 1;
    }
    if line.starts_with("- ") || line.starts_with("* ") {
        return "\n- ".len();
    }
    let behind = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if behind.len() < line.len() && behind.starts_with(". ") {
        return here.len() - behind.len() + ". ".len();
    }
    0
}

/// Words of a sentence.
pub fn words(sentence: &str) -> usize {
    sentence.split_whitespace().count()
}

/// What in a text is above the aims, each fault with the name of the text and a sentence.
pub fn faults(name: &str, prose: &str) -> Vec<String> {
    let mut all = sentences(prose);
    if all.len() < SENTENCES_LEAST {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for sentence in &all {
        if words(sentence) > LONGEST {
            faults.push(format!("{name}: {} words, at most {LONGEST}: {sentence}", words(sentence)));
        }
        if sentence.contains(';') {
            faults.push(format!("{name}: a semicolon where a sentence could end: {sentence}"));
        }
    }
    all.sort_by_key(|sentence| words(sentence));
    let length = |place: usize| words(&all[place]);
    let (below, above) = (length((all.len() - 1) / 2), length(all.len() / 2));
    let ninetieth = length(all.len() * 9 / 10 - 1);
    let longest = || {
        let named: Vec<&str> = all.iter().rev().take(NAMED).map(String::as_str).collect();
        named.join("\n    ")
    };
    if below + above > 2 * MEDIAN {
        let median = (below + above).div_ceil(2);
        faults.push(format!(
            "{name}: {median} words in the median sentence, at most {MEDIAN}. Longest:\n    {}",
            longest()
        ));
    }
    if ninetieth > NINETIETH {
        faults.push(format!(
            "{name}: {ninetieth} words in the 90th of 100 sentences, at most {NINETIETH}. Longest:\n    {}",
            longest()
        ));
    }
    faults
}
