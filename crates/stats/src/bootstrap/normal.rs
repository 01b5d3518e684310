//! The standard normal distribution, with the same bits on every machine.
//!
//! In:  a standard score or a probability.
//! Out: the probability below it, or the score.
//! Not here: every other distribution. Those come from `statrs`, whose results may differ in the last bit with the C library. The levels of
//! a BCa interval and the draws by rank may not.
//!
//! Source: Wichura, Applied Statistics 37 (1988), AS 241 (PPND16), relative error about 1e-16.

#![allow(clippy::excessive_precision, reason = "coefficients stand as they were published")]

use libm::{erfc, log};

/// The probability below `z`.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The score below which lies probability `p`. -inf at 0, inf at 1.
#[inline]
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let tail = (-log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let z = if tail <= 5.0 { ratio(tail - 1.6, &MIDDLE) } else { ratio(tail - 5.0, &FAR) };
    if q < 0.0 { -z } else { z }
}

/// A polynomial over a polynomial, both of degree 7, coefficients from the constant up.
#[inline(always)]
fn ratio(r: f64, [over, under]: &[[f64; 8]; 2]) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &term| sum * r + term);
    horner(over) / horner(under)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_608,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ],
    [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_61,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ],
];
const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        0.241_780_725_177_450_611_77,
        0.022_723_844_989_269_184_583_6,
        7.745_450_142_783_414_076_4e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        0.689_767_334_985_100_004_55,
        0.148_103_976_427_480_074_59,
        0.015_198_666_563_616_457_193_4,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
];
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        0.296_560_571_828_504_891_23,
        0.026_532_189_526_576_123_093,
        0.001_242_660_947_388_078_438_6,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        0.599_832_206_555_887_937_69,
        0.136_929_880_922_735_805_31,
        0.014_875_361_290_850_615_024_3,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_scores_come_back() {
        // Table values of the normal distribution to 15 digits or more.
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.025, -1.959_963_984_540_054),
            (0.995, 2.575_829_303_548_900_4),
            (1e-10, -6.361_340_902_404_056),
            (1e-20, -9.262_340_089_798_408),
        ] {
            assert!((normal_quantile(p) - z).abs() <= 4e-15 * z.abs().max(1.0), "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn the_cdf_undoes_the_quantile() {
        for i in 1..1_000 {
            let p = f64::from(i) / 1_000.0;
            assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-15, "{p}");
        }
    }

    #[test]
    fn certainty_lies_infinitely_far_out() {
        assert_eq!([0.0, 1.0].map(normal_quantile), [f64::NEG_INFINITY, f64::INFINITY]);
        assert_eq!([f64::NEG_INFINITY, f64::INFINITY].map(normal_cdf), [0.0, 1.0]);
    }
}
