//! Telemetry as CSV: what `nvidia-smi --query-gpu=... --format=csv` prints, and tables of scripts with columns of the same meaning.
//!
//! In:  rows, with or without a header.  Out: one partial run of samples in order of time. Without times, figures as extras.
//! Not here: cutting to the window of a run, finding the run it belongs to.
//!
//! Any list of fields is read, with units in the header (`nounits`) or beside each figure. A log that was appended to repeats its header,
//! perhaps with other fields. With `noheader`, units and shape identify a column where they can. One column in W is power, and one in MHz
//! the SM clock. One in % is the utilisation, and one bare whole number the temperature. Sixteen digits behind `0x` are the throttle
//! reasons. An ambiguous column is not guessed. Rows without a time are a snapshot of a machine, one row for each GPU.
//!
//! Seen: nvidia-smi 535 to 580. Tables of scripts on GB10.

mod bare;
mod regular;
mod timing;

use super::cell;
use super::collect::Collect;
use super::column::{self, Column};
use super::{detail, plain};
use crate::figure::excerpt;
use crate::source_file::unreadable;
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_model::{Instant, Sample};
use sparkbench_text::error::{Error, Place};

use bare::{inferred, is_bare};
use regular::is_sampled;
use timing::{Timing, when};

pub(super) use timing::after_midnight;

/// What `nvidia-smi --query-gpu` prints.
pub(crate) struct SmiCsv;
/// Tables of scripts, and `telemetry.csv` of our own archive.
pub(crate) struct Script;

const RULE_SMI: &str = "nvidia-smi-csv";
const RULE_SCRIPT: &str = "telemetry-csv";
/// Bad rows that are reported one by one. Ten thousand have one cause.
const TOLD: usize = 20;

impl Format for SmiCsv {
    fn name(&self) -> &'static str {
        RULE_SMI
    }

    fn about(&self) -> About {
        About {
            tool: "nvidia-smi --query-gpu and --query-compute-apps, --format=csv",
            versions: "drivers 535 to 580, throttle reasons became event reasons in 535",
            sign: "a header with names of fields and units in brackets, or cells with units without a header",
            reads: "samples by time: power, temperature, clocks, utilisation, memory, states, throttle reasons, energy, all other fields as extras",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        if !head.is_text() || head.outline().is_some() {
            return false;
        }
        let cells = head.header();
        let known = cells.iter().filter(|cell| Column::of(cell).is_some()).count();
        let processes = cells.iter().any(|cell| matches!(column::base(cell), "used_gpu_memory" | "used_memory"));
        let smi = cells.iter().any(|cell| column::is_smi(cell));
        let plain_fields = cells.len() > 1 && known == cells.len() && cells.contains(&"driver_version");
        (smi && (known > 0 || processes)) || plain_fields || is_bare(&cells)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        Table::new(RULE_SMI).read(file)
    }
}

impl Format for Script {
    fn name(&self) -> &'static str {
        RULE_SCRIPT
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench collect, and scripts that write what they saw",
            versions: "any",
            sign: "a CSV header with a time (moment, seconds since 1970, or seconds elapsed) and a known figure, and beside names of runs times at regular distances",
            reads: "samples by time: power, temperature, clocks, utilisation, memory of GPU and machine, other columns as extras",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        if !head.is_text() || head.outline().is_some() {
            return false;
        }
        let mut lines = head.text.split(['\n', '\r']).filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let Some(line) = lines.next() else { return false };
        let sign = sign_of(line);
        let cells = cell::split(line, sign);
        let columns: Vec<Column> = cells.iter().filter_map(|cell| Column::of(cell).map(|(column, _)| column)).collect();
        let names_runs =
            cells.iter().any(|cell| matches!(*cell, "environment" | "workload") || cell.starts_with("model"));
        // A table of runs may hold a time and a power too.
        columns.iter().any(|column| column.is_time())
            && columns.iter().any(|column| column.is_measured())
            && (!names_runs || is_sampled(&cells, lines, sign))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        Table::new(RULE_SCRIPT).read(file)
    }
}

/// The sign that parts the cells of a header.
fn sign_of(line: &str) -> char {
    [',', ';', '\t'].into_iter().find(|sign| line.contains(*sign)).unwrap_or(',')
}

struct Table {
    rule: &'static str,
    sign: char,
    header: Vec<String>,
    /// Meaning of each column. Nothing for those that no sample holds.
    columns: Vec<Option<Column>>,
    timing: Option<Timing>,
    /// Seconds since midnight of the last row, and midnights passed.
    clock: (f64, f64),
    negative: u64,
    bad: u64,
    /// Our own file holds dozens of columns of the machine, which stay in the archive.
    ours: bool,
    all: Collect,
}

impl Table {
    fn new(rule: &'static str) -> Self {
        Self {
            rule,
            sign: ',',
            header: Vec::new(),
            columns: Vec::new(),
            timing: None,
            clock: (0.0, 0.0),
            negative: 0,
            bad: 0,
            ours: false,
            all: Collect::default(),
        }
    }

