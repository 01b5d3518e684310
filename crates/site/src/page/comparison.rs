//! One comparison as a row of numbers and as the full account behind it.
//!
//! In:  a comparison.  Out: [`RowView`] for the table, [`Account`] with every test.
//! Not here: the verdict, which the comparison holds.

use super::labels::{self, Badge};
use super::number::{self, ABSENT, decimals, fixed, p, plain, signed};
use sparkbench_model::within;
use sparkbench_verdict::method::Design;
use sparkbench_verdict::number::decimals as sentence_decimals;
use sparkbench_verdict::report::{Comparison, Interval, TReport};
use sparkbench_verdict::stability;

/// One row of numbers.
pub(super) struct RowView {
    /// On the campaign's page.
    pub anchor: String,
    /// Whether an account of it has the anchor. Otherwise the row has it.
    pub accounted: bool,
    /// Metric for people.
    pub label: String,
    pub unit: &'static str,
    /// Metric this one is a function of.
    pub derived: Option<String>,
    /// Mean of the baseline.
    pub baseline: String,
    /// Runs of the baseline.
    pub n_baseline: usize,
    /// Mean of the candidate.
    pub candidate: String,
    /// Runs of the candidate.
    pub n_candidate: usize,
    /// Candidate - baseline.
    pub difference: String,
    /// Its interval.
    pub difference_ci: String,
    /// How much more or less of the metric there is, per cent.
    pub change: String,
    /// Its interval.
    pub change_ci: String,
    /// Candidate over baseline.
    pub ratio: String,
    /// Holm-adjusted p.
    pub holm: String,
    /// Smallest margin that would have passed, per cent.
    pub smallest: String,
    /// Minimum detectable effect, per cent.
    pub mde: String,
    /// Runs an environment that would show a difference of 10 %.
    pub runs_needed: String,
    /// Runs an environment that would decide, where nothing is decided.
    pub to_decide: Option<String>,
    /// Other choices that agree: `8 of 9`.
    pub stable: Option<String>,
    /// Verdict.
    pub badge: Badge,
}

/// Everything about one comparison.
pub(super) struct Account {
    /// On the campaign's page.
    pub anchor: String,
    /// Metric for people.
    pub label: String,
    /// Verdict.
    pub badge: Badge,
    /// The line of the verdict, as people say it.
    pub said: String,
    /// The statistics of the verdict, for the brackets behind its line.
    pub statement: String,
    /// Why the arms cannot be compared, where they cannot.
    pub because: Vec<String>,
    /// Caveats of the verdict.
    pub caveats: Vec<String>,
    /// Reason codes.
    pub reasons: Vec<String>,
    /// Which family the p-values are adjusted in.
    pub family: String,
    /// Rows under headings.
    pub parts: Vec<RowGroup>,
    /// The verdict under other choices.
    pub stability: Vec<(String, Badge)>,
    /// `stable in 6 of 8`.
    pub stable: Option<String>,
}

/// Rows under one heading.
pub(super) struct RowGroup {
    pub heading: &'static str,
    /// Quantity, value, remark.
    pub rows: Vec<(String, String, String)>,
}

