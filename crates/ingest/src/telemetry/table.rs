//! Output of `nvidia-smi` without any option: a drawn table with two rows for each GPU, and the processes below.
//!
//! In:  the table, once or repeated (`-l`, `watch`).  Out: figures of each GPU and the memory of each process as extras. Several dated
//! tables also give samples by time.
//! Not here: bus addresses and paths of processes. Of a process only the last part of its path is taken.
//!
//! On GB10 the limit is `N/A`, the memory `Not Supported`, and the process table the only place with memory. A long figure
//! is cut there (`10911...`), and a cut figure is no figure.
//!
//! Seen: drivers 470 to 580. From 530 on the columns are wider.

use super::collect::Collect;
use super::query::moment;
use super::{cell, detail, plain};
use crate::figure::excerpt;
use crate::source_file::unreadable;
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_model::{Instant, Sample};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct BoxTable;

const RULE: &str = "nvidia-smi-table";
const SIGN: &str = "NVIDIA-SMI ";

impl Format for BoxTable {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "nvidia-smi without options",
            versions: "drivers 470 to 580",
            sign: "a drawn table with `NVIDIA-SMI` and `Driver Version:` among its first lines",
            reads: "driver, CUDA, name, temperature, power, limit, memory, utilisation of each GPU, memory of each process",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        const LINES: usize = 12;
        let mut lines = head.text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).take(LINES);
        head.is_text()
            && head.outline().is_none()
            && lines.any(|line| line.starts_with('|') && line.contains(SIGN) && line.contains("Driver Version:"))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut look = Look::default();
        let mut lines = file.lines(LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            look.line(line.number, String::from_utf8_lossy(line.bytes).trim_end(), &mut parsed);
        }
        let (samples, extras, notes) = look.all.finish(file, RULE);
        parsed.notes.extend(notes);
        let mut partial = detail();
        partial.telemetry = if look.looks > 1 { samples } else { Vec::new() };
        partial.extras = extras;
        partial.setup.machine = look.machine;
        for (name, value) in [("driver_version", look.driver), ("cuda_version", look.cuda)] {
            if let Some(value) = value {
                partial.setup.more.insert(name.to_owned(), value);
            }
        }
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

#[derive(Default)]
struct Look {
    all: Collect,
    looks: u64,
    at: Option<Instant>,
    /// Number and name of the GPU whose second row is due.
    gpu: Option<String>,
    processes: bool,
    machine: Option<String>,
    driver: Option<String>,
    cuda: Option<String>,
}