    fn read(mut self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut lines = file.lines(LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            let text = String::from_utf8_lossy(line.bytes);
            let text = text.trim_start_matches('\u{feff}').trim();
            // Only above the header a `#` begins a comment.
            if text.is_empty() || self.header.is_empty() && text.starts_with('#') {
                continue;
            }
            if self.header.is_empty() {
                self.begin(line.number, text, &mut parsed);
                continue;
            }
            let cells = cell::split(text, self.sign);
            // A log that was appended to repeats its header, perhaps with other fields.
            if cells.first().copied() == self.header.first().map(String::as_str) {
                self.set_header(&cells);
                continue;
            }
            if let Err(error) = self.row(line.number, &cells) {
                self.bad += 1;
                if parsed.left_out.len() < TOLD {
                    parsed.left_out.push(error);
                }
            }
        }
        self.finish(file, parsed)
    }

    fn begin(&mut self, number: u64, text: &str, parsed: &mut Parsed) {
        self.sign = sign_of(text);
        let cells = cell::split(text, self.sign);
        if cells.iter().any(|cell| Column::of(cell).is_some()) || !is_bare(&cells) {
            self.set_header(&cells);
            self.ours = ["timestamp_utc", "monotonic_s"].iter().all(|name| cells.contains(name));
            return;
        }
        self.columns = inferred(&cells);
        // Names that stand for the columns in messages and extras.
        self.header = (1..=cells.len()).map(|place| format!("column {place}")).collect();
        let taken = |column: &&Option<Column>| column.is_some_and(Column::is_measured);
        if self.columns.iter().filter(taken).count() == 0 {
            parsed.not_understood.push(format!(
                "line {number}: \"{}\": no header, and no units that tell the columns apart. Their names (`--columns`) would be needed",
                excerpt(text)
            ));
        } else {
            parsed.notes.push("no header: the columns are told by their units and shape".to_owned());
            let strange: Vec<String> = self
                .columns
                .iter()
                .zip(&cells)
                .enumerate()
                .filter(|(_, (column, cell))| column.is_none() && plain(cell).is_some())
                .map(|(place, _)| (place + 1).to_string())
                .collect();
            if !strange.is_empty() {
                parsed.not_understood.push(format!(
                    "line {number}: \"{}\": no header, and column {} could be several fields. The names (`--columns`) would be needed",
                    excerpt(text),
                    strange.join(", ")
                ));
            }
        }
        if let Err(error) = self.row(number, &cells) {
            parsed.left_out.push(error);
        }
    }

    fn set_header(&mut self, cells: &[&str]) {
        let found: Vec<Option<(Column, usize)>> = cells.iter().map(|cell| Column::of(cell)).collect();
        let absolute = found.iter().flatten().any(|(column, _)| matches!(column, Column::Time | Column::Date));
        self.columns = found
            .iter()
            .enumerate()
            .map(|(place, own)| {
                let (column, rank) = (*own)?;
                // Of several columns with one meaning the best name wins, then the first. Seconds elapsed matter only without a moment.
                let better = |other: &(usize, &Option<(Column, usize)>)| {
                    other.1.is_some_and(|(same, theirs)| same == column && (theirs, other.0) < (rank, place))
                };
                let lost = found.iter().enumerate().any(|other| better(&other));
                let idle = column == Column::Elapsed && absolute;
                (!lost && !idle || column == Column::Secret).then_some(column)
            })
            .collect();
        self.header = cells.iter().map(|cell| (*cell).to_owned()).collect();
    }

