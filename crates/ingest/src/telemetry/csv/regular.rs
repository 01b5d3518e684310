//! A table that a script samples, whatever else its columns are called: a time at regular distances, and figures of a machine alone.
//!
//! In:  the header and the first rows.  Out: whether it is one.
//! Not here: tables without names of runs, which need no such proof.
//!
//! A script that watches a GPU writes the model beside each sample. A table of runs has a time and a power too, but a run begins when
//! the one before it ends, and has figures of its work.

use super::timing::when;
use crate::figure::Figure;
use crate::telemetry::cell;
use crate::telemetry::column::Column;
use sparkbench_model::Metric;

/// Rows that are looked at.
const ROWS: usize = 256;
/// Fewest distances that show a rhythm.
const LEAST: usize = 4;
/// Share of the middle distance by which another may differ from it.
const NEAR: f64 = 0.25;

/// Words of the names of figures of a machine.
const OF_MACHINES: &[&str] = &[
    "power",
    "watt",
    "watts",
    "w",
    "mw",
    "temp",
    "temperature",
    "c",
    "clock",
    "clk",
    "mhz",
    "vram",
    "ram",
    "mem",
    "memory",
    "mb",
    "mib",
    "gb",
    "gib",
    "fan",
    "rpm",
    "util",
    "utilization",
    "utilisation",
    "pct",
    "percent",
    "volt",
    "voltage",
    "v",
    "mv",
    "energy",
    "joules",
    "j",
    "mj",
    "throttle",
    "pcie",
];
/// Words of the names of figures of work.
const OF_WORK: &[&str] = &[
    "tok",
    "toks",
    "token",
    "tokens",
    "tps",
    "req",
    "requests",
    "ttft",
    "tpot",
    "itl",
    "latency",
    "throughput",
    "prompt",
];

/// True when the rows are samples.
pub(super) fn is_sampled<'t>(header: &[&str], rows: impl Iterator<Item = &'t str>, sign: char) -> bool {
    let columns: Vec<Option<Column>> = header.iter().map(|cell| Column::of(cell).map(|(column, _)| column)).collect();
    let place = |kind: Column| columns.iter().position(|column| *column == Some(kind));
    let Some(time) = place(Column::Time).or_else(|| place(Column::Clock)).or_else(|| place(Column::Elapsed)) else {
        return false;
    };
    let date = place(Column::Date);
    let mut words = vec![false; header.len()];
    let mut moments = Vec::new();
    let (mut timing, mut clock) = (None, (0.0, 0.0));
    for row in rows.take(ROWS) {
        let cells = cell::split(row, sign);
        // The last row of a head may be cut.
        if cells.len() != header.len() {
            continue;
        }
        for (word, text) in words.iter_mut().zip(&cells) {
            *word |= Figure::parse(text).is_none() && !cell::is_absent(text);
        }
        let date = date.and_then(|place| cells.get(place).copied());
        moments.extend(cells.get(time).and_then(|text| when(&mut timing, &mut clock, date, text)));
    }
    let others = header.iter().zip(&columns).zip(&words).filter(|((_, column), word)| column.is_none() && !**word);
    let distances: Vec<f64> = moments
        .iter()
        .zip(moments.iter().skip(1))
        .map(|(before, at)| at.seconds_since(*before))
        // Several GPUs are sampled at one moment.
        .filter(|distance| *distance != 0.0)
        .collect();
    others.map(|((name, _), _)| name).all(|name| is_of_machines(name)) && is_regular(distances)
}

/// True for a figure of a machine by its name, which no figure of work has.
fn is_of_machines(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |list: &[&str]| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| list.contains(&word));
    has(OF_MACHINES) && !has(OF_WORK) && Metric::of_catalogue(&name).is_none()
}

/// True when three of four distances are that in the middle. A script pauses now and then.
fn is_regular(mut distances: Vec<f64>) -> bool {
    distances.sort_by(f64::total_cmp);
    let Some(middle) = distances.get(distances.len() / 2).copied().filter(|middle| *middle > 0.0) else { return false };
    // Stamps of whole seconds round.
    let whole = distances.iter().all(|distance| distance.fract() == 0.0);
    let near = (middle * NEAR).max(if whole { 1.0 } else { 0.0 });
    let close = distances.iter().filter(|distance| (**distance - middle).abs() <= near).count();
    distances.len() >= LEAST && close * 4 >= distances.len() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(header: &str, rows: &[String]) -> bool {
        is_sampled(&header.split(',').collect::<Vec<_>>(), rows.iter().map(String::as_str), ',')
    }

    /// Rows at these seconds, with one figure for each column behind time and model.
    fn rows(seconds: &[f64], figures: &str) -> Vec<String> {
        seconds.iter().map(|at| format!("{:.3},m.gguf{figures}", 1_771_000_000.0 + at)).collect()
    }

    #[test]
    fn a_model_beside_each_sample_is_no_run() {
        let steady: Vec<f64> = (0..20).map(|k| 0.507 * f64::from(k) + if k > 9 { 15.0 } else { 0.0 }).collect();
        assert!(sampled("timestamp,model,vram_mb,power_w,temp_c,clock_mhz", &rows(&steady, ",5900,60.0,55,2400")));
        assert!(sampled("timestamp,environment,power_w", &rows(&steady, ",60.0")), "whatever else a column is called");
        // Two GPUs at each moment, the last row cut.
        let twice: Vec<f64> = steady.iter().flat_map(|at| [*at, *at]).collect();
        let mut cut = rows(&twice, ",60.0");
        cut.push("17710000".to_owned());
        assert!(sampled("timestamp,model,power_w", &cut));
    }

    #[test]
    fn runs_that_follow_each_other_are_no_samples() {
        let steady = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        for header in [
            "timestamp,model,power_w,tok_per_watt",
            "timestamp,model,power_w,output_throughput_tok_s",
            "timestamp,model,power_w,repeat",
            "timestamp,model,power_w,peak_memory_gib",
        ] {
            assert!(!sampled(header, &rows(&steady, ",60.0,4")), "{header}");
        }
        let runs = [0.0, 31.2, 95.0, 131.8, 260.1, 290.9, 410.0];
        assert!(!sampled("timestamp,model,power_w", &rows(&runs, ",60.0")));
        assert!(!sampled("timestamp,model,power_w", &rows(&steady[..3], ",60.0")), "three rows show no rhythm");
        assert!(!sampled("model,power_w", &["m,1".to_owned()]));
    }
}
