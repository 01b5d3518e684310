//! The page of engines: the same model, machine, lengths and load, engine beside engine, as far as the rules allow.
//!
//! In:  the tables of `verdict::across`.  Out: `engines/index.html`, where the analysis has two engines.
//! Not here: any number, any rule.

use std::collections::BTreeMap;

use askama::Template;

use super::across::{self, Cells, Ways};
use super::comparison::in_short;
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::FigureView;
use super::index::Site;
use super::labels::{self, Badge};
use super::link::Link;
use super::shell::Shell;
use super::table::{self, Cell, TableSection, figures};
use crate::chart::{Bars, bars};
use sparkbench_verdict::number::list;
use sparkbench_verdict::report::VerdictKind;
use sparkbench_verdict::report::across::{EngineRow, EngineTable, Place};

const ROOT: &str = "../";

/// Tables that the page shows. The others are in `analysis.json`.
const MOST_TABLES: usize = 40;

/// Metric of the chart and of the first verdict.
const FIRST: &str = "output_throughput_tok_s";

#[derive(Template)]
#[template(path = "engines.html")]
struct Page {
    shell: Shell,
    lead: String,
    tables: Vec<TableView>,
    more: usize,
    all: TableSection,
}

struct TableView {
    id: String,
    heading: String,
    machine: Link,
    shape: String,
    figure: Option<FigureView>,
    /// Why nothing is drawn.
    undrawn: Option<String>,
    sheet: TableSection,
    verdicts: Vec<VerdictView>,
    baseline: String,
}

struct VerdictView {
    candidate: String,
    metric: String,
    badge: Badge,
    text: String,
}

/// The page, where there are two engines.
pub(super) struct EnginesPage;

impl PageKind for EnginesPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        if by_engine(site).len() < 2 {
            return Vec::new();
        }
        vec![Draft::new("engines/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

/// Cells with output by the name of their engine, in whatever case it is written.
fn by_engine<'a>(site: &Site<'a>) -> BTreeMap<String, Vec<&'a Place>> {
    let mut engines: BTreeMap<String, Vec<&Place>> = BTreeMap::new();
    for place in &site.analysis.across.places {
        if let Some(engine) = place.engine.as_ref().filter(|_| place.output_tok_s.is_some()) {
            engines.entry(engine.to_lowercase()).or_default().push(place);
        }
    }
    engines
}

fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let engines = by_engine(site);
    let tables = &site.analysis.across.engines;
    let ways = Ways::of(site);
    let cells = Cells::of(site, |_| true);
    let names: Vec<&str> =
        engines.values().filter_map(|places| places.first().and_then(|place| place.engine.as_deref())).collect();
    let lead = if tables.is_empty() {
        format!(
            "{}: no two were measured with the same model, machine, lengths and load, so nothing can be held side by side.",
            list(&names)
        )
    } else {
        format!(
            "{} side by side, wherever two of them were given the same model, machine, lengths and load. What the rules forbid to compare is listed with the reason and not drawn.",
            list(&names)
        )
    };
    Page {
        shell: Shell::new("engines/index.html", "Engines – sparkbench", "engines", site)
            .described("Engine beside engine for the same model, machine, lengths and load, as far as the rules of comparability allow."),
        lead,
        tables: tables.iter().take(MOST_TABLES).enumerate().map(|(k, t)| table(site, &ways, &cells, k, t)).collect(),
        more: tables.len().saturating_sub(MOST_TABLES),
        all: overview(site, &ways, &engines),
    }
    .render()
}

/// Everything measured with each engine: a row for each model, machine and campaign.
fn overview(site: &Site<'_>, ways: &Ways, engines: &BTreeMap<String, Vec<&Place>>) -> TableSection {
    let mut rows = Vec::new();
    for places in engines.values() {
        let mut parts: BTreeMap<_, Vec<&Place>> = BTreeMap::new();
        for place in places {
            let key =
                (&place.cell.model, place.machine.as_deref(), &place.cell.campaign, place.engine_version.as_deref());
            parts.entry(key).or_default().push(place);
        }
        for ((model, machine, campaign, version), places) in parts {
            let (model, machine) = (ways.model(site, ROOT, model), ways.machine(site, ROOT, machine));
            let path = format!("c/{campaign}/index.html");
            let name = places.first().and_then(|p| p.engine.clone()).unwrap_or_default();
            rows.push(vec![
                Cell::text(name).under(version.unwrap_or("version not told")),
                Cell::text(model.text).to(model.href),
                Cell::text(machine.text).to(machine.href),
                Cell::text(campaign.as_str()).to(site.has(&path).then(|| format!("{ROOT}{path}"))),
                Cell::number(super::number::count(places.len() as u64)),
            ]);
        }
    }
    let columns = vec![
        table::words("Engine"),
        table::words("Model"),
        table::words("Machine"),
        table::words("Campaign"),
        figures("Cells", ""),
    ];
    TableSection::new("all", "Every engine", "Every engine of the analysis", columns, rows)
}

