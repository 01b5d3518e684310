//! `nvidia-smi -q`: one tree of `Key : value` for each GPU, indented by fours.
//!
//! In:  the tree, once or repeated (`-l`).  Out: every figure and word as extras. Repeated trees also give samples by time.
//! Not here: serial numbers, UUIDs, bus addresses, names of processes: they identify a machine or a person.
//!
//! Names moved between drivers. `Power Readings` became `GPU Power Readings` with an average and an instantaneous draw.
//! `Clocks Throttle Reasons` became `Clocks Event Reasons`, and `Gpu` below `Utilization` became `GPU`. On GB10 the memory of the frame
//! buffer reads N/A and thresholds are distances to a limit (`T.Limit`).
//!
//! Seen: drivers 535 to 580. The default table that scripts like to print above it is skipped (see `table`).

use super::collect::Collect;
use super::{cell, detail, plain};
use crate::source_file::unreadable;
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_model::{Instant, Sample};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct Query;

const RULE: &str = "nvidia-smi-q";
const SIGN: &str = "==============NVSMI LOG";
/// Blanks of one level.
const INDENT: usize = 4;
/// Deepest level that is read.
const DEPTH: usize = 12;

/// Keys whose values identify a device, a machine or a person.
const SECRETS: &[&str] = &[
    "pdi",
    "gpu pdi",
    "board id",
    "host id",
    "bus id",
    "minor number",
    "module id",
    "slot number",
    "tray index",
    "process id",
    "name",
    "cliqueid",
    "device id",
    "sub system id",
    "bus",
    "device",
    "domain",
    "fabric",
];

/// Reasons by the end of their key.
const REASONS: &[(&str, u64)] = &[
    ("Idle", 0x01),
    ("Applications Clocks Setting", 0x02),
    ("SW Power Cap", 0x04),
    ("HW Slowdown", 0x08),
    ("Sync Boost", 0x10),
    ("SW Thermal Slowdown", 0x20),
    ("HW Thermal Slowdown", 0x40),
    ("HW Power Brake Slowdown", 0x80),
];

impl Format for Query {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "nvidia-smi -q",
            versions: "drivers 535 to 580, with the names before and after each move",
            sign: "the line `==============NVSMI LOG==============`",
            reads: "every figure and word of each GPU except serial numbers and ids. With -l, samples by time",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_text() && head.outline().is_none() && head.text.lines().any(|line| line.starts_with(SIGN))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut tree = Tree::default();
        let mut lines = file.lines(LINE_LIMIT);
        let mut inside = false;
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            let text = String::from_utf8_lossy(line.bytes);
            inside |= text.starts_with(SIGN);
            if inside {
                tree.line(&text);
            }
        }
        tree.end_of_gpu();
        let mut parsed = Parsed::default();
        let looks = tree.looks;
        let (samples, extras, notes) = tree.all.finish(file, RULE);
        parsed.notes.extend(notes);
        let mut partial = detail();
        // One look is no record of a run.
        partial.telemetry = if looks > 1 { samples } else { Vec::new() };
        partial.extras = extras;
        partial.setup.machine = tree.machine;
        for (name, value) in [("driver_version", tree.driver), ("cuda_version", tree.cuda)] {
            if let Some(value) = value {
                partial.setup.more.insert(name.to_owned(), value);
            }
        }
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

#[derive(Default)]
struct Tree {
    all: Collect,
    path: Vec<String>,
    gpus: usize,
    gpu: Option<(String, Sample)>,
    at: Option<Instant>,
    looks: u64,
    machine: Option<String>,
    driver: Option<String>,
    cuda: Option<String>,
}

