//! Every figure against values worked by hand, and the corners: nothing, one token, all failed, no usage.

use super::*;
use crate::certificate::{Evidence, judge};
use crate::order::{Asked, Chunk, ChunkKind, Doubt, Phase, Record, Sink as _, Status, Usage};
use crate::settings::{Arrival, Share};
use crate::store::Store;
use sparkbench_host::net::{Ns, Stamp};

const ORIGIN: Ns = 50_000_000_000;

/// Milliseconds after the origin.
fn at(ms: f64) -> Ns {
    ORIGIN + (ms * 1e6).round() as Ns
}

fn stamp(ms: f64) -> Option<Stamp> {
    Some(Stamp { kernel: Some(at(ms)), user: at(ms + 0.05) })
}

fn closed(concurrency: u32) -> Facts {
    let settings = Settings { shape: Shape::Closed { concurrency }, ..Settings::default() };
    Facts {
        url: "http://localhost:8000".into(),
        model: Some("m".into()),
        started_utc: "2026-01-01T00:00:00Z".into(),
        settings: serde_json::json!({"concurrency": concurrency}),
        ..Facts::of(&settings)
    }
}

/// An answer: sent, times of its pieces, tokens that the server counts.
fn answer(index: u64, sent: f64, pieces: &[f64], output: Option<u32>) -> (Record, Vec<Chunk>) {
    let chunks: Vec<Chunk> = pieces
        .iter()
        .map(|ms| Chunk { at: at(*ms), lag_ns: 50_000, bytes: 200, text: 4, tokens: 0, kind: ChunkKind::Content })
        .collect();
    let (first, last) = (pieces.first().copied(), pieces.last().copied());
    let record = Record {
        index,
        sent: Some(at(sent)),
        first_event: first.and_then(|ms| stamp(ms - 1.0)),
        first_token: first.and_then(stamp),
        first_content: first.and_then(stamp),
        last_token: last.and_then(stamp),
        end: last.and_then(|ms| stamp(ms + 1.0)),
        pieces: pieces.len() as u32,
        usage: Usage { input: Some(10), output, cached: Some(4), reasoning: None },
        asked: Asked { isl: Some(10), osl: output, ..Asked::default() },
        ..Record::default()
    };
    (record, chunks)
}

fn failed(index: u64, sent: f64, end: f64, status: Status) -> (Record, Vec<Chunk>) {
    (Record { index, sent: Some(at(sent)), end: stamp(end), status, ..Record::default() }, Vec::new())
}

fn count(name: &str, facts: Facts, requests: Vec<(Record, Vec<Chunk>)>) -> Counted {
    let folder = sparkbench_testing::Folder::new(&format!("summary-{name}"));
    let (mut sink, handle) = Store::scratch(&folder, ORIGIN).unwrap();
    for (record, chunks) in requests {
        sink.chunks(record.index, 0, &chunks);
        sink.ended(record);
    }
    Summary::count(facts, &mut handle.finish(sink).unwrap()).unwrap()
}

