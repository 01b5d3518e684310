//! The size of a KV cache in bytes must fit its tokens (P8).
//!
//! In:  KV tokens, KV bytes, bytes per token of the model.  Out: one finding for each model and workload.
//! Not here: how large the cache should be.

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, read};
use crate::case::Case;
use crate::number::{list, significant};
use crate::physics::inputs::{GIB, bits, share};
use crate::physics::parts;
use crate::report::{Severity, Subject};
use sparkbench_model::{ModelFacts, Run};

/// Largest disagreement, per cent: block sizes and printed digits stay below it.
pub(super) const TOLERANCE_PCT: f64 = 1.0;
/// Ratios that a cache kept in fewer bits than the 16 of the facts would give: 8 and 4.
const NARROWER: &[(f64, &str)] = &[(2.0, "8"), (4.0, "4")];

/// KV tokens and KV bytes disagree.
pub(super) struct KvTokensMismatch;

impl Trap for KvTokensMismatch {
    fn id(&self) -> &'static str {
        "kv-tokens-mismatch"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P8")
    }
    fn title(&self) -> &'static str {
        "KV tokens do not match KV bytes"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "The size of the KV cache does not match the model on the label.\n\n\
             Each token in the cache takes `2 x layers x KV heads x head size x bytes per value` of its model. Capacity in tokens \
             times bytes per token must therefore be the size of the cache. Engines print both. Their ratio is a fingerprint of the \
             model that was loaded: a 7B and a 72B model differ by a factor of almost six.\n\n\
             The check fires when the two disagree by more than {TOLERANCE_PCT} %. It allows for the stated data type of the cache, \
             for the devices that share its heads, and for layers with a window. A ratio of two or four within the same tolerance \
             fits a cache in 8 or 4 bits. That is a warning, because the archive should say so.\n\n\
             Archive the engine's start-up log with both figures and the data type of the cache."
        )
    }
    fn undermines(&self) -> &'static str {
        "the model and the KV cache that these runs are labelled with"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

/// Width of a value of the cache over the 16 bits of the facts, as the run states it.
fn stated_width(run: &Run) -> f64 {
    run.setup.kv_dtype.as_deref().and_then(bits).map_or(1.0, |bits| bits / 16.0)
}

/// Devices that share the heads of a run's cache.
fn parted(run: &Run) -> f64 {
    run.setup.parallel.as_deref().map_or(1.0, parts)
}

