//! The facts that ship with the program, `data/facts/*.toml`, and those of other files beside them.
//!
//! In:  facts of other files.  Out: [`Facts`], with every figure on which the sources contradict each other.
//! Not here: the figures, which are in the files with their sources, and reading other files (see `ingest`).

mod settle;

use sparkbench_model::Facts;
use sparkbench_text::error::{Error, Kind, Place};

pub use settle::{note, with};

/// Every file that ships, name and text.
pub const BUILTIN: &[(&str, &str)] = &[
    ("data/facts/machines.toml", include_str!("../../../data/facts/machines.toml")),
    ("data/facts/models.toml", include_str!("../../../data/facts/models.toml")),
    ("data/facts/prices.toml", include_str!("../../../data/facts/prices.toml")),
    ("data/facts/reference.toml", include_str!("../../../data/facts/reference.toml")),
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
            ("NVIDIA L40S", "NVIDIA L40S"),
            ("NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5090"),
            ("NVIDIA B200", "NVIDIA B200"),
        ] {
            assert_eq!(facts.machine(name).map(|m| m.title.as_str()), Some(title), "{name}");
        }
        assert!(facts.machine("NVIDIA L40").is_none(), "an L40 is no L4");
    }

    #[test]
    fn every_shipped_price_and_reference_speaks_of_a_known_machine_and_says_where_it_comes_from() {
        let facts = builtin().unwrap();
        for (key, price) in &facts.prices {
            assert!(facts.machines.contains_key(&price.machine) && !price.sources.is_empty(), "{key}");
            assert!(!price.date.is_empty() && (price.usd_per_hour.is_some() != price.purchase_usd.is_some()), "{key}");
        }
        assert!(facts.references.len() >= 37);
        for (key, reference) in &facts.references {
            assert!(facts.machines.contains_key(&reference.machine) && !reference.sources.is_empty(), "{key}");
            let rate = reference.decode_tok_s.or(reference.gemm_tflops);
            assert!(
                rate.is_some_and(|r| r > 0.0) && reference.decode_tok_s_high.is_none_or(|h| Some(h) > rate),
                "{key}"
            );
            assert!(reference.model_id.as_ref().is_none_or(|id| facts.models.contains_key(id)), "{key}");
        }
    }

    #[test]
    fn the_cache_of_a_token_is_layers_times_heads() {
        for (key, model) in builtin().unwrap().models {
            let figures = [model.layers, model.kv_heads, model.head_dim].map(|f| f.unwrap_or(f64::NAN));
            let values: f64 = figures.iter().product::<f64>() * 2.0;
            assert_eq!(model.kv_bytes_per_token, Some(2.0 * values), "{key}");
        }
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
