//! The meanings of telemetry columns: names over the years, of nvidia-smi and of scripts.
//!
//! In:  a cell of a header, or of a file without one.  Out: [`Column`].
//! Not here: values.
//!
//! `nvidia-smi` answers with names of its own: `clocks.sm` is echoed as `clocks.current.sm`, and from driver 535 on
//! `clocks_throttle_reasons.active` as `clocks_event_reasons.active`.

/// Content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// A moment, or seconds since 1970.
    Time,
    /// A date whose time is in another column.
    Date,
    /// A time of day without a date.
    Clock,
    /// Seconds since a start of the source's own.
    Elapsed,
    /// Number of the GPU.
    Gpu,
    /// Name of the GPU.
    Name,
    /// Version of the driver.
    Driver,
    /// Identifies the very device: never taken.
    Secret,
    /// GPU utilisation, per cent.
    Util,
    /// Power, average before instant. Watts.
    Power,
    /// GPU temperature, degrees Celsius.
    Temperature,
    /// SM clock, MHz.
    SmClock,
    /// GPU memory in use, MiB.
    Memory,
    /// Activity of the memory controller, per cent.
    MemoryUtil,
    /// Memory clock, MHz.
    MemoryClock,
    /// Power limit, watts.
    PowerLimit,
    /// Energy counter, millijoules.
    EnergyMj,
    /// Energy counter, joules.
    EnergyJ,
    /// Memory of the machine in use, MiB.
    HostUsed,
    /// Memory of the machine that is available, MiB.
    HostAvailable,
    /// Swap in use, MiB.
    HostSwap,
    /// `P0` to `P15`.
    State,
    /// Mask of throttle reasons.
    Throttle,
    /// One throttle reason as a word, with its bit.
    Reason(u64),
}

use Column::{
    Clock, Date, Driver, Elapsed, EnergyJ, EnergyMj, Gpu, HostAvailable, HostSwap, HostUsed, Memory, MemoryClock,
    MemoryUtil, Name, Power, PowerLimit, Reason, Secret, SmClock, State, Temperature, Throttle, Time, Util,
};

/// Names without the unit in brackets, lower case. Of two columns with one meaning the name that comes first here wins.
const NAMES: &[(Column, &[&str])] = &[
    (
        Time,
        &[
            "timestamp",
            "timestamp_utc",
            "at_utc",
            "time_utc",
            "datetime",
            "date_time",
            "ts",
            "epoch",
            "epoch_s",
            "time",
            "unix_time",
        ],
    ),
    (Date, &["date"]),
    (Elapsed, &["elapsed_s", "elapsed", "elapsed_sec", "seconds", "t_s", "time_s", "monotonic_s", "rel_s"]),
    (Gpu, &["index", "gpu_index", "gpu", "gpu_id"]),
    (Name, &["name", "gpu_name"]),
    (Driver, &["driver_version"]),
    (
        Secret,
        &[
            "uuid",
            "gpu_uuid",
            "serial",
            "gpu_serial",
            "pci.bus_id",
            "gpu_bus_id",
            "pdi",
            "hostname",
            "host",
            "board_id",
            "platform.host_id",
            "platform.chassis_serial_number",
            "platform.gpu_fabric_guid",
            "fabric.clusteruuid",
            "pid",
        ],
    ),
    (
        Util,
        &[
            "utilization.gpu",
            "gpu_util_pct",
            "gpu_util",
            "gpu_utilization",
            "utilization_gpu",
            "gpu_util_percent",
            "util",
            "sm_util",
        ],
    ),
    (
        Power,
        &[
            "power.draw",
            "power.draw.average",
            "power.draw.instant",
            "power_w",
            "power_draw_w",
            "power_draw",
            "gpu_power_w",
            "gpu_power",
            "power_watts",
            "power",
        ],
    ),
    (
        Temperature,
        &[
            "temperature.gpu",
            "gpu_c",
            "temp_c",
            "gpu_temp",
            "gpu_temp_c",
            "temperature_c",
            "temperature_gpu",
            "temperature",
            "temp",
        ],
    ),
    (
        SmClock,
        &[
            "clocks.current.sm",
            "clocks.sm",
            "sm_clock_mhz",
            "clk_sm_mhz",
            "sm_mhz",
            "sm_clock",
            "clocks_sm",
            "sm_clk",
            "clock_sm_mhz",
        ],
    ),
    (
        Memory,
        &[
            "memory.used",
            "memory_used_mib",
            "gpu_mem_used_mib",
            "gpu_memory_used_mib",
            "gpu_mem_mib",
            "memory_used",
            "gpu_memory_mib",
            "fb_used_mib",
        ],
    ),
    (MemoryUtil, &["utilization.memory", "mem_util_pct", "memory_util_pct", "utilization_memory"]),
    (
        MemoryClock,
        &[
            "clocks.current.memory",
            "clocks.mem",
            "clocks.current.mem",
            "memory_clock_mhz",
            "clk_mem_mhz",
            "mem_mhz",
            "mem_clock_mhz",
            "clocks_mem",
        ],
    ),
    (PowerLimit, &["power.limit", "power_limit_w", "enforced.power.limit", "power.limit_w", "power_limit"]),
    (EnergyMj, &["total_energy_consumption", "energy_mj"]),
    (EnergyJ, &["energy_j", "energy_total_j"]),
    (
        HostUsed,
        &[
            "mem_used_mb",
            "mem_used_mib",
            "host_mem_used_mb",
            "host_mem_used_mib",
            "host_memory_used_mib",
            "ram_used_mb",
            "ram_used_mib",
        ],
    ),
    (
        HostAvailable,
        &[
            "host_memory_available_mib",
            "mem_available_mb",
            "mem_available_mib",
            "mem_avail_mb",
            "mem_avail_mib",
            "ram_available_mb",
        ],
    ),
    (HostSwap, &["host_swap_used_mib", "swap_used_mb", "swap_used_mib"]),
    (State, &["pstate", "perf_state"]),
    (
        Throttle,
        &[
            "clocks_event_reasons.active",
            "clocks_throttle_reasons.active",
            "throttle_bits",
            "throttle_reasons",
            "clocks_throttle_reasons",
        ],
    ),
    (Reason(0x01), &["clocks_event_reasons.gpu_idle", "clocks_throttle_reasons.gpu_idle"]),
    (
        Reason(0x02),
        &["clocks_event_reasons.applications_clocks_setting", "clocks_throttle_reasons.applications_clocks_setting"],
    ),
    (Reason(0x04), &["clocks_event_reasons.sw_power_cap", "clocks_throttle_reasons.sw_power_cap"]),
    (Reason(0x08), &["clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown"]),
    (Reason(0x10), &["clocks_event_reasons.sync_boost", "clocks_throttle_reasons.sync_boost"]),
    (Reason(0x20), &["clocks_event_reasons.sw_thermal_slowdown", "clocks_throttle_reasons.sw_thermal_slowdown"]),
    (Reason(0x40), &["clocks_event_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown"]),
    (
        Reason(0x80),
        &["clocks_event_reasons.hw_power_brake_slowdown", "clocks_throttle_reasons.hw_power_brake_slowdown"],
    ),
];

