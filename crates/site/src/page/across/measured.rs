//! The table of everything measured, one row for each cell, and the runs behind it.
//!
//! In:  places and their cells.  Out: a [`TableSection`], and runs by campaign.
//! Not here: any number.

use std::collections::BTreeMap;

use super::{Cells, Ways, joined, lengths, load, several};
use crate::page::index::Site;
use crate::page::labels::counted;
use crate::page::link::{Link, run_href};
use crate::page::number;
use crate::page::table::{Cell, TableSection, figures, words};
use sparkbench_model::Metric;
use sparkbench_verdict::report::across::Place;
use sparkbench_verdict::report::{Estimate, Group};

/// Metrics of the table of everything measured, in this order, where any row has them.
const COLUMNS: &[&str] = &[
    "output_throughput_tok_s",
    "total_throughput_tok_s",
    "request_throughput_req_s",
    "decode_tok_s",
    "ttft_ms",
    "tpot_ms",
    "e2e_latency_ms",
    "peak_memory_gib",
    "power_w",
    "energy_j_per_token",
    "gemm_tflops",
    "memory_bandwidth_gb_s",
];

/// The table of everything measured: one row for each cell.
pub(crate) fn measured(
    site: &Site<'_>,
    ways: &Ways,
    cells: &Cells<'_>,
    root: &str,
    places: &[&Place],
    by_model: bool,
) -> TableSection {
    let metrics: Vec<Metric> = COLUMNS
        .iter()
        .filter(|name| places.iter().any(|p| cells.groups(&p.cell).iter().any(|g| g.metric == **name && g.n > 0)))
        .filter_map(|name| Metric::find(name))
        .collect();
    let mut columns = vec![
        words("Cell"),
        words(if by_model { "Machine" } else { "Model" }),
        words("Engine"),
        words("Asked for"),
        figures("Runs", ""),
    ];
    columns.extend(metrics.iter().map(|metric| figures(metric.label.clone(), metric.unit)));
    let rows = places
        .iter()
        .map(|p| {
            let other = if by_model {
                let link = ways.machine(site, root, p.machine.as_deref());
                Cell::text(several(&link.text, p.devices)).to(link.href)
            } else {
                let link = ways.model(site, root, &p.cell.model);
                Cell::text(link.text).to(link.href)
            };
            let served = joined([p.engine_version.as_deref(), p.quantisation.as_deref()]);
            let failed = if p.failed > 0 { format!("{} failed", p.failed) } else { String::new() };
            let mut row = vec![
                Cell::text(p.cell.environment.as_str())
                    .to(cells.href(site, root, &p.cell))
                    .under(joined([Some(p.cell.workload.as_str()), Some(&p.cell.campaign)])),
                other,
                Cell::text(p.engine.as_deref().unwrap_or("not told")).under(served).short(),
                Cell::text(lengths(p.isl, p.osl)).under(load(p.batch, p.request_rate)).short(),
                Cell::number(number::count(p.runs as u64)).under(failed),
            ];
            row.extend(metrics.iter().map(|metric| {
                let group = cells.groups(&p.cell).iter().copied().find(|group| group.metric == metric.name);
                Cell::estimate(group.and_then(group_estimate).as_ref())
            }));
            row
        })
        .collect();
    TableSection::new("measured", "Everything measured", "Everything measured, a row for each cell", columns, rows)
}

fn group_estimate(group: &Group) -> Option<Estimate> {
    let interval = group.t_interval;
    Some(Estimate { n: group.n, mean: group.mean?, low: interval.map(|i| i.low), high: interval.map(|i| i.high) })
}

/// Runs of one campaign, for a list that folds.
#[derive(Debug, Clone)]
pub(crate) struct RunList {
    pub campaign: Link,
    /// How many of them in words, with the name of the campaign for those who only hear it.
    pub count: String,
    pub runs: Vec<Link>,
    /// Runs that are not listed here.
    pub more: usize,
}

/// Runs that a campaign lists here. Its own page has all.
const MOST_RUNS: usize = 200;

/// Runs of the places, campaign by campaign.
pub(crate) fn run_lists(site: &Site<'_>, cells: &Cells<'_>, root: &str, places: &[&Place]) -> Vec<RunList> {
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for place in places {
        lists.entry(&place.cell.campaign).or_default().extend(cells.runs(&place.cell));
    }
    let campaign = |name: &str| {
        let found = site.analysis.campaigns.iter().find(|c| c.name == name);
        let path = format!("c/{name}/index.html");
        Link {
            href: site.has(&path).then(|| format!("{root}{path}")),
            text: found.map_or(name, |c| c.title.as_str()).to_owned(),
        }
    };
    lists
        .into_iter()
        .map(|(name, runs)| RunList {
            campaign: campaign(name),
            count: format!("{} of {name}", counted(runs.len(), "run", "runs")),
            more: runs.len().saturating_sub(MOST_RUNS),
            runs: (runs.into_iter().take(MOST_RUNS))
                .map(|id| Link {
                    href: Some(run_href(root, id)).filter(|_| site.has(&run_href("", id))),
                    text: id.to_owned(),
                })
                .collect(),
        })
        .collect()
}
