//! The settings of a load as they are in its summary.
//!
//! In:  [`Settings`], facts about the server, the hash of the plan.  Out: JSON without secrets.
//! Not here: the summary.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::known::Known;
use crate::settings::{LoadOptions, OPTIONS, Settings, ValueKind, Work};

/// Names the plan in the settings. Conversations have none.
pub(super) const PLAN: &str = "plan_sha256";
/// Sets the prompts of two loads of one plan apart.
pub(super) const NONCE: &str = "nonce";

/// Everything that decides what is sent. Headers by their names alone. `extra_body` are the further members as they may be shown.
pub(super) fn settings(settings: &Settings, known: &Known, plan_sha256: Option<String>, extra_body: &Value) -> Value {
    let mut options = LoadOptions::of(settings);
    options.exact = Some(known.exact(settings));
    options.warmup = Some(settings.warmups());
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            map.insert(key.to_owned(), value);
        }
    };
    for option in OPTIONS.iter().filter(|option| !option.summary.is_empty()) {
        let value = option.value(&options);
        put(
            option.summary,
            match &option.kind {
                // The folder is nobody's business.
                ValueKind::File(_) => json!(value.iter().filter_map(Value::as_str).filter_map(file_name).next()),
                _ => json!(value),
            },
        );
    }
    if let Some(ramp) = settings.ramp {
        put("ramp", json!({ "from": ramp.from, "over_s": ramp.over_s, "exponential": ramp.exponential }));
    }
    if let Work::Conversations(chat) = &settings.work {
        put("warmup_step", json!(chat.warmup_step));
    }
    if !settings.extra_body.is_empty() {
        put("extra_body", extra_body.clone());
    }
    if !settings.headers.is_empty() {
        put("headers", json!(settings.headers.keys().collect::<Vec<_>>()));
    }
    put(NONCE, json!(format!("{:016x}", settings.nonce)));
    put(PLAN, json!(plan_sha256));
    put("engine", json!(known.identity.engine.map(|engine| engine.word())));
    put("engine_version", json!(known.identity.version));
    put("max_model_len", json!(known.model.max_model_len));
    Value::Object(map)
}

fn file_name(path: &str) -> Option<String> {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned())
}
