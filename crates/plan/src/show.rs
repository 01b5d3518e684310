//! The plan as text, so that a person can check it before hours of machine time are spent on it.
//!
//! In:  a suite, its plan, warnings, an estimate.  Out: text of `--dry-run`.
//! Not here: printing, readings of the machine.

use std::fmt::Write as _;

use super::cells::NOT_ALLOWED;
use super::estimate::{Estimate, GUESS_S, about};
use super::suite::NodeSource;
use super::{Cell, Fault, Order, PageCache, Plan, Suite};
use sparkbench_model::SequentialDesign;
use sparkbench_text::plural;

/// Everything that is known before the first run.
pub fn show(suite: &Suite, plan: &Plan, warnings: &[Fault], estimate: &Estimate) -> String {
    let mut text = String::new();
    head(&mut text, suite, plan);
    let most = if suite.sequential.is_some() { "at most " } else { "" };
    let _ = write!(text, "\nduration: {most}{}\n", duration(estimate));
    let _ = write!(text, "\norder: {}, seed {}: {}\n", suite.order.word(), suite.seed, suite.order.sentence());
    gates(&mut text, suite);
    for warning in warnings {
        let _ = write!(text, "\nwarning: {warning}\n  try: {}\n", warning.remedy);
    }
    left_out(&mut text, plan);
    runs(&mut text, plan);
    text
}

fn head(text: &mut String, suite: &Suite, plan: &Plan) {
    let title = suite.title.as_ref().map_or_else(String::new, |title| format!(": {title}"));
    let _ = writeln!(text, "campaign {}{title}", suite.name);
    if let Some(question) = &suite.question {
        let _ = writeln!(text, "  {}", question.trim());
    }
    let count = |of: fn(&Cell) -> &str| {
        let mut labels: Vec<String> = plan.runs.iter().map(|run| of(&Cell::of(run)).to_owned()).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.len()
    };
    let _ = writeln!(
        text,
        "  {} of {}, {} and {}, {}",
        plural::count(plan.runs.len(), "run"),
        plural::count(count(|cell| &cell.environment), "environment"),
        plural::count(count(|cell| &cell.model), "model"),
        plural::count(count(|cell| &cell.workload), "workload"),
        match &suite.sequential {
            None => plural::count(suite.repeats as usize, "repeat"),
            Some(_) => format!("at most {}", plural::count(suite.repeats as usize, "repeat")),
        },
    );
    if let Some(design) = &suite.sequential {
        let futile = if design.futility == SequentialDesign::STOP { "stops" } else { "goes on" };
        let _ = writeln!(text, "  stops when every primary comparison is decided: {}", design.words());
        let _ = writeln!(text, "  {futile} when no later look can decide");
    }
    if let Some(nodes) = &suite.nodes {
        let others = match &nodes.source {
            NodeSource::Hosts(names) => names.join(", "),
            NodeSource::Hostfile(file) => format!("the machines in {file}"),
            NodeSource::Discover(_) => "machines that Avahi finds".to_owned(),
            NodeSource::Slurm => "the machines of the Slurm job".to_owned(),
        };
        let _ = writeln!(text, "  several machines: this one is the head, with {others}, by {}", nodes.launcher.word());
    }
    for hypothesis in &suite.hypotheses {
        let expected = hypothesis.expect.as_ref().map_or_else(String::new, |word| format!(" (expected: {word})"));
        let _ = writeln!(text, "  hypothesis: {}{expected}", hypothesis.claim.trim());
    }
}

/// `about 14 h 20 min, including pauses of at least 9 h 55 min between runs. ...`
pub(crate) fn duration(estimate: &Estimate) -> String {
    let mut text = about(estimate.total_s());
    if estimate.pauses_s > 0.0 {
        let _ = write!(text, ", including pauses of at least {} between runs", about(estimate.pauses_s));
    }
    if estimate.guessed > 0 {
        let _ = write!(
            text,
            ". The duration of {} of {} is unknown, and {} is assumed for each",
            estimate.guessed,
            plural::count(estimate.runs, "run"),
            about(GUESS_S)
        );
    }
    if estimate.runs > 0 {
        text += ". Longer waits for a GPU to cool are not included";
    }
    text
}

fn gates(text: &mut String, suite: &Suite) {
    let gates = &suite.gates;
    let limits = [
        (gates.gpu_temp_max_c, "GPU at most", "C"),
        (Some(gates.cooldown_min_s).filter(|pause| *pause > 0.0), "pause at least", "s"),
        (gates.gpu_idle_power_max_w, "GPU power at most", "W"),
        (gates.host_load_max_per_core, "load per core at most", ""),
        (gates.memory_available_min_gib, "memory available at least", "GiB"),
        (gates.swap_used_max_gib, "swap in use at most", "GiB"),
        (Some(gates.disk_free_min_gib).filter(|free| *free > 0.0), "disk free at least", "GiB"),
        (gates.clock_probe_min_mhz, "SM clock under a probe at least", "MHz"),
    ];
    let mut words: Vec<String> = limits
        .into_iter()
        .filter_map(|(limit, words, unit)| limit.map(|limit| format!("{words} {limit} {unit}").trim_end().to_owned()))
        .collect();
    if gates.gpu_required {
        words.push("a GPU that can be read".to_owned());
    }
    if gates.gpu_exclusive {
        words.push("no other process on the GPU".to_owned());
    }
    let _ = write!(text, "\nbefore each run: {} (waits at most {} s)\n", words.join(", "), gates.wait_max_s);
    let cache = |choice: PageCache| match choice {
        PageCache::Keep => "kept as it is, and recorded",
        PageCache::Drop => "dropped, and recorded",
    };
    let _ = write!(text, "page cache: {}", cache(gates.page_cache));
    for part in suite.environments.iter().filter(|part| part.page_cache.is_some_and(|own| own != gates.page_cache)) {
        let _ = write!(text, ", in {}: {}", part.label, cache(suite.page_cache(&part.label)));
    }
    let dogs = &suite.watchdogs;
    let floor = dogs.memory_floor_gib.map_or_else(String::new, |floor| format!(", less than {floor} GiB available"));
    let log = if dogs.kernel_log { ", Xid or NVRM lines of the kernel" } else { "" };
    let _ = write!(text, "\nends a run: {} s{floor}{log}\n", dogs.time_limit_s);
}

fn left_out(text: &mut String, plan: &Plan) {
    if plan.left_out.is_empty() {
        return;
    }
    text.push_str("\nleft out:\n");
    for (cell, reason) in &plan.left_out {
        let why = if reason == NOT_ALLOWED { format!("{reason} ({})", cell.workload) } else { reason.clone() };
        let _ = writeln!(text, "  {}: {why}", cell.path());
    }
}

fn runs(text: &mut String, plan: &Plan) {
    let wide = plan.runs.iter().map(|run| run.id.len()).max().unwrap_or(0).max("run".len());
    let _ = write!(text, "\n{:>5}  {:wide$}  environment/model/workload\n", "block", "run");
    let mut before = None;
    for run in &plan.runs {
        let number = match run.block {
            Some(block) if before == Some(block) => String::new(),
            Some(block) => block.to_string(),
            None => "-".to_owned(),
        };
        before = run.block;
        let _ = writeln!(text, "{number:>5}  {:wide$}  {}", run.id, Cell::of(run).path());
    }
    if plan.runs.iter().any(|run| run.block.is_none()) && !plan.runs.is_empty() {
        let _ = writeln!(text, "    -  in no block: the order is {}", Order::Blocked.word());
    }
}
