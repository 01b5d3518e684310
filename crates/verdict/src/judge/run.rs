//! One run, as the analysis shows it.
//!
//! In:  a run, the groups that it is in, files that are not as recorded.  Out: [`RunReport`].
//! Not here: judgement.

use crate::report::{Group, RunReport, StatusText};
use sparkbench_model::{Altered, Campaign, Run, Status, known_extra};

/// Files of a run that are not what was recorded of them.
pub(super) fn altered_of<'a>(run: &'a Run, campaigns: &'a [Campaign]) -> impl Iterator<Item = &'a Altered> {
    let own = campaigns.iter().filter(move |campaign| campaign.name == run.campaign);
    own.flat_map(|campaign| &campaign.altered).filter(move |altered| altered.concerns(&run.source, &run.files))
}

/// A run with its figures and flags.
pub(super) fn report<'a>(run: &Run, groups: &[Group], altered: impl Iterator<Item = &'a Altered>) -> RunReport {
    let mut flags = Vec::new();
    for group in groups.iter().filter(|g| {
        g.campaign == run.campaign
            && g.model == run.model
            && g.workload == run.workload
            && g.environment == run.environment
    }) {
        for (rule, ids) in [
            ("three_sigma", &group.outliers.three_sigma),
            ("modified_z", &group.outliers.mad),
            ("tukey", &group.outliers.tukey),
        ] {
            if ids.contains(&run.id) {
                flags.push(format!("outlier:{rule}:{}", group.metric));
            }
        }
    }
    if let Status::Failed(reason) = &run.status {
        flags.push(format!("failed:{reason}"));
    }
    if let Some(why) = known_extra::text(run, known_extra::INVALID) {
        flags.push(format!("invalid:{why}"));
    }
    flags.extend(altered.map(|altered| format!("altered:{}:{}", altered.kind.word(), altered.path)));
    flags.sort_unstable();
    RunReport {
        id: run.id.clone(),
        campaign: run.campaign.clone(),
        environment: run.environment.clone(),
        model: run.model.clone(),
        workload: run.workload.clone(),
        repeat: run.repeat,
        block: run.block,
        launch: run.launch,
        together: run.together.clone(),
        started_utc: run.started,
        ended_utc: run.ended,
        status: StatusText(run.status.clone()),
        metrics: run.readings.iter().map(|r| (r.metric.clone(), Some(r.value).filter(|v| v.is_finite()))).collect(),
        origins: run.readings.iter().map(|r| (r.metric.clone(), r.origin.clone())).collect(),
        requests: run.series.iter().map(|s| (s.metric.clone(), s.values.len())).collect(),
        flags,
        extras: run.extras.clone(),
        setup: run.setup.clone(),
        settings: run.settings.clone(),
        cell: run.cell.clone(),
        source: run.source.clone(),
        files: run.files.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{reading, run};
    use sparkbench_model::{Extra, ExtraValue};

    #[test]
    fn a_result_that_its_tool_calls_invalid_is_marked() {
        let mut run = run("a");
        assert!(report(&run, &[], std::iter::empty()).flags.is_empty());
        run.extras.push(Extra {
            name: known_extra::INVALID.to_owned(),
            unit: String::new(),
            value: ExtraValue::Text("not met: min duration".to_owned()),
            why: None,
            origin: reading("ttft_ms", 1.0).origin,
        });
        assert_eq!(report(&run, &[], std::iter::empty()).flags, ["invalid:not met: min duration"]);
    }
}
