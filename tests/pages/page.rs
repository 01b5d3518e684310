//! The pages of an analysis made by hand: sound, escaped, the same twice, within their weights.

#![cfg(feature = "page")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::support::{sample_analysis, site_check};
use sha2::{Digest, Sha256};
use sparkbench::page::{self, HashedPage, Page};
use sparkbench::verdict::report::Analysis;

/// Rendered once for all tests that only look.
static SITE: LazyLock<Vec<Page>> =
    LazyLock::new(|| page::render(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap());

fn site() -> Vec<Page> {
    SITE.clone()
}

fn files(pages: &[Page]) -> BTreeMap<String, Vec<u8>> {
    pages.iter().map(|page| (page.path.clone(), page.bytes.clone())).collect()
}

fn text(pages: &[Page], path: &str) -> String {
    let page = pages.iter().find(|page| page.path == path).unwrap_or_else(|| panic!("no {path}"));
    String::from_utf8(page.bytes.clone()).unwrap()
}

#[test]
fn every_page_of_the_sample_is_sound() {
    let faults = site_check::faults(&files(&site()));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_sample_is_written_where_a_person_asks_for_it() {
    // For looking at: SPARKBENCH_SAMPLE_SITE=folder cargo test --test pages page::
    if let Some(dir) = std::env::var_os("SPARKBENCH_SAMPLE_SITE") {
        page::write(dir.as_ref(), &site()).unwrap();
    }
}

#[test]
fn the_paths_of_the_contract_are_there() {
    let pages = site();
    for path in [
        "index.html",
        "c/phase1/index.html",
        "r/phase1-native-deepseek-01/index.html",
        "traps/index.html",
        "cost/index.html",
        "method/index.html",
        "data/index.html",
        "data/analysis.json",
        "data/comparisons.csv",
        "data/ANALYSIS.md",
        "data/SHA256SUMS",
        "data/runs.csv",
    ] {
        assert!(pages.iter().any(|page| page.path == path), "{path}");
    }
}

#[test]
fn the_same_analysis_gives_the_same_bytes() {
    assert_eq!(site(), page::render(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap());
}

#[test]
fn a_hostile_name_stays_text_and_the_only_script_is_the_sites_own() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let own: Vec<_> = include_str!("../../static/site.js")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(str::to_owned)
        .collect();
    let pages = site();
    let scripts: Vec<&Page> = pages.iter().filter(|page| page.path.ends_with(".js")).collect();
    assert_eq!(scripts.len(), 1);
    assert_eq!(lines(&text(&pages, &scripts[0].path)), own);
    let one = page::single_file(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap();
    for page in pages.iter().chain(&[Page::new("one.html", one)]).filter(|page| page.path.ends_with(".html")) {
        let html = String::from_utf8(page.bytes.clone()).unwrap().replace("<script type=\"application/ld+json\">", "");
        let shared = html.split_once(&format!("{}\"></script>", scripts[0].path));
        let rest = shared.map(|(before, rest)| (before.rsplit_once("<script src=\"").map(|(before, _)| before), rest));
        let rest = match rest {
            Some((before, rest)) => [before.unwrap_or("<script"), rest].concat(),
            None => {
                let (_, rest) = html.split_once("<script>").unwrap_or_else(|| panic!("{} has no script", page.path));
                let (script, rest) = rest.split_once("</script>").unwrap();
                assert_eq!(lines(script), own, "{}", page.path);
                rest.to_owned()
            }
        };
        assert!(!rest.to_lowercase().contains("<script"), "{}", page.path);
    }
    assert!(
        text(&site(), "data/index.html").contains("&#60;script&#62;")
            || text(&site(), "data/index.html").contains("&lt;script&gt;")
    );
}

#[test]
fn the_hashes_are_those_of_every_other_file() {
    let pages = site();
    let sums = text(&pages, "data/SHA256SUMS");
    let mut listed = BTreeMap::new();
    for line in sums.lines() {
        let (hash, path) = line.split_once("  ").unwrap();
        listed.insert(path.to_owned(), hash.to_owned());
    }
    assert_eq!(listed.len(), pages.len() - 1);
    for page in pages.iter().filter(|page| page.path != "data/SHA256SUMS") {
        let hash: String = Sha256::digest(&page.bytes).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(listed.get(&page.path), Some(&hash), "{}", page.path);
    }
}

#[test]
fn pages_keep_within_their_weights() {
    let pages = site();
    for page in pages.iter().filter(|page| page.path.ends_with(".html")) {
        let most = match page.path.as_str() {
            "index.html" => 150_000,
            // The whole report as one file.
            path if path.starts_with("v/") => 2_000_000,
            _ => 500_000,
        };
        assert!(page.bytes.len() <= most, "{} weighs {} bytes", page.path, page.bytes.len());
    }
    let all: usize = pages.iter().map(|page| page.bytes.len()).sum();
    assert!(all <= 25_000_000, "{all} bytes");
}

#[test]
fn the_report_as_one_file_is_sound_and_needs_no_other() {
    let bytes = page::single_file(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap();
    assert!(bytes.len() < 2_000_000, "{} bytes", bytes.len());
    let one = BTreeMap::from([("index.html".to_owned(), bytes.clone())]);
    let faults = site_check::faults(&one);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let html = String::from_utf8(bytes.clone()).unwrap();
    for path in ["index.html", "c/phase1/index.html", "traps/index.html", "cost/index.html", "method/index.html"] {
        let page = text(&site(), path);
        let heading = page.split_once("<h1").unwrap().1.split_once('>').unwrap().1.split_once("</h1>").unwrap().0;
        assert!(html.contains(heading), "{path} is not in it");
    }
    for run in &sample_analysis::analysis().runs {
        assert!(html.contains(&format!("id=\"run-{}\"", run.id)), "no row of {}", run.id);
    }
    assert_eq!(bytes, page::single_file(&sample_analysis::analysis(), &sample_analysis::extras()).unwrap());
}

#[test]
fn a_run_with_three_series_of_a_thousand_requests_stays_light_and_says_what_it_thins() {
    let analysis = sample_analysis::analysis();
    let mut extras = sample_analysis::extras();
    let id = analysis.runs[0].id.clone();
    let series = ["ttft_ms", "tpot_ms", "e2e_latency_ms"].map(|metric| sparkbench::model::Series {
        metric: metric.into(),
        values: (0..1_000).map(|k| 10.0 + f64::from((k * 7_919) % 1_009) / 7.0).collect(),
        origin: sparkbench::model::Origin { file: "x.json".into(), line: None, field: None, rule: "flat.requests" },
    });
    extras.requests.insert(id.clone(), series.to_vec());
    let html = text(&page::render(&analysis, &extras).unwrap(), &format!("r/{id}/index.html"));
    assert!(html.len() <= 150_000, "{} bytes", html.len());
    assert_eq!(html.matches("the least and the greatest of every 5 of").count(), 2, "TTFT and E2E latency are drawn");
}

#[test]
fn one_campaign_asks_its_question_as_the_heading_of_the_front_page() {
    let mut analysis = sample_analysis::analysis();
    analysis.campaigns.truncate(1);
    analysis.runs.retain(|run| run.campaign == "phase1");
    let pages = page::render(&analysis, &sample_analysis::extras()).unwrap();
    let faults = site_check::faults(&files(&pages));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(text(&pages, "index.html").contains("<h1 class=\"question\""));
}

/// An analysis that found no run.
fn nothing() -> Analysis {
    let mut analysis = sample_analysis::analysis();
    analysis.campaigns.clear();
    analysis.runs.clear();
    analysis.groups.clear();
    analysis.comparisons.clear();
    analysis.traps.clear();
    analysis.physics.clear();
    analysis.costs.clear();
    analysis.best_batches.clear();
    analysis.machines.clear();
    analysis.references.clear();
    analysis.history.clear();
    analysis
}

#[test]
fn a_cost_stands_beside_its_interval_its_price_and_the_day_of_it_and_an_empty_cell_says_why() {
    let html = text(&site(), "cost/index.html");
    for words in [
        "0.450",
        "[0.440,\u{a0}0.460], n\u{a0}=\u{a0}10",
        "gb10-owned, 2026-06-12",
        "no price of NVIDIA B200 in the list",
        "LMSYS, NVIDIA DGX Spark In-Depth Review",
        "not told apart from 16",
        "TPOT is 250 ms",
        "missing: facts about the machine",
        "reported 87.5 GiB",
        "1.80",
    ] {
        assert!(html.contains(words), "'{words}' is not on the page");
    }
    let empty = text(&page::render(&nothing(), &sample_analysis::extras()).unwrap(), "cost/index.html");
    assert!(empty.contains("No group reports output tokens a second."));
}

#[test]
fn an_analysis_of_nothing_still_has_its_pages() {
    let pages = page::render(&nothing(), &sample_analysis::extras()).unwrap();
    let faults = site_check::faults(&files(&pages));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_campaign_without_numbers_says_so_and_nothing_else_breaks() {
    let mut analysis = sample_analysis::analysis();
    for c in analysis.comparisons.iter_mut() {
        c.mean_baseline = None;
        c.mean_candidate = None;
        c.difference = None;
        c.difference_ci = None;
        c.overhead_pct = None;
        c.overhead_ci = None;
        c.overhead_ci90 = None;
        c.tost = None;
    }
    for g in &mut analysis.groups {
        g.n = 0;
        g.values.clear();
        g.run_ids.clear();
        g.mean = None;
        g.t_interval = None;
    }
    for r in &mut analysis.runs {
        r.metrics.clear();
        r.started_utc = None;
    }
    for c in &mut analysis.campaigns {
        c.answer = None;
        c.headline.clear();
        c.question = None;
        c.last_started_utc = None;
        c.order.clear();
    }
    let pages = page::render(&analysis, &sample_analysis::extras()).unwrap();
    let faults = site_check::faults(&files(&pages));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // The manual says what becomes of it.
    let of_numbers = |page: &&Page| page.path.ends_with(".html") && !page.path.starts_with("docs/");
    for page in pages.iter().filter(of_numbers) {
        let html = String::from_utf8(page.bytes.clone()).unwrap();
        assert!(!html.contains("NaN"), "{}", page.path);
    }
}

#[test]
fn a_name_that_could_leave_the_site_is_refused() {
    let mut analysis = sample_analysis::analysis();
    analysis.runs[0].id = "../escape".into();
    assert!(page::render(&analysis, &sample_analysis::extras()).is_err());
    let mut analysis = sample_analysis::analysis();
    analysis.runs[0].id = analysis.runs[1].id.clone();
    assert!(page::render(&analysis, &sample_analysis::extras()).is_err());
}

#[test]
fn a_ready_file_may_not_take_a_path_of_ours() {
    let mut extras = sample_analysis::extras();
    extras.extra_files.push(HashedPage::new(Page::new("data/analysis.json", "{}")));
    let error = page::render(&sample_analysis::analysis(), &extras).unwrap_err();
    assert!(error.to_string().contains("data/analysis.json"), "{error}");
}

#[test]
fn a_threshold_that_nobody_supplied_is_an_error_and_not_a_gap_in_the_prose() {
    let mut extras = sample_analysis::extras();
    let name = page::CONSTANTS[0];
    extras.constants.remove(name);
    let error = page::render(&sample_analysis::analysis(), &extras).unwrap_err();
    assert!(error.to_string().contains(name), "{error}");
}

#[test]
fn every_constant_is_quoted_by_the_prose() {
    let empty = nothing();
    assert!(page::render(&empty, &sample_analysis::extras()).is_ok());
    for name in page::CONSTANTS {
        let mut extras = sample_analysis::extras();
        extras.constants.remove(name);
        assert!(page::render(&empty, &extras).is_err(), "{name} is quoted nowhere");
    }
}

#[test]
fn a_formula_in_a_name_is_text_in_the_csv() {
    let mut analysis = sample_analysis::analysis();
    analysis.comparisons[0].model = "=HYPERLINK(\"http://example.org\")".into();
    let pages = page::render(&analysis, &sample_analysis::extras()).unwrap();
    let csv = text(&pages, "data/comparisons.csv");
    assert!(csv.contains("\"'=HYPERLINK("), "{}", csv.lines().nth(1).unwrap_or(""));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let columns = reader.headers().unwrap().len();
    for row in reader.records() {
        assert_eq!(row.unwrap().len(), columns);
    }
}

#[test]
fn pooled_comparisons_stand_in_the_tables_for_machines() {
    let mut analysis = sample_analysis::analysis();
    let mut pooled = analysis.comparisons[0].clone();
    pooled.model = "vendor/one-model".into();
    pooled.workload = "pooled".into();
    for campaign in &mut analysis.campaigns {
        campaign.pooled.clear();
    }
    analysis.campaigns[0].pooled = vec![pooled];
    let pages = page::render(&analysis, &sample_analysis::extras()).unwrap();
    let csv = text(&pages, "data/comparisons.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().next_back(), Some("pooled"));
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), analysis.comparisons.len() + 1);
    let last = rows.last().unwrap();
    assert_eq!((&last[1], &last[2], last.iter().next_back()), ("vendor/one-model", "pooled", Some("true")));
    assert!(text(&pages, "data/ANALYSIS.md").contains("| vendor/one-model | pooled |"));
}

/// A page that is sound, to be spoilt in one way at a time.
fn sound() -> String {
    text(&site(), "method/index.html")
}

#[test]
fn the_checker_sees_what_is_wrong() {
    let spoilt: &[(&str, &str, &str, &str)] = &[
        ("a dead link", "href=\"../data/index.html\"", "href=\"../data/gone.html\"", "leads nowhere"),
        ("a dead anchor", "href=\"#limits\"", "href=\"#nowhere\"", "no anchor"),
        ("an absolute link", "href=\"../data/index.html\"", "href=\"/data/index.html\"", "not relative"),
        ("an id twice", "id=\"metrics\"", "id=\"limits\"", "twice"),
        ("two headings", "<h1>Method</h1>", "<h1>Method</h1><h1>Again</h1>", "one h1"),
        ("a skipped heading", "<h1>Method</h1>", "<h1>Method</h1><h4>Deep</h4>", "follows"),
        ("a second script", "<h1>", "<script>1</script><h1>", "not the site's own"),
        ("a script of another kind", "<script src=", "<script type=\"module\" src=", "not the site's own"),
        ("a script in the page", "<script src=", "<script>alert(1);</script><script src=", "policy does not name"),
        ("a policy that allows more", "script-src ", "script-src &#39;unsafe-eval&#39; ", "names more"),
        ("a script from elsewhere", "<script src=\"", "<script src=\"https://example.org/", "no file of the site"),
        ("a script that is not there", "<script src=\"../", "<script src=\"../../", "no file of the site"),
        ("data that is none", "<h1>", "<script type=\"application/ld+json\">alert(1)</script><h1>", "no JSON"),
        ("a picture from elsewhere", "<h1>", "<img src=\"https://example.org/x.png\"><h1>", "fetches"),
        ("a style attribute", "<h1>", "<h1 style=\"color:red\">", "policy forbids"),
        (
            "a sheet in the page",
            "<link rel=\"stylesheet\"",
            "<style>p{}</style><link rel=\"stylesheet\"",
            "policy does not name",
        ),
        (
            "a table without caption",
            "<caption class=\"sr\">Metrics with",
            "<caption class=\"sr\"></caption><caption>Metrics with",
            "caption",
        ),
        (
            "a drawing without words",
            "<h1>",
            "<svg width=\"1\" height=\"1\" viewBox=\"0 0 1 1\"></svg><h1>",
            "without title",
        ),
        ("an open element", "<h1>", "<div><h1>", "never closed"),
        ("no language", "<html lang=\"en\">", "<html>", "no language"),
    ];
    for (what, from, to, said) in spoilt {
        let page = sound();
        assert!(page.contains(from), "{what}: the page has no {from}");
        let mut spoilt = files(&site());
        spoilt.retain(|path, _| path == "index.html" || path == "data/index.html" || path.starts_with("assets/"));
        spoilt.insert("method/index.html".into(), page.replacen(from, to, 1).into_bytes());
        let faults = site_check::faults(&spoilt);
        assert!(faults.iter().any(|fault| fault.contains(said)), "{what} was not seen: {faults:?}");
    }
    let mut orphan = files(&site());
    orphan.insert("lost.html".into(), sound().replace("<title>Method", "<title>Lost").into_bytes());
    assert!(site_check::faults(&orphan).iter().any(|fault| fault.contains("lost.html: no link leads here")));
}
