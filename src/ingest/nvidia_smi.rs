//! Telemetry as CSV: what `nvidia-smi --query-gpu=... --format=csv` prints, and tables with columns of the same meaning.
//!
//! In:  a header with a time column and at least one known figure, then rows.  Out: one piece of samples in order of time.
//! Not here: cutting to the window of a run; which run it belongs to.
//!
//! Units stand in the header or beside each figure. `[N/A]` and its relatives are absent, never 0: a GPU with unified memory reports no
//! memory figure, and that is a fact. Seen: nvidia-smi 535 to 580.

use csv::StringRecord;

use super::figure::{Figure, excerpt};
use super::rows::Rows;
use super::{About, Format, Head, Parsed, Piece, Record, SourceFile, Standing};
use crate::error::{Error, Place};
use crate::model::{Instant, Sample};

/// See the module.
pub struct Csv;

/// Which field of a sample a column fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Gpu,
    Util,
    Power,
    Temperature,
    Clock,
    Memory,
}

/// Names of a column over the years and in home-made tables, without the unit in brackets.
const NAMES: &[(Column, &[&str])] = &[
    (Column::Time, &["timestamp", "timestamp_utc", "at_utc", "time_utc"]),
    (Column::Gpu, &["index", "gpu_index"]),
    (Column::Util, &["utilization.gpu", "gpu_util_pct", "gpu_util"]),
    (Column::Power, &["power.draw", "power.draw.average", "power.draw.instant", "power_w", "power_draw_w"]),
    (Column::Temperature, &["temperature.gpu", "gpu_c", "temp_c"]),
    (Column::Clock, &["clocks.current.sm", "clocks.sm", "sm_clock_mhz", "clk_sm_mhz", "sm_mhz"]),
    (Column::Memory, &["memory.used", "memory_used_mib"]),
];

/// Earliest number that is taken for seconds since 1970 (2001-09-09): smaller ones count from the start of something.
const EPOCH_FROM: f64 = 1.0e9;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "GPU telemetry"
    }

    fn about(&self) -> About {
        About {
            tool: "nvidia-smi --query-gpu, and tables with columns of the same meaning",
            versions: "drivers 535 to 580",
            sign: "a CSV header with a time and a known figure",
            reads: "power, temperature, clocks, utilisation, memory by time",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let columns: Vec<Option<Column>> = head.header().iter().map(|cell| column(cell)).collect();
        columns.contains(&Some(Column::Time))
            && columns.iter().flatten().any(|column| !matches!(column, Column::Time | Column::Gpu))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let mut samples: Vec<Sample> = Vec::new();
        let mut columns: Vec<(usize, Column)> = Vec::new();
        let mut header = StringRecord::new();
        let (mut first_gpu, mut others) = (None::<String>, 0usize);
        for row in Rows::new(&text) {
            let (line, row) = match row {
                Ok(row) => row,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            if header.is_empty() {
                columns = places(&row);
                header = row;
                continue;
            }
            // A log that was appended to repeats its header.
            if row.get(0) == header.get(0) {
                continue;
            }
            let gpu = columns.iter().find(|(_, column)| *column == Column::Gpu).and_then(|(place, _)| row.get(*place));
            if let Some(gpu) = gpu
                && first_gpu.get_or_insert_with(|| gpu.to_owned()) != gpu
            {
                others += 1;
                continue;
            }
            match sample(line, &row, &columns, &header) {
                Ok(sample) => samples.push(sample),
                Err(error) => parsed.left_out.push(error),
            }
        }
        samples.sort_by_key(|sample| sample.at);
        if others > 0 {
            parsed.notes.push(format!("{others} rows of further GPUs are passed over; the first GPU is read"));
        }
        let piece = Piece { standing: Standing::Detail, telemetry: samples, ..Piece::default() };
        parsed.records.push(Record::Piece(Box::new(piece)));
        Ok(parsed)
    }
}

/// The first column of each meaning: `power.draw` before `power.draw.instant` where both stand.
fn places(header: &StringRecord) -> Vec<(usize, Column)> {
    let mut found: Vec<(usize, Column)> = Vec::new();
    for (place, cell) in header.iter().enumerate() {
        if let Some(column) = column(cell)
            && found.iter().all(|(_, earlier)| *earlier != column)
        {
            found.push((place, column));
        }
    }
    found
}

fn column(cell: &str) -> Option<Column> {
    let name = cell.split('[').next().unwrap_or(cell).trim().to_ascii_lowercase();
    NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(column, _)| *column)
}

