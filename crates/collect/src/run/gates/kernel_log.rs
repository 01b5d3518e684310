//! Can the kernel's messages be read? The driver writes its faults (Xid, NVRM) there and nowhere else.
//!
//! In:  an attempt to open the log.  Out: the gate `kernel-log`.
//! Not here: what the messages say (see `watchdog`).

use super::gate::{Context, Gate};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct KernelLog;

impl Gate for KernelLog {
    fn name(&self) -> &'static str {
        "kernel-log"
    }

    fn look(&self, ctx: &Context<'_>, _seen: &Readings) -> Finding {
        match ctx.host.kernel_log() {
            Ok(_) => Finding::passed(self.name(), "can be read"),
            Err(cause) => Finding::warned(
                self.name(),
                format!(
                    "cannot be read: {cause}. Faults of the driver (Xid, NVRM) and kills for lack of memory would not be seen"
                ),
                "run as root, or run 'sysctl kernel.dmesg_restrict=0'. In a container, add --cap-add SYSLOG and the device /dev/kmsg",
            ),
        }
    }
}
