//! Figures that others published about a campaign, recomputed from its rows.
//!
//! In:  published cells, the groups.  Out: [`PublishedCheck`], one a cell, and a sentence.
//! Not here: opinion. A figure reproduces when it agrees to every printed digit.

use super::number::{capital, count, fixed};
use super::report::{Group, PublishedCheck};
use sparkbench_model::{Campaign, Metric, PublishedCell, within};

/// Half a unit in the last printed place, and a hair for binary fractions such as 120.265.
const SLACK: f64 = 1e-6;

/// Recomputes every published cell of a campaign.
pub(crate) fn check(campaign: &Campaign, groups: &[Group]) -> Vec<PublishedCheck> {
    campaign.published.iter().map(|cell| one(cell, campaign, groups)).collect()
}

/// `32 of 33 published figures reproduce from the rows`, with what must be known about it.
pub(crate) fn summary(checks: &[PublishedCheck]) -> Option<String> {
    if checks.is_empty() {
        return None;
    }
    let good = checks.iter().filter(|c| c.reproduces).count();
    let mut text =
        format!("{good} of {} reproduce from the rows to the printed digit", count(checks.len(), "published figure"));
    let mut notes: Vec<&str> =
        checks.iter().filter(|c| c.reproduces).flat_map(|c| c.note.iter().flat_map(|n| n.split("; "))).collect();
    notes.sort_unstable();
    notes.dedup();
    for note in notes {
        text.push_str(". ");
        text.push_str(&capital(note));
    }
    for miss in checks.iter().filter(|c| !c.reproduces) {
        let metric = Metric::find(&miss.metric).map_or_else(|| miss.metric.clone(), |m| within(&m.label));
        text.push_str(&format!(
            ". The {} of {metric} for {} was printed as {} and comes out as {}",
            in_words(&miss.statistic),
            miss.model,
            miss.printed,
            miss.rounded.as_deref().unwrap_or("nothing")
        ));
    }
    Some(text)
}

/// A published statistic as a sentence names it.
fn in_words(statistic: &str) -> &str {
    match statistic {
        "sd" => "standard deviation",
        "loss_pct" => "difference in per cent",
        other => other,
    }
}

fn one(cell: &PublishedCell, campaign: &Campaign, groups: &[Group]) -> PublishedCheck {
    let find = |environment: &str| {
        groups.iter().find(|g| {
            g.campaign == campaign.name
                && g.model == cell.model
                && g.metric == cell.metric
                && g.environment == environment
        })
    };
    let candidate = find(&cell.environment);
    let baseline = cell.against.as_deref().and_then(find);
    let printed = cell.printed.trim().trim_end_matches('%').trim_start_matches('+').trim().replace('\u{2212}', "-");
    let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    let candidates = values(&cell.statistic, candidate, baseline);
    let target: Option<f64> = printed.parse().ok();
    let tolerance = 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap_or(0)) + SLACK;
    let agrees = |value: f64| target.is_some_and(|t| (value - t).abs() <= tolerance);
    let chosen = candidates.iter().find(|(value, _)| agrees(*value)).or_else(|| candidates.first());
    let n = candidate.map_or(0, |g| g.n) + baseline.map_or(0, |g| g.n);
    let mut notes: Vec<String> = chosen.and_then(|(_, note)| note.map(str::to_owned)).into_iter().collect();
    if let Some(planned) = campaign.planned_repeats {
        for group in [candidate, baseline].into_iter().flatten() {
            if group.n != planned as usize {
                notes.push(format!(
                    "the {} {} arm only with all its {} where {planned} were planned",
                    group.model,
                    group.environment,
                    count(group.n, "run"),
                ));
            }
        }
    }
    PublishedCheck {
        model: cell.model.clone(),
        environment: cell
            .against
            .as_ref()
            .map_or_else(|| cell.environment.clone(), |against| format!("{} against {against}", cell.environment)),
        metric: cell.metric.clone(),
        statistic: cell.statistic.clone(),
        printed: cell.printed.clone(),
        recomputed: chosen.map(|(value, _)| *value),
        rounded: chosen.map(|(value, _)| fixed(*value, decimals)),
        reproduces: chosen.is_some_and(|(value, _)| agrees(*value)),
        n,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        source: cell.source.clone(),
    }
}

/// What a statistic can mean, the likeliest reading first. A standard deviation may have been divided by n or by n - 1.
fn values(statistic: &str, candidate: Option<&Group>, baseline: Option<&Group>) -> Vec<(f64, Option<&'static str>)> {
    let mean = |group: Option<&Group>| group.and_then(|g| g.mean);
    match statistic {
        "mean" => mean(candidate).map(|m| (m, None)).into_iter().collect(),
        "sd" => {
            let Some((group, sd)) = candidate.and_then(|g| Some((g, g.sd?))) else { return Vec::new() };
            let n = group.n as f64;
            vec![(sd, None), (sd * ((n - 1.0) / n).sqrt(), Some("its standard deviations divide by n, not n - 1"))]
        }
        "difference" => mean(candidate).zip(mean(baseline)).map(|(c, b)| (c - b, None)).into_iter().collect(),
        "loss_pct" => mean(candidate)
            .zip(mean(baseline))
            .filter(|(_, b)| *b != 0.0)
            .map(|(c, b)| (100.0 * (b - c) / b, None))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}