impl Look {
    fn line(&mut self, number: u64, line: &str, parsed: &mut Parsed) {
        if !line.starts_with('|') {
            if let Some(at) = moment(line) {
                self.at = Some(at);
            }
            return;
        }
        let after = |label: &str| {
            line.split_once(label).and_then(|(_, rest)| rest.split_whitespace().next()).map(str::to_owned)
        };
        if line.contains(SIGN) {
            self.looks += 1;
            self.processes = false;
            self.gpu = None;
            self.driver = after("Driver Version:").or_else(|| self.driver.take());
            self.cuda = after("CUDA Version:").or_else(|| self.cuda.take());
            return;
        }
        if line.contains("Processes:") {
            self.processes = true;
            return;
        }
        if self.processes {
            self.process(number, line, parsed);
            return;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [left, middle, right] = cells.as_slice() else { return };
        if left.contains(" / ") && left.contains('W') && self.gpu.is_some() {
            self.second(left, middle, right);
        } else if let Some((index, name)) = first(left) {
            if self.machine.is_none() {
                self.machine = Some(name.to_owned());
            }
            self.all.text(index, "name", name);
            if let Some((value, _)) = plain(right) {
                self.all.figure(index, "uncorrected ECC errors", value, "");
            }
            self.gpu = Some(index.to_owned());
        }
    }

    /// `N/A   78C    P0             42W /  N/A`, `Not Supported`, `96%      Default`.
    fn second(&mut self, left: &str, middle: &str, right: &str) {
        let Some(gpu) = self.gpu.take() else { return };
        let mut sample = Sample::new(Instant(0));
        let (before, limit) = left.split_once(" / ").unwrap_or((left, ""));
        let words: Vec<&str> = before.split_whitespace().collect();
        let [fan, temperature, state, .., power] = words.as_slice() else { return };
        sample.gpu_c = plain(temperature).map(|(value, _)| value);
        sample.pstate = cell::state(state).flatten();
        sample.power_w = plain(power).map(|(value, _)| value);
        sample.power_limit_w = plain(limit).map(|(value, _)| value);
        let (used, total) = middle.split_once(" / ").unwrap_or((middle, ""));
        sample.memory_used_mib = plain(used).map(|(value, _)| value);
        sample.gpu_util_pct = right.split_whitespace().next().and_then(plain).map(|(value, _)| value);
        for (name, value, unit) in [
            ("fan", plain(fan).map(|(value, _)| value), "%"),
            ("temperature", sample.gpu_c, "°C"),
            ("performance state", sample.pstate.map(f64::from), ""),
            ("power", sample.power_w, "W"),
            ("power limit", sample.power_limit_w, "W"),
            ("memory used", sample.memory_used_mib, "MiB"),
            ("memory in all", plain(total).map(|(value, _)| value), "MiB"),
            ("utilisation", sample.gpu_util_pct, "%"),
        ] {
            if let Some(value) = value {
                self.all.figure(&gpu, name, value, unit);
            }
        }
        if let Some(at) = self.at {
            self.all.sample(&gpu, Sample { at, ..sample });
        }
    }

    /// `|    0   N/A  N/A   454928      C   ...-b9536/build/bin/llama-server      15136MiB |`.
    fn process(&mut self, number: u64, line: &str, parsed: &mut Parsed) {
        let words: Vec<&str> = line.trim_matches('|').split_whitespace().collect();
        let [gpu, .., name, memory] = words.as_slice() else { return };
        if !gpu.bytes().all(|b| b.is_ascii_digit()) || words.len() < 5 {
            return;
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        match plain(memory) {
            Some((value, "MiB")) => self.all.figure(gpu, &format!("memory of process {}", excerpt(name)), value, "MiB"),
            _ if cell::is_absent(memory) => {}
            _ if parsed.not_understood.len() < 20 => parsed.not_understood.push(format!(
                "line {number}: the memory of process {} is cut short (\"{}\") and unusable",
                excerpt(name),
                excerpt(memory)
            )),
            _ => {}
        }
    }
}

/// `0  NVIDIA GB10                    On` or `Off`.
fn first(left: &str) -> Option<(&str, &str)> {
    let (index, rest) = left.split_once(char::is_whitespace)?;
    let name = rest.trim().trim_end_matches("Off").trim_end_matches("On").trim_end();
    (!name.is_empty() && !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit())).then_some((index, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartialRun;
    use sparkbench_model::Extra;

    fn read(text: &str) -> (PartialRun, Parsed) {
        assert!(BoxTable.sniff(&Head::new("x", text, 1)));
        let mut input = text.as_bytes();
        let mut parsed = BoxTable.parse(&mut SourceFile::new("x.txt", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    fn value(partial: &PartialRun, name: &str) -> Option<f64> {
        partial.extras.iter().find(|extra| extra.name == name).and_then(Extra::as_number)
    }

    const GB10: &str = "Mon Jun  8 05:33:53 2026\n\
+-----------------------------------------------------------------------------------------+\n\
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |\n\
+-----------------------------------------+------------------------+----------------------+\n\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n\
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n\
|                                         |                        |               MIG M. |\n\
|=========================================+========================+======================|\n\
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |\n\
| N/A   78C    P0             42W /  N/A  | Not Supported          |     96%      Default |\n\
|                                         |                        |                  N/A |\n\
+-----------------------------------------+------------------------+----------------------+\n\
| Processes:                                                                              |\n\
|    0   N/A  N/A         1727098      C   VLLM::EngineCore                      10911... |\n\
|    0   N/A  N/A          454928      C   /home/someone/bin/llama-server        15136MiB |\n\
+-----------------------------------------------------------------------------------------+\n";

    #[test]
    fn unified_memory_is_absent_and_a_cut_figure_is_no_figure() {
        let (partial, parsed) = read(GB10);
        assert_eq!(
            (value(&partial, "power"), value(&partial, "temperature"), value(&partial, "utilisation")),
            (Some(42.0), Some(78.0), Some(96.0))
        );
        assert_eq!((value(&partial, "memory used"), value(&partial, "power limit")), (None, None));
        assert_eq!(value(&partial, "memory of process llama-server"), Some(15136.0));
        assert_eq!(
            (partial.setup.machine.as_deref(), partial.setup.more["cuda_version"].as_str()),
            (Some("NVIDIA GB10"), "13.0")
        );
        assert!(parsed.not_understood[0].contains("VLLM::EngineCore") && partial.telemetry.is_empty());
        assert!(!format!("{:?}", partial.extras).contains("someone"));
    }

    #[test]
    fn a_driver_of_2021_prints_narrower_columns() {
        let (partial, _) = read(
            "+-----------------------------------------------------------------------------+\n\
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |\n\
|-------------------------------+----------------------+----------------------+\n\
|   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |\n\
| 35%   34C    P8     9W /  70W |      5MiB / 15109MiB |      0%      Default |\n",
        );
        assert_eq!(
            (value(&partial, "power limit"), value(&partial, "memory in all"), value(&partial, "fan")),
            (Some(70.0), Some(15109.0), Some(35.0))
        );
        assert_eq!(partial.setup.machine.as_deref(), Some("Tesla T4"));
    }

    #[test]
    fn a_table_printed_again_and_again_is_telemetry() {
        let (partial, _) = read(&format!("{GB10}{}", GB10.replace("05:33:53", "05:33:58").replace("42W", "50W")));
        assert_eq!(partial.telemetry.len(), 2);
        assert_eq!((partial.telemetry[1].power_w, value(&partial, "power, mean")), (Some(50.0), Some(46.0)));
    }
}
