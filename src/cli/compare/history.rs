//! `compare --against history`: the newest campaign against the last stable stretch of each of its series.
//!
//! In:  series over time.  Out: a verdict each, in the terminal, as Markdown and as JSON, and the decision of the gate.
//! Not here: the rule (see `verdict::change`).

use std::path::PathBuf;

use serde::Serialize;

use super::markdown::MARK;
use crate::cli::outcome::Outcome;
use crate::cli::series::{Following, Source, sources};
use crate::cli::talk::Talk;
use sparkbench_text::error::Error;
use sparkbench_text::escape::markdown as escape;
use sparkbench_verdict::change::{self, LEAST_STRETCH};
use sparkbench_verdict::history::Figures;
use sparkbench_verdict::number::{count, significant};
use sparkbench_verdict::report::series::{NewestKind, NewestReport, PointName};

/// Schema of the JSON.
const SCHEMA: &str = "sparkbench.compare.history/1";

/// Labels that changed and are listed. The rest is counted.
const LISTED: usize = 4;

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct NewestVerdicts {
    schema: &'static str,
    /// `passed`, `regression` or `undecided`: exit codes 0, 1 and 6.
    gate: &'static str,
    /// One for each series of the newest campaign that has a stretch.
    verdicts: Vec<NewestReport>,
    /// Series with too few points before the newest, or whose machine no file names.
    left_out: Vec<LeftOut>,
    #[serde(skip)]
    decision: Outcome,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    subject: String,
    metric: String,
    because: String,
}

/// Reads the series and judges the newest point of each.
///
/// # Errors
/// No series in any path.
pub(super) fn judge(paths: &[PathBuf], asked: &Following, talk: &Talk) -> Result<NewestVerdicts, Error> {
    let sources = of_newest(sources(paths, asked, Figures::Primary, talk)?);
    let (mut verdicts, mut left_out) = (Vec::new(), Vec::new());
    for source in &sources {
        let series = &source.series;
        let leave =
            |because: String| LeftOut { subject: series.subject.clone(), metric: series.metric.clone(), because };
        if !source.one_machine {
            left_out.push(leave("no file names the machine, so the series may mix two machines".to_owned()));
            continue;
        }
        match change::newest(series, source.margin_pct, asked.seed) {
            Some(report) => verdicts.push(report),
            None => left_out.push(leave(format!(
                "only {} before the newest, at least {LEAST_STRETCH} are needed",
                count(series.points.len().saturating_sub(1), "point")
            ))),
        }
    }
    let is = |kind: NewestKind| verdicts.iter().any(|v| v.kind == kind);
    let (decision, gate) = if is(NewestKind::Worse) {
        (Outcome::Refused, "regression")
    } else if verdicts.is_empty() || !left_out.is_empty() || is(NewestKind::Undecided) {
        (Outcome::Undecided, "undecided")
    } else {
        (Outcome::Done, "passed")
    };
    Ok(NewestVerdicts { schema: SCHEMA, gate, verdicts, left_out, decision })
}

/// Series of campaigns whose last point is the newest campaign. A cell that it did not measure has nothing new. Tables have one newest row.
fn of_newest(sources: Vec<Source>) -> Vec<Source> {
    let last = |source: &Source| source.series.points.last().map(|point| (point.time.clone(), point.name.clone()));
    let of_campaigns =
        |source: &Source| source.series.points.last().is_some_and(|point| point.name.is_some() && point.n.is_some());
    let newest = sources.iter().filter(|source| of_campaigns(source)).filter_map(last).max();
    let Some((_, newest)) = newest else { return sources };
    let own = |source: &Source| !of_campaigns(source) || last(source).is_some_and(|(_, name)| name == newest);
    sources.into_iter().filter(own).collect()
}

impl NewestVerdicts {
    /// The decision of the gate.
    pub(super) const fn decision(&self) -> Outcome {
        self.decision
    }

