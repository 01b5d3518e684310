//! The llama.cpp family: names of its tests and meanings of their figures, in JSON, CSV, SQL and tables.
//!
//! In:  names such as `pp512 @ d4096 (c2)`.  Out: [`Test`].
//! Not here: the files (see the modules below, and `log` for tables of text).

pub(super) mod batched;
mod bench;
mod benchy;
mod benchy_csv;
pub(super) mod passes;
mod sql;
pub(super) mod sweep;

pub(super) use batched::LlamaBatchedBench;
pub(super) use bench::LlamaBench;
pub(super) use benchy::LlamaBenchy;
pub(super) use benchy_csv::LlamaBenchyCsv;

/// Why the rate of a prefill test is no metric.
pub(super) const PREFILL: &str = "prompt tokens a second: the speed of the prefill";
/// Why the rate of a combined test is no metric.
pub(super) const COMBINED: &str = "prompt and output tokens of one request, one after the other, over the time of both";
/// Why the time to the first response is no TTFT.
pub(super) const FIRST_RESPONSE: &str = "to the first chunk, which may hold only a role";
/// Why the estimate of the prefill time is no TTFT either.
pub(super) const WITHOUT_LATENCY: &str = "the time to the first chunk less a network latency that was measured before";
/// Why a peak is no throughput.
pub(super) const PEAK: &str = "the most tokens in any one second";

/// Measurement of one row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Test {
    /// Prompt tokens, when they are processed.
    pub prompt: Option<u64>,
    /// Tokens that are generated.
    pub generated: Option<u64>,
    /// Tokens that lie in the context before.
    pub depth: u64,
    /// Requests at once, where the name says it.
    pub concurrency: Option<u64>,
    /// Prompt or generation of the pass that only fills the context.
    pub context: Option<ContextPart>,
}

/// The two parts of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextPart {
    /// Prompt processing.
    Prompt,
    /// Token generation.
    Generation,
}

impl Test {
    /// Reads `pp512`, `pp 512`, `tg128 @ d4096 (c10)`, `pp512+tg128`, `ctx_pp @ d4096`. Nothing when it is no test.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = name.trim().trim_matches(['*', '`']).trim();
        let mut test = Self::default();
        let (name, concurrency) = match name.strip_suffix(')').and_then(|rest| rest.rsplit_once("(c")) {
            Some((name, count)) => (name.trim(), Some(count.parse().ok()?)),
            None => (name, None),
        };
        test.concurrency = concurrency;
        let (name, depth) = match name.split_once('@') {
            Some((name, depth)) => (name.trim(), depth.trim().strip_prefix('d')?.parse().ok()?),
            None => (name, 0),
        };
        test.depth = depth;
        test.context = match name {
            "ctx_pp" => Some(ContextPart::Prompt),
            "ctx_tg" => Some(ContextPart::Generation),
            _ => None,
        };
        if test.context.is_some() {
            return Some(test);
        }
        for part in name.split('+') {
            let (kind, count) = part.trim().split_at_checked(2)?;
            let count = count.trim().parse().ok()?;
            match kind {
                "pp" => test.prompt = Some(count),
                "tg" => test.generated = Some(count),
                _ => return None,
            }
        }
        Some(test)
    }

    /// Name of a test in the files of the tool, without the concurrency: `pp512 @ d4096`.
    pub(super) fn label(&self) -> String {
        let part = |name: &str, count: Option<u64>| count.map(|count| format!("{name}{count}"));
        let parts: Vec<String> = part("pp", self.prompt).into_iter().chain(part("tg", self.generated)).collect();
        let depth = if self.depth > 0 { format!(" @ d{}", self.depth) } else { String::new() };
        format!("{}{depth}", parts.join("+"))
    }

    /// The label of a cell: `pp512-tg128-d4096-c2`.
    pub(super) fn workload(&self) -> String {
        let part = |name: &str, count: Option<u64>| count.map(|count| format!("{name}{count}"));
        let mut parts: Vec<String> = Vec::new();
        if self.context.is_some() {
            parts.push("ctx".to_owned());
        }
        parts.extend(part("pp", self.prompt));
        parts.extend(part("tg", self.generated));
        parts.extend(part("d", Some(self.depth).filter(|depth| *depth > 0)));
        parts.extend(part("c", self.concurrency));
        parts.join("-")
    }
}

/// The quantisation at the end of a model's type: `Q4_K - Medium` of `qwen2 1.5B Q4_K - Medium`.
pub(super) fn quantisation(kind: &str) -> Option<String> {
    let is_size = |word: &str| {
        let digits = word.strip_suffix(['B', 'M', 'K']).unwrap_or("");
        word == "?B" || digits.starts_with(|c: char| c.is_ascii_digit())
    };
    let words: Vec<&str> = kind.split_whitespace().collect();
    let size = words.iter().position(|word| is_size(word))?;
    let rest = words.get(size + 1..)?.join(" ");
    let rest = rest.trim_start_matches("mostly ").trim_start_matches("all ").to_owned();
    (!rest.is_empty()).then_some(rest)
}

/// Mark that is the same in every copy of a test of llama-bench.
pub(super) fn bench_mark(kind: &str, test: &Test, rate: f64, deviation: f64) -> String {
    format!("llama-bench|{kind}|{}|{rate:.2}|{deviation:.2}", test.label())
}

/// Mark that is the same in every copy of a run of llama-benchy.
pub(super) fn benchy_mark(model: &str, test: &Test, rate: Option<f64>, ttft: Option<f64>) -> String {
    let shown = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    format!("llama-benchy|{model}|{}|{}|{}", test.workload(), shown(rate), shown(ttft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_read_as_every_version_prints_them() {
        for (name, label, workload) in [
            ("pp512", "pp512", "pp512"),
            ("pp 512", "pp512", "pp512"),
            ("tg128 @ d4096", "tg128 @ d4096", "tg128-d4096"),
            ("pp512+tg128", "pp512+tg128", "pp512-tg128"),
            ("tg1024 @ d4096 (c10)", "tg1024 @ d4096", "tg1024-d4096-c10"),
            ("ctx_pp @ d4096 (c1)", " @ d4096", "ctx-d4096-c1"),
            ("**tg32**", "tg32", "tg32"),
        ] {
            let test = Test::parse(name).unwrap();
            assert_eq!((test.label().as_str(), test.workload().as_str()), (label, workload), "{name}");
        }
        for name in ["", "test", "p", "ppx", "tg", "pp512 (cx)", "é"] {
            assert_eq!(Test::parse(name), None, "{name}");
        }
    }

    #[test]
    fn the_quantisation_stands_behind_the_size() {
        for (kind, known) in [
            ("qwen2 1.5B Q4_K - Medium", Some("Q4_K - Medium")),
            ("qwen3moe 30B.A3B Q8_0", Some("Q8_0")),
            ("llama 7B mostly Q4_0", Some("Q4_0")),
            ("gpt-oss 20B MXFP4 MoE", Some("MXFP4 MoE")),
            ("llama", None),
        ] {
            assert_eq!(quantisation(kind).as_deref(), known, "{kind}");
        }
    }
}
