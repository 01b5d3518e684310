//! The lists of the analysis as flat tables: one row for each entry, one column for each field, nested fields under their path.
//!
//! In:  the finished analysis.  Out: [`Flat`], whose columns are named as `analysis.json` names them.
//! Not here: any new number, what a column means (see `model::column`).
//!
//! A table is made from the JSON form of a report, so a new field of the report becomes a column without a change here.

use serde::Serialize;
use serde_json::Value;

use sparkbench_model::Metric;
use sparkbench_model::column::{Kind, Meaning, meaning};
use sparkbench_text::error::Error;
use sparkbench_verdict::report::Analysis;

/// One list as a table.
#[derive(Debug)]
pub(super) struct Flat {
    /// Under which name `analysis.json` has it.
    pub name: &'static str,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Absent.
    Empty,
    Text(String),
    Number(f64),
    /// True or false.
    Flag(bool),
}

impl Cell {
    /// As tables write it: every digit of a number and none that is needless. Empty where it is absent.
    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            // Far from one, the plain form is hundreds of digits long.
            Self::Number(value) if *value == 0.0 || (1e-5..1e15).contains(&value.abs()) => value.to_string(),
            Self::Number(value) => format!("{value:?}"),
        }
    }
}

/// Fields that are lists of things with fields of their own, or a map of them: they stay in `analysis.json`.
const NESTED: &[&str] = &[
    "origins",
    "files",
    "more",
    "settings",
    "requests",
    "request_percentiles",
    "stability",
    "stability_panel",
    "shift",
    "looks",
    "pairs",
    "run_ids",
    "values",
];

/// Comparisons with their verdicts.
pub(super) fn comparisons(analysis: &Analysis) -> Result<Flat, Error> {
    flatten("comparisons", &analysis.comparisons.all().collect::<Vec<_>>())
}

/// Groups: what the runs of one cell say of one metric.
pub(super) fn groups(analysis: &Analysis) -> Result<Flat, Error> {
    flatten("groups", &analysis.groups)
}

/// Runs, one a row, metrics as columns behind all others, by catalogue order.
pub(super) fn runs(analysis: &Analysis) -> Result<Flat, Error> {
    flatten("runs", &analysis.runs)
}

fn flatten<T: Serialize>(name: &'static str, items: &[T]) -> Result<Flat, Error> {
    let odd = |cause| Error::archive(format!("the {name} cannot be laid out as a table")).because(cause);
    let mut seen: Vec<String> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    let mut rows: Vec<Vec<(usize, Cell)>> = Vec::with_capacity(items.len());
    for item in items {
        let mut cells = Vec::new();
        leaves("", &serde_json::to_value(item).map_err(odd)?, &mut |path, cell| {
            let column = path.strip_prefix("metrics.").unwrap_or(path);
            let place = *places.entry(column.to_owned()).or_insert_with(|| {
                seen.push(column.to_owned());
                seen.len() - 1
            });
            cells.push((place, cell));
        });
        rows.push(cells);
    }
    let mut order: Vec<usize> = (0..seen.len()).collect();
    // Metrics last and as tables show them. Everything else as it comes.
    order.sort_by_key(|place| {
        let metric = seen.get(*place).and_then(|name| Metric::find(name));
        metric.map_or((0, *place), |metric| (1, metric.rank()))
    });
    let mut at = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        if let Some(slot) = at.get_mut(*old) {
            *slot = new;
        }
    }
    let lay = |cells: Vec<(usize, Cell)>| {
        let mut row = vec![Cell::Empty; order.len()];
        for (old, cell) in cells {
            if let Some(slot) = at.get(old).and_then(|new| row.get_mut(*new)) {
                *slot = cell;
            }
        }
        row
    };
    let columns = order.iter().filter_map(|old| seen.get(*old).cloned()).collect();
    let mut flat = Flat { name, columns, rows: rows.into_iter().map(lay).collect() };
    flat.drop_void();
    Ok(flat)
}

