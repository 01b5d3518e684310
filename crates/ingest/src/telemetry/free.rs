//! Memory of the machine as a loop around `free -m` writes it: `HH:MM:SS total used available swap`, no header, blanks between.
//!
//! In:  such lines.  Out: samples with memory of the machine in MiB (the program says "mb" and means MiB).
//! Not here: other orders of columns. Only the sum of used and available distinguishes this one.
//!
//! Only a time of day is known, so the log crosses midnight when the clock steps back.

use super::csv::after_midnight;
use super::{cell, detail, plain};
use crate::figure::excerpt;
use crate::source_file::unreadable;
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_model::{Instant, Sample};
use sparkbench_text::error::{Error, Place};

use super::collect::Collect;

/// See the module.
pub(crate) struct FreeLog;

const RULE: &str = "free-log";
/// MiB by which rounding may part the total from its two parts.
const ROUNDING_MIB: f64 = 2.0;

impl Format for FreeLog {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "a shell loop around free -m",
            versions: "any",
            sign: "lines of a time of day and total, used, available (their sum fits), swap",
            reads: "memory of the machine by time",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        const LINES: usize = 4;
        let mut lines = head.text.split(['\n', '\r']).filter(|line| !line.trim().is_empty());
        // The last line of the head may be cut.
        let first: Vec<&str> = lines.by_ref().take(LINES).collect();
        head.is_text() && !first.is_empty() && first.iter().take(first.len().max(2) - 1).all(|line| row(line).is_some())
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut all = Collect::default();
        let mut clock = (0.0, 0.0);
        let mut lines = file.lines(LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            let text = String::from_utf8_lossy(line.bytes);
            if text.trim().is_empty() {
                continue;
            }
            let Some((seconds, [total, used, available], swap)) = row(&text) else {
                if parsed.left_out.len() < 20 {
                    parsed.left_out.push(
                        Error::archive("a row of telemetry is left out").at(Place::Line(line.number)).detail(format!(
                            "expected a time of day and four figures, found \"{}\"",
                            excerpt(text.trim())
                        )),
                    );
                }
                continue;
            };
            let Some(at) = Instant::from_unix_seconds(after_midnight(&mut clock, seconds)) else { continue };
            all.sample(
                "",
                Sample {
                    host_memory_used_mib: Some(used),
                    host_memory_available_mib: Some(available),
                    host_swap_used_mib: swap,
                    ..Sample::new(at)
                },
            );
            all.figure("", "memory of the machine", total, "MiB");
        }
        parsed.notes.push("times of day without a date. A step back is taken for midnight".to_owned());
        let (samples, extras, notes) = all.finish(file, RULE);
        parsed.notes.extend(notes);
        let mut partial = detail();
        (partial.telemetry, partial.extras) = (samples, extras);
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// Seconds since midnight, then total, used, available, and swap where it is.
fn row(line: &str) -> Option<(f64, [f64; 3], Option<f64>)> {
    let mut words = line.split_whitespace();
    let seconds = cell::clock(words.next()?)?;
    let mut next = || words.next().and_then(|word| Some(plain(word)?.0));
    let (total, used, available, swap) = (next()?, next()?, next()?, next());
    let whole = words.next().is_none() && total > 0.0 && (used + available - total).abs() <= ROUNDING_MIB;
    whole.then_some((seconds, [total, used, available], swap))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "23:59:52 124610 4691 119919 417 \n00:00:02 124610 49359 75250 417 \n00:00:12 124610 oops\n";

    #[test]
    fn a_log_crosses_midnight_and_a_broken_line_is_named() {
        let mut input = LOG.as_bytes();
        let parsed = FreeLog.parse(&mut SourceFile::new("hostmem.log", LOG.len() as u64, &mut input)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        assert_eq!(partial.telemetry[1].at.seconds_since(partial.telemetry[0].at), 10.0);
        assert_eq!(
            (partial.telemetry[1].host_memory_used_mib, partial.telemetry[0].host_swap_used_mib),
            (Some(49_359.0), Some(417.0))
        );
        assert!(parsed.left_out[0].to_string().contains("line 3"));
    }

    #[test]
    fn other_columns_are_not_taken_for_memory() {
        for (text, ours) in [
            (LOG, true),
            ("00:27:02 124610 4691 119919 417\n", true),
            ("00:27:02 1 2 3 4\n00:27:03 1 2 3 4\n", false),
            ("12:00:00 started\n", false),
            ("", false),
        ] {
            assert_eq!(FreeLog.sniff(&Head::new("x.log", text, 1)), ours, "{text}");
        }
    }
}
