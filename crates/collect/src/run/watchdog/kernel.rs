//! Messages about the driver in the kernel's log during a run.
//!
//! In:  the kernel's messages since the start.  Out: the watchdog `driver-faults`, which ends the run at an Xid or when the driver is
//! out of memory.
//! Not here: whether the log may be read before a run (see the gate `kernel-log`), what the numbers mean (see `xid`).

use std::time::Duration;

use super::kind::{Moment, Start, Watchdog, absent};
use super::xid::{Xid, pci};
use sparkbench_host::Lines;
use sparkbench_model::Finding;

const NAME: &str = "driver-faults";

/// Lines taken at one look at most: a driver that floods the log must not hold the other watchdogs up.
const LINES_MAX: usize = 1000;
/// Lines named in a finding. The rest is counted.
const NAMED_MAX: usize = 3;
/// Length of a line in a finding.
const LENGTH_MAX: usize = 200;

/// Said by the driver before a machine whose GPU shares its memory stops answering.
/// Source: NVIDIA/open-gpu-kernel-modules issue 1358.
const NO_MEMORY: &str = "NV_ERR_NO_MEMORY";
/// Begins every message of the driver.
const DRIVER: &str = "NVRM:";
/// Said when the kernel kills for lack of memory, anywhere on the machine.
const KILLED: &str = "Out of memory: Killed process";

struct Faults {
    lines: Result<Box<dyn Lines>, String>,
    /// Address of the GPU that the run uses.
    ours: Option<(u32, u32, u32)>,
    notable: Vec<String>,
    count: u64,
}

pub(super) fn faults(start: &Start<'_>) -> Box<dyn Watchdog> {
    let lines = if start.settings.kernel_log {
        start.host.kernel_log().map_err(|cause| format!("the kernel's log cannot be read: {cause}"))
    } else {
        Err("switched off".to_owned())
    };
    Box::new(Faults { lines, ours: start.identity.pci.as_deref().and_then(pci), notable: Vec::new(), count: 0 })
}

impl Watchdog for Faults {
    fn tick(&mut self, _now: &Moment<'_>) -> Option<Finding> {
        for _ in 0..LINES_MAX {
            let Ok(lines) = &mut self.lines else { return None };
            match lines.next_line(Duration::ZERO) {
                Ok(Some(line)) => {
                    if let Some(finding) = self.line(&line) {
                        return Some(finding);
                    }
                }
                Ok(None) => return None,
                Err(cause) => self.lines = Err(format!("the kernel's log ended during the run: {cause}")),
            }
        }
        None
    }

    fn end(&mut self, now: &Moment<'_>) -> Finding {
        // A line can come between the last look and the end.
        if let Some(finding) = self.tick(now) {
            return finding;
        }
        if self.count > 0 {
            let more = self.count.saturating_sub(self.notable.len() as u64);
            let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
            return Finding::warned(
                NAME,
                format!("{}{rest}", self.notable.join("; ")),
                "read them in full with 'dmesg | grep NVRM'. A driver that complains may have slowed the run",
            )
            .value(self.count as f64, "lines")
            .limit("no line of the driver");
        }
        match &self.lines {
            Ok(_) => Finding::passed(NAME, "no line of the driver").limit("no line of the driver"),
            Err(why) => absent(
                NAME,
                why.clone(),
                "run as root, or run 'sysctl kernel.dmesg_restrict=0'. Switch it off with 'kernel_log' in [watchdogs]",
            ),
        }
    }
}

impl Faults {
    /// Takes one line. A finding ends the run.
    fn line(&mut self, line: &str) -> Option<Finding> {
        if let Some(xid) = Xid::read(line) {
            let reading = format!("Xid {}, {}: {}", xid.number, xid.meaning(), cut(line));
            let another = self.ours.zip(xid.pci).is_some_and(|(ours, theirs)| ours != theirs);
            if another {
                self.note(format!("on another GPU: {reading}"));
                return None;
            }
            let remedy = match xid.number {
                13 | 31 | 32 | 43 | 45 | 69 => {
                    "look for a fault of the program first, in its log and its version, then of the driver"
                }
                _ => {
                    "find the number in NVIDIA's catalogue of Xid errors. Reset the GPU or cut the power before the next run"
                }
            };
            return Some(Finding::refused(NAME, reading, remedy).value(f64::from(xid.number), "Xid").limit("no Xid"));
        }
        if line.contains(NO_MEMORY) {
            return Some(
                Finding::refused(
                    NAME,
                    format!("the driver is out of memory: {}", cut(line)),
                    "give the workload less memory, and drop the page cache before each run. If the machine hangs, cut its power",
                )
                .limit("no line of the driver"),
            );
        }
        if line.contains(DRIVER) || line.contains(KILLED) {
            self.note(cut(line));
        }
        None
    }

    fn note(&mut self, words: String) {
        self.count += 1;
        if self.notable.len() < NAMED_MAX {
            self.notable.push(words);
        }
    }
}

fn cut(line: &str) -> String {
    let line = line.trim();
    let mut text: String = line.chars().take(LENGTH_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() > LENGTH_MAX {
        text.push_str(" ...");
    }
    text
}
