//! The figures of GPUs in the files of AIPerf and GenAI-Perf.
//!
//! In:  `telemetry_data` or `telemetry_stats`.  Out: metrics of the first GPU, extras of every GPU.
//! Not here: samples by time.
//!
//! Two exporters may report one GPU. Such a GPU is recognised by its serial number, which is compared and not kept. With several GPUs the figures of
//! the first are those of the run, as everywhere, and all others are extras.

use super::super::at::At;
use super::super::sheet::{Scale, Sheet, raw_at, text_at};
use super::{is_metric, spread, tag_of};

/// The GPUs met so far.
#[derive(Default)]
pub(super) struct Gpus {
    seen: Vec<String>,
    met: usize,
}

impl Gpus {
    /// Registers a GPU by its identity. Gives the beginning of the names of its extras, and whether it is the first.
    pub(super) fn meet(&mut self, identity: &str) -> (String, bool) {
        let first = self.met == 0;
        let prefix = format!("gpu{}.", self.met);
        self.met += 1;
        if !self.seen.iter().any(|known| known == identity) {
            self.seen.push(identity.to_owned());
        }
        (prefix, first)
    }

    /// Note for the reader on their number.
    pub(super) fn note(&self) -> Option<String> {
        (self.seen.len() > 1).then(|| {
            format!("{} GPUs are reported. Power, utilisation and clock are those of the first", self.seen.len())
        })
    }
}

/// `telemetry_data` of AIPerf: endpoints, their GPUs, their metrics.
pub(super) fn endpoints(sheet: &mut Sheet<'_, '_>, data: &At<'_>) {
    let mut gpus = Gpus::default();
    let Some(endpoints) = data.get("endpoints") else { return };
    for (place, (_, endpoint)) in endpoints.entries().into_iter().flatten().enumerate() {
        let Some(list) = endpoint.get("gpus") else { continue };
        for (key, gpu) in list.entries().into_iter().flatten() {
            let identity = raw_at(&gpu, "gpu_uuid").unwrap_or_else(|| format!("{place}/{key}"));
            let (prefix, first) = gpus.meet(&identity);
            let machine = &mut sheet.partial.setup.machine;
            *machine = machine.take().or_else(|| text_at(&gpu, "gpu_name"));
            let Some(metrics) = gpu.get("metrics") else { continue };
            for (tag, metric) in metrics.entries().into_iter().flatten().filter(|(_, metric)| is_metric(metric)) {
                spread(sheet, &prefix, &tag_of(tag), &metric, first);
            }
        }
    }
    if let Some(note) = gpus.note() {
        sheet.note(note);
    }
}

/// `telemetry_stats` of GenAI-Perf: metrics, and their GPUs inside.
pub(super) fn by_metric(sheet: &mut Sheet<'_, '_>, stats: &At<'_>) {
    let mut gpus = Gpus::default();
    let mut names: Vec<String> = Vec::new();
    for (tag, metric) in stats.entries().into_iter().flatten() {
        let unit = text_at(&metric, "unit").unwrap_or_default();
        for (key, gpu) in metric.entries().into_iter().flatten().filter(|(key, _)| *key != "unit") {
            let place = names.iter().position(|name| name == key).unwrap_or_else(|| {
                gpus.meet(key);
                names.push(key.to_owned());
                names.len() - 1
            });
            for (stat, value) in gpu.entries().into_iter().flatten() {
                let tag = tag_of(tag);
                match super::place(&tag, &unit, stat).filter(|_| place == 0) {
                    Some((name, factor)) => {
                        sheet.scaled(&value, &name, Scale::Times(factor));
                    }
                    None => {
                        let name = super::extra_name(&format!("gpu{place}."), &tag, stat);
                        sheet.extra(&value, &name, &unit, super::why_extra(&tag, &unit));
                    }
                }
            }
        }
    }
    if let Some(note) = gpus.note() {
        sheet.note(note);
    }
}
