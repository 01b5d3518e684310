//! Passes of one cell as one row: the mean, and how far single passes lie from it.
//!
//! In:  names, summaries as JSON.  Out: [`CellPasses`]s in the order in which they began.
//! Not here: the table (see `points`), whether a difference matters (see `verdict`).

use serde_json::Value;

/// This word after the name of its cell marks a pass.
const PASS: &str = "pass ";

/// One cell with its passes.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPasses {
    /// Name without the number of the pass.
    pub name: String,
    /// One summary a pass.
    pub passes: Vec<Value>,
}

/// Mean and spread of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Across {
    /// Mean over the passes that have it.
    pub mean: f64,
    /// Standard deviation between passes. Absent for a single one.
    pub sd: Option<f64>,
}

impl CellPasses {
    /// A figure over all passes. Absent where no pass has it.
    pub fn across(&self, pointer: &str) -> Option<Across> {
        let values: Vec<f64> =
            self.passes.iter().filter_map(|pass| pass.pointer(pointer).and_then(Value::as_f64)).collect();
        (!values.is_empty())
            .then(|| Across { mean: sparkbench_stats::mean(&values), sd: sparkbench_stats::sd(&values) })
    }

    /// Sum of a count over all passes.
    pub fn sum(&self, pointer: &str) -> u64 {
        self.passes.iter().filter_map(|pass| pass.pointer(pointer).and_then(Value::as_u64)).sum()
    }
}

/// The name of a load without the number of its pass.
pub fn of(name: &str) -> &str {
    match name.rsplit_once(PASS) {
        Some((cell, number)) if number.parse::<u32>().is_ok() => cell.trim_end(),
        _ => name,
    }
}

/// Loads of one name together, at any place in the row.
pub fn group(loads: &[(String, Value)]) -> Vec<CellPasses> {
    let mut cells: Vec<CellPasses> = Vec::new();
    for (name, summary) in loads {
        let name = of(name);
        match cells.iter_mut().find(|cell| cell.name == name) {
            Some(cell) => cell.passes.push(summary.clone()),
            None => cells.push(CellPasses { name: name.to_owned(), passes: vec![summary.clone()] }),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn passes_of_a_cell_are_one_row_with_mean_and_spread() {
        let load = |name: &str, rate: Value| (name.to_owned(), json!({ "output_throughput_tok_s": rate, "failed": 1 }));
        let loads = [
            load("128/128 pass 1", json!(10.0)),
            load("c4", json!(5.0)),
            load("128/128 pass 2", json!(14.0)),
            load("128/128 pass 3", Value::Null),
            load("pass 1", json!(1.0)),
        ];
        let cells = group(&loads);
        assert_eq!(cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["128/128", "c4", ""]);
        let across = cells[0].across("/output_throughput_tok_s").unwrap();
        assert_eq!((across.mean, cells[0].sum("/failed")), (12.0, 3));
        assert!((across.sd.unwrap() - 8.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(cells[1].across("/output_throughput_tok_s"), Some(Across { mean: 5.0, sd: None }));
        assert_eq!(cells[1].across("/ttft_ms/p50"), None);
    }
}
