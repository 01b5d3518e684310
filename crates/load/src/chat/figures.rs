//! Figures of conversations in a summary: turns, TTFT by turn number, rates of the clients.
//!
//! In:  turns as they end.  Out: [`Figures`], serialisable.
//! Not here: figures over all requests (see `summary`), percentiles from raw samples.
//!
//! TTFT by turn shows the prefix cache at work: a first turn is prefilled whole, a later one ideally from its new words alone. Times here
//! count from the real send, even where a rate gave the turn a scheduled time. The wait of a client for its own earlier answer is no
//! property of the cache. Means and deviations are updated as turns end, so nothing grows with the length of a load.

use serde::{Deserialize, Serialize};

use super::log::Ended;
use crate::order::Phase;
use sparkbench_host::net::Ns;
use sparkbench_text::plural::counted;

/// Turns that have a line of their own. Later ones share the last.
pub(crate) const TURNS_LISTED: usize = 32;

/// Mean and spread of values that are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningSpread {
    /// Values.
    pub n: u64,
    /// Absent without a value.
    pub mean: Option<f64>,
    /// Standard deviation, absent with fewer than two.
    pub sd: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    #[serde(skip)]
    squares: f64,
}

impl RunningSpread {
    /// Adds one (Welford).
    pub fn add(&mut self, value: f64) {
        let before = self.mean.unwrap_or_default();
        self.n += 1;
        let mean = before + (value - before) / self.n as f64;
        self.squares += (value - before) * (value - mean);
        self.mean = Some(mean);
        self.sd = (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt());
        self.min = Some(self.min.map_or(value, |least| least.min(value)));
        self.max = Some(self.max.map_or(value, |most| most.max(value)));
    }

    /// Adds the values of another (Chan, Golub and LeVeque 1979).
    pub fn join(&mut self, other: &Self) {
        let Some((theirs, (least, most))) = other.mean.zip(other.min.zip(other.max)) else { return };
        let (n, m) = (self.n as f64, other.n as f64);
        let ours = self.mean.unwrap_or(theirs);
        let away = theirs - ours;
        // What was read from JSON has its deviation alone.
        let squares = |spread: &Self| spread.sd.map_or(0.0, |sd| sd * sd * (spread.n.saturating_sub(1)) as f64);
        self.squares = squares(self) + squares(other) + away * away * n * m / (n + m);
        self.n += other.n;
        self.mean = Some(ours + away * m / (n + m));
        self.sd = (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt());
        self.min = Some(self.min.map_or(least, |min| min.min(least)));
        self.max = Some(self.max.map_or(most, |max| max.max(most)));
    }
}

/// How conversations ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationCounts {
    /// Opened, in the warm-up step or in the measured part.
    pub begun: u64,
    /// Every turn was answered.
    pub done: u64,
    /// A turn failed. The turns behind it were never sent.
    pub failed: u64,
    /// The load ended before they did.
    pub cut: u64,
}

/// Outcome of the user's turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCounts {
    /// Sent in the warm-up step.
    pub warmup: u64,
    /// Sent in the measured part.
    pub measured: u64,
    /// Of those, answered.
    pub answered: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Of those that were answered, with an answer without visible text.
    pub without_text: u64,
    /// Of those, with a turn behind them, whose history holds the empty answer.
    #[serde(default)]
    pub empty_history: u64,
    /// Turns behind a failed one, never sent.
    pub not_sent: u64,
}

/// The turns with one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnFigures {
    /// From 1. The last may stand for it and all later ones.
    pub turn: u32,
    /// Sent to first token, ms.
    pub ttft_ms: RunningSpread,
    /// Input tokens by the server's count.
    pub input_tokens: RunningSpread,
    /// Of them, from the server's cache, where it says so.
    pub cached_tokens: RunningSpread,
    /// Output tokens by the server's count.
    pub output_tokens: RunningSpread,
}

/// One client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientFigures {
    /// Number over all machines.
    pub client: u32,
    /// Measured turns that were sent.
    pub turns: u64,
    /// Of those, answered.
    pub answered: u64,
    /// Turns sent per second between its first and its last. Absent with fewer than two.
    pub rate_req_s: Option<f64>,
    #[serde(skip)]
    first: Option<Ns>,
    #[serde(skip)]
    last: Option<Ns>,
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub conversations: ConversationCounts,
    /// Turns of the user.
    pub turns: TurnCounts,
    /// First turns of conversations, measured.
    pub first_turn: TurnFigures,
    /// All later ones.
    pub later_turns: TurnFigures,
    /// By number, as far as they were sent.
    pub by_turn: Vec<TurnFigures>,
    /// By number.
    pub clients: Vec<ClientFigures>,
    /// How long a client had to wait for its body to be built, ms. Only turns that had to wait.
    pub built_late_ms: RunningSpread,
    /// Answers that were no UTF-8 and were repaired before they were carried over.
    pub answers_repaired: u64,
    /// `counted` by the model's tokenizer or `estimated`: the basis of the lengths that the plan asks for.
    #[serde(skip_deserializing)]
    pub lengths: &'static str,
    /// Definition of the times here.
    #[serde(skip_deserializing)]
    pub definition: &'static str,
}

/// Definition of TTFT here.
pub(crate) const DEFINITION: &str = "sent to first generated piece, answered measured turns";

impl TurnFigures {
    fn join(&mut self, other: &Self) {
        self.turn = self.turn.max(other.turn);
        self.ttft_ms.join(&other.ttft_ms);
        self.input_tokens.join(&other.input_tokens);
        self.cached_tokens.join(&other.cached_tokens);
        self.output_tokens.join(&other.output_tokens);
    }
}

