//! Charts of one model and workload: pairs of runs, means, requests by environment and their shift.
//!
//! In:  groups, comparisons, requests.  Out: [`FigureView`]s.
//! Not here: drawing (see `chart`), charts that other pages share (see `figure`).

use super::Extras;
use super::figure::{FigureView, MOST_STEPS, whole_series};
use super::index::Site;
use super::labels;
use super::link::run_href;
use super::number::{self, decimals, fixed, signed};
use crate::chart::bars::{self, Bars};
use crate::chart::shift::{self, Shift};
use crate::chart::slope::{self, Slope};
use crate::chart::{Ecdf, ecdf};
use sparkbench_model::within;
use sparkbench_verdict::mark::{self, Marker};
use sparkbench_verdict::report::{Comparison, Group, Interval, RunReport, ShiftReport};

/// Largest over least value from which a distribution is drawn on a logarithmic scale.
const LOG_FROM: f64 = 30.0;

/// Pairs of one comparison, where the design has blocks.
pub(super) fn slope(site: &Site<'_>, id: &str, root: &str, c: &Comparison) -> Option<FigureView> {
    let pairs = c.pairs.as_ref()?;
    let equal = if pairs.equal > 0 { format!(", equal in {}", pairs.equal) } else { String::new() };
    let mut finding = format!(
        "Of {}, {} is above {} in {}, below in {}{equal}.",
        labels::counted(pairs.rows.len(), "pair", "pairs"),
        c.candidate,
        c.baseline,
        pairs.above,
        pairs.below
    );
    if let (Some(mean), Some(ci)) = (pairs.mean_difference, pairs.interval) {
        let digits = decimals((ci.high - ci.low) / 2.0);
        let unit = with_space(c.unit);
        finding.push_str(&format!(" Mean difference {}{unit} {}.", signed(mean, digits), number::ends(ci, digits)));
    }
    let chart = Slope {
        title: format!("{}, pair by pair: {} against {}", c.label, c.candidate, c.baseline),
        finding: Some(finding),
        axis: within(&c.label),
        unit: c.unit.to_owned(),
        from: c.baseline.clone(),
        to: c.candidate.clone(),
        pairs: pairs
            .rows
            .iter()
            .enumerate()
            .map(|(k, row)| slope::Pair {
                label: row.block.map_or_else(|| format!("pair {}", k + 1), |block| format!("block {block}")),
                from: row.baseline,
                to: row.candidate,
                difference: row.difference,
                from_href: Some(run_href(root, &row.baseline_run)),
                to_href: Some(run_href(root, &row.candidate_run)),
            })
            .collect(),
        mean: pairs.mean_difference,
        interval: pairs.interval.map(ends),
    };
    Some(site.figure_kept(|marker| _ = marker.text(id).debug(&chart), || FigureView::new(id, chart.draw(id))))
}

/// Means of one metric with their intervals, from zero.
pub(super) fn means(site: &Site<'_>, id: &str, groups: &[&Group], comparisons: &[&Comparison]) -> Option<FigureView> {
    let first = groups.first()?;
    // Without a true zero the length of a bar means nothing.
    if first.cv_pct.is_none() && comparisons.iter().all(|c| c.change_pct.is_none()) {
        return None;
    }
    let bar = |group: &&Group| bars::Bar {
        label: group.environment.clone(),
        mean: group.mean,
        interval: group.t_interval.map(ends),
        n: group.n,
        href: None,
    };
    let label = labels::metric(&first.metric);
    let own: Vec<&Comparison> = comparisons.iter().copied().filter(|c| c.metric == first.metric).collect();
    let finding = match own[..] {
        [] => None,
        [only] => Some(labels::typeset(&labels::sentence(&only.verdict.said, &site.names()))),
        _ => Some(each(&own)),
    };
    let chart = Bars {
        title: format!("{label}: means from zero"),
        finding,
        axis: within(&label),
        unit: first.unit.to_owned(),
        groups: vec![bars::Group { heading: String::new(), bars: groups.iter().map(bar).collect() }],
    };
    Some(FigureView::compact(id, chart.draw(id)))
}

