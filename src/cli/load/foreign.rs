//! Options of other load clients that are typed by habit, and what to write here.
//!
//! In:  the arguments behind `load`, the options that it knows.  Out: one message that names all unknown ones, each with its remedy.
//! Not here: options that mean the same here under the same name (see `load::settings`).
//!
//! Whoever pastes a line gets everything that is wrong with it at once: its program, its options, and values that have another form here. The
//! clients are those of vLLM, SGLang and TensorRT-LLM, llama-benchy, GuideLLM, genai-bench, AIPerf and GenAI-Perf, as of 2026.

use std::collections::BTreeSet;

use sparkbench_text::error::Error;
use sparkbench_text::nearest::nearest;

/// Options by their meaning, and what to write in their place.
const FOREIGN: &[(&[&str], &str)] = &[
    (&["host", "port", "base-url", "endpoint-url", "target", "server", "api-base", "u"], "--url http://HOST:PORT"),
    (
        &[
            "backend",
            "endpoint-type",
            "service-kind",
            "request-type",
            "framework",
            "api-backend",
            "backend-type",
            "task",
        ],
        "nothing, or --endpoint chat or completions for the API",
    ),
    (&["custom-endpoint"], "--path PATH"),
    (
        &["percentile-metrics", "metric-percentiles", "selected-percentiles", "metrics"],
        "nothing: every percentile is measured, and --json has them all",
    ),
    (
        &[
            "result-dir",
            "result-filename",
            "save-result",
            "save-detailed",
            "append-result",
            "output-file",
            "output-path",
            "output-dir",
            "artifact-dir",
            "save-total-throughput",
            "outputs",
            "output-details",
            "profile-export-file",
            "profile-export-prefix",
            "experiment-base-dir",
            "experiment-folder-name",
            "format",
        ],
        "--json FILE, or --archive DIR for every request",
    ),
    (&["disable-tqdm", "no-progress", "ui", "disable-progress", "disable-console-outputs"], "nothing, or -q"),
    (
        &["label", "metadata", "server-engine", "server-version", "server-gpu-type", "server-gpu-count"],
        "nothing: the engine and its version are asked of the server. Other labels go into labels.toml beside an archive",
    ),
    (
        &["gpu-telemetry", "server-metrics", "plot-timeline", "plot-dataset-stats", "generate-plots"],
        "nothing, or --archive DIR, which has telemetry and the metrics of the server",
    ),
    (
        &["workers-max", "record-processors", "num-workers", "max-threads", "tokenize-prompt", "tokenize-on-client"],
        "nothing: one process sends everything, and says whether it was the limit",
    ),
    (&["no-test-input", "skip-coherence", "skip-test"], "nothing"),
    (&["latency-mode"], "nothing: nothing is subtracted from a latency"),
    (&["enable-prefix-caching"], "--cache natural, or --cache primed"),
    (&["book-url", "dataset-config"], "nothing: texts are drawn by --seed. Or --prompts FILE"),
    (
        &["stability-percentage", "measurement-interval", "measurement-mode", "convergence-metric"],
        "--duration S, or --until ttft_p99=5% for a precision",
    ),
    (&["fixed-schedule", "custom-dataset-type", "mooncake-trace", "trace-file"], "--trace FILE for a Mooncake trace"),
    (&["random-seed"], "--seed N"),
    (
        &["trust-remote-code", "tokenizer-mode", "tokenizer-revision", "tokenizer-trust-remote-code"],
        "nothing: no code of a model is ever run",
    ),
    (
        &["processor", "processor-args", "model-tokenizer"],
        "--tokenizer FILE, the file tokenizer.json of the model, or nothing: lengths are corrected by the counts of the server",
    ),
    (&["served-model-name", "model-names", "api-model-name", "m"], "--model NAME"),
    (
        &["api-key", "openai-api-key", "backend-kwargs", "backend-args", "model-api-key"],
        "--api-key-env NAME, the variable that holds the key",
    ),
    (
        &[
            "num-warmups",
            "warmup-requests",
            "warmup-request-count",
            "num-warmup-requests",
            "warmup-ratio",
            "warmup-percent",
        ],
        "--warmup N",
    ),
    (&["cooldown-percent", "cooldown-ratio", "benchmark-grace-period"], "--cooldown-cut S, or --drain S"),
    (&["ready-check-timeout-sec"], "--wait 90s"),
    (
        &[
            "random-range-ratio",
            "isl-stddev",
            "osl-stddev",
            "synthetic-input-tokens-stddev",
            "output-tokens-stddev",
            "prompt-tokens-stdev",
        ],
        "a distribution as the length: --isl 100-200 or --osl normal:128,16",
    ),
    (&["output-tokens-mean-deterministic"], "nothing: an exact length is asked for by itself"),
    (
        &["traffic-scenario"],
        "--isl and --osl: D(100,200) is --isl 100 --osl 200, N(100,10)/(50,5) is --isl normal:100,10 --osl normal:50,5",
    ),
    (
        &[
            "random-input",
            "input-len",
            "pp",
            "synthetic-input-tokens-mean",
            "prompt-tokens",
            "sonnet-input-len",
            "sharegpt-context-len",
        ],
        "--isl TOKENS",
    ),
    (
        &[
            "random-output",
            "output-len",
            "tg",
            "output-tokens-mean",
            "output-tokens",
            "sonnet-output-len",
            "hf-output-len",
            "custom-output-len",
        ],
        "--osl TOKENS",
    ),
    (
        &[
            "random-prefix-len",
            "sonnet-prefix-len",
            "prefix-len",
            "depth",
            "prefix-prompt-length",
            "gsp-system-prompt-len",
        ],
        "--prefix-tokens N",
    ),
    (&["gsp-num-groups", "num-prefix-prompts", "prefix-prompt-pool-size"], "--prefix-groups N"),
    (&["gsp-question-len"], "--isl TOKENS, the shared start included"),
    (&["gsp-output-len"], "--osl TOKENS"),
    (&["gsp-prompts-per-group", "num-dataset-entries"], "--requests N for all groups together"),
    (
        &["num-requests", "request-count", "max-requests", "num-prompt", "max-requests-per-run", "num-queries"],
        "--requests N",
    ),
    (&["max-seconds", "benchmark-duration", "time-limit"], "--duration S"),
    (&["max-time-per-run"], "--duration S, in seconds and not in minutes"),
    (
        &["concurrent", "concurrency-range", "num-concurrent", "max-concurrent-requests", "num-concurrency"],
        "--concurrency N. A list is a sweep: --concurrency 1,2,4",
    ),
    (&["conversation-num", "session-concurrency", "num-sessions"], "--conversations N, and --num-clients N at a time"),
    (&["conversation-turn-mean", "session-turns-mean"], "--turns N"),
    (&["request-rate-mode", "arrival-pattern"], "--arrival poisson, constant or gamma"),
    (&["rampup", "rampup-duration", "spawn-rate"], "--ramp S"),
    (&["rate-type", "profile"], "--concurrency N for a closed loop, or --rate R for an open one"),
    (&["qps", "request-per-second", "rps"], "--rate R"),
    (
        &["ramp-up-strategy", "ramp-up-start-rps", "ramp-up-end-rps"],
        "--ramp S with --ramp-from R, and --ramp-exponential",
    ),
    (&["runs", "num-runs", "repeat"], "--repeats N"),
    (&["ignore-eos"], "nothing: an exact length is asked for by itself. Or --exact ignore-eos"),
    (&["disable-ignore-eos"], "--exact off"),
    (
        &["extra-request-body", "extra-inputs", "sampling-params", "additional-request-params"],
        "--extra-body '{\"top_p\": 0.9}'",
    ),
    (
        &["top-p", "top-k", "min-p", "frequency-penalty", "presence-penalty", "repetition-penalty"],
        "--extra-body '{\"top_p\": 0.9}'",
    ),
    (&["streaming", "stream"], "nothing: every request is streamed"),
    (
        &["disable-stream", "no-stream"],
        "nothing: an answer is always streamed, because without a stream there is no TTFT",
    ),
    (&["apply-chat-template", "skip-chat-template"], "nothing, or --endpoint chat or completions"),
    (&["flush-cache", "no-cache"], "--cache cold, which is the default"),
    (
        &["data", "dataset", "custom-dataset", "input-dataset", "data-args"],
        "--isl and --osl for lengths, --prompts FILE, or --dataset-name sharegpt with --dataset-path FILE",
    ),
    (&["public-dataset", "hf-name", "hf-split", "hf-subset"], "--dataset-path FILE. Nothing is downloaded"),
    (&["max-error-rate", "max-global-error-rate"], "--max-errors N, the number of requests in a row that may fail"),
];

