//! `sparkbench stats`: every statistic of one or two samples, for people with two columns of numbers.
//!
//! In:  files of numbers in order of time.  Out: a table, or JSON as the contracts fix it.
//! Not here: formulas (see [`sparkbench_stats`]), verdicts.

mod arm;
mod comparison;
mod input;
mod json;
mod sequential;
mod table;

use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::arm::Arm;
use self::comparison::{Comparison, OrderSummary, Paired};
use self::input::Format;
use self::json::Percentiles;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_stats::bootstrap::Job;
use sparkbench_stats::{self as stats, Direction, Sample, hierarchical};
use sparkbench_text::error::Error;

/// Fewest resamples that leave anything in the tails.
const MIN_RESAMPLES: u64 = 999;
/// Random draws beyond which a person should know why it takes long.
const MANY_DRAWS: f64 = 1e10;

/// Print every statistic of one or two samples
///
/// A and B are files with one number a line in time order, JSON arrays, or tables with --column. Empty, null and NaN mean missing, and inf
/// means infinite. `-` is standard input. A is the baseline: differences are B minus A.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench stats native.txt container.txt --direction higher_is_better\n  \
                        sparkbench stats runs.csv --column ttft_ms --json\n  \
                        sparkbench stats a.txt b.txt --paired --order order.txt --margin 2\n  \
                        sparkbench stats p.txt --p-values\n  \
                        sparkbench stats a.txt b.txt --sequential --looks 5,8,12,20,30 --margin 2   one line per block\n  \
                        sparkbench stats --boundaries --looks 5,8,12,20,30 --spending pocock        no sample needed")]
pub(crate) struct Stats {
    /// Baseline sample. With --p-values, the p-values
    #[arg(value_name = "A", required_unless_present = "boundaries")]
    a: Option<PathBuf>,
    /// Candidate sample
    #[arg(value_name = "B", conflicts_with_all = ["nested", "p_values"])]
    b: Option<PathBuf>,
    /// Column of a table with a header line
    #[arg(long, value_name = "NAME", conflicts_with = "nested")]
    column: Option<String>,
    /// Direction that is better: lower_is_better, higher_is_better, neutral or difference_only
    #[arg(long, value_name = "DIRECTION", default_value = "lower_is_better", value_parser = direction)]
    direction: Direction,
    /// Pair line i of A with line i of B
    #[arg(long, requires = "b")]
    paired: bool,
    /// File with the order of the runs: one `a` or `b` a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nested", "p_values"])]
    order: Option<PathBuf>,
    /// Read one run a line, its requests separated by commas. From ten runs on a percentile is that of all requests, resampled by run. Of fewer it is the mean of the runs' own
    #[arg(long, conflicts_with = "p_values")]
    nested: bool,
    /// Adjust p-values: A holds those of one family
    #[arg(long)]
    p_values: bool,
    /// Equivalence margin, in per cent of the mean of A. May be repeated [default: 1, 2 and 5, or none with --sequential]
    #[arg(long = "margin", value_name = "PCT", value_parser = margin)]
    margins: Vec<f64>,
    /// Number of resamples of each bootstrap
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(MIN_RESAMPLES..=100_000_000))]
    resamples: u64,
    /// Seed of every random draw
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Confidence level of every interval, two-sided, between 0 and 1
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, value_parser = confidence)]
    confidence: f64,
    /// Number of threads, 0 for one per core. The figures do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    design: sequential::Typed,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was asked for. What does not apply is left out.
#[derive(Debug, Default, Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Arm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Arm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_vs_a: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paired: Option<Paired>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<OrderSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hierarchical_percentile: Option<Percentiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bonferroni: Option<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holm: Option<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bh: Option<Vec<Option<f64>>>,
    settings: Settings,
}

/// What the numbers depend on besides the data.
#[derive(Debug, Default, Serialize)]
struct Settings {
    confidence: f64,
    resamples: u64,
    seed: u64,
}

/// Reads, computes, prints.
pub(crate) fn run(args: &Stats, talk: &Talk) -> Result<(), Error> {
    if args.design.boundaries {
        return print(&sequential::boundaries(args)?);
    }
    if args.design.sequential {
        return print(&sequential::samples(args, talk)?);
    }
    if !args.design.looks.is_empty() {
        return Err(Error::usage("--looks needs --sequential or --boundaries")
            .hint("add --sequential to judge A and B, or --boundaries to print only the boundaries"));
    }
    let mut report = if args.p_values {
        adjusted(args)?
    } else if args.nested {
        nested(args)?
    } else {
        samples(args, talk)?
    };
    report.settings = Settings { confidence: args.confidence, resamples: args.resamples, seed: args.seed };
    let value = serde_json::to_value(&report)
        .map_err(|cause| Error::archive("cannot write the result as JSON").because(cause))?;
    let text = if args.json { format!("{value:#}\n") } else { table::draw(&value) };
    print(&text)
}

