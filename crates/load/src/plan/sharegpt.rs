//! Prompts of a list of conversations, as the data set `sharegpt` of `vllm bench serve` and of SGLang's `bench_serving` means them.
//!
//! In:  text of the file, a seed, the wanted number, a counter of tokens.  Out: [`Prompts`], and what was left out.
//! Not here: conversations with all their turns (see `chat`), reading the file (see `input`).
//!
//! The first two turns of a conversation are a prompt and its answer. The answer is not sent: its length is that of the answer to come.
//! Conversations are drawn by the seed, and the bounds are those of vLLM, so that the same file gives the same kind of load.

use std::path::Path;

use super::prompts::{Ask, Line, Prompts, bare};
use crate::chat::faults::Faults;
use crate::chat::recorded;
use sparkbench_archive::shown;
use sparkbench_stats::random::{Stream, job_base};
use sparkbench_text::error::Error;

/// Prompts by default: the number of vLLM's and SGLang's clients.
pub(crate) const MOST: u64 = 1000;
/// Shortest prompt, and shortest answer where the recorded one counts, tokens.
const SHORTEST: u32 = 4;
/// Longest prompt, tokens.
const PROMPT_MOST: u32 = 1024;
/// Longest prompt and answer together, tokens.
const BOTH_MOST: u32 = 2048;

/// Requirements on the prompts.
pub(crate) struct Wanted<'a> {
    /// Of the draw.
    pub seed: u64,
    /// Prompts at most.
    pub most: u64,
    /// Length of every answer, where it is given and the recorded one does not count.
    pub osl: Option<u32>,
    /// Tokens of a text, and whether they are counted by the model's tokenizer.
    pub count: &'a dyn Fn(&str) -> Result<u32, Error>,
    /// See above. Otherwise they are estimated.
    pub exact: bool,
}

/// Whether a text is a list of conversations, or lines of them: neither is a file of prompts.
pub(crate) fn is_one(text: &str) -> bool {
    let text = text.trim_start();
    match text.strip_prefix('[') {
        Some(rest) => rest.trim_start().starts_with('{'),
        None => text.starts_with('{') && text.lines().next().is_some_and(|line| line.contains("\"conversations\"")),
    }
}

