//! A snapshot of `/metrics` as text: vLLM, SGLang, TensorRT-LLM, llama-server, or any other program.
//!
//! In:  lines `name{labels} value`.  Out: one partial run for every run against that server. All figures are extras.
//! Not here: quantiles from buckets. Their bounds are coarse, and they count from the start of the server, not of a run.
//!
//! A file may hold one snapshot after the other. Of each family and its labels the last value counts. Counters and sums count from the start
//! of the server and include warm-up and other clients. So a mean from them is not a benchmark figure.
//!
//! Labels that are the same in all rows of a family, or that name machines, are dropped. Those that tell rows apart stay: the models of one
//! server. Rows that differ only in machines keep a number.

mod folded;

use std::borrow::Cow;
use std::collections::BTreeMap;

use self::folded::apart;
pub(super) use self::folded::folded;

use super::source_file::unreadable;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_model::{Extra, Setup};
use sparkbench_text::error::Error;
use sparkbench_text::prometheus::{Labels, sample};

/// See the module.
pub(super) struct Prometheus;

const RULE: &str = "prometheus";
const DERIVED: &str = "prometheus.derived";
/// Most rows that are kept.
const ROWS: usize = 4096;

const SINCE_START: &str = "since the server started, warm-up and other clients included";
const MEAN: &str = "mean since the server started, warm-up and other clients included";
const POOL: &str = "blocks times their size, but models with several kinds of layers hold fewer tokens";

/// Beginnings of families, engine.
const ENGINES: &[(&str, &str)] =
    &[("vllm:", "vLLM"), ("sglang:", "SGLang"), ("trtllm_", "TensorRT-LLM"), ("llamacpp:", "llama.cpp")];

/// Families whose name suggests another unit than they have.
const RATES: &[&str] = &["llamacpp:prompt_tokens_seconds", "llamacpp:predicted_tokens_seconds"];

/// Means that a server forms from its start, although they have the name of a rate or of a level.
const MEANS: &[&str] =
    &["llamacpp:prompt_tokens_seconds", "llamacpp:predicted_tokens_seconds", "llamacpp:n_busy_slots_per_decode"];
/// Counters of tokens whose last word is another.
const TOKENS: &[&str] = &["llamacpp:prompt_tokens_cached_total", "llamacpp:tokens_predicted_total"];

/// Last value of one row.
struct Row {
    labels: String,
    value: f64,
    line: u64,
}

