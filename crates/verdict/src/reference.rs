//! Published figures beside one's own: context, never a verdict.
//!
//! In:  the list of published figures, the cells of the analysis.  Out: [`ReferenceReport`]s for the machines that the cells ran on.
//! Not here: any comparison. Settings of a published figure are seldom told in full, so nothing is tested against it.

use std::collections::BTreeSet;

use super::report::{CostReport, OwnFigure, ReferenceReport};
use sparkbench_model::{Facts, ReferenceFacts};

/// Every published figure for a machine of the analysis, with the cells of the same model beside it.
pub(crate) fn beside(facts: &Facts, costs: &[CostReport]) -> Vec<ReferenceReport> {
    let machines: BTreeSet<&str> = costs.iter().filter_map(|cost| cost.machine.as_deref()).collect();
    facts
        .references
        .iter()
        .filter(|(_, reference)| machines.contains(reference.machine.as_str()))
        .map(|(key, reference)| ReferenceReport {
            key: key.clone(),
            machine: facts
                .machines
                .get(&reference.machine)
                .map_or_else(|| reference.machine.clone(), |m| m.title.clone()),
            machines: reference.machines.unwrap_or(1.0),
            model: reference.model.clone(),
            quantisation: reference.quantisation.clone(),
            engine: reference.engine.clone(),
            workload: reference.workload.clone(),
            concurrency: reference.concurrency,
            prefill_tok_s: reference.prefill_tok_s,
            decode_tok_s: reference.decode_tok_s,
            decode_tok_s_high: reference.decode_tok_s_high,
            gemm_tflops: reference.gemm_tflops,
            note: reference.note.clone(),
            date: reference.date.clone(),
            sources: reference.sources.clone(),
            own: costs.iter().filter(|cost| same(reference, cost)).filter_map(own).collect(),
        })
        .collect()
}

fn own(cost: &CostReport) -> Option<OwnFigure> {
    Some(OwnFigure {
        campaign: cost.campaign.clone(),
        model: cost.model.clone(),
        workload: cost.workload.clone(),
        environment: cost.environment.clone(),
        quantisation: cost.quantisation.clone(),
        batch: cost.batch,
        output_tok_s: cost.output_tok_s?,
    })
}

/// The same machine, as many of it, and the same model by its id or by the last part of it.
fn same(reference: &ReferenceFacts, cost: &CostReport) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let names = [reference.model_id.as_deref(), Some(reference.model.as_str())];
    let own = cost.model_id.as_deref().unwrap_or(&cost.model);
    cost.machine.as_deref() == Some(reference.machine.as_str())
        && cost.devices == reference.machines.unwrap_or(1.0)
        && names.into_iter().flatten().any(|name| {
            let (name, own) = (last(name), last(own));
            own == name || own.strip_prefix(&name).is_some_and(|rest| rest == "-instruct")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::facts::builtin;
    use crate::testing::measured;
    use crate::{Settings, cost};
    use sparkbench_model::{Campaign, Setup};

    #[test]
    fn a_published_figure_stands_beside_the_same_model_on_the_same_machine_only() {
        let setup = |id: &str, machine: &str| Setup {
            model_id: Some(id.into()),
            machine: Some(machine.into()),
            ..Setup::default()
        };
        let facts = builtin().unwrap();
        let settings =
            Settings { confidence: 0.95, resamples: 999, seed: 1, baseline: None, margins_pct: Default::default() };
        let references = |id: &str, machine: &str| {
            let run = measured("a", setup(id, machine), &[("output_throughput_tok_s", 50.0)]);
            let campaign = Campaign { name: "c".into(), ..Campaign::default() };
            let case = Case::of_runs(&campaign, vec![&run], &facts);
            beside(&facts, &cost::report(&case, &settings))
        };
        let found = references("openai/gpt-oss-20b", "NVIDIA GB10");
        let with: Vec<&str> = found.iter().filter(|r| !r.own.is_empty()).map(|r| r.key.as_str()).collect();
        assert_eq!(with, ["gb10-01", "gb10-02", "gb10-03", "gb10-04"]);
        assert_eq!(found.len(), facts.references.len());
        assert!(
            references("meta-llama/Llama-3.1-8B-Instruct", "GB10")
                .iter()
                .any(|r| r.key == "gb10-13" && !r.own.is_empty())
        );
        assert!(references("openai/gpt-oss-20b", "NVIDIA H200").is_empty());
    }
}
