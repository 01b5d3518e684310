//! Pages of models: behaviour under load, latency for users, use of memory, and every cell.
//!
//! In:  the arrays across cells.  Out: `m/index.html` and `m/<model>/index.html`.
//! Not here: any number.

use askama::Template;

use super::across::{self, Cells, Ways};
use super::draft::{Draft, DrawnPage, PageKind};
use super::index::Site;
use super::labels::counted;
use super::shell::Shell;
use super::subject::{self, ChartSection, List, ROOT, SubjectPage};
use super::table::{Cell, TableSection, few, words};
use sparkbench_verdict::report::across::{Frontier, MemoryStack, Place, Summary, Sweep};

/// Charts of one part that are drawn in full. The numbers of all are in `analysis.json`.
const MOST_FIGURES: usize = 8;

/// One page for each model, and the list of all.
pub(super) struct ModelPage;

impl PageKind for ModelPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        subject::drafts("m", &site.analysis.across.model_summaries, list, |site, summary, path| {
            Ok(DrawnPage::new(ModelOf::new(site, summary).page(site, path)?))
        })
    }
}

/// The page at `m/index.html`.
fn list(site: &Site<'_>) -> Result<DrawnPage, askama::Error> {
    let root = "../";
    let summaries = &site.analysis.across.model_summaries;
    let ways = Ways::of(site);
    let cells = Cells::of(site, |_| true);
    let rows = summaries
        .iter()
        .map(|s| {
            let name = s.name.as_deref().unwrap_or_default();
            let link = ways.model(site, root, name);
            let title = site.model_title(name).or(s.title.as_deref()).unwrap_or_default();
            let machines: Vec<String> = s.machines.iter().map(|key| ways.machine(site, root, Some(key)).text).collect();
            let machine = match machines.as_slice() {
                [_] => {
                    Cell::text(few(&machines)).to(ways.machine(site, root, s.machines.first().map(String::as_str)).href)
                }
                _ => Cell::text(few(&machines)),
            };
            let mut row = vec![
                Cell::text(link.text).to(link.href).under(title),
                machine,
                Cell::text(few(&s.engines)),
                Cell::text(few(&s.campaigns)),
            ];
            row.extend(subject::closing_cells(site, &cells, root, s));
            row
        })
        .collect();
    let mut columns = vec![words("Model"), words("Machine"), words("Engine"), words("Campaign")];
    columns.extend(subject::closing_columns("tok/s, whatever the lengths and the load"));
    let html = List {
        shell: Shell::new("m/index.html", "Models – sparkbench", "models", site)
            .described("Every model that was measured: machines, engines, cells, runs, highest output."),
        title: "Models",
        lead: "Every model that was measured, by the label of its campaigns. Its page shows output against load, waiting times, memory and every cell.",
        sheet: TableSection::new("all", "", "Models", columns, rows),
    }
    .render()?;
    Ok(DrawnPage::new(html))
}

/// Parts of a page.
struct ModelOf<'a> {
    summary: &'a Summary,
    places: Vec<&'a Place>,
    sweeps: Vec<&'a Sweep>,
    frontiers: Vec<&'a Frontier>,
    stacks: Vec<&'a MemoryStack>,
    cells: Cells<'a>,
}

impl<'a> ModelOf<'a> {
    fn new(site: &Site<'a>, summary: &'a Summary) -> Self {
        let across = &site.analysis.across;
        let name = summary.name.as_deref().unwrap_or_default();
        Self {
            summary,
            places: across.places.iter().filter(|p| p.cell.model == name).collect(),
            sweeps: across.sweeps.iter().filter(|s| s.model == name).collect(),
            frontiers: across.frontiers.iter().filter(|f| f.model == name).collect(),
            stacks: across.memory_stacks.iter().filter(|s| s.model == name).collect(),
            cells: Cells::of(site, |(_, model, ..)| model == name),
        }
    }

    fn page(&self, site: &Site<'a>, path: &str) -> Result<String, askama::Error> {
        let name = self.summary.name.as_deref().unwrap_or_default();
        let s = self.summary;
        let ways = Ways::of(site);
        let loads = subject::charts(&self.sweeps, MOST_FIGURES, "load", |id, sweep| {
            Some(across::sweep_figure(site, &self.cells, ROOT, id, sweep))
        });
        let trades = subject::charts(&self.frontiers, MOST_FIGURES, "trade", |id, frontier| {
            let sweep = self.sweeps.iter().find(|sweep| sweep.id == frontier.sweep)?;
            Some(across::frontier_figure(site, &self.cells, ROOT, id, frontier, sweep))
        });
        let stacks = subject::charts(&self.stacks, MOST_FIGURES, "memory", |id, stack| {
            Some(across::memory_figure(site, &self.cells, ROOT, id, stack))
        });
        let parts = [
            ChartSection::new(
                "load",
                "Throughput against load",
                "Cells with the same machine, precision and lengths at several loads, one line per environment and engine. Lines of different campaigns were not run in turns, so their distance is no verdict.",
                self.sweeps.len(),
                loads,
            ),
            ChartSection::new(
                "trade-off",
                "What a user waits for, against what the machine gives",
                "The same cells. A point is on the front when no other is at least as good both ways and better one way. Means of the runs decide.",
                self.frontiers.len(),
                trades,
            ),
            ChartSection::new(
                "memory",
                "Where the memory goes",
                "Weights and KV cache as the runs tell them, of the peak in use or of the device. What no run tells is named, not guessed.",
                self.stacks.len(),
                stacks,
            ),
        ];
        let mut absent = Vec::new();
        if self.sweeps.is_empty() {
            absent.push("No chart of load: no shape of requests was measured at two loads or more by one environment and engine.".to_owned());
        } else if self.frontiers.is_empty() {
            absent.push(
                "No trade-off: fewer than three cells of one shape report a latency beside their output.".to_owned(),
            );
        }
        if self.stacks.is_empty() {
            absent.push("No chart of memory: no run reports weights, KV cache or peak.".to_owned());
        }
        let title = site.model_title(name).or(s.title.as_deref()).filter(|title| *title != name);
        let failed = if s.failed > 0 { format!(", {} failed", s.failed) } else { String::new() };
        let lead = format!(
            "{}{} of {} in {}{failed}.",
            title.map_or_else(String::new, |title| format!("{title}. ")),
            counted(s.runs, "run", "runs"),
            counted(s.cells, "cell", "cells"),
            counted(s.campaigns.len(), "campaign", "campaigns"),
        );
        SubjectPage {
            shell: Shell::new(path, format!("{name} – models – sparkbench"), "models", site)
                .described(format!("Throughput against load, latency, memory and every cell of {name}.")),
            folder: "m",
            all: "Models",
            title: name.to_owned(),
            lead,
            beware: subject::beware(site, &self.places),
            facts: subject::facts(site, None, &self.places),
            parts: parts.into_iter().flatten().collect(),
            absent,
            measured: across::measured(site, &ways, &self.cells, ROOT, &self.places, true).lead(
                "A row for each cell: mean over its runs with the interval of the mean. Every row leads to its runs.",
            ),
            runs: across::run_lists(site, &self.cells, ROOT, &self.places),
        }
        .render()
    }
}
