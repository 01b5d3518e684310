//! Lengths drawn from a distribution: tokens of a prompt, tokens of an answer, turns of a conversation.
//!
//! In:  [`Lengths`], a stream of random numbers.  Out: whole numbers, and the distribution as command-line text.
//! Not here: which stream belongs to which request (see `plan`).
//!
//! A draw takes its numbers from its own stream and from nothing else. So the draw of a request depends on the seed and on its number alone.
//! Logarithms and exponentials come from `libm`, which gives the same bits on every machine.
//!
//! Source: Box and Muller, *Ann. Math. Stat.* 29 (1958). Hörmann and Derflinger, *ACM TOMACS* 6 (1996), rejection-inversion, for zipf.

use std::fmt;

use crate::settings::Lengths;
use sparkbench_stats::random::Stream;
use sparkbench_text::error::Error;

/// Longest prompt or answer that is believed to be meant: sixteen million tokens. More is a slip of the keyboard.
pub(crate) const LONGEST: u32 = 1 << 24;

impl Lengths {
    /// The default.
    pub const PLAIN: Self = Self::Fixed(128);

    /// Reads `128`, `100-200` or `uniform:100,200`, `normal:512,64`, `lognormal:512,128` (both with `,least,greatest` behind where they are
    /// wanted), `zipf:1.2,2048`.
    ///
    /// # Errors
    /// Usage, with the forms there are.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: String| {
            Error::usage(format!("'{text}' is neither a length nor a distribution of lengths: {why}"))
                .hint("use 128, 100-200, uniform:100,200, normal:512,64, lognormal:512,128 or zipf:1.2,2048")
        };
        let text_ = text.trim();
        let (name, rest) = match text_.split_once(':') {
            Some((name, rest)) => (name.trim(), rest),
            None => match text_.split_once('-') {
                Some((low, high)) => {
                    let low = whole(low).map_err(wrong)?;
                    return Self::Uniform(low, whole(high).map_err(wrong)?).checked().map_err(wrong);
                }
                None => return Self::Fixed(whole(text_).map_err(wrong)?).checked().map_err(wrong),
            },
        };
        let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
        let found = match (name, parts.as_slice()) {
            ("fixed" | "constant", [value]) => Self::Fixed(whole(value).map_err(wrong)?),
            ("uniform", [low, high]) => Self::Uniform(whole(low).map_err(wrong)?, whole(high).map_err(wrong)?),
            ("normal" | "lognormal", [mean, sd]) => {
                spread(name, real(mean).map_err(wrong)?, real(sd).map_err(wrong)?, 1, LONGEST)
            }
            ("normal" | "lognormal", [mean, sd, low, high]) => spread(
                name,
                real(mean).map_err(wrong)?,
                real(sd).map_err(wrong)?,
                whole(low).map_err(wrong)?,
                whole(high).map_err(wrong)?,
            ),
            ("zipf", [exponent, greatest]) => {
                Self::Zipf(real(exponent).map_err(wrong)?, whole(greatest).map_err(wrong)?)
            }
            ("fixed" | "constant" | "uniform" | "normal" | "lognormal" | "zipf", _) => {
                return Err(wrong(format!("'{name}' does not take {} numbers", parts.len())));
            }
            _ => return Err(wrong(format!("'{name}' is not known"))),
        };
        found.checked().map_err(wrong)
    }

    /// Itself, if it can be drawn from. Else why not.
    ///
    /// # Errors
    /// A fragment that fits after a colon.
    pub fn checked(self) -> Result<Self, String> {
        let (low, high) = match self {
            Self::Fixed(value) => (value, value),
            Self::Uniform(low, high) => (low, high),
            Self::Normal(mean, sd, low, high) | Self::LogNormal(mean, sd, low, high) => {
                if !mean.is_finite() || mean <= 0.0 {
                    return Err("the mean must be above 0".to_owned());
                }
                if !sd.is_finite() || sd < 0.0 {
                    return Err("the standard deviation must not be below 0".to_owned());
                }
                (low, high)
            }
            Self::Zipf(exponent, greatest) => {
                if !exponent.is_finite() || exponent <= 0.0 {
                    return Err("the exponent must be above 0".to_owned());
                }
                if greatest == 0 {
                    return Err("the greatest must be at least 1".to_owned());
                }
                (1, greatest)
            }
        };
        if low > high {
            return Err(format!("{low} is above {high}"));
        }
        if high > LONGEST {
            return Err(format!("{high} is more than {LONGEST}"));
        }
        Ok(self)
    }

    /// One draw. `Fixed` is given as it is, 0 too. Everything else is at least 1.
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform(low, high) => {
                let low = low.max(1);
                let span = u64::from(high.max(low) - low) + 1;
                low + ((u128::from(stream.next_u64()) * u128::from(span)) >> 64) as u32
            }
            Self::Normal(mean, sd, low, high) => kept(mean + sd * normal(stream), low, high),
            Self::LogNormal(mean, sd, low, high) => {
                let spread = libm::log1p((sd / mean) * (sd / mean));
                let centre = libm::log(mean) - 0.5 * spread;
                kept(libm::exp(centre + libm::sqrt(spread) * normal(stream)), low, high)
            }
            Self::Zipf(exponent, greatest) => zipf(exponent, greatest, stream),
        }
    }

    /// Least and greatest that a draw can give.
    pub fn bounds(&self) -> (u32, u32) {
        match *self {
            Self::Fixed(value) => (value, value),
            Self::Uniform(low, high) | Self::Normal(_, _, low, high) | Self::LogNormal(_, _, low, high) => {
                (low.max(1), high.max(1))
            }
            Self::Zipf(_, greatest) => (1, greatest.max(1)),
        }
    }
}

