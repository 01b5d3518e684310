//! A GPU through NVML, the driver's own library, opened once and kept.
//!
//! In:  the number of the GPU.  Out: [`NvmlGpu`], a [`Gpu`].
//! Not here: machines where the library is missing (see `smi`), limits.
//!
//! A field that the driver refuses is absent with the driver's reason. On a GB10 memory, memory clock and power limit are always refused.
//! Processes, power, energy, clocks and temperature are reported.
//!
//! Source: NVML API reference. Power is averaged over one second on Ampere and later, `NVML_FI_DEV_POWER_INSTANT` is not. Energy is in
//! millijoules since the driver was loaded. Accumulated reasons of lower clocks are in nanoseconds. The binding translates field numbers of
//! 580.82 and later.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use nvml_wrapper::enum_wrappers::device::{Clock, PerformancePolicy, PerformanceState, TemperatureSensor};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use nvml_wrapper::{Device, Nvml};

use super::{Gpu, GpuIdentity, GpuProcess, GpuSample, Missing};
use sparkbench_text::error::{Error, Kind};

/// Names of the library, the one of development packages first, then the one that every driver installs.
const LIBRARIES: &[&str] = &["libnvidia-ml.so", "libnvidia-ml.so.1"];

/// Accumulated causes of lower clocks, as field values. Those that are older than 550 keep their first names in the header.
const COUNTERS: &[(u32, &str)] = &[
    (field_id::NVML_FI_DEV_PERF_POLICY_POWER, "sw_power_cap"),
    (field_id::NVML_FI_DEV_PERF_POLICY_SYNC_BOOST, "sync_boost"),
    (field_id::NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, "sw_thermal_slowdown"),
    (field_id::NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, "hw_thermal_slowdown"),
    (field_id::NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, "hw_power_brake_slowdown"),
];

/// The older question for the same, where field values are refused.
const POLICIES: &[(PerformancePolicy, &str)] = &[
    (PerformancePolicy::Power, "policy_power"),
    (PerformancePolicy::Thermal, "policy_thermal"),
    (PerformancePolicy::SyncBoost, "policy_sync_boost"),
    (PerformancePolicy::BoardLimit, "policy_board_limit"),
    (PerformancePolicy::Reliability, "policy_reliability"),
];

/// Characters of a process name that are asked for.
const NAME_LENGTH: usize = 256;
const MIB: f64 = 1024.0 * 1024.0;

/// See the module.
pub(crate) struct NvmlGpu {
    nvml: Nvml,
    index: u32,
    identity: GpuIdentity,
    missing: Missing,
}

impl NvmlGpu {
    /// Loads the library and asks what the GPU is.
    ///
    /// # Errors
    /// When no library can be loaded, the driver does not answer, or there is no such GPU.
    pub(crate) fn open(index: u32) -> Result<Self, Error> {
        let nvml = load(LIBRARIES)?;
        let identity = identity(&nvml, index).map_err(|cause| {
            let count =
                nvml.device_count().map_or_else(|_| "an unknown number of".to_owned(), |count| count.to_string());
            refused(&format!("NVML does not open GPU {index}"), &cause)
                .detail(format!("the driver reports {count} GPUs, counted from 0"))
        })?;
        Ok(Self { nvml, index, identity, missing: Missing::default() })
    }

    fn device(&self) -> Result<Device<'_>, Error> {
        // A handle costs a look-up in a table. Keeping one would tie it to the library's life.
        self.nvml.device_by_index(self.index).map_err(|cause| refused("the GPU was lost", &cause))
    }
}

fn load(libraries: &[&str]) -> Result<Nvml, Error> {
    let mut reasons = Vec::new();
    for library in libraries {
        match Nvml::builder().lib_path(OsStr::new(library)).init() {
            Ok(nvml) => return Ok(nvml),
            Err(cause) => reasons.push(format!("{library}: {}", told(&cause))),
        }
    }
    Err(Error::new(Kind::Preflight, "NVML cannot be used")
        .detail(reasons.join("; "))
        .hint("install the NVIDIA driver with its libraries. A statically linked program cannot load them"))
}

fn identity(nvml: &Nvml, index: u32) -> Result<GpuIdentity, NvmlError> {
    let device = nvml.device_by_index(index)?;
    Ok(GpuIdentity {
        name: device.name().ok(),
        uuid: device.uuid().ok(),
        driver: nvml.sys_driver_version().ok(),
        cuda: nvml.sys_cuda_driver_version().ok().map(cuda),
        vbios: device.vbios_version().ok(),
        pci: device.pci_info().ok().map(|pci| pci.bus_id),
        memory_mib: device.memory_info().ok().filter(|memory| memory.total > 0).map(|memory| memory.total as f64 / MIB),
        count: nvml.device_count().ok(),
        sm_clock_max_mhz: device.max_clock_info(Clock::SM).ok().map(f64::from),
        persistence: device.is_in_persistent_mode().ok(),
        compute_capability: device.cuda_compute_capability().ok().map(|c| format!("{}.{}", c.major, c.minor)),
        power_limit_w: device.enforced_power_limit().ok().map(watts),
    })
}