/// Draws the prompts. The second value is for people: what was left out, and who counted.
///
/// # Errors
/// When the file holds faults, or no conversation that fits.
pub(crate) fn parse(path: &Path, text: &str, wanted: &Wanted<'_>) -> Result<(Prompts, Vec<String>), Error> {
    let mut faults = Faults::default();
    let mut pairs = recorded::first_turns(text, &mut faults);
    faults.into_result(path, "conversations")?;
    let found = pairs.len();
    let mut stream = Stream::new(job_base(wanted.seed, "load|sharegpt"), 0);
    let (mut lines, mut left_out) = (Vec::new(), 0_u64);
    while !pairs.is_empty() && (lines.len() as u64) < wanted.most {
        let pair = pairs.swap_remove(stream.index(pairs.len()));
        let Some((prompt, answer)) = pair.said else {
            left_out += 1;
            continue;
        };
        let isl = (wanted.count)(&prompt)?;
        let osl = wanted.osl.map_or_else(|| (wanted.count)(&answer), Ok)?;
        let short = isl < SHORTEST || wanted.osl.is_none() && osl < SHORTEST;
        if short || isl > PROMPT_MOST || isl.saturating_add(osl) > BOTH_MOST {
            left_out += 1;
            continue;
        }
        let osl = if wanted.osl.is_some() { None } else { Some(osl) };
        lines.push(Line { number: pair.line as u64, ask: Ask::Text(bare(&prompt)), osl });
    }
    if lines.is_empty() {
        return Err(Error::usage(format!("none of the {found} conversations in '{}' fits", shown(path))).hint(format!(
            "a conversation needs two turns of at least {SHORTEST} tokens, {PROMPT_MOST} of a prompt and {BOTH_MOST} of both at most. \
             To send whole conversations, use --input-file"
        )));
    }
    let mut notes =
        vec![format!("prompts are the first turns of {} of {found} conversations, drawn by the seed", lines.len())];
    if left_out > 0 {
        notes.push(format!(
            "{left_out} conversations drawn were left out: fewer than two turns or {SHORTEST} tokens, over {PROMPT_MOST} of a prompt or \
             {BOTH_MOST} of both"
        ));
    }
    if !wanted.exact {
        notes.push("lengths of recorded texts are estimated, count them with --tokenizer".to_owned());
    }
    Ok((Prompts(lines), notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word is a token.
    fn words(text: &str) -> Result<u32, Error> {
        Ok(text.split_whitespace().count() as u32)
    }

    fn wanted(most: u64, osl: Option<u32>) -> Wanted<'static> {
        Wanted { seed: 1, most, osl, count: &words, exact: true }
    }

    fn file(pairs: &[(&str, &str)]) -> String {
        let list: Vec<_> = pairs
            .iter()
            .map(|(prompt, answer)| {
                serde_json::json!({ "id": "same", "conversations": [
                    { "from": "human", "value": prompt }, { "from": "gpt", "value": answer }, { "from": "human", "value": "more" },
                ] })
            })
            .collect();
        serde_json::to_string_pretty(&list).unwrap()
    }

    #[test]
    fn the_first_two_turns_are_the_prompt_and_the_length_of_its_answer() {
        let text = file(&[("one two three four", "a b c d e"), ("five six seven eight", "a b c d e f")]);
        assert!(is_one(&text));
        let (Prompts(mut lines), notes) = parse(Path::new("s.json"), &text, &wanted(MOST, None)).unwrap();
        lines.sort_by_key(|line| line.number);
        assert_eq!(lines[0], Line { number: 2, ask: Ask::Text("one two three four".into()), osl: Some(5) });
        assert_eq!((lines.len(), lines[1].osl), (2, Some(6)));
        assert_eq!(notes, ["prompts are the first turns of 2 of 2 conversations, drawn by the seed"]);
    }

    #[test]
    fn bounds_are_those_of_vllm_and_a_given_length_wins_over_the_recorded_one() {
        let long = "w ".repeat(1025);
        let many = "w ".repeat(2045);
        let four = "a b c d";
        let text = file(&[("a b c", four), (four, "a b c"), (&long, four), (four, &many), (four, "a b c d e")]);
        let (Prompts(lines), notes) = parse(Path::new("s.json"), &text, &wanted(MOST, None)).unwrap();
        assert_eq!(lines.iter().map(|line| line.osl).collect::<Vec<_>>(), [Some(5)]);
        assert!(notes[1].starts_with("4 conversations drawn were left out"), "{notes:?}");
        let (Prompts(lines), _) = parse(Path::new("s.json"), &text, &wanted(MOST, Some(64))).unwrap();
        assert_eq!(lines.iter().map(|line| line.osl).collect::<Vec<_>>(), [None; 3]);
    }

    #[test]
    fn the_seed_draws_and_the_number_bounds() {
        let prompts: Vec<String> = (0..50).map(|n| format!("prompt number {n} here")).collect();
        let pairs: Vec<(&str, &str)> = prompts.iter().map(|prompt| (prompt.as_str(), "a b c d")).collect();
        let text = file(&pairs);
        let drawn = |seed| parse(Path::new("s.json"), &text, &Wanted { seed, ..wanted(10, None) }).unwrap().0;
        assert_eq!(drawn(1).0.len(), 10);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn a_conversation_of_one_turn_is_none_and_a_file_of_them_is_an_error_with_a_remedy() {
        let text = r#"[{"id": "a", "conversations": [{"from": "human", "value": "alone in here again"}]}]"#;
        let error = parse(Path::new("s.json"), text, &wanted(MOST, None)).unwrap_err();
        assert!(error.to_string().contains("none of the 1 conversations in 's.json' fits"), "{error}");
        assert!(!is_one("[INST] say hello [/INST]\n") && !is_one("{\"prompt\": \"a\"}\n"));
        assert!(is_one("{\"conversations\": []}\n"));
    }
}
