//! Charts on pages: which values of the analysis go into which chart.
//!
//! In:  comparisons, groups, runs, telemetry.  Out: [`FigureView`], a drawing with caption and table.
//! Not here: drawing (see `chart`), numbers that the analysis does not hold.

use std::collections::BTreeMap;

use super::index::{Link, Site, run_href};
use super::number;
use super::words;
use crate::chart::forest::{Forest, Kind, Panel};
use crate::chart::run_order::{Arm, Drift, Run, RunOrder};
use crate::chart::series::{Line, Track};
use crate::chart::spread::{self, Facet, Spread};
use crate::chart::{Ecdf, Figure, Row, Series, Table, ecdf, forest};
use crate::model::{Direction, Sample};
use crate::verdict::report::{CampaignReport, Comparison, Group, Interval, RunReport};

/// Marks of one drawing; of more, the least and the greatest of each stretch are drawn, so that no extreme is lost.
const MOST_DRAWN: usize = 400;

/// Points of one quantity of telemetry.
const MOST_SAMPLES: usize = 240;

/// Rows of a table of requests or samples; more are put together in stretches.
const MOST_ROWS: usize = 40;

/// Runs listed beside their chart; more are listed once, in the list of runs of the page.
const MOST_RUNS: usize = 40;

/// Steps of a distribution that `chart` draws.
const MOST_STEPS: usize = ecdf::STEPS;

/// A drawn chart as a template shows it.
#[derive(Debug, Clone)]
pub struct FigureView {
    /// Unique on the page.
    pub id: String,
    /// The drawing; markup of our own making, everything foreign in it escaped.
    pub inline: String,
    /// One small drawing for every width, to stand beside others.
    pub compact: bool,
    /// What is shown.
    pub title: String,
    /// The conclusion, where there is one.
    pub finding: Option<String>,
    /// How to read it.
    pub desc: String,
    /// What was left out of the drawing or its table, and where it is.
    pub note: Option<String>,
    /// The plotted numbers; absent where they stand in another table of the page.
    pub table: Option<Table>,
    /// Where they stand then.
    pub elsewhere: Option<Link>,
    /// Name of the box around the numbers, unique on the page.
    pub region: String,
    /// Verdicts with their counts, beside the caption of a forest plot.
    pub tally: Vec<(words::Badge, usize)>,
}

impl FigureView {
    fn new(id: &str, figure: Figure) -> Self {
        Self {
            id: id.to_owned(),
            inline: figure.inline(),
            compact: false,
            region: figure.title.clone(),
            tally: Vec::new(),
            note: None,
            title: figure.title,
            finding: figure.finding,
            desc: figure.desc,
            table: Some(figure.table),
            elsewhere: None,
        }
    }

    /// With one small drawing instead of two.
    fn compact(id: &str, figure: Figure) -> Self {
        let inline = format!("<div class=\"chart-box one\">{}</div>", figure.narrow);
        Self { inline, compact: true, ..Self::new(id, figure) }
    }
}

/// Overheads with their intervals and margins; one panel per metric and pair of environments. Metrics without a true
/// zero have no per cent and are left to the tables.
pub fn forest(
    id: &str,
    title: &str,
    campaign: &CampaignReport,
    comparisons: &[(&str, &Comparison)],
    root: &str,
) -> Option<FigureView> {
    let mut panels: Vec<Panel> = Vec::new();
    let several_pairs = campaign.environments.len() > 2;
    for (anchor, c) in comparisons.iter().filter(|(_, c)| has_per_cent(c)) {
        let way = match c.direction {
            Direction::Neutral => "right: more",
            _ => "right: costs more",
        };
        let pair = if several_pairs { format!(", {} against {}", c.candidate, c.baseline) } else { String::new() };
        let heading = format!("{}{pair} ({way})", c.label);
        let label =
            if campaign.workloads.len() > 1 { format!("{} · {}", c.model, c.workload) } else { c.model.clone() };
        let row = forest::Comparison {
            label,
            group: None,
            estimate: c.overhead_pct,
            interval: c.overhead_ci.as_ref().map(|i| (i.low, i.high)),
            inner: c.overhead_ci90.map(ends),
            margin: c.tost.as_ref().map(|t| t.margin_pct),
            verdict: words::verdict(c.verdict.kind).word.to_owned(),
            kind: Kind::from_word(c.verdict.kind.word()).unwrap_or_default(),
            href: Some(format!("{root}c/{}/index.html#{anchor}", campaign.name)),
        };
        match panels.iter_mut().find(|p| p.heading == heading) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel { heading, rows: vec![row] }),
        }
    }
    if panels.is_empty() {
        return None;
    }
    let against = campaign.baseline.as_deref().unwrap_or("the baseline");
    let chart = Forest {
        title: title.to_owned(),
        finding: None,
        axis: format!("overhead against {against}, %"),
        unit: "%".into(),
        panels,
    };
    let mut view = FigureView::new(id, chart.draw(id));
    view.tally = tally(comparisons);
    Some(view)
}

