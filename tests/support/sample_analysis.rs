//! An analysis made by hand, with the shape and the numbers of a published study: three models, two environments, one
//! after the other, traps that fired, and names that are hostile on purpose. For tests of pages only. Nothing here is a result.

use std::collections::BTreeMap;
use std::sync::Arc;

use sparkbench::model::{Direction, Instant, Origin, RawRow, RawText, Sample, Series, Setup, Source, Status};
use sparkbench::page::{CONSTANTS, Extras, HashedPage, Page, TrapAbout};
use sparkbench::verdict::method::Design;
use sparkbench::verdict::report::*;

use super::sample_cost;
use super::sample_course;

/// A name that must never reach a page as markup.
pub const HOSTILE: &str = "<script>alert(1)</script>";

const MODELS: [(&str, [f64; 2], [f64; 2]); 3] = [
    ("deepseek", [119.67, 119.25], [70.5, 101.3]),
    ("gpt120b", [119.21, 119.41], [71.9, 92.4]),
    ("qwen72b", [119.40, 119.61], [70.0, 90.2]),
];
const ENVIRONMENTS: [&str; 2] = ["native", "container"];
const METRICS: [(&str, &str, &str, Direction); 3] = [
    ("output_throughput_tok_s", "Output throughput", "tok/s", Direction::HigherIsBetter),
    ("request_throughput_req_s", "Request throughput", "req/s", Direction::HigherIsBetter),
    ("peak_memory_gib", "Peak memory", "GiB", Direction::Neutral),
];
const START: i64 = 1_762_655_186_000;

fn instant(minutes: i64) -> Option<Instant> {
    Some(Instant(START + minutes * 60_000))
}

/// A repeatable wobble between -1 and 1.
fn wobble(k: usize) -> f64 {
    ((k * 7919 + 104_729) % 2003) as f64 / 1001.5 - 1.0
}

