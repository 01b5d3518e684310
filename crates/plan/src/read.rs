//! Reads a suite file and checks it whole: every fault at once, each with its line and its remedy.
//!
//! In:  the text of a suite, the names of the kinds there are.  Out: [`Parsed`].
//! Not here: the settings of a kind of environment or workload (each reads its own [`Settings`]), the machine.
//!
//! A fault rejects the suite. A warning limits the value of the result. The default replaces a faulty value, so that the rest can still be
//! read. Then the kinds can add their own faults to the same list.

mod conditions;
mod design;
mod metrics;
mod names;
mod nodes;
mod parts;
mod until;

use toml::de::DeTable;

pub use self::names::{campaign_name_of, label_of};
use super::cells::{Chooser, Restrictions};
use super::settings::line_of;
use super::suite::{REPEATS_FEW, RUNS_MAX, SUITE_SCHEMA};
use super::{Fault, Faults, Order, Reader, Settings, Suite};
use sparkbench_text::nearest::did_you_mean;

/// Names of the kinds that this build knows.
#[derive(Debug, Clone, Copy)]
pub struct Kinds<'a> {
    /// Kinds of environment.
    pub environments: &'a [&'a str],
    /// Kinds of workload.
    pub workloads: &'a [&'a str],
}

/// Outcome of a suite file.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// Absent only when the text is no TOML. With faults it is good for one thing: finding more faults.
    pub suite: Option<Suite>,
    /// Forbid the suite.
    pub faults: Faults,
    /// What the author should know before the first run.
    pub warnings: Vec<Fault>,
}

/// Longest name of a campaign, in characters.
const NAME_MAX: usize = 80;
/// Most repeats of a cell.
const REPEATS_MAX: i64 = 10_000;
/// Seed where the suite gives none, as everywhere in sparkbench.
pub(crate) const SEED: u64 = 42;

impl Suite {
    /// Reads the text of a suite file.
    pub fn parse(text: &str, kinds: &Kinds<'_>) -> Parsed {
        let mut faults = Faults::default();
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            for error in errors {
                let line = error.span().map(|span| line_of(text, span.start));
                let what = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
                faults.add(line, "(syntax)", what, "correct this line first: the rest of the file was not read");
            }
            return Parsed { faults, ..Parsed::default() };
        }
        let settings = Settings::from_toml("", 1, document.get_ref(), text);
        let mut warnings = Vec::new();
        let suite = read(&settings, document.get_ref(), text, kinds, &mut faults, &mut warnings);
        warnings.sort();
        Parsed { suite: Some(suite), faults, warnings }
    }
}

