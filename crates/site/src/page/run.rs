//! The page of one run: its settings, its measurements, and the source of each figure.

use askama::Template;

use super::altered::{self, AlteredFiles};
use super::course::{self, GateRow, Tail};
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::{self, FigureView};
use super::front::{self, Fact, TrapStrip};
use super::index::Site;
use super::labels::{self, Badge};
use super::lines::{self, Excerpt};
use super::link::{Link, run_href};
use super::machines::{self, Machines};
use super::number::{self, ABSENT, plain_or};
use super::places;
use super::shell::Shell;
use sparkbench_archive::manifest::RUN_FILE;
use sparkbench_model::{Altered, Extra, ExtraValue, Metric, Origin, RawText, Series, Setup, Status};
use sparkbench_verdict::derive;
use sparkbench_verdict::mark::{self, Marker};
use sparkbench_verdict::report::RunReport;
use sparkbench_verdict::trap::{requests_needed, tail_of};

const ROOT: &str = "../../";

/// Rows of what is no metric: a box of eight GPUs has 40.
const SAID_MOST: usize = 200;

/// Metrics whose requests are drawn one after the other. What the others add is in their percentiles and on the page of the cell.
const DRAWN: [&str; 2] = ["ttft_ms", "e2e_latency_ms"];

/// Flags that the top of the page tells one by one.
const OPEN_FLAGS: usize = 4;

#[derive(Template)]
#[template(path = "run.html")]
struct Page {
    shell: Shell,
    id: String,
    eyebrow: String,
    campaign: Link,
    badge: Badge,
    failure: Option<String>,
    /// Files of it that are not what was recorded of them.
    altered: Option<AlteredFiles>,
    flags: Vec<String>,
    /// Why its figures may not be what they are called.
    beware: TrapStrip,
    /// Why its file was joined to no other run.
    not_joined: Option<String>,
    /// Heads of the columns of figures.
    heads: Vec<&'static str>,
    metrics: Vec<MetricRow>,
    /// Values that are no metric, where they are the main content: a server's log, a snapshot of a machine.
    said: Vec<ExtraRow>,
    identity: Vec<Fact>,
    setup: Vec<Fact>,
    tail: Vec<Tail>,
    gates: Vec<GateRow>,
    /// Beside each other, where there are several.
    machines: Option<Machines>,
    timeline: Option<FigureView>,
    telemetry: Option<FigureView>,
    requests: Vec<FigureView>,
    lines: Vec<Excerpt>,
    files: Vec<FileRow>,
    previous: Option<Link>,
    next: Option<Link>,
}

/// A file of the run.
struct FileRow {
    /// Its anchor, where figures may lead to it.
    id: Option<String>,
    file: String,
    format: String,
    /// Rule by which it belongs to the run.
    joined: String,
    sha256: String,
}

/// Values of a file that are no metric.
struct ExtraRow {
    name: String,
    value: String,
    place: String,
}

/// A metric with its percentiles.
struct MetricRow {
    label: String,
    unit: &'static str,
    requests: String,
    /// In the order of the columns.
    figures: Vec<Option<Figure>>,
    /// Place of the first of its figures: the name of the file alone, since the list of files has the whole path.
    file: Link,
    place: String,
    rule: &'static str,
}

/// One figure of a metric.
struct Figure {
    /// Contract name: the anchor of the figure.
    name: String,
    value: Link,
    /// Where it is in its file.
    place: String,
    /// How many requests it needs, where there are fewer.
    needs: String,
}

/// One page for each run.
pub(super) struct RunPage;

impl PageKind for RunPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let mut drafts = Vec::new();
        for campaign in &site.analysis.campaigns {
            let runs = site.runs(&campaign.name);
            for (k, run) in runs.iter().copied().enumerate() {
                let before = k.checked_sub(1).and_then(|k| runs.get(k)).copied();
                let after = runs.get(k + 1).copied();
                drafts.push(
                    Draft::new(format!("r/{}/index.html", run.id), move |site| {
                        let html = page(site, run, before, after).map_err(template_fault)?;
                        Ok(DrawnPage::new(html))
                    })
                    .keyed(move |site, marker| shows(site, run, before, after, marker)),
                );
            }
        }
        drafts
    }
}

