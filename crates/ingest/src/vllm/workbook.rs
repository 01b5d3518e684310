//! The workbook of vLLM's conversation benchmark, `benchmark_serving_multi_turn.py --excel-output`.
//!
//! In:  a workbook with a sheet of requests.  Out: the same runs as from the CSV. Line numbers are rows of that sheet.
//! Not here: its summary, which repeats the tables that the program prints (see `log`).

use super::multi_turn::{NEEDED, of_table};
use crate::{About, Format, Head, Parsed, SourceFile, workbook};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct Workbook;

impl Format for Workbook {
    fn name(&self) -> &'static str {
        "vllm-multi-turn-workbook"
    }

    fn about(&self) -> About {
        About {
            tool: "vLLM benchmark_serving_multi_turn.py --excel-output",
            versions: "2025 to 2026",
            sign: "a workbook (.xlsx) in which a sheet has the columns `ttft_ms`, `latency_ms` and `input_num_turns`",
            reads: "TTFT, TPOT, E2E latency and tokens of every request",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        workbook::is(head.text)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let bytes = file.all_bytes()?;
        match workbook::sheet_with(&bytes, NEEDED)? {
            Some(table) => of_table(&table, file),
            None => Err(Error::archive("no sheet of the workbook holds requests")
                .detail(format!("expected the columns {}", NEEDED.map(|name| format!("'{name}'")).join(", ")))
                .hint("save other sheets as CSV")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workbook_without_requests_says_what_is_expected() {
        let bytes = workbook::tests::packed(&[("xl/worksheets/sheet1.xml", "<worksheet><sheetData/></worksheet>")]);
        assert!(Workbook.sniff(&Head::new("x.xlsx", &String::from_utf8_lossy(&bytes), 1)));
        let mut input = bytes.as_slice();
        let error = Workbook.parse(&mut SourceFile::new("x.xlsx", bytes.len() as u64, &mut input)).unwrap_err();
        assert!(error.to_string().contains("'ttft_ms', 'latency_ms', 'input_num_turns'"), "{error}");
    }
}
