//! The process that watches over a run. Started by `collect`, never by hand.
//!
//! In:  a job on standard input.  Out: news on standard output.
//! Not here: the work (see `host::guard`).

use sparkbench_host as host;
use sparkbench_text::error::Error;

/// Watch over one run's programs and end them all
#[derive(Debug, clap::Args)]
pub(crate) struct Guard {
    /// Become the program instead of watching over it
    #[arg(long)]
    enter: bool,
}

pub(crate) fn run(args: &Guard) -> Result<(), Error> {
    if args.enter { host::guard::enter() } else { host::guard::serve() }
}
