//! The page of one run: what was set, what was measured, where each figure stands.

use askama::Template;

use super::figure::{self, FigureView};
use super::front::Fact;
use super::index::{Link, Site, run_href};
use super::number::{self, ABSENT, plain_or};
use super::shell::Shell;
use super::words::{self, Badge};
use crate::model::{Metric, Origin, Status};
use crate::verdict::report::RunReport;

const ROOT: &str = "../../";

#[derive(Template)]
#[template(path = "run.html")]
struct Page {
    shell: Shell,
    id: String,
    eyebrow: String,
    campaign: Link,
    badge: Badge,
    failure: Option<String>,
    flags: Vec<String>,
    metrics: Vec<MetricRow>,
    identity: Vec<Fact>,
    setup: Vec<Fact>,
    telemetry: Option<FigureView>,
    requests: Vec<FigureView>,
    files: Vec<(String, String, String)>,
    previous: Option<Link>,
    next: Option<Link>,
}

struct MetricRow {
    label: String,
    unit: &'static str,
    value: String,
    requests: String,
    file: String,
    place: String,
    rule: &'static str,
}

/// The page at `r/<run-id>/index.html`. `before` and `after` are its neighbours in time.
pub fn page(
    site: &Site<'_>,
    run: &RunReport,
    before: Option<&RunReport>,
    after: Option<&RunReport>,
) -> Result<String, askama::Error> {
    let path = format!("r/{}/index.html", run.id);
    let title = site.analysis.campaigns.iter().find(|c| c.name == run.campaign).map_or(&run.campaign, |c| &c.title);
    let link = |run: &RunReport| Link { href: Some(run_href(ROOT, &run.id)), text: run.id.clone() };
    let mut eyebrow = vec![run.environment.clone(), run.model.clone(), run.workload.clone()];
    eyebrow.retain(|part| !part.is_empty());
    Page {
        shell: Shell::new(&path, format!("Run {} – sparkbench", run.id), "run", &site.analysis.tool)
            .described(format!("What was set, measured and recorded in run {} of {title}.", run.id)),
        id: run.id.clone(),
        eyebrow: eyebrow.join(" · "),
        campaign: Link { href: Some(format!("{ROOT}c/{}/index.html", run.campaign)), text: title.clone() },
        badge: words::run_status(run.status.word()),
        failure: match &run.status.0 {
            Status::Failed(reason) => Some(reason.clone()),
            _ => None,
        },
        flags: run.flags.iter().map(|f| words::flag(f)).collect(),
        metrics: metrics(run),
        identity: identity(site, run),
        setup: setup(run),
        telemetry: site.extras.telemetry.get(&run.id).and_then(|samples| figure::telemetry("telemetry", run, samples)),
        requests: requests(site, run),
        files: std::iter::once(&run.source)
            .chain(&run.files)
            .map(|f| (f.path.clone(), f.format.clone(), f.sha256.clone()))
            .collect(),
        previous: before.map(link),
        next: after.map(link),
    }
    .render()
}

fn metrics(run: &RunReport) -> Vec<MetricRow> {
    let mut names: Vec<&String> = run.metrics.keys().collect();
    names.sort_by_key(|name| (Metric::find(name).map_or(usize::MAX, |m| m.rank()), name.as_str()));
    names
        .into_iter()
        .map(|name| {
            let origin = run.origins.get(name);
            MetricRow {
                label: words::metric(name),
                unit: words::unit(name),
                value: plain_or(run.metrics.get(name).copied().flatten()),
                requests: run.requests.get(name).map_or_else(|| ABSENT.to_owned(), |n| number::count(*n as u64)),
                // The name alone: the list of files below has the whole path.
                file: {
                    let path = origin.map_or(run.source.path.as_str(), |o| o.file.as_str());
                    path.rsplit('/').next().unwrap_or(path).to_owned()
                },
                place: origin.map_or_else(String::new, place),
                rule: origin.map_or("", |o| o.rule),
            }
        })
        .collect()
}

/// `line 12, field 'kv_cache'`.
pub fn place(origin: &Origin) -> String {
    match (origin.line, &origin.field) {
        (Some(line), Some(field)) => format!("line {line}, field {field}"),
        (Some(line), None) => format!("line {line}"),
        (None, Some(field)) => format!("field {field}"),
        (None, None) => String::new(),
    }
}

fn identity(site: &Site<'_>, run: &RunReport) -> Vec<Fact> {
    let mut facts = vec![Fact::new("Environment", run.environment.clone())];
    let model =
        site.model_title(&run.model).map_or_else(|| run.model.clone(), |title| format!("{title} ({})", run.model));
    facts.push(Fact::new("Model", model));
    if !run.workload.is_empty() {
        facts.push(Fact::new("Workload", run.workload.clone()));
    }
    facts.extend(run.repeat.map(|k| Fact::new("Repeat", k.to_string())));
    facts.extend(run.block.map(|k| Fact::new("Block", k.to_string())));
    facts.extend(run.launch.clone().map(|l| Fact::new("Launch shared with other rows", l)));
    facts.push(Fact::new("Started", run.started_utc.map_or_else(|| "not recorded".to_owned(), words::moment)));
    facts.push(Fact::new("Ended", run.ended_utc.map_or_else(|| "not recorded".to_owned(), words::moment)));
    facts
}

fn setup(run: &RunReport) -> Vec<Fact> {
    let s = &run.setup;
    let mut facts = Vec::new();
    let mut text = |term: &str, value: &Option<String>| {
        facts.extend(value.as_ref().map(|v| Fact::new(term, v.clone())));
    };
    text("Model asked for", &s.model_id);
    text("Model that ran", &s.model_served);
    text("Machine, as printed", &s.machine);
    text("Engine", &s.engine);
    text("Engine version", &s.engine_version);
    text("Quantisation", &s.quantisation);
    let mut figure = |term: &str, value: Option<f64>, unit: &str| {
        facts.extend(
            value.map(|v| Fact::new(term, format!("{} {unit}", number::fixed_or_plain(v)).trim_end().to_owned())),
        );
    };
    figure("Batch limit", s.batch, "");
    figure("Input length", s.isl, "tokens");
    figure("Output length", s.osl, "tokens");
    figure("Requests", s.requests, "");
    figure("Parameters", s.parameters, "");
    figure("Device memory", s.device_memory_gib, "GiB");
    figure("Weights, as the engine prints them", s.model_memory_gib, "GiB");
    figure("GPU temperature before", s.start_temp_c, "°C");
    figure("GPU temperature after", s.end_temp_c, "°C");
    facts.extend(s.exit_code.map(|code| Fact::new("Exit status", code.to_string())));
    facts
}

fn requests(site: &Site<'_>, run: &RunReport) -> Vec<FigureView> {
    let Some(series) = site.extras.requests.get(&run.id) else { return Vec::new() };
    series
        .iter()
        .enumerate()
        .flat_map(|(k, s)| {
            [
                figure::sequence(site, &format!("requests-{k}"), &s.metric, run, &s.values),
                figure::distribution(site, &format!("distribution-{k}"), &s.metric, run, &s.values),
            ]
        })
        .flatten()
        .collect()
}
