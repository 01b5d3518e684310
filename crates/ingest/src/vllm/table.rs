//! The table over a sweep, `summary.csv`: the keys of the results as columns, one run for each row.
//!
//! In:  CSV.  Out: each row as the object that it was made of.
//! Not here: what a key means (see `serve`).

use std::borrow::Cow;

use crate::Parsed;
use crate::figure::Figure;
use crate::json::{Kind, Node};
use crate::rows::Rows;

/// True for the header of such a table.
pub(super) fn is_ours(header: &[&str]) -> bool {
    let has = |name: &str| header.contains(&name);
    has("model_id") && has("num_prompts") && has("request_rate") && !has("mean_e2e_latency_ms")
}

/// Hands over each row. A row that cannot be read is left out.
pub(super) fn each(text: &str, parsed: &mut Parsed, mut take: impl FnMut(&Node<'_>, &mut Parsed)) {
    let mut header: Vec<String> = Vec::new();
    for row in Rows::new(text) {
        let (line, row) = match row {
            Ok(row) => row,
            Err(error) => {
                parsed.left_out.push(error);
                continue;
            }
        };
        if header.is_empty() {
            header = row.iter().map(str::to_owned).collect();
            continue;
        }
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        // The first column has no name: it counts the rows.
        let cells = header.iter().zip(&row).filter(|(name, _)| !name.is_empty());
        let entries = cells.map(|(name, cell)| (Cow::Borrowed(name.as_str()), Node { line, kind: kind(cell) }));
        take(&Node { line, kind: Kind::Map(entries.collect()) }, parsed);
    }
}

fn kind(cell: &str) -> Kind<'_> {
    match cell {
        "" => Kind::Null,
        "True" => Kind::Bool(true),
        "False" => Kind::Bool(false),
        _ if Figure::parse(cell).is_some_and(|figure| figure.value.is_finite()) => Kind::Number(cell),
        _ => Kind::Text(Cow::Borrowed(cell)),
    }
}
