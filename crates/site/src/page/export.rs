//! Files for machines: comparisons as CSV, the analysis as JSON, hashes of everything.
//!
//! In:  the analysis, the finished files.  Out: bytes with every digit. Absent values are left empty.
//! Not here: rounding. CSV text that a spreadsheet would run as a formula is neutralised.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use super::Page;
use super::publish::Earlier;
use sparkbench_text::error::Error;
use sparkbench_text::escape::cell as text;
use sparkbench_verdict::report::{Analysis, Comparison, Comparisons, Interval, NamedInterval, Scope};

/// `data/analysis.json`.
pub fn json(analysis: &Analysis) -> Result<Page, Error> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, RowByRow::default());
    by_key(analysis)
        .serialize(&mut serializer)
        .map_err(|e| Error::archive("the analysis cannot be written as JSON").because(e))?;
    bytes.push(b'\n');
    Ok(Page::new("data/analysis.json", bytes))
}

/// One line for each row of the top-level arrays. Such a file can be searched and compared line by line. It is half as large as with every
/// field on its own line.
#[derive(Default)]
struct RowByRow {
    depth: usize,
}

impl Formatter for RowByRow {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        let between: &[u8] = if first { b"" } else { b"," };
        writer.write_all(between)?;
        if self.depth == 2 { writer.write_all(b"\n") } else { Ok(()) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        let between: &[u8] = if first { b"" } else { b"," };
        writer.write_all(between)?;
        if self.depth == 1 { writer.write_all(b"\n") } else { Ok(()) }
    }
}

/// Arrays sorted by their keys, as programs expect. Pages keep the order of the judgement, primary metrics first.
fn by_key(analysis: &Analysis) -> Analysis {
    let mut sorted = analysis.clone();
    sorted.inputs.sort_by(|a, b| a.path.cmp(&b.path));
    sorted.campaigns.sort_by(|a, b| a.name.cmp(&b.name));
    sorted.runs.sort_by(|a, b| a.id.cmp(&b.id));
    sorted.groups.sort_by(|a, b| {
        (&a.campaign, &a.model, &a.workload, &a.environment, &a.metric).cmp(&(
            &b.campaign,
            &b.model,
            &b.workload,
            &b.environment,
            &b.metric,
        ))
    });
    let Comparisons { all_loads, loads } = &mut sorted.comparisons;
    for rows in [all_loads, loads] {
        rows.sort_by(|a, b| {
            (&a.campaign, &a.model, &a.workload, &a.metric, &a.baseline, &a.candidate).cmp(&(
                &b.campaign,
                &b.model,
                &b.workload,
                &b.metric,
                &b.baseline,
                &b.candidate,
            ))
        });
    }
    sorted.traps.sort_by(|a, b| (a.id, &a.subject).cmp(&(b.id, &b.subject)));
    sorted
}

/// Columns of `comparisons.csv`.
pub(super) const COLUMNS: &[&str] = &[
    "campaign",
    "model",
    "workload",
    "metric",
    "unit",
    "direction",
    "primary",
    "derived_from",
    "baseline",
    "candidate",
    "n_baseline",
    "n_candidate",
    "paired",
    "order",
    "mean_baseline",
    "mean_candidate",
    "difference",
    "difference_low",
    "difference_high",
    "overhead_pct",
    "overhead_low",
    "overhead_high",
    "overhead_method",
    "overhead90_low",
    "overhead90_high",
    "fieller_low",
    "fieller_high",
    "bootstrap_low",
    "bootstrap_high",
    "bootstrap_method",
    "log_ratio_low",
    "log_ratio_high",
    "loss_pct",
    "welch_t",
    "welch_df",
    "welch_p",
    "student_t",
    "student_df",
    "student_p",
    "mann_whitney_u",
    "mann_whitney_p",
    "permutation_p",
    "permutation_exact",
    "paired_t_p",
    "wilcoxon_p",
    "brown_forsythe_p",
    "cohens_d",
    "hedges_g",
    "hedges_g_low",
    "hedges_g_high",
    "cliffs_delta",
    "tost_margin_pct",
    "tost_p",
    "tost_equivalent",
    "smallest_margin_pct",
    "tost_p_holm",
    "power_at_10pct",
    "mde_pct",
    "runs_needed",
    "p_bonferroni",
    "p_holm",
    "p_benjamini_hochberg",
    "family_size",
    "verdict",
    "verdict_text",
    "reasons",
    "caveats",
    "ratio",
    "change_pct",
    "change_low",
    "change_high",
    "said",
    "advice",
    "scope",
    "loads",
    "design",
    "test",
    "p",
    "counted_with",
    "verdict_level",
    "verdict_low",
    "verdict_high",
    "promise_blocks",
    "promise_hours",
    "promise_probability",
    "pooled",
];

