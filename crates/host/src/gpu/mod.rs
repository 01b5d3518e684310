//! Readings of a GPU from its driver: one handle that stays open, never a process per sample.
//!
//! In:  a choice of source.  Out: [`Gpu`], [`GpuSample`]. A field that the driver does not report is absent with its reason.
//! Not here: limits, verdicts, when to sample.

mod missing;
pub(crate) mod nvml;
pub mod open;
pub mod smi;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

pub use missing::Missing;
pub use open::{Opened, open};

use super::Host;
use sparkbench_text::error::Error;

/// A GPU that gates, the sampler and the checks after a run read in turn.
pub type SharedGpu = Arc<Mutex<Box<dyn Gpu>>>;

/// The GPU for this thread, or `None` when another thread holds it beyond `limit`. A driver that no longer answers blocks its caller, and
/// must not block everybody else.
pub fn lock_within<'a>(
    host: &dyn Host,
    gpu: &'a Mutex<Box<dyn Gpu>>,
    limit: Duration,
) -> Option<MutexGuard<'a, Box<dyn Gpu>>> {
    const STEP: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match gpu.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if waited >= limit => return None,
            Err(TryLockError::WouldBlock) => host.pause(STEP),
        }
        // Counted in steps: `pause` returns at once when someone asked us to stop, and then there is nothing to wait for.
        waited += STEP;
    }
}

/// An open source of readings for one GPU.
pub trait Gpu: Send {
    /// `nvml` or `nvidia-smi`.
    fn source(&self) -> &'static str;
    /// Data that does not change while it is open.
    fn identity(&self) -> GpuIdentity;
    /// One reading. Fields that the driver refuses are absent. The reasons are in [`Gpu::absent`].
    ///
    /// # Errors
    /// When the source is gone (a lost GPU, an ended child).
    fn sample(&mut self) -> Result<GpuSample, Error>;
    /// Fields that stay absent, and why, so far.
    fn absent(&self) -> BTreeMap<String, String>;
    /// Processes that use the GPU now.
    ///
    /// # Errors
    /// When the driver does not say.
    fn processes(&mut self) -> Result<Vec<GpuProcess>, Error>;
    /// Accumulated causes of lower clocks since the driver was loaded, microseconds by cause. Empty where not reported.
    fn throttle_counters(&mut self) -> BTreeMap<String, u64>;
    /// Processor time of a child of ours behind it, seconds.
    fn child_cpu_s(&self) -> f64;
    /// How often it will be asked from now on. A source that is asked needs no hint. One that prints by itself follows it.
    ///
    /// # Errors
    /// When the source cannot be changed over.
    fn set_interval(&mut self, _interval: Duration) -> Result<(), Error> {
        Ok(())
    }
}

/// Identity of a GPU.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct GpuIdentity {
    /// E.g. `NVIDIA GB10`.
    pub name: Option<String>,
    /// UUID as the driver prints it.
    pub uuid: Option<String>,
    /// Driver version.
    pub driver: Option<String>,
    /// CUDA version of the driver.
    pub cuda: Option<String>,
    /// VBIOS version.
    pub vbios: Option<String>,
    /// PCI address. The domain may be hexadecimal and not zero.
    pub pci: Option<String>,
    /// Memory, MiB. Absent where the GPU shares the host's.
    pub memory_mib: Option<f64>,
    /// Number of GPUs of the machine.
    pub count: Option<u32>,
    /// Highest SM clock, MHz.
    pub sm_clock_max_mhz: Option<f64>,
    /// Persistence mode.
    pub persistence: Option<bool>,
    /// Compute capability, e.g. `12.1`.
    pub compute_capability: Option<String>,
    /// Power limit, watts.
    pub power_limit_w: Option<f64>,
}

/// One reading of a GPU.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct GpuSample {
    /// Utilisation, per cent.
    pub util_pct: Option<f64>,
    /// Power, watts.
    pub power_w: Option<f64>,
    /// Temperature, degrees Celsius.
    pub temp_c: Option<f64>,
    pub sm_clock_mhz: Option<f64>,
    pub memory_clock_mhz: Option<f64>,
    /// Memory in use, MiB.
    pub memory_used_mib: Option<f64>,
    /// Performance state, 0 to 15.
    pub pstate: Option<u32>,
    /// Reasons of lower clocks, as a bit mask of the driver.
    pub throttle_bits: Option<u64>,
    /// Energy since the driver was loaded, millijoules.
    pub energy_mj: Option<u64>,
    /// Sum over processes that use the GPU, MiB.
    pub processes_mib: Option<f64>,
    /// Power without the driver's averaging over a second, watts.
    pub power_instant_w: Option<f64>,
    /// Age of this reading when it was handed over, milliseconds. Absent where the source gives no time of its own, because it was
    /// read just then.
    pub age_ms: Option<f64>,
}

/// A process on the GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuProcess {
    /// Host pid.
    pub pid: u32,
    /// Name, where it can be read.
    pub name: String,
    /// GPU memory, bytes.
    pub bytes: Option<u64>,
}

/// Reasons of lower clocks that mean a limit was hit: software power cap, hardware slowdown, software and hardware thermal slowdown,
/// power brake. Idle, application clocks, sync boost and display clocks do not count.
/// Source: NVML API reference, `nvmlClocksEventReasons`.
pub const THROTTLE_LIMITS: &[(u64, &str)] = &[
    (0x4, "software power cap"),
    (0x8, "hardware slowdown"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
];
