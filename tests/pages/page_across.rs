//! Pages of models, machines and engines over campaigns made by formula: what stands on them, where it leads, what is not there.

#![cfg(feature = "page")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::support::loads;
use crate::support::{sample_analysis, site_check};
use sparkbench::page::{self, Extras, Page};
use sparkbench::verdict::report::{Analysis, VerdictKind};

static ANALYSIS: LazyLock<Analysis> = LazyLock::new(loads::analysis);
static SITE: LazyLock<Vec<Page>> = LazyLock::new(|| page::render(&ANALYSIS, &extras()).unwrap());

/// Constants and traps of the sample, without its runs.
fn extras() -> Extras {
    Extras { telemetry: BTreeMap::new(), requests: BTreeMap::new(), ..sample_analysis::extras() }
}

fn find(path: &str) -> Option<String> {
    let page = SITE.iter().find(|page| page.path == path)?;
    Some(String::from_utf8(page.bytes.clone()).unwrap())
}

fn text(path: &str) -> String {
    find(path).unwrap_or_else(|| panic!("no {path}"))
}

#[test]
fn every_page_is_sound_and_light_and_hostile_names_stay_text() {
    let files: BTreeMap<String, Vec<u8>> = SITE.iter().map(|page| (page.path.clone(), page.bytes.clone())).collect();
    let faults = site_check::faults(&files);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    for page in SITE.iter().filter(|page| page.path.ends_with(".html")) {
        let html = String::from_utf8(page.bytes.clone()).unwrap();
        let own = ["m/", "p/", "engines/"].iter().any(|folder| page.path.starts_with(folder));
        assert!(!own || html.len() < 500_000, "{} weighs {}", page.path, html.len());
    }
    assert!(text("m/index.html").contains("script&#62;") || text("m/index.html").contains("script&gt;"));
    // For looking at: SPARKBENCH_LOADS_SITE=folder cargo test --test pages page_across::
    if let Some(dir) = std::env::var_os("SPARKBENCH_LOADS_SITE") {
        page::write(dir.as_ref(), &SITE).unwrap();
    }
}

#[test]
fn a_model_has_a_line_per_environment_a_trade_off_and_its_memory_and_every_point_leads_to_its_runs() {
    let html = text("m/x-7b/index.html");
    for words in [
        "Throughput against load",
        "NVIDIA L4, bf16, 512 in, 128 out",
        "What a user waits for",
        "End-to-end latency against output",
        "Where the memory goes",
        "Everything measured",
        "1 point of a single run, without an interval",
    ] {
        assert!(html.contains(words), "'{words}' is not on the page");
    }
    let sweep = &ANALYSIS.across.sweeps[0];
    assert_eq!(sweep.lines.iter().map(|l| l.label.as_str()).collect::<Vec<_>>(), ["native", "container"]);
    // The cell of a single run leads to that run.
    let single = ANALYSIS.runs.iter().find(|r| r.environment == "container" && r.workload == "b64").unwrap();
    assert!(html.contains(&format!("../../r/{}/index.html", single.id)));
    let front = ANALYSIS.across.frontiers.iter().find(|f| f.x == "e2e_latency_ms").unwrap();
    assert!(front.points.iter().any(|p| p.best) && front.points.iter().any(|p| !p.best));
}

#[test]
fn a_machine_has_its_lengths_and_its_roofline_from_facts_and_from_the_probe() {
    let html = text("p/l4/index.html");
    for words in [
        "Output by input and output length",
        "Roofline of NVIDIA L4",
        "300 GB/s, nominal",
        "measured by a probe",
        "n=1",
        "best of 7",
    ] {
        assert!(html.contains(words), "'{words}' is not on the page");
    }
    let roof = &ANALYSIS.across.rooflines[0];
    assert_eq!(roof.ceilings.iter().filter(|c| c.source == "probe").count(), 2);
    // Intensity of a batch is about its size at 16 bits: two operations and two bytes a parameter, less what is not multiplied.
    let one = roof.points.iter().find(|p| p.cell.workload == "b1" && p.cell.environment == "native").unwrap();
    assert!((0.8..1.0).contains(&one.intensity_flop_per_byte), "{}", one.intensity_flop_per_byte);
    let hidden = text("p/not-named/index.html");
    assert!(hidden.contains("No file of these runs says where they ran") && hidden.contains("No roofline: missing"));
}

#[test]
fn engines_stand_side_by_side_where_the_rules_allow_it_and_the_reason_is_cited_where_they_do_not() {
    let html = text("engines/index.html");
    let table = &ANALYSIS.across.engines[0];
    let of = |label: &str| {
        let found = table.comparisons.iter().find(|c| c.candidate == label && c.metric == "output_throughput_tok_s");
        let known: Vec<&str> = table.comparisons.iter().map(|c| c.candidate.as_str()).collect();
        found.unwrap_or_else(|| panic!("no {label} among {known:?}"))
    };
    // One engine ran after the other, so the few runs show nothing. They can be compared.
    assert_eq!(of("Engine Two, native").verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(of("Engine Three, native").verdict.kind, VerdictKind::NotComparable);
    assert_eq!(of("Engine Two, container").verdict.kind, VerdictKind::NotComparable);
    for reason in ["the quantisation differs", "the environment differs: native against container"] {
        assert!(html.contains(reason), "the reason is cited: {reason}");
    }
    let baseline = &table.rows[0];
    assert!(
        table.comparisons.iter().all(|c| !c.candidate.starts_with(&baseline.engine)),
        "one engine is not a comparison of engines"
    );
    let drawn = html.split_once("<svg").unwrap().1.split_once("</svg>").unwrap().0;
    assert!(
        drawn.contains("Engine Two, native") && !drawn.contains("Engine Three"),
        "what may not be compared is not drawn"
    );
}

#[test]
fn kinds_without_anything_to_show_have_no_page() {
    let mut analysis = ANALYSIS.clone();
    for place in &mut analysis.across.places {
        place.engine = Some("Only".into());
    }
    let pages = page::render(&analysis, &extras()).unwrap();
    assert!(!pages.iter().any(|page| page.path.starts_with("engines/")));
    analysis.across = Default::default();
    let pages = page::render(&analysis, &extras()).unwrap();
    assert!(!pages.iter().any(|page| page.path.starts_with("m/") || page.path.starts_with("p/")));
}

#[test]
fn every_row_of_the_pages_is_in_the_analysis_and_in_no_other_json() {
    let whole: serde_json::Value = serde_json::from_str(&text("data/analysis.json")).unwrap();
    for name in ["places", "model_summaries", "machine_summaries", "grids", "rooflines", "memory_stacks", "engines"] {
        assert!(whole[name].as_array().is_some_and(|rows| !rows.is_empty()), "{name}");
    }
    let mut others = SITE.iter().map(|page| page.path.as_str()).filter(|path| path.ends_with("/index.json"));
    assert_eq!(others.find(|path| !path.starts_with("v/")), None);
}