impl RowView {
    /// From a comparison.
    pub(super) fn new(anchor: &str, c: &Comparison) -> Self {
        let absolute = match c.difference_ci {
            Some(ci) if half(ci) == 0.0 => c.mean_baseline.map_or(2, number::decimals_of_constant),
            Some(ci) => decimals(half(ci)),
            None => scale(c.difference),
        };
        let percent = percent_decimals(c);
        let means = |mean: Option<f64>| {
            mean.map_or_else(
                || ABSENT.to_owned(),
                |m| if c.difference_ci.is_some() { fixed(m, absolute) } else { plain(m) },
            )
        };
        Self {
            anchor: anchor.to_owned(),
            accounted: true,
            label: c.label.clone(),
            unit: c.unit,
            derived: c.derived_from.as_deref().map(|name| within(&labels::metric(name))),
            baseline: means(c.mean_baseline),
            n_baseline: c.n_baseline,
            candidate: means(c.mean_candidate),
            n_candidate: c.n_candidate,
            difference: c.difference.map_or_else(|| ABSENT.to_owned(), |d| signed(d, absolute)),
            difference_ci: c.difference_ci.map_or_else(String::new, |ci| number::ends(ci, absolute)),
            change: c.change_pct.map_or_else(|| ABSENT.to_owned(), |x| format!("{} %", signed(x, percent))),
            change_ci: c.change_ci.map_or_else(String::new, |ci| number::ends(ci, percent)),
            ratio: c.ratio.map_or_else(|| ABSENT.to_owned(), |ratio| fixed(ratio, 2)),
            holm: number::p_or(c.p_adjusted.holm),
            smallest: c.tost.as_ref().and_then(|t| t.smallest_margin_pct).map_or_else(|| ABSENT.to_owned(), percent_of),
            mde: c.mde_pct.map_or_else(|| ABSENT.to_owned(), percent_of),
            runs_needed: c.runs_needed.map_or_else(|| ABSENT.to_owned(), number::count),
            to_decide: c.promise.map(|promise| promise.blocks).map(number::count),
            stable: super::stable::short(c),
            badge: labels::judged(c),
        }
    }
}

impl Account {
    /// From a comparison.
    pub(super) fn new(anchor: &str, c: &Comparison) -> Self {
        let parts = [
            RowGroup { heading: "Over looks", rows: looks(c) },
            RowGroup { heading: "Estimate", rows: estimate(c) },
            RowGroup { heading: "Tests", rows: tests(c) },
            RowGroup { heading: "Size of the effect", rows: effect(c) },
            RowGroup { heading: "Sameness and power", rows: sameness(c) },
            RowGroup { heading: "Without the flagged runs", rows: without(c) },
        ];
        // The verdict itself is no other choice.
        let others = || c.stability.iter().filter(|s| s.choice != stability::AS_JUDGED);
        let choices: Vec<_> = others().map(|s| (s.choice.clone(), labels::verdict(s.kind))).collect();
        let same = others().filter(|s| s.kind == c.verdict.kind).count();
        Self {
            anchor: anchor.to_owned(),
            label: c.label.clone(),
            badge: labels::judged(c),
            said: in_short(c),
            statement: if c.verdict.because.is_empty() { labels::typeset(&statement(c)) } else { String::new() },
            because: c.verdict.because.iter().map(|reason| labels::typeset(reason)).collect(),
            caveats: c.verdict.caveats.iter().map(|caveat| labels::typeset(caveat)).collect(),
            reasons: c.verdict.reasons.clone(),
            family: family(c),
            parts: parts.into_iter().filter(|part| !part.rows.is_empty()).collect(),
            stable: (!choices.is_empty()).then(|| format!("the same verdict in {same} of {}", choices.len())),
            stability: choices,
        }
    }
}

/// One comparison in short, for metrics that the campaign is not about.
pub(super) struct Brief {
    /// On the campaign's page.
    pub anchor: String,
    /// Metric for people.
    pub label: String,
    /// Verdict.
    pub badge: Badge,
    /// The line of the verdict, as people say it.
    pub text: String,
    /// The tests and the stability in one line.
    pub line: String,
}