impl Format for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn about(&self) -> About {
        About {
            tool: "any server with `/metrics`",
            versions: "text format 0.0.4 and OpenMetrics, with the names of vLLM, SGLang, TensorRT-LLM and llama-server of all versions",
            sign: "lines `# TYPE` and `name{labels} value`",
            reads: "last value of every family as an extra, means of histograms, settings in labels, no buckets",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        const LOOKED_AT: usize = 40;
        if !head.is_text() {
            return false;
        }
        let lines = || head.text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LOOKED_AT);
        let is_word = |line: &str| line.starts_with("# HELP ") || line.starts_with("# TYPE ");
        let known = |line: &str| ENGINES.iter().any(|(start, _)| line.starts_with(start));
        let described = lines().any(|line| line.starts_with("# TYPE ") || line.starts_with("# HELP "));
        let fits = |line: &str| is_word(line) || line.starts_with('#') || sample(line).is_some();
        let named = lines().next().is_some_and(known);
        // The last line of a head may be cut.
        (described || named)
            && lines().take(LOOKED_AT - 1).filter(|line| !fits(line)).count()
                <= usize::from(head.text.lines().count() < LOOKED_AT)
            && lines().any(|line| sample(line).is_some())
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut rows: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
        let (mut kept, mut buckets, mut beyond) = (0usize, 0u64, 0u64);
        let mut setup = Setup::default();
        let mut pool = None;
        let mut lines = file.lines(LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            let text = String::from_utf8_lossy(line.bytes);
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let Some(sample) = sample(text) else {
                if parsed.not_understood.len() < 20 {
                    parsed.not_understood.push(format!("line {}: \"{}\"", line.number, super::figure::excerpt(text)));
                }
                continue;
            };
            if let Some((_, engine)) = ENGINES.iter().find(|(start, _)| sample.name.starts_with(start)) {
                setup.engine = Some((*engine).to_owned());
            }
            if setup.model_id.is_none() {
                setup.model_id = sample.labels.get("model_name").and_then(|name| super::sheet::model_id(&name));
            }
            if sample.name.ends_with("cache_config_info") {
                pool = settings(sample.labels, &mut setup).map(|tokens| (tokens, line.number)).or(pool);
            }
            if sample.name.ends_with("_bucket") {
                buckets += 1;
                continue;
            }
            // When a counter was made is no measurement. A family of information has its words in labels.
            if sample.name.ends_with("_created") || sample.name.ends_with("_info") {
                continue;
            }
            let rows = rows.entry((sample.name.to_owned(), folded(sample.labels))).or_default();
            if let Some(row) = rows.iter_mut().find(|row| row.labels == sample.labels.0) {
                (row.value, row.line) = (sample.value, line.number);
            } else if kept < ROWS {
                kept += 1;
                rows.push(Row { labels: sample.labels.0.to_owned(), value: sample.value, line: line.number });
            } else {
                beyond += 1;
            }
        }
        if kept == 0 {
            return Err(Error::archive("no line is a sample").hint("the server may have answered with an error"));
        }
        if buckets > 0 {
            parsed.notes.push(format!("{buckets} buckets of histograms are not taken. Their sums and counts are"));
        }
        if beyond > 0 {
            parsed.notes.push(format!("{beyond} rows beyond the first {ROWS} are not taken"));
        }
        let mut extras = extras(file, &rows);
        if let Some((tokens, line)) = pool {
            extras.push(extra(
                file,
                "kv_cache_tokens of cache_config_info",
                "tokens",
                tokens,
                Some(POOL),
                (Some(line), DERIVED),
            ));
        }
        let model = setup.model_id.as_deref().and_then(super::nameless::short);
        let partial = PartialRun { join_role: JoinRole::WholeFolder, model, extras, setup, ..PartialRun::default() };
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// Every row, and the mean of every sum that has its count.
fn extras(file: &SourceFile<'_>, rows: &BTreeMap<(String, String), Vec<Row>>) -> Vec<Extra> {
    let mut extras = Vec::new();
    for ((name, words), list) in rows {
        let labels: Vec<Labels<'_>> = list.iter().map(|row| Labels(&row.labels)).collect();
        for (row, apart) in list.iter().zip(apart(&labels)) {
            if !row.value.is_finite() {
                continue;
            }
            let full = |name: &str| format!("{name}{words}{apart}");
            let counts = ["_total", "_sum", "_count"].iter().any(|end| name.ends_with(end));
            let why = if MEANS.contains(&name.as_str()) { Some(MEAN) } else { counts.then_some(SINCE_START) };
            extras.push(extra(file, &full(name), unit(name), row.value, why, (Some(row.line), RULE)));
            let Some(base) = name.strip_suffix("_sum") else { continue };
            let counts = rows.get(&(format!("{base}_count"), words.clone()));
            let count = counts.and_then(|list| list.iter().find(|other| other.labels == row.labels));
            if let Some(count) = count.filter(|count| count.value > 0.0) {
                let mean = row.value / count.value;
                extras.push(extra(
                    file,
                    &full(&format!("{base} mean")),
                    unit(base),
                    mean,
                    Some(MEAN),
                    (Some(row.line), DERIVED),
                ));
            }
        }
    }
    extras
}

fn extra(
    file: &SourceFile<'_>,
    name: &str,
    unit: &str,
    value: f64,
    why: Option<&'static str>,
    (line, rule): (Option<u64>, &'static str),
) -> Extra {
    Extra::number(name, unit, value, why, file.origin(line, None, rule))
}

/// The unit that the name of a family says.
fn unit(name: &str) -> &'static str {
    if RATES.contains(&name) {
        return "tok/s";
    }
    if TOKENS.contains(&name) {
        return "tokens";
    }
    let name = name.strip_suffix("_total").unwrap_or(name);
    if name.ends_with("_count") {
        return "";
    }
    let name = name.strip_suffix("_sum").unwrap_or(name);
    match name.rsplit(['_', ':']).next() {
        Some("seconds") => "s",
        Some("bytes") => "B",
        Some("tokens") => "tokens",
        _ => "",
    }
}

/// Settings of the cache, which vLLM prints as labels. Gives the tokens of the pool.
fn settings(labels: Labels<'_>, setup: &mut Setup) -> Option<f64> {
    let word = |name: &str| labels.get(name).map(Cow::into_owned).filter(|word| word != "None" && !word.is_empty());
    let number = |name: &str| word(name)?.parse::<f64>().ok().filter(|value| value.is_finite());
    setup.memory_utilisation = number("gpu_memory_utilization").or(setup.memory_utilisation);
    setup.kv_dtype = word("cache_dtype").or(setup.kv_dtype.take());
    setup.prefix_cache = word("enable_prefix_caching").map(|word| word == "True").or(setup.prefix_cache);
    for name in ["block_size", "num_gpu_blocks", "num_cpu_blocks", "swap_space_bytes", "sliding_window"] {
        if let Some(word) = word(name) {
            setup.more.insert(name.to_owned(), word);
        }
    }
    Some(number("num_gpu_blocks")? * number("block_size")?)
}

#[cfg(test)]
mod tests;
