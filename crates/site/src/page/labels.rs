//! Codes of the analysis as words, each with a mark that works without colour.
//!
//! In:  kinds, severities, flags, moments.  Out: short text.
//! Not here: sentences (see `verdict`).

use std::collections::BTreeSet;

use sparkbench_model::{Direction, Instant, Metric, within};
use sparkbench_verdict::number::list;
use sparkbench_verdict::report::across::Agreeing;
use sparkbench_verdict::report::{Comparison, Outcome, Scope, Severity, TrapStatus, VerdictKind};

/// First part of the anchors of answers over all loads.
pub(super) const ALL_LOADS: &str = "all-loads";

/// Place of a comparison in words: its cell, or how many loads it is about.
pub(super) fn place(c: &Comparison) -> String {
    match c.scope {
        Scope::AllLoads => format!("all {} loads", c.loads.len()),
        Scope::Load => format!("{} · {}", c.model, c.workload),
    }
}

/// A word with a glyph and a class: colour is the third sign, never the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Badge {
    /// CSS class.
    pub class: &'static str,
    /// Distinct for every word, hidden from screen readers.
    pub glyph: &'static str,
    pub word: &'static str,
}

const fn badge(class: &'static str, glyph: &'static str, word: &'static str) -> Badge {
    Badge { class, glyph, word }
}

/// The badge of a verdict.
pub(super) const fn verdict(kind: VerdictKind) -> Badge {
    match kind {
        VerdictKind::Slower => badge("v-slower", "▼", "slower"),
        VerdictKind::Faster => badge("v-faster", "▲", "faster"),
        VerdictKind::More => badge("v-more", "+", "more"),
        VerdictKind::Less => badge("v-less", "−", "less"),
        VerdictKind::Equivalent => badge("v-equivalent", "≈", "equivalent"),
        VerdictKind::Inconclusive => badge("v-inconclusive", "?", "inconclusive"),
        VerdictKind::NotComparable => badge("v-not", "×", "not comparable"),
    }
}

/// The badge of a comparison: of its verdict, or that it holds the ratio of single runs.
pub(super) fn judged(c: &Comparison) -> Badge {
    if c.verdict.is_once() { badge("v-inconclusive", "◦", "single runs") } else { verdict(c.verdict.kind) }
}

/// The badge of a severity.
pub(super) const fn severity(severity: Severity) -> Badge {
    match severity {
        Severity::Error => badge("s-error", "×", "error"),
        Severity::Warning => badge("s-warning", "!", "warning"),
        Severity::Note => badge("s-note", "i", "note"),
    }
}

/// The badge for the outcome of a check.
pub(super) const fn trap_status(status: TrapStatus) -> Badge {
    match status {
        TrapStatus::Fired => badge("t-fired", "●", "fired"),
        TrapStatus::Passed => badge("t-passed", "✓", "passed"),
        TrapStatus::NotEvaluated => badge("t-unknown", "○", "not evaluated"),
    }
}

/// The badge of a hypothesis.
pub(super) const fn hypothesis(outcome: Outcome) -> Badge {
    match outcome {
        Outcome::Holds => badge("o-pass", "✓", "holds"),
        Outcome::HoldsInPart => badge("o-none", "◐", "partly holds"),
        Outcome::DoesNotHold => badge("o-fail", "×", "does not hold"),
        Outcome::Undecided => badge("o-none", "○", "undecided"),
        Outcome::NotMeasured => badge("o-none", "○", "not measured"),
        Outcome::NoExpectation => badge("o-none", "–", "nothing expected"),
    }
}

/// The badge of what two clients are to each other.
pub(super) const fn agreeing(kind: Agreeing) -> Badge {
    match kind {
        Agreeing::Interchangeable => badge("v-equivalent", "≈", "interchangeable"),
        Agreeing::OnAverage => badge("o-none", "◐", "same on average"),
        Agreeing::Apart => badge("v-not", "×", "differs"),
        Agreeing::Undecided => badge("v-inconclusive", "?", "undecided"),
    }
}

