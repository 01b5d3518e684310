//! The declared colours of the charts: contrast against the page and distance from each other, also for eyes that see fewer colours.
//!
//! Sources: WCAG 2.2, relative luminance and contrast ratio. Sharma, Wu and Dalal, "The CIEDE2000 color-difference formula" (2005),
//! with a row of its test data. Machado, Oliveira and Fernandes (2009), simulation matrices at full severity.
#![cfg(feature = "page")]

use std::collections::BTreeMap;

use sparkbench::chart::STYLE;

type Rgb = [f64; 3];

/// Custom properties of a block of the stylesheet, the block being the n-th that declares a background.
fn theme(nth: usize) -> BTreeMap<String, String> {
    let block = STYLE.split("--chart-bg:").nth(nth + 1).and_then(|rest| rest.split('}').next()).expect("a theme");
    let declarations = format!("--chart-bg:{block}");
    let pairs = declarations.split(';').filter_map(|line| line.trim().strip_prefix("--chart-")?.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// The light theme, and the dark one.
fn themes() -> [(&'static str, BTreeMap<String, Rgb>); 2] {
    let parse = |nth| theme(nth).into_iter().map(|(name, hex)| (name, rgb(&hex))).collect();
    [("light", parse(0)), ("dark", parse(1))]
}

fn rgb(hex: &str) -> Rgb {
    let digits = hex.strip_prefix('#').filter(|d| d.len() == 6).expect("six hexadecimal digits");
    [0, 2, 4].map(|i| f64::from(u8::from_str_radix(&digits[i..i + 2], 16).expect("hexadecimal")) / 255.0)
}

fn linear(colour: Rgb) -> Rgb {
    colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) })
}

fn luminance(colour: Rgb) -> f64 {
    let [r, g, b] = linear(colour);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// CIE L*a*b* under D65 of a linear colour.
fn lab([r, g, b]: Rgb) -> Rgb {
    let x = (0.412_456 * r + 0.357_576 * g + 0.180_438 * b) / 0.950_47;
    let y = 0.212_673 * r + 0.715_152 * g + 0.072_175 * b;
    let z = (0.019_334 * r + 0.119_192 * g + 0.950_304 * b) / 1.088_83;
    let f = |t: f64| if t > 216.0 / 24_389.0 { t.cbrt() } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 };
    [116.0 * f(y) - 16.0, 500.0 * (f(x) - f(y)), 200.0 * (f(y) - f(z))]
}

