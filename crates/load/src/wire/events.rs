//! Event streams (`text/event-stream`), read in place.
//!
//! In:  bytes of a body, in any pieces.  Out: [`Event`]s.
//! Not here: the meaning of the data (see [`super::delta`]), reconnecting. A load never asks for the rest of an answer.
//!
//! By the HTML standard (9.2.6): lines end with LF, CR LF or CR, in any mixture. A line that begins with a colon is a comment. One
//! space after the colon of a field goes. Several `data` lines are joined by LF. An empty line ends the event. An event without a
//! `data` line is not an event. A byte order mark at the start is skipped. Unknown fields, `id` and `retry` are of no use here.
//! Two departures, each because a server does it:
//! - An event that the end of the stream cuts off before its empty line is dropped by the standard. [`EventStream::closed`] gives it:
//!   servers close right behind `data: [DONE]`, and a missing mark would look like a fault.
//! - A line `error: {…}` (llama-server, until it learnt to send `data`) is taken as an event named `error` with that data. Ignoring it,
//!   as the standard wants for an unknown field, would make a failed answer a short one.
//!
//! Nearly every event has one `data` line that lies whole within one feed. It is given as a slice of the feed. The others go through
//! buffers, which hold at most one line and the data of one event.

use memchr::{memchr, memchr2};

use super::fault::Fault;

const MARK: &[u8] = b"\xef\xbb\xbf";
/// Capacity that a buffer keeps from one stream to the next, bytes.
const KEPT: usize = 16 << 10;

/// An event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its data, lines joined by LF. May be empty.
    pub data: &'a [u8],
    /// Its `event` field. Empty where it has none, which means `message`.
    pub name: &'a [u8],
    /// Its bytes in the stream, with its line ends and with comments before it. If its empty line is CR LF, that LF counts with the next
    /// event. The event is complete with the CR, and waiting for the LF could make it late.
    pub bytes: u32,
}

/// Reader of one event stream after the other. [`EventStream::reset`] between two.
#[derive(Debug)]
pub struct EventStream {
    limit: usize,
    /// Bytes of the byte order mark seen at the start. More than it has once the start is over.
    mark: usize,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    /// Beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Data of the event so far.
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    /// Bytes since the last event, of earlier feeds.
    since: u64,
    fault: Option<Fault>,
}

impl EventStream {
    /// Waits for the first byte. `max_event`: longest line, and longest data of an event, in bytes.
    pub fn new(max_event: usize) -> Self {
        Self {
            limit: max_event,
            mark: 0,
            after_cr: false,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: Vec::new(),
            since: 0,
            fault: None,
        }
    }

    /// Ready for the next stream.
    pub fn reset(&mut self) {
        for buffer in [&mut self.line, &mut self.data, &mut self.name] {
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
        (self.mark, self.after_cr, self.has_data, self.since, self.fault) = (0, false, false, 0, None);
    }

    /// Feeds bytes of the body in order. Calls `on` for each event they complete.
    ///
    /// After a fault every further call gives it again.
    pub fn feed(&mut self, body: &[u8], on: &mut impl FnMut(Event<'_>)) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.advance(body, on).inspect_err(|fault| {
            (self.line, self.data, self.name) = (Vec::new(), Vec::new(), Vec::new());
            self.fault = Some(fault.clone());
        })
    }

    fn advance(&mut self, body: &[u8], on: &mut impl FnMut(Event<'_>)) -> Result<(), Fault> {
        let mut at = self.skip_mark(body);
        // Where the last event of this feed ended.
        let mut counted = 0;
        while at < body.len() {
            if std::mem::take(&mut self.after_cr) && body[at] == b'\n' {
                at += 1;
                continue;
            }
            let found = memchr2(b'\n', b'\r', &body[at..]);
            let line = &body[at..found.map_or(body.len(), |length| at + length)];
            if self.line.len() + line.len() > self.limit {
                return Err(Fault::EventTooLong { limit: self.limit });
            }
            if found.is_none() {
                self.line.extend_from_slice(line);
                break;
            }
            at += line.len() + 1;
            let cr = body[at - 1] == b'\r';
            // The common event: one line of data, and the empty line is here too.
            if self.line.is_empty() && !self.has_data && self.name.is_empty() {
                let next = at + usize::from(cr && body.get(at) == Some(&b'\n'));
                if let (Some(data), Some(last @ (b'\n' | b'\r'))) = (data_of(line), body.get(next)) {
                    at = next + 1;
                    self.after_cr = *last == b'\r';
                    on(Event { data, name: b"", bytes: narrow(self.since + (at - counted) as u64) });
                    (self.since, counted) = (0, at);
                    continue;
                }
            }
            self.after_cr = cr;
            if self.line.is_empty() && line.is_empty() {
                if self.dispatch((at - counted) as u64, on) {
                    counted = at;
                }
            } else if self.line.is_empty() {
                self.field(line)?;
            } else {
                self.line.extend_from_slice(line);
                let mut whole = std::mem::take(&mut self.line);
                self.field(&whole)?;
                whole.clear();
                self.line = whole;
            }
        }
        self.since += (body.len() - counted) as u64;
        Ok(())
    }

    /// The stream ended: gives an event whose empty line did not come.
    ///
    /// For the end of a whole response only. Where the connection broke, the rest may be half a line.
    pub fn closed(&mut self, on: &mut impl FnMut(Event<'_>)) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.field(&line)?;
        }
        self.dispatch(0, on);
        Ok(())
    }

    /// An empty line: gives the event that it ends, if there is one. `more` are its bytes in the current feed.
    fn dispatch(&mut self, more: u64, on: &mut impl FnMut(Event<'_>)) -> bool {
        let given = std::mem::take(&mut self.has_data);
        if given {
            on(Event { data: &self.data, name: &self.name, bytes: narrow(self.since + more) });
            self.since = 0;
        }
        self.data.clear();
        self.name.clear();
        given
    }

    /// A line that is not empty, without its end.
    fn field(&mut self, line: &[u8]) -> Result<(), Fault> {
        let (name, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"data" | b"error" => {
                if self.data.len() + usize::from(self.has_data) + value.len() > self.limit {
                    return Err(Fault::EventTooLong { limit: self.limit });
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
                if name == b"error" {
                    self.name.clear();
                    self.name.extend_from_slice(name);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Skips the byte order mark, or what of it is in this feed. Where the rest begins.
    fn skip_mark(&mut self, body: &[u8]) -> usize {
        let mut at = 0;
        while self.mark < MARK.len() && at < body.len() {
            if body[at] == MARK[self.mark] {
                self.mark += 1;
                at += 1;
            } else {
                // What looked like a mark is the beginning of the first line.
                let seen = std::mem::replace(&mut self.mark, MARK.len());
                self.line.extend_from_slice(&MARK[..seen]);
                return at;
            }
        }
        at
    }
}

/// The value of a line, if its field is `data`.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data:")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
