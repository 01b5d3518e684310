//! Units of figures: which may be added, compared and divided, and the resulting unit.
//!
//! In:  units as texts, `tok/s`.  Out: [`Unit`], products and quotients, and the factor between two of one kind.
//! Not here: expressions (see `check`), the units of the catalogue (see `model::metric`).
//!
//! A unit is kept as it was written, factor by factor, so that a message can show it again. Two units are compared by what their factors
//! amount to: `W·s` is `J`, `ms` is a thousandth of `s`. A text with a word that is not known here has no [`Unit`], and is not checked.

use std::collections::BTreeMap;
use std::fmt;

/// Quantities. Each has a base unit, given behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quantity {
    /// s
    Time,
    /// tok
    Tokens,
    /// req
    Requests,
    /// J
    Energy,
    /// B
    Bytes,
    /// FLOP
    Operations,
    /// USD
    Money,
    /// °C. Differences and levels alike, because nothing here multiplies temperatures
    Temperature,
}

use Quantity::{Bytes, Energy, Money, Operations, Requests, Temperature, Time, Tokens};

/// Symbol as it is printed, further spellings, what it amounts to in base units, and the quantities with their powers.
struct Symbol(&'static str, &'static [&'static str], f64, &'static [(Quantity, i8)]);

const GIB: f64 = 1_073_741_824.0;

const SYMBOLS: &[Symbol] = &[
    Symbol("s", &["sec", "second", "seconds"], 1.0, &[(Time, 1)]),
    Symbol("ms", &[], 1e-3, &[(Time, 1)]),
    Symbol("µs", &["us", "μs"], 1e-6, &[(Time, 1)]),
    Symbol("min", &["minute", "minutes"], 60.0, &[(Time, 1)]),
    Symbol("h", &["hour", "hours"], 3600.0, &[(Time, 1)]),
    Symbol("Hz", &["hz"], 1.0, &[(Time, -1)]),
    Symbol("MHz", &["mhz"], 1e6, &[(Time, -1)]),
    Symbol("GHz", &["ghz"], 1e9, &[(Time, -1)]),
    Symbol("tok", &["token", "tokens"], 1.0, &[(Tokens, 1)]),
    Symbol("req", &["request", "requests"], 1.0, &[(Requests, 1)]),
    Symbol("J", &["joule", "joules"], 1.0, &[(Energy, 1)]),
    Symbol("kJ", &[], 1e3, &[(Energy, 1)]),
    Symbol("Wh", &[], 3600.0, &[(Energy, 1)]),
    Symbol("kWh", &[], 3.6e6, &[(Energy, 1)]),
    Symbol("W", &["watt", "watts"], 1.0, &[(Energy, 1), (Time, -1)]),
    Symbol("kW", &[], 1e3, &[(Energy, 1), (Time, -1)]),
    Symbol("B", &["byte", "bytes"], 1.0, &[(Bytes, 1)]),
    Symbol("KiB", &[], 1024.0, &[(Bytes, 1)]),
    Symbol("MiB", &[], 1_048_576.0, &[(Bytes, 1)]),
    Symbol("GiB", &[], GIB, &[(Bytes, 1)]),
    Symbol("MB", &[], 1e6, &[(Bytes, 1)]),
    Symbol("GB", &[], 1e9, &[(Bytes, 1)]),
    Symbol("TB", &[], 1e12, &[(Bytes, 1)]),
    Symbol("FLOP", &[], 1.0, &[(Operations, 1)]),
    Symbol("GFLOP", &[], 1e9, &[(Operations, 1)]),
    Symbol("TFLOP", &[], 1e12, &[(Operations, 1)]),
    Symbol("USD", &["$"], 1.0, &[(Money, 1)]),
    Symbol("°C", &["C", "degC"], 1.0, &[(Temperature, 1)]),
    Symbol("%", &["percent"], 0.01, &[]),
];

/// Factors of a unit by symbol, each with its power. None is a bare ratio.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unit(BTreeMap<&'static str, i8>);

fn symbol(name: &str) -> Option<&'static Symbol> {
    SYMBOLS.iter().find(|symbol| symbol.0 == name || symbol.1.contains(&name))
}

impl Unit {
    /// A unit as it is written: factors joined by `·` or `*`, below a `/` those that divide, in brackets where there are several.
    /// Nothing where a word of it is not known. The empty text is a ratio.
    pub fn parse(text: &str) -> Option<Self> {
        let mut unit = Self::default();
        let (above, below) = match text.split_once('/') {
            Some((above, below)) => (above, Some(below)),
            None => (text, None),
        };
        let below = below.map(|text| text.trim().trim_start_matches('(').trim_end_matches(')'));
        for (part, power) in [(Some(above), 1), (below, -1)] {
            let words = part.into_iter().flat_map(|part| part.split(['·', '*', '/'])).map(str::trim);
            for word in words.filter(|word| !word.is_empty() && *word != "1") {
                unit.raise(symbol(word)?.0, power)?;
            }
        }
        Some(unit)
    }

