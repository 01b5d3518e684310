//! The rows of groups: one metric of one cell over its runs, and its percentiles over requests.
//!
//! In:  groups.  Out: [`GroupView`]s and [`PercentileView`]s.
//! Not here: which groups a page shows.

use super::{ROOT, cell, with_unit};
use crate::page::index::Site;
use crate::page::labels;
use crate::page::link::{Link, run_href};
use crate::page::number::{self, ABSENT, decimals, fixed, signed};
use sparkbench_verdict::report::{CampaignReport, Group};

/// One metric of one cell, as a row.
pub(crate) struct GroupView {
    /// Of its row on the page of its campaign.
    pub anchor: String,
    pub cell: String,
    pub environment: String,
    pub metric: String,
    pub unit: &'static str,
    pub n: String,
    /// Leads to its runs.
    pub mean: Link,
    pub interval: String,
    pub sd: String,
    pub cv: String,
    pub median: String,
    pub median_interval: String,
    pub range: String,
    pub tails: String,
    pub shape: String,
    pub drift: String,
    pub lag: String,
    pub outliers: Vec<Link>,
    pub flags: String,
}

/// One percentile over the requests of one cell, as a row.
pub(super) struct PercentileView {
    pub cell: String,
    pub environment: String,
    pub metric: String,
    pub percentile: &'static str,
    pub estimate: String,
    pub mean_of_runs: String,
    pub interval: String,
    pub interval_of: &'static str,
    pub requests: String,
    pub runs: usize,
    pub flags: String,
}

/// Where the runs of a group are listed: on the page of its cell, else on this one.
pub(super) fn runs_of(site: &Site<'_>, g: &Group) -> String {
    site.cell(&g.campaign, &g.model, &g.workload)
        .map_or_else(|| "#runs".to_owned(), |path| format!("{ROOT}{path}#runs"))
}

/// The row of a group. `root` leads from the page to the site's folder, `runs` to where the runs of the group are listed.
pub(crate) fn group(site: &Site<'_>, root: &str, campaign: &CampaignReport, g: &Group, runs: String) -> GroupView {
    let digits = g.t_interval.map_or_else(|| g.sd.map_or(2, decimals), |ci| decimals((ci.high - ci.low) / 2.0));
    let show = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |v| fixed(v, digits));
    let mut n = g.n.to_string();
    if g.n_missing > 0 {
        n.push_str(&format!(" ({} missing)", g.n_missing));
    }
    if g.n_infinite > 0 {
        n.push_str(&format!(" ({} infinite)", g.n_infinite));
    }
    let end = |value: Option<f64>| value.map_or_else(|| "unbounded".to_owned(), |v| fixed(v, digits));
    let interval = g.median_interval;
    let median_interval = if interval.low.is_none() && interval.high.is_none() {
        String::new()
    } else {
        format!("[{}, {}]", end(interval.low), end(interval.high))
    };
    let drift = match (g.drift.drift_pct, g.drift.p) {
        (Some(percent), Some(p)) => format!("{} % (p {})", signed(percent, decimals(percent)), number::p(p)),
        (Some(percent), None) => format!("{} %", signed(percent, decimals(percent))),
        _ => ABSENT.into(),
    };
    let lag = match (g.drift.lag1, g.drift.effective_n) {
        (Some(r), Some(n)) => format!("{} → {}", fixed(r, 2), fixed(n, 1)),
        _ => ABSENT.into(),
    };
    let mut outliers: Vec<&String> =
        g.outliers.mad.iter().chain(&g.outliers.tukey).chain(&g.outliers.three_sigma).collect();
    outliers.sort();
    outliers.dedup();
    let mut flags: Vec<String> = g.flags.iter().map(|f| labels::flag(f)).collect();
    if g.drift.autocorrelated {
        flags.push("neighbouring runs are alike".into());
    }
    if !g.outliers.three_sigma_can_fire && g.n >= 3 {
        flags.push(format!("3 sigma cannot fire at n = {}", g.n));
    }
    GroupView {
        anchor: site.group_anchor(g).to_owned(),
        cell: cell(campaign, &g.model, &g.workload),
        environment: g.environment.clone(),
        metric: labels::metric(&g.metric),
        unit: g.unit,
        n,
        mean: Link { href: g.mean.map(|_| runs), text: show(g.mean) },
        interval: g.t_interval.map_or_else(String::new, |ci| number::ends(ci, digits)),
        sd: g.sd.map_or_else(|| ABSENT.to_owned(), |sd| fixed(sd, decimals(sd))),
        cv: g.cv_pct.map_or_else(|| ABSENT.to_owned(), |cv| fixed(cv, decimals(cv))),
        median: show(g.median),
        median_interval,
        range: between(show(g.min), show(g.max)),
        tails: between(show(g.p5), show(g.p95)),
        shape: match (g.skewness, g.shapiro_p) {
            (Some(skew), Some(p)) => format!("{} · {}", fixed(skew, 2), number::p(p)),
            (Some(skew), None) => fixed(skew, 2),
            _ => ABSENT.into(),
        },
        drift,
        lag,
        outliers: outliers.into_iter().map(|id| Link { href: Some(run_href(root, id)), text: id.clone() }).collect(),
        flags: flags.join(" · "),
    }
}

/// The percentiles over requests that a group has.
pub(super) fn percentiles(campaign: &CampaignReport, g: &Group) -> Vec<PercentileView> {
    g.request_percentiles
        .iter()
        .map(|p| {
            let digits = p.interval.map_or_else(|| decimals(p.estimate), |ci| decimals((ci.high - ci.low) / 2.0));
            PercentileView {
                cell: cell(campaign, &g.model, &g.workload),
                environment: g.environment.clone(),
                metric: with_unit(&g.metric),
                percentile: p.percentile,
                estimate: fixed(p.estimate, digits),
                mean_of_runs: fixed(p.mean_of_runs, digits),
                interval: p.interval.map_or_else(|| ABSENT.to_owned(), |ci| number::ends(ci, digits)),
                interval_of: match p.interval_of {
                    Some("mean-of-runs") => "mean of the runs' own",
                    Some(_) => "all requests",
                    None => "",
                },
                requests: number::count(p.requests as u64),
                runs: p.runs,
                flags: p.flags.iter().map(|f| labels::flag(f)).collect::<Vec<_>>().join(" · "),
            }
        })
        .collect()
}

/// A range, or the dash where there is none.
fn between(low: String, high: String) -> String {
    if low == ABSENT && high == ABSENT { low } else { format!("{low} to {high}") }
}
