//! Masks values in memory: text, variables, command lines, JSON, and the contents of `campaign.json` and `run.json`.
//!
//! In:  values.  Out: the same values with secrets and names replaced, and counts by kind.
//! Not here: files (see `stream`, `folder`), known names and values.

use std::collections::BTreeMap;

use serde_json::Value;

use super::hit::tag;
use super::under::{Under, describes};
use super::{Mask, Tally, command, count, names};
use crate::manifest::{CampaignWire, RunWire};
use sparkbench_text::error::Error;

impl Mask {
    /// Kind of secret that a variable's value is.
    pub(super) fn secret(&self, name: &str, value: &str) -> Option<&'static str> {
        let told = self.secret_names.is_match(name).then_some("secret");
        let kind = told.or_else(|| names::of_variable(name)).or_else(|| names::of_several(name))?;
        (!names::is_void(value.as_bytes()) && (told.is_some() || !names::is_count(kind, value.as_bytes())))
            .then_some(kind)
    }

    /// Replaces in a text.
    pub fn text(&self, text: &str, tally: &mut Tally) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes(), tally)).into_owned()
    }

    /// Replaces in variables: whole values by name, parts of others by shape.
    pub fn variables(&self, variables: &BTreeMap<String, String>, tally: &mut Tally) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| (name.clone(), self.value(name, value, tally))).collect()
    }

    fn value(&self, name: &str, value: &str, tally: &mut Tally) -> String {
        match self.secret(name, value) {
            Some(kind) => {
                count(tally, kind);
                tag(kind)
            }
            None => self.text(value, tally),
        }
    }

    /// Replaces in a command line: `--token X`, `--token=X`, `-e NAME=VALUE`, `NAME=VALUE`, `curl -u ann:X`, and whatever shows by
    /// its shape.
    pub fn arguments(&self, arguments: &[String], tally: &mut Tally) -> Vec<String> {
        let (arguments, passwords) = command::masked(arguments);
        (0..passwords).for_each(|_| count(tally, "password"));
        let mut before: Option<&str> = None;
        let mut masked = Vec::with_capacity(arguments.len());
        for argument in &arguments {
            let option = before.take().filter(|_| !argument.starts_with('-'));
            let secret = option.and_then(|option| self.secret(option, argument));
            masked.push(match (secret, argument.split_once('=')) {
                (Some(kind), _) => {
                    count(tally, kind);
                    tag(kind)
                }
                (None, Some((name, value))) if is_name(name) => format!("{name}={}", self.value(name, value, tally)),
                _ => self.text(argument, tally),
            });
            before = argument
                .strip_prefix('-')
                .map(|name| name.trim_start_matches('-'))
                .filter(|name| name.len() > 1 && !name.contains('='));
        }
        masked
    }

    /// Replaces in every string of a JSON value. Under a key with the name of a secret, the whole string, as the `value` beside such a name,
    /// and every string of a list or an object there.
    pub fn json(&self, value: &mut Value, tally: &mut Tally) {
        self.json_under(Under::default(), value, tally);
    }

    fn json_under(&self, under: Under<'_>, value: &mut Value, tally: &mut Tally) {
        match value {
            Value::String(text) => {
                *text = match under.kind_of(text) {
                    Some(kind) => {
                        count(tally, kind);
                        tag(kind)
                    }
                    None => self.text(text, tally),
                }
            }
            Value::Array(items) => self.array(under, items, tally),
            Value::Object(fields) => {
                let beside = name_beside(fields);
                for (name, field) in fields.iter_mut() {
                    let named = beside.as_deref().filter(|_| name.eq_ignore_ascii_case("value"));
                    let told = named.filter(|beside| self.secret_names.is_match(beside));
                    let below = match (told, named) {
                        (Some(_), _) => Under::Plain("secret"),
                        // Labels of the campaign are keys of objects too.
                        _ if describes(field) || (field.is_object() && self.keep.contains(&name.to_lowercase())) => {
                            under
                        }
                        (None, Some(beside)) => under.name(name).name(beside),
                        (None, None) => under.name(name),
                    };
                    self.json_under(below, field, tally);
                }
            }
            _ => {}
        }
    }

    /// Replaces in the keys of a tree whose keys are data: mount points, addresses.
    fn keys(&self, value: &mut Value, tally: &mut Tally) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.keys(item, tally)),
            Value::Object(fields) => {
                for (name, mut field) in std::mem::take(fields) {
                    self.keys(&mut field, tally);
                    fields.insert(self.text(&name, tally), field);
                }
            }
            _ => {}
        }
    }

    /// Lists of strings may be command lines.
    fn array(&self, under: Under<'_>, items: &mut [Value], tally: &mut Tally) {
        let strings: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        match strings.filter(|strings| strings.iter().all(|text| under.kind_of(text).is_none())) {
            Some(strings) => {
                for (item, text) in items.iter_mut().zip(self.arguments(&strings, tally)) {
                    *item = Value::String(text);
                }
            }
            None => items.iter_mut().for_each(|item| self.json_under(under, item, tally)),
        }
    }

    /// Replaces in everything that `campaign.json` says, but for the plan and what identifies the campaign, and notes how often.
    ///
    /// # Errors
    /// When it does not fit its own shape afterwards.
    pub fn campaign(&self, campaign: CampaignWire) -> Result<CampaignWire, Error> {
        let mut tally = campaign.masked.clone();
        let fixed = campaign.clone();
        let mut campaign = campaign;
        let trees =
            campaign.host.iter_mut().chain(campaign.environments.values_mut()).chain(campaign.nodes.values_mut());
        trees.for_each(|tree| self.keys(tree, &mut tally));
        let mut masked: CampaignWire = self.wire(&campaign, &mut tally)?;
        (masked.schema, masked.name, masked.plan) = (fixed.schema, fixed.name, fixed.plan);
        (masked.archive_id, masked.suite_sha256, masked.design_sha256) =
            (fixed.archive_id, fixed.suite_sha256, fixed.design_sha256);
        masked.masked = tally;
        Ok(masked)
    }

    /// Replaces in everything that `run.json` says, but for what identifies the run.
    ///
    /// # Errors
    /// When it does not fit its own shape afterwards.
    pub fn run(&self, run: RunWire) -> Result<RunWire, Error> {
        let mut tally = run.masked.clone();
        let mut run = run;
        run.environment_state.iter_mut().for_each(|tree| self.keys(tree, &mut tally));
        let mut masked: RunWire = self.wire(&RunWire { variables: BTreeMap::new(), ..run.clone() }, &mut tally)?;
        masked.variables = self.variables(&run.variables, &mut tally);
        (masked.schema, masked.id, masked.environment) = (run.schema, run.id, run.environment);
        (masked.model, masked.workload, masked.files) = (run.model, run.workload, run.files);
        masked.masked = tally;
        Ok(masked)
    }

    /// Replaces in every text of a wire shape.
    ///
    /// # Errors
    /// When it does not fit its own shape afterwards.
    pub fn wire<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        wire: &T,
        tally: &mut Tally,
    ) -> Result<T, Error> {
        let odd = |cause| Error::archive("cannot mask what is to be archived").because(cause);
        let mut value = serde_json::to_value(wire).map_err(odd)?;
        self.json(&mut value, tally);
        serde_json::from_value(value).map_err(odd)
    }
}