/// The verdict of every candidate in one sentence.
fn each(comparisons: &[&Comparison]) -> String {
    let said = |c: &&Comparison| format!("{} against {} {}", c.candidate, c.baseline, labels::judged(c).word);
    let one = comparisons
        .iter()
        .all(|c| c.verdict.kind == comparisons[0].verdict.kind && c.baseline == comparisons[0].baseline);
    if one {
        let names: Vec<&str> = comparisons.iter().map(|c| c.candidate.as_str()).collect();
        let (word, baseline) = (labels::judged(comparisons[0]).word, &comparisons[0].baseline);
        return format!("Against {baseline}: {} {word}.", names.join(", "));
    }
    format!("{}.", comparisons.iter().map(said).collect::<Vec<_>>().join(", "))
}

/// How far the runs of each environment lie apart.
pub(super) fn spread_finding(groups: &[&Group]) -> Option<String> {
    let known: Vec<String> = groups
        .iter()
        .filter_map(|g| Some(format!("{}\u{202f}% in {} (n\u{a0}=\u{a0}{})", plain_two(g.cv_pct?), g.environment, g.n)))
        .collect();
    (!known.is_empty())
        .then(|| format!("The runs spread by {} (standard deviation over mean).", known.join(" and by ")))
}

fn plain_two(value: f64) -> String {
    fixed(value, decimals(value))
}