fn read(
    root: &Settings,
    document: &DeTable<'_>,
    text: &str,
    kinds: &Kinds<'_>,
    faults: &mut Faults,
    warnings: &mut Vec<Fault>,
) -> Suite {
    // The tables below are borrowed together with the list of faults of their reader, so that one is a list of its own.
    let mut own = Faults::default();
    let mut reader = root.reader(&mut own);
    schema(&mut reader);
    let name = name(&mut reader);
    let title = reader.text("title");
    let question = reader.text("question");
    let prose = reader.text("prose");
    let machine = reader.text("machine");
    let seed = reader.whole_within("seed", 0, i64::MAX).and_then(|seed| u64::try_from(seed).ok()).unwrap_or(SEED);
    let until = until::is_table(root, "repeats").then(|| reader.table("repeats")).flatten();
    let fixed = if until.is_some() { 1 } else { repeats(&mut reader, warnings) };
    let order = order(&mut reader, warnings);

    let environments = reader.table("environments");
    let models = reader.table("models");
    let workloads = reader.table("workloads");
    let labels = parts::in_order(document, "environments");
    let baseline = baseline(&mut reader, &labels, warnings);
    // Before what may name them.
    let mut of_metrics = Faults::default();
    let own_metrics = reader.table("metrics").map(|table| metrics::metrics(table, &mut of_metrics)).unwrap_or_default();
    let primary = design::metrics(&mut reader, "primary");
    let planned_metrics = design::metrics(&mut reader, "planned_metrics");
    let margins = reader.table("margins_pct");
    let truth = reader.table("truth");
    let hypotheses = reader.tables("hypotheses");
    let skip = reader.tables("skip");
    let nodes = reader.table("nodes");
    let conditions = ["gates", "watchdogs", "telemetry", "retention", "privacy"].map(|key| (key, reader.table(key)));
    reader.finish();

    let (repeats, sequential) = match until.map(|table| until::repeats(table, faults)) {
        Some((most, design)) => (most, Some(design)),
        None => (fixed, None),
    };
    let margins_pct = margins.map(|table| design::margins(table, faults)).unwrap_or_default();
    let truth = truth.map(|table| design::truth(table, faults)).unwrap_or_default();
    let hypotheses = hypotheses
        .into_iter()
        .map(|table| design::hypothesis(table, &labels, baseline.as_deref(), &margins_pct, faults))
        .collect();
    let [gates, watchdogs, telemetry, retention, privacy] = conditions;
    let gates = conditions::gates(gates.1, faults);
    let watchdogs = conditions::watchdogs(watchdogs.1, &gates, faults);
    let mut suite = Suite {
        name,
        title,
        question,
        prose,
        machine,
        baseline,
        seed,
        repeats,
        sequential,
        order,
        primary,
        planned_metrics,
        margins_pct,
        truth,
        metrics: own_metrics,
        hypotheses,
        environments: parts::environments(environments, &labels, kinds.environments, faults),
        models: parts::models(models, &parts::in_order(document, "models"), faults),
        workloads: parts::workloads(workloads, &parts::in_order(document, "workloads"), kinds.workloads, faults),
        skip: Vec::new(),
        telemetry: conditions::telemetry(telemetry.1, faults),
        retention: conditions::retention(retention.1, faults),
        privacy: conditions::privacy(privacy.1, faults),
        nodes: nodes.map(|table| nodes::nodes(table, faults)),
        gates,
        watchdogs,
        text: text.to_owned(),
    };
    suite.skip = parts::skips(&skip, &suite, faults);
    faults.append(of_metrics);
    faults.append(own);
    whole(root, &suite, faults, warnings);
    suite
}

fn schema(reader: &mut Reader<'_>) {
    let remedy = format!("begin the file with schema = \"{SUITE_SCHEMA}\"");
    if let Some(schema) = reader.required_text("schema", &remedy)
        && schema != SUITE_SCHEMA
    {
        reader.fault("schema", format!("is \"{schema}\""), format!("this version reads \"{SUITE_SCHEMA}\""));
    }
}

fn name(reader: &mut Reader<'_>) -> String {
    let remedy = "give a short name, e.g. name = \"container-vs-native\". The archive gets the same name";
    let Some(name) = reader.required_text("name", remedy) else { return String::new() };
    if name.chars().count() > NAME_MAX {
        reader.fault("name", format!("has more than {NAME_MAX} characters"), "shorten it, and put the rest into title");
    } else if !name.chars().any(|c| c.is_ascii_alphanumeric()) {
        reader.fault("name", format!("is \"{name}\", which holds no letter a to z and no digit"), remedy);
    }
    name
}

fn repeats(reader: &mut Reader<'_>, warnings: &mut Vec<Fault>) -> u32 {
    if !reader.has("repeats") {
        reader.fault("repeats", "is missing", "give the number of runs of each cell, e.g. repeats = 10");
        return 1;
    }
    let Some(repeats) = reader.whole_within("repeats", 1, REPEATS_MAX).and_then(|n| u32::try_from(n).ok()) else {
        return 1;
    };
    if repeats < REPEATS_FEW {
        let what = if repeats == 1 {
            "is 1: a single run has no spread, so nothing can be compared"
        } else {
            "is 2: two runs hardly show their spread, so hardly any comparison is decided"
        };
        let remedy = "use 10 to begin with. After the first campaign the pages say how many runs a difference needs";
        warnings.push(reader.warning("repeats", what, remedy));
    }
    repeats
}

