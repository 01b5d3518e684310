//! The telemetry of a campaign: utilisation over time with one row for each run, and clock, power and temperature run by run.
//!
//! In:  the courses of the analysis.  Out: one page for each campaign that has telemetry.
//! Not here: the means and ranges themselves (see `verdict::course`).

use std::collections::BTreeSet;

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::FigureView;
use super::index::Site;
use super::link::{Link, run_href};
use super::number::{self, ABSENT};
use super::shell::Shell;
use crate::chart::series::{SeriesLine, Track};
use crate::chart::timeline_heatmap::{self, HeatRow};
use crate::chart::{Series, TimelineHeatmap};
use sparkbench_model::within;
use sparkbench_verdict::report::{CampaignReport, CourseReport, GridReport, QuantityReport};

const ROOT: &str = "../../../";

/// Quantities of the strip, with title and unit.
const STRIP: &[(&str, &str, &str)] = &[
    ("sm_clock_mhz", "SM clock", "MHz"),
    ("power_w", "Power", "W"),
    ("gpu_c", "GPU temperature", "°C"),
    ("gpu_util_pct", "GPU utilisation", "%"),
    ("host_memory_used_mib", "Memory of the machine in use", "MiB"),
    ("host_memory_available_mib", "Memory of the machine available", "MiB"),
    ("host_swap_used_mib", "Swap in use", "MiB"),
];

#[derive(Template)]
#[template(path = "telemetry.html")]
struct Page {
    shell: Shell,
    campaign: Link,
    title: String,
    lead: String,
    heat: Vec<FigureView>,
    strip: Option<FigureView>,
    heads: Vec<String>,
    rows: Vec<RunRow>,
}

struct RunRow {
    run: Link,
    environment: String,
    /// Mean with the range below it.
    cells: Vec<Option<(String, String)>>,
    held: String,
}

/// One page for each campaign with telemetry.
pub(super) struct TelemetryPage;

impl PageKind for TelemetryPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let campaigns = site.analysis.campaigns.iter().filter(|campaign| !courses(site, campaign).is_empty());
        let draft = |campaign: &'a CampaignReport| {
            Draft::new(path(&campaign.name), move |site| {
                Ok(DrawnPage::new(page(site, campaign).map_err(template_fault)?))
            })
        };
        campaigns.map(draft).collect()
    }
}

/// Where the page of a campaign lies.
pub(super) fn path(campaign: &str) -> String {
    format!("c/{campaign}/telemetry/index.html")
}

/// Runs of a campaign with telemetry, in order of time.
fn courses<'a>(site: &Site<'a>, campaign: &CampaignReport) -> Vec<&'a CourseReport> {
    let own = site.runs(&campaign.name);
    let has = |course: &&CourseReport| !course.quantities.is_empty();
    own.into_iter().filter_map(|run| site.course(&run.id)).filter(has).collect()
}

fn page(site: &Site<'_>, campaign: &CampaignReport) -> Result<String, askama::Error> {
    let courses = courses(site, campaign);
    let known: Vec<(&str, &str, &str)> = STRIP
        .iter()
        .copied()
        .filter(|(name, ..)| courses.iter().any(|course| quantity(course, name).is_some()))
        .collect();
    let grid = site.campaign_course(&campaign.name).and_then(|course| course.utilisation.as_ref());
    let some = if courses.len() == campaign.runs {
        format!("All {} runs have telemetry.", number::count(campaign.runs as u64))
    } else {
        format!(
            "{} of {} runs have telemetry.",
            number::count(courses.len() as u64),
            number::count(campaign.runs as u64)
        )
    };
    Page {
        shell: Shell::new(
            &path(&campaign.name),
            format!("{} – telemetry – sparkbench", campaign.title),
            "campaign",
            site,
        )
        .described(format!(
            "GPU utilisation over time, clock, power and temperature of the runs of {}.",
            campaign.title
        )),
        campaign: Link { href: Some(format!("{ROOT}c/{}/index.html", campaign.name)), text: campaign.title.clone() },
        title: "The machine during the runs".into(),
        lead: if grid.is_some() { some } else { format!("{some} None of it tells how busy the GPU was.") },
        heat: grid.map_or_else(Vec::new, heat),
        strip: strip(&launches(site, &courses), &known),
        heads: known.iter().map(|(_, title, unit)| format!("{title}, {unit}")).collect(),
        rows: courses.iter().map(|course| row(site, course, &known)).collect(),
    }
    .render()
}

fn quantity<'a>(course: &'a CourseReport, name: &str) -> Option<&'a QuantityReport> {
    course.quantities.iter().find(|quantity| quantity.name == name)
}

