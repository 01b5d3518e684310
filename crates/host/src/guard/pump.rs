//! Inputs of the guard in one place: the life line to the collector, signals, and a running stage.
//!
//! In:  standard input, a socket that signals write to.  Out: orders, ended children.
//! Not here: what follows from them.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::messages::{News, Order};
use super::serve::say;

/// Whether children are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaped {
    /// At least one lives.
    Some,
    /// None: the tree is empty.
    None,
}

/// Lines out of a stream that is read as it comes.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    over: bool,
}

impl Lines {
    /// Takes what is there. Call it only when a poll said so.
    fn fill(&mut self, source: BorrowedFd<'_>) -> io::Result<()> {
        let mut buffer = [0; 65536];
        match nix::unistd::read(source, &mut buffer) {
            Ok(0) => self.over = true,
            Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            // The other end of a socket went away with bytes of ours unread: an end like any other.
            Err(Errno::ECONNRESET) => self.over = true,
            Err(cause) => {
                self.over = true;
                return Err(cause.into());
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }
}

/// The guard's ears.
#[derive(Debug)]
pub(super) struct Pump {
    input: OwnedFd,
    lines: Lines,
    orders: VecDeque<Order>,
    signals: UnixStream,
    stage: Lines,
    /// Status of children with a waiter.
    pub known: BTreeMap<u32, Option<WaitStatus>>,
}

impl Pump {
    /// Listens to standard input and to a socket that every signal of interest writes to.
    pub(super) fn new(signals: UnixStream) -> io::Result<Self> {
        signals.set_nonblocking(true)?;
        // Past the buffer of the standard library: what lies in there would be hidden from poll.
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let (lines, stage) = (Lines::default(), Lines::default());
        Ok(Self { input, lines, orders: VecDeque::new(), signals, stage, known: BTreeMap::new() })
    }

    /// The first line, however long it takes. Nothing when the stream ends before it.
    pub(super) fn first_line(&mut self) -> io::Result<Option<String>> {
        while !self.lines.over {
            self.lines.fill(self.input.as_fd())?;
            if let Some(line) = self.lines.next() {
                self.hear();
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn hear(&mut self) {
        while let Some(line) = self.lines.next() {
            match Order::parse(&line) {
                // Answered here, whatever the guard is at: it shows that the guard is at something.
                Some(Order::Ask) => say(&News::Heard),
                order => self.orders.extend(order),
            }
        }
    }

    /// The next order that has come.
    pub(super) fn order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The collector is gone, and everything it said has been taken.
    pub(super) fn over(&self) -> bool {
        self.lines.over && self.orders.is_empty()
    }

    /// Waits until something comes, a signal (which a child's end is too) or an order, or until a moment.
    pub(super) fn wait(&mut self, until: Option<Instant>) {
        // An order that is here already, or the end of the collector, is reported by every call until someone acts on it. A wait with a
        // limit is one of someone who is acting.
        if until.is_none() && (!self.orders.is_empty() || self.lines.over) {
            self.drain();
            return;
        }
        self.poll(until, None);
    }

    /// The next line of a stage. Nothing at its end. Ends early, with an error, when the collector or a signal wants the end.
    pub(super) fn stage_line(&mut self, socket: &UnixStream, asked: &AtomicBool) -> io::Result<Option<String>> {
        loop {
            if let Some(line) = self.stage.next() {
                return Ok(Some(line));
            }
            if self.stage.over {
                return Ok(None);
            }
            if self.lines.over || !self.orders.is_empty() || asked.load(Ordering::Relaxed) {
                return Err(io::Error::other("it was told to end before it had started"));
            }
            if self.poll(None, Some(socket.as_fd())) {
                self.stage.fill(socket.as_fd())?;
            }
        }
    }

    /// Whether the extra source has something.
    fn poll(&mut self, until: Option<Instant>, extra: Option<BorrowedFd<'_>>) -> bool {
        let timeout = match until.map(|until| until.saturating_duration_since(Instant::now())) {
            None => PollTimeout::NONE,
            // Rounded up: a wait that ends a little early would only be taken up again.
            Some(left) => u16::try_from(left.as_millis() + 1).map_or(PollTimeout::from(u16::MAX), PollTimeout::from),
        };
        let (input, extra_ready) = {
            let input = PollFd::new(self.input.as_fd(), PollFlags::POLLIN);
            let mut sources = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            // A stream that has ended is ready for ever.
            let input_at = (!self.lines.over).then(|| {
                sources.push(input);
                sources.len() - 1
            });
            let extra_at = extra.map(|extra| {
                sources.push(PollFd::new(extra, PollFlags::POLLIN));
                sources.len() - 1
            });
            // An interrupted poll has found nothing: the callers come back.
            let found = poll(&mut sources, timeout).unwrap_or(0) > 0;
            let ready = |at: Option<usize>| found && at.and_then(|at| sources[at].any()).unwrap_or(false);
            (ready(input_at), ready(extra_at))
        };
        self.drain();
        if input {
            // An error here is an end, as the flag says.
            let _ = self.lines.fill(self.input.as_fd());
            self.hear();
        }
        extra_ready
    }

    /// Empties the socket of the signals, before their causes are examined.
    fn drain(&mut self) {
        let mut buffer = [0; 1024];
        while matches!(self.signals.read(&mut buffer), Ok(count) if count > 0) {}
    }

    /// Waits for every child that has ended, and says whether any is left.
    pub(super) fn reap(&mut self) -> (Reaped, Vec<(u32, WaitStatus)>) {
        let mut ended = Vec::new();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return (Reaped::Some, ended),
                Ok(status) => {
                    let Some(pid) = status.pid().and_then(|pid| u32::try_from(pid.as_raw()).ok()) else { continue };
                    match self.known.get_mut(&pid) {
                        Some(known) => *known = Some(status),
                        None => ended.push((pid, status)),
                    }
                }
                Err(Errno::EINTR) => {}
                // ECHILD: no child left. This call returns no other error.
                Err(_) => return (Reaped::None, ended),
            }
        }
    }
}
