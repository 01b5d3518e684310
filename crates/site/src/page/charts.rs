//! How to read the charts: every kind with its words and an example.
//!
//! In:  the registry of charts.  Out: `charts/index.html`.
//! Not here: drawing.

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::index::Site;
use super::shell::Shell;
use crate::chart::CHARTS;
use sparkbench_text::error::{Error, Kind as Fault};

#[derive(Template)]
#[template(path = "charts.html")]
struct Page {
    shell: Shell,
    kinds: Vec<KindView>,
}

struct KindView {
    id: String,
    name: String,
    manual: &'static str,
    /// Markup of our own making.
    example: Option<String>,
}

/// Examples by the name of their chart: invented numbers, in the shape that the chart reads.
const EXAMPLES: &[(&str, &str)] = &[
    ("bars", include_str!("../../../../templates/examples/bars.json")),
    ("bland_altman", include_str!("../../../../templates/examples/bland_altman.json")),
    ("ecdf", include_str!("../../../../templates/examples/ecdf.json")),
    ("forest", include_str!("../../../../templates/examples/forest.json")),
    ("frontier", include_str!("../../../../templates/examples/frontier.json")),
    ("heatmap", include_str!("../../../../templates/examples/heatmap.json")),
    ("looks", include_str!("../../../../templates/examples/looks.json")),
    ("memory_stack", include_str!("../../../../templates/examples/memory_stack.json")),
    ("request_timeline", include_str!("../../../../templates/examples/request_timeline.json")),
    ("roofline", include_str!("../../../../templates/examples/roofline.json")),
    ("run_order", include_str!("../../../../templates/examples/run_order.json")),
    ("series", include_str!("../../../../templates/examples/series.json")),
    ("shift", include_str!("../../../../templates/examples/shift.json")),
    ("slope", include_str!("../../../../templates/examples/slope.json")),
    ("spread", include_str!("../../../../templates/examples/spread.json")),
    ("sweep", include_str!("../../../../templates/examples/sweep.json")),
    ("timeline_heatmap", include_str!("../../../../templates/examples/timeline_heatmap.json")),
];

/// How to read these charts.
pub(super) struct ChartsPage;

impl PageKind for ChartsPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("charts/index.html", |site| {
            // The strip has no drawing of its own on any page.
            let shown = CHARTS.iter().filter(|chart| EXAMPLES.iter().any(|(of, _)| *of == chart.name()));
            let kinds = shown.map(|chart| view(*chart)).collect::<Result<_, _>>()?;
            let shell = Shell::new("charts/index.html", "How to read the charts – sparkbench", "method", site)
                .described("Every kind of chart on these pages: what it shows, and what to look for.");
            Ok(DrawnPage::new(Page { shell, kinds }.render().map_err(template_fault)?))
        })]
    }
}

fn view(chart: &dyn crate::chart::Chart) -> Result<KindView, Error> {
    let name = chart.name();
    let example = EXAMPLES.iter().find(|(of, _)| *of == name).map(|(_, json)| {
        let drawn = chart.draw_json(json, &format!("example-{name}"));
        drawn.map(|figure| figure.inline()).map_err(|cause| {
            Error::new(Fault::Archive, format!("the example of the chart '{name}' cannot be drawn")).because(cause)
        })
    });
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    let title = match name {
        "ecdf" => "ECDF".to_owned(),
        "bland_altman" => "Bland-Altman".to_owned(),
        _ => letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect()),
    };
    Ok(KindView { id: name.replace('_', "-"), name: title, manual: chart.manual(), example: example.transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chart_but_the_strip_of_the_terminal_has_an_example_that_can_be_drawn() {
        for chart in CHARTS.iter().filter(|chart| chart.name() != "strip") {
            let view = view(*chart).unwrap();
            assert!(view.example.is_some_and(|svg| svg.contains("<svg")), "{}", chart.name());
        }
    }
}
