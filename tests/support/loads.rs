//! Campaigns made by formula, for tests of what is seen across cells: a sweep of loads by two environments, a grid of lengths, a probe, two
//! further engines in a second campaign, and a cell with hostile names on a machine that nothing names. No figure is a measurement.

use sparkbench::model::{Campaign, Instant, Origin, Reading, Run, Setup, Source, Status};
use sparkbench::verdict::report::Analysis;
use sparkbench::verdict::{CellValues, Settings, Study, facts, judge};

/// A name that must never reach a page as markup.
pub const HOSTILE: &str = "<script>alert(1)</script>";

/// Repeatable, between -1 and 1.
fn wobble(k: usize) -> f64 {
    ((k * 7919 + 104_729) % 2003) as f64 / 1001.5 - 1.0
}

struct Maker {
    runs: Vec<Run>,
}

/// What a cell is.
#[derive(Clone, Copy)]
struct Of<'a> {
    campaign: &'a str,
    environment: &'a str,
    model: &'a str,
    workload: &'a str,
    engine: &'a str,
    quantisation: &'a str,
    batch: Option<f64>,
    lengths: Option<(f64, f64)>,
}

const NATIVE: Of<'_> = Of {
    campaign: "loads",
    environment: "native",
    model: "7B",
    workload: "",
    engine: "Engine One",
    quantisation: "bf16",
    batch: None,
    lengths: Some((512.0, 128.0)),
};

impl Maker {
    fn cell(&mut self, of: Of<'_>, n: usize, figures: &[(&str, f64)]) {
        for repeat in 0..n {
            let k = self.runs.len();
            let named = of.model == NATIVE.model;
            let origin = |metric: &str| Origin {
                file: format!("{}/{k}.json", of.campaign),
                line: Some(1),
                field: Some(format!("/{metric}")),
                rule: "mini",
            };
            self.runs.push(Run {
                id: format!("{}-{k:04}", of.campaign),
                campaign: of.campaign.into(),
                environment: of.environment.into(),
                model: of.model.into(),
                workload: of.workload.into(),
                repeat: Some(repeat as u32 + 1),
                started: Some(Instant(1_767_225_600_000 + 60_000 * k as i64)),
                status: Status::Done,
                readings: figures
                    .iter()
                    .enumerate()
                    .map(|(i, (metric, value))| Reading {
                        metric: (*metric).into(),
                        value: value * (1.0 + 0.02 * wobble(k * 31 + i)),
                        decimals: None,
                        origin: origin(metric),
                    })
                    .collect(),
                setup: Setup {
                    model_id: named.then(|| "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B".to_owned()),
                    machine: named.then(|| "NVIDIA L4".to_owned()),
                    engine: Some(of.engine.into()),
                    engine_version: Some("1.0".into()),
                    quantisation: Some(of.quantisation.into()),
                    batch: of.batch,
                    isl: of.lengths.map(|lengths| lengths.0),
                    osl: of.lengths.map(|lengths| lengths.1),
                    ..Setup::default()
                },
                source: Source {
                    path: format!("{}/{k}.json", of.campaign),
                    format: "mini".into(),
                    sha256: "5f".repeat(32),
                    joined: None,
                },
                ..Run::default()
            });
        }
    }

    /// Output that saturates, latency that grows.
    fn served(&mut self, of: Of<'_>, n: usize, pace: f64) {
        let batch = of.batch.unwrap_or(1.0);
        let (isl, osl) = of.lengths.unwrap_or((512.0, 128.0));
        let output = pace * 16.0 * batch / (1.0 + batch / 40.0) / (1.0 + isl / 8192.0);
        let tpot = 1000.0 * batch / output;
        let ttft = 40.0 + 0.1 * isl * batch.sqrt();
        let figures = [
            ("output_throughput_tok_s", output),
            ("tpot_ms", tpot),
            ("ttft_ms", ttft),
            ("e2e_latency_ms", ttft + tpot * (osl - 1.0)),
            ("peak_memory_gib", 19.0 + 0.02 * batch),
            ("model_memory_gib", 14.2),
            ("kv_cache_gib", 3.5),
        ];
        self.cell(of, n, &figures);
    }
}

/// The runs of both campaigns.
pub fn runs() -> Vec<Run> {
    let mut maker = Maker { runs: Vec::new() };
    for batch in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
        let workload = format!("b{batch}");
        let of = Of { workload: &workload, batch: Some(batch), ..NATIVE };
        maker.served(of, 4, 1.0);
        let n = if batch == 64.0 { 1 } else { 4 };
        maker.served(Of { environment: "container", ..of }, n, 0.9);
    }
    for (isl, osl) in [(128.0, 64.0), (128.0, 512.0), (2048.0, 64.0)] {
        let workload = format!("{isl}-{osl}");
        let of = Of { workload: &workload, batch: Some(8.0), lengths: Some((isl, osl)), ..NATIVE };
        maker.served(of, if isl > 1000.0 { 1 } else { 3 }, 1.0);
    }
    let probe = Of { workload: "probe", engine: "gpu-probe", lengths: None, ..NATIVE };
    maker.cell(probe, 3, &[("memory_bandwidth_gb_s", 262.0), ("gemm_tflops", 88.0)]);
    let other = Of { campaign: "engines", workload: "w", batch: Some(8.0), ..NATIVE };
    maker.served(Of { engine: "Engine Two", ..other }, 4, 1.3);
    maker.served(Of { engine: "Engine Two", environment: "container", ..other }, 3, 1.2);
    maker.served(Of { engine: "Engine Three", workload: "w3", quantisation: "fp8", ..other }, 4, 1.6);
    let hostile = Of {
        campaign: "odd",
        model: HOSTILE,
        workload: HOSTILE,
        engine: HOSTILE,
        environment: HOSTILE,
        lengths: None,
        ..other
    };
    maker.cell(hostile, 2, &[("output_throughput_tok_s", 5.0), ("kv_cache_gib", 1.0)]);
    maker.runs
}

/// Judged like any other campaigns.
pub fn analysis() -> Analysis {
    let runs = runs();
    let mut cells: Vec<CellValues> = Vec::new();
    for run in &runs {
        for reading in &run.readings {
            let own = |c: &CellValues| {
                c.campaign == run.campaign
                    && c.model == run.model
                    && c.workload == run.workload
                    && c.environment == run.environment
                    && c.metric == reading.metric
            };
            let place = cells.iter().position(own).unwrap_or_else(|| {
                cells.push(CellValues {
                    campaign: run.campaign.clone(),
                    model: run.model.clone(),
                    workload: run.workload.clone(),
                    environment: run.environment.clone(),
                    metric: reading.metric.clone(),
                    run_ids: Vec::new(),
                    values: Vec::new(),
                });
                cells.len() - 1
            });
            cells[place].run_ids.push(run.id.clone());
            cells[place].values.push(reading.value);
        }
    }
    let campaign = |name: &str, title: &str| Campaign {
        name: name.into(),
        title: Some(title.into()),
        archive_sha256: "ab".repeat(32),
        ..Campaign::default()
    };
    let study = Study {
        campaigns: vec![
            campaign("engines", "Further engines"),
            campaign("loads", "Loads and lengths"),
            campaign("odd", HOSTILE),
        ],
        runs,
        facts: facts::builtin().expect("shipped facts"),
        inputs: Vec::new(),
    };
    let settings =
        Settings { confidence: 0.95, resamples: 999, seed: 42, baseline: None, margins_pct: Default::default() };
    judge(&study, &cells, &settings, &|_| {})
}
