//! The price that applies to a run, and the cost of one hour.
//!
//! In:  the price list, the machine of a run, its devices and labels.  Out: [`Bill`]s, the one that is charged first.
//! Not here: the formulas (see `stats::economy`), the list (see `data/facts/prices.toml`).
//!
//! The rule takes prices of the run's machine. The shipped ones come before those of a file that merely lies in a folder. Prices whose labels
//! name the run come before those for every run, and those of a file that was allowed to before the shipped ones. Dated ones come before
//! undated ones, the latest first, then by key.

use std::cmp::Reverse;

use super::number::significant;
use super::report::PriceReport;
use sparkbench_model::{Billing, Facts, PriceFacts, Run};
use sparkbench_stats::economy::{self, Owned};

/// Value of an output token in input tokens where a price does not state it. It is close to the ratio in most price lists.
pub(crate) const OUTPUT_WEIGHT: f64 = 4.0;

/// A price applied to a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bill<'a> {
    /// Key of the list.
    pub key: &'a str,
    pub price: &'a PriceFacts,
    /// USD an hour that the run is charged.
    pub usd_per_hour: f64,
    /// How that follows, in words.
    pub basis: String,
}

impl Bill<'_> {
    /// Form on pages and in `analysis.json`.
    pub(crate) fn report(&self) -> PriceReport {
        PriceReport {
            key: self.key.to_owned(),
            title: self.price.title.clone(),
            date: self.price.date.clone(),
            usd_per_hour: self.usd_per_hour,
            basis: self.basis.clone(),
            own: self.price.own,
            sources: self.price.sources.clone(),
        }
    }

    /// Value of an output token in input tokens where a price does not state it. It is close to the ratio in most price lists.
    pub(crate) fn output_weight(&self) -> f64 {
        self.price.output_weight.unwrap_or(OUTPUT_WEIGHT)
    }
}

/// Every price that fits a run on these devices of a machine. The charged one comes first.
pub(crate) fn fitting<'a>(facts: &'a Facts, machine: &str, devices: f64, run: &Run) -> Vec<Bill<'a>> {
    let names = [&run.campaign, &run.environment, &run.workload];
    let named = |price: &PriceFacts| price.labels.iter().any(|label| names.contains(&label));
    let mut found: Vec<(&String, &PriceFacts)> = facts
        .prices
        .iter()
        .filter(|(_, price)| price.machine == machine && (price.labels.is_empty() || named(price)))
        .collect();
    let dated = |price: &PriceFacts| price.date.starts_with(|c: char| c.is_ascii_digit());
    found.sort_by_key(|(key, price)| {
        let found = price.own && !price.wins;
        (found, !named(price), !price.own, !dated(price), Reverse(price.date.clone()), (*key).clone())
    });
    found.into_iter().filter_map(|(key, price)| bill(key, price, devices)).collect()
}

/// One price for a number of devices.
fn bill<'a>(key: &'a str, price: &'a PriceFacts, devices: f64) -> Option<Bill<'a>> {
    let gpus = price.gpus.unwrap_or(1.0);
    let (instance, origin) = match price.usd_per_hour {
        Some(rent) => (rent, format!("{} USD/h", significant(rent, 6))),
        None => own_hour(price)?,
    };
    let of_gpus = if gpus > 1.0 { format!(" for {} GPUs", significant(gpus, 3)) } else { String::new() };
    let needed = economy::instances(devices, gpus);
    let (factor, part) = match price.billing {
        Billing::Share if gpus > 1.0 => {
            (devices / gpus, format!(", charged for {} of {}", significant(devices, 3), significant(gpus, 3)))
        }
        _ if needed > 1.0 => {
            (needed, format!(", {} of them for {} devices", significant(needed, 3), significant(devices, 3)))
        }
        _ if devices < gpus => (needed, ", charged whole".to_owned()),
        _ => (needed, String::new()),
    };
    Some(Bill { key, price, usd_per_hour: instance * factor, basis: format!("{origin}{of_gpus}{part}") })
}

