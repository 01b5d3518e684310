//! Arguments of a benchmark as its console shows them: the dump of a Python namespace, or the command line itself.
//!
//! In:  one line.  Out: pairs of name and value, only of names that are known to be harmless.
//! Not here: what a setting means. A dump also holds addresses, headers, keys and paths, so only listed names leave this file.

use crate::serving::warm_up;

/// Names that are taken, with `_`.
const SAFE: &[&str] = &[
    "model",
    "tokenizer",
    "served_model_name",
    "backend",
    "dataset_name",
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "seed",
    "ignore_eos",
    "disable_ignore_eos",
    "num_warmups",
    "warmup_requests",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "use_beam_search",
    "logprobs",
    "goodput",
    "ramp_up_strategy",
    "ramp_up_start_rps",
    "ramp_up_end_rps",
    "apply_chat_template",
    "flush_cache",
    "disable_stream",
    "no_stream",
    "input_len",
    "output_len",
];

/// Those of them that have no value on a command line.
const SWITCHES: &[&str] = &[
    "ignore_eos",
    "disable_ignore_eos",
    "use_beam_search",
    "apply_chat_template",
    "flush_cache",
    "disable_stream",
    "no_stream",
];

/// Settings of a data set begin with its name. Only those of the one in use say anything.
const OF_DATASETS: &[&str] =
    &["random_mm_", "random_", "sonnet_", "sharegpt_", "prefix_repetition_", "custom_", "hf_", "spec_bench_", "gsp_"];

/// Kept settings of a data set: lengths and their spread, no paths.
const LENGTHS: &[&str] = &["_len", "_ratio", "_groups", "_prefixes", "_turns"];

/// Most pairs of one line.
const MOST: usize = 512;

/// Pairs of a line that shows arguments. Empty for any other.
pub(super) fn of_line(line: &str) -> Vec<(String, String)> {
    let mut pairs = match line.split_once("Namespace(") {
        Some((_, dump)) => of_dump(dump),
        None if is_command(line) => with_default_rate(line, of_command(line)),
        None => Vec::new(),
    };
    let dataset = pairs.iter().find(|(name, _)| name == "dataset_name").map(|(_, value)| value.replace('-', "_"));
    pairs.retain(|(name, value)| {
        let of_this = || match &dataset {
            Some(dataset) => dataset.starts_with(
                OF_DATASETS
                    .iter()
                    .find(|start| name.starts_with(*start))
                    .map_or("-", |start| start.trim_end_matches('_')),
            ),
            None => true,
        };
        let of_dataset = OF_DATASETS.iter().any(|start| name.starts_with(start));
        let is_safe =
            SAFE.contains(&name.as_str()) || (of_dataset && LENGTHS.iter().any(|end| name.ends_with(end)) && of_this());
        is_safe && !matches!(value.as_str(), "None" | "")
    });
    pairs
}

/// Both benchmarks send all requests at once where nobody asks for a rate: `--request-rate` is `inf` in vLLM's `benchmarks/serve.py` and in
/// SGLang's `bench_serving.py`. What a shell puts in may have asked.
fn with_default_rate(line: &str, mut pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    const RATES: &[&str] = &["request_rate", "ramp_up_strategy"];
    if !pairs.is_empty() && !line.contains("--request-rate") && !is_variable(line) {
        let asked = pairs.iter().any(|(name, _)| RATES.contains(&name.as_str()));
        pairs.extend((!asked).then(|| (RATES[0].to_owned(), "inf".to_owned())));
    }
    pairs
}

/// True for a command line of a serving benchmark. Its warnings name the program and an option too, but no model.
fn is_command(line: &str) -> bool {
    names_program(line) && ["--model", "--backend"].iter().any(|option| line.contains(option))
}

/// Whether a line names a serving benchmark.
pub(super) fn names_program(line: &str) -> bool {
    line.contains("bench")
        && ["bench serve", "bench_serving", "benchmark_serving"].iter().any(|name| line.contains(name))
}

/// The field by which the arguments of a line say that the run is a warm-up: `--metadata type=warmup`, `--tag warmup`.
pub(super) fn warm_up(line: &str) -> Option<String> {
    let says = |pair: &str| {
        let (field, value) = pair.split_once('=')?;
        let field = field.trim_matches(|letter: char| !letter.is_alphanumeric());
        warm_up::says_so(field, value).then(|| field.to_owned())
    };
    let pairs = match line.split_once("Namespace(") {
        Some((_, dump)) => of_dump(dump),
        None if is_command(line) => {
            let mut words = line.split_whitespace().skip_while(|word| *word != "--metadata").skip(1);
            let said = words.by_ref().take_while(|word| !word.starts_with("--")).find_map(says);
            if said.is_some() {
                return said;
            }
            of_command(line)
        }
        None => return None,
    };
    pairs.iter().find_map(|(name, value)| match name.as_str() {
        "metadata" => value.split(',').find_map(says),
        _ => warm_up::says_so(name, value).then(|| name.clone()),
    })
}

/// Whether a word is a whole option with a value, `--num-prompts`, as far as options are taken.
pub(super) fn takes_value(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--").map(|flag| flag.replace('-', "_")) else { return false };
    let of_dataset = OF_DATASETS.iter().any(|start| name.starts_with(start));
    (SAFE.contains(&name.as_str()) && !SWITCHES.contains(&name.as_str()))
        || (of_dataset && LENGTHS.iter().any(|end| name.ends_with(end)))
}

/// Whether a shell puts something else in the place of a value: `$MODEL`, `"${1}"`, `$(cat name)`. Nobody knows what it was.
fn is_variable(value: &str) -> bool {
    let dollar = value.match_indices('$').any(|(at, _)| {
        value.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || "_{(@*#?".contains(c)))
    });
    let percent = value.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')).is_some_and(|name| !name.is_empty());
    dollar || percent || value.contains('`')
}