/// Everything that the page of a run is drawn from.
fn shows(site: &Site<'_>, run: &RunReport, before: Option<&RunReport>, after: Option<&RunReport>, marker: &mut Marker) {
    Shell::shows(site, marker);
    marker.json(run).json(&run.extras).json(&[before, after].map(|run| run.map(|run| &run.id)));
    marker.text(title(site, run)).json(&site.model_title(&run.model)).json(&site.errors(&run.campaign, &run.model));
    // What a chart says of its data depends on whether all of it can be had.
    marker.json(&site.extras.extra_files.iter().map(|file| &file.page.path).collect::<Vec<_>>());
    let series = site.extras.requests.get(&run.id).map_or(&[][..], Vec::as_slice);
    let telemetry = site.extras.telemetry.get(&run.id).map_or(&[][..], Vec::as_slice);
    let spans = site.extras.spans.get(&run.id).map_or(&[][..], Vec::as_slice);
    mark::of_lists(marker, (series, telemetry, spans), std::iter::once(&run.source).chain(&run.files));
    marker.json(&site.course(&run.id));
    marker.json(&altered_of(site, run).collect::<Vec<_>>());
    marker.json(&site.input(&run.source.path).and_then(|input| input.not_joined.as_ref()));
    lines::shows(site, run, marker);
    // The page of a failed run shows the end of its logs.
    for tail in tails(site, run) {
        marker.text(&tail.file).text(&tail.text);
    }
    marker.json(&files(site, run).iter().map(|file| (&file.file, &file.format, &file.sha256)).collect::<Vec<_>>());
}

/// The page at `r/<run-id>/index.html`. `before` and `after` are its neighbours in time.
pub(super) fn page(
    site: &Site<'_>,
    run: &RunReport,
    before: Option<&RunReport>,
    after: Option<&RunReport>,
) -> Result<String, askama::Error> {
    let path = format!("r/{}/index.html", run.id);
    let title = title(site, run);
    let link = |run: &RunReport| Link { href: Some(run_href(ROOT, &run.id)), text: run.id.clone() };
    let course = site.course(&run.id);
    let mut eyebrow = vec![run.environment.clone(), run.model.clone(), run.workload.clone()];
    eyebrow.retain(|part| !part.is_empty());
    Page {
        shell: Shell::new(&path, format!("Run {} – sparkbench", run.id), "run", site)
            .described(format!("What was set, measured and recorded in run {} of {title}.", run.id)),
        id: run.id.clone(),
        eyebrow: eyebrow.join(" · "),
        campaign: Link { href: Some(format!("{ROOT}c/{}/index.html", run.campaign)), text: title.to_owned() },
        badge: labels::run_status(run.status.word()),
        failure: match &run.status.0 {
            Status::Failed(reason) => Some(reason.clone()),
            _ => None,
        },
        altered: altered::files(altered_of(site, run)),
        // That it failed or was changed, and why, is above them.
        flags: labels::flags(run.flags.iter().filter(|f| !f.starts_with("failed:") && !f.starts_with("altered:"))),
        beware: front::strip(ROOT, &site.errors(&run.campaign, &run.model)),
        not_joined: site.input(&run.source.path).and_then(|input| input.not_joined.clone()),
        heads: columns(run).into_iter().map(|(_, head)| head).collect(),
        metrics: metrics(site, run),
        said: said(run),
        identity: identity(site, run),
        setup: setup(site, run),
        tail: tails(site, run),
        gates: course.map_or_else(Vec::new, course::gates),
        machines: course.and_then(machines::machines),
        timeline: site.extras.spans.get(&run.id).and_then(|spans| course::requests("timeline", spans, course)),
        telemetry: site
            .extras
            .telemetry
            .get(&run.id)
            .and_then(|samples| figure::telemetry("telemetry", samples, course)),
        requests: requests(site, run),
        lines: lines::excerpts(site, run),
        files: files(site, run),
        previous: before.map(link),
        next: after.map(link),
    }
    .render()
}

/// Requests behind a figure.
fn requests_behind(run: &RunReport, name: &str) -> Option<usize> {
    let of_base = || run.requests.get(Metric::find(name)?.base());
    run.requests.get(name).or_else(of_base).copied()
}

/// How many requests a percentile needs, where there are fewer.
fn needs(run: &RunReport, name: &str) -> Option<String> {
    let requests = requests_behind(run, name)?;
    let needed = requests_needed(tail_of(name)?);
    let (requests, needed_text) = (number::count(requests as u64), number::count(needed as u64));
    (requests_behind(run, name)? < needed).then(|| format!("{requests} of {needed_text} needed"))
}

/// Files of a run that are not what was recorded of them.
fn altered_of<'a>(site: &Site<'a>, run: &'a RunReport) -> impl Iterator<Item = &'a Altered> {
    let all = site.analysis.inputs.iter().filter_map(|input| input.altered.as_ref());
    all.filter(move |altered| altered.concerns(&run.source, &run.files))
}

/// Title of the campaign that a run belongs to.
fn title<'a>(site: &Site<'a>, run: &'a RunReport) -> &'a str {
    site.analysis.campaigns.iter().find(|c| c.name == run.campaign).map_or(&run.campaign, |c| &c.title)
}

/// Where a figure leads to on this page.
fn line(site: &Site<'_>, run: &RunReport, origin: &Origin) -> Option<String> {
    site.places.anchor(&run.id, origin).map(|anchor| format!("#{anchor}"))
}

