//! What a response gives as it is read: its head, and pieces of its body.
//!
//! In:  nothing.  Out: [`ResponsePart`].
//! Not here: reading (see [`super::response`], [`super::chunked`]).

/// Longest head, in bytes, with the interim ones before it. Generous: common servers send 200 bytes and refuse more than 8 to 32 KiB.
pub const HEAD_LIMIT: usize = 64 << 10;

/// Parts of a head that matter to a load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// Code of the status line.
    pub status: u16,
    /// `Content-Type` as given.
    pub content_type: Option<String>,
    /// `Retry-After` as given.
    pub retry_after: Option<String>,
    /// `Location` as given, of a redirection.
    pub location: Option<String>,
    /// `WWW-Authenticate` as given.
    pub www_authenticate: Option<String>,
    /// Whether the connection can carry another request after this response.
    pub keep_alive: bool,
}

/// A part of a response.
#[derive(Debug)]
pub enum ResponsePart<'a> {
    /// The head, once, first.
    Head(&'a ResponseHead),
    /// Bytes of the body, never none, without framing.
    Body(&'a [u8]),
}
