//! Which sockets are ready, and when: `epoll` with a timer of nanoseconds beside it.
//!
//! In:  sockets with a number each, a moment to wake at.  Out: [`Ready`], in the order in which the kernel lists them.
//! Not here: reading and writing.
//!
//! The time-out of `epoll` itself counts milliseconds, which is too coarse to send a request on time. A timer of the kernel that is one
//! more thing to be ready keeps to some tens of microseconds.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};

use super::Ns;

/// Sockets taken from one look.
const EVENTS: usize = 1024;

/// The other side has closed its half, or the connection is broken.
const ENDED: EpollFlags = EpollFlags::EPOLLRDHUP.union(EpollFlags::EPOLLHUP).union(EpollFlags::EPOLLERR);

const TIMER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

/// Events that a socket is watched for. Its end is always reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Something new to read, reported once. The receiver then reads until it gets less than it has room for, and to the end where that was
    /// reported too. Otherwise it must ask for another report. The kernel then looks at the socket once for each packet, not twice.
    News,
    /// Something to read, or room to write. A new connection counts as room to write.
    Both,
}

impl Interest {
    const fn flags(self) -> EpollFlags {
        match self {
            Self::Read => EpollFlags::EPOLLIN.union(EpollFlags::EPOLLRDHUP),
            Self::News => Self::Read.flags().union(EpollFlags::EPOLLET),
            Self::Both => EpollFlags::EPOLLIN.union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLOUT),
        }
    }
}

/// A socket that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The number it was added with.
    pub token: u64,
    /// Something to read, or the other side has closed: a read will tell.
    pub readable: bool,
    /// Nothing more will come than what is there.
    pub ended: bool,
    /// Room to write.
    pub writable: bool,
}

/// See the module. Level-triggered but for [`Interest::News`]: unread data is reported again.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    timer: TimerFd,
    /// The moment the timer is set to.
    armed: Option<Ns>,
    waker: Arc<EventFd>,
    events: Vec<EpollEvent>,
}

/// Wakes a poller from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<EventFd>);

impl Waker {
    /// The poller's wait ends, now or the next time.
    pub fn wake(&self) {
        // Fails only when it has been woken 2^64 times without looking.
        let _ = self.0.write(1);
    }
}

impl Poller {
    /// A poller with nothing in it.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let waker = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(&waker, EpollEvent::new(EpollFlags::EPOLLIN, WAKER))?;
        let events = vec![EpollEvent::empty(); EVENTS];
        Ok(Self { epoll, timer, armed: None, waker: Arc::new(waker), events })
    }

    /// For another thread.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.waker))
    }

    /// Watches a socket. `token` is any number but the two largest.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn add(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(interest.flags(), token))?)
    }

    /// Watches it for something else.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn change(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.modify(socket, &mut EpollEvent::new(interest.flags(), token))?)
    }

    /// Watches it no longer. A socket that is closed is forgotten by itself.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(socket)?)
    }

    /// Waits for sockets, for the waker, or until a moment. A moment in the past only looks. Puts what is ready into `ready`, which is
    /// emptied first.
    ///
    /// # Errors
    /// Errors of the kernel. A signal is no error, the wait just ends.
    pub fn wait(&mut self, until: Option<Ns>, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        let timeout = match until {
            Some(0) => EpollTimeout::ZERO,
            Some(until) if until <= super::now() => EpollTimeout::ZERO,
            Some(until) => {
                self.arm(until)?;
                EpollTimeout::NONE
            }
            None => EpollTimeout::NONE,
        };
        let count = match self.epoll.wait(&mut self.events, timeout) {
            Err(nix::errno::Errno::EINTR) => 0,
            other => other?,
        };
        for event in &self.events[..count] {
            let flags = event.events();
            match event.data() {
                TIMER => {
                    // Also an outdated setting.
                    let _ = self.timer.wait();
                    self.armed = None;
                }
                WAKER => {
                    let _ = self.waker.read();
                }
                token => ready.push(Ready {
                    token,
                    readable: flags.intersects(EpollFlags::EPOLLIN.union(ENDED)),
                    ended: flags.intersects(ENDED),
                    writable: flags.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR),
                }),
            }
        }
        Ok(count > 0)
    }

    fn arm(&mut self, until: Ns) -> io::Result<()> {
        if self.armed == Some(until) {
            return Ok(());
        }
        let moment = TimeSpec::new((until / 1_000_000_000).cast_signed(), (until % 1_000_000_000).cast_signed());
        self.timer.set(Expiration::OneShot(moment), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        self.armed = Some(until);
        Ok(())
    }
}