/// `data/comparisons.csv` (RFC 4180): one row per comparison, every digit, absent cells empty. The last column tells the
/// rows of several labels that are read as one workload. Their model is the one that ran.
pub(super) fn comparisons(analysis: &Analysis) -> Result<Page, Error> {
    let fault = |e: csv::Error| Error::archive("the comparisons cannot be written as CSV").because(e);
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(fault)?;
    let own = analysis.comparisons.all().map(|c| (c, false));
    let pooled = analysis.campaigns.iter().flat_map(|campaign| campaign.pooled.iter().map(|c| (c, true)));
    for (comparison, pooled) in own.chain(pooled) {
        writer.write_record(cells(comparison, pooled)).map_err(fault)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|e| Error::archive("the comparisons cannot be written as CSV").detail(e.to_string()))?;
    Ok(Page::new("data/comparisons.csv", bytes))
}

fn cells(c: &Comparison, pooled: bool) -> Vec<String> {
    let direction = match c.direction {
        sparkbench_model::Direction::LowerIsBetter => "lower_is_better",
        sparkbench_model::Direction::HigherIsBetter => "higher_is_better",
        sparkbench_model::Direction::Neutral => "neutral",
    };
    let (d_low, d_high) = ends(c.difference_ci);
    let (o_low, o_high, o_method) = named(c.overhead_ci.as_ref());
    let (c_low, c_high) = ends(c.change_ci);
    let (n_low, n_high) = ends(c.overhead_ci90);
    let (f_low, f_high) = ends(c.fieller_overhead_pct);
    let (b_low, b_high, b_method) = named(c.bootstrap_overhead_pct.as_ref());
    let (l_low, l_high) = ends(c.log_ratio_overhead_pct);
    let t = |t: &Option<sparkbench_verdict::report::TReport>| {
        t.as_ref().map_or_else(<[String; 3]>::default, |t| [number(t.t), number(t.df), number(t.p)])
    };
    let [welch_t, welch_df, welch_p] = t(&c.welch_t);
    let [student_t, student_df, student_p] = t(&c.student_t);
    let tost = c.tost.as_ref();
    vec![
        text(&c.campaign),
        text(&c.model),
        text(&c.workload),
        text(&c.metric),
        text(c.unit),
        direction.into(),
        c.primary.to_string(),
        text(c.derived_from.as_deref().unwrap_or("")),
        text(&c.baseline),
        text(&c.candidate),
        c.n_baseline.to_string(),
        c.n_candidate.to_string(),
        c.paired.to_string(),
        text(&c.order),
        optional(c.mean_baseline),
        optional(c.mean_candidate),
        optional(c.difference),
        d_low,
        d_high,
        optional(c.overhead_pct),
        o_low,
        o_high,
        o_method,
        n_low,
        n_high,
        f_low,
        f_high,
        b_low,
        b_high,
        b_method,
        l_low,
        l_high,
        optional(c.loss_pct),
        welch_t,
        welch_df,
        welch_p,
        student_t,
        student_df,
        student_p,
        optional(c.mann_whitney.as_ref().map(|u| u.u)),
        optional(c.mann_whitney.as_ref().map(|u| u.p)),
        optional(c.permutation.as_ref().map(|p| p.p)),
        c.permutation.as_ref().map_or_else(String::new, |p| p.exact.to_string()),
        optional(c.paired_t.as_ref().map(|p| p.p)),
        optional(c.wilcoxon.as_ref().map(|w| w.p)),
        optional(c.brown_forsythe.as_ref().map(|f| f.p)),
        optional(c.cohens_d),
        optional(c.hedges_g.as_ref().map(|g| g.value)),
        optional(c.hedges_g.as_ref().and_then(|g| g.low)),
        optional(c.hedges_g.as_ref().and_then(|g| g.high)),
        optional(c.cliffs_delta),
        optional(tost.map(|t| t.margin_pct)),
        optional(tost.map(|t| t.p)),
        tost.map_or_else(String::new, |t| t.equivalent.to_string()),
        optional(tost.and_then(|t| t.smallest_margin_pct)),
        optional(tost.and_then(|t| t.p_holm)),
        optional(c.power_at_10pct),
        optional(c.mde_pct),
        c.runs_needed.map_or_else(String::new, |n| n.to_string()),
        optional(c.p_adjusted.bonferroni),
        optional(c.p_adjusted.holm),
        optional(c.p_adjusted.benjamini_hochberg),
        c.p_adjusted.family_size.to_string(),
        c.verdict.kind.word().into(),
        text(&c.verdict.text),
        text(&c.verdict.reasons.join(" ")),
        text(&c.verdict.caveats.join("; ")),
        optional(c.ratio),
        optional(c.change_pct),
        c_low,
        c_high,
        text(&c.verdict.said),
        text(c.verdict.advice.as_deref().unwrap_or("")),
        match c.scope {
            Scope::Load => "load".into(),
            Scope::AllLoads => "all-loads".into(),
        },
        text(&c.loads.join("; ")),
        c.design.word().into(),
        c.test.into(),
        optional(c.p),
        text(c.counted_with.as_deref().unwrap_or("")),
        optional(c.interval_of_verdict.map(|i| i.level)),
        optional(c.interval_of_verdict.map(|i| i.low)),
        optional(c.interval_of_verdict.map(|i| i.high)),
        c.promise.map_or_else(String::new, |promise| promise.blocks.to_string()),
        optional(c.promise.and_then(|promise| promise.hours)),
        optional(c.promise.map(|promise| promise.probability)),
        pooled.to_string(),
    ]
}

