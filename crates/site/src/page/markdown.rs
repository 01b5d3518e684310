//! The report as Markdown: for repositories, pull requests and readers of plain text.
//!
//! In:  the analysis.  Out: `data/ANALYSIS.md`.
//! Not here: our own words about results. All sentences come from `verdict`.

use std::fmt::Write;

use super::comparison::RowView;
use super::index::{Site, by_trap};
use super::labels::{self, counted};
use super::number::{plain, plain_or};
use super::traps::{led, subject};
use super::{Page, front};
use sparkbench_text::escape::{code, markdown as escape};
use sparkbench_verdict::report::{CampaignReport, Comparison, Sentence, Severity, TrapStatus};

/// The whole report.
pub(super) fn page(site: &Site<'_>) -> Page {
    let mut out = String::new();
    // Writing to a string cannot fail, so the results of `write!` are dropped throughout.
    let _ = writeln!(out, "# Analysis\n");
    let _ = writeln!(
        out,
        "Made by {} {} at {} % confidence, {} bootstrap draws, seed {}. {} in {}.\n",
        site.analysis.tool.name,
        site.analysis.tool.version,
        plain(100.0 * site.analysis.settings.confidence),
        site.analysis.settings.resamples,
        site.analysis.settings.seed,
        counted(site.analysis.runs.len(), "run", "runs"),
        counted(site.analysis.campaigns.len(), "campaign", "campaigns"),
    );
    if !site.extras.reproduce.is_empty() {
        let _ = writeln!(out, "Make it again: {}\n", code(&site.extras.reproduce));
    }
    for campaign in site.campaigns() {
        section(&mut out, site, campaign);
    }
    let skipped: Vec<_> = site.analysis.inputs.iter().filter(|i| i.skipped).collect();
    if !skipped.is_empty() {
        let _ = writeln!(out, "## Left out\n");
        for input in skipped {
            let _ = writeln!(
                out,
                "- {}: {}",
                escape(&input.path),
                escape(input.reason.as_deref().unwrap_or("no reason recorded"))
            );
        }
        out.push('\n');
    }
    Page::new("data/ANALYSIS.md", out)
}

fn section(out: &mut String, site: &Site<'_>, campaign: &CampaignReport) {
    let _ = writeln!(out, "## {}\n\n{}\n", escape(&campaign.title), escape(&front::eyebrow(site, campaign)));
    if let Some(question) = &campaign.question {
        let _ = writeln!(out, "> {}\n", escape(question));
    }
    for sentence in &campaign.headline {
        let _ = writeln!(out, "{}\n", escape(&sentence.text));
    }
    sentences(out, "What the rows support", &campaign.supported);
    sentences(out, "What they do not support", &campaign.unsupported);
    let names = site.names();
    let steps =
        campaign.next.iter().map(|step| Sentence { text: labels::sentence(&step.text, &names), ..step.clone() });
    sentences(out, "What to do next", &steps.collect::<Vec<_>>());
    comparisons(out, site, campaign);
    traps(out, site, campaign);
    published(out, campaign);
    let _ = writeln!(out, "Archive SHA-256: `{}`\n", campaign.archive_sha256);
}

fn sentences(out: &mut String, heading: &str, sentences: &[Sentence]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(out, "### {heading}\n");
    for sentence in sentences {
        let _ = writeln!(out, "- {}", escape(&sentence.text));
    }
    out.push('\n');
}

fn comparisons(out: &mut String, site: &Site<'_>, campaign: &CampaignReport) {
    let all: Vec<&Comparison> = site.comparisons(&campaign.name).into_iter().map(|(_, c)| c).collect();
    table(out, "Comparisons", "", &all);
    let pooled: Vec<&Comparison> = campaign.pooled.iter().collect();
    let why = "The launch path shows that several labels ran one model. These comparisons take the rows for what they \
               then are: runs of the same workload.";
    table(out, "Read as one workload", why, &pooled);
}

/// Comparisons as a table, and their verdicts in words below it.
fn table(out: &mut String, heading: &str, lead: &str, all: &[&Comparison]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "### {heading}\n");
    if !lead.is_empty() {
        let _ = writeln!(out, "{lead}\n");
    }
    let _ = writeln!(
        out,
        "| model | workload | metric | baseline (n) | candidate (n) | change | Holm p | smallest margin | verdict |"
    );
    let _ = writeln!(out, "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |");
    for c in all {
        let row = RowView::new("", c);
        let _ = writeln!(
            out,
            "| {} | {} | {} ({}) | {} ({}) | {} ({}) | {} {} | {} | {} | {} |",
            escape(&c.model),
            escape(&c.workload),
            escape(&row.label),
            escape(row.unit),
            row.baseline,
            row.n_baseline,
            row.candidate,
            row.n_candidate,
            row.change,
            row.change_ci,
            row.holm,
            row.smallest,
            row.badge.word
        );
    }
    out.push('\n');
    for c in all {
        let caveats = match c.verdict.caveats.as_slice() {
            [] => String::new(),
            caveats => format!(" Caveats: {}.", caveats.join(", ")),
        };
        let _ = writeln!(
            out,
            "- {} {}, {}: {}.{}",
            escape(&c.model),
            escape(&c.workload),
            escape(&c.label),
            escape(&c.verdict.said),
            escape(&caveats)
        );
    }
    out.push('\n');
}