fn order(reader: &mut Reader<'_>, warnings: &mut Vec<Fault>) -> Order {
    match reader.choice("order", &[Order::Interleaved.word(), Order::Blocked.word()]).as_deref() {
        Some("blocked") => {
            warnings.push(reader.warning(
                "order",
                format!("is \"blocked\": {}. The analysis warns of it", Order::Blocked.sentence()),
                "leave out the key, unless the environment cannot be changed between runs",
            ));
            Order::Blocked
        }
        _ => Order::Interleaved,
    }
}

fn baseline(reader: &mut Reader<'_>, labels: &[String], warnings: &mut Vec<Fault>) -> Option<String> {
    let Some(baseline) = reader.text("baseline") else {
        if !reader.has("baseline") && labels.len() > 1 {
            let chosen = if labels.iter().any(|label| label == "native") { "native" } else { "the first by name" };
            warnings.push(reader.warning(
                "baseline",
                format!("is missing: the analysis will take {chosen}"),
                "name the environment that the others are compared with, e.g. baseline = \"native\"",
            ));
        }
        return None;
    };
    if !labels.contains(&baseline) {
        let remedy = format!(
            "{}environments of this suite: {}",
            did_you_mean(&baseline, labels.iter().map(String::as_str)),
            parts::listed(labels)
        );
        reader.fault("baseline", format!("is \"{baseline}\", which is not an environment of this suite"), remedy);
    }
    Some(baseline)
}

/// Requirements of a campaign that stops when it is decided.
fn decidable(root: &Settings, suite: &Suite, faults: &mut Faults) {
    let mut fault = |key: &str, what: &str, remedy: &str| root.reader(faults).fault(key, what, remedy);
    if suite.order == Order::Blocked {
        let what = "is \"blocked\", but a look needs whole blocks of one run per environment";
        fault("order", what, "leave out the key, or give repeats as a number");
    }
    if suite.primary.is_empty() {
        let what = "is missing, but the campaign stops when the primary metrics are decided";
        fault("primary", what, "name the metrics that decide, e.g. primary = [\"output_throughput_tok_s\"]");
    }
    if suite.environments.len() < 2 {
        fault(
            "repeats",
            "stop when a comparison is decided, but there is only one environment",
            "add the environment to compare with, or give repeats as a number",
        );
    }
}

/// Faults that show only when all parts are known.
fn whole(root: &Settings, suite: &Suite, faults: &mut Faults, warnings: &mut Vec<Fault>) {
    if suite.environments.is_empty() || suite.workloads.is_empty() {
        return;
    }
    if suite.sequential.is_some() {
        decidable(root, suite, faults);
    }
    let chooser = Chooser::of(suite);
    let restrictions = Restrictions::of(suite);
    let planned: Vec<_> =
        suite.cells().filter(|cell| restrictions.allows(cell) && chooser.left_out(cell).is_none()).collect();
    let mut fault = |key: &str, what: &str, remedy: &str| root.reader(faults).fault(key, what, remedy);
    if planned.is_empty() {
        fault("workloads", "leave no run: every cell is skipped or not allowed", "remove a [[skip]]");
        return;
    }
    let runs = planned.len().saturating_mul(suite.repeats as usize);
    if runs > RUNS_MAX {
        fault(
            "repeats",
            &format!("makes {runs} runs of {} cells", planned.len()),
            &format!("at most {RUNS_MAX} runs are allowed: use fewer repeats or several suites"),
        );
    }
    let idle = suite
        .environments
        .iter()
        .map(|part| ("environments", &part.label))
        .filter(|(_, label)| planned.iter().all(|cell| cell.environment != **label))
        .chain(
            suite
                .models
                .iter()
                .map(|model| ("models", &model.label))
                .filter(|(_, label)| planned.iter().all(|cell| cell.model != **label)),
        )
        .chain(
            suite
                .workloads
                .iter()
                .map(|part| ("workloads", &part.label))
                .filter(|(_, label)| planned.iter().all(|cell| cell.workload != **label)),
        );
    for (table, label) in idle {
        warnings.push(Fault {
            line: root.line_below(table, label),
            key: format!("{table}.{label}"),
            what: "is in no run of the plan".to_owned(),
            remedy: "check [[skip]] and the environments that the workloads allow".to_owned(),
        });
    }
}
