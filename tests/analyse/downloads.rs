//! What the next researcher takes away: tables, workbook, package, the site in one file. And a site held against its archive.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::unzip::unzip;
use crate::{analyse, published_site, studies};

fn read(path: &str) -> Vec<u8> {
    fs::read(published_site().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Cells of a sheet by row and column, numbers and texts apart. Shared strings looked up.
fn sheet(parts: &BTreeMap<String, String>, number: usize) -> Vec<BTreeMap<String, String>> {
    let strings: Vec<String> = parts["xl/sharedStrings.xml"]
        .split("<si>")
        .skip(1)
        .map(|item| {
            let inner = item.split_once('>').map_or("", |(_, rest)| rest);
            unescaped(inner.split_once("</t>").map_or("", |(text, _)| text))
        })
        .collect();
    let xml = &parts[&format!("xl/worksheets/sheet{number}.xml")];
    let rows = xml.split("<row ").skip(1);
    rows.map(|row| {
        let cells = row.split("<c ").skip(1).filter_map(|cell| {
            let place = cell.split_once("r=\"")?.1.split_once('"')?.0.trim_end_matches(|c: char| c.is_ascii_digit());
            let value = cell.split_once("<v>")?.1.split_once("</v>")?.0;
            let head = cell.split_once('>')?.0;
            let text =
                if head.contains("t=\"s\"") { strings[value.parse::<usize>().ok()?].clone() } else { value.to_owned() };
            Some((place.to_owned(), text))
        });
        cells.collect()
    })
    .collect()
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn workbook(bytes: &[u8]) -> BTreeMap<String, String> {
    unzip(bytes).into_iter().map(|(path, bytes)| (path, String::from_utf8(bytes).expect("XML"))).collect()
}

#[test]
fn every_number_of_the_summary_is_that_of_the_analysis_and_no_cell_is_a_formula() {
    let parts = workbook(&read("data/report.xlsx"));
    let analysis: Value = serde_json::from_slice(&read("data/analysis.json")).expect("JSON");
    for (path, xml) in parts.iter().filter(|(path, _)| path.starts_with("xl/worksheets/")) {
        assert!(!xml.contains("<f>") && !xml.contains("<f "), "{path} has a formula");
        assert!(xml.contains("state=\"frozen\""), "{path}: the heading is not frozen");
    }
    let rows = sheet(&parts, 1);
    let comparisons = analysis["comparisons"].as_array().expect("comparisons");
    assert_eq!(rows.len(), comparisons.len() + 2);
    let key = |of: &dyn Fn(&str) -> String| {
        ["campaign", "model", "workload", "metric", "baseline", "candidate"].map(of).join("|")
    };
    let by_key: BTreeMap<String, &Value> =
        comparisons.iter().map(|c| (key(&|name| c[name].as_str().unwrap_or_default().to_owned()), c)).collect();
    let columns: BTreeMap<&str, &str> = rows[0].iter().map(|(place, name)| (name.as_str(), place.as_str())).collect();
    let mut numbers = 0;
    for row in &rows[2..] {
        let own = by_key[&key(&|name| row.get(columns[name]).cloned().unwrap_or_default())];
        for (name, place) in &columns {
            let pointer = format!("/{}", name.replace('.', "/"));
            if let Some(number) = own.pointer(&pointer).and_then(Value::as_f64) {
                assert_eq!(row[*place].parse::<f64>().ok(), Some(number), "{name}");
                numbers += 1;
            }
        }
    }
    assert!(numbers > 1_000, "only {numbers} numbers were compared");
    assert_eq!(rows[1][columns["overhead_pct"]], "%", "the second row has the units");
}

#[test]
fn moments_are_moments_and_nothing_in_the_workbook_tells_the_time_of_its_making() {
    let parts = workbook(&read("data/report.xlsx"));
    // The serial number of a day in 2025 or 2026 in the runs, not a text.
    let runs = sheet(&parts, 3);
    let column = runs[0].iter().find(|(_, name)| *name == "started_utc").expect("a column of starts").0;
    let days: Vec<f64> = runs[2..].iter().filter_map(|row| row.get(column)?.parse().ok()).collect();
    assert!(!days.is_empty() && days.iter().all(|day| (45_658.0..46_388.0).contains(day)), "{days:?}");
    let last = "2026-11-20";
    assert!(parts["docProps/core.xml"].contains(last), "{}", parts["docProps/core.xml"]);
}

#[test]
fn the_package_names_every_download_with_its_hash_and_its_columns() {
    let package: Value = serde_json::from_slice(&read("data/datapackage.json")).expect("JSON");
    let resources = package["resources"].as_array().expect("resources");
    let sums = String::from_utf8(read("data/SHA256SUMS")).expect("text");
    for resource in resources {
        let path = resource["path"].as_str().expect("a path");
        let bytes = read(&format!("data/{path}"));
        assert_eq!(resource["bytes"].as_u64(), Some(bytes.len() as u64), "{path}");
        let hash = resource["hash"].as_str().and_then(|hash| hash.strip_prefix("sha256:")).expect("a hash");
        assert!(sums.contains(&format!("{hash}  data/{path}\n")), "{path}");
        if path.ends_with(".csv") {
            let fields: Vec<&str> = resource["schema"]["fields"]
                .as_array()
                .expect("fields")
                .iter()
                .filter_map(|f| f["name"].as_str())
                .collect();
            let head = String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned();
            assert_eq!(fields.join(","), head.trim_end(), "{path}");
        }
    }
    let names: BTreeSet<&str> = resources.iter().filter_map(|r| r["path"].as_str()).collect();
    for path in
        ["analysis.json", "comparisons.csv", "units.csv", "runs.parquet", "report.xlsx", "VERSIONS.md", "PRIVACY.md"]
    {
        assert!(names.contains(path), "{path}");
    }
    assert_eq!(package["licenses"][0]["name"], "MIT");
}

#[test]
fn the_list_of_units_describes_every_column() {
    let mut reader = csv::Reader::from_reader(std::io::Cursor::new(read("data/units.csv")));
    let mut seen = BTreeSet::new();
    for row in reader.records().map(|row| row.expect("a row")) {
        let (file, column, about) = (&row[0], &row[1], &row[5]);
        assert!(!about.is_empty() && !about.starts_with("field "), "{file} {column} is described by nobody");
        assert!(seen.insert((file.to_owned(), column.to_owned())), "{file} {column} twice");
    }
    for (file, column) in
        [("data/runs.csv", "ttft_ms"), ("data/requests.parquet", "value"), ("data/comparisons.csv", "overhead_pct")]
    {
        assert!(seen.contains(&(file.to_owned(), column.to_owned())), "{file} {column}");
    }
}

#[test]
fn every_drawing_is_a_file_with_both_themes_and_its_page_leads_to_it() {
    let site: BTreeMap<String, Vec<u8>> = files_below(published_site()).into_iter().collect();
    let drawings: Vec<_> =
        site.iter().filter(|(path, _)| path.ends_with(".svg") && !path.ends_with("badge.svg")).collect();
    assert!(drawings.len() >= 10, "only {} drawings", drawings.len());
    for (path, bytes) in drawings {
        let svg = std::str::from_utf8(bytes).expect("UTF-8");
        assert!(bytes.len() <= 60 << 10, "{path} has {} bytes", bytes.len());
        assert!(svg.contains("xmlns=\"http://www.w3.org/2000/svg\"") && svg.contains("prefers-color-scheme"), "{path}");
        assert!(svg.contains("<title") && svg.contains("<desc"), "{path}");
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let page = if folder.is_empty() { "index.html".to_owned() } else { format!("{folder}/index.html") };
        let html = String::from_utf8_lossy(&site[&page]);
        assert!(html.contains(&format!("href=\"{name}\" download")), "{page} does not lead to {name}");
    }
}

#[test]
fn the_published_site_is_what_its_archive_gives() {
    let site = published_site().to_str().expect("UTF-8");
    let ending = run_in(studies(), &["verify", site, "--archive", "data"], &[]).expect(0);
    ending.complains(&["recomputed with the settings of the site: all", "all match"]);
}

#[test]
fn a_number_that_was_changed_with_its_hash_is_found_by_making_the_analysis_again() {
    let folder = Folder::new("analyse-verify-number");
    let mut table = String::from("id,environment,model,workload,started_utc,e2e_latency_ms\n");
    for k in 0..5 {
        table +=
            &format!("a{k},native,m,w,2026-01-01T10:0{k}:00Z,1{k}.5\nb{k},box,m,w,2026-01-01T10:0{k}:30Z,2{k}.5\n");
    }
    folder.put("in/study/runs.csv", table);
    analyse(&folder, &["--margin", "e2e_latency_ms=7", "--baseline", "box"]).expect(0);
    let verify = |code, more: &[&str]| run_in(folder.path(), &[&["verify", "site"], more].concat(), &[]).expect(code);
    verify(0, &["--archive", "in"]).complains(&["all match"]);
    // A forger changes the number and the hash of its file.
    let path = folder.path().join("site/data/analysis.json");
    let text = fs::read_to_string(&path).expect("JSON");
    let sums = folder.path().join("site/data/SHA256SUMS");
    let forged = text.replacen("\"e2e_latency_ms\":10.5", "\"e2e_latency_ms\":9.5", 1);
    assert_ne!(text, forged);
    fs::write(&path, &forged).expect("written");
    let hash = |text: &str| sparkbench::archive::hash(text.as_bytes());
    let listed = fs::read_to_string(&sums).expect("a list");
    fs::write(&sums, listed.replace(&hash(&text), &hash(&forged))).expect("written");
    verify(0, &[]).complains(&["all match"]);
    let ending = verify(5, &["--archive", "in"]);
    assert!(
        ending.out.contains("data/analysis.json  /runs[a0|study|m|w|native]/metrics/e2e_latency_ms: the site has 9.5, the repeated analysis 10.5"),
        "{}",
        ending.out
    );
    ending.complains(&["1 differs"]);
}

#[test]
fn text_that_a_spreadsheet_would_run_is_text_in_the_workbook() {
    let folder = Folder::new("analyse-workbook-hostile");
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(["id", "environment", "model", "workload", "started_utc", "e2e_latency_ms"]).expect("in memory");
    for k in 0..4 {
        for (arm, second) in [("=HYPERLINK(\"http://x\")", 0), ("@SUM(A1)", 30)] {
            let start = format!("2026-01-01T10:0{k}:{second:02}Z");
            table.write_record(["r", arm, "+1+1", "-2+3", &start, &format!("1{k}.{second}")]).expect("in memory");
        }
    }
    folder.put("in/study/runs.csv", table.into_inner().expect("in memory"));
    analyse(&folder, &[]).expect(0);
    let parts = workbook(&fs::read(folder.path().join("site/data/report.xlsx")).expect("a workbook"));
    for text in ["=HYPERLINK(\"http://x\")", "@SUM(A1)", "+1+1", "-2+3"] {
        let escaped = text.replace('"', "&quot;");
        let shared = &parts["xl/sharedStrings.xml"];
        assert!(shared.contains(&format!(">{text}<")) || shared.contains(&format!(">{escaped}<")), "{text}");
    }
    assert!(parts["xl/styles.xml"].contains("quotePrefix=\"1\""));
    assert!(parts.values().all(|xml| !xml.contains("<f>") && !xml.contains("<hyperlink")));
}

#[test]
fn parquet_files_carry_the_units_of_their_columns() {
    use polars_io::{SerReader as _, prelude::ParquetReader};
    for (path, list, column, unit, direction) in [
        ("data/requests.parquet", "sparkbench.metrics", "e2e_latency_ms", "ms", "lower_is_better"),
        ("data/requests.parquet", "sparkbench.columns", "value", "of the metric", "of the metric"),
        ("data/runs.parquet", "sparkbench.columns", "output_throughput_tok_s", "tok/s", "higher_is_better"),
        ("data/comparisons.parquet", "sparkbench.columns", "overhead_ci.low", "%", ""),
    ] {
        let mut reader = ParquetReader::new(std::io::Cursor::new(read(path)));
        let metadata = reader.get_metadata().expect("metadata").key_value_metadata().clone().expect("keys");
        let text = metadata.iter().find(|pair| pair.key == list).and_then(|pair| pair.value.clone()).expect("the list");
        let columns: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (columns[column]["unit"].as_str(), columns[column]["direction"].as_str()),
            (Some(unit), Some(direction)),
            "{path} {column}"
        );
        assert!(!columns[column]["definition"].as_str().unwrap_or_default().is_empty(), "{path} {column}");
    }
}
