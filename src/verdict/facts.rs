//! The facts that ship with the program: `data/facts/*.toml`.
//!
//! In:  nothing.  Out: [`Facts`], to be extended by a user's own.
//! Not here: the figures, which stand in the files with their sources; reading of other files (see `ingest`).

use crate::error::{Error, Kind, Place};
use crate::model::Facts;

/// Every file that ships, name and text.
pub const BUILTIN: &[(&str, &str)] = &[
    ("data/facts/machines.toml", include_str!("../../data/facts/machines.toml")),
    ("data/facts/models.toml", include_str!("../../data/facts/models.toml")),
];

/// All shipped facts as one.
///
/// # Errors
/// A shipped file that does not parse, which a test of this module excludes.
pub fn builtin() -> Result<Facts, Error> {
    let mut facts = Facts::default();
    for (name, text) in BUILTIN {
        let more: Facts = toml::from_str(text).map_err(|cause| {
            Error::new(Kind::Archive, format!("cannot read the shipped facts '{name}'"))
                .at(Place::Field("sparkbench.facts/1".into()))
                .because(cause)
        })?;
        facts.extend(more);
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_fact_has_a_source_and_positive_figures() {
        let facts = builtin().unwrap();
        assert!(facts.machines.len() >= 8 && facts.models.len() >= 4);
        for (key, machine) in &facts.machines {
            assert!(
                !machine.sources.is_empty() && machine.memory_gib > Some(1.0) && machine.bandwidth_gb_s > Some(1.0),
                "{key}"
            );
        }
        for (key, model) in &facts.models {
            assert!(!model.sources.is_empty() && model.kv_bytes_per_token > Some(0.0), "{key}");
            assert!(
                model.bytes_per_step(1.0) <= model.weight_bytes && model.bytes_per_step(64.0) <= model.weight_bytes,
                "{key}"
            );
        }
    }

    #[test]
    fn a_printed_name_finds_its_machine() {
        let facts = builtin().unwrap();
        for (name, title) in [
            ("NVIDIA GB10", "NVIDIA GB10 (DGX Spark)"),
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"),
            ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe"),
            ("NVIDIA H200", "NVIDIA H200"),
            ("NVIDIA A100-SXM4-40GB", "NVIDIA A100 40 GB"),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80 GB"),
            ("Tesla T4", "NVIDIA T4"),
            ("NVIDIA L4", "NVIDIA L4"),
            ("Tesla V100-SXM2-16GB", "NVIDIA V100 16 GB"),
        ] {
            assert_eq!(facts.machine(name).map(|m| m.title.as_str()), Some(title), "{name}");
        }
        assert!(facts.machine("NVIDIA L40S").is_none(), "an L40S is no L4");
    }

    #[test]
    fn the_bytes_a_step_reads_grow_with_the_batch_only_for_experts() {
        let facts = builtin().unwrap();
        let step = |id: &str, batch: f64| facts.models[id].bytes_per_step(batch).unwrap() / 1e9;
        assert!((step("openai/gpt-oss-120b", 1.0) - 5.0).abs() < 0.01);
        assert!((step("openai/gpt-oss-120b", 8.0) - 16.8).abs() < 0.1);
        assert!((step("Qwen/Qwen2.5-72B-Instruct", 8.0) - 145.4).abs() < 0.1);
    }
}
