//! The server's metrics before, during and after a load, raw.
//!
//! In:  a [`Web`], a folder, a pace.  Out: `before.txt`, `during.txt` and `after.txt` in it, and the first and last snapshot.
//! Not here: what the counters mean (see `counters`).
//!
//! The snapshots go to disk unchanged. `during.txt` holds one after the other, each below a line `# sparkbench <seconds>` with the monotonic
//! clock at the moment the answer arrived. A server that is slow to answer loses snapshots and no more. The thread waits for one answer at a
//! time, so requests never pile up on a loaded server.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::LIMIT;
use super::counters::{Difference, InferenceEngine};
use super::prometheus::{self, Snapshot};
use sparkbench_host::net::now;
use sparkbench_host::web::Web;
use sparkbench_text::error::Error;

/// Between two snapshots. A snapshot costs a server a few milliseconds of one core. Engines renew their gauges every few seconds.
pub(crate) const EVERY: Duration = Duration::from_secs(5);

/// Longest `during.txt`, bytes: an hour of the largest snapshots. Later snapshots are not written, and that is reported.
pub(crate) const DURING_MAX: u64 = 256 << 20;

/// Beginning of the line above each snapshot.
pub(crate) const MARK: &str = "# sparkbench ";

/// Its outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scraped {
    /// The route that was read. Absent where none gives metrics.
    pub path: Option<String>,
    /// Just before the load.
    pub before: Option<Snapshot>,
    /// Just after it.
    pub after: Option<Snapshot>,
    /// Snapshots in between.
    pub during: u32,
    /// Missing parts, and why.
    pub notes: Vec<String>,
}

impl Scraped {
    /// Growth of the counters during the load.
    pub fn difference(&self) -> Option<Difference> {
        Some(Difference::between(self.before.as_ref()?, self.after.as_ref()?))
    }
}

/// The thread: it ends when the sender is dropped, and gives the number of its snapshots and what went wrong.
type Running = (mpsc::Sender<()>, JoinHandle<(u32, Vec<String>)>);

/// A thread that reads metrics until it is stopped.
#[derive(Debug)]
pub struct Scraper {
    web: Web,
    folder: PathBuf,
    scraped: Scraped,
    running: Option<Running>,
}

impl Scraper {
    /// Reads the metrics once and begins to read them every so often. A server without metrics is no error. [`Scraped::notes`] says it.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn start(web: &Web, engine: Option<InferenceEngine>, folder: &Path, every: Duration) -> Result<Self, Error> {
        let mut scraper =
            Self { web: web.clone(), folder: folder.to_owned(), scraped: Scraped::default(), running: None };
        let mut why = Vec::new();
        for path in InferenceEngine::metrics_paths(engine) {
            match ask(web, path) {
                Ok((raw, snapshot)) => {
                    let failed = |cause: io::Error| unwritable(folder, cause);
                    fs::create_dir_all(folder).map_err(failed)?;
                    fs::write(folder.join("before.txt"), raw).map_err(failed)?;
                    scraper.scraped.path = Some((*path).to_owned());
                    scraper.scraped.before = Some(snapshot);
                    break;
                }
                Err(words) => why.push(words),
            }
        }
        let Some(path) = scraper.scraped.path.clone() else {
            scraper.scraped.notes = why;
            return Ok(scraper);
        };
        let file = File::create(folder.join("during.txt")).map_err(|cause| unwritable(folder, cause))?;
        let (stop, stopped) = mpsc::channel();
        let asked = web.clone();
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || follow(&asked, &path, file, every, &stopped))
            .map_err(|cause| unwritable(folder, cause))?;
        scraper.running = Some((stop, thread));
        Ok(scraper)
    }

    /// Ends the thread and reads the metrics once more.
    ///
    /// # Errors
    /// When the last file cannot be written.
    pub fn stop(mut self) -> Result<Scraped, Error> {
        let mut scraped = std::mem::take(&mut self.scraped);
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            match thread.join() {
                Ok((count, notes)) => {
                    scraped.during = count;
                    scraped.notes.extend(notes);
                }
                Err(_) => scraped.notes.push("the thread that reads metrics stopped unexpectedly".to_owned()),
            }
        }
        if let Some(path) = &scraped.path {
            match ask(&self.web, path) {
                Ok((raw, snapshot)) => {
                    fs::write(self.folder.join("after.txt"), raw).map_err(|cause| unwritable(&self.folder, cause))?;
                    scraped.after = Some(snapshot);
                }
                Err(words) => scraped.notes.push(format!("after the load: {words}")),
            }
        }
        Ok(scraped)
    }
}

fn unwritable(folder: &Path, cause: io::Error) -> Error {
    Error::archive(format!("cannot write the metrics to '{}'", folder.display())).because(cause)
}

/// One snapshot, raw and read. Or why there is none.
fn ask(web: &Web, path: &str) -> Result<(Vec<u8>, Snapshot), String> {
    let answer = web.get(path, LIMIT).map_err(|error| error.what)?;
    if !answer.ok() {
        return Err(format!("{path} answers with {}", answer.gist()));
    }
    let snapshot = prometheus::parse(&answer.text());
    if snapshot.samples.is_empty() {
        return Err(format!("{path} holds no metrics in Prometheus' text format"));
    }
    Ok((answer.body, snapshot))
}

/// Until the other end of the channel is dropped.
fn follow(web: &Web, path: &str, mut file: File, every: Duration, stopped: &mpsc::Receiver<()>) -> (u32, Vec<String>) {
    let (mut count, mut missed, mut written) = (0, 0_u32, 0_u64);
    let mut notes = Vec::new();
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let Ok((raw, _)) = ask(web, path) else {
            missed += 1;
            continue;
        };
        let mark = format!("{MARK}{:.6}\n", now() as f64 / 1e9);
        written += (mark.len() + raw.len() + 1) as u64;
        if written > DURING_MAX {
            notes.push(format!("during.txt is full after {count} snapshots ({} MiB)", DURING_MAX >> 20));
            break;
        }
        let end: &[u8] = if raw.last() == Some(&b'\n') { b"" } else { b"\n" };
        let put =
            file.write_all(mark.as_bytes()).and_then(|()| file.write_all(&raw)).and_then(|()| file.write_all(end));
        if let Err(cause) = put {
            notes.push(format!("during.txt cannot be written: {cause}"));
            break;
        }
        count += 1;
    }
    if missed > 0 {
        notes.push(format!("{missed} snapshots were not answered"));
    }
    (count, notes)
}
