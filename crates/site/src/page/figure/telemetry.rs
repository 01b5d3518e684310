//! Telemetry of one run as small multiples.
//!
//! In:  samples, and the course that was made of them.  Out: a drawing with a table of samples.
//! Not here: the page of all telemetry of a campaign (see `page::telemetry`).

use super::{FigureView, MOST_ROWS};
use crate::chart::series::{SeriesLine, Track};
use crate::chart::thin::{extremes, stretch};
use crate::chart::{Row, Series, Table};
use crate::page::course;
use crate::page::number;
use sparkbench_model::{Sample, within};
use sparkbench_verdict::report::CourseReport;

/// Points of one quantity of telemetry.
const MOST_SAMPLES: usize = 240;

/// One quantity that telemetry may hold.
type Quantity = (&'static str, &'static str, fn(&Sample) -> Option<f64>);

const QUANTITIES: [Quantity; 8] = [
    ("SM clock", "MHz", |s| s.sm_clock_mhz),
    ("Power", "W", |s| s.power_w),
    ("GPU temperature", "°C", |s| s.gpu_c),
    ("GPU utilisation", "%", |s| s.gpu_util_pct),
    ("GPU memory in use", "MiB", |s| s.memory_used_mib),
    ("Memory of the machine in use", "MiB", |s| s.host_memory_used_mib),
    ("Memory of the machine available", "MiB", |s| s.host_memory_available_mib),
    ("Swap in use", "MiB", |s| s.host_swap_used_mib),
];

/// Telemetry of one run as small multiples.
pub(crate) fn telemetry(id: &str, samples: &[Sample], course: Option<&CourseReport>) -> Option<FigureView> {
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
                    // A period without any value breaks the line, as a missing sample does.
                    let gap = part.first().filter(|_| known.is_empty()).map(|(t, _)| (*t, None));
                    extremes(&known, stretch).into_iter().map(|(t, v)| (t, Some(v))).chain(gap).collect::<Vec<_>>()
                })
                .collect();
            Track {
                label: (*label).into(),
                unit: (*unit).into(),
                lines: vec![SeriesLine { label: String::new(), points }],
            }
        })
        .collect();
    let together = course.map_or(1, |course| course.launch_runs);
    let of = if together > 1 { "the launch of this run" } else { "this run" };
    let chart = Series {
        title: format!("Telemetry of {of}"),
        finding: course.and_then(course::finding).or_else(|| Some(ranges(samples, &quantities))),
        x_axis: "seconds since the first sample".into(),
        window: course.and_then(|c| c.window.as_ref()).map(|w| (w.from_s, w.to_s)),
        events: course.map_or_else(Vec::new, |c| course::events(c, first.at)),
        held: course.map_or_else(Vec::new, course::held),
        tracks,
    };
    let mut view = FigureView::new(id, chart.draw(id));
    let shared = (together > 1).then(|| {
        format!(
            "{} runs were made in this launch. Which sample is of which is not recorded, so all of them stand here and none has power or energy \
             of its own.",
            number::count(together as u64)
        )
    });
    let thinned = (stretch > 1).then(|| {
        format!(
            "Drawn: the least and the greatest of every {stretch} of {} samples. All are in the files of the run.",
            number::count(samples.len() as u64)
        )
    });
    let notes: Vec<String> = shared.into_iter().chain(thinned).collect();
    view.note = (!notes.is_empty()).then(|| notes.join(" "));
    view.table = Some(sample_table(&view.title, samples, &quantities));
    Some(view)
}

/// Between which values the first quantities lie that move at all.
fn ranges(samples: &[Sample], quantities: &[Quantity]) -> String {
    const FIRST: usize = 2;
    let range = |(label, unit, read): &Quantity| -> Option<(&'static str, String)> {
        let values = || samples.iter().filter_map(read);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        (low < high).then(|| (*label, format!(" from {} to {} {unit}", number::plain(low), number::plain(high))))
    };
    // The first begins the sentence.
    let moved: Vec<String> = (quantities.iter().filter_map(range).take(FIRST).enumerate())
        .map(|(k, (label, range))| if k == 0 { format!("{label}{range}") } else { format!("{}{range}", within(label)) })
        .collect();
    if moved.is_empty() { "Nothing moved.".into() } else { format!("{}.", moved.join(", ")) }
}

/// Samples at even distances, one column for each quantity.
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