/// Number of rows in one drawing.
fn heat(grid: &GridReport) -> Vec<FigureView> {
    let parts = grid.rows.len().div_ceil(timeline_heatmap::ROWS);
    grid.rows
        .chunks(timeline_heatmap::ROWS)
        .enumerate()
        .map(|(k, rows)| {
            let id = format!("utilisation-{}", k + 1);
            let part = if parts > 1 { format!(", part {} of {parts}", k + 1) } else { String::new() };
            let rows: Vec<HeatRow> = rows
                .iter()
                .map(|row| HeatRow {
                    label: if row.runs > 1 {
                        format!("{} and {} more", row.run, row.runs - 1)
                    } else {
                        row.run.clone()
                    },
                    href: Some(run_href(ROOT, &row.run)),
                    values: row.means.clone(),
                })
                .collect();
            let highest =
                rows.iter().flat_map(|row| row.values.iter().flatten()).copied().fold(f64::NEG_INFINITY, f64::max);
            let chart = TimelineHeatmap {
                title: format!("GPU utilisation over time{part}"),
                finding: highest.is_finite().then(|| {
                    format!(
                        "{} in order of start. The busiest {} s reached {} %.",
                        if rows.len() == 1 { "One launch".to_owned() } else { format!("{} launches", rows.len()) },
                        number::fixed_or_plain(grid.step_s),
                        number::plain(highest)
                    )
                }),
                quantity: "GPU utilisation".into(),
                unit: "%".into(),
                x_axis: "seconds since the start of the run".into(),
                step: grid.step_s,
                full: 100.0,
                rows,
            };
            FigureView::new(&id, chart.draw(&id))
        })
        .collect()
}

/// One for each launch: runs that share one share its samples.
fn launches<'a>(site: &Site<'a>, courses: &[&'a CourseReport]) -> Vec<&'a CourseReport> {
    let mut seen = BTreeSet::new();
    let launch = |course: &CourseReport| site.run(&course.run).and_then(|run| run.together.as_deref());
    courses.iter().copied().filter(|course| launch(course).is_none_or(|launch| seen.insert(launch))).collect()
}

/// Least, mean and greatest of each quantity, launch by launch.
fn strip(courses: &[&CourseReport], known: &[(&str, &str, &str)]) -> Option<FigureView> {
    if courses.len() < 2 || known.is_empty() {
        return None;
    }
    type Part = (&'static str, fn(&QuantityReport) -> f64);
    const PARTS: [Part; 3] = [("mean", |q| q.mean), ("least", |q| q.least), ("greatest", |q| q.greatest)];
    let track = |(name, title, unit): &(&str, &str, &str)| Track {
        label: (*title).to_owned(),
        unit: (*unit).to_owned(),
        lines: PARTS
            .iter()
            .map(|(part, read)| SeriesLine {
                label: (*part).to_owned(),
                points: courses
                    .iter()
                    .enumerate()
                    .map(|(k, c)| ((k + 1) as f64, quantity(c, name).map(read)))
                    .collect(),
            })
            .collect(),
    };
    let chart = Series {
        title: "What the machine did, launch by launch".into(),
        finding: Some(spread(courses, known)),
        x_axis: "launch in order of start".into(),
        tracks: known.iter().map(track).collect(),
        ..Series::default()
    };
    let mut view = FigureView::new("strip", chart.draw("strip"));
    view.table = None;
    view.elsewhere = Some(Link { href: Some("#runs".into()), text: "the table below".into() });
    Some(view)
}

/// Between which values the means of the runs lie, of the first three quantities that vary.
fn spread(courses: &[&CourseReport], known: &[(&str, &str, &str)]) -> String {
    let ends = known.iter().filter_map(|(name, title, unit)| {
        let means: Vec<f64> = courses.iter().filter_map(|course| Some(quantity(course, name)?.mean)).collect();
        let (low, high) =
            means.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), m| (low.min(*m), high.max(*m)));
        (low < high).then(|| format!("{} from {} to {} {unit}", within(title), number::plain(low), number::plain(high)))
    });
    let ends: Vec<String> = ends.take(3).collect();
    match ends.is_empty() {
        true => format!("Every quantity has the same mean in all {} launches.", courses.len()),
        false => format!("Means of the {} launches: {}.", courses.len(), ends.join(", ")),
    }
}

fn row(site: &Site<'_>, course: &CourseReport, known: &[(&str, &str, &str)]) -> RunRow {
    let cells = known.iter().map(|(name, ..)| {
        let q = quantity(course, name)?;
        Some((number::plain(q.mean), format!("{} to {}", number::plain(q.least), number::plain(q.greatest))))
    });
    RunRow {
        run: Link { href: Some(run_href(ROOT, &course.run)), text: course.run.clone() },
        environment: site.run(&course.run).map(|run| run.environment.clone()).unwrap_or_default(),
        cells: cells.collect(),
        held: match &course.held {
            None => "not recorded".to_owned(),
            Some(held) if held.is_empty() => "never".to_owned(),
            Some(held) => {
                let mut reasons: Vec<&str> = held.iter().flat_map(|h| h.reasons.iter().copied()).collect();
                reasons.sort_unstable();
                reasons.dedup();
                format!("{} ×: {}", held.len(), reasons.join(", "))
            }
        },
    }
}
