//! What the labels of a campaign's workloads stand for.
//!
//! In:  the cells of a campaign with their lengths and loads.  Out: a line for each label.
//! Not here: labels of models, which the facts explain.

use super::super::index::Site;
use sparkbench_verdict::measured::{lengths, load, tokens};
use sparkbench_verdict::report::CampaignReport;
use sparkbench_verdict::report::across::Place;

/// Every label with what its runs asked for: `c4` and "4 requests at a time, 64 tokens in and 32 out". Labels of which nothing is known are
/// left out.
pub(super) fn workloads(site: &Site<'_>, campaign: &CampaignReport) -> Vec<(String, String)> {
    let line = |label: &String| {
        let own: Vec<&Place> = site
            .analysis
            .across
            .places
            .iter()
            .filter(|place| place.cell.campaign == campaign.name && place.cell.workload == *label)
            .collect();
        let lengths = lengths(range(&own, |place| place.isl), range(&own, |place| place.osl));
        let load = load(common(&own, |place| place.request_rate), common(&own, |place| place.batch));
        let said: Vec<String> = load.into_iter().chain(lengths).collect();
        (!said.is_empty()).then(|| (label.clone(), said.join(", ")))
    };
    campaign.workloads.iter().filter_map(line).collect()
}

/// `64`, or `64 to 76` where environments differ.
fn range(places: &[&Place], of: impl Fn(&Place) -> Option<f64>) -> Option<String> {
    let values: Vec<f64> = places.iter().filter_map(|place| of(place)).collect();
    let low = tokens(values.iter().copied().reduce(f64::min)?)?;
    let high = tokens(values.iter().copied().reduce(f64::max)?)?;
    Some(if low == high { low } else { format!("{low} to {high}") })
}

/// The value that all share.
fn common(places: &[&Place], of: impl Fn(&Place) -> Option<f64>) -> Option<f64> {
    let first = of(places.first()?)?;
    places.iter().all(|place| of(place) == Some(first)).then_some(first)
}
