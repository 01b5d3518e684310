//! The dictionary of columns: meaning, unit and better direction of each column of any download.
//!
//! In:  the name of a column, as tables and `analysis.json` have it.  Out: [`Meaning`].
//! Not here: values, files.
//!
//! Nested fields of `analysis.json` have their path as name, with points: `overhead_ci.low`. A metric's own column is described by the
//! catalogue of metrics.

use super::metric::{Direction, Metric};

/// Type of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    /// Whole numbers.
    Integer,
    /// True or false.
    Boolean,
    /// Moments in UTC, ISO 8601 where the format has no moments of its own.
    Moment,
}

impl Kind {
    /// As a Table Schema spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Moment => "datetime",
        }
    }
}

/// What a column means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// Type of the cells.
    pub kind: Kind,
    /// Unit as printed. Empty for words and bare numbers. [`OF_ROW`] where each row names its own.
    pub unit: &'static str,
    /// `lower_is_better`, `higher_is_better`, `neutral`, [`OF_ROW`], or empty where nothing is better.
    pub direction: &'static str,
    /// Its meaning, in words.
    pub about: String,
}

/// The unit or the direction is in the row itself, in the column `unit` or `direction`, or is that of the metric in `metric`.
pub const OF_ROW: &str = "of the metric";

/// Names, kind, unit, definition.
struct Entry(&'static [&'static str], Kind, &'static str, &'static str);

use Kind::{Boolean, Integer, Moment, Number, Text};

