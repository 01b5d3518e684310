//! The method applied to identical arms, as a part of the method page.
//!
//! In:  the reports of `verdict`.  Out: rows and sentences.
//! Not here: any number.

use super::index::Site;
use super::labels::{self, Badge, counted};
use super::link::Link;
use super::number::{count, fixed, plain};
use sparkbench_verdict::report::{CalibrationArm, CalibrationReport};

/// Outcome of one campaign.
pub(super) struct CampaignView {
    /// Its name, with a link to its page.
    pub campaign: Link,
    pub finding: String,
    /// Arm by arm.
    pub arms: Vec<ArmView>,
}

/// One arm.
pub(super) struct ArmView {
    /// Model and workload.
    pub cell: String,
    pub environment: String,
    /// Metric, for people.
    pub metric: String,
    pub n: usize,
    /// Random halves called different, of how many.
    pub different: String,
    /// Called equivalent.
    pub equivalent: String,
    pub by_turns: Badge,
    /// By halves of time.
    pub by_halves: Badge,
}

/// Every campaign with runs enough, the newest first.
pub(super) fn campaigns(site: &Site<'_>, root: &str) -> Vec<CampaignView> {
    let found = site.campaigns().into_iter().filter_map(|campaign| {
        let report = site.analysis.calibration.iter().find(|report| report.campaign == campaign.name)?;
        Some(CampaignView {
            campaign: Link {
                href: Some(format!("{root}c/{}/index.html", campaign.name)),
                text: campaign.title.clone(),
            },
            finding: finding(report),
            arms: report.arms.iter().map(arm).collect(),
        })
    });
    found.collect()
}

fn finding(report: &CalibrationReport) -> String {
    let all = counted(report.arms.len(), "series of runs", "series of runs");
    format!(
        "Of {} random halvings of {all}, {} % are called different where {} % are expected. Split by turns, {}. Split into the earlier and the \
         later half, {}{}",
        count(report.splits as u64),
        fixed(report.different_pct, 1),
        plain(report.expected_pct),
        of(report.different_by_turns, report.arms.len()),
        of(report.different_by_halves, report.arms.len()),
        if report.different_by_halves > report.different_by_turns {
            ". There time alone looks like a difference between environments."
        } else {
            "."
        }
    )
}

fn of(k: usize, n: usize) -> String {
    match k {
        0 => "no arm differs from itself".to_owned(),
        1 => format!("1 arm of {n} differs from itself"),
        _ => format!("{k} arms of {n} differ from themselves"),
    }
}

fn arm(arm: &CalibrationArm) -> ArmView {
    let share = |k: usize| format!("{} of {}", count(k as u64), count(arm.splits as u64));
    ArmView {
        cell: if arm.workload.is_empty() { arm.model.clone() } else { format!("{} · {}", arm.model, arm.workload) },
        environment: arm.environment.clone(),
        metric: labels::metric(&arm.metric),
        n: arm.n,
        different: share(arm.different),
        equivalent: share(arm.equivalent),
        by_turns: labels::verdict(arm.by_turns),
        by_halves: labels::verdict(arm.by_halves),
    }
}
