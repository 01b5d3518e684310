//! Runs made by hand, for the tests of this room.

use super::compare::{self, Pair};
use super::method::Layout;
use super::report::Comparison;
use super::{CellValues, Settings, group, order};
use sparkbench_model::{
    AskedFactor, Factor, Metric, Origin, Reading, Run, Setting, SettingOrigin, SettingValue, Setup, Source, Status,
    Taken,
};

/// A run without any figure.
pub(crate) fn run(id: &str) -> Run {
    Run {
        id: id.to_owned(),
        campaign: "c".to_owned(),
        environment: "native".to_owned(),
        model: "m".to_owned(),
        workload: "w".to_owned(),
        status: Status::Done,
        source: Source { path: format!("{id}.json"), format: "test".to_owned(), sha256: String::new(), joined: None },
        ..Run::default()
    }
}

/// A figure of a file.
pub(crate) fn reading(metric: &str, value: f64) -> Reading {
    let origin = Origin { file: "x.json".to_owned(), line: None, field: None, rule: "test" };
    Reading { metric: metric.to_owned(), value, decimals: None, origin }
}

/// A run with these figures and settings.
pub(crate) fn measured(id: &str, setup: Setup, figures: &[(&str, f64)]) -> Run {
    let readings = figures.iter().map(|(metric, value)| reading(metric, *value)).collect();
    Run { readings, setup, ..run(id) }
}

/// A run of an arm in a workload, with these figures.
pub(crate) fn run_of(id: &str, workload: &str, arm: &str, figures: &[(&str, f64)]) -> Run {
    Run { workload: workload.to_owned(), environment: arm.to_owned(), ..measured(id, Setup::default(), figures) }
}

/// The same run with these settings, which its file says.
pub(crate) fn set(mut run: Run, settings: &[(&str, &str)]) -> Run {
    for (name, value) in settings {
        let value = SettingValue { value: (*value).to_owned(), origin: SettingOrigin::Result };
        run.settings.insert((*name).to_owned(), value);
    }
    run
}

/// A setting that varies.
pub(crate) fn factor(name: &str, levels: &[&str], aliased: &[&str]) -> Factor {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Factor { name: name.to_owned(), kind: Setting::kind_of(name), levels: owned(levels), aliased_with: owned(aliased) }
}

/// The factor that is compared, taken by its place in the order.
pub(crate) fn asked(name: &str) -> AskedFactor {
    AskedFactor { factor: name.to_owned(), taken: Taken::Default, others: Vec::new() }
}

/// A comparison of docker with native that holds no run.
pub(crate) fn comparison(metric: &Metric) -> Comparison {
    let settings =
        Settings { confidence: 0.95, resamples: 999, seed: 1, baseline: None, margins_pct: Default::default() };
    let arm = |environment: &str| {
        let cell = CellValues {
            campaign: "c".to_owned(),
            model: "m".to_owned(),
            workload: "w".to_owned(),
            environment: environment.to_owned(),
            metric: metric.name.clone(),
            run_ids: Vec::new(),
            values: Vec::new(),
        };
        group::describe(&cell, metric, &[], &settings, group::OfRequests::Nothing)
    };
    let (a, b, order) = (arm("native"), arm("docker"), order::of("m", "w", &[]));
    let margin_pct = metric.margin_pct;
    let layout = Layout::of(Vec::new(), Vec::new());
    let pair = Pair {
        metric,
        a: &a,
        b: &b,
        order: &order,
        layout: &layout,
        pairs: None,
        margin_pct,
        primary: true,
        derived_from: None,
    };
    compare::measure(&pair, &settings)
}
