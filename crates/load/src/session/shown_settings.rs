//! The settings of a load as they are in its summary.
//!
//! In:  [`Settings`], facts about the server.  Out: JSON without secrets.
//! Not here: the summary.

use serde_json::{Map, Value, json};

use super::feed::Feed;
use super::known::Known;
use crate::server::{cache, exact};
use crate::settings::{Arrival, Settings, Shape, Work};

/// Everything that decides what is sent. Headers by their names alone. `extra_body` are the further members as they may be shown.
pub(super) fn settings(settings: &Settings, known: &Known, feed: &Feed, extra_body: &Value) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            map.insert(key.to_owned(), value);
        }
    };
    put("endpoint", json!(settings.endpoint.word()));
    match &settings.shape {
        Shape::Closed { concurrency } => put("concurrency", json!(concurrency)),
        Shape::Open { rate, arrival, max_concurrency } => {
            put("rate_req_s", json!(rate));
            put("arrival", json!(word(*arrival)));
            if let Arrival::Gamma(shape) = arrival {
                put("burstiness", json!(shape));
            }
            put("max_concurrency", json!(max_concurrency));
        }
        Shape::Trace { path, speed, max_concurrency } => {
            put("trace", json!(path.file_name().map(|name| name.to_string_lossy())));
            put("trace_speed", json!(speed));
            put("max_concurrency", json!(max_concurrency));
        }
    }
    if let Some(ramp) = settings.ramp {
        put("ramp", json!({ "from": ramp.from, "over_s": ramp.over_s, "exponential": ramp.exponential }));
    }
    match &settings.work {
        Work::Synthetic { isl, osl, prefix } => {
            put("isl", json!(isl.to_string()));
            put("osl", json!(osl.to_string()));
            if prefix.tokens > 0 {
                put("prefix_tokens", json!(prefix.tokens));
                put("prefix_groups", json!(prefix.groups));
            }
        }
        Work::Prompts { path, osl } => {
            put("prompts", json!(path.file_name().map(|name| name.to_string_lossy())));
            put("osl", json!(osl.map(|osl| osl.to_string())));
        }
        Work::Conversations(chat) => {
            put("num_clients", json!(chat.clients));
            put("max_active_conversations", json!(chat.max_active));
            put("conversations", json!(chat.count));
            put("client_rate_req_s", json!(chat.request_rate));
            put("max_num_requests", json!(chat.max_requests));
            put("max_turns", json!(chat.max_turns));
            put("warmup_step", json!(chat.warmup_step));
            put("limit_min_tokens", json!(chat.min_tokens));
            put("limit_max_tokens", json!(chat.max_tokens));
        }
    }
    put("requests", json!(settings.requests));
    put("duration_s", json!(settings.duration_s));
    put("until", json!(settings.until.map(|until| until.to_string())));
    put("warmup", json!(settings.warmup));
    put("cooldown_cut_s", json!(Some(settings.cooldown_cut_s).filter(|cut| *cut > 0.0)));
    put("seed", json!(settings.seed));
    put("nonce", json!(format!("{:016x}", settings.nonce)));
    put("plan_sha256", json!(feed.sha256()));
    put("timeout_s", json!(settings.timeout_s));
    put("retries", json!(settings.retries));
    put("cache", json!(cache::word(settings.cache)));
    put("exact", json!(exact::word(known.exact(settings))));
    put("temperature", json!(settings.temperature));
    if !settings.extra_body.is_empty() {
        put("extra_body", extra_body.clone());
    }
    if !settings.headers.is_empty() {
        put("headers", json!(settings.headers.keys().collect::<Vec<_>>()));
    }
    if settings.share.world > 1 {
        put("rank", json!(settings.share.rank));
        put("world", json!(settings.share.world));
    }
    put("continuous_usage", json!(Some(true).filter(|_| settings.continuous_usage)));
    put("token_ids", json!(Some(true).filter(|_| settings.token_ids)));
    put("engine", json!(known.identity.engine.map(|engine| engine.word())));
    put("engine_version", json!(known.identity.version));
    put("max_model_len", json!(known.model.max_model_len));
    Value::Object(map)
}

const fn word(arrival: Arrival) -> &'static str {
    match arrival {
        Arrival::Constant => "constant",
        Arrival::Poisson => "poisson",
        Arrival::Gamma(_) => "gamma",
    }
}
