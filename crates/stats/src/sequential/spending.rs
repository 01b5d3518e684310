//! Spending functions: the error rate that may be spent by a share of the planned runs.
//!
//! In:  an error rate of one side and a share of the runs, 0 to 1.  Out: the error rate spent up to there.
//! Not here: the boundaries that follow (see [`super::boundary`]).
//!
//! Source: Lan and DeMets, *Biometrika* 70 (1983).

use serde::{Deserialize, Serialize};

use crate::dist;

/// A spending function. All of them rise from 0 to the whole error rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Spending {
    /// Close to O'Brien and Fleming: next to nothing early, almost all of it at the end.
    #[default]
    #[serde(rename = "obf")]
    ObrienFleming,
    /// Close to Pocock: about the same boundary at every look.
    #[serde(rename = "pocock")]
    Pocock,
    /// In proportion to the runs.
    #[serde(rename = "linear")]
    Linear,
}

impl Spending {
    /// All of them, by the words below.
    pub const ALL: [Self; 3] = [Self::ObrienFleming, Self::Pocock, Self::Linear];

    /// Name on the command line, in suites and in archives.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ObrienFleming => "obf",
            Self::Pocock => "pocock",
            Self::Linear => "linear",
        }
    }

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ObrienFleming => "O'Brien-Fleming type",
            Self::Pocock => "Pocock type",
            Self::Linear => "linear",
        }
    }

    /// The function of a word. None for any other word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|spending| spending.word() == word)
    }

    /// Error rate spent up to `information`, the share of the planned runs. `alpha` is the error rate of one side.
    ///
    /// Below 0 nothing is spent. From 1 on all of it is spent, and no rounding is left.
    pub fn spent(self, alpha: f64, information: f64) -> f64 {
        if information <= 0.0 {
            return 0.0;
        }
        if information >= 1.0 {
            return alpha;
        }
        let spent = match self {
            Self::ObrienFleming => 2.0 * dist::normal_sf(-dist::normal_quantile(0.5 * alpha) / information.sqrt()),
            Self::Pocock => alpha * ((std::f64::consts::E - 1.0) * information).ln_1p(),
            Self::Linear => alpha * information,
        };
        spent.min(alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_rises_from_nothing_to_all_of_it() {
        for spending in Spending::ALL {
            assert_eq!((spending.spent(0.025, 0.0), spending.spent(0.025, 1.0)), (0.0, 0.025));
            assert_eq!(spending.spent(0.025, 1.5), 0.025);
            let steps: Vec<f64> = (0..=20).map(|k| spending.spent(0.025, f64::from(k) / 20.0)).collect();
            assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{spending:?}: {steps:?}");
            assert_eq!(Spending::of(spending.word()), Some(spending));
        }
        assert_eq!(Spending::of("haybittle"), None);
    }

    #[test]
    fn half_way_the_functions_have_spent_what_the_formulas_say() {
        // By hand: 2 (1 - Phi(2.241403 / sqrt 0.5)) = 2 (1 - Phi(3.169822)). 0.025 ln(1.859141). 0.0125.
        let of = |spending: Spending| spending.spent(0.025, 0.5);
        assert!((of(Spending::ObrienFleming) - 0.001_525_32).abs() < 1e-7, "{}", of(Spending::ObrienFleming));
        assert!((of(Spending::Pocock) - 0.015_502_86).abs() < 1e-7, "{}", of(Spending::Pocock));
        assert_eq!(of(Spending::Linear), 0.0125);
    }
}
