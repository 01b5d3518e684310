//! One HTTP/1.x response after the other, read in place.
//!
//! In:  bytes of a connection, in any pieces.  Out: the [`ResponseHead`] once, then slices of the body without its framing.
//! Not here: the connection, event streams (see [`super::events`]).
//!
//! The body ends by `Transfer-Encoding: chunked`, by `Content-Length`, or with the connection. Chunked wins where a server sends both
//! (RFC 9112, 6.3). 204 and 304 have none. Interim answers (1xx) are skipped, except 101: we never ask to switch protocols. A coded
//! body is refused: we never ask for one, and reading it as text would call a sound stream broken. Line ends of a lone LF are taken
//! in heads and in the chunked coding, as most clients do. There is no intermediary here that could be led astray.

use memchr::memchr;

use super::chunked::{Chunked, split, step, whole_chunk};
use super::fault::{Fault, Missing, excerpt};
use super::response_part::{HEAD_LIMIT, ResponseHead, ResponsePart};

/// Most fields of a head.
const FIELDS: usize = 128;

/// How far a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseProgress {
    /// More bytes are to come, or, for a body that ends with the connection, may come.
    More,
    /// The whole response was read.
    Complete {
        /// Bytes of this feed that belong to it. Bytes after them were not requested.
        used: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Complete,
}

/// Reader of a response. One per connection, [`Response::reset`] between two responses.
#[derive(Debug)]
pub struct Response {
    state: State,
    /// Beginning of a head that came in pieces.
    held: Vec<u8>,
    /// Bytes of interim heads before.
    interim: usize,
    /// Whether any byte came.
    begun: bool,
    fault: Option<Fault>,
}

impl Default for Response {
    fn default() -> Self {
        Self::new()
    }
}

impl Response {
    /// Waits for the first byte of a response.
    pub fn new() -> Self {
        Self { state: State::Head, held: Vec::new(), interim: 0, begun: false, fault: None }
    }

