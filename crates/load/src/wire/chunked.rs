//! The chunked coding of a body, read in place.
//!
//! In:  a place in the coding and bytes.  Out: slices of data, the next place.
//! Not here: heads (see [`super::response`]).
//!
//! RFC 9112, 7.1. Sizes in either case. Extensions and trailers are skipped. A size that overflows, a line without end and data that do not
//! end where their size says are faults. Every place can lie at the end of a feed, so each is a state.

use memchr::memchr;

use super::fault::Fault;
use super::response_part::{HEAD_LIMIT, ResponsePart};

/// Longest rest of a chunk's size line, bytes. Nobody uses these extensions. The limit only ends a line without end.
const EXTENSION_LIMIT: u32 = 16 << 10;
/// Longest digits of a chunk's size. Leading zeros count.
const SIZE_DIGITS: u32 = 32;

/// Where in the chunked coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunked {
    Size {
        size: u64,
        digits: u32,
    },
    /// The rest of the size line.
    Extension {
        size: u64,
        seen: u32,
    },
    /// The LF of the size line.
    SizeEnd {
        size: u64,
    },
    Data(u64),
    /// CR LF or LF after the data.
    DataEnd,
    DataLf,
    /// At the start of a line of the trailer.
    Trailer {
        seen: u32,
    },
    TrailerLine {
        seen: u32,
    },
    TrailerLf,
}

impl Chunked {
    /// At the first size.
    pub(super) const START: Self = Self::Size { size: 0, digits: 0 };
}

/// The first `length` bytes, or all there are, and the rest.
pub(super) fn split(bytes: &[u8], length: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len()))
}

/// The data of a chunk that is here whole and as all servers write it, and what is behind it. Everything else is read step by step.
pub(super) fn whole_chunk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut size = 0;
    let mut at = 0;
    // Seven digits cannot overflow, and no event needs more.
    while let Some(digit) = bytes.get(at).and_then(|byte| (*byte as char).to_digit(16)).filter(|_| at < 7) {
        size = size << 4 | digit as usize;
        at += 1;
    }
    let after = bytes.get(at..)?.strip_prefix(b"\r\n").filter(|_| size > 0)?;
    let (body, after) = after.split_at_checked(size)?;
    Some((body, after.strip_prefix(b"\r\n")?))
}

/// One step in the chunked coding from `place`, `bytes` not empty: the next place, none behind the last, and what is left.
pub(super) fn step<'b>(
    place: Chunked,
    bytes: &'b [u8],
    on: &mut impl FnMut(ResponsePart<'_>),
) -> Result<(Option<Chunked>, &'b [u8]), Fault> {
    let (byte, after) = bytes.split_first().ok_or(Fault::BadChunk)?;
    let next = match (place, byte) {
        (Chunked::Size { mut size, mut digits }, _) => {
            let mut left = bytes;
            while let [byte, after @ ..] = left {
                let Some(digit) = (*byte as char).to_digit(16) else { break };
                // Shifting out a digit is an overflow.
                if size >> 60 != 0 || digits >= SIZE_DIGITS {
                    return Err(Fault::BadChunk);
                }
                (size, digits, left) = (size << 4 | u64::from(digit), digits + 1, after);
            }
            return match left {
                [] => Ok((Some(Chunked::Size { size, digits }), left)),
                _ if digits == 0 => Err(Fault::BadChunk),
                [b'\r', after @ ..] => Ok((Some(Chunked::SizeEnd { size }), after)),
                [b'\n', after @ ..] => Ok((Some(data_or_trailer(size)), after)),
                [b';' | b' ' | b'\t', after @ ..] => Ok((Some(Chunked::Extension { size, seen: 0 }), after)),
                _ => Err(Fault::BadChunk),
            };
        }
        (Chunked::Extension { size, seen }, _) => {
            let end = memchr(b'\n', bytes);
            let seen = seen.saturating_add(u32::try_from(end.unwrap_or(bytes.len())).unwrap_or(u32::MAX));
            if seen > EXTENSION_LIMIT {
                return Err(Fault::BadChunk);
            }
            return Ok(match end {
                Some(end) => (Some(data_or_trailer(size)), &bytes[end + 1..]),
                None => (Some(Chunked::Extension { size, seen }), &[]),
            });
        }
        (Chunked::SizeEnd { size }, b'\n') => data_or_trailer(size),
        (Chunked::Data(left), _) => {
            let (body, after) = split(bytes, left);
            on(ResponsePart::Body(body));
            let left = left - body.len() as u64;
            return Ok((Some(if left == 0 { Chunked::DataEnd } else { Chunked::Data(left) }), after));
        }
        (Chunked::DataEnd, b'\r') => Chunked::DataLf,
        (Chunked::DataEnd | Chunked::DataLf, b'\n') => Chunked::Size { size: 0, digits: 0 },
        (Chunked::Trailer { .. }, b'\r') => Chunked::TrailerLf,
        (Chunked::Trailer { .. } | Chunked::TrailerLf, b'\n') => return Ok((None, after)),
        (Chunked::Trailer { seen } | Chunked::TrailerLine { seen }, _) => {
            let end = memchr(b'\n', bytes);
            let line = end.map_or(bytes.len(), |end| end + 1);
            let seen = seen.saturating_add(u32::try_from(line).unwrap_or(u32::MAX));
            if seen as usize > HEAD_LIMIT {
                return Err(Fault::BadChunk);
            }
            let next = if end.is_some() { Chunked::Trailer { seen } } else { Chunked::TrailerLine { seen } };
            return Ok((Some(next), &bytes[line..]));
        }
        (Chunked::SizeEnd { .. } | Chunked::DataEnd | Chunked::DataLf | Chunked::TrailerLf, _) => {
            return Err(Fault::BadChunk);
        }
    };
    Ok((Some(next), after))
}

/// The part after a chunk's size line.
const fn data_or_trailer(size: u64) -> Chunked {
    if size == 0 { Chunked::Trailer { seen: 0 } } else { Chunked::Data(size) }
}