/// In the order of the tables.
const ENTRIES: &[Entry] = &[
    Entry(&["campaign"], Text, "", "campaign the row belongs to"),
    Entry(&["id", "run"], Text, "", "run, unique in the analysis"),
    Entry(&["cell"], Text, "", "equal for repeats: runs of which every setting is the same"),
    Entry(&["request"], Integer, "", "place of the request among those of its run that were answered, from 0"),
    Entry(&["environment"], Text, "", "environment label"),
    Entry(&["model"], Text, "", "model label"),
    Entry(&["workload"], Text, "", "workload label"),
    Entry(&["metric"], Text, "", "contract name of the metric, with its unit"),
    Entry(&["label"], Text, "", "name of the metric for people"),
    Entry(&["unit"], Text, "", "unit of the metric or the figure of this row"),
    Entry(&["direction"], Text, "", "which way is better for the metric of this row"),
    Entry(&["repeat"], Integer, "", "k-th run of its cell, as the archive counts"),
    Entry(&["block"], Integer, "", "group of runs close in time"),
    Entry(&["launch"], Integer, "", "start of the engine that the run was measured on, from 1 in each campaign"),
    Entry(&["started_utc"], Moment, "", "start of the run, UTC"),
    Entry(&["ended_utc"], Moment, "", "end of the run, UTC"),
    Entry(&["status"], Text, "", "done, failed or unrecorded"),
    Entry(&["exit_code", "setup.exit_code"], Integer, "", "exit status of the process"),
    Entry(&["model_id", "setup.model_id"], Text, "", "model id that was asked for"),
    Entry(&["setup.model_served"], Text, "", "model id that is seen to have run"),
    Entry(&["setup.machine"], Text, "", "machine or GPU as the files print it"),
    Entry(&["setup.engine"], Text, "", "engine"),
    Entry(&["setup.engine_version"], Text, "", "version of the engine"),
    Entry(&["setup.quantisation"], Text, "", "data type or quantisation of the weights"),
    Entry(&["setup.batch"], Number, "", "batch size or limit of concurrency"),
    Entry(&["setup.isl"], Number, "tokens", "input sequence length"),
    Entry(&["setup.osl"], Number, "tokens", "output sequence length"),
    Entry(&["setup.requests"], Number, "", "number of requests"),
    Entry(&["setup.parameters"], Number, "", "parameters of the model"),
    Entry(&["setup.device_memory_gib"], Number, "GiB", "memory of the device as the engine saw it"),
    Entry(&["setup.model_memory_gib"], Number, "GiB", "weights as the engine prints them"),
    Entry(&["setup.start_temp_c"], Number, "°C", "temperature of the GPU before"),
    Entry(&["setup.end_temp_c"], Number, "°C", "temperature of the GPU after"),
    Entry(&["setup.tool"], Text, "", "benchmark that made the figures"),
    Entry(&["setup.tool_version"], Text, "", "version of the benchmark"),
    Entry(
        &["setup.request_rate"],
        Number,
        "req/s",
        "requests sent a second, or `unlimited` where all were sent at once",
    ),
    Entry(&["setup.max_model_len"], Number, "tokens", "longest context that the server was started for"),
    Entry(&["setup.memory_utilisation"], Number, "", "share of the device memory that the server may take, 0 to 1"),
    Entry(&["setup.kv_dtype"], Text, "", "data type of the KV cache"),
    Entry(&["setup.speculative"], Text, "", "speculative decoding"),
    Entry(&["setup.prefix_cache"], Boolean, "", "whether prefixes are cached"),
    Entry(&["setup.parallel"], Text, "", "how the model is parted over devices"),
    Entry(&["flags"], Text, "", "codes of what is remarkable: outliers, first run, what is absent and why"),
    Entry(&["source", "source.path", "source_path"], Text, "", "main file that the row was read from"),
    Entry(&["source.format", "source_format"], Text, "", "format of that file"),
    Entry(&["source.sha256", "source_sha256"], Text, "", "SHA-256 of that file"),
    Entry(&["index"], Integer, "", "place of the value in the order of its source, from 0"),
    Entry(&["value"], Number, OF_ROW, "the value, in the unit of the metric of its row"),
    Entry(&["extra"], Text, "", "a figure or a word that is no metric, as its source names it"),
    Entry(&["number"], Number, OF_ROW, "the figure, in the unit of its row. Absent for a word"),
    Entry(&["text"], Text, "", "the word. Absent for a figure"),
    Entry(&["why"], Text, "", "why it is no metric, where one could take it for one"),
    Entry(&["file"], Text, "", "file that it was read from"),
    Entry(&["line"], Integer, "", "line of that file, from 1, where it has lines"),
    Entry(&["field"], Text, "", "JSON pointer or column in that file"),
    Entry(&["rule"], Text, "", "rule that read it"),
    Entry(&["n"], Integer, "runs", "finite values"),
    Entry(&["n_missing"], Integer, "runs", "missing values"),
    Entry(&["n_infinite"], Integer, "runs", "infinite values"),
    Entry(&["mean"], Number, OF_ROW, "arithmetic mean over runs"),
    Entry(&["sd"], Number, OF_ROW, "standard deviation over runs, divisor n - 1"),
    Entry(&["se"], Number, OF_ROW, "standard error of the mean"),
    Entry(&["cv_pct"], Number, "%", "coefficient of variation"),
    Entry(&["min"], Number, OF_ROW, "least value"),
    Entry(&["max"], Number, OF_ROW, "greatest value"),
    Entry(&["median"], Number, OF_ROW, "median"),
    Entry(&["mad"], Number, OF_ROW, "median absolute deviation, unscaled"),
    Entry(&["iqr"], Number, OF_ROW, "interquartile range"),
    Entry(&["p5", "p25", "p75", "p90", "p95", "p99"], Number, OF_ROW, "percentile over runs, type 7"),
    Entry(&["skewness"], Number, "", "skewness G1"),
    Entry(&["shapiro_p"], Number, "", "p of Shapiro and Wilk's test"),
    Entry(&["t_interval.low", "t_interval.high"], Number, OF_ROW, "end of Student's interval of the mean"),
    Entry(&["bootstrap.statistic"], Text, "", "statistic that was resampled"),
    Entry(&["bootstrap.method"], Text, "", "kind of bootstrap interval"),
    Entry(&["bootstrap.low", "bootstrap.high"], Number, OF_ROW, "end of the bootstrap interval of the mean"),
    Entry(&["bootstrap.resamples"], Integer, "", "draws of the bootstrap"),
    Entry(&["bootstrap.flags"], Text, "", "what limits the bootstrap interval"),
    Entry(
        &["median_interval.low", "median_interval.high"],
        Number,
        OF_ROW,
        "end of the order-statistic interval of the median",
    ),
    Entry(&["median_interval.coverage"], Number, "", "achieved coverage of that interval"),
    Entry(&["outliers.three_sigma", "outliers.mad", "outliers.tukey"], Text, "", "runs flagged by this rule"),
    Entry(
        &["outliers.three_sigma_can_fire"],
        Boolean,
        "",
        "whether a sample of this size can hold a three-sigma outlier",
    ),
    Entry(&["outliers.z_bound"], Number, "", "largest |z| that a sample of this size can hold"),
    Entry(&["drift.kendall_tau"], Number, "", "Kendall's tau-b against the order of time"),
    Entry(&["drift.p"], Number, "", "p of Mann and Kendall's test"),
    Entry(&["drift.method"], Text, "", "exact or normal"),
    Entry(&["drift.drift_pct"], Number, "%", "Sen slope over the whole series, of the mean"),
    Entry(&["drift.sen_slope"], Number, "of the metric, per run", "Sen slope"),
    Entry(&["drift.lag1"], Number, "", "autocorrelation of neighbouring runs"),
    Entry(&["drift.effective_n"], Number, "runs", "effective number of runs"),
    Entry(&["drift.autocorrelated"], Boolean, "", "whether the autocorrelation exceeds its bound"),
    Entry(
        &["drift.t_interval_effective.low", "drift.t_interval_effective.high"],
        Number,
        OF_ROW,
        "end of Student's interval with the effective number of runs",
    ),
    Entry(&["primary"], Boolean, "", "whether the metric belongs to the family of primary metrics"),
    Entry(&["derived_from"], Text, "", "metric that this one is an algebraic function of"),
    Entry(&["baseline"], Text, "", "arm that the other is held against"),
    Entry(&["candidate"], Text, "", "arm that is held against the baseline"),
    Entry(&["n_baseline", "n_candidate"], Integer, "runs", "runs of the arm"),
    Entry(&["paired"], Boolean, "", "whether runs were compared block by block"),
    Entry(&["order"], Text, "", "how the arms were ordered in time"),
    Entry(&["mean_baseline", "mean_candidate"], Number, OF_ROW, "mean of the arm"),
    Entry(&["difference"], Number, OF_ROW, "candidate minus baseline"),
    Entry(
        &["difference_low", "difference_high", "difference_ci.low", "difference_ci.high"],
        Number,
        OF_ROW,
        "end of the interval of the difference",
    ),
    Entry(
        &["overhead_pct"],
        Number,
        "%",
        "what the candidate costs more than the baseline. Negative where it costs less",
    ),
    Entry(&["ratio"], Number, "", "mean of the candidate over that of the baseline"),
    Entry(
        &["change_pct"],
        Number,
        "%",
        "how much more of the metric the candidate has than the baseline. Negative where it has less",
    ),
    Entry(
        &["change_low", "change_high", "change_ci.low", "change_ci.high"],
        Number,
        "%",
        "end of the interval of the change",
    ),
    Entry(
        &["overhead_low", "overhead_high", "overhead_ci.low", "overhead_ci.high"],
        Number,
        "%",
        "end of the interval of the overhead that the verdict uses",
    ),
    Entry(&["overhead_method", "overhead_ci.method"], Text, "", "how that interval was made"),
    Entry(
        &["overhead90_low", "overhead90_high", "overhead_ci90.low", "overhead_ci90.high"],
        Number,
        "%",
        "end of the 90 % interval of the overhead",
    ),
    Entry(
        &["fieller_low", "fieller_high", "fieller_overhead_pct.low", "fieller_overhead_pct.high"],
        Number,
        "%",
        "end of Fieller's interval of the overhead",
    ),
    Entry(
        &["bootstrap_low", "bootstrap_high", "bootstrap_overhead_pct.low", "bootstrap_overhead_pct.high"],
        Number,
        "%",
        "end of the bootstrap interval of the overhead",
    ),
    Entry(&["bootstrap_method", "bootstrap_overhead_pct.method"], Text, "", "kind of bootstrap interval"),
    Entry(&["bootstrap_flags"], Text, "", "what limits the bootstrap interval"),
    Entry(
        &["log_ratio_low", "log_ratio_high", "log_ratio_overhead_pct.low", "log_ratio_overhead_pct.high"],
        Number,
        "%",
        "end of the interval of the overhead on the logarithmic scale",
    ),
    Entry(&["loss_pct"], Number, "%", "what the candidate loses of the baseline's rate"),
    Entry(&["welch_t", "welch_t.t"], Number, "", "Welch's t"),
    Entry(&["welch_df", "welch_t.df"], Number, "", "its degrees of freedom"),
    Entry(&["welch_p", "welch_t.p"], Number, "", "its p"),
    Entry(&["student_t", "student_t.t"], Number, "", "Student's t with pooled variance"),
    Entry(&["student_df", "student_t.df"], Number, "", "its degrees of freedom"),
    Entry(&["student_p", "student_t.p"], Number, "", "its p"),
    Entry(&["paired_t.t"], Number, "", "t of the differences of blocks"),
    Entry(&["paired_t.df"], Number, "", "its degrees of freedom"),
    Entry(&["paired_t_p", "paired_t.p"], Number, "", "p of the t-test of the differences of blocks"),
    Entry(&["wilcoxon.w"], Number, "", "Wilcoxon's W"),
    Entry(&["wilcoxon_p", "wilcoxon.p"], Number, "", "p of Wilcoxon's signed-rank test"),
    Entry(&["mann_whitney_u", "mann_whitney.u"], Number, "", "Mann and Whitney's U"),
    Entry(&["mann_whitney_p", "mann_whitney.p"], Number, "", "its p"),
    Entry(&["mann_whitney.method", "wilcoxon.method"], Text, "", "exact or normal"),
    Entry(&["permutation_p", "permutation.p"], Number, "", "p of the permutation test"),
    Entry(&["permutation_exact", "permutation.exact"], Boolean, "", "whether all permutations were counted"),
    Entry(&["permutation.count"], Integer, "", "permutations that were counted"),
    Entry(&["brown_forsythe.f"], Number, "", "Brown and Forsythe's F"),
    Entry(&["brown_forsythe_p", "brown_forsythe.p"], Number, "", "p of Brown and Forsythe's test of equal spread"),
    Entry(&["cohens_d"], Number, "", "Cohen's d"),
    Entry(&["hedges_g", "hedges_g.value"], Number, "", "Hedges's g"),
    Entry(
        &["hedges_g_low", "hedges_g_high", "hedges_g.low", "hedges_g.high"],
        Number,
        "",
        "end of the interval of Hedges's g",
    ),
    Entry(&["cliffs_delta"], Number, "", "Cliff's delta"),
    Entry(&["tost_margin_pct", "tost.margin_pct"], Number, "%", "margin of the test of equivalence"),
    Entry(&["tost_p", "tost.p"], Number, "", "p of the test of equivalence"),
    Entry(&["tost_equivalent", "tost.equivalent"], Boolean, "", "whether the arms are equivalent within the margin"),
    Entry(
        &["smallest_margin_pct", "tost.smallest_margin_pct"],
        Number,
        "%",
        "smallest margin within which they would be equivalent",
    ),
    Entry(&["tost_p_holm", "tost.p_holm"], Number, "", "the same p among those of its family, after Holm. It decides"),
    Entry(&["power_at_10pct"], Number, "", "chance to see a difference of 10 %, were it there"),
    Entry(&["mde_pct"], Number, "%", "smallest difference that would be seen with a chance of 80 %"),
    Entry(&["runs_needed"], Integer, "runs per arm", "runs for a power of 80 % at 10 %"),
    Entry(
        &["promise_blocks", "promise.blocks"],
        Integer,
        "blocks",
        "more blocks that decide an open answer, or more runs per arm",
    ),
    Entry(&["promise_hours", "promise.hours"], Number, "h", "how long they take at the pace of those that were made"),
    Entry(&["promise_probability", "promise.probability"], Number, "", "probability that they decide"),
    Entry(&["scope"], Text, "", "load: one model and workload. all-loads: the mean over all of them"),
    Entry(&["loads"], Text, "", "workloads of a row of all loads"),
    Entry(
        &["design"],
        Text,
        "",
        "how the runs lie in time: in-blocks, interleaved, mixed, one-after-the-other, unknown, over-time",
    ),
    Entry(&["p"], Number, "", "p of the deciding test, before any adjustment"),
    Entry(&["test"], Text, "", "the deciding test"),
    Entry(&["counted_with"], Text, "", "metric that is judged in its place, where both are one measurement"),
    Entry(
        &["verdict_level", "interval_of_verdict.level"],
        Number,
        "",
        "confidence of the interval that the verdict rests on",
    ),
    Entry(
        &["verdict_low", "interval_of_verdict.low", "verdict_high", "interval_of_verdict.high"],
        Number,
        "",
        "end of the interval that the verdict rests on",
    ),
    Entry(&["interaction.f"], Number, "", "F of arm by load: whether the difference depends on the load"),
    Entry(&["interaction.df1", "interaction.df2"], Number, "", "degrees of freedom of that F"),
    Entry(&["interaction.p"], Number, "", "p of that F"),
    Entry(
        &["interaction.range_pct.low", "interaction.range_pct.high"],
        Number,
        "%",
        "overhead of the load that has the least, and of the one that has the most",
    ),
    Entry(
        &["interaction.departs_most"],
        Text,
        "",
        "the load whose difference departs most from the mean of the others",
    ),
    Entry(&["sequential.look"], Integer, "", "look of the design that counts, from 1"),
    Entry(&["sequential.n"], Integer, "blocks", "whole blocks at that look"),
    Entry(&["sequential.information"], Number, "", "share of the blocks of the design at that look"),
    Entry(&["sequential.z_boundary"], Number, "", "boundary of the test of a difference at that look, as a z"),
    Entry(&["sequential.nominal_p"], Number, "", "level of that look for a test of one look, two-sided"),
    Entry(&["sequential.decision"], Text, "", "what that look says"),
    Entry(
        &["sequential.repeated_interval_pct.low", "sequential.repeated_interval_pct.high"],
        Number,
        "%",
        "end of the repeated confidence interval of the overhead",
    ),
    Entry(
        &["sequential.repeated_interval.low", "sequential.repeated_interval.high"],
        Number,
        "",
        "end of the repeated confidence interval of the difference, in the unit of the metric",
    ),
    Entry(&["sequential.stagewise_p"], Number, "", "p by stagewise ordering"),
    Entry(&["sequential.median_unbiased_pct"], Number, "%", "median-unbiased estimate of the overhead"),
    Entry(&["sequential.runs_saved_of_max"], Integer, "runs per arm", "runs of the design that were not needed"),
    Entry(&["sequential.overhead_pct"], Number, "%", "overhead at that look"),
    Entry(&["sequential.margin_pct"], Number, "%", "margin of equivalence"),
    Entry(&["sequential.without_prospects"], Boolean, "", "whether no look that is left can decide"),
    Entry(&["sequential.design.spending"], Text, "", "spending function of the design"),
    Entry(&["sequential.design.alpha"], Number, "", "error rate of all looks together"),
    Entry(&["sequential.design.family"], Integer, "comparisons", "comparisons that share the error rate"),
    Entry(&["p_bonferroni", "p_adjusted.bonferroni"], Number, "", "p, adjusted after Bonferroni"),
    Entry(&["p_holm", "p_adjusted.holm"], Number, "", "p, adjusted after Holm"),
    Entry(
        &["p_benjamini_hochberg", "p_adjusted.benjamini_hochberg"],
        Number,
        "",
        "p, adjusted after Benjamini and Hochberg",
    ),
    Entry(&["p_adjusted.family"], Text, "", "family of tests"),
    Entry(&["family_size", "p_adjusted.family_size"], Integer, "tests", "size of the family of tests"),
    Entry(&["without_flagged.left_out"], Text, "", "flagged runs that were left out for a second look"),
    Entry(&["without_flagged.overhead_pct"], Number, "%", "overhead without flagged runs"),
    Entry(&["without_flagged.low", "without_flagged.high"], Number, "%", "end of its interval"),
    Entry(
        &["verdict", "verdict.kind"],
        Text,
        "",
        "verdict: slower, faster, more, less, equivalent, inconclusive, not_comparable",
    ),
    Entry(&["said", "verdict.said"], Text, "", "the verdict in one line, as people say it"),
    Entry(&["advice", "verdict.advice"], Text, "", "what to do next, where nothing is decided"),
    Entry(&["verdict_text", "verdict.text"], Text, "", "the verdict as a sentence, test and caveats included"),
    Entry(&["reasons", "verdict.reasons"], Text, "", "codes of the rules that decided"),
    Entry(&["verdict.because"], Text, "", "traps that it rests on"),
    Entry(&["caveats", "verdict.caveats"], Text, "", "caveats"),
    Entry(&["pooled"], Boolean, "", "whether several labels are read as one workload here"),
];

