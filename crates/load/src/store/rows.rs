//! One row for each request with the data for the summary. Few rows stay in memory, more go to an unnamed file.
//!
//! In:  [`RequestRow`]s.  Out: the same, as often as they are wanted, in order.
//! Not here: the figures from them.
//!
//! A summary goes through the rows once for each figure and holds the values of that one figure alone. So a run of ten million
//! requests needs the memory of one column, and exact percentiles stay exact.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};

use crate::order::{Doubt, Hidden, Phase, Record, Status};
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;

/// Bytes of a row.
const SIZE: usize = 120;
/// Rows in memory at most, 8 MB. Beyond that they go to the file.
const KEPT: usize = 65_536;

/// Data of a request for the summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestRow {
    /// [`Record::index`].
    pub index: u64,
    /// [`Record::status`].
    pub status: Status,
    /// Whether the time of the first token is the kernel's.
    pub kernel: bool,
    /// [`Record::intended`].
    pub intended: Option<Ns>,
    /// [`Record::sent`].
    pub sent: Option<Ns>,
    /// [`Record::connected`].
    pub connected: Option<Ns>,
    /// [`Record::first_event`].
    pub first_event: Option<Ns>,
    /// [`Record::first_token`].
    pub first_token: Option<Ns>,
    /// When we had read it.
    pub first_token_read: Option<Ns>,
    /// [`Record::first_content`].
    pub first_content: Option<Ns>,
    /// [`Record::last_token`].
    pub last_token: Option<Ns>,
    /// [`Record::end`], or when the request was given up.
    pub end: Option<Ns>,
    /// [`Record::pieces`].
    pub pieces: u32,
    /// [`Record::hidden`].
    pub hidden: Hidden,
    /// [`Record::doubt`].
    pub doubt: Doubt,
    /// [`Record::text_bytes`], saturated.
    pub text_bytes: u32,
    /// [`Record::first_tokens`].
    pub first_tokens: Option<u32>,
    /// Input tokens as reported.
    pub input: Option<u32>,
    /// Of these from the cache.
    pub cached: Option<u32>,
    /// Output tokens as reported.
    pub output: Option<u32>,
    /// Input tokens wanted.
    pub isl: Option<u32>,
    /// Input tokens sent.
    pub isl_sent: Option<u32>,
    /// Output tokens wanted.
    pub osl: Option<u32>,
    /// [`Record::resent`].
    pub resent: u32,
}

impl RequestRow {
    /// Of a record. `ended` is the end of a request that has none of its own.
    pub fn of(record: &Record, ended: Ns) -> Self {
        let first = record.first_token;
        Self {
            index: record.index,
            status: record.status,
            kernel: first.is_some_and(|stamp| stamp.kernel.is_some()),
            intended: record.intended,
            sent: record.sent,
            connected: record.connected,
            first_event: record.first_event.map(|stamp| stamp.at()),
            first_token: first.map(|stamp| stamp.at()),
            first_token_read: first.map(|stamp| stamp.user),
            first_content: record.first_content.map(|stamp| stamp.at()),
            last_token: record.last_token.map(|stamp| stamp.at()),
            end: record.end.map(|stamp| stamp.at()).or_else(|| record.sent.map(|_| ended)),
            pieces: record.pieces,
            hidden: record.hidden,
            doubt: record.doubt,
            text_bytes: u32::try_from(record.text_bytes).unwrap_or(u32::MAX),
            first_tokens: record.first_tokens,
            input: record.usage.input,
            cached: record.usage.cached,
            output: record.usage.output,
            isl: record.asked.isl,
            isl_sent: record.asked.isl_sent,
            osl: record.asked.osl,
            resent: record.resent,
        }
    }

    /// Where its latencies begin: intended in an open loop, sent in a closed one.
    pub fn start(&self) -> Option<Ns> {
        self.intended.or(self.sent)
    }

    /// The same request, with its times on another clock.
    #[must_use]
    pub fn moved(&self, by: &impl Fn(Ns) -> Ns) -> Self {
        Self {
            intended: self.intended.map(by),
            sent: self.sent.map(by),
            connected: self.connected.map(by),
            first_event: self.first_event.map(by),
            first_token: self.first_token.map(by),
            first_token_read: self.first_token_read.map(by),
            first_content: self.first_content.map(by),
            last_token: self.last_token.map(by),
            end: self.end.map(by),
            ..*self
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.index.to_le_bytes());
        for time in [
            self.intended,
            self.sent,
            self.connected,
            self.first_event,
            self.first_token,
            self.first_token_read,
            self.first_content,
            self.last_token,
            self.end,
        ] {
            out.extend_from_slice(&time.unwrap_or(Ns::MAX).to_le_bytes());
        }
        for count in [self.first_tokens, self.input, self.cached, self.output, self.isl, self.isl_sent, self.osl] {
            out.extend_from_slice(&count.unwrap_or(u32::MAX).to_le_bytes());
        }
        out.extend_from_slice(&self.pieces.to_le_bytes());
        // Bounded by what a server can be asked again, and by two bytes.
        out.extend_from_slice(&(self.resent.min(u32::from(u16::MAX)) as u16).to_le_bytes());
        out.push(self.status as u8);
        out.push(u8::from(self.kernel) | (self.hidden as u8) << 1 | (self.doubt as u8) << 4);
        out.extend_from_slice(&self.text_bytes.to_le_bytes());
        debug_assert_eq!(out.len(), begin + SIZE);
    }

