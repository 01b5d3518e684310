//! The settings of a mock, as plain values.
//!
//! In:  nothing.  Out: [`Settings`], with defaults that answer as fast as possible.
//! Not here: reading them from a command line (see `cli::mock`), what a request may change of them (see `ask`).

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use sparkbench_host::net::Ns;

use super::shape::{self, Shape};

/// Members of a request that fix the length of an answer, and whether this server honours them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Honours {
    pub ignore_eos: bool,
    pub min_tokens: bool,
    pub min_new_tokens: bool,
}

impl Default for Honours {
    /// Like vLLM.
    fn default() -> Self {
        Self { ignore_eos: true, min_tokens: true, min_new_tokens: false }
    }
}

impl Honours {
    /// From words with commas between. `none` gives the empty set. Returns the unknown word.
    ///
    /// # Errors
    /// The word that is not known.
    pub fn parse(words: &str) -> Result<Self, String> {
        let mut honours = Self { ignore_eos: false, min_tokens: false, min_new_tokens: false };
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "ignore_eos" => honours.ignore_eos = true,
                "min_tokens" => honours.min_tokens = true,
                "min_new_tokens" => honours.min_new_tokens = true,
                "none" => {}
                other => return Err(other.to_owned()),
            }
        }
        Ok(honours)
    }
}

/// Member of the delta that carries reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReasoningKey {
    /// `reasoning_content`.
    #[default]
    Content,
    /// `reasoning`.
    Short,
    /// Both, with the same text: it must be counted once.
    Both,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen. Port 0 is any.
    pub address: SocketAddr,
    /// The one model served.
    pub model: String,
    /// Input and output tokens together, at most.
    pub max_model_len: u32,
    /// From the request's last byte to the first token.
    pub ttft_ns: Ns,
    /// Added to it for each input token that is not cached.
    pub ttft_per_input_token_ns: Ns,
    /// Between tokens. With `ttft_ns` 0 as well, answers come as fast as possible, one write a chunk.
    pub itl_ns: Ns,
    /// Each token is due later by anything from 0 to this, drawn from the seed and the request's id. Order is kept.
    pub jitter_ns: Ns,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Tokens of an answer whose request gives no `max_tokens`.
    pub tokens: u32,
    /// Tokens after which the model ends an answer of itself. Absent never does.
    pub natural_tokens: Option<u32>,
    /// Tokens in each chunk. A chunk is due when its last token is.
    pub tokens_per_chunk: u32,
    /// Requests answered at the same time. Others wait in order. Absent is any number.
    pub max_running: Option<u32>,
    /// The whole response in one write, at the due time of the last token.
    pub whole: bool,
    /// Ways of requesting exact lengths that it honours.
    pub honours: Honours,
    /// Shape where a request asks for none.
    pub shape: &'static Shape,
    /// Tokens of reasoning, in shapes that reason. Absent is a third of the answer.
    pub reasoning_tokens: Option<u32>,
    /// Where reasoning is put.
    pub reasoning_key: ReasoningKey,
    /// Tokens before a fault, in shapes that have one. Absent is half of the answer.
    pub after: Option<u32>,
    /// Key that `/v1` and `/tokenize` want.
    pub api_key: Option<String>,
    /// Time without a request after which a connection is closed. Absent: never.
    pub close_idle_ns: Option<Ns>,
    /// Tokens in a block of the prefix cache. 0 is no cache.
    pub block_tokens: u32,
    /// Blocks that the prefix cache holds.
    pub cache_blocks: usize,
    /// Where truths are written, a JSON line each.
    pub truth_file: Option<PathBuf>,
    /// Keep the times of every chunk, not of the first and the last alone.
    pub truth_chunks: bool,
    /// Keep truths in memory for [`super::Running::stop`].
    pub keep_truth: bool,
    /// Time to stay awake before a due moment instead of trusting the timer. It costs processor time.
    pub spin_ns: Ns,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            model: "mock".to_owned(),
            max_model_len: 131_072,
            ttft_ns: 0,
            ttft_per_input_token_ns: 0,
            itl_ns: 0,
            jitter_ns: 0,
            seed: 42,
            tokens: 128,
            natural_tokens: None,
            tokens_per_chunk: 1,
            max_running: None,
            whole: false,
            honours: Honours::default(),
            shape: shape::plain(),
            reasoning_tokens: None,
            reasoning_key: ReasoningKey::default(),
            after: None,
            api_key: None,
            close_idle_ns: None,
            block_tokens: 16,
            cache_blocks: 1 << 20,
            truth_file: None,
            truth_chunks: false,
            keep_truth: true,
            spin_ns: 0,
        }
    }
}
