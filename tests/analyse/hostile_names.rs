//! Names that attack: markup, paths, spreadsheet formulas, terminal codes. They stay labels wherever they appear.

use std::collections::BTreeSet;
use std::fs;

use crate::analyse;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::report::{Report, list, text};
use crate::support::site_check;

const MARKUP: &str = "<script>alert(1)</script>";
const QUOTED: &str = "\"><img src=x onerror=alert(1)>";
const FORMULA: &str = "=HYPERLINK(\"http://x\")";
const UPWARDS: &str = "../../../escape";

fn put(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: [&str; 7]| table.write_record(cells).expect("in memory");
    row(["id", "environment", "model", "workload", "model_id", "started_utc", "e2e_latency_ms"]);
    for k in 0..5 {
        let at = |half: usize| format!("2026-01-01T10:{:02}:00Z", 2 * k + half);
        let value = |base: f64| format!("{:.2}", base + k as f64 / 10.0);
        row([UPWARDS, MARKUP, FORMULA, QUOTED, "@SUM(A1)", &at(0), &value(10.0)]);
        row(["..", "+1+1", FORMULA, QUOTED, "-2+3", &at(1), &value(12.0)]);
    }
    folder.put("in/<b>bold/=cmd.csv", table.into_inner().expect("in memory"));
    let labels = toml::Table::from_iter([
        ("schema".to_owned(), "sparkbench.labels/1".into()),
        ("name".to_owned(), UPWARDS.into()),
        ("title".to_owned(), MARKUP.into()),
        ("question".to_owned(), QUOTED.into()),
        ("provenance".to_owned(), toml::Value::Array(vec!["[link](javascript:alert(1))".into(), MARKUP.into()])),
        (
            "prose".to_owned(),
            "<script>alert(2)</script>\n\n[a](javascript:alert(3)) ![b](http://x/y.png)\n\n<img src=http://x>".into(),
        ),
    ]);
    folder.put("in/<b>bold/labels.toml", toml::to_string(&labels).expect("TOML"));
    folder.put("in/<b>bold/[31m\u{1b}[31mred.json", "{");
    folder.put("in/<b>bold/'quoted' & \"worse\".json", "{");
    folder
}

#[test]
fn hostile_names_stay_text_in_every_page_and_drawing() {
    let folder = put("analyse-hostile-pages");
    let ending = analyse(&folder, &[]).expect(0);
    assert!(!ending.err.contains('\u{1b}'), "control characters reach no terminal: {:?}", ending.err);
    let files = files_below(&folder.path().join("site"));
    // Every element, attribute and link of every page is looked at. A name that became markup would be one of the faults.
    let faults = site_check::faults(&files);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let mut shown = 0;
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        let html = std::str::from_utf8(bytes).expect("UTF-8");
        for word in ["<script>alert", "<img", "<b>", "javascript:", "src=\"http"] {
            let harmless = word == "javascript:" && !html.contains("href=\"javascript:");
            assert!(harmless || !html.contains(word), "{path}: {word}");
        }
        let escaped = html.contains("&lt;script&gt;") || html.contains("&#60;script&#62;");
        shown += usize::from(escaped);
        for (at, _) in html.match_indices("<svg") {
            let svg = html[at..].split("</svg>").next().expect("a drawing");
            assert!(!svg.contains("<script") && !svg.contains("onerror=\""), "{path}");
        }
    }
    assert!(shown >= 4, "the name is shown, as text: on {shown} pages");
    let markdown = std::str::from_utf8(&files["data/ANALYSIS.md"]).expect("UTF-8");
    for (at, _) in markdown.match_indices(['<', '[', '`', '|']) {
        let (before, after) = markdown.split_at(at);
        // Tables, links to nowhere and markup of our own. What others wrote has a backslash before it.
        let ours = !after.starts_with('<') && !after.starts_with("[link]") && !after.starts_with("[a]");
        assert!(ours || before.ends_with('\\') || after.starts_with("< 0."), "{}", &after[..after.len().min(80)]);
    }
}

#[test]
fn hostile_names_create_no_file_outside_the_site() {
    let folder = put("analyse-hostile-paths");
    let before: BTreeSet<String> = files_below(folder.path()).into_keys().collect();
    let above = fs::read_dir(folder.path().parent().expect("a parent")).expect("a folder").count();
    analyse(&folder, &[]).expect(0);
    let after: BTreeSet<String> = files_below(folder.path()).into_keys().collect();
    assert!(after.difference(&before).all(|path| path.starts_with("site/")), "{:?}", after.difference(&before));
    assert!(!after.iter().any(|path| path.ends_with("escape")), "{after:?}");
    // Other tests make and remove folders beside ours while this one runs. Only a file of that name would be ours.
    let _ = above;
    assert!(!folder.path().parent().expect("a parent").join("escape").exists());
    for run in list(&Report::of_site(&folder.path().join("site")).0, "runs") {
        let id = text(run, "id");
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && !id.starts_with('.'), "{id}");
    }
}

#[test]
fn no_cell_of_a_table_begins_as_a_formula_unless_it_is_a_number() {
    let folder = put("analyse-hostile-csv");
    analyse(&folder, &[]).expect(0);
    for name in ["runs.csv", "comparisons.csv"] {
        let bytes = fs::read(folder.path().join("site/data").join(name)).expect("the table");
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes.as_slice());
        let mut rows = 0;
        for record in reader.records() {
            let record = record.unwrap_or_else(|e| panic!("{name}: {e}"));
            rows += 1;
            for cell in &record {
                let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
                assert!(!formula || cell.parse::<f64>().is_ok(), "{name}: {cell}");
            }
        }
        assert!(rows >= 2, "{name} has rows");
    }
}

#[test]
fn hostile_names_are_kept_as_they_are_in_the_analysis() {
    let folder = put("analyse-hostile-json");
    analyse(&folder, &[]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    let run = &list(&report.0, "runs")[0];
    assert_eq!((text(run, "environment"), text(run, "model"), text(run, "workload")), (MARKUP, FORMULA, QUOTED));
    let compared = report.comparison(text(run, "campaign"), FORMULA, QUOTED, "e2e_latency_ms");
    assert_eq!((text(compared, "baseline"), text(compared, "candidate")), (MARKUP, "+1+1"), "the first that ran");
}
