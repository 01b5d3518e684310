//! A program that is talked to line by line: most often `ssh` to another machine.
//!
//! In:  a command line.  Out: [`Remote`]: lines out, lines in with the moment at which they came.
//! Not here: the messages.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::net::{Ns, now};

/// Longest line that is kept, and most of what it complains, bytes.
const LINE: u64 = 4 << 20;
const COMPLAINT: u64 = 64 << 10;

/// Longest wait for the complaint of a program that has ended. The thread that reads it may wait for a processor.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// See the module. Dropping it ends the program.
#[derive(Debug)]
pub struct Remote {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<(String, Ns)>,
    complaint: Receiver<String>,
}

impl Remote {
    /// Starts it in a process group of its own: Ctrl-C is for us to pass on.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn start(argv: &[String]) -> io::Result<Self> {
        Self::start_with(argv, &[])
    }

    /// Like [`Remote::start`], with variables beside those of this process.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn start_with(argv: &[String], variables: &[(&str, &str)]) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is no program"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (line, lines) = channel();
        let output = child.stdout.take();
        std::thread::spawn(move || {
            let Some(output) = output else { return };
            let mut output = BufReader::new(output);
            loop {
                let mut text = Vec::new();
                match output.by_ref().take(LINE).read_until(b'\n', &mut text) {
                    Ok(1..) => {
                        let text = String::from_utf8_lossy(&text).trim_end().to_owned();
                        if line.send((text, now())).is_err() {
                            return;
                        }
                    }
                    _ => return,
                }
            }
        });
        let (complain, complaint) = channel();
        let errors = child.stderr.take();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(errors) = errors {
                let _ = errors.take(COMPLAINT).read_to_end(&mut text);
            }
            let _ = complain.send(String::from_utf8_lossy(&text).into_owned());
        });
        let input = child.stdin.take();
        Ok(Self { child, input, lines, complaint })
    }

    /// Says a line.
    ///
    /// # Errors
    /// When the program is gone.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "it has ended");
        let input = self.input.as_mut().ok_or_else(gone)?;
        input.write_all(line.as_bytes())?;
        input.write_all(b"\n")?;
        input.flush()
    }

    /// The next line, and when it came.
    ///
    /// # Errors
    /// With the last words of the program where it ended, and when nothing came within `limit`.
    pub fn hear(&mut self, limit: Duration) -> io::Result<(String, Ns)> {
        match self.lines.recv_timeout(limit) {
            Ok(heard) => Ok(heard),
            Err(RecvTimeoutError::Timeout) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within the time limit"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let said = self.complaint.recv_timeout(LAST_WORDS).unwrap_or_default();
                Err(io::Error::new(io::ErrorKind::BrokenPipe, last_words(&said)))
            }
        }
    }
}

/// Last message of a program. For our own programs the error without its hint.
fn last_words(said: &str) -> String {
    let ours = said.lines().find_map(|line| line.strip_prefix("error: "));
    let last = || said.lines().rev().find(|line| !line.trim().is_empty());
    ours.or_else(last).unwrap_or("it ended without a word").trim().to_owned()
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The end of its input is how it is asked to end.
        drop(self.input.take());
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;
    use sparkbench_testing::LIMIT;

    fn shell(script: &str) -> Remote {
        Remote::start(&["sh".to_owned(), "-c".to_owned(), script.to_owned()]).unwrap()
    }

    #[test]
    fn lines_go_both_ways() {
        let mut cat = shell("while read line; do echo \"heard $line\"; done");
        for word in ["one", "two"] {
            let before = now();
            cat.say(word).unwrap();
            let (line, at) = cat.hear(LIMIT).unwrap();
            assert_eq!(line, format!("heard {word}"));
            assert!(at >= before && at <= now());
        }
    }

    #[test]
    fn one_that_ends_leaves_its_last_words_and_one_that_is_silent_is_not_waited_for() {
        let mut ended = shell("echo 'Permission denied (publickey).' >&2; exit 255");
        let why = ended.hear(LIMIT).unwrap_err();
        assert_eq!(why.to_string(), "Permission denied (publickey).");
        assert_eq!(last_words("warning: a\nerror: b is gone\n  try: c\n"), "b is gone");
        assert_eq!(last_words("\n"), "it ended without a word");
        let mut silent = shell("exec sleep 3600");
        assert_eq!(silent.hear(Duration::from_millis(50)).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let pid = silent.child.id();
        let ours = || Process::read(pid).is_some_and(|process| process.parent == std::process::id());
        assert!(ours());
        drop(silent);
        assert!(!ours(), "dropping it ends it");
    }
}