    /// Multiplies by a power of a symbol. Nothing where the power grows beyond all measure.
    fn raise(&mut self, name: &'static str, power: i8) -> Option<()> {
        let now = self.0.get(name).copied().unwrap_or(0).checked_add(power)?;
        if now == 0 {
            self.0.remove(name);
        } else {
            self.0.insert(name, now);
        }
        Some(())
    }

    /// The product with another one raised to a power of 1 or -1.
    pub fn times(&self, other: &Self, power: i8) -> Option<Self> {
        let mut product = self.clone();
        for (name, count) in &other.0 {
            product.raise(name, count.checked_mul(power)?)?;
        }
        Some(product)
    }

    /// Its size in base units, and its quantities.
    fn reduced(&self) -> (f64, BTreeMap<Quantity, i32>) {
        let mut scale = 1.0;
        let mut quantities: BTreeMap<Quantity, i32> = BTreeMap::new();
        for (name, count) in &self.0 {
            let Some(Symbol(_, _, one, parts)) = symbol(name) else { continue };
            scale *= one.powi(i32::from(*count));
            for (quantity, power) in *parts {
                *quantities.entry(*quantity).or_default() += i32::from(*power) * i32::from(*count);
            }
        }
        quantities.retain(|_, power| *power != 0);
        (scale, quantities)
    }

    /// By what a figure in this unit is multiplied to be one in the other. Nothing where they measure different things.
    pub fn factor_to(&self, other: &Self) -> Option<f64> {
        let ((from, ours), (to, theirs)) = (self.reduced(), other.reduced());
        (ours == theirs).then(|| from / to)
    }

    /// Whether figures in both can be added as they are.
    pub fn same(&self, other: &Self) -> bool {
        self.factor_to(other).is_some_and(|factor| (factor - 1.0).abs() < 1e-12)
    }

    /// Whether it is a bare ratio, without any factor.
    pub fn is_ratio(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether per cent of it mean nothing: a per cent itself, or a temperature.
    pub fn has_arbitrary_zero(&self) -> bool {
        self.0.contains_key("%") || self.0.contains_key("°C")
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |sign: i8| -> Vec<String> {
            // In the order of the table, so that tokens come before seconds where both occur.
            let known = SYMBOLS.iter().filter_map(|symbol| Some((symbol.0, *self.0.get(symbol.0)?)));
            known
                .filter(|(_, count)| count.signum() == sign)
                .map(|(name, count)| match count.abs() {
                    1 => name.to_owned(),
                    2 => format!("{name}²"),
                    3 => format!("{name}³"),
                    more => format!("{name}^{more}"),
                })
                .collect()
        };
        let (above, below) = (side(1), side(-1));
        let above = if above.is_empty() && !below.is_empty() { "1".to_owned() } else { above.join("·") };
        match below.as_slice() {
            [] => f.write_str(&above),
            [one] => write!(f, "{above}/{one}"),
            several => write!(f, "{above}/({})", several.join("·")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap_or_else(|| panic!("{text} is not known"))
    }

    #[test]
    fn a_rate_over_a_power_is_tokens_for_a_joule() {
        let quotient = unit("tok/s").times(&unit("W"), -1).unwrap();
        assert_eq!(quotient.to_string(), "tok/(s·W)");
        assert!(quotient.same(&unit("tok/J")) && !quotient.same(&unit("tok/kJ")));
        assert!((quotient.factor_to(&unit("tok/kWh")).unwrap() - 3.6e6).abs() < 1e-6);
    }

    #[test]
    fn what_measures_another_thing_has_no_factor() {
        for (one, other, factor) in [
            ("ms", "s", Some(1e-3)),
            ("W·s", "J", Some(1.0)),
            ("GiB", "GB", Some(1.073_741_824)),
            ("%", "", Some(0.01)),
            ("ms", "tok", None),
            ("°C", "", None),
            ("1/s", "Hz", Some(1.0)),
        ] {
            let found = unit(one).factor_to(&unit(other));
            assert!(
                match (found, factor) {
                    (Some(found), Some(factor)) => (found / factor - 1.0).abs() < 1e-12,
                    (found, factor) => found == factor,
                },
                "{one} to {other}: {found:?}"
            );
        }
    }

    #[test]
    fn units_are_printed_as_they_are_read() {
        for text in ["", "ms", "tok/s", "J/tok", "tok/(s·W)", "1/s", "GB/s", "TFLOP/s", "%"] {
            assert_eq!(unit(text).to_string(), text);
        }
        assert_eq!(unit("tokens/second").to_string(), "tok/s");
        assert_eq!(unit("ms").times(&unit("ms"), 1).unwrap().to_string(), "ms²");
    }

    #[test]
    fn a_word_that_is_not_known_is_no_unit_and_powers_have_an_end() {
        assert_eq!(Unit::parse("frames/s"), None);
        let mut power = unit("s");
        let grown = (0..20).try_for_each(|_| {
            power = power.times(&power.clone(), 1)?;
            Some(())
        });
        assert_eq!(grown, None);
    }
}
