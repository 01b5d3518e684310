//! The verdict of a row, which decides its colour and its shape.
//!
//! In:  the word of the contract.  Out: [`VerdictMark`].

use serde::{Deserialize, Serialize};

/// Kinds of verdict, as `verdict` names them in `analysis.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictMark {
    /// Established and relevant, the worse way.
    Slower,
    /// Established and relevant, the better way.
    Faster,
    /// Established, upwards, where neither way is better.
    More,
    /// Established, downwards, where neither way is better.
    Less,
    /// Shown to lie within the margin.
    Equivalent,
    /// Neither shown.
    #[default]
    Inconclusive,
    /// The arms differ in more than the environment: words only, no mark.
    NotComparable,
}

impl VerdictMark {
    /// From the contract's word. `None` for a word we do not know.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "slower" => Self::Slower,
            "faster" => Self::Faster,
            "more" => Self::More,
            "less" => Self::Less,
            "equivalent" => Self::Equivalent,
            "inconclusive" => Self::Inconclusive,
            "not_comparable" => Self::NotComparable,
            _ => return None,
        })
    }
}
