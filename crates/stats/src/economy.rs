//! The cost of a token: price per hour over tokens per second.
//!
//! In:  USD an hour, tokens a second.  Out: USD per million tokens.
//! Not here: prices (see `data/facts/prices.toml`), which price is a run's (see `verdict::price`).

/// Seconds of an hour.
const HOUR_S: f64 = 3600.0;
/// Hours of a year.
const YEAR_H: f64 = 8760.0;
/// Tokens that prices are quoted for.
const MILLION: f64 = 1e6;

/// A machine of one's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Owned {
    /// Purchase price, USD.
    pub purchase: f64,
    /// Years until it is written off.
    pub years: f64,
    /// Share of those years in which it works, above 0 and at most 1.
    pub utilisation: f64,
    /// Power at the wall while it works, W.
    pub watts: f64,
    /// USD for a kWh.
    pub usd_per_kwh: f64,
    /// Energy of cooling and distribution on top, as a factor.
    pub overhead: f64,
}

impl Owned {
    /// USD for an hour of work: the purchase over the hours worked, and the energy of one.
    pub fn usd_per_hour(&self) -> f64 {
        self.capital_per_hour() + self.energy_per_hour()
    }

    /// The part of the purchase.
    pub(crate) fn capital_per_hour(&self) -> f64 {
        self.purchase / (self.years * YEAR_H * self.utilisation)
    }

    /// The part of the energy.
    pub(crate) fn energy_per_hour(&self) -> f64 {
        self.watts / 1000.0 * self.usd_per_kwh * self.overhead
    }
}

/// USD per million tokens. Absent when the rate is not positive.
pub fn usd_per_million(usd_per_hour: f64, tok_s: f64) -> Option<f64> {
    (tok_s > 0.0 && tok_s.is_finite()).then(|| usd_per_hour / (tok_s * HOUR_S) * MILLION)
}

/// USD per million input and per million output tokens when one hour pays for both and an output token is worth `weight` input tokens.
/// Absent when nothing is made.
pub fn priced_apart(usd_per_hour: f64, input_tok_s: f64, output_tok_s: f64, weight: f64) -> Option<(f64, f64)> {
    let input = usd_per_million(usd_per_hour, input_tok_s + weight * output_tok_s)?;
    Some((input, weight * input))
}

/// Whole instances that a number of devices needs.
pub fn instances(devices: f64, per_instance: f64) -> f64 {
    (devices / per_instance).ceil().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: Option<f64>, expected: f64, by: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() <= by), "{found:?} is not {expected}");
    }

    #[test]
    fn the_published_rows_of_one_instance_come_out() {
        // T4 at 0.526 USD/h and 200 and 50 tok/s, L4 at 1.10 USD/h and 120 tok/s.
        near(usd_per_million(0.526, 200.0), 0.73, 0.005);
        near(usd_per_million(0.526, 50.0), 2.92, 0.005);
        near(usd_per_million(1.10, 120.0), 2.55, 0.005);
    }

    #[test]
    fn the_published_rows_of_70b_leave_out_the_number_of_instances() {
        // "~20" for a 70B model on L4 at 15 tok/s. That is one instance, but 70B at 4 bits and more do not fit into one or two of them.
        near(usd_per_million(1.10, 15.0), 20.4, 0.05);
        let needed = instances(4.0, 1.0);
        near(usd_per_million(1.10 * needed, 15.0), 81.5, 0.05);
        // "~15" on A100 at 60 tok/s: neither an eighth of the instance of eight nor the whole.
        near(usd_per_million(32.77 / 8.0, 60.0), 19.0, 0.05);
        near(usd_per_million(32.77 * instances(2.0, 8.0), 60.0), 151.7, 0.05);
    }

    #[test]
    fn a_machine_of_ones_own_costs_its_purchase_and_its_energy() {
        let spark =
            Owned { purchase: 4699.0, years: 3.0, utilisation: 1.0, watts: 95.0, usd_per_kwh: 0.15, overhead: 1.0 };
        near(Some(spark.capital_per_hour()), 0.179, 0.0005);
        near(Some(spark.energy_per_hour()), 0.014, 0.0005);
        near(Some(spark.usd_per_hour()), 0.193, 0.0005);
        near(usd_per_million(spark.usd_per_hour(), 58.0), 0.92, 0.005);
        near(usd_per_million(spark.usd_per_hour(), 318.7), 0.17, 0.005);
        let idle = Owned { utilisation: 0.2, ..spark };
        near(Some(idle.capital_per_hour()), 5.0 * spark.capital_per_hour(), 1e-12);
    }

    #[test]
    fn prices_apart_pay_the_hour_together() {
        let (input, output) = priced_apart(3.6, 300.0, 100.0, 4.0).unwrap();
        near(Some((input * 300.0 + output * 100.0) * 3600.0 / 1e6), 3.6, 1e-9);
        near(Some(output / input), 4.0, 1e-12);
    }
}