/// Every leaf with its path. A list of words as one text.
fn leaves(path: &str, value: &Value, visit: &mut dyn FnMut(&str, Cell)) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter().filter(|(key, _)| !NESTED.contains(&key.as_str())) {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(&below, field, visit);
            }
        }
        Value::Array(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            let empty = words.is_empty();
            visit(path, if empty { Cell::Empty } else { Cell::Text(words.join("; ")) });
        }
        Value::Null => visit(path, Cell::Empty),
        Value::Bool(flag) => visit(path, Cell::Flag(*flag)),
        Value::Number(number) => visit(path, number.as_f64().map_or(Cell::Empty, Cell::Number)),
        Value::String(text) => visit(path, Cell::Text(text.clone())),
    }
}

impl Flat {
    /// Without columns that are empty and mean nothing by themselves: what was absent in one row and had fields of its own in another.
    fn drop_void(&mut self) {
        let kept: Vec<bool> = (self.columns.iter().enumerate())
            .map(|(place, name)| self.kind_of(place).is_some() || meaning(name).is_some())
            .collect();
        let keep = |place: usize| kept.get(place).copied().unwrap_or(true);
        let mut place = 0..;
        self.columns.retain(|_| place.next().is_some_and(keep));
        for row in &mut self.rows {
            let mut place = 0..;
            row.retain(|_| place.next().is_some_and(keep));
        }
    }

    /// Meaning of each column. The type comes from its cells where there are any, because a column of numbers may hold a word.
    pub(super) fn meanings(&self) -> Vec<Meaning> {
        let of = |(place, name): (usize, &String)| {
            let own = self.kind_of(place);
            match (meaning(name), own) {
                (Some(known), Some(Kind::Text)) if known.kind != Kind::Moment => Meaning { kind: Kind::Text, ..known },
                (Some(known), _) => known,
                (None, own) => Meaning {
                    kind: own.unwrap_or(Kind::Text),
                    unit: if name.ends_with("_pct") { "%" } else { "" },
                    direction: "",
                    about: format!("field {name} of {} in analysis.json", self.name),
                },
            }
        };
        self.columns.iter().enumerate().map(of).collect()
    }

    /// Cells of a column from the top.
    pub(super) fn column(&self, place: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().map(move |row| row.get(place).unwrap_or(&Cell::Empty))
    }

    /// Type of the cells of a column. Absent where all are empty.
    fn kind_of(&self, place: usize) -> Option<Kind> {
        let mut kind = None;
        for cell in self.column(place) {
            let own = match cell {
                Cell::Empty => continue,
                Cell::Text(_) => return Some(Kind::Text),
                Cell::Number(_) => Kind::Number,
                Cell::Flag(_) => Kind::Boolean,
            };
            if *kind.get_or_insert(own) != own {
                return Some(Kind::Text);
            }
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_written_with_the_digits_that_it_needs() {
        for (value, text) in [(8.0, "8"), (0.1, "0.1"), (-2.5, "-2.5"), (1e-7, "1e-7"), (1e300, "1e300"), (0.0, "0")] {
            assert_eq!(Cell::Number(value).text(), text);
        }
        assert_eq!((Cell::Empty.text(), Cell::Text("a".into()).text()), (String::new(), "a".to_owned()));
    }

    #[test]
    fn nested_fields_have_their_path_and_metrics_stand_last() {
        let items = [
            json!({"id": "a", "metrics": {"ttft_ms": 2.5, "output_throughput_tok_s": null}, "ci": {"low": 1}, "flags": ["x", "y"], "ok": true}),
            json!({"id": "=b", "metrics": {}, "ci": null, "flags": [], "more": {"k": "v"}}),
        ];
        let flat = flatten("runs", &items).unwrap();
        assert_eq!(flat.columns, ["id", "ci.low", "flags", "ok", "output_throughput_tok_s", "ttft_ms"]);
        assert_eq!(flat.rows[0][1], Cell::Number(1.0));
        assert_eq!(flat.rows[0][2], Cell::Text("x; y".into()));
        assert_eq!(flat.rows[1][0], Cell::Text("=b".into()));
        assert_eq!(flat.rows[0][5], Cell::Number(2.5));
        assert!(flat.rows[1][4..].iter().all(|cell| *cell == Cell::Empty));
    }
}