fn near(value: Option<f64>, wanted: f64) {
    let value = value.unwrap();
    assert!((value - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{value} is not {wanted}");
}

#[test]
fn every_figure_of_a_closed_loop_is_the_one_worked_by_hand() {
    let counted = count(
        "closed",
        closed(2),
        vec![
            // A warm-up long before is excluded from all figures.
            {
                let (record, chunks) = answer(100, -5000.0, &[-4000.0], Some(1));
                (Record { phase: Phase::Warmup, ..record }, chunks)
            },
            answer(0, 0.0, &[100.0, 110.0, 130.0], Some(3)),
            answer(1, 0.0, &[200.0, 220.0, 260.0], Some(3)),
            answer(2, 131.0, &[331.0, 341.0], Some(2)),
        ],
    );
    let summary = &counted.summary;
    assert_eq!((summary.completed, summary.failed, summary.planned, summary.valid), (3, 0, 3, true));
    assert_eq!(summary.before, Some(Before { requests: 1, completed: 1 }));
    // TTFT 100, 200, 200. First event a millisecond before.
    near(summary.ttft_ms.mean, 500.0 / 3.0);
    near(summary.ttft_ms.p50, 200.0);
    near(summary.ttft_first_chunk_ms.min, 99.0);
    near(summary.ttfo_ms.max, 200.0);
    assert_eq!((summary.ttft_ms.definition, summary.ttft_ms.p90), ("ttft.first-generated.from-sent", None));
    // TPOT 30/2, 60/2, 10/1.
    near(summary.tpot_ms.mean, 55.0 / 3.0);
    near(summary.tpot_ms.p50, 15.0);
    // Decode rates 66.7, 33.3, 100: their median, not one over a mean.
    near(summary.decode_tok_s.p50, 1000.0 / 15.0);
    // Gaps 10, 20, 20, 40, 10: each chunk is a token.
    near(summary.chunk_gap_ms.mean, 20.0);
    near(summary.itl_ms.p50, 20.0);
    assert_eq!((summary.itl_ms.n, summary.itl_ms.definition), (5, "itl.one-token-chunks"));
    // E2E 130, 260, 210. To the end of the stream one more.
    near(summary.e2e_latency_ms.mean, 200.0);
    near(summary.e2e_stream_end_ms.mean, 201.0);
    near(summary.e2e_tok_s.max, 3.0 / 0.130);
    // Six tokens that the cache did not have in 100, 200 and 200 ms.
    near(summary.prefill_tok_s.p50, 30.0);
    near(summary.tokens_per_chunk.mean, 1.0);
    // From the first send to the last piece: 341 ms.
    near(summary.duration_s, 0.341);
    near(summary.request_throughput_req_s, 3.0 / 0.341);
    near(summary.output_throughput_tok_s, 8.0 / 0.341);
    near(summary.total_throughput_tok_s, 38.0 / 0.341);
    assert_eq!((summary.input_tokens, summary.cached_tokens, summary.output_tokens), (Some(30), Some(12), Some(8)));
    assert_eq!(summary.token_source, Some(TokenSource::Usage));
    // In flight 131, 261 and 210 of 341 ms. The last end lies a millisecond behind the window.
    near(summary.concurrency_mean, (131.0 + 261.0 + 210.0) / 341.0);
    // Two in flight from 0 to 261: pieces at 100, 110, 130, 200, 220, 260.
    let steady = summary.steady.as_ref().unwrap();
    assert!((steady.to_s - 0.261).abs() < 1e-5 && steady.from_s == 0.0, "{steady:?}");
    assert_eq!((steady.output_tokens, steady.tokens_by, steady.basis), (Some(6.0), "one", "in-flight"));
    assert!((steady.output_throughput_tok_s.unwrap() - 6.0 / 0.261).abs() < 0.01);
    assert!(summary.goodput.is_none() && summary.ttft_from_sent_ms.is_none() && counted.schedule_lag_ms.is_none());
    near(counted.read_lag_ms.unwrap().p50, 0.05);
    assert!(counted.kernel_clock);
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn an_open_loop_counts_from_the_time_intended_and_shows_both() {
    let settings = Settings {
        shape: Shape::Open { rate: 10.0, arrival: Arrival::Constant, max_concurrency: Some(1) },
        slos: Slos { ttft_ms: Some(120.0), tpot_ms: Some(15.0), e2e_ms: None },
        requests: Some(5),
        ..Settings::default()
    };
    let late = |index, intended: f64, sent: f64, pieces: &[f64]| {
        let (record, chunks) = answer(index, sent, pieces, Some(pieces.len() as u32));
        (Record { intended: Some(at(intended)), ..record }, chunks)
    };
    let counted = count(
        "open",
        Facts::of(&settings),
        vec![
            late(0, 0.0, 0.0, &[100.0, 110.0]),
            late(1, 100.0, 111.0, &[211.0, 221.0]),
            // One token has no TPOT: it is not good, and that is reported.
            late(2, 200.0, 222.0, &[300.0]),
            (Record { index: 3, intended: Some(at(300.0)), status: Status::NotSent, ..Record::default() }, Vec::new()),
        ],
    );
    let summary = &counted.summary;
    near(summary.ttft_ms.mean, (100.0 + 111.0 + 100.0) / 3.0);
    near(summary.ttft_from_sent_ms.as_ref().unwrap().mean, (100.0 + 100.0 + 78.0) / 3.0);
    assert_eq!(summary.ttft_ms.definition, "ttft.first-generated.from-intended");
    near(summary.e2e_latency_ms.max, 121.0);
    near(counted.schedule_lag_ms.unwrap().max, 22.0);
    near(summary.offered_rate_req_s, 10.0);
    near(summary.achieved_rate_req_s, 2.0 / 0.222);
    let goodput = summary.goodput.as_ref().unwrap();
    assert_eq!((goodput.good, goodput.planned, goodput.unjudged, goodput.fraction), (2, 5, 1, Some(0.4)));
    near(goodput.req_s, 2.0 / 0.3);
    assert_eq!((summary.errors["not-sent"], summary.valid), (1, false));
    assert!(summary.invalid_because.iter().any(|why| why.contains("never sent")));
    let steady = summary.steady.as_ref().unwrap();
    assert_eq!((steady.basis, steady.target, steady.completed), ("arrivals", None, 2));
    assert!(summary.notes.iter().any(|note| note.contains("at most 1 requests")));
}

#[test]
fn failed_requests_enter_no_latency_and_every_count() {
    let counted = count(
        "failed",
        closed(1),
        vec![
            failed(0, 0.0, 10.0, Status::Timeout),
            failed(1, 10.0, 20.0, Status::Http),
            failed(2, 20.0, 30.0, Status::Http),
        ],
    );
    let summary = &counted.summary;
    assert_eq!((summary.completed, summary.failed), (0, 3));
    assert_eq!(summary.errors, BTreeMap::from([("http", 2), ("timeout", 1)]));
    assert_eq!((summary.ttft_ms.n, summary.ttft_ms.mean), (0, None));
    assert_eq!(summary.ttft_ms.absent["all"], "no request was answered");
    assert_eq!((summary.duration_s, summary.output_tokens, summary.token_source), (None, None, None));
    assert_eq!((summary.request_throughput_req_s, summary.steady.as_ref()), (None, None));
    assert!(!summary.valid && counted.read_lag_ms.is_none() && !counted.kernel_clock);

    let counted = count(
        "mixed",
        closed(1),
        vec![answer(0, 0.0, &[10.0, 20.0], Some(2)), failed(1, 20.0, 9000.0, Status::Broken)],
    );
    let summary = counted.summary;
    near(summary.e2e_latency_ms.max, 20.0);
    near(summary.duration_s, 0.02);
    assert_eq!(summary.invalid_because, ["1 of 2 requests failed, more than 1 %"]);
}

/// Issue 34: 95 tokens had come, and the summary spoke of no answer.
#[test]
fn answers_that_were_not_complete_in_time_are_told_with_what_had_come() {
    let late = |index: u64, pieces: u32| {
        let (record, chunks) = answer(index, 0.0, &[50.0 + index as f64, 60.0], None);
        let error = Some("not complete within 1 s, though tokens had come: raise --timeout".to_owned());
        (Record { pieces, status: Status::Timeout, error, ..record }, chunks)
    };
    let summary = count("unfinished", closed(4), vec![late(0, 95), late(1, 96), failed(2, 0.0, 10.0, Status::Timeout)]);
    let summary = summary.summary;
    let unfinished = summary.unfinished.as_ref().unwrap();
    assert_eq!((unfinished.requests, unfinished.chunks_min, unfinished.chunks_max), (2, 95, 96));
    near(unfinished.ttft_ms.mean, 50.5);
    assert_eq!((summary.failed, summary.ttft_ms.n), (3, 0), "they are in no figure");
    let drawn = brief(&summary, 400, false);
    assert!(
        drawn.contains("note: 2 requests were not complete in time, after 95 to 96 chunks each (mean TTFT 50.50 ms)"),
        "{drawn}"
    );
    let none = count("finished", closed(1), vec![answer(0, 0.0, &[10.0, 20.0], Some(2))]).summary;
    assert!(none.unfinished.is_none() && !none.json().contains("unfinished"));
}

#[test]
fn nothing_at_all_and_one_token_are_no_zeroes() {
    let nothing = count("nothing", closed(4), Vec::new()).summary;
    assert_eq!((nothing.completed, nothing.failed, nothing.duration_s, nothing.concurrency_mean), (0, 0, None, None));
    assert_eq!(nothing.invalid_because, ["no request was made"]);
    let json: serde_json::Value = serde_json::from_str(&nothing.json()).unwrap();
    assert!(json["ttft_ms"]["mean"].is_null() && json["output_throughput_tok_s"].is_null() && json["steady"].is_null());

    let one = count("one", closed(1), vec![answer(0, 0.0, &[10.0], Some(1))]).summary;
    near(one.ttft_ms.p50, 10.0);
    assert_eq!((one.tpot_ms.n, one.decode_tok_s.n, one.itl_ms.n, one.chunk_gap_ms.n), (0, 0, 0, 0));
    assert_eq!(one.tpot_ms.absent["all"], "no answer has a further token");
    assert_eq!(one.chunk_gap_ms.absent["all"], "no answer has a second chunk");
}

#[test]
fn without_a_count_of_tokens_there_is_no_rate_of_them_and_no_gap_between_them() {
    let summary = count("usage", closed(1), vec![answer(0, 0.0, &[10.0, 20.0], None)]).summary;
    assert_eq!((summary.output_tokens, summary.output_throughput_tok_s, summary.token_source), (None, None, None));
    assert_eq!((summary.tpot_ms.n, summary.itl_ms.n, summary.chunk_gap_ms.n), (0, 0, 1));
    assert!(summary.itl_ms.absent["all"].contains("a chunk may hold several"));
    assert_eq!(summary.steady.unwrap().output_tokens, None);
    // One of two counted is no total either.
    let half = count("half", closed(1), vec![answer(0, 0.0, &[1.0, 2.0], Some(2)), answer(1, 2.0, &[3.0, 4.0], None)]);
    assert_eq!((half.summary.output_tokens, half.summary.input_tokens), (None, Some(20)));
    assert!(half.summary.notes[0].starts_with("1 of 2 answers have no count"), "{:?}", half.summary.notes);
}

#[test]
fn answers_longer_than_asked_are_counted_and_said_as_shorter_ones_are() {
    let of = |n: u64, tokens: u32, status: Status| {
        let pieces: Vec<f64> = (1..=tokens).map(|k| 10.0 * f64::from(k)).collect();
        let (record, chunks) = answer(n, 0.0, &pieces, Some(tokens));
        (
            Record {
                text_bytes: u64::from(4 * tokens),
                asked: Asked { osl: Some(4), ..record.asked },
                status,
                ..record
            },
            chunks,
        )
    };
    let requests = vec![of(0, 8, Status::Ok), of(1, 8, Status::Ok), of(2, 4, Status::Ok), of(3, 2, Status::Short)];
    let summary = count("longer", closed(4), requests).summary;
    assert_eq!((summary.longer, summary.short, summary.contradicted), (2, 1, 0));
    assert_eq!((summary.e2e_latency_ms.max, summary.output_tokens), (Some(80.0), Some(22)));
    for wanted in ["shorter than asked for", "longer than asked for"] {
        assert_eq!(summary.notes.iter().filter(|note| note.contains(wanted)).count(), 1, "{:?}", summary.notes);
    }
    let marks =
        ["1 of 4 answers are shorter than was asked for exactly", "2 of 4 answers are longer than was asked for"];
    assert_eq!(summary.marks_of_lengths(), marks);
    let text = brief(&summary, 200, false);
    assert!(text.contains("1 shorter than asked, 2 longer than asked"), "{text}");
    let loads = [(String::new(), serde_json::to_value(&summary).unwrap())];
    assert!(export::markdown(&loads).contains("Longer than asked: 2 of 4 answers"));
}

#[test]
fn a_count_that_contradicts_what_came_is_named_and_makes_no_rate() {
    let miscounted = |name: &str, output: u32, asked: u32| {
        let answers = (0..2).map(|n| {
            let (record, mut chunks) = answer(n, 0.0, &[10.0, 20.0, 30.0, 40.0, 50.0], Some(output));
            chunks.iter_mut().for_each(|chunk| chunk.tokens = output.min(9) as u16);
            let asked = Asked { osl: Some(asked), ..record.asked };
            (Record { text_bytes: 20, asked, ..record }, chunks)
        });
        let facts = Facts { notes: vec!["something else comes first".into()], ..closed(2) };
        count(name, facts, answers.collect()).summary
    };
    let cases = [("count-none", 0, 5), ("count-half", 2, 5), ("count-many", 50_000, 8)];
    for (name, output, asked) in cases {
        let summary = miscounted(name, output, asked);
        assert_eq!((summary.completed, summary.contradicted, summary.short), (2, 2, 0), "{name}");
        assert_eq!((summary.output_tokens, summary.output_throughput_tok_s, summary.token_source), (None, None, None));
        assert_eq!(summary.steady.as_ref().unwrap().output_tokens, None, "{name}");
        let of_tokens = [&summary.tpot_ms, &summary.itl_ms, &summary.decode_tok_s, &summary.e2e_tok_s];
        for metric in of_tokens.into_iter().chain([&summary.tokens_per_chunk]) {
            assert_eq!((metric.n, metric.mean), (0, None), "{name}");
            assert!(metric.absent["all"].starts_with(super::count::CONTRADICTED), "{name}: {:?}", metric.absent);
        }
        // What needs no count is there, and what was reported is.
        assert_eq!((summary.ttft_ms.n, summary.chunk_gap_ms.n), (2, 8), "{name}");
        assert_eq!(summary.lengths.osl_reported_p50, Some(f64::from(output)));
        let said = format!("in 2 of 2 answers (such as {output} tokens for 5 chunks with 20 bytes of text)");
        assert!(brief(&summary, 400, false).contains(&said), "{:?}", summary.notes);
        assert!(!summary.notes.iter().any(|note| note.contains("have no count")), "{:?}", summary.notes);
    }
    let marked = miscounted("count-marked", 0, 5).marks_of_lengths();
    assert_eq!(marked, ["the server's count of output tokens contradicts what came in 2 of 2 answers"]);
    let fits = miscounted("count-fits", 5, 5);
    assert!(fits.marks_of_lengths().is_empty());
    assert_eq!((fits.contradicted, fits.output_tokens), (0, Some(10)));
}

#[test]
fn a_count_above_the_length_asked_for_gives_way_to_as_many_chunks_as_were_asked_for() {
    let pieces: Vec<f64> = (0..20).map(|n| 50.0 + 10.0 * f64::from(n)).collect();
    let answers = (0..4).map(|n| {
        let (record, mut chunks) = answer(n, 0.0, &pieces, Some(40));
        // The server counts along, and wrongly too.
        chunks.iter_mut().for_each(|chunk| chunk.tokens = 2);
        let asked = Asked { osl: Some(20), ..record.asked };
        (Record { text_bytes: 80, asked, ..record }, chunks)
    });
    let summary = count("above", closed(4), answers.collect()).summary;
    near(summary.tpot_ms.mean, 10.0);
    near(summary.itl_ms.mean, 10.0);
    near(summary.output_throughput_tok_s, 80.0 / 0.24);
    assert_eq!((summary.output_tokens, summary.above_limit), (Some(80), 4));
    assert_eq!((summary.longer, summary.short, summary.contradicted), (0, 0, 0));
    assert_eq!(summary.lengths.osl_reported_p50, Some(40.0), "as reported");
    assert!(summary.marks_of_lengths()[0].contains("in 4 of 4 answers, whose chunks are counted"));
    let steady = summary.steady.as_ref().unwrap();
    assert_eq!((steady.output_tokens, steady.tokens_by), (Some(80.0), "one"));
    let said = "in 4 of 4 answers, which came in as many chunks as were asked for (such as 40 tokens for 20 chunks where 20 were asked for)";
    assert!(brief(&summary, 400, false).contains(said), "{:?}", summary.notes);
}

#[test]
fn one_of_a_thing_is_not_called_several() {
    let (record, chunks) = answer(0, 0.0, &[10.0, 20.0, 30.0], Some(1));
    let asked = Asked { osl: Some(3), ..record.asked };
    let summary = count("one-token", closed(1), vec![(Record { text_bytes: 12, asked, ..record }, chunks)]).summary;
    assert!(summary.notes[0].contains("(such as 1 token for 3 chunks with 12 bytes of text)"), "{:?}", summary.notes);
}

#[test]
fn chunks_that_were_made_one_by_one_and_came_together_are_said_to_be_bursts() {
    // Ten tokens of 20 ms: steadily, unevenly, all at once after a stall.
    let noted = |ends: &[f64]| {
        let summary = count("bursts", closed(1), vec![answer(0, 0.0, ends, Some(6))]).summary;
        summary.notes.iter().any(|note| note.starts_with("answers arrive in bursts"))
    };
    assert!(!noted(&[20.0, 40.0, 60.0, 80.0, 100.0, 120.0]));
    assert!(!noted(&[20.0, 25.0, 65.0, 70.0, 110.0, 120.0]));
    assert!(noted(&[20.0, 120.0, 120.01, 120.02, 120.03, 120.04]));
    // As fast as it can be written is no burst.
    assert!(!noted(&[20.0, 20.01, 20.02, 20.03, 20.04, 21.0]));
}

#[test]
fn answers_that_came_whole_at_their_end_are_counted() {
    let whole: Vec<f64> = (0..8).map(|k| 120.0 + 0.01 * f64::from(k)).collect();
    let even: Vec<f64> = (0..8).map(|k| 20.0 + 14.0 * f64::from(k)).collect();
    let noted = |count_whole: u64| {
        let answers = (0..40).map(|k| answer(k, 0.0, if k < count_whole { &whole } else { &even }, Some(8))).collect();
        count("whole", closed(1), answers).summary.notes.into_iter().find(|note| note.contains("in one piece"))
    };
    assert_eq!(noted(1), None, "one in forty");
    assert!(noted(2).unwrap().starts_with("2 of 40 answers arrived in one piece, at their end"));
    // Issue 34: between chunks that came at once there are no gaps between tokens, not gaps of 0.
    let answers = (0..40).map(|k| answer(k, 0.0, if k < 20 { &whole } else { &even }, Some(8))).collect();
    let itl = count("whole-gaps", closed(1), answers).summary.itl_ms;
    assert_eq!((itl.mean, itl.p50), (None, None));
    assert!(itl.absent["all"].starts_with("20 of 40 answers arrived in one piece"));
    assert!(noted(40).is_some());

    // All at one moment: there is no TPOT at all, and it is seen all the same.
    let moment = (0..4).map(|k| answer(k, 0.0, &[120.0; 8], Some(8))).collect();
    let notes = count("moment", closed(1), moment).summary.notes;
    assert!(notes.iter().any(|note| note.starts_with("4 of 4 answers arrived in one piece")), "{notes:?}");
}

#[test]
fn chunks_of_several_tokens_have_no_token_gaps_and_share_their_tokens_evenly() {
    // Six tokens in three chunks. The first is known to hold two.
    let (record, chunks) = answer(0, 0.0, &[10.0, 30.0, 50.0], Some(6));
    let summary = count("several", closed(1), vec![(Record { first_tokens: Some(2), ..record }, chunks)]).summary;
    near(summary.tpot_ms.mean, 40.0 / 4.0);
    near(summary.chunk_gap_ms.mean, 20.0);
    near(summary.tokens_per_chunk.mean, 2.0);
    assert_eq!(summary.itl_ms.mean, None);
    assert_eq!(
        summary.itl_ms.absent["all"],
        "in 1 of 1 answers a chunk holds several tokens or none, see chunk_gap_ms and tpot_ms"
    );
    let steady = summary.steady.unwrap();
    assert_eq!((steady.output_tokens, steady.tokens_by), (Some(6.0), "even"));

    // The server counts too, and its count is final.
    let (record, mut chunks) = answer(0, 0.0, &[10.0, 30.0], Some(5));
    (chunks[0].tokens, chunks[1].tokens) = (4, 1);
    let steady = count("along", closed(1), vec![(record, chunks)]).summary.steady.unwrap();
    assert_eq!((steady.output_tokens, steady.tokens_by), (Some(5.0), "counted"));
}

#[test]
fn an_answer_whose_tokens_came_at_one_moment_has_no_time_per_token() {
    let three_in_one_chunk = count("whole", closed(1), vec![answer(0, 0.0, &[10.0], Some(3))]).summary;
    let three_in_one_read = count("read", closed(1), vec![answer(0, 0.0, &[10.0, 10.0, 10.0], Some(3))]).summary;
    for summary in [three_in_one_chunk, three_in_one_read] {
        assert_eq!((summary.tpot_ms.n, summary.tpot_ms.mean, summary.decode_tok_s.n), (0, None, 0));
        near(summary.ttft_ms.mean, 10.0);
        let left_out = |note: &&String| note.starts_with("tpot_ms leaves out 1 of 1 answers");
        assert!(summary.notes.iter().any(|note| left_out(&note)), "{:?}", summary.notes);
    }
}

#[test]
fn a_few_answers_without_one_token_a_chunk_are_left_out_of_the_gaps_and_said() {
    let mut requests: Vec<_> = (0..20).map(|n| answer(n, 0.0, &[10.0, 20.0], Some(2))).collect();
    requests[7] = answer(7, 0.0, &[10.0, 90.0], Some(3));
    let summary = count("few", closed(20), requests).summary;
    assert_eq!((summary.itl_ms.n, summary.itl_ms.max, summary.chunk_gap_ms.n), (19, Some(10.0), 20));
    assert!(summary.notes[0].starts_with("itl_ms leaves out 1 of 20"), "{:?}", summary.notes);
}

#[test]
fn times_of_reading_are_said_to_be_so_and_a_clock_that_goes_back_breaks_nothing() {
    let (mut record, chunks) = answer(0, 0.0, &[10.0, 5.0], Some(2));
    record.first_token = record.first_token.map(|stamp| Stamp { kernel: None, ..stamp });
    let counted = count("user", closed(1), vec![(record, chunks)]);
    assert!(!counted.kernel_clock && counted.read_lag_ms.is_none());
    near(counted.summary.chunk_gap_ms.min, -5.0);
}

#[test]
fn the_cool_down_is_cut_off_the_steady_window_alone() {
    let requests = vec![answer(0, 0.0, &[100.0, 900.0], Some(2)), answer(1, 0.0, &[100.0, 1000.0], Some(2))];
    let facts = Facts { cooldown_cut_s: 0.5, ..closed(2) };
    let summary = count("cut", facts, requests).summary;
    let steady = summary.steady.unwrap();
    assert!((steady.to_s - 0.5).abs() < 1e-4, "{steady:?}");
    assert_eq!(steady.output_tokens, Some(2.0));
    near(summary.duration_s, 1.0);
}

#[test]
fn an_objective_without_a_figure_makes_no_answer_bad() {
    let of = |name: &str, slos: Slos, answers: Vec<(Record, Vec<Chunk>)>| {
        let summary = count(&format!("goodput-{name}"), Facts { slos, ..closed(1) }, answers).summary;
        let drawn = text(&summary, 200, false);
        (summary.goodput.unwrap(), drawn)
    };
    let slos = Slos { ttft_ms: Some(60.0), tpot_ms: Some(50.0), e2e_ms: None };
    let (goodput, drawn) = of("uncounted", slos, (0..4).map(|n| answer(n, 0.0, &[50.0, 60.0], None)).collect());
    assert_eq!((goodput.fraction, goodput.req_s, goodput.unjudged), (None, None, 4));
    let why = "4 of 4 answers break no limit and have no tpot_ms: the tokens were not counted";
    assert_eq!(goodput.absent.as_deref(), Some(why));
    assert!(drawn.contains("not measurable under tpot_ms <= 50 and ttft_ms <= 60"), "{drawn}");
    // An answer of one token has no TPOT either.
    let (goodput, _) = of("single", slos, vec![answer(0, 0.0, &[50.0], Some(1))]);
    assert!(goodput.absent.unwrap().ends_with("no answer has a further token"));
    // Another limit that is broken decides.
    let (goodput, _) = of("broken", slos, vec![answer(0, 0.0, &[70.0, 80.0], None)]);
    assert_eq!((goodput.fraction, goodput.unjudged, goodput.absent), (Some(0.0), 0, None));
    // What is asked of the first token alone is known.
    let (goodput, _) = of("first", Slos { tpot_ms: None, ..slos }, vec![answer(0, 0.0, &[50.0, 60.0], None)]);
    assert_eq!((goodput.fraction, goodput.unjudged), (Some(1.0), 0));
    // A few that cannot be judged leave a share, which is the least.
    let mut mixed: Vec<_> = (0..3).map(|n| answer(n, 0.0, &[50.0, 60.0], Some(2))).collect();
    mixed.push(answer(3, 0.0, &[50.0, 60.0], None));
    let (goodput, drawn) = of("mixed", slos, mixed);
    assert_eq!((goodput.fraction, goodput.unjudged), (Some(0.75), 1));
    assert!(drawn.contains("That is the least: 1 more"), "{drawn}");
}

#[test]
fn hidden_reasoning_leaves_the_time_of_the_tokens_that_came_and_a_brief_summary_says_so() {
    let pieces: Vec<f64> = (0..10).map(|n| 50.0 + 10.0 * f64::from(n)).collect();
    let of = |doubt: Doubt, first_tokens: Option<u32>| {
        let answers = (0..4).map(|n| {
            let (record, chunks) = answer(n, 0.0, &pieces, Some(40));
            (Record { doubt, first_tokens, ..record }, chunks)
        });
        let facts = Facts { notes: vec!["first".into(), "second".into()], ..closed(4) };
        count(&format!("doubt-{}", doubt as u8), facts, answers.collect()).summary
    };
    let summary = of(Doubt::Unsent, Some(31));
    near(summary.tpot_ms.mean, 10.0);
    near(summary.decode_tok_s.mean, 100.0);
    near(summary.ttft_ms.mean, 50.0);
    let drawn = brief(&summary, 400, false);
    assert!(drawn.contains("in 4 of 4 answers the server counts reasoning that it did not send"), "{drawn}");
    assert!(drawn.contains("more notes, shown with -v"), "{drawn}");
    // Where it may be in the pieces, there are two truths and no figure.
    let summary = of(Doubt::Unplaced, None);
    assert_eq!((summary.tpot_ms.n, summary.decode_tok_s.n), (0, 0));
    assert!(brief(&summary, 400, false).contains("whether it is part of the text is not known"));
    // One note is enough where none changes a figure.
    let quiet = of(Doubt::None, None);
    assert_eq!((quiet.loud, brief(&quiet, 400, false).matches("note:").count()), (0, 1));
}

#[test]
fn a_first_token_and_a_first_visible_text_that_are_two_are_both_in_a_brief_summary() {
    let (record, chunks) = answer(0, 0.0, &[10.0, 20.0, 30.0], Some(3));
    let same = count("visible", closed(1), vec![(record.clone(), chunks.clone())]).summary;
    assert!(!brief(&same, 200, false).contains("ttfo_ms"));
    let later = count("visible", closed(1), vec![(Record { first_content: stamp(20.0), ..record }, chunks)]).summary;
    let drawn = brief(&later, 200, false);
    assert!(drawn.contains("ttft_ms") && drawn.contains("ttfo_ms"), "{drawn}");
}

#[test]
fn steady_requests_per_second_count_work_and_not_completions() {
    let steady = |name: &str, facts: Facts, spans: Vec<(f64, f64)>| {
        let answers =
            (0..).zip(spans).map(|(n, (sent, e2e))| answer(n, sent, &[sent + e2e / 2.0, sent + e2e], Some(2)));
        count(name, facts, answers.collect()).summary.steady.unwrap()
    };
    // A burst: twenty at once, which end 230, 231, ... 249 ms later. The window ends with the second end of a response, at 232 ms.
    let burst = steady("burst", closed(20), (0..20).map(|n| (0.0, 230.0 + f64::from(n))).collect());
    let parts: f64 = (0..20).map(|n| (232.0 / (230.0 + f64::from(n))).min(1.0)).sum();
    assert!((burst.request_throughput_req_s / (parts / 0.232) - 1.0).abs() < 1e-3, "{burst:?}");
    assert!(burst.completed <= 2 && burst.request_throughput_req_s > 80.0, "{burst:?}");
    // A closed loop of four places and two turns of 100 ms, the second 101 ms after the first.
    let turns = (0..8).map(|n| (if n < 4 { 0.0 } else { 101.0 }, 100.0)).collect();
    let looped = steady("looped", closed(4), turns);
    assert_eq!((looped.requests, looped.completed), (8.0, 4));
    near(Some(looped.request_throughput_req_s), 8.0 / 0.201);
    // A rate of 100 a second, 100 ms each. Ten are under way when the last is sent, with 0.9, 0.8, ... 0 of their time behind them.
    let shape = Shape::Open { rate: 100.0, arrival: Arrival::Constant, max_concurrency: None };
    let facts = Facts::of(&Settings { shape, ..Settings::default() });
    let rate = steady("rate", facts, (0..1000).map(|n| (f64::from(n) * 10.0, 100.0)).collect());
    near(Some(rate.requests), 990.0 + 4.5);
    near(Some(rate.request_throughput_req_s), 994.5 / 9.99);
    assert!(rate.request_throughput_req_s > 99.5, "{rate:?}");
}

#[test]
fn tokens_of_answers_that_came_whole_count_in_the_steady_window_with_the_share_of_their_time() {
    let steady = |name: &str, concurrency: u32, spans: Vec<(f64, f64)>, streamed: bool| {
        let answers = (0..).zip(spans).map(|(n, (sent, e2e))| {
            let piece = |k: u32| sent + if streamed { e2e * f64::from(k) / 20.0 } else { e2e };
            answer(n, sent, &(1..=20).map(piece).collect::<Vec<f64>>(), Some(20))
        });
        count(name, closed(concurrency), answers.collect()).summary.steady.unwrap()
    };
    // Twenty at once, which end 230, 231, ... 249 ms later with twenty tokens each. The window ends with the second end, at 232 ms.
    let burst = || (0..20).map(|n| (0.0, 230.0 + f64::from(n))).collect();
    let parts: f64 = (0..20).map(|n| (232.0 / (230.0 + f64::from(n))).min(1.0)).sum();
    let whole = steady("whole-burst", 20, burst(), false);
    let rate = whole.output_throughput_tok_s.unwrap();
    assert!((rate / (20.0 * parts / 0.232) - 1.0).abs() < 1e-3, "{whole:?}");
    assert!((rate / (20.0 * whole.request_throughput_req_s) - 1.0).abs() < 1e-9, "{whole:?}");
    assert_eq!(whole.definition, "output-rate.steady-window.by-share");
    // Streamed they have the same rate, by the times of the chunks.
    let streamed = steady("streamed-burst", 20, burst(), true);
    assert_eq!(streamed.definition, "output-rate.steady-window");
    assert!((rate / streamed.output_throughput_tok_s.unwrap() - 1.0).abs() < 0.05, "{streamed:?}");
    // Four places and two turns: all tokens lie in the window, however they came.
    let turns = || (0..8).map(|n| (if n < 4 { 0.0 } else { 101.0 }, 100.0)).collect();
    for streamed in [false, true] {
        let turned = steady(&format!("turns-{streamed}"), 4, turns(), streamed);
        near(turned.output_tokens, 160.0);
    }
}

/// Forty requests, two of which fail: what the golden files show.
fn example(colour: bool, width: usize) -> (Summary, String) {
    let mut requests: Vec<_> = (0..120_u64)
        .map(|n| {
            let sent = (n / 4) as f64 * 400.0 + (n % 4) as f64;
            let pieces: Vec<f64> = (0..8).map(|k| sent + 50.0 + n as f64 * 0.1 + k as f64 * 40.0).collect();
            answer(n, sent, &pieces, Some(8))
        })
        .collect();
    requests.push((
        Record { http: Some(429), retry_after: Some("2".into()), ..failed(120, 100.0, 101.0, Status::Http).0 },
        Vec::new(),
    ));
    let facts = Facts {
        slos: Slos { ttft_ms: Some(60.0), tpot_ms: Some(50.0), e2e_ms: None },
        notes: vec!["the cell 65536/256 is longer than the server's limit and was skipped".into()],
        ..closed(4)
    };
    let counted = count(if colour { "colour" } else { "golden" }, facts, requests);
    let evidence = Evidence {
        kernel_clock: counted.kernel_clock,
        read_lag_ms: counted.read_lag_ms,
        ttft_p50_ms: counted.summary.ttft_ms.p50,
        wall_s: 12.0,
        cpu_s: 0.6,
        store_waits: 2,
        store_waited_s: 0.25,
        peak_rss_mib: 21.5,
        ..Evidence::default()
    };
    let summary = counted.certified(judge(&evidence, None));
    let text = text(&summary, width, colour);
    (summary, text)
}

#[test]
fn the_summary_reads_as_the_golden_files_show() {
    let (summary, wide) = example(false, 140);
    let (_, narrow) = example(false, 80);
    let folder = std::path::Path::new(sparkbench_testing::ROOT).join("tests/golden/load");
    let json = summary.json().replace(env!("CARGO_PKG_VERSION"), "VERSION");
    for (name, found) in [("summary.json", &json), ("summary.txt", &wide), ("summary-narrow.txt", &narrow)] {
        let path = folder.join(name);
        if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, found).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(*found == golden, "{name} differs; SPARKBENCH_GOLDEN=1 rewrites it:\n{found}");
    }
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn colours_come_on_request_alone() {
    assert!(example(true, 120).1.contains("\u{1b}["));
    assert!(!example(false, 120).1.contains('\u{1b}'));
}

#[test]
fn a_definition_has_one_meaning() {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for definition in DEFINITIONS {
        let formula = seen.entry(definition.id).or_insert(definition.formula);
        assert_eq!(*formula, definition.formula, "{}", definition.id);
    }
}

#[test]
fn the_manual_has_the_table_of_definitions() {
    let path = std::path::Path::new(sparkbench_testing::ROOT).join("docs/load-figures.md");
    let manual = std::fs::read_to_string(&path).unwrap();
    let table = definitions::markdown();
    let (before, rest) = manual.split_once("| figure |").unwrap();
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let wanted = format!("{before}{table}\n{after}");
    if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(manual == wanted, "docs/load-figures.md is behind; SPARKBENCH_GOLDEN=1 rewrites its table");
    for quoted in [
        format!("{} %", RESOLUTION_PCT),
        format!("{} million", EXACT / 1_000_000),
        format!("{:.0} %", REACHED * 100.0),
        format!("{:.0} %", ERRORS_MAX * 100.0),
    ] {
        assert!(manual.contains(&quoted), "the manual does not say {quoted}");
    }
}

/// Requests that leave every `gap` ms and whose first token takes ever longer by `grows` ms.
fn open_loop(name: &str, gap: f64, grows: f64) -> Summary {
    let shape = Shape::Open { rate: 1000.0 / gap, arrival: Arrival::Poisson, max_concurrency: None };
    let facts = Facts { settings: serde_json::json!({}), ..Facts::of(&Settings { shape, ..Settings::default() }) };
    let requests = (0..400)
        .map(|n| {
            let sent = n as f64 * gap;
            let first = sent + 20.0 + n as f64 * grows;
            answer(n, sent, &[first, first + 5.0], Some(2))
        })
        .collect();
    count(name, facts, requests).summary
}

#[test]
fn a_queue_that_grows_to_the_end_is_more_than_the_server_can_take() {
    let (grown, flat) = (open_loop("grown", 5.0, 2.0), open_loop("flat", 5.0, 0.0));
    assert_eq!((grown.oversaturated, flat.oversaturated), (Some(true), Some(false)));
    assert!(grown.notes.iter().any(|note| note.contains("could not keep up")), "{:?}", grown.notes);
    // Equal gaps are no Poisson process, and that is reported.
    let fit = flat.arrivals.unwrap();
    assert!(fit.n == 399 && fit.p < 1e-6, "{fit:?}");
    assert!(flat.notes.iter().any(|note| note.contains("differ from the arrival process")), "{:?}", flat.notes);
    let closed = count("closed-open", closed(1), vec![answer(0, 0.0, &[10.0, 20.0], Some(2))]).summary;
    assert_eq!((closed.oversaturated, closed.arrivals), (None, None));
}

#[test]
fn one_client_of_several_is_held_to_its_own_share() {
    let facts = |shape| Facts::of(&Settings { shape, share: Share { rank: 1, world: 2 }, ..Settings::default() });
    assert_eq!(facts(Shape::Closed { concurrency: 5 }).goal, Goal::Closed(2.0));
    let open = |arrival| facts(Shape::Open { rate: 8.0, arrival, max_concurrency: None });
    assert_eq!(open(Arrival::Poisson).goal, Goal::Open(Some(4.0), None));
    // Every second arrival of a Poisson process: gaps are sums of two exponential ones.
    assert_eq!(open(Arrival::Poisson).process, Some((Arrival::Gamma(2.0), 4.0)));
    assert_eq!(open(Arrival::Gamma(0.5)).process, Some((Arrival::Gamma(1.0), 4.0)));
    assert_eq!(open(Arrival::Constant).process, Some((Arrival::Constant, 4.0)));
}

#[test]
fn what_was_said_of_failures_stands_behind_their_kinds() {
    let requests = (0..5)
        .map(|n| {
            let error = Some(if n < 3 { "status 500: out of memory" } else { "status 503: loading" }.to_owned());
            (Record { error, ..failed(n, 0.0, 10.0, Status::Http).0 }, Vec::new())
        })
        .collect();
    let summary = count("said", closed(1), requests).summary;
    assert_eq!(summary.said["status 500: out of memory"], 3);
    let text = text(&summary, 200, false);
    let wanted = "errors: http 5, 3 x \"status 500: out of memory\", 2 x \"status 503: loading\"";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn a_reason_to_end_that_is_not_known_is_named_without_being_asked() {
    let ended = |index: u64, reason: &str| {
        let (record, chunks) = answer(index, 0.0, &[10.0, 20.0], Some(2));
        (Record { finish: Some(reason.to_owned()), ..record }, chunks)
    };
    let facts = Facts { notes: vec!["another note".into()], ..closed(3) };
    let requests = vec![ended(0, "glorious"), ended(1, "glorious"), ended(2, "stop")];
    let summary = count("glorious", facts, requests).summary;
    assert_eq!((summary.completed, summary.finish_reasons["glorious"], summary.finish_reasons["stop"]), (3, 2, 1));
    let drawn = brief(&summary, 400, false);
    assert!(drawn.contains("2 answers ended for a reason that is not known here (2 x \"glorious\")"), "{drawn}");
    let usual = count("usual", closed(2), vec![ended(0, "stop"), ended(1, "length")]).summary;
    assert!(usual.notes.is_empty() && usual.finish_reasons.len() == 2, "{:?}", usual.notes);
}

/// Issue 34: the first requests were 40 times slower, and nothing was said of them.
#[test]
fn a_cold_start_is_named_where_too_little_was_warmed_up() {
    let load = |name: &str, places: u64, times: &dyn Fn(u64) -> (f64, f64), warm: bool| {
        let mut requests: Vec<_> = (0..40)
            .map(|n| {
                let (ttft, tpot) = times(n);
                let sent = (n / places) as f64 * 5_000.0;
                answer(n, sent, &(0..4).map(|k| sent + ttft + f64::from(k) * tpot).collect::<Vec<f64>>(), Some(4))
            })
            .collect();
        // Whatever ended first: the order of the plan counts.
        requests.reverse();
        if warm {
            let (record, chunks) = answer(100, -5000.0, &[-4000.0], Some(1));
            requests.push((Record { phase: Phase::Warmup, ..record }, chunks));
        }
        count(name, closed(places as u32), requests).summary
    };
    let cold = |n: u64| (if n < 2 { 2050.0 } else { 50.0 }, if n < 8 { 23.0 } else { 14.0 });
    let summary = load("cold", 2, &cold, false);
    let found = summary.cold_start.clone().unwrap();
    assert_eq!((found.requests, found.ttft_ms, found.ttft_warm_ms), (8, Some(2050.0), Some(50.0)));
    near(found.tpot_ms, 23.0);
    near(found.tpot_warm_ms, 14.0);
    let drawn = brief(&summary, 400, false);
    let said = "the first 8 requests were far slower than later ones (TTFT 2050.0 against 50.00 ms, TPOT 23.00 against 14.00 ms), and \
                nothing was warmed up: add --warmup 8";
    assert!(drawn.contains(said), "{drawn}");
    // What a warm-up left of it is one too.
    let drawn = brief(&load("cold-warmed", 2, &cold, true), 400, false);
    assert!(drawn.contains("and a warm-up of 1 request was too short: use --warmup 9"), "{drawn}");
    let dragging = load("cold-tokens", 2, &|n| (50.0, if n < 6 { 23.0 } else { 14.0 }), true);
    let found = dragging.cold_start.unwrap();
    assert_eq!((found.requests, found.ttft_ms), (6, None));
    assert_eq!(load("warm", 2, &|_| (50.0, 14.0), true).cold_start, None);
    // Eight prefills at once take eight times as long, and one request that is twice as slow is chance.
    let burst = |n: u64| (if n < 8 { 50.0 * (n + 1) as f64 } else { 50.0 }, 14.0);
    assert_eq!(load("cold-burst", 8, &burst, false).cold_start, None);
    let chance = |n: u64| (if n == 0 { 120.0 } else { 50.0 }, 14.0);
    assert_eq!(load("cold-chance", 1, &chance, false).cold_start, None);
    let one = |n: u64| (if n == 0 { 2_000.0 } else { 50.0 }, 14.0);
    let found = load("cold-one", 1, &one, false).cold_start.unwrap();
    let said = found.sentence((0, 0), false);
    assert!(said.starts_with("the first request was far slower") && said.ends_with("add --warmup 1"), "{said}");
    // A slow request in the middle is no beginning.
    let middle = |n: u64| (if n == 9 { 2_000.0 } else { 50.0 }, 14.0);
    assert_eq!(load("cold-middle", 1, &middle, false).cold_start, None);
}

/// Issue 34: five of five failed, and neither a note nor the JSON said so.
#[test]
fn failed_warm_up_requests_are_counted_and_stand_in_the_first_note() {
    let warm = |index, error: Option<&str>| {
        let (record, chunks) = match error {
            Some(said) => {
                (Record { error: Some(said.to_owned()), ..failed(index, -50.0, -40.0, Status::Http).0 }, Vec::new())
            }
            None => answer(index, -50.0, &[-40.0], Some(1)),
        };
        (Record { phase: Phase::Warmup, ..record }, chunks)
    };
    let load = |name: &str, warm_up: Vec<(Record, Vec<Chunk>)>| {
        let facts = Facts { notes: vec!["another note".into()], ..closed(1) };
        count(name, facts, warm_up.into_iter().chain([answer(0, 0.0, &[10.0, 20.0], Some(2))]).collect()).summary
    };
    let said = "status 500: CUDA graph capture failed";
    let all = load("warm-all", (1..6).map(|index| warm(index, Some(said))).collect());
    assert_eq!(
        all.warmup_failed,
        Some(WarmupFailures { count: 5, reasons: [(said.to_owned(), 5)].into_iter().collect() })
    );
    let note =
        "5 of 5 warm-up requests failed (5 x \"status 500: CUDA graph capture failed\"), so nothing was warmed up";
    assert_eq!(all.notes[0], note);
    let shown = brief(&all, 300, false);
    assert!(shown.contains(note) && shown.contains("before it 5 for warm-up, of which 5 failed"), "{shown}");
    assert!(all.valid && all.failed == 0 && all.errors.is_empty(), "the measured part has its own counts");
    let some = load("warm-some", vec![warm(1, None), warm(2, Some(said))]);
    assert!(some.notes[0].starts_with("1 of 2 warm-up requests failed"), "{:?}", some.notes);
    assert!(some.notes[0].ends_with("so the warm-up was not whole"), "{:?}", some.notes);
    let none = load("warm-none", vec![warm(1, None)]);
    assert_eq!((none.warmup_failed.as_ref(), none.notes.len()), (None, 1));
    assert!(!none.json().contains("warmup_failed"));
}

#[test]
fn requests_that_were_sent_again_stand_with_their_causes() {
    let again = |index: u64, resends: [u32; 5]| {
        let (record, chunks) = answer(index, index as f64 * 50.0, &[index as f64 * 50.0 + 10.0], Some(1));
        (Record { resent: resends.iter().sum(), resends, ..record }, chunks)
    };
    let load = |name: &str, requests| count(name, closed(1), requests).summary;
    let summary = load("resent", vec![again(0, [2, 1, 0, 0, 0]), again(1, [1, 0, 0, 0, 0]), again(2, [0; 5])]);
    assert_eq!(summary.resent, 2);
    assert_eq!(
        summary.resent_after.iter().map(|(cause, times)| (cause.as_str(), *times)).collect::<Vec<_>>(),
        [("status 429", 3), ("status 503", 1)]
    );
    let shown = text(&summary, 200, false);
    assert!(shown.contains(", 2 sent again (status 429: 3, status 503: 1)"), "{shown}");
    assert!(!shown.contains("broke"), "{shown}");
    let shown = text(&load("resent-broken", vec![again(0, [0, 0, 0, 1, 0])]), 200, false);
    assert!(shown.contains(", 1 sent again (the connection broke: 1)"), "{shown}");
}