/// Runs of one model and workload in order of time.
pub fn run_order(
    site: &Site<'_>,
    id: &str,
    groups: &[&Group],
    runs: &[&RunReport],
    root: &str,
    compact: bool,
) -> Option<FigureView> {
    let first = groups.first()?;
    let position: BTreeMap<&str, usize> = runs.iter().enumerate().map(|(k, run)| (run.id.as_str(), k + 1)).collect();
    let order = site
        .analysis
        .campaigns
        .iter()
        .find(|c| c.name == first.campaign)
        .and_then(|c| c.order.iter().find(|o| o.model == first.model && o.workload == first.workload));
    let alpha = 1.0 - site.analysis.settings.confidence;
    let interleaved = order.is_some_and(|o| o.kind == "interleaved");
    let arms = groups
        .iter()
        .map(|group| {
            let marks: Vec<Run> = group
                .run_ids
                .iter()
                .zip(&group.values)
                .filter_map(|(run_id, value)| {
                    let run = site.run(run_id)?;
                    Some(Run {
                        label: run_id.clone(),
                        x: *position.get(run_id.as_str())? as f64,
                        y: *value,
                        block: run.block,
                        flagged: run.flags.iter().any(|f| f.starts_with("outlier:") && f.ends_with(&group.metric)),
                        href: Some(run_href(root, run_id)),
                    })
                })
                .collect();
            // The slope is per run of the arm; on the axis, runs of an interleaved arm stand further apart.
            let step = match (marks.first(), marks.last()) {
                (Some(a), Some(b)) if marks.len() > 1 => (b.x - a.x) / (marks.len() - 1) as f64,
                _ => 1.0,
            };
            // A line through runs that show no trend would suggest one; the table of groups has every slope.
            let shown = step > 0.0 && group.drift.p.is_some_and(|p| p < alpha);
            let drift =
                group.drift.sen_slope.filter(|_| shown).map(|slope| Drift { slope: slope / step, p: group.drift.p });
            Arm { label: group.environment.clone(), runs: marks, drift }
        })
        .collect();
    let mut findings: Vec<String> = Vec::new();
    if let Some(order) = order {
        findings.push(order_sentence(&order.kind, &order.sequence));
    }
    for group in groups {
        if let (Some(drift), Some(p)) = (group.drift.drift_pct, group.drift.p.filter(|p| *p < alpha)) {
            findings.push(format!(
                "{} moves by {} % over its {} runs (Mann-Kendall p {}).",
                group.environment,
                number::signed(drift, number::decimals(drift)),
                group.n,
                p_phrase(p)
            ));
        }
    }
    let chart = RunOrder {
        title: format!("{} of {} in order of start", words::metric(&first.metric), subject(site, first)),
        finding: (!findings.is_empty()).then(|| findings.join(" ")),
        axis: words::metric(&first.metric).to_lowercase(),
        unit: first.unit.to_owned(),
        x_axis: "order of start".into(),
        x_step: "run".into(),
        noun: "run".into(),
        interleaved,
        arms,
    };
    let figure = chart.draw(id);
    let listed = figure.table.rows.len();
    let mut view = if compact { FigureView::compact(id, figure) } else { FigureView::new(id, figure) };
    if listed > MOST_RUNS {
        view.table = None;
        view.elsewhere = Some(Link { href: Some("#runs".into()), text: "the list of runs".into() });
    }
    Some(view)
}