fn traps(out: &mut String, site: &Site<'_>, campaign: &CampaignReport) {
    let traps = site.traps(&campaign.name);
    let names = site.names();
    if traps.is_empty() {
        return;
    }
    let _ = writeln!(out, "### Checks\n\n{}\n", front::strip("", &traps).line);
    let mut fired: Vec<_> = traps.iter().filter(|t| t.status == TrapStatus::Fired).collect();
    fired.sort_by_key(|t| t.severity);
    for trap in fired {
        let severity = match trap.severity {
            Severity::Error => "**error**",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let subject = subject(site, &trap.subject);
        let (led, message) = led(&subject, &trap.message);
        let place = if led { format!(" ({})", escape(&subject)) } else { String::new() };
        let said = [message, &trap.remedy].map(|text| escape(&labels::sentence(text, &names)));
        let _ = writeln!(out, "{}", format!("- {severity}: {}{place}. {}", trap.title, said.join(" ")).trim_end());
    }
    let unknown: Vec<&str> = by_trap(&traps)
        .iter()
        .filter(|(_, reports)| reports.iter().all(|r| r.status == TrapStatus::NotEvaluated))
        .filter_map(|(_, reports)| Some(reports.first()?.title))
        .collect();
    if !unknown.is_empty() {
        let _ = writeln!(out, "\nCould not be evaluated: {}.", unknown.join(", "));
    }
    out.push('\n');
}

fn published(out: &mut String, campaign: &CampaignReport) {
    if campaign.published.is_empty() {
        return;
    }
    let _ = writeln!(out, "### Published figures, recomputed\n");
    if let Some(summary) = &campaign.published_summary {
        let _ = writeln!(out, "{}\n", escape(summary));
    }
    let _ =
        writeln!(out, "| model | environment | metric | statistic | printed | recomputed | n | reproduces | note |");
    let _ = writeln!(out, "| --- | --- | --- | --- | ---: | ---: | ---: | --- | --- |");
    for check in &campaign.published {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            escape(&check.model),
            escape(&check.environment),
            escape(&labels::metric(&check.metric)),
            escape(&labels::statistic(&check.statistic)),
            escape(&check.printed),
            check.rounded.clone().unwrap_or_else(|| plain_or(check.recomputed)),
            check.n,
            if check.reproduces { "yes" } else { "no" },
            escape(check.note.as_deref().unwrap_or("")),
        );
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use sparkbench_text::escape::markdown;

    /// Pieces that mean something in Markdown, alone or beside each other.
    const PARTS: [&str; 27] = [
        "a", "1", " ", "\n", "\\", "`", "*", "_", "[", "]", "(", ")", "<", "|", "#", "~", "!", "&", "&lt;", "$", "+",
        "-", "=", ".", ":", "@", "http://",
    ];

    /// Where a text may stand: before it, after it, and the words of both.
    const PLACES: [(&str, &str, &str, &str); 5] = [
        ("", "\n", "", ""),
        ("- x ", "\n", "x ", ""),
        ("### ", "\n", "", ""),
        ("x\n", "\n", "x ", ""),
        ("| a | b |\n|---|---|\n| ", " | y |\n", "a b ", " y"),
    ];

    /// The words that a reader with GitHub's extensions finds, without zero-width spaces. Anything but our own elements is refused.
    fn words(markdown: &str) -> String {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_MATH
            | Options::ENABLE_GFM;
        let mut shown = String::new();
        for event in Parser::new_ext(markdown, options) {
            match event {
                Event::Text(text) => shown.push_str(&text.replace('\u{200b}', "")),
                Event::SoftBreak | Event::End(TagEnd::TableCell) => shown.push(' '),
                // The tag that keeps a dollar sign by itself.
                Event::InlineHtml(tag) if matches!(&*tag, "<span>" | "</span>") => {}
                Event::Start(
                    Tag::Paragraph
                    | Tag::Heading { .. }
                    | Tag::List(None)
                    | Tag::Item
                    | Tag::Table(_)
                    | Tag::TableHead
                    | Tag::TableRow
                    | Tag::TableCell,
                )
                | Event::End(_) => {}
                other => panic!("{markdown:?} became {other:?}"),
            }
        }
        plain(&shown)
    }

    fn plain(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_text_is_shown_as_it_is_wherever_it_stands() {
        for a in PARTS {
            for b in PARTS {
                for c in PARTS {
                    let text = format!("{a}{b}{c}");
                    let escaped = markdown(&text);
                    for (before, after, first, last) in PLACES {
                        let whole = format!("{before}{escaped}{after}");
                        assert_eq!(words(&whole), plain(&format!("{first}{text}{last}")), "{whole:?}");
                    }
                }
            }
        }
    }
}
