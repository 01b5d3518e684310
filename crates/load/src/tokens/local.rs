//! The model's own tokenizer, from its `tokenizer.json`.
//!
//! In:  a file.  Out: [`Local`].
//! Not here: downloading. Nothing is ever fetched.

use std::path::Path;

use super::{Counter, Origin};
use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_text::error::Error;

/// Counts with a `tokenizer.json`. The only home of the crate that reads it.
pub(crate) struct Local(tokenizers::Tokenizer);

impl Local {
    /// Reads the file. A folder stands for the `tokenizer.json` in it.
    ///
    /// # Errors
    /// When the file is missing or is not a tokenizer.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let file = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        refuse_endless(&file)?;
        let bytes = std::fs::read(&file).map_err(|error| {
            Error::archive(format!("cannot read '{}'", shown(&file)))
                .because(error)
                .hint("give the file or its folder. It lies beside the weights of the model, and nothing is downloaded. Models with only a tokenizer.model have none")
        })?;
        Self::parse(&bytes)
            .map_err(|why| Error::usage(format!("cannot read '{}' as a tokenizer", shown(&file))).detail(why))
    }

    /// From the bytes of such a file. Else why not.
    ///
    /// # Errors
    /// In the crate's words.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
        // A limit or a padding that the file sets is for training, and would make every count the same.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        Ok(Self(tokenizer))
    }

    fn encode(&self, text: &str) -> Result<tokenizers::Encoding, Error> {
        self.0
            .encode_fast(text, false)
            .map_err(|error| Error::archive("the tokenizer cannot read a text").detail(error.to_string()))
    }
}

impl Counter for Local {
    fn origin(&self) -> Origin {
        Origin::Local
    }

    fn count(&self, text: &str) -> Result<Option<u32>, Error> {
        Ok(u32::try_from(self.encode(text)?.len()).ok())
    }

    fn ids(&self, text: &str) -> Result<Option<Vec<u32>>, Error> {
        Ok(Some(self.encode(text)?.get_ids().to_vec()))
    }

    fn live(&self) -> bool {
        true
    }
}
