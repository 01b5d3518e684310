//! Faults in the bytes of a server, each in one clean line.
//!
//! In:  where reading stopped.  Out: [`Fault`].
//! Not here: what a fault means for a request (see `load::order::Status`), removing secrets.
//!
//! Excerpts come from a server and go to a person's terminal: they are short, on one line, and without control characters.

use std::fmt;

/// Longest excerpt of what a server sent, characters.
pub(crate) const EXCERPT: usize = 120;

/// Why bytes could not be read as what they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The answer does not begin with a head of HTTP/1.0 or 1.1.
    NotHttp {
        /// How it begins.
        excerpt: String,
    },
    /// The head is longer than [`super::HEAD_LIMIT`], or has more fields than anybody sends.
    HeadTooLong,
    /// `Content-Length` is no number, too large, or there are two that differ.
    BadLength,
    /// The body is coded (`gzip`), which was not asked for.
    Coded {
        /// The coding as given.
        coding: String,
    },
    /// The chunked coding is broken: no size, a size that overflows, no line end where one must be, a line without end.
    BadChunk,
    /// The connection ended too early.
    Truncated {
        /// The part that had not arrived yet.
        missing: Missing,
    },
    /// An event of the stream, or one line of it, is longer than allowed.
    EventTooLong {
        /// The limit, bytes.
        limit: usize,
    },
    /// The data of an event is no JSON object.
    NotJson {
        /// How it begins.
        excerpt: String,
    },
}

/// The part that had not arrived when a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Not one byte of an answer came.
    Everything,
    /// The end of the head.
    Head,
    /// Bytes of a body of known length.
    Bytes(u64),
    /// The last chunk of a chunked body.
    LastChunk,
}

impl Fault {
    pub(super) fn not_http(bytes: &[u8]) -> Self {
        Self::NotHttp { excerpt: excerpt(bytes) }
    }

    pub(super) fn not_json(bytes: &[u8]) -> Self {
        Self::NotJson { excerpt: excerpt(bytes) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHttp { excerpt } => write!(f, "the answer is not HTTP/1.1, it begins with \"{excerpt}\""),
            Self::HeadTooLong => {
                write!(
                    f,
                    "the head of the answer is longer than {} KiB or has too many fields",
                    super::HEAD_LIMIT >> 10
                )
            }
            Self::BadLength => {
                f.write_str("the Content-Length of the answer is not a number, or there are two that differ")
            }
            Self::Coded { coding } => write!(f, "the answer is coded as \"{coding}\", which was not asked for"),
            Self::BadChunk => f.write_str("the chunked coding of the answer is broken"),
            Self::Truncated { missing } => write!(f, "the connection ended before {missing} came"),
            Self::EventTooLong { limit } => write!(f, "an event of the stream is longer than {limit} bytes"),
            Self::NotJson { excerpt } => {
                write!(f, "an event of the stream is not a JSON object, it begins with \"{excerpt}\"")
            }
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("any answer"),
            Self::Head => f.write_str("the end of the answer's head"),
            Self::Bytes(bytes) => write!(f, "the last {bytes} bytes of the answer"),
            Self::LastChunk => f.write_str("the last chunk of the answer"),
        }
    }
}

/// The beginning of what a server sent, fit for one line of a report.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    one_line(&String::from_utf8_lossy(bytes.get(..4 * EXCERPT).unwrap_or(bytes)), EXCERPT)
}

/// Text on one line, without control characters and quotes that would end the quoting, at most `limit` characters.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let clean = |c: char| {
        if c.is_control() {
            ' '
        } else if c == '"' {
            '\''
        } else {
            c
        }
    };
    sparkbench_text::excerpt::excerpt(text.trim().chars().map(clean), limit)
}
