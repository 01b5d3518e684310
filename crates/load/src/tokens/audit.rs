//! The audit after a load: requested, sent, locally counted and server-reported lengths.
//!
//! In:  [`AuditRow`]s, one for each answered request.  Out: [`Audit`].
//! Not here: recounting (a [`super::Counter`] does), what a deviation means for a verdict.
//!
//! For answers, a difference of more than 1 % between the server's count and ours is a deviation. For prompts, the median of the reported
//! lengths may differ by at most 2 % from the request (rows E and M of the definitions).

use sparkbench_stats::quantile_sorted;

/// Deviation of an answer's two counts from which on it is off.
pub(super) const OUTPUT_OFF: f64 = 0.01;
/// Deviation of the median prompt from what was asked for, from which on prompts are off.
pub(super) const INPUT_OFF: f64 = 0.02;

/// Lengths of one request, tokens. Absent is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AuditRow {
    /// Asked for, as the server should report it.
    pub isl_asked: Option<u32>,
    /// Of the text that was sent, by our count.
    pub isl_sent: Option<u32>,
    /// `prompt_tokens`.
    pub isl_reported: Option<u32>,
    pub osl_asked: Option<u32>,
    /// Of the answer's text, by our count.
    pub osl_counted: Option<u32>,
    /// `completion_tokens`.
    pub osl_reported: Option<u32>,
}

/// Totals of the rows. Each figure is absent where no row has both its lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Audit {
    pub rows: usize,
    /// Rows with an answer counted here and by the server.
    pub outputs: usize,
    /// Share of those whose two counts differ by more than 1 %.
    pub outputs_off: Option<f64>,
    /// Median of reported over asked input length, less 1.
    pub input_median_off: Option<f64>,
    /// Whether that is more than 2 %.
    pub input_off: Option<bool>,
    /// Median of reported less sent input tokens: what the template seems to cost.
    pub template: Option<f64>,
    /// Share of answers whose reported length is not the one asked for.
    pub osl_differs: Option<f64>,
}

/// Adds up.
pub(crate) fn audit(rows: impl IntoIterator<Item = AuditRow>) -> Audit {
    let mut found = Audit::default();
    let (mut off, mut differs, mut stated) = (0usize, 0usize, 0usize);
    let (mut ratios, mut overheads) = (Vec::new(), Vec::new());
    for row in rows {
        found.rows += 1;
        if let Some((counted, reported)) = row.osl_counted.zip(row.osl_reported) {
            found.outputs += 1;
            let deviation = f64::from(counted.abs_diff(reported));
            off += usize::from(deviation > OUTPUT_OFF * f64::from(reported.max(1)));
        }
        if let Some((asked, reported)) = row.osl_asked.zip(row.osl_reported) {
            stated += 1;
            differs += usize::from(asked != reported);
        }
        if let Some((asked, reported)) = row.isl_asked.filter(|asked| *asked > 0).zip(row.isl_reported) {
            ratios.push(f64::from(reported) / f64::from(asked) - 1.0);
        }
        if let Some((sent, reported)) = row.isl_sent.zip(row.isl_reported) {
            overheads.push(f64::from(reported) - f64::from(sent));
        }
    }
    let median = |values: &[f64]| (!values.is_empty()).then(|| quantile_sorted(&sparkbench_stats::sorted(values), 0.5));
    let share = |count: usize, of: usize| (of > 0).then(|| count as f64 / of as f64);
    found.outputs_off = share(off, found.outputs);
    found.osl_differs = share(differs, stated);
    found.input_median_off = median(&ratios);
    found.input_off = found.input_median_off.map(|median| median.abs() > INPUT_OFF);
    found.template = median(&overheads);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_counted_where_both_lengths_are_known() {
        let row = |asked, sent, reported, counted, answered| AuditRow {
            isl_asked: Some(asked),
            isl_sent: sent,
            isl_reported: reported,
            osl_asked: Some(100),
            osl_counted: counted,
            osl_reported: answered,
        };
        let found = audit([
            row(100, Some(90), Some(103), Some(100), Some(100)),
            row(100, Some(90), Some(104), Some(102), Some(100)),
            row(100, Some(90), Some(101), None, Some(99)),
            row(100, None, None, Some(7), None),
        ]);
        assert_eq!((found.rows, found.outputs, found.outputs_off), (4, 2, Some(0.5)));
        assert!((found.input_median_off.unwrap() - 0.03).abs() < 1e-12 && found.input_off == Some(true));
        assert_eq!((found.template, found.osl_differs), (Some(13.0), Some(1.0 / 3.0)));
        assert_eq!(audit([]), Audit::default());
    }
}
