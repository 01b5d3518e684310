//! Bytes of a model's weights and of its KV cache, by precision.
//!
//! In:  [`ModelFacts`].  Out: bytes a step, bytes read of the cache, the same facts at another precision.
//! Not here: where the facts come from, how fast anything is.

use super::ModelFacts;

/// Bits that a plain checkpoint keeps of a value: the precision from which others are computed.
const PLAIN_BITS: f64 = 16.0;

impl ModelFacts {
    /// Bytes read in one decode step that serves `batch` sequences. Experts touched grow with the batch:
    /// E (1 - (1 - k/E)^batch) of E are expected when tokens choose independently.
    pub fn bytes_per_step(&self, batch: f64) -> Option<f64> {
        match (self.expert_bytes, self.experts, self.experts_per_token, self.weight_bytes) {
            (Some(expert_bytes), Some(experts), Some(chosen), Some(all)) if experts > 0.0 => {
                let rest = self.step_bytes.map_or(all - expert_bytes, |one| one - expert_bytes * chosen / experts);
                Some(expert_bytes * (1.0 - (1.0 - chosen / experts).powf(batch)) + rest)
            }
            _ => self.step_bytes.or(self.weight_bytes),
        }
    }

    /// Parameters that work on each token: those read at batch 1. Absent where the facts do not say.
    pub fn active_parameters(&self) -> Option<f64> {
        let all = self.parameters?;
        let embedding = if self.tied { 0.0 } else { self.embedding_parameters.unwrap_or(0.0) };
        match (self.experts, self.experts_per_token, self.expert_share()) {
            (Some(experts), Some(chosen), Some(share)) if experts > 0.0 => {
                Some(all - embedding - all * share * (1.0 - chosen / experts))
            }
            (Some(_), ..) => None,
            _ => Some(all - embedding),
        }
    }

    /// Share of the parameters that lies in experts, for facts at the plain precision.
    fn expert_share(&self) -> Option<f64> {
        Some(self.expert_bytes? / self.weight_bytes?)
    }

    /// Bytes of keys and values that one step reads for one sequence of `context` tokens at `bits` a value. Windowed layers read no
    /// further back than their window.
    pub fn kv_bytes_read(&self, context: f64, bits: f64) -> Option<f64> {
        let per_token = self.kv_bytes_per_token? * bits / PLAIN_BITS;
        let tokens = match (self.layers, self.windowed_layers, self.window) {
            (Some(layers), Some(windowed), Some(window)) if layers > 0.0 => {
                (context * (layers - windowed) + context.min(window) * windowed) / layers
            }
            _ => context,
        };
        Some(per_token * tokens)
    }

    /// The same model with its matrices at `bits` a weight. Input embedding and output head have `outer_bits`, which most quantised
    /// checkpoints keep at 16. Only from facts at the plain precision. The KV cache stays as it is.
    #[must_use]
    pub fn at_precision(&self, name: &str, bits: f64, outer_bits: f64) -> Option<Self> {
        let all = self.parameters?;
        let embedding = self.embedding_parameters?;
        let head = if self.tied { 0.0 } else { embedding };
        let body = all - embedding - head;
        // Mixed checkpoints, such as those with experts of 4 bits, cannot be scaled as a whole.
        let plain = self.weight_bytes.is_none_or(|bytes| (bytes / (all * PLAIN_BITS / 8.0) - 1.0).abs() < 0.01);
        if !plain || body <= 0.0 {
            return None;
        }
        let expert_bytes = self.expert_bytes.map(|bytes| bytes * bits / PLAIN_BITS);
        let read_of_embedding = if self.tied { embedding } else { head };
        let dense = body * bits / 8.0 - expert_bytes.unwrap_or(0.0);
        let chosen = match (expert_bytes, self.experts, self.experts_per_token) {
            (Some(bytes), Some(experts), Some(chosen)) if experts > 0.0 => bytes * chosen / experts,
            (Some(bytes), ..) => bytes,
            _ => 0.0,
        };
        Some(Self {
            quantisation: Some(name.to_owned()),
            weight_bytes: Some(body * bits / 8.0 + (embedding + head) * outer_bits / 8.0),
            step_bytes: Some(dense + chosen + read_of_embedding * outer_bits / 8.0),
            expert_bytes,
            ..self.clone()
        })
    }

    /// True where the facts are of a checkpoint that keeps its experts at fewer bits than the rest.
    pub fn is_mixed(&self, bits: f64) -> bool {
        match (self.parameters, self.weight_bytes, self.expert_bytes) {
            (Some(all), Some(bytes), Some(_)) => bytes / (all * bits / 8.0) > 1.01,
            _ => false,
        }
    }

