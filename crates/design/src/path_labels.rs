//! Labels that people put into the names of files and folders: `native`, `fp8`, `conc32`, `isl1024`, `run3`.
//!
//! In:  a path below the folder that was given, and the model's id.  Out: [`PathLabels`], each with the part of the path it was taken from.
//! Not here: applying them (see `labelling`). They never override the content of a file.
//!
//! The name of the file is asked first, then the nearest folder, and so on upwards. A part that says two things of one label says nothing.

use std::sync::LazyLock;

use regex::Regex;

/// Parts of a path that are asked, from the file upwards: deeper trees are sorted by something else.
const PARTS: usize = 6;
/// Longest part of a path that is asked, bytes.
const LONGEST: usize = 255;
/// Larger numbers are dates, not repeats.
const REPEATS: u32 = 9_999;

/// Labels from a path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PathLabels {
    pub environment: Option<String>,
    pub engine: Option<String>,
    pub model: Option<String>,
    pub quantisation: Option<String>,
    pub batch: Option<f64>,
    pub request_rate: Option<f64>,
    pub isl: Option<f64>,
    pub osl: Option<f64>,
    pub parallel: Option<String>,
    pub repeat: Option<u32>,
}

/// Words as they are between separators, all lower case and joined by `_`, and the label they mean.
const ENVIRONMENTS: &[(&str, &str)] = &[
    ("native", "native"),
    ("bare_metal", "native"),
    ("baremetal", "native"),
    ("docker", "docker"),
    ("podman", "podman"),
    ("chroot", "chroot"),
    ("nspawn", "nspawn"),
    ("singularity", "singularity"),
    ("apptainer", "apptainer"),
    ("lxc", "lxc"),
    // Said of most of the above too: the more exact word counts.
    ("container", "container"),
    ("containers", "container"),
    ("containerized", "container"),
    ("containerised", "container"),
];

const ENGINES: &[(&str, &str)] = &[
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("trtllm", "TensorRT-LLM"),
    ("trt_llm", "TensorRT-LLM"),
    ("tensorrt_llm", "TensorRT-LLM"),
    ("tensorrtllm", "TensorRT-LLM"),
    ("llama_cpp", "llama.cpp"),
    ("llamacpp", "llama.cpp"),
    ("tgi", "TGI"),
    ("ollama", "Ollama"),
    ("lmdeploy", "LMDeploy"),
];

/// After the name of an engine these make it the name of a tool, which is run against any engine.
const TOOL_WORDS: &[&str] = &["bench", "benchmark", "benchmarks", "benchmarking", "multi", "throughput", "latency"];

/// A method that is more exact than the widths beside it comes first.
const QUANTISATIONS: &[(&str, &str)] = &[
    ("nvfp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("awq", "awq"),
    ("gptq", "gptq"),
    ("w4a16", "w4a16"),
    ("w8a8", "w8a8"),
    ("w8a16", "w8a16"),
    ("fp8", "fp8"),
    ("fp4", "fp4"),
    ("int8", "int8"),
    ("int4", "int4"),
    ("bf16", "bf16"),
    ("fp16", "fp16"),
    ("fp32", "fp32"),
];
/// How many of the first of these are methods, beside which a width adds nothing.
const METHODS: usize = 7;

#[expect(clippy::expect_used, reason = "patterns of this file, compiled by a test")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file is valid")
}

