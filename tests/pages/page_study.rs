//! The authors' text on the page: figures and numbers by reference, and errors that name what is not there.

#![cfg(feature = "page")]

use std::collections::BTreeMap;

use crate::support::{sample_analysis, site_check};
use sparkbench::error::Place;
use sparkbench::model::{Author, Paper};
use sparkbench::page::{self, Page};
use sparkbench::verdict::report::Analysis;

/// The sample with this text in the first campaign, on line 10 of its file.
fn with(text: &str) -> Analysis {
    let mut analysis = sample_analysis::analysis();
    analysis.campaigns[0].study = Some(Paper {
        path: "archive/study.md".into(),
        line: 10,
        authors: vec![Author { given: Some("Ada".into()), family: Some("Lovelace".into()), ..Author::default() }],
        text: text.into(),
        ..Paper::default()
    });
    analysis
}

fn pages(text: &str) -> Vec<Page> {
    page::render(&with(text), &sample_analysis::extras()).unwrap()
}

/// What the page of the campaign shows of the text.
fn shown(text: &str) -> String {
    let pages = pages(text);
    let page = pages.iter().find(|page| page.path == "c/phase1/index.html").unwrap();
    let html = String::from_utf8(page.bytes.clone()).unwrap();
    let (_, rest) = html.split_once("<details class=\"chapter prose\">").unwrap();
    rest.split_once("<details class=\"chapter\">").unwrap().0.to_owned()
}

fn fault(text: &str) -> sparkbench::error::Error {
    page::render(&with(text), &sample_analysis::extras()).unwrap_err()
}

const WHOLE: &str = "# Text\n\nThe verdict is {{ verdict: deepseek | output_throughput_tok_s }}: {{ overhead: deepseek | \
                     output_throughput_tok_s }}.\n\n{{ chart: forest }}\n\n{{ chart: spread | peak_memory_gib }}\n\n\
                     {{ chart: order | qwen72b | peak_memory_gib }}\n\n| a | b |\n| - | - |\n| {{ value: deepseek | native \
                     | output_throughput_tok_s }} | {{ count: runs }} |\n";

#[test]
fn a_text_with_every_kind_of_figure_leaves_the_site_sound() {
    let files: BTreeMap<String, Vec<u8>> = pages(WHOLE).into_iter().map(|page| (page.path, page.bytes)).collect();
    let faults = site_check::faults(&files);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let one = page::single_file(&with(WHOLE), &sample_analysis::extras()).unwrap();
    let faults = site_check::faults(&BTreeMap::from([("index.html".to_owned(), one)]));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(shown(WHOLE).matches("<figure").count(), 3);
}

#[test]
fn a_number_is_that_of_the_analysis_with_the_digits_of_its_interval_and_leads_to_its_row() {
    let analysis = sample_analysis::analysis();
    let group = analysis
        .groups
        .iter()
        .find(|g| {
            (g.campaign.as_str(), g.model.as_str(), g.environment.as_str(), g.metric.as_str())
                == ("phase1", "deepseek", "native", "output_throughput_tok_s")
        })
        .unwrap();
    let interval = group.t_interval.unwrap();
    // Two significant digits of the half-width, as everywhere on the page.
    let digits = (1.0 - ((interval.high - interval.low) / 2.0).log10().floor()).max(0.0) as usize;
    let html = shown("{{ value: native | deepseek | output_throughput_tok_s }}");
    assert!(html.contains(&format!("{:.digits$}", group.mean.unwrap())), "{html}");
    assert!(html.contains('[') && html.contains("href=\"#g-deepseek"), "{html}");
    let bare = shown("{{ value: native | deepseek | output_throughput_tok_s | bare }}");
    assert!(!bare.contains('['), "{bare}");
}

#[test]
fn the_word_of_the_verdict_is_that_of_the_rules() {
    let analysis = sample_analysis::analysis();
    let found = analysis.comparisons.iter().find(|c| {
        (c.campaign.as_str(), c.model.as_str(), c.metric.as_str()) == ("phase1", "deepseek", "output_throughput_tok_s")
    });
    let word = found.unwrap().verdict.kind.word().replace('_', " ");
    let html = shown("It is {{verdict:deepseek|output_throughput_tok_s}}.");
    assert!(html.contains(&format!(">{word}</a>.")), "{html}");
}

#[test]
fn a_reference_to_nothing_names_file_line_and_the_near_name() {
    let error = fault("One.\n\nTwo {{ verdict: depseek | output_throughput_tok_s }}.\n");
    assert_eq!((error.kind.exit_code(), &error.place), (5, &Some(Place::Line(12))));
    let text = error.to_string();
    assert!(text.contains("archive/study.md") && text.contains("did you mean 'deepseek'"), "{text}");
}

#[test]
fn a_reference_to_more_than_one_thing_says_what_is_open() {
    let text = fault("{{ verdict: output_throughput_tok_s }}").to_string();
    assert!(text.contains("comparisons fit") && text.contains("say also which model (deepseek"), "{text}");
}

#[test]
fn all_faults_of_a_text_are_told_at_once() {
    let text = fault("{{ vedrict: x }}\n\n{{ chart: pie }}\n\n{{ count: beans }}\n\n{{ open\n").to_string();
    for part in ["4 references", "did you mean 'verdict'", "line 12", "line 14", "line 16", "not closed on its line"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn references_stand_in_text_alone() {
    for (text, part) in [
        ("[x](https://example.org/{{count:runs}})", "in the address of a link"),
        ("See {{ chart: forest }} there.", "on a line of its own"),
    ] {
        let error = fault(text).to_string();
        assert!(error.contains(part), "{error}");
    }
    let html = shown("`{{ count: runs }}` and \\{{ braces }}\n\n    {{ count: beans }}\n");
    assert!(html.contains("<code>{{ count: runs }}</code> and {{ braces }}"), "{html}");
    assert!(html.contains("{{ count: beans }}"), "{html}");
}

#[test]
fn html_of_an_author_stays_text_around_references_and_within_them() {
    let html = shown("<script>alert({{ count: runs }})</script> \u{e000}0\u{e001}");
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"), "{html}");
    let error = fault("{{ verdict: <b>x</b> }}").to_string();
    assert!(error.contains("'<b>x</b>'"), "{error}");
}

#[test]
fn a_link_around_a_number_holds_no_second_link() {
    let html = shown("[about {{ count: runs }}](https://example.org)");
    assert!(html.contains("<a href=\"https://example.org\">about <span class=\"ref\">63</span></a>"), "{html}");
}

#[test]
fn text_of_labels_is_no_template() {
    let mut analysis = sample_analysis::analysis();
    analysis.campaigns[0].prose = Some("Say {{ what }} you like.".into());
    assert!(page::render(&analysis, &sample_analysis::extras()).is_ok());
}

#[test]
fn the_manual_has_every_kind_of_reference_as_the_program_knows_it() {
    let manual = include_str!("../../docs/study.md");
    for (name, words, becomes) in page::REFERENCES {
        let words = if words.is_empty() { " ".to_owned() } else { format!(" {words} ") };
        assert!(manual.contains(&format!("| `{name}` |{words}| {becomes} |\n")), "docs/study.md: {name}");
    }
}
