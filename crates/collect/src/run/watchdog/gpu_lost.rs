//! Does the GPU still answer?
//!
//! In:  samples without a reading of the GPU where there was one before.  Out: the watchdog `gpu-lost`, which ends a run that used it.
//! Not here: what the driver's complaints mean (see `gates::lost`).

use std::sync::TryLockError;

use super::kind::{Moment, Start, Watchdog, absent};
use crate::run::gates::load::BUSY_PCT;
use crate::run::gates::lost;
use sparkbench_model::Finding;

const NAME: &str = "gpu-lost";

/// Samples on end without a reading before the GPU is asked again: one may be late.
const MISSED: u32 = 3;

#[derive(Default)]
struct Lost {
    watched: bool,
    /// The run has used the GPU.
    used: bool,
    missing: u32,
    missed: u64,
}

pub(super) fn lost(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Lost { watched: start.gpu.is_some(), ..Lost::default() })
}

impl Watchdog for Lost {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        for row in now.rows.iter().filter(|_| self.watched) {
            match &row.gpu {
                Some(gpu) => {
                    self.missing = 0;
                    self.used |= gpu.util_pct.is_some_and(|util| util >= BUSY_PCT);
                    self.used |= gpu.processes_mib.is_some_and(|mib| mib > 0.0);
                }
                None => (self.missing, self.missed) = (self.missing + 1, self.missed + 1),
            }
        }
        if self.missing < MISSED || !self.used {
            return None;
        }
        self.missing = 0;
        // The sampler may be held up inside the driver, and the other watchdogs must not be.
        let mut gpu = match now.gpu?.try_lock() {
            Ok(gpu) => gpu,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let why = gpu.sample().err()?.to_string().replace('\n', " ");
        let (meaning, remedy) = lost::classify(&why).unwrap_or((
            "the GPU no longer answers",
            "look for NVRM and Xid lines with 'dmesg', and run nvidia-smi by hand",
        ));
        Some(Finding::refused(NAME, format!("{meaning} ({why})"), remedy).limit("answers"))
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        if !self.watched {
            return absent(NAME, "no GPU is read in this run", "see the gate 'gpu-present'");
        }
        match self.missed {
            0 => Finding::passed(NAME, "every sample has a reading"),
            count => Finding::warned(
                NAME,
                format!("{count} samples without a reading"),
                "see the reasons in 'absent' of this run, and NVRM and Xid lines with 'dmesg'",
            )
            .value(count as f64, "samples"),
        }
        .limit("answers")
    }
}
