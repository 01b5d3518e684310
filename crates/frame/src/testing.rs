//! A run for the tests of this crate.

use sparkbench_model::{Course, Origin, Reading, Run, RunSettings, Setup, Source, Status};

/// A run of eight users with a TTFT of 12.5 ms.
pub(crate) fn run(id: &str) -> Run {
    let origin = Origin { file: "f".into(), line: None, field: None, rule: "r" };
    Run {
        id: id.to_owned(),
        campaign: "c".to_owned(),
        environment: "native".to_owned(),
        model: "m".to_owned(),
        workload: "chat".to_owned(),
        repeat: None,
        block: None,
        position: None,
        launch: None,
        together: None,
        started: None,
        ended: None,
        measured: None,
        status: Status::Done,
        readings: vec![Reading { metric: "ttft_ms".to_owned(), value: 12.5, decimals: None, origin }],
        series: Vec::new(),
        extras: Vec::new(),
        telemetry: Vec::new(),
        course: Course::default(),
        setup: Setup { batch: Some(8.0), engine_version: Some("0.10".to_owned()), ..Setup::default() },
        settings: RunSettings::new(),
        cell: String::new(),
        source: Source::default(),
        files: Vec::new(),
    }
}
