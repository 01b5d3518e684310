//! `llama-benchy --format csv`: a row for the prompt and a row for the generation of each pass.
//!
//! In:  a header `model,test_name,t_s_mean,...` and rows.  Out: one partial run for each pass, as from the JSON.
//! Not here: single values, which only the JSON holds.  Seen: 0.4.0.

use super::super::figure::{Figure, excerpt};
use super::super::rows::Rows;
use super::super::{About, Format, Head, Parsed, Record, SourceFile};
use super::Test;
use super::passes::{BenchyRow, Cell, TableContext, key_of, partials};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct LlamaBenchyCsv;

const RULE: &str = "llama-benchy-csv";
const DERIVED: &str = "llama-benchy-csv.derived";

impl Format for LlamaBenchyCsv {
    fn name(&self) -> &'static str {
        "llama-benchy-csv"
    }

    fn about(&self) -> About {
        About {
            tool: "llama-benchy --format csv",
            versions: "0.4.0",
            sign: "a header with `test_name` and `t_s_mean`",
            reads: "a run for each pass, as the JSON without its single values",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let header = head.header();
        ["test_name", "t_s_mean"].iter().all(|name| header.contains(name))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let mut header = csv::StringRecord::new();
        let mut rows = Vec::new();
        for row in Rows::new(&text) {
            let (line, row) = match row {
                Ok(row) => row,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            if header.is_empty() || row == header {
                header = row;
                continue;
            }
            let cell = |name: &str| header.iter().position(|known| known == name).and_then(|place| row.get(place));
            let Some(test) = cell("test_name").and_then(Test::parse) else {
                let found = excerpt(cell("test_name").unwrap_or_default());
                parsed.left_out.push(
                    Error::archive("a row is left out")
                        .at(Place::LineField(line, "test_name".to_owned()))
                        .detail(format!("expected a test such as pp512, found \"{found}\"")),
                );
                continue;
            };
            let figure = |name: &str| cell(name).and_then(Figure::parse).filter(|figure| figure.value.is_finite());
            let cells = header.iter().filter_map(|column| {
                let name = column.strip_suffix("_mean")?;
                let (key, mean) = (key_of(name, &test)?, figure(column)?);
                Some(Cell { key, mean, deviation: figure(&format!("{name}_std")), column: column.to_owned() })
            });
            let cells: Vec<Cell> = cells.collect();
            rows.push(BenchyRow { line, model: cell("model").unwrap_or_default().to_owned(), test, cells });
        }
        let found = partials(rows, &TableContext::default(), file, (RULE, DERIVED));
        parsed.records.extend(found.into_iter().map(|partial| Record::Run(Box::new(partial))));
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_prompt_and_generation_are_one_run() {
        let text = "model,test_name,t_s_mean,t_s_std,t_s_req_mean,t_s_req_std,e2e_ttft_mean,e2e_ttft_std\r\n\
                    org/m,pp512 (c2),1000.5,1.5,600.0,2.0,12.5,0.5\r\norg/m,tg32 (c2),50.0,0.1,25.0,0.2,,\r\n";
        let mut input = text.as_bytes();
        let parsed = LlamaBenchyCsv.parse(&mut SourceFile::new("r.csv", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(run)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [
                ("prefill_tok_s", 600.0),
                ("ttft_ms", 12.5),
                ("output_throughput_tok_s", 50.0),
                ("decode_tok_s", 25.0),
                ("tpot_ms", 40.0)
            ]
        );
        assert_eq!((run.workload.as_deref(), run.extras.len()), (Some("pp512-tg32-c2"), 6));
    }
}