impl Brief {
    /// From a comparison.
    pub(super) fn new(anchor: &str, c: &Comparison) -> Self {
        let mut parts = Vec::new();
        let tests = [
            (c.test, c.p),
            ("Welch", c.welch_t.as_ref().map(|t| t.p)),
            ("Mann-Whitney", c.mann_whitney.as_ref().map(|u| u.p)),
            ("permutation", c.permutation.as_ref().map(|t| t.p)),
        ];
        let tests: Vec<String> =
            tests.iter().filter_map(|(name, p)| Some(format!("{name} p {}", p_sign((*p)?)))).collect();
        if !tests.is_empty() {
            parts.push(tests.join(", "));
        }
        if let Some(g) = &c.hedges_g {
            parts.push(format!("Hedges g {}", fixed(g.value, 2)));
        }
        if !c.stability.is_empty() {
            let same = c.stability.iter().filter(|s| s.kind == c.verdict.kind).count();
            parts.push(format!("the same verdict under {same} of {} other choices", c.stability.len()));
        }
        Self {
            anchor: anchor.to_owned(),
            label: c.label.clone(),
            badge: labels::judged(c),
            text: in_short(c),
            line: parts.join(" · "),
        }
    }
}

/// The sentence of a verdict without its caveats, which are in a list of their own, and without its full stop.
fn statement(c: &Comparison) -> String {
    let caveats: String = c.verdict.caveats.iter().map(|caveat| format!("; {caveat}")).collect();
    let text = c.verdict.text.trim_end_matches('.');
    text.strip_suffix(caveats.as_str()).unwrap_or(text).replace("; ", ", ")
}

/// The line of a verdict as a page prints it, with its full stop.
pub(super) fn in_short(c: &Comparison) -> String {
    labels::typeset(&format!("{}.", c.verdict.said))
}

type Row = (String, String, String);

fn row(what: &str, value: impl Into<String>, remark: impl Into<String>) -> Row {
    (what.into(), value.into(), remark.into())
}

fn estimate(c: &Comparison) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(ci) = c.difference_ci {
        rows.push(row(
            "Difference of means",
            format!(
                "{} {} {}",
                signed(c.difference.unwrap_or(f64::NAN), decimals(half(ci))),
                number::interval(ci),
                c.unit
            ),
            "Welch interval",
        ));
    }
    let percent = percent_decimals(c);
    let within = |overhead: Interval| c.change_within(overhead).map(percent_interval);
    if let (Some(x), Some(ci), Some(named)) = (c.change_pct, c.change_ci, &c.overhead_ci) {
        let text = format!("{} % {}", signed(x, percent), number::ends(ci, percent));
        rows.push(row("Change", text, format!("{}, the interval of the verdict", labels::method(&named.method))));
    }
    if let Some(text) = c.overhead_ci90.and_then(within) {
        rows.push(row("Change, 90 % interval", text, "the one a reading of sameness uses"));
    }
    if let Some(text) = c.fieller_overhead_pct.and_then(within) {
        rows.push(row("Change, Fieller", text, ""));
    }
    if let Some(ci) = &c.bootstrap_overhead_pct
        && let Some(text) = within(Interval::new(ci.low, ci.high))
    {
        let remark: Vec<String> = std::iter::once(labels::method(&ci.method))
            .chain(c.bootstrap_flags.iter().map(|f| labels::flag(f)))
            .collect();
        rows.push(row("Change, bootstrap", text, remark.join(" · ")));
    }
    if let Some(text) = c.log_ratio_overhead_pct.and_then(within) {
        rows.push(row("Change, on logs", text, "Welch on logarithms: ratio of geometric means"));
    }
    if let Some(loss) = c.loss_pct {
        rows.push(row(
            "Loss by the study's formula",
            format!("{} %", signed(loss, percent)),
            "100 (baseline − candidate) / baseline",
        ));
    }
    rows.push(row("Design", c.design.word().replace('-', " "), c.test));
    rows
}

