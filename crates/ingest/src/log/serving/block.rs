//! One result block on its way: labels and figures, line by line.
//!
//! In:  the lines between the header and the rule of `=`.  Out: one partial run.
//! Not here: where a block begins.

use super::sglang;
use crate::figure::{Figure, excerpt};
use crate::serving::figures::Figures;
use crate::serving::{self, Load, settings};
use crate::sheet::{last_part, model_id};
use crate::{JoinRole, Parsed, PartialRun, SourceFile, vllm};
use sparkbench_model::Setup;

/// Whose block it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// vLLM's.
    Vllm,
    /// SGLang's.
    Sglang,
}

const VLLM_RULE: &str = "vllm-bench-serve-console";
const SGLANG_RULE: &str = "sglang-bench-serving-console";
const SGLANG_TOOL: &str = "sglang-bench-serving";

/// A block without its end stops here: the longest that was seen has 60 lines.
const LONGEST: u32 = 200;

/// Conversations have as many lines again for each of their turns.
const LONGEST_OF_TURNS: u32 = 4_000;

/// Lines of one block that are named although they were not understood.
const ODD: usize = 8;

/// Re-tokenised and counted tokens that differ by more than this share make every rate by tokens doubtful.
const RETOKENIZED: f64 = 0.1;

/// Label in lower case, key of the JSON.
const LABELS: &[(&str, &str)] = &[
    ("successful requests", "completed"),
    ("failed requests", "failed"),
    ("benchmark duration (s)", "duration"),
    ("total input tokens", "total_input_tokens"),
    ("total input text tokens", "total_input_text_tokens"),
    ("total input vision tokens", "total_input_vision_tokens"),
    ("total generated tokens", "total_output_tokens"),
    ("total generated tokens (retokenized)", "total_output_tokens_retokenized"),
    ("request throughput (req/s)", "request_throughput"),
    ("input throughput (inputs/s)", "input_sequence_throughput"),
    ("request goodput (req/s)", "request_goodput"),
    ("slo attainment (%)", "slo_attainment_pct"),
    ("ttft slo attainment (%)", "slo_attainment_by_metric_pct.ttft"),
    ("tpot slo attainment (%)", "slo_attainment_by_metric_pct.tpot"),
    ("e2e slo attainment (%)", "slo_attainment_by_metric_pct.e2e"),
    ("total prompt tokens", "cache_report.total_prompt_tokens"),
    ("total cached tokens", "cache_report.total_cached_tokens"),
    ("cache hit rate", "cache_report.cache_hit_rate_pct"),
    // Of a total: `4/4`.
    ("conversations completed/total", "conversations_completed"),
    ("avg turns completed", "avg_turns_completed"),
    ("avg conversation duration (ms)", "avg_conversation_duration_ms"),
    ("input token throughput (tok/s)", "input_throughput"),
    ("output token throughput (tok/s)", "output_throughput"),
    ("peak output token throughput (tok/s)", "max_output_tokens_per_s"),
    ("peak concurrent requests", "max_concurrent_requests"),
    ("total token throughput (tok/s)", "total_token_throughput"),
    ("total throughput (tok/s)", "total_token_throughput"),
    ("concurrency", "concurrency"),
    ("accept length", "accept_length"),
    ("rtfx (inverse real-time factor)", "rtfx"),
    ("acceptance rate (%)", "spec_decode_acceptance_rate"),
    ("acceptance length", "spec_decode_acceptance_length"),
    ("drafts", "spec_decode_num_drafts"),
    ("draft tokens", "spec_decode_draft_tokens"),
    ("accepted tokens", "spec_decode_accepted_tokens"),
    ("probe requests completed", "probe_completed"),
    ("probe requests failed", "probe_failed"),
    ("committed throughput (tok/s)", "diffusion_committed_throughput"),
    ("denoising steps per canvas", "diffusion_steps_per_canvas"),
    ("committed per denoising step", "diffusion_committed_per_step"),
    ("committed tokens", "diffusion_committed_tokens"),
    ("denoising steps", "diffusion_denoising_steps"),
    ("canvas positions evaluated", "diffusion_canvas_positions"),
];

/// Label in lower case, setting.
const WORDS: &[(&str, &str)] = &[
    ("backend", "backend"),
    ("traffic request rate", "request_rate"),
    ("request rate configured (rps)", "request_rate"),
    ("maximum request concurrency", "max_concurrency"),
    ("max request concurrency", "max_concurrency"),
    ("max reqeuest concurrency", "max_concurrency"),
    ("turns per conversation (configured)", "turns_per_conversation"),
    ("inter-turn delay (ms)", "inter_turn_delay_ms"),
];

/// Name between the statistic and the unit, part of the key.
const FAMILIES: &[(&str, &str)] = &[
    ("ttft", "ttft"),
    ("tpot", "tpot"),
    ("itl", "itl"),
    ("e2el", "e2el"),
    ("e2e latency", "e2e_latency"),
    ("client queue time", "client_queue_time"),
    ("e2el incl. client queue", "e2el_including_client_queue"),
];

