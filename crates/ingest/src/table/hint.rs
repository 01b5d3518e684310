//! How a table that is not read becomes one that is.
//!
//! In:  the names of its columns, or the keys of its rows.  Out: a sentence with the names that would be read.
//! Not here: reading it.

use super::columns::{self, TableColumns};
use crate::figure::excerpt;
use sparkbench_model::spelling;

/// What a table of runs needs. Labels first, then metrics.
const NEEDS: &str = "a table of runs has a column that tells its rows apart ('model', 'environment', 'workload', 'concurrency' or \
                     'context_length') and names of metrics, such as 'ttft_ms', 'decode_tok_s' or 'output_throughput_tok_s'";

/// Most names that are compared, and most that are shown.
const COMPARED: usize = 64;
const SHOWN: usize = 4;

/// What to change, with the nearest names.
pub(crate) fn advice(names: &[&str]) -> String {
    let names = names.get(..names.len().min(COMPARED)).unwrap_or_default();
    let near = |name: &&str| {
        let near: Vec<String> = spelling::near(name).into_iter().map(|ours| format!("'{ours}'")).collect();
        let read = spelling::read(name).is_some() || near.is_empty();
        (!read).then(|| format!("'{}' may be {}", excerpt(name), near.join(" or ")))
    };
    let nearest: Vec<String> =
        if names.len() > 1 { names.iter().filter_map(near).take(SHOWN).collect() } else { vec![] };
    let mut parts = vec![NEEDS.to_owned()];
    if columns::is_of_requests(names) {
        parts.push("its rows look like requests, and a run is a row of its own".to_owned());
    }
    parts.extend((!nearest.is_empty()).then(|| nearest.join(", ")));
    parts.join(". ")
}

/// How the columns of a table in Markdown would be read from CSV. None where they would not be.
pub(crate) fn as_csv(names: &[&str]) -> Option<String> {
    let columns = columns::is_table(names).then(|| TableColumns::new(names).ok())??;
    let renamed: Vec<String> = columns.renamed().collect();
    Some(if renamed.is_empty() { String::new() } else { format!(" ({})", renamed.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_told() {
        let hint = advice(&["model", "ttft", "tok/s", "ttft_p50_ms"]);
        assert!(
            hint.ends_with(
                "'ttft' may be 'ttft_ms', 'tok/s' may be 'output_throughput_tok_s' or 'total_throughput_tok_s' or 'decode_tok_s' or 'prefill_tok_s'"
            ),
            "{hint}"
        );
        assert_eq!(advice(&["when", "what"]), NEEDS);
        assert!(advice(&["request_id", "ttft_ms"]).contains("look like requests"));
    }
}
