//! Forest plot: one row per comparison, estimate and intervals against zero and a margin of sameness.

use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// A forest plot of overheads.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Forest {
    /// What is compared.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// What x is and which side is worse, for example `overhead, %; right is worse`.
    pub axis: String,
    /// Unit behind each number, for example `%`; empty for none.
    pub unit: String,
    /// Each with a scale of its own.
    pub panels: Vec<Panel>,
}

/// Rows that share one scale, for example all of one metric.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Panel {
    /// Heading above the rows, for example the metric.
    pub heading: String,
    /// In the order shown.
    pub rows: Vec<Comparison>,
}

/// One comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// For example the model, or the environment.
    pub label: String,
    /// Sub-heading, printed when it differs from the row above.
    pub group: Option<String>,
    /// Point estimate in the unit of the axis; absent: nothing is drawn but the words.
    pub estimate: Option<f64>,
    /// 95 % interval; absent with an estimate: drawn hollow.
    pub interval: Option<(f64, f64)>,
    /// 90 % interval, the one of the equivalence test.
    pub inner: Option<(f64, f64)>,
    /// Margin of sameness, drawn as a band of plus and minus this around zero.
    pub margin: Option<f64>,
    /// Verdict in a word or two, for example `same within 1 %`.
    pub verdict: String,
    /// Decides colour and shape.
    pub kind: Kind,
    /// Where the row leads.
    pub href: Option<String>,
}

/// Kinds of verdict, as `verdict` names them in `analysis.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
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

impl Kind {
    /// From the contract's word; `None` for a word we do not know.
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

impl Forest {
    /// Draws it; `id` is unique on the page.
    pub fn draw(&self, _id: &str) -> Figure {
        unimplemented!()
    }
}
