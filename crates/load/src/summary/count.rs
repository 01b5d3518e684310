//! From rows and chunks to figures: a few passes over the rows, one over the chunks.
//!
//! In:  [`Stored`], [`Facts`].  Out: [`Counted`].
//! Not here: the passes themselves (see `pass`), definitions in words, text.
//!
//! Each figure takes a pass of its own, so that the values of one alone are in memory. The chunks are read last. By then it is known which
//! requests were answered, how many tokens their chunks hold, and where the steady window lies.

use std::collections::BTreeMap;

use super::cold;
use super::definitions::{self as define, Definition};
use super::open;
use super::pass::{self, FASTEST_TOKEN_MS, FromChunks, Totals, Weights, at_once, delivery, ms, tokens, tpot};
use super::samples::Samples;
use super::unseen;
use super::window::{Flight, Window};
use super::{
    Before, Counted, ERRORS_MAX, Facts, Goal, Goodput, ISL_OFF_PCT, LengthMedians, Metric, ONE_TOKEN_SHARE, SCHEMA,
    Steady, Summary, TokenSource, Tool, UNJUDGED_MAX, Unfinished, WarmupFailures,
};
use crate::certificate::{ClientCertificate, Lags};
use crate::finish::Finish;
use crate::order::{EndedBy, Status};
use crate::store::{RequestRow, Rows, Stored};
use sparkbench_text::error::Error;
use sparkbench_text::plural;

/// The mean gap between chunks from which on bursts are looked for: below it, chunks arrive as fast as they can be written.
const BURST_MEAN_MS: f64 = 1.0;
/// The median gap is below this share of the mean one where chunks come in bursts. Of gaps that are drawn from an exponential
/// distribution it is 0.69, so a server that is merely uneven is far from it.
const BURST_SHARE: f64 = 0.05;
/// Chunks from which on an answer may be said to have come whole.
const WHOLE_CHUNKS: u32 = 8;
/// Share of unstreamed answers from which on it is reported, and from which on their tokens are not laid to the moment at which they came.
const WHOLE_SHARE: f64 = 0.05;

/// Why figures of tokens are absent where the server's count cannot be that of the answers. A note with it is shown in any case.
pub(super) const CONTRADICTED: &str = "the server's count of output tokens contradicts what came";

/// The passes before any figure: when the load was, where it was steady, and what its chunks hold.
struct Passed {
    totals: Totals,
    /// First send to last piece.
    span: Option<(u64, u64)>,
    flight: Option<Flight>,
    kernel_clock: bool,
    chunks: FromChunks,
    steady: Option<Steady>,
    open: open::Open,
}

impl Passed {
    fn over(facts: &Facts, stored: &mut Stored) -> Result<Self, Error> {
        let mut totals = Totals::default();
        stored.rows.each(|row| totals.add(row))?;
        let span = totals.first_sent.zip(totals.last_token).filter(|(from, to)| to > from);
        let flight = flight(&mut stored.rows, &totals)?;
        let window = window(facts, &totals, flight.as_ref());
        let weights = Weights::new(&mut stored.rows)?;
        let kernel_clock = totals.first_tokens > 0 && totals.stamped == totals.first_tokens;
        let all_one = totals.one_token == totals.completed;
        let chunks = pass::chunks(stored, &weights, window, !all_one, kernel_clock)?;
        drop(weights);
        let steady = steady(facts, &mut stored.rows, window, &chunks, stored.origin)?;
        let open = match facts.goal {
            Goal::Open(..) => open::look(&mut stored.rows, window, facts.process)?,
            Goal::Closed(_) => open::Open::default(),
        };
        Ok(Self { totals, span, flight, kernel_clock, chunks, steady, open })
    }
}

/// Why figures are absent where they are.
struct Reasons {
    answered: bool,
    nothing: &'static str,
    no_tokens: &'static str,
    no_further: &'static str,
}

