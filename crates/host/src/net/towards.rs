//! The route to another machine, and whether anything listens there.
//!
//! In:  a name, an address.  Out: our own address on that route, yes or no.
//! Not here: connections that stay open.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use super::resolve;

/// The address that this machine would send from to reach another. Nothing is sent.
///
/// # Errors
/// When the name is not known or no device leads there.
pub fn address_towards(other: &str) -> io::Result<IpAddr> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("'{other}' has no address"));
    // The port does not matter: a connected datagram socket has chosen its device.
    for to in resolve(other, 9)? {
        let any: IpAddr = if to.is_ipv4() { [0, 0, 0, 0].into() } else { [0_u16; 8].into() };
        let found = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect(to)?;
            socket.local_addr()
        });
        match found {
            Ok(address) => return Ok(address.ip()),
            Err(cause) => last = cause,
        }
    }
    Err(last)
}

/// Whether a connection to an address is taken within `limit`.
pub fn listens(at: &SocketAddr, limit: Duration) -> bool {
    TcpStream::connect_timeout(at, limit).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_this_machine_is_the_loopback() {
        assert!(address_towards("127.0.0.1").unwrap().is_loopback());
        assert!(address_towards("no such name").is_err());
    }

    #[test]
    fn what_listens_is_told_from_what_does_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        assert!(listens(&at, sparkbench_testing::LIMIT));
        // Whoever frees a port does not know who takes it next. Nobody takes this one.
        assert!(!listens(&"127.0.0.1:1".parse().unwrap(), sparkbench_testing::LIMIT));
    }
}
