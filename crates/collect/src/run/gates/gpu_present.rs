//! Is there a GPU that can be read at all, and does its driver stay loaded between runs?
//!
//! In:  the result of opening the driver.  Out: the gate `gpu-present`, the advice `gpu-persistence`.
//! Not here: a GPU that was there and is gone (see `nvml_lost`).

use super::gate::{Context, Gate, absent};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct GpuPresent;

const REMEDY: &str = "install the NVIDIA driver with nvidia-smi, or pass the GPU into this container (--gpus all, or a CDI device). If no workload \
                      needs a GPU, set 'gpu_required = false' in [gates]";

impl Gate for GpuPresent {
    fn name(&self) -> &'static str {
        "gpu-present"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        if ctx.gpu.is_none() {
            return if ctx.gates.gpu_required && ctx.needs_gpu {
                Finding::refused(self.name(), short(ctx.no_gpu), REMEDY).limit("a GPU that can be read")
            } else {
                absent(self, short(ctx.no_gpu), REMEDY)
            };
        }
        let identity = &seen.identity;
        let mut words = vec![identity.name.clone().unwrap_or_else(|| "a GPU without a name".to_owned())];
        words.extend(identity.driver.as_ref().map(|driver| format!("driver {driver}")));
        words.push(match identity.memory_mib {
            Some(mib) => format!("{:.1} GiB of its own", mib / 1024.0),
            None => "no memory figure, because it shares the host's memory".to_owned(),
        });
        words.extend(identity.count.filter(|count| *count > 1).map(|count| format!("one of {count}")));
        Finding::passed(self.name(), words.join(", "))
    }
}

/// Errors of the two sources, short where both are simply not installed.
fn short(tried: &str) -> &str {
    let no_library = tried.contains("libnvidia-ml.so.1: cannot open shared object file: No such file");
    let no_program = tried.contains("cannot start 'nvidia-smi' (No such file");
    if no_library && no_program { "no nvidia-smi and no libnvidia-ml" } else { tried }
}

/// Advice: whether the driver unloads when nothing uses the GPU.
pub(super) struct Persistence;

impl Gate for Persistence {
    fn name(&self) -> &'static str {
        "gpu-persistence"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    fn look(&self, _ctx: &Context<'_>, seen: &Readings) -> Finding {
        match (seen.gpu(self), seen.identity.persistence) {
            (Err(finding), _) => finding,
            (Ok(_), Some(true)) => Finding::passed(self.name(), "on"),
            (Ok(_), Some(false)) => Finding::warned(
                self.name(),
                "off: the driver may unload between runs, which slows the first calls of each run",
                "run nvidia-smi -pm 1 as root, or start the service nvidia-persistenced",
            ),
            (Ok(_), None) => {
                absent(self, "the driver does not report its persistence mode", "see 'nvidia-smi -q -d PERFORMANCE'")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_driver_that_is_not_installed_is_said_in_short_and_any_other_trouble_in_full() {
        let library = "nvml: NVML cannot be used (libnvidia-ml.so.1: a libloading error occurred: libnvidia-ml.so.1: cannot open shared object \
                       file: No such file or directory)";
        let missing =
            format!("{library}; nvidia-smi: cannot start 'nvidia-smi' (No such file or directory (os error 2))");
        assert_eq!(short(&missing), "no nvidia-smi and no libnvidia-ml");
        let broken = format!("{library}; nvidia-smi: Failed to initialize NVML: Unknown Error");
        assert_eq!(short(&broken), broken);
    }
}