/// The name of a pair: `{"name": "HF_TOKEN", "value": "x"}`.
fn name_beside(fields: &serde_json::Map<String, Value>) -> Option<String> {
    let is_name = |key: &str| ["name", "key", "header"].iter().any(|word| key.eq_ignore_ascii_case(word));
    fields.iter().find(|(key, value)| is_name(key) && value.is_string())?.1.as_str().map(str::to_owned)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mask::{Identity, MaskRules};

    #[test]
    fn the_value_of_a_pair_is_judged_by_the_name_beside_it() {
        let rules = MaskRules { secret_variables: vec!["ACME_*".to_owned()], ..MaskRules::default() };
        let mask = Mask::new(&rules, &Identity::default()).expect("rules that make sense");
        let mut tally = Tally::new();
        let mut value = json!({"env": [
            {"name": "HF_TOKEN", "value": "abcdefgh1"}, {"Key": "api_key", "Value": "abcdefgh2"},
            {"name": "ACME_ID", "value": "abcdefgh3"}, {"name": "PORT", "value": "8000"}, {"name": "eos_token", "value": "</s>"},
        ]});
        mask.json(&mut value, &mut tally);
        let values: Vec<&Value> =
            value["env"].as_array().expect("a list").iter().filter_map(|pair| pair.get("value")).collect();
        assert_eq!(values, ["<masked:token>", "<masked:secret>", "8000", "</s>"]);
        assert_eq!(value["env"][1]["Value"], "<masked:key>");
        assert_eq!(tally.values().sum::<u64>(), 3);
    }

    #[test]
    fn lists_and_objects_of_secrets_lose_every_text() {
        let mask =
            Mask::new(&MaskRules { keep: vec!["secret".to_owned()], ..MaskRules::default() }, &Identity::default())
                .expect("rules that make sense");
        for (mut value, expected) in [
            (json!({"api_keys": ["plainkey", "other"]}), json!({"api_keys": ["<masked:key>", "<masked:key>"]})),
            (
                json!({"passwords": {"ann": "ab12", "of": ["cd34", ["ef56"], 7]}}),
                json!({"passwords": {"ann": "<masked:password>", "of": ["<masked:password>", ["<masked:password>"], 7]}}),
            ),
            (
                json!({"credentials": {"ann": {"pin": "ab12"}}}),
                json!({"credentials": {"ann": {"pin": "<masked:credential>"}}}),
            ),
            (json!({"HF_TOKENS": ["abcdefgh"]}), json!({"HF_TOKENS": ["<masked:token>"]})),
            (json!({"password": ["ab12"]}), json!({"password": ["<masked:password>"]})),
            (json!({"tokens": ["hello", "Zx81plainButDrawn77"]}), json!({"tokens": ["hello", "<masked:token>"]})),
            (
                json!({"auth": {"x": {"y": "Zx81plainButDrawn77"}}}),
                json!({"auth": {"x": {"y": "<masked:credential>"}}}),
            ),
            (
                json!([{"name": "api_keys", "value": ["ab12", "cd34"]}]),
                json!([{"name": "api_keys", "value": ["<masked:key>", "<masked:key>"]}]),
            ),
        ] {
            mask.json(&mut value, &mut Tally::new());
            assert_eq!(value, expected);
        }
        for stays in [
            json!({"max_tokens": ["4096"], "prompt_tokens": ["hello"], "keys": ["a94a8fe5ccb19ba61c4c0873d391e987"]}),
            json!({"api_key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}}),
            json!({"api_keys": ["none", "${KEYS}", ""]}),
            json!({"secret": {"model": "a label of the suite"}}),
            json!({"masked": {"password": 2, "key": 1}}),
            json!({"token_pool": {"sha256": "a94a8fe5ccb19ba61c4c0873d391e987"}}),
        ] {
            let mut value = stays.clone();
            mask.json(&mut value, &mut Tally::new());
            assert_eq!(value, stays);
        }
    }

    #[test]
    fn a_variable_of_several_secrets_is_masked_and_each_of_them_is_found() {
        let mut mask = Mask::new(&MaskRules::default(), &Identity::default()).expect("rules that make sense");
        let variables =
            [("OPENAI_API_KEYS", "plainkey1,plainkey2"), ("MAX_TOKENS", "4096"), ("STOP_TOKENS", "plainword")];
        let variables = BTreeMap::from(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        mask.learn(&variables);
        let mut tally = Tally::new();
        let masked: Vec<String> = mask.variables(&variables, &mut tally).into_values().collect();
        assert_eq!(masked, ["4096", "<masked:key>", "plainword"]);
        assert_eq!(mask.text("plainkey2 and plainword", &mut tally), "<masked:key> and plainword");
    }
}
