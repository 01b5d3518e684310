//! Waiting for a state, in place of sleeping and hoping. One limit for all: a machine may be slow, a state may not fail to come.
//!
//! In:  what is waited for, in words, and a look at it.  Out: the state, or a failed test that says what never came.
//! Not here: how long anything takes (see `benches/`).

use std::time::{Duration, Instant};

/// Long enough for the slowest machine. Whoever waits as long has found a fault, not a busy processor.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Between two looks: short beside anything that is waited for, long beside the look.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_some(what, || holds().then_some(()));
}

/// Waits until there is something, and gives it.
#[track_caller]
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "waited {} s in vain: {what}", LIMIT.as_secs());
        std::thread::sleep(PAUSE);
    }
}

/// Lets time pass where its passing is what the test is about: nothing may happen meanwhile, or a server shall be at work for a while.
/// Never in place of waiting for a state.
pub fn let_pass(time: Duration) {
    std::thread::sleep(time);
}

/// Does something that takes at least so long. A lower bound holds on any machine, an upper one on none.
#[track_caller]
pub fn takes_at_least<T>(least: Duration, act: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = act();
    let took = began.elapsed();
    assert!(took >= least, "over after {took:?}, before {least:?}");
    done
}
