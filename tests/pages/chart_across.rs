//! Charts of loads, trade-offs, grids, ceilings and memory: odd values, hostile labels, many marks.
#![cfg(feature = "page")]

use sparkbench::chart::{Figure, Frontier, Heatmap, MemoryStack, Roofline, Sweep};
use sparkbench::chart::{frontier, heatmap, memory_stack, roofline, sweep};

use crate::support::drawing::{ODD, hostile, sound};

/// Every chart over these values, with this label on everything that has one.
fn all(values: &[f64], label: &str, lines: usize) -> Vec<(&'static str, Figure)> {
    let text = || label.to_owned();
    let name = |k: usize| format!("{label}{k}");
    let href = |k: usize| Some(if k.is_multiple_of(2) { "r/x/index.html" } else { "javascript:alert(1)" }.to_owned());
    let pair = values.first().copied().zip(values.last().copied());
    let at = |k: usize| values[(k * 7) % values.len()];
    let numbered = || values.iter().copied().enumerate();
    let sweep = Sweep {
        title: text(),
        finding: Some(text()),
        x_axis: text(),
        axis: text(),
        unit: text(),
        lines: (0..lines)
            .map(|k| sweep::SweepLine {
                label: name(k),
                points: numbered()
                    .map(|(i, y)| sweep::SweepPoint { x: at(i), y, interval: pair, n: i % 3, href: href(i) })
                    .collect(),
            })
            .collect(),
    };
    let frontier = Frontier {
        title: text(),
        finding: None,
        x_axis: text(),
        x_unit: text(),
        less_is_better: lines.is_multiple_of(2),
        axis: text(),
        unit: text(),
        lines: (0..lines)
            .map(|k| frontier::FrontierLine {
                label: name(k),
                points: numbered()
                    .map(|(i, y)| frontier::FrontierPoint {
                        label: name(i),
                        x: at(i),
                        x_interval: pair,
                        y,
                        interval: pair,
                        n: i % 3,
                        best: i % 2 == 0,
                        href: href(i),
                    })
                    .collect(),
            })
            .collect(),
    };
    let heatmap = Heatmap {
        title: text(),
        finding: None,
        axis: text(),
        unit: text(),
        row_axis: text(),
        column_axis: text(),
        rows: (0..lines).map(name).collect(),
        columns: (0..values.len()).map(name).collect(),
        squares: (0..lines)
            .flat_map(|row| numbered().map(move |(column, value)| (row, column, value)))
            .map(|(row, column, value)| heatmap::Square {
                row,
                column,
                value,
                interval: pair,
                n: column % 3,
                note: text(),
                href: href(column),
            })
            .chain([heatmap::Square { row: 9_999, column: 9_999, ..heatmap::Square::default() }])
            .collect(),
    };
    let roofline = Roofline {
        title: text(),
        finding: None,
        ceilings: numbered()
            .map(|(i, value)| roofline::Ceiling {
                label: name(i),
                gb_s: (i % 2 == 0).then_some(value),
                tflops: (i % 2 == 1).then_some(value),
                measured: i % 3 == 0,
            })
            .collect(),
        points: (0..lines)
            .flat_map(|k| numbered().map(move |(i, y)| (k, i, y)))
            .map(|(k, i, y)| roofline::RooflinePoint {
                label: name(k),
                name: name(i),
                x: at(i),
                y,
                interval: pair,
                n: i % 3,
                href: href(i),
            })
            .collect(),
    };
    let memory = MemoryStack {
        title: text(),
        finding: None,
        unit: text(),
        bars: (0..lines)
            .map(|k| memory_stack::MemoryBar {
                label: name(k),
                n: k,
                whole_label: text(),
                whole: values.first().copied(),
                interval: pair,
                parts: numbered()
                    .map(|(i, value)| memory_stack::MemoryPart {
                        label: name(i),
                        value: Some(value).filter(|_| i % 3 != 2),
                    })
                    .take(5)
                    .collect(),
                notes: vec![text()],
                href: href(k),
            })
            .collect(),
    };
    vec![
        ("sweep", sweep.draw("a\" onload=\"x")),
        ("frontier", frontier.draw("b")),
        ("heatmap", heatmap.draw("c")),
        ("roofline", roofline.draw("d")),
        ("memory_stack", memory.draw("e")),
    ]
}

#[test]
fn odd_values_are_drawn_or_left_out_but_never_break_a_drawing() {
    for values in ODD {
        for lines in [0, 1, 2, 7] {
            for (name, figure) in all(values, "native", lines) {
                sound(&format!("{name} of {values:?} in {lines} lines"), &figure);
            }
        }
    }
}

#[test]
fn hostile_and_endless_labels_stay_text() {
    for label in hostile() {
        for (name, figure) in all(&[1.0, 2.0, 4.0], &label, 3) {
            sound(&format!("{name} with label {label:.30?}"), &figure);
        }
    }
}

#[test]
fn however_much_there_is_a_drawing_stays_small() {
    let values: Vec<f64> = (1..400).map(|k| f64::from((k * 7919) % 10_007 + 1)).collect();
    for lines in [1, 3] {
        for (name, figure) in all(&values, "native", lines) {
            sound(&format!("{name} with many values in {lines} lines"), &figure);
        }
    }
    for (name, figure) in all(&values[..8], "\"&<>\"&<>", 200) {
        sound(&format!("{name} with many lines"), &figure);
    }
}

#[test]
fn a_single_run_is_hollow_and_repeated_runs_are_filled() {
    let point = |n, interval| sweep::SweepPoint { x: 8.0, y: 100.0, interval, n, href: None };
    let drawn = |point| {
        Sweep { lines: vec![sweep::SweepLine { label: "a".into(), points: vec![point] }], ..Sweep::default() }
            .draw("a")
            .svg
    };
    assert!(drawn(point(1, None)).contains("s0 hollow") && !drawn(point(1, None)).contains("s0 solid"));
    assert!(drawn(point(5, Some((90.0, 110.0)))).contains("s0 solid"));
    let square = |n| heatmap::Square { value: 5.0, n, ..heatmap::Square::default() };
    let grid = |n| {
        Heatmap { rows: vec!["1".into()], columns: vec!["1".into()], squares: vec![square(n)], ..Heatmap::default() }
            .draw("b")
            .svg
    };
    assert!(grid(1).contains("paper fill") && !grid(3).contains("paper fill"));
    assert!(grid(3).contains("n=3"));
}

#[test]
fn parts_of_memory_that_are_absent_are_named_and_not_drawn_as_nought() {
    let bar = memory_stack::MemoryBar {
        label: "native".into(),
        whole_label: "peak".into(),
        whole: Some(10.0),
        parts: vec![memory_stack::MemoryPart { label: "weights".into(), value: None }],
        notes: vec!["weights not reported".into()],
        ..memory_stack::MemoryBar::default()
    };
    let figure = MemoryStack { bars: vec![bar], unit: "GiB".into(), ..MemoryStack::default() }.draw("a");
    assert!(figure.svg.contains("Weights not reported"));
    assert_eq!(figure.table.rows[0].cells[3], "not reported");
    assert!(!figure.svg.contains("s0 tint"));
}
