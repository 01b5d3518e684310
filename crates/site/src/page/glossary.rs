//! The glossary: every term with its meaning and an address of its own.
//!
//! In:  `templates/prose/glossary.md`, a list of `- **Term**: meaning`.  Out: `glossary/index.html`.
//! Not here: definitions of the tools' metrics (see the manual).

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::index::Site;
use super::prose;
use super::shell::Shell;
use sparkbench_text::slug::anchor_of;

/// The terms, also shown on the method page.
pub(super) const TEXT: &str = include_str!("../../../../templates/prose/glossary.md");

#[derive(Template)]
#[template(path = "glossary.html")]
struct Page {
    shell: Shell,
    terms: Vec<Term>,
    /// Whether the site has the manual.
    manual: bool,
}

struct Term {
    id: String,
    term: String,
    html: String,
}

/// What the words mean here.
pub(super) struct GlossaryPage;

impl PageKind for GlossaryPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("glossary/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    Page {
        shell: Shell::new("glossary/index.html", "Glossary – sparkbench", "method", site)
            .described("What the words on these pages mean, exactly."),
        terms: terms(),
        manual: site.has(super::docs::HOME),
    }
    .render()
}

fn terms() -> Vec<Term> {
    let mut terms: Vec<Term> = TEXT
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**: "))
        .map(|(term, meaning)| Term {
            id: anchor_of(&[term]),
            term: term.to_owned(),
            html: prose::html(meaning, 2, term),
        })
        .collect();
    terms.sort_by_key(|term| term.term.to_lowercase());
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_glossary_is_a_term_with_an_address_of_its_own() {
        let terms = terms();
        assert_eq!(terms.len(), TEXT.lines().filter(|line| !line.trim().is_empty()).count());
        let mut ids: Vec<&str> = terms.iter().map(|term| term.id.as_str()).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    }
}
