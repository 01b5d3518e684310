//! Every chart: its fixture, its golden drawing, and what must hold of any drawing.
#![cfg(feature = "page")]

use std::fs;
use std::path::PathBuf;

use sparkbench::chart::{
    self, Bars, CHARTS, Ecdf, Figure, Forest, RequestTimeline, RunOrder, STYLE, Series, Shift, Slope, Spread, Strip,
    TimelineHeatmap, VerdictMark,
};
use sparkbench::chart::{
    bars, ecdf, forest, request_timeline, run_order, series, shift, slope, spread, timeline_heatmap,
};

use crate::support::drawing::{MOST_BYTES, ODD, elements, hostile, sound};

fn here(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// Every fixture drawn by its chart: `forest.json`, and variants as `forest.wide.json`.
fn drawn() -> Vec<(String, Figure)> {
    let entries = fs::read_dir(here("fixtures/chart")).expect("fixtures");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let one = |file: &String| {
        let name = file.strip_suffix(".json").expect("fixtures are JSON");
        let kind = name.split('.').next().unwrap_or_default();
        let chart = CHARTS.iter().find(|c| c.name() == kind).expect("a fixture belongs to a chart");
        let json = fs::read_to_string(here(&format!("fixtures/chart/{file}"))).expect("fixture");
        (name.to_owned(), chart.draw_json(&json, name).expect("the fixture fits the chart"))
    };
    names.iter().map(one).collect()
}

#[test]
fn every_chart_draws_its_golden_drawing() {
    let rewrite = std::env::var_os("SPARKBENCH_GOLDEN").is_some();
    for (name, figure) in drawn() {
        for (suffix, svg) in [("", &figure.svg), ("-narrow", &figure.narrow)] {
            let path = here(&format!("golden/chart/{name}{suffix}.svg"));
            let file = chart::standalone(svg);
            // The stylesheet is one file and reviewed there. The golden drawing holds the drawing.
            let drawing = file.replace(STYLE, "");
            if rewrite {
                fs::write(&path, &drawing).expect("golden drawing written");
            }
            let golden = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                golden == drawing,
                "{name}{suffix} differs from its golden drawing; SPARKBENCH_GOLDEN=1 rewrites it"
            );
        }
    }
}

#[test]
fn the_picture_of_the_manual_is_the_drawing_of_its_fixture() {
    let path = here("../docs/sequential.svg");
    let file = chart::standalone(&fixture("looks").svg);
    if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
        fs::write(&path, &file).expect("picture written");
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == file, "SPARKBENCH_GOLDEN=1 rewrites docs/sequential.svg");
}

#[test]
fn a_chart_of_looks_has_a_mark_and_a_row_for_each_and_one_diamond() {
    let figure = fixture("looks");
    assert_eq!(figure.table.rows.len(), 4);
    assert_eq!(figure.table.rows[3].cells.last().map(String::as_str), Some("slower"));
    assert!(
        figure.desc.contains("4 looks, of a plan of 30 blocks") && figure.desc.contains(", slower"),
        "{}",
        figure.desc
    );
}

#[test]
fn every_chart_has_a_fixture_and_every_golden_drawing_a_chart() {
    let names: Vec<String> = drawn().into_iter().map(|(name, _)| name).collect();
    for chart in CHARTS {
        assert!(names.iter().any(|name| name == chart.name()), "{} has no fixture", chart.name());
    }
    let known: Vec<String> = names.iter().flat_map(|n| [format!("{n}.svg"), format!("{n}-narrow.svg")]).collect();
    for entry in fs::read_dir(here("golden/chart")).expect("golden drawings") {
        let name = entry.expect("entry").file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name), "{name} belongs to no fixture");
    }
}

#[test]
fn every_chart_has_a_sentence_for_the_manual() {
    for chart in CHARTS {
        assert!(chart.manual().len() > 60 && chart.manual().ends_with('.'), "{}", chart.name());
    }
}

#[test]
fn drawings_are_well_formed_small_and_without_styles_or_scripts() {
    const KNOWN: [&str; 9] = ["svg", "title", "desc", "g", "a", "path", "text", "rect", "circle"];
    for (name, figure) in drawn() {
        for svg in [&figure.svg, &figure.narrow] {
            for element in elements(svg) {
                assert!(KNOWN.contains(&element.as_str()), "{name}: <{element}>");
            }
            assert!(svg.len() < MOST_BYTES, "{name}: {} bytes", svg.len());
            for word in [" style=", "script>", " fill=", " stroke=", "//", "NaN", "inf"] {
                assert!(!svg.contains(word), "{name}: `{word}`");
            }
        }
    }
}

