//! The courses of the sample analysis: a run with gates, throttling and requests, a planned run that was skipped, and one grid.

use sparkbench::model::{Finding, Instant, Level, MissingReason, MissingRun, Span};
use sparkbench::verdict::report::{
    CampaignCourse, CourseReport, Courses, GridReport, GridRow, HeldReport, InFlightReport, NodeReport, QuantityReport,
    WindowReport,
};

use super::sample_analysis::{HOSTILE, run_id};

/// See the module.
pub fn courses() -> Courses {
    let run = run_id("phase1", "native", "deepseek", 0);
    let gate = |gate: &str, level: Level, reading: &str| Finding {
        gate: gate.into(),
        level,
        reading: reading.into(),
        limit: Some("at most 45 °C".into()),
        at_utc: Some("2025-11-08T12:00:00Z".into()),
        ..Finding::default()
    };
    Courses {
        runs: vec![CourseReport {
            run: run.clone(),
            launch_runs: 1,
            first_sample_utc: Some(Instant(0)),
            window: Some(WindowReport { from_s: 100.0, to_s: 590.0, cut: "by the start and end of the run" }),
            held: Some(vec![HeldReport { from_s: 300.0, to_s: 340.0, reasons: vec!["software thermal slowdown"] }]),
            quantities: vec![
                QuantityReport { name: "gpu_util_pct", n: 120, least: 0.0, mean: 80.0, greatest: 96.0 },
                QuantityReport { name: "power_w", n: 120, least: 11.0, mean: 62.0, greatest: 73.0 },
            ],
            gates: vec![gate("gpu-temperature", Level::Passed, "41 °C"), gate("swap", Level::Warned, HOSTILE)],
            watched: vec![gate("memory-floor", Level::NotAvailable, "nothing to read")],
            in_flight: Some(InFlightReport { requests: 3, failed: 1, greatest: 2, mean: 1.5 }),
            nodes: vec![NodeReport {
                name: "node-1".into(),
                rank: 1,
                command: HOSTILE.into(),
                failure: Some(HOSTILE.into()),
                quantities: vec![QuantityReport { name: "power_w", n: 118, least: 10.0, mean: 60.0, greatest: 70.0 }],
                gates: vec![gate("swap", Level::Warned, HOSTILE)],
                clock_ahead_ms: Some(-0.4),
                clock_bound_ms: Some(0.05),
                ..NodeReport::default()
            }],
        }],
        campaigns: vec![CampaignCourse {
            campaign: "phase1".into(),
            planned: 61,
            losses: Vec::new(),
            missing_runs: vec![MissingRun {
                id: "skipped-01".into(),
                environment: "container".into(),
                model: "deepseek".into(),
                workload: "128 in, 128 out".into(),
                repeat: Some(11),
                position: Some(61),
                gone: MissingReason::Skipped,
                why: format!("the gate said no: {HOSTILE}"),
            }],
            utilisation: Some(GridReport {
                name: "gpu_util_pct",
                step_s: 10.0,
                rows: vec![GridRow { run, runs: 1, means: vec![Some(0.0), Some(40.0), None, Some(96.0)] }],
            }),
        }],
    }
}

/// Three requests, one of which failed.
pub fn spans() -> Vec<Span> {
    let span = |sent_s: f64, end_s: Option<f64>| Span {
        sent_s,
        first_token_s: end_s.map(|end| (sent_s + end) / 2.0),
        end_s,
        answered: end_s.is_some(),
    };
    vec![span(0.0, Some(4.0)), span(1.0, Some(3.0)), span(2.0, None)]
}
