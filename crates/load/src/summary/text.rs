//! The summary as a table for people.
//!
//! In:  [`Summary`], the width of the terminal, whether it has colours.  Out: lines.
//! Not here: any figure that the JSON does not have.
//!
//! The four figures of the contract come first, and their explanation below. A figure that is not there says why in its own line. The last
//! lines are the client's own: whether it may have been the limit, and how far the instrument can be believed.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::definitions::STEADY_RATE_BY_SHARE;
use super::{Metric, REACHED, RankLine, Steady, Summary};
use sparkbench_text::digits;

/// Width of a column of figures.
const COLUMN: usize = 10;
/// Width of the names.
const NAMES: usize = 22;
/// Narrowest that still holds the names and all figures. Below it the outer percentiles go.
const NARROW: usize = NAMES + 7 * COLUMN;

/// Different words of failures that are shown, the most frequent ones. The JSON has more.
const SAID_SHOWN: usize = 3;
/// Notes of a brief summary, where none of them changes the meaning of a figure.
const NOTES_BRIEF: usize = 1;
/// Turns whose mean is shown. All of them are in the JSON.
const TURNS_SHOWN: usize = 6;

/// Draws it whole. `width` in characters. Below some 90 the columns p90 and p95 are left out, and definitions are shown only where there is room.
pub fn text(summary: &Summary, width: usize, colour: bool) -> String {
    drawn(summary, width, colour, true)
}

/// What a person looks for first, in at most 20 lines where nothing went wrong: the four latencies, throughput, goodput, the certificate.
pub fn brief(summary: &Summary, width: usize, colour: bool) -> String {
    drawn(summary, width, colour, false)
}

fn drawn(summary: &Summary, width: usize, colour: bool, whole: bool) -> String {
    let ink = Ink { colour };
    let mut out = String::new();
    head(&mut out, summary, width, ink);
    table(&mut out, summary, width, ink, whole);
    rates(&mut out, summary, width, ink, whole);
    turns(&mut out, summary, width, ink);
    faults(&mut out, summary, width, ink, whole);
    client(&mut out, summary, width, ink);
    out
}

#[derive(Clone, Copy)]
struct Ink {
    colour: bool,
}

impl Ink {
    fn paint(self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }
}

