//! Files that are not what was recorded of them, as pages show them.
//!
//! In:  what the analysis found.  Out: [`AlteredFiles`] for the box of a page. Hashes in it are cut short: whole ones are wider than a phone, and
//! stand on the page of data.
//! Not here: finding them (see `archive`).

use super::labels::{self, Badge, counted};
use sparkbench_model::Altered;
use sparkbench_verdict::report::Severity;

/// Files that a box names. The page of data has all.
const MOST: usize = 12;
/// Digits of a SHA-256.
const HASH: usize = 64;
/// Digits of it that a box shows.
const SHORT: usize = 12;

/// A box at the top of a page.
pub(super) struct AlteredFiles {
    /// How many there are.
    pub line: String,
    /// Those that are errors first.
    pub files: Vec<AlteredFile>,
    /// Files that the box does not name.
    pub more: usize,
}

/// One file.
pub(super) struct AlteredFile {
    pub badge: Badge,
    /// Its sentence without the end, in pieces.
    pub sentence: Vec<Piece>,
    pub remedy: String,
}

/// A piece of a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub text: String,
    /// The whole hash, where the text is the beginning of one.
    pub hash: Option<String>,
}

/// The box for these files. None without any.
pub(super) fn files<'a>(found: impl Iterator<Item = &'a Altered>) -> Option<AlteredFiles> {
    let mut found: Vec<&Altered> = found.collect();
    found.sort_by_key(|altered| !altered.is_error);
    let file = |altered: &&Altered| AlteredFile {
        badge: labels::severity(if altered.is_error { Severity::Error } else { Severity::Warning }),
        sentence: pieces(altered),
        remedy: altered.remedy.clone(),
    };
    (!found.is_empty()).then(|| AlteredFiles {
        line: format!("{} not what was recorded", counted(found.len(), "file is", "files are")),
        files: found.iter().take(MOST).map(file).collect(),
        more: found.len().saturating_sub(MOST),
    })
}

/// What became of a file. Its name is never cut.
fn pieces(altered: &Altered) -> Vec<Piece> {
    let sentence = altered.sentence();
    // Between its quotes.
    let (name, became) = sentence.split_at_checked(altered.path.len() + 2).unwrap_or((sentence.as_str(), ""));
    let mut pieces = Vec::new();
    let mut text = name.to_owned();
    for part in became.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
        match digits.get(..SHORT).filter(|_| digits.len() == HASH) {
            Some(short) => {
                pieces.push(Piece { text: std::mem::take(&mut text), hash: None });
                pieces.push(Piece { text: short.to_owned(), hash: Some(digits.to_owned()) });
                text.push_str(part.get(HASH..).unwrap_or_default());
            }
            None => text.push_str(part),
        }
    }
    pieces.push(Piece { text, hash: None });
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Alteration;

    #[test]
    fn hashes_are_cut_short_and_names_are_not() {
        let (recorded, found, name) = ("0a".repeat(32), "f9".repeat(32), "cd".repeat(32));
        let altered = Altered {
            path: format!("blobs/{name}"),
            kind: Alteration::Changed,
            what: format!("expected SHA-256 {recorded}, found {found}"),
            record: "run.json".to_owned(),
            remedy: "restore it".to_owned(),
            is_error: true,
            within: String::new(),
        };
        let shown: Vec<(String, Option<String>)> =
            pieces(&altered).into_iter().map(|piece| (piece.text, piece.hash)).collect();
        assert_eq!(
            shown,
            [
                (format!("'blobs/{name}' was changed after it was recorded (expected SHA-256 "), None),
                ("0a0a0a0a0a0a".to_owned(), Some(recorded)),
                (", found ".to_owned(), None),
                ("f9f9f9f9f9f9".to_owned(), Some(found)),
                (")".to_owned(), None),
            ]
        );
        let missing = Altered { kind: Alteration::Missing, what: "'SHA256SUMS' lists it".to_owned(), ..altered };
        assert_eq!(pieces(&missing).len(), 1);
    }
}
