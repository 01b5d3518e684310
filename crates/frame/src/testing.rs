//! A run for the tests of this crate.

use sparkbench_model::{Origin, Reading, Run, SettingOrigin, SettingValue, Status};

/// A run of eight users with a TTFT of 12.5 ms.
pub(crate) fn run(id: &str) -> Run {
    let origin = Origin { file: "f".into(), line: None, field: None, rule: "r" };
    let run = Run {
        id: id.to_owned(),
        campaign: "c".to_owned(),
        environment: "native".to_owned(),
        model: "m".to_owned(),
        workload: "chat".to_owned(),
        status: Status::Done,
        readings: vec![Reading { metric: "ttft_ms".to_owned(), value: 12.5, decimals: None, origin }],
        ..Run::default()
    };
    set(set(run, "concurrency", "8"), "engine_version", "0.10")
}

/// The same with a setting.
pub(crate) fn set(mut run: Run, name: &str, value: &str) -> Run {
    let value = SettingValue { value: value.to_owned(), origin: SettingOrigin::Result };
    run.settings.insert(name.to_owned(), value);
    run
}
