//! Contents of files that a plan needs.
//!
//! In:  settings that name a file.  Out: [`PlanInput`], the file's contents taken apart, with its SHA-256.
//! Not here: what a line may say (see `prompts`, `trace`).
//!
//! The file is read once, before the load, and kept: a load must not wait for a disk. So it may not be larger than memory can spare.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::prompts::Prompts;
use super::sharegpt;
use super::trace::Trace;
use crate::chat::{Estimate, Texts as _};
use crate::settings::{Lengths, Settings, Shape, Work};
use crate::tokens::{Counter as _, Local};
use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_text::error::Error;

/// Largest file that is read: one GiB.
const LARGEST: u64 = 1 << 30;

/// Contents of the files that settings name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanInput {
    /// Of `Work::Prompts`.
    pub prompts: Option<Arc<Prompts>>,
    /// Of `Shape::Trace`.
    pub trace: Option<Arc<Trace>>,
    /// SHA-256 of the files in hexadecimal, prompts before trace.
    pub sha256: Vec<String>,
    /// For people: the parts left out of a file, and the counter of its tokens.
    pub notes: Vec<String>,
}

impl PlanInput {
    /// Reads what the settings name, if anything.
    ///
    /// # Errors
    /// A file that cannot be read, is too large, is not text, or has a line that is not what it should be.
    pub fn read(settings: &Settings) -> Result<Self, Error> {
        let mut input = Self::default();
        if let Work::Prompts { path, osl } = &settings.work {
            let text = input.take(path)?;
            let prompts = if sharegpt::is_one(&text) {
                let (prompts, notes) = drawn(path, &text, *osl, settings)?;
                input.notes = notes;
                prompts
            } else {
                Prompts::parse(&shown(path), &text)?
            };
            input.prompts = Some(Arc::new(prompts));
        }
        if let Shape::Trace { path, .. } = &settings.shape {
            let text = input.take(path)?;
            input.trace = Some(Arc::new(Trace::parse(&shown(path), &text)?));
        }
        Ok(input)
    }

    fn take(&mut self, path: &Path) -> Result<String, Error> {
        refuse_endless(path)?;
        let name = shown(path);
        let failed = |error| Error::archive(format!("cannot read '{name}'")).because(error);
        let file = fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        // Not by its stated size alone: a pipe has none.
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LARGEST {
            return Err(Error::archive(format!("'{name}' is larger than one GiB"))
                .hint("keep only as many lines as the load sends, because it keeps its prompts in memory. For example, use 'head -n 100000'"));
        }
        self.sha256.push(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect());
        String::from_utf8(bytes).map_err(|error| {
            Error::archive(format!("'{name}' is not UTF-8 text"))
                .detail(format!("byte {}", error.utf8_error().valid_up_to()))
        })
    }
}

/// Prompts of a list of conversations, counted by the tokenizer where there is one.
fn drawn(path: &Path, text: &str, osl: Option<Lengths>, settings: &Settings) -> Result<(Prompts, Vec<String>), Error> {
    let local = settings.tokenizer.as_deref().map(Local::read).transpose()?;
    let count = |text: &str| match &local {
        Some(local) => Ok(local.count(text)?.unwrap_or(0)),
        None => Ok(Estimate.count(text)),
    };
    let wanted = sharegpt::Wanted {
        seed: settings.seed,
        // The first ones warm up.
        most: settings.requests.unwrap_or(sharegpt::MOST).saturating_add(settings.warmup.unwrap_or(0)),
        osl: osl.map(|osl| osl.bounds().1),
        count: &count,
        exact: local.is_some(),
    };
    sharegpt::parse(path, text, &wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_is_named() {
        let work = Work::Prompts { path: "/nonexistent/p.jsonl".into(), osl: None };
        let error = PlanInput::read(&Settings { work, ..Settings::default() }).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/p.jsonl"), "{error}");
    }
}
