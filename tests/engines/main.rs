//! Real engines on this machine's processor. Each is prepared once, and passed over where nobody asks for it.

#[path = "../support/mod.rs"]
mod support;

mod real_server;
mod vllm_server;

/// The mean answer lasts as long as its first token and its further ones, `further` of them. Where the processors are busy with the model,
/// a server may send several chunks of an answer at one moment. An answer that came whole has no TPOT, and the summary says so. Where the
/// server counts along, the first chunk may be known to hold several tokens, and then fewer came after it.
#[cfg(all(feature = "collect", target_os = "linux"))]
#[track_caller]
fn adds_up(summary: &serde_json::Value, further: f64, counted_along: bool) {
    let number = |pointer: &str| {
        let number = summary.pointer(pointer).and_then(serde_json::Value::as_f64);
        number.unwrap_or_else(|| panic!("no {pointer} in {summary:#}"))
    };
    let mean = |metric: &str| number(&format!("/{metric}/mean"));
    let (ttft, e2e, answers, timed) =
        (mean("ttft_ms"), mean("e2e_latency_ms"), number("/completed"), number("/tpot_ms/n"));
    let after_the_first = e2e - ttft;
    let of_the_timed = if timed > 0.0 { further * mean("tpot_ms") * timed / answers } else { 0.0 };
    let (whole, rounding) = (answers - timed, 1e-6 * e2e);
    let words = format!(
        "TTFT {ttft} ms, E2E {e2e} ms, {of_the_timed} ms between the tokens of {timed} answers, {whole} came whole: {:#}",
        summary["notes"]
    );
    assert!(ttft > 0.0 && after_the_first >= -rounding && whole >= 0.0, "{words}");
    if !counted_along {
        assert!(after_the_first >= of_the_timed - rounding, "{words}");
    }
    if whole == 0.0 {
        assert!(after_the_first <= of_the_timed + rounding, "{words}");
    }
    let noted = summary["notes"].to_string().contains("tpot_ms leaves out");
    assert!(if counted_along { !noted || whole > 0.0 } else { noted == (whole > 0.0) }, "{words}");
}
