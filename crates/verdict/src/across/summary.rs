//! The data for each model and each machine.
//!
//! In:  places.  Out: [`Summary`]s.
//! Not here: judgement.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::across::{Best, Place, Summary};

/// By model label.
pub(crate) fn models(places: &[&Place]) -> Vec<Summary> {
    let mut by_model: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in places {
        by_model.entry(&place.cell.model).or_default().push(place);
    }
    let title = |places: &[&Place]| places.iter().find_map(|place| place.model_id.clone());
    by_model.into_iter().map(|(name, places)| summary(Some(name), title(&places), &places)).collect()
}

/// By machine. Cells of which no file names one come last.
pub(crate) fn machines(places: &[&Place]) -> Vec<Summary> {
    let mut by_machine: BTreeMap<(bool, Option<&str>), Vec<&Place>> = BTreeMap::new();
    for place in places {
        let machine = place.machine.as_deref();
        by_machine.entry((machine.is_none(), machine)).or_default().push(place);
    }
    let title = |places: &[&Place]| places.iter().find_map(|place| place.machine_title.clone());
    by_machine.into_iter().map(|((_, name), places)| summary(name, title(&places), &places)).collect()
}

fn summary(name: Option<&str>, title: Option<String>, places: &[&Place]) -> Summary {
    let names = |of: &dyn Fn(&Place) -> Option<String>| -> Vec<String> {
        places.iter().filter_map(|place| of(place)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let rate = |place: &Place| place.output_tok_s.map_or(f64::NEG_INFINITY, |rate| rate.mean);
    let best = places.iter().copied().reduce(|a, b| if rate(b) > rate(a) { b } else { a });
    Summary {
        name: name.map(str::to_owned),
        title,
        campaigns: names(&|p| Some(p.cell.campaign.clone())),
        models: names(&|p| Some(p.cell.model.clone())),
        machines: names(&|p| p.machine.clone()),
        engines: names(&|p| p.engine.clone()),
        cells: places.len(),
        runs: places.iter().map(|p| p.runs).sum(),
        failed: places.iter().map(|p| p.failed).sum(),
        best: best.and_then(|place| {
            Some(Best { cell: place.cell.clone(), batch: place.batch, output_tok_s: place.output_tok_s? })
        }),
    }
}