    /// A mixed model whose experts are at `bits`, as the facts have them, with everything else at `rest_bits`: how other builds keep it.
    #[must_use]
    pub fn with_rest_at(&self, name: &str, bits: f64, rest_bits: f64) -> Option<Self> {
        let (all, expert_bytes) = (self.parameters?, self.expert_bytes?);
        let share = self.experts_per_token? / self.experts?;
        let rest = all - expert_bytes * 8.0 / bits;
        let unread = if self.tied { 0.0 } else { self.embedding_parameters? };
        (rest > unread).then(|| Self {
            quantisation: Some(name.to_owned()),
            weight_bytes: Some(expert_bytes + rest * rest_bits / 8.0),
            step_bytes: Some(expert_bytes * share + (rest - unread) * rest_bits / 8.0),
            ..self.clone()
        })
    }

    /// Joins the data of two files of one checkpoint. Counted bytes win over computed bytes, and the bytes that a step reads follow them.
    pub fn complete(&mut self, more: Self) {
        let (mut shape, counted) =
            if more.counted || !self.counted { (std::mem::take(self), more) } else { (more, std::mem::take(self)) };
        if let (Some(real), Some(computed), None) = (counted.weight_bytes, shape.weight_bytes, counted.step_bytes) {
            let extra = real - computed;
            let read = match (shape.experts, shape.experts_per_token) {
                (Some(experts), Some(chosen)) if experts > 0.0 => {
                    shape.expert_bytes = shape.expert_bytes.map(|bytes| bytes + extra);
                    extra * chosen / experts
                }
                _ => extra,
            };
            shape.step_bytes = shape.step_bytes.map(|bytes| bytes + read).filter(|bytes| *bytes > 0.0);
        }
        let figures = [
            (&mut shape.parameters, counted.parameters),
            (&mut shape.weight_bytes, counted.weight_bytes),
            (&mut shape.step_bytes, counted.step_bytes),
            (&mut shape.expert_bytes, counted.expert_bytes),
            (&mut shape.experts, counted.experts),
            (&mut shape.experts_per_token, counted.experts_per_token),
            (&mut shape.kv_bytes_per_token, counted.kv_bytes_per_token),
            (&mut shape.layers, counted.layers),
            (&mut shape.kv_heads, counted.kv_heads),
            (&mut shape.head_dim, counted.head_dim),
            (&mut shape.embedding_parameters, counted.embedding_parameters),
            (&mut shape.windowed_layers, counted.windowed_layers),
            (&mut shape.window, counted.window),
        ];
        for (own, other) in figures {
            *own = other.or(*own);
        }
        if shape.title.is_empty() {
            shape.title = counted.title;
        }
        shape.tied = if counted.counted { counted.tied } else { shape.tied || counted.tied };
        shape.quantisation = counted.quantisation.or(shape.quantisation);
        shape.counted |= counted.counted;
        shape.sources.extend(counted.sources);
        *self = shape;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3.1 8B: 32 layers, 8 KV heads of 128, vocabulary 128256 of 4096.
    fn llama() -> ModelFacts {
        ModelFacts {
            parameters: Some(8_030_261_248.0),
            weight_bytes: Some(16_060_522_496.0),
            embedding_parameters: Some(525_336_576.0),
            kv_bytes_per_token: Some(131_072.0),
            layers: Some(32.0),
            ..ModelFacts::default()
        }
    }

    #[test]
    fn the_bytes_a_step_reads_are_those_of_the_published_table() {
        let gb = |name: &str, bits: f64| llama().at_precision(name, bits, 16.0).unwrap().step_bytes.unwrap() / 1e9;
        assert!((gb("bf16", 16.0) - 15.0).abs() < 0.05);
        assert!((gb("fp8", 8.0) - 8.0).abs() < 0.05);
        assert!((gb("nvfp4", 4.5) - 5.0).abs() < 0.05);
    }

    #[test]
    fn a_tied_head_is_read_and_stored_once() {
        let tied = ModelFacts { tied: true, weight_bytes: None, ..llama() }.at_precision("bf16", 16.0, 16.0).unwrap();
        assert_eq!(tied.step_bytes, tied.weight_bytes);
        assert_eq!(tied.weight_bytes, Some(2.0 * 8_030_261_248.0));
    }

    #[test]
    fn a_mixed_checkpoint_is_not_scaled() {
        let mixed = ModelFacts { weight_bytes: Some(5e9), ..llama() };
        assert_eq!(mixed.at_precision("fp8", 8.0, 16.0), None);
    }

    #[test]
    fn a_window_bounds_what_is_read_of_the_cache() {
        let whole = llama();
        let half = ModelFacts { windowed_layers: Some(16.0), window: Some(100.0), ..llama() };
        assert_eq!(whole.kv_bytes_read(1000.0, 16.0), Some(131_072_000.0));
        assert_eq!(half.kv_bytes_read(1000.0, 16.0), Some(131_072.0 * 550.0));
        assert_eq!(half.kv_bytes_read(50.0, 8.0), Some(131_072.0 * 25.0));
    }
}