/// See the module.
pub(super) struct Block {
    line: u64,
    /// Bytes of a prefix on every line.
    start: usize,
    /// Key, unit where the label is not known, figure, line.
    figures: Vec<(String, Option<String>, Figure, u64)>,
    settings: Vec<(String, String)>,
    complete: bool,
    lines: u32,
    odd: Vec<String>,
    /// Whether it is of conversations, and which of their turns the lines are of. 0 for all of them.
    turns: bool,
    turn: u32,
}

impl Block {
    pub(super) fn new(line: u64, start: usize, turns: bool, settings: Vec<(String, String)>) -> Self {
        // Of the lines before, those of the block win: they are taken later.
        let settings = settings
            .into_iter()
            .filter(|(name, _)| name != "backend")
            .map(|(name, value)| (format!("before {name}"), value));
        Self {
            line,
            start,
            figures: Vec::new(),
            settings: settings.collect(),
            complete: false,
            lines: 0,
            odd: Vec::new(),
            turns,
            turn: 0,
        }
    }

    /// Takes one line. True when the block is at its end.
    pub(super) fn line(&mut self, number: u64, line: &str) -> bool {
        self.lines += 1;
        let body = line.get(self.start..).unwrap_or(line).trim_matches([' ', '\t', '|', '>', '`', '"', '\'']);
        let rule = !body.is_empty() && body.bytes().all(|byte| byte == b'=');
        if rule {
            self.complete = true;
        }
        if rule || self.lines > if self.turns { LONGEST_OF_TURNS } else { LONGEST } {
            return true;
        }
        if body.starts_with("--") {
            let turn = body.trim_matches(['-', ' ']).strip_prefix("Turn ").and_then(|rest| rest.split(' ').next());
            self.turn = turn.and_then(|turn| turn.parse().ok()).unwrap_or(self.turn);
            return false;
        }
        if let Some(limits) = body.strip_prefix("SLOs (ms):") {
            self.settings.push(("goodput".to_owned(), limits.trim().to_owned()));
            return false;
        }
        if let Some((label, value)) = body.rsplit_once(':') {
            self.pair(number, label.trim(), value.trim());
        }
        false
    }

