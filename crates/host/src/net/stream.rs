//! A TCP connection that reports when the kernel received its data.
//!
//! In:  an address, bytes.  Out: bytes with a [`Stamp`].
//! Not here: when to read (see `poll`), what the bytes mean.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::{ReceiveTimestampns, SocketError, TcpNoDelay};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, connect, getsockopt, recvmsg,
    send, setsockopt, socket,
};

use super::clock::{self, Ns};

/// When bytes came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// When the kernel received the last packet of what was read. Absent where the platform gives no stamp.
    pub kernel: Option<Ns>,
    /// When we had read it.
    pub user: Ns,
}

impl Stamp {
    /// The kernel's time where there is one, else ours.
    pub fn at(self) -> Ns {
        self.kernel.unwrap_or(self.user)
    }

    /// How long it lay in the receive buffer: our own delay.
    pub fn lag(self) -> Option<Ns> {
        Some(self.user.saturating_sub(self.kernel?))
    }
}

/// Result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A number of bytes, at least one.
    Bytes(usize, Stamp),
    /// The other side has closed its half.
    End(Stamp),
    /// Nothing at the moment.
    Nothing,
}

/// A non-blocking connection without Nagle's delay.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    control: Vec<u8>,
    clocks: clock::Pair,
}

impl Stream {
    /// Begins to connect. [`Stream::connected`] gives the result once the socket is writable.
    ///
    /// # Errors
    /// When there is no socket left, or the address is refused at once.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let socket = socket(family, SockType::Stream, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None)?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
            Ok(()) | Err(Errno::EINPROGRESS) => Self::ready(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// A connection that was accepted.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn accepted(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::ready(stream.into())
    }

    fn ready(socket: OwnedFd) -> io::Result<Self> {
        setsockopt(&socket, TcpNoDelay, &true)?;
        // A platform without stamps still measures, with the time of reading.
        let _ = setsockopt(&socket, ReceiveTimestampns, &true);
        Ok(Self { socket, control: nix::cmsg_space!(nix::sys::time::TimeSpec), clocks: clock::Pair::default() })
    }

    /// Whether the connection has come about. Asked once the socket is writable.
    ///
    /// # Errors
    /// Why it has not.
    pub fn connected(&self) -> io::Result<()> {
        match getsockopt(&self.socket, SocketError)? {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Takes what has arrived, as much as fits.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<Received> {
        let mut slices = [IoSliceMut::new(into)];
        let got = recvmsg::<()>(self.socket.as_raw_fd(), &mut slices, Some(&mut self.control), MsgFlags::MSG_DONTWAIT);
        let got = match got {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Received::Nothing),
            other => other?,
        };
        let user = clock::now();
        if got.bytes == 0 {
            return Ok(Received::End(Stamp { kernel: None, user }));
        }
        let stamp = got.cmsgs().ok().and_then(|mut messages| {
            messages.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(time) => {
                    Some(time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
                }
                _ => None,
            })
        });
        let kernel = stamp.and_then(|stamp| clock::carried(stamp, user, self.clocks.wall_at(user)));
        Ok(Received::Bytes(got.bytes, Stamp { kernel, user }))
    }

    /// Sends what there is room for. 0 when there is none.
    ///
    /// # Errors
    /// When the connection is broken. No signal is raised.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match send(self.socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT) {
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
            other => Ok(other?),
        }
    }

    /// Ends it with a reset instead of an orderly close.
    pub fn reset(self) {
        let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = setsockopt(&self.socket, nix::sys::socket::sockopt::Linger, &linger);
    }
}

/// Keeps the kernel stamping. Stamping begins some milliseconds after the first socket asks for it and ends with the last socket. A program
/// that opens a connection for each request would miss the stamps of the first answer.
#[derive(Debug)]
pub struct Stamping {
    _socket: Option<OwnedFd>,
}

impl Stamping {
    /// Asks for stamps with a socket that is never used.
    pub fn start() -> Self {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok();
        let asked = socket.as_ref().is_some_and(|socket| setsockopt(socket, ReceiveTimestampns, &true).is_ok());
        Self { _socket: socket.filter(|_| asked) }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