/// A label and a text that goes on below its own beginning where the terminal ends.
fn said(out: &mut String, label: &str, paint: impl Fn(&str) -> String, text: &str, width: usize) {
    let indent = label.chars().count() + usize::from(!label.is_empty());
    let mut row = String::new();
    let mut first = true;
    let mut end = |row: &mut String, out: &mut String| {
        let head = if first { paint(label) } else { " ".repeat(indent.saturating_sub(1)) };
        let gap = if indent > 0 { " " } else { "" };
        line(out, &format!("{head}{gap}{row}"));
        row.clear();
        first = false;
    };
    for word in text.split(' ') {
        let full = indent + row.chars().count() + 1 + word.chars().count() > width;
        if full && !row.trim().is_empty() {
            end(&mut row, out);
        }
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    end(&mut row, out);
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn head(out: &mut String, summary: &Summary, width: usize, ink: Ink) {
    let model = summary.model.as_deref().unwrap_or("model not named");
    line(out, &format!("{}  {model}  {}", ink.bold(&summary.url), ink.dim(&summary.started_utc)));
    let mut words = format!("{} answered, {} failed", count(summary.completed), count(summary.failed));
    if summary.cancelled > 0 {
        let _ = write!(words, ", {} cancelled", count(summary.cancelled));
    }
    let recorded = summary.completed + summary.failed + summary.cancelled;
    if summary.planned != recorded {
        let _ = write!(words, " of {} planned", count(summary.planned));
    }
    if summary.not_sent > 0 {
        let _ = write!(words, ", {} never sent", count(summary.not_sent));
    }
    if let Some(seconds) = summary.duration_s {
        let _ = write!(words, " in {} s", figure(seconds));
    }
    for (number, what) in [(summary.short, "shorter than asked"), (summary.longer, "longer than asked")] {
        if number > 0 {
            let _ = write!(words, ", {} {what}", count(number));
        }
    }
    if summary.resent > 0 {
        let _ = write!(words, ", {} sent again", count(summary.resent));
        let causes: Vec<String> =
            summary.resent_after.iter().map(|(cause, times)| format!("{cause}: {}", count(*times))).collect();
        if !causes.is_empty() {
            let _ = write!(words, " ({})", causes.join(", "));
        }
    }
    if let Some(before) = summary.before {
        let _ = write!(words, ", before it {} for warm-up", count(before.requests));
    }
    if let Some(failed) = &summary.warmup_failed {
        let _ = write!(words, ", of which {} failed", count(failed.count));
    }
    said(out, "", str::to_owned, &words, width);
    if !summary.valid {
        said(out, "not valid:", |label| ink.bad(label), &summary.invalid_because.join("; "), width);
    }
}

fn table(out: &mut String, summary: &Summary, width: usize, ink: Ink, whole: bool) {
    let wide = width >= NARROW;
    let heads: &[&str] =
        if wide { &["mean", "p50", "p90", "p95", "p99", "max", "n"] } else { &["mean", "p50", "p99", "max", "n"] };
    let taken = NAMES + heads.len() * COLUMN;
    let mut text = format!("{:NAMES$}", "");
    for head in heads {
        let _ = write!(text, "{head:>COLUMN$}");
    }
    out.push('\n');
    line(out, &ink.bold(&text));
    let main = [
        ("ttft_ms", &summary.ttft_ms),
        ("tpot_ms", &summary.tpot_ms),
        ("itl_ms", &summary.itl_ms),
        ("e2e_latency_ms", &summary.e2e_latency_ms),
    ];
    let more = [
        ("ttft_first_chunk_ms", &summary.ttft_first_chunk_ms),
        ("ttfo_ms", &summary.ttfo_ms),
        ("chunk_gap_ms", &summary.chunk_gap_ms),
        ("e2e_stream_end_ms", &summary.e2e_stream_end_ms),
        ("decode_tok_s", &summary.decode_tok_s),
        ("e2e_tok_s", &summary.e2e_tok_s),
        ("prefill_tok_s", &summary.prefill_tok_s),
        ("tokens_per_chunk", &summary.tokens_per_chunk),
    ];
    let from_sent = summary.ttft_from_sent_ms.as_ref().map(|metric| ("ttft_from_sent_ms", metric));
    let mut rows: Vec<(&str, &Metric, bool)> = main.iter().map(|(name, metric)| (*name, *metric, true)).collect();
    // To the first token and to the first visible text: where these are two, both are shown.
    let apart = summary.ttfo_ms.mean != summary.ttft_ms.mean;
    let (from_sent, more) = match (whole, apart) {
        (true, _) => (from_sent, &more[..]),
        (false, true) => (None, &more[1..2]),
        (false, false) => (None, &[][..]),
    };
    rows.extend(from_sent.iter().map(|(name, metric)| (*name, *metric, false)));
    // What is nowhere but explains nothing either is left out below the four of the contract.
    rows.extend(more.iter().filter(|(_, metric)| metric.n > 0).map(|(name, metric)| (*name, *metric, false)));
    let mut any = false;
    for (name, metric, strong) in rows {
        let mut text = format!("{name:NAMES$}");
        if metric.n == 0 {
            text.push_str(&metric.absent.get("all").map_or_else(String::new, |why| format!("{:>COLUMN$}  {why}", "-")));
        } else {
            let cells = [
                ("", metric.mean),
                ("p50", metric.p50),
                ("p90", metric.p90),
                ("p95", metric.p95),
                ("p99", metric.p99),
                ("", metric.max),
            ];
            let shown = cells.iter().filter(|(name, _)| wide || !matches!(*name, "p90" | "p95"));
            for (name, cell) in shown {
                let about = if metric.not_judged.contains_key(name) { "~" } else { "" };
                any |= !about.is_empty();
                let _ = write!(
                    text,
                    "{:>COLUMN$}",
                    cell.map_or_else(|| "-".to_owned(), |value| format!("{about}{}", figure(value)))
                );
            }
            let _ = write!(text, "{:>COLUMN$}", count(metric.n));
            if let Some(percent) = metric.resolution_pct {
                let _ = write!(text, " ±{percent}%");
            }
            if taken + 2 + metric.definition.len() <= width && metric.resolution_pct.is_none() {
                let _ = write!(text, "  {}", ink.dim(metric.definition));
            }
        }
        line(out, &if strong || !ink.colour { text } else { ink.dim(&text) });
    }
    if any {
        line(out, &ink.dim("~ fewer than 5 values lie beyond it, so nothing is judged by it"));
    }
}

fn rates(out: &mut String, summary: &Summary, width: usize, ink: Ink, all: bool) {
    let steady = summary.steady.as_ref();
    let what = steady.map_or("", |steady| if steady.target.is_some() { "steady" } else { "arrivals" });
    out.push('\n');
    line(out, &ink.bold(&format!("{:NAMES$}{:>COLUMN$}{what:>COLUMN$}", "", "whole run")));
    // A window without work on any answered request has no rate, and not one of nothing.
    let within = |steady: &Steady| (steady.requests > 0.0).then_some(steady.request_throughput_req_s);
    let rows = [
        ("requests/s", summary.request_throughput_req_s, steady.and_then(within)),
        ("output tok/s", summary.output_throughput_tok_s, steady.and_then(|steady| steady.output_throughput_tok_s)),
        ("total tok/s", summary.total_throughput_tok_s, None),
        ("in flight", summary.concurrency_mean, steady.map(|steady| steady.concurrency_mean)),
        ("offered requests/s", summary.offered_rate_req_s, None),
        ("sent requests/s", summary.achieved_rate_req_s, None),
    ];
    for (name, whole, within) in rows {
        if whole.is_none() && within.is_none() && !name.ends_with("tok/s") || !all && name == "in flight" {
            continue;
        }
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let second = if within.is_some() { cell(within) } else { String::new() };
        line(out, &format!("{name:NAMES$}{:>COLUMN$}{second:>COLUMN$}", cell(whole)));
    }
    if let Some(goodput) = &summary.goodput {
        let slos: Vec<String> = goodput.slos.iter().map(|(name, most)| format!("{name} <= {most}")).collect();
        let share = goodput.fraction.map_or_else(|| "-".to_owned(), percent);
        let rate = goodput.req_s.map_or_else(|| "-".to_owned(), figure);
        let label = format!("{:NAMES$}{rate:>COLUMN$} ", "goodput");
        let limits = slos.join(" and ");
        let text = match (&goodput.absent, goodput.unjudged) {
            (Some(why), _) => format!("not measurable under {limits}: {why}"),
            (None, 0) => format!("requests/s, {share} % of those planned, met {limits}"),
            (None, unjudged) => format!(
                "requests/s, {share} % of those planned, met {limits}. That is the least: {} more break no limit and lack a figure",
                count(unjudged)
            ),
        };
        said(out, &label, str::to_owned, &text, width);
    }
    if let Some(steady) = steady.filter(|_| all) {
        let by = if steady.definition == STEADY_RATE_BY_SHARE.id {
            "Tokens of answers that came at one moment by the share of their time in it"
        } else {
            "Tokens by the time of each chunk"
        };
        let text = match steady.target {
            Some(target) => format!(
                "{} s, {} % of them with at least {} in flight. {by}",
                figure(steady.duration_s),
                percent(steady.share_at_target),
                figure(REACHED * target)
            ),
            None => format!("{} s from the first send to the last. {by}", figure(steady.duration_s)),
        };
        said(out, &format!("{what}:"), |label| ink.bold(label), &text, width);
    }
}

/// Outcome of conversations, and the wait of their turns for the first token: a prefix cache shows from the second turn on.
fn turns(out: &mut String, summary: &Summary, width: usize, ink: Ink) {
    let Some(figures) = &summary.conversations else { return };
    let ended = figures.conversations;
    let mut text = format!("{} started, {} finished", count(ended.begun), count(ended.done));
    for (number, what) in [(ended.failed, "failed"), (ended.cut, "cut off")] {
        if number > 0 {
            let _ = write!(text, ", {} {what}", count(number));
        }
    }
    if figures.turns.not_sent > 0 {
        let _ = write!(text, ", {} turns after a failed one not sent", count(figures.turns.not_sent));
    }
    if figures.turns.without_text > 0 {
        let _ = write!(text, ", {} answers without text", count(figures.turns.without_text));
    }
    let means: Vec<String> = figures
        .by_turn
        .iter()
        .filter_map(|turn| Some(format!("turn {}: {} ms", turn.turn, figure(turn.ttft_ms.mean?))))
        .take(TURNS_SHOWN)
        .collect();
    if !means.is_empty() {
        let _ = write!(text, ", mean TTFT {}", means.join(", "));
    }
    said(out, "conversations:", |label| ink.bold(label), &text, width);
}

fn faults(out: &mut String, summary: &Summary, width: usize, ink: Ink, all: bool) {
    let listed = |map: Vec<(String, u64)>| {
        map.iter().map(|(kind, number)| format!("{kind} {}", count(*number))).collect::<Vec<_>>().join(", ")
    };
    if !summary.errors.is_empty() {
        let mut text = listed(summary.errors.iter().map(|(kind, number)| ((*kind).to_owned(), *number)).collect());
        if !summary.http.is_empty() {
            let codes =
                listed(summary.http.iter().map(|(code, number)| (format!("status {code}:"), *number)).collect());
            let _ = write!(text, "; {codes}");
        }
        if !summary.retry_after.is_empty() {
            let waits: Vec<&str> = summary.retry_after.keys().map(String::as_str).collect();
            let _ = write!(text, ", Retry-After {}", waits.join(", "));
        }
        let mut often: Vec<(&String, &u64)> = summary.said.iter().collect();
        often.sort_by(|one, other| other.1.cmp(one.1));
        for (words, number) in often.into_iter().take(SAID_SHOWN) {
            let _ = write!(text, ", {} x \"{words}\"", count(*number));
        }
        out.push('\n');
        said(out, "errors:", |label| ink.bad(label), &text, width);
    }
    let shown = if all { summary.notes.len() } else { NOTES_BRIEF.max(summary.loud) };
    for note in summary.notes.iter().take(shown) {
        said(out, "note:", |label| ink.bold(label), note, width);
    }
    match summary.notes.len().saturating_sub(shown) {
        0 => {}
        1 => line(out, "1 more note, shown with -v"),
        more => line(out, &format!("{more} more notes, shown with -v")),
    }
}

fn client(out: &mut String, summary: &Summary, width: usize, ink: Ink) {
    let client = &summary.client;
    out.push('\n');
    if client.limited {
        let text = format!("because {}", client.because.join(", and because "));
        said(out, "client limited: yes,", |label| ink.bad(label), &text, width);
    } else {
        line(out, &format!("client limited: {}", ink.good("no")));
    }
    let mut words = vec![format!("{} clock", if client.clock.is_empty() { "no" } else { &client.clock })];
    for (name, lags) in [("read lag", &client.read_lag_ms), ("schedule lag", &client.schedule_lag_ms)] {
        if let Some(lags) = lags {
            let (what, tail) = if lags.p99.is_some() { ("p99", lags.p99) } else { ("max", lags.max) };
            words.push(format!("{name} {what} {} ms", tail.map_or_else(|| "-".to_owned(), figure)));
        }
    }
    words.extend(client.cpu_share.map(|share| format!("{} % of one core", percent(share))));
    words.push(format!("{} MiB", figure(client.peak_rss_mib)));
    said(out, " ", str::to_owned, &words.join(", "), width);
    if !summary.ranks.is_empty() {
        said(out, &format!("{} ranks:", summary.ranks.len()), str::to_owned, &ranks(&summary.ranks), width);
    }
    if let Some(calibration) = &client.calibration {
        said(out, "instrument error:", str::to_owned, &calibration.sentence(), width);
    }
}

/// How well several clients were one: `began within 0.35 ms, clocks known to 0.022 ms, which drifted by 0.009 ms at most`.
fn ranks(ranks: &[RankLine]) -> String {
    let most = |of: fn(&RankLine) -> Option<f64>| ranks.iter().filter_map(of).map(f64::abs).reduce(f64::max);
    let mut words = Vec::new();
    words.extend(most(|rank| rank.first_late_ms).map(|late| format!("began within {} ms", figure(late))));
    words.extend(most(|rank| rank.clock_bound_ms).map(|bound| format!("clocks known to {} ms", figure(bound))));
    words
        .extend(most(|rank| rank.clock_drift_ms).map(|drift| format!("which drifted by {} ms at most", figure(drift))));
    let missing = ranks.iter().filter(|rank| rank.missing.is_some()).count();
    words.extend((missing > 0).then(|| format!("nothing came from {missing} of them")));
    words.join(", ")
}

/// A share in per cent: whole, or with one decimal where that hides something.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (percent - percent.round()).abs() < 0.05 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Three to five digits of what matters.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.3}"),
        size if size < 100.0 => format!("{value:.2}"),
        size if size < 10_000.0 => format!("{value:.1}"),
        _ => grouped(&format!("{value:.0}")),
    }
}

fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// Thousands apart, from five digits on.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    if digits.len() < 5 {
        return format!("{sign}{digits}");
    }
    format!("{sign}{}", digits::grouped(digits, ','))
}