/// First words of the command lines of other clients.
const PROGRAMS: &[&str] = &[
    "vllm",
    "vllm-bench",
    "sglang",
    "guidellm",
    "aiperf",
    "genai-perf",
    "genai-bench",
    "llama-benchy",
    "trtllm-bench",
    "python",
    "python3",
    "uv",
    "uvx",
];

/// Data sets by the names of other clients, and what to write in their place.
const DATA_SETS: &[(&[&str], &str)] = &[
    (
        &["generated-shared-prefix", "prefix-repetition"],
        "--prefix-tokens N with --prefix-groups N, and --isl with the shared start included",
    ),
    (&["random-ids"], "--dataset-name random, and --token-ids where prompts are to be sent as ids"),
    (&["custom", "openai", "image", "spec-bench"], "--prompts FILE, one prompt a line as JSON"),
];

/// Options whose several values are a list here.
const LISTS: &[&str] = &["concurrency", "rate"];

/// A part of the line, and what to write in its place.
struct Finding {
    shown: String,
    remedy: String,
    /// Not an option that `load` has under its name.
    unknown: bool,
}

/// The message about everything that `load` does not know among `arguments`. Absent where it knows all of it.
pub(crate) fn unknown(arguments: impl Iterator<Item = String>, known: &BTreeSet<String>) -> Option<Error> {
    // Behind `--` nothing is an option.
    let arguments: Vec<String> = arguments.take_while(|argument| argument != "--").collect();
    let program = program(&arguments);
    let mut findings: Vec<Finding> = Vec::new();
    let rest = arguments.get(program..).unwrap_or_default();
    for (at, argument) in rest.iter().enumerate() {
        let Some((name, own)) = option(argument) else { continue };
        let behind: Vec<&str> =
            rest.iter().skip(at + 1).map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
        let values: Vec<&str> = own.into_iter().chain(behind).collect();
        let found = if known.contains(name) {
            value_remedy(name, &values).map(|(shown, remedy)| Finding { shown, remedy, unknown: false })
        } else {
            let dashes = if name.len() == 1 { "-" } else { "--" };
            Some(Finding { shown: format!("{dashes}{}", cleaned(name)), remedy: remedy(name, known), unknown: true })
        };
        findings.extend(found.filter(|one| findings.iter().all(|other| other.shown != one.shown)));
    }
    let words = cleaned(&arguments.get(..program).unwrap_or_default().join(" "));
    let unknown: Vec<&str> = findings.iter().filter(|one| one.unknown).map(|one| one.shown.as_str()).collect();
    let what = match (unknown.as_slice(), findings.first()) {
        ([only], _) => format!("load has no option {only}"),
        ([init @ .., last], _) => format!("load has no options {} and {last}", init.join(", ")),
        ([], Some(first)) => format!("load does not take {}", first.shown),
        ([], None) if words.is_empty() => return None,
        ([], None) => format!("'{words}' is the command of another client"),
    };
    let mut remedies: Vec<(Vec<&str>, &str)> = Vec::new();
    if !words.is_empty() {
        remedies.push((vec![&words], "nothing: the options come right behind 'sparkbench load'"));
    }
    for Finding { shown, remedy, .. } in &findings {
        match remedies.iter_mut().find(|(_, other)| other == remedy) {
            Some((several, _)) => several.push(shown),
            None => remedies.push((vec![shown], remedy)),
        }
    }
    let lines: Vec<String> =
        remedies.iter().map(|(options, remedy)| format!("for {} write {remedy}", options.join(", "))).collect();
    Some(Error::usage(what).hint(lines.join("\n         ")))
}