/// The end of the logs of a run that failed.
fn tails(site: &Site<'_>, run: &RunReport) -> Vec<Tail> {
    if matches!(run.status.0, Status::Failed(_)) { course::tails(site, run) } else { Vec::new() }
}

/// The files it was joined from and those that its figures were read from, then the logs beside them.
fn files(site: &Site<'_>, run: &RunReport) -> Vec<FileRow> {
    let own: Vec<_> = std::iter::once(&run.source).chain(&run.files).collect();
    let row = |id: Option<String>, path: &str| {
        let joined = own.iter().find(|file| file.path == path);
        let input = site.input(path);
        let format = joined.map(|file| file.format.clone()).or_else(|| input?.format.clone());
        let sha256 = joined.map(|file| file.sha256.clone()).or_else(|| input?.sha256.clone());
        FileRow {
            joined: match joined {
                Some(file) => file.joined.clone().unwrap_or_else(|| "the run itself".to_owned()),
                None if id.is_some() => "figures were read from it".to_owned(),
                None => "kept in the folder of the run".to_owned(),
            },
            id,
            file: path.to_owned(),
            format: format.unwrap_or_else(|| "raw output".to_owned()),
            sha256: sha256.unwrap_or_default(),
        }
    };
    let known = site.places.of(&run.id);
    let mut rows: Vec<FileRow> =
        known.iter().enumerate().map(|(at, file)| row(Some(places::of_file(at)), file.path)).collect();
    let folder = run.source.path.strip_suffix(RUN_FILE).filter(|folder| folder.ends_with('/'));
    let beside = folder.into_iter().flat_map(|folder| site.inputs_below(folder));
    let beside = beside.filter(|path| RawText::LOGS.iter().any(|ending| path.ends_with(ending)));
    rows.extend(beside.filter(|path| known.iter().all(|file| file.path != *path)).map(|path| row(None, path)));
    rows
}

/// Figures and words that are no metric. A run with requests has hundreds of them, which are in the files to download.
fn said(run: &RunReport) -> Vec<ExtraRow> {
    let own = run.setup.tool.as_deref().is_none_or(|tool| tool == Setup::OWN_CLIENT);
    let shows = run.requests.is_empty() && own;
    let extras = run.extras.iter().take(if shows { SAID_MOST } else { 0 });
    let row = |extra: &Extra| ExtraRow {
        name: extra.name.clone(),
        value: match &extra.value {
            ExtraValue::Number(value) => format!("{} {}", number::plain(*value), extra.unit).trim_end().to_owned(),
            ExtraValue::Text(text) => text.clone(),
        },
        place: place(&extra.origin),
    };
    extras.map(row).collect()
}

/// Columns of the figures: the suffix of the contract name, and the head. A metric without percentiles has the first alone.
const COLUMNS: [(&str, &str); 6] =
    [("", "Value"), ("_p50", "p50"), ("_p90", "p90"), ("_p95", "p95"), ("_p99", "p99"), ("_max", "Maximum")];

/// Those columns in which the run has any figure. The first always.
fn columns(run: &RunReport) -> Vec<(&'static str, &'static str)> {
    let any = |suffix: &str| run.metrics.keys().any(|name| column_of(name) == suffix);
    COLUMNS.into_iter().filter(|(suffix, _)| suffix.is_empty() || any(suffix)).collect()
}

/// The suffix of the column of a figure.
fn column_of(name: &str) -> &'static str {
    let is_tail = |suffix: &str| Metric::find(name).is_some_and(|m| format!("{}{suffix}", m.base()) == name);
    COLUMNS.into_iter().map(|(suffix, _)| suffix).find(|suffix| !suffix.is_empty() && is_tail(suffix)).unwrap_or("")
}

fn metrics(site: &Site<'_>, run: &RunReport) -> Vec<MetricRow> {
    let mut names: Vec<&String> = run.metrics.keys().collect();
    names.sort_by_key(|name| (Metric::find(name).map_or(usize::MAX, |m| m.rank()), name.as_str()));
    let columns = columns(run);
    // A metric and the figures of it, by the name without the suffix.
    let mut families: Vec<(&str, Vec<&String>)> = Vec::new();
    for name in names {
        let base = name.strip_suffix(column_of(name)).unwrap_or(name);
        match families.iter_mut().find(|(of, _)| *of == base) {
            Some((_, own)) => own.push(name),
            None => families.push((base, vec![name])),
        }
    }
    families.into_iter().map(|(base, own)| family(site, run, base, &own, &columns)).collect()
}

