//! `nvidia-smi dmon`: columns separated by blanks, under two comment lines that repeat.
//!
//! In:  such lines, whose columns depend on `-s`.  Out: with `-o DT` samples by time, else the figures summed up as extras.
//! Not here: `nvidia-smi pmon`, which shows processes and is kept (see `not_analysed`).
//!
//! `pwr` is power, `gtemp` the temperature, `sm` the utilisation, `mem` the activity of the memory controller. `pclk` and `mclk` are the
//! clocks of SM and memory. `fb` is the memory in use (MB, which means MiB). `-` is absent: on GB10 `mtemp` and `mclk` always are.
//!
//! Seen: drivers 535 to 580.

use super::collect::Collect;
use super::column::Column;
use super::{cell, detail};
use crate::figure::excerpt;
use crate::source_file::unreadable;
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::LINE_LIMIT;
use sparkbench_model::{Instant, Sample};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct Dmon;

const RULE: &str = "nvidia-smi-dmon";
const TOLD: usize = 20;
/// Lines that must hold the two comments.
const LOOKED_AT: usize = 12;

const NAMES: &[(&str, Column)] = &[
    ("gpu", Column::Gpu),
    ("pwr", Column::Power),
    ("gtemp", Column::Temperature),
    ("temp", Column::Temperature),
    ("sm", Column::Util),
    ("mem", Column::MemoryUtil),
    ("mclk", Column::MemoryClock),
    ("pclk", Column::SmClock),
    ("fb", Column::Memory),
    ("date", Column::Date),
    ("time", Column::Clock),
];

/// Columns of which one must be there beside `gpu`.
const SIGNS: &[&str] = &["pwr", "gtemp", "temp", "sm", "mclk", "pclk", "pviol", "fb", "rxpci", "sbecc"];

