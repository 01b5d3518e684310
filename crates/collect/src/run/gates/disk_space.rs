//! Is there enough disk space for the files of the run?
//!
//! In:  free bytes on the disk of the archive.  Out: the gate `disk-space`.
//! Not here: a disk that fills up during a run (the archive's writer sees that).

use std::path::Path;

use super::gate::{Context, Gate, absent};
use super::readings::Readings;
use sparkbench_archive::shown;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct DiskSpace;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

impl Gate for DiskSpace {
    fn name(&self) -> &'static str {
        "disk-space"
    }

    fn look(&self, ctx: &Context<'_>, _seen: &Readings) -> Finding {
        let folder = existing(ctx);
        let free = match ctx.host.disk_free(folder) {
            Ok(bytes) => bytes as f64 / GIB,
            Err(cause) => {
                return absent(
                    self,
                    format!("the free space of '{}' cannot be read: {cause}", shown(folder)),
                    "put the archive on a local file system that this user may write to",
                );
            }
        };
        let reading = format!("{free:.1} GiB free at '{}'", shown(folder));
        let limit = ctx.gates.disk_free_min_gib;
        if free >= limit {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "free some space, put the archive elsewhere with --archive, or lower 'disk_free_min_gib'",
            )
        }
        .value(free, "GiB")
        .limit(format!("at least {limit} GiB"))
    }
}

/// The archive's folder, else the nearest one above it that exists.
fn existing<'a>(ctx: &Context<'a>) -> &'a Path {
    let above = ctx.archive.ancestors().find(|path| !path.as_os_str().is_empty() && ctx.host.exists(path));
    above.unwrap_or_else(|| Path::new(if ctx.archive.is_absolute() { "/" } else { "." }))
}