impl Reasons {
    fn of(totals: &Totals) -> Self {
        let answered = totals.completed > 0;
        let nothing = if totals.recorded == 0 { "no request was made" } else { "no request was answered" };
        let no_tokens = match (answered, totals.contradicted) {
            (false, _) => nothing,
            (true, 0) => "the tokens were not counted",
            (true, _) => CONTRADICTED,
        };
        let no_further = match (totals.output_known, totals.unspanned) {
            (0, _) => no_tokens,
            (_, 0) => "no answer has a further token",
            _ => {
                "few chunks hold many tokens, so the time of each token is not known. With --continuous-usage the server counts tokens per chunk"
            }
        };
        Self { answered, nothing, no_tokens, no_further }
    }

    /// This, if any request was answered.
    const fn unless(&self, why: &'static str) -> &'static str {
        if self.answered { why } else { self.nothing }
    }
}

/// See the module.
pub(super) fn count(facts: Facts, stored: &mut Stored) -> Result<Counted, Error> {
    let warmup_failed = WarmupFailures::of(stored);
    let Passed { totals, span, flight, kernel_clock, chunks, steady, open: seen_open } = Passed::over(&facts, stored)?;
    let reasons = Reasons::of(&totals);
    let Reasons { nothing, no_tokens, no_further, .. } = reasons;
    let completed = totals.completed;
    let seconds = span.map(|(from, to)| (to - from) as f64 / 1e9);
    let open = matches!(facts.goal, Goal::Open(..));
    let rtt = facts.rtt_ms.unwrap_or(0.0);
    let lags = |metric: Metric| Lags::of(&metric);

    let ttft = if open { define::TTFT_INTENDED } else { define::TTFT_SENT };
    let mut notes = facts.notes.clone();
    let FromChunks { gaps, itl, lag, .. } = chunks;
    let chunk_gap_ms = gaps.metric(&define::CHUNK_GAP, reasons.unless("no answer has a second chunk"));
    let mut whole = 0;
    stored.rows.each(|row| whole += u64::from(came_whole(row)))?;
    let itl_ms = itl_of(&chunk_gap_ms, itl, &totals, whole, nothing, &mut notes);
    // What changes the meaning of a figure stands before all else.
    let mut loud: Vec<String> = facts.loud.clone();
    loud.extend(bursts(&chunk_gap_ms, whole, completed));
    loud.extend(unseen::notes(&totals.doubts, completed));
    loud.extend(contradicted(&totals));
    loud.extend(above_limit(&totals));
    loud.extend(unknown_finish(stored));
    let unfinished = unfinished(&totals, &mut stored.rows, &ttft)?;
    loud.extend(unfinished.as_ref().map(Unfinished::sentence));
    let read_lag_ms = lags(lag.metric(&define::READ_LAG, ""));

    let rows = &mut stored.rows;
    let schedule_lag_ms =
        if open { lags(every(rows, &define::SCHEDULE_LAG, "", |row| ms(row.sent, row.intended))?) } else { None };
    let lengths = lengths(rows)?;
    remarks(&facts, &totals, &lengths, &mut notes);
    let offered = rate(totals.intended, totals.first_intended.zip(totals.last_intended));
    loud.extend(warmup_failed.as_ref().map(|failed| failed.sentence(stored.before.0)));
    let places = match facts.goal {
        Goal::Closed(places) => places,
        Goal::Open(..) => 1.0,
    };
    let cold_start = cold::look(rows, places)?;
    let of_turns = !facts.settings["num_clients"].is_null();
    loud.extend(cold_start.as_ref().map(|cold| cold.sentence(stored.before, of_turns)));
    // First of all, because readers who compare rates read no further.
    let off = facts.asked_rate.zip(offered).and_then(|(asked, drawn)| open::drawn_off(asked, drawn, totals.intended));
    loud.splice(0..0, off);
    let least = loud.len();
    notes.splice(0..0, loud);
    notes.extend(seen_open.notes());
    let planned = facts.planned.unwrap_or(0).max(totals.recorded);
    let (input, output) =
        (totals.whole(totals.input, totals.input_known), totals.whole(totals.output, totals.output_known));
    let over = |amount: Option<f64>| Some(amount? / seconds?);
    let invalid_because = invalid(&totals);
    let cancelled = totals.cancelled();
    let summary = Summary {
        schema: SCHEMA,
        tool: Tool { name: "sparkbench", version: env!("CARGO_PKG_VERSION") },
        models_seen: stored.models.clone(),
        finish_reasons: stored.finishes.clone(),
        valid: invalid_because.is_empty(),
        invalid_because,
        ended_by: EndedBy::Plan,
        planned,
        not_sent: planned - totals.recorded + totals.errors.get(Status::NotSent.word()).copied().unwrap_or(0),
        completed,
        failed: totals.recorded - completed - cancelled,
        cancelled,
        short: totals.short,
        longer: totals.longer,
        contradicted: totals.contradicted,
        above_limit: totals.above_limit,
        unasked: 0,
        http: stored.http.clone(),
        retry_after: stored.retry_after.clone(),
        said: stored.said.clone(),
        resent: totals.resent,
        resent_after: stored.resent_after.clone(),
        warmup_failed,
        before: (stored.before.0 > 0).then_some(Before { requests: stored.before.0, completed: stored.before.1 }),
        cold_start,
        duration_s: seconds,
        input_tokens: input,
        cached_tokens: totals.whole(totals.cached, totals.cached_known),
        output_tokens: output,
        token_source: (totals.output_known > 0).then_some(facts.token_source.unwrap_or(TokenSource::Usage)),
        request_throughput_req_s: over((completed > 0).then_some(completed as f64)),
        output_throughput_tok_s: over(output.map(|tokens| tokens as f64)),
        total_throughput_tok_s: over(input.zip(output).map(|(input, output)| (input + output) as f64)),
        concurrency_mean: flight.as_ref().zip(span).and_then(|(flight, (from, to))| flight.mean(to - from)),
        offered_rate_req_s: offered,
        achieved_rate_req_s: if open { rate(totals.sent, totals.first_sent.zip(totals.last_sent)) } else { None },
        steady,
        arrivals: seen_open.arrivals,
        oversaturated: seen_open.oversaturated,
        goodput: goodput(&facts, rows, planned, seconds, no_further)?,
        ttft_ms: figure(rows, &ttft, nothing, |row| ms(row.first_token, row.start()))?,
        tpot_ms: figure(rows, &define::TPOT, no_further, tpot)?,
        itl_ms,
        e2e_latency_ms: figure(rows, &define::E2E, nothing, |row| ms(row.last_token, row.start()))?,
        ttft_from_sent_ms: if open {
            Some(figure(rows, &define::TTFT_FROM_SENT, nothing, |row| ms(row.first_token, row.sent))?)
        } else {
            None
        },
        ttft_first_chunk_ms: figure(rows, &define::TTFT_FIRST_CHUNK, nothing, |row| ms(row.first_event, row.start()))?,
        ttfo_ms: figure(rows, &define::TTFO, reasons.unless("no answer has a visible piece"), |row| {
            ms(row.first_content, row.start())
        })?,
        chunk_gap_ms,
        e2e_stream_end_ms: figure(rows, &define::E2E_STREAM_END, nothing, |row| ms(row.end, row.start()))?,
        decode_tok_s: figure(rows, &define::DECODE_RATE, no_further, |row| tpot(row).map(|tpot| 1000.0 / tpot))?,
        e2e_tok_s: figure(rows, &define::E2E_RATE, no_tokens, |row| {
            Some(f64::from(tokens(row)?) * 1000.0 / ms(row.last_token, row.start())?)
        })?,
        prefill_tok_s: figure(
            rows,
            &define::PREFILL_RATE,
            reasons.unless("the server does not report how many tokens came from its cache"),
            |row| {
                let uncached = row.input?.checked_sub(row.cached?)?;
                let rate = f64::from(uncached) * 1000.0 / (ms(row.first_token, row.sent)? - rtt);
                Some(rate).filter(|rate| *rate > 0.0)
            },
        )?,
        tokens_per_chunk: figure(rows, &define::TOKENS_PER_CHUNK, no_tokens, |row| {
            Some(f64::from(tokens(row)?) / f64::from(row.pieces))
        })?,
        conversations: None,
        until: None,
        definitions: [define::REQUEST_RATE, define::STEADY_REQUEST_RATE, define::OUTPUT_RATE, define::TOTAL_RATE]
            .iter()
            .map(|definition| (definition.figure, definition.id))
            .collect(),
        lengths,
        notes,
        loud: least,
        client: ClientCertificate::default(),
        ranks: Vec::new(),
        unfinished,
        errors: totals.errors,
        url: facts.url,
        model: facts.model,
        started_utc: facts.started_utc,
        settings: facts.settings,
    };
    Ok(Counted { summary, schedule_lag_ms, read_lag_ms, kernel_clock, span })
}

/// A figure over answered requests.
fn figure(
    rows: &mut Rows,
    definition: &Definition,
    why: &str,
    value: impl Fn(&RequestRow) -> Option<f64>,
) -> Result<Metric, Error> {
    every(rows, definition, why, |row| value(row).filter(|_| row.status.answered()))
}

/// A figure over all requests that have the value.
fn every(
    rows: &mut Rows,
    definition: &Definition,
    why: &str,
    value: impl Fn(&RequestRow) -> Option<f64>,
) -> Result<Metric, Error> {
    let mut samples = Samples::default();
    rows.each(|row| value(row).into_iter().for_each(|value| samples.add(value)))?;
    Ok(samples.metric(definition, why))
}

/// Gaps between tokens: those of the answers in which each chunk is known to be one token, where these are nearly all. Between chunks of an
/// answer that came in one piece there are none.
fn itl_of(gaps: &Metric, itl: Samples, totals: &Totals, whole: u64, nothing: &str, notes: &mut Vec<String>) -> Metric {
    let (known, all) = (totals.one_token, totals.completed);
    if whole as f64 > (1.0 - ONE_TOKEN_SHARE) * all as f64 {
        let why = format!("{whole} of {all} answers arrived in one piece, see chunk_gap_ms");
        return Samples::default().metric(&define::ITL, &why);
    }
    if known == all && all > 0 {
        return Metric { definition: define::ITL.id, meaning: define::ITL.meaning, ..gaps.clone() };
    }
    if all == 0 {
        return Samples::default().metric(&define::ITL, nothing);
    }
    if (known as f64) < ONE_TOKEN_SHARE * all as f64 {
        let why = if totals.contradicted > 0 {
            format!("{CONTRADICTED} in {} of {all} answers, see chunk_gap_ms", totals.contradicted)
        } else if totals.output_known == 0 {
            "the tokens were not counted, so a chunk may hold several".to_owned()
        } else {
            format!(
                "in {} of {all} answers a chunk holds several tokens or none, see chunk_gap_ms and tpot_ms",
                all - known
            )
        };
        return Samples::default().metric(&define::ITL, &why);
    }
    notes.push(format!(
        "itl_ms leaves out {} of {all} answers in which chunks and tokens are not one for one",
        all - known
    ));
    itl.metric(&define::ITL, "no answer has a second token")
}

/// Whether an answer of many chunks was handed over at once, at its end.
fn came_whole(row: &RequestRow) -> bool {
    let together = || delivery(row).whole() || tpot(row).is_some_and(|tpot| tpot < FASTEST_TOKEN_MS);
    row.status.answered() && row.pieces >= WHOLE_CHUNKS && together()
}

/// Chunks that were made one by one and handed over together: seen where a server on a processor has no core of its own.
fn bursts(gaps: &Metric, whole: u64, completed: u64) -> Option<String> {
    if whole > 0 && whole as f64 >= WHOLE_SHARE * completed as f64 {
        return Some(format!(
            "{whole} of {completed} answers arrived in one piece, at their end. TTFT and TPOT show the delivery, not the generation. E2E \
             latency and throughput are valid"
        ));
    }
    let (mean, half) = gaps.mean.zip(gaps.p50)?;
    (mean >= BURST_MEAN_MS && half < BURST_SHARE * mean).then(|| {
        format!(
            "answers arrive in bursts: half of the chunks came within {half:.2} ms of the one before, with {mean:.2} ms between chunks on \
             average. TTFT and TPOT show the delivery, not the generation. E2E latency and throughput are valid"
        )
    })
}

/// Every request that was sent, in flight from then to its end.
fn flight(rows: &mut Rows, totals: &Totals) -> Result<Option<Flight>, Error> {
    let Some((from, to)) = totals.first_sent.zip(totals.last_end) else { return Ok(None) };
    let mut flight = Flight::new(from, totals.last_token.map_or(to, |token| token.max(from)));
    rows.each(|row| {
        if let Some((sent, end)) = row.sent.zip(row.end) {
            flight.add(sent, end);
        }
    })?;
    Ok(Some(flight))
}

/// The steady window of a closed loop, or the time of arrivals of an open one. The cool-down cut off its end.
fn window(facts: &Facts, totals: &Totals, flight: Option<&Flight>) -> Option<Window> {
    let (first, last) = totals.first_sent.zip(totals.last_token)?;
    let until = last.saturating_sub((facts.cooldown_cut_s.max(0.0) * 1e9) as u64);
    match facts.goal {
        Goal::Closed(target) => flight?.steady(target, until),
        Goal::Open(..) => {
            let to = totals.last_sent?.min(until);
            (to > first).then_some(Window { from: first, to, share: 1.0, mean: f64::NAN })
        }
    }
}

fn steady(
    facts: &Facts,
    rows: &mut Rows,
    window: Option<Window>,
    seen: &FromChunks,
    origin: u64,
) -> Result<Option<Steady>, Error> {
    let Some(mut window) = window else { return Ok(None) };
    let (mut completed, mut inside, mut requests) = (0_u64, 0_u128, 0.0);
    let (mut answered, mut whole) = (0_u64, AtOnce::default());
    rows.each(|row| {
        if row.status.answered() {
            answered += 1;
            completed += u64::from(row.end.is_some_and(|end| window.holds(end)));
            // Not those that ended in it: of a burst that is the first alone, and of any load it lacks what is under way at the end.
            let part = row.sent.zip(row.last_token).map_or(0.0, |(sent, last)| window.part(sent, last));
            requests += part;
            whole.add(row, part);
        }
        if let Some((sent, end)) = row.sent.zip(row.end) {
            inside += u128::from(end.min(window.to).saturating_sub(sent.max(window.from)));
        }
    })?;
    let seconds = window.seconds();
    let (basis, target) = match facts.goal {
        Goal::Closed(target) => (super::IN_FLIGHT, Some(target)),
        Goal::Open(..) => ("arrivals", None),
    };
    window.mean = inside as f64 / 1e9 / seconds;
    // Tokens that came at the end of their answers came in hardly any window that ends with the first of these.
    let by_share = whole.answers > 0 && whole.answers as f64 >= WHOLE_SHARE * answered as f64;
    let tokens = if by_share {
        (!seen.uncounted && !whole.uncounted).then_some(seen.in_window - seen.at_once + whole.tokens)
    } else {
        (!seen.uncounted).then_some(seen.in_window)
    };
    let second = |at: u64| at.wrapping_sub(origin).cast_signed() as f64 / 1e9;
    Ok(Some(Steady {
        basis,
        target,
        from_s: second(window.from),
        to_s: second(window.to),
        duration_s: seconds,
        share_at_target: window.share,
        concurrency_mean: window.mean,
        completed,
        requests,
        request_throughput_req_s: requests / seconds,
        output_tokens: tokens,
        output_throughput_tok_s: tokens.filter(|tokens| *tokens > 0.0).map(|tokens| tokens / seconds),
        tokens_by: if seen.counted {
            "counted"
        } else if seen.even {
            "even"
        } else {
            "one"
        },
        definition: if by_share { define::STEADY_RATE_BY_SHARE.id } else { define::STEADY_RATE.id },
    }))
}

/// Work on answers that came [`at_once`], within a window.
#[derive(Default)]
struct AtOnce {
    answers: u64,
    tokens: f64,
    uncounted: bool,
}

impl AtOnce {
    /// `part` of its time lies in the window.
    fn add(&mut self, row: &RequestRow, part: f64) {
        if !at_once(row) {
            return;
        }
        self.answers += 1;
        match tokens(row) {
            Some(tokens) => self.tokens += part * f64::from(tokens),
            None => self.uncounted |= part > 0.0,
        }
    }
}

/// Requests per second between the first and the last of them.
fn rate(count: u64, ends: Option<(u64, u64)>) -> Option<f64> {
    let (first, last) = ends?;
    let gaps = count.checked_sub(1)?;
    (last > first && gaps > 0).then(|| gaps as f64 / ((last - first) as f64 / 1e9))
}

/// `no_further` is why there is no TPOT where not one answer has it.
fn goodput(
    facts: &Facts,
    rows: &mut Rows,
    planned: u64,
    seconds: Option<f64>,
    no_further: &str,
) -> Result<Option<Goodput>, Error> {
    let asked = facts.slos;
    let slos: BTreeMap<&'static str, f64> =
        [("ttft_ms", asked.ttft_ms), ("tpot_ms", asked.tpot_ms), ("e2e_latency_ms", asked.e2e_ms)]
            .into_iter()
            .filter_map(|(name, most)| Some((name, most?)))
            .collect();
    if slos.is_empty() {
        return Ok(None);
    }
    let (mut answered, mut good, mut unjudged, mut untimed) = (0_u64, 0_u64, 0_u64, 0_u64);
    rows.each(|row| {
        if !row.status.answered() {
            return;
        }
        let values = [
            (asked.ttft_ms, ms(row.first_token, row.start())),
            (asked.tpot_ms, tpot(row)),
            (asked.e2e_ms, ms(row.last_token, row.start())),
        ];
        // An answer that breaks one objective is not good, whatever is known of the others.
        let asked = || values.iter().filter_map(|(most, value)| most.map(|most| value.map(|value| value <= most)));
        let (broken, unknown) = (asked().any(|met| met == Some(false)), asked().any(|met| met.is_none()));
        answered += 1;
        good += u64::from(!broken && !unknown);
        unjudged += u64::from(!broken && unknown);
        untimed += u64::from(values[1].1.is_none());
    })?;
    let absent = (unjudged as f64 > UNJUDGED_MAX * answered as f64).then(|| {
        let why = if untimed == answered { format!(": {no_further}") } else { String::new() };
        format!("{unjudged} of {answered} answers break no limit and have no tpot_ms{why}")
    });
    Ok(Some(Goodput {
        slos,
        good,
        planned,
        fraction: (planned > 0 && absent.is_none()).then(|| good as f64 / planned as f64),
        req_s: seconds.filter(|_| absent.is_none()).map(|seconds| good as f64 / seconds),
        unjudged,
        absent,
        definition: define::GOODPUT.id,
    }))
}

fn lengths(rows: &mut Rows) -> Result<LengthMedians, Error> {
    let mut median = |value: fn(&RequestRow) -> Option<u32>| -> Result<Option<f64>, Error> {
        Ok(figure(rows, &define::TTFT_SENT, "", |row| value(row).map(f64::from))?.p50)
    };
    Ok(LengthMedians {
        isl_asked_p50: median(|row| row.isl)?,
        isl_sent_p50: median(|row| row.isl_sent)?,
        isl_reported_p50: median(|row| row.input)?,
        osl_asked_p50: median(|row| row.osl)?,
        osl_reported_p50: median(|row| row.output)?,
    })
}

fn invalid(totals: &Totals) -> Vec<String> {
    let mut because = Vec::new();
    let cancelled = totals.cancelled();
    let failed = totals.recorded - totals.completed - cancelled;
    if totals.completed == 0 {
        because.push(if totals.recorded == 0 { "no request was made" } else { "no request was answered" }.to_owned());
    } else if failed as f64 > ERRORS_MAX * totals.recorded as f64 {
        because.push(format!("{failed} of {} requests failed, more than {} %", totals.recorded, ERRORS_MAX * 100.0));
    }
    if cancelled > 0 {
        let what = if cancelled == 1 { "request was" } else { "requests were" };
        because.push(format!("{cancelled} {what} cancelled when the load was stopped"));
    }
    if let Some(unsent) = totals.errors.get(Status::NotSent.word()) {
        because.push(format!("{unsent} {} never sent", if *unsent == 1 { "request was" } else { "requests were" }));
    }
    because
}

/// A count of tokens that cannot be that of the answers, with an example.
fn contradicted(totals: &Totals) -> Option<String> {
    let claim = totals.contradiction?;
    Some(format!(
        "{CONTRADICTED} in {} of {} (such as {} for {} with {} of text), so rates that need it are absent",
        totals.contradicted,
        number(totals.completed, "answer"),
        number(claim.tokens, "token"),
        number(claim.chunks, "chunk"),
        number(claim.bytes, "byte")
    ))
}

/// A count above the length asked for that gave way to the chunks, with an example.
fn above_limit(totals: &Totals) -> Option<String> {
    let claim = totals.first_above?;
    Some(format!(
        "the server counts more output tokens than were asked for in {} of {}, which came in as many chunks as were asked for (such as {} for \
         {} where {} asked for). Each chunk is counted as one token, and the server's count is left out",
        totals.above_limit,
        number(totals.completed, "answer"),
        number(claim.tokens, "token"),
        number(claim.chunks, "chunk"),
        plural::counted(claim.asked.unwrap_or_default() as usize, "was", "were"),
    ))
}

/// Answers that were not complete in time.
fn unfinished(totals: &Totals, rows: &mut Rows, ttft: &Definition) -> Result<Option<Unfinished>, Error> {
    let Some((requests, chunks_min, chunks_max)) = totals.unfinished else { return Ok(None) };
    let of = |row: &RequestRow| ms(row.first_token, row.start()).filter(|_| pass::unfinished(row));
    Ok(Some(Unfinished { requests, chunks_min, chunks_max, ttft_ms: every(rows, ttft, "", of)? }))
}

/// Reasons for which answers ended that nobody here knows.
fn unknown_finish(stored: &Stored) -> Option<String> {
    let unknown: Vec<(&String, u64)> =
        stored.finishes.iter().filter(|(word, _)| Finish::of(word) == Finish::Unknown).map(|(w, n)| (w, *n)).collect();
    let answers: u64 = unknown.iter().map(|(_, answers)| answers).sum();
    let words: Vec<String> = unknown.iter().map(|(word, answers)| format!("{answers} x \"{word}\"")).collect();
    (answers > 0).then(|| {
        format!(
            "{} ended for a reason that is not known here ({}), and {} as answered. Whether they are whole is not known",
            number(answers, "answer"),
            words.join(", "),
            if answers == 1 { "it counts" } else { "they count" }
        )
    })
}

/// `1 token`, `2 tokens`
fn number(n: impl TryInto<usize>, noun: &str) -> String {
    plural::count(n.try_into().unwrap_or(usize::MAX), noun)
}

/// Notes for the reader that are no fault of the run.
fn remarks(facts: &Facts, totals: &Totals, lengths: &LengthMedians, notes: &mut Vec<String>) {
    let unknown = totals.completed - totals.output_known - totals.contradicted;
    if totals.completed > 0 && unknown > 0 {
        notes.push(format!(
            "{unknown} of {} answers have no count of output tokens, so rates that need it are absent",
            totals.completed
        ));
    }
    for (number, than) in [(totals.short, "shorter"), (totals.longer, "longer")] {
        if number > 0 {
            notes.push(format!(
                "{number} of {} answers are {than} than asked for, but count in the latencies",
                totals.completed
            ));
        }
    }
    if let Some((asked, reported)) = lengths.isl_asked_p50.zip(lengths.isl_reported_p50)
        && (reported / asked - 1.0).abs() * 100.0 > ISL_OFF_PCT
    {
        notes.push(format!(
            "the server counts {reported} input tokens (median) where {asked} were asked for, its template included"
        ));
    }
    if totals.silent > 0 {
        notes.push(format!(
            "{} of {} answers hold tokens without visible text. Their times count like those of other tokens",
            totals.silent, totals.completed
        ));
    }
    if totals.unspanned > 0 {
        notes.push(format!(
            "tpot_ms leaves out {} of {} answers: few chunks hold many tokens, or all came at once, so the time of each token is not known",
            totals.unspanned, totals.completed
        ));
    }
    if totals.resent > 0 {
        let what = if totals.resent == 1 { "request was" } else { "requests were" };
        notes.push(format!("{} {what} sent more than once, timed from the first sending", totals.resent));
    }
    if let Goal::Open(_, Some(cap)) = facts.goal {
        notes.push(format!("at most {cap} requests were in flight. Delayed requests keep their scheduled time"));
    }
}