/// An hour of a machine of one's own, and how it is made.
fn own_hour(price: &PriceFacts) -> Option<(f64, String)> {
    let owned = Owned {
        purchase: price.purchase_usd?,
        years: price.years?,
        utilisation: price.utilisation?,
        watts: price.wall_power_w?,
        usd_per_kwh: price.usd_per_kwh?,
        overhead: price.overhead.unwrap_or(1.0),
    };
    let hour = owned.usd_per_hour();
    let words = format!(
        "{} USD/h: {} USD over {} years at {} % use, and {} W at {} USD/kWh",
        significant(hour, 3),
        significant(owned.purchase, 6),
        significant(owned.years, 3),
        significant(100.0 * owned.utilisation, 3),
        significant(owned.watts, 4),
        significant(owned.usd_per_kwh, 3)
    );
    Some((hour, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::builtin;
    use crate::testing::run;

    #[test]
    fn the_published_instances_are_charged_as_the_list_says() {
        let facts = builtin().unwrap();
        let hour = |machine: &str, devices: f64| fitting(&facts, machine, devices, &run("a"))[0].usd_per_hour;
        assert_eq!((hour("t4", 1.0), hour("l4", 1.0), hour("l4", 4.0)), (0.526, 1.10, 4.4));
        assert!((hour("a100-40gb", 1.0) - 32.77 / 8.0).abs() < 1e-12);
        assert!((hour("gb10", 1.0) - 0.193).abs() < 0.0005);
        assert!((hour("gb10", 2.0) - 0.386).abs() < 0.001);
        assert!(
            fitting(&facts, "v100-32gb", 1.0, &run("a")).is_empty(),
            "no price is better than that of another machine"
        );
    }

    #[test]
    fn a_users_price_comes_before_ours_and_a_label_before_both() {
        let mut facts = builtin().unwrap();
        let own = PriceFacts {
            title: "mine".into(),
            machine: "t4".into(),
            date: "2025".into(),
            usd_per_hour: Some(0.3),
            own: true,
            wins: true,
            ..PriceFacts::default()
        };
        facts.prices.insert("z-mine".into(), own.clone());
        facts.prices.insert("lab".into(), PriceFacts { labels: vec!["spot".into()], usd_per_hour: Some(0.1), ..own });
        let keys = |facts: &Facts, environment: &str| -> Vec<String> {
            let run = Run { environment: environment.into(), ..run("a") };
            fitting(facts, "t4", 1.0, &run).iter().map(|bill| bill.key.to_owned()).collect()
        };
        assert_eq!(keys(&facts, "native"), ["z-mine", "aws-g4dn.xlarge"]);
        assert_eq!(keys(&facts, "spot"), ["lab", "z-mine", "aws-g4dn.xlarge"]);
        // A file that nobody allowed to speak first comes last, whatever its labels and dates.
        facts.prices.values_mut().for_each(|price| price.wins = false);
        assert_eq!(keys(&facts, "spot"), ["aws-g4dn.xlarge", "lab", "z-mine"]);
    }

    #[test]
    fn a_whole_instance_is_charged_whole_unless_the_others_are_put_to_use() {
        let price = PriceFacts { gpus: Some(8.0), usd_per_hour: Some(32.0), ..PriceFacts::default() };
        let whole = bill("k", &price, 1.0).unwrap();
        assert_eq!((whole.usd_per_hour, whole.basis.as_str()), (32.0, "32 USD/h for 8 GPUs, charged whole"));
        let share = PriceFacts { billing: Billing::Share, ..price };
        let share = bill("k", &share, 2.0).unwrap();
        assert_eq!((share.usd_per_hour, share.basis.as_str()), (8.0, "32 USD/h for 8 GPUs, charged for 2 of 8"));
    }
}
