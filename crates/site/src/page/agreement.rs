//! The page of load clients that measured one server: how far apart they are, and which may be compared.
//!
//! In:  the tables of `verdict::across`.  Out: `agreement/index.html`, where a server was measured by two clients.
//! Not here: any number, any rule.

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::FigureView;
use super::index::Site;
use super::labels::{self, Badge, metric};
use super::link::{Link, run_href};
use super::number::{self, ABSENT};
use super::shell::Shell;
use super::table::{self, Cell, TableSection, figures};
use crate::chart::bland_altman::{BlandAltmanPoint, Level};
use crate::chart::{BlandAltman, Layouts};
use sparkbench_model::within;
use sparkbench_verdict::across::agreement::TRUTH;
use sparkbench_verdict::number::list;
use sparkbench_verdict::report::across::{Agreeing, AgreementMetric, AgreementPair, AgreementTable, Ranged};
use sparkbench_verdict::report::{CampaignReport, Interval};

const ROOT: &str = "../";
/// The load client of this program.
const OURS: &str = "sparkbench-load";

#[derive(Template)]
#[template(path = "agreement.html")]
struct Page {
    shell: Shell,
    lead: String,
    tables: Vec<TableView>,
}

struct TableView {
    id: String,
    heading: String,
    campaign: Link,
    lead: String,
    said: Vec<String>,
    short: Vec<TableSection>,
    clients: TableSection,
    metrics: Vec<MetricView>,
}

struct MetricView {
    id: String,
    heading: String,
    sheet: TableSection,
    verdicts: Vec<VerdictView>,
    region: String,
    figures: Vec<FigureView>,
}

struct VerdictView {
    client: String,
    against: String,
    badge: Badge,
    text: String,
    definition: Option<String>,
}

/// The page, where a server was measured by two clients.
pub(super) struct AgreementPage;

impl PageKind for AgreementPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        if site.analysis.across.agreements.is_empty() {
            return Vec::new();
        }
        vec![Draft::new("agreement/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let tables = &site.analysis.across.agreements;
    let mut clients: Vec<&str> =
        tables.iter().flat_map(|table| table.clients.iter().map(|client| client.label.as_str())).collect();
    clients.sort_unstable();
    clients.dedup();
    Page {
        shell: Shell::new("agreement/index.html", "Agreement of clients – sparkbench", "agreement", site)
            .described("Load clients that measured the same server: how far apart they are, and which figures may be compared."),
        lead: format!(
            "{} measured the same server. A difference between two of them is no difference of the server, so it bounds what may be compared across tools.",
            list(&clients)
        ),
        tables: tables.iter().map(|found| table(site, found)).collect(),
    }
    .render()
}

fn table(site: &Site<'_>, found: &AgreementTable) -> TableView {
    let path = format!("c/{}/index.html", found.campaign);
    let title =
        site.campaigns().into_iter().find(|report| report.name == found.campaign).map(|report| report.title.clone());
    let title = title.unwrap_or_else(|| found.campaign.clone());
    let server = match (&found.engine, &found.engine_version) {
        (Some(engine), Some(version)) => format!("{engine} {version}, model {}.", found.model),
        (Some(engine), None) => format!("{engine}, model {}.", found.model),
        _ => format!("Model {}.", found.model),
    };
    let against = found.reference.as_ref().map_or_else(String::new, |name| format!(" The reference is {name}."));
    let known = if found.metrics.iter().any(|metric| metric.truth.is_some()) {
        " This server was told how fast to be, so the truth is known."
    } else {
        ""
    };
    TableView {
        id: found.id.clone(),
        heading: title.clone(),
        campaign: Link { href: site.has(&path).then(|| format!("{ROOT}{path}")), text: found.campaign.clone() },
        lead: format!("{server}{against}{known}"),
        said: found.said.clone(),
        short: short_tables(found, "", &title),
        clients: clients(found, &title),
        metrics: found.metrics.iter().map(|metric| view(found, metric, &title)).collect(),
    }
}

/// The clients of one campaign at a glance, with links to the page of their agreement. Empty where a campaign is not about clients.
pub(super) fn at_a_glance(site: &Site<'_>, root: &str, campaign: &CampaignReport) -> Vec<TableSection> {
    let page = format!("{root}agreement/index.html");
    tables_of(site, campaign).into_iter().flat_map(|found| short_tables(found, &page, &campaign.title)).collect()
}

/// Agreement of the clients of one campaign. Empty where a campaign is not about clients.
pub(super) fn tables_of<'a>(site: &Site<'a>, campaign: &CampaignReport) -> Vec<&'a AgreementTable> {
    let own = site.analysis.across.agreements.iter().filter(|table| table.campaign == campaign.name);
    if site.analysis.is_about_clients(campaign) { own.collect() } else { Vec::new() }
}

