//! The table of runs: columns and their types, groups and what they hold.

use super::super::testing::{run, set};
use super::*;
use sparkbench_model::Status;

fn text(word: &str) -> Cell {
    Cell::Text(word.to_owned())
}

fn measured(mut run: Run, ttft: f64) -> Run {
    run.readings[0].value = ttft;
    run
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Mean, and for several values the distance of the outer ones in place of a spread.
fn summary(values: &[f64]) -> Option<GroupSummary> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let spread = (values.len() > 1).then(|| values[values.len() - 1] - values[0]);
    Some(GroupSummary { mean, sd: spread, half_width: spread.map(|spread| spread / 2.0) })
}

#[test]
fn labels_stand_first_then_settings_as_declared_then_others_by_name_then_metrics_then_the_source() {
    let runs = [set(set(run("a"), "n_ubatch", "512"), "status", "fast"), set(run("b"), "gpus", "2")];
    let table = Table::of_runs(&runs).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let wanted = [
        "id",
        "campaign",
        "cell",
        "status",
        "started_utc",
        "environment",
        "model",
        "workload",
        "launch",
        "engine_version",
        "gpus",
        "concurrency",
        "n_ubatch",
        "setting_status",
        "ttft_ms",
        "source_path",
        "source_format",
        "source_sha256",
    ];
    assert_eq!(names, wanted);
    assert_eq!(table.cells("n_ubatch").unwrap(), [Cell::Number(512.0), Cell::Empty]);
    assert_eq!(table.cells("setting_status").unwrap(), [text("fast"), Cell::Empty]);
    assert_eq!(table.cells("cell").unwrap(), [Cell::Empty, Cell::Empty]);
    // Version 0.10 is another one than 0.1.
    assert_eq!(table.cells("engine_version").unwrap(), [text("0.10"), text("0.10")]);
}

#[test]
fn what_the_files_call_a_model_is_a_setting_where_it_is_judged_under_another_name() {
    let names = |runs: &[Run]| -> Vec<String> {
        let table = Table::of_runs(runs).unwrap();
        table.columns().iter().filter(|column| column.role == Role::Setting).map(|column| column.name.clone()).collect()
    };
    assert_eq!(names(&[set(run("a"), "model", "m")]), ["engine_version", "concurrency"]);
    assert_eq!(names(&[set(run("a"), "model", "other")]), ["engine_version", "setting_model", "concurrency"]);
}

#[test]
fn a_setting_is_a_number_where_every_value_is_one() {
    let cases: &[(&[&str], Kind)] = &[
        (&["8", "16"], Kind::Integer),
        (&["8.0", "16"], Kind::Integer),
        (&["0.5", "1"], Kind::Number),
        (&["-1", "0.25"], Kind::Number),
        (&["1e-5"], Kind::Number),
        (&["8", "unlimited"], Kind::Text),
        (&["0821", "12"], Kind::Text),
        (&["12e4567"], Kind::Text),
        (&["1.2.3"], Kind::Text),
        (&["12345678901234567890"], Kind::Text),
        (&["inf"], Kind::Text),
        (&["nan"], Kind::Text),
        (&["+5"], Kind::Text),
        (&[""], Kind::Text),
        (&["-"], Kind::Text),
    ];
    for (values, kind) in cases {
        let runs: Vec<Run> = values.iter().map(|value| set(run("a"), "n_ubatch", value)).chain([run("b")]).collect();
        let table = Table::of_runs(&runs).unwrap();
        let column = table.columns().iter().find(|column| column.name == "n_ubatch").unwrap();
        assert_eq!(column.meaning.kind, *kind, "{values:?}");
        assert_eq!(table.cells("n_ubatch").unwrap().last(), Some(&Cell::Empty), "{values:?}");
    }
}

#[test]
fn a_figure_that_is_missing_or_infinite_is_absent() {
    let runs = [f64::NAN, f64::INFINITY, 0.0].map(|value| measured(run("a"), value));
    let table = Table::of_runs(&runs).unwrap();
    assert_eq!(table.cells("ttft_ms").unwrap(), [Cell::Empty, Cell::Empty, Cell::Number(0.0)]);
}

