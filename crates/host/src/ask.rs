//! Short programs: run to their end or to their time limit, with their output.
//!
//! In:  a [`Question`].  Out: an [`Answer`].
//! Not here: programs of a run, which have a guard.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::{Answer, Question};

/// Most that is kept of each stream. The rest is read and dropped, so that the program does not stand still.
pub(super) const KEPT: usize = 16 << 20;

/// How long the streams may stay open after the program has ended: something it started in the background may hold them.
const STREAMS: Duration = Duration::from_secs(5);

/// Starts a program in a process group of its own, so that all of it can be ended.
pub(super) fn start(question: &Question, input: Stdio) -> io::Result<Child> {
    let Some((name, arguments)) = question.argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
    };
    let mut command = Command::new(name);
    command.args(arguments).process_group(0).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(env) = &question.env {
        command.env_clear().envs(env);
    }
    command.spawn()
}

/// Ends a program of [`start`] with everything in its group.
pub(super) fn end_group(child: &Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // Called before the child is waited for, so the number is still its own.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// Runs a program to its end or to its limit.
pub(super) fn ask(question: &Question) -> io::Result<Answer> {
    answer_of(question, STREAMS)
}

/// `streams`: how long the streams may stay open after its end.
fn answer_of(question: &Question, streams: Duration) -> io::Result<Answer> {
    let piped = if question.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = start(question, piped)?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = question.input.clone();
        // Of its own thread: a program may print before it reads. One that does not read is ignored.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let ended = ended(&child);
    let timed_out = ended.recv_timeout(question.limit).is_err();
    // Also after a natural end: leftovers in its group would hold the streams.
    end_group(&child);
    let status = child.wait()?;
    let enough = Instant::now() + streams;
    let taken = |stream: Option<Receiver<Vec<u8>>>| {
        let mut bytes = Vec::new();
        while let Some(Ok(part)) =
            stream.as_ref().map(|stream| stream.recv_timeout(enough.saturating_duration_since(Instant::now())))
        {
            bytes.extend_from_slice(&part);
        }
        bytes
    };
    let code = if timed_out { None } else { status.code() };
    Ok(Answer { code, timed_out, stdout: taken(stdout), stderr: taken(stderr) })
}

/// Tells when a child has ended, and leaves it to be waited for: its number stays its own until then.
fn ended(child: &Child) -> Receiver<()> {
    let (sender, receiver) = channel();
    let pid = child.id();
    std::thread::spawn(move || {
        let Ok(pid) = i32::try_from(pid) else { return };
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while let Err(Errno::EINTR) = waitid(Id::Pid(Pid::from_raw(pid)), flags) {}
        // Nobody listens any more after the limit.
        let _ = sender.send(());
    });
    receiver
}

/// Reads a stream to its end, in parts, the first [`KEPT`] bytes of it.
fn collect(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        let mut kept = 0;
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let part = &buffer[..count.min(KEPT - kept)];
            kept += part.len();
            // Read on without a receiver, because the program must not block. Its group ends with it.
            if !part.is_empty() {
                let _ = sender.send(part.to_vec());
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{self, Process};
    use sparkbench_testing::{LIMIT, until};

    /// Nothing holds the streams open here, however late a thread comes to read them.
    fn ask(question: Question) -> io::Result<Answer> {
        answer_of(&question.within(LIMIT), LIMIT)
    }

    fn shell(script: &str) -> Question {
        Question::new(["/bin/sh", "-c", script])
    }

    #[test]
    fn a_program_answers_on_both_streams_and_by_its_status() {
        let answer = ask(shell("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!((answer.code, answer.text().as_str(), answer.complaint().as_str()), (Some(3), "out\n", "err"));
        assert!(!answer.ok() && !answer.timed_out);
        let missing = ask(Question::new(["/no/such/program"])).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(ask(Question::new(Vec::<String>::new())).is_err());
        assert_eq!(ask(shell("kill -9 $$")).unwrap().code, None);
    }

    #[test]
    fn its_environment_is_the_one_that_was_given() {
        let env = [("ONLY".to_owned(), "this".to_owned())].into();
        let answer = ask(Question { env: Some(env), ..Question::new(["/usr/bin/env"]) }).unwrap();
        assert_eq!(answer.text(), "ONLY=this\n");
    }

    #[test]
    fn more_than_a_pipe_holds_goes_through_and_more_than_we_keep_is_dropped() {
        let answer = ask(shell("head -c 100000000 /dev/zero; echo done >&2")).unwrap();
        assert_eq!((answer.code, answer.stdout.len(), answer.complaint().as_str()), (Some(0), KEPT, "done"));
    }

    #[test]
    fn input_and_output_may_both_be_large() {
        let input = vec![b'x'; 4 << 20];
        let echoed = ask(Question { input: input.clone(), ..Question::new(["/bin/cat"]) }).unwrap();
        assert_eq!(echoed.stdout, input);
        let deaf = ask(Question { input, ..Question::new(["/bin/true"]) }).unwrap();
        assert!(deaf.ok());
    }

    #[test]
    fn a_program_without_end_is_ended_with_its_children() {
        let mark = format!("{}", 300_000 + std::process::id());
        let endless = shell(&format!("trap '' TERM; sleep {mark} & sleep {mark}")).within(Duration::from_millis(300));
        let answer = answer_of(&endless, LIMIT).unwrap();
        assert!(answer.timed_out && answer.code.is_none());
        assert_eq!(answer.complaint(), "no answer within the time limit");
        let sleeps = || {
            process::all().unwrap().into_iter().any(|process| {
                process.lives() && process::arguments(process.pid).is_some_and(|words| words.contains(&mark))
            })
        };
        until("its children end", || !sleeps());
    }

    #[test]
    fn a_child_in_the_background_does_not_hold_the_answer() {
        // It has left the group before the program goes on. The program ends only when most of what it printed has been read.
        let script = "exec 3>&1; { setsid sh -c 'echo $$ >&3; echo; exec sleep 3600 >&3' & } | read line; \
                      head -c 1000000 /dev/zero";
        let answer = super::ask(&shell(script).within(LIMIT)).unwrap();
        let background = answer.text().lines().next().unwrap().parse::<i32>().unwrap();
        let process = Process::read(background.unsigned_abs());
        assert!(process.is_some_and(|process| process.lives()), "it still holds the stream, and there is an answer");
        nix::sys::signal::kill(Pid::from_raw(background), Signal::SIGKILL).unwrap();
        assert!(answer.ok());
    }
}
