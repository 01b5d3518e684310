//! The decisions of a campaign before its first run, as written to `campaign.json`.
//!
//! In:  an experiment, findings about machine and environments.  Out: [`CampaignWire`], the hash of the design.
//! Not here: writing it (see `archive`), masking it (see `campaign`).

use std::collections::BTreeMap;

use serde_json::Value;

use sparkbench_archive::hash;
use sparkbench_archive::manifest::{CAMPAIGN_SCHEMA, CampaignWire, HypothesisWire};
use sparkbench_model::{Instant, ModelLabel};
use sparkbench_plan::Suite;

use super::experiment::Experiment;

/// Program and version, as archives name it.
pub(crate) fn tool() -> String {
    format!("sparkbench {}", env!("CARGO_PKG_VERSION"))
}

/// Facts found before the first run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The machine.
    pub host: Value,
    /// Contents of each environment, by label.
    pub environments: BTreeMap<String, Value>,
}

/// `campaign.json`, nothing masked yet.
pub(crate) fn campaign(experiment: &Experiment, archive_id: &str, now: Instant, found: Found) -> CampaignWire {
    let suite = &experiment.suite;
    let mut wire = CampaignWire {
        schema: CAMPAIGN_SCHEMA.to_owned(),
        name: suite.name.clone(),
        title: suite.title.clone(),
        question: suite.question.clone(),
        prose: suite.prose.clone(),
        tool: Some(tool()),
        suite: Some(suite.text.clone()),
        seed: Some(suite.seed),
        plan: experiment.plan.runs.clone(),
        machine: suite.machine.clone(),
        host: Some(found.host),
        baseline: suite.baseline.clone(),
        truth: suite.truth.clone(),
        primary: suite.primary.clone(),
        margins_pct: suite.margins_pct.clone(),
        planned_metrics: suite.planned_metrics.clone(),
        metrics: suite.metrics.clone(),
        cooldown_s: Some(suite.gates.cooldown_min_s),
        start_temp_limit_c: suite.gates.gpu_temp_max_c,
        models: suite.models.iter().map(label).collect(),
        provenance: provenance(experiment),
        archive_id: Some(archive_id.to_owned()),
        created_utc: Some(now.iso()),
        suite_sha256: Some(hash(suite.text.as_bytes())),
        order: Some(format!("{}: {}", suite.order.word(), suite.order.sentence())),
        design: suite.sequential.clone(),
        hypotheses: hypotheses(suite),
        design_sha256: None,
        environments: found.environments,
        nodes: BTreeMap::new(),
        links: Vec::new(),
        masked: BTreeMap::new(),
    };
    wire.design_sha256 = Some(design(&wire));
    wire
}

/// SHA-256 over what may not change once the first figure is known. It covers name, hypotheses, primary and planned metrics, margins, seed,
/// order and plan, as compact JSON in this order. The looks and the definitions of metrics follow where a campaign has some.
pub(crate) fn design(wire: &CampaignWire) -> String {
    let mut fixed = serde_json::json!([
        wire.name,
        wire.hypotheses,
        wire.primary,
        wire.planned_metrics,
        wire.margins_pct,
        wire.seed,
        wire.order,
        wire.plan,
    ]);
    if let (Some(list), Some(looks)) = (fixed.as_array_mut(), &wire.design) {
        list.push(serde_json::json!(looks));
    }
    if let (Some(list), false) = (fixed.as_array_mut(), wire.metrics.is_empty()) {
        list.push(serde_json::json!(wire.metrics));
    }
    hash(fixed.to_string().as_bytes())
}

fn label(model: &sparkbench_plan::Model) -> (String, ModelLabel) {
    let known = ModelLabel {
        id: model.id.clone(),
        title: model.title.clone(),
        quantisation: model.quantisation.clone(),
        ..ModelLabel::default()
    };
    (model.label.clone(), known)
}

fn hypotheses(suite: &Suite) -> Vec<HypothesisWire> {
    suite
        .hypotheses
        .iter()
        .map(|hypothesis| HypothesisWire {
            claim: hypothesis.claim.clone(),
            metric: hypothesis.metric.clone(),
            baseline: hypothesis.baseline.clone(),
            candidate: hypothesis.candidate.clone(),
            expect: hypothesis.expect.clone(),
            margin_pct: hypothesis.margin_pct,
        })
        .collect()
}

/// One line each: who made it, what was left out, what its readers were warned of.
fn provenance(experiment: &Experiment) -> Vec<String> {
    let mut lines = vec![format!("Collected by {}", tool())];
    lines.extend(
        experiment.plan.left_out.iter().map(|(cell, why)| {
            format!("Not planned: {} / {} / {}: {why}", cell.environment, cell.model, cell.workload)
        }),
    );
    lines.extend(experiment.warnings.iter().map(|warning| format!("Known before the first run: {warning}")));
    lines
}
