//! `study.md`: the authors' text, with their names in front.
//!
//! In:  text that begins with TOML between two lines of `+++`.  Out: [`Paper`], title and question.
//! Not here: the references in the text. Only the whole analysis knows what they mean.

use std::ops::Range;

use serde::Deserialize;

use sparkbench_model::{Author, Correction, Paper};
use sparkbench_text::error::{Error, Place};

/// Name of the file, beside `labels.toml` or `campaign.json`.
pub(super) const FILE: &str = "study.md";

/// Bytes by which a study is known.
pub(super) const HEAD: u64 = 16;

/// Whether a text begins with front matter.
pub(super) fn begins(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').starts_with(FENCE)
}

/// Opens and closes the front matter.
const FENCE: &str = "+++";

/// Fields of the front matter.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Front {
    campaign: Option<String>,
    title: Option<String>,
    question: Option<String>,
    #[serde(default)]
    authors: Vec<AuthorWire>,
    text_by: Option<String>,
    licence: Option<String>,
    doi: Option<String>,
    url: Option<String>,
    citation: Option<String>,
    date: Option<Day>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    corrections: Vec<CorrectionWire>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthorWire {
    name: Option<String>,
    given: Option<String>,
    family: Option<String>,
    orcid: Option<String>,
    affiliation: Option<String>,
    url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CorrectionWire {
    date: Day,
    text: String,
}

/// A day, as a date of TOML or as text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Day {
    Toml(toml::value::Datetime),
    Text(String),
}

/// Content of a `study.md` for a campaign.
#[derive(Debug, Default)]
pub(super) struct Study {
    /// Its campaign, where the folder holds several.
    pub campaign: Option<String>,
    /// For people.
    pub title: Option<String>,
    pub question: Option<String>,
    /// The rest.
    pub paper: Paper,
}

/// Reads one. A file with neither front matter nor a reference is not a study: `None`.
///
/// # Errors
/// Front matter that never ends, is no TOML, has a key that is not known, or a value that cannot be. References below front
/// matter of another kind.
pub(super) fn parse(text: &str, path: &str) -> Result<Option<Study>, Error> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let fenced = text.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix('\n'));
    if fenced.is_none() && !refers(&text) {
        return Ok(None);
    }
    let wrong = |line: usize, field: Option<&str>, detail: String| {
        let line = line as u64;
        let place = field.map_or(Place::Line(line), |field| Place::LineField(line, field.to_owned()));
        Error::archive(format!("'{path}' cannot be used"))
            .at(place)
            .detail(detail)
            .hint("docs/study.md lists what the front matter may say")
    };
    let Some(rest) = fenced else {
        if text.starts_with("---\n") {
            let detail =
                format!("the text refers to figures, and its front matter is not TOML between two lines of '{FENCE}'");
            return Err(wrong(1, None, detail));
        }
        let paper = Paper { path: path.to_owned(), line: 1, text, ..Paper::default() };
        return Ok(Some(Study { paper, ..Study::default() }));
    };
    let Some((front, body)) = split(rest) else {
        return Err(wrong(1, None, format!("the front matter opens with '{FENCE}' and no line '{FENCE}' ends it")));
    };
    // The first line of the front matter is the second of the file.
    let line_of = |at: usize| 2 + rest.get(..at).map_or(0, |before| before.matches('\n').count());
    let front_line = |span: Option<Range<usize>>| span.map_or(2, |span| line_of(span.start));
    let wire: Front = toml::from_str(front).map_err(|e| wrong(front_line(e.span()), None, e.message().to_owned()))?;
    let find = |value: &str| line_of(front.find(value).unwrap_or(0));
    let check = |field: &str, value: &Option<String>, known: fn(&str) -> bool, expected: &str| match value {
        Some(value) if !known(value) => {
            Err(wrong(find(value), Some(field), format!("expected {expected}, found \"{value}\"")))
        }
        _ => Ok(()),
    };
    check("licence", &wire.licence, spdx, "an SPDX expression such as \"CC-BY-4.0\" or \"MIT OR Apache-2.0\"")?;
    check("doi", &wire.doi, doi, "a bare DOI such as \"10.5281/zenodo.1234567\"")?;
    check("url", &wire.url, web, "an address that begins with https://")?;
    let date = wire.date.map(Day::text);
    check("date", &date, day, "a day as YYYY-MM-DD")?;
    for author in &wire.authors {
        let named =
            author.name.is_some() != author.family.is_some() && (author.given.is_none() || author.family.is_some());
        if !named {
            let line = find("[[authors]]");
            let detail = "expected family (with given) for a person, or name for a group or a name as written";
            return Err(wrong(line, Some("authors"), detail.to_owned()));
        }
        check("orcid", &author.orcid, orcid, "an ORCID iD such as \"0000-0002-1825-0097\" with its right check digit")?;
        check("url", &author.url, web, "an address that begins with https://")?;
    }
    let mut corrections = Vec::new();
    for correction in wire.corrections {
        let date = correction.date.text();
        check("corrections.date", &Some(date.clone()), day, "a day as YYYY-MM-DD")?;
        corrections.push(Correction { date, text: correction.text });
    }
    let author = |a: AuthorWire| Author {
        name: a.name,
        given: a.given,
        family: a.family,
        orcid: a.orcid,
        affiliation: a.affiliation,
        url: a.url,
    };
    Ok(Some(Study {
        campaign: wire.campaign,
        title: wire.title,
        question: wire.question,
        paper: Paper {
            path: path.to_owned(),
            line: line_of(rest.len() - body.len()) as u64,
            authors: wire.authors.into_iter().map(author).collect(),
            text_by: wire.text_by,
            licence: wire.licence,
            doi: wire.doi,
            url: wire.url,
            citation: wire.citation,
            date,
            keywords: wire.keywords,
            corrections,
            text: body.to_owned(),
        },
    }))
}