/// 13000 is 13.0.
fn cuda(version: i32) -> String {
    format!("{}.{}", nvml_wrapper::cuda_driver_version_major(version), nvml_wrapper::cuda_driver_version_minor(version))
}

fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

/// The driver's reason, in its own words. Messages of the loader keep one line.
fn told(cause: &NvmlError) -> String {
    cause.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn refused(what: &str, cause: &NvmlError) -> Error {
    Error::new(Kind::Preflight, format!("{what}: {}", told(cause)))
        .hint("look for Xid or NVRM in the kernel log, and run 'nvidia-smi' by hand")
}

/// Refusals after which nothing else can be read either.
fn is_gone(cause: &NvmlError) -> bool {
    matches!(
        cause,
        NvmlError::GpuLost
            | NvmlError::ResetRequired
            | NvmlError::Uninitialized
            | NvmlError::DriverNotLoaded
            | NvmlError::LibRmVersionMismatch
            | NvmlError::IrqIssue
            | NvmlError::InsufficientPower
    )
}

/// Readings of one moment: values, refusals, and the first refusal that ends it all.
struct Round<'a> {
    missing: &'a mut Missing,
    gone: Option<NvmlError>,
}

impl Round<'_> {
    fn take<T>(&mut self, field: &'static str, answer: Result<T, NvmlError>) -> Option<T> {
        match answer {
            Ok(value) => Some(value),
            Err(cause) => {
                self.missing.note(field, told(&cause));
                if is_gone(&cause) {
                    self.gone.get_or_insert(cause);
                }
                None
            }
        }
    }
}

/// Bits as the driver gave them, unknown ones included.
fn throttle_bits(device: &Device<'_>) -> Result<u64, NvmlError> {
    match device.current_throttle_reasons_strict() {
        Ok(reasons) => Ok(reasons.bits()),
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
        Err(cause) => Err(cause),
    }
}

/// `NVML_PSTATE_0` to `NVML_PSTATE_15` are 0 to 15. Unknown is 32.
fn state(state: PerformanceState) -> Result<u32, NvmlError> {
    match state {
        PerformanceState::Unknown => Err(NvmlError::NoData),
        known => Ok(known.as_c()),
    }
}

/// A counter that cannot be below zero.
fn whole(value: &SampleValue) -> Option<u64> {
    match value {
        SampleValue::U32(value) => Some(u64::from(*value)),
        SampleValue::U64(value) => Some(*value),
        SampleValue::I64(value) => u64::try_from(*value).ok(),
        SampleValue::F64(value) => (value.is_finite() && *value >= 0.0).then_some(*value as u64),
    }
}

/// One field value of the driver, as a whole number.
fn field(device: &Device<'_>, id: u32) -> Result<u64, NvmlError> {
    let mut answers = device.field_values_for(&[FieldId(id)])?;
    let value = answers.pop().ok_or(NvmlError::NoData)??.value?;
    whole(&value).ok_or(NvmlError::NoData)
}

/// Memory of a list of processes, MiB. A process whose memory is not told makes the sum absent, not smaller.
fn sum_mib(processes: &[ProcessInfo]) -> Result<f64, NvmlError> {
    processes
        .iter()
        .map(|process| used(process).ok_or(NvmlError::NoData))
        .sum::<Result<u64, _>>()
        .map(|sum| sum as f64 / MIB)
}

fn used(process: &ProcessInfo) -> Option<u64> {
    match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    }
}

