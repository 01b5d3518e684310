//! Metrics of a server before, during and after a load, for expressions.
//!
//! In:  the folder of a load.  Out: [`Snapshots`], asked by name.
//! Not here: the meaning of a family, which the author of the expression knows.
//!
//! Counters of several engines or ranks are summed. Gauges are, too, in each snapshot. A counter that is smaller after than before was
//! restarted in between, and has no growth. Quantiles are interpolated within a bucket, as Prometheus' `histogram_quantile` does.

use std::collections::BTreeMap;

use crate::one_line::one_line;
use crate::source_file::{self, unreadable};
use sparkbench_archive::{Discovery, LINE_LIMIT};
use sparkbench_model::formula::{ServerFigure, ServerWhat};
use sparkbench_text::prometheus::{Labels, sample};

/// Folder beside the requests.
const FOLDER: &str = "metrics";
/// Beginning of the line above each snapshot of `during.txt`.
const MARK: &str = "# sparkbench ";
/// Most samples that are kept of one file.
const SAMPLES_MAX: usize = 5_000_000;

/// Name, labels, value.
type Row = (String, String, f64);

/// One look at `/metrics`.
#[derive(Debug, Default)]
struct Snapshot(Vec<Row>);

/// Everything that was asked of a server around one load.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    before: Option<Snapshot>,
    during: Vec<Snapshot>,
    after: Option<Snapshot>,
}

impl Snapshots {
    /// Reads the files.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn read(found: &Discovery, folder: &str) -> Result<Self, String> {
        let file = |name: &str| {
            let path = if folder.is_empty() {
                format!("{FOLDER}/{name}.txt")
            } else {
                format!("{folder}/{FOLDER}/{name}.txt")
            };
            found.get(&path).or_else(|| found.get(&format!("{path}.gz")))
        };
        let read = |name: &str| file(name).map(snapshots).transpose();
        let single = |mut all: Vec<Snapshot>| all.pop();
        let (before, during, after) = (read("before")?, read("during")?, read("after")?);
        if before.is_none() && after.is_none() {
            return Err("the metrics of its server were not recorded".to_owned());
        }
        Ok(Self { before: before.and_then(single), during: during.unwrap_or_default(), after: after.and_then(single) })
    }

    /// The figure that an expression asks for. `seconds` is how long the load took.
    pub(super) fn figure(&self, asked: &ServerFigure, seconds: impl Fn() -> Option<f64>) -> Result<f64, String> {
        let name = &asked.name;
        match asked.what {
            ServerWhat::Delta => self.growth(asked, name),
            ServerWhat::Rate => {
                let seconds = seconds().ok_or("how long its load took is not known")?;
                Ok(self.growth(asked, name)? / seconds)
            }
            ServerWhat::Level | ServerWhat::Peak => {
                let all = self.before.iter().chain(&self.during).chain(&self.after);
                let levels: Vec<f64> = all.filter_map(|snapshot| snapshot.sum(asked, name)).collect();
                if levels.is_empty() {
                    return Err(missing(asked));
                }
                Ok(match asked.what {
                    ServerWhat::Peak => levels.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    _ => levels.iter().sum::<f64>() / levels.len() as f64,
                })
            }
            ServerWhat::HistogramMean => {
                let count = self.growth(asked, &format!("{name}_count"))?;
                if count <= 0.0 {
                    return Err(format!("{name} counted nothing during the load"));
                }
                Ok(self.growth(asked, &format!("{name}_sum"))? / count)
            }
            ServerWhat::HistogramQuantile(q) => self.quantile(asked, q),
        }
    }

    fn growth(&self, asked: &ServerFigure, name: &str) -> Result<f64, String> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return Err("the metrics of its server were recorded on one side of the load alone".to_owned());
        };
        // A family appears when something of it was counted first.
        let (from, to) =
            (before.sum(asked, name).unwrap_or(0.0), after.sum(asked, name).ok_or_else(|| missing(asked))?);
        if to < from { Err(format!("{name} went back: the server was started anew")) } else { Ok(to - from) }
    }

    fn quantile(&self, asked: &ServerFigure, q: f64) -> Result<f64, String> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return Err("the metrics of its server were recorded on one side of the load alone".to_owned());
        };
        let (from, to) = (before.buckets(asked), after.buckets(asked));
        // Upper bounds, rising, with how many were counted at or below each.
        let mut buckets: Vec<(f64, f64)> = to
            .into_iter()
            .map(|(bound, (le, count))| (le, count - from.get(&bound).map_or(0.0, |(_, was)| *was)))
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((last, all)) = buckets.last().copied() else { return Err(missing(asked)) };
        if buckets.len() < 2 || last.is_finite() || all <= 0.0 || buckets.windows(2).any(|pair| pair[1].1 < pair[0].1) {
            return Err(format!("{} is not a histogram that counted during the load", asked.name));
        }
        let rank = q * all;
        let place = buckets.iter().position(|(_, count)| *count >= rank).unwrap_or(buckets.len() - 1);
        let (low, under) = place.checked_sub(1).and_then(|place| buckets.get(place)).copied().unwrap_or((0.0, 0.0));
        let (high, count) = buckets.get(place).copied().unwrap_or((last, all));
        if high.is_infinite() {
            return Err(format!("more than {q} of it lie above the last bound of {}, {low}", asked.name));
        }
        let share = if count > under { (rank - under) / (count - under) } else { 1.0 };
        Ok(low + (high - low) * share)
    }
}

