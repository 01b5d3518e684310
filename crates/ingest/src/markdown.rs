//! Tables of results in prose, which is not read.
//!
//! In:  Markdown.  Out: a note on the first table whose columns look like metrics, and how its rows become runs.
//! Not here: its figures. A README repeats what the files beside it hold, and both would count.

use super::figure::Figure;
use super::table;
use sparkbench_model::spelling;

/// How every such note begins.
pub const SEEN: &str = "a Markdown table of figures was seen";

/// The note. None where no table looks like results.
pub(super) fn note(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    (1..).zip(lines.windows(3)).find_map(|(line, three)| {
        let [header, below, first] = three else { return None };
        let names = cells(header)?;
        let is_table =
            is_rule(below) && cells(first)?.iter().any(|cell| Figure::parse(cell).and_then(Figure::finite).is_some());
        if !is_table || !names.iter().any(|name| is_metric(name)) {
            return None;
        }
        Some(match table::as_csv(&names) {
            Some(renamed) => {
                format!("{SEEN} in line {line}, and prose is not read. Saved as CSV its rows are runs{renamed}")
            }
            None => {
                format!("{SEEN} in line {line}, and prose is not read. To save it as CSV: {}", table::advice(&names))
            }
        })
    })
}

/// Cells of a line with bars, without the signs for bold text and code.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let inside = line.strip_prefix('|').unwrap_or(line);
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    line.contains('|').then(|| inside.split('|').map(|cell| cell.trim().trim_matches(['*', '`', '_'])).collect())
}

/// True for the line below a header.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' ' | '\t'))
}

fn is_metric(name: &str) -> bool {
    spelling::read(name).is_some() || !spelling::near(name).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 32, case 18.
    #[test]
    fn a_table_of_results_is_named_with_the_way_to_read_it() {
        let text = "# Results\n\n| Model | Quant | Concurrency | TTFT (ms) | **Output tok/s** |\n|---|---|:-:|--:|--:|\n| m | FP8 | 1 | 92 | 31.4 |\n";
        assert_eq!(
            note(text).as_deref(),
            Some(
                "a Markdown table of figures was seen in line 3, and prose is not read. Saved as CSV its rows are runs ('Model' as model, \
                 'Quant' as quantisation, 'Concurrency' as batch, 'TTFT (ms)' as ttft_ms, 'Output tok/s' as output_throughput_tok_s)"
            )
        );
        let unsure = note("Model | tok/s\n--- | ---\nm | 31.4\n").unwrap();
        assert!(unsure.contains("'tok/s' may be 'output_throughput_tok_s' or"), "{unsure}");
    }

    #[test]
    fn other_tables_are_prose() {
        for text in [
            "| option | meaning |\n|---|---|\n| `--x` | 1 |\n",
            "| Model | TTFT (ms) |\n|---|---|\n| m | low |\n",
            "| Model | TTFT (ms) |\n| m | 92 |\n",
            "prose | with a bar\n",
            "",
        ] {
            assert_eq!(note(text), None, "{text}");
        }
    }
}