/// `name=value, name='value', ...)`: values may hold brackets and quotes.
fn of_dump(dump: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = dump;
    while pairs.len() < MOST {
        let Some((name, after)) = rest.split_once('=') else { break };
        let (value, next) = value_of(after);
        pairs.push((name.trim_start_matches([',', ' ']).to_owned(), value));
        let Some(next) = next else { break };
        rest = next;
    }
    pairs
}

/// One value without its quotes, and the text behind it.
fn value_of(text: &str) -> (String, Option<&str>) {
    let (mut depth, mut quote, mut escaped) = (0usize, None, false);
    for (place, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{' | '<') => depth += 1,
            (None, ')' | ']' | '}' | '>') if depth > 0 => depth -= 1,
            (None, ',' | ')') if depth == 0 => {
                let value = text.get(..place).unwrap_or_default();
                return (bare(value), (letter == ',').then(|| text.get(place + 1..).unwrap_or_default()));
            }
            _ => {}
        }
    }
    // The line was cut off inside this value.
    (String::new(), None)
}

/// `--name value` and `--name=value`. What a shell would have put in is left out.
fn of_command(line: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    // The signs of shells for a command that goes on.
    let mut words = line.split_whitespace().filter(|word| !matches!(*word, "\\" | "`" | "^")).peekable();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, value),
            None => match words.next_if(|next| !next.starts_with("--")) {
                Some(value) => (flag, value),
                None => (flag, "True"),
            },
        };
        let value = bare(value.trim_end_matches(['`', '\\']));
        if pairs.len() < MOST && !is_variable(&value) {
            pairs.push((name.replace('-', "_"), value));
        }
    }
    pairs
}

fn bare(value: &str) -> String {
    value.trim().trim_matches(['\'', '"']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<String> {
        of_line(line).into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn a_dump_gives_its_harmless_settings_and_nothing_else() {
        let line = "Namespace(subparser='bench', dispatch_function=<function A.cmd at 0x72f>, seed=0, dataset_name='random', random_input_len=1024, \
                    random_range_ratio='0.9', random_mm_num_mm_items_range_ratio=0.0, random_mm_bucket_config={(256, 256, 1): 0.5}, sonnet_input_len=550, base_url='http://u:p@h:1', \
                    header=['x=secret'], host='spark-1', max_concurrency=None, model='org/a,b', request_rate=inf, api_key='k')";
        assert_eq!(
            shown(line),
            [
                "seed=0",
                "dataset_name=random",
                "random_input_len=1024",
                "random_range_ratio=0.9",
                "model=org/a,b",
                "request_rate=inf"
            ]
        );
        assert_eq!(shown("benchmark_args=Namespace(backend='sglang', tag=None)"), ["backend=sglang"]);
    }

    #[test]
    fn arguments_that_call_a_run_a_warm_up_are_heard() {
        for (line, said) in [
            ("Namespace(backend='vllm', metadata=['engine=v1', 'type=warmup'], seed=0)", Some("type")),
            ("benchmark_args=Namespace(backend='sglang', tag='warm-up')", Some("tag")),
            ("vllm bench serve --model m --metadata run=1 phase=warmup --seed 1", Some("phase")),
            ("python -m sglang.bench_serving --backend sglang --tag warmup", Some("tag")),
            ("Namespace(backend='vllm', metadata=['type=measured'], num_warmups=8)", None),
            ("vllm bench serve --model warmup --metadata a=b", None),
            ("--metadata type=warmup", None),
        ] {
            assert_eq!(warm_up(line).as_deref(), said, "{line}");
        }
    }

    #[test]
    fn a_command_line_gives_the_same() {
        let line = "docker exec x vllm bench serve --backend openai-chat --base-url http://localhost:8000 --model org/m --ignore-eos \
                    --dataset-name sharegpt --random-input-len 4000 --request-rate=0.3";
        assert_eq!(
            shown(line),
            ["backend=openai-chat", "model=org/m", "ignore_eos=True", "dataset_name=sharegpt", "request_rate=0.3"]
        );
        let without = "vllm bench serve --backend vllm --model org/m --num-prompts 10";
        assert_eq!(shown(without), ["backend=vllm", "model=org/m", "num_prompts=10", "request_rate=inf"]);
        assert!(shown("vllm serve --model org/m").is_empty());
        let warning =
            "WARNING: vllm bench serve no longer sets temperature==0. For the old behavior, include --temperature=0.";
        assert!(shown(warning).is_empty());
    }

    #[test]
    fn what_a_shell_puts_in_is_unknown() {
        for value in [
            "$MODEL",
            "${MODEL}",
            "\"$1\"",
            "'$MODEL'",
            "org/$NAME",
            "$(cat m)",
            "`cat m`",
            "%MODEL%",
            "$env:MODEL",
            "\"${M:-x}\"",
        ] {
            let line = format!("$ vllm bench serve --backend vllm --model {value} --num-prompts=$N --ignore-eos \\");
            assert_eq!(shown(&line), ["backend=vllm", "ignore_eos=True"], "{value}");
        }
        let plain = shown("vllm bench serve --model org/a$ --temperature 0");
        assert_eq!(plain, ["model=org/a$", "temperature=0", "request_rate=inf"]);
    }

    #[test]
    fn a_dump_that_is_cut_off_anywhere_gives_what_is_whole() {
        let line = "Namespace(seed=0, model='org/m', goodput=['ttft:5'], top_p=1.0)";
        for end in 0..=line.len() {
            assert!(of_line(line.get(..end).unwrap()).len() <= 4);
        }
        assert_eq!(shown("Namespace(seed=0, model='org/"), ["seed=0"]);
    }
}
