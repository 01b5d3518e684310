//! The pages that say why: one a pair of environments, one a model and workload.

#![cfg(feature = "page")]

use std::collections::BTreeMap;

use crate::support::{sample_analysis, site_check};
use sparkbench::model::{Origin, Series};
use sparkbench::page::{self, Extras, Page};
use sparkbench::verdict::report::*;

const PAIR: &str = "c/phase1/native--container/index.html";
const CELL: &str = "c/phase1/deepseek/x-128-in-128-out/index.html";

fn text(pages: &[Page], path: &str) -> String {
    let page = pages.iter().find(|page| page.path == path).unwrap_or_else(|| panic!("no {path}"));
    String::from_utf8(page.bytes.clone()).unwrap()
}

fn sound(pages: &[Page]) {
    let files: BTreeMap<String, Vec<u8>> = pages.iter().map(|p| (p.path.clone(), p.bytes.clone())).collect();
    let faults = site_check::faults(&files);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The first comparison of the sample with everything a cell may have: a grid, pairs, a shift.
fn rich() -> (Analysis, Extras) {
    let (mut analysis, mut extras) = (sample_analysis::analysis(), sample_analysis::extras());
    let ids: Vec<(String, String)> = (1..=3)
        .map(|k| (format!("phase1-native-gpt120b-{k:02}"), format!("phase1-container-gpt120b-{k:02}")))
        .collect();
    let c = analysis
        .comparisons
        .iter_mut()
        .find(|c| c.campaign == "phase1" && c.model == "gpt120b" && c.metric == "output_throughput_tok_s")
        .unwrap();
    let methods = [StabilityMethod::T, StabilityMethod::Bootstrap, StabilityMethod::Permutation];
    let cells: Vec<StabilityCell> = methods
        .into_iter()
        .flat_map(|method| [0.5, 1.0, 2.0].map(|margin_factor| (method, margin_factor)))
        .map(|(method, margin_factor)| StabilityCell {
            method,
            without_flagged: false,
            margin_factor,
            margin_pct: 2.0 * margin_factor,
            kind: if margin_factor < 1.0 { VerdictKind::Inconclusive } else { VerdictKind::Equivalent },
        })
        .collect();
    c.stability_panel = Some(StabilityPanel { same: 6, of: 9, cells });
    let row = |(k, (a, b)): (usize, &(String, String))| PairRow {
        block: Some(k as u32 + 1),
        baseline_run: a.clone(),
        candidate_run: b.clone(),
        baseline: 119.0,
        candidate: 119.5 - k as f64,
        difference: 0.5 - k as f64,
    };
    c.pairs = Some(PairsReport {
        rows: ids.iter().enumerate().map(row).collect(),
        above: 1,
        below: 2,
        equal: 0,
        mean_difference: Some(-0.5),
        interval: Some(Interval::new(-2.98, 1.98)),
    });
    let decile = |k: u32| ShiftDecile {
        percent: 10 * k,
        baseline: 60.0 + f64::from(k),
        candidate: 62.0 + f64::from(k),
        difference: 2.0,
        interval: Some(Interval::new(1.0, 3.0)),
        band: Some(Interval::new(0.5, 3.5)),
    };
    c.shift = Some(ShiftReport {
        deciles: (1..=9).map(decile).collect(),
        runs_baseline: 3,
        runs_candidate: 3,
        requests_baseline: 60,
        requests_candidate: 60,
        resamples: Some(500),
        above: 9,
        below: 0,
        flags: vec!["few_runs".into()],
    });
    for id in ids.iter().flat_map(|(a, b)| [a, b]) {
        let origin = Origin { file: "x.json".into(), line: None, field: None, rule: "flat.requests" };
        let values = (0..20).map(|k| 60.0 + f64::from(k)).collect();
        extras.requests.insert(id.clone(), vec![Series { metric: "output_throughput_tok_s".into(), values, origin }]);
    }
    (analysis, extras)
}

#[test]
fn every_pair_and_every_cell_has_a_page() {
    let analysis = sample_analysis::analysis();
    let pages = page::render(&analysis, &sample_analysis::extras()).unwrap();
    for campaign in ["phase1", "second"] {
        for model in ["deepseek", "gpt120b", "qwen72b"] {
            let html = text(&pages, &format!("c/{campaign}/{model}/x-128-in-128-out/index.html"));
            assert!(html.contains(&format!("<h1>Why that verdict? {model} · 128 in, 128 out</h1>")));
        }
        let html = text(&pages, &format!("c/{campaign}/native--container/index.html"));
        assert!(html.contains("<h1>container against native</h1>") && html.contains("9 comparisons"));
    }
    sound(&pages);
}

#[test]
fn a_verdict_leads_to_its_account_and_a_number_of_runs_to_the_runs_and_a_run_to_its_page() {
    let pages = page::render(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap();
    let pair = text(&pages, PAIR);
    let anchor = "deepseek-128-in-128-out-output_throughput_tok_s-container";
    let cell = "../../../c/phase1/deepseek/x-128-in-128-out/index.html";
    for link in [format!("{cell}#{anchor}"), format!("{cell}#runs")] {
        assert!(pair.contains(&format!("href=\"{link}\"")), "{link}");
    }
    let cell = text(&pages, CELL);
    assert!(cell.contains(&format!("<details class=\"account\" id=\"{anchor}\">")));
    assert!(cell.contains("href=\"../../../../r/phase1-native-deepseek-01/index.html\""));
    // Every metric has its account, not the primary ones alone.
    assert!(cell.contains("id=\"deepseek-128-in-128-out-request_throughput_req_s-container\""));
    let campaign = text(&pages, "c/phase1/index.html");
    for path in ["native--container/index.html", "deepseek/x-128-in-128-out/index.html"] {
        assert!(campaign.contains(&format!("href=\"../../c/phase1/{path}\"")), "{path}");
    }
}

#[test]
fn pairs_requests_and_other_choices_stand_on_the_page_of_their_cell() {
    let (analysis, extras) = rich();
    let pages = page::render(&analysis, &extras).unwrap();
    sound(&pages);
    let html = text(&pages, "c/phase1/gpt120b/x-128-in-128-out/index.html");
    for words in [
        "Of 3 pairs, container is above native in 1, below in 2. Mean difference −0.5 tok/s [−3.0, 2.0].",
        "container takes more at 9 of 9 deciles.",
        "120 requests of 3 runs and 3 runs. Runs, then their requests, were resampled 500 times (fewer than five runs).",
        "Half of the requests take 65 tok/s or less in native and 67 tok/s or less in container.",
        "The same verdict in 6 of 9.",
        "±1 %",
        "../../../../r/phase1-container-gpt120b-02/index.html",
    ] {
        assert!(html.contains(words), "'{words}' is not on the page");
    }
    assert_eq!(html.matches("<td class=\"other\">").count(), 3, "three combinations differ");
    assert!(text(&pages, PAIR).contains("6 of 9"));
    // What cannot be compared says that no choice changes it.
    assert!(text(&pages, CELL).contains("No choice of test, runs or margin makes these arms comparable"));
}

#[test]
fn a_cell_of_one_environment_and_one_run_has_a_page_that_says_so() {
    let mut analysis = sample_analysis::analysis();
    let id = "phase1-native-deepseek-01";
    analysis.campaigns.retain(|c| c.name == "phase1");
    analysis.comparisons.clear();
    analysis.traps.clear();
    analysis.campaigns[0].order.clear();
    analysis.campaigns[0].pooled.clear();
    analysis.campaigns[0].answer = None;
    analysis.campaigns[0].headline.clear();
    analysis.campaigns[0].supported.clear();
    analysis.campaigns[0].unsupported.clear();
    analysis.runs.retain(|r| r.id == id);
    analysis.runs[0].workload.clear();
    analysis.groups.retain(|g| g.campaign == "phase1" && g.environment == "native" && g.model == "deepseek");
    for g in &mut analysis.groups {
        g.workload.clear();
        g.n = 1;
        g.values.truncate(1);
        g.run_ids.truncate(1);
        (g.sd, g.se, g.cv_pct, g.t_interval, g.bootstrap) = (None, None, None, None, None);
    }
    let mut extras = sample_analysis::extras();
    extras.requests.clear();
    let pages = page::render(&analysis, &extras).unwrap();
    sound(&pages);
    let html = text(&pages, "c/phase1/deepseek/all/index.html");
    assert!(html.contains("There is nothing to compare here"));
    for gone in ["id=\"pairs\"", "id=\"requests\"", "id=\"stability\"", "id=\"metrics\"", "NaN"] {
        assert!(!html.contains(gone), "{gone}");
    }
    assert!(html.contains(id));
}

#[test]
fn names_that_share_a_slug_have_pages_of_their_own() {
    let mut analysis = sample_analysis::analysis();
    for (from, to) in [("deepseek", "a b"), ("gpt120b", "a-b"), ("qwen72b", "A B")] {
        analysis.runs.iter_mut().filter(|r| r.model == from).for_each(|r| r.model = to.into());
        analysis.groups.iter_mut().filter(|g| g.model == from).for_each(|g| g.model = to.into());
        analysis.comparisons.iter_mut().filter(|c| c.model == from).for_each(|c| c.model = to.into());
    }
    let pages = page::render(&analysis, &sample_analysis::extras()).unwrap();
    sound(&pages);
    let cells: Vec<&str> = pages
        .iter()
        .map(|p| p.path.as_str())
        .filter(|p| p.starts_with("c/phase1/a-b/") && p.ends_with(".html"))
        .collect();
    assert_eq!(cells.len(), 3, "{cells:?}");
}
