//! Programs that print lines until they are stopped.
//!
//! In:  a [`Question`].  Out: [`Lines`]. Dropping it ends the program.
//! Not here: what the lines say.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Lines, Question, ask, process};

/// Lines that may wait to be taken. Then the program has to: it is not wanted as urgently as it speaks.
const WAITING: usize = 4096;

/// A longer line is cut.
const LINE: u64 = 1 << 20;

/// Longest wait for what a program that has ended wrote to standard error. It is there already. The thread that reads it may wait for a
/// processor, and only a child that left its group could hold the stream for longer.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Last lines of standard error that are kept, for the cause of its end.
const COMPLAINTS: usize = 5;

/// A program that is being followed.
#[derive(Debug)]
pub(super) struct Following {
    child: Child,
    name: String,
    lines: Receiver<String>,
    complaints: Arc<Mutex<VecDeque<String>>>,
    complaining: Option<JoinHandle<()>>,
}

/// Starts a program and hears it.
pub(super) fn follow(question: &Question) -> io::Result<Box<dyn Lines>> {
    let mut child = ask::start(question, Stdio::null())?;
    let (sender, lines) = sync_channel(WAITING);
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || each_line(stdout, |line| sender.send(line).is_ok()));
    }
    let complaints = Arc::new(Mutex::new(VecDeque::new()));
    let complaining = child.stderr.take().map(|stderr| {
        let kept = Arc::clone(&complaints);
        std::thread::spawn(move || {
            each_line(stderr, |line| {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(line);
                if kept.len() > COMPLAINTS {
                    kept.pop_front();
                }
                true
            });
        })
    });
    let name = question.argv.first().cloned().unwrap_or_default();
    Ok(Box::new(Following { child, name, lines, complaints, complaining }))
}

/// Passes each line on until the receiver has gone.
fn each_line(stream: impl io::Read, mut take: impl FnMut(String) -> bool) {
    let mut stream = BufReader::new(stream);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match (&mut stream).take(LINE).read_until(b'\n', &mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        let line = String::from_utf8_lossy(&bytes);
        if !take(line.trim_end_matches(['\n', '\r']).to_owned()) {
            return;
        }
    }
}

impl Lines for Following {
    fn next_line(&mut self, limit: Duration) -> io::Result<Option<String>> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                ask::end_group(&self.child);
                let status = self.child.wait().map_or_else(|cause| cause.to_string(), |status| status.to_string());
                // Its last words come by another pipe, which something that left its group may hold open.
                let enough = Instant::now() + LAST_WORDS;
                while self.complaining.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < enough {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
                let last = complaints.iter().rev().find(|line| !line.trim().is_empty());
                let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("'{}' ended: {status}{last}", self.name)))
            }
        }
    }

    fn cpu(&self) -> Option<Duration> {
        process::cpu(self.child.id())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // Nothing when it has been waited for already: the number may be another's by now.
        if matches!(self.child.try_wait(), Ok(None)) {
            ask::end_group(&self.child);
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_testing::{LIMIT, until};

    #[test]
    fn lines_come_as_they_are_printed_and_the_end_has_a_cause() {
        let script = "echo one; printf 'two\\r\\nthree'; echo broken >&2; exit 7";
        let mut follow = follow(&Question::new(["/bin/sh", "-c", script])).unwrap();
        let mut lines = Vec::new();
        let end = loop {
            match follow.next_line(LIMIT) {
                Ok(line) => lines.extend(line),
                Err(end) => break end,
            }
        };
        assert_eq!(lines, ["one", "two", "three"]);
        assert_eq!(end.to_string(), "'/bin/sh' ended: exit status: 7: broken");
        assert!(follow.next_line(Duration::ZERO).is_err(), "asked again it says the same");
    }

    #[test]
    fn silence_is_no_end_and_a_drop_ends_the_program() {
        let mut follow = follow(&Question::new(["/bin/sh", "-c", "sleep 1000 & echo $!; wait"])).unwrap();
        let sleeper: u32 = follow.next_line(LIMIT).unwrap().unwrap().parse().unwrap();
        assert_eq!(follow.next_line(Duration::from_millis(20)).unwrap(), None);
        assert!(follow.cpu().is_some());
        drop(follow);
        let lives = || process::Process::read(sleeper).is_some_and(|process| process.lives());
        until("its child is ended too", || !lives());
    }

    #[test]
    fn a_program_that_never_stops_talking_waits_for_us() {
        let mut follow = follow(&Question::new(["/usr/bin/yes"])).unwrap();
        for _ in 0..3 * WAITING {
            assert_eq!(follow.next_line(LIMIT).unwrap().as_deref(), Some("y"));
        }
    }
}
