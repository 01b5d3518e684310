//! The known word that a mistyped one was meant to be.
//!
//! In:  a word and the known ones.  Out: the nearest, where one is near enough to be worth a guess.
//! Not here: which words there are.
//!
//! Source: optimal string alignment, the restricted form of Damerau, *Commun. ACM* 7 (1964): a letter too many, too few, wrong, or two
//! that changed places count one each.

/// `did you mean "image"? `, with a blank behind it to go before other words. Empty where nothing is near.
pub fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("did you mean \"{near}\"? "))
}

/// The nearest known word, the first of equals. At most one slip for each three letters, at least one. Capitals, `-`, `_` and `.` do
/// not count, because people mix them up.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = plain(word);
    let allowed = (typed.len() / 3).max(1);
    known
        .map(|candidate| (distance(&typed, &plain(candidate)), candidate))
        .filter(|(far, _)| *far <= allowed)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

fn plain(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).filter(|c| !matches!(c, '-' | '_' | '.' | ' ')).collect()
}

/// Slips between two words. Time and room `O(a × b)`: words are short.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let same = last[j] + usize::from(letter != other);
            let mut least = same.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let known = ["image", "flags", "env", "allow_moving_tag", "driver_libraries"];
        for (typed, meant) in [
            ("imgae", Some("image")),
            ("Image", Some("image")),
            ("allow-moving-tags", Some("allow_moving_tag")),
            ("driverlibs", None),
            ("envs", Some("env")),
            ("zebra", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known.into_iter()), meant, "{typed:?}");
        }
    }

    #[test]
    fn distances_worked_by_hand() {
        let chars = |word: &str| word.chars().collect::<Vec<_>>();
        for (a, b, far) in [("", "", 0), ("", "abc", 3), ("ab", "ba", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)] {
            assert_eq!(distance(&chars(a), &chars(b)), far, "{a} {b}");
        }
    }
}
