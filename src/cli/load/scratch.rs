//! The folder of a load that is not archived.
//!
//! In:  nothing.  Out: [`Scratch`], which removes its folder.
//! Not here: what is written there (see `load::session`).

use std::path::PathBuf;

use sparkbench_archive::shown;
use sparkbench_text::error::Error;

/// The raw files of a load that is not archived: gone with it.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// An empty one.
    ///
    /// # Errors
    /// Where none can be made.
    pub(super) fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!(
            "sparkbench-load-{}-{:x}",
            std::process::id(),
            sparkbench_host::net::now()
        ));
        let failed = |cause| {
            Error::archive(format!("cannot create '{}'", shown(&path)))
                .hint("set TMPDIR to a folder with free space, or archive the load with --archive DIR")
                .because(cause)
        };
        std::fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
