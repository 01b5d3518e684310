//! Why each verdict of `data/` is what it is: pages of pairs and cells, other choices, pairs of runs, shift of the requests.

use std::collections::BTreeSet;

use crate::support::files::files_below;
use crate::support::report::{kind, list, number, text};
use crate::{published, published_site};

#[test]
fn every_pair_and_every_cell_of_both_archives_has_a_page_that_the_campaign_leads_to() {
    let files = files_below(published_site());
    let page = |path: &str| String::from_utf8(files.get(path).unwrap_or_else(|| panic!("no {path}")).clone()).unwrap();
    for (campaign, pair, cells) in [
        ("phase1", "native--container", &["deepseek/throughput", "gpt120b/throughput", "qwen72b/throughput"][..]),
        ("h200-chroot", "native--chroot", &["llama1b/t1", "llama1b/t2", "llama1b/t5"][..]),
    ] {
        let campaign_page = page(&format!("c/{campaign}/index.html"));
        let pair_page = page(&format!("c/{campaign}/{pair}/index.html"));
        assert!(campaign_page.contains(&format!("/{pair}/index.html\"")), "{campaign}");
        for cell in cells {
            let html = page(&format!("c/{campaign}/{cell}/index.html"));
            assert!(html.contains("<h1>Why that verdict? "), "{cell}");
            for from in [&campaign_page, &pair_page] {
                assert!(from.contains(&format!("c/{campaign}/{cell}/index.html")), "{cell}");
            }
        }
        // Every comparison stands in the tables of the pair, and in full on the page of its cell.
        let compared = published().comparisons(campaign).len();
        assert_eq!(pair_page.matches("#runs\">n = ").count(), 2 * compared, "{campaign}");
    }
}

#[test]
fn the_panel_holds_every_named_choice_and_counts_what_agrees() {
    let (mut panels, mut flagged) = (0, 0);
    for c in list(&published().0, "comparisons") {
        let panel = &c["stability_panel"];
        if panel.is_null() {
            assert!(kind(c) == "not_comparable" || c["overhead_pct"].is_null(), "{c}");
            continue;
        }
        panels += 1;
        let cells = list(panel, "cells");
        let without = cells.iter().any(|cell| cell["without_flagged"] == true);
        flagged += usize::from(without);
        assert_eq!(without, !c["without_flagged"].is_null());
        let choices: BTreeSet<(String, bool, String)> = cells
            .iter()
            .map(|cell| {
                let flagged = cell["without_flagged"].as_bool().expect("a choice of runs");
                (text(cell, "method").to_owned(), flagged, number(cell, "margin_factor").to_string())
            })
            .collect();
        assert_eq!(choices.len(), cells.len(), "each combination once");
        assert_eq!(cells.len(), if without { 18 } else { 9 });
        for method in ["t", "bootstrap", "permutation"] {
            for factor in ["0.5", "1", "2"] {
                assert!(choices.contains(&(method.to_owned(), false, factor.to_owned())), "{method} at {factor}");
            }
        }
        let same = cells.iter().filter(|cell| kind_of(cell) == kind(c)).count();
        assert_eq!((number(panel, "same"), number(panel, "of")), (same as f64, cells.len() as f64));
    }
    assert!(panels > 20 && flagged > 5, "{panels} panels, {flagged} with flagged runs");
}

fn kind_of(cell: &serde_json::Value) -> &str {
    text(cell, "kind")
}

#[test]
fn interleaved_runs_form_pairs_and_runs_one_after_the_other_form_none() {
    for c in published().comparisons("phase1") {
        assert!(c["pairs"].is_null() && c["shift"].is_null(), "{}", text(c, "metric"));
    }
    let c = published().comparison("h200-chroot", "llama1b", "T1", "e2e_latency_ms");
    let rows = list(&c["pairs"], "rows");
    assert_eq!((rows.len(), c["paired"].as_bool()), (7, Some(true)));
    let runs = list(&published().0, "runs");
    let mut sum = 0.0;
    for row in rows {
        for (run, value, environment) in
            [("baseline_run", "baseline", "native"), ("candidate_run", "candidate", "chroot")]
        {
            let run = runs.iter().find(|r| text(r, "id") == text(row, run)).expect("a run of the analysis");
            assert_eq!((text(run, "environment"), &run["block"]), (environment, &row["block"]));
            assert_eq!(number(&run["metrics"], "e2e_latency_ms"), number(row, value));
        }
        assert_eq!(number(row, "difference"), number(row, "candidate") - number(row, "baseline"));
        sum += number(row, "difference");
    }
    let mean = number(&c["pairs"], "mean_difference");
    assert!((mean - sum / 7.0).abs() < 1e-9);
    let (low, high) = (number(&c["pairs"]["interval"], "low"), number(&c["pairs"]["interval"], "high"));
    assert!(low < mean && mean < high);
    // The paired t of the same differences: the interval excludes zero where its p is below 0.05.
    assert_eq!(number(&c["paired_t"], "p") < 0.05, low > 0.0 || high < 0.0);
}

#[test]
fn requests_have_a_shift_of_nine_deciles_whose_middle_is_the_difference_of_the_medians() {
    let mut seen = 0;
    for c in published().comparisons("h200-chroot") {
        let shift = &c["shift"];
        if shift.is_null() {
            continue;
        }
        seen += 1;
        let deciles = list(shift, "deciles");
        let percents: Vec<f64> = deciles.iter().map(|d| number(d, "percent")).collect();
        assert_eq!(percents, [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
        for d in deciles {
            assert!((number(d, "difference") - (number(d, "candidate") - number(d, "baseline"))).abs() < 1e-9);
            assert!(number(&d["interval"], "low") <= number(&d["interval"], "high"));
            assert!(number(&d["band"], "low") <= number(d, "difference"));
        }
        assert_eq!((number(shift, "runs_baseline"), number(shift, "runs_candidate")), (7.0, 7.0));
        assert!(number(shift, "resamples") <= 500.0);
        // The pooled median stands in the group too, made in another place.
        let (model, workload, metric) = (text(c, "model"), text(c, "workload"), text(c, "metric"));
        let group = published().group("h200-chroot", model, workload, "native", metric);
        let half =
            list(group, "request_percentiles").iter().find(|p| text(p, "percentile") == "p50").expect("a median");
        assert!((number(half, "estimate") - number(&deciles[4], "baseline")).abs() < 1e-9, "{metric}");
    }
    assert!(seen >= 9, "{seen} comparisons with requests");
}
