//! Every statistic against SciPy and statsmodels, on the data of `fixtures/stats/reference.json` (made by `reference.py` beside it).

use std::collections::BTreeMap;

use serde_json::Value;
use sparkbench::stats::{self, Sample, dist, fieller, noncentral_t, order_statistic, power};

const CONFIDENCE: f64 = 0.95;
/// Closed forms must agree to this, relatively.
const CLOSED: f64 = 1e-9;
/// p-values and power.
const PROBABILITY: f64 = 1e-6;
/// Limits from the noncentral t.
const NONCENTRAL: f64 = 1e-5;

struct Reference {
    samples: BTreeMap<String, Vec<f64>>,
    all: Value,
}

fn reference() -> Reference {
    let text = include_str!("../fixtures/stats/reference.json");
    let all: Value = serde_json::from_str(text).expect("the fixture is JSON");
    let samples = serde_json::from_value(all["samples"].clone()).expect("samples are lists of numbers");
    Reference { samples, all }
}

/// A number of the fixture. `null` is absent, `"inf"` infinite.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.parse().expect("inf or -inf")),
        other => Some(other.as_f64().expect("a number")),
    }
}

#[track_caller]
fn close(what: &str, ours: Option<f64>, theirs: &Value, tolerance: f64) {
    close_at(what, ours, theirs, tolerance, 0.0);
}

/// Relative to the larger of the value and `scale`, the size of what it was subtracted from.
#[track_caller]
fn close_at(what: &str, ours: Option<f64>, theirs: &Value, tolerance: f64, scale: f64) {
    match (ours, number(theirs)) {
        (None, None) => {}
        (Some(ours), Some(theirs)) if ours == theirs => {}
        (Some(ours), Some(theirs)) => {
            // Below this SciPy has already rounded to 0.
            let allowed = tolerance * theirs.abs().max(scale) + 1e-300;
            assert!((ours - theirs).abs() <= allowed, "{what}: {ours:e}, reference {theirs:e}");
        }
        (ours, theirs) => panic!("{what}: {ours:?}, reference {theirs:?}"),
    }
}

