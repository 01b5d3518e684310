//! The verdicts of `compare` as Markdown, for a comment on a pull request.
//!
//! In:  the comparisons that are shown, the names of both sides, the decision.  Out: text.
//! Not here: the decision (see the verb).

use crate::cli::outcome::Outcome;
use sparkbench_text::escape::markdown as escape;
use sparkbench_verdict::number::{count, list, significant};
use sparkbench_verdict::report::{Analysis, Comparison, Essential, Scope};

/// First line of the Markdown. Shown by nobody.
pub(super) const MARK: &str = "<!-- sparkbench compare -->";

/// The decision, each verdict as a row, then decode and memory.
pub(super) fn draw(shown: &[&Comparison], names: &[String], gate: Outcome, analysis: &Analysis) -> String {
    // By its first line a workflow finds the comment that it made before, and changes it in place of adding another.
    let (base, candidates) = names.split_first().map_or(("", &[][..]), |(base, rest)| (base.as_str(), rest));
    let several = candidates.len() > 1;
    let mut text = format!("{MARK}\n### {} against {}\n\n", escape(&list(candidates)), escape(base));
    let worst = match gate {
        Outcome::Refused => "**Worse beyond the margin.**",
        Outcome::Undecided => "**Undecided.**",
        Outcome::Done => "**No regression beyond the margin.**",
    };
    text.push_str(worst);
    text.push_str("\n\n<details><summary>Verdicts</summary>\n\n| model | workload | metric | verdict | in words |\n|---|---|---|---|---|\n");
    for c in shown {
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            escape(&c.model),
            escape(&match c.scope {
                Scope::Load => c.workload.clone(),
                Scope::AllLoads => format!("all {}", count(c.loads.len(), "load")),
            }),
            escape(&if several { format!("{}: {}", c.candidate, c.label) } else { c.label.clone() }),
            c.verdict.word(),
            escape(&c.verdict.said)
        ));
    }
    text.push_str("\n</details>\n\n");
    text.push_str(&essentials(analysis));
    text.push_str(&format!("sparkbench {}, seed {}\n", analysis.tool.version, analysis.settings.seed));
    text
}

/// Decode and memory of both sides, an empty cell with its reason.
fn essentials(analysis: &Analysis) -> String {
    let rows: Vec<&Essential> = analysis.campaigns.iter().flat_map(|campaign| &campaign.essentials).collect();
    let Some(first) = rows.first() else { return String::new() };
    let mut text = String::from("<details><summary>Decode and memory</summary>\n\n| model | workload | environment |");
    first.cells.iter().for_each(|c| text.push_str(&format!(" {} ({}) |", escape(&c.label), escape(c.unit))));
    text.push_str(&format!("\n|---|---|---|{}\n", "---|".repeat(first.cells.len())));
    for row in rows {
        text.push_str(&format!(
            "| {} | {} | {} |",
            escape(&row.model),
            escape(&row.workload),
            escape(&row.environment)
        ));
        for c in &row.cells {
            let figure = match (c.mean, &c.empty) {
                (Some(mean), None) => format!("{}, n = {}", significant(mean, 5), c.n),
                (_, why) => why.clone().unwrap_or_default(),
            };
            text.push_str(&format!(" {} |", escape(&figure)));
        }
        text.push('\n');
    }
    text.push_str("\n</details>\n\n");
    text
}