fn spread(name: &str, mean: f64, sd: f64, low: u32, high: u32) -> Lengths {
    if name == "normal" { Lengths::Normal(mean, sd, low, high) } else { Lengths::LogNormal(mean, sd, low, high) }
}

fn whole(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse().map_err(|_| format!("'{text}' is not a whole number"))
}

fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}

fn kept(value: f64, low: u32, high: u32) -> u32 {
    let low = low.max(1);
    // A cast of a float saturates, so that no draw of the tail can wrap.
    (value.round() as u32).clamp(low, high.max(low))
}

/// A draw from the standard normal: two uniform numbers each.
pub(super) fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(stream.uniform()));
    radius * libm::cos(std::f64::consts::TAU * stream.uniform())
}

/// Rank k of 1 to `n` with weight k^-`a`: about 1.1 rounds a draw, whatever `n`.
fn zipf(a: f64, n: u32, stream: &mut Stream) -> u32 {
    let weight = |x: f64| libm::exp(-a * libm::log(x));
    // Integral of the weight and its inverse, written so that an exponent of exactly 1 needs no case of its own.
    let integral = |x: f64| {
        let log = libm::log(x);
        let t = (1.0 - a) * log;
        log * if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + 0.5 * t }
    };
    let inverse = |x: f64| {
        let t = (x * (1.0 - a)).max(-1.0);
        libm::exp(x * if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - 0.5 * t })
    };
    let (low, high) = (integral(1.5) - 1.0, integral(f64::from(n) + 0.5));
    let sure = 2.0 - inverse(integral(2.5) - weight(2.0));
    loop {
        let u = high + stream.uniform() * (low - high);
        let x = inverse(u);
        let k = (x + 0.5).clamp(1.0, f64::from(n)).floor();
        if k - x <= sure || u >= integral(k + 0.5) - weight(k) {
            return k as u32;
        }
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(value) => write!(f, "{value}"),
            Self::Uniform(low, high) => write!(f, "{low}-{high}"),
            Self::Normal(mean, sd, 1, LONGEST) => write!(f, "normal:{mean},{sd}"),
            Self::Normal(mean, sd, low, high) => write!(f, "normal:{mean},{sd},{low},{high}"),
            Self::LogNormal(mean, sd, 1, LONGEST) => write!(f, "lognormal:{mean},{sd}"),
            Self::LogNormal(mean, sd, low, high) => write!(f, "lognormal:{mean},{sd},{low},{high}"),
            Self::Zipf(exponent, greatest) => write!(f, "zipf:{exponent},{greatest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(lengths: Lengths, n: u64) -> Vec<f64> {
        (0..n).map(|i| f64::from(lengths.draw(&mut Stream::new(7, i)))).collect()
    }

    fn mean_sd(values: &[f64]) -> (f64, f64) {
        (sparkbench_stats::mean(values), sparkbench_stats::sd(values).unwrap())
    }

    #[test]
    fn every_form_reads_back_as_it_is_written() {
        for (text, lengths) in [
            ("128", Lengths::Fixed(128)),
            ("100-200", Lengths::Uniform(100, 200)),
            ("normal:512,64", Lengths::Normal(512.0, 64.0, 1, LONGEST)),
            ("lognormal:512,128.5,16,4096", Lengths::LogNormal(512.0, 128.5, 16, 4096)),
            ("zipf:1.2,2048", Lengths::Zipf(1.2, 2048)),
        ] {
            assert_eq!(Lengths::parse(text).unwrap(), lengths);
            assert_eq!(lengths.to_string(), text);
        }
        assert_eq!(Lengths::parse(" uniform: 100, 200").unwrap(), Lengths::Uniform(100, 200));
    }

    #[test]
    fn a_wrong_form_says_what_is_wrong() {
        for (text, why) in [
            ("", "'' is not a whole number"),
            ("abc", "'abc' is not a whole number"),
            ("200-100", "200 is above 100"),
            ("normal:512", "'normal' does not take 1 numbers"),
            ("normal:0,5", "the mean must be above 0"),
            ("normal:5,-1", "must not be below 0"),
            ("pareto:1,2", "'pareto' is not known"),
            ("zipf:-1,20", "the exponent must be above 0"),
            ("99999999", "is more than"),
        ] {
            let error = Lengths::parse(text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("lognormal:512,128"), "{error}");
        }
    }

    #[test]
    fn means_and_spreads_are_those_asked_for() {
        // Six standard errors: with these seeds forever the same draws.
        for (lengths, mean, sd) in [
            (Lengths::Fixed(5), 5.0, 0.0),
            (Lengths::Uniform(100, 200), 150.0, ((101.0f64 * 101.0 - 1.0) / 12.0).sqrt()),
            (Lengths::Normal(512.0, 64.0, 1, LONGEST), 512.0, 64.0),
            (Lengths::LogNormal(512.0, 128.0, 1, LONGEST), 512.0, 128.0),
        ] {
            let (found_mean, found_sd) = mean_sd(&draws(lengths, 20_000));
            assert!((found_mean - mean).abs() <= 6.0 * sd / 20_000f64.sqrt(), "{lengths}: mean {found_mean}");
            assert!((found_sd - sd).abs() <= 0.05 * sd, "{lengths}: sd {found_sd}");
        }
    }

    #[test]
    fn draws_keep_within_their_bounds() {
        for lengths in
            [Lengths::Normal(10.0, 50.0, 4, 20), Lengths::LogNormal(10.0, 50.0, 4, 20), Lengths::Uniform(4, 20)]
        {
            let values = draws(lengths, 5_000);
            assert!(values.iter().all(|v| (4.0..=20.0).contains(v)), "{lengths}");
            assert!(values.contains(&4.0) && values.contains(&20.0), "{lengths}: both ends are reached");
        }
        assert_eq!(Lengths::Fixed(0).draw(&mut Stream::new(1, 1)), 0);
    }

    #[test]
    fn zipf_gives_each_rank_its_share() {
        for exponent in [0.5, 1.0, 1.2, 3.0] {
            let n = 50_000;
            let values = draws(Lengths::Zipf(exponent, 10), n);
            let total: f64 = (1..=10).map(|k| f64::from(k).powf(-exponent)).sum();
            for k in 1..=10 {
                let p = f64::from(k).powf(-exponent) / total;
                let seen = values.iter().filter(|v| **v == f64::from(k)).count() as f64 / n as f64;
                let error = (p * (1.0 - p) / n as f64).sqrt();
                assert!((seen - p).abs() < 6.0 * error, "exponent {exponent}, rank {k}: {seen} for {p}");
            }
        }
        assert!(draws(Lengths::Zipf(1.1, 1), 100).iter().all(|v| *v == 1.0));
    }
}