/// The badge of a success criterion. Anything unknown is shown as not assessed, never as a pass.
pub(super) fn outcome(word: &str) -> Badge {
    match word {
        "pass" => badge("o-pass", "✓", "pass"),
        "fail" => badge("o-fail", "×", "fail"),
        _ => badge("o-none", "○", "not assessed"),
    }
}

/// The badge of the status of a run.
pub(super) fn run_status(word: &str) -> Badge {
    match word {
        "done" => badge("o-pass", "✓", "done"),
        "failed" => badge("o-fail", "×", "failed"),
        _ => badge("o-none", "○", "unrecorded"),
    }
}

/// Name for people of a metric. The name itself where the contracts do not know it.
pub(super) fn metric(name: &str) -> String {
    Metric::find(name).map_or_else(|| name.to_owned(), |m| m.label)
}

/// Unit of a metric, empty where unknown.
pub(super) fn unit(name: &str) -> &'static str {
    Metric::find(name).map_or("", |m| m.unit)
}

/// Which way is better, in words.
pub(super) const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
        Direction::Neutral => "neither way is better",
    }
}

/// Name for people of a method code.
pub(super) fn method(code: &str) -> String {
    match code {
        "fieller" => "Fieller".into(),
        "repeated" => "repeated".into(),
        "bca" => "BCa bootstrap".into(),
        "percentile" => "percentile bootstrap".into(),
        "basic" => "basic bootstrap".into(),
        "studentised" => "studentised bootstrap".into(),
        "normal" => "normal approximation".into(),
        "monte_carlo" => "random splits".into(),
        other => other.replace('_', " "),
    }
}

/// A flag of a run, a group or a bootstrap as a phrase.
pub(super) fn flag(code: &str) -> String {
    match outlier(code) {
        Some((rule, metric)) => format!("outlier in {metric} ({rule})"),
        None => other_flag(code),
    }
}

/// Flags of one run: an outlier by several rules is one.
pub(super) fn flags<'f>(codes: impl Iterator<Item = &'f String>) -> Vec<String> {
    let mut outliers: Vec<(String, Vec<&str>)> = Vec::new();
    let mut others = Vec::new();
    for code in codes {
        let Some((rule, metric)) = outlier(code) else {
            others.push(other_flag(code));
            continue;
        };
        match outliers.iter_mut().find(|(name, _)| *name == metric) {
            Some((_, rules)) => rules.push(rule),
            None => outliers.push((metric, vec![rule])),
        }
    }
    let told = outliers.into_iter().map(|(metric, rules)| format!("outlier in {metric} ({})", list(&rules)));
    told.chain(others).collect()
}

/// Rule and metric of `outlier:modified_z:ttft_ms`, in words.
fn outlier(code: &str) -> Option<(&str, String)> {
    let (rule, name) = code.strip_prefix("outlier:")?.split_once(':')?;
    let rule = match rule {
        "modified_z" | "mad" => "modified z",
        "three_sigma" => "three sigma",
        "tukey" => "Tukey fences",
        other => other,
    };
    Some((rule, within(&metric(name))))
}

fn other_flag(code: &str) -> String {
    if let Some(why) = code.strip_prefix("invalid:") {
        return format!("the tool calls this result invalid ({why})");
    }
    if let Some((became, path)) = code.strip_prefix("altered:").and_then(|rest| rest.split_once(':')) {
        return format!("{path} is not what was recorded ({became})");
    }
    let mut parts = code.split(':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("first_run"), Some(name), None) => format!("first run after a change, {}", within(&metric(name))),
        (Some("small_n"), None, None) => "too few runs for a bootstrap".into(),
        (Some("bca_fallback"), None, None) => "BCa does not exist here, percentile shown".into(),
        (Some("constant"), None, None) => "all values equal".into(),
        (Some("tail"), None, None) => "too few values for this percentile".into(),
        (Some("few_runs"), None, None) => "fewer than five runs".into(),
        (Some("one_run"), None, None) => "one run only".into(),
        (Some("N1"), None, None) => "fewer than two runs (N1)".into(),
        (Some("N2"), None, None) => "no finite value (N2)".into(),
        (Some("N3"), None, None) => "infinite values (N3)".into(),
        (Some("N4"), None, None) => "not positive (N4)".into(),
        (Some(first), None, None) => first.replace('_', " "),
        _ => code.to_owned(),
    }
}

