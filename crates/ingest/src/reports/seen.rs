//! The object `seen` of our result files: the program's report of what it ran.
//!
//! In:  a JSON object.  Out: [`Setup`].
//! Not here: the request.

use crate::at::At;
use sparkbench_model::Setup;
use sparkbench_text::error::Error;

/// Texts of an object by the names of `run.json`, figures likewise. Unknown names are not read.
pub(super) fn setup(at: &At<'_>) -> Result<Setup, Error> {
    let text = |key: &str| -> Result<Option<String>, Error> {
        at.get(key).map_or(Ok(None), |value| Ok(value.text()?.filter(|text| !text.is_empty()).map(str::to_owned)))
    };
    let figure = |key: &str| -> Result<Option<f64>, Error> {
        at.get(key).map_or(Ok(None), |value| Ok(value.figure()?.finite()))
    };
    Ok(Setup {
        model_served: text("model_id")?,
        machine: text("machine")?,
        engine: text("engine")?,
        engine_version: text("engine_version")?,
        quantisation: text("quantisation")?,
        batch: figure("batch")?,
        isl: figure("isl")?,
        osl: figure("osl")?,
        requests: figure("requests")?,
        parameters: figure("parameters")?,
        device_memory_gib: figure("device_memory_gib")?,
        model_memory_gib: figure("model_memory_gib")?,
        ..Setup::default()
    })
}

/// Fills what `ours` lacks.
pub(super) fn fill(ours: &mut Setup, theirs: &Setup) {
    macro_rules! fill {
        ($($field:ident),*) => { $(if ours.$field.is_none() { ours.$field.clone_from(&theirs.$field); })* };
    }
    fill!(
        model_served,
        machine,
        engine,
        engine_version,
        quantisation,
        batch,
        isl,
        osl,
        requests,
        parameters,
        device_memory_gib,
        model_memory_gib
    );
}
