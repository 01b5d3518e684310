//! The machines of one run side by side.
//!
//! In:  [`CourseReport`].  Out: [`Machines`], a table with a column for each machine.
//! Not here: any number that the analysis does not hold.

use super::number::{self, ABSENT};
use sparkbench_model::{Finding, Level};
use sparkbench_verdict::report::{CourseReport, NodeReport, QuantityReport};

/// See the module.
pub(super) struct Machines {
    /// Name of each machine, the head first.
    pub names: Vec<String>,
    /// A quantity, and its value for each machine.
    pub rows: Vec<(String, Vec<String>)>,
}

/// The content for a quantity.
type QuantityStat = fn(&QuantityReport) -> f64;

/// Shown quantities by name, with the content for each.
const SHOWN: &[(&str, &str, QuantityStat)] = &[
    ("power_w", "Power, mean (W)", |quantity| quantity.mean),
    ("gpu_c", "GPU temperature, greatest (°C)", |quantity| quantity.greatest),
    ("sm_clock_mhz", "SM clock, mean (MHz)", |quantity| quantity.mean),
    ("gpu_util_pct", "GPU utilisation, mean (%)", |quantity| quantity.mean),
    ("memory_used_mib", "GPU memory in use, greatest (MiB)", |quantity| quantity.greatest),
    ("host_memory_used_mib", "Memory of the machine in use, greatest (MiB)", |quantity| quantity.greatest),
    ("host_memory_available_mib", "Memory of the machine still available, least (MiB)", |quantity| quantity.least),
];

/// The table of a run on several machines. Nothing for one machine.
pub(super) fn machines(course: &CourseReport) -> Option<Machines> {
    if course.nodes.is_empty() {
        return None;
    }
    let mut names = vec!["head".to_owned()];
    names.extend(course.nodes.iter().map(|node| node.name.clone()));
    let all = || std::iter::once(&course.quantities).chain(course.nodes.iter().map(|node| &node.quantities));
    let mut rows = Vec::new();
    for (name, label, told) in SHOWN {
        let found = |quantities: &Vec<QuantityReport>| quantities.iter().find(|one| one.name == *name).map(told);
        let cells: Vec<Option<f64>> = all().map(found).collect();
        if cells.iter().any(Option::is_some) {
            rows.push(((*label).to_owned(), cells.into_iter().map(number::plain_or).collect()));
        }
    }
    let findings = || {
        let there = course.nodes.iter().map(|node| node.gates.iter().chain(&node.watched).collect());
        std::iter::once(course.gates.iter().chain(&course.watched).collect::<Vec<_>>()).chain(there)
    };
    rows.push(("Gates and watchdogs".to_owned(), findings().map(|all| levels(&all)).collect()));
    let nodes = |of: &dyn Fn(&NodeReport) -> String, head: &str| -> Vec<String> {
        std::iter::once(head.to_owned()).chain(course.nodes.iter().map(of)).collect()
    };
    rows.push(("Wall clock against the head (ms)".to_owned(), nodes(&clock, "0")));
    if course.nodes.iter().any(|node| !node.command.is_empty()) {
        let command = |node: &NodeReport| {
            if node.command.is_empty() { "none".to_owned() } else { node.command.clone() }
        };
        rows.push(("Worker".to_owned(), nodes(&command, "the engine itself")));
    }
    if course.nodes.iter().any(|node| node.failure.is_some()) {
        rows.push(("Failure".to_owned(), nodes(&|node| node.failure.clone().unwrap_or_default(), "")));
    }
    Some(Machines { names, rows })
}

/// `9 passed, 1 warned: swap`
fn levels(findings: &[&Finding]) -> String {
    let of = |level: Level| findings.iter().filter(move |finding| finding.level == level);
    let mut words = vec![format!("{} passed", of(Level::Passed).count())];
    for (level, word) in [(Level::Warned, "warned"), (Level::Refused, "refused")] {
        let names: Vec<&str> = of(level).map(|finding| finding.gate.as_str()).collect();
        if !names.is_empty() {
            words.push(format!("{} {word}: {}", names.len(), names.join(", ")));
        }
    }
    words.join(", ")
}

fn clock(node: &NodeReport) -> String {
    match (node.clock_ahead_ms, node.clock_bound_ms) {
        (Some(ahead), Some(bound)) => format!("{ahead:+.3} ± {bound:.3}"),
        _ => ABSENT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_stand_side_by_side_and_one_alone_has_no_table() {
        let watts = |mean: f64| vec![QuantityReport { name: "power_w", n: 9, least: 1.0, mean, greatest: 99.0 }];
        let node = NodeReport {
            name: "node-1".into(),
            quantities: watts(42.0),
            gates: vec![Finding::passed("cooldown", "ok"), Finding::warned("swap", "in use", "switch it off")],
            clock_ahead_ms: Some(-0.25),
            clock_bound_ms: Some(0.02),
            command: "ggml-rpc-server".into(),
            ..NodeReport::default()
        };
        let course = CourseReport { quantities: watts(40.0), nodes: vec![node], ..CourseReport::default() };
        let table = machines(&course).unwrap();
        assert_eq!(table.names, ["head", "node-1"]);
        assert_eq!(table.rows[0], ("Power, mean (W)".to_owned(), vec!["40".to_owned(), "42".to_owned()]));
        assert_eq!(table.rows[1].1[1], "1 passed, 1 warned: swap");
        assert_eq!(table.rows[2].1[1], "-0.250 ± 0.020");
        assert_eq!(table.rows[3].1, ["the engine itself", "ggml-rpc-server"]);
        assert!(machines(&CourseReport::default()).is_none());
    }
}