/// Share of the layers that look back over everything. Absent where all do.
fn full_layers(model: &ModelFacts) -> Option<f64> {
    let (layers, windowed) = (model.layers?, model.windowed_layers?);
    (windowed > 0.0 && windowed < layers).then(|| (layers - windowed) / layers)
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let runs = case.runs_by_arm(model, workload);
    let figures: Vec<(&Run, f64, f64)> = runs
        .iter()
        .filter_map(|run| {
            Some((*run, run.value("kv_cache_tokens")?, run.value("kv_cache_gib").filter(|gib| *gib > 0.0)?))
        })
        .collect();
    let per_token = case.model(model).and_then(|known| known.kv_bytes_per_token);
    let (Some(per_token), false) = (per_token, figures.is_empty()) else {
        let mut missing = Vec::new();
        if per_token.is_none() {
            missing.push("the model's KV bytes per token in the facts");
        }
        if !runs.iter().any(|run| run.value("kv_cache_tokens").is_some()) {
            missing.push("the capacity of the KV cache in tokens");
        }
        if !runs.iter().any(|run| run.value("kv_cache_gib").is_some()) {
            missing.push("the size of the KV cache");
        }
        if missing.is_empty() {
            missing.push("tokens and size of the KV cache in one run");
        }
        return Finding::not_evaluated(subject, format!("{place}: missing {}", list(&missing)));
    };
    // Layers with a window keep less than a full layer. So tokens may count for more than they take, up to the share of full layers.
    let most = case.model(model).and_then(full_layers).map_or(1.0, |share| 1.0 / share);
    let tolerance = TOLERANCE_PCT / 100.0;
    let off: Vec<(&Run, f64)> = figures
        .iter()
        .map(|(run, tokens, gib)| (*run, tokens * per_token * stated_width(run) / (gib * GIB)))
        .filter(|(run, r)| {
            let fits = |r: f64| r >= 1.0 - tolerance && r <= most + tolerance;
            // Engines print the room of one device and the tokens of all that share the heads.
            !fits(*r) && !fits(r / parted(run))
        })
        .collect();
    let Some((_, worst)) = off.iter().copied().max_by(|a, b| (a.1 - 1.0).abs().total_cmp(&(b.1 - 1.0).abs())) else {
        let windowed = if most > 1.0 { ", windowed layers counted" } else { "" };
        let message = format!(
            "{place}: {} bytes per token explain the KV cache within {TOLERANCE_PCT} %{windowed} in {}",
            significant(per_token, 7),
            share(figures.len(), figures.len())
        );
        return Finding::passed(subject, message);
    };
    let narrower =
        NARROWER.iter().find(|(factor, _)| off.iter().all(|(_, r)| (r / factor - 1.0).abs() <= TOLERANCE_PCT / 100.0));
    let reading = narrower.map_or_else(String::new, |(_, bits)| format!("; that fits a cache kept in {bits} bits"));
    let message = format!(
        "{place}: tokens times {} bytes are {} times the KV cache in {}{reading}",
        significant(per_token, 7),
        significant(worst, 4),
        share(off.len(), figures.len())
    );
    let finding = Finding::fired(subject, message)
        .evidence(
            off.iter().map(|(run, r)| read(run, "kv_cache_tokens", format!("{} times the bytes", significant(*r, 5)))),
        )
        .remedy(
            "compare layers, KV heads, head size and cache type in the engine's log with the model that was asked for",
        );
    if narrower.is_some() { finding.severity(Severity::Warning) } else { finding }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::builtin;
    use crate::report::TrapStatus;
    use crate::testing::measured;
    use sparkbench_model::{Campaign, Setup};

    fn status(id: &str, setup: Setup, bytes_per_token: f64) -> TrapStatus {
        let figures = [("kv_cache_tokens", 1e6), ("kv_cache_gib", 1e6 * bytes_per_token / GIB)];
        let run = measured("a", Setup { model_id: Some(id.into()), ..setup }, &figures);
        let (facts, campaign) = (builtin().unwrap(), Campaign { name: "c".into(), ..Campaign::default() });
        KvTokensMismatch.check(&Case::of_runs(&campaign, vec![&run], &facts))[0].status
    }

    #[test]
    fn a_stated_type_of_the_cache_and_parted_heads_explain_the_ratio() {
        let id = "Qwen/Qwen3-8B";
        let narrow = Setup { kv_dtype: Some("fp8_e4m3".into()), ..Setup::default() };
        let parted = Setup { parallel: Some("tp2 pp1".into()), ..Setup::default() };
        assert_eq!(status(id, Setup::default(), 147_456.0), TrapStatus::Passed);
        assert_eq!(status(id, Setup::default(), 73_728.0), TrapStatus::Fired);
        assert_eq!(status(id, narrow, 73_728.0), TrapStatus::Passed);
        assert_eq!(status(id, parted.clone(), 73_728.0), TrapStatus::Passed);
        assert_eq!(status(id, parted, 36_864.0), TrapStatus::Fired);
    }

    #[test]
    fn windowed_layers_keep_less_than_their_share() {
        let id = "openai/gpt-oss-120b";
        for (bytes, expected) in [
            (73_728.0, TrapStatus::Passed),
            (40_000.0, TrapStatus::Passed),
            (30_000.0, TrapStatus::Fired),
            (80_000.0, TrapStatus::Fired),
        ] {
            assert_eq!(status(id, Setup::default(), bytes), expected, "{bytes}");
        }
    }
}
