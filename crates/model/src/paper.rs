//! The authors of a campaign: their names, how to cite them, and their text.
//!
//! In:  nothing.  Out: [`Paper`], filled by `ingest` from `study.md`.
//! Not here: what the text refers to (see `page`), any number.

use serde::Serialize;

/// `study.md` of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Paper {
    /// Where it lies, below the folder that was given.
    pub path: String,
    /// Line of the file on which the text begins, from 1.
    #[serde(skip)]
    pub line: u64,
    /// Those to be cited, in their order.
    pub authors: Vec<Author>,
    /// Who wrote the text, where these are not the authors of the measurement.
    pub text_by: Option<String>,
    /// Licence of the data, as an SPDX expression.
    pub licence: Option<String>,
    /// Digital object identifier, bare: `10.5281/zenodo.1234`.
    pub doi: Option<String>,
    /// Web address of what is to be cited.
    pub url: Option<String>,
    /// The citation in words, where the authors give one.
    pub citation: Option<String>,
    /// Day of publication, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Words under which it is to be found.
    pub keywords: Vec<String>,
    /// Corrections of the authors, and the reasons.
    pub corrections: Vec<Correction>,
    /// Markdown with references.
    #[serde(skip)]
    pub text: String,
}

/// A person or a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Author {
    /// A group, or a person as written.
    pub name: Option<String>,
    /// Given names of a person.
    pub given: Option<String>,
    /// Family name of a person.
    pub family: Option<String>,
    /// `0000-0002-1825-0097`.
    pub orcid: Option<String>,
    /// Where they work.
    pub affiliation: Option<String>,
    /// Web address.
    pub url: Option<String>,
}

impl Author {
    /// As people say it: given names first.
    pub fn shown(&self) -> String {
        match (&self.given, &self.family, &self.name) {
            (Some(given), Some(family), _) => format!("{given} {family}"),
            (None, Some(one), _) | (Some(one), None, None) | (_, None, Some(one)) => one.clone(),
            (None, None, None) => String::new(),
        }
    }
}

/// Something that was wrong and is put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// Day, `YYYY-MM-DD`.
    pub date: String,
    /// What was wrong, what is right, and why.
    pub text: String,
}