fn missing(asked: &ServerFigure) -> String {
    let labels = if asked.labels.is_empty() { "" } else { " with these labels" };
    format!("its server gives no {}{labels}", asked.name)
}

impl Snapshot {
    fn rows<'a>(&'a self, asked: &'a ServerFigure, name: &'a str) -> impl Iterator<Item = &'a Row> {
        let fits = |labels: &str| {
            asked.labels.iter().all(|(key, value)| Labels(labels).get(key).as_deref() == Some(value.as_str()))
        };
        self.0.iter().filter(move |row| row.0 == name && fits(&row.1))
    }

    fn sum(&self, asked: &ServerFigure, name: &str) -> Option<f64> {
        let mut values = self.rows(asked, name).map(|row| row.2).filter(|value| value.is_finite()).peekable();
        values.peek()?;
        Some(values.sum())
    }

    /// Counts by the text of their upper bound.
    fn buckets(&self, asked: &ServerFigure) -> BTreeMap<String, (f64, f64)> {
        let mut buckets: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (_, labels, value) in self.rows(asked, &format!("{}_bucket", asked.name)).filter(|row| row.2.is_finite()) {
            let Some(le) = Labels(labels).get("le") else { continue };
            let bound =
                if le.trim_start_matches('+').eq_ignore_ascii_case("inf") { Ok(f64::INFINITY) } else { le.parse() };
            if let Ok(bound) = bound {
                buckets.entry(le.into_owned()).or_insert((bound, 0.0)).1 += value;
            }
        }
        buckets
    }
}

/// The snapshots of a file, in their order.
fn snapshots(file: &sparkbench_archive::Found) -> Result<Vec<Snapshot>, String> {
    source_file::opened(file, |text| {
        let mut all = vec![Snapshot::default()];
        let mut count = 0;
        let mut lines = text.lines(LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(|cause| one_line(&unreadable(cause)))? {
            let text = String::from_utf8_lossy(line.bytes);
            if text.starts_with(MARK) && all.last().is_some_and(|last| !last.0.is_empty()) {
                all.push(Snapshot::default());
            }
            let Some(sample) = sample(text.trim()).filter(|_| count < SAMPLES_MAX) else { continue };
            count += 1;
            if let Some(last) = all.last_mut() {
                last.0.push((sample.name.to_owned(), sample.labels.0.to_owned(), sample.value));
            }
        }
        all.retain(|snapshot| !snapshot.0.is_empty());
        Ok(all)
    })
    .map_err(|error| one_line(&error))?
}
