//! Metrics that a suite defines: `[metrics.NAME]`.
//!
//! In:  the table.  Out: definitions, checked, and known by name from here on.
//! Not here: what makes a definition sound (see `formula::definition`), working it out.

use std::collections::BTreeMap;

use crate::settings::Value;
use crate::{Faults, Settings};
use sparkbench_model::formula::definition::check;
use sparkbench_model::metric::Direction;
use sparkbench_model::{CustomMetric, custom};

const DIRECTIONS: [(&str, Direction); 3] = [
    ("lower_is_better", Direction::LowerIsBetter),
    ("higher_is_better", Direction::HigherIsBetter),
    ("neutral", Direction::Neutral),
];

/// Every definition without a fault. Each becomes a metric, so that the rest of the suite may name it.
pub(super) fn metrics(table: &Settings, faults: &mut Faults) -> BTreeMap<String, CustomMetric> {
    let mut found = BTreeMap::new();
    for (name, entry) in &table.entries {
        let key = format!("{}.{name}", table.path);
        let Value::Table(settings) = &entry.value else {
            faults.add(Some(entry.line), key, "is not a table", "write [metrics.NAME] with an expression below it");
            continue;
        };
        let custom = read(settings, faults);
        match check(name, &custom) {
            Ok(checked) => {
                custom::define(name, &custom, &checked.unit, checked.zero_is_arbitrary);
                found.insert(name.clone(), custom);
            }
            Err(wrong) => {
                for fault in wrong {
                    let line = settings.entries.get(fault.key).map_or(entry.line, |entry| entry.line);
                    let key = if fault.key.is_empty() { key.clone() } else { format!("{key}.{}", fault.key) };
                    faults.add(Some(line), key, fault.what, fault.remedy);
                }
            }
        }
    }
    found
}

fn read(table: &Settings, faults: &mut Faults) -> CustomMetric {
    let mut reader = table.reader(faults);
    let direction = reader.choice("direction", &DIRECTIONS.map(|(word, _)| word));
    let custom = CustomMetric {
        label: reader.text("label"),
        unit: reader.text("unit"),
        direction: DIRECTIONS.iter().find(|(word, _)| direction.as_deref() == Some(*word)).map(|(_, known)| *known),
        margin_pct: reader.number("margin_pct"),
        expression: reader.text("expression"),
        file: reader.text("file"),
        pointer: reader.text("pointer"),
        column: reader.text("column"),
        pattern: reader.text("pattern"),
        aggregate: reader.text("aggregate"),
        command: reader.texts("command"),
        time_limit_s: reader.number("time_limit_s"),
    };
    reader.finish();
    custom
}
