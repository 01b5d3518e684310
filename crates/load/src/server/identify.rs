//! Which engine answers, and in which version, as it reports itself.
//!
//! In:  a [`Web`].  Out: [`Identity`] with what each finding rests on.
//! Not here: guessing. An engine that does not name itself stays unnamed.
//!
//! Sources: vllm/entrypoints/openai (`/version`, `owned_by: vllm`), sglang/srt/entrypoints (`/get_server_info`, later `/server_info`,
//! `owned_by: sglang`). tensorrt_llm/serve (`/version`, `owned_by: tensorrt_llm`), llama.cpp tools/server (`/props`, `Server: llama.cpp`,
//! `owned_by: llamacpp`). `/version` alone identifies no engine, because several have it.

use std::time::Duration;

use serde_json::Value;

use super::{InferenceEngine, Served};
use sparkbench_host::web::{HttpAnswer, Web};

/// Identity as the server states it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The engine, where it names itself.
    pub engine: Option<InferenceEngine>,
    /// Its version as it writes it.
    pub version: Option<String>,
    /// The `Server` header, e.g. `uvicorn`.
    pub server: Option<String>,
    /// Longest prompt and answer together, tokens, where a route other than `/v1/models` states it.
    pub context: Option<u64>,
    /// Evidence of the findings, e.g. `owned_by: vllm`, for the archive.
    pub evidence: Vec<String>,
}

/// Asks the routes by which engines name themselves. Routes that are not there are skipped.
pub fn identify(web: &Web, models: &[Served], limit: Duration) -> Identity {
    let mut found = Identity::default();
    for owner in models.iter().filter_map(|model| model.owner.as_deref()) {
        if let Some(engine) = InferenceEngine::of_owner(owner) {
            found.is(engine, format!("owned_by: {owner}"));
        }
    }
    let ask = |path: &str| web.get(path, limit).ok().filter(HttpAnswer::ok);
    if let Some(answer) = ask("/version")
        && let Some(version) = text(&answer, &["version"])
    {
        found.evidence.push(format!("/version: {version}"));
        found.version = Some(version);
        found.server = answer.server;
    }
    if matches!(found.engine, None | Some(InferenceEngine::Sglang)) {
        for path in ["/server_info", "/get_server_info"] {
            let Some(answer) = ask(path) else { continue };
            let Some(version) = text(&answer, &["version"]) else { continue };
            found.is(InferenceEngine::Sglang, format!("{path}: {version}"));
            found.version = Some(version);
            found.context = number(&answer, &["context_length"]).or_else(|| number(&answer, &["max_req_input_len"]));
            found.server = found.server.take().or(answer.server);
            break;
        }
    }
    if matches!(found.engine, None | Some(InferenceEngine::LlamaServer))
        && let Some(answer) = ask("/props")
    {
        if let Some(build) = text(&answer, &["build_info"]) {
            found.is(InferenceEngine::LlamaServer, format!("/props: {build}"));
            found.version = Some(build);
        }
        found.context = number(&answer, &["default_generation_settings", "n_ctx"]);
        found.server = found.server.take().or(answer.server);
    }
    if found.server.is_none() {
        found.server = web.get("/v1/models", limit).ok().and_then(|answer| answer.server);
    }
    if found.server.as_deref() == Some("llama.cpp") {
        found.is(InferenceEngine::LlamaServer, "Server: llama.cpp".to_owned());
    }
    found
}

impl Identity {
    /// Takes the first word. Another one later is kept as evidence alone.
    fn is(&mut self, engine: InferenceEngine, because: String) {
        self.evidence.push(because);
        self.engine = self.engine.or(Some(engine));
    }
}

fn below<'a>(json: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(json, |json, key| json.get(key))
}

fn text(answer: &HttpAnswer, path: &[&str]) -> Option<String> {
    let json = answer.json()?;
    let text = below(&json, path)?.as_str()?.trim();
    // A line of a foreign server: bounded, and no control characters into the archive.
    let plain: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
    (!plain.is_empty()).then_some(plain)
}

fn number(answer: &HttpAnswer, path: &[&str]) -> Option<u64> {
    below(&answer.json()?, path)?.as_u64().filter(|number| *number > 0)
}