/// Meaning of a column. Absent for an undescribed column.
pub fn meaning(column: &str) -> Option<Meaning> {
    if let Some(Entry(_, kind, unit, about)) = ENTRIES.iter().find(|entry| entry.0.contains(&column)) {
        let direction =
            if *unit == OF_ROW && matches!(column, "value" | "mean" | "median" | "mean_baseline" | "mean_candidate") {
                OF_ROW
            } else {
                match column {
                    "overhead_pct" | "loss_pct" => "lower_is_better",
                    _ => "",
                }
            };
        return Some(Meaning { kind: *kind, unit, direction, about: (*about).to_owned() });
    }
    let metric = Metric::find(column)?;
    let direction = match metric.direction {
        Direction::LowerIsBetter => "lower_is_better",
        Direction::HigherIsBetter => "higher_is_better",
        Direction::Neutral => "neutral",
    };
    // The manual describes the metrics of the catalogue. Only this table describes user-defined ones.
    let about = if metric.custom { format!("{}: {}", metric.label, metric.about) } else { metric.label };
    Some(Meaning { kind: Kind::Number, unit: metric.unit, direction, about })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_is_described_twice() {
        let mut names: Vec<&str> = ENTRIES.iter().flat_map(|entry| entry.0).copied().collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn metrics_carry_their_unit_and_direction() {
        let ttft = meaning("ttft_ms_p99").unwrap();
        assert_eq!((ttft.kind, ttft.unit, ttft.direction), (Kind::Number, "ms", "lower_is_better"));
        assert_eq!(meaning("peak_memory_gib").unwrap().direction, "neutral");
        assert_eq!(meaning("overhead_ci.low").unwrap().unit, "%");
        assert_eq!(meaning("nobody_knows"), None);
    }
}