    fn read(bytes: &[u8; SIZE]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let half = |at: usize| {
            let mut half = [0; 4];
            half.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(half)
        };
        let time = |number: usize| Some(word(8 + 8 * number)).filter(|time| *time != Ns::MAX);
        let count = |number: usize| Some(half(80 + 4 * number)).filter(|count| *count != u32::MAX);
        Self {
            index: word(0),
            intended: time(0),
            sent: time(1),
            connected: time(2),
            first_event: time(3),
            first_token: time(4),
            first_token_read: time(5),
            first_content: time(6),
            last_token: time(7),
            end: time(8),
            first_tokens: count(0),
            input: count(1),
            cached: count(2),
            output: count(3),
            isl: count(4),
            isl_sent: count(5),
            osl: count(6),
            pieces: half(108),
            resent: u32::from(u16::from_le_bytes([bytes[112], bytes[113]])),
            status: status(bytes[114]),
            kernel: bytes[115] & 1 != 0,
            hidden: hidden(bytes[115] >> 1 & 7),
            doubt: Doubt::ALL.get(usize::from(bytes[115] >> 4)).copied().unwrap_or_default(),
            text_bytes: half(116),
        }
    }
}

/// By its place in [`Status`].
fn status(number: u8) -> Status {
    const ALL: [Status; 12] = [
        Status::Ok,
        Status::Short,
        Status::Connect,
        Status::Tls,
        Status::Timeout,
        Status::Http,
        Status::Broken,
        Status::Malformed,
        Status::InStream,
        Status::Empty,
        Status::Cancelled,
        Status::NotSent,
    ];
    ALL.get(usize::from(number)).copied().unwrap_or(Status::Malformed)
}

/// By its place in [`Hidden`].
fn hidden(number: u8) -> Hidden {
    const ALL: [Hidden; 6] =
        [Hidden::None, Hidden::Between, Hidden::All, Hidden::Ending, Hidden::Bare, Hidden::BareAll];
    ALL.get(usize::from(number)).copied().unwrap_or_default()
}

/// Makes the file once there are too many.
type Maker = Box<dyn FnOnce() -> Result<File, Error> + Send>;

/// See the module.
pub struct Rows {
    kept: Vec<u8>,
    file: Option<File>,
    make: Option<Maker>,
    len: u64,
    limit: usize,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("len", &self.len).field("file", &self.file).finish_non_exhaustive()
    }
}

impl Rows {
    /// None yet. `make` gives the file when it is needed.
    pub fn new(make: impl FnOnce() -> Result<File, Error> + Send + 'static) -> Self {
        Self { kept: Vec::new(), file: None, make: Some(Box::new(make)), len: 0, limit: KEPT }
    }

    /// As many rows as there are.
    pub fn count(&self) -> u64 {
        self.len
    }

