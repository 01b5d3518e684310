//! Two samples looked at more than once, and the boundaries of such a design.
//!
//! In:  values in block order, the design as typed.  Out: the looks, or the boundaries, as text or JSON.
//! Not here: formulas (see [`sparkbench_stats::sequential`]).

use serde::Serialize;

use super::Stats;
use super::input::{self, Format};
use crate::cli::talk::Talk;
use sparkbench_stats::Direction;
use sparkbench_stats::sequential::{
    self as looks, Boundary, Design, InvalidDesign, Known, LOOKS_MAX, Pair, Sides, Spending,
};
use sparkbench_text::error::Error;
use sparkbench_text::table;
use sparkbench_verdict::number::count;
use sparkbench_verdict::report::{Interval, LookReport, SequentialReport};
use sparkbench_verdict::sequential as verdict;

/// What a design needs, as typed.
#[derive(Debug, clap::Args)]
pub(super) struct Typed {
    /// Judge A and B at each look (interim analysis). Line i of both is block i. Needs --looks
    #[arg(long, requires = "looks", requires = "b", conflicts_with_all = ["nested", "p_values", "paired", "order"])]
    pub sequential: bool,
    /// Print the boundaries of a design without a sample. Needs --looks
    #[arg(long, requires = "looks", conflicts_with_all = ["a", "nested", "p_values", "paired", "order", "sequential", "column"])]
    pub boundaries: bool,
    /// Number of blocks at each look, rising. The last is the whole plan
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub looks: Vec<u32>,
    /// Function that spends the error rate over the looks: obf, pocock or linear
    #[arg(long, value_name = "FUNCTION", default_value = "obf", value_parser = spending)]
    pub spending: Spending,
    /// Error rate of all looks together, above 0 and at most 0.5
    #[arg(long, value_name = "RATE", default_value_t = 0.05, value_parser = rate)]
    pub alpha: f64,
    /// Number of sides of the test whose boundaries are printed: 1 or 2
    #[arg(long, value_name = "SIDES", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub sides: u8,
}

/// What `--boundaries` prints.
#[derive(Debug, Serialize)]
struct Boundaries {
    z: Vec<Option<f64>>,
    nominal_p: Vec<f64>,
    looks: Vec<u32>,
    spending: &'static str,
    alpha: f64,
    sides: u8,
}

/// Boundaries of a design.
///
/// # Errors
/// Of usage, when the looks are none.
pub(super) fn boundaries(args: &Stats) -> Result<String, Error> {
    let typed = &args.design;
    let blocks = typed.looks.last().copied().unwrap_or(0);
    let times: Vec<f64> = typed.looks.iter().map(|n| f64::from(*n) / f64::from(blocks)).collect();
    if typed.looks.len() > LOOKS_MAX {
        return Err(flawed(InvalidDesign::TooMany));
    }
    let sides = if typed.sides == 1 { Sides::One } else { Sides::Two };
    let boundary =
        Boundary::new(&times, typed.spending, typed.alpha, sides).ok_or_else(|| flawed(InvalidDesign::NotRising))?;
    let nominal_p = boundary.nominal_p();
    let found = Boundaries {
        z: boundary.z.iter().map(|z| z.is_finite().then_some(*z)).collect(),
        nominal_p,
        looks: typed.looks.clone(),
        spending: typed.spending.word(),
        alpha: typed.alpha,
        sides: typed.sides,
    };
    if args.json { json(&found) } else { Ok(drawn(&found)) }
}

/// The looks at two samples.
///
/// # Errors
/// Of usage, when the looks are none or the samples are shorter than the first. Of archive, when a sample cannot be read.
pub(super) fn samples(args: &Stats, talk: &Talk) -> Result<String, Error> {
    let typed = &args.design;
    let (Some(path_a), Some(path_b)) = (&args.a, &args.b) else {
        return Err(Error::usage("--sequential needs two samples").hint("give two files, such as a.txt b.txt"));
    };
    let margin_pct = match args.margins.as_slice() {
        [] => None,
        [one] => Some(*one),
        _ => return Err(Error::usage("--sequential takes one --margin").hint("give --margin once")),
    };
    let planned: Vec<usize> = typed.looks.iter().map(|n| *n as usize).collect();
    let design = Design::new(&planned, typed.spending, typed.alpha).map_err(flawed)?;
    let format = args.column.as_deref().map_or(Format::Plain, Format::Column);
    let (a, b) = (input::numbers(path_a, format)?, input::numbers(path_b, format)?);
    if a.iter().chain(&b).any(|x| x.is_infinite()) {
        return Err(
            Error::usage("a sample holds an infinite value").hint("remove this block: with it no mean is finite")
        );
    }
    let lines = a.len().min(b.len());
    let whole = |k: usize| a.get(k).zip(b.get(k)).filter(|(a, b)| a.is_finite() && b.is_finite());
    let values: Vec<(usize, f64, f64)> = (0..lines).filter_map(|k| whole(k).map(|(a, b)| (k, *a, *b))).collect();
    let reached = design.reached(lines);
    if reached == 0 {
        let first = planned.first().copied().unwrap_or(0);
        return Err(Error::usage(format!(
            "A and B hold {} and {} values, but the first look needs {first}",
            a.len(),
            b.len()
        ))
        .hint("wait for more blocks, or give a smaller first number in --looks"));
    }
    let first = planned.first().copied().unwrap_or(0);
    let blocks: Vec<usize> =
        planned.iter().take(reached).map(|look| values.iter().filter(|(k, ..)| k < look).count()).collect();
    warn(lines, values.len(), (a.len(), b.len()), design.blocks(), talk);
    let (a, b): (Vec<f64>, Vec<f64>) = values.iter().map(|(_, a, b)| (*a, *b)).unzip();
    let direction = args.direction;
    let pair = Pair { a: &a, b: &b, blocks: &blocks, direction, margin_pct };
    let courses = looks::decide(&[pair], &design, 1, &mut Known::default());
    let report = courses.first().and_then(|course| verdict::report(course, &design, 1, &pair)).ok_or_else(|| {
        Error::usage("no look has two complete blocks")
            .detail(format!("the first look is at {first} blocks, but too many of them lack a value"))
            .hint("give more values, or begin the looks later")
    })?;
    if args.json { json(&report) } else { Ok(told(&report, args)) }
}

