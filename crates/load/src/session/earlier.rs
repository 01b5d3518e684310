//! A load that an earlier process measured, held against what is asked for now.
//!
//! In:  [`Settings`], the summary of a load.  Out: [`SettingsAsked`], the [`SettingChange`]s between them.
//! Not here: where summaries lie (see `cli::load`), what is done about a difference.
//!
//! Points of one sweep are compared with each other. So they must have been sent to one server by one set of settings, down to the texts of a
//! file and the version of the engine. Only the nonce is another one, as it is for any two points.

use serde_json::{Map, Value, json};

use super::Session;
use super::shown_settings::{self, NONCE, PLAN};
use crate::plan::{Plan, PlanInput};
use crate::settings::{OPTIONS, Settings, Slos, Work};
use sparkbench_text::error::Error;

/// What a load is asked to be: settings by the names of a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsAsked(Map<String, Value>);

/// A setting that is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// As it is typed where it is an option, else in words.
    pub setting: String,
    /// Its value then.
    pub was: String,
    /// Its value now.
    pub now: String,
}

/// Settings that say which point of a sweep a load is.
const POINT: [&str; 2] = ["concurrency", "rate_req_s"];

impl Session<'_> {
    /// Of a load with these settings.
    ///
    /// # Errors
    /// When they make no plan, or a file cannot be read.
    pub fn asked(&self, settings: &Settings) -> Result<SettingsAsked, Error> {
        let plan = match settings.work {
            Work::Conversations(_) => None,
            _ => Some(Plan::new(settings, &PlanInput::read(settings)?)?.sha256()),
        };
        let secrets = self.secrets_of(settings);
        let members = secrets.members(&settings.extra_body);
        let mut shown = shown_settings::settings(settings, &self.known, plan, &members);
        if let (Some(ranks), Some(map)) = (&self.ranks, shown.as_object_mut()) {
            map.insert("world".to_owned(), ranks.share().world.into());
        }
        let mut whole = json!({
            "url": self.target.shown(), "model": self.known.model.id, "settings": shown,
            "goodput": { "slos": limits(settings.slos) },
        });
        secrets.veil().json(&mut whole);
        Ok(SettingsAsked(members_of(&whole)))
    }
}

/// By the names of a summary.
fn limits(slos: Slos) -> Value {
    let all = [("ttft_ms", slos.ttft_ms), ("tpot_ms", slos.tpot_ms), ("e2e_latency_ms", slos.e2e_ms)];
    let map: Map<String, Value> =
        all.into_iter().filter_map(|(name, most)| Some((name.to_owned(), json!(most?)))).collect();
    if map.is_empty() { Value::Null } else { Value::Object(map) }
}

/// Everything of a summary that was asked for.
fn members_of(summary: &Value) -> Map<String, Value> {
    let mut members = summary["settings"].as_object().cloned().unwrap_or_default();
    members.remove(NONCE);
    for (name, value) in [("url", &summary["url"]), ("model", &summary["model"]), ("slo", &summary["goodput"]["slos"])]
    {
        if !value.is_null() {
            members.insert(name.to_owned(), value.clone());
        }
    }
    members
}

impl SettingsAsked {
    /// Whether a summary is of the same point of a sweep, whatever its other settings are.
    pub fn is_point_of(&self, summary: &Value) -> bool {
        POINT.iter().all(|name| same(self.0.get(*name), summary["settings"].get(*name)))
    }

    /// What a summary was asked to be otherwise. Empty where it is a load of these very settings.
    pub fn differences(&self, summary: &Value) -> Vec<SettingChange> {
        let was = members_of(summary);
        let mut names: Vec<&String> = was.keys().chain(self.0.keys().filter(|name| !was.contains_key(*name))).collect();
        names.retain(|name| !same(was.get(*name), self.0.get(*name)));
        // It follows from the others. Alone it says that a file has other texts.
        if names.len() > 1 {
            names.retain(|name| *name != PLAN);
        }
        let difference = |name: &String| SettingChange {
            setting: typed(name),
            was: shown(was.get(name)),
            now: shown(self.0.get(name)),
        };
        names.into_iter().map(difference).collect()
    }
}

/// One number may be written as 8 and as 8.0.
fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    one == other || number(one).is_some_and(|value| number(other) == Some(value))
}

fn typed(name: &str) -> String {
    match name {
        PLAN => "the plan, so a file that the load reads".to_owned(),
        "url" | "slo" | "model" | "ramp" => format!("--{name}"),
        _ => {
            let option = OPTIONS.iter().find(|option| option.summary == name).and_then(|option| option.option());
            option.map_or_else(|| name.replace('_', " "), |option| format!("--{option}"))
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "not set".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(settings: Value) -> SettingsAsked {
        SettingsAsked(members_of(&json!({ "url": "http://h", "model": "m", "settings": settings })))
    }

    fn measured(settings: Value) -> Value {
        json!({ "url": "http://h", "model": "m", "settings": settings, "goodput": null })
    }

    #[test]
    fn each_setting_that_is_another_one_is_named_as_it_is_typed() {
        let now = asked(
            json!({ "concurrency": "2", "isl": 128, "seed": 42, "plan_sha256": "b", "engine_version": "2", "nonce": "0" }),
        );
        let then =
            measured(json!({ "concurrency": "2", "isl": 64, "plan_sha256": "a", "engine_version": "1", "nonce": "f" }));
        let said: Vec<String> = now
            .differences(&then)
            .iter()
            .map(|one| format!("{}: {} then, {} now", one.setting, one.was, one.now))
            .collect();
        assert_eq!(said, ["--isl: 64 then, 128 now", "engine version: 1 then, 2 now", "--seed: not set then, 42 now"]);
        assert!(now.is_point_of(&then));
    }

    #[test]
    fn a_load_of_the_same_settings_has_no_difference_and_other_texts_of_a_file_are_one() {
        let now = asked(json!({ "rate_req_s": 2.0, "prompts": "p.jsonl", "plan_sha256": "b" }));
        let settings = |plan: &str| json!({ "rate_req_s": 2, "prompts": "p.jsonl", "plan_sha256": plan, "nonce": "f" });
        assert_eq!(now.differences(&measured(settings("b"))), []);
        let other = now.differences(&measured(settings("a")));
        assert_eq!(other.len(), 1);
        assert!(other[0].setting.contains("a file that the load reads"), "{other:?}");
        assert!(!now.is_point_of(&measured(json!({ "rate_req_s": 4 }))));
        assert!(!now.is_point_of(&measured(json!({ "concurrency": 2 }))));
    }

    #[test]
    fn limits_are_settings_too() {
        let mut then = measured(json!({}));
        then["goodput"] = json!({ "slos": { "ttft_ms": 200.0 } });
        let found = asked(json!({})).differences(&then);
        assert_eq!((found.len(), found[0].setting.as_str(), found[0].now.as_str()), (1, "--slo", "not set"));
    }
}
