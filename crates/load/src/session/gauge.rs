//! The instrument's own error: the same plan against a server with known emission times.
//!
//! In:  [`Settings`], a folder.  Out: [`Calibration`].
//! Not here: comparing (see `calibrate`), the server (see `mock`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Session, Watcher};
use crate::calibrate::{self, Calibration, Like};
use crate::settings::{Exact, Lengths, Prefix, Settings, Shape, Work};
use sparkbench_host::Host;
use sparkbench_text::error::Error;

/// Requests for each place of a closed loop, and at least: some seconds of a load, enough for a spread.
const PER_PLACE: u64 = 2;
const LEAST: u64 = 8;
/// Output tokens of each: errors do not depend on how many there are.
const TOKENS: u32 = 64;
/// Seconds of an open loop.
const OPEN_S: f64 = 5.0;

/// Fires the plan of `settings`, shortened to some seconds, at a server of ours on this machine.
///
/// # Errors
/// When that server cannot be started, or the load fails.
pub fn calibrate(
    host: &Arc<dyn Host>,
    settings: &Settings,
    folder: &Path,
    watcher: &dyn Watcher,
    stop: &Arc<AtomicBool>,
) -> Result<Calibration, Error> {
    std::fs::create_dir_all(folder)
        .map_err(|cause| Error::archive(format!("cannot create '{}'", folder.display())).because(cause))?;
    let mut settings = Settings {
        model: None,
        warmup: Some(0),
        exact: Exact::MinTokens,
        headers: Default::default(),
        extra_body: Default::default(),
        api_key_env: None,
        api_key_header: None,
        path: None,
        ca_file: None,
        insecure: false,
        ..settings.clone()
    };
    let streams = match settings.shape {
        Shape::Closed { concurrency } => Some(concurrency),
        _ => None,
    };
    settings.work = match settings.work {
        Work::Synthetic { isl, prefix, .. } => Work::Synthetic { isl, osl: Lengths::Fixed(TOKENS), prefix },
        // Turns depend on answers, and prompts of a file say nothing of the client: what is timed is the same for made prompts.
        _ => Work::Synthetic { isl: Lengths::Fixed(128), osl: Lengths::Fixed(TOKENS), prefix: Prefix::default() },
    };
    settings.tokenizer = None;
    settings.token_ids = false;
    let most = streams.map_or(u64::MAX, |streams| LEAST.max(PER_PLACE * u64::from(streams)));
    settings.requests = Some(settings.requests.unwrap_or(most).min(most)).filter(|requests| *requests < u64::MAX);
    settings.duration_s =
        if streams.is_none() { Some(settings.duration_s.unwrap_or(OPEN_S).min(OPEN_S)) } else { None };
    let quiet = Quiet(watcher);
    calibrate::run(host.as_ref(), folder, Like::default(), streams.map(f64::from), |url| {
        let session = Session::open(host, url, &settings, &quiet, Arc::clone(stop))?;
        session.load(&settings, "calibration", folder, None).map(|_| ())
    })
}

/// Only faults of the calibration are reported.
struct Quiet<'a>(&'a dyn Watcher);

impl Watcher for Quiet<'_> {
    fn say(&self, _: &str) {}

    fn warn(&self, line: &str) {
        self.0.warn(line);
    }

    fn live(&self, live: &super::Live) {
        self.0.live(live);
    }
}
