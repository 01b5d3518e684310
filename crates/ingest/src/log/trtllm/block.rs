//! The report that `trtllm-bench` prints at its end: sections of `label: value`.
//!
//! In:  lines.  Out: figures and settings.
//! Not here: the lines of the engine (see `engine`).
//!
//! The same words mean different things in different sections. `MIN`, `MAX`, `P50` are counts of tokens in the section on the data set and
//! times in a breakdown. `Total Token Throughput` is input and output together. In the latency mode of 0.16 and 0.17 it counts the output
//! alone: its figures are tokens of all answers over the total latency.
//!
//! Source of the labels: `bench/dataclasses/reporting.py` of TensorRT-LLM 0.16 to 1.3, and its documentation of the latency mode.

use super::super::cut::{after, number, place};
use super::engine::Engine;
use super::labels::{BREAKDOWNS, EXTRAS, GENERATION, METRICS, SECTIONS, SETTINGS, STATISTICS, Section};
use crate::figure::Figure;

/// Which section a heading opens.
pub(super) fn heading(line: &str) -> Option<Section> {
    SECTIONS.iter().find(|(words, _)| line.contains(words)).map(|(_, section)| *section)
}

/// One line of a section.
pub(super) fn read(section: Section, number: u64, line: &str, engine: &mut Engine) {
    breakdown(number, line, engine);
    if section == Section::Machine
        && let Some((name, rest)) = line.split_once(", memory ")
    {
        machine(name, rest, number, engine);
        return;
    }
    match section {
        Section::Dataset if labelled(line, "Number of Sequences").is_none() => return dataset(number, line, engine),
        Section::Generation | Section::Acceptance => return old_breakdown(section, number, line, engine),
        _ => {}
    }
    let found = METRICS.iter().find_map(|(name, metric)| Some((*metric, finite(labelled(line, name)?)?)));
    if let Some((metric, figure)) = found {
        let metric = match metric {
            "total_throughput_tok_s" if section == Section::OldLatency => "output_throughput_tok_s",
            other => other,
        };
        engine.found.metric(metric, figure, number);
        return;
    }
    let found =
        EXTRAS.iter().find_map(|(name, word, unit, why)| Some((*word, *unit, *why, finite(labelled(line, name)?)?)));
    if let Some((name, unit, why, figure)) = found {
        engine.found.extra_because(name, unit, figure.value, number, why);
        return;
    }
    if let Some((label, value)) = SETTINGS.iter().find_map(|label| Some((*label, labelled(line, label)?.trim()))) {
        setting(label, value, engine);
    }
}

/// The text behind `label:`. The prefix of a launcher may be before the label, a longer label may not.
fn labelled<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let at = place(line, label)?;
    let value = line.get(at + label.len()..)?.trim_start().strip_prefix(':')?;
    let before = line.get(..at)?;
    let apart = before.is_empty() || before.ends_with([' ', '\t', '|', ']']);
    let longer = before.ends_with("Total ") || before.ends_with("Generation ");
    (apart && !longer).then_some(value)
}

fn finite(value: &str) -> Option<Figure> {
    number(value).filter(|figure| figure.value.is_finite())
}

/// `[Latency] P50    : 68923.2602`
fn breakdown(line_number: u64, line: &str, engine: &mut Engine) {
    for (tag, name, unit) in BREAKDOWNS {
        let Some((key, value)) = after(line, tag).and_then(|rest| rest.split_once(':')) else { continue };
        let (Some((_, suffix, word)), Some(figure)) =
            (STATISTICS.iter().find(|(key_of, ..)| *key_of == key.trim()), finite(value))
        else {
            continue;
        };
        match suffix {
            Some(suffix) if name.ends_with("_ms") => {
                engine.found.metric(&format!("{name}{suffix}"), figure, line_number)
            }
            _ => engine.found.extra(&format!("{name} {word}"), unit, figure.value, line_number),
        }
    }
}

