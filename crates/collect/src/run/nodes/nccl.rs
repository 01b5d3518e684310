//! Bandwidth between the GPUs of several machines: `all_reduce_perf` of nccl-tests, started by `mpirun`.
//!
//! In:  machines, the path of the program.  Out: [`Nccl`], the printed figures.
//! Not here: links without GPUs (see `link`).
//!
//! Sources: nccl-tests, README and doc/PERFORMANCE.md. The bus bandwidth of an all-reduce over n ranks is 2 (n - 1) / n of size over time.

use std::time::Duration;

use serde::Serialize;

use super::Entry;
use sparkbench_host::{Host, Question};
use sparkbench_text::error::{Error, Kind};

/// It allocates gigabytes on each GPU first.
const LIMIT: Duration = Duration::from_secs(300);

/// Result of an all-reduce.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Nccl {
    /// Largest message, bytes.
    pub bytes: u64,
    /// Of that message, GB/s.
    pub bus_gb_s: f64,
    /// Its time, µs.
    pub time_us: f64,
    /// Values that were wrong, in all rows.
    pub wrong: u64,
}

/// One rank a machine.
pub fn command(entries: &[Entry], program: &str, mpirun: &[String]) -> Vec<String> {
    let hosts: Vec<String> = entries.iter().map(|entry| format!("{}:1", entry.host)).collect();
    let mut argv = vec!["mpirun".to_owned()];
    argv.extend_from_slice(mpirun);
    let words = ["-n", &entries.len().to_string(), "-H", &hosts.join(","), "--map-by", "ppr:1:node", program];
    argv.extend(words.iter().map(|word| (*word).to_owned()));
    argv.extend(["-b", "8M", "-e", "1G", "-f", "2", "-g", "1"].iter().map(|word| (*word).to_owned()));
    argv
}

/// Runs it.
///
/// # Errors
/// A pre-flight error with its last words.
pub fn measure(entries: &[Entry], program: &str, mpirun: &[String], host: &dyn Host) -> Result<Nccl, Error> {
    let failed = |why: String| {
        Error::new(Kind::Preflight, format!("{program} over {} machines fails: {why}", entries.len()))
            .hint("put it at the same path on each machine, built with MPI=1. Add arguments of mpirun with --mpirun")
    };
    let question = Question::new(command(entries, program, mpirun)).within(LIMIT);
    let answer = host.ask(&question).map_err(|cause| failed(cause.to_string()))?;
    if !answer.ok() {
        return Err(failed(answer.complaint()));
    }
    read(&answer.text()).ok_or_else(|| failed("it printed no row".to_owned()))
}

/// Rows of the table: size, count, type, operation, root, then time, algorithm and bus bandwidth and wrong values, out of place first.
pub fn read(text: &str) -> Option<Nccl> {
    let mut found: Option<Nccl> = None;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [bytes, _, _, _, _, time, _, bus, wrong, ..] = words.as_slice() else { continue };
        let (Ok(bytes), Ok(time_us), Ok(bus_gb_s)) = (bytes.parse(), time.parse(), bus.parse()) else { continue };
        let before = found.as_ref().map_or(0, |found| found.wrong);
        // Not counted where the check is off.
        let wrong = before + wrong.parse::<u64>().unwrap_or(0);
        found = Some(Nccl { bytes, bus_gb_s, time_us, wrong });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::nodes::list;

    /// One H200, nccl-tests 2.19.6: no other rank, so no bus bandwidth.
    const CHECKED: &str = include_str!("../../../../../tests/fixtures/nccl/all_reduce_perf-h200.txt");
    /// The same without the check (`-c 0`).
    const UNCHECKED: &str = include_str!("../../../../../tests/fixtures/nccl/all_reduce_perf-unchecked-h200.txt");

    #[test]
    fn the_largest_message_is_read_with_its_wrong_values() {
        let found = read(CHECKED).unwrap();
        assert_eq!(found, Nccl { bytes: 1 << 30, bus_gb_s: 0.0, time_us: 508.93, wrong: 0 });
        assert_eq!(read(UNCHECKED).unwrap().bytes, 1 << 27);
        let wrong = CHECKED.replace("2109.8    0.00       0", "2109.8  386.25       3");
        assert_eq!((read(&wrong).unwrap().bus_gb_s, read(&wrong).unwrap().wrong), (386.25, 3));
        assert_eq!(read("# nothing\n"), None);
    }

    #[test]
    fn the_command_has_one_rank_a_machine() {
        let words = command(&list::names("a,b"), "/opt/all_reduce_perf", &["-x".to_owned(), "NCCL_IB_HCA".to_owned()]);
        assert_eq!(
            words.join(" "),
            "mpirun -x NCCL_IB_HCA -n 2 -H a:1,b:1 --map-by ppr:1:node /opt/all_reduce_perf -b 8M -e 1G -f 2 -g 1"
        );
    }
}