/// What was left out of the samples.
fn warn(lines: usize, whole: usize, (a, b): (usize, usize), most: usize, talk: &Talk) {
    if a != b {
        talk.warn(&format!("A holds {a} values and B {b}: the longer one is cut, because a block needs one of each"));
    }
    if whole < lines {
        talk.warn(&format!("{} without a value in one arm, not counted", count(lines - whole, "block")));
    }
    if lines > most {
        talk.warn(&format!("{} after the last look, left out", count(lines - most, "block")));
    }
}

fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|cause| Error::archive("cannot write the result as JSON").because(cause))?;
    Ok(format!("{text}\n"))
}

fn flawed(flaw: InvalidDesign) -> Error {
    let subject = if flaw == InvalidDesign::Alpha { "--alpha" } else { "--looks" };
    Error::usage(format!("{subject} {}", flaw.about()))
        .hint("give the blocks at each look in rising order, such as --looks 5,8,12,20,30")
}

/// The boundaries as a table.
fn drawn(found: &Boundaries) -> String {
    let sides = if found.sides == 1 { "one-sided" } else { "two-sided" };
    let mut rows = vec![["look", "blocks", "z boundary", "nominal p"].map(str::to_owned).to_vec()];
    for (k, ((z, p), n)) in found.z.iter().zip(&found.nominal_p).zip(&found.looks).enumerate() {
        rows.push(vec![(k + 1).to_string(), n.to_string(), number(*z, 4), level(*p)]);
    }
    let name = Spending::of(found.spending).map_or(found.spending, Spending::name);
    format!("{name} spending, {sides} alpha {}\n\n{}", found.alpha, aligned(&rows))
}

/// The looks as a table, and what follows in a sentence.
fn told(report: &SequentialReport, args: &Stats) -> String {
    // Without a per cent the table is in the unit of the values.
    let per_cent = args.direction != Direction::DifferenceOnly;
    let size = if per_cent { ["overhead %", "repeated interval %"] } else { ["difference", "repeated interval"] };
    let head = ["look", "blocks", "p", "level", size[0], size[1], "decision"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.looks.iter().map(|look| row(look, per_cent)));
    let sentence = verdict::sentence(report, ("A", "B"), args.direction, "");
    let mut text = format!("{}\n{sentence}.\n", aligned(&rows));
    if let Some(p) = report.stagewise_p {
        text.push_str(&format!("p by stagewise ordering: {}\n", level(p)));
    }
    if let Some(estimate) = report.median_unbiased_pct {
        text.push_str(&format!("median-unbiased overhead: {estimate:.2} %\n"));
    }
    if report.is_decided() && report.runs_saved_of_max > 0 {
        text.push_str(&format!("{} of {} blocks were not needed\n", report.runs_saved_of_max, report.blocks()));
    }
    if let Some(advice) = verdict::advice(report) {
        text.push_str(&format!("{advice}\n"));
    }
    text
}

fn row(look: &LookReport, per_cent: bool) -> Vec<String> {
    let (size, ends) = if per_cent {
        (look.overhead_pct, look.repeated_interval_pct)
    } else {
        (Some(look.difference), look.repeated_interval)
    };
    let interval = ends.map_or_else(|| "none".to_owned(), |Interval { low, high }| format!("{low:.2} to {high:.2}"));
    vec![
        look.look.to_string(),
        look.n.to_string(),
        level(look.p),
        level(look.nominal_p),
        number(size, 2),
        interval,
        look.decision.words().to_owned(),
    ]
}

fn number(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.places$}"))
}

/// A probability with three significant digits.
fn level(p: f64) -> String {
    if p >= 0.001 || p == 0.0 { format!("{p:.4}") } else { format!("{p:.2e}") }
}

/// Rows as lines, each column as wide as its longest cell.
fn aligned(rows: &[Vec<String>]) -> String {
    table::lines(rows).lines().map(|line| format!("  {line}\n")).collect()
}

fn spending(text: &str) -> Result<Spending, String> {
    Spending::of(text).ok_or_else(|| "expected obf, pocock or linear".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= 0.5);
    value.ok_or_else(|| "expected a rate above 0 and at most 0.5, such as 0.05".to_owned())
}
