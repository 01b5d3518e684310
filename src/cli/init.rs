//! `sparkbench init`: a commented starter suite, and a workflow that publishes what comes of it.
//!
//! In:  a folder.  Out: two files, or one on standard output.
//! Not here: the text of the suite (see `plan::starter`).

use std::path::PathBuf;

use super::outcome::Outcome;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::{shown, write_atomic};
use sparkbench_plan::starter;
use sparkbench_text::error::Error;
use sparkbench_text::escape::shell;

/// Write a commented starter suite, and a GitHub Pages workflow that publishes its results
///
/// The suite compares Docker with the machine itself and explains every key. It needs the path of a model before it runs. Existing files
/// are kept unless --force is given.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sparkbench init                        suite.toml and .github/workflows/pages.yml, here\n  \
                        sparkbench init --stdout > mine.toml   the suite alone"
)]
pub(crate) struct Init {
    /// Folder to write into. It is made if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Print the suite and write nothing
    #[arg(long, conflicts_with = "force")]
    stdout: bool,
    /// Source that the workflow installs sparkbench from: a Git address, or a packed release (.tar.gz) at an address or in the repository
    #[arg(long, value_name = "SOURCE", default_value = env!("SPARKBENCH_SOURCE"), hide_default_value = env!("SPARKBENCH_SOURCE").is_empty())]
    source: String,
}

/// The suite, below the folder.
const SUITE: &str = "suite.toml";
/// The workflow, below the folder: where GitHub looks for it.
const WORKFLOW: &str = ".github/workflows/pages.yml";
const PAGES: &str = include_str!("pages.yml");

/// Writes both files, or neither.
pub(crate) fn run(args: &Init, talk: &Talk) -> Result<Outcome, Error> {
    if args.source.contains(['"', '\\']) || args.source.contains(char::is_control) {
        return Err(Error::usage(format!("--source {:?} is not an address", args.source))
            .hint("give a Git address, or the address or path of a packed release that ends in .tar.gz"));
    }
    let suite = starter(has_gpu()?);
    if args.stdout {
        print(&suite)?;
        return Ok(Outcome::Done);
    }
    let workflow = PAGES.replace("{source}", &args.source);
    let files = [(args.folder.join(SUITE), suite.as_str()), (args.folder.join(WORKFLOW), workflow.as_str())];
    // A link that leads nowhere is a file of somebody's too.
    let there: Vec<String> = files
        .iter()
        .filter(|(path, _)| path.symlink_metadata().is_ok())
        .map(|(path, _)| format!("'{}'", shown(path)))
        .collect();
    if !there.is_empty() && !args.force {
        let verb = if there.len() == 1 { "is" } else { "are" };
        return Err(Error::usage(format!("{} {verb} already there, nothing was written", there.join(" and ")))
            .hint("name another folder, replace files with --force, or print the suite with --stdout"));
    }
    for (path, text) in &files {
        write_atomic(path, text.as_bytes())?;
        talk.say(&format!("wrote {}", shown(path)));
    }
    if args.source.is_empty() {
        talk.say(&format!(
            "next: in {WORKFLOW}, set SPARKBENCH to the source to install from (or run init again with --force --source ADDRESS, while the suite is not filled in)"
        ));
    }
    let suite = args.folder.join(SUITE);
    let suite = shell(suite.strip_prefix(".").unwrap_or(&suite));
    talk.say(&format!("next: fill in the path of a model in {suite}, then: sparkbench collect {suite} --dry-run"));
    Ok(Outcome::Done)
}

/// Whether this machine has a GPU that answers.
#[cfg(all(feature = "collect", target_os = "linux"))]
fn has_gpu() -> Result<bool, Error> {
    use sparkbench_host::{Host, gpu::open::open, machine::Machine};
    let host: std::sync::Arc<dyn Host> = std::sync::Arc::new(Machine::new()?);
    Ok(open(&host, "auto", 0, std::time::Duration::from_secs(1)).gpu.is_some())
}

/// A build that does not measure writes the suite for another machine, which has one.
#[cfg(not(all(feature = "collect", target_os = "linux")))]
fn has_gpu() -> Result<bool, Error> {
    Ok(true)
}
