//! Labels that tell the figures of one family apart.
//!
//! In:  the labels of a sample.  Out: those that belong to the name of its figure.
//! Not here: reading a sample (see `text::prometheus`).

use sparkbench_text::prometheus::Labels;

/// Labels that part one family into figures of different meaning.
const TELLING: &[&str] = &[
    "finished_reason",
    "reason",
    "position",
    "quantile",
    "status",
    "code",
    "method",
    "handler",
    "type",
    "mode",
    "cache",
    "gpu",
    "generation",
    "le",
];
/// Labels of the parts of a parallel engine: the first part is not named.
const PARTS: &[&str] = &["engine", "tp_rank", "pp_rank", "dp_rank", "rank"];

/// Labels that stay in the name of a figure.
pub(crate) fn folded(labels: Labels<'_>) -> String {
    const LONGEST: usize = 60;
    let mut words = String::new();
    for (name, value) in labels.iter() {
        let part = PARTS.contains(&name) && value != "0" && !value.is_empty();
        if part || TELLING.contains(&name) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
            words.push_str(&format!(" {name}={value}"));
        }
    }
    words
}
