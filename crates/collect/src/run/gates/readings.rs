//! Readings that all gates share: the GPU, memory, load.
//!
//! In:  a [`Context`].  Out: [`Readings`].
//! Not here: limits.

use std::path::Path;
use std::sync::PoisonError;

use super::gate::{Context, Gate, absent};
use sparkbench_host::gpu::{GpuIdentity, GpuSample};
use sparkbench_host::sample::HostSample;
use sparkbench_host::{Host, cpu, memory};
use sparkbench_model::Finding;

/// One moment of the machine.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// The GPU. Else why not.
    pub gpu: Option<GpuSample>,
    /// Why there is no reading of the GPU. Empty when there is.
    pub no_gpu: String,
    /// What the GPU is. Empty where there is none.
    pub identity: GpuIdentity,
    /// Memory, swap, load.
    pub host: HostSample,
    /// Cores that are switched on.
    pub cores: Option<u32>,
}

impl Readings {
    /// Takes the readings. What cannot be read is absent.
    pub fn take(ctx: &Context<'_>) -> Self {
        let mut seen = Self { no_gpu: ctx.no_gpu.to_owned(), ..Self::default() };
        if let Some(gpu) = ctx.gpu {
            let mut gpu = gpu.lock().unwrap_or_else(PoisonError::into_inner);
            seen.identity = gpu.identity();
            match gpu.sample() {
                Ok(sample) => {
                    seen.gpu = Some(sample);
                    seen.no_gpu = String::new();
                }
                Err(error) => seen.no_gpu = error.to_string().replace('\n', " "),
            }
        }
        seen.host = machine(ctx.host);
        seen.cores = cores(ctx.host);
        seen
    }

    /// The reading of the GPU, or the finding that says why there is none.
    pub(super) fn gpu(&self, gate: &dyn Gate) -> Result<&GpuSample, Finding> {
        self.gpu.as_ref().ok_or_else(|| {
            // Said in full by 'gpu-present' and 'nvml-lost': eight times the same complaint would hide what else there is.
            absent(gate, "no GPU can be read", "see 'gpu-present' and 'nvml-lost'")
        })
    }

    /// One field of the GPU, or the finding that says that the driver does not report it.
    pub(super) fn gpu_field(
        &self,
        gate: &dyn Gate,
        field: &str,
        take: impl Fn(&GpuSample) -> Option<f64>,
    ) -> Result<f64, Finding> {
        take(self.gpu(gate)?).ok_or_else(|| {
            absent(
                gate,
                format!("the driver does not report the {field}"),
                format!("switch this gate off in the suite, or check with 'nvidia-smi -q' whether another driver reports the {field}"),
            )
        })
    }

    /// True when the GPU has no memory of its own: the driver says no figure for it.
    pub fn unified(&self) -> bool {
        self.gpu.is_some() && self.identity.memory_mib.is_none()
    }
}

/// Memory, swap and load of the machine.
pub(super) fn machine(host: &dyn Host) -> HostSample {
    let mut sample = HostSample::default();
    memory::read(host, &mut sample);
    cpu::load(host, &mut sample);
    sample
}

/// Cores that are switched on, from a list like `0-4,10-14`.
fn cores(host: &dyn Host) -> Option<u32> {
    let text = host.read(Path::new("/sys/devices/system/cpu/online")).ok()?;
    let mut count: u32 = 0;
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::replay::Replay;

    #[test]
    fn cores_are_counted_from_the_list_of_the_kernel() {
        let online = |text: &str| cores(&Replay::new().file("/sys/devices/system/cpu/online", text));
        assert_eq!(online("0-19\n"), Some(20));
        assert_eq!(online("0-4,10-14\n"), Some(10));
        assert_eq!(online("0\n"), Some(1));
        for garbage in ["", "\n", "3-1", "a-b", "0-4294967295", "0-2,"] {
            assert_eq!(online(garbage), None, "{garbage:?}");
        }
        assert_eq!(cores(&Replay::new()), None);
    }
}