    fn row(&mut self, line: u64, cells: &[&str]) -> Result<(), Error> {
        let unlike = |name: &str, expected: &str, found: &str| {
            Error::archive("a row of telemetry is left out")
                .at(Place::LineField(line, excerpt(name)))
                .detail(format!("expected {expected}, found \"{}\"", excerpt(found)))
        };
        if cells.len() != self.header.len() {
            return Err(Error::archive("a row of telemetry is left out").at(Place::Line(line)).detail(format!(
                "expected {} cells, found {}",
                self.header.len(),
                cells.len()
            )));
        }
        let (mut sample, mut gpu, mut timed) = (Sample::new(Instant(0)), "", false);
        let (mut date, mut figures, mut texts) = (None, Vec::new(), Vec::new());
        for ((text, column), name) in cells.iter().zip(&self.columns).zip(&self.header) {
            let Some(column) = *column else {
                match plain(text) {
                    Some((value, unit)) => {
                        figures.push((name, value, if unit.is_empty() { column::unit(name) } else { unit }));
                    }
                    None if cell::is_absent(text) => {}
                    None => texts.push((name, *text)),
                }
                continue;
            };
            match column {
                Column::Secret => {}
                Column::Gpu => gpu = text,
                Column::Date => date = Some(*text),
                Column::Name | Column::Driver => texts.push((name, *text)),
                Column::Time | Column::Clock | Column::Elapsed => {
                    let at = when(&mut self.timing, &mut self.clock, date, text);
                    sample.at = at.ok_or_else(|| unlike(name, "a moment", text))?;
                    timed = true;
                }
                Column::State => sample.pstate = cell::state(text).ok_or_else(|| unlike(name, "P0 to P15", text))?,
                Column::Throttle => {
                    let bits = cell::bits(text).ok_or_else(|| unlike(name, "a mask", text))?;
                    sample.throttle_bits =
                        bits.map(|bits| bits | sample.throttle_bits.unwrap_or(0)).or(sample.throttle_bits);
                }
                Column::Reason(bit) => {
                    let active = cell::switch(text).ok_or_else(|| unlike(name, "Active or Not Active", text))?;
                    if let Some(active) = active {
                        *sample.throttle_bits.get_or_insert(0) |= if active { bit } else { 0 };
                    }
                }
                _ => {
                    let (figure, _) = cell::figure(text).ok_or_else(|| unlike(name, "a number", text))?;
                    let mut value = figure.finite();
                    if column.is_never_negative() && value.is_some_and(|value| value < 0.0) {
                        self.negative += 1;
                        value = None;
                    }
                    put(&mut sample, column, value);
                }
            }
        }
        let gpu = gpu.to_owned();
        let process = texts.iter().find(|(name, _)| column::base(name) == "process_name");
        if let Some((_, process)) = process {
            let process = process.rsplit(['/', '\\']).next().unwrap_or(process);
            for (_, value, unit) in figures.drain(..) {
                self.all.figure(&gpu, &format!("memory of process {}", excerpt(process)), value, unit);
            }
            return Ok(());
        }
        if timed && self.columns.iter().flatten().any(|column| column.is_measured()) {
            self.all.sample(&gpu, sample);
        } else {
            for (text, (column, name)) in cells.iter().zip(self.columns.iter().zip(&self.header)) {
                let known = column.is_some_and(Column::is_measured);
                if let (true, Some((value, unit))) = (known, plain(text)) {
                    self.all.figure(
                        &gpu,
                        column::base(name),
                        value,
                        if unit.is_empty() { column::unit(name) } else { unit },
                    );
                } else if known && !cell::is_absent(text) {
                    self.all.text(&gpu, column::base(name), text);
                }
            }
        }
        if !self.ours {
            for (name, value, unit) in figures {
                self.all.figure(&gpu, column::base(name), value, unit);
            }
            for (name, text) in texts {
                if !cell::is_absent(text) {
                    self.all.text(&gpu, column::base(name), text);
                }
            }
        }
        Ok(())
    }

    fn finish(self, file: &SourceFile<'_>, mut parsed: Parsed) -> Result<Parsed, Error> {
        if self.header.is_empty() {
            return Err(Error::archive("the table is empty").hint("the program that wrote it may have stopped early"));
        }
        if self.bad > TOLD as u64 {
            parsed.left_out.push(Error::archive(format!("{} rows of telemetry are left out in all", self.bad)));
        }
        if self.negative > 0 {
            parsed.notes.push(format!(
                "figures below zero where none can be ({} of them) are taken as missing: the script wrote them where it got nothing",
                self.negative
            ));
        }
        match self.timing {
            Some(Timing::Clock) => {
                parsed.notes.push("times of day without a date. A step back is taken for midnight".to_owned())
            }
            Some(Timing::Elapsed) => {
                parsed.notes.push(
                    "seconds since a start that the file does not name. Nothing else can be aligned with them"
                        .to_owned(),
                );
            }
            _ => {}
        }
        let rows = self.all.rows();
        let (samples, extras, notes) = self.all.finish(file, self.rule);
        parsed.notes.extend(notes);
        if rows == 0 && !extras.is_empty() {
            parsed.notes.push("rows without a time: a look at the machine, no telemetry".to_owned());
        }
        let mut partial = detail();
        partial.telemetry = samples;
        partial.setup.machine = extras
            .iter()
            .find(|extra| matches!(extra.name.rsplit(", ").next(), Some("name" | "gpu_name")))
            .and_then(|extra| match &extra.value {
                sparkbench_model::ExtraValue::Text(name) => Some(name.clone()),
                sparkbench_model::ExtraValue::Number(_) => None,
            });
        partial.extras = extras;
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// Puts a figure into its field.
pub(super) fn put(sample: &mut Sample, column: Column, value: Option<f64>) {
    match column {
        Column::Util => sample.gpu_util_pct = value,
        Column::Power => sample.power_w = value,
        Column::Temperature => sample.gpu_c = value,
        Column::SmClock => sample.sm_clock_mhz = value,
        Column::Memory => sample.memory_used_mib = value,
        Column::MemoryUtil => sample.memory_util_pct = value,
        Column::MemoryClock => sample.memory_clock_mhz = value,
        Column::PowerLimit => sample.power_limit_w = value,
        Column::EnergyMj => sample.energy_j = value.map(|millijoules| millijoules / 1000.0),
        Column::EnergyJ => sample.energy_j = value,
        Column::HostUsed => sample.host_memory_used_mib = value,
        Column::HostAvailable => sample.host_memory_available_mib = value,
        Column::HostSwap => sample.host_swap_used_mib = value,
        _ => {}
    }
}

#[cfg(test)]
mod tests;
