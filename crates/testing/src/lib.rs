//! What unit tests share: folders of their own, and waiting for a state in place of letting time pass.
//!
//! In:  a name, a look at a state.  Out: a folder that goes with its test, or a failed test that says what never came.
//! Not here: what tests of the whole program share (see `tests/support/`).
//!
//! A dependency of tests alone.

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Long enough for the slowest machine. Whoever waits as long has found a fault, not a busy processor.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_some(what, || holds().then_some(()));
}

/// Waits until there is something, and gives it.
#[track_caller]
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "waited {} s in vain: {what}", LIMIT.as_secs());
        std::thread::sleep(PAUSE);
    }
}

/// A folder of a test's own, gone when the test ends. Used like the path that it is.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder of nobody else's. `name` is for people. The process and a count make the path unique.
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sparkbench-{name}-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The folder of the repository, where tests find their fixtures.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
