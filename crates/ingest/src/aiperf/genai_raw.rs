//! `profile_export.json`: the requests behind a GenAI-Perf run, as Perf Analyzer writes them.
//!
//! In:  experiments, each with requests and the time stamps of their responses, in nanoseconds.  Out: one partial run for each experiment, with a
//!      series of TTFT, ITL (gaps between chunks) and E2E latency.
//! Not here: tokens. They are counted from the texts by a tokenizer, so TPOT is in the summary beside it (see `genai`).
//!
//! As the tool does, responses without content are taken out first: an empty one, `data: [DONE]`, and a chunk whose text is empty.
//! Written after the source of GenAI-Perf 0.0.16. No file of a run was found.

use super::super::at::At;
use super::super::json::{self, Kind, Node};
use super::super::sheet::{Sheet, find, load, number_at, text_at};
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use sparkbench_model::{Instant, Status};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct GenaiPerfRaw;

const RULE: &str = "genai-perf-requests";
const DERIVED: &str = "genai-perf-requests.derived";

impl Format for GenaiPerfRaw {
    fn name(&self) -> &'static str {
        "genai-perf-requests"
    }

    fn about(&self) -> About {
        About {
            tool: "GenAI-Perf and Perf Analyzer, profile_export.json",
            versions: "GenAI-Perf 0.0.4 to 0.0.16",
            sign: "an object with `experiments`, each with an `experiment` and its `requests`",
            reads: "TTFT, gaps between chunks and E2E latency of each request, request throughput over the window",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().and_then(|object| object.get("experiments")).is_some_and(|list| {
            list.is_list() && list.has(&["requests"]) && list.get("experiment").is_some_and(|at| at.has(&["mode"]))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let experiments = root.need("experiments")?;
        let several = experiments.items()?.nth(1).is_some();
        for experiment in experiments.items()? {
            let mut sheet = Sheet::new(file, RULE, DERIVED);
            requests(&mut sheet, &experiment);
            let mode = text_at(&experiment, ["experiment", "mode"]).unwrap_or_default();
            let value = number_at(&experiment, ["experiment", "value"]);
            let by = |word: &str| value.filter(|_| mode == word);
            sheet.partial.setup.batch = by("concurrency");
            sheet.partial.setup.request_rate = by("request_rate");
            sheet.partial.setup.tool = Some("genai-perf".to_owned());
            sheet.partial.workload = load(by("concurrency"), by("request_rate"));
            sheet.settings_of(&root, "", &["service_kind"]);
            sheet.partial.join_role = if several { JoinRole::Alone } else { JoinRole::Trace };
            sheet.finish(&mut parsed);
        }
        Ok(parsed)
    }
}

/// The latencies of every request of one experiment.
fn requests(sheet: &mut Sheet<'_, '_>, experiment: &At<'_>) {
    let (mut ttft, mut itl, mut e2e) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let mut empty = 0usize;
    let Some(list) = experiment.get("requests") else { return };
    for request in list.items().into_iter().flatten() {
        let sent = request.get("timestamp").and_then(|at| at.whole().ok().flatten());
        let stamps = stamps(&request);
        let (Some(sent), Some(start), Some(end)) = (sent, stamps.first(), stamps.last()) else {
            empty += 1;
            continue;
        };
        (first, last) = (first.min(sent), last.max(*end));
        let ms = |from: i64, to: i64| to.saturating_sub(from) as f64 / 1e6;
        e2e.push(ms(sent, *end));
        // One response to one request is no stream: its time is that of the whole answer.
        if stamps.len() > 1 {
            ttft.push(ms(sent, *start));
            itl.extend(stamps.windows(2).filter_map(|pair| Some(ms(*pair.first()?, *pair.get(1)?))));
        }
    }
    let answered = e2e.len();
    for (metric, values) in [("ttft_ms", ttft), ("itl_ms", itl), ("e2e_latency_ms", e2e)] {
        sheet.series(&list, metric, values, false);
    }
    let seconds = last.saturating_sub(first) as f64 / 1e9;
    if answered > 0 && seconds > 0.0 {
        sheet.derive(&list, "request_throughput_req_s", answered as f64 / seconds);
        sheet.partial.started = Some(Instant(first.div_euclid(1_000_000)));
        sheet.partial.ended = Some(Instant(last.div_euclid(1_000_000)));
    }
    sheet.partial.setup.requests = Some((answered + empty) as f64);
    sheet.partial.status = match (answered, empty) {
        (0, 0) => None,
        (0, empty) => Some(Status::Failed(format!("none of {empty} requests was answered"))),
        _ => Some(Status::Done),
    };
    if empty > 0 {
        sheet.note(format!("{empty} requests without an answer enter no latency"));
    }
}

/// Time stamps of the responses that hold something.
fn stamps(request: &At<'_>) -> Vec<i64> {
    let Some(stamps) = request.get("response_timestamps") else { return Vec::new() };
    let outputs = request.get("response_outputs");
    let outputs: &[Node<'_>] = match outputs.as_ref().map(|at| &at.node.kind) {
        Some(Kind::List(items)) => items,
        _ => &[],
    };
    let Ok(items) = stamps.items() else { return Vec::new() };
    items
        .enumerate()
        .filter(|(place, _)| outputs.get(*place).is_none_or(|output| has_content(output)))
        .filter_map(|(_, at)| at.whole().ok().flatten())
        .collect()
}

/// False for a response that the tool itself takes out.
fn has_content(output: &Node<'_>) -> bool {
    let Kind::Map(entries) = &output.kind else { return true };
    let Some((_, response)) = entries.iter().find(|(key, _)| key == "response") else { return true };
    let Kind::Text(response) = &response.kind else { return true };
    let mut events = response.split("\n\n").map(str::trim).filter(|event| !event.is_empty()).peekable();
    if events.peek().is_none() {
        return false;
    }
    events.any(|event| {
        let data = event.strip_prefix("data:").map_or(event, str::trim);
        if data == "[DONE]" {
            return false;
        }
        // What is no JSON of a known shape is content.
        json::parse(data).map_or(true, |node| says_something(&At::root(&node)))
    })
}

/// True when a chunk of a chat or a completion has a text, and for every other object.
fn says_something(chunk: &At<'_>) -> bool {
    let Some(choices) = chunk.get("choices") else { return true };
    let Ok(mut items) = choices.items() else { return true };
    items.any(|choice| {
        let ways: [&[&str]; 5] = [
            &["delta", "content"],
            &["delta", "reasoning_content"],
            &["delta", "reasoning"],
            &["message", "content"],
            &["text"],
        ];
        let is_text = |at: &At<'_>| at.text().ok().flatten().filter(|text| !text.is_empty()).map(|_| ());
        ways.iter().any(|way| find(&choice, *way, is_text).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::Record;
    use super::*;

    #[test]
    fn responses_without_content_give_no_time() {
        let text = r#"{"service_kind": "openai", "endpoint": "v1/chat/completions", "experiments": [{"experiment": {"mode": "concurrency", "value": 2},
            "requests": [{"timestamp": 1000000000, "request_inputs": {"payload": "{}"},
              "response_timestamps": [1010000000, 1020000000, 1030000000, 1050000000, 1060000000],
              "response_outputs": [{"response": "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"},
                {"response": "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"}, {"response": "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n"},
                {"response": "data: {\"choices\":[{\"delta\":{\"content\":\"c\"}}]}\n\n"}, {"response": "data: [DONE]\n\n"}]},
              {"timestamp": 1000000000, "response_timestamps": [], "response_outputs": []}]}]}"#;
        let mut input = text.as_bytes();
        let mut file = SourceFile::new("profile_export.json", text.len() as u64, &mut input);
        let parsed = GenaiPerfRaw.parse(&mut file).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let series: Vec<(&str, &[f64])> =
            partial.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
        assert_eq!(series, [("ttft_ms", &[20.0][..]), ("itl_ms", &[10.0, 20.0][..]), ("e2e_latency_ms", &[50.0][..])]);
        assert_eq!((partial.setup.requests, partial.setup.batch), (Some(2.0), Some(2.0)));
        assert_eq!(partial.workload.as_deref(), Some("c2"));
    }
}