impl Gpu for NvmlGpu {
    fn source(&self) -> &'static str {
        "nvml"
    }

    fn identity(&self) -> GpuIdentity {
        self.identity.clone()
    }

    fn sample(&mut self) -> Result<GpuSample, Error> {
        let device = self.nvml.device_by_index(self.index).map_err(|cause| refused("the GPU was lost", &cause))?;
        let mut round = Round { missing: &mut self.missing, gone: None };
        // A driver that answers with zero bytes of memory has no memory figure.
        let memory = device
            .memory_info()
            .and_then(|memory| if memory.total > 0 { Ok(memory) } else { Err(NvmlError::NotSupported) });
        let processes = device.running_compute_processes();
        let sample = GpuSample {
            util_pct: round.take("gpu_util_pct", device.utilization_rates()).map(|rates| f64::from(rates.gpu)),
            power_w: round.take("power_w", device.power_usage()).map(watts),
            temp_c: round.take("gpu_c", device.temperature(TemperatureSensor::Gpu)).map(f64::from),
            sm_clock_mhz: round.take("sm_clock_mhz", device.clock_info(Clock::SM)).map(f64::from),
            memory_clock_mhz: round.take("memory_clock_mhz", device.clock_info(Clock::Memory)).map(f64::from),
            memory_used_mib: round.take("memory_used_mib", memory).map(|memory| memory.used as f64 / MIB),
            pstate: round.take("pstate", device.performance_state().and_then(state)),
            throttle_bits: round.take("throttle_bits", throttle_bits(&device)),
            energy_mj: round.take("energy_mj", device.total_energy_consumption()),
            processes_mib: round.take("gpu_processes_mib", processes.and_then(|processes| sum_mib(&processes))),
            power_instant_w: round
                .take("power_instant_w", field(&device, field_id::NVML_FI_DEV_POWER_INSTANT))
                .map(|milliwatts| milliwatts as f64 / 1000.0),
            age_ms: None,
        };
        match round.gone {
            Some(cause) => Err(refused("the GPU was lost", &cause)),
            None => Ok(sample),
        }
    }

    fn absent(&self) -> BTreeMap<String, String> {
        self.missing.reasons()
    }

    fn processes(&mut self) -> Result<Vec<GpuProcess>, Error> {
        let processes = self.device()?.running_compute_processes();
        let processes =
            processes.map_err(|cause| refused("NVML does not list the processes that use the GPU", &cause))?;
        Ok(processes
            .iter()
            .map(|process| GpuProcess {
                pid: process.pid,
                name: self.nvml.sys_process_name(process.pid, NAME_LENGTH).unwrap_or_default(),
                bytes: used(process),
            })
            .collect())
    }

    fn throttle_counters(&mut self) -> BTreeMap<String, u64> {
        let Ok(device) = self.device() else { return BTreeMap::new() };
        let micros = |nanos: u64| nanos / 1000;
        let fields =
            COUNTERS.iter().filter_map(|(id, name)| Some(((*name).to_owned(), micros(field(&device, *id).ok()?))));
        let counters: BTreeMap<String, u64> = fields.collect();
        if !counters.is_empty() {
            return counters;
        }
        let policies = POLICIES.iter().filter_map(|(policy, name)| {
            let time = device.violation_status(*policy).ok()?;
            Some(((*name).to_owned(), micros(time.violation_time)))
        });
        policies.collect()
    }

    fn child_cpu_s(&self) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_library_says_which_names_were_tried() {
        let error = load(&["libsparkbench-no-such-library.so", "libsparkbench-no-such-library.so.1"]).err().unwrap();
        let text = error.to_string();
        assert!(text.starts_with("NVML cannot be used"), "{text}");
        for part in [
            "libsparkbench-no-such-library.so:",
            "libsparkbench-no-such-library.so.1:",
            "cannot open shared object file",
            "try:",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn with_a_driver_a_gpu_opens_and_without_one_the_reason_is_clear() {
        match NvmlGpu::open(0) {
            Ok(mut gpu) => {
                assert_eq!(gpu.source(), "nvml");
                assert!(gpu.identity().name.is_some() && gpu.identity().driver.is_some());
                let sample = gpu.sample().unwrap();
                assert!(sample.temp_c.is_some_and(|c| (1.0..120.0).contains(&c)), "{sample:?}");
                // Every field is there, or its reason is.
                assert!(sample.memory_used_mib.is_some() != gpu.absent().contains_key("memory_used_mib"));
                let beyond = NvmlGpu::open(10_000).err().unwrap().to_string();
                assert!(beyond.contains("does not open GPU 10000"), "{beyond}");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("libnvidia-ml.so.1: ") || text.contains("does not open GPU 0"), "{text}");
                assert!(text.contains("try:"), "{text}");
            }
        }
    }

    #[test]
    fn the_driver_s_numbers_become_ours() {
        assert_eq!((cuda(13000), cuda(12080)), ("13.0".to_owned(), "12.8".to_owned()));
        assert_eq!((state(PerformanceState::Zero).ok(), state(PerformanceState::Eight).ok()), (Some(0), Some(8)));
        assert!(state(PerformanceState::Unknown).is_err());
        assert_eq!(whole(&SampleValue::I64(-1)), None);
        assert_eq!((whole(&SampleValue::F64(2.9)), whole(&SampleValue::F64(f64::NAN))), (Some(2), None));
        assert!((watts(75_860) - 75.86).abs() < 1e-9);
    }

    #[test]
    fn a_process_whose_memory_is_not_told_makes_the_sum_absent() {
        let process =
            |used_gpu_memory| ProcessInfo { pid: 1, used_gpu_memory, gpu_instance_id: None, compute_instance_id: None };
        let known = process(UsedGpuMemory::Used(3 << 20));
        assert_eq!(sum_mib(&[known.clone(), known.clone()]).ok(), Some(6.0));
        assert_eq!(sum_mib(&[]).ok(), Some(0.0), "nobody uses it");
        assert!(sum_mib(&[known, process(UsedGpuMemory::Unavailable)]).is_err());
    }

    #[test]
    fn a_lost_gpu_ends_the_reading_and_an_unsupported_field_does_not() {
        assert!(is_gone(&NvmlError::GpuLost) && is_gone(&NvmlError::DriverNotLoaded));
        let mut missing = Missing::default();
        let mut round = Round { missing: &mut missing, gone: None };
        assert_eq!(round.take::<u32>("memory_used_mib", Err(NvmlError::NotSupported)), None);
        assert!(round.gone.is_none());
        assert_eq!(round.take::<u32>("power_w", Err(NvmlError::GpuLost)), None);
        assert!(matches!(round.gone, Some(NvmlError::GpuLost)));
        assert_eq!(
            missing.reasons()["memory_used_mib"],
            "the requested operation is not available on the target device"
        );
    }
}
