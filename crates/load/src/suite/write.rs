//! Writes a load as the table of a suite, which [`super::read`] reads.
//!
//! In:  [`Settings`].  Out: a TOML table with every setting that is not the default.
//! Not here: reading.
//!
//! An archived ad-hoc load is a campaign like any other, so it has a suite, and that suite can be edited and collected again.

use toml::{Table, Value};

use crate::server::{cache, exact};
use crate::settings::{Arrival, ConversationInput, Conversations, Lengths, Sampling, Settings, Shape, Work};

/// The table. Headers are left out: their values may be secrets.
pub fn write(settings: &Settings) -> Table {
    let plain = Settings::default();
    let mut out = Out(Table::new());
    out.text("endpoint", settings.endpoint.word());
    out.maybe_text("model", settings.model.as_deref());
    match &settings.shape {
        // As many as there are clients. The table of conversations says it.
        Shape::Closed { .. } if matches!(settings.work, Work::Conversations(_)) => {}
        Shape::Closed { concurrency } => out.whole("concurrency", (*concurrency).into()),
        Shape::Open { rate, arrival, max_concurrency } => {
            out.number("rate", *rate);
            match arrival {
                Arrival::Constant => out.text("arrival", "constant"),
                Arrival::Poisson => out.text("arrival", "poisson"),
                Arrival::Gamma(shape) => {
                    out.text("arrival", "gamma");
                    out.number("burstiness", *shape);
                }
            }
            out.maybe_whole("max_concurrency", max_concurrency.map(u64::from));
        }
        Shape::Trace { path, speed, max_concurrency } => {
            out.text("trace", &path.display().to_string());
            out.number("trace_speed", *speed);
            out.maybe_whole("max_concurrency", max_concurrency.map(u64::from));
        }
    }
    if let Some(ramp) = settings.ramp {
        out.number("ramp_s", ramp.over_s);
        out.number("ramp_from", ramp.from);
        out.switch("ramp_exponential", ramp.exponential);
    }
    match &settings.work {
        Work::Synthetic { isl, osl, prefix } => {
            out.lengths("isl", isl);
            out.lengths("osl", osl);
            if prefix.tokens > 0 {
                out.whole("prefix_tokens", prefix.tokens.into());
                out.whole("prefix_groups", prefix.groups.into());
            }
        }
        Work::Prompts { path, osl } => {
            out.text("prompts", &path.display().to_string());
            osl.iter().for_each(|osl| out.lengths("osl", osl));
        }
        Work::Conversations(chat) => drop(out.0.insert("conversations".to_owned(), Value::Table(conversations(chat)))),
    }
    if settings.share.world > 1 {
        out.whole("rank", settings.share.rank.into());
        out.whole("world", settings.share.world.into());
    }
    out.maybe_whole("requests", settings.requests);
    out.maybe_number("duration_s", settings.duration_s);
    out.maybe_text("until", settings.until.map(|until| until.to_string()).as_deref());
    out.maybe_whole("until_least", settings.until.map(|until| until.least()));
    out.maybe_number("drain_s", Some(settings.drain_s).filter(|s| *s != plain.drain_s));
    out.whole("warmup", settings.warmup);
    out.maybe_number("cooldown_cut_s", Some(settings.cooldown_cut_s).filter(|s| *s > 0.0));
    out.whole("seed", settings.seed);
    out.number("timeout_s", settings.timeout_s);
    out.whole("retries", settings.retries.into());
    out.text("cache", cache::word(settings.cache));
    out.text("exact", exact::word(settings.exact));
    out.number("temperature", settings.temperature);
    if !settings.extra_body.is_empty() {
        let members = settings.extra_body.iter().filter_map(|(name, value)| Some((name.clone(), json(value)?)));
        out.0.insert("extra_body".to_owned(), Value::Table(members.collect()));
    }
    out.maybe_text("api_key_env", settings.api_key_env.as_deref());
    out.maybe_text("tokenizer", settings.tokenizer.as_ref().map(|path| path.display().to_string()).as_deref());
    out.switch("token_ids", settings.token_ids);
    out.switch("continuous_usage", settings.continuous_usage);
    let slos = settings.slos;
    let limits = [("ttft_ms", slos.ttft_ms), ("tpot_ms", slos.tpot_ms), ("e2e_ms", slos.e2e_ms)];
    let limits: Table =
        limits.iter().filter_map(|(name, limit)| Some(((*name).to_owned(), Value::Float((*limit)?)))).collect();
    if !limits.is_empty() {
        out.0.insert("slos".to_owned(), Value::Table(limits));
    }
    out.switch("insecure", settings.insecure);
    out.maybe_text("ca_file", settings.ca_file.as_ref().map(|path| path.display().to_string()).as_deref());
    out.0
}

fn conversations(chat: &Conversations) -> Table {
    let mut out = Out(Table::new());
    match &chat.input {
        ConversationInput::File(path) => out.text("input", &path.display().to_string()),
        ConversationInput::Generate(path) => out.text("generate", &path.display().to_string()),
        ConversationInput::Texts(paths) => {
            let paths = paths.iter().map(|path| Value::String(path.display().to_string())).collect();
            out.0.insert("texts".to_owned(), Value::Array(paths));
        }
        ConversationInput::Synthetic => {}
    }
    out.whole("num_clients", chat.clients.into());
    out.maybe_whole("max_active_conversations", chat.max_active.map(u64::from));
    out.maybe_whole("count", chat.count.map(u64::from));
    out.maybe_number("request_rate", chat.request_rate);
    out.maybe_whole("max_num_requests", chat.max_requests);
    out.maybe_whole("max_turns", chat.max_turns.map(u64::from));
    out.switch("warmup_step", chat.warmup_step);
    out.maybe_whole("limit_min_tokens", chat.min_tokens.map(u64::from));
    out.maybe_whole("limit_max_tokens", chat.max_tokens.map(u64::from));
    if chat.sampling == Sampling::Random {
        out.text("conversation_sampling", "random");
    }
    out.switch("early_stop", chat.early_stop);
    out.switch("recorded_answers", chat.recorded_answers);
    out.lengths("turns", &chat.turns);
    out.lengths("isl", &chat.isl);
    out.lengths("osl", &chat.osl);
    out.lengths("common_prefix", &chat.common_prefix);
    out.lengths("own_prefix", &chat.own_prefix);
    out.0
}

/// A value of JSON. TOML has no null.
fn json(value: &serde_json::Value) -> Option<Value> {
    Value::try_from(value).ok()
}

/// A table that is being filled.
struct Out(Table);

impl Out {
    fn put(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    fn text(&mut self, key: &str, text: &str) {
        self.put(key, Value::String(text.to_owned()));
    }

    fn maybe_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    fn whole(&mut self, key: &str, number: u64) {
        self.put(key, Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)));
    }

    fn maybe_whole(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.whole(key, number);
        }
    }

    fn number(&mut self, key: &str, number: f64) {
        self.put(key, Value::Float(number));
    }

    fn maybe_number(&mut self, key: &str, number: Option<f64>) {
        if let Some(number) = number {
            self.number(key, number);
        }
    }

    /// Only where it is on.
    fn switch(&mut self, key: &str, on: bool) {
        if on {
            self.put(key, Value::Boolean(true));
        }
    }

    fn lengths(&mut self, key: &str, lengths: &Lengths) {
        match lengths {
            Lengths::Fixed(0) => {}
            Lengths::Fixed(number) => self.whole(key, (*number).into()),
            other => self.text(key, &other.to_string()),
        }
    }
}