fn table(site: &Site<'_>, ways: &Ways, cells: &Cells<'_>, k: usize, found: &EngineTable) -> TableView {
    let allowed = |row: &&EngineRow| {
        let own = found.comparisons.iter().find(|c| c.candidate == row.label && c.metric == FIRST);
        own.is_some_and(|c| c.verdict.kind != VerdictKind::NotComparable)
    };
    let mut drawn: Vec<&EngineRow> = found.rows.iter().skip(1).filter(allowed).collect();
    let baseline = found.rows.first();
    drawn.splice(0..0, baseline);
    let machine = ways.machine(site, ROOT, found.machine.as_deref());
    let title = across::several(&machine.text, found.devices);
    let shape = format!("{}, {}", across::lengths(found.isl, found.osl), across::load(found.batch, found.request_rate));
    let figure = (drawn.len() > 1).then(|| figure(site, cells, k, found, &drawn, &shape));
    let undrawn = figure.is_none().then(|| {
        "Nothing is drawn: no other engine can be held against the first, for the reasons given below.".to_owned()
    });
    TableView {
        id: found.id.clone(),
        heading: found.model.clone(),
        machine: Link { text: title, ..machine },
        shape: shape.clone(),
        figure,
        undrawn,
        sheet: rows(site, cells, found, &shape),
        verdicts: (found.comparisons.iter())
            .map(|c| VerdictView {
                candidate: c.candidate.clone(),
                metric: c.label.clone(),
                badge: labels::judged(c),
                text: in_short(c),
            })
            .collect(),
        baseline: baseline.map(|row| row.label.clone()).unwrap_or_default(),
    }
}

/// Means of what may be compared, from zero.
fn figure(
    site: &Site<'_>,
    cells: &Cells<'_>,
    k: usize,
    found: &EngineTable,
    drawn: &[&EngineRow],
    shape: &str,
) -> FigureView {
    let bars = drawn
        .iter()
        .map(|row| bars::Bar {
            label: row.label.clone(),
            mean: row.output_tok_s.map(|rate| rate.mean),
            interval: row.output_tok_s.and_then(|rate| rate.low.zip(rate.high)),
            n: row.output_tok_s.map_or(0, |rate| rate.n),
            href: cells.href(site, ROOT, &row.cell),
        })
        .collect();
    let said: Vec<String> = found
        .comparisons
        .iter()
        .filter(|c| c.metric == FIRST && drawn.iter().any(|row| row.label == c.candidate))
        .map(|c| labels::sentence(&c.verdict.said, &site.names()))
        .collect();
    let chart = Bars {
        title: format!("Output throughput of {} by engine: {shape}", found.model),
        finding: Some(said.join(" ")),
        axis: "output throughput".into(),
        unit: "tok/s".into(),
        groups: vec![bars::Group { heading: String::new(), bars }],
    };
    let id = format!("engines-{}", k + 1);
    FigureView::new(&id, chart.draw(&id))
}

fn rows(site: &Site<'_>, cells: &Cells<'_>, found: &EngineTable, shape: &str) -> TableSection {
    let rows = found
        .rows
        .iter()
        .map(|row| {
            let version = across::joined([row.engine_version.as_deref(), row.quantisation.as_deref()]);
            vec![
                Cell::text(row.label.as_str()).to(cells.href(site, ROOT, &row.cell)).under(version),
                Cell::text(row.cell.environment.as_str())
                    .under(across::joined([Some(row.cell.workload.as_str()), Some(&row.cell.campaign)])),
                Cell::number(super::number::count(row.runs as u64)),
                Cell::estimate(row.output_tok_s.as_ref()),
                Cell::estimate(row.ttft_ms.as_ref()),
                Cell::estimate(row.tpot_ms.as_ref()),
                Cell::estimate(row.e2e_latency_ms.as_ref()),
                Cell::estimate(row.peak_memory_gib.as_ref()),
            ]
        })
        .collect();
    let columns = vec![
        table::words("Engine"),
        table::words("Cell"),
        figures("Runs", ""),
        figures("Output throughput", "tok/s"),
        figures("TTFT", "ms"),
        figures("TPOT", "ms"),
        figures("End-to-end latency", "ms"),
        figures("Peak memory", "GiB"),
    ];
    TableSection::new("", "", &format!("{} by engine, {shape}, {}", found.model, found.id), columns, rows)
}