/// Result of a campaign with interim looks for the comparison. `None` for a fixed number of repeats.
fn looks(c: &Comparison) -> Vec<Row> {
    let Some(report) = &c.sequential else { return Vec::new() };
    let within = |i: Interval| c.change_within(i).map(percent_interval);
    let level = plain(report.confidence_pct());
    let mut rows = vec![row(
        &format!("Look {} of {}", report.look, report.design.looks.len()),
        labels::typeset(report.decision.words()),
        format!("{} of {} blocks", report.n, report.blocks()),
    )];
    let repeated = report.repeated_interval_pct.and_then(within).unwrap_or_else(|| "no bound".to_owned());
    rows.push(row(&format!("Repeated {level} % interval"), repeated, "may be read at every look"));
    if let Some(p) = report.stagewise_p {
        rows.push(row("p by stagewise ordering", format!("p {}", p_sign(p)), "counts the looks before"));
    }
    if let Some(change) = report.median_unbiased_pct.and_then(|x| c.change_of(x)) {
        let remark =
            "as often too large as too small, while the plain estimate is too large where a difference stopped it";
        rows.push(row("Median-unbiased change", format!("{} %", signed(change, scale(Some(change)))), remark));
    }
    for look in &report.looks {
        let boundary =
            look.z_boundary.map_or_else(|| "no boundary yet".to_owned(), |z| format!("boundary {}", short(z)));
        let score = look.z.map_or_else(String::new, |z| format!("z {}, ", short(z)));
        let value = look.repeated_interval_pct.and_then(within).unwrap_or_else(|| "no bound".to_owned());
        let remark = format!("{score}{boundary} · {}", look.decision.words());
        rows.push(row(&format!("Look {}, {} blocks", look.look, look.n), value, remark));
    }
    rows
}

fn t_row(what: &str, t: &TReport, remark: &str) -> Row {
    row(what, format!("p {}", p_sign(t.p)), join(&format!("t = {}, df = {}", short(t.t), short(t.df)), remark))
}

fn tests(c: &Comparison) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(t) = &c.welch_t {
        rows.push(t_row("Welch t", t, "decides, after Holm"));
    }
    let adjusted = &c.p_adjusted;
    if let Some(holm) = adjusted.holm {
        let remark = format!(
            "Bonferroni {}, Benjamini-Hochberg {}",
            number::p_or(adjusted.bonferroni),
            number::p_or(adjusted.benjamini_hochberg)
        );
        rows.push(row("Holm-adjusted", format!("p {}", p_sign(holm)), remark));
    }
    if let Some(t) = &c.student_t {
        rows.push(t_row("Student t", t, "pooled variance, as the study used it"));
    }
    if let Some(u) = &c.mann_whitney {
        let remark = format!("U = {}, {} · stochastic order, not means", plain(u.u), labels::method(&u.method));
        rows.push(row("Mann-Whitney", format!("p {}", p_sign(u.p)), remark));
    }
    if let Some(perm) = &c.permutation {
        let how = if perm.exact { "every split" } else { "random splits" };
        rows.push(row(
            "Permutation of means",
            format!("p {}", p_sign(perm.p)),
            format!("{how}, {}", number::count(perm.count)),
        ));
    }
    if let Some(t) = &c.paired_t {
        rows.push(t_row("Paired t", t, "blocks as pairs"));
    }
    if let Some(w) = &c.wilcoxon {
        let remark = format!("W = {}, {}", plain(w.w), labels::method(&w.method));
        rows.push(row("Wilcoxon signed rank", format!("p {}", p_sign(w.p)), remark));
    }
    if let Some(f) = &c.brown_forsythe {
        rows.push(row(
            "Brown-Forsythe",
            format!("p {}", p_sign(f.p)),
            format!("F = {} · equal spread of both arms", short(f.f)),
        ));
    }
    rows
}

fn effect(c: &Comparison) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(d) = c.cohens_d {
        rows.push(row("Cohen d", fixed(d, 2), "pooled standard deviation"));
    }
    if let Some(g) = &c.hedges_g {
        let ends = match (g.low, g.high) {
            (Some(low), Some(high)) => format!(" [{}, {}]", fixed(low, 2), fixed(high, 2)),
            _ => String::new(),
        };
        rows.push(row(
            "Hedges g",
            format!("{}{ends}", fixed(g.value, 2)),
            "in standard deviations of a run, whatever its relevance",
        ));
    }
    if let Some(delta) = c.cliffs_delta {
        rows.push(row("Cliff delta", fixed(delta, 2), "−1 to +1"));
    }
    rows
}

