//! A campaign without comparisons: the table of measurements, and output against load where there is a sweep.
//!
//! In:  the rows and sweeps of the analysis.  Out: [`Alone`], shown on the front page and on the page of the campaign.
//! Not here: any number, and which row is the best (see `verdict::measured`).

use super::across::{self, Cells, joined, lengths, load};
use super::figure::FigureView;
use super::index::Site;
use super::labels::counted;
use super::number;
use super::table::{Cell, TableSection, figures, words};
use sparkbench_verdict::report::across::{CellName, Sweep};
use sparkbench_verdict::report::{CampaignReport, EssentialCell, Estimate, MeasuredRow};

/// The content in place of comparisons.
pub(super) struct Alone {
    /// One row for each cell.
    pub sheet: TableSection,
    /// Output against load.
    pub figure: Option<FigureView>,
    /// Where the rest is: rows and charts that are not shown here.
    pub note: Option<String>,
    /// Address of the rest.
    pub more: Option<String>,
}

impl Alone {
    /// Of a campaign. Nothing where it has comparisons. Beyond `most` rows only the best load of each shape is shown.
    pub(super) fn of(site: &Site<'_>, root: &str, campaign: &CampaignReport, id: &str, most: usize) -> Option<Self> {
        let all = &campaign.measured;
        let (head, first) = (all.first()?, &all.first()?.figures);
        let cells = Cells::of(site, |(name, ..)| name == campaign.name);
        let mut shown: Vec<&MeasuredRow> = all.iter().collect();
        if all.len() > most {
            shown.retain(|row| row.best_of.is_some());
            shown.truncate(most);
        }
        let engines = all.iter().any(|row| row.engine.is_some());
        let environments = all.iter().any(|row| row.environment != head.environment);
        let costs = all.iter().any(|row| row.usd_per_million_output.is_some());
        let mut columns = vec![words("Model")];
        columns.extend(engines.then(|| words("Engine")));
        columns.extend(environments.then(|| words("Environment")));
        columns.push(words("Asked for"));
        columns.extend(first.iter().map(|figure| figures(heading(figure), figure.unit)));
        columns.extend(costs.then(|| figures("Cost", "USD per million output tokens")));
        let rows = shown.iter().map(|row| {
            let name = CellName {
                campaign: campaign.name.clone(),
                model: row.model.clone(),
                workload: row.workload.clone(),
                environment: row.environment.clone(),
            };
            let failed = if row.failed > 0 { format!("{} failed", row.failed) } else { String::new() };
            let mut line = vec![
                Cell::text(row.model.as_str())
                    .to(cells.href(site, root, &name))
                    .under(joined([row.quantisation.as_deref(), Some(failed.as_str())])),
            ];
            line.extend(engines.then(|| {
                Cell::text(row.engine.as_deref().unwrap_or("not told"))
                    .under(row.engine_version.as_deref().unwrap_or_default())
            }));
            line.extend(environments.then(|| Cell::text(row.environment.as_str())));
            line.push(asked(row));
            line.extend(row.figures.iter().enumerate().map(|(k, figure)| cell(figure, row, k == 0)));
            line.extend(costs.then(|| Cell::estimate(row.usd_per_million_output.as_ref())));
            line
        });
        let caption = format!("What was measured, a row for each setting, campaign {}", campaign.name);
        let sheet = TableSection::new(id, "", &caption, columns, rows.collect());
        let sweeps: Vec<&Sweep> = site.analysis.across.sweeps.iter().filter(|s| is_of(s, campaign)).collect();
        // The one with the most points says the most.
        let points = |sweep: &Sweep| sweep.lines.iter().map(|line| line.points.len()).sum::<usize>();
        let widest = sweeps.iter().copied().rev().max_by_key(|sweep| points(sweep));
        let figure = widest.map(|sweep| across::sweep_figure(site, &cells, root, &format!("{id}-load"), sweep));
        let (left, charts) = (all.len() - sheet.rows.len(), sweeps.len().saturating_sub(1));
        let mut parts = Vec::new();
        if left > 0 {
            parts.push(format!(
                "{} in all, here the best load of each shape",
                counted(all.len(), "setting", "settings")
            ));
        }
        if charts > 0 {
            parts.push(format!("{} of load besides", counted(charts, "chart", "charts")));
        }
        let more = format!("{root}m/index.html");
        Some(Self {
            sheet,
            figure,
            note: (!parts.is_empty()).then(|| format!("{}.", parts.join(". "))),
            more: Some(more).filter(|_| !parts.is_empty() && site.has("m/index.html")),
        })
    }
}

/// Whether a sweep has a line of the campaign.
pub(super) fn is_of(sweep: &Sweep, campaign: &CampaignReport) -> bool {
    sweep.lines.iter().any(|line| line.campaign == campaign.name)
}

/// The metric, by the short name that people who measure know where the table is narrow.
fn heading(figure: &EssentialCell) -> String {
    match figure.metric.as_str() {
        "ttft_ms" => "TTFT".to_owned(),
        "tpot_ms" => "TPOT".to_owned(),
        _ => figure.label.clone(),
    }
}

/// Lengths and load. The name of the workload where neither is known.
fn asked(row: &MeasuredRow) -> Cell {
    let (lengthy, loaded) = (row.isl.or(row.osl).is_some(), row.batch.or(row.request_rate).is_some());
    let load = if loaded { load(row.batch, row.request_rate) } else { String::new() };
    match (lengthy, loaded) {
        (true, _) => Cell::text(lengths(row.isl, row.osl)).under(load).short(),
        (false, true) => Cell::text(load).under(row.workload.as_str()),
        (false, false) => Cell::text(row.workload.as_str()),
    }
}

/// A figure with its interval, or why there is none. The first one says where it is the best of several.
fn cell(figure: &EssentialCell, row: &MeasuredRow, first: bool) -> Cell {
    let Some(mean) = figure.mean else {
        return Cell::estimate(None).under(figure.empty.as_deref().unwrap_or_default());
    };
    let ends = figure.interval;
    let estimate = Estimate { n: figure.n, mean, low: ends.map(|i| i.low), high: ends.map(|i| i.high) };
    let mut cell = Cell::estimate(Some(&estimate));
    // That a figure is of one run need not be said three times a row.
    if !first && figure.n == 1 && row.figures.first().is_some_and(|other| other.n == 1) {
        cell = cell.under("");
    }
    match row.best_of.filter(|of| first && *of > 1) {
        Some(of) => {
            let best = format!("best of {}", number::count(of as u64));
            let sub = joined([Some(cell.sub.as_str()), Some(&best)]);
            cell.under(sub)
        }
        None => cell,
    }
}