/// Statistic of a published figure.
pub(super) fn statistic(code: &str) -> String {
    match code {
        "sd" => "standard deviation".into(),
        "loss_pct" => "loss, %".into(),
        other => other.replace('_', " "),
    }
}

/// Success criterion by its id.
pub(super) fn criterion(id: &str) -> String {
    match id {
        "cv_below_5_pct" => "Spread (CV) below 5 %".into(),
        "power_at_10_pct" => "Power to see a 10 % difference".into(),
        "reproducible" => "Reproduced in a second session".into(),
        "complete" => "Every planned run and metric present".into(),
        other => other.replace('_', " "),
    }
}

/// `2025-11-09`.
pub(super) fn day(moment: Instant) -> String {
    moment.iso().chars().take(10).collect()
}

/// `2025-11-09 04:24:04 UTC`.
pub(super) fn moment(moment: Instant) -> String {
    format!("{} UTC", moment_bare(moment))
}

/// `2025-11-09 04:24:04`, where a heading says that it is UTC.
pub(super) fn moment_bare(moment: Instant) -> String {
    moment.iso().trim_end_matches('Z').replace('T', " ")
}

/// A message of the rules as sentences: what a semicolon parts becomes sentences of their own, but within brackets.
pub(super) fn sentence(text: &str, names: &BTreeSet<&str>) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let (mut from, mut depth) = (0, 0_u32);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ';' if depth == 0 && text[at..].starts_with("; ") => {
                parts.push(&text[from..at]);
                from = at + "; ".len();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts.into_iter().map(|part| one_sentence(part, names)).collect::<Vec<_>>().join(" ")
}

/// A full stop, and a capital unless it begins with a name, which `names` knows or which is spelt as no word is.
fn one_sentence(text: &str, names: &BTreeSet<&str>) -> String {
    let text = text.trim();
    let word: &str = text.split(|c: char| c.is_whitespace() || ",:;".contains(c)).next().unwrap_or("");
    let plain = !word.is_empty() && word.chars().all(|c| c.is_lowercase() || c == '-') && !names.contains(word);
    let mut out = String::with_capacity(text.len() + 1);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if plain => out.extend(first.to_uppercase()),
        Some(first) => out.push(first),
        None => return out,
    }
    out.push_str(letters.as_str());
    if !out.ends_with(['.', '!', '?', '…']) {
        out.push('.');
    }
    out
}

/// Verdicts that the top of a page tells one by one.
pub(super) const OPEN_VERDICTS: usize = 6;

/// Units that stay on the line of their number.
const UNITS: &[&str] = &[
    "B", "GB", "GB/s", "GiB", "J", "J/token", "MB", "MHz", "MiB", "TFLOP/s", "USD", "W", "h", "kB", "min", "ms",
    "req/s", "s", "tok/s", "tokens", "°C", "µs",
];

/// A sentence of the rules with its numbers typeset for pages: a true minus and a thin space before the per cent. There is no break within
/// `n = 7` or between a number and its unit. The files for machines keep the plain signs.
pub(super) fn typeset(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let digit_next = letters.peek().is_some_and(char::is_ascii_digit);
        match c {
            '-' if digit_next && matches!(before, ' ' | '(' | '[') => out.push('−'),
            '%' if before.is_ascii_digit() => out.push_str("\u{202f}%"),
            ' ' if before.is_ascii_digit() && letters.peek() == Some(&'%') => out.push('\u{202f}'),
            ' ' if before.is_ascii_digit() && starts_with_unit(letters.clone()) => out.push('\u{a0}'),
            _ => out.push(c),
        }
        before = c;
    }
    out.replace("n = ", "n\u{a0}=\u{a0}").replace(" p = ", " p\u{a0}=\u{a0}").replace(" p < ", " p\u{a0}<\u{a0}")
}

