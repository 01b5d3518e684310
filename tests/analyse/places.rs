//! From any figure to the line it was read from, in two clicks: every figure of every campaign of `data/` is walked.

use std::collections::BTreeMap;

use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::report::{list, text};
use crate::{analyse, published, published_site};

type Files = BTreeMap<String, Vec<u8>>;

fn page<'f>(files: &'f Files, path: &str) -> &'f str {
    std::str::from_utf8(files.get(path).unwrap_or_else(|| panic!("no {path}"))).expect("UTF-8")
}

/// Where a link on a page leads: path below the site and anchor.
fn follow(from: &str, href: &str) -> (String, Option<String>) {
    let (path, anchor) = href.split_once('#').map_or((href, None), |(path, anchor)| (path, Some(anchor.to_owned())));
    if path.is_empty() {
        return (from.to_owned(), anchor);
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => assert!(parts.pop().is_some(), "{from}: {href} leaves the site"),
            part => parts.push(part),
        }
    }
    (parts.join("/"), anchor)
}

fn links(html: &str) -> Vec<&str> {
    html.match_indices("href=\"").filter_map(|(at, _)| html[at + 6..].split('"').next()).collect()
}

/// The element with an id, up to the end of its row or item.
fn at<'h>(html: &'h str, id: &str) -> Option<&'h str> {
    let rest = &html[html.find(&format!(" id=\"{id}\""))?..];
    Some(&rest[..rest.find("</tr>").unwrap_or(rest.len()).min(rest.find("</li>").unwrap_or(rest.len()))])
}

/// True where the link leads to a line of a raw file, or to the file, on the page of its run.
fn is_line(files: &Files, (path, anchor): &(String, Option<String>)) -> bool {
    let of_file = anchor.as_deref().filter(|anchor| anchor.starts_with("file-"));
    path.starts_with("r/") && of_file.is_some_and(|anchor| at(page(files, path), anchor).is_some())
}

#[test]
fn two_clicks_lead_from_every_value_of_a_campaign_page_to_a_line_that_names_it() {
    let files = files_below(published_site());
    let mut walked = 0;
    for campaign in list(&published().0, "campaigns") {
        let from = format!("c/{}/index.html", text(campaign, "name"));
        let html = page(&files, &from);
        let table = html.split_once("<table class=\"dense runs\">").expect("the list of runs").1;
        let table = table.split_once("</table>").expect("its end").0;
        for row in table.split("<tr>").skip(2) {
            let values = row.split_once("</th>").expect("the run").1;
            for href in links(values) {
                let first = follow(&from, href);
                let found = is_line(&files, &first) || {
                    let (path, anchor) = &first;
                    let row = at(page(&files, path), anchor.as_deref().expect("a row")).expect("the row of the figure");
                    links(row).iter().any(|href| is_line(&files, &follow(path, href)))
                };
                assert!(found, "{from}: {href}");
                walked += 1;
            }
        }
    }
    assert!(walked > 200, "{walked} values");
}

#[test]
fn every_figure_of_every_run_leads_from_its_row_to_its_place_and_back() {
    let files = files_below(published_site());
    let mut marked = 0;
    for run in list(&published().0, "runs") {
        let from = format!("r/{}/index.html", text(run, "id"));
        let html = page(&files, &from);
        for (metric, origin) in run["origins"].as_object().expect("origins") {
            let row = at(html, metric).unwrap_or_else(|| panic!("{from}: no row of {metric}"));
            let places: Vec<_> = links(row).into_iter().map(|href| follow(&from, href)).collect();
            assert!(places.iter().any(|place| is_line(&files, place)), "{from}: {metric}");
            if origin["line"].is_null() {
                continue;
            }
            let lines = places.iter().filter(|place| is_line(&files, place));
            let mut lines = lines.filter_map(|(path, anchor)| at(page(&files, path), anchor.as_deref()?));
            let line = lines.find(|line| line.contains("<code>"));
            let line = line.unwrap_or_else(|| panic!("{from}: {metric} names a line and leads to none"));
            assert!(line.contains(&format!("href=\"#{metric}\"")), "{from}: {metric} is not marked");
            assert!(line.contains(text(origin, "rule")), "{from}: the rule of {metric} is not named");
            marked += 1;
        }
    }
    assert!(marked > 1_000, "{marked} figures");
}

#[test]
fn without_the_lines_of_raw_files_places_are_words() {
    let folder = Folder::new("no-logs");
    folder.put("in/runs.csv", "environment,model,output_throughput_tok_s\nnative,m,10\nnative,m,11\ncontainer,m,10\n");
    assert_eq!(analyse(&folder, &["--no-logs"]).code, Some(0));
    let files = files_below(&folder.path().join("site"));
    let run = files.keys().find(|path| path.starts_with("r/") && path.ends_with(".html")).expect("a run");
    assert!(!page(&files, run).contains("class=\"log\""));
    assert!(page(&files, run).contains("line 4, field output_throughput_tok_s"));
}

#[test]
fn a_hostile_file_is_shown_as_text_and_its_page_stays_small() {
    let folder = Folder::new("hostile-log");
    let long = "A<script>alert(1)</script>&".repeat(40_000);
    let table = format!(
        "environment,model,output_throughput_tok_s,note\nnative,m,10,\u{1b}[31m\nnative,m,11,{long}\ncontainer,m,10,\u{202e}x\n"
    );
    folder.put("in/runs.csv", &table);
    assert_eq!(analyse(&folder, &[]).code, Some(0));
    let files = files_below(&folder.path().join("site"));
    let pages: Vec<&str> = files.keys().filter(|path| path.starts_with("r/")).map(|path| page(&files, path)).collect();
    for html in &pages {
        assert!(html.len() < 200_000, "{}", html.len());
        assert!(!html.contains("<script>alert") && !html.contains('\u{1b}') && !html.contains('\u{202e}'));
    }
    for words in ["␛[31m", "more are left out", "⟨U+202E⟩"] {
        assert!(pages.iter().any(|html| html.contains(words)), "{words}");
    }
    let faults = crate::support::site_check::faults(&files);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
