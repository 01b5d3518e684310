//! What every trap declares about itself, and how it is asked.
//!
//! In:  a [`Case`].  Out: [`Trap`], which each file of a trap implements, and [`Theme`].
//! Not here: the list of traps (see `trap`), what a check finds (see `finding`).

use super::finding::Finding;
use crate::case::Case;
use crate::report::Severity;

/// What a trap casts doubt on. Pages gather what a campaign does not show under these heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// Which model, settings and definitions the figures belong to.
    Labels,
    /// When the runs were made.
    Order,
    /// What the memory figures count.
    Memory,
    /// How many runs, requests and metrics there are.
    Counts,
    /// The state of the machine and of the load client.
    Machine,
}

impl Theme {
    /// A word or two for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Labels => "Labels",
            Self::Order => "Order",
            Self::Memory => "Memory figures",
            Self::Counts => "Counts",
            Self::Machine => "Machine",
        }
    }

    /// Summary of the findings under this head.
    pub const fn doubt(self) -> &'static str {
        match self {
            Self::Labels => "The model, its settings or the report may not be what the labels say.",
            Self::Order => "Time or chance, and not the environment, may have caused a difference.",
            Self::Memory => "The memory figures may not be those of the engine.",
            Self::Counts => "Runs, requests or metrics are missing, repeated or too few.",
            Self::Machine => "The machine or the load client was not in the same state for every run.",
        }
    }
}

/// One named way in which a benchmark lies.
pub trait Trap: Sync {
    /// Contract id, words joined by hyphens.
    fn id(&self) -> &'static str;
    /// `P1` to `P17`, where it is one of the plausibility rules.
    fn code(&self) -> Option<&'static str> {
        None
    }
    /// Name for people, a few words.
    fn title(&self) -> &'static str;
    /// How bad it is when it fires.
    fn severity(&self) -> Severity;
    /// The conclusions that it casts doubt on.
    fn theme(&self) -> Theme;
    /// Four paragraphs of Markdown, separated by empty lines: what it is, why it matters, how it is checked, how to avoid it. Thresholds
    /// come from the constants. The page heads them, so they need not say which is which.
    fn about(&self) -> String;
    /// The claim that falls when this trap fires, as a clause after "not supported:". Empty when none does.
    fn undermines(&self) -> &'static str {
        ""
    }
    /// Whether a difference in this metric keeps an open cause when the trap fires: something else than the environment may have made it.
    fn leaves_cause_open(&self, _metric: &str) -> bool {
        false
    }
    /// Whether the comparison of two arms says the same with both values, so that the trap itself need not forbid it.
    fn told_by_pair(&self) -> bool {
        false
    }
    /// Whether it fires for how few runs, requests or machines there are, whatever they show. Pages count such traps in one line, so that
    /// what is particular to these data comes first.
    fn is_general(&self) -> bool {
        false
    }
    /// Looks. At least one finding. "cannot look" is a finding too.
    fn check(&self, case: &Case<'_>) -> Vec<Finding>;
}
