//! The order in which the environments of a campaign took turns.
//!
//! In:  the order that `verdict` found.  Out: a sentence, and a cell a run.
//! Not here: whether the order undermines anything (see the traps).

use std::collections::BTreeSet;

use crate::page::figure;
use crate::page::number::{self, fixed};
use sparkbench_verdict::report::CampaignReport;

/// The order of the arms.
pub(crate) struct OrderView {
    pub sentence: String,
    pub detail: String,
    pub cells: Vec<(usize, String)>,
    pub label: String,
}

/// The order of the arms of one model and workload. Absent where it is unknown.
pub(crate) fn order(campaign: &CampaignReport, model: &str, workload: &str) -> Option<OrderView> {
    let order = campaign.order.iter().find(|o| o.model == model && o.workload == workload)?;
    let mut detail = Vec::new();
    if let Some(share) = order.balanced_share {
        detail.push(format!(
            "{} % of the groups of neighbouring runs contain each environment once",
            fixed(100.0 * share, 0)
        ));
    }
    if let Some(p) = order.p_too_few {
        let p = number::p(p);
        let equals = if p.starts_with('<') { "" } else { "= " };
        detail.push(format!("A random order would change the environment as seldom with p {equals}{p}"));
    }
    let stretches = figure::stretches(&order.sequence);
    let label = stretches.iter().map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", then ");
    let all = environments(campaign);
    let letters = initials(&all);
    let cells = order
        .sequence
        .iter()
        .map(|name| {
            let place = all.iter().position(|e| *e == name).unwrap_or(0);
            (place.min(5), short(name, letters))
        })
        .collect();
    Some(OrderView {
        sentence: figure::order_sentence(&order.kind, &order.sequence),
        detail: detail.join(". "),
        cells,
        label,
    })
}

/// The first letters of a name, the first of them large.
fn short(name: &str, letters: usize) -> String {
    let mut rest = name.chars();
    let first = rest.next().unwrap_or('?').to_uppercase().to_string();
    first + &rest.take(letters - 1).collect::<String>()
}

/// How many letters distinguish the names, two at most: a third has no room.
fn initials(names: &[&String]) -> usize {
    let distinct: BTreeSet<String> = names.iter().map(|name| short(name, 1)).collect();
    if distinct.len() == names.len() { 1 } else { 2 }
}

/// The baseline, then the others by name: the order of the palette.
fn environments(campaign: &CampaignReport) -> Vec<&String> {
    let mut all: Vec<&String> = campaign.environments.iter().collect();
    all.sort_by_key(|e| (Some(e.as_str()) != campaign.baseline.as_deref(), e.as_str()));
    all
}