/// `data/SHA256SUMS` over every other file (path and hash), sorted by path. The paths are those seen from the site's folder.
pub(super) fn sums<'a>(files: impl Iterator<Item = (&'a str, &'a str)>, earlier: &[Earlier]) -> Page {
    sums_of(files.map(|(path, sha256)| format!("{sha256}  {path}\n")).collect(), earlier)
}

fn sums_of(mut lines: Vec<String>, earlier: &[Earlier]) -> Page {
    lines.extend(earlier.iter().flat_map(|e| &e.files).map(|(path, sum)| format!("{sum}  {path}\n")));
    lines.sort_by(|a, b| a.get(66..).cmp(&b.get(66..)));
    Page::new("data/SHA256SUMS", lines.concat())
}

/// The shortest text that reads back as the same number. Infinite as the contract spells it.
fn number(value: f64) -> String {
    if value.is_finite() {
        format!("{value}")
    } else if value.is_nan() {
        String::new()
    } else if value > 0.0 {
        "inf".into()
    } else {
        "-inf".into()
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

fn ends(interval: Option<Interval>) -> (String, String) {
    interval.map_or_else(Default::default, |i| (number(i.low), number(i.high)))
}

fn named(interval: Option<&NamedInterval>) -> (String, String, String) {
    interval.map_or_else(Default::default, |i| (number(i.low), number(i.high), text(&i.method)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_text::hash::hash;

    #[test]
    fn numbers_are_numbers() {
        assert_eq!(
            (number(-1.5), number(f64::INFINITY), number(f64::NAN)),
            ("-1.5".into(), "inf".into(), String::new())
        );
    }

    #[test]
    fn sums_are_sorted_by_path_and_read_by_sha256sum() {
        let files = [("b", hash(b"x")), ("a", hash(b""))];
        let sums = sums(files.iter().map(|(path, sha256)| (*path, sha256.as_str())), &[]);
        let text = String::from_utf8(sums.bytes).unwrap();
        assert_eq!(
            text,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
             2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  b\n"
        );
    }
}
