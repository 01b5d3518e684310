//! What a plan depends on, in one line: the same on every client of one load.
//!
//! In:  [`Settings`], the hashes of the files they name.  Out: JSON.
//! Not here: the entries (see `write`).

use super::PlanInput;
use crate::settings::{Arrival, Cache, Lengths, Settings, Shape, Work};

/// Inputs of the plan, in one line of JSON.
pub(super) fn describe(settings: &Settings, input: &PlanInput) -> String {
    let shape = match &settings.shape {
        // The concurrency is not part of it: who waits for whom does not change what is sent.
        Shape::Closed { .. } => "closed".to_owned(),
        Shape::Open { rate, arrival, .. } => match arrival {
            Arrival::Constant => format!("constant:{rate}"),
            Arrival::Poisson => format!("poisson:{rate}"),
            Arrival::Gamma(shape) => format!("gamma({shape}):{rate}"),
        },
        Shape::Trace { speed, .. } => format!("trace:{speed}"),
    };
    let ramp = settings.ramp.filter(|_| !matches!(settings.shape, Shape::Closed { .. })).map(|ramp| {
        format!("{}:{}:{}", if ramp.exponential { "exponential" } else { "linear" }, ramp.from, ramp.over_s)
    });
    let work = match &settings.work {
        Work::Synthetic { isl, osl, prefix } => {
            format!("{isl}/{osl} prefix {}x{}", prefix.groups.max(1), prefix.tokens)
        }
        Work::Prompts { osl, .. } => format!("prompts/{}", osl.unwrap_or(Lengths::PLAIN)),
        Work::Conversations(_) => "conversations".to_owned(),
    };
    let cache = match settings.cache {
        Cache::Cold => "cold",
        Cache::Primed => "primed",
        Cache::Natural => "natural",
    };
    serde_json::json!({
        "schema": "sparkbench.load-plan/1", "seed": settings.seed, "shape": shape, "ramp": ramp, "work": work, "cache": cache,
        "warmup": settings.warmups(), "requests": settings.requests, "files": input.sha256,
    })
    .to_string()
}
