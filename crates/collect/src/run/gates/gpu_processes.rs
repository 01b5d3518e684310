//! Does anyone else use the GPU?
//!
//! In:  the driver's list of processes.  Out: the gate `gpu-processes`.
//! Not here: processes of ours that a crash left (ended before any gate is read).

use std::sync::PoisonError;

use super::gate::{Context, Gate, Patience, absent};
use super::readings::Readings;
use sparkbench_host::gpu::GpuProcess;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct GpuProcesses;

const MIB: f64 = 1024.0 * 1024.0;

impl Gate for GpuProcesses {
    fn name(&self) -> &'static str {
        "gpu-processes"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    // The driver goes on listing an ended process for a moment.
    fn patience(&self) -> Patience {
        Patience::Settles
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        if let Err(finding) = seen.gpu(self) {
            return finding;
        }
        let asked = ctx.gpu.map(|gpu| gpu.lock().unwrap_or_else(PoisonError::into_inner).processes());
        let processes = match asked {
            Some(Ok(processes)) => processes,
            Some(Err(error)) => {
                return absent(
                    self,
                    format!("the driver does not list them: {}", error.what),
                    "compare with 'nvidia-smi' by hand. In a container with its own process namespace the list is empty",
                );
            }
            None => return absent(self, "no GPU can be read", "see the gate 'gpu-present'"),
        };
        let others: Vec<&GpuProcess> = processes.iter().filter(|process| !ctx.ours.contains(&process.pid)).collect();
        let count = others.len() as f64;
        if others.is_empty() {
            return Finding::passed(self.name(), "none").value(count, "processes").limit("none but ours");
        }
        let names: Vec<String> = others.iter().map(|process| name(process)).collect();
        let reading = names.join(", ");
        if ctx.gates.gpu_exclusive {
            Finding::refused(
                self.name(),
                reading,
                "end them, or set 'gpu_exclusive = false' in [gates] if they belong to the experiment",
            )
        } else {
            Finding::warned(
                self.name(),
                reading,
                "end them, or keep them the same for every run: they share clocks, power and memory bandwidth with the run",
            )
        }
        .value(count, "processes")
        .limit("none but ours")
    }
}

fn name(process: &GpuProcess) -> String {
    let called = if process.name.is_empty() { "a process" } else { &process.name };
    match process.bytes {
        Some(bytes) => format!("{called} (pid {}, {:.0} MiB)", process.pid, bytes as f64 / MIB),
        None => format!("{called} (pid {})", process.pid),
    }
}