impl Figures {
    /// Adds what another rank of the same load saw: its clients and conversations are others.
    pub fn join(&mut self, other: &Self) {
        let (own, theirs) = (&mut self.conversations, &other.conversations);
        own.begun += theirs.begun;
        own.done += theirs.done;
        own.failed += theirs.failed;
        own.cut += theirs.cut;
        let (own, theirs) = (&mut self.turns, &other.turns);
        own.warmup += theirs.warmup;
        own.measured += theirs.measured;
        own.answered += theirs.answered;
        own.failed += theirs.failed;
        own.without_text += theirs.without_text;
        own.empty_history += theirs.empty_history;
        own.not_sent += theirs.not_sent;
        self.first_turn.join(&other.first_turn);
        self.later_turns.join(&other.later_turns);
        for (at, theirs) in other.by_turn.iter().enumerate() {
            match self.by_turn.get_mut(at) {
                Some(own) => own.join(theirs),
                None => self.by_turn.push(*theirs),
            }
        }
        self.clients.extend(&other.clients);
        self.clients.sort_by_key(|client| client.client);
        self.built_late_ms.join(&other.built_late_ms);
        self.answers_repaired += other.answers_repaired;
    }

    /// For the reader: answers without anything to see, and what that means for the turns behind them. A model that thinks may use up its
    /// tokens before it says anything.
    pub fn empty_answers(&self) -> Option<String> {
        let TurnCounts { without_text, empty_history, answered, .. } = self.turns;
        let effect = match empty_history {
            0 => String::new(),
            1 => {
                ", so a history holds an empty assistant message and its conversation is not the planned one".to_owned()
            }
            held => format!(
                ", so the history holds {held} empty assistant messages and the conversations are not the planned ones"
            ),
        };
        (without_text > 0).then(|| {
            format!(
                "{without_text} of {} no visible text{effect}. Give answers more tokens, or turn thinking off with --extra-body",
                counted(usize::try_from(answered).unwrap_or(usize::MAX), "answer has", "answers have")
            )
        })
    }

    /// A turn ended.
    pub fn add(&mut self, ended: &Ended) {
        if ended.phase != Phase::Measured {
            self.turns.warmup += 1;
            return;
        }
        self.turns.measured += 1;
        let answered = ended.status.answered();
        if answered {
            self.turns.answered += 1;
        } else {
            self.turns.failed += 1;
        }
        let at = match self.clients.binary_search_by_key(&ended.client, |client| client.client) {
            Ok(at) => at,
            Err(at) => {
                self.clients.insert(at, ClientFigures { client: ended.client, ..ClientFigures::default() });
                at
            }
        };
        if let (Some(client), Some(sent)) = (self.clients.get_mut(at), ended.sent) {
            client.turns += 1;
            client.answered += u64::from(answered);
            let first = *client.first.get_or_insert(sent);
            client.last = Some(sent);
            client.rate_req_s = (sent > first).then(|| (client.turns - 1) as f64 / ((sent - first) as f64 / 1e9));
        }
        if !answered {
            return;
        }
        let listed = (ended.turn as usize).min(TURNS_LISTED - 1);
        while self.by_turn.len() <= listed {
            let turn = u32::try_from(self.by_turn.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.by_turn.push(TurnFigures { turn, ..TurnFigures::default() });
        }
        let pooled = if ended.turn == 0 {
            self.first_turn.turn = 1;
            &mut self.first_turn
        } else {
            self.later_turns.turn = 2;
            &mut self.later_turns
        };
        for figures in [Some(pooled), self.by_turn.get_mut(listed)].into_iter().flatten() {
            if let (Some(sent), Some(token)) = (ended.sent, ended.first_token) {
                figures.ttft_ms.add(token.saturating_sub(sent) as f64 / 1e6);
            }
            let add = |spread: &mut RunningSpread, tokens: Option<u32>| {
                if let Some(tokens) = tokens {
                    spread.add(f64::from(tokens));
                }
            };
            add(&mut figures.input_tokens, ended.usage.input);
            add(&mut figures.cached_tokens, ended.usage.cached);
            add(&mut figures.output_tokens, ended.usage.output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_the_textbook() {
        let mut spread = RunningSpread::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            spread.add(value);
        }
        assert_eq!((spread.n, spread.mean, spread.min, spread.max), (8, Some(5.0), Some(2.0), Some(9.0)));
        assert!((spread.sd.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn spreads_that_were_taken_apart_join_to_that_of_all() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let of = |values: &[f64]| {
            let mut spread = RunningSpread::default();
            values.iter().for_each(|value| spread.add(*value));
            spread
        };
        for cut in 0..=values.len() {
            let (left, right) = values.split_at(cut);
            let mut joined = of(left);
            // As it comes from another machine.
            let sent = serde_json::to_string(&of(right)).unwrap();
            joined.join(&serde_json::from_str(&sent).unwrap());
            let all = of(&values);
            assert_eq!((joined.n, joined.min, joined.max), (all.n, all.min, all.max));
            assert!((joined.mean.unwrap() - 5.0).abs() < 1e-12 && (joined.sd.unwrap() - all.sd.unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn what_was_never_seen_is_absent() {
        let text = serde_json::to_value(RunningSpread::default()).unwrap();
        assert_eq!(text, serde_json::json!({ "n": 0, "mean": null, "sd": null, "min": null, "max": null }));
    }
}