/// Every run of one metric by environment, one facet per model and workload.
pub fn spread(site: &Site<'_>, id: &str, groups: &[&Group]) -> Option<FigureView> {
    let first = groups.first()?;
    let mut facets: Vec<Facet> = Vec::new();
    for group in groups.iter().filter(|g| !g.values.is_empty()) {
        let heading = subject(site, group);
        let arm = spread::Arm {
            label: group.environment.clone(),
            values: group.values.clone(),
            mean: group.mean,
            interval: group.t_interval.map(ends),
            quartiles: match (group.p25, group.median, group.p75) {
                (Some(low), Some(middle), Some(high)) => Some((low, middle, high)),
                _ => None,
            },
            href: None,
        };
        match facets.iter_mut().find(|f| f.heading == heading) {
            Some(facet) => facet.arms.push(arm),
            None => facets.push(Facet { heading, arms: vec![arm] }),
        }
    }
    if facets.is_empty() {
        return None;
    }
    let chart = Spread {
        title: format!("{}: every run, by environment", words::metric(&first.metric)),
        finding: None,
        axis: words::metric(&first.metric).to_lowercase(),
        unit: first.unit.to_owned(),
        facets,
    };
    let figure = chart.draw(id);
    // Two drawings of a crowd weigh more than they show.
    let crowd = groups.iter().map(|group| group.values.len()).sum::<usize>() > MOST_DRAWN;
    Some(if crowd { FigureView::compact(id, figure) } else { FigureView::new(id, figure) })
}

/// Requests of one run: their distribution.
pub fn distribution(site: &Site<'_>, id: &str, metric: &str, run: &RunReport, values: &[f64]) -> Option<FigureView> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let n = finite.len();
    if n < 2 {
        return None;
    }
    let chart = Ecdf {
        title: format!("{} of the requests of this run", words::metric(metric)),
        finding: None,
        axis: words::metric(metric).to_lowercase(),
        unit: words::unit(metric).to_owned(),
        log_x: false,
        curves: vec![ecdf::Curve { label: run.environment.clone(), values: finite }],
    };
    let mut view = FigureView::compact(id, chart.draw(id));
    if n > MOST_STEPS {
        view.note = Some(format!(
            "Drawn with {MOST_STEPS} of {} steps, the tails whole; {}.",
            number::count(n as u64),
            whole_series(site)
        ));
    }
    Some(view)
}

/// Requests of one run in the order they were measured.
pub fn sequence(site: &Site<'_>, id: &str, metric: &str, run: &RunReport, values: &[f64]) -> Option<FigureView> {
    let finite: Vec<(f64, f64)> =
        values.iter().enumerate().filter(|(_, v)| v.is_finite()).map(|(k, v)| ((k + 1) as f64, *v)).collect();
    if finite.len() < 2 {
        return None;
    }
    let stretch = stretch(finite.len(), MOST_DRAWN);
    let runs = extremes(&finite, stretch)
        .into_iter()
        .map(|(x, y)| Run { label: format!("request {x}"), x, y, ..Run::default() })
        .collect();
    let chart = RunOrder {
        title: format!("{} in the order of the requests", words::metric(metric)),
        finding: None,
        axis: words::metric(metric).to_lowercase(),
        unit: words::unit(metric).to_owned(),
        x_axis: "request".into(),
        x_step: "request".into(),
        noun: "request".into(),
        interleaved: false,
        arms: vec![Arm { label: run.environment.clone(), runs, drift: None }],
    };
    let mut view = FigureView::compact(id, chart.draw(id));
    if stretch > 1 {
        view.note = Some(format!(
            "Drawn: the least and the greatest of every {stretch} of {} requests in a row; {}.",
            number::count(finite.len() as u64),
            whole_series(site)
        ));
    }
    view.table = Some(request_table(&view.title, words::unit(metric), &finite));
    Some(view)
}