impl Day {
    fn text(self) -> String {
        match self {
            Self::Toml(date) => date.to_string(),
            Self::Text(text) => text,
        }
    }
}

/// Whether some line holds what looks like a reference: whoever writes one means the text to be rendered.
fn refers(text: &str) -> bool {
    text.lines().any(|line| {
        line.split("{{").skip(1).any(|after| {
            let kind = after.split("}}").next().filter(|inner| inner.len() < after.len());
            kind.and_then(|inner| inner.split_once(':')).is_some_and(|(kind, _)| {
                let kind = kind.trim();
                !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase())
            })
        })
    })
}

/// Front matter and what follows the line that ends it.
fn split(rest: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// Identifiers joined by `OR`, `AND`, `WITH`. Brackets are allowed. Whether an identifier exists is not looked up.
fn spdx(text: &str) -> bool {
    let plain = text.replace(['(', ')'], " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let id = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+".contains(&b));
    words.len() % 2 == 1
        && words.iter().enumerate().all(|(k, w)| if k % 2 == 1 { ["OR", "AND", "WITH"].contains(w) } else { id(w) })
}

fn doi(text: &str) -> bool {
    let plain =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>{}\\".contains(&b));
    text.strip_prefix("10.").and_then(|rest| rest.split_once('/')).is_some_and(|(registrant, suffix)| {
        !registrant.is_empty() && registrant.bytes().all(|b| b.is_ascii_digit() || b == b'.') && plain(suffix)
    })
}

fn web(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>{}\\`".contains(&b))
    })
}

fn day(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// Four groups of four with the check digit of ISO 7064 (MOD 11-2).
fn orcid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let digits: Vec<u8> = groups.concat().into_bytes();
    if groups.len() != 4 || groups.iter().any(|group| group.len() != 4) {
        return false;
    }
    let Some((last, first)) = digits.split_last() else { return false };
    if !first.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let total = first.iter().fold(0_u32, |total, digit| (total + u32::from(digit - b'0')) * 2 % 11);
    let check = (12 - total) % 11;
    match check {
        10 => *last == b'X',
        check => u32::from(last.wrapping_sub(b'0')) == check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "+++\ntitle = \"T\"\nlicence = \"CC-BY-4.0\"\ndate = 2026-11-20\n\n[[authors]]\nfamily = \"Carberry\"\n\
                         given = \"Josiah\"\norcid = \"0000-0002-1825-0097\"\n+++\n\nText.\n";

    #[test]
    fn a_study_says_who_and_what_and_on_which_line_its_text_begins() {
        let study = parse(WHOLE, "a/study.md").unwrap().unwrap();
        assert_eq!(study.title.as_deref(), Some("T"));
        let paper = study.paper;
        assert_eq!(paper.authors[0].shown(), "Josiah Carberry");
        assert_eq!(paper.date.as_deref(), Some("2026-11-20"));
        assert_eq!((paper.line, paper.text.as_str()), (11, "\nText.\n"));
        assert_eq!(WHOLE.lines().nth(paper.line as usize - 1), Some(""));
    }

    #[test]
    fn line_ends_of_another_system_change_nothing() {
        let study = parse(&WHOLE.replace('\n', "\r\n"), "a").unwrap().unwrap();
        assert_eq!((study.paper.line, study.paper.text.as_str()), (11, "\nText.\n"));
    }

    #[test]
    fn notes_of_somebody_are_no_study() {
        assert!(parse("# Notes\n", "a").unwrap().is_none());
        assert!(parse("", "a").unwrap().is_none());
        assert!(parse("---\ntitle: T\n---\n\nA template says {{ name }} or {{ a }}: b.\n", "a").unwrap().is_none());
    }

    #[test]
    fn a_text_that_refers_to_figures_is_meant_to_be_shown() {
        let text = "# Found\n\nSee {{ verdict: llama-8b | ttft_ms }}.\n";
        let study = parse(text, "a/study.md").unwrap().unwrap();
        assert_eq!((study.paper.line, study.paper.text.as_str()), (1, text));
        let error = parse(&format!("---\ntitle: T\n---\n\n{text}"), "a/study.md").unwrap_err();
        assert_eq!(error.place, Some(Place::Line(1)));
        assert!(error.to_string().contains("+++"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, field) in [
            ("+++\ntitle = \"x\"\n", 1, None),
            ("+++\ntitle = \"x\"\nauthor = \"y\"\n+++\n", 3, None),
            ("+++\n\nlicence = \"free for all\"\n+++\n", 3, Some("licence")),
            ("+++\ndoi = \"https://doi.org/10.1/2\"\n+++\n", 2, Some("doi")),
            ("+++\ndate = \"2026-02-30\"\n+++\n", 2, Some("date")),
            ("+++\nurl = \"javascript:alert(1)\"\n+++\n", 2, Some("url")),
            ("+++\n[[authors]]\ngiven = \"x\"\n+++\n", 2, Some("authors")),
            ("+++\n[[authors]]\nname = \"x\"\norcid = \"0000-0002-1825-0098\"\n+++\n", 4, Some("orcid")),
        ] {
            let error = parse(text, "a/study.md").unwrap_err();
            let expected = field.map_or(Place::Line(line), |f| Place::LineField(line, f.to_owned()));
            assert_eq!(error.place, Some(expected), "{text}: {error}");
            assert!(error.what.contains("a/study.md") && error.kind.exit_code() == 5, "{error}");
        }
    }

    #[test]
    fn check_digits_of_orcid_are_those_of_its_own_examples() {
        // From the description of the identifier's structure at orcid.org.
        assert!(orcid("0000-0002-1825-0097") && orcid("0000-0001-5109-3700") && orcid("0000-0002-1694-233X"));
        assert!(!orcid("0000-0002-1694-2330") && !orcid("0000000218250097") && !orcid(""));
    }

    #[test]
    fn licences_are_expressions_of_identifiers() {
        assert!(spdx("MIT") && spdx("MIT OR Apache-2.0") && spdx("(MIT OR Apache-2.0) AND CC-BY-4.0"));
        assert!(!spdx("") && !spdx("MIT Apache") && !spdx("see below") && !spdx("<MIT>"));
    }
}
