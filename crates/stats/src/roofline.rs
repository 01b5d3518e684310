//! Ceilings of decoding from memory and arithmetic, and the room that is left for a KV cache.
//!
//! In:  plain figures: bytes, bytes a second, tokens.  Out: tokens a second, bytes.
//! Not here: where the figures come from (see `verdict::roofline`), what a share of a ceiling means.
//!
//! Source: Williams, Waterman and Patterson, *Roofline* (CACM 52, 2009), for one step of decoding. Every step reads the weights once for the
//! whole batch. Of the KV cache it reads what each sequence has written so far.

/// Multiplications and additions that one parameter costs one token.
const FLOP_PER_PARAMETER: f64 = 2.0;

/// One step of decoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Sequences served together, at least 1.
    pub batch: f64,
    /// Bytes of weights that the step reads.
    pub weight_bytes: f64,
    /// Bytes of keys and values that it reads for one sequence. 0 for a short context.
    pub kv_bytes: f64,
    /// Tokens that a sequence gains in a step: 1, or the mean accepted length where tokens are speculated.
    pub tokens: f64,
}

impl Step {
    /// Output tokens a second of all sequences together when memory moves `bandwidth` bytes a second.
    pub fn memory_bound(&self, bandwidth: f64) -> f64 {
        self.batch * self.tokens * bandwidth / (self.weight_bytes + self.batch * self.kv_bytes)
    }

    /// The same when the device makes `flops` operations a second and `parameters` work on each token.
    pub fn compute_bound(&self, flops: f64, parameters: f64) -> f64 {
        flops / (FLOP_PER_PARAMETER * parameters)
    }

    /// Steps a second behind a rate of tokens.
    pub fn steps_per_second(&self, tok_s: f64) -> f64 {
        tok_s / (self.batch * self.tokens)
    }
}

/// Sequences that decode at a time, by Little's law: tokens a second times seconds a token. At least one. At most `limit`.
pub fn sequences(tok_s: f64, tpot_ms: f64, limit: Option<f64>) -> f64 {
    let mean = tok_s * tpot_ms / 1000.0;
    limit.map_or(mean, |limit| mean.min(limit)).max(1.0)
}

/// How an engine reads its share of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Of the whole device, weights included (vLLM, SGLang).
    OfDevice,
    /// Of what is free when the weights are loaded (TensorRT-LLM).
    OfFree,
}

/// Bytes left for a KV cache when nothing but the weights takes memory: an upper bound. Never negative.
pub fn kv_room(memory: f64, share: f64, weights: f64, kind: Share) -> f64 {
    match kind {
        Share::OfDevice => memory * share - weights,
        Share::OfFree => (memory - weights) * share,
    }
    .max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(batch: f64, kv_bytes: f64, tokens: f64) -> Step {
        Step { batch, weight_bytes: 15e9, kv_bytes, tokens }
    }

    #[test]
    fn the_ceiling_grows_with_the_batch_until_the_cache_is_what_is_read() {
        assert!((step(1.0, 0.0, 1.0).memory_bound(273e9) - 18.2).abs() < 1e-9);
        assert!((step(8.0, 0.0, 1.0).memory_bound(273e9) - 8.0 * 18.2).abs() < 1e-9);
        // Without end, a batch reads its caches only: 273 GB/s over 1 GB a sequence.
        let many = step(1e9, 1e9, 1.0).memory_bound(273e9);
        assert!((many - 273.0).abs() < 1e-3, "{many}");
    }

    #[test]
    fn speculated_tokens_raise_the_ceiling_and_leave_the_steps() {
        let (plain, guessed) = (step(1.0, 0.0, 1.0), step(1.0, 0.0, 2.5));
        let ceiling = guessed.memory_bound(273e9);
        assert!((ceiling / plain.memory_bound(273e9) - 2.5).abs() < 1e-12);
        assert!((guessed.steps_per_second(ceiling) - plain.steps_per_second(plain.memory_bound(273e9))).abs() < 1e-9);
    }

    #[test]
    fn the_compute_ceiling_is_two_operations_a_parameter() {
        assert!((step(64.0, 0.0, 1.0).compute_bound(125e12, 7.5e9) - 8333.3).abs() < 0.1);
    }

    #[test]
    fn sequences_that_decode_are_rate_times_time() {
        assert_eq!(sequences(400.0, 50.0, Some(32.0)), 20.0);
        assert_eq!(sequences(400.0, 100.0, Some(32.0)), 32.0);
        assert_eq!(sequences(10.0, 50.0, None), 1.0);
    }

    #[test]
    fn the_room_for_a_cache_depends_on_what_the_share_is_of() {
        assert!((kv_room(120.0, 0.9, 15.0, Share::OfDevice) - 93.0).abs() < 1e-9);
        assert!((kv_room(120.0, 0.9, 15.0, Share::OfFree) - 94.5).abs() < 1e-9);
        assert_eq!(kv_room(10.0, 0.9, 15.0, Share::OfDevice), 0.0);
    }
}
