//! A server with known emission times: the truth for every client, to the microsecond.
//!
//! In:  [`Settings`]: when tokens are due, the shape of the stream.  Out: answers on sockets, a [`Truth`] for each request.
//! Not here: measuring (see `load`), with which nothing is shared but the sockets.
//!
//! ```text
//! listener ─▶ connection ─▶ request ─▶ ask ─▶ job ─▶ emissions ─▶ truth
//!             net           http       JSON   words   due times    JSON lines
//! ```
//!
//! One thread does it all: it waits for sockets and for the next due moment at once (see `server`). Token k of an answer is due at
//! `received + ttft + k × itl`. Here `received` is the kernel's stamp of the request's last byte. So the due times do not depend on the
//! scheduling of this process. The recorded time is not the due time. It is the clock just before the write that took the last byte of the
//! event. So the truth stays true whatever the machine does to the mock. The mock's own delay is reported separately ([`Totals`]).
//!
//! The mock's tokenizer: a token is a word between white space, and the chat template adds `TEMPLATE_TOKENS` tokens to each
//! message. So every token count of a prompt or an answer is known exactly, from the text alone.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]
#![cfg(target_os = "linux")]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod ask;
pub(crate) mod cache;
mod http;
mod job;
mod late;
mod metrics;
pub(crate) mod server;
pub mod settings;
pub mod shape;
pub(crate) mod text;
pub(crate) mod truth;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use sparkbench_host::net::Waker;
use sparkbench_text::error::{Error, Kind};

pub use server::Totals;
pub use settings::Settings;
pub use shape::{Expect, SHAPES, Shape};
pub use truth::{Outcome, Truth};

/// A mock on its own thread. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<Result<server::Ended, Error>>>,
}

/// Starts a mock. It listens when this returns.
///
/// # Errors
/// When the address cannot be listened on, the truth file cannot be made, or no thread can be had.
pub fn start(settings: Settings) -> Result<Running, Error> {
    let server = server::Server::new(settings)?;
    let (address, stop, waker) = (server.address(), server.stop_flag(), server.waker());
    let thread = std::thread::Builder::new()
        .name("mock".to_owned())
        .spawn(move || server.run())
        .map_err(|cause| Error::new(Kind::Workload, "cannot start the mock's thread").because(cause))?;
    Ok(Running { address, stop, waker, thread: Some(thread) })
}

impl Running {
    /// Where it listens.
    #[allow(dead_code, reason = "for tests, which load it")]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base address for a client.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether its thread has ended by itself: it cannot go on.
    pub fn failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it: closes every connection. Gives one truth for each request, in the order in which they ended
    /// (where [`Settings::keep_truth`] is set).
    ///
    /// # Errors
    /// When it had failed, or the truth file could not be written.
    #[allow(dead_code, reason = "for tests, which hold a load against what it sent")]
    pub fn stop(self) -> Result<Vec<Truth>, Error> {
        Ok(self.finish()?.truths)
    }

    /// Like [`Running::stop`], with the totals.
    ///
    /// # Errors
    /// The same as there.
    pub fn finish(mut self) -> Result<server::Ended, Error> {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(result)) => result,
            _ => Err(Error::new(Kind::Workload, "the mock's thread ended by a fault of its own")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
    }
}

#[cfg(test)]
mod tests;
