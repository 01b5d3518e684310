//! Writes a load as the table of a suite, which [`super::read`] reads.
//!
//! In:  [`Settings`].  Out: a TOML table with every option that makes them.
//! Not here: reading.
//!
//! An archived ad-hoc load is a campaign like any other, so it has a suite, and that suite can be edited and collected again.

use serde_json::json;
use toml::{Table, Value};

use crate::settings::{
    CONVERSATIONS, ConversationInput, Conversations, LoadOption, LoadOptions, OPTIONS, Settings, ValueKind, Work,
};

/// The table. Headers are left out: their values may be secrets.
pub fn write(settings: &Settings) -> Table {
    let options = LoadOptions::of(settings);
    let mut table = keys(&options, |option| option.group != CONVERSATIONS);
    if let Work::Conversations(chat) = &settings.work {
        table.insert("conversations".to_owned(), Value::Table(conversations(&options, chat)));
    }
    let slos = settings.slos;
    let limits = [("ttft_ms", slos.ttft_ms), ("tpot_ms", slos.tpot_ms), ("e2e_ms", slos.e2e_ms)];
    let limits: Table =
        limits.iter().filter_map(|(name, limit)| Some(((*name).to_owned(), Value::Float((*limit)?)))).collect();
    let members = settings.extra_body.iter().filter_map(|(name, value)| Some((name.clone(), toml(value)?)));
    for (key, below) in [("extra_body", members.collect()), ("slos", limits)] {
        if !below.is_empty() {
            table.insert(key.to_owned(), Value::Table(below));
        }
    }
    table
}

fn conversations(options: &LoadOptions, chat: &Conversations) -> Table {
    let mut table = keys(options, |option| option.group == CONVERSATIONS);
    let own =
        LoadOptions { isl: Some(chat.isl.to_string()), osl: Some(chat.osl.to_string()), ..LoadOptions::default() };
    table.extend(keys(&own, |option| matches!(option.kind, ValueKind::Lengths(_))));
    let (key, input) = match &chat.input {
        ConversationInput::File(path) => ("input", json!(path.display().to_string())),
        ConversationInput::Generate(path) => ("generate", json!(path.display().to_string())),
        ConversationInput::Texts(paths) => ("texts", paths.iter().map(|path| path.display().to_string()).collect()),
        ConversationInput::Synthetic => return table,
    };
    table.extend(toml(&input).map(|input| (key.to_owned(), input)));
    table
}

/// The options of one table.
fn keys(options: &LoadOptions, here: fn(&LoadOption) -> bool) -> Table {
    let said = |option: &LoadOption| {
        let value = option.value(options)?;
        let value = match (&option.kind, value.as_str().and_then(|text| text.parse().ok())) {
            // None of a kind of text.
            (ValueKind::Lengths(_), Some(0)) => return None,
            (ValueKind::Lengths(_), Some(number)) => Value::Integer(number),
            // TOML counts to half of what we do.
            _ if value.as_u64().is_some_and(|number| i64::try_from(number).is_err()) => Value::Integer(i64::MAX),
            _ => toml(&value)?,
        };
        Some((option.key.to_owned(), value))
    };
    OPTIONS.iter().filter(|option| option.is_key() && here(option)).filter_map(said).collect()
}

/// A value of JSON. TOML has no null.
fn toml(value: &serde_json::Value) -> Option<Value> {
    Value::try_from(value).ok()
}
