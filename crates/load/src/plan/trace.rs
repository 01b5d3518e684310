//! A recorded trace: Mooncake's JSON lines.
//!
//! In:  text of the file.  Out: [`Trace`]: when, how long, and which blocks of the prompt are shared with others.
//! Not here: reading the file (see `input`), the text of the blocks (see `text`).
//!
//! A line is `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353, 2354]}`. It holds milliseconds,
//! tokens, and an id for each block of 512 tokens of the prompt. The last block may be shorter. Two prompts whose ids begin alike begin with
//! the same text. Other members are ignored. Lines are sorted by time. Times count from the first.

use serde::Deserialize;

use super::lengths::LONGEST;
use sparkbench_text::error::{Error, Place};

/// Tokens of a block.
pub(crate) const BLOCK_TOKENS: u32 = 512;

/// A trace, in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    lines: Vec<Recorded>,
    hashes: Vec<u64>,
}

/// One request of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Recorded {
    at_ns: u64,
    isl: u32,
    osl: u32,
    first_hash: usize,
    hashes: usize,
}

#[derive(Deserialize)]
struct WireLine {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

impl Trace {
    /// Reads the lines. Empty ones are skipped.
    ///
    /// # Errors
    /// The first line that is not one of a trace, by its number.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let wrong = |number: u64, why: String| {
            Error::usage(format!("cannot read '{name}' as a trace")).at(Place::Line(number)).detail(why).hint(
                "a line is {\"timestamp\": MS, \"input_length\": TOKENS, \"output_length\": TOKENS, \"hash_ids\": [N, ...]}",
            )
        };
        let mut trace = Self::default();
        let mut times = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let wire: WireLine = serde_json::from_str(line).map_err(|error| wrong(number, error.to_string()))?;
            if !wire.timestamp.is_finite() || wire.timestamp < 0.0 {
                return Err(wrong(number, format!("timestamp {} is not a time", wire.timestamp)));
            }
            for (field, value) in [("input_length", wire.input_length), ("output_length", wire.output_length)] {
                if value == 0 || value > LONGEST {
                    return Err(wrong(number, format!("{field} is {value}: expected 1 to {LONGEST}")));
                }
            }
            let blocks = u64::from(wire.input_length).div_ceil(u64::from(BLOCK_TOKENS));
            if wire.hash_ids.len() as u64 > blocks {
                let found = wire.hash_ids.len();
                return Err(wrong(
                    number,
                    format!("{found} hash_ids, but the input has {blocks} blocks of 512 tokens"),
                ));
            }
            times.push(wire.timestamp);
            trace.lines.push(Recorded {
                at_ns: 0,
                isl: wire.input_length,
                osl: wire.output_length,
                first_hash: trace.hashes.len(),
                hashes: wire.hash_ids.len(),
            });
            trace.hashes.extend(wire.hash_ids);
        }
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        for (line, time) in trace.lines.iter_mut().zip(times) {
            line.at_ns = ((time - first) * 1e6).round() as u64;
        }
        trace.lines.sort_by_key(|line| line.at_ns);
        if trace.lines.is_empty() {
            return Err(Error::usage(format!("the trace '{name}' has no lines"))
                .hint("a line is {\"timestamp\": 0, \"input_length\": 512, \"output_length\": 128}, times in ms"));
        }
        Ok(trace)
    }

    pub fn requests(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Time from the first, nanoseconds as recorded. Input and output tokens. Absent behind the end.
    pub fn get(&self, i: u64) -> Option<(u64, u32, u32)> {
        let line = self.lines.get(usize::try_from(i).ok()?)?;
        Some((line.at_ns, line.isl, line.osl))
    }

    /// Ids of its blocks, from the head of the prompt on.
    pub fn blocks(&self, i: u64) -> &[u64] {
        let line = usize::try_from(i).ok().and_then(|i| self.lines.get(i));
        line.map_or(&[], |line| &self.hashes[line.first_hash..line.first_hash + line.hashes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_in_order_of_time() {
        let text = "{\"timestamp\": 3052, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [46, 7]}\n\n\
                    {\"timestamp\": 3000.5, \"input_length\": 100, \"output_length\": 52, \"hash_ids\": [46], \"type\": \"chat\"}\n";
        let trace = Trace::parse("t", text).unwrap();
        assert_eq!((trace.get(0), trace.get(1), trace.get(2)), (Some((0, 100, 52)), Some((51_500_000, 600, 1)), None));
        assert_eq!((trace.blocks(0), trace.blocks(1)), (&[46][..], &[46, 7][..]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (line, why) in [
            ("{\"timestamp\": 1}", "missing field `input_length`"),
            ("nonsense", "expected"),
            ("{\"timestamp\": 1, \"input_length\": 0, \"output_length\": 1}", "input_length is 0"),
            ("{\"timestamp\": 1, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1, 2]}", "2 hash_ids, but"),
        ] {
            let good = "{\"timestamp\": 1, \"input_length\": 1, \"output_length\": 1}";
            let error = Trace::parse("t.jsonl", &format!("{good}\n{line}\n")).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(why), "{error}");
        }
        assert!(Trace::parse("t", "\n").unwrap_err().to_string().contains("has no lines"));
    }
}
