//! Which source a GPU is read through.
//!
//! In:  the suite's choice, the number of the GPU.  Out: [`Opened`], a source or the reasons why there is none.
//! Not here: whether a GPU is needed (see `run::gates`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Gpu;
pub use super::SharedGpu;
use super::nvml::NvmlGpu;
use super::smi::Smi;
use crate::Host;

/// Outcome of opening a GPU.
#[derive(Default)]
pub struct Opened {
    /// The source, where one answers.
    pub gpu: Option<Box<dyn Gpu>>,
    /// Errors of sources that do not work, one line each.
    pub tried: Vec<String>,
    /// One-time output of the source, for the archive: name of a file and its text.
    pub raw: BTreeMap<String, String>,
}

impl Opened {
    /// The source, to be read by several in turn.
    pub fn share(&mut self) -> Option<SharedGpu> {
        self.gpu.take().map(|gpu| Arc::new(Mutex::new(gpu)))
    }

    /// Why there is no source, in one line. What did not work on the way to one.
    pub fn why(&self) -> String {
        self.tried.join("; ")
    }
}

/// Opens a GPU.
///
/// - `choice`: `auto` (NVML, else `nvidia-smi`), `nvml`, `nvidia-smi`, `off`.
/// - `index`: as the driver counts, from 0.
/// - `interval`: at which a source that prints by itself does so.
///
/// A source that does not work is no error here: its reason is in [`Opened::tried`].
pub fn open(host: &Arc<dyn Host>, choice: &str, index: u32, interval: Duration) -> Opened {
    let mut opened = Opened::default();
    if !matches!(choice, "auto" | "nvml" | "nvidia-smi") {
        opened.tried.push(match choice {
            "off" => "the suite switches GPU telemetry off".to_owned(),
            other => format!("'{other}' is not a source of GPU telemetry: it is auto, nvml, nvidia-smi or off"),
        });
        return opened;
    }
    if choice != "nvidia-smi" {
        match NvmlGpu::open(index) {
            Ok(gpu) => {
                opened.gpu = Some(Box::new(gpu));
                return opened;
            }
            Err(error) => opened.tried.push(format!("nvml: {}", error.in_short())),
        }
    }
    if choice != "nvml" {
        match Smi::open(Arc::clone(host), index, interval) {
            Ok(gpu) => {
                opened.raw = gpu.raw();
                opened.gpu = Some(Box::new(gpu));
            }
            Err(error) => opened.tried.push(format!("nvidia-smi: {}", error.in_short())),
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;

    fn opened(choice: &str) -> Opened {
        let host: Arc<dyn Host> = Arc::new(Replay::new());
        open(&host, choice, 0, Duration::from_secs(1))
    }

    #[test]
    fn every_source_that_does_not_work_says_why() {
        let smi = opened("nvidia-smi");
        assert!(smi.gpu.is_none() && smi.raw.is_empty());
        assert!(smi.why().starts_with("nvidia-smi: cannot start 'nvidia-smi' (not in this recording"), "{}", smi.why());
        let auto = opened("auto");
        // A machine with a driver opens the first source. All others name both.
        match auto.gpu {
            Some(gpu) => assert_eq!(gpu.source(), "nvml"),
            None => {
                assert_eq!(auto.tried.len(), 2, "{:?}", auto.tried);
                assert!(auto.tried[0].starts_with("nvml: ") && auto.tried[1].starts_with("nvidia-smi: "));
            }
        }
    }

    #[test]
    fn off_and_nonsense_open_nothing() {
        assert_eq!(opened("off").tried, ["the suite switches GPU telemetry off"]);
        assert!(opened("rocm").why().contains("'rocm' is not a source"));
        assert!(opened("off").share().is_none());
    }
}