#[test]
fn drawings_name_themselves_and_ids_are_unique_on_the_page() {
    let mut seen = Vec::new();
    for (name, figure) in drawn() {
        let both = if name == "strip" { figure.svg.clone() } else { figure.inline() };
        for part in both.split(" id=\"").skip(1) {
            let id = part.split('"').next().unwrap_or_default().to_owned();
            assert!(!seen.contains(&id), "{id} twice");
            seen.push(id);
        }
        for part in both.split("aria-labelledby=\"").skip(1) {
            for id in part.split('"').next().unwrap_or_default().split(' ') {
                assert!(seen.iter().any(|known| known == id), "{name}: no {id}");
            }
        }
        assert!(!figure.title.is_empty() && !figure.desc.is_empty(), "{name}");
    }
}

#[test]
fn drawings_with_links_can_be_entered_and_those_without_are_images() {
    for (name, figure) in drawn() {
        for svg in [&figure.svg, &figure.narrow] {
            let role = if svg.contains("<a ") { "role=\"group\"" } else { "role=\"img\"" };
            assert!(svg.contains(role), "{name}");
        }
    }
}

#[test]
fn tables_hold_as_many_cells_as_columns() {
    for (name, figure) in drawn() {
        assert!(!figure.table.caption.is_empty() && !figure.table.rows.is_empty(), "{name}");
        for row in &figure.table.rows {
            assert_eq!(row.cells.len(), figure.table.columns.len(), "{name}");
        }
    }
}

#[test]
fn the_same_values_give_the_same_bytes() {
    assert_eq!(drawn(), drawn());
}

#[test]
fn nothing_to_draw_is_said() {
    for chart in CHARTS {
        let figure = chart.draw_json("{}", "empty").expect("all fields may be absent");
        elements(&figure.svg);
        let said = figure.svg.contains("No values");
        assert!(said, "{}", chart.name());
    }
}