#[test]
fn one_sample_agrees_with_scipy() {
    let reference = reference();
    for (name, values) in &reference.samples {
        let theirs = &reference.all["one"][name];
        let sample = Sample::new(values.iter().copied());
        let ours = serde_json::to_value(stats::describe(&sample, CONFIDENCE)).unwrap();
        let size = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for (key, value) in theirs["descriptive"].as_object().unwrap() {
            // Differences of huge values keep the digits of the values, not of the difference.
            let scale = if matches!(key.as_str(), "iqr" | "mad" | "mean") { size * 1e-6 } else { 0.0 };
            close_at(&format!("{name} {key}"), number(&ours[key]), value, CLOSED, scale);
        }
        let ours = stats::shapiro(values);
        close(&format!("{name} W"), ours.map(|s| s.w), &theirs["shapiro"]["w"], 1e-6);
        close(&format!("{name} Shapiro p"), ours.map(|s| s.p), &theirs["shapiro"]["p"], 1e-3);
        let ordered = stats::sorted(values);
        for (quantile, p) in [("median", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            let ours = order_statistic::quantile_interval(&ordered, p, CONFIDENCE);
            let theirs = &theirs["order"][quantile];
            assert_eq!(
                (Some(ours.l as u64), Some(ours.u as u64)),
                (theirs["l"].as_u64(), theirs["u"].as_u64()),
                "{name}"
            );
            close(&format!("{name} {quantile} lo"), ours.lo, &theirs["lo"], 0.0);
            close(&format!("{name} {quantile} hi"), ours.hi, &theirs["hi"], 0.0);
            close(&format!("{name} {quantile} coverage"), Some(ours.coverage), &theirs["coverage"], CLOSED);
        }
    }
}

#[test]
fn outlier_rules_agree_with_numpy() {
    let reference = reference();
    for (name, values) in &reference.samples {
        let theirs = &reference.all["one"][name]["outliers"];
        let ours = stats::outliers(values);
        assert_eq!(ours.is_none(), theirs.is_null(), "{name}");
        let Some(ours) = ours else { continue };
        for (rule, flagged) in
            [("three_sigma", &ours.three_sigma), ("modified_z", &ours.modified_z), ("tukey", &ours.tukey)]
        {
            assert_eq!(serde_json::to_value(flagged).unwrap(), theirs[rule], "{name} {rule}");
        }
        close(&format!("{name} z"), ours.max_abs_z, &theirs["max_abs_z"], CLOSED);
        close(&format!("{name} modified z"), ours.max_abs_modified_z, &theirs["max_abs_modified_z"], CLOSED);
        close(&format!("{name} bound"), Some(ours.z_bound), &theirs["z_bound"], CLOSED);
    }
}

#[test]
fn drift_agrees_with_scipy() {
    let reference = reference();
    for (name, values) in &reference.samples {
        let theirs = &reference.all["one"][name]["drift"];
        let ours = stats::drift(values, CONFIDENCE);
        assert_eq!(ours.is_none(), theirs.is_null(), "{name}");
        let Some(ours) = ours else { continue };
        assert_eq!(Some(ours.s), theirs["s"].as_i64(), "{name}");
        assert_eq!(Some(ours.method.word()), theirs["method"].as_str(), "{name}");
        for (what, ours, tolerance) in [
            ("z", ours.z, CLOSED),
            ("p", ours.p, CLOSED),
            ("tau_b", ours.tau_b, CLOSED),
            ("sen_slope", ours.sen_slope, CLOSED),
            ("drift_pct", ours.drift_pct.unwrap(), CLOSED),
            ("n_eff", ours.n_eff, CLOSED),
        ] {
            close_at(&format!("{name} {what}"), Some(ours), &theirs[what], tolerance, 1e-12);
        }
        close_at(&format!("{name} lag1"), Some(ours.lag1), &theirs["lag1"], CLOSED, 0.1);
    }
}

#[test]
fn two_samples_agree_with_scipy_and_statsmodels() {
    let reference = reference();
    for theirs in reference.all["two"].as_array().unwrap() {
        let (name_a, name_b) = (theirs["a"].as_str().unwrap(), theirs["b"].as_str().unwrap());
        let (a, b) = (&reference.samples[name_a][..], &reference.samples[name_b][..]);
        let name = format!("{name_a}, {name_b}:");
        for (test, ours) in [("student", stats::student(a, b, CONFIDENCE)), ("welch", stats::welch(a, b, CONFIDENCE))] {
            let (ours, theirs) = (ours.unwrap(), &theirs[test]);
            for (key, value) in
                [("t", ours.t), ("df", ours.df), ("p", ours.p), ("diff_lo", ours.diff_lo), ("diff_hi", ours.diff_hi)]
            {
                close_at(&format!("{name} {test} {key}"), Some(value), &theirs[key], CLOSED, 1e-12);
            }
        }
        let u = stats::mann_whitney(a, b).unwrap();
        close(&format!("{name} U"), Some(u.u), &theirs["mann_whitney"]["u"], 0.0);
        close(&format!("{name} U p"), Some(u.p), &theirs["mann_whitney"]["p"], CLOSED);
        assert_eq!(Some(u.method.word()), theirs["mann_whitney"]["method"].as_str(), "{name}");
        let bf = stats::brown_forsythe(a, b);
        close(&format!("{name} F"), bf.map(|t| t.f), &theirs["brown_forsythe"]["f"], CLOSED);
        close(&format!("{name} F p"), bf.map(|t| t.p), &theirs["brown_forsythe"]["p"], CLOSED);
        let effect = &theirs["effect"];
        let g = stats::hedges_g(a, b, CONFIDENCE).unwrap();
        close(&format!("{name} d"), stats::cohen_d(a, b), &effect["cohen_d"], CLOSED);
        close(&format!("{name} g"), Some(g.g), &effect["g"], CLOSED);
        close(&format!("{name} g lo"), Some(g.lo), &effect["g_lo"], NONCENTRAL * 1e-2);
        close(&format!("{name} g hi"), Some(g.hi), &effect["g_hi"], NONCENTRAL * 1e-2);
        close_at(&format!("{name} delta"), stats::cliff_delta(a, b), &effect["cliff_delta"], CLOSED, 1.0);
        for row in theirs["tost"].as_array().unwrap() {
            let margin = row[0].as_f64().unwrap();
            let tost = stats::tost(a, b, margin, CONFIDENCE).unwrap();
            close(&format!("{name} TOST {margin}"), Some(tost.p), &row[1], CLOSED);
            assert_eq!(tost.equivalent, row[1].as_f64().unwrap() < 0.05, "{name}");
        }
        let smallest = stats::smallest_margin_pct(a, b, CONFIDENCE);
        close(&format!("{name} smallest margin"), smallest, &theirs["min_margin_pct"], CLOSED);
        let strength = power::power_at_pct(a, b, 10.0, CONFIDENCE);
        close(&format!("{name} power"), strength, &theirs["power_at_10pct"], PROBABILITY);
        let mde = power::mde_d(a.len(), b.len(), power::TARGET_POWER, CONFIDENCE);
        close(&format!("{name} MDE d"), mde, &theirs["mde_d"], 1e-8);
        let mde = power::mde_pct(a, b, power::TARGET_POWER, CONFIDENCE);
        close(&format!("{name} MDE %"), mde, &theirs["mde_pct"], 1e-8);
        if let Some(n) = theirs.get("n_per_arm_for_10pct") {
            let ours = power::n_per_arm_for_pct(a, b, 10.0, power::TARGET_POWER, CONFIDENCE);
            assert_eq!(ours, n.as_u64(), "{name} runs needed");
        }
        for (key, num, den) in [("fieller_b_over_a", b, a), ("fieller_a_over_b", a, b)] {
            if let Some(limits) = theirs.get(key) {
                let ours = fieller::ratio_interval(num, den, CONFIDENCE);
                close(&format!("{name} {key} lo"), ours.map(|i| i.0), &limits[0], CLOSED);
                close(&format!("{name} {key} hi"), ours.map(|i| i.1), &limits[1], CLOSED);
            }
        }
        if let Some(limits) = theirs.get("log_ratio") {
            let (low, high) = stats::log_ratio_overhead_pct(a, b, stats::Direction::LowerIsBetter, CONFIDENCE).unwrap();
            close(&format!("{name} log ratio lo"), Some(low), &limits[0], CLOSED);
            close(&format!("{name} log ratio hi"), Some(high), &limits[1], CLOSED);
        }
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        let t = stats::paired(&differences, CONFIDENCE).unwrap();
        close(&format!("{name} paired t"), Some(t.t), &theirs["paired"]["t"], CLOSED);
        close(&format!("{name} paired p"), Some(t.p), &theirs["paired"]["p"], CLOSED);
        let w = stats::wilcoxon(&differences).unwrap();
        close(&format!("{name} W+"), Some(w.w_plus), &theirs["wilcoxon"]["w_plus"], 0.0);
        close(&format!("{name} Wilcoxon p"), Some(w.p), &theirs["wilcoxon"]["p"], CLOSED);
        assert_eq!(Some(w.n_used as u64), theirs["wilcoxon"]["n_used"].as_u64(), "{name}");
        assert_eq!(Some(w.method.word()), theirs["wilcoxon"]["method"].as_str(), "{name}");
    }
}

#[test]
fn distributions_agree_with_scipy() {
    let reference = reference();
    let tables = &reference.all["distributions"];
    let f = |value: &Value| value.as_f64().unwrap();
    for row in tables["t"].as_array().unwrap() {
        let (t, df) = (f(&row[0]), f(&row[1]));
        close(&format!("t tail at {t}, {df} df"), Some(dist::t_two_sided(t, df)), &row[2], 1e-10);
        let tail = 0.5 * 10f64.powf(-t).min(1.0);
        let quantile = -dist::t_quantile(tail, df);
        // SciPy is asked for 1 - tail, which itself has only so many digits.
        close_at(&format!("t quantile at {tail}, {df} df"), Some(quantile), &row[3], 1e-9 + 1e-15 / tail, 0.1);
    }
    for row in tables["nct"].as_array().unwrap() {
        let (t, df, nc) = (f(&row[0]), f(&row[1]), f(&row[2]));
        let p = noncentral_t::cdf(t, df, nc);
        close(&format!("noncentral t at {t}, {df} df, {nc}"), Some(p), &row[3], 1e-9);
        assert!((p + noncentral_t::sf(t, df, nc) - 1.0).abs() < 1e-13);
    }
    for row in tables["binomial"].as_array().unwrap() {
        let (n, k) = (row[0].as_u64().unwrap() as usize, row[2].as_u64().unwrap() as usize);
        let ours = dist::Binomial::new(n, f(&row[1])).cdf(k);
        close(&format!("binomial at {k} of {n}"), Some(ours), &row[3], 1e-9);
    }
}

#[test]
fn the_number_of_stretches_has_the_probability_that_counting_gives() {
    for row in reference().all["runs"].as_array().unwrap() {
        let [m, n, runs] = [0, 1, 2].map(|i| row[i].as_u64().unwrap() as usize);
        let labels = with_stretches(m, n, runs);
        let order = stats::order(&labels).unwrap();
        assert_eq!(order.runs, runs);
        close(&format!("{runs} stretches of {m} + {n}"), order.p_too_few, &row[3], 1e-12);
    }
}

/// Some order of m zeros and n ones with exactly so many stretches.
fn with_stretches(m: usize, n: usize, stretches: usize) -> Vec<usize> {
    let first = usize::from(m < n);
    let mut left = [m, n];
    let mut labels = Vec::new();
    for stretch in 0..stretches {
        let arm = (stretch + first) % 2;
        let to_come = (stretch + 1..stretches).filter(|s| (s + first) % 2 == arm).count();
        let take = if to_come == 0 { left[arm] } else { 1 };
        labels.extend(std::iter::repeat_n(arm, take));
        left[arm] -= take;
    }
    labels
}

#[test]
fn adjusted_p_values_agree_with_statsmodels() {
    let reference = reference();
    let table = &reference.all["p_values"];
    let p: Vec<Option<f64>> = serde_json::from_value(table["p"].clone()).unwrap();
    for (method, ours) in
        [("bonferroni", stats::bonferroni(&p)), ("holm", stats::holm(&p)), ("bh", stats::benjamini_hochberg(&p))]
    {
        for (i, (ours, theirs)) in ours.into_iter().zip(table[method].as_array().unwrap()).enumerate() {
            close(&format!("{method} {i}"), ours, theirs, 1e-12);
        }
    }
}

#[test]
fn limits_of_agreement_agree_with_scipy_and_a_mixed_model() {
    let all: Value =
        serde_json::from_str(include_str!("../fixtures/stats/agreement.json")).expect("the fixture is JSON");
    for (name, theirs) in all["sets"].as_object().expect("sets") {
        let groups: Vec<Vec<f64>> = serde_json::from_value(theirs["groups"].clone()).expect("lists of numbers");
        let ours = stats::agreement(&groups, CONFIDENCE).expect("two rounds and more");
        close(&format!("{name} sd"), Some(ours.sd), &theirs["sd"], CLOSED);
        if let Some(mixed) = theirs.get("sd_by_mixed_model") {
            close(&format!("{name} sd by a mixed model"), Some(ours.sd), mixed, 1e-4);
        }
        for (what, ours) in [("bias", ours.bias), ("lower", ours.lower), ("upper", ours.upper)] {
            for (place, value) in [ours.value, ours.lo, ours.hi].into_iter().enumerate() {
                close_at(
                    &format!("{name} {what} {place}"),
                    Some(value),
                    &theirs[what][place],
                    CLOSED,
                    theirs["sd"].as_f64().unwrap(),
                );
            }
        }
    }
    for row in all["chi_squared"].as_array().expect("rows") {
        let (p, df) = (row[0].as_f64().unwrap(), row[1].as_f64().unwrap());
        close(&format!("chi-squared {p} {df}"), Some(dist::chi_squared_quantile(p, df)), &row[2], CLOSED);
    }
}