static GGUF: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"_(i?q[2-8](?:_(?:0|1|k(?:_(?:xs|s|m|l|xl))?|xxs|xs|s|m|nl))?)_"));
static NUMBERS: LazyLock<[(Field, Regex); 9]> = LazyLock::new(|| {
    [
        (Field::Batch, pattern(r"_(?:c|conc|concurrency|cc|bs|batch|batchsize|batch_size|users)_?(\d{1,6})_")),
        (Field::Isl, pattern(r"_(?:isl|in|input|input_len|inputlen|prompt)_?(\d{1,7})_")),
        (Field::Osl, pattern(r"_(?:osl|out|o|output|output_len|outputlen|gen)_?(\d{1,7})_")),
        (Field::Tensor, pattern(r"_tp_?(\d{1,3})_")),
        (Field::Pipeline, pattern(r"_pp_?(\d{1,2})_")),
        (Field::Data, pattern(r"_dp_?(\d{1,3})_")),
        (Field::Expert, pattern(r"_ep_?(\d{1,3})_")),
        (Field::Rate, pattern(r"_(?:qps|rps|rate)_?(\d{1,5}(?:p\d{1,3})?|inf)_")),
        (Field::Repeat, pattern(r"_(?:iter|iteration|run|rep|repeat|trial|attempt)_?(\d{1,6})_")),
    ]
});
/// A name and a size in parameters: words of at least three letters, joined by hyphens, that end in a number and `b`.
static MODEL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:^|[^a-z0-9])([a-z]{3}[a-z0-9.]{0,16}(?:-[a-z0-9.]{1,16}){0,6}?-?[0-9]{1,4}(?:[.][0-9]{1,3})?b",
        r"(?:-(?:instruct|it|chat|base|thinking|a[0-9]{1,3}b)){0,3})(?:[^a-z0-9]|$)"
    ))
});
/// Beginnings that are no names of models.
const NO_MODELS: &[&str] =
    &["run", "iter", "rep", "trial", "attempt", "batch", "bench", "test", "result", "size", "tokens"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Batch,
    Isl,
    Osl,
    Tensor,
    Pipeline,
    Data,
    Expert,
    Rate,
    Repeat,
}

/// Labels from a path, nearest part first.
pub fn of_path(path: &str) -> PathLabels {
    let mut said = PathLabels::default();
    for (depth, part) in path.rsplit('/').take(PARTS).enumerate() {
        if part.len() > LONGEST {
            continue;
        }
        let stem = if depth == 0 { without_extension(part) } else { part };
        let words = plain(stem);
        fill(&mut said.environment, environment(&words));
        fill(&mut said.engine, engine(&words));
        fill(&mut said.quantisation, quantisation(&words));
        fill(&mut said.model, model(stem));
        let mut parallel = Vec::new();
        for (field, pattern) in NUMBERS.iter() {
            let Some(number) = only_number(&words, pattern) else { continue };
            let value: Option<f64> = number.replace('p', ".").parse().ok();
            match field {
                Field::Batch => said.batch = said.batch.or(value),
                Field::Isl => said.isl = said.isl.or(value),
                Field::Osl => said.osl = said.osl.or(value),
                Field::Tensor => parallel.push(format!("tp{number}")),
                Field::Pipeline => parallel.push(format!("pp{number}")),
                Field::Data => parallel.push(format!("dp{number}")),
                Field::Expert => parallel.push(format!("ep{number}")),
                Field::Rate if number == "inf" => said.request_rate = said.request_rate.or(Some(f64::INFINITY)),
                Field::Rate => said.request_rate = said.request_rate.or(value),
                Field::Repeat => {
                    said.repeat = said.repeat.or_else(|| number.parse().ok().filter(|repeat| *repeat <= REPEATS));
                }
            }
        }
        // `pp512` beside nothing else is a test of llama-bench, not a pipeline.
        if parallel.first().is_some_and(|first| first.starts_with("tp") || first.starts_with("ep")) {
            fill(&mut said.parallel, Some(parallel.join(" ")));
        }
    }
    said
}

/// The quantisation that the name of a model says.
pub fn of_model(id: &str) -> Option<String> {
    if id.len() > LONGEST { None } else { quantisation(&plain(id)) }
}

/// An engine as it is spelled here, whatever its case and separators. Another name unchanged.
pub fn spelled(engine: &str) -> String {
    self::engine(&plain(engine)).unwrap_or_else(|| engine.to_owned())
}

impl PathLabels {
    /// The shape of the load, where the path says any of it: `isl-osl-cN`.
    pub fn workload(&self) -> Option<String> {
        let lengths = match (self.isl, self.osl) {
            (Some(isl), Some(osl)) => Some(format!("{isl}-{osl}")),
            (Some(isl), None) => Some(format!("in{isl}")),
            (None, Some(osl)) => Some(format!("out{osl}")),
            (None, None) => None,
        };
        let parts = [lengths, self.batch.map(|c| format!("c{c}")), self.request_rate.map(|rate| format!("r{rate}"))];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("-"))
    }
}

fn fill(ours: &mut Option<String>, found: Option<String>) {
    if ours.is_none() {
        *ours = found;
    }
}

