//! Output tokens by the server's count, where that can be the count of the answer that came.
//!
//! In:  the record of a request.  Out: its tokens.
//! Not here: when a count contradicts what came (see `Claim` of the archive), which figures are left out (see `summary`).

use crate::order::Record;
pub(crate) use sparkbench_archive::manifest::Claim;

/// Output tokens by the server's count, see [`Claim::credible`].
pub(crate) fn counted(record: &Record) -> Option<u32> {
    let (chunks, bytes, asked) = (record.pieces, record.text_bytes, record.asked.osl);
    Claim { tokens: record.usage.output?, chunks, bytes, asked }.credible()
}