    /// Ready for the next response on this or another connection.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.held.clear();
        self.held.shrink_to(4 << 10);
        (self.interim, self.begun, self.fault) = (0, false, None);
    }

    /// Feeds bytes in order. Calls `on` for the head once and for body bytes, in place.
    ///
    /// After [`ResponseProgress::Complete`] further bytes are left alone (`used` is 0). After a fault every further feed gives it again.
    pub fn feed(&mut self, bytes: &[u8], on: &mut impl FnMut(ResponsePart<'_>)) -> Result<ResponseProgress, Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.advance(bytes, on).inspect_err(|fault| {
            self.held = Vec::new();
            self.fault = Some(fault.clone());
        })
    }

    fn advance(&mut self, bytes: &[u8], on: &mut impl FnMut(ResponsePart<'_>)) -> Result<ResponseProgress, Fault> {
        let mut rest = bytes;
        loop {
            match self.state {
                State::Complete => return Ok(ResponseProgress::Complete { used: bytes.len() - rest.len() }),
                _ if rest.is_empty() => return Ok(ResponseProgress::More),
                State::Head => rest = self.head(rest, on)?,
                State::Length(left) => {
                    let (body, after) = split(rest, left);
                    on(ResponsePart::Body(body));
                    let left = left - body.len() as u64;
                    self.state = if left == 0 { State::Complete } else { State::Length(left) };
                    rest = after;
                }
                State::Chunked(place) => {
                    if let (Chunked::Size { digits: 0, .. }, Some((body, after))) = (place, whole_chunk(rest)) {
                        on(ResponsePart::Body(body));
                        rest = after;
                        continue;
                    }
                    let (next, after) = step(place, rest, on)?;
                    self.state = next.map_or(State::Complete, State::Chunked);
                    rest = after;
                }
                State::UntilClose => {
                    on(ResponsePart::Body(rest));
                    return Ok(ResponseProgress::More);
                }
            }
        }
    }

    /// The connection ended: Ok when the body is delimited by that or was complete, else what is missing.
    pub fn closed(&mut self) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let missing = match self.state {
            State::UntilClose | State::Complete => return Ok(()),
            State::Head if !self.begun => Missing::Everything,
            State::Head => Missing::Head,
            State::Length(left) => Missing::Bytes(left),
            State::Chunked(_) => Missing::LastChunk,
        };
        Err(Fault::Truncated { missing })
    }

    /// Reads on in the head. What of `bytes` is behind it.
    fn head<'b>(&mut self, bytes: &'b [u8], on: &mut impl FnMut(ResponsePart<'_>)) -> Result<&'b [u8], Fault> {
        self.begun = true;
        let mut bytes = bytes;
        if self.held.is_empty() {
            // Empty lines before a response are a common fault of what was sent before it.
            let skip = bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            self.interim += skip;
            bytes = &bytes[skip..];
        }
        let before = self.held.len();
        let room = (HEAD_LIMIT + 1).saturating_sub(self.interim);
        let end = if before == 0 {
            let bytes = bytes.get(..room).unwrap_or(bytes);
            match head_end(bytes, 0) {
                Some(end) => {
                    self.begin(&bytes[..end], on)?;
                    Some(end)
                }
                None => {
                    self.held.extend_from_slice(bytes);
                    None
                }
            }
        } else {
            self.held.extend_from_slice(bytes.get(..room.saturating_sub(before)).unwrap_or(bytes));
            match head_end(&self.held, before.saturating_sub(2)) {
                Some(end) => {
                    let held = std::mem::take(&mut self.held);
                    self.begin(&held[..end], on)?;
                    self.held = held;
                    self.held.clear();
                    Some(end.saturating_sub(before))
                }
                None => None,
            }
        };
        match end {
            Some(end) => Ok(&bytes[end..]),
            None if !b"HTTP/1.".starts_with(self.held.get(..7).unwrap_or(&self.held)) => {
                Err(Fault::not_http(&self.held))
            }
            None if self.interim + self.held.len() > HEAD_LIMIT => Err(Fault::HeadTooLong),
            None => Ok(&[]),
        }
    }

    /// A whole head: how the body ends.
    fn begin(&mut self, text: &[u8], on: &mut impl FnMut(ResponsePart<'_>)) -> Result<(), Fault> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut read = httparse::Response::new(&mut fields);
        match read.parse(text) {
            Ok(httparse::Status::Complete(length)) if length == text.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLong),
            _ => return Err(Fault::not_http(text)),
        }
        if self.interim + text.len() > HEAD_LIMIT {
            return Err(Fault::HeadTooLong);
        }
        let (Some(version), Some(status)) = (read.version, read.code) else { return Err(Fault::not_http(text)) };
        if (100..200).contains(&status) && status != 101 {
            self.interim += text.len();
            return Ok(());
        }
        let mut head = ResponseHead { status, keep_alive: version == 1, ..ResponseHead::default() };
        let mut framing = Framing::default();
        for field in read.headers.iter() {
            let given = || Some(String::from_utf8_lossy(field.value).trim().to_owned());
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            match field.name.len() {
                12 if is("content-type") => head.content_type = given(),
                11 if is("retry-after") => head.retry_after = given(),
                8 if is("location") => head.location = given(),
                16 if is("www-authenticate") => head.www_authenticate = given(),
                10 if is("connection") => {
                    for word in words(field.value) {
                        if word.eq_ignore_ascii_case(b"close") {
                            head.keep_alive = false;
                        } else if word.eq_ignore_ascii_case(b"keep-alive") {
                            head.keep_alive = true;
                        }
                    }
                }
                14 if is("content-length") => framing.length(field.value),
                17 if is("transfer-encoding") => framing.transfer(field.value)?,
                16 if is("content-encoding") => coding(field.value)?,
                _ => {}
            }
        }
        self.state = match (status, framing) {
            (101 | 204 | 304, _) => State::Complete,
            (_, Framing { chunked: true, .. }) => State::Chunked(Chunked::START),
            (_, Framing { bad: true, .. }) => return Err(Fault::BadLength),
            (_, Framing { length: Some(0), .. }) => State::Complete,
            (_, Framing { length: Some(length), .. }) => State::Length(length),
            _ => State::UntilClose,
        };
        head.keep_alive &= self.state != State::UntilClose && status != 101;
        on(ResponsePart::Head(&head));
        Ok(())
    }
}

/// The end of the body, from its head.
#[derive(Debug, Default, Clone, Copy)]
struct Framing {
    chunked: bool,
    length: Option<u64>,
    /// An invalid length, or a second one that differs.
    bad: bool,
}

impl Framing {
    fn length(&mut self, value: &[u8]) {
        for word in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
            match (decimal(word), self.length) {
                (Some(length), None) => self.length = Some(length),
                (Some(length), Some(before)) if length == before => {}
                _ => self.bad = true,
            }
        }
    }

    fn transfer(&mut self, value: &[u8]) -> Result<(), Fault> {
        for word in words(value) {
            if word.eq_ignore_ascii_case(b"chunked") && !self.chunked {
                self.chunked = true;
            } else if !word.eq_ignore_ascii_case(b"identity") {
                return Err(Fault::Coded { coding: excerpt(word) });
            }
        }
        Ok(())
    }
}

/// Refuses a `Content-Encoding` that says something.
fn coding(value: &[u8]) -> Result<(), Fault> {
    match words(value).find(|word| !word.eq_ignore_ascii_case(b"identity")) {
        Some(word) => Err(Fault::Coded { coding: excerpt(word) }),
        None => Ok(()),
    }
}

/// Words of a list separated by commas, without the empty ones.
fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty())
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

/// Index behind the first empty line, with the search for its line end begun at `from`.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr(b'\n', bytes.get(at..)?) {
        at += found + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}
