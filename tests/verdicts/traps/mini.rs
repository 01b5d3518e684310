//! Small campaigns for the tests of the traps: a page of TOML, cells as columns.
//!
//! In:  TOML text.  Out: [`Mini`], a campaign with its runs.
//! Not here: any format of the program itself.

use std::collections::BTreeMap;

use serde::Deserialize;
use sparkbench::model::{
    Altered, Campaign, ClockOffset, Course, Extra, ExtraValue, FactConflict, Instant, MeasuredLink, ModelLabel, Node,
    Origin, Reading, Run, Sample, Series, Setup, Source, Stated, Status,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    campaign: WireCampaign,
    #[serde(default)]
    cells: Vec<WireCell>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCampaign {
    machine: Option<String>,
    baseline: Option<String>,
    #[serde(default)]
    primary: Vec<String>,
    planned_repeats: Option<u32>,
    cooldown_s: Option<f64>,
    start_temp_limit_c: Option<f64>,
    #[serde(default)]
    planned_metrics: Vec<String>,
    #[serde(default)]
    models: BTreeMap<String, ModelLabel>,
    #[serde(default)]
    stated: Vec<Stated>,
    #[serde(default)]
    links: Vec<MeasuredLink>,
    #[serde(default)]
    recorded_files: usize,
    #[serde(default)]
    altered: Vec<Altered>,
    #[serde(default)]
    facts_files: usize,
    #[serde(default)]
    fact_conflicts: Vec<FactConflict>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCell {
    environment: String,
    model: String,
    #[serde(default = "only")]
    workload: String,
    /// Number of runs where no metric says it.
    runs: Option<usize>,
    /// Stamps. Or seconds after an arbitrary moment.
    start: Option<Vec<String>>,
    start_s: Option<Vec<f64>>,
    end_s: Option<Vec<f64>>,
    repeat: Option<Vec<u32>>,
    launch: Option<Vec<u32>>,
    together: Option<Vec<String>>,
    exit_code: Option<Vec<i64>>,
    start_temp_c: Option<Vec<f64>>,
    end_temp_c: Option<Vec<f64>>,
    model_id: Option<String>,
    model_served: Option<String>,
    machine: Option<String>,
    quantisation: Option<String>,
    parameters: Option<f64>,
    device_memory_gib: Option<f64>,
    model_memory_gib: Option<f64>,
    batch: Option<f64>,
    isl: Option<f64>,
    osl: Option<f64>,
    requests: Option<f64>,
    engine: Option<String>,
    engine_version: Option<String>,
    max_model_len: Option<f64>,
    tool: Option<String>,
    /// Rule that read every figure of the cell: one that the catalogue of definitions knows, or `mini`.
    rule: Option<String>,
    /// Further figures of each run by name, a number or words.
    #[serde(default)]
    extras: BTreeMap<String, toml::Value>,
    /// Length of the series behind each percentile.
    iterations: Option<usize>,
    /// Telemetry of each run, a sample a second at work: SM clock in MHz, and throttle reasons.
    clock_mhz: Option<Vec<Vec<f64>>>,
    throttle_bits: Option<Vec<Vec<u64>>>,
    /// Wall clock of a further machine less that of the head, before and after each run, seconds.
    clock_ahead_s: Option<Vec<[f64; 2]>>,
    #[serde(default)]
    metrics: BTreeMap<String, Vec<f64>>,
}

fn only() -> String {
    "w".to_owned()
}

/// A campaign and its runs.
pub struct Mini {
    pub campaign: Campaign,
    pub runs: Vec<Run>,
}

impl Mini {
    pub fn read(text: &str) -> Self {
        let wire: Wire = toml::from_str(text).expect("the fixture is a mini campaign");
        let c = wire.campaign;
        let campaign = Campaign {
            name: "mini".to_owned(),
            machine: c.machine,
            baseline: c.baseline,
            primary: c.primary,
            planned_repeats: c.planned_repeats,
            cooldown_s: c.cooldown_s,
            start_temp_limit_c: c.start_temp_limit_c,
            planned_metrics: c.planned_metrics,
            models: c.models,
            stated: c.stated,
            links: c.links,
            recorded_files: c.recorded_files,
            altered: c.altered,
            facts_files: c.facts_files,
            fact_conflicts: c.fact_conflicts,
            ..Campaign::default()
        };
        Self { campaign, runs: wire.cells.iter().flat_map(runs).collect() }
    }
}

fn runs(cell: &WireCell) -> Vec<Run> {
    let n = cell.metrics.values().next().map(Vec::len).or(cell.runs).unwrap_or(0);
    assert!(cell.metrics.values().all(|column| column.len() == n), "columns of one length");
    (0..n).map(|i| run(cell, i)).collect()
}

fn rule(cell: &WireCell) -> &'static str {
    const RULES: &[&str] = &["vllm-bench-serve", "guidellm"];
    let Some(name) = &cell.rule else { return "mini" };
    RULES.iter().find(|known| *known == name).copied().expect("a rule that is listed here")
}

fn run(cell: &WireCell, i: usize) -> Run {
    let file = format!("{}/{}.json", cell.environment, i + 1);
    let origin =
        |field: &str| Origin { file: file.clone(), line: None, field: Some(field.to_owned()), rule: rule(cell) };
    let seconds =
        |column: &Option<Vec<f64>>| column.as_ref().and_then(|c| Instant::from_unix_seconds(1_700_000_000.0 + c[i]));
    let started = match &cell.start {
        Some(stamps) => Some(Instant::from_stamp(&stamps[i]).expect("a stamp")),
        None => seconds(&cell.start_s),
    };
    let exit_code = cell.exit_code.as_ref().map(|c| c[i]);
    let bare: Vec<&String> = cell.metrics.keys().filter(|m| m.ends_with("_ms")).collect();
    Run {
        id: format!("{}-{}-{}-{}", cell.environment, cell.model, cell.workload, i + 1),
        campaign: "mini".to_owned(),
        environment: cell.environment.clone(),
        model: cell.model.clone(),
        workload: cell.workload.clone(),
        repeat: cell.repeat.as_ref().map(|c| c[i]),
        launch: cell.launch.as_ref().map(|c| c[i]),
        together: cell.together.as_ref().map(|c| c[i].clone()),
        started,
        ended: seconds(&cell.end_s),
        status: match exit_code {
            Some(0) => Status::Done,
            Some(code) => Status::Failed(format!("exit status {code}")),
            None => Status::Unrecorded,
        },
        readings: cell
            .metrics
            .iter()
            .map(|(metric, column)| Reading {
                metric: metric.clone(),
                value: column[i],
                decimals: None,
                origin: origin(metric),
            })
            .collect(),
        series: cell
            .iterations
            .map(|n| {
                bare.iter().map(|m| Series { metric: (*m).clone(), values: vec![1.0; n], origin: origin(m) }).collect()
            })
            .unwrap_or_default(),
        extras: cell
            .extras
            .iter()
            .map(|(name, value)| Extra {
                name: name.clone(),
                unit: String::new(),
                value: match value {
                    toml::Value::String(text) => ExtraValue::Text(text.clone()),
                    other => ExtraValue::Number(other.as_float().expect("a number with a point")),
                },
                why: None,
                origin: origin(name),
            })
            .collect(),
        telemetry: telemetry(cell, i),
        course: Course { nodes: node(cell, i).into_iter().collect(), ..Course::default() },
        setup: Setup {
            model_id: cell.model_id.clone(),
            model_served: cell.model_served.clone(),
            machine: cell.machine.clone(),
            quantisation: cell.quantisation.clone(),
            batch: cell.batch,
            isl: cell.isl,
            osl: cell.osl,
            requests: cell.requests,
            engine: cell.engine.clone(),
            engine_version: cell.engine_version.clone(),
            max_model_len: cell.max_model_len,
            tool: cell.tool.clone(),
            parameters: cell.parameters,
            device_memory_gib: cell.device_memory_gib,
            model_memory_gib: cell.model_memory_gib,
            start_temp_c: cell.start_temp_c.as_ref().map(|c| c[i]),
            end_temp_c: cell.end_temp_c.as_ref().map(|c| c[i]),
            exit_code,
            ..Setup::default()
        },
        source: Source { path: file.clone(), format: "mini".to_owned(), sha256: String::new(), joined: None },
        ..Run::default()
    }
}

fn node(cell: &WireCell, i: usize) -> Option<Node> {
    let [before, after] = cell.clock_ahead_s.as_ref()?[i];
    let of = |wall_ahead_s: f64| Some(ClockOffset { ahead_s: 0.0, wall_ahead_s, bound_s: 1e-4 });
    Some(Node {
        name: "node-1".to_owned(),
        rank: 1,
        clock_before: of(before),
        clock_after: of(after),
        ..Node::default()
    })
}

fn telemetry(cell: &WireCell, i: usize) -> Vec<Sample> {
    let clocks = cell.clock_mhz.as_ref().map(|c| c[i].clone()).unwrap_or_default();
    let bits = cell.throttle_bits.as_ref().map(|c| c[i].clone()).unwrap_or_default();
    (0..clocks.len().max(bits.len()))
        .map(|k| Sample {
            gpu_util_pct: Some(96.0),
            sm_clock_mhz: clocks.get(k).copied(),
            throttle_bits: bits.get(k).copied(),
            ..Sample::new(Instant::from_unix_seconds(1_700_000_000.0 + k as f64).expect("a moment"))
        })
        .collect()
}
