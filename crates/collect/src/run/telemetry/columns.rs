//! The columns of `telemetry.csv`: name with its unit, source of the figure, and its format in a cell.
//!
//! In:  a [`Row`].  Out: a header and lines. An absent figure is an empty cell.
//! Not here: taking readings, writing the file.
//!
//! The first columns are the contract of the archive. Further ones may follow, and readers ignore those that they do not know.

use crate::run::Row;
use sparkbench_host::gpu::GpuSample;
use sparkbench_host::sample::{HostSample, TreeSample};

/// Who fills a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// Our own clocks.
    Clock,
    /// The driver.
    Gpu,
    /// A file of the kernel.
    Host(&'static str),
    /// The processes of the run.
    Tree,
    /// The control group of the run.
    Group,
}

pub(super) struct Column {
    /// In the header.
    pub name: &'static str,
    /// Who fills it.
    pub from: From,
    cell: Cell,
}

enum Cell {
    Row(fn(&Row) -> Option<String>),
    Gpu(fn(&GpuSample) -> Option<String>),
    Host(fn(&HostSample) -> Option<String>),
    Tree(fn(&TreeSample) -> Option<String>),
}

const MEMINFO: From = From::Host("/proc/meminfo");
const VMSTAT: From = From::Host("/proc/vmstat");

/// Every column whose name does not depend on the machine, in order. The first ones are promised to readers, see `docs/archive.md`.
pub(super) const COLUMNS: &[Column] = &[
    row("timestamp_utc", |row| Some(moment(row))),
    gpu("gpu_util_pct", |gpu| figure(gpu.util_pct)),
    gpu("power_w", |gpu| figure(gpu.power_w)),
    gpu("gpu_c", |gpu| figure(gpu.temp_c)),
    gpu("sm_clock_mhz", |gpu| figure(gpu.sm_clock_mhz)),
    gpu("memory_used_mib", |gpu| figure(gpu.memory_used_mib)),
    row("monotonic_s", |row| figure(Some(row.monotonic_s))),
    gpu("gpu_age_ms", |gpu| figure(gpu.age_ms)),
    gpu("power_instant_w", |gpu| figure(gpu.power_instant_w)),
    gpu("memory_clock_mhz", |gpu| figure(gpu.memory_clock_mhz)),
    gpu("pstate", |gpu| count(gpu.pstate)),
    gpu("throttle_bits", |gpu| Some(format!("{:#018x}", gpu.throttle_bits?))),
    gpu("energy_mj", |gpu| count(gpu.energy_mj)),
    gpu("gpu_processes_mib", |gpu| figure(gpu.processes_mib)),
    host("host_memory_free_mib", MEMINFO, |host| figure(host.memory_free_mib)),
    host("host_memory_available_mib", MEMINFO, |host| figure(host.memory_available_mib)),
    host("host_cached_mib", MEMINFO, |host| figure(host.cached_mib)),
    host("host_buffers_mib", MEMINFO, |host| figure(host.buffers_mib)),
    host("host_sreclaimable_mib", MEMINFO, |host| figure(host.sreclaimable_mib)),
    host("host_shmem_mib", MEMINFO, |host| figure(host.shmem_mib)),
    host("host_anon_mib", MEMINFO, |host| figure(host.anon_mib)),
    host("host_dirty_mib", MEMINFO, |host| figure(host.dirty_mib)),
    host("host_swap_used_mib", MEMINFO, |host| figure(host.swap_used_mib)),
    host("host_swapped_in_pages", VMSTAT, |host| count(host.swapped_in_pages)),
    host("host_swapped_out_pages", VMSTAT, |host| count(host.swapped_out_pages)),
    host("host_pressure_memory_pct", From::Host("/proc/pressure/memory"), |host| figure(host.pressure_memory_pct)),
    host("host_pressure_cpu_pct", From::Host("/proc/pressure/cpu"), |host| figure(host.pressure_cpu_pct)),
    host("host_pressure_io_pct", From::Host("/proc/pressure/io"), |host| figure(host.pressure_io_pct)),
    host("host_load_1m", From::Host("/proc/loadavg"), |host| figure(host.load_1m)),
    host("host_cpu_busy_pct", From::Host("/proc/stat"), |host| figure(host.cpu_busy_pct)),
    host("host_cpu_clock_min_mhz", From::Host("/proc/cpuinfo"), |host| figure(host.cpu_clock_min_mhz)),
    host("host_cpu_clock_max_mhz", From::Host("/proc/cpuinfo"), |host| figure(host.cpu_clock_max_mhz)),
    tree("tree_processes", From::Tree, |tree| count(tree.processes)),
    tree("tree_rss_mib", From::Tree, |tree| figure(tree.rss_mib)),
    tree("tree_cgroup_memory_mib", From::Group, |tree| figure(tree.cgroup_memory_mib)),
    tree("tree_cgroup_anon_mib", From::Group, |tree| figure(tree.cgroup_anon_mib)),
    tree("tree_cgroup_file_mib", From::Group, |tree| figure(tree.cgroup_file_mib)),
    tree("tree_cgroup_oom_kills", From::Group, |tree| count(tree.cgroup_oom_kills)),
    tree("tree_cgroup_cpu_throttled", From::Group, |tree| count(tree.cgroup_cpu_throttled)),
];

