//! The thread that builds bodies, and the queue between it and the schedule.
//!
//! In:  a [`Maker`].  Out: [`BodyBuilder`], an [`OrderFeed`].
//! Not here: what a body is made of (see [`super::form`]).
//!
//! The thread keeps a bounded number of bodies ready: at least two for each request
//! in flight, unless they take too much memory. It wakes the poller when the queue had run dry and has something again.
//!

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::Maker;
use crate::plan::Walk;
use crate::schedule::{BuiltOrder, NextOrder, OrderFeed};
use crate::settings::{Settings, Shape};
use sparkbench_text::error::{Error, Kind};

/// Bytes of bodies that may be ready, unless a single one is larger.
const READY_BYTES: usize = 16 << 20;
/// Bodies that may be ready however few are in flight: an open loop has no number of its own.
pub(super) const READY_LEAST: usize = 64;
/// Any number.
const READY_MOST: usize = 32_768;

/// The thread's side and the schedule's side of the queue.
struct Shared {
    queue: Mutex<Queue>,
    room: Condvar,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<BuiltOrder>,
    bytes: usize,
    /// The thread rests until the half is gone: to be woken for each body would cost more than the body.
    full: bool,
    /// The schedule found nothing and waits to be woken.
    dry: bool,
    done: bool,
    failed: Option<Error>,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The lock guards a queue that is whole between any two steps.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives what the thread has built. Dropping it ends the thread.
pub(crate) struct BodyBuilder {
    shared: Arc<Shared>,
    most: usize,
    thread: Option<JoinHandle<()>>,
}

/// Starts to build the orders of this client's share. `wake` wakes the engine's poller.
///
/// # Errors
/// When no thread can be had.
pub(crate) fn start(
    mut maker: Maker,
    settings: &Settings,
    wake: impl Fn() + Send + 'static,
) -> Result<BodyBuilder, Error> {
    let at_once = match settings.shape {
        Shape::Closed { concurrency } => concurrency,
        Shape::Open { max_concurrency, .. } | Shape::Trace { max_concurrency, .. } => max_concurrency.unwrap_or(1024),
    };
    let most = (at_once as usize).saturating_mul(2).clamp(READY_LEAST, READY_MOST);
    let shared = Arc::new(Shared { queue: Mutex::default(), room: Condvar::new() });
    let ours = Arc::clone(&shared);
    let work = move || {
        let plan = Arc::clone(&maker.plan);
        let mut walk = Walk::new(0);
        while let Some(entry) = walk.next(&plan) {
            if !plan.mine(entry.index) {
                continue;
            }
            let built = maker.make(&entry);
            let mut queue = ours.lock();
            if queue.ready.len() >= most || queue.bytes >= READY_BYTES {
                queue.full = !queue.ready.is_empty();
            }
            while !queue.stop && queue.full {
                queue = ours.room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.stop {
                return;
            }
            match built {
                Ok(built) => {
                    queue.bytes += built.order.body.len();
                    queue.ready.push_back(built);
                }
                Err(error) => {
                    queue.failed = Some(error);
                    break;
                }
            }
            if std::mem::take(&mut queue.dry) {
                drop(queue);
                wake();
            }
        }
        let mut queue = ours.lock();
        queue.done = true;
        drop(queue);
        wake();
    };
    let thread = std::thread::Builder::new()
        .name("bodies".to_owned())
        .spawn(work)
        .map_err(|error| Error::new(Kind::Workload, "cannot start a thread that builds requests").because(error))?;
    Ok(BodyBuilder { shared, most, thread: Some(thread) })
}

impl OrderFeed for BodyBuilder {
    fn take(&mut self) -> NextOrder {
        let mut queue = self.shared.lock();
        match queue.ready.pop_front() {
            Some(built) => {
                queue.bytes -= built.order.body.len();
                let rested = queue.full && queue.ready.len() <= self.most / 2 && queue.bytes <= READY_BYTES / 2;
                if rested {
                    queue.full = false;
                    drop(queue);
                    self.shared.room.notify_one();
                }
                NextOrder::Order(built)
            }
            None if queue.done => match queue.failed.take() {
                Some(error) => NextOrder::Failed(error),
                None => NextOrder::End,
            },
            None => {
                queue.dry = true;
                NextOrder::Dry
            }
        }
    }
}

impl Drop for BodyBuilder {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.stop = true;
        queue.ready.clear();
        drop(queue);
        self.shared.room.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
impl BodyBuilder {
    /// Bodies that are ready, once the thread rests.
    pub(super) fn resting(&self) -> Option<usize> {
        let queue = self.shared.lock();
        queue.full.then(|| queue.ready.len())
    }
}
