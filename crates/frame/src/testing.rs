//! A run for the tests of this crate.

use sparkbench_model::{Origin, Reading, Run, RunSettings, SettingOrigin, SettingValue, Status};

/// A run of eight users with a TTFT of 12.5 ms.
pub(crate) fn run(id: &str) -> Run {
    let origin = Origin { file: "f".into(), line: None, field: None, rule: "r" };
    let set = |name: &str, value: &str| {
        (name.to_owned(), SettingValue { value: value.to_owned(), origin: SettingOrigin::Result })
    };
    Run {
        id: id.to_owned(),
        campaign: "c".to_owned(),
        environment: "native".to_owned(),
        model: "m".to_owned(),
        workload: "chat".to_owned(),
        status: Status::Done,
        readings: vec![Reading { metric: "ttft_ms".to_owned(), value: 12.5, decimals: None, origin }],
        settings: RunSettings::from([set("concurrency", "8"), set("engine_version", "0.10")]),
        ..Run::default()
    }
}