    /// Adds one.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub fn push(&mut self, record: &Record, ended: Ns) -> Result<(), Error> {
        debug_assert_eq!(record.phase, Phase::Measured);
        self.add(&RequestRow::of(record, ended))
    }

    fn add(&mut self, row: &RequestRow) -> Result<(), Error> {
        row.write(&mut self.kept);
        self.len += 1;
        if self.kept.len() >= self.limit * SIZE {
            if let Some(make) = self.make.take() {
                self.file = Some(make()?);
            }
            if let Some(file) = &mut self.file {
                file.write_all(&self.kept).map_err(failed)?;
                self.kept.clear();
            }
        }
        Ok(())
    }

    /// All of them as bytes, for [`Rows::take_from`].
    ///
    /// # Errors
    /// When the file cannot be read, or `out` not be written.
    pub fn copy_to(&mut self, out: &mut impl io::Write) -> Result<(), Error> {
        if let Some(file) = &mut self.file {
            file.rewind().map_err(failed)?;
            io::copy(file, out).map_err(failed)?;
            file.seek(SeekFrom::End(0)).map_err(failed)?;
        }
        out.write_all(&self.kept).map_err(failed)
    }

    /// Adds what [`Rows::copy_to`] wrote, its times moved.
    ///
    /// # Errors
    /// When `from` cannot be read, or the file not be written.
    pub fn take_from(&mut self, from: &mut impl io::Read, moved: impl Fn(Ns) -> Ns) -> Result<(), Error> {
        let mut bytes = [0; SIZE];
        loop {
            match from.read_exact(&mut bytes) {
                Ok(()) => self.add(&RequestRow::read(&bytes).moved(&moved))?,
                Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(cause) => return Err(failed(cause)),
            }
        }
    }

    /// Each row in order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn each(&mut self, mut take: impl FnMut(&RequestRow)) -> Result<(), Error> {
        if let Some(file) = &mut self.file {
            file.rewind().map_err(failed)?;
            let mut input = BufReader::with_capacity(1 << 18, &mut *file);
            let mut bytes = [0; SIZE];
            let kept = (self.kept.len() / SIZE) as u64;
            for _ in kept..self.len {
                input.read_exact(&mut bytes).map_err(failed)?;
                take(&RequestRow::read(&bytes));
            }
            file.seek(SeekFrom::End(0)).map_err(failed)?;
        }
        for bytes in self.kept.as_chunks::<SIZE>().0 {
            take(&RequestRow::read(bytes));
        }
        Ok(())
    }
}

fn failed(cause: io::Error) -> Error {
    Error::archive("cannot keep the rows of the summary in a file without a name")
        .hint("check that the disk of the records has free space")
        .because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: u64) -> RequestRow {
        RequestRow {
            index,
            sent: Some(index * 3),
            output: Some(index as u32),
            status: Status::Short,
            ..RequestRow::default()
        }
    }

    #[test]
    fn a_row_comes_back_with_what_is_absent_absent() {
        let full = RequestRow {
            index: 1,
            status: Status::NotSent,
            kernel: true,
            intended: Some(2),
            sent: Some(3),
            connected: Some(4),
            first_event: Some(5),
            first_token: Some(6),
            first_token_read: Some(7),
            first_content: Some(8),
            last_token: Some(9),
            end: Some(10),
            pieces: 11,
            hidden: Hidden::BareAll,
            doubt: Doubt::Long,
            text_bytes: 20,
            first_tokens: Some(12),
            input: Some(13),
            cached: Some(14),
            output: Some(15),
            isl: Some(16),
            isl_sent: Some(17),
            osl: Some(18),
            resent: 19,
        };
        for row in [full, RequestRow::default()] {
            let mut bytes = Vec::new();
            row.write(&mut bytes);
            assert_eq!(RequestRow::read(bytes.as_slice().try_into().unwrap()), row);
        }
        for (number, status) in (0_u8..12).map(|n| (n, status(n))) {
            assert_eq!(status as u8, number);
        }
        assert!((0..).zip(Doubt::ALL).all(|(number, doubt)| doubt as u8 == number));
        assert!((0..6).all(|number| hidden(number) as u8 == number));
    }

    #[test]
    fn rows_of_another_clock_join_those_of_this_one() {
        let none = || Rows::new(|| unreachable!("few rows stay in memory"));
        let (mut own, mut other) = (none(), none());
        own.add(&row(1)).unwrap();
        other.add(&row(2)).unwrap();
        other.add(&RequestRow { sent: None, ..row(3) }).unwrap();
        let mut sent = Vec::new();
        other.copy_to(&mut sent).unwrap();
        own.take_from(&mut sent.as_slice(), |at| at + 100).unwrap();
        let mut found = Vec::new();
        own.each(|row| found.push((row.index, row.sent))).unwrap();
        assert_eq!(found, [(1, Some(3)), (2, Some(106)), (3, None)]);
        assert_eq!(own.count(), 3);
    }

    #[test]
    fn a_million_rows_hold_the_memory_of_a_few() {
        let folder = sparkbench_testing::Folder::new("rows");
        let path = folder.join("rows");
        let mut rows = Rows::new({
            let path = path.clone();
            move || super::super::create(&path, true)
        });
        for index in 0..1_000_000 {
            rows.add(&row(index)).unwrap();
            assert!(rows.kept.capacity() <= 2 * KEPT * SIZE);
        }
        assert!(!path.exists(), "the file has no name");
        for _ in 0..2 {
            let mut next = 0;
            rows.each(|found| {
                assert_eq!(*found, row(next));
                next += 1;
            })
            .unwrap();
            assert_eq!(next, 1_000_000);
        }
        // More may follow after a look.
        rows.add(&row(1_000_000)).unwrap();
        let mut last = None;
        rows.each(|row| last = Some(row.index)).unwrap();
        assert_eq!((last, rows.count()), (Some(1_000_000), 1_000_001));
    }
}