/// CIEDE2000 with all weights one.
fn difference([l1, a1, b1]: Rgb, [l2, a2, b2]: Rgb) -> f64 {
    let mean_c7 = ((a1.hypot(b1) + a2.hypot(b2)) / 2.0).powi(7);
    let g = 0.5 * (1.0 - (mean_c7 / (mean_c7 + 25f64.powi(7))).sqrt());
    let polar = |a: f64, b: f64| ((a * (1.0 + g)).hypot(b), b.atan2(a * (1.0 + g)).to_degrees().rem_euclid(360.0));
    let ((c1, h1), (c2, h2)) = (polar(a1, b1), polar(a2, b2));
    let (dl, dc) = (l2 - l1, c2 - c1);
    let turn = if c1 * c2 == 0.0 { 0.0 } else { (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0 };
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let (l, c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let h = if c1 * c2 == 0.0 {
        h1 + h2
    } else if (h1 - h2).abs() <= 180.0 {
        f64::midpoint(h1, h2)
    } else {
        (f64::midpoint(h1, h2) + 180.0).rem_euclid(360.0)
    };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0) - 0.2 * cos(4.0 * h - 63.0);
    let turn = 30.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let c7 = c.powi(7);
    let rc = 2.0 * (c7 / (c7 + 25f64.powi(7))).sqrt();
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let (sc, sh) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let rt = -(2.0 * turn).to_radians().sin() * rc;
    ((dl / sl).powi(2) + (dc / sc).powi(2) + (dh / sh).powi(2) + rt * (dc / sc) * (dh / sh)).sqrt()
}

/// Ways of seeing: a name and a matrix on linear colours.
const EYES: [(&str, [Rgb; 3]); 4] = [
    ("full colour", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    ),
    (
        "deuteranopia",
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    ),
    (
        "tritanopia",
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ),
];

fn seen(colour: Rgb, eye: &[Rgb; 3]) -> Rgb {
    let [r, g, b] = linear(colour);
    lab(eye.map(|row| (row[0] * r + row[1] * g + row[2] * b).clamp(0.0, 1.0)))
}

#[test]
fn the_formulas_give_their_known_answers() {
    assert!((contrast(rgb("#000000"), rgb("#ffffff")) - 21.0).abs() < 1e-9);
    assert!((contrast(rgb("#767676"), rgb("#ffffff")) - 4.54).abs() < 0.01);
    assert!((difference([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485]) - 2.0425).abs() < 1e-4);
    assert!((difference([50.0, 2.5, 0.0], [58.0, 24.0, 15.0]) - 19.4535).abs() < 1e-4);
}

#[test]
fn text_reads_on_the_page_and_on_bands() {
    for (theme, colours) in themes() {
        for ground in ["bg", "band"] {
            for text in ["ink", "muted"] {
                let ratio = contrast(colours[text], colours[ground]);
                assert!(ratio >= 4.5, "{theme}: {text} on {ground} is {ratio:.2}");
            }
        }
    }
}

#[test]
fn marks_and_axes_stand_out_from_the_page_and_from_bands() {
    for (theme, colours) in themes() {
        let ground = |name: &str| ["bg", "grid", "band"].contains(&name) || step_of(name).is_some();
        for (name, colour) in colours.iter().filter(|(name, _)| !ground(name)) {
            let ratio = contrast(*colour, colours["bg"]);
            assert!(ratio >= 3.0, "{theme}: {name} on the page is {ratio:.2}");
            let ratio = contrast(*colour, colours["band"]);
            assert!(name == "axis" || ratio >= 3.0, "{theme}: {name} on a band is {ratio:.2}");
        }
    }
}

/// Number of a step of the sequential colours (`q3`), or of the text on it (`t3`).
fn step_of(name: &str) -> Option<usize> {
    name.strip_prefix(['q', 't']).and_then(|digit| digit.parse().ok())
}

#[test]
fn numbers_printed_on_the_sequential_colours_read_on_every_step() {
    for (theme, colours) in themes() {
        let steps = colours.keys().filter(|name| name.starts_with('q')).count();
        assert_eq!(steps, 7, "{theme}");
        for step in 0..steps {
            let ratio = contrast(colours[&format!("t{step}")], colours[&format!("q{step}")]);
            assert!(ratio >= 4.5, "{theme}: text on step {step} is {ratio:.2}");
        }
    }
}

#[test]
fn sequential_colours_go_one_way_in_lightness_and_neighbours_differ_for_every_eye() {
    for (theme, colours) in themes() {
        for (eye, matrix) in &EYES {
            let steps: Vec<Rgb> = (0..7).map(|n| seen(colours[&format!("q{n}")], matrix)).collect();
            let away = |step: &Rgb| (step[0] - seen(colours["bg"], matrix)[0]).abs();
            for (n, pair) in steps.windows(2).enumerate() {
                assert!(away(&pair[1]) > away(&pair[0]), "{theme}, {eye}: step {} is no further from the page", n + 1);
                let distance = difference(pair[0], pair[1]);
                assert!(distance >= 6.0, "{theme}, {eye}: steps {n} and {} are {distance:.1} apart", n + 1);
            }
        }
    }
}

#[test]
fn the_first_series_differ_for_every_eye() {
    // Shape and dash tell all six apart. Colour alone must do so for the first four, which is as many as comparisons here have.
    for (theme, colours) in themes() {
        for (eye, matrix) in &EYES {
            for a in 0..4 {
                for b in 0..a {
                    let of = |n: usize| seen(colours[&format!("s{n}")], matrix);
                    let distance = difference(of(a), of(b));
                    assert!(distance >= 15.0, "{theme}, {eye}: s{a} and s{b} are {distance:.1} apart");
                }
            }
        }
    }
}

#[test]
fn worse_and_better_differ_for_every_eye() {
    for (theme, colours) in themes() {
        for (eye, matrix) in &EYES {
            let distance = difference(seen(colours["worse"], matrix), seen(colours["better"], matrix));
            assert!(distance >= 15.0, "{theme}, {eye}: {distance:.1}");
        }
    }
}

#[test]
fn a_chosen_theme_and_print_repeat_the_declared_ones() {
    assert_eq!(theme(1), theme(2), "dark by preference and dark by choice");
    assert_eq!(theme(0), theme(3), "light and print");
}
