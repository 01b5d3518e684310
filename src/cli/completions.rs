//! `sparkbench completions`: what a shell knows of this program.
//!
//! In:  the command line itself.  Out: a script for a shell.
//! Not here: the words, which are those of the help.

use clap::Command;
use clap_complete::Shell;

use super::stdout::print;
use sparkbench_text::error::Error;

/// Print a script that completes verbs and options in your shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sparkbench completions bash > ~/.local/share/bash-completion/completions/sparkbench\n  \
    sparkbench completions zsh > ~/.zfunc/_sparkbench\n  \
    sparkbench completions fish > ~/.config/fish/completions/sparkbench.fish")]
pub(crate) struct Completions {
    /// Shell to write the script for
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn run(args: &Completions, command: &mut Command) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "sparkbench", &mut script);
    print(&String::from_utf8_lossy(&script))
}
