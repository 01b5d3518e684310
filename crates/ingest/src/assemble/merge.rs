//! What a run takes from a detail beside it.
//!
//! In:  a run and a detail.  Out: the completed run, and the labels on which the two disagree.
//! Not here: which details a run has (see `join`).

use crate::{JoinRole, PartialRun};
use sparkbench_model::Status;

/// Whether a detail holds fewer requests than the summary of its run says: it is of another launch, or was cut.
pub(super) fn falls_short(run: &PartialRun, detail: &PartialRun) -> bool {
    let requests = run.setup.requests.zip(detail.setup.requests);
    detail.join_role == JoinRole::Trace && requests.is_some_and(|(ours, theirs)| theirs < ours)
}

/// Fills what a run lacks from a detail. Gives the labels on which the two disagree: field, kept, skipped.
pub(super) fn merge(run: &mut PartialRun, detail: &PartialRun) -> Vec<(&'static str, String, String)> {
    let mut unlike = Vec::new();
    macro_rules! fill {
        ($($field:ident),*; $($set:ident),*) => {
            $(if run.$field.is_none() { run.$field.clone_from(&detail.$field); })*
            $(if run.setup.$set.is_none() { run.setup.$set.clone_from(&detail.setup.$set); })*
        };
    }
    for (name, ours, theirs) in [
        ("environment", &run.environment, &detail.environment),
        ("model", &run.model, &detail.model),
        ("workload", &run.workload, &detail.workload),
    ] {
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours != theirs
        {
            unlike.push((name, ours.clone(), theirs.clone()));
        }
    }
    fill!(campaign, id, environment, model, workload, repeat, block, position, launch, started, ended, measured;
          model_id, model_served, machine, engine, engine_version, quantisation, batch, isl, osl, requests, parameters,
          device_memory_gib, model_memory_gib, start_temp_c, end_temp_c, exit_code,
          tool, tool_version, request_rate, max_model_len, memory_utilisation, kv_dtype, speculative, prefix_cache, parallel);
    // An engine that was given a folder names that folder. The collector knows which model of the suite is there.
    if run.share.is_none() {
        run.share.clone_from(&detail.share);
    }
    let folder = |name: &Option<String>| name.as_ref().is_some_and(|name| name.starts_with('/'));
    if detail.join_role == JoinRole::Base && folder(&run.setup.model_served) && detail.setup.model_served.is_some() {
        run.setup.model_served.clone_from(&detail.setup.model_served);
    }
    for (name, value) in &detail.setup.more {
        run.setup.more.entry(name.clone()).or_insert_with(|| value.clone());
    }
    for extra in &detail.extras {
        if run.extras.iter().all(|ours| ours.name != extra.name || ours.origin.rule != extra.origin.rule) {
            run.extras.push(extra.clone());
        }
    }
    // A log without its result block, or requests that all failed, outweigh an exit code of 0.
    match (&run.status, &detail.status) {
        (None, Some(_)) | (Some(Status::Done | Status::Unrecorded), Some(Status::Failed(_))) => {
            run.status.clone_from(&detail.status)
        }
        _ => {}
    }
    for reading in &detail.readings {
        match run.readings.iter_mut().find(|ours| ours.metric == reading.metric) {
            Some(ours) if ours.value.is_nan() => *ours = reading.clone(),
            Some(_) => {}
            None => run.readings.push(reading.clone()),
        }
    }
    for series in &detail.series {
        if run.series.iter().all(|ours| ours.metric != series.metric) {
            run.series.push(series.clone());
        }
    }
    run.course.fill(&detail.course);
    if run.telemetry.is_empty() {
        run.telemetry.clone_from(&detail.telemetry);
    }
    unlike
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Setup;

    #[test]
    fn a_folder_that_an_engine_names_is_the_model_that_the_collector_saw_there() {
        let partial = |join_role, served: &str| {
            let setup = Setup { model_served: Some(served.to_owned()), ..Setup::default() };
            PartialRun { join_role, setup, ..PartialRun::default() }
        };
        for (body, base, kept) in [
            ("/opt/models/tiny", "tiny", "tiny"),
            ("org/other", "tiny", "org/other"),
            ("/opt/tiny", "/opt/tiny", "/opt/tiny"),
        ] {
            let mut run = partial(JoinRole::Body, body);
            merge(&mut run, &partial(JoinRole::Base, base));
            assert_eq!(run.setup.model_served.as_deref(), Some(kept), "{body} beside {base}");
        }
    }
}