/// Every client against the truth where it is known, and against the reference. `page` is the address of the details.
fn short_tables(found: &AgreementTable, page: &str, title: &str) -> Vec<TableSection> {
    let against = [Some(TRUTH), found.reference.as_deref()].into_iter().flatten();
    against.filter_map(|one| short(found, one, page, title)).collect()
}

/// Every client against one, metric by metric, at a glance.
fn short(found: &AgreementTable, against: &str, page: &str, title: &str) -> Option<TableSection> {
    let shown: Vec<&AgreementMetric> =
        found.metrics.iter().filter(|metric| metric.pairs.iter().any(|pair| pair.against == against)).collect();
    let rows: Vec<Vec<Cell>> = (found.clients.iter())
        .filter(|client| client.label != against)
        .map(|client| {
            let cell = |metric: &&AgreementMetric| {
                let pair = metric.pairs.iter().find(|pair| pair.client == client.label && pair.against == against);
                pair.map_or_else(
                    || Cell::number(ABSENT),
                    |pair| {
                        let to = format!("{page}#{}", metric_id(found, metric));
                        let interval = pair.bias.map(|found| Interval { low: found.low, high: found.high });
                        let shown = number::estimate(pair.bias_pct, interval).0;
                        let shown = if pair.bias_pct > 0.0 { format!("+{shown}") } else { shown };
                        Cell::number(shown).under(standing(pair)).to(Some(to))
                    },
                )
            };
            std::iter::once(Cell::text(client.label.as_str())).chain(shown.iter().map(cell)).collect()
        })
        .collect();
    let whom = if against == TRUTH { "the truth" } else { against };
    let columns =
        std::iter::once(table::words("Client"))
            .chain(shown.iter().map(|metric| {
                figures(metric.label.as_str(), format!("%, margin {}", number::plain(metric.margin_pct)))
            }))
            .collect();
    let caption = format!("Mean difference from {whom}: {title}");
    let known = if against == TRUTH {
        " The truth is what the server was told to do.".to_owned()
    } else {
        format!(" {against} is what the others are held against, and may be wrong itself.")
    };
    let ours = if found.clients.iter().any(|client| client.label == OURS) {
        " sparkbench-load is part of this tool."
    } else {
        ""
    };
    let lead = format!(
        "Geometric mean of the difference from {whom} over all loads, and whether it lies within the margin.{known}{ours}"
    );
    (!shown.is_empty()).then(|| TableSection::new("", "", &caption, columns, rows).lead(lead))
}

/// Relation of a client to the other, or to the truth, in a word or two.
fn standing(pair: &AgreementPair) -> &'static str {
    match pair.kind {
        Agreeing::Interchangeable if pair.against == TRUTH => "right in each run",
        Agreeing::OnAverage if pair.against == TRUTH => "right on average",
        Agreeing::Apart if pair.against == TRUTH => "off",
        kind => labels::agreeing(kind).word,
    }
}

fn metric_id(found: &AgreementTable, of: &AgreementMetric) -> String {
    format!("{}-{}", found.id, of.metric.replace('_', "-"))
}

