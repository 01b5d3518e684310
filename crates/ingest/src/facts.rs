//! Facts of machines and models, `schema = "sparkbench.facts/1"`.
//!
//! In:  TOML with tables `[machines.LABEL]`, `[models."ID"]`, `[prices.KEY]`, `[references.KEY]` and `[limits]`.  Out: [`Facts`].
//! Not here: any figure of our own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::toml_file::{from_toml, named, schema};
use super::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::shown;
use sparkbench_model::{Facts, LimitFacts, LocalFacts, MachineFacts, ModelFacts, PriceFacts, ReferenceFacts};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct FactsFile;

const SCHEMA: &str = "sparkbench.facts/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFacts {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(default)]
    machines: BTreeMap<String, MachineFacts>,
    #[serde(default)]
    models: BTreeMap<String, ModelFacts>,
    #[serde(default)]
    prices: BTreeMap<String, PriceFacts>,
    #[serde(default)]
    references: BTreeMap<String, ReferenceFacts>,
    #[serde(default)]
    limits: LimitFacts,
}

impl Format for FactsFile {
    fn name(&self) -> &'static str {
        "facts"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench",
            versions: "sparkbench.facts/1",
            sign: "a TOML file with `schema = \"sparkbench.facts/1\"`",
            reads: "machines, models and prices with their sources",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name.ends_with(".toml") && head.text.contains("sparkbench.facts/")
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        Ok(Parsed { records: vec![Record::Facts(Box::new(parse_facts(&file.text()?)?))], ..Parsed::default() })
    }
}

/// Reads the file named on the command line. It comes before what ships.
///
/// # Errors
/// When it cannot be read, or a fact in it cannot be used.
pub(super) fn from_command_line(path: &Path) -> Result<LocalFacts, Error> {
    let facts = named(path, "facts", parse_facts)?;
    // Its name alone: pages show no path of this machine.
    let file = path.file_name().map_or_else(|| shown(path), |name| shown(Path::new(name)));
    Ok(LocalFacts { file, facts, wins: true })
}

/// Reads facts. A figure that is not positive and a table without sources are refused, since checks rest on them.
///
/// # Errors
/// Names the line, or the key, of what does not fit.
pub fn parse_facts(text: &str) -> Result<Facts, Error> {
    schema(text, SCHEMA)?;
    let mut wire: WireFacts = from_toml(text)?;
    for (key, machine) in &wire.machines {
        sourced(&format!("machines.{key}"), &machine.sources)?;
        positive(
            &format!("machines.{key}"),
            &[
                ("memory_gib", machine.memory_gib),
                ("bandwidth_gb_s", machine.bandwidth_gb_s),
                ("max_temp_c", machine.max_temp_c),
                ("bf16_tflops", machine.bf16_tflops),
                ("fp8_tflops", machine.fp8_tflops),
                ("fp4_tflops", machine.fp4_tflops),
                ("power_w", machine.power_w),
            ],
        )?;
    }
    for (key, model) in &wire.models {
        sourced(&format!("models.\"{key}\""), &model.sources)?;
        positive(
            &format!("models.\"{key}\""),
            &[
                ("parameters", model.parameters),
                ("weight_bytes", model.weight_bytes),
                ("step_bytes", model.step_bytes),
                ("expert_bytes", model.expert_bytes),
                ("experts", model.experts),
                ("experts_per_token", model.experts_per_token),
                ("kv_bytes_per_token", model.kv_bytes_per_token),
                ("layers", model.layers),
                ("kv_heads", model.kv_heads),
                ("head_dim", model.head_dim),
                ("embedding_parameters", model.embedding_parameters),
                ("windowed_layers", model.windowed_layers),
                ("window", model.window),
            ],
        )?;
    }
    for (key, price) in &mut wire.prices {
        price.own = true;
        priced(&format!("prices.\"{key}\""), price)?;
    }
    for (key, reference) in &wire.references {
        let key = format!("references.\"{key}\"");
        sourced(&key, &reference.sources)?;
        positive(
            &key,
            &[
                ("machines", reference.machines),
                ("concurrency", reference.concurrency),
                ("prefill_tok_s", reference.prefill_tok_s),
                ("decode_tok_s", reference.decode_tok_s),
                ("decode_tok_s_high", reference.decode_tok_s_high),
                ("gemm_tflops", reference.gemm_tflops),
            ],
        )?;
    }
    positive("limits", &[("tpot_ms", wire.limits.tpot_ms), ("ttft_ms", wire.limits.ttft_ms)])?;
    Ok(Facts {
        machines: wire.machines,
        models: wire.models,
        prices: wire.prices,
        references: wire.references,
        limits: wire.limits,
        stated: from_toml(text)?,
        ..Facts::default()
    })
}