impl Format for Dmon {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "nvidia-smi dmon",
            versions: "drivers 535 to 580, any -s, with and without -o DT",
            sign: "a comment line that names the columns, and one below it with their units",
            reads: "samples where there are date and time, else mean, least and greatest of every column",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let lines: Vec<&str> =
            head.text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).take(LOOKED_AT).collect();
        head.is_text()
            && lines.windows(2).any(|pair| {
                let [names, units] = pair else { return false };
                names_of(names).is_some() && units.starts_with('#') && units.contains("Idx")
            })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let (mut names, mut units): (Vec<String>, Vec<&'static str>) = (Vec::new(), Vec::new());
        let mut all = Collect::default();
        let mut clock = (0.0, 0.0);
        let mut rows = 0_u64;
        let mut lines = file.lines(LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            let text = String::from_utf8_lossy(line.bytes).replace(',', " ");
            if text.starts_with('#') {
                if let Some(found) = names_of(&text) {
                    names = found;
                } else if text.contains("Idx") {
                    units = text.trim_start_matches('#').split_whitespace().map(unit_of).collect();
                }
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            rows += 1;
            if let Err(error) = row(line.number, &text, &names, &units, &mut all, &mut clock)
                && parsed.left_out.len() < TOLD
            {
                parsed.left_out.push(error);
            }
        }
        if rows > 0 && all.rows() == 0 {
            parsed.notes.push(format!(
                "{rows} rows without a time (`-o DT` prints it): their figures are summed up, nothing can be aligned with a run"
            ));
        }
        let (samples, extras, notes) = all.finish(file, RULE);
        parsed.notes.extend(notes);
        let mut partial = detail();
        (partial.telemetry, partial.extras) = (samples, extras);
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// Names of the columns, small. Nothing when this is no such line.
fn names_of(line: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line
        .strip_prefix('#')?
        .split([' ', '\t', ','])
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    // `pmon` has columns of the same names, a row for each process.
    (has("gpu") && !has("pid") && SIGNS.iter().any(|sign| has(sign))).then_some(names)
}

fn unit_of(word: &str) -> &'static str {
    match word {
        "W" => "W",
        "C" => "°C",
        "%" => "%",
        "MHz" => "MHz",
        "MB" => "MiB",
        "MB/s" => "MB/s",
        "GB/s" => "GB/s",
        _ => "",
    }
}

fn row(
    line: u64,
    text: &str,
    names: &[String],
    units: &[&'static str],
    all: &mut Collect,
    clock: &mut (f64, f64),
) -> Result<(), Error> {
    let cells: Vec<&str> = text.split_whitespace().collect();
    if cells.len() != names.len() {
        return Err(Error::archive("a row of telemetry is left out").at(Place::Line(line)).detail(format!(
            "expected {} cells, found {}",
            names.len(),
            cells.len()
        )));
    }
    let unlike = |name: &str, found: &str| {
        Error::archive("a row of telemetry is left out")
            .at(Place::LineField(line, excerpt(name)))
            .detail(format!("expected a number, found \"{}\"", excerpt(found)))
    };
    let known = |name: &str| NAMES.iter().find(|(ours, _)| *ours == name).map(|(_, column)| *column);
    let (mut gpu, mut date, mut at) = ("", None, None);
    let mut sample = Sample::new(Instant(0));
    let mut figures = Vec::new();
    for ((cell, name), unit) in cells.iter().zip(names).zip(units.iter().chain(std::iter::repeat(&""))) {
        match known(name) {
            Some(Column::Gpu) => gpu = cell,
            Some(Column::Date) => date = Some(*cell),
            Some(Column::Clock) => {
                at = match date {
                    Some(date) => cell::date_and_time(date, cell),
                    None => cell::clock(cell)
                        .and_then(|seconds| Instant::from_unix_seconds(super::csv::after_midnight(clock, seconds))),
                };
                if at.is_none() {
                    return Err(unlike(name, cell));
                }
            }
            column => {
                let (figure, _) = cell::figure(cell).ok_or_else(|| unlike(name, cell))?;
                figures.push((name, column, figure.finite(), *unit));
            }
        }
    }
    for (name, column, value, unit) in figures {
        match (column, at, value) {
            (Some(column), Some(_), value) => super::csv::put(&mut sample, column, value),
            (_, _, Some(value)) => all.figure(gpu, name, value, unit),
            _ => {}
        }
    }
    if let Some(at) = at {
        all.sample(gpu, Sample { at, ..sample });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartialRun;

    fn read(text: &str) -> (PartialRun, Parsed) {
        assert!(Dmon.sniff(&Head::new("x", text, 1)), "{text}");
        let mut input = text.as_bytes();
        let mut parsed = Dmon.parse(&mut SourceFile::new("dmon.txt", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn with_date_and_time_the_rows_are_samples_and_headers_come_back() {
        let head = "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc   mclk   pclk     fb\n\
                    #YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %    MHz    MHz     MB\n";
        let (partial, parsed) = read(&format!(
            "{head} 20261120   23:43:31      0    130     61      -     96      0      0      -   2418   1024\n\
             {head} 20261120   23:43:32      0    131     62      -     97      0      0      -   2405   1024\n"
        ));
        let last = partial.telemetry[1];
        assert_eq!((last.power_w, last.gpu_c, last.gpu_util_pct), (Some(131.0), Some(62.0), Some(97.0)));
        assert_eq!(
            (last.memory_clock_mhz, last.sm_clock_mhz, last.memory_used_mib),
            (None, Some(2405.0), Some(1024.0))
        );
        assert_eq!(last.at.iso(), "2026-11-20T23:43:32Z");
        assert!(parsed.left_out.is_empty() && parsed.notes.is_empty());
        assert_eq!(partial.extras[0].name, "enc");
    }

    #[test]
    fn without_times_the_figures_are_summed_up_and_nothing_is_aligned() {
        let (partial, parsed) = read(
            "# gpu    pwr  gtemp     sm\n# Idx      W      C      %\n    0    130     37      0\n    0    110      -      9\n    0    1\n",
        );
        assert!(partial.telemetry.is_empty());
        let power: Vec<(&str, String)> = partial
            .extras
            .iter()
            .filter(|e| e.unit == "W")
            .map(|e| (e.name.as_str(), format!("{:?}", e.value)))
            .collect();
        assert_eq!(power[0], ("pwr, mean", "Number(120.0)".to_owned()));
        assert!(parsed.notes[0].contains("2 rows") || parsed.notes[0].contains("3 rows"), "{:?}", parsed.notes);
        assert!(parsed.left_out[0].to_string().contains("line 5"));
    }

    #[test]
    fn text_that_only_begins_with_a_comment_is_not_taken() {
        let pmon =
            "# gpu         pid   type     sm    mem    command\n# Idx           #    C/G      %      %    name\n";
        for text in ["# gpu notes\n# about it\n1 2\n", "# Idx W\n", "gpu pwr\nIdx W\n", pmon, ""] {
            assert!(!Dmon.sniff(&Head::new("x", text, 1)), "{text}");
        }
    }
}
