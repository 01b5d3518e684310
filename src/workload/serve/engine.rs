//! Engines that a suite can name: how their command line begins, where they listen unless told, by which words they are ready.
//!
//! In:  nothing.  Out: [`PRESETS`].
//! Not here: their options. A suite writes those as the engine has them, and they reach it as they are written.
//!
//! Sources: vLLM "vllm serve"; SGLang "Server Arguments"; TensorRT-LLM "trtllm-serve"; llama.cpp tools/server/README.md.

use crate::load::server::Engine;

/// What is known of an engine.
#[derive(Debug)]
pub struct Preset {
    /// Word in suites.
    pub name: &'static str,
    /// By which it names itself afterwards; absent for `other`.
    pub engine: Option<Engine>,
    /// Program and first arguments, with places; the suite's `args` follow.
    pub begin: &'static [&'static str],
    /// Port unless the suite gives one.
    pub port: u16,
    /// Whether it is of no use without a GPU.
    pub needs_gpu: bool,
}

/// Every engine, by its word.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "vllm",
        engine: Some(Engine::Vllm),
        begin: &["vllm", "serve", "{model}", "--host", "{host}", "--port", "{port}"],
        port: 8000,
        needs_gpu: true,
    },
    Preset {
        name: "sglang",
        engine: Some(Engine::Sglang),
        begin: &[
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "{model}",
            "--host",
            "{host}",
            "--port",
            "{port}",
        ],
        port: 30_000,
        needs_gpu: true,
    },
    Preset {
        name: "trtllm-serve",
        engine: Some(Engine::TrtllmServe),
        begin: &["trtllm-serve", "serve", "{model}", "--host", "{host}", "--port", "{port}"],
        port: 8000,
        needs_gpu: true,
    },
    Preset {
        name: "llama-server",
        engine: Some(Engine::LlamaServer),
        begin: &["llama-server", "-m", "{model.path}", "--host", "{host}", "--port", "{port}"],
        port: 8080,
        needs_gpu: false,
    },
    Preset { name: "other", engine: None, begin: &[], port: 8000, needs_gpu: false },
];

/// By its word.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