impl Column {
    /// The meaning of a header's cell, and how far down its name is in its list.
    pub(super) fn of(cell: &str) -> Option<(Self, usize)> {
        let name = base(cell).to_ascii_lowercase();
        NAMES
            .iter()
            .find_map(|(column, names)| names.iter().position(|known| *known == name).map(|rank| (*column, rank)))
    }

    /// True for what was measured: a table with a time and one of these is telemetry.
    pub(super) const fn is_measured(self) -> bool {
        !matches!(self, Time | Date | Clock | Elapsed | Gpu | Name | Driver | Secret)
    }

    /// Unit of its figures where no other unit is beside them.
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Util | MemoryUtil => "%",
            Power | PowerLimit => "W",
            Temperature => "°C",
            SmClock | MemoryClock => "MHz",
            Memory | HostUsed | HostAvailable | HostSwap => "MiB",
            EnergyMj => "mJ",
            EnergyJ => "J",
            _ => "",
        }
    }

    /// True for moments.
    pub(super) const fn is_time(self) -> bool {
        matches!(self, Time | Date | Clock | Elapsed)
    }

    /// Quantities that cannot be negative. Scripts write -1 where they got nothing.
    pub(super) const fn is_never_negative(self) -> bool {
        self.is_measured() && !matches!(self, Temperature)
    }
}

/// The name without the unit in brackets: `power.draw [W]` is `power.draw`.
pub(super) fn base(cell: &str) -> &str {
    cell.split('[').next().unwrap_or(cell).trim()
}

/// The unit in brackets, or that at the end of a script's name.
pub(super) fn unit(cell: &str) -> &'static str {
    const BRACKETS: &[(&str, &str)] = &[
        ("[%]", "%"),
        ("[W]", "W"),
        ("[MHz]", "MHz"),
        ("[MiB]", "MiB"),
        ("[us]", "us"),
        ("[mJ]", "mJ"),
        ("[MB/s]", "MB/s"),
    ];
    const ENDS: &[(&str, &str)] = &[
        ("_pct", "%"),
        ("_w", "W"),
        ("_mhz", "MHz"),
        ("_mib", "MiB"),
        ("_c", "°C"),
        ("_us", "us"),
        ("_ms", "ms"),
        ("_mj", "mJ"),
        ("_s", "s"),
        ("_gib", "GiB"),
        ("_kib", "KiB"),
        ("_sec", "s"),
        ("_rpm", "rpm"),
        ("_gb", "GB"),
        ("_gbs", "GB/s"),
        ("_tflops", "TFLOP/s"),
    ];
    let lower = base(cell).to_ascii_lowercase();
    BRACKETS
        .iter()
        .find(|(mark, _)| cell.contains(mark))
        .or_else(|| ENDS.iter().find(|(end, _)| lower.ends_with(end)))
        .map_or_else(|| Column::of(cell).map_or("", |(column, _)| column.unit()), |(_, unit)| unit)
}

/// True for a name that only `nvidia-smi` has: with a point inside, or with a unit in brackets.
pub(super) fn is_smi(cell: &str) -> bool {
    let name = base(cell);
    (cell.contains(" [") && cell.ends_with(']')) || (Column::of(cell).is_some() && name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_names_mean_the_same_column() {
        for (old, new) in [
            ("clocks.sm [MHz]", "clocks.current.sm [MHz]"),
            ("clocks_throttle_reasons.active", "clocks_event_reasons.active"),
            ("clocks_throttle_reasons.hw_slowdown", "clocks_event_reasons.hw_slowdown"),
            ("power.draw.average [W]", "power_draw_w"),
        ] {
            assert_eq!(Column::of(old).unwrap().0, Column::of(new).unwrap().0, "{old}");
        }
        assert_eq!(Column::of("mem_used_mb").unwrap().0, HostUsed, "a script's free -m, not the GPU");
        assert_eq!((unit("fan.speed [%]"), unit("host_cpu_clock_min_mhz"), unit("count")), ("%", "MHz", ""));
        assert!(is_smi("power.draw [W]") && is_smi("temperature.gpu") && !is_smi("power_w"));
    }
}
