//! A real inference server for tests: `tests/server/serve.py` or `tests/server/vllm/serve.py`, as long as a test runs.
//!
//! In:  options of the server.  Out: its address, its counters, asked without the program under test.
//! Not here: what is measured.
//!
//! The engines come from the package index (34 MB, 6.2 GB), so a plain `cargo test` neither fetches nor starts one: the tests are passed
//! over and say how to ask for them, also with `SPARKBENCH_REQUIRE_ALL=1`. The variable of an engine asks for it, and then it is required.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::wait;

/// A server that can be started.
pub struct Engine {
    /// Its script below `tests/server`.
    script: &'static str,
    /// Its folder below that of temporary files.
    home: &'static str,
    /// The variable that prepares it.
    variable: &'static str,
    /// Options that every test gives.
    options: &'static [&'static str],
    /// What its counters begin with.
    prefix: &'static str,
    /// One command for all of it, said where tests are passed over.
    command: &'static str,
}

#[allow(dead_code, reason = "each file of tests starts one of them")]
/// llama.cpp's server.
pub const LLAMA: Engine = Engine {
    script: "serve.py",
    home: "server",
    variable: "SPARKBENCH_REAL_SERVER",
    options: &["--metrics"],
    prefix: "llamacpp:",
    command: "SPARKBENCH_REAL_SERVER=1 cargo test --test engines real_server::",
};

#[allow(dead_code, reason = "each file of tests starts one of them")]
/// vLLM's server, built for a processor.
pub const VLLM: Engine = Engine {
    script: "vllm/serve.py",
    home: "vllm",
    variable: "SPARKBENCH_VLLM",
    options: &[],
    prefix: "vllm:",
    command: "SPARKBENCH_VLLM=1 cargo test --test engines vllm_server::",
};

/// A server that ends with this value.
pub struct RealServer {
    process: Child,
    port: u16,
    prefix: &'static str,
}

impl Engine {
    /// Where the engine and its models are kept between test runs. Every run shares it: the script makes it under a lock, and nothing
    /// writes to it afterwards.
    pub fn home(&self) -> PathBuf {
        [env!("CARGO_TARGET_TMPDIR"), self.home].iter().collect()
    }

    /// Whether its variable asks for it. Said where it does not.
    pub fn is_asked_for(&self) -> bool {
        let asked = std::env::var(self.variable).is_ok_and(|value| value == "1");
        if !asked {
            eprintln!("skipped: nobody asked for a real server. {}", self.command);
        }
        asked
    }
}

/// The vocabulary of the model that llama.cpp serves.
pub fn tokenizer() -> String {
    LLAMA.home().join("model/tokenizer.json").display().to_string()
}

impl RealServer {
    /// Starts llama.cpp's, see [`RealServer::of`].
    pub fn start(options: &[&str]) -> Option<Self> {
        Self::of(&LLAMA, options)
    }

    /// Starts one, which is prepared first where it is not. Nothing, and said so, where nobody asked for it.
    pub fn of(engine: &Engine, options: &[&str]) -> Option<Self> {
        if !engine.is_asked_for() {
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server").join(engine.script);
        let mut process = Command::new("python3")
            .arg(script)
            .arg("--home")
            .arg(engine.home())
            .arg("--tied")
            .args(engine.options)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("python3 starts the server");
        // The log is drained for as long as the server lives: a full pipe would stop it.
        let mut log = process.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = log.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(port) = line.trim().strip_prefix("http://127.0.0.1:").and_then(|port| port.parse().ok()) else {
            drop(process.stdin.take());
            let _ = process.wait();
            let log = log.join().unwrap();
            panic!("the server did not start:\n{log}");
        };
        Some(Self { process, port, prefix: engine.prefix })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Body of an answer, asked over a connection of its own.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut link = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        link.set_read_timeout(Some(wait::LIMIT)).unwrap();
        write!(
            link,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut raw = Vec::new();
        link.read_to_end(&mut raw).unwrap();
        let text = String::from_utf8(raw).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{text}");
        body.to_owned()
    }

    /// Its counters and gauges by name, without their prefix. Over all labels together.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let mut found = BTreeMap::new();
        let text = self.ask("GET", "/metrics", "");
        let lines = text.lines().filter_map(|line| line.strip_prefix(self.prefix)?.rsplit_once(' '));
        for (name, value) in lines {
            let name = name.split('{').next().unwrap_or(name).to_owned();
            *found.entry(name).or_insert(0.0) += value.parse::<f64>().unwrap();
        }
        found
    }

    /// Ends it at once, in the middle of whatever it does.
    pub fn kill(&mut self) {
        // By SIGTERM to the script, which kills the server and all its children at once.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
