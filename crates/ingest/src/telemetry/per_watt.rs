//! Tokens per watt: a table with one row for each model, from a script around llama-bench and nvidia-smi.
//!
//! In:  a header with a token rate, a mean power and joules per token, then rows.  Out: one run for each row.
//! Not here: its cost columns as metrics. They use a tariff of their own and stay extras.
//!
//! Seen: 2026, GB10. One file that ends behind its header, which says that the script found nothing to write.

use super::plain;
use crate::figure::{Figure, excerpt};
use crate::rows::{self, Rows};
use crate::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::Extra;
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct PerWatt;

const RULE: &str = "token-per-watt";
const SIGNS: &[&str] = &["tg_tok_sec", "avg_power_w", "joules_per_token"];

/// Column, metric.
const METRICS: &[(&str, &str)] =
    &[("tg_tok_sec", "decode_tok_s"), ("avg_power_w", "power_w"), ("joules_per_token", "energy_j_per_token")];

/// Units of the other columns, by their names' ends.
const UNITS: &[(&str, &str)] = &[
    ("_power_w", "W"),
    ("tokens_per_watt", "tok/s/W"),
    ("sec_per_1k_tokens", "s"),
    ("wh_per_1k_tokens", "Wh"),
    ("kwh_per_1m_tokens", "kWh"),
    ("rm_per_1k_tokens", "MYR"),
    ("rm_per_1m_tokens", "MYR"),
    ("myr_per_kwh", "MYR/kWh"),
    ("_seconds", "s"),
];

impl Format for PerWatt {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "a script around llama-bench and nvidia-smi",
            versions: "2026",
            sign: "a CSV header with `tg_tok_sec`, `avg_power_w` and `joules_per_token`",
            reads: "decode rate, mean power, joules per token, other columns as extras",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let cells = head.header();
        SIGNS.iter().all(|sign| cells.contains(sign))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let mut rows = Rows::new(&text);
        let (_, header) = rows.next().unwrap_or_else(|| Err(Error::archive("the table is empty")))?;
        for row in rows {
            let (line, row) = match row {
                Ok(row) => row,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            if let Err(error) = rows::fits(line, header.len(), row.len()) {
                parsed.left_out.push(error);
                continue;
            }
            let cells: Vec<(&str, &str)> = header.iter().zip(row.iter()).collect();
            parsed.records.push(Record::Run(Box::new(run(file, line, &cells))));
        }
        if parsed.records.is_empty() && parsed.left_out.is_empty() {
            parsed.notes.push("a header and no rows: the script found nothing to write".to_owned());
        }
        Ok(parsed)
    }
}

fn run(file: &SourceFile<'_>, line: u64, cells: &[(&str, &str)]) -> PartialRun {
    let mut partial = PartialRun { join_role: JoinRole::Alone, ..PartialRun::default() };
    let text = |name: &str| {
        cells
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, cell)| (*cell).to_owned())
            .filter(|cell| !cell.is_empty())
    };
    for (name, cell) in cells {
        let origin = file.origin(Some(line), Some((*name).to_owned()), RULE);
        if let Some((_, metric)) = METRICS.iter().find(|(known, _)| known == name) {
            partial.readings.extend(Figure::parse(cell).map(|figure| figure.reading(*metric, origin)));
        } else if matches!(*name, "model_file" | "model_size" | "quant") {
            partial.setup.more.insert((*name).to_owned(), excerpt(cell));
        } else if let Some((value, _)) = plain(cell) {
            let unit = UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit);
            partial.extras.push(Extra::number(*name, unit, value, None, origin));
        }
    }
    partial.model = text("model_file")
        .map(|path| path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".gguf").to_owned())
        .or_else(|| text("model_size"));
    partial.setup.quantisation = text("quant");
    partial.setup.osl = text("tg_tokens").and_then(|cell| Some(plain(&cell)?.0));
    partial.setup.tool = Some(RULE.to_owned());
    partial.setup.batch = Some(1.0);
    partial.workload = text("tg_tokens").map(|tokens| format!("tg{tokens}"));
    partial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_run_with_its_power_and_energy() {
        let text = "model_size,quant,tg_tokens,tg_tok_sec,avg_power_w,power_samples,tokens_per_watt,joules_per_token,model_file\n\
                    7B,Q4_K_M,128,45.20,38.5,30,1.17,0.852,/models/m-7b.gguf\n7B,Q4\n";
        let mut input = text.as_bytes();
        let parsed = PerWatt.parse(&mut SourceFile::new("t.csv", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let values: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(values, [("decode_tok_s", 45.2), ("power_w", 38.5), ("energy_j_per_token", 0.852)]);
        assert_eq!((partial.model.as_deref(), partial.workload.as_deref()), (Some("m-7b"), Some("tg128")));
        assert_eq!(parsed.left_out.len(), 1);
    }
}
