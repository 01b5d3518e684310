//! Our own cost: processor time, waiting for a processor, memory, descriptors.
//!
//! In:  nothing.  Out: [`Usage`] of the calling thread and of the whole process.
//! Not here: whether that is too much (see `load::certificate`).

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// Readings at one moment. Differences of two are what lies between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Processor time of the calling thread, seconds.
    pub thread_cpu_s: f64,
    /// Processor time of the process, seconds.
    pub process_cpu_s: f64,
    /// Time that the calling thread was ready to run and did not, seconds. Absent where the kernel does not tell.
    pub run_queue_s: Option<f64>,
    /// Times that the calling thread was taken off its processor although it was not done.
    pub involuntary_switches: u64,
    /// Largest resident set of the process so far, MiB.
    pub peak_rss_mib: f64,
}

impl Usage {
    /// Now.
    pub fn take() -> Self {
        let cpu = |who| {
            getrusage(who).map_or((0.0, 0, 0), |usage| {
                let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
                let time = seconds(usage.user_time()) + seconds(usage.system_time());
                (time, usage.max_rss(), usage.involuntary_context_switches())
            })
        };
        let (thread_cpu_s, _, switches) = cpu(UsageWho::RUSAGE_THREAD);
        let (process_cpu_s, peak_kib, _) = cpu(UsageWho::RUSAGE_SELF);
        Self {
            thread_cpu_s,
            process_cpu_s,
            run_queue_s: run_queue(),
            involuntary_switches: switches.unsigned_abs(),
            peak_rss_mib: peak_kib as f64 / 1024.0,
        }
    }
}

/// Second field of `schedstat`: nanoseconds spent waiting on a run queue.
fn run_queue() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let waited: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(waited as f64 / 1e9)
}

/// Descriptors that are open now.
pub fn open_descriptors() -> Option<u64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}