/// Every chart over these values, with this label on everything that has one.
fn all_charts(values: &[f64], label: &str, arms: usize) -> Vec<(&'static str, Figure)> {
    let label = || label.to_owned();
    let href = || Some("javascript:alert(1)".to_owned());
    let arms = || 0..arms;
    let name = |i: usize| format!("{}{i}", label());
    let pair = || Some((values.first().copied()?, values.last().copied()?));
    let row = |i: usize| forest::Comparison {
        label: name(i),
        group: Some(name(i / 3)),
        estimate: values.get(i % values.len().max(1)).copied(),
        interval: pair(),
        inner: pair(),
        margin: values.first().copied(),
        verdict: label(),
        kind: [VerdictMark::Slower, VerdictMark::Faster, VerdictMark::Equivalent, VerdictMark::NotComparable][i % 4],
        href: href(),
    };
    let panels = vec![forest::Panel { heading: label(), rows: arms().map(row).collect() }];
    let run = |(i, y): (usize, &f64)| run_order::Run {
        label: label(),
        x: i as f64,
        y: *y,
        block: Some(i as u32),
        flagged: i % 3 == 0,
        href: Some("r/x/index.html".to_owned()),
    };
    let drift = |slope: &f64| run_order::Drift { slope: *slope, p: Some(*slope) };
    let arm = |i| run_order::RunOrderArm {
        label: name(i),
        runs: values.iter().enumerate().map(run).collect(),
        drift: values.first().map(drift),
    };
    let quartiles = || values.first().map(|v| (*v, *v, *v));
    let spread_arm = |i| spread::SpreadArm {
        label: name(i),
        values: values.to_vec(),
        mean: values.first().copied(),
        interval: pair(),
        quartiles: quartiles(),
        href: href(),
    };
    let points = || values.iter().enumerate().map(|(i, v)| (i as f64, (i % 7 != 3).then_some(*v))).collect();
    let track = |i| series::Track {
        label: name(i),
        unit: label(),
        lines: vec![
            series::SeriesLine { label: label(), points: points() },
            series::SeriesLine { label: name(i), points: points() },
        ],
    };
    let bar = |i| bars::Bar {
        label: name(i),
        mean: values.first().copied(),
        interval: pair(),
        n: values.len(),
        href: Some("c/x/index.html".to_owned()),
    };
    let (title, unit, axis, finding) = (label(), label(), label(), Some(label()));
    let words = || (title.clone(), finding.clone(), axis.clone(), unit.clone());
    let mut out = Vec::new();
    let (title, finding, axis, unit) = words();
    out.push(("forest", Forest { title, finding, axis, unit, panels }.draw("a\" onload=\"x")));
    let (title, finding, axis, unit) = words();
    let made = RunOrder {
        title,
        finding,
        axis,
        unit,
        x_axis: label(),
        x_step: label(),
        noun: label(),
        interleaved: true,
        arms: arms().map(arm).collect(),
    };
    out.push(("run_order", made.draw("b")));
    let (title, finding, axis, unit) = words();
    let facets = vec![spread::Facet { heading: label(), arms: arms().map(spread_arm).collect() }];
    out.push(("spread", Spread { title, finding, axis, unit, facets }.draw("c")));
    let (title, finding, axis, unit) = words();
    let curves = arms().map(|i| ecdf::Curve { label: name(i), values: values.to_vec() }).collect();
    out.push(("ecdf", Ecdf { title, finding, axis, unit, log_x: true, curves }.draw("d")));
    let (title, finding, x_axis, _) = words();
    out.push(("series", {
        let event = |value: &f64| series::Event { at: *value, label: label() };
        let held = |value: &f64| series::Stretch { from: *value, to: value + 1.0, label: label() };
        Series {
            title,
            finding,
            x_axis,
            window: pair(),
            events: values.iter().map(event).collect(),
            held: values.iter().map(held).collect(),
            tracks: arms().map(track).collect(),
        }
        .draw("e")
    }));
    let (title, finding, axis, unit) = words();
    let groups = vec![bars::Group { heading: label(), bars: arms().map(bar).collect() }];
    out.push(("bars", Bars { title, finding, axis, unit, groups }.draw("f")));
    let (title, finding, axis, unit) = words();
    let linked_pair = |(i, v): (usize, &f64)| slope::Pair {
        label: name(i),
        from: *v,
        to: values[values.len() - 1 - i],
        difference: values[values.len() - 1 - i] - v,
        from_href: href(),
        to_href: Some("r/x/index.html".to_owned()),
    };
    let (from, to) = (label(), name(1));
    let pairs = values.iter().enumerate().map(linked_pair).collect();
    let interval = values.first().copied().zip(values.last().copied());
    let made = Slope { title, finding, axis, unit, from, to, pairs, mean: values.first().copied(), interval };
    out.push(("slope", made.draw("h")));
    let (title, finding, axis, unit) = words();
    let decile = |(i, v): (usize, &f64)| shift::Decile {
        percent: 10.0 * (i % 11) as f64,
        baseline: *v,
        candidate: *v,
        difference: *v,
        interval,
        band: interval,
    };
    let deciles = values.iter().enumerate().map(decile).collect();
    let (baseline, candidate) = (label(), name(1));
    out.push(("shift", Shift { title, finding, axis, unit, baseline, candidate, deciles }.draw("i")));
    let (title, finding, x_axis, unit) = words();
    let heat = |i: usize| timeline_heatmap::HeatRow {
        label: name(i),
        href: href(),
        values: values.iter().map(|v| i.is_multiple_of(2).then_some(*v)).collect(),
    };
    let chart = TimelineHeatmap {
        title,
        finding,
        quantity: label(),
        unit,
        x_axis,
        step: values.first().copied().unwrap_or(1.0),
        full: values.last().copied().unwrap_or(1.0),
        rows: arms().map(heat).collect(),
    };
    out.push(("timeline_heatmap", chart.draw("h")));
    let (title, finding, x_axis, _) = words();
    let bar =
        |v: &f64| request_timeline::RequestBar { sent: *v, first: Some(v + 1.0), end: Some(*v), failed: *v < 0.0 };
    let in_flight = values.iter().map(|v| (*v, *v)).collect();
    let requests = values.iter().map(bar).collect();
    out.push(("request_timeline", RequestTimeline { title, finding, x_axis, requests, in_flight }.draw("i")));
    let strip = Strip {
        title: label(),
        unit: label(),
        range: None,
        band: pair(),
        mark: values.first().copied(),
        values: values.to_vec(),
        series: 99,
    };
    out.push(("strip", strip.draw("g")));
    out
}

/// The fixture of a chart, drawn.
fn fixture(name: &str) -> Figure {
    drawn().into_iter().find(|(own, _)| own == name).expect("a fixture").1
}

#[test]
fn a_slope_chart_has_a_line_and_two_linked_marks_for_every_pair_and_tells_how_many_go_which_way() {
    let figure = fixture("slope");
    for svg in [&figure.svg, &figure.narrow] {
        assert_eq!(svg.matches("class=\"muted hair\"").count(), 7, "one line a pair");
        assert_eq!(svg.matches("<a href=").count(), 14, "two runs a pair");
    }
    assert!(figure.desc.contains("7 pairs") && figure.desc.contains("above in 4 and below in 3"), "{}", figure.desc);
    assert_eq!(figure.table.rows.len(), 8, "every pair, and the mean");
    assert_eq!(figure.table.rows[2].cells, ["block 3", "76.6", "67.6", "−9.00"]);
}

