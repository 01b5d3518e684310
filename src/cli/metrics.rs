//! `sparkbench metrics`: every metric, known or defined, with its unit and what it is.
//!
//! In:  paths, definitions.  Out: a list for people, or JSON.
//! Not here: working a metric out (see `ingest::custom`).

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::intake::{self, Judging};
use super::stdout::print;
use super::talk::Talk;
use sparkbench_ingest::{self as ingest, Intake};
use sparkbench_model::formula::definition::check;
use sparkbench_model::formula::{AGGREGATES, FIELDS, FUNCTIONS, Field, SERVER_FUNCTIONS, SETTINGS};
use sparkbench_model::metric::Direction;
use sparkbench_model::{Campaign, Metric, custom};
use sparkbench_text::digits;
use sparkbench_text::error::Error;

/// List the metrics that sparkbench knows and those that you defined
///
/// With a PATH, also lists the definitions of these campaigns and the number of runs in which each has a figure. Use it to try a definition.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench metrics\n  sparkbench metrics --functions\n  \
                        sparkbench metrics data/vllm-cpu --metrics metrics.toml     try definitions on an archive")]
pub(crate) struct Metrics {
    /// Archives and result files to try definitions on
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// File with definitions for every campaign, in addition to its own
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// File with labels that files lack (environment, model, workload), by glob
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// File with facts of machines, models and prices that come before the shipped ones
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// List the names, functions and aggregates that an expression may use
    #[arg(long, conflicts_with_all = ["paths", "metrics", "labels", "facts"])]
    functions: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The whole of the verb.
///
/// # Errors
/// A definition with a fault, files without a run, a closed standard output.
pub(crate) fn run(args: &Metrics, talk: &Talk) -> Result<(), Error> {
    if args.functions {
        return print(&functions(args.json));
    }
    if args.paths.is_empty() {
        let mut all: Vec<Metric> = Metric::names().filter_map(Metric::find).collect();
        if let Some(path) = &args.metrics {
            for (name, given) in ingest::custom::from_command_line(path)? {
                if let Ok(checked) = check(&name, &given) {
                    custom::define(&name, &given, &checked.unit, checked.zero_is_arbitrary);
                }
                all.extend(Metric::find(&name));
            }
        }
        return print(&listed(&all, args.json));
    }
    let judging = Judging {
        labels: args.labels.clone(),
        metrics: args.metrics.clone(),
        facts: args.facts.clone(),
        ..Judging::default()
    };
    let intake = intake::runs_of(&args.paths, &judging, talk)?;
    if intake.campaigns.iter().all(|campaign| campaign.metrics.is_empty()) {
        talk.say("no campaign here defines a metric. docs/metrics.md explains how to define one");
    }
    print(&tried(&intake, args.json))
}

/// Metrics with unit, direction, margin and meaning.
fn listed(all: &[Metric], as_json: bool) -> String {
    if as_json {
        return format!("{:#}\n", Value::Array(all.iter().map(shown).collect()));
    }
    let mut rows = vec![["metric", "unit", "better", "margin", "what it is"].map(str::to_owned)];
    rows.extend(all.iter().map(|metric| {
        let words = [&metric.name, metric.unit, better(metric.direction), &margin(metric), metric.about];
        words.map(str::to_owned)
    }));
    let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (name, unit, margin) = (wide(0), wide(1), wide(3));
    let mut out = String::new();
    for [metric, of, better, width, about] in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{metric:name$}  {of:unit$}  {better:6}  {width:>margin$}  {about}");
    }
    out
}

fn margin(metric: &Metric) -> String {
    if metric.ratio_scale { format!("±{} %", metric.margin_pct) } else { "none".to_owned() }
}

fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::LowerIsBetter => "lower",
        Direction::HigherIsBetter => "higher",
        Direction::Neutral => "-",
    }
}

fn shown(metric: &Metric) -> Value {
    json!({"name": metric.name, "label": metric.label, "unit": metric.unit, "direction": metric.direction,
           "margin_pct": metric.ratio_scale.then_some(metric.margin_pct), "definition": metric.about, "custom": metric.custom})
}

