//! A record as a line of `requests.jsonl`.
//!
//! In:  [`Record`], the origin.  Out: [`RequestWire`].
//! Not here: the file.
//!
//! Seconds from the origin as a 64-bit float print with nine decimals and come back as the same nanosecond for the first 100 days.

use crate::order::{Phase, Record};
use sparkbench_archive::manifest::RequestWire;
use sparkbench_host::net::{Ns, Stamp};

/// Word of a phase.
pub(super) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Probe => "probe",
        Phase::Prime => "prime",
        Phase::Warmup => "warmup",
        Phase::Measured => RequestWire::MEASURED,
    }
}

/// See the module. `ended` is the end of a request that has none of its own.
pub fn wire(record: &Record, origin: Ns, ended: Ns) -> RequestWire {
    let second = |at: Ns| at.wrapping_sub(origin).cast_signed() as f64 / 1e9;
    let at = |stamp: Option<Stamp>| stamp.map(|stamp| second(stamp.at()));
    let responded = record.first_byte.is_some();
    RequestWire {
        index: record.index,
        test: None,
        warmup: record.phase != Phase::Measured,
        phase: Some(phase(record.phase).to_owned()),
        request_id: (!record.request_id.is_empty()).then(|| record.request_id.clone()),
        conversation: record.turn.map(|turn| turn.conversation),
        turn: record.turn.map(|turn| turn.turn),
        client: record.turn.map(|turn| turn.client),
        intended_s: record.intended.map(second),
        sent_s: record.sent.map(second),
        connected_s: record.connected.map(second),
        written_s: record.written.map(second),
        first_byte_s: at(record.first_byte),
        headers_s: at(record.headers),
        first_event_s: at(record.first_event),
        first_token_s: at(record.first_token),
        first_token_read_s: record.first_token.filter(|stamp| stamp.kernel.is_some()).map(|stamp| second(stamp.user)),
        first_reasoning_s: at(record.first_reasoning),
        first_content_s: at(record.first_content),
        second_token_s: at(record.second_token),
        further_tokens_s: Vec::new(),
        last_token_s: at(record.last_token),
        end_s: at(record.end).or_else(|| record.sent.map(|_| second(ended))),
        input_tokens: record.usage.input,
        cached_tokens: record.usage.cached,
        output_tokens: record.usage.output,
        reasoning_tokens: record.usage.reasoning,
        first_tokens: record.first_tokens,
        input_tokens_asked: record.asked.isl,
        input_tokens_sent: record.asked.isl_sent,
        output_tokens_asked: record.asked.osl,
        output_exact: record.asked.exact,
        events: responded.then_some(record.events),
        pieces: responded.then_some(record.pieces),
        silent_pieces: (record.silent > 0).then_some(record.silent),
        bytes: responded.then_some(record.bytes),
        text_bytes: responded.then_some(record.text_bytes),
        done: responded.then_some(record.done),
        finish_reason: record.finish.clone(),
        model: record.model.clone(),
        http: record.http,
        retry_after: record.retry_after.clone(),
        reused: record.sent.map(|_| record.reused),
        resent: (record.resent > 0).then_some(record.resent),
        status: record.status.word().to_owned(),
        error: record.error.clone(),
    }
}
