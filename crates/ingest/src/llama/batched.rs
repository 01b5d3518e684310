//! `llama-batched-bench --output-format jsonl`: one run for each row. Also defines the figures for the table of `log::llama_batched`.
//!
//! In:  a line for each row.  Out: a run for each.
//! Not here: the table (see `log::llama_batched`).
//!
//! `pl` sequences run at once, each with `pp` tokens of prompt and `tg` generated. All prompts come first, then one token of each at a time.
//! So the rate of the generation is that of all sequences over that part alone. The time of the prompts is that of all prompts. No request
//! waited for it, so it is no TTFT.
//!
//! Seen: one build of 2026.

use super::super::at::At;
use super::super::json;
use super::super::sheet::{Sheet, number_at};
use super::super::source_file::JSON_LINE_LIMIT;
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::{PREFILL, Test};
use sparkbench_model::{Setup, Status};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct LlamaBatchedBench;

const RULE: &str = "llama-batched-bench";
const DERIVED: &str = "llama-batched-bench.derived";

/// Keys that every row has.
const SIGNS: &[&str] = &["pl", "n_kv", "t_pp", "speed_pp", "speed_tg"];

/// Treatment of a figure: its key, its column, its name here, its unit, whether it is a metric, why it is no metric.
pub(crate) struct Measure {
    /// In the JSON.
    pub key: &'static str,
    /// In the table, in lower case.
    pub column: &'static str,
    /// Metric, or name of the extra.
    pub name: &'static str,
    /// Unit of the extra. A metric has its own.
    pub unit: Option<&'static str>,
    /// Why it is no metric.
    pub why: Option<&'static str>,
}

impl Measure {
    /// The metric that it is for so many sequences at once: the prompts of one are read as fast as the one.
    pub(crate) fn metric(&self, sequences: u64) -> Option<&'static str> {
        match self.unit {
            Some(_) => (self.key == "speed_pp" && sequences == 1).then_some("prefill_tok_s"),
            None => Some(self.name),
        }
    }
}

/// Why the time of the prompts is no TTFT.
const ALL_PROMPTS: &str = "of all prompts together";

/// Every figure.
pub(crate) const MEASURES: &[Measure] = &[
    Measure { key: "speed_tg", column: "s_tg t/s", name: "output_throughput_tok_s", unit: None, why: None },
    Measure { key: "speed", column: "s t/s", name: "total_throughput_tok_s", unit: None, why: None },
    Measure {
        key: "speed_pp",
        column: "s_pp t/s",
        name: "prefill_throughput",
        unit: Some("tok/s"),
        why: Some(PREFILL),
    },
    Measure { key: "t_pp", column: "t_pp s", name: "prefill_time_s", unit: Some("s"), why: Some(ALL_PROMPTS) },
    Measure { key: "t_tg", column: "t_tg s", name: "generation_time_s", unit: Some("s"), why: None },
    Measure { key: "t", column: "t s", name: "total_time_s", unit: Some("s"), why: None },
    Measure { key: "n_kv", column: "n_kv", name: "kv_cells", unit: Some("tokens"), why: None },
];

/// Keys that are taken one by one. All others are settings.
const TAKEN: &[&str] = &["pp", "tg", "pl"];

impl Format for LlamaBatchedBench {
    fn name(&self) -> &'static str {
        "llama-batched-bench"
    }

    fn about(&self) -> About {
        About {
            tool: "llama-batched-bench of llama.cpp, --output-format jsonl",
            versions: "a build of 2026",
            sign: "lines with `pl`, `n_kv`, `speed_pp` and `speed_tg`",
            reads: "a run for each row: rates of generation and of all tokens, prefill rate, times, the settings",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.outline().is_some_and(|outline| outline.has(SIGNS))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        for (number, line) in (1u64..).zip(text.lines()).filter(|(_, line)| line.trim_start().starts_with('{')) {
            if line.len() > JSON_LINE_LIMIT {
                parsed.left_out.push(Error::archive("a line that is too long is left out").at(Place::Line(number)));
                continue;
            }
            match json::parse(line) {
                Ok(node) => one(Sheet::new(file, RULE, DERIVED).below(number - 1), &At::root(&node), &mut parsed),
                Err(error) => parsed.left_out.push(error.at(Place::Line(number))),
            }
        }
        if parsed.records.is_empty() && parsed.left_out.is_empty() {
            return Err(Error::archive("no row of it has a result").hint("the program may have stopped early"));
        }
        Ok(parsed)
    }
}

