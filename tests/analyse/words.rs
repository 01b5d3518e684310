//! The pages are understood at first reading: one page of each kind is read, and its sentences are counted.

use std::fmt::Write;

use super::published_site;
use crate::support::prose::{LONGEST, MEDIAN, NINETIETH, SENTENCES_LEAST, sentences, words};

/// How hard the prose of one page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figures {
    median: usize,
    ninetieth: usize,
    longest: usize,
    semicolons: usize,
}

/// What every page should keep to.
const AIMS: Figures = Figures { median: MEDIAN, ninetieth: NINETIETH, longest: LONGEST, semicolons: 0 };

/// A page of each kind, with the figures that it may have: the aims, or what it has now where it is not there yet. A ceiling only falls.
const PAGES: &[(&str, Figures)] = &[
    // Semicolons of the sources that the campaigns name, and between the titles of the citation.
    ("index.html", Figures { semicolons: 4, ..AIMS }),
    ("c/phase1/index.html", Figures { semicolons: 2, ..AIMS }),
    ("c/h200-chroot/index.html", Figures { semicolons: 1, ..AIMS }),
    ("c/h200-chroot/llama1b/t1/index.html", AIMS),
    ("c/phase1/native--container/index.html", AIMS),
    ("c/h200-chroot/telemetry/index.html", AIMS),
    ("r/native_deepseek_iter1_20251109_022626/index.html", AIMS),
    ("traps/index.html", AIMS),
    ("traps/drift/index.html", AIMS),
    ("m/index.html", AIMS),
    ("m/llama1b/index.html", AIMS),
    ("p/index.html", AIMS),
    ("p/h200/index.html", AIMS),
    ("engines/index.html", AIMS),
    ("cost/index.html", AIMS),
    ("data/index.html", AIMS),
    ("charts/index.html", AIMS),
    ("docs/index.html", AIMS),
    ("docs/publishing/index.html", AIMS),
    ("changelog/index.html", AIMS),
    ("glossary/index.html", AIMS),
    ("method/index.html", AIMS),
];

/// Elements whose text is prose.
const TEXT: [&str; 4] = ["p", "li", "summary", "dd"];
/// Elements whose text is none.
const SKIPPED: [&str; 7] = ["script", "style", "table", "svg", "pre", "code", "nav"];

/// The prose of a page: what stands in paragraphs and lists, a paragraph each, without tables, drawings and code.
fn prose(html: &str) -> String {
    let mut out = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut skipped = 0_usize;
    // The head has a script, whose signs are no tags.
    let mut rest = html.split_once("<body").map_or(html, |(_, body)| body);
    while let Some((text, tail)) = rest.split_once('<') {
        if let Some(paragraph) = open.last_mut().filter(|_| skipped == 0) {
            paragraph.push_str(text);
        }
        let Some((tag, after)) = tail.split_once('>') else { break };
        rest = after;
        let (end, name) = tag.strip_prefix('/').map_or((false, tag), |name| (true, name));
        let name = name.split([' ', '\n']).next().unwrap_or_default();
        match (SKIPPED.contains(&name), TEXT.contains(&name), end) {
            (true, _, false) => skipped += 1,
            (true, _, true) => skipped = skipped.saturating_sub(1),
            (_, true, false) => open.push(String::new()),
            (_, true, true) => {
                let text = open.pop().unwrap_or_default();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                if !text.is_empty() {
                    _ = write!(out, "{text}\n\n");
                }
            }
            _ => {}
        }
    }
    for (escaped, letter) in [
        ("&#160;", " "),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&amp;", "&"),
        ("&#38;", "&"),
    ] {
        out = out.replace(escaped, letter);
    }
    out
}

/// The figures of a text, and its hardest sentences.
fn measured(text: &str) -> Option<(Figures, Vec<String>)> {
    let mut all = sentences(text);
    if all.len() < SENTENCES_LEAST {
        return None;
    }
    all.sort_by_key(|sentence| words(sentence));
    let length = |place: usize| words(&all[place]);
    let figures = Figures {
        median: (length((all.len() - 1) / 2) + length(all.len() / 2)).div_ceil(2),
        ninetieth: length(all.len() * 9 / 10 - 1),
        longest: length(all.len() - 1),
        semicolons: all.iter().map(|sentence| sentence.matches(';').count()).sum(),
    };
    let hardest = all.iter().rev().take(3).chain(all.iter().filter(|s| s.contains(';')).take(3));
    Some((figures, hardest.cloned().collect()))
}

#[test]
fn a_page_of_each_kind_is_understood_at_first_reading() {
    let mut faults = Vec::new();
    for (path, ceiling) in PAGES {
        let html = std::fs::read_to_string(published_site().join(path)).expect(path);
        let (has, hardest) = measured(&prose(&html)).unwrap_or_else(|| panic!("{path} has no prose"));
        let above = has.median > ceiling.median
            || has.ninetieth > ceiling.ninetieth
            || has.longest > ceiling.longest
            || has.semicolons > ceiling.semicolons;
        if above {
            faults.push(format!("{path}: {has:?}, at most {ceiling:?}\n    {}", hardest.join("\n    ")));
        }
    }
    assert!(faults.is_empty(), "{}\n{} pages in all", faults.join("\n"), faults.len());
}

/// Words of a sentence of the answer, each of which can be quoted alone: what is shown, and what is not excluded.
const ANSWER: usize = 25;

#[test]
fn each_answer_on_the_front_page_has_three_sentences_at_most_of_at_most_25_words() {
    let html = std::fs::read_to_string(published_site().join("index.html")).expect("the front page");
    let answers: Vec<&str> = html.split("<p class=\"answer\">").skip(1).collect();
    assert_eq!(answers.len(), 2, "one a campaign");
    for answer in answers {
        let end = answer.find('<').expect("the answer ends");
        let answer = answer[..end].trim();
        let each: Vec<&str> = answer.split_inclusive(". ").collect();
        assert!(answer.ends_with('.') && each.len() <= 3, "{answer}");
        assert!(each.iter().all(|sentence| words(sentence) <= ANSWER), "{answer}");
    }
}

#[test]
fn the_prose_of_a_page_is_what_stands_in_paragraphs_and_lists() {
    let page = "<p>One <b>idea</b> here.</p><table><tr><td><p>no; 1</p></td></tr></table><ul><li>An item <code>a;b</code>\n\
                with a note</li></ul><svg><text>no</text></svg><p>n&#160;=&#160;7</p>";
    assert_eq!(prose(page), "One idea here.\n\nAn item with a note\n\nn = 7\n\n");
}