/// `results.json.gz` without what says how it is written.
fn without_extension(name: &str) -> &str {
    const KNOWN: &[&str] = &["gz", "json", "jsonl", "csv", "txt", "log", "md", "yaml", "yml"];
    let mut stem = name;
    while let Some((rest, last)) = stem.rsplit_once('.') {
        if !KNOWN.contains(&last.to_ascii_lowercase().as_str()) {
            break;
        }
        stem = rest;
    }
    stem
}

/// Lower case, every sequence of anything but letters and digits one `_`, which is at both ends too.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('_');
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            out.push(letter.to_ascii_lowercase());
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    if !out.ends_with('_') {
        out.push('_');
    }
    out
}

/// Occurrences of a word, as the text before and after it.
fn places<'a>(words: &'a str, word: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let wanted = format!("_{word}_");
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + words.get(from..)?.find(&wanted)?;
        from = at + 1;
        Some((words.get(..at)?, words.get(at + wanted.len()..)?))
    })
}

fn environment(words: &str) -> Option<String> {
    let mut said: Vec<&str> = ENVIRONMENTS
        .iter()
        .filter(|(word, _)| places(words, word).any(|(before, after)| !is_backend(word, before, after)))
        .map(|(_, label)| *label)
        .collect();
    said.dedup();
    if said.len() > 1 {
        said.retain(|label| *label != "container" || said_native(words));
    }
    one(&said)
}

/// Whether `native` is part of what SGLang calls its own protocol: it names a file `sglang-native_1231_...`, by month and day.
fn is_backend(word: &str, before: &str, after: &str) -> bool {
    let day = after.split('_').find(|part| !part.is_empty()).unwrap_or_default();
    word == "native"
        && before.trim_end_matches('_').ends_with("sglang")
        && day.len() == 4
        && day.bytes().all(|byte| byte.is_ascii_digit())
}

/// Beside `native` the word `container` is the other side of a comparison and not another name of the same.
fn said_native(words: &str) -> bool {
    places(words, "native").next().is_some()
}

/// The one number of a pattern. None where it occurs with two. Neighbours share the separator between them.
fn only_number(words: &str, pattern: &Regex) -> Option<String> {
    let (mut number, mut from) = (None::<String>, 0);
    while let Some(found) = pattern.captures_at(words, from) {
        let (whole, own) = (found.get(0)?, found.get(1)?.as_str());
        if number.as_ref().is_some_and(|number| number != own) {
            return None;
        }
        number = Some(own.to_owned());
        from = whole.end() - 1;
    }
    number
}

/// As written: the pattern is of small letters, and small letters replace the others in place.
fn model(stem: &str) -> Option<String> {
    let small = stem.to_ascii_lowercase();
    let found = MODEL.captures(&small)?.get(1)?;
    let named = NO_MODELS.iter().all(|start| !found.as_str().starts_with(start));
    stem.get(found.range()).filter(|_| named).map(str::to_owned)
}

fn engine(words: &str) -> Option<String> {
    let mut said: Vec<&str> = Vec::new();
    for (word, label) in ENGINES {
        let named = places(words, word).any(|(_, after)| {
            let next = after.split('_').next().unwrap_or_default();
            !TOOL_WORDS.contains(&next)
        });
        if named && !said.contains(label) {
            said.push(label);
        }
    }
    one(&said)
}

fn quantisation(words: &str) -> Option<String> {
    if let Some(found) = GGUF.captures(words).and_then(|found| found.get(1)) {
        return Some(found.as_str().to_owned());
    }
    let of_weights = |word: &str| {
        places(words, word).any(|(before, after)| {
            // `fp8_kv` and `kv_cache_fp8` speak of the cache.
            let (last, first) = (before.rsplit('_').next(), after.split('_').next());
            !matches!(last, Some("kv" | "cache" | "kvcache")) && !matches!(first, Some("kv" | "kvcache"))
        })
    };
    let said: Vec<(usize, &str)> = QUANTISATIONS
        .iter()
        .enumerate()
        .filter(|(_, (word, _))| of_weights(word))
        .map(|(rank, (_, label))| (rank, *label))
        .collect();
    let methods: Vec<&str> = said.iter().filter(|(rank, _)| *rank < METHODS).map(|(_, label)| *label).collect();
    if methods.is_empty() { one(&said.iter().map(|(_, label)| *label).collect::<Vec<_>>()) } else { one(&methods) }
}

fn one(said: &[&str]) -> Option<String> {
    match said {
        [one] => Some((*one).to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