fn samples(args: &Stats, talk: &Talk) -> Result<Report, Error> {
    let format = args.column.as_deref().map_or(Format::Plain, Format::Column);
    let path = args.baseline()?;
    if args.b.as_deref() == Some(Path::new("-")) && path == Path::new("-") {
        return Err(Error::usage("standard input cannot be both A and B").hint("write one of them to a file"));
    }
    let a = input::numbers(path, format)?;
    let b = args.b.as_deref().map(|path| input::numbers(path, format)).transpose()?;
    let labels = args.order.as_deref().map(|path| input::order(path, &a, b.as_deref())).transpose()?;
    warn_of_many_draws(args, a.len() + b.as_ref().map_or(0, Vec::len), talk);

    let sample_a = Sample::new(a.iter().copied());
    let mut report = Report { a: Some(Arm::new(&sample_a, "a", args)), ..Report::default() };
    report.order = labels.as_deref().and_then(|labels| OrderSummary::new(labels, &a, b.as_deref(), args.confidence));
    if let Some(b) = b {
        let sample_b = Sample::new(b.iter().copied());
        report.b_vs_a = Some(Comparison::new(&sample_a, &sample_b, args));
        report.b = Some(Arm::new(&sample_b, "b", args));
        if args.paired {
            report.paired = Some(Paired::new(&a, &b, report.order.as_ref(), args)?);
        }
    }
    Ok(report)
}

fn adjusted(args: &Stats) -> Result<Report, Error> {
    let p = input::p_values(args.baseline()?, args.column.as_deref().map_or(Format::Plain, Format::Column))?;
    Ok(Report {
        bonferroni: Some(stats::bonferroni(&p)),
        holm: Some(stats::holm(&p)),
        bh: Some(stats::benjamini_hochberg(&p)),
        ..Report::default()
    })
}

fn nested(args: &Stats) -> Result<Report, Error> {
    let runs = input::nested(args.baseline()?)?;
    let levels = [0.5, 0.95, 0.99];
    let drawn = LazyCell::new(|| hierarchical::percentiles(&runs, &levels, &args.job("a|request_percentiles")));
    let [median, p95, p99] = [0, 1, 2].map(|place| {
        let own = || drawn.as_ref()?.get(place).cloned();
        json::Hierarchical::new(&runs, levels[place], args.confidence, own)
    });
    let percentiles = Percentiles { median, p95, p99 };
    Ok(Report { hierarchical_percentile: Some(percentiles), ..Report::default() })
}

/// Margins of equivalence where none is named, per cent.
const MARGINS: [f64; 3] = [1.0, 2.0, 5.0];

impl Stats {
    /// The file of A. The command line demands it wherever a sample is read.
    fn baseline(&self) -> Result<&Path, Error> {
        self.a
            .as_deref()
            .ok_or_else(|| Error::usage("no sample is given").hint("name a file of numbers, or - for standard input"))
    }

    /// Margins of equivalence, per cent.
    fn margins(&self) -> &[f64] {
        if self.margins.is_empty() { &MARGINS } else { &self.margins }
    }

    /// A job of this analysis. `what` is the arm and the statistic.
    fn job(&self, what: &str) -> Job {
        Job {
            seed: self.seed,
            key: format!("stats|value|{what}"),
            // A 32-bit machine has no room for more resamples than it can address.
            resamples: usize::try_from(self.resamples).unwrap_or(usize::MAX),
            confidence: self.confidence,
            threads: self.threads,
        }
    }
}

fn warn_of_many_draws(args: &Stats, values: usize, talk: &Talk) {
    let draws = values as f64 * args.resamples as f64;
    if draws > MANY_DRAWS {
        talk.warn(&format!("the bootstrap of the means makes {draws:.1e} random draws, use --resamples for fewer"));
    }
}

fn direction(text: &str) -> Result<Direction, String> {
    match text {
        "lower_is_better" => Ok(Direction::LowerIsBetter),
        "higher_is_better" => Ok(Direction::HigherIsBetter),
        "neutral" => Ok(Direction::Neutral),
        "difference_only" => Ok(Direction::DifferenceOnly),
        _ => Err("expected lower_is_better, higher_is_better, neutral or difference_only".into()),
    }
}

fn margin(text: &str) -> Result<f64, String> {
    positive(text).ok_or_else(|| "expected a percentage above 0".into())
}

fn confidence(text: &str) -> Result<f64, String> {
    positive(text).filter(|level| *level < 1.0).ok_or_else(|| "expected a level between 0 and 1, such as 0.95".into())
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}