fn value(model: usize, environment: usize, metric: usize, k: usize) -> f64 {
    let (_, throughput, memory) = MODELS[model];
    let drift = if model == 0 && environment == 0 { 0.9 - 0.18 * k as f64 } else { 0.0 };
    let speed = throughput[environment] + drift + 0.25 * wobble(k * 3 + model * 31 + environment * 17);
    match metric {
        0 => speed,
        1 => speed / 128.0,
        _ => memory[environment] + (1.0 + 4.0 * environment as f64) * wobble(k * 5 + model * 13 + environment),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sd(values: &[f64]) -> f64 {
    let m = mean(values);
    (values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

pub fn run_id(campaign: &str, environment: &str, model: &str, k: usize) -> String {
    format!("{campaign}-{environment}-{model}-{:02}", k + 1)
}

fn source(path: String) -> Source {
    Source { sha256: "5f".repeat(32), format: "flat".into(), path, joined: None }
}

fn runs(campaign: &str) -> Vec<RunReport> {
    let mut runs = Vec::new();
    let mut minute = 0;
    for (m, (model, ..)) in MODELS.iter().enumerate() {
        for (e, environment) in ENVIRONMENTS.iter().enumerate() {
            for k in 0..if m == 1 && e == 0 { 13 } else { 10 } {
                let path = format!("phase1/{environment}_{model}_iter{}_metadata.json", k + 1);
                minute += 13;
                let mut metrics: BTreeMap<String, Option<f64>> = METRICS
                    .iter()
                    .enumerate()
                    .map(|(i, metric)| (metric.0.to_owned(), Some(value(m, e, i, k))))
                    .collect();
                metrics.insert("ttft_ms".into(), None);
                let origins = metrics
                    .keys()
                    .map(|name| {
                        let origin = Origin {
                            file: path.clone(),
                            line: Some(12),
                            field: Some(format!("/{name}")),
                            rule: "flat.metadata",
                        };
                        (name.clone(), origin)
                    })
                    .collect();
                runs.push(RunReport {
                    id: run_id(campaign, environment, model, k),
                    campaign: campaign.into(),
                    environment: (*environment).into(),
                    model: (*model).into(),
                    workload: "128 in, 128 out".into(),
                    repeat: Some(k as u32 + 1),
                    block: None,
                    launch: None,
                    together: None,
                    started_utc: instant(minute),
                    ended_utc: instant(minute + 10),
                    status: StatusText(if m == 2 && k == 9 {
                        Status::Failed("exit status 137".into())
                    } else {
                        Status::Done
                    }),
                    metrics,
                    origins,
                    requests: BTreeMap::from([("output_throughput_tok_s".to_owned(), 50)]),
                    flags: if m == 0 && k == 0 {
                        vec!["outlier:modified_z:output_throughput_tok_s".into(), "first_run:peak_memory_gib".into()]
                    } else {
                        Vec::new()
                    },
                    extras: Vec::new(),
                    settings: Default::default(),
                    cell: String::new(),
                    setup: Setup {
                        model_id: Some(format!("example/{model}")),
                        machine: Some(format!("GB10 {HOSTILE}")),
                        engine: Some("TensorRT-LLM".into()),
                        engine_version: Some("1.1.0rc3".into()),
                        quantisation: Some("bf16".into()),
                        batch: Some(8.0),
                        isl: Some(128.0),
                        osl: Some(128.0),
                        requests: Some(50.0),
                        parameters: Some(7_615_616_512.0),
                        start_temp_c: Some(39.0),
                        end_temp_c: Some(60.0),
                        exit_code: Some(0),
                        ..Setup::default()
                    },
                    source: source(path.clone()),
                    files: vec![source(path.replace("_metadata.json", ".log"))],
                });
            }
        }
    }
    runs
}

fn group(campaign: &str, m: usize, e: usize, i: usize) -> Group {
    let n = if m == 1 && e == 0 { 13 } else { 10 };
    let values: Vec<f64> = (0..n).map(|k| value(m, e, i, k)).collect();
    let (name, _, unit, direction) = METRICS[i];
    let (average, spread) = (mean(&values), sd(&values));
    let se = spread / (n as f64).sqrt();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let drifts = m == 0 && e == 0 && i < 2;
    Group {
        campaign: campaign.into(),
        model: MODELS[m].0.into(),
        workload: "128 in, 128 out".into(),
        environment: ENVIRONMENTS[e].into(),
        metric: name.into(),
        unit,
        direction,
        n,
        n_missing: 0,
        n_infinite: 0,
        mean: Some(average),
        sd: Some(spread),
        se: Some(se),
        cv_pct: Some(100.0 * spread / average),
        min: sorted.first().copied(),
        max: sorted.last().copied(),
        median: Some(sorted[n / 2]),
        mad: Some(spread * 0.67),
        iqr: Some(sorted[3 * n / 4] - sorted[n / 4]),
        p5: Some(sorted[0]),
        p25: Some(sorted[n / 4]),
        p75: Some(sorted[3 * n / 4]),
        p90: Some(sorted[n - 2]),
        p95: Some(sorted[n - 1]),
        p99: Some(sorted[n - 1]),
        skewness: Some(-0.31),
        shapiro_p: Some(0.42),
        t_interval: Some(Interval::new(average - 2.26 * se, average + 2.26 * se)),
        bootstrap: Some(BootstrapReport {
            statistic: "mean",
            method: "bca".into(),
            low: average - 1.9 * se,
            high: average + 1.9 * se,
            resamples: 10_000,
            flags: vec!["small_n".into()],
        }),
        median_interval: MedianInterval { low: Some(sorted[1]), high: Some(sorted[n - 2]), coverage: Some(0.979) },
        outliers: OutlierReport {
            three_sigma: Vec::new(),
            mad: if m == 0 { vec![run_id(campaign, ENVIRONMENTS[e], MODELS[m].0, 0)] } else { Vec::new() },
            tukey: Vec::new(),
            three_sigma_can_fire: n > 10,
            z_bound: Some((n - 1) as f64 / (n as f64).sqrt()),
        },
        drift: DriftReport {
            kendall_tau: Some(if drifts { -0.87 } else { 0.1 }),
            p: Some(if drifts { 0.0003 } else { 0.72 }),
            method: Some("exact".into()),
            drift_pct: Some(if drifts { -1.31 } else { 0.04 }),
            sen_slope: Some(if drifts { -0.18 } else { 0.004 }),
            lag1: Some(if drifts { 0.7 } else { -0.1 }),
            effective_n: Some(if drifts { 1.8 } else { n as f64 }),
            autocorrelated: drifts,
            t_interval_effective: None,
        },
        request_percentiles: if i == 0 {
            vec![RequestPercentile {
                percentile: "p99",
                estimate: average * 1.02,
                mean_of_runs: average * 1.01,
                interval: Some(Interval::new(average, average * 1.05)),
                interval_of: Some("mean-of-runs"),
                median_of_runs: average * 1.01,
                requests: 500,
                runs: n,
                flags: vec!["tail".into()],
            }]
        } else {
            Vec::new()
        },
        flags: Vec::new(),
        run_ids: (0..n).map(|k| run_id(campaign, ENVIRONMENTS[e], MODELS[m].0, k)).collect(),
        values,
    }
}

fn comparison(campaign: &str, m: usize, i: usize) -> Comparison {
    let (a, b) = (group(campaign, m, 0, i), group(campaign, m, 1, i));
    let (ma, mb) = (a.mean.unwrap_or(0.0), b.mean.unwrap_or(0.0));
    let se = (a.se.unwrap_or(0.0).powi(2) + b.se.unwrap_or(0.0).powi(2)).sqrt();
    let (name, label, unit, direction) = METRICS[i];
    let overhead =
        if direction == Direction::HigherIsBetter { 100.0 * (ma / mb - 1.0) } else { 100.0 * (mb / ma - 1.0) };
    let half = 100.0 * 2.1 * se / ma;
    let changed = |x: f64| if direction == Direction::HigherIsBetter { -100.0 * x / (100.0 + x) } else { x };
    let kind = match (i, m) {
        (0 | 1, 0) => VerdictKind::NotComparable,
        (0 | 1, 1) => VerdictKind::Equivalent,
        (0 | 1, _) => VerdictKind::Inconclusive,
        _ => VerdictKind::More,
    };
    let said = match kind {
        VerdictKind::NotComparable => {
            "container and native are not comparable because another model ran than the label says (M1)".to_owned()
        }
        VerdictKind::Equivalent => format!(
            "container and native are equivalent within 2% ({overhead:.2}% [{:.2}, {:.2}])",
            overhead - half,
            overhead + half
        ),
        VerdictKind::Inconclusive => {
            format!(
                "no difference shown between container and native; it could be as large as {:.2}%",
                overhead.abs() + half
            )
        }
        _ => format!(
            "container is {overhead:.1}% [{:.1}, {:.1}] more than native (Welch, Holm p < 0.0001, family of 6)",
            overhead - half,
            overhead + half
        ),
    };
    let t = TReport { t: (mb - ma) / se, df: 16.4, p: if i == 2 { 1.2e-9 } else { 0.041 } };
    Comparison {
        campaign: campaign.into(),
        model: MODELS[m].0.into(),
        workload: "128 in, 128 out".into(),
        metric: name.into(),
        label: label.into(),
        unit,
        direction,
        primary: i != 1,
        derived_from: (i == 1).then(|| "output_throughput_tok_s".to_owned()),
        baseline: "native".into(),
        candidate: "container".into(),
        n_baseline: a.n,
        n_candidate: b.n,
        paired: false,
        mean_baseline: a.mean,
        mean_candidate: b.mean,
        difference: Some(mb - ma),
        difference_ci: Some(Interval::new(mb - ma - 2.1 * se, mb - ma + 2.1 * se)),
        overhead_pct: Some(overhead),
        change_pct: Some(changed(overhead)),
        change_ci: Some(Interval::new(
            changed(overhead - half).min(changed(overhead + half)),
            changed(overhead - half).max(changed(overhead + half)),
        )),
        ratio: Some(mb / ma),
        loss_pct: (i == 0).then(|| 100.0 * (ma - mb) / ma),
        overhead_ci: Some(NamedInterval { method: "fieller".into(), low: overhead - half, high: overhead + half }),
        overhead_ci90: Some(Interval::new(overhead - 0.83 * half, overhead + 0.83 * half)),
        fieller_overhead_pct: Some(Interval::new(overhead - half, overhead + half)),
        bootstrap_overhead_pct: Some(NamedInterval {
            method: "bca".into(),
            low: overhead - 0.9 * half,
            high: overhead + 0.88 * half,
        }),
        bootstrap_flags: vec!["small_n".into()],
        log_ratio_overhead_pct: Some(Interval::new(overhead - 1.01 * half, overhead + half)),
        paired_t: None,
        wilcoxon: None,
        student_t: Some(t.clone()),
        welch_t: Some(t),
        mann_whitney: Some(UReport { u: 21.0, p: 0.029, method: "exact".into() }),
        permutation: Some(PermutationReport { p: 0.044, exact: true, count: 184_756 }),
        brown_forsythe: Some(FReport { f: 3.2, p: 0.09 }),
        cohens_d: Some(-0.98),
        hedges_g: Some(Effect { value: -0.94, low: Some(-1.8), high: Some(-0.03) }),
        cliffs_delta: Some(-0.58),
        tost: Some(TostReport {
            margin_pct: if i == 2 { 5.0 } else { 2.0 },
            p: 0.0008,
            equivalent: i != 2,
            smallest_margin_pct: Some(overhead.abs() + 0.8 * half),
            p_holm: Some(0.0008),
        }),
        power_at_10pct: Some(1.0),
        mde_pct: Some(1.4 * half),
        runs_needed: Some(2),
        promise: (kind == VerdictKind::Inconclusive).then_some(PromiseReport {
            blocks: 14,
            hours: Some(5.5),
            probability: 0.81,
        }),
        p: Some(if i == 2 { 1.2e-9 } else { 0.041 }),
        test: "Welch and covariance with time",
        interval_of_verdict: None,
        counted_with: None,
        scope: Scope::Load,
        loads: Vec::new(),
        interaction: None,
        design: Design::OneAfterTheOther,
        effect: None,
        is_answer: i != 1,
        p_adjusted: Adjusted {
            bonferroni: Some(0.25),
            holm: Some(if i == 2 { 0.0 } else { 0.123 }),
            benjamini_hochberg: Some(0.06),
            family: "primary metrics of all models, container against native".into(),
            family_size: 6,
            others: Vec::new(),
        },
        order: "blocked".into(),
        without_flagged: (m == 0).then(|| WithoutFlagged {
            left_out: vec![run_id(campaign, "native", MODELS[m].0, 0)],
            overhead_pct: Some(overhead * 0.8),
            low: Some(overhead * 0.8 - half),
            high: Some(overhead * 0.8 + half),
            effect: None,
        }),
        stability: ["half margin", "double margin", "permutation instead of Welch", "without flagged runs"]
            .iter()
            .enumerate()
            .map(|(k, choice)| Stability {
                choice: (*choice).into(),
                kind: if k == 0 && i == 0 { VerdictKind::Inconclusive } else { kind },
            })
            .collect(),
        stability_panel: None,
        pairs: None,
        shift: None,
        sequential: None,
        verdict: Verdict {
            kind,
            said: said.to_owned(),
            advice: None,
            text: format!("{said}; arms were run one after the other; n = 10 below 20; one session."),
            reasons: if kind == VerdictKind::NotComparable { vec!["M1".into()] } else { Vec::new() },
            because: Vec::new(),
            caveats: vec!["arms were run one after the other".into(), "n = 10 below 20".into(), "one session".into()],
        },
    }
}

/// Id, code, title, severity, status, message.
type TrapLine = (&'static str, Option<&'static str>, &'static str, Severity, TrapStatus, &'static str);

const TRAPS: [TrapLine; 7] = [
    (
        "weights-exceed-memory",
        Some("P1"),
        "Weights exceed memory",
        Severity::Error,
        TrapStatus::Fired,
        "145.4 GB of weights (135.4 GiB) do not fit 119.7 GiB",
    ),
    (
        "decode-above-roofline",
        Some("P2"),
        "Decode faster than memory allows",
        Severity::Error,
        TrapStatus::Fired,
        "119.4 tok/s reported, 15.0 possible at batch 8",
    ),
    (
        "order-not-interleaved",
        None,
        "Environments did not take turns",
        Severity::Warning,
        TrapStatus::Fired,
        "all native runs came before all container runs",
    ),
    (
        "drift",
        None,
        "Values drift",
        Severity::Warning,
        TrapStatus::Fired,
        "native output throughput falls by 1.31 % over ten runs (Mann-Kendall p 0.0003)",
    ),
    (
        "derived-column",
        Some("P5"),
        "One column is a function of another",
        Severity::Note,
        TrapStatus::Fired,
        "output throughput = 128 x request throughput in 63 of 63 rows",
    ),
    (
        "work-time-mismatch",
        Some("P4"),
        "Work and time disagree",
        Severity::Error,
        TrapStatus::NotEvaluated,
        "no end time and no request count",
    ),
    (
        "duplicate-runs",
        Some("P12"),
        "Duplicate runs",
        Severity::Warning,
        TrapStatus::Passed,
        "no two rows are identical",
    ),
];

fn traps(campaign: &str) -> Vec<TrapReport> {
    TRAPS
        .iter()
        .flat_map(|(id, code, title, severity, status, message)| {
            let times = if *id == "order-not-interleaved" { 3 } else { 1 };
            (0..times).map(move |k| TrapReport {
                id,
                code: *code,
                title,
                severity: *severity,
                status: *status,
                subject: Subject {
                    campaign: campaign.into(),
                    model: Some(MODELS[(k + 2) % 3].0.into()),
                    ..Subject::default()
                },
                message: format!("{message}."),
                evidence: (0..11)
                    .map(|r| Evidence {
                        text: format!("row {r} {HOSTILE}"),
                        run: (r < 3).then(|| run_id(campaign, "native", MODELS[0].0, r)),
                        origin: Some(Origin {
                            file: "phase1/runs.csv".into(),
                            line: Some(r as u64 + 2),
                            field: None,
                            rule: "table",
                        }),
                    })
                    .collect(),
                remedy: "Look at the launch script; the model argument may not reach the engine.".into(),
            })
        })
        .collect()
}

fn campaign(name: &str, later: i64) -> CampaignReport {
    let sentence = |text: &str, because: &[&str]| Sentence {
        text: text.into(),
        caveats: Vec::new(),
        because: because.iter().map(|b| (*b).to_owned()).collect(),
    };
    let key = |model: &str, metric: &str| format!("{model}|128 in, 128 out|{metric}");
    CampaignReport {
        factors: Vec::new(),
        asked: None,
        margins_pct: BTreeMap::new(),
        metrics: BTreeMap::new(),
        name: name.into(),
        title: if later == 0 { "Container against native on DGX Spark".into() } else { format!("Second session {HOSTILE}") },
        question: Some("Does running in a container cost speed or memory on a DGX Spark?".into()),
        prose: Some("Collected over two nights. See [the study](https://example.org/study).\n\n<b>raw</b>\n\n| a | b |\n| - | - |\n| 1 | 2 |".into()),
        study: None,
        provenance: vec!["Rows of a public repository, commit 1a2b3c4, MIT licence".into()],
        machine: Some("dgx-spark".into()),
        baseline: Some("native".into()),
        environments: vec!["container".into(), "native".into()],
        models: MODELS.iter().map(|m| m.0.to_owned()).collect(),
        workloads: vec!["128 in, 128 out".into()],
        primary: vec!["output_throughput_tok_s".into(), "peak_memory_gib".into()],
        runs: 63,
        failed: 2,
        first_started_utc: instant(13 + later),
        last_started_utc: instant(63 * 13 + later),
        order: MODELS
            .iter()
            .enumerate()
            .map(|(m, model)| OrderReport {
                model: model.0.into(),
                workload: "128 in, 128 out".into(),
                kind: "blocked".into(),
                stretches: 2,
                balanced_share: Some(0.05),
                p_too_few: Some(0.000_011),
                sequence: [vec!["native".to_owned(); if m == 1 { 13 } else { 10 }], vec!["container".to_owned(); 10]].concat(),
            })
            .collect(),
        answer: Some("No difference in output throughput is shown beyond drift; what there could be is below 1.5 %.".into()),
        headline: vec![
            sentence(
                "No difference in output throughput is shown beyond drift; what there could be is below 1.5 %.",
                &[&key("deepseek", "output_throughput_tok_s"), "drift", "order-not-interleaved"],
            ),
            sentence(
                "Memory reads 20 to 31 GiB higher in containers; the cause is not shown.",
                &[&key("deepseek", "peak_memory_gib"), &key("qwen72b", "peak_memory_gib")],
            ),
        ],
        supported: vec![
            sentence("gpt120b decodes at the same speed within 2 %.", &[&key("gpt120b", "output_throughput_tok_s")]),
            sentence("A memory reading 20 to 31 GiB higher in containers, for all three models.", &[&key("gpt120b", "peak_memory_gib")]),
        ],
        unsupported: vec![
            sentence("Anything about a 72B model: its weights do not fit this machine.", &["weights-exceed-memory", "decode-above-roofline"]),
            sentence("That containers need more memory: the reading was taken before the cache was allocated.", &["derived-column"]),
        ],
        next: vec![sentence("Run in blocks, with one run of each environment per block.", &["order-not-interleaved"])],
        published: (0..4)
            .map(|k| PublishedCheck {
                model: MODELS[k % 3].0.into(),
                environment: ENVIRONMENTS[k % 2].into(),
                metric: "output_throughput_tok_s".into(),
                statistic: "loss_pct".into(),
                printed: "-0.3".into(),
                recomputed: Some(-0.3412),
                rounded: Some("-0.3".into()),
                reproduces: k != 3,
                n: 10,
                note: (k == 3).then(|| "with its 13 runs only, 10 were planned".to_owned()),
                source: "Table 2 of the study".into(),
            })
            .collect(),
        pooled: vec![comparison(name, 0, 0)],
        published_summary: Some("3 of 4 published figures reproduce.".into()),
        criteria: vec![
            Criterion { id: "cv_below_5_pct", model: "deepseek".into(), workload: "128 in, 128 out".into(), metric: Some("peak_memory_gib".into()), outcome: "fail", because: "CV 5.8 % in container".into() },
            Criterion { id: "reproducible", model: "deepseek".into(), workload: "128 in, 128 out".into(), metric: None, outcome: "not_assessed", because: "one session".into() },
            Criterion { id: "complete", model: "gpt120b".into(), workload: "128 in, 128 out".into(), metric: None, outcome: "pass", because: "13 of 10 runs".into() },
        ],
        ranking: Vec::new(),
        compare_by: None,
        essentials: Vec::new(),
        measured: Vec::new(),
        hypotheses: Vec::new(),
        archive_sha256: "9c0f1c9be2a1".repeat(6).chars().take(64).collect(),
    }
}

/// Two campaigns of 63 runs.
pub fn analysis() -> Analysis {
    let names = ["phase1", "second"];
    Analysis {
        schema: SCHEMA,
        tool: Tool { name: "sparkbench", version: "0.1.0" },
        settings: SettingsReport {
            confidence: 0.95,
            resamples: 10_000,
            seed: 42,
            baseline: None,
            margins_pct: BTreeMap::from([("ttft_ms".to_owned(), 3.0)]),
            asked: Default::default(),
        },
        inputs: vec![
            Input {
                path: "phase1/runs.csv".into(),
                name_bytes: None,
                format: Some("table".into()),
                sha256: Some("ab".repeat(32)),
                runs: 63,
                skipped: false,
                reason: None,
                not_joined: None,
                altered: None,
            },
            Input {
                path: format!("phase1/{HOSTILE}.json"),
                name_bytes: None,
                format: None,
                sha256: None,
                runs: 0,
                skipped: true,
                reason: Some("truncated JSON at line 3, field '=cmd()'".into()),
                not_joined: None,
                altered: None,
            },
        ],
        campaigns: names.iter().enumerate().map(|(k, name)| campaign(name, k as i64 * 10_000)).collect(),
        runs: names.iter().flat_map(|name| runs(name)).collect(),
        groups: names
            .iter()
            .flat_map(|name| {
                (0..3).flat_map(move |m| (0..2).flat_map(move |e| (0..3).map(move |i| group(name, m, e, i))))
            })
            .collect(),
        comparisons: names
            .iter()
            .flat_map(|name| (0..3).flat_map(move |m| (0..3).map(move |i| comparison(name, m, i))))
            .collect(),
        traps: names.iter().flat_map(|name| traps(name)).collect(),
        physics: vec![sample_cost::physics(true), sample_cost::physics(false)],
        costs: vec![sample_cost::cost(true), sample_cost::cost(false)],
        best_batches: vec![sample_cost::best_batch()],
        machines: vec![sample_cost::machines()],
        calibration: Vec::new(),
        references: vec![sample_cost::reference()],
        across: Across::default(),
        courses: sample_course::courses(),
        history: vec![],
        replications: vec![],
        facts: Default::default(),
        to_compare: None,
    }
}

/// What goes with [`analysis`].
pub fn extras() -> Extras {
    let run = run_id("phase1", "native", "deepseek", 0);
    let samples = (0..120_i64)
        .map(|k| Sample {
            gpu_util_pct: Some(if k < 20 { 0.0 } else { 96.0 }),
            power_w: Some(12.0 + 60.0 * f64::from(u8::from(k >= 20)) + wobble(k as usize)),
            gpu_c: Some(40.0 + k as f64 / 6.0),
            sm_clock_mhz: (k != 50).then_some(2_418.0),
            ..Sample::new(Instant(START + 780_000 + k * 5_000))
        })
        .collect();
    let latencies = (0..50).map(|k| if k == 7 { f64::NAN } else { 67.0 + 3.0 * wobble(k * 11) }).collect();
    Extras {
        spans: BTreeMap::from([(run.clone(), sample_course::spans())]),
        telemetry: BTreeMap::from([(run.clone(), samples)]),
        requests: BTreeMap::from([(
            run,
            vec![Series {
                metric: "e2e_latency_ms".into(),
                values: latencies,
                origin: Origin { file: "phase1/x.json".into(), line: None, field: Some("/latency_ms".into()), rule: "flat.requests" },
            }],
        )]),
        machine_titles: BTreeMap::from([("dgx-spark".to_owned(), "NVIDIA DGX Spark (GB10)".to_owned())]),
        model_titles: BTreeMap::from([("deepseek".to_owned(), "DeepSeek-R1-Distill-Qwen-7B".to_owned())]),
        logs: logs(),
        traps: TRAPS
            .iter()
            .map(|(id, code, title, severity, ..)| TrapAbout {
                id,
                code: *code,
                title,
                severity: *severity,
                about: "**Why it misleads.** A figure that could not have been measured says that something else was.\n\n\
                        **How it is detected.** By arithmetic on `data/facts/`, whose sources stand beside the figures.\n\n\
                        **How to avoid it.** Record what the engine itself prints."
                    .into(),
            })
            .collect(),
        constants: CONSTANTS.iter().map(|name| (*name, "20".to_owned())).collect(),
        reproduce: "cargo run --release -- analyse data --site site".into(),
        publication: sparkbench::page::Publication::default(),
        extra_files: vec![HashedPage::new(Page::new("data/runs.csv", "id,campaign\r\n"))],
    }
}

/// The raw file of the first run of every arm: enough for one that is kept in part, one line of which acts like markup.
fn logs() -> Vec<Arc<RawText>> {
    let row = |number: u64, text: &str| RawRow { number, text: text.to_owned(), cut: 0, pointer: None };
    let analysis = analysis();
    let run = &analysis.runs[0];
    vec![Arc::new(RawText {
        file: run.source.path.clone(),
        run: run.id.clone(),
        bytes: 4_096,
        total: 4_000,
        rows: vec![
            row(1, "{"),
            row(11, HOSTILE),
            row(12, "\"a figure\": 1.0,"),
            RawRow { cut: 77, ..row(13, "␛[31mlong") },
            row(4_000, "}"),
        ],
        ..RawText::default()
    })]
}
