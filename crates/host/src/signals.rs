//! Signals that this process was started to ignore, and how a program gets them back.
//!
//! In:  the state of this process.  Out: numbers of signals, and default dispositions restored.
//! Not here: what a signal ends when it arrives (see `machine` and `guard`).
//!
//! `sh` ignores SIGINT and SIGQUIT for a command before `&`. `nohup` ignores SIGHUP, and Python ignores SIGPIPE and SIGXFSZ. A program
//! inherits that, and then no file limit and no Ctrl-C ends it. Source: signal(7), "Signal mask and pending signals": an ignored signal
//! stays ignored over execve(2), a handled one is reset.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::{SigHandler, Signal, raise, signal};

use super::files;

/// Highest number of a signal on Linux.
const LAST: i32 = 64;

/// Signals that this process ignores, by number. None where the kernel does not tell.
pub fn ignored() -> Vec<i32> {
    let status = files::read(Path::new("/proc/self/status")).unwrap_or_default();
    let mask = mask(&status);
    (1..=LAST).filter(|number| mask & (1 << (number - 1)) != 0).collect()
}

/// Gives ignored signals back their default, in this process and in what takes its place. `but`: signals that stay as they are. The runtime
/// of Rust ignores SIGPIPE in each of its programs, and one that goes on writing to pipes must keep that.
pub fn restore(but: &[i32]) {
    for number in ignored().into_iter().filter(|number| !but.contains(number)) {
        match Signal::try_from(number) {
            // SAFETY: the default disposition runs no code of ours. A refusal leaves the signal as it was.
            Ok(name) => {
                let _ = unsafe { signal(name, SigHandler::SigDfl) };
            }
            // A real-time signal has no name. A handler is put there, which the kernel takes away when the program takes our place.
            Err(_) => {
                let _ = signal_hook::flag::register(number, Arc::new(AtomicBool::new(false)));
            }
        }
    }
}

/// Acts as if SIGTERM had arrived, so that every wait of this process ends.
pub fn interrupt_us() {
    let _ = raise(Signal::SIGTERM);
}

/// Source: proc(5), `SigIgn` in `/proc/pid/status`, a bit for each signal in hexadecimal.
fn mask(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read_from_its_line_alone() {
        assert_eq!(mask("SigBlk:\tffff\nSigIgn:\t0000000001001006\nSigCgt:\t1\n"), 0x0100_1006);
        assert_eq!(mask("Name:\tx\n"), 0);
    }
}