fn sameness(c: &Comparison) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(t) = &c.tost {
        let said = if t.equivalent { "passes" } else { "does not pass" };
        rows.push(row(
            &format!("Two one-sided tests at ±{} %", plain(t.margin_pct)),
            format!("p {}", p_sign(t.p)),
            format!("{said}, alone"),
        ));
        if let Some(p) = t.p_holm {
            rows.push(row("The same in its family", format!("Holm p {}", p_sign(p)), "decides"));
        }
        if let Some(margin) = t.smallest_margin_pct {
            rows.push(row("Smallest margin that would pass", percent_of(margin), "the data support sameness to this"));
        }
    }
    if let Some(power) = c.power_at_10pct {
        rows.push(row("Power to see 10 %", fixed(power, 3), ""));
    }
    if let Some(mde) = c.mde_pct {
        rows.push(row("Minimum detectable effect", percent_of(mde), "power 0.8"));
    }
    if let Some(n) = c.runs_needed {
        rows.push(row("Runs to see 10 %", number::count(n), "per environment, at power 0.8 and the spread seen here"));
    }
    if let Some(promise) = c.promise {
        let what = if c.design == Design::InBlocks { "More blocks that decide" } else { "More runs that decide" };
        let probability = format!("with probability {}, taking turns", fixed(promise.probability, 2));
        rows.push(row(what, number::count(promise.blocks), probability));
    }
    rows
}

fn without(c: &Comparison) -> Vec<Row> {
    let Some(w) = &c.without_flagged else { return Vec::new() };
    let change = w.overhead_pct.and_then(|x| c.change_of(x));
    let ends = w.low.zip(w.high).and_then(|(low, high)| c.change_within(Interval::new(low, high)));
    let value = match (change, ends) {
        (Some(x), Some(ci)) => format!("{} % {}", signed(x, decimals(half(ci))), number::interval(ci)),
        (Some(x), None) => format!("{} %", signed(x, scale(Some(x)))),
        _ => ABSENT.into(),
    };
    vec![row("Change", value, format!("left out, for reading only: {}", w.left_out.join(", ")))]
}

fn family(c: &Comparison) -> String {
    match (c.p_adjusted.family.is_empty(), c.p_adjusted.family_size) {
        (_, 0) => "not a member of a family".into(),
        (true, k) => format!("family of {k}"),
        (false, k) => format!("family of {k}: {}", c.p_adjusted.family),
    }
}

/// Decimals of the change of a comparison.
pub(super) fn percent_decimals(c: &Comparison) -> usize {
    // The digits of the sentences: a table that disagrees with the verdict beside it would only raise doubts.
    c.change_ci.map_or_else(|| scale(c.change_pct), |ci| sentence_decimals(ci.low, ci.high))
}

fn percent_interval(ci: Interval) -> String {
    format!("{} %", number::ends(ci, sentence_decimals(ci.low, ci.high)))
}

fn percent_of(value: f64) -> String {
    format!("{} %", fixed(value, decimals(value)))
}

fn p_sign(value: f64) -> String {
    let text = p(value);
    if text.starts_with('<') { text } else { format!("= {text}") }
}

fn short(value: f64) -> String {
    if value.is_finite() { fixed(value, 2) } else { fixed(value, 0) }
}

fn join(a: &str, b: &str) -> String {
    if b.is_empty() { a.to_owned() } else { format!("{a} · {b}") }
}

fn scale(value: Option<f64>) -> usize {
    value.map_or(1, decimals)
}

fn half(ci: Interval) -> f64 {
    (ci.high - ci.low) / 2.0
}