fn family(
    site: &Site<'_>,
    run: &RunReport,
    base: &str,
    own: &[&String],
    columns: &[(&'static str, &'static str)],
) -> MetricRow {
    let figure = |name: &String| {
        let origin = run.origins.get(name);
        Figure {
            name: name.clone(),
            value: Link {
                href: origin.and_then(|origin| line(site, run, origin)),
                text: plain_or(run.metrics.get(name).copied().flatten()),
            },
            place: origin.map_or_else(String::new, place),
            needs: needs(run, name).unwrap_or_default(),
        }
    };
    let first = own.first().and_then(|name| run.origins.get(*name));
    let path = first.map_or(run.source.path.as_str(), |o| o.file.as_str());
    MetricRow {
        label: labels::metric(base),
        unit: labels::unit(base),
        requests: own
            .first()
            .and_then(|name| requests_behind(run, name))
            .map_or_else(|| ABSENT.to_owned(), |n| number::count(n as u64)),
        figures: columns
            .iter()
            .map(|(suffix, _)| own.iter().find(|name| column_of(name) == *suffix).map(|name| figure(name)))
            .collect(),
        file: Link {
            href: first.and_then(|origin| line(site, run, origin)),
            text: path.rsplit('/').next().unwrap_or(path).to_owned(),
        },
        place: first.map_or_else(String::new, place),
        rule: first.map_or("", |o| o.rule),
    }
}

/// `line 12, field 'kv_cache'`.
pub(super) fn place(origin: &Origin) -> String {
    match (origin.line, &origin.field) {
        (Some(line), Some(field)) => format!("line {line}, field {field}"),
        (Some(line), None) => format!("line {line}"),
        // A figure that was made of another names that, which is no field of the file.
        (None, Some(field)) if field.starts_with(derive::FROM) => field.clone(),
        (None, Some(field)) => format!("field {field}"),
        (None, None) => "the whole file".to_owned(),
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
    facts.extend(run.launch.map(|launch| Fact::new("Launch of the engine", launch.to_string())));
    facts.push(Fact::new("Started", run.started_utc.map_or_else(|| "not recorded".to_owned(), labels::moment)));
    facts.push(Fact::new("Ended", run.ended_utc.map_or_else(|| "not recorded".to_owned(), labels::moment)));
    facts.extend(run.setup.exit_code.map(|code| Fact::new("Exit status", code.to_string())));
    let temperature = |term: &str, metric: &str, value: Option<f64>| {
        let own = run.metrics.contains_key(metric);
        let text = format!("{}\u{a0}°C", number::fixed_or_plain(value.filter(|_| !own)?));
        Some(Fact::new(term, text))
    };
    facts.extend(temperature("GPU temperature at start", "gpu_temp_start_c", run.setup.start_temp_c));
    facts.extend(temperature("GPU temperature at end", "gpu_temp_end_c", run.setup.end_temp_c));
    facts
}

/// Batches of a run that times each of them as one request: its lists then hold one value for each batch.
fn batches(site: &Site<'_>, run: &RunReport) -> Option<usize> {
    let batch = run.setup.batch.filter(|batch| *batch > 1.0)?;
    let timed = site.extras.requests.get(&run.id)?.iter().map(|series| series.values.len()).max()?;
    (run.setup.requests? == timed as f64 * batch).then_some(timed)
}

fn setup(site: &Site<'_>, run: &RunReport) -> Vec<Fact> {
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
    match (batches(site, run), s.requests, s.batch) {
        (Some(n), Some(all), Some(batch)) => facts.push(Fact::new(
            "Requests",
            format!(
                "{} in {} batches of {}, each timed as one",
                number::fixed_or_plain(all),
                number::count(n as u64),
                number::fixed_or_plain(batch)
            ),
        )),
        (_, Some(all), _) => facts.push(Fact::new("Requests", number::fixed_or_plain(all))),
        _ => {}
    }
    let mut figure = |term: &str, value: Option<f64>, unit: &str| {
        facts.extend(
            value.map(|v| Fact::new(term, format!("{} {unit}", number::fixed_or_plain(v)).trim_end().to_owned())),
        );
    };
    figure("Parameters", s.parameters, "");
    figure("Device memory", s.device_memory_gib, "GiB");
    figure("Weights, as the engine prints them", s.model_memory_gib, "GiB");
    figure("Longest context of the server", s.max_model_len, "tokens");
    facts
}

fn requests(site: &Site<'_>, run: &RunReport) -> Vec<FigureView> {
    let Some(series) = site.extras.requests.get(&run.id) else { return Vec::new() };
    let of_choice = |s: &&Series| DRAWN.contains(&s.metric.as_str());
    let mut drawn: Vec<&Series> = series.iter().filter(of_choice).collect();
    if drawn.is_empty() {
        drawn = series.iter().take(DRAWN.len()).collect();
    }
    drawn
        .into_iter()
        .enumerate()
        .filter_map(|(k, s)| figure::sequence(site, &format!("requests-{k}"), &s.metric, run, &s.values))
        .collect()
}