/// The definitions of campaigns, and what came of them.
fn tried(intake: &Intake, as_json: bool) -> String {
    let figures = |campaign: &Campaign, name: &str| -> (usize, Vec<f64>) {
        let own = || intake.runs.iter().filter(|run| run.campaign == campaign.name);
        (own().count(), own().filter_map(|run| run.value(name)).collect())
    };
    let least = |values: &[f64]| values.iter().copied().reduce(f64::min);
    let most = |values: &[f64]| values.iter().copied().reduce(f64::max);
    let mut out = String::new();
    let mut list = Vec::new();
    for campaign in &intake.campaigns {
        for metric in campaign.metrics.keys().filter_map(|name| Metric::find(name)) {
            let (runs, values) = figures(campaign, &metric.name);
            if as_json {
                let mut one = shown(&metric);
                one["campaign"] = json!(campaign.name);
                one["runs"] = json!(runs);
                one["figures"] = json!(values.len());
                (one["min"], one["max"]) = (json!(least(&values)), json!(most(&values)));
                list.push(one);
                continue;
            }
            let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
            let range = match (least(&values), most(&values)) {
                (Some(low), Some(high)) if low == high => format!(": {}{unit}", short(low)),
                (Some(low), Some(high)) => format!(": {} to {}{unit}", short(low), short(high)),
                _ => String::new(),
            };
            let _ = writeln!(out, "{} of {}: {}", metric.name, campaign.name, metric.about);
            let _ = writeln!(out, "  a figure in {} of {runs} runs{range}", values.len());
            let _ = writeln!(
                out,
                "  unit '{}', better: {}, margin {}",
                metric.unit,
                better(metric.direction),
                margin(&metric)
            );
        }
    }
    if as_json { format!("{:#}\n", Value::Array(list)) } else { out }
}

/// Five significant digits.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = digits::decimals(value, 5, 12);
    format!("{value:.places$}")
}

/// What an expression may hold.
fn functions(as_json: bool) -> String {
    let fields = |table: &[Field]| -> Vec<(String, String)> {
        table
            .iter()
            .map(|Field(name, others, unit, about)| {
                let names = std::iter::once(name).chain(*others).copied().collect::<Vec<_>>().join(", ");
                let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
                (names, format!("{about}{unit}"))
            })
            .collect()
    };
    let pairs = |table: &[(&str, &str)]| -> Vec<(String, String)> {
        table.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect()
    };
    let mut plain: Vec<(String, String)> = FUNCTIONS
        .iter()
        .map(|(name, _, _, most, about)| {
            let arguments = match most {
                1 => "x",
                2 => "x, y",
                _ => "x, y, …",
            };
            (format!("{name}({arguments})"), (*about).to_owned())
        })
        .collect();
    plain.push(("convert(x, 'unit')".to_owned(), "the figure in another unit of the same quantity".to_owned()));
    plain.push((
        "reported('name')".to_owned(),
        "a figure of the source that is not a metric, by its name in `sparkbench inspect`".to_owned(),
    ));
    let server: Vec<(String, String)> = SERVER_FUNCTIONS
        .iter()
        .map(|(name, about)| {
            let first = if *name == "histogram_quantile" { "q, " } else { "" };
            (format!("{name}({first}\"name\")"), (*about).to_owned())
        })
        .collect();
    let parts = [
        ("settings and facts of a run", fields(SETTINGS)),
        ("figures of one request, inside of an aggregate", fields(FIELDS)),
        ("aggregates over the requests", pairs(AGGREGATES)),
        ("functions", plain),
        ("metrics of the server", server),
    ];
    if as_json {
        let entry = |(name, about): &(String, String)| json!({"name": name, "about": about});
        let all =
            parts.iter().map(|(title, rows)| ((*title).to_owned(), Value::Array(rows.iter().map(entry).collect())));
        return format!("{:#}\n", Value::Object(all.collect()));
    }
    let wide = parts.iter().flat_map(|(_, rows)| rows).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut out = String::from(
        "operators: + - * / %, < <= > >= = <>, and or not, between, is null, case when … then … else … end\n",
    );
    for (title, rows) in parts {
        let _ = writeln!(out, "\n{title}");
        for (name, about) in rows {
            let _ = writeln!(out, "  {name:wide$}  {about}");
        }
    }
    out
}
