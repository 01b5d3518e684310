//! Reads `chunks.sbc` back, block by block.
//!
//! In:  any reader.  Out: [`Block`]s in the order in which they were written, and how the file ended.
//! Not here: joining the blocks of one request, which lie between those of others.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use super::code;
use super::{END, LAG_STEP_NS, SCHEMA};
use crate::order::{Chunk, ChunkKind};
use sparkbench_host::net::Ns;
use sparkbench_text::error::{Error, Place};

/// A longer first line is not from this program.
const HEADER_LIMIT: u64 = 64 << 10;
/// A larger block is not from this program. The largest written block is below 8 KiB.
const BLOCK_LIMIT: usize = 4 << 20;

/// Content of the first line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Header {
    pub schema: String,
    /// The moment from which the files of the load count, on the monotonic clock of the machine that ran it.
    pub origin_ns: Ns,
}

/// Chunks of one request that follow one another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// `index` of the request.
    pub request: u64,
    /// Number of the first chunk within the request, from 0.
    pub first: u32,
    /// Whether another block of the request follows.
    pub more: bool,
    /// The chunks. `at` on the monotonic clock, `lag_ns` in steps of [`LAG_STEP_NS`].
    pub chunks: Vec<Chunk>,
}

/// How a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// There is more to read.
    Open,
    /// With its end mark.
    Whole,
    /// In the middle: what came before this byte is good.
    Torn {
        /// Byte at which the last good block ends.
        at: u64,
        /// The fault behind it.
        why: &'static str,
    },
}

/// See the module.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    at: u64,
    ending: Ending,
    payload: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// When the file is not from this program, or has another schema.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut line = Vec::new();
        (&mut input)
            .take(HEADER_LIMIT)
            .read_until(b'\n', &mut line)
            .map_err(|cause| Error::archive("reading stopped").because(cause))?;
        let strange = |what: &str| Error::archive(what).at(Place::Line(1)).hint("chunk files are named chunks.sbc");
        let header: Header = serde_json::from_slice(&line)
            .map_err(|cause| strange("the file is not a file of chunks").because(cause))?;
        if header.schema != SCHEMA {
            return Err(strange("the file of chunks is of another version").detail(format!(
                "expected {SCHEMA}, found \"{}\"",
                header.schema.chars().take(60).collect::<String>()
            )));
        }
        Ok(Self { input, header, at: line.len() as u64, ending: Ending::Open, payload: Vec::new() })
    }

    /// Content of the first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How the file ended. [`Ending::Open`] until [`Reader::next_block`] has given nothing.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// The next block. Nothing at the end, be it the true one or a tear.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_block(&mut self) -> Result<Option<Block>, Error> {
        if self.ending != Ending::Open {
            return Ok(None);
        }
        match self.block() {
            Ok(Ok(Some(block))) => Ok(Some(block)),
            Ok(Ok(None)) => {
                self.ending = Ending::Whole;
                Ok(None)
            }
            Ok(Err(why)) => {
                self.ending = Ending::Torn { at: self.at, why };
                Ok(None)
            }
            Err(cause) => Err(Error::archive("reading the file of chunks stopped early").because(cause)),
        }
    }

    fn block(&mut self) -> io::Result<Result<Option<Block>, &'static str>> {
        let mut frame = [0; 8];
        if !fill(&mut self.input, &mut frame)? {
            return Ok(Err("the end mark is missing"));
        }
        if frame == END {
            return Ok(Ok(None));
        }
        let [a, b, c, d, e, f, g, h] = frame;
        let (length, sum) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]));
        if length == 0 || length > BLOCK_LIMIT {
            return Ok(Err("the length of a block is impossible"));
        }
        self.payload.resize(length, 0);
        if !fill(&mut self.input, &mut self.payload)? {
            return Ok(Err("a block is cut short"));
        }
        if code::crc32(&self.payload) != sum {
            return Ok(Err("the checksum of a block does not match"));
        }
        match decode(&self.payload, self.header.origin_ns) {
            Some(block) => {
                self.at += 8 + length as u64;
                Ok(Ok(Some(block)))
            }
            None => Ok(Err("the columns of a block do not match its count")),
        }
    }
}

/// Fills the buffer. False when the input ends before.
fn fill(input: &mut impl Read, into: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(into) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(cause) => Err(cause),
    }
}

fn decode(payload: &[u8], origin: Ns) -> Option<Block> {
    let mut rest = payload;
    let request = code::take(&mut rest)?;
    let first = u32::try_from(code::take(&mut rest)?).ok()?;
    // A constant column of any length takes two bytes: the count alone could ask for any amount of memory.
    let count = usize::try_from(code::take(&mut rest)?).ok().filter(|count| (1..=1 << 20).contains(count))?;
    let more = code::take(&mut rest)? != 0;
    let mut at = origin.wrapping_add(code::unzigzag(code::take(&mut rest)?).cast_unsigned());
    let gap = code::column(&mut rest, count - 1)?;
    let mut others = [(); 5].map(|()| None);
    for column in &mut others {
        *column = Some(code::column(&mut rest, count)?);
    }
    let [Some(lag), Some(envelope), Some(text), Some(tokens), Some(kind)] = others else { return None };
    if !rest.is_empty() {
        return None;
    }
    let mut chunks = Vec::with_capacity(count);
    for place in 0..count {
        if let Some(before) = place.checked_sub(1) {
            at = at.wrapping_add(gap[before].cast_unsigned());
        }
        chunks.push(Chunk {
            at,
            lag_ns: u32::try_from(lag[place]).ok()?.saturating_mul(LAG_STEP_NS),
            bytes: u32::try_from(envelope[place].checked_add(text[place])?).ok()?,
            text: u32::try_from(text[place]).ok()?,
            tokens: u16::try_from(tokens[place]).ok()?,
            kind: kind_of(kind[place])?,
        });
    }
    Some(Block { request, first, more, chunks })
}

const fn kind_of(number: i64) -> Option<ChunkKind> {
    Some(match number {
        0 => ChunkKind::Empty,
        1 => ChunkKind::Content,
        2 => ChunkKind::Reasoning,
        3 => ChunkKind::Tool,
        4 => ChunkKind::Usage,
        5 => ChunkKind::Refusal,
        6 => ChunkKind::Silent,
        7 => ChunkKind::Closing,
        8 => ChunkKind::Unread,
        9 => ChunkKind::Bare,
        _ => return None,
    })
}