impl Tree {
    fn line(&mut self, text: &str) {
        let trimmed = text.trim();
        if trimmed.starts_with(SIGN) {
            self.end_of_gpu();
            (self.at, self.gpus) = (None, 0);
            self.looks += 1;
            return;
        }
        let level = ((text.len() - text.trim_start().len()) / INDENT).min(DEPTH);
        let Some((key, value)) = split(trimmed) else {
            if level == 0 && trimmed.starts_with("GPU ") {
                self.end_of_gpu();
                // The bus address is no name for anybody. The place in the file is.
                self.gpu = Some((self.gpus.to_string(), Sample::new(Instant(0))));
                self.gpus += 1;
                self.path.clear();
            } else if !trimmed.is_empty() {
                self.path.truncate(level.saturating_sub(1));
                self.path.push(trimmed.chars().take(60).collect());
            }
            return;
        };
        self.path.truncate(level.saturating_sub(1));
        self.take(key, value);
        // Deeper lines may follow below a key that has a value (`HW Slowdown`).
        self.path.push(key.chars().take(60).collect());
    }

    fn take(&mut self, key: &str, value: &str) {
        let text = || Some(value.to_owned());
        let Some((gpu, sample)) = &mut self.gpu else {
            match key {
                "Timestamp" => self.at = moment(value),
                "Driver Version" => self.driver = text(),
                "CUDA Version" => self.cuda = text(),
                _ => {}
            }
            return;
        };
        if key == "Product Name" {
            self.machine = self.machine.take().or_else(text);
        }
        let small = key.to_ascii_lowercase();
        let named = |secret: &&str| small == *secret || (secret.len() > 6 && small.contains(secret));
        let marked = ["serial", "uuid", "guid"].iter().any(|mark| small.contains(mark));
        if marked || SECRETS.iter().any(named) || cell::is_absent(value) {
            return;
        }
        fill(sample, &self.path, key, value);
        let name = self.path.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(" / ");
        match plain(value) {
            Some((figure, unit)) => self.all.figure(gpu, &name, figure, unit),
            None => self.all.text(gpu, &name, value),
        }
    }

    fn end_of_gpu(&mut self) {
        if let (Some((gpu, sample)), Some(at)) = (self.gpu.take(), self.at) {
            self.all.sample(&gpu, Sample { at, ..sample });
        }
        self.path.clear();
    }
}

/// `Key : value`. Keys may hold colons themselves, never one with blanks on both sides.
fn split(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(" : ").or_else(|| line.strip_suffix(" :").map(|key| (key, "")))?;
    Some((key.trim(), value.trim()))
}

/// Figures of a sample, by the names of all drivers.
fn fill(sample: &mut Sample, path: &[String], key: &str, value: &str) {
    let figure = || plain(value).map(|(figure, _)| figure);
    let section = path.first().map_or("", String::as_str);
    match (section, key) {
        ("Utilization", "GPU" | "Gpu") => sample.gpu_util_pct = figure(),
        ("Utilization", "Memory") => sample.memory_util_pct = figure(),
        ("Temperature", "GPU Current Temp") => sample.gpu_c = figure(),
        ("Power Readings" | "GPU Power Readings", "Power Draw" | "Average Power Draw") => sample.power_w = figure(),
        ("Power Readings" | "GPU Power Readings", "Instantaneous Power Draw") => {
            sample.power_w = sample.power_w.or(figure())
        }
        ("Power Readings" | "GPU Power Readings", "Current Power Limit" | "Power Limit") => {
            sample.power_limit_w = figure()
        }
        ("Clocks", "SM") => sample.sm_clock_mhz = figure(),
        ("Clocks", "Memory") => sample.memory_clock_mhz = figure(),
        ("FB Memory Usage", "Used") => sample.memory_used_mib = figure(),
        (_, "Performance State") => sample.pstate = cell::state(value).flatten(),
        ("Clocks Event Reasons" | "Clocks Throttle Reasons", _) => {
            let bit = REASONS.iter().find(|(name, _)| *name == key).map(|(_, bit)| *bit);
            if let (Some(bit), Some(Some(active))) = (bit, cell::switch(value)) {
                *sample.throttle_bits.get_or_insert(0) |= if active { bit } else { 0 };
            }
        }
        _ => {}
    }
}