/// Metrics of requests that runs of these keep, in order of name.
pub(super) fn request_metrics(extras: &Extras, runs: &[&RunReport]) -> Vec<String> {
    let series = runs.iter().filter_map(|run| extras.requests.get(&run.id)).flatten();
    let mut names: Vec<String> =
        series.filter(|s| s.values.iter().any(|v| v.is_finite())).map(|s| s.metric.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Distribution of one metric of [`request_metrics`] over all requests, one curve an environment.
pub(super) fn requests(
    site: &Site<'_>,
    id: &str,
    metric: &str,
    environments: &[&str],
    runs: &[&RunReport],
    arms: &[&Group],
    shift: Option<&Comparison>,
) -> FigureView {
    // Gaps between tokens come in millions: in one list, sorted in place.
    let values = |environment: &str| -> Vec<f64> {
        let own = runs.iter().filter(|run| run.environment == environment);
        let series = own.filter_map(|run| site.extras.requests.get(&run.id)).flatten().filter(|s| s.metric == metric);
        let mut values = Vec::with_capacity(series.clone().map(|series| series.values.len()).sum());
        series.for_each(|series| values.extend(series.values.iter().copied().filter(|v| v.is_finite())));
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let unit = labels::unit(metric);
    let finding =
        shift.and_then(|c| Some((c, c.shift.as_ref()?.deciles.iter().find(|d| d.percent == 50)?))).map(|(c, half)| {
            let ((a, b), u) = (number::beside(half.baseline, half.candidate), with_space(unit));
            format!("Half of the requests take {a}{u} or less in {} and {b}{u} or less in {}.", c.baseline, c.candidate)
        });
    let finding = finding.or_else(|| halves(arms, unit));
    // Hundreds of thousands of values, which are there by the hashes of their files.
    let shows = |marker: &mut Marker| {
        marker.text("requests").text(id).text(metric).json(&(environments, &finding, whole_series(site)));
        for run in runs {
            let series = site.extras.requests.get(&run.id).map_or(&[][..], Vec::as_slice);
            marker.json(&(&run.id, &run.environment, &run.source, &run.files));
            mark::of_lists(marker, (series, &[], &[]), std::iter::once(&run.source).chain(&run.files));
        }
    };
    let draw = || {
        let curves: Vec<ecdf::Curve> = environments
            .iter()
            .map(|environment| ecdf::Curve { label: (*environment).to_owned(), values: values(environment) })
            .collect();
        let most = curves.iter().map(|curve| curve.values.len()).max().unwrap_or(0);
        let all = || curves.iter().flat_map(|curve| curve.values.iter().copied());
        let (least, greatest) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let chart = Ecdf {
            title: format!("{} of all requests, by environment", labels::metric(metric)),
            finding: finding.clone(),
            axis: within(&labels::metric(metric)),
            unit: unit.to_owned(),
            log_x: least > 0.0 && greatest / least > LOG_FROM,
            curves,
        };
        let mut view = FigureView::new(id, chart.draw(id));
        if most > MOST_STEPS {
            let whole = whole_series(site);
            view.note = Some(format!("Drawn with at most {MOST_STEPS} steps a curve, the tails whole: {whole}."));
        }
        view
    };
    site.figure_kept(shows, draw)
}

/// Where the middle of all requests of each environment lies, with its interval.
fn halves(arms: &[&Group], unit: &str) -> Option<String> {
    let half = |arm: &&Group| {
        let middle = arm.request_percentiles.iter().find(|p| p.percentile == "p50")?;
        let (value, interval) = number::estimate(middle.estimate, middle.interval);
        let interval = if interval.is_empty() { interval } else { format!(" {interval}") };
        Some(format!("{value}{}{interval} in {}", with_space(unit), arm.environment))
    };
    let known: Vec<String> = arms.iter().filter_map(half).collect();
    (!known.is_empty()).then(|| format!("The median of all requests is {}.", known.join(" and ")))
}

/// The shift of the requests of one comparison.
pub(super) fn shift(site: &Site<'_>, id: &str, c: &Comparison) -> Option<FigureView> {
    let report = c.shift.as_ref()?;
    let chart = Shift {
        title: format!("{}: deciles of {} less those of {}", c.label, c.candidate, c.baseline),
        finding: Some(shift_finding(c, report)),
        axis: within(&c.label),
        unit: c.unit.to_owned(),
        baseline: c.baseline.clone(),
        candidate: c.candidate.clone(),
        deciles: report
            .deciles
            .iter()
            .map(|d| shift::Decile {
                percent: f64::from(d.percent),
                baseline: d.baseline,
                candidate: d.candidate,
                difference: d.difference,
                interval: d.interval.map(ends),
                band: d.band.map(ends),
            })
            .collect(),
    };
    let mut view = site.figure_kept(|marker| _ = marker.text(id).debug(&chart), || FigureView::new(id, chart.draw(id)));
    let (a, b) =
        (labels::counted(report.runs_baseline, "run", "runs"), labels::counted(report.runs_candidate, "run", "runs"));
    let requests = number::count((report.requests_baseline + report.requests_candidate) as u64);
    let mut note = format!("{requests} requests of {a} and {b}");
    if let Some(draws) = report.resamples {
        note.push_str(&format!(". Runs, then their requests, were resampled {} times", number::count(draws as u64)));
    }
    let flags: Vec<String> = report.flags.iter().map(|flag| labels::flag(flag)).collect();
    if !flags.is_empty() {
        note.push_str(&format!(" ({})", flags.join(", ")));
    }
    note.push('.');
    view.note = Some(note);
    Some(view)
}

fn shift_finding(c: &Comparison, report: &ShiftReport) -> String {
    let of = report.deciles.len();
    let side = |n: usize, word: &str| format!("{} takes {word} at {n} of {of} deciles", c.candidate);
    match (report.resamples, report.above, report.below) {
        (None, ..) => "What a decile could be by chance cannot be said from these runs.".into(),
        (_, 0, 0) => format!("No decile lies clear of no difference, of {of} judged together."),
        (_, up, 0) => format!("{}.", side(up, "more")),
        (_, 0, down) => format!("{}.", side(down, "less")),
        (_, up, down) => format!("{} and less at {down}: the curves cross.", side(up, "more")),
    }
}

fn with_space(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

const fn ends(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}
