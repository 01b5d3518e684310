//! What a reader has to know of tokens that did not come as they seem.
//!
//! In:  how many answers have which [`Doubt`].  Out: notes.
//! Not here: which answers these are (see `engine::hidden`).

use crate::order::Doubt;

/// Share of answers from which on it is reported: the figures with fewer of them are those of the others, but for the outermost.
const SHARE: f64 = 0.01;

/// A note for each doubt that enough answers have.
pub(super) fn notes(doubts: &[u64; Doubt::ALL.len()], completed: u64) -> Vec<String> {
    let told = doubts
        .iter()
        .zip(Doubt::ALL)
        .filter(|(answers, _)| **answers > 0 && **answers as f64 >= SHARE * completed as f64);
    told.filter_map(|(answers, doubt)| Some(format!("in {answers} of {completed} answers {}", words(doubt)?))).collect()
}

fn words(doubt: Doubt) -> Option<&'static str> {
    Some(match doubt {
        Doubt::None => return None,
        Doubt::Unread => {
            "text came in fields that are not known, and nobody counted the tokens. Where it was generated, ttft_ms and ttfo_ms end too late"
        }
        Doubt::Bare => {
            "chunks came without anything in them, and the count of tokens does not tell whether they are tokens. Where they are, ttft_ms ends \
             too late, and tpot_ms and decode_tok_s are those of no token"
        }
        Doubt::Unsent => {
            "the server counts reasoning that it did not send. ttft_ms ends at the first piece that came, which is not the first token. \
             tpot_ms and decode_tok_s are those of the tokens that came"
        }
        Doubt::First => {
            "the first piece holds many tokens, by the count and by its text. ttft_ms ends when they were handed over. tpot_ms and \
             decode_tok_s are those of the tokens after it"
        }
        Doubt::Long => {
            "the first piece holds far more text than those after it, and nobody counted its tokens. ttft_ms ends when they were handed over, \
             and tpot_ms is too short where they are many"
        }
        Doubt::Unplaced => {
            "the server counts reasoning, and whether it is part of the text is not known. tpot_ms and decode_tok_s leave them out. ttft_ms ends \
             at the first piece that came"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_doubt_is_told_once_a_hundredth_of_the_answers_has_it() {
        let mut doubts = [0; Doubt::ALL.len()];
        (doubts[Doubt::None as usize], doubts[Doubt::Unsent as usize]) = (98, 2);
        doubts[Doubt::Long as usize] = 1;
        let notes = notes(&doubts, 101);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("in 2 of 101 answers the server counts reasoning"), "{notes:?}");
        assert!(Doubt::ALL.into_iter().all(|doubt| (doubt == Doubt::None) == words(doubt).is_none()));
    }
}
