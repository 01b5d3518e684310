//! Reads within limits: hashes on the way, limits the length of lines, and never exceeds its memory limit.
//!
//! In:  a reader.  Out: bytes and lines, the SHA-256 of everything that went through.
//! Not here: meaning.

pub use sparkbench_text::hash::hash;
pub(super) use sparkbench_text::hash::hex;
use std::io::{self, BufRead, Read};

use sha2::{Digest as _, Sha256};

/// Largest file that is held in memory as a whole. A structured file above it is left out with a reason.
/// 128 MiB hold about 400,000 requests of the wordiest tool known. Reading them as a tree takes some six times as much.
pub const WHOLE_LIMIT: u64 = 128 << 20;

/// Longest line that is read. The rest of a longer one is skipped. Lines of logs that carry a figure are below 1 KiB.
pub const LINE_LIMIT: usize = 64 << 10;

/// Bytes at the start of a file that decide its format.
pub const HEAD_BYTES: usize = 256 << 10;

/// A reader that hashes what passes. Only what was consumed is hashed.
pub struct Hashing<R> {
    inner: R,
    digest: Sha256,
    passed: u64,
}

impl<R: BufRead> Hashing<R> {
    /// Starts at the reader's present position.
    pub fn new(inner: R) -> Self {
        Self { inner, digest: Sha256::new(), passed: 0 }
    }

    /// Reads what is left and gives the hash of everything, in lower-case hexadecimal, and the number of bytes.
    ///
    /// # Errors
    /// Whatever the reader reports.
    pub fn finish(mut self) -> io::Result<(String, u64)> {
        loop {
            let length = self.inner.fill_buf()?.len();
            if length == 0 {
                return Ok((hex(&self.digest.finalize()), self.passed));
            }
            self.consume(length);
        }
    }
}

impl<R: BufRead> Read for Hashing<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let available = self.inner.fill_buf()?;
        let length = available.len().min(target.len());
        if let (Some(to), Some(from)) = (target.get_mut(..length), available.get(..length)) {
            to.copy_from_slice(from);
        }
        self.consume(length);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for Hashing<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        // The buffer still holds what is about to be consumed. Asking again neither reads nor fails.
        if let Ok(buffer) = self.inner.fill_buf() {
            self.digest.update(buffer.get(..amount).unwrap_or(buffer));
        }
        self.passed += amount as u64;
        self.inner.consume(amount);
    }
}

/// One line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1. CR, LF and CRLF each end one line.
    pub number: u64,
    /// The bytes, at most the limit.
    pub bytes: &'a [u8],
    /// True when the line was longer and its rest was skipped.
    pub cut: bool,
}

/// Splits a reader into lines at CR, LF and CRLF alike, keeping at most one line of limited length in memory.
///
/// Progress bars rewrite a line with a lone CR. Taking that as an end keeps the last bar from hiding the line behind it.
pub struct Lines<R> {
    input: R,
    line: Vec<u8>,
    limit: usize,
    number: u64,
    after_cr: bool,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        Self { input, line: Vec::new(), limit, number: 0, after_cr: false }
    }

    /// The next line. `None` at the end.
    ///
    /// # Errors
    /// Whatever the reader reports.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let (mut cut, mut any) = (false, false);
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cause),
            };
            if buffer.is_empty() {
                if !any {
                    return Ok(None);
                }
                break;
            }
            if std::mem::take(&mut self.after_cr) && buffer.first() == Some(&b'\n') {
                self.input.consume(1);
                continue;
            }
            any = true;
            let end = memchr::memchr2(b'\n', b'\r', buffer);
            let content = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            let room = self.limit.saturating_sub(self.line.len());
            cut |= content.len() > room;
            self.line.extend_from_slice(content.get(..room).unwrap_or(content));
            let used = content.len();
            if end.is_some() {
                self.after_cr = buffer.get(used) == Some(&b'\r');
                self.input.consume(used + 1);
                break;
            }
            self.input.consume(used);
        }
        self.number += 1;
        Ok(Some(Line { number: self.number, bytes: &self.line, cut }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], buffer: usize, limit: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut reader = Lines::new(io::BufReader::with_capacity(buffer, text), limit);
        let mut all = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            all.push((line.number, line.bytes.to_vec(), line.cut));
        }
        all
    }

    #[test]
    fn cr_lf_and_crlf_each_end_one_line_whatever_the_buffer() {
        let expected: Vec<_> =
            [(1, &b"a"[..]), (2, b"b"), (3, b""), (4, b"c")].map(|(n, t)| (n, t.to_vec(), false)).into();
        for buffer in 1..12 {
            assert_eq!(lines(b"a\r\nb\r\rc\n", buffer, 10), expected, "buffer {buffer}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_a_line_and_an_overlong_one_is_cut() {
        assert_eq!(lines(b"abcdef\nxy", 4, 3), [(1, b"abc".to_vec(), true), (2, b"xy".to_vec(), false)]);
        assert_eq!(lines(b"", 4, 3), []);
    }

    #[test]
    fn memory_stays_at_the_limit_on_an_endless_line() {
        let mut reader = Lines::new(io::BufReader::new(io::repeat(b'x').take(8 << 20)), LINE_LIMIT);
        assert!(reader.next_line().unwrap().unwrap().cut);
        assert!(reader.line.capacity() <= 2 * LINE_LIMIT);
    }

    #[test]
    fn the_hash_is_of_every_byte_however_little_was_read() {
        let text = b"abc";
        for read in 0..=3 {
            let mut reader = Hashing::new(&text[..]);
            let mut some = vec![0; read];
            reader.read_exact(&mut some).unwrap();
            // FIPS 180-2, appendix B.1.
            let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
            assert_eq!(reader.finish().unwrap(), (known.to_owned(), 3));
        }
    }
}
