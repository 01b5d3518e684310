//! A listening socket.
//!
//! In:  an address.  Out: connections, as they come.
//! Not here: their requests.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{Backlog, listen};

use super::Stream;

/// Non-blocking.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    /// Listens. Port 0 is any that is free. As many connections may wait as the machine allows (`net.core.somaxconn`).
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        // The standard library asks for 128 or 4096, whichever it was built with. A second call only raises it.
        listen(&listener, Backlog::MAXCONN)?;
        Ok(Self(listener))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// The next connection, if one waits.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        match self.0.accept() {
            Ok((stream, _)) => Stream::accepted(stream).map(Some),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
