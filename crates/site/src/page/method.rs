//! The page of methods: formulas, rules and limits, with every threshold taken from the code that uses it.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::calibration::{self, CampaignView};
use super::draft::{Draft, DrawnPage, PageKind};
use super::index::Site;
use super::labels;
use super::link::Link;
use super::number::{count, plain};
use super::prose;
use super::shell::Shell;
use sparkbench_model::Metric;
use sparkbench_model::metric::{MARGIN_RATE_PCT, MARGIN_TAIL_PCT, MARGIN_WIDE_PCT};
use sparkbench_text::error::Error;

/// Prose of the page: anchor, heading, Markdown.
const SECTIONS: &[(&str, &str, &str)] = &[
    ("reading", "How to read these pages", include_str!("../../../../templates/prose/reading.md")),
    ("verdicts", "How a verdict is reached", include_str!("../../../../templates/prose/verdicts.md")),
    ("intervals", "Overheads and their intervals", include_str!("../../../../templates/prose/intervals.md")),
    ("tests", "Tests and families", include_str!("../../../../templates/prose/tests.md")),
    ("looks", "Campaigns that stop when they are decided", include_str!("../../../../templates/prose/looks.md")),
    ("order", "Order, drift and outliers", include_str!("../../../../templates/prose/order.md")),
    ("history", "Changes over time", include_str!("../../../../templates/prose/history.md")),
    ("agreement", "Agreement of clients", include_str!("../../../../templates/prose/agreement.md")),
    ("percentiles", "Percentiles and requests", include_str!("../../../../templates/prose/percentiles.md")),
    ("rates", "How often a verdict is wrong", include_str!("../../../../templates/prose/rates.md")),
    ("limits", "What this cannot tell you", include_str!("../../../../templates/prose/limits.md")),
    ("glossary", "Words", super::glossary::TEXT),
];

#[derive(Template)]
#[template(path = "method.html")]
struct Page {
    shell: Shell,
    sections: Vec<Section>,
    metrics: Vec<MetricRow>,
    calibration: Vec<CampaignView>,
    least_runs: usize,
    words: Vec<Link>,
    settings: Vec<(&'static str, String)>,
}

struct Section {
    id: &'static str,
    heading: &'static str,
    html: String,
}

struct MetricRow {
    name: String,
    label: String,
    /// Its meaning, or the definition of one that a campaign defines.
    about: &'static str,
    unit: &'static str,
    direction: &'static str,
    margin: String,
}

/// Formulas, rules and limits.
pub(super) struct MethodPage;

impl PageKind for MethodPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("method/index.html", |site| Ok(DrawnPage::new(page(site)?)))]
    }
}

/// The page at `method/index.html`.
pub(super) fn page(site: &Site<'_>) -> Result<String, Error> {
    let values = values(site);
    let sections = SECTIONS
        .iter()
        .map(|(id, heading, text)| {
            Ok(Section { id, heading, html: prose::html(&prose::fill(text, &values, id)?, 2, heading) })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let settings = &site.analysis.settings;
    // Those of the metrics are in the table above.
    let margins: Vec<String> = settings
        .asked
        .margins_pct
        .iter()
        .map(|(metric, pct)| format!("{} ±{} %", labels::metric(metric), plain(*pct)))
        .collect();
    let defined = site.analysis.campaigns.iter().flat_map(|campaign| campaign.metrics.keys().map(String::as_str));
    let defined: BTreeSet<&str> = defined.collect();
    let mut names: Vec<&str> = Metric::names().collect();
    names.extend(defined);
    let page = Page {
        shell: Shell::new("method/index.html", "Method – sparkbench", "method", site)
            .described("How every number, interval and verdict of this site is computed, and where its limits are."),
        sections,
        metrics: names.into_iter().filter_map(metric).collect(),
        calibration: calibration::campaigns(site, "../"),
        least_runs: sparkbench_verdict::calibration::LEAST_RUNS,
        words: [
            ("charts/index.html", "How to read the charts"),
            ("glossary/index.html", "Glossary"),
            (super::docs::HOME, "Manual"),
        ]
        .into_iter()
        .filter(|(path, _)| site.has(path))
        .map(|(path, text)| Link { href: Some(format!("../{path}")), text: text.into() })
        .collect(),
        settings: vec![
            ("Confidence", format!("{} %", plain(100.0 * settings.confidence))),
            ("Bootstrap draws", count(settings.resamples as u64)),
            ("Seed", settings.seed.to_string()),
            ("Baseline", settings.baseline.clone().unwrap_or_else(|| "chosen by each campaign".into())),
            ("Margins given by hand", if margins.is_empty() { "none".into() } else { margins.join(", ") }),
        ],
    };
    page.render().map_err(super::draft::template_fault)
}

fn metric(name: &str) -> Option<MetricRow> {
    let metric = Metric::find(name)?;
    Some(MetricRow {
        name: metric.name.clone(),
        about: metric.about,
        margin: if metric.ratio_scale { format!("±{} %", plain(metric.margin_pct)) } else { "no per cent".into() },
        label: metric.label,
        unit: metric.unit,
        direction: labels::direction(metric.direction),
    })
}

/// A whole number in groups. Anything else as it is.
fn grouped(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), count)
}

fn values(site: &Site<'_>) -> BTreeMap<String, String> {
    let settings = &site.analysis.settings;
    let mut values: BTreeMap<String, String> =
        site.extras.constants.iter().map(|(name, value)| ((*name).to_owned(), grouped(value))).collect();
    values.extend([
        ("confidence_pct".to_owned(), plain(100.0 * settings.confidence)),
        ("inner_pct".to_owned(), plain(100.0 * (1.0 - 2.0 * (1.0 - settings.confidence)))),
        ("alpha".to_owned(), plain(1.0 - settings.confidence)),
        ("resamples".to_owned(), count(settings.resamples as u64)),
        ("seed".to_owned(), settings.seed.to_string()),
        ("margin_rate_pct".to_owned(), plain(MARGIN_RATE_PCT)),
        ("margin_wide_pct".to_owned(), plain(MARGIN_WIDE_PCT)),
        ("margin_tail_pct".to_owned(), plain(MARGIN_TAIL_PCT)),
    ]);
    values
}
