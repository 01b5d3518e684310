//! The name of a model without its quantisation: `Qwen3-32B-FP8` and `Qwen3-32B` are one model served in two ways.
//!
//! In:  a name and the quantisation it may hold.  Out: the rest of the name.
//! Not here: which quantisation a name holds (see `ingest`).

/// Words beside a quantisation that say how it was made, and nothing of the model.
const MANNERS: &[&str] =
    &["dynamic", "static", "quantized", "quantised", "block", "channel", "tensor", "gguf", "weight", "only"];

/// The name without the quantisation and the words beside it. A name that does not hold it, or nothing else, stays as it is.
pub fn without_quantisation(name: &str, quantisation: &str) -> String {
    let small = quantisation.to_ascii_lowercase();
    let wanted: Vec<&str> = small.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let words = words(name);
    let found = words.windows(wanted.len().max(1)).position(|window| {
        !wanted.is_empty() && window.iter().zip(&wanted).all(|((_, word), part)| word.eq_ignore_ascii_case(part))
    });
    let Some(at) = found else { return name.to_owned() };
    let gone = at..at + wanted.len();
    let mut rest = String::with_capacity(name.len());
    for (place, (between, word)) in words.iter().enumerate() {
        if gone.contains(&place) || MANNERS.iter().any(|manner| word.eq_ignore_ascii_case(manner)) {
            continue;
        }
        if !rest.is_empty() {
            rest.push_str(between);
        }
        rest.push_str(word);
    }
    if rest.is_empty() { name.to_owned() } else { rest }
}

/// Words of letters and digits, each with the separator before it. Dots belong to numbers: `3.1` is one word, `q4_k_m` are three.
fn words(name: &str) -> Vec<(&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric();
    let mut words = Vec::new();
    let mut rest = name;
    while let Some(start) = rest.find(is_part) {
        let (between, tail) = rest.split_at(start);
        let end = tail.find(|c: char| !is_part(c)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        words.push((between, word));
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_their_quantisation_alone_have_one_stem() {
        for (name, quantisation, stem) in [
            ("NVIDIA-Nemotron-3-Nano-30B-A3B-FP8", "fp8", "NVIDIA-Nemotron-3-Nano-30B-A3B"),
            ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "bf16", "NVIDIA-Nemotron-3-Nano-30B-A3B"),
            ("Llama-3.1-8B-Instruct-FP8-dynamic", "fp8", "Llama-3.1-8B-Instruct"),
            ("Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "w8a8", "Meta-Llama-3.1-8B-Instruct"),
            ("qwen2.5-7b-q4_k_m", "q4_k_m", "qwen2.5-7b"),
            ("Qwen3-32B", "bf16", "Qwen3-32B"),
            ("fp8", "fp8", "fp8"),
            ("gpt-oss-20b", "", "gpt-oss-20b"),
        ] {
            assert_eq!(without_quantisation(name, quantisation), stem, "{name}");
        }
    }
}
