//! Answers kept while a load runs and counted after it, where a tokenizer is available.
//!
//! In:  records and texts, on the engine's thread.  Out: a sentence for the summary: how far the server's counts and ours differ.
//! Not here: counting (see `tokens`), the requests (see `schedule`).
//!
//! Nothing is counted while the load runs: a tokenizer would compete with the server. A thread puts the texts into an unnamed file in the
//! folder of the load, and reads them back at the end.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::order::{Next, Phase, Record, Source};
use crate::schedule::Scheduler;
use crate::tokens::{AuditRow, Counter, audit};
use sparkbench_host::net::Ns;
use sparkbench_text::error::{Error, Kind};

/// A schedule whose answers are kept.
pub(super) struct AnswerRecorder {
    scheduler: Box<Scheduler>,
    sender: Option<Sender<(AuditRow, bool, Vec<u8>)>>,
    thread: Option<JoinHandle<io::Result<Texts>>>,
}

/// Rows in order, and the file that has their texts one after the other.
struct Texts {
    file: File,
    /// Whether the end token is among the server's count: it is where the model stopped by itself, and it is never sent as text.
    rows: Vec<(AuditRow, bool, u32)>,
}

impl AnswerRecorder {
    /// Keeps answers where `keep` says so.
    ///
    /// # Errors
    /// When the file cannot be made or no thread be had.
    pub(super) fn new(scheduler: Box<Scheduler>, keep: bool, folder: &Path) -> Result<Self, Error> {
        if !keep {
            return Ok(Self { scheduler, sender: None, thread: None });
        }
        let path = folder.join(".answers.part");
        let made = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = made.and_then(|file| std::fs::remove_file(&path).map(|()| file));
        let failed = |cause| Error::archive(format!("cannot create '{}'", path.display())).because(cause);
        let file = file.map_err(failed)?;
        let (sender, receiver) = channel();
        let thread =
            std::thread::Builder::new().name("answers".to_owned()).spawn(move || write(file, &receiver)).map_err(
                |cause| Error::new(Kind::Preflight, "cannot start a thread that keeps the answers").because(cause),
            )?;
        Ok(Self { scheduler, sender: Some(sender), thread: Some(thread) })
    }

    /// The schedule behind it.
    pub(super) fn scheduler(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// Counts what was kept, and says how it compares. Nothing where nothing was kept.
    ///
    /// # Errors
    /// When the texts cannot be read back, or the counter fails.
    pub(super) fn recount(&mut self, counter: &dyn Counter) -> Result<Option<String>, Error> {
        drop(self.sender.take());
        let Some(thread) = self.thread.take() else { return Ok(None) };
        let failed = |cause: io::Error| Error::archive("the answers that were kept cannot be read back").because(cause);
        let broke = || Error::new(Kind::Workload, "the thread that keeps the answers stopped unexpectedly");
        let mut texts = thread.join().map_err(|_| broke())?.map_err(failed)?;
        texts.file.rewind().map_err(failed)?;
        let mut reader = BufReader::new(&texts.file);
        let mut rows = Vec::with_capacity(texts.rows.len());
        for (mut row, ended, bytes) in texts.rows {
            let mut text = vec![0; bytes as usize];
            reader.read_exact(&mut text).map_err(failed)?;
            let counted = counter.count(&String::from_utf8_lossy(&text))?;
            row.osl_counted = counted.map(|counted| counted + u32::from(ended));
            rows.push(row);
        }
        let found = audit(rows);
        Ok(found.outputs_off.map(|off| {
            format!(
                "check by the given tokenizer: of {} answers {:.1} % differ by more than 1 % from the server's count{}",
                found.outputs,
                off * 100.0,
                found.template.map_or_else(String::new, |tokens| format!(
                    ", the server counts {tokens:.0} tokens more in a prompt than were sent as text"
                ))
            )
        }))
    }
}

fn write(file: File, answers: &Receiver<(AuditRow, bool, Vec<u8>)>) -> io::Result<Texts> {
    let mut writer = BufWriter::new(&file);
    let mut rows = Vec::new();
    for (row, ended, text) in answers {
        writer.write_all(&text)?;
        rows.push((row, ended, u32::try_from(text.len()).unwrap_or(u32::MAX)));
    }
    writer.flush()?;
    drop(writer);
    Ok(Texts { file, rows })
}

impl Source for AnswerRecorder {
    fn next(&mut self, now: Ns, in_flight: usize) -> Next {
        self.scheduler.next(now, in_flight)
    }

    fn ended(&mut self, now: Ns, record: &Record, mut text: Option<Vec<u8>>) {
        // Reasoning is counted by the server and not kept.
        let whole = record.phase == Phase::Measured && record.status.answered() && record.first_reasoning.is_none();
        if let (Some(sender), Some(text), true) = (&self.sender, text.take(), whole) {
            let row = AuditRow {
                isl_asked: record.asked.isl,
                isl_sent: record.asked.isl_sent,
                isl_reported: record.usage.input,
                osl_asked: record.asked.osl,
                osl_counted: None,
                osl_reported: record.usage.output,
            };
            // It fails only when the thread is gone, and then the end says why.
            let _ = sender.send((row, record.finish.as_deref() == Some("stop"), text));
        }
        self.scheduler.ended(now, record, text);
    }
}