/// Number of the first words that start another client, as in `vllm bench serve` or `python3 -m sglang.bench_serving`.
fn program(arguments: &[String]) -> usize {
    let first = arguments.first().map_or("", String::as_str);
    let name = first.rsplit('/').next().unwrap_or_default();
    if !PROGRAMS.contains(&name) && !name.ends_with(".py") {
        return 0;
    }
    let module = name.starts_with("python") && arguments.get(1).is_some_and(|word| word == "-m");
    let from = if module { 2 } else { 1 };
    // An address may hold a password.
    let plain = |word: &&String| !word.starts_with('-') && !word.contains([':', '@']);
    from + arguments.iter().skip(from).take_while(plain).count()
}

/// Name of an option and the value behind its `=`. Of those with one dash only the ones that other clients have.
fn option(argument: &str) -> Option<(&str, Option<&str>)> {
    let text = match argument.strip_prefix("--") {
        Some(text) => text,
        None => argument.strip_prefix('-').filter(|name| ["m", "u"].contains(name))?,
    };
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    (!name.is_empty()).then_some((name, value))
}

/// What to write for values of a known option that have another form here.
fn value_remedy(name: &str, values: &[&str]) -> Option<(String, String)> {
    let numbers = || values.iter().all(|value| value.parse::<f64>().is_ok());
    match (name, values) {
        ("dataset-name", [value, ..]) if !["random", "sharegpt"].contains(value) => {
            let meant = value.replace('_', "-").to_ascii_lowercase();
            let write = DATA_SETS.iter().find(|(names, _)| names.contains(&meant.as_str())).map(|(_, write)| *write);
            let write = write.unwrap_or("--prompts FILE, or --isl and --osl for drawn texts. Nothing is downloaded");
            Some((format!("--{name} {}", cleaned(value)), write.to_owned()))
        }
        (_, [_, _, ..]) if LISTS.contains(&name) && numbers() => {
            Some((format!("--{name} {}", values.join(" ")), format!("--{name} {}", values.join(","))))
        }
        _ => None,
    }
}

