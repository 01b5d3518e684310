//! Figures that others printed about a campaign, to be recomputed from its rows.
//!
//! In:  CSV with the columns model, environment, against, metric, statistic, printed, source.  Out: [`PublishedCell`]s.
//! Not here: the recomputation.

use serde::Deserialize;

use super::figure::{Figure, excerpt};
use super::rows::Rows;
use super::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_model::{Metric, PublishedCell};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct Published;

const STATISTICS: &[&str] = &["mean", "sd", "difference", "loss_pct"];

#[derive(Deserialize)]
struct WireRow {
    model: String,
    environment: String,
    against: Option<String>,
    metric: String,
    statistic: String,
    printed: String,
    source: String,
}

impl Format for Published {
    fn name(&self) -> &'static str {
        "published figures"
    }

    fn about(&self) -> About {
        About {
            tool: "a person",
            versions: "",
            sign: "a table of published figures with the columns of `published.csv`",
            reads: "figures that a study published, to be compared with its own runs",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let header = head.header();
        ["metric", "statistic", "printed"].iter().all(|name| header.contains(name))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut rows = Rows::new(&text);
        let (_, header) = rows.next().unwrap_or_else(|| Err(Error::archive("the table is empty")))?;
        let mut parsed = Parsed::default();
        let mut cells = Vec::new();
        for row in rows {
            let cell = row.and_then(|(line, row)| {
                let wire = row
                    .deserialize::<WireRow>(Some(&header))
                    .map_err(|cause| Error::archive("a row is left out").at(Place::Line(line)).because(cause))?;
                check(wire, line)
            });
            match cell {
                Ok(cell) => cells.push(cell),
                Err(error) => parsed.left_out.push(error),
            }
        }
        parsed.records.push(Record::Published(cells));
        Ok(parsed)
    }
}

fn check(wire: WireRow, line: u64) -> Result<PublishedCell, Error> {
    let unlike = |field: &str, expected: &str, found: &str| {
        Error::archive("a row is left out")
            .at(Place::LineField(line, field.to_owned()))
            .detail(format!("expected {expected}, found \"{}\"", excerpt(found)))
    };
    if Metric::of_catalogue(&wire.metric).is_none() {
        return Err(unlike("metric", "a metric name", &wire.metric));
    }
    if !STATISTICS.contains(&wire.statistic.as_str()) {
        return Err(unlike("statistic", &STATISTICS.join(", "), &wire.statistic));
    }
    if Figure::parse(&wire.printed).and_then(Figure::finite).is_none() {
        return Err(unlike("printed", "a number", &wire.printed));
    }
    let against = wire.against.filter(|name| !name.is_empty());
    if against.is_none() && matches!(wire.statistic.as_str(), "difference" | "loss_pct") {
        return Err(unlike("against", "the environment it is compared with", ""));
    }
    Ok(PublishedCell {
        model: wire.model,
        environment: wire.environment,
        against,
        metric: wire.metric,
        statistic: wire.statistic,
        printed: wire.printed,
        source: wire.source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_sign_are_kept_as_printed_and_bad_rows_are_named() {
        let text = "# a note\nmodel,environment,against,metric,statistic,printed,source\n\
                    m,container,native,kv_cache_gib,difference,-27.70,README\n\
                    m,native,,kv_cache_gib,average,1,README\n\
                    m,native,,kv_cache_gib,difference,1,README\n";
        let mut input = text.as_bytes();
        let parsed = Published.parse(&mut SourceFile::new("published.csv", 1, &mut input)).unwrap();
        let [Record::Published(cells)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        assert_eq!(
            (cells[0].printed.as_str(), cells[0].against.as_deref(), cells.len()),
            ("-27.70", Some("native"), 1)
        );
        assert!(parsed.left_out[0].to_string().contains("line 4, field 'statistic'"), "{}", parsed.left_out[0]);
        assert!(parsed.left_out[1].to_string().contains("line 5, field 'against'"), "{}", parsed.left_out[1]);
    }
}
