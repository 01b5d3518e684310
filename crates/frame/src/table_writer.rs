//! A table as CSV, JSON lines or Parquet, batch by batch: a row group each in Parquet.
//!
//! In:  tables of the same columns.  Out: bytes, as they come.
//! Not here: files (see `archive`), which rows and columns (see `table`).

use std::io::Write;

use polars_io::parquet::write::{BatchedWriter, KeyValueMetadata, ParquetCompression, ParquetWriter};

use super::export::as_json;
use super::flat::Cell;
use super::measures::broken;
use super::table::Table;
use sparkbench_text::error::Error;
use sparkbench_text::escape::cell as neutral;

/// A form for other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    Csv,
    /// An object a line.
    Jsonl,
    Parquet,
}

enum Sink<'w> {
    Csv(Box<csv::Writer<&'w mut dyn Write>>),
    Jsonl(&'w mut dyn Write),
    Parquet(Box<BatchedWriter<&'w mut dyn Write>>),
}

/// Writes tables of the same columns one after the other.
pub struct TableWriter<'w>(Sink<'w>);

fn not_written(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::archive("the table cannot be written").because(cause)
}

impl<'w> TableWriter<'w> {
    /// Begins. `head` has the columns. `schema` names what the rows are, in the metadata of Parquet.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn new(format: TableFormat, out: &'w mut dyn Write, head: &Table, schema: &str) -> Result<Self, Error> {
        Ok(Self(match format {
            TableFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                let names = head.columns().iter().map(|column| neutral(&column.name));
                writer.write_record(names).map_err(not_written)?;
                Sink::Csv(Box::new(writer))
            }
            TableFormat::Jsonl => Sink::Jsonl(out),
            TableFormat::Parquet => {
                let about = head.columns().iter().map(|column| (column.name.as_str(), column.meaning.clone()));
                let facts =
                    vec![("schema".to_owned(), schema.to_owned()), ("sparkbench.columns".to_owned(), as_json(about))];
                let writer = ParquetWriter::new(out)
                    .with_compression(ParquetCompression::Zstd(None))
                    .with_key_value_metadata(Some(KeyValueMetadata::from_static(facts)))
                    .set_parallel(false)
                    .batched(head.frame.schema())
                    .map_err(broken)?;
                Sink::Parquet(Box::new(writer))
            }
        }))
    }

    /// Adds the rows of a table.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, table: &Table) -> Result<(), Error> {
        match &mut self.0 {
            Sink::Csv(writer) => {
                let columns = texts(table, |cell| match cell {
                    Cell::Text(text) => neutral(text),
                    cell => cell.text(),
                })?;
                let row = |row: usize| columns.iter().map(move |column| column.get(row).map_or("", String::as_str));
                (0..table.height()).try_for_each(|at| writer.write_record(row(at))).map_err(not_written)
            }
            Sink::Jsonl(out) => {
                let names: Vec<String> =
                    table.columns().iter().map(|column| serde_json::json!(column.name).to_string()).collect();
                let columns = texts(table, |cell| match cell {
                    Cell::Empty => "null".to_owned(),
                    Cell::Text(text) => serde_json::json!(text).to_string(),
                    cell => cell.text(),
                })?;
                (0..table.height()).try_for_each(|at| {
                    let fields = names.iter().zip(&columns).filter_map(|(name, column)| Some((name, column.get(at)?)));
                    let fields: Vec<String> = fields.map(|(name, value)| format!("{name}:{value}")).collect();
                    writeln!(out, "{{{}}}", fields.join(",")).map_err(not_written)
                })
            }
            Sink::Parquet(writer) => {
                let mut frame = table.frame.clone();
                writer.write_batch(frame.rechunk_mut()).map_err(broken)
            }
        }
    }

    /// Ends.
    ///
    /// # Errors
    /// When the last bytes cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        match self.0 {
            Sink::Csv(mut writer) => writer.flush().map_err(not_written),
            Sink::Jsonl(out) => out.flush().map_err(not_written),
            Sink::Parquet(writer) => writer.finish().map(|_| ()).map_err(broken),
        }
    }
}

/// The text of each cell, column by column.
fn texts(table: &Table, text: fn(&Cell) -> String) -> Result<Vec<Vec<String>>, Error> {
    let column = |name: &str| Ok(table.cells(name)?.iter().map(text).collect());
    table.columns().iter().map(|of| column(&of.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run, set};
    use super::*;
    use polars_io::SerReader as _;
    use polars_io::prelude::ParquetReader;

    fn written(format: TableFormat, tables: &[Table]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = TableWriter::new(format, &mut bytes, &tables[0], "test/1").unwrap();
        tables.iter().for_each(|table| writer.add(table).unwrap());
        writer.finish().unwrap();
        bytes
    }

    fn tables() -> [Table; 2] {
        let mut odd = set(run("=b"), "quantisation", "fp8 \"x\"");
        odd.readings.clear();
        let table = Table::of_runs(&[run("a"), odd]).unwrap();
        let table = table.selected(&["id", "quantisation", "concurrency", "ttft_ms"].map(str::to_owned)).unwrap();
        [table.kept(&[true, false]).unwrap(), table.kept(&[false, true]).unwrap()]
    }

    #[test]
    fn absent_is_an_empty_cell_of_csv_and_null_in_json_and_parquet() {
        let csv = String::from_utf8(written(TableFormat::Csv, &tables())).unwrap();
        assert_eq!(csv, "id,quantisation,concurrency,ttft_ms\na,,8,12.5\n'=b,\"fp8 \"\"x\"\"\",8,\n");
        let lines = String::from_utf8(written(TableFormat::Jsonl, &tables())).unwrap();
        assert_eq!(
            lines,
            "{\"id\":\"a\",\"quantisation\":null,\"concurrency\":8,\"ttft_ms\":12.5}\n\
             {\"id\":\"=b\",\"quantisation\":\"fp8 \\\"x\\\"\",\"concurrency\":8,\"ttft_ms\":null}\n"
        );
        let bytes = written(TableFormat::Parquet, &tables());
        let frame = ParquetReader::new(std::io::Cursor::new(bytes)).finish().unwrap();
        assert_eq!(frame.shape(), (2, 4));
        assert_eq!(frame.column("concurrency").unwrap().i64().unwrap().get(1), Some(8));
        let ttft = frame.column("ttft_ms").unwrap().f64().unwrap().clone();
        assert_eq!((ttft.get(0), ttft.get(1)), (Some(12.5), None));
        assert_eq!(frame.column("id").unwrap().str().unwrap().get(1), Some("=b"));
    }

    #[test]
    fn a_batch_is_a_row_group() {
        let bytes = written(TableFormat::Parquet, &tables());
        let mut reader = ParquetReader::new(std::io::Cursor::new(bytes));
        let metadata = reader.get_metadata().unwrap().clone();
        assert_eq!(metadata.row_groups.iter().map(|group| group.num_rows()).collect::<Vec<_>>(), [1, 1]);
        let facts = metadata.key_value_metadata().as_ref().unwrap();
        let columns = facts.iter().find(|fact| fact.key == "sparkbench.columns").unwrap();
        let columns: serde_json::Value = serde_json::from_str(columns.value.as_ref().unwrap()).unwrap();
        assert_eq!(
            (columns["ttft_ms"]["unit"].as_str(), columns["concurrency"]["type"].as_str()),
            (Some("ms"), Some("integer"))
        );
    }
}
