//! A real inference server for tests: `tests/server/serve.py`, as long as a test runs.
//!
//! In:  options of the server.  Out: its address, its counters, asked without the program under test.
//! Not here: what is measured.
//!
//! Its engine comes from the package index (34 MB), so a plain `cargo test` does not fetch it unasked: where nothing was prepared the
//! tests are passed over, and say how to prepare. `SPARKBENCH_REAL_SERVER=1` prepares, and so does `SPARKBENCH_REQUIRE_ALL=1`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// One command for all of it, said where tests are passed over.
pub const ONE_COMMAND: &str = "SPARKBENCH_REAL_SERVER=1 cargo test --test real_server";

/// A request beside the load takes no longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that ends with this value.
pub struct RealServer {
    process: Child,
    port: u16,
}

/// Where the engine and the model are kept between test runs.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("server")
}

/// The vocabulary of the model that is served.
pub fn tokenizer() -> String {
    home().join("model/tokenizer.json").display().to_string()
}

fn asked(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

impl RealServer {
    /// Starts one. Nothing where none is prepared, which is said, and is a failure where everything is required.
    pub fn start(options: &[&str]) -> Option<Self> {
        let required = asked("SPARKBENCH_REQUIRE_ALL");
        let prepare = required || asked("SPARKBENCH_REAL_SERVER");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/serve.py");
        let child = Command::new("python3")
            .arg(script)
            .arg("--home")
            .arg(home())
            .args(["--tied", "--metrics"])
            .args((!prepare).then_some("--prepared"))
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = match child {
            Ok(process) => process,
            Err(fault) => {
                assert!(!prepare, "python3 is required here: {fault}");
                eprintln!("skipped: there is no python3 to start a server with");
                return None;
            }
        };
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
            assert!(!prepare, "the server did not start:\n{log}");
            assert!(log.contains("nothing is prepared"), "the server did not start:\n{log}");
            eprintln!("skipped: no real server is prepared; {ONE_COMMAND}");
            return None;
        };
        Some(Self { process, port })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Body of an answer, asked over a connection of its own.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut link = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        link.set_read_timeout(Some(PATIENCE)).unwrap();
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

    /// Its counters and gauges by name, without their `llamacpp:`.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        self.ask("GET", "/metrics", "")
            .lines()
            .filter_map(|line| line.strip_prefix("llamacpp:")?.split_once(' '))
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect()
    }

    /// Ends it at once, in the middle of whatever it does.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
