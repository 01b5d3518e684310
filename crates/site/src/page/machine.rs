//! Pages of machines: output by lengths, the roofline, and every cell that was measured there.
//!
//! In:  the arrays across cells.  Out: `p/index.html` and `p/<machine>/index.html`.
//! Not here: any number.

use askama::Template;

use super::across::{self, Cells, NOT_NAMED, Ways};
use super::draft::{Draft, DrawnPage, PageKind};
use super::index::Site;
use super::labels::counted;
use super::shell::Shell;
use super::subject::{self, ChartSection, List, ROOT, SubjectPage};
use super::table::{Cell, TableSection, few, words};
use sparkbench_verdict::report::PhysicsReport;
use sparkbench_verdict::report::across::{Grid, Place, Roofline, Summary};

/// Charts of one part that are drawn in full.
const MOST_FIGURES: usize = 12;

/// One page for each machine, and the list of all.
pub(super) struct MachinePage;

impl PageKind for MachinePage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        subject::drafts("p", &site.analysis.across.machine_summaries, list, |site, summary, path| {
            Ok(DrawnPage::new(MachineOf::new(site, summary).page(site, path)?))
        })
    }
}

/// The page at `p/index.html`.
fn list(site: &Site<'_>) -> Result<DrawnPage, askama::Error> {
    let root = "../";
    let ways = Ways::of(site);
    let cells = Cells::of(site, |_| true);
    let summaries = &site.analysis.across.machine_summaries;
    let rows = summaries
        .iter()
        .map(|s| {
            let link = ways.machine(site, root, s.name.as_deref());
            let unsaid = if s.name.is_none() { "no file of these runs says where they ran" } else { "" };
            let mut row = vec![
                Cell::text(link.text).to(link.href).under(unsaid),
                Cell::text(few(&s.models)),
                Cell::text(few(&s.engines)),
                Cell::text(few(&s.campaigns)),
            ];
            row.extend(subject::closing_cells(site, &cells, root, s));
            row
        })
        .collect();
    let mut columns = vec![words("Machine"), words("Models"), words("Engines"), words("Campaigns")];
    columns.extend(subject::closing_columns("tok/s, whatever the model, the lengths and the load"));
    let html = List {
        shell: Shell::new("p/index.html", "Machines – sparkbench", "machines", site)
            .described("Every machine that was measured: models, engines, cells, runs, highest output."),
        title: "Machines",
        lead: "Every machine that was measured. Its page shows output by input and output length, the roofline and every cell.",
        sheet: TableSection::new("all", "", "Machines", columns, rows),
    }
    .render()?;
    Ok(DrawnPage::new(html))
}

/// Parts of a page.
struct MachineOf<'a> {
    summary: &'a Summary,
    places: Vec<&'a Place>,
    grids: Vec<&'a Grid>,
    rooflines: Vec<&'a Roofline>,
    physics: Vec<&'a PhysicsReport>,
    cells: Cells<'a>,
}

impl<'a> MachineOf<'a> {
    fn new(site: &Site<'a>, summary: &'a Summary) -> Self {
        let analysis = site.analysis;
        let across = &analysis.across;
        let name = &summary.name;
        let places: Vec<&Place> = across.places.iter().filter(|p| p.machine == *name).collect();
        let own: std::collections::BTreeSet<_> = places
            .iter()
            .map(|p| {
                let c = &p.cell;
                (c.campaign.as_str(), c.model.as_str(), c.workload.as_str(), c.environment.as_str())
            })
            .collect();
        Self {
            summary,
            grids: across.grids.iter().filter(|g| g.machine == *name).collect(),
            rooflines: across.rooflines.iter().filter(|r| r.machine == *name).collect(),
            physics: (analysis.physics.iter())
                .filter(|p| {
                    own.contains(&(p.campaign.as_str(), p.model.as_str(), p.workload.as_str(), p.environment.as_str()))
                })
                .collect(),
            cells: Cells::of(site, |key| own.contains(&key)),
            places,
        }
    }

    /// Why there is no roofline: the first thing that is missing for each reason, counted.
    fn no_roofline(&self) -> String {
        let missing: std::collections::BTreeSet<&str> =
            self.physics.iter().flat_map(|p| p.missing.iter().map(String::as_str)).collect();
        match missing.into_iter().collect::<Vec<_>>().as_slice() {
            [] => "No roofline: no cell reports output.".to_owned(),
            what => format!("No roofline: missing {}.", what.join(", ")),
        }
    }

    fn page(&self, site: &Site<'a>, path: &str) -> Result<String, askama::Error> {
        let s = self.summary;
        let ways = Ways::of(site);
        let title = ways.machine(site, ROOT, s.name.as_deref()).text;
        let grids = subject::charts(&self.grids, MOST_FIGURES, "grid", |id, grid| {
            Some(across::grid_figure(site, &self.cells, ROOT, id, grid))
        });
        let roofs = subject::charts(&self.rooflines, MOST_FIGURES, "roof", |id, roof| {
            Some(across::roofline_figure(site, &self.cells, ROOT, id, roof))
        });
        let parts = [
            ChartSection::new(
                "lengths",
                "Output by input and output length",
                "One grid per model, engine and environment. Where lengths were measured at several loads, the square shows the one with the highest output and says which.",
                self.grids.len(),
                grids,
            ),
            ChartSection::new(
                "roofline-title",
                "Roofline",
                "Decoding reads the weights and the KV cache in every step, so memory limits it until the batch is large. Ceilings come from data sheets, and from a probe where one ran in the same campaign. The chart says which.",
                self.rooflines.len(),
                roofs,
            ),
        ];
        let mut absent = Vec::new();
        if self.grids.is_empty() {
            absent.push(
                "No grid of lengths: no model was measured here with two pairs of known input and output lengths."
                    .to_owned(),
            );
        }
        if self.rooflines.is_empty() {
            absent.push(self.no_roofline());
        }
        let failed = if s.failed > 0 { format!(", {} failed", s.failed) } else { String::new() };
        let lead = format!(
            "{} of {} of {} in {}{failed}.",
            counted(s.runs, "run", "runs"),
            counted(s.cells, "cell", "cells"),
            counted(s.models.len(), "model", "models"),
            counted(s.campaigns.len(), "campaign", "campaigns"),
        );
        let lead = if s.name.is_none() { format!("No file of these runs says where they ran. {lead}") } else { lead };
        SubjectPage {
            shell: Shell::new(path, format!("{title} – machines – sparkbench"), "machines", site)
                .described(format!("Output by lengths, roofline and every cell measured on {title}.")),
            folder: "p",
            all: "Machines",
            title: if s.name.is_none() { NOT_NAMED.to_owned() } else { title },
            lead,
            beware: subject::beware(site, &self.places),
            facts: subject::facts(site, s.name.as_deref(), &self.places),
            parts: parts.into_iter().flatten().collect(),
            absent,
            measured: across::measured(site, &ways, &self.cells, ROOT, &self.places, false).lead(
                "A row for each cell: mean over its runs with the interval of the mean. Every row leads to its runs.",
            ),
            runs: across::run_lists(site, &self.cells, ROOT, &self.places),
        }
        .render()
    }
}