    fn pair(&mut self, number: u64, label: &str, value: &str) {
        // A prefix of changing length leaves something in front of a label.
        let lower = label.to_ascii_lowercase();
        let users = self.turns && self.turn == 0 && lower == "concurrency";
        if users {
            self.settings.push(("max_concurrency".to_owned(), value.to_owned()));
            return;
        }
        if let Some((_, name)) = WORDS.iter().find(|(known, _)| lower == *known) {
            self.settings.push(((*name).to_owned(), value.to_owned()));
            return;
        }
        let word = value.split([' ', '|']).find(|word| !word.is_empty()).unwrap_or_default();
        let word = word.strip_suffix('%').unwrap_or(word);
        let word = if lower.ends_with("/total") { word.split('/').next().unwrap_or(word) } else { word };
        let Some(figure) = Figure::parse(word).filter(|_| !word.is_empty()) else {
            if self.odd.len() == ODD || value.is_empty() || !word.bytes().any(|byte| byte.is_ascii_digit()) {
                // A heading, or a word.
                return;
            }
            self.odd.push(format!("line {number}: \"{}\"", excerpt(&format!("{label}: {value}"))));
            return;
        };
        if let Some(key) = key_of(&lower) {
            let unit = key.starts_with("spec_decode_acceptance_pct").then(|| "%".to_owned());
            // As the JSON of the same run has it, counted from 0.
            let key = match self.turn.checked_sub(1) {
                Some(turn) => format!("per_turn_metrics.{turn}.{key}"),
                None => key,
            };
            self.figures.push((key, unit, figure, number));
            return;
        }
        // A label of a private build: kept under its words.
        let (name, unit) = match label.strip_suffix(')').and_then(|label| label.rsplit_once('(')) {
            Some((name, unit)) => (name.trim(), unit.to_owned()),
            None => (label, String::new()),
        };
        self.figures.push((excerpt(name), Some(unit), figure, number));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    pub(super) fn flavour(&self) -> Flavour {
        if self.settings.iter().any(|(name, _)| name == "backend") { Flavour::Sglang } else { Flavour::Vllm }
    }

    pub(super) fn partial(self, file: &SourceFile<'_>, parsed: &mut Parsed) -> PartialRun {
        let flavour = self.flavour();
        let (tool, rule) = match flavour {
            Flavour::Vllm => (vllm::SERVE, VLLM_RULE),
            Flavour::Sglang => (SGLANG_TOOL, SGLANG_RULE),
        };
        let setup = Setup { tool: Some(tool.to_owned()), ..Setup::default() };
        let mut partial = PartialRun { join_role: JoinRole::Trace, setup, ..PartialRun::default() };
        for (name, value) in &self.settings {
            setting(&mut partial, flavour, name.strip_prefix("before ").unwrap_or(name), value);
        }
        let mut figures = Figures::default();
        for (key, unit, figure, line) in self.figures {
            figures.put_with(key, unit, figure, file.origin(Some(line), None, rule));
        }
        if figures.get("spec_decode_acceptance_rate").is_some() || figures.get("accept_length").is_some() {
            partial.setup.speculative = Some("on".to_owned());
        }
        // Turns of conversations are requests. Without the arguments, those that ended are all that is known of them.
        if self.turns || partial.setup.requests.is_none() {
            partial.setup.requests = figures.get("completed").map(|done| done + figures.get("failed").unwrap_or(0.0));
        }
        let load = Load {
            dataset: self.turns.then_some("multi-turn"),
            completed: figures.get("completed"),
            input: figures.get("total_input_tokens"),
            output: figures.get("total_output_tokens"),
        };
        let (input, output) = load.lengths();
        partial.setup.isl = input.or(partial.setup.isl);
        // What was asked for is no length of answers that have none: embeddings, scores.
        let wordless = figures.get("total_input_tokens").is_some() && load.output.is_none();
        partial.setup.osl = output.or(partial.setup.osl).filter(|_| !wordless);
        let asked = (flavour == Flavour::Sglang).then(|| sglang::workload(&partial.setup)).flatten();
        partial.workload = asked.or_else(|| load.workload(&partial.setup));
        partial.fingerprint = match (figures.failure(), flavour) {
            (Some(_), _) => None,
            (None, Flavour::Vllm) => vllm::mark_of(&figures),
            (None, Flavour::Sglang) => sglang::mark(&figures),
        };
        parsed.not_understood.extend(self.odd);
        if !self.complete {
            parsed.notes.push(format!("the block of line {} has no end: the text was cut off", self.line));
        }
        if let Some(why) = figures.failure() {
            parsed.notes.push(format!("{why}. Its zeros are no measurements"));
        }
        if let (Some(counted), Some(again)) = (load.output, figures.get("total_output_tokens_retokenized"))
            && (again - counted).abs() > RETOKENIZED * counted
        {
            parsed.notes.push(format!(
                "{counted} tokens were counted and {again} are in the answers: rates and times by tokens are doubtful"
            ));
        }
        figures.give(&mut partial);
        partial
    }
}

fn setting(partial: &mut PartialRun, flavour: Flavour, name: &str, value: &str) {
    let setup = &mut partial.setup;
    let figure = || Figure::parse(value).map(|figure| figure.value).filter(|value| !value.is_nan());
    match name {
        "model" => {
            setup.model_id = model_id(value);
            partial.model = setup.model_id.as_deref().map(|id| last_part(id).to_owned());
        }
        "tokenizer" => {
            let id = model_id(value).filter(|id| Some(id) != setup.model_id.as_ref());
            setup.more.extend(id.map(|id| ("tokenizer".to_owned(), id)));
        }
        "num_prompts" => setup.requests = figure(),
        "request_rate" => setup.request_rate = figure().or(setup.request_rate),
        // SGLang says "not set".
        "max_concurrency" => setup.batch = figure().or(setup.batch),
        "backend" if flavour == Flavour::Sglang => {
            // vLLM's own benchmark has its name for the protocol. Here the user chose the engine.
            let engine = serving::engine_of(value).or_else(|| value.starts_with("vllm").then_some("vLLM"));
            setup.engine = engine.map(str::to_owned);
            settings::take(setup, name, value);
        }
        "random_input_len" | "input_len" => {
            setup.isl = figure();
            settings::take(setup, name, value);
        }
        "random_output_len" | "output_len" => {
            setup.osl = figure();
            settings::take(setup, name, value);
        }
        _ => {
            settings::take(setup, name, value);
        }
    }
}

/// The key that a label stands for.
fn key_of(label: &str) -> Option<String> {
    if let Some((_, key)) = LABELS.iter().find(|(known, _)| label == *known) {
        return Some((*key).to_owned());
    }
    if let Some(place) = label.strip_prefix("position ") {
        return place.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("spec_decode_acceptance_pct.{place}"));
    }
    let (statistic, rest) = label.strip_suffix("(ms)")?.trim().split_once(' ')?;
    let percentile = statistic.strip_prefix('p').is_some_and(|percent| percent.parse::<f64>().is_ok());
    if !percentile && !matches!(statistic, "mean" | "median" | "std" | "min" | "max") {
        return None;
    }
    let (probe, name) = match rest.strip_prefix("probe ") {
        Some(name) => ("probe_", name),
        None => ("", rest),
    };
    let (_, family) = FAMILIES.iter().find(|(known, _)| *known == name.trim())?;
    Some(format!("{probe}{statistic}_{family}_ms"))
}