fn one(mut sheet: Sheet<'_, '_>, at: &At<'_>, parsed: &mut Parsed) {
    let count = |key: &str| number_at(at, key).filter(|count| *count >= 0.0).map(|count| count as u64);
    let (Some(prompt), Some(generated), Some(sequences)) = (count("pp"), count("tg"), count("pl")) else {
        let error = Error::archive("a row is left out").at(Place::Line(at.node.line.into()));
        sheet.wrong(error.detail("expected 'pp', 'tg' and 'pl'"));
        sheet.into(parsed);
        return;
    };
    for measure in MEASURES {
        let Some(figure) = at.get(measure.key) else { continue };
        match (measure.metric(sequences), measure.unit) {
            (Some(metric), _) => {
                // A row without generation has a rate of 0 over no time.
                let measured = number_at(at, measure.key).is_some_and(|value| value > 0.0);
                measured.then(|| sheet.metric(&figure, metric));
            }
            (None, unit) => sheet.extra(&figure, measure.name, unit.unwrap_or_default(), measure.why),
        }
    }
    let is_setting = |key: &str| !TAKEN.contains(&key) && MEASURES.iter().all(|measure| measure.key != key);
    for (key, value) in at.entries().into_iter().flatten().filter(|(key, _)| is_setting(key)) {
        sheet.configuration(&value, key);
    }
    let partial = &mut sheet.partial;
    let more = std::mem::take(&mut partial.setup.more);
    partial.setup = Setup { more, ..setup(prompt, generated, sequences) };
    partial.workload = Some(workload(prompt, generated, sequences));
    (partial.join_role, partial.status) = (JoinRole::Body, Some(Status::Done));
    sheet.finish(parsed);
}

/// The label of a row: `pp32-tg16-c2`.
pub(crate) fn workload(prompt: u64, generated: u64, sequences: u64) -> String {
    let test = Test {
        prompt: Some(prompt).filter(|count| *count > 0),
        generated: Some(generated).filter(|count| *count > 0),
        concurrency: Some(sequences),
        ..Test::default()
    };
    test.workload()
}

/// Data of a row about its run.
pub(crate) fn setup(prompt: u64, generated: u64, sequences: u64) -> Setup {
    Setup {
        engine: Some("llama.cpp".to_owned()),
        tool: Some("llama-batched-bench".to_owned()),
        batch: Some(sequences as f64),
        isl: Some(prompt as f64),
        osl: Some(generated as f64),
        ..Setup::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Record;
    use super::*;

    #[test]
    fn a_row_is_a_run_of_as_many_sequences() {
        let text = "{\"n_batch\": 2048, \"is_pp_shared\": 0, \"pp\": 32, \"tg\": 16, \"pl\": 2, \"n_kv\": 96, \"t_pp\": 0.006946, \
                    \"speed_pp\": 9213.936523, \"t_tg\": 0.010251, \"speed_tg\": 3121.646729, \"t\": 0.017197, \"speed\": 5582.369141}\n\n{\"pp\": 1}\n";
        let mut input = text.as_bytes();
        let parsed = LlamaBatchedBench.parse(&mut SourceFile::new("b.jsonl", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(run)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("output_throughput_tok_s", 3121.646729), ("total_throughput_tok_s", 5582.369141)]);
        assert_eq!((run.workload.as_deref(), run.setup.batch), (Some("pp32-tg16-c2"), Some(2.0)));
        assert_eq!((run.setup.isl, run.setup.osl, run.setup.more.len()), (Some(32.0), Some(16.0), 2));
        let extras: Vec<&str> = run.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(extras, ["prefill_throughput", "prefill_time_s", "generation_time_s", "total_time_s", "kv_cells"]);
        assert_eq!(parsed.left_out.len(), 1);
    }
}