/// `Fri Nov 20 23:43:30 2026`.
pub(super) fn moment(text: &str) -> Option<Instant> {
    const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, time, year] = words.as_slice() else { return None };
    let month = MONTHS.iter().position(|known| known == month)? + 1;
    let day: u32 = day.parse().ok()?;
    Instant::parse(&format!("{year}-{month:02}-{day:02} {time}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartialRun;
    use sparkbench_model::ExtraValue;

    const LOOK: &str = "\n==============NVSMI LOG==============\n\n\
Timestamp                                 : Fri Nov 20 23:43:30 2026\n\
Driver Version                            : 580.159.04\n\
CUDA Version                              : 13.0\n\n\
Attached GPUs                             : 1\n\
GPU 0000000F:01:00.0\n\
\x20   Product Name                          : NVIDIA GB10\n\
\x20   Serial Number                         : 1650000000000\n\
\x20   GPU UUID                              : GPU-11111111-2222\n\
\x20   Performance State                     : P0\n\
\x20   Clocks Event Reasons\n\
\x20       Idle                              : Not Active\n\
\x20       HW Slowdown                       : Active\n\
\x20           HW Thermal Slowdown           : Active\n\
\x20       SW Thermal Slowdown               : Not Active\n\
\x20   FB Memory Usage\n\
\x20       Total                             : N/A\n\
\x20       Used                              : N/A\n\
\x20   Utilization\n\
\x20       GPU                               : 96 %\n\
\x20       Memory                            : 0 %\n\
\x20   Temperature\n\
\x20       GPU Current Temp                  : 78 C\n\
\x20   GPU Power Readings\n\
\x20       Average Power Draw                : 42.10 W\n\
\x20       Current Power Limit               : N/A\n\
\x20   Clocks\n\
\x20       SM                                : 2418 MHz\n\
\x20   Processes\n\
\x20       GPU instance ID                   : N/A\n\
\x20           Process ID                    : 4711\n\
\x20               Name                      : /home/someone/bin/engine\n\
\x20               Used GPU Memory           : 10911 MiB\n";

    fn read(text: &str) -> PartialRun {
        let mut input = text.as_bytes();
        let parsed = Query.parse(&mut SourceFile::new("q.txt", text.len() as u64, &mut input)).unwrap();
        match parsed.records.into_iter().next() {
            Some(Record::Run(partial)) => *partial,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn figures_and_words_are_taken_and_what_identifies_is_not() {
        let partial = read(LOOK);
        assert!(partial.telemetry.is_empty(), "one look is not a record");
        assert_eq!(partial.setup.machine.as_deref(), Some("NVIDIA GB10"));
        assert_eq!(partial.setup.more["driver_version"], "580.159.04");
        let value =
            |name: &str| partial.extras.iter().find(|extra| extra.name == name).map(|extra| extra.value.clone());
        assert_eq!(value("GPU Power Readings / Average Power Draw"), Some(ExtraValue::Number(42.1)));
        assert_eq!(
            value("Clocks Event Reasons / HW Slowdown / HW Thermal Slowdown"),
            Some(ExtraValue::Text("Active".into()))
        );
        let all = format!("{:?}", partial.extras);
        for secret in ["165000", "GPU-1111", "4711", "someone", "0000000F"] {
            assert!(!all.contains(secret), "{secret}");
        }
        assert!(all.contains("10911"), "memory of processes is the only figure of a GPU with unified memory");
    }

    #[test]
    fn several_looks_are_samples_by_time() {
        let partial = read(&format!("{LOOK}{}", LOOK.replace("23:43:30", "23:43:35").replace("42.10", "50.00")));
        let [first, second] = partial.telemetry.as_slice() else { panic!("{:?}", partial.telemetry) };
        assert_eq!((first.power_w, second.power_w), (Some(42.1), Some(50.0)));
        assert_eq!(second.at.seconds_since(first.at), 5.0);
        assert_eq!((first.throttle_bits, first.pstate, first.memory_used_mib), (Some(0x48), Some(0), None));
    }
}