/// Requests one by one, or the least and the greatest of each stretch of them.
fn request_table(title: &str, unit: &str, values: &[(f64, f64)]) -> Table {
    let step = values.len().div_ceil(MOST_ROWS);
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    if step == 1 {
        let mut table = Table::new(format!("{title}{unit}"), ["Request", "Value"]);
        for (k, value) in values {
            table.row([number::fixed_or_plain(*k), number::plain(*value)], None);
        }
        return table;
    }
    let mut table = Table::new(format!("{title}{unit}, {step} requests a row"), ["Requests", "Least", "Greatest"]);
    for part in values.chunks(step) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
        let ends = extremes(part, part.len());
        let least = ends.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
        let most = ends.iter().map(|(_, v)| *v).fold(f64::NEG_INFINITY, f64::max);
        let name = format!("{} to {}", number::fixed_or_plain(first.0), number::fixed_or_plain(last.0));
        table.row([name, number::plain(least), number::plain(most)], None);
    }
    table
}

/// Where the values stand that a drawing leaves out.
fn whole_series(site: &Site<'_>) -> &'static str {
    if site.extras.extra_files.iter().any(|file| file.path == "data/requests.parquet") {
        "every value is in data/requests.parquet"
    } else {
        "every value is in the files of the run"
    }
}

/// How many values in a row share two marks so that at most so many marks are drawn; 1 when all fit.
fn stretch(n: usize, most: usize) -> usize {
    if n <= most { 1 } else { (2 * n).div_ceil(most) }
}

/// The least and the greatest of every stretch, in their order; everything for stretches of one.
fn extremes(points: &[(f64, f64)], stretch: usize) -> Vec<(f64, f64)> {
    if stretch <= 1 {
        return points.to_vec();
    }
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let ends = |part: &[(f64, f64)]| {
        let mut ends: Vec<(f64, f64)> =
            part.iter().min_by(by_value).into_iter().chain(part.iter().max_by(by_value)).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        ends
    };
    points.chunks(stretch).flat_map(ends).collect()
}

/// One quantity that telemetry may hold.
type Quantity = (&'static str, &'static str, fn(&Sample) -> Option<f64>);

const QUANTITIES: [Quantity; 5] = [
    ("GPU utilisation", "%", |s| s.gpu_util_pct),
    ("Power", "W", |s| s.power_w),
    ("GPU temperature", "°C", |s| s.gpu_c),
    ("SM clock", "MHz", |s| s.sm_clock_mhz),
    ("GPU memory in use", "MiB", |s| s.memory_used_mib),
];

/// Telemetry of one run as small multiples.
pub fn telemetry(id: &str, run: &RunReport, samples: &[Sample]) -> Option<FigureView> {
    let first = samples.first()?;
    let stretch = stretch(samples.len(), MOST_SAMPLES);
    let quantities: Vec<Quantity> =
        QUANTITIES.into_iter().filter(|(_, _, read)| samples.iter().any(|s| read(s).is_some())).collect();
    if quantities.is_empty() {
        return None;
    }
    let tracks = quantities
        .iter()
        .map(|(label, unit, read)| {
            let all = samples.iter().map(|s| (s.at.seconds_since(first.at), read(s))).collect::<Vec<_>>();
            let points = all
                .chunks(stretch)
                .flat_map(|part| {
                    let known: Vec<(f64, f64)> = part.iter().filter_map(|(t, v)| Some((*t, (*v)?))).collect();
                    // A stretch without any value breaks the line, as a missing sample does.
                    let gap = part.first().filter(|_| known.is_empty()).map(|(t, _)| (*t, None));
                    extremes(&known, stretch).into_iter().map(|(t, v)| (t, Some(v))).chain(gap).collect::<Vec<_>>()
                })
                .collect();
            Track { label: (*label).into(), unit: (*unit).into(), lines: vec![Line { label: String::new(), points }] }
        })
        .collect();
    let window = match (run.started_utc, run.ended_utc) {
        (Some(start), Some(end)) => Some((start.seconds_since(first.at), end.seconds_since(first.at))),
        _ => None,
    };
    let chart = Series {
        title: "GPU telemetry of this run".into(),
        finding: None,
        x_axis: "seconds since the first sample".into(),
        window,
        tracks,
    };
    let mut view = FigureView::new(id, chart.draw(id));
    if stretch > 1 {
        view.note = Some(format!(
            "Drawn: the least and the greatest of every {stretch} of {} samples; all are in the files of the run.",
            number::count(samples.len() as u64)
        ));
    }
    view.table = Some(sample_table(&view.title, samples, &quantities));
    Some(view)
}

/// Samples at even distances, one column a quantity.
fn sample_table(title: &str, samples: &[Sample], quantities: &[Quantity]) -> Table {
    let step = samples.len().div_ceil(MOST_ROWS).max(1);
    let which = match step {
        1 => "every sample".to_owned(),
        k => format!("one sample in {k}, of {}", number::count(samples.len() as u64)),
    };
    let columns = std::iter::once("Seconds".to_owned())
        .chain(quantities.iter().map(|(label, unit, _)| format!("{label}, {unit}")))
        .collect();
    let mut table = Table { caption: format!("{title}: {which}"), columns, rows: Vec::new() };
    for sample in samples.iter().step_by(step) {
        let seconds = samples.first().map_or(0.0, |first| sample.at.seconds_since(first.at));
        let cells = std::iter::once(number::plain(seconds))
            .chain(quantities.iter().map(|(_, _, read)| number::plain_or(read(sample))))
            .collect();
        table.rows.push(Row { cells, href: None });
    }
    table
}

/// Verdict kinds with their counts, in the order of the contract.
fn tally(comparisons: &[(&str, &Comparison)]) -> Vec<(words::Badge, usize)> {
    let mut counts = BTreeMap::new();
    for (_, comparison) in comparisons {
        *counts.entry(comparison.verdict.kind).or_insert(0_usize) += 1;
    }
    counts.into_iter().map(|(kind, n)| (words::verdict(kind), n)).collect()
}

/// The order of the arms as a sentence.
pub fn order_sentence(kind: &str, sequence: &[String]) -> String {
    let stretches = stretches(sequence);
    match (kind, &stretches[..]) {
        ("blocked", [(first, n), (second, m)]) => {
            format!("All {n} {first} runs came before all {m} {second} runs.")
        }
        ("interleaved", _) => "The environments took turns.".into(),
        ("mixed", _) => format!("The environments took turns only in part: {} stretches.", stretches.len()),
        ("unknown", _) => "The order of the runs is not recorded.".into(),
        (other, _) => format!("Order of the runs: {other}."),
    }
}

/// Maximal stretches of one label, with their lengths.
pub fn stretches(sequence: &[String]) -> Vec<(&str, usize)> {
    let mut out: Vec<(&str, usize)> = Vec::new();
    for label in sequence {
        match out.last_mut() {
            Some((last, n)) if *last == label.as_str() => *n += 1,
            _ => out.push((label, 1)),
        }
    }
    out
}

fn has_per_cent(c: &Comparison) -> bool {
    c.overhead_pct.is_some() || c.derived_from.is_none() && c.primary
}

fn subject(site: &Site<'_>, group: &Group) -> String {
    if site.one_workload(&group.campaign) {
        group.model.clone()
    } else {
        format!("{} · {}", group.model, group.workload)
    }
}

fn p_phrase(p: f64) -> String {
    let text = number::p(p);
    if text.starts_with('<') { text } else { format!("= {text}") }
}

const fn ends(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_of_every_stretch_and_their_order() {
        let mut points: Vec<(f64, f64)> = (0..1_000).map(|k| (f64::from(k), 5.0)).collect();
        points[123].1 = 99.0;
        points[877].1 = -1.0;
        let thin = extremes(&points, stretch(points.len(), 400));
        assert!(thin.len() <= 400 && thin.contains(&(123.0, 99.0)) && thin.contains(&(877.0, -1.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(extremes(&points, stretch(400, 400)), points);
    }

    #[test]
    fn a_long_table_of_requests_has_every_request_in_some_row() {
        let values: Vec<(f64, f64)> = (1..=1_001).map(|k| (f64::from(k), f64::from(k % 7))).collect();
        let table = request_table("T", "ms", &values);
        assert!(table.rows.len() <= MOST_ROWS);
        assert_eq!(table.rows[0].cells[0], "1 to 26");
        assert!(table.rows.last().unwrap().cells[0].ends_with("1\u{202f}001"));
        assert!(table.rows[0].cells[1..] == ["0", "6"]);
    }
}