/// `MIN:   128.0000           128.0000           256.0000`: tokens of input, output and both.
fn dataset(line_number: u64, line: &str, engine: &mut Engine) {
    let row = STATISTICS.iter().find_map(|(key, _, word)| Some((*word, labelled(line, key)?)));
    let Some((word, value)) = row else { return };
    for (column, cell) in ["isl", "osl", "sequence length"].iter().zip(value.split_whitespace()) {
        if let Some(figure) = finite(cell) {
            engine.found.extra(&format!("dataset {column} {word}"), "tokens", figure.value, line_number);
        }
    }
}

/// `P90 (ms): 63307.1885`, or `P90: 1.00`.
fn old_breakdown(section: Section, line_number: u64, line: &str, engine: &mut Engine) {
    let row = STATISTICS.iter().find_map(|(key, _, word)| {
        let value = labelled(line, key).or_else(|| labelled(line, &format!("{key} (ms)")))?;
        Some((*word, finite(value)?))
    });
    let Some((word, figure)) = row else { return };
    if section == Section::Generation {
        let name = format!("generation_latency_ms {word}");
        engine.found.extra_because(&name, "ms", figure.value, line_number, GENERATION);
    } else {
        engine.found.extra(&format!("acceptance {word}"), "", figure.value, line_number);
    }
}

/// `NVIDIA GB10, memory 119.64 GB, 0.00 GHz`
fn machine(name: &str, rest: &str, line_number: u64, engine: &mut Engine) {
    engine.setup.machine = Some(name.trim().chars().take(80).collect());
    if let Some(figure) = finite(rest) {
        engine.setup.device_memory_gib = Some(figure.value);
    }
    if let Some(figure) = rest.split_once(',').and_then(|(_, clock)| finite(clock)) {
        engine.found.extra("memory_clock", "GHz", figure.value, line_number);
    }
}

fn setting(label: &str, value: &str, engine: &mut Engine) {
    if value.is_empty() || value == "None" {
        return;
    }
    let text = || Some(value.to_owned());
    let figure = || finite(value).map(|figure| figure.value);
    match label {
        "Model" => engine.setup.model_served = text(),
        "TensorRT-LLM Version" | "TensorRT LLM Version" => engine.setup.engine_version = text(),
        // "Quantization" names more than the data type does, where there is one.
        "Quantization" => engine.setup.quantisation = text(),
        "Dtype" => {
            engine.more("dtype", value);
            engine.setup.quantisation = engine.setup.quantisation.take().or_else(text);
        }
        "KV Cache Dtype" => engine.setup.kv_dtype = text(),
        "Number of requests" => engine.setup.requests = figure(),
        "Average Input Length (tokens)" => engine.setup.isl = figure(),
        "Average Output Length (tokens)" => engine.setup.osl = figure(),
        "Max Runtime Batch Size" => engine.setup.batch = figure(),
        "Max Sequence Length" => engine.setup.max_model_len = figure(),
        "KV Memory Percentage" => engine.setup.memory_utilisation = figure().map(|percent| percent / 100.0),
        "TP Size" | "PP Size" | "EP Size" => {
            engine.more(&label.to_ascii_lowercase().replace(' ', "_"), value);
            let size = |key: &str| engine.setup.more.get(key).and_then(|text| text.parse::<usize>().ok());
            let (tp, pp) = (size("tp_size").unwrap_or(1), size("pp_size").unwrap_or(1));
            engine.world = Some(tp.saturating_mul(pp));
            let ep = size("ep_size").map_or_else(String::new, |ep| format!(" ep{ep}"));
            engine.setup.parallel = Some(format!("tp{tp} pp{pp}{ep}"));
        }
        "Max Runtime Tokens" | "Scheduling Policy" | "Max Input Length" => {
            engine.more(&label.to_ascii_lowercase().replace(' ', "_"), value);
        }
        _ => {}
    }
}