    /// As JSON.
    ///
    /// # Errors
    /// A figure that cannot be written.
    pub(super) fn json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|cause| Error::archive("the verdicts cannot be written as JSON").because(cause))?;
        Ok(text + "\n")
    }

    /// Two lines for each series, then the decision.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for one in &self.verdicts {
            text.push_str(&format!("{}\n  {:<10} {}\n", heading(&one.subject, &one.metric), word(one.kind), said(one)));
        }
        for one in &self.left_out {
            text.push_str(&format!("{}\n  {:<10} {}\n", heading(&one.subject, &one.metric), "undecided", one.because));
        }
        text + self.decided() + "\n"
    }

    const fn decided(&self) -> &'static str {
        match self.decision {
            Outcome::Refused => "Worse than the last stable period, beyond the margin.",
            Outcome::Undecided => "No verdict on some series.",
            Outcome::Done => "No regression against the last stable period.",
        }
    }

    /// For a comment on a pull request.
    pub(super) fn markdown(&self) -> String {
        let newest = self.verdicts.first().map_or_else(|| "newest".to_owned(), |one| called(&one.newest).to_owned());
        let mut text = format!("{MARK}\n### {} against history\n\n**{}**\n\n", escape(&newest), self.decided());
        text.push_str(
            "<details><summary>Verdicts</summary>\n\n| series | metric | verdict | in words |\n|---|---|---|---|\n",
        );
        for one in &self.verdicts {
            let (subject, metric) = (escape(&one.subject), escape(&one.metric));
            text.push_str(&format!("| {subject} | {metric} | {} | {} |\n", word(one.kind), escape(&said(one))));
        }
        for one in &self.left_out {
            let (subject, metric) = (escape(&one.subject), escape(&one.metric));
            text.push_str(&format!("| {subject} | {metric} | undecided | {} |\n", escape(&one.because)));
        }
        text + "\n</details>\n"
    }
}

fn heading(subject: &str, metric: &str) -> String {
    if subject.is_empty() { metric.to_owned() } else { format!("{subject} · {metric}") }
}

const fn word(kind: NewestKind) -> &'static str {
    match kind {
        NewestKind::Worse => "worse",
        NewestKind::Better => "better",
        NewestKind::Moved => "moved",
        NewestKind::Steady => "steady",
        NewestKind::Undecided => "undecided",
    }
}

/// `12 ms is 19.8 % more than the mean of 6 points since c6 (10.02 ms). One more such point would lie in [9.7, 10.3].`
fn said(one: &NewestReport) -> String {
    let unit = if one.unit.is_empty() { String::new() } else { format!(" {}", one.unit) };
    let figure = |value: f64| format!("{}{unit}", significant(value, 4));
    let against = match one.change_pct {
        Some(pct) => {
            let more = if pct < 0.0 { "less" } else { "more" };
            match significant(pct.abs(), 3).as_str() {
                "0" => format!("{} is", figure(one.newest.value)),
                by => format!("{} is {by} % {more} than", figure(one.newest.value)),
            }
        }
        None => format!("{} against", figure(one.newest.value)),
    };
    let (low, high) = one.prediction;
    let mut text = format!(
        "{against} the mean of {} since {} ({}).",
        count(one.stretch.n, "point"),
        called(&one.first),
        figure(one.stretch.mean)
    );
    if low.is_finite() && high.is_finite() {
        let (low, high) = (significant(low, 4), significant(high, 4));
        text.push_str(&format!(" One more such point would lie in [{low}, {high}]."));
    }
    let is_news = matches!(one.kind, NewestKind::Worse | NewestKind::Better | NewestKind::Moved);
    let mut with: Vec<String> = one
        .changed
        .iter()
        .filter(|label| is_news && label.name != "commit" && label.name != "campaign")
        .map(|label| format!("{} {} → {}", label.name, label.before, label.after))
        .collect();
    let more = with.len().saturating_sub(LISTED);
    with.truncate(LISTED);
    if !with.is_empty() {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!(" Changed with it: {}{more}.", with.join(", ")));
    }
    text
}

fn called(point: &PointName) -> &str {
    point.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&point.time)
}
