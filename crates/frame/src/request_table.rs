//! The table of requests: a row a request, a column a series. In batches, since a campaign may have millions of rows.
//!
//! In:  runs.  Out: [`RequestTable`], which hands out a [`Table`] for each batch of runs.
//! Not here: bytes (see `table_writer`).
//!
//! Gaps between tokens are left out: a run has as many as tokens, and no row number leads back to a request. So is a series with fewer
//! values than others of its run. Some tools leave out the TPOT of answers of one token, and then nobody can tell whose value is whose.

use std::collections::{BTreeMap, BTreeSet};

use super::measures::listed;
use super::table::{Cells, Role, Table, TableColumn, by_catalogue, described};
use sparkbench_model::{Run, Series};
use sparkbench_text::error::Error;

/// Rows after which a batch is full. As many as a row group of other writers: at ten columns of eight bytes it takes 10 MiB.
const ROWS_OF_BATCH: usize = 1 << 17;

/// Requests of these runs, batch by batch.
#[derive(Debug)]
pub struct RequestTable<'r> {
    runs: &'r [Run],
    metrics: Vec<&'r str>,
}

/// Number of requests of a run: that of its longest series.
fn requests(run: &Run) -> usize {
    listed(run).map(|series| series.values.len()).max().unwrap_or(0)
}

/// Series with a value for each request.
fn whole(run: &Run) -> impl Iterator<Item = &Series> {
    let rows = requests(run);
    listed(run).filter(move |series| series.values.len() == rows)
}

impl<'r> RequestTable<'r> {
    /// Requests of these runs.
    pub fn of_runs(runs: &'r [Run]) -> Self {
        let names: BTreeSet<&str> = runs.iter().flat_map(whole).map(|series| series.metric.as_str()).collect();
        Self { runs, metrics: by_catalogue(names) }
    }

    /// Rows of all batches.
    pub fn rows(&self) -> usize {
        self.runs.iter().map(requests).sum()
    }

    /// Series that are left out, by metric, with the number of runs.
    pub fn left_out(&self) -> BTreeMap<&'r str, usize> {
        let mut found = BTreeMap::new();
        for run in self.runs {
            let rows = requests(run);
            for series in listed(run).filter(|series| series.values.len() != rows) {
                *found.entry(series.metric.as_str()).or_insert(0) += 1;
            }
        }
        found
    }

    /// The table without a row, for the names of its columns.
    ///
    /// # Errors
    /// When polars cannot build it.
    pub fn head(&self) -> Result<Table, Error> {
        self.table(&[])
    }

    /// Batches of whole runs. Each has at least so many rows that it is worth a row group, the last one aside.
    pub fn batches(&self) -> impl Iterator<Item = Result<Table, Error>> {
        let mut rest = self.runs;
        std::iter::from_fn(move || {
            let mut rows = 0;
            let full = rest.iter().position(|run| {
                rows += requests(run);
                rows >= ROWS_OF_BATCH
            });
            let (batch, after) = rest.split_at_checked(full.map_or(rest.len(), |last| last + 1))?;
            rest = after;
            (!batch.is_empty()).then(|| self.table(batch))
        })
    }

    fn table(&self, runs: &[Run]) -> Result<Table, Error> {
        let rows = runs.iter().map(requests).sum();
        let words = |of: fn(&Run) -> &String| {
            let each = |run| std::iter::repeat_n(Some(of(run).clone()), requests(run));
            Cells::Words(runs.iter().flat_map(each).collect())
        };
        let numbers = runs.iter().flat_map(|run| (0..).take(requests(run)).map(Some)).collect();
        let mut columns: Vec<(TableColumn, Cells)> = vec![
            (described("campaign", Role::Label), words(|run| &run.campaign)),
            (described("run", Role::Label), words(|run| &run.id)),
            (described("request", Role::Label), Cells::Whole(numbers)),
        ];
        for metric in &self.metrics {
            let mut values: Vec<Option<f64>> = Vec::with_capacity(rows);
            for run in runs {
                match whole(run).find(|series| series.metric == *metric) {
                    Some(series) => {
                        values.extend(series.values.iter().map(|value| value.is_finite().then_some(*value)))
                    }
                    None => values.extend(std::iter::repeat_n(None, requests(run))),
                }
            }
            columns.push((described(metric, Role::Metric), Cells::Numbers(values)));
        }
        Table::of_columns(rows, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::flat::Cell;
    use super::super::testing::run;
    use super::*;
    use sparkbench_model::Origin;

    fn with(mut run: Run, metric: &str, values: &[f64]) -> Run {
        let origin = Origin { file: "f".into(), line: None, field: None, rule: "r" };
        run.series.push(Series { metric: metric.to_owned(), values: values.to_vec(), origin });
        run
    }

    #[test]
    fn a_request_is_a_row_and_what_has_no_value_for_each_request_is_left_out_and_named() {
        let one = with(with(run("a"), "ttft_ms", &[1.0, f64::NAN]), "e2e_latency_ms", &[5.0, 6.0]);
        let one = with(with(one, "tpot_ms", &[0.5]), "itl_ms", &[0.1; 9]);
        let two = with(run("b"), "tpot_ms", &[7.0]);
        let runs = [one, run("c"), two];
        let table = RequestTable::of_runs(&runs);
        let batches: Vec<Table> = table.batches().collect::<Result<_, _>>().unwrap();
        let [batch] = batches.as_slice() else { panic!("{}", batches.len()) };
        let names: Vec<&str> = batch.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["campaign", "run", "request", "e2e_latency_ms", "ttft_ms", "tpot_ms"]);
        let text = |word: &str| Cell::Text(word.to_owned());
        assert_eq!(batch.cells("run").unwrap(), [text("a"), text("a"), text("b")]);
        assert_eq!(batch.cells("request").unwrap(), [0.0, 1.0, 0.0].map(Cell::Number));
        assert_eq!(batch.cells("ttft_ms").unwrap(), [Cell::Number(1.0), Cell::Empty, Cell::Empty]);
        assert_eq!(batch.cells("tpot_ms").unwrap(), [Cell::Empty, Cell::Empty, Cell::Number(7.0)]);
        assert_eq!((table.rows(), table.left_out()), (3, BTreeMap::from([("tpot_ms", 1)])));
        assert_eq!((table.head().unwrap().height(), table.head().unwrap().columns().len()), (0, 6));
    }

    #[test]
    fn a_batch_ends_with_the_run_that_fills_it() {
        let values = vec![1.0; ROWS_OF_BATCH / 2];
        let runs: Vec<Run> = ["a", "b", "c"].map(|id| with(run(id), "ttft_ms", &values)).to_vec();
        let table = RequestTable::of_runs(&runs);
        let heights: Vec<usize> = table.batches().map(|batch| batch.unwrap().height()).collect();
        assert_eq!(heights, [ROWS_OF_BATCH, ROWS_OF_BATCH / 2]);
        assert_eq!(RequestTable::of_runs(&[]).batches().count(), 0);
    }
}
