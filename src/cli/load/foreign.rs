//! Options of other load clients that are typed by habit, and what to write here.
//!
//! In:  the arguments behind `load`, the options that it knows.  Out: one message that names all unknown ones, each with its remedy.
//! Not here: options that mean the same here under the same name (see `load::settings`).
//!
//! Whoever pastes a line gets everything that is wrong with it at once. The clients are those of vLLM, SGLang and llama-benchy, and
//! GuideLLM and AIPerf, as of 2026.

use std::collections::BTreeSet;

use sparkbench_text::error::Error;
use sparkbench_text::nearest::nearest;

/// Options by their meaning, and what to write in their place.
const FOREIGN: &[(&[&str], &str)] = &[
    (&["host", "port", "base-url", "endpoint-url", "target", "server", "api-base"], "--url http://HOST:PORT"),
    (
        &["backend", "endpoint-type", "service-kind", "request-type", "framework"],
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
        ],
        "--json FILE, or --archive DIR for every request",
    ),
    (&["disable-tqdm", "no-progress", "ui"], "nothing, or -q"),
    (
        &["trust-remote-code", "tokenizer-mode", "tokenizer-revision", "tokenizer-trust-remote-code"],
        "nothing: no code of a model is ever run",
    ),
    (&["processor"], "--tokenizer FILE, the file tokenizer.json of the model"),
    (&["served-model-name", "model-names"], "--model NAME"),
    (&["api-key", "openai-api-key", "backend-kwargs"], "--api-key-env NAME, the variable that holds the key"),
    (&["num-warmups", "warmup-requests", "warmup-request-count", "num-warmup-requests"], "--warmup N"),
    (&["ready-check-timeout-sec"], "--wait 90s"),
    (&["random-range-ratio"], "a range as the length: --isl 100-200 and --osl 100-200"),
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
    (&["random-prefix-len", "sonnet-prefix-len", "prefix-len", "depth", "prefix-prompt-length"], "--prefix-tokens N"),
    (&["num-requests", "request-count", "max-requests", "num-prompt"], "--requests N"),
    (&["max-seconds", "benchmark-duration", "time-limit"], "--duration S"),
    (&["concurrent", "concurrency-range", "num-concurrent", "max-concurrent-requests"], "--concurrency N"),
    (&["rate-type", "profile"], "--concurrency N for a closed loop, or --rate R for an open one"),
    (&["qps", "request-per-second", "rps"], "--rate R"),
    (
        &["ramp-up-strategy", "ramp-up-start-rps", "ramp-up-end-rps"],
        "--ramp S with --ramp-from R, and --ramp-exponential",
    ),
    (&["runs", "num-runs", "repeat"], "--repeats N"),
    (&["ignore-eos"], "nothing: an exact length is asked for by itself. Or --exact ignore-eos"),
    (&["disable-ignore-eos"], "--exact off"),
    (&["extra-request-body", "extra-inputs", "sampling-params"], "--extra-body '{\"top_p\": 0.9}'"),
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
        &["data", "dataset", "custom-dataset", "input-dataset"],
        "--prompts FILE, or --dataset-name sharegpt with --dataset-path FILE",
    ),
    (&["public-dataset", "hf-name", "hf-split", "hf-subset"], "--dataset-path FILE. Nothing is downloaded"),
    (&["max-error-rate", "max-global-error-rate"], "--max-errors N, the number of requests in a row that may fail"),
];

/// The message about everything that `load` does not know among `arguments`. Absent where it knows all of it.
pub(crate) fn unknown(arguments: impl Iterator<Item = String>, known: &BTreeSet<String>) -> Option<Error> {
    let mut names: Vec<String> = Vec::new();
    // Behind `--` nothing is an option.
    for argument in arguments.take_while(|argument| argument != "--") {
        let Some(name) = argument.strip_prefix("--") else { continue };
        let name = name.split('=').next().unwrap_or_default();
        // Underscores are how some write it.
        if !name.is_empty() && !known.contains(name) && !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    let shown: Vec<String> = names.iter().map(|name| format!("--{}", cleaned(name))).collect();
    let what = match shown.as_slice() {
        [] => return None,
        [only] => format!("load has no option {only}"),
        [init @ .., last] => format!("load has no options {} and {last}", init.join(", ")),
    };
    let mut remedies: Vec<(Vec<&str>, String)> = Vec::new();
    for (name, shown) in names.iter().zip(&shown) {
        let remedy = remedy(name, known);
        match remedies.iter_mut().find(|(_, other)| *other == remedy) {
            Some((several, _)) => several.push(shown),
            None => remedies.push((vec![shown], remedy)),
        }
    }
    let lines: Vec<String> =
        remedies.iter().map(|(options, remedy)| format!("for {} write {remedy}", options.join(", "))).collect();
    Some(Error::usage(what).hint(lines.join("\n         ")))
}

fn remedy(name: &str, known: &BTreeSet<String>) -> String {
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
    fn no_option_has_two_remedies() {
        let mut seen = BTreeSet::new();
        assert!(FOREIGN.iter().flat_map(|(names, _)| *names).all(|name| seen.insert(name)));
    }
}