const fn row(name: &'static str, cell: fn(&Row) -> Option<String>) -> Column {
    Column { name, from: From::Clock, cell: Cell::Row(cell) }
}

const fn gpu(name: &'static str, cell: fn(&GpuSample) -> Option<String>) -> Column {
    Column { name, from: From::Gpu, cell: Cell::Gpu(cell) }
}

const fn host(name: &'static str, from: From, cell: fn(&HostSample) -> Option<String>) -> Column {
    Column { name, from, cell: Cell::Host(cell) }
}

const fn tree(name: &'static str, from: From, cell: fn(&TreeSample) -> Option<String>) -> Column {
    Column { name, from, cell: Cell::Tree(cell) }
}

impl Column {
    fn cell(&self, row: &Row) -> Option<String> {
        match self.cell {
            Cell::Row(cell) => cell(row),
            Cell::Gpu(cell) => row.gpu.as_ref().and_then(cell),
            Cell::Host(cell) => cell(&row.host),
            Cell::Tree(cell) => cell(&row.tree),
        }
    }
}

/// The columns of one file: the fixed ones, then one for each sensor of this machine.
#[derive(Debug)]
pub(super) struct Table {
    sensors: Vec<String>,
}

impl Table {
    /// For these sensors.
    pub(super) fn new(sensors: &[String]) -> Self {
        Self { sensors: sensors.to_vec() }
    }

    /// Names of all columns, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        COLUMNS
            .iter()
            .map(|column| column.name.to_owned())
            .chain(self.sensors.iter().map(|name| format!("hwmon_{name}")))
    }

    /// The first line.
    pub(super) fn header(&self) -> String {
        self.names().collect::<Vec<_>>().join(",")
    }

    /// A row as cells, in the order of [`Table::names`]. No cell needs quotation marks.
    pub(super) fn cells(&self, row: &Row) -> Vec<Option<String>> {
        let fixed = COLUMNS.iter().map(|column| column.cell(row));
        let sensors = self.sensors.iter().map(|name| figure(row.host.hwmon.get(name).copied()));
        fixed.chain(sensors).collect()
    }
}

/// Milliseconds always, so that the column is of one width.
fn moment(row: &Row) -> String {
    let iso = row.utc.iso();
    if iso.contains('.') { iso } else { iso.replace('Z', ".000Z") }
}

/// Three decimals at most, without zeros at the end. A figure that is not finite is absent.
fn figure(value: Option<f64>) -> Option<String> {
    let text = format!("{:.3}", value.filter(|value| value.is_finite())?);
    let short = text.trim_end_matches('0').trim_end_matches('.');
    Some(if short == "-0" { "0".to_owned() } else { short.to_owned() })
}

fn count(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Instant;

    /// Beginning of the header in every archive.
    const CONTRACT: &[&str] = &["timestamp_utc", "gpu_util_pct", "power_w", "gpu_c", "sm_clock_mhz", "memory_used_mib"];

    #[test]
    fn the_header_begins_with_the_contract_and_no_name_comes_twice() {
        let table = Table::new(&["acpitz_temp1_c".to_owned()]);
        let names: Vec<String> = table.names().collect();
        assert_eq!(names[..CONTRACT.len()], *CONTRACT);
        assert_eq!(names.last().map(String::as_str), Some("hwmon_acpitz_temp1_c"));
        let unlike: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unlike.len(), names.len());
    }

    #[test]
    fn figures_are_short_and_absent_ones_are_empty() {
        for (value, text) in [(75.86, "75.86"), (1980.0, "1980"), (0.0, "0"), (-0.0001, "0"), (1.0 / 3.0, "0.333")] {
            assert_eq!(figure(Some(value)).as_deref(), Some(text));
        }
        assert_eq!((figure(None), figure(Some(f64::NAN))), (None, None));
    }

    #[test]
    fn every_cell_stands_under_its_name() {
        let mut host = HostSample { load_1m: Some(0.5), ..HostSample::default() };
        host.hwmon.insert("b_c".to_owned(), 41.25);
        host.hwmon.insert("new_c".to_owned(), 1.0);
        let gpu = GpuSample {
            power_w: Some(4.1),
            throttle_bits: Some(0x44),
            energy_mj: Some(7),
            pstate: Some(8),
            ..GpuSample::default()
        };
        let row = Row { utc: Instant(0), monotonic_s: 12.5, gpu: Some(gpu), host, tree: TreeSample::default() };
        let table = Table::new(&["a_c".to_owned(), "b_c".to_owned()]);
        let cells: Vec<(String, Option<String>)> = table.names().zip(table.cells(&row)).collect();
        let filled: Vec<(&str, &str)> =
            cells.iter().filter_map(|(name, cell)| Some((name.as_str(), cell.as_deref()?))).collect();
        let expected = [
            ("timestamp_utc", "1970-01-01T00:00:00.000Z"),
            ("power_w", "4.1"),
            ("monotonic_s", "12.5"),
            ("pstate", "8"),
            ("throttle_bits", "0x0000000000000044"),
            ("energy_mj", "7"),
            ("host_load_1m", "0.5"),
            ("hwmon_b_c", "41.25"),
        ];
        assert_eq!(filled, expected);
        assert_eq!(cells.len(), COLUMNS.len() + 2, "a sensor that came later has no column");
    }
}
