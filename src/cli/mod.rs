//! The command line: one file per verb, each a short `run` that reads as the method.
//!
//! In:  arguments.  Out: files, standard output, an exit code.
//! Not here: formulas, knowledge of formats.

#[cfg(feature = "analyse")]
pub(crate) mod analyse;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod check;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod chunks;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod collect;
#[cfg(all(feature = "collect", target_os = "linux"))]
#[cfg(feature = "analyse")]
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod formats;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod gpu_probe;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod guard;
#[cfg(feature = "analyse")]
pub(crate) mod history;
#[cfg(feature = "collect")]
pub(crate) mod init;
pub(crate) mod inspect;
#[cfg(feature = "analyse")]
pub(crate) mod intake;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod link_probe;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod load;
pub(crate) mod man;
#[cfg(feature = "analyse")]
pub(crate) mod metrics;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod mock;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod node;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod nodes;
mod outcome;
#[cfg(feature = "analyse")]
pub(crate) mod privacy;
#[cfg(feature = "analyse")]
mod series;
pub(crate) mod stats;
pub(crate) mod status;
mod stdout;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) mod suite;
#[cfg(feature = "analyse")]
pub(crate) mod table;
pub(crate) mod talk;
pub(crate) mod verify;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory as _, Parser, Subcommand};

use self::outcome::Outcome;

/// Benchmark language models on DGX Spark and other CUDA machines, and judge the results with their uncertainty
///
/// Runs suites and load tests, archives the raw data, and reads result files of other tools. Writes a static site with verdicts.
#[derive(Debug, Parser)]
#[command(name = "sparkbench", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  sparkbench analyse                     analyse everything in data/ and write site/\n  \
                        sparkbench compare data/phase1#native data/phase1#container\n  \
                        sparkbench stats a.txt b.txt           every statistic of two columns of numbers\n\n\
                        Exit codes: 0 done, 1 worse, or with --strict something left out, 2 usage, 3 pre-flight refused, 4 a workload failed,\n\
                        5 an input could not be read, 6 inconclusive or not comparable."
)]
struct Cli {
    /// Print only errors
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    quiet: bool,
    /// Print each step, file by file
    #[arg(long, short, global = true, help_heading = "Global options")]
    verbose: bool,
    /// Colour of messages on standard error
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    color: ColorChoice,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(feature = "collect")]
    Init(init::Init),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Check(check::Check),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Collect(collect::Collect),
    Status(status::Status),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Load(Box<load::Load>),
    #[cfg(feature = "analyse")]
    #[command(visible_alias = "analyze")]
    Analyse(analyse::Analyse),
    #[cfg(feature = "analyse")]
    Compare(compare::Compare),
    #[cfg(feature = "analyse")]
    History(history::History),
    #[cfg(feature = "analyse")]
    Table(table::Table),
    Verify(verify::Verify),
    Inspect(inspect::Inspect),
    Formats(formats::Formats),
    #[cfg(feature = "analyse")]
    Metrics(metrics::Metrics),
    Stats(stats::Stats),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Chunks(chunks::Chunks),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    GpuProbe(gpu_probe::GpuProbe),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Mock(Box<mock::Mock>),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Nodes(nodes::Nodes),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    LinkProbe(link_probe::LinkProbe),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    Node(node::Node),
    Completions(completions::Completions),
    Man(man::Man),
    #[cfg(all(feature = "collect", target_os = "linux"))]
    #[command(hide = true)]
    Guard(guard::Guard),
}

/// Runs the program: the whole of `main`.
pub fn main() -> ExitCode {
    let cli = parse();
    let talk = talk::Talk::new(cli.quiet, cli.verbose, cli.color);
    let result = match &cli.verb {
        #[cfg(feature = "analyse")]
        Verb::Analyse(args) => analyse::run(args, &talk),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Check(args) => check::run(args, &talk),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Chunks(args) => chunks::run(args, &talk).map(|()| Outcome::Done),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Collect(args) => collect::run(args, &talk),
        #[cfg(feature = "analyse")]
        Verb::Compare(args) => compare::run(args, &talk),
        #[cfg(feature = "analyse")]
        Verb::History(args) => history::run(args, &talk),
        #[cfg(feature = "analyse")]
        Verb::Table(args) => table::run(args, &talk).map(|()| Outcome::Done),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::GpuProbe(args) => gpu_probe::run(args, &talk),
        #[cfg(feature = "collect")]
        Verb::Init(args) => init::run(args, &talk),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Load(args) => load::run(args, &talk),
        Verb::Inspect(args) => inspect::run(args, &talk),
        Verb::Formats(args) => formats::run(args, &talk).map(|()| Outcome::Done),
        #[cfg(feature = "analyse")]
        Verb::Metrics(args) => metrics::run(args, &talk).map(|()| Outcome::Done),
        Verb::Stats(args) => stats::run(args, &talk).map(|()| Outcome::Done),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Guard(args) => guard::run(args).map(|()| Outcome::Done),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Mock(args) => mock::run(args, &talk).map(|()| Outcome::Done),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Nodes(args) => nodes::run(args, &talk),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::LinkProbe(args) => link_probe::run(args, &talk),
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Verb::Node(args) => node::run(args),
        Verb::Completions(args) => completions::run(args, &mut Cli::command()).map(|()| Outcome::Done),
        Verb::Man(args) => man::run(args, Cli::command(), &talk).map(|()| Outcome::Done),
        Verb::Verify(args) => verify::run(args, &talk).map(|()| Outcome::Done),
        Verb::Status(args) => status::run(args, &talk),
    };
    match result {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(error) => {
            talk.error(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// The command line. A person who forgets `--url` before the address of a server is told so, and one who types options of another load
/// client what to write.
fn parse() -> Cli {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    Cli::try_parse().unwrap_or_else(|mut error| {
        #[cfg(all(feature = "collect", target_os = "linux"))]
        // Whatever is wrong first, a pasted line is answered whole. Help is no fault.
        if let Some(unknown) = error.use_stderr().then(unknown_of_load).flatten() {
            talk::Talk::new(false, false, ColorChoice::Auto).error(&unknown);
            std::process::exit(unknown.kind.exit_code().into());
        }
        if error.kind() == ErrorKind::UnknownArgument
            && std::env::args().nth(1).is_some_and(|verb| verb == "load")
            && let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg)
            && !given.starts_with('-')
        {
            // An address may hold a password.
            let mut secrets = sparkbench_archive::mask::Secrets::default();
            secrets.learn_address("--url", given);
            let given = secrets.veil().text(given);
            let tip = format!("the address of a server comes after --url: 'load --url {given}'");
            error.insert(ContextKind::InvalidArg, ContextValue::String(given));
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error.exit()
    })
}

/// What `load` does not know among what was typed, if that is the verb.
#[cfg(all(feature = "collect", target_os = "linux"))]
fn unknown_of_load() -> Option<sparkbench_text::error::Error> {
    let mut typed = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    typed.find(|argument| !argument.starts_with('-')).filter(|verb| verb == "load")?;
    let mut command = Cli::command();
    command.build();
    let load = command.find_subcommand("load")?;
    let names = |argument: &clap::Arg| {
        let long = argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default());
        long.map(str::to_owned).collect::<Vec<_>>()
    };
    load::foreign::unknown(typed, &load.get_arguments().flat_map(names).collect())
}
