//! Pressure: the share of time in which work waited for processor, memory or disk.
//!
//! In:  a host.  Out: the pressure fields of a [`HostSample`].
//! Not here: limits.
//!
//! Source: Linux, `Documentation/accounting/psi.rst`. Kernels built without it, or started with `psi=0`, have no such files.

use std::path::Path;

use super::Host;
use super::sample::HostSample;

/// One file a resource.
pub(crate) const FOLDER: &str = "/proc/pressure";

/// Takes the reading.
pub(crate) fn read(host: &dyn Host, sample: &mut HostSample) {
    let share = |name: &str| some_avg10(&host.read(&Path::new(FOLDER).join(name)).ok()?);
    sample.pressure_memory_pct = share("memory");
    sample.pressure_cpu_pct = share("cpu");
    sample.pressure_io_pct = share("io");
}

/// `some avg10=`: per cent of the last ten seconds in which at least one task waited.
pub(crate) fn some_avg10(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;

    #[test]
    fn the_first_share_of_the_line_some_is_read() {
        let text =
            "some avg10=5.00 avg60=5.58 avg300=5.41 total=79917854\nfull avg10=0.10 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(some_avg10(text), Some(5.0));
        assert_eq!(some_avg10("full avg10=0.10\n"), None);
        assert_eq!(some_avg10("some avg10=\n"), None);
        assert_eq!(some_avg10(""), None);
    }

    #[test]
    fn a_kernel_without_pressure_leaves_it_absent() {
        let mut sample = HostSample::default();
        read(&Replay::new().file("/proc/pressure/io", "some avg10=1.50 avg60=0 avg300=0 total=1\n"), &mut sample);
        assert_eq!(
            (sample.pressure_io_pct, sample.pressure_cpu_pct, sample.pressure_memory_pct),
            (Some(1.5), None, None)
        );
    }
}