#[test]
fn a_shift_chart_fills_the_marks_whose_limits_for_all_deciles_leave_zero_out() {
    let figure = fixture("shift");
    assert_eq!(figure.svg.matches("s1 solid").count(), 4);
    assert_eq!(figure.svg.matches("s1 hollow").count(), 5);
    assert_eq!(figure.svg.matches("s1 thick").count(), 9);
    assert_eq!(figure.table.rows.len(), 9);
    assert_eq!(figure.table.rows[8].cells, ["90", "66.3", "74.8", "+8.5", "+5.1 to +12.2", "+3.0 to +14.0"]);
    // Runs too few for an interval: the deciles alone, and the words for it.
    let bare = r#"{"deciles":[{"percent":50,"baseline":1,"candidate":2,"difference":1}],"candidate":"b"}"#;
    let figure = CHARTS.iter().find(|c| c.name() == "shift").unwrap().draw_json(bare, "bare").unwrap();
    assert!(figure.svg.contains("No interval") && !figure.svg.contains("thick"), "{}", figure.svg);
}

#[test]
fn bars_say_how_many_runs_they_rest_on() {
    let figure = fixture("bars");
    for svg in [&figure.svg, &figure.narrow] {
        assert!(svg.contains(">n="), "{svg}");
    }
}

#[test]
fn odd_values_are_drawn_or_left_out_but_never_break_a_drawing() {
    for values in [&[] as &[f64]].into_iter().chain(ODD) {
        for arms in [0, 1, 2, 7] {
            for (name, figure) in all_charts(values, "native", arms) {
                sound(&format!("{name} of {values:?} in {arms} arms"), &figure);
            }
        }
    }
}

#[test]
fn hostile_and_endless_labels_stay_text() {
    for label in hostile() {
        for (name, figure) in all_charts(&[1.0, 2.0, 3.0], &label, 3) {
            sound(&format!("{name} with label {label:.30?}"), &figure);
        }
    }
}

#[test]
fn however_much_there_is_a_drawing_stays_small() {
    let values: Vec<f64> = (0..20_000).map(|i| f64::from((i * 7919) % 10_007)).collect();
    for arms in [1, 3] {
        for (name, figure) in all_charts(&values, "native", arms) {
            sound(&format!("{name} with many values, {arms} arms"), &figure);
        }
    }
    for (name, figure) in all_charts(&values[..40], "\"&<>\"&<>", 300) {
        sound(&format!("{name} with many arms"), &figure);
    }
}

#[test]
fn a_drawing_of_its_own_carries_style_and_namespace_and_fetches_nothing() {
    for (name, figure) in drawn() {
        let file = chart::standalone(&figure.svg);
        elements(&file.replace(STYLE, ""));
        assert!(
            file.contains("xmlns=\"http://www.w3.org/2000/svg\"") && file.contains("prefers-color-scheme"),
            "{name}"
        );
        for word in ["@import", "url(", "<image", "<use", "xlink"] {
            assert!(!file.contains(word), "{name}: `{word}`");
        }
    }
    assert!(!STYLE.contains('<') && !STYLE.contains('&'), "the stylesheet is embedded in XML as it is");
}

#[test]
fn rows_that_would_be_cut_to_the_same_text_are_told_apart_by_what_differs() {
    let row = |precision: &str| forest::Comparison {
        label: format!("nvidia-nemotron-3-nano-30b-a3b-instruct-{precision}"),
        group: None,
        estimate: Some(1.0),
        interval: Some((0.5, 1.5)),
        inner: None,
        margin: None,
        verdict: "slower".into(),
        kind: VerdictMark::Slower,
        href: None,
    };
    let panels = vec![forest::Panel { heading: "Output".into(), rows: ["bf16", "fp8"].map(row).into() }];
    let figure = Forest { title: "t".into(), finding: None, axis: String::new(), unit: "%".into(), panels }.draw("x");
    for shown in ["…bf16<", "…fp8<"] {
        assert!(figure.svg.contains(shown), "'{shown}' is not in the drawing:\n{}", figure.svg);
    }
    // The whole name is read out where a part of it is shown.
    assert!(figure.svg.contains("nvidia-nemotron-3-nano-30b-a3b-instruct-bf16"));
}
