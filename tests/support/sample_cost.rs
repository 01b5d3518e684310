//! Costs and shares of the roofline made by hand, for tests of pages only. Nothing here is a result.

use sparkbench::verdict::report::*;

use super::sample_analysis::HOSTILE;

const fn estimate(mean: f64, half: f64) -> Estimate {
    Estimate { n: 10, mean, low: Some(mean - half), high: Some(mean + half) }
}

fn price() -> PriceReport {
    PriceReport {
        key: "gb10-owned".into(),
        title: "DGX Spark, bought".into(),
        date: "2026-06-12".into(),
        usd_per_hour: 0.193,
        basis: "0.193 USD/h: 4699 USD over 3 years".into(),
        own: false,
        sources: vec![format!("A price list {HOSTILE}")],
    }
}

/// A cell with everything, or one whose machine has no price.
pub fn cost(whole: bool) -> CostReport {
    let some = |mean: f64, half: f64| whole.then(|| estimate(mean, half));
    CostReport {
        campaign: "phase1".into(),
        model: if whole { "deepseek" } else { "qwen72b" }.into(),
        workload: "128 in, 128 out".into(),
        environment: "native".into(),
        model_id: Some("example/deepseek".into()),
        machine: Some(if whole { "gb10" } else { "b200" }.into()),
        machine_title: Some(if whole { "NVIDIA GB10 (DGX Spark)" } else { "NVIDIA B200" }.into()),
        devices: if whole { 1.0 } else { 2.0 },
        engine: Some(format!("engine {HOSTILE}")),
        quantisation: Some("bf16".into()),
        batch: Some(8.0),
        isl: Some(128.0),
        osl: Some(128.0),
        output_tok_s: Some(estimate(119.2, 2.6)),
        input_tok_s: some(119.2, 2.6),
        tpot_ms: some(67.0, 1.0),
        ttft_ms: some(80.0, 4.0),
        price: whole.then(price),
        usd_per_million_output: some(0.45, 0.01),
        usd_per_million_input: some(0.45, 0.01),
        usd_per_million_total: some(0.225, 0.005),
        apart: whole.then_some(ApartReport {
            output_weight: 4.0,
            usd_per_million_input: 0.09,
            usd_per_million_output: 0.36,
        }),
        output_tokens_per_usd: some(2_223_000.0, 48_000.0),
        power_w: some(60.0, 1.0),
        tok_s_per_w: some(1.99, 0.05),
        output_tokens_per_j: some(1.9, 0.05),
        other_prices: Vec::new(),
        missing: if whole {
            Vec::new()
        } else {
            ["no price of NVIDIA B200 in the list", "no input tokens a second", "no power and no energy"]
                .map(str::to_owned)
                .into()
        },
        rates: Vec::new(),
    }
}

/// A cell under its roofline, or one of an unknown machine.
pub fn physics(whole: bool) -> PhysicsReport {
    let some = |value: f64| whole.then_some(value);
    PhysicsReport {
        campaign: "phase1".into(),
        model: if whole { "deepseek" } else { "qwen72b" }.into(),
        workload: "128 in, 128 out".into(),
        environment: "native".into(),
        machine: whole.then(|| "NVIDIA GB10 (DGX Spark)".into()),
        devices: 1.0,
        quantisation: Some("bf16".into()),
        sequences: some(7.96),
        context_tokens: some(192.0),
        weight_bytes_per_step: some(15.23e9),
        kv_bytes_per_step: some(8.8e7),
        tokens_per_step: some(1.0),
        steps_per_second: some(14.9),
        rate_tok_s: whole.then(|| estimate(119.2, 2.6)),
        basis: whole.then_some("decode"),
        bandwidth_gb_s: some(273.0),
        measured_bandwidth_gb_s: None,
        memory_bound_tok_s: some(142.5),
        compute_bound_tok_s: some(8_840.0),
        roofline_pct: whole.then(|| estimate(83.6, 1.8)),
        measured_roofline_pct: None,
        kv: whole.then_some(KvReport {
            formula: "memory x share - weights",
            expected_gib: 93.1,
            expected_tokens: Some(1_743_000.0),
            reported_gib: Some(87.5),
            reported_tokens: None,
        }),
        missing: if whole { Vec::new() } else { vec![format!("facts about the machine '{HOSTILE}'")] },
    }
}

/// Three batch sizes, two of which are not told apart.
pub fn best_batch() -> BestBatch {
    let choice = |batch: f64, value: Estimate, tied: &[f64]| {
        Some(Choice { batch, workload: "w".into(), value, not_told_apart: tied.to_vec() })
    };
    BestBatch {
        campaign: "phase1".into(),
        model: "deepseek".into(),
        environment: "native".into(),
        machine: Some("NVIDIA GB10 (DGX Spark)".into()),
        isl: 128.0,
        osl: 128.0,
        batches: vec![1.0, 8.0, 16.0],
        by_throughput: choice(8.0, estimate(119.2, 2.6), &[16.0]),
        by_cost: choice(8.0, estimate(0.45, 0.01), &[16.0]),
        within_limits: None,
        limit_tpot_ms: 200.0,
        limit_ttft_ms: 2_000.0,
        excluded: vec![Excluded { batch: 16.0, why: "TPOT is 250 ms".into() }],
    }
}

/// Two machines.
pub fn machines() -> MachineTable {
    let row = |machine: &str, ratio: Option<Estimate>| MachineRow {
        machine: machine.into(),
        devices: 1.0,
        campaign: "phase1".into(),
        workload: "w".into(),
        environment: "native".into(),
        output_tok_s: estimate(119.2, 2.6),
        usd_per_million_output: ratio.map(|_| estimate(0.45, 0.01)),
        cost_ratio: ratio,
    };
    MachineTable {
        model: "example/deepseek".into(),
        quantisation: Some("bf16".into()),
        isl: 128.0,
        osl: 128.0,
        batch: 8.0,
        rows: vec![
            row("NVIDIA GB10 (DGX Spark)", Some(estimate(1.0, 0.0))),
            row("NVIDIA L4", Some(estimate(1.8, 0.04))),
            row("NVIDIA B200", None),
        ],
    }
}

/// One published figure with a cell beside it.
pub fn reference() -> ReferenceReport {
    ReferenceReport {
        key: "gb10-18".into(),
        machine: "NVIDIA GB10 (DGX Spark)".into(),
        machines: 1.0,
        model: "deepseek".into(),
        quantisation: Some("FP8".into()),
        engine: Some("SGLang".into()),
        workload: None,
        concurrency: Some(8.0),
        prefill_tok_s: Some(2074.0),
        decode_tok_s: Some(83.5),
        decode_tok_s_high: None,
        gemm_tflops: None,
        note: None,
        date: None,
        sources: vec!["LMSYS, NVIDIA DGX Spark In-Depth Review".into()],
        own: vec![OwnFigure {
            campaign: "phase1".into(),
            model: "deepseek".into(),
            workload: "128 in, 128 out".into(),
            environment: "native".into(),
            quantisation: Some("bf16".into()),
            batch: Some(8.0),
            output_tok_s: estimate(119.2, 2.6),
        }],
    }
}
