//! Every chart: its fixture, its golden drawing, and what must hold of any drawing.
#![cfg(feature = "chart")]

use std::fs;
use std::path::PathBuf;

use sparkbench::chart::{self, CHARTS, Figure, STYLE};

/// One SVG on a page must stay below this.
const MOST_BYTES: usize = 60_000;

fn here(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

fn fixture(name: &str) -> String {
    fs::read_to_string(here(&format!("fixtures/chart/{name}.json"))).expect("every chart has a fixture")
}

fn drawn() -> Vec<(&'static str, Figure)> {
    CHARTS
        .iter()
        .map(|c| (c.name(), c.draw_json(&fixture(c.name()), c.name()).expect("the fixture fits the chart")))
        .collect()
}

/// Opening and closing tags match, and every attribute is quoted; gives the names of the elements.
fn elements(svg: &str) -> Vec<String> {
    let mut open = Vec::new();
    let mut seen = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "tags close in order");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes match in <{tag}>");
        let name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        seen.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

#[test]
fn every_chart_draws_its_golden_drawing() {
    let rewrite = std::env::var_os("SPARKBENCH_GOLDEN").is_some();
    for (name, figure) in drawn() {
        for (suffix, svg) in [("", &figure.svg), ("-narrow", &figure.narrow)] {
            let path = here(&format!("golden/chart/{name}{suffix}.svg"));
            let file = chart::standalone(svg);
            // The stylesheet is one file and reviewed there; the golden drawing holds the drawing.
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
fn no_golden_drawing_is_without_its_chart() {
    let known: Vec<String> =
        CHARTS.iter().flat_map(|c| [format!("{}.svg", c.name()), format!("{}-narrow.svg", c.name())]).collect();
    for entry in fs::read_dir(here("golden/chart")).expect("golden drawings") {
        let name = entry.expect("entry").file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name), "{name} belongs to no chart");
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
