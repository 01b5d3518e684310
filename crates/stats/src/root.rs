//! A root of a falling function inside a bracket.
//!
//! In:  a function and two points that enclose its root.  Out: the root.
//! Not here: finding the bracket.

/// Root of `f` between `low` (where f >= 0) and `high` (where f <= 0), each with its value, to within `tolerance`.
///
/// The Illinois variant of regula falsi, with a bisection whenever three steps have not halved the bracket. It is never slower than twice
/// plain bisection, and usually takes ten evaluations.
pub(crate) fn falling(f: impl Fn(f64) -> f64, low: (f64, f64), high: (f64, f64), tolerance: f64) -> f64 {
    let ((mut a, mut fa), (mut b, mut fb)) = (low, high);
    let (mut steps, mut last_width, mut side) = (0, b - a, 0);
    for _ in 0..400 {
        if fa == 0.0 {
            return a;
        }
        if fb == 0.0 {
            return b;
        }
        if b - a <= tolerance {
            break;
        }
        steps += 1;
        let mut c = (a * fb - b * fa) / (fb - fa);
        if steps % 3 == 0 {
            if b - a > 0.5 * last_width {
                c = 0.5 * (a + b);
            }
            last_width = b - a;
        }
        if !(c > a && c < b) {
            c = 0.5 * (a + b);
        }
        // Out of room between neighbouring numbers.
        if c <= a || c >= b {
            break;
        }
        let fc = f(c);
        if fc > 0.0 {
            (a, fa) = (c, fc);
            if side == 1 {
                fb *= 0.5;
            }
            side = 1;
        } else {
            (b, fb) = (c, fc);
            if side == -1 {
                fa *= 0.5;
            }
            side = -1;
        }
    }
    if fa.abs() < fb.abs() { a } else { b }
}