fn starts_with_unit(letters: impl Iterator<Item = char>) -> bool {
    let word: String = letters.take_while(|c| !c.is_whitespace()).collect();
    UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')', ']']))
}

/// One day, or the first and the last.
pub(super) fn days(first: Option<Instant>, last: Option<Instant>) -> Option<String> {
    let (first, last) = (day(first?), day(last?));
    Some(if first == last { first } else { format!("{first} to {last}") })
}

/// `1 run`, `14 runs`.
pub(super) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", super::number::count(n as u64), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_differ_in_glyph_and_word_not_in_colour_alone() {
        use VerdictKind::*;
        let all = [Slower, Faster, More, Less, Equivalent, Inconclusive, NotComparable].map(verdict);
        let glyphs: BTreeSet<_> = all.iter().map(|b| b.glyph).collect();
        let words: BTreeSet<_> = all.iter().map(|b| b.word).collect();
        assert_eq!((glyphs.len(), words.len()), (all.len(), all.len()));
    }

    #[test]
    fn an_unknown_outcome_is_not_a_pass() {
        assert_eq!(outcome("passed-ish").word, "not assessed");
        assert_eq!(run_status("").word, "unrecorded");
    }

    #[test]
    fn a_message_becomes_a_sentence_and_a_name_keeps_its_spelling() {
        let names = BTreeSet::from(["deepseek", "native"]);
        for (message, said) in [
            ("plan more runs", "Plan more runs."),
            ("deepseek: missing the model id", "deepseek: missing the model id."),
            ("native falls", "native falls."),
            ("gpt120b in native has 13 runs", "gpt120b in native has 13 runs."),
            ("kv_cache_gib = 3", "kv_cache_gib = 3."),
            ("KV cache is a line.", "KV cache is a line."),
            ("11 values", "11 values."),
            ("a is said; native falls (b; c); what; d;e", "A is said. native falls (b; c). What. D;e."),
            ("", ""),
        ] {
            assert_eq!(sentence(message, &names), said);
        }
    }

    #[test]
    fn a_sentence_is_set_as_the_tables_are() {
        for (text, set) in [
            ("(-0.2% [-0.8, 0.5]); n = 7", "(−0.2\u{202f}% [−0.8, 0.5]); n\u{a0}=\u{a0}7"),
            ("9.09 % of runs-1 on 2026-11-20", "9.09\u{202f}% of runs-1 on 2026-11-20"),
            ("n - 1", "n - 1"),
            ("drifts by 3.2 ms; 12 tok/s, 5 samples", "drifts by 3.2\u{a0}ms; 12\u{a0}tok/s, 5 samples"),
            ("", ""),
        ] {
            assert_eq!(typeset(text), set);
        }
    }

    #[test]
    fn flags_read_as_phrases() {
        assert_eq!(flag("outlier:modified_z:ttft_ms"), "outlier in time to first token (modified z)");
        let twice = ["outlier:modified_z:ttft_ms", "one_run", "outlier:tukey:ttft_ms"].map(str::to_owned);
        assert_eq!(
            flags(twice.iter()),
            ["outlier in time to first token (modified z and Tukey fences)", "one run only"]
        );
        assert_eq!(flag("first_run:peak_memory_gib"), "first run after a change, peak memory");
        assert_eq!(flag("invalid:not met: Min duration"), "the tool calls this result invalid (not met: Min duration)");
        assert_eq!(flag("made:of:far:more"), "made:of:far:more");
    }
}
