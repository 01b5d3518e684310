//! Arms whose requests had other lengths.
//!
//! In:  input and output lengths.  Out: one finding for each candidate.
//! Not here: other settings (see `arms_differ`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use super::sides;
use crate::alike::{self, TOKENS_TOLERANCE_PCT};
use crate::case::Case;
use crate::report::Severity;

/// Lengths differ.
pub(super) struct TokenCountsDiffer;

impl Trap for TokenCountsDiffer {
    fn id(&self) -> &'static str {
        alike::TOKEN_COUNTS
    }
    fn title(&self) -> &'static str {
        "The arms were asked for different lengths"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "One side had more tokens to process than the other.\n\n\
             Every latency and every rate depends on how many tokens went in and came out. Generators ask for text of so many \
             tokens, and servers see more or fewer. The chat template, another tokenizer or early ends of answers cause this. One \
             side then simply had less to do.\n\n\
             The check compares the mean input and output length of each candidate with those of its baseline. It fires when they \
             are more than {TOKENS_TOLERANCE_PCT} % apart.\n\n\
             Send prompts as token ids, and fix the output length. Take the counts that the server reports."
        )
    }
    fn undermines(&self) -> &'static str {
        "that all arms did the same work"
    }
    fn told_by_pair(&self) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        sides::settings(
            case,
            self.id(),
            "lengths are not known on both sides",
            "send the same token ids to both sides and fix the output length",
        )
    }
}
