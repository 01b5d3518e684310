//! Where loads go beside the terminal: JSON, CSV, Markdown, a page.
//!
//! In:  options, names and summaries as JSON.  Out: files, standard output.
//! Not here: what a row holds (see `load::summary::export`), what is said while a load runs (see `live`).

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plan::Loads;
use crate::cli::stdout::print;
use sparkbench_archive::shown;
use sparkbench_load::summary::export;
use sparkbench_text::error::Error;

/// See the module.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Outputs {
    /// Write the summary as JSON, - for standard output. Several loads give a list
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Several loads were asked for: the JSON is a list, however many of them there are.
    #[arg(skip)]
    pub listed: bool,
    /// Write one row per load as CSV, named as in --json, - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Write a Markdown table for an issue or a comment, - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,
    /// Write one HTML page that needs no other file: the figures of a load, or the table and the chart of a sweep
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
}

/// Whether a path is standard output: `-`, `/dev/stdout`, or any other name of the file, the pipe or the terminal that it is.
fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || leads_to_stdout(path).unwrap_or(false)
}

/// `/dev/null` is not: what goes there is for nobody.
fn leads_to_stdout(path: &Path) -> io::Result<bool> {
    let known = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let asked = fs::metadata(path).map(known)?;
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?).metadata().map(known)?;
    Ok(asked == stdout && fs::metadata(Path::new("/dev/null")).map(known).ok() != Some(asked))
}

impl Outputs {
    /// Those of loads as typed.
    pub(super) fn of(&self, loads: &Loads) -> Self {
        Self { listed: loads.several(), ..self.clone() }
    }

    /// What cannot be written is said before anything is measured.
    ///
    /// # Errors
    /// Of usage.
    pub(super) fn check(&self) -> Result<(), Error> {
        let streams = [&self.json, &self.csv, &self.markdown].into_iter().flatten().filter(|path| is_stdout(path));
        if streams.count() > 1 {
            return Err(Error::usage("only one of --json, --csv and --markdown can go to standard output")
                .hint("write the others to files"));
        }
        let files = self.files();
        if let Some(folder) = files.iter().find(|path| path.is_dir()) {
            return Err(Error::usage(format!("cannot write '{}': it is a folder", shown(folder)))
                .hint("name a file in it, such as load.json"));
        }
        if let Some(twice) = files.iter().enumerate().find(|(at, path)| files.iter().skip(at + 1).any(|p| p == *path)) {
            return Err(Error::usage(format!("two outputs would be written to '{}'", shown(twice.1)))
                .hint("name a file for each"));
        }
        match &self.html {
            Some(path) if is_stdout(path) => {
                Err(Error::usage("--html writes a file, not standard output").hint("e.g. --html load.html"))
            }
            Some(_) if !cfg!(feature = "page") => Err(Error::usage("--html: this build has no pages")
                .hint("build with the feature 'page' or 'analyse', or use --markdown FILE or --csv FILE")),
            _ => Ok(()),
        }
    }

    /// Whether standard output belongs to a script.
    pub(super) fn for_scripts(&self) -> bool {
        [&self.json, &self.csv, &self.markdown].into_iter().flatten().any(|path| is_stdout(path))
    }

    /// The file of the summaries, where they do not go to standard output.
    pub(super) fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| !is_stdout(path))
    }

    /// Files that are written, for whoever looks for them.
    pub(super) fn files(&self) -> Vec<&Path> {
        let all = [&self.json, &self.csv, &self.markdown, &self.html];
        all.into_iter().flatten().map(PathBuf::as_path).filter(|path| !is_stdout(path)).collect()
    }

    /// Writes the files. What belongs to standard output is for [`Outputs::stream`]. `texts` are the summaries as they are.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn write(&self, loads: &[(String, Value)], texts: &[String]) -> Result<(), Error> {
        let put = |path: &Option<PathBuf>, text: &dyn Fn() -> Result<String, Error>| match path {
            Some(path) if !is_stdout(path) => sparkbench_archive::write_atomic(path, text()?.as_bytes()),
            _ => Ok(()),
        };
        put(&self.json, &|| Ok(json(texts, self.listed)))?;
        put(&self.csv, &|| Ok(export::csv(loads)))?;
        put(&self.markdown, &|| Ok(export::markdown(loads)))?;
        #[cfg(feature = "page")]
        put(&self.html, &|| super::sheet::html(loads))?;
        Ok(())
    }

    /// Writes what belongs to standard output.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn stream(&self, loads: &[(String, Value)], texts: &[String]) -> Result<(), Error> {
        let asked = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_stdout);
        match loads {
            [] => Ok(()),
            _ if asked(&self.json) => print(&json(texts, self.listed)),
            _ if asked(&self.csv) => print(&export::csv(loads)),
            _ if asked(&self.markdown) => print(&export::markdown(loads)),
            _ => Ok(()),
        }
    }
}

/// The summary of a load that was the only one asked for as it is. All others as a list, which a sweep that ended early leaves too.
fn json(summaries: &[String], listed: bool) -> String {
    match summaries {
        [only] if !listed => only.clone(),
        several => format!("[\n{}\n]\n", several.iter().map(|one| one.trim_end()).collect::<Vec<_>>().join(",\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_loads_are_a_list_however_many_were_measured() {
        let one = "{\n  \"valid\": true\n}\n".to_owned();
        assert_eq!(json(std::slice::from_ref(&one), false), one);
        for (summaries, listed, number) in [(vec![one.clone()], true, 1), (vec![one.clone(), one], false, 2)] {
            let list: Vec<Value> = serde_json::from_str(&json(&summaries, listed)).unwrap();
            assert_eq!(list.len(), number);
        }
    }
}
