//! Engines that a suite can name: beginning of the command line, default address, spreading over several machines.
//!
//! In:  nothing.  Out: [`PRESETS`].
//! Not here: their options. A suite writes those as the engine has them, and they reach it as they are written.
//!
//! Sources: vLLM "vllm serve", "Parallelism and Scaling", "Data Parallel Deployment". SGLang "Server Arguments", "Multi-Node Deployment".
//! TensorRT-LLM "trtllm-serve". Llama.cpp tools/server/README.md, tools/rpc/README.md. Ray "ray start".

use sparkbench_load::server::InferenceEngine;

/// Known facts of an engine.
#[derive(Debug)]
pub struct Preset {
    /// Word in suites.
    pub name: &'static str,
    /// By which it names itself afterwards. Absent for `other`.
    pub engine: Option<InferenceEngine>,
    /// Program and first arguments, with places. The suite's `args` follow.
    pub begin: &'static [&'static str],
    /// Port unless the suite gives one.
    pub port: u16,
    /// Whether it is of no use without a GPU.
    pub needs_gpu: bool,
    /// Ways in which it spreads over several machines, the usual one first.
    pub across: &'static [Across],
}

/// A way in which an engine spreads over several machines. All texts are templates.
#[derive(Debug)]
pub struct Across {
    /// Word in suites: `across = "ray"`.
    pub word: &'static str,
    /// Words before the command of the head.
    pub before: &'static [&'static str],
    /// Options of the head, behind how the engine begins and before the suite's `args`.
    pub head: &'static [&'static str],
    /// Command of each other machine. Empty where the head starts everything itself.
    pub worker: &'static [&'static str],
    /// Whether the suite's `args` are behind it.
    pub worker_takes_args: bool,
    /// Variables on every machine, unless the suite sets them.
    pub env: &'static [(&'static str, &'static str)],
    /// Port at which a worker listens before the head may start. Absent where the head waits for its workers.
    pub worker_port: Option<u16>,
}

/// Port at which the head of a data-parallel vLLM meets the others: that of its documents.
const VLLM_DATA_PARALLEL_PORT: &str = "13345";

/// Libraries that send between machines pick a device by the name of the host, which is often the wrong one.
const ON_THE_LINK: &[(&str, &str)] = &[
    ("GLOO_SOCKET_IFNAME", "{node.device}"),
    ("NCCL_SOCKET_IFNAME", "{node.device}"),
    ("VLLM_HOST_IP", "{node.address}"),
];

const VLLM_ACROSS: &[Across] = &[
    Across {
        word: "native",
        before: &[],
        head: &["--nnodes", "{nodes}", "--node-rank", "0", "--master-addr", "{node.head}"],
        worker: &[
            "vllm",
            "serve",
            "{model}",
            "--nnodes",
            "{nodes}",
            "--node-rank",
            "{node.rank}",
            "--master-addr",
            "{node.head}",
            "--headless",
        ],
        worker_takes_args: true,
        env: ON_THE_LINK,
        worker_port: None,
    },
    Across {
        word: "data-parallel",
        before: &[],
        head: &[
            "--data-parallel-size",
            "{nodes}",
            "--data-parallel-size-local",
            "1",
            "--data-parallel-address",
            "{node.head}",
            "--data-parallel-rpc-port",
            VLLM_DATA_PARALLEL_PORT,
        ],
        worker: &[
            "vllm",
            "serve",
            "{model}",
            "--headless",
            "--data-parallel-size",
            "{nodes}",
            "--data-parallel-size-local",
            "1",
            "--data-parallel-start-rank",
            "{node.rank}",
            "--data-parallel-address",
            "{node.head}",
            "--data-parallel-rpc-port",
            VLLM_DATA_PARALLEL_PORT,
        ],
        worker_takes_args: true,
        env: ON_THE_LINK,
        worker_port: None,
    },
    Across {
        word: "ray",
        // The engine takes the place of the shell once Ray's head is up. Ray's processes end with the run.
        before: &["sh", "-c", "ray start --head --node-ip-address={node.head} --port=6379 && exec \"$@\"", "ray"],
        head: &["--distributed-executor-backend", "ray"],
        // A worker may be there before the head.
        worker: &[
            "sh",
            "-c",
            "for try in $(seq 60); do ray start --address={node.head}:6379 --node-ip-address={node.address} --block && exit; sleep 1; done; exit 1",
        ],
        worker_takes_args: false,
        env: ON_THE_LINK,
        worker_port: None,
    },
];

const SGLANG_ACROSS: &[Across] = &[Across {
    word: "native",
    before: &[],
    head: &["--nnodes", "{nodes}", "--node-rank", "0", "--dist-init-addr", "{node.head}:20000"],
    worker: &[
        "python3",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "{model}",
        "--nnodes",
        "{nodes}",
        "--node-rank",
        "{node.rank}",
        "--dist-init-addr",
        "{node.head}:20000",
    ],
    worker_takes_args: true,
    env: ON_THE_LINK,
    worker_port: None,
}];

const TRTLLM_ACROSS: &[Across] = &[Across {
    word: "mpirun",
    before: &["mpirun", "-n", "{nodes}", "-H", "{node.hosts}", "trtllm-llmapi-launch"],
    head: &[],
    worker: &[],
    worker_takes_args: false,
    env: &[],
    worker_port: None,
}];

const LLAMA_ACROSS: &[Across] = &[Across {
    word: "rpc",
    before: &[],
    head: &["--rpc", "{node.workers}"],
    worker: &["ggml-rpc-server", "--host", "{node.address}", "--port", "{worker_port}"],
    worker_takes_args: false,
    env: &[],
    worker_port: Some(50_052),
}];

/// Every engine, by its word.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "vllm",
        engine: Some(InferenceEngine::Vllm),
        begin: &["vllm", "serve", "{model}", "--host", "{host}", "--port", "{port}"],
        port: 8000,
        needs_gpu: true,
        across: VLLM_ACROSS,
    },
    Preset {
        name: "sglang",
        engine: Some(InferenceEngine::Sglang),
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
        across: SGLANG_ACROSS,
    },
    Preset {
        name: "trtllm-serve",
        engine: Some(InferenceEngine::TrtllmServe),
        begin: &["trtllm-serve", "serve", "{model}", "--host", "{host}", "--port", "{port}"],
        port: 8000,
        needs_gpu: true,
        across: TRTLLM_ACROSS,
    },
    Preset {
        name: "llama-server",
        engine: Some(InferenceEngine::LlamaServer),
        begin: &["llama-server", "-m", "{model.path}", "--host", "{host}", "--port", "{port}"],
        port: 8080,
        needs_gpu: false,
        across: LLAMA_ACROSS,
    },
    Preset { name: "other", engine: None, begin: &[], port: 8000, needs_gpu: false, across: &[] },
];

/// By its word.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
