//! The next step where nothing is compared: one sentence with the option for it.
//!
//! In:  runs and campaigns.  Out: the sentence, or nothing where a comparison was made.
//! Not here: advice on a comparison that was made (see `grammar::said`).

use std::collections::{BTreeMap, BTreeSet};

use super::Study;
use super::number::list;
use crate::model::{Campaign, Direction, Metric, Run, without_quantisation};

/// Names in the sentence. More are counted.
const MOST: usize = 3;

/// The sentence, where no two arms of one model and workload met.
pub(crate) fn to_compare(study: &Study, compared: bool) -> Option<String> {
    // Telemetry or a server's log alone hold nothing that could be better or worse.
    if compared || !study.runs.iter().any(has_a_winner) {
        return None;
    }
    let by_quantisation = study.campaigns.iter().find_map(|campaign| {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        differing(&own, |run| run.setup.quantisation.clone(), true)
    });
    if let Some(values) = by_quantisation {
        return Some(option(&values, "quantisation"));
    }
    let by_engine = study.campaigns.iter().find_map(|campaign| {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        differing(&own, |run| run.setup.engine.clone(), false)
    });
    if let Some(values) = by_engine {
        return Some(option(&values, "engine"));
    }
    if study.campaigns.len() > 1 {
        let names: Vec<&str> = study.campaigns.iter().map(|campaign| campaign.name.as_str()).collect();
        return Some(format!(
            "Nothing is compared yet: {} are read as campaigns of their own. To compare folders, add --arms-by-folder.",
            named(&names, "folders")
        ));
    }
    let models: BTreeSet<&str> = study.runs.iter().map(|run| run.model.as_str()).collect();
    if models.len() > 1 && !models.contains(Campaign::UNLABELLED) {
        let names: Vec<&str> = models.into_iter().collect();
        return Some(format!(
            "Nothing is compared yet: all runs are of one environment. To compare {}, add --compare-by model.",
            named(&names, "models")
        ));
    }
    Some(
        "Nothing is compared yet: all runs are of one setting. Put runs of another setting into a folder beside them, give the folder \
         above both, and add --arms-by-folder."
            .to_owned(),
    )
}

fn has_a_winner(run: &Run) -> bool {
    let wins = |name: &str| Metric::find(name).is_some_and(|metric| metric.direction != Direction::Neutral);
    run.readings.iter().any(|reading| reading.value.is_finite() && wins(&reading.metric))
}

/// Values of a label by which runs of one model differ. The models without their quantisation where that is the label.
fn differing(runs: &[&Run], value: impl Fn(&Run) -> Option<String>, stem: bool) -> Option<Vec<String>> {
    let mut models: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for run in runs {
        let Some(value) = value(run) else { continue };
        let model = if stem { without_quantisation(&run.model, &value) } else { run.model.clone() };
        models.entry(model).or_default().insert(value.to_lowercase(), value);
    }
    models.into_values().find(|values| values.len() > 1).map(|values| values.into_values().collect())
}

fn option(values: &[String], label: &str) -> String {
    format!("Nothing is compared yet. To compare {}, add --compare-by {label}.", named(values, label))
}

fn named<S: AsRef<str>>(names: &[S], noun: &str) -> String {
    if names.len() > MOST { format!("{} {noun}", names.len()) } else { list(names) }
}
