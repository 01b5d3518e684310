//! The limit of descriptors, and the precision of our timers.
//!
//! In:  a wish.  Out: what there is.
//! Not here: what to do when it is too little.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises our own limit of open descriptors to at least `wanted`, as far as the hard limit (or, for root, the kernel's) goes. Returns what
/// it is now.
///
/// # Errors
/// When the limit cannot be read.
pub fn descriptors(wanted: u64) -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= wanted {
        return Ok(soft);
    }
    // Root may raise the hard limit too. Anyone else gets as far as it.
    for (new_soft, new_hard) in [(wanted, hard.max(wanted)), (hard.min(wanted), hard)] {
        if setrlimit(Resource::RLIMIT_NOFILE, new_soft, new_hard).is_ok() {
            return Ok(new_soft);
        }
    }
    Ok(soft)
}

/// Asks the kernel not to gather our wake-ups: by default it may add 50 microseconds to each. Of the calling thread.
pub fn exact_timers() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