fn clients(found: &AgreementTable, title: &str) -> TableSection {
    let rows = (found.clients.iter())
        .map(|client| {
            let failed = if client.failed == 0 { String::new() } else { format!("{} failed", client.failed) };
            vec![
                Cell::text(client.label.as_str()).under(client.version.clone().unwrap_or_default()),
                Cell::number(number::count(client.runs as u64)).under(failed),
                Cell::estimate(client.isl.as_ref()),
                Cell::estimate(client.osl.as_ref()),
                Cell::estimate(client.cpu_s_per_1k_tok.as_ref()),
            ]
        })
        .collect();
    let columns = vec![
        table::words("Client"),
        figures("Runs", ""),
        figures("Input", "tokens"),
        figures("Output", "tokens"),
        figures("Processor time", "s for 1,000 tokens"),
    ];
    TableSection::new("", "", &format!("Clients: {title}"), columns, rows)
}

fn view(found: &AgreementTable, of: &AgreementMetric, title: &str) -> MetricView {
    let id = metric_id(found, of);
    let rows = of.pairs.iter().map(row).collect();
    let columns = vec![
        table::words("Client"),
        table::words("Against"),
        figures("Pairs", "rounds"),
        figures("Mean difference", "%"),
        figures("Lower limit", "%"),
        figures("Upper limit", "%"),
    ];
    let truth =
        of.truth.map_or_else(String::new, |truth| format!("The truth is {}\u{a0}{}. ", number::plain(truth), of.unit));
    let lead = format!("{truth}The margin is {}\u{a0}%.", number::plain(of.margin_pct));
    MetricView {
        heading: of.label.clone(),
        sheet: TableSection::new("", "", &format!("{}: {title}", of.label), columns, rows).lead(lead),
        region: format!("{} in words: {title}", of.label),
        verdicts: (of.pairs.iter())
            .map(|pair| VerdictView {
                client: pair.client.clone(),
                against: pair.against.clone(),
                badge: labels::agreeing(pair.kind),
                text: pair.sentence.clone(),
                definition: pair.definition.clone(),
            })
            .collect(),
        figures: of
            .pairs
            .iter()
            .enumerate()
            .map(|(k, pair)| figure(&format!("{id}-{}", k + 1), of, pair, title))
            .collect(),
        id,
    }
}

fn row(pair: &AgreementPair) -> Vec<Cell> {
    let ranged = |ranged: Option<Ranged>| {
        ranged.map_or_else(
            || Cell::number(ABSENT),
            |found| {
                let (value, ends) = number::estimate(found.value, Some(Interval { low: found.low, high: found.high }));
                Cell::number(value).under(ends.replace(' ', "\u{a0}"))
            },
        )
    };
    let bias = match pair.bias {
        Some(_) => ranged(pair.bias),
        None => Cell::number(number::plain(pair.bias_pct)).under("one round"),
    };
    vec![
        Cell::text(pair.client.as_str()),
        Cell::text(pair.against.as_str()),
        Cell::number(number::count(pair.pairs as u64)).under(number::count(pair.rounds as u64)),
        bias,
        ranged(pair.lower),
        ranged(pair.upper),
    ]
}

fn figure(id: &str, of: &AgreementMetric, pair: &AgreementPair, title: &str) -> FigureView {
    let level = |ranged: Ranged| Level { value: ranged.value, low: ranged.low, high: ranged.high };
    let against = if pair.against == TRUTH { "the truth" } else { &pair.against };
    let chart = BlandAltman {
        title: format!("{} by {} against {against}", metric(&of.metric), pair.client),
        finding: Some(pair.sentence.clone()),
        axis: within(&of.label),
        unit: of.unit.to_owned(),
        against: against.to_owned(),
        margin: Some(of.margin_pct),
        bias: pair.bias.map(level),
        lower: pair.lower.map(level),
        upper: pair.upper.map(level),
        points: pair
            .points
            .iter()
            .map(|point| BlandAltmanPoint {
                group: point.workload.clone(),
                label: point.run.clone(),
                mean: point.mean,
                difference: point.difference_pct,
                href: Some(run_href(ROOT, &point.run)),
            })
            .collect(),
    };
    let mut view = FigureView::compact(id, chart.draw_as(id, Layouts::Narrow));
    // Two campaigns have the same charts. The box around the numbers of each needs a name of its own.
    view.region = format!("{}, {title}", view.title);
    view
}