fn sample(line: u64, row: &StringRecord, columns: &[(usize, Column)], header: &StringRecord) -> Result<Sample, Error> {
    let unlike = |place: usize, expected: &str, found: &str| {
        let name = header.get(place).unwrap_or_default().to_owned();
        Error::archive("a row of telemetry is left out")
            .at(Place::LineField(line, name))
            .detail(format!("expected {expected}, found \"{}\"", excerpt(found)))
    };
    if row.len() != header.len() {
        return Err(Error::archive("a row of telemetry is left out").at(Place::Line(line)).detail(format!(
            "expected {} cells, found {}",
            header.len(),
            row.len()
        )));
    }
    let mut at = None;
    let mut sample = Sample {
        at: Instant(0),
        gpu_util_pct: None,
        power_w: None,
        gpu_c: None,
        sm_clock_mhz: None,
        memory_used_mib: None,
    };
    for &(place, column) in columns {
        let cell = row.get(place).unwrap_or_default();
        if column == Column::Time {
            at = Some(moment(cell).ok_or_else(|| unlike(place, "a moment", cell))?);
            continue;
        }
        let figure = measured(cell).ok_or_else(|| unlike(place, "a number", cell))?.finite();
        match column {
            Column::Util => sample.gpu_util_pct = figure,
            Column::Power => sample.power_w = figure,
            Column::Temperature => sample.gpu_c = figure,
            Column::Clock => sample.sm_clock_mhz = figure,
            Column::Memory => sample.memory_used_mib = figure,
            Column::Time | Column::Gpu => {}
        }
    }
    sample.at = at.ok_or_else(|| Error::archive("a row of telemetry is left out").at(Place::Line(line)))?;
    Ok(sample)
}

/// A figure with or without its unit: `405.68 W`, `95 %`, `[N/A]`.
fn measured(cell: &str) -> Option<Figure> {
    Figure::parse(cell).or_else(|| {
        let (number, unit) = cell.split_once(' ')?;
        matches!(unit.trim(), "%" | "W" | "MHz" | "MiB" | "C").then(|| Figure::parse(number)).flatten()
    })
}

fn moment(cell: &str) -> Option<Instant> {
    Instant::parse(cell).or_else(|| {
        let seconds = Figure::parse(cell)?.finite()?;
        (seconds >= EPOCH_FROM).then(|| Instant::from_unix_seconds(seconds)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Sample>, Vec<String>) {
        let mut input = text.as_bytes();
        let parsed = Csv.parse(&mut SourceFile::new("x_gpu.csv", text.len() as u64, &mut input)).unwrap();
        let faults = parsed.left_out.iter().map(ToString::to_string).collect();
        match parsed.records.into_iter().next() {
            Some(Record::Piece(piece)) => (piece.telemetry, faults),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn units_are_read_in_the_header_and_beside_the_figure() {
        let (beside, _) = read(
            "timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz], temperature.gpu\n\
             2026/09/25 03:21:37.942, 95 %, 512 MiB, 405.68 W, 1980 MHz, 61\n",
        );
        let (header, _) = read(
            "timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.sm [MHz], temperature.gpu\r\n\
             2026/09/25 03:21:37.942, 95, 512, 405.68, 1980, 61\r\n",
        );
        assert_eq!(beside, header);
        assert_eq!((beside[0].power_w, beside[0].sm_clock_mhz), (Some(405.68), Some(1980.0)));
        assert_eq!(beside[0].at.iso(), "2026-09-25T03:21:37.942Z");
    }

    #[test]
    fn a_cell_the_driver_cannot_read_is_absent_not_zero() {
        let (samples, faults) =
            read("timestamp, memory.used [MiB], power.draw [W]\n2026/09/25 03:21:37, [N/A], 4.1 W\n");
        assert_eq!((samples[0].memory_used_mib, samples[0].power_w, faults.len()), (None, Some(4.1), 0));
    }

    #[test]
    fn a_bad_cell_is_named_and_the_other_rows_stay() {
        let (samples, faults) = read(
            "timestamp, power.draw [W]\n2026/09/25 03:21:37, hot\n2026/09/25 03:21:38, 5 W\n2026/09/25 03:21:39\n",
        );
        assert_eq!(samples.len(), 1);
        assert!(
            faults[0].contains("line 2, field 'power.draw [W]': expected a number, found \"hot\""),
            "{}",
            faults[0]
        );
        assert!(faults[1].contains("line 4: expected 2 cells, found 1"), "{}", faults[1]);
    }
}
