//! One collector at a time: a lock on the archive's own folder, which leaves nothing behind.
//!
//! In:  the folder.  Out: [`Lock`], released by dropping it or by the death of the process.
//! Not here: the work under the lock.
//!
//! The lock is advisory (`flock`) and belongs to the open folder, so the kernel lets go of it however the process ends. It is not passed
//! on to programs that are started.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::journal::{self, Event};
use super::shown;
use sparkbench_text::error::Error;

/// How often the lock is tried: one who only looks ([`held`]) holds it for a moment too, and so does a program that a collector which was
/// killed was just starting.
const TRIES: u32 = 100;
/// Between tries.
const BETWEEN: Duration = Duration::from_millis(20);

/// The right to write to an archive.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// When another process holds it, named from the journal. When the file system knows no locks.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let failed = |cause| super::disk::trouble("lock", folder, "nothing was changed", cause);
        let file = File::open(folder).map_err(failed)?;
        for attempt in 1.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if attempt < TRIES => std::thread::sleep(BETWEEN),
                Err(TryLockError::WouldBlock) => return Err(taken(folder)),
                Err(TryLockError::Error(cause)) => {
                    return Err(Error::archive(format!("cannot lock '{}'", shown(folder)))
                        .detail("this file system has no locks, so two collectors could mix their runs in one archive")
                        .hint("put the archive on a local disk with --archive, and copy it afterwards")
                        .because(cause));
                }
            }
        }
        Ok(Self(file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the folder lets go of it as well. This is for a copy of it that a program just starting may still have.
        let _ = self.0.unlock();
    }
}

/// Whether a collector holds the archive now. Absent where that cannot be told.
pub fn held(folder: &Path) -> Option<bool> {
    match File::open(folder).ok()?.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

fn taken(folder: &Path) -> Error {
    let last = journal::read(folder).ok().and_then(|journal| {
        journal.entries.iter().rev().find_map(|entry| match &entry.event {
            Some(Event::Opened { pid, tool, .. }) => Some((*pid, tool.clone(), entry.utc)),
            _ => None,
        })
    });
    let error = Error::archive(format!("another collector is writing to '{}'", shown(folder)));
    match last {
        Some((pid, tool, utc)) => {
            let since = utc.map_or_else(String::new, |utc| format!(", since {}", utc.iso()));
            error
                .detail(format!("{tool}, process {pid}{since}"))
                .hint(format!("wait for it, end it with `kill {pid}`, or give another --archive"))
        }
        None => error.hint("wait for it, or give another --archive"),
    }
}
