//! `chunks.sbc`: arrival time and size of every event of every stream, in about five bytes each.
//!
//! In:  [`Chunk`]s of one request, in order.  Out: bytes of a block, [`Reader`], which gives them back.
//! Not here: files and threads (see [`super`]), what follows from the times (see `load::summary`).
//!
//! The file is a stream: it is written and read from front to back, and data from before a crash can be read. Its first line is JSON and
//! names the columns. Then come blocks, each with chunks of one request:
//!
//! ```text
//! u32 length │ u32 CRC-32 │ payload: request, first, count, more, at, then per column: length, mode, values
//! ```
//!
//! Numbers in the payload are LEB128 varints. Values of columns are signed and therefore zigzag-coded first. A column is written in the mode
//! that takes the fewest bytes. The sizes of one server hardly change for hours, so most columns cost nothing. What remains is the jitter of
//! the times. Eight zero bytes end the file. Without them it is torn.
//!
//! Not a general format. Parquet would need its footer, and so a file that is whole. It would also need a large library beside the hot path.

mod code;
mod read;

pub use read::{Block, Ending, Header, Reader};

use serde::Serialize;

use self::code::Column;
use super::super::order::Chunk;
use sparkbench_host::net::Ns;

/// Schema in the first line.
pub const SCHEMA: &str = "sparkbench.chunks/1";
/// Name of the file.
pub const FILE: &str = "chunks.sbc";
/// End of the file.
pub const END: [u8; 8] = [0; 8];
/// Resolution of the read lag, nanoseconds. A tenth of a microsecond is far finer than needed, and saves a byte a chunk.
pub const LAG_STEP_NS: u32 = 100;
/// Names of [`super::super::order::ChunkKind`], by number.
pub const KINDS: [&str; 10] =
    ["empty", "content", "reasoning", "tool", "usage", "refusal", "silent", "closing", "unread", "bare"];

/// Columns of a block in order: name, unit, meaning.
pub const COLUMNS: [(&str, &str, &str); 6] = [
    ("gap", "ns", "since the chunk before. One value less than chunks: the first came at the block's `at`"),
    ("lag", "100 ns", "from the kernel's time to ours. 0 where there is no time of the kernel"),
    ("envelope", "bytes", "of the event in the stream, its line ends included, less those of its text"),
    ("text", "bytes", "of generated text"),
    ("tokens", "tokens", "where the server counts along. 0 is not known"),
    ("kind", "number", "place in `kinds`"),
];

/// The first line, without its end.
pub fn header(origin: Ns) -> String {
    #[derive(Serialize)]
    struct Line {
        schema: &'static str,
        clock: &'static str,
        origin_ns: Ns,
        block: [&'static str; 5],
        columns: Vec<ColumnLine>,
        modes: [&'static str; 4],
        kinds: [&'static str; KINDS.len()],
    }
    #[derive(Serialize)]
    struct ColumnLine {
        name: &'static str,
        unit: &'static str,
        about: &'static str,
    }
    let line = Line {
        schema: SCHEMA,
        clock: "CLOCK_MONOTONIC",
        origin_ns: origin,
        block: [
            "request",
            "first",
            "count",
            "more (1: another block of the request follows)",
            "at (ns after origin, zigzag)",
        ],
        columns: COLUMNS.iter().map(|(name, unit, about)| ColumnLine { name, unit, about }).collect(),
        modes: ["constant", "plain", "deltas", "runs"],
        kinds: KINDS,
    };
    // Plain strings and numbers cannot fail to become JSON.
    serde_json::to_string(&line).unwrap_or_default()
}

/// Chunks to be a block.
#[derive(Debug, Clone, Copy)]
pub struct ChunkBlock<'a> {
    /// `index` of the request.
    pub request: u64,
    /// Number of the first of them within the request.
    pub first: u32,
    /// Whether more of the request follow in a later block.
    pub more: bool,
    /// The chunks, in order.
    pub chunks: &'a [Chunk],
}

/// Makes blocks. Keeps its buffers.
#[derive(Debug, Default)]
pub struct Encoder {
    column: Column,
    payload: Vec<u8>,
}

impl Encoder {
    /// Appends a block to `out`. No chunks: no block.
    pub fn block(&mut self, origin: Ns, part: &ChunkBlock<'_>, out: &mut Vec<u8>) {
        let chunks = part.chunks;
        let Some(head) = chunks.first() else { return };
        let payload = &mut self.payload;
        payload.clear();
        code::put(payload, part.request);
        code::put(payload, u64::from(part.first));
        code::put(payload, chunks.len() as u64);
        code::put(payload, u64::from(part.more));
        code::put(payload, code::zigzag(since(head.at, origin)));
        let column = &mut self.column;
        column.put(chunks.windows(2).map(|pair| since(pair[1].at, pair[0].at)), payload);
        column.put(
            chunks.iter().map(|chunk| i64::from(chunk.lag_ns.saturating_add(LAG_STEP_NS / 2) / LAG_STEP_NS)),
            payload,
        );
        column.put(chunks.iter().map(|chunk| i64::from(chunk.bytes) - i64::from(chunk.text)), payload);
        column.put(chunks.iter().map(|chunk| i64::from(chunk.text)), payload);
        column.put(chunks.iter().map(|chunk| i64::from(chunk.tokens)), payload);
        column.put(chunks.iter().map(|chunk| chunk.kind as i64), payload);
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&code::crc32(payload).to_le_bytes());
        out.extend_from_slice(payload);
    }
}

/// `later - earlier`, below zero where it is the other way round.
fn since(later: Ns, earlier: Ns) -> i64 {
    later.wrapping_sub(earlier).cast_signed()
}

#[cfg(test)]
mod tests;
