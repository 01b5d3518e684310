//! `sparkbench man`: pages for `man`.
//!
//! In:  the command line itself.  Out: a page for each verb.
//! Not here: the words, which are those of the help.

use std::path::PathBuf;

use clap::Command;

use super::talk::Talk;
use sparkbench_text::error::Error;
use sparkbench_text::escape::{shell, shown};

/// Write a manual page for each verb
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench man ~/.local/share/man/man1\n  man sparkbench-load")]
pub(crate) struct Man {
    /// Folder for the pages. It is made if it does not exist
    #[arg(value_name = "DIR", default_value = "man")]
    folder: PathBuf,
}

/// Writes `sparkbench.1` and a page for each verb that the help lists.
///
/// # Errors
/// When the folder or a page cannot be written.
pub(crate) fn run(args: &Man, mut command: Command, talk: &Talk) -> Result<(), Error> {
    let failed =
        |cause| Error::archive(format!("cannot write manual pages to '{}'", shown(&args.folder))).because(cause);
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    command.build();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    let pages: Vec<(String, Command)> = std::iter::once(("sparkbench".to_owned(), command.clone()))
        .chain(verbs.map(|verb| {
            let name = format!("sparkbench-{}", verb.get_name());
            (name, verb.clone())
        }))
        .collect();
    for (name, command) in &pages {
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
        sparkbench_archive::write_atomic(&args.folder.join(format!("{name}.1")), &page)?;
    }
    let folder = shell(&args.folder);
    talk.say(&format!("{} manual pages in {folder}, read one with: man {folder}/sparkbench.1", pages.len()));
    Ok(())
}
