//! The answer of each campaign on standard output, and with `-v` the design behind it.
//!
//! In:  the analysis.  Out: standard output, and caveats on standard error.
//! Not here: how an answer came about (see `verdict`), the pages.

use std::collections::BTreeMap;

use crate::cli::stdout;
use crate::cli::talk::{Talk, clean};
use sparkbench_model::{Setting, SettingKind};
use sparkbench_text::error::Error;
use sparkbench_text::table;
use sparkbench_verdict::number::{count, fixed, list, significant};
use sparkbench_verdict::report::{Analysis, CampaignReport, Sentence};

/// Prints one campaign: its name, its answer, and what else it says. Caveats and steps are details.
pub(super) fn print(analysis: &Analysis, campaign: &CampaignReport, talk: &Talk) -> Result<(), Error> {
    let of_campaign = || analysis.runs.iter().filter(|run| run.campaign == campaign.name);
    let failed = of_campaign().filter(|run| run.status.word() == "failed").count();
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    line(&format!("{} ({}{failed})", campaign.title, count(campaign.runs, "run")))?;
    let answer = campaign.answer.as_deref().unwrap_or_default();
    if !answer.is_empty() {
        line(&format!("  {answer}"))?;
    }
    let further: Vec<&Sentence> =
        campaign.headline.iter().filter(|sentence| !answer.contains(&sentence.text)).collect();
    // Where nothing is compared, the sentences are few and say what was measured. How far single runs can be believed is always said.
    let brief = analysis.has_verdicts(campaign) || campaign.asked.is_some();
    let is_advice = |sentence: &Sentence| {
        let own = analysis.comparisons.iter().filter(|c| c.campaign == campaign.name);
        let is_own = own.filter_map(|c| c.verdict.advice.as_ref()).any(|advice| *advice == sentence.text);
        sentence.text.starts_with(Sentence::ONE_RUN) || is_own && !analysis.has_verdicts(campaign)
    };
    let mut hidden = 0;
    for sentence in &further {
        if !brief || talk.is_verbose() || is_advice(sentence) {
            line(&format!("  {}", sentence.text))?;
        } else {
            hidden += 1;
        }
        for caveat in &sentence.caveats {
            talk.detail(&format!("    {caveat}"));
        }
    }
    for step in &campaign.next {
        talk.detail(&format!("  next: {}", step.text));
    }
    if talk.is_verbose() {
        return design(analysis, campaign);
    }
    let caveats: usize = campaign.headline.iter().map(|sentence| sentence.caveats.len()).sum();
    let parts: Vec<String> = [(hidden, "further sentence"), (caveats, "caveat")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| count(n, what))
        .collect();
    if !parts.is_empty() {
        talk.say(&format!("  {}, listed with -v", list(&parts)));
    }
    Ok(())
}

fn line(text: &str) -> Result<(), Error> {
    stdout::print(&format!("{}\n", clean(&text.replace(['\n', '\r'], " "))))
}

/// What varies, what goes together, what is averaged over what, and the arms in order.
fn design(analysis: &Analysis, campaign: &CampaignReport) -> Result<(), Error> {
    for factor in &campaign.factors {
        let asked = campaign.asked.as_ref().is_some_and(|asked| asked.factor == factor.name);
        let role = match factor.kind {
            SettingKind::Load => "load",
            SettingKind::Treatment if asked => "compared",
            SettingKind::Treatment => "compared within each",
        };
        let with: Vec<String> = factor.aliased_with.iter().map(|name| Setting::label_of(name)).collect();
        let with = if with.is_empty() { String::new() } else { format!(". With it change: {}", with.join(", ")) };
        let levels = factor.levels.join(", ");
        line(&format!("  {} ({role}): {levels}{with}", Setting::label_of(&factor.name)))?;
    }
    let mut cells: BTreeMap<&str, usize> = BTreeMap::new();
    for run in analysis.runs.iter().filter(|run| run.campaign == campaign.name && !run.cell.is_empty()) {
        *cells.entry(&run.cell).or_default() += 1;
    }
    if let (Some(least), Some(most)) = (cells.values().min(), cells.values().max()) {
        let each = if least == most { count(*most, "run") } else { format!("{least} to {most} runs") };
        line(&format!("  {} of {each} each. Figures are means over the runs of a cell", count(cells.len(), "cell")))?;
    }
    let several = campaign.models.len() > 1;
    let rows: Vec<Vec<String>> = campaign
        .ranking
        .iter()
        .map(|ranking| {
            let place =
                if several { format!("{} {}", ranking.model, ranking.workload) } else { ranking.workload.clone() };
            let mut row = vec![format!("  {place}"), format!("{}, {}", ranking.label, ranking.unit)];
            row.extend(ranking.arms.iter().enumerate().map(|(k, arm)| {
                let ratio = if k == 0 { String::new() } else { format!(" ({} times)", fixed(arm.ratio, 2)) };
                format!("{} {}{ratio}", arm.arm, significant(arm.mean, 4))
            }));
            row
        })
        .collect();
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    // Every row as long as the longest, so that none is taken for a sentence.
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|mut row| {
            row.resize(most, String::new());
            row
        })
        .collect();
    stdout::print(&clean(&table::lines(&rows)))
}