#[test]
fn groups_stand_in_the_order_of_their_keys_and_a_launch_counts_once() {
    let launched = |id: &str, launch: u32, ttft: f64| Run { launch: Some(launch), ..measured(run(id), ttft) };
    let runs = [
        set(measured(run("x"), 50.0), "concurrency", "16"),
        launched("a", 1, 10.0),
        launched("b", 1, 20.0),
        launched("c", 2, 25.0),
        measured(run("d"), f64::NAN),
        set(measured(run("y"), 70.0), "concurrency", "16"),
    ];
    let table = Table::of_runs(&runs).unwrap().grouped(&strings(&["concurrency"]), "an interval", &summary).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["concurrency", "runs", "ttft_ms_mean", "ttft_ms_n", "ttft_ms_sd", "ttft_ms_half_width"]);
    let column = |name: &str| table.cells(name).unwrap();
    assert_eq!(column("concurrency"), [8.0, 16.0].map(Cell::Number));
    assert_eq!(column("runs"), [4.0, 2.0].map(Cell::Number));
    // Launch 1 has 15 on average, launch 2 has 25, and the run without a figure is none.
    assert_eq!(column("ttft_ms_mean"), [20.0, 60.0].map(Cell::Number));
    assert_eq!(column("ttft_ms_n"), [2.0, 2.0].map(Cell::Number));
    assert_eq!(column("ttft_ms_sd"), [10.0, 20.0].map(Cell::Number));
    assert_eq!(column("ttft_ms_half_width"), [5.0, 10.0].map(Cell::Number));
}

#[test]
fn launches_of_two_campaigns_are_two_though_they_have_one_name() {
    let of =
        |campaign: &str, ttft: f64| Run { campaign: campaign.to_owned(), launch: Some(1), ..measured(run("a"), ttft) };
    let table = Table::of_runs(&[of("one", 10.0), of("two", 30.0)]).unwrap();
    let grouped = table.grouped(&strings(&["model"]), "an interval", &summary).unwrap();
    assert_eq!(grouped.cells("ttft_ms_n").unwrap(), [Cell::Number(2.0)]);
    assert_eq!(table.pooled(&strings(&["model"])).unwrap(), [("campaign".to_owned(), strings(&["one", "two"]))]);
    assert_eq!(table.pooled(&strings(&["campaign"])).unwrap(), []);
}

#[test]
fn an_absent_key_is_a_group_of_its_own_at_the_end() {
    let runs = [run("a"), set(run("b"), "backend", "vulkan"), set(run("c"), "backend", "rocm")];
    let table =
        Table::of_runs(&runs).unwrap().grouped(&strings(&["backend", "model"]), "an interval", &summary).unwrap();
    assert_eq!(table.cells("backend").unwrap(), [text("rocm"), text("vulkan"), Cell::Empty]);
}

#[test]
fn what_varies_within_a_group_is_named_with_its_levels() {
    let runs = [set(run("a"), "concurrency", "16"), run("b"), set(run("c"), "concurrency", "128")];
    let table = Table::of_runs(&runs).unwrap();
    let levels = ("concurrency".to_owned(), strings(&["8", "16", "128"]));
    assert_eq!(table.pooled(&strings(&["model"])).unwrap(), std::slice::from_ref(&levels));
    // A label that follows from it is not named beside it.
    let named = runs.map(|run| Run { workload: format!("w-{}", run.id), ..run });
    assert_eq!(Table::of_runs(&named).unwrap().pooled(&strings(&["model"])).unwrap(), [levels]);
    assert_eq!(table.pooled(&strings(&["concurrency"])).unwrap(), []);
}

#[test]
fn failed_runs_are_no_repeats() {
    let failed = Run { status: Status::Failed("exit status 1".to_owned()), ..run("b") };
    let table = Table::of_runs(&[run("a"), failed]).unwrap();
    assert_eq!(table.cells("status").unwrap(), [text("done"), text("failed")]);
    assert_eq!(table.without_failed().unwrap().cells("id").unwrap(), [text("a")]);
}

#[test]
fn a_table_without_a_row_has_its_columns_and_no_group() {
    let table = Table::of_runs(&[]).unwrap();
    assert_eq!((table.height(), table.columns().len()), (0, LABELS.len() + SOURCE.len()));
    assert_eq!(table.grouped(&strings(&["model"]), "an interval", &summary).unwrap().height(), 0);
}