/// A price is rented by the hour, or bought, with all that an hour of a bought machine needs.
fn priced(key: &str, price: &PriceFacts) -> Result<(), Error> {
    sourced(key, &price.sources)?;
    let bought = [
        ("purchase_usd", price.purchase_usd),
        ("years", price.years),
        ("utilisation", price.utilisation),
        ("wall_power_w", price.wall_power_w),
        ("usd_per_kwh", price.usd_per_kwh),
    ];
    positive(key, &bought)?;
    let rented = [
        ("usd_per_hour", price.usd_per_hour),
        ("gpus", price.gpus),
        ("overhead", price.overhead),
        ("output_weight", price.output_weight),
    ];
    positive(key, &rented)?;
    let cannot = |field: &str, what: &str| {
        Err(Error::archive("a price cannot be used").at(Place::Field(format!("{key}.{field}"))).detail(what))
    };
    if price.utilisation.is_some_and(|share| share > 1.0) {
        return cannot("utilisation", "expected a share above 0 and at most 1");
    }
    match (price.usd_per_hour, bought.iter().find(|(_, figure)| figure.is_none())) {
        (Some(_), _) if price.purchase_usd.is_some() => {
            cannot("usd_per_hour", "a machine is either rented or bought, so give `usd_per_hour` or `purchase_usd`")
        }
        (None, Some((field, _))) => cannot(
            field,
            "expected `usd_per_hour`, or `purchase_usd`, `years`, `utilisation`, `wall_power_w` and `usd_per_kwh`",
        ),
        _ => Ok(()),
    }
}

fn sourced(key: &str, sources: &[String]) -> Result<(), Error> {
    if sources.is_empty() {
        return Err(Error::archive("a fact has no source")
            .at(Place::Field(format!("{key}.sources")))
            .detail("expected at least one"));
    }
    Ok(())
}

fn positive(key: &str, figures: &[(&str, Option<f64>)]) -> Result<(), Error> {
    match figures.iter().find_map(|(name, value)| value.filter(|v| !(v.is_finite() && *v > 0.0)).map(|v| (name, v))) {
        Some((name, value)) => Err(Error::archive("a fact cannot be true")
            .at(Place::Field(format!("{key}.{name}")))
            .detail(format!("expected a number above 0, found {value}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_need_sources_and_positive_figures() {
        let good =
            "schema = \"sparkbench.facts/1\"\n[machines.x]\ntitle = \"X\"\nmemory_gib = 119.7\nsources = [\"s\"]\n";
        assert_eq!(parse_facts(good).unwrap().machines["x"].memory_gib, Some(119.7));
        for (from, to, word) in [
            ("119.7", "-1", "field 'machines.x.memory_gib': expected a number above 0, found -1"),
            ("[\"s\"]", "[]", "field 'machines.x.sources'"),
            ("memory_gib", "memory_gb", "line 4: unknown field `memory_gb`"),
        ] {
            let error = parse_facts(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_price_is_rented_or_bought_and_nothing_between() {
        let text = |price: &str| {
            format!(
                "schema = \"sparkbench.facts/1\"\n[prices.x]\ntitle = \"X\"\nmachine = \"t4\"\ndate = \"2026\"\nsources = [\"s\"]\n{price}"
            )
        };
        let bought = "purchase_usd = 4000.0\nyears = 3.0\nutilisation = 0.5\nwall_power_w = 90.0\nusd_per_kwh = 0.3\n";
        let facts = parse_facts(&text("usd_per_hour = 1.0\n")).unwrap();
        assert!(facts.prices["x"].own);
        assert!(parse_facts(&text(bought)).is_ok());
        for (price, word) in [
            (String::new(), "prices.\"x\".purchase_usd"),
            (format!("{bought}usd_per_hour = 1.0\n"), "rented or bought"),
            (bought.replace("years = 3.0\n", ""), "prices.\"x\".years"),
            (bought.replace("0.5", "1.5"), "at most 1"),
            ("usd_per_hour = 0.0\n".to_owned(), "above 0"),
        ] {
            let error = parse_facts(&text(&price)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
