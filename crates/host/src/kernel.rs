//! The kernel's log from now on.
//!
//! In:  `/dev/kmsg`, or a program that reads the log where we may not.  Out: [`Lines`] of plain text.
//! Not here: what a message means.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Lines, Question, ask, follow};

/// One record never exceeds this. A smaller buffer would be refused.
///
/// Source: Linux kernel, `include/linux/printk.h`, `PRINTK_MESSAGE_MAX` and the record's header.
const RECORD: usize = 8192;

/// The journal, for members of the group that may read it without being root. It ends by itself when nothing reads it any more.
const JOURNAL: [&str; 5] = ["journalctl", "--dmesg", "--output=cat", "--quiet", "--no-pager"];

/// Opens the log at its end.
pub(super) fn log() -> io::Result<Box<dyn Lines>> {
    let refused = match Kmsg::open() {
        Ok(log) => return Ok(Box::new(log)),
        Err(cause) => cause,
    };
    // Who may not see the kernel's messages is shown an empty journal, not an error. Silence must not pass for good news. A kernel
    // that has started has said something.
    let seen = ask::ask(&Question::new(JOURNAL.into_iter().chain(["--lines=1"])));
    if seen.is_ok_and(|answer| answer.ok() && !answer.stdout.is_empty()) {
        return follow::follow(&Question::new(JOURNAL.into_iter().chain(["--follow", "--lines=0"])));
    }
    Err(refused)
}

/// The kernel's own file.
#[derive(Debug)]
struct Kmsg {
    file: File,
}

impl Kmsg {
    fn open() -> io::Result<Self> {
        let mut file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open("/dev/kmsg")?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file })
    }
}

impl Lines for Kmsg {
    fn next_line(&mut self, limit: Duration) -> io::Result<Option<String>> {
        let deadline = Instant::now() + limit;
        let mut record = [0; RECORD];
        loop {
            match self.file.read(&mut record) {
                Ok(count) => {
                    if let Some(text) = text(&String::from_utf8_lossy(&record[..count])) {
                        return Ok(Some(text));
                    }
                    continue;
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                // Records were overwritten before we came: the next one is read instead.
                Err(cause) if cause.raw_os_error() == Some(Errno::EPIPE as i32) => continue,
                Err(cause) => return Err(cause),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let timeout = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
            // Interrupted or not, the loop looks again.
            let _ = poll(&mut [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)], PollTimeout::from(timeout));
        }
    }

    fn cpu(&self) -> Option<Duration> {
        None
    }
}

/// Text of a record of the kernel itself. Nothing for one that a program has written.
///
/// Source: Linux kernel documentation, `ABI/testing/dev-kmsg`: `prio,sequence,microseconds,flags;text`, then lines of a dictionary
/// that begin with a blank. The facility is in the upper bits of `prio`. 0 is the kernel.
fn text(record: &str) -> Option<String> {
    let (head, rest) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    (priority >> 3 == 0).then(|| plain(rest.lines().next().unwrap_or_default()))
}

/// Undoes `\x0a` and its like.
fn plain(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = rest.strip_prefix(b"\\x").and_then(|digits| digits.get(..2));
        match hex.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_kernel_is_its_text() {
        let xid = "3,1204,98765432,-;NVRM: Xid (PCI:000f:01:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n DEVICE=+pci:x\n";
        assert_eq!(text(xid).unwrap(), "NVRM: Xid (PCI:000f:01:00): 79, GPU has fallen off the bus.");
        assert_eq!(text("6,1,2,-;tab\\x09and\\x5cslash\\x").unwrap(), "tab\tand\\slash\\x");
        assert_eq!(text("4,1,2,c,more=fields;"), Some(String::new()));
    }

    #[test]
    fn what_a_program_wrote_and_what_is_broken_is_passed_over() {
        for record in ["12,7,8,-;systemd[1]: hello", "", "no head", ";text", "x,1,2,-;text"] {
            assert_eq!(text(record), None, "{record}");
        }
    }
}
