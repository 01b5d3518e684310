//! Addresses of a name.
//!
//! In:  host and port.  Out: the addresses, as the machine orders them.
//! Not here: which of them answers.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

/// Asks once. A load must not ask again while it runs.
///
/// # Errors
/// When the name is not known.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = (bare, port).to_socket_addrs()?.collect();
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(found)
}
