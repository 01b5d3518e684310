//! Conditions before and during each run, sampling, retention, masking.
//!
//! In:  tables of a suite.  Out: settings of `run`, with the defaults where a key is absent.
//! Not here: taking readings.

use crate::cells::glob;
use crate::{Faults, Gates, PageCache, Privacy, Reader, Retention, Settings, TelemetrySettings, Watchdogs};

/// A day, seconds.
const DAY_S: f64 = 86_400.0;
/// A week, seconds: longest wait, longest run.
const WEEK_S: f64 = 7.0 * DAY_S;
/// Words shorter than this occur in too many places to be replaced.
const WORD_MIN: usize = 3;

/// `[gates]`.
pub(super) fn gates(table: Option<&Settings>, faults: &mut Faults) -> Gates {
    let default = Gates::default();
    let Some(table) = table else { return default };
    let mut reader = table.reader(faults);
    let gates = Gates {
        gpu_temp_max_c: reader.number_or_off("gpu_temp_max_c", 10.0, 120.0).unwrap_or(default.gpu_temp_max_c),
        cooldown_min_s: or_zero(&mut reader, "cooldown_min_s", DAY_S, default.cooldown_min_s),
        wait_max_s: reader.number_within("wait_max_s", 1.0, WEEK_S).unwrap_or(default.wait_max_s),
        gpu_idle_power_max_w: reader
            .number_or_off("gpu_idle_power_max_w", 0.1, 10_000.0)
            .unwrap_or(default.gpu_idle_power_max_w),
        host_load_max_per_core: reader
            .number_or_off("host_load_max_per_core", 0.01, 1_000.0)
            .unwrap_or(default.host_load_max_per_core),
        memory_available_min_gib: reader
            .number_or_off("memory_available_min_gib", 0.0, 100_000.0)
            .unwrap_or(default.memory_available_min_gib),
        swap_used_max_gib: reader
            .number_or_off("swap_used_max_gib", 0.0, 100_000.0)
            .unwrap_or(default.swap_used_max_gib),
        disk_free_min_gib: or_zero(&mut reader, "disk_free_min_gib", 1_000_000.0, default.disk_free_min_gib),
        page_cache: match reader.choice("page_cache", &[PageCache::Keep.word(), PageCache::Drop.word()]).as_deref() {
            Some("drop") => PageCache::Drop,
            Some(_) => PageCache::Keep,
            None => default.page_cache,
        },
        gpu_exclusive: reader.switch("gpu_exclusive").unwrap_or(default.gpu_exclusive),
        gpu_required: reader.switch("gpu_required").unwrap_or(default.gpu_required),
        clock_probe_min_mhz: reader
            .number_or_off("clock_probe_min_mhz", 1.0, 100_000.0)
            .unwrap_or(default.clock_probe_min_mhz),
    };
    if gates.wait_max_s < gates.cooldown_min_s {
        let what = format!("is shorter than the pause before each run, {} s", gates.cooldown_min_s);
        reader.fault("wait_max_s", what, "make it longer than cooldown_min_s, with room for the GPU to cool");
    }
    reader.finish();
    gates
}

/// `[watchdogs]`. `gates` are those of the same suite: a floor above the gate would end each run at its start.
pub(super) fn watchdogs(table: Option<&Settings>, gates: &Gates, faults: &mut Faults) -> Watchdogs {
    let default = Watchdogs::default();
    let empty = Settings { path: "watchdogs".to_owned(), line: 1, ..Settings::default() };
    let mut reader = table.unwrap_or(&empty).reader(faults);
    let watchdogs = Watchdogs {
        memory_floor_gib: reader.number_or_off("memory_floor_gib", 0.0, 100_000.0).unwrap_or(default.memory_floor_gib),
        time_limit_s: reader.number_within("time_limit_s", 0.1, WEEK_S).unwrap_or(default.time_limit_s),
        grace_s: reader.number_within("grace_s", 0.1, 600.0).unwrap_or(default.grace_s),
        clock_sag_pct: reader.number_or_off("clock_sag_pct", 1.0, 99.0).unwrap_or(default.clock_sag_pct),
        kernel_log: reader.switch("kernel_log").unwrap_or(default.kernel_log),
    };
    if let (Some(floor), Some(least)) = (watchdogs.memory_floor_gib, gates.memory_available_min_gib)
        && floor >= least
    {
        let what = format!("is {floor} GiB, but runs may start with {least} GiB (gates.memory_available_min_gib)");
        reader.fault(
            "memory_floor_gib",
            what,
            "keep the floor below the gate, or runs are ended as soon as they start",
        );
    }
    reader.finish();
    watchdogs
}

/// `[telemetry]`.
pub(super) fn telemetry(table: Option<&Settings>, faults: &mut Faults) -> TelemetrySettings {
    let default = TelemetrySettings::default();
    let Some(table) = table else { return default };
    let mut reader = table.reader(faults);
    let telemetry = TelemetrySettings {
        interval_s: reader.number_within("interval_s", 0.05, 60.0).or(default.interval_s),
        gpu: reader.choice("gpu", &["auto", "nvml", "nvidia-smi", "off"]).unwrap_or(default.gpu),
        gpu_index: reader
            .whole_within("gpu_index", 0, 63)
            .and_then(|index| u32::try_from(index).ok())
            .unwrap_or(default.gpu_index),
    };
    reader.finish();
    telemetry
}

/// `[retention]`.
pub(super) fn retention(table: Option<&Settings>, faults: &mut Faults) -> Retention {
    let default = Retention::default();
    let Some(table) = table else { return default };
    let mut reader = table.reader(faults);
    let retention = Retention {
        drop: globs(&mut reader, "drop"),
        file_max_mib: reader
            .whole_within("file_max_mib", 1, 1_000_000)
            .and_then(|size| u64::try_from(size).ok())
            .unwrap_or(default.file_max_mib),
        pack: globs(&mut reader, "pack"),
    };
    reader.finish();
    retention
}

/// `[privacy]`.
pub(super) fn privacy(table: Option<&Settings>, faults: &mut Faults) -> Privacy {
    let default = Privacy::default();
    let Some(table) = table else { return default };
    let mut reader = table.reader(faults);
    let words = reader.texts("words");
    for word in &words {
        if word.trim().chars().count() < WORD_MIN {
            let what = format!("holds \"{word}\", which is too short: it would be replaced inside other words");
            reader.fault("words", what, format!("give words of at least {WORD_MIN} letters"));
        }
    }
    let privacy = Privacy {
        pseudonyms: reader.switch("pseudonyms").unwrap_or(default.pseudonyms),
        secret_variables: globs(&mut reader, "secret_variables"),
        words,
    };
    reader.finish();
    privacy
}

/// A number from 0, where `false` is 0 too.
fn or_zero(reader: &mut Reader<'_>, key: &'static str, high: f64, default: f64) -> f64 {
    reader.number_or_off(key, 0.0, high).map_or(default, |number| number.unwrap_or(0.0))
}

/// A list of globs.
fn globs(reader: &mut Reader<'_>, key: &'static str) -> Vec<String> {
    let patterns = reader.texts(key);
    for pattern in &patterns {
        if let Err(cause) = glob(pattern) {
            let what = format!("holds \"{pattern}\", which is not a glob: {}", cause.kind());
            reader.fault(key, what, "use * and ?, e.g. *.safetensors");
        }
    }
    patterns
}