fn remedy(name: &str, known: &BTreeSet<String>) -> String {
    // Underscores are how some write it.
    let meant = name.replace('_', "-").to_ascii_lowercase();
    if known.contains(&meant) {
        return format!("--{meant}");
    }
    if let Some((_, write)) = FOREIGN.iter().find(|(names, _)| names.contains(&meant.as_str())) {
        return (*write).to_owned();
    }
    match nearest(&meant, known.iter().map(String::as_str)) {
        Some(near) => format!("--{near}, if that is meant. 'sparkbench load --help' lists all options"),
        None => "nothing. 'sparkbench load --help' lists all options".to_owned(),
    }
}

/// A name as it may be shown.
fn cleaned(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<(String, String)> {
        let known = ["url", "host-name", "osl", "num-prompts", "max-concurrency", "concurrency"];
        let known = known.into_iter().map(str::to_owned).collect();
        let error = unknown(line.split(' ').map(str::to_owned), &known)?;
        Some((error.what, error.hint.unwrap_or_default()))
    }

    #[test]
    fn all_unknown_options_of_a_line_are_in_one_message_each_with_what_to_write() {
        let (what, hint) = said(
            "--host 127.0.0.1 --port 8000 --num-prompts 2 --percentile-metrics=ttft --max_concurrency 4 --num-prompd 3",
        )
        .unwrap();
        assert_eq!(
            what,
            "load has no options --host, --port, --percentile-metrics, --max_concurrency and --num-prompd"
        );
        let lines: Vec<&str> = hint.lines().map(str::trim).collect();
        assert_eq!(lines[0], "for --host, --port write --url http://HOST:PORT");
        assert!(lines[1].starts_with("for --percentile-metrics write nothing: every percentile is measured"), "{hint}");
        assert_eq!(lines[2], "for --max_concurrency write --max-concurrency");
        assert!(lines[3].starts_with("for --num-prompd write --num-prompts, if that is meant"), "{hint}");
    }

    #[test]
    fn a_line_without_unknown_options_has_no_message() {
        for line in ["--url x --osl=5", "localhost:8000", "--url x -- --whatever", ""] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn the_program_of_a_pasted_line_and_values_of_another_form_are_named_too() {
        let (what, hint) = said("vllm bench serve --osl 5 --base-url x").unwrap();
        assert_eq!(what, "load has no option --base-url");
        assert!(hint.starts_with("for vllm bench serve write nothing"), "{hint}");
        for line in ["python3 -m sglang.bench_serving --osl 5", "benchmarks/benchmark_serving.py", "uvx llama-benchy"] {
            assert!(said(line).unwrap().0.ends_with("is the command of another client"), "{line}");
        }
        let (what, hint) = said("--concurrency 1 2 4 --osl 5").unwrap();
        assert_eq!(what, "load does not take --concurrency 1 2 4");
        assert_eq!(hint, "for --concurrency 1 2 4 write --concurrency 1,2,4");
        let (what, hint) = said("-m Qwen/Qwen3-8B -u localhost:8000").unwrap();
        assert_eq!(what, "load has no options -m and -u");
        assert_eq!(hint.lines().count(), 2, "{hint}");
        // A number below zero is no option.
        assert_eq!(said("--osl -1"), None);
    }

    #[test]
    fn no_option_has_two_remedies() {
        let mut seen = BTreeSet::new();
        assert!(FOREIGN.iter().flat_map(|(names, _)| *names).all(|name| seen.insert(name)));
    }
}
