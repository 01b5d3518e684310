//! The words of expressions: names and functions.
//!
//! In:  a name.  Out: its place in one of the tables.
//! Not here: metrics (see `model::metric`), what a function computes (see `work_out`).

/// Name, further spellings, unit, meaning.
pub struct Field(pub &'static str, pub &'static [&'static str], pub &'static str, pub &'static str);

/// Figures of one request, for use inside an aggregate.
pub const FIELDS: &[Field] = &[
    Field("ttft_ms", &[], "ms", "time to first token"),
    Field("tpot_ms", &[], "ms", "time per output token, absent below two tokens"),
    Field("e2e_latency_ms", &["e2e_ms", "latency_ms"], "ms", "end-to-end latency"),
    Field("decode_tok_s", &[], "tok/s", "output tokens a second after the first"),
    Field("input_tokens", &["isl"], "tok", "input tokens as the server counts them"),
    Field("output_tokens", &["osl"], "tok", "output tokens as the server counts them"),
    Field("cached_tokens", &[], "tok", "input tokens that came from the prefix cache"),
    Field("reasoning_tokens", &[], "tok", "output tokens that are reasoning"),
    Field("delay_ms", &[], "ms", "time from the scheduled time to sending, absent in a closed loop"),
    Field("turn", &[], "", "number of the turn in its conversation, from 0"),
];

/// Settings and facts of a run.
pub const SETTINGS: &[Field] = &[
    Field("batch", &["concurrency"], "", "batch size or limit of concurrent requests"),
    Field("isl", &[], "tok", "input tokens asked for"),
    Field("osl", &[], "tok", "output tokens asked for"),
    Field("requests", &[], "req", "number of requests"),
    Field("request_rate", &[], "req/s", "requests sent a second"),
    Field("parameters", &[], "", "parameters of the model"),
    Field("max_model_len", &[], "tok", "longest context of the server"),
    Field("device_memory_gib", &[], "GiB", "memory of the device"),
    Field("duration_s", &[], "s", "time from the start to the end of the run"),
];

/// Place of a name in a table.
pub(super) fn place(table: &[Field], name: &str) -> Option<usize> {
    table.iter().position(|field| field.0 == name || field.1.contains(&name))
}

/// Aggregation of the requests of a run into one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregate {
    /// Arithmetic mean.
    Mean,
    Sum,
    /// Least value.
    Min,
    /// Largest value.
    Max,
    /// Standard deviation, divisor n - 1.
    Deviation,
    /// Number of requests that have a value, or for which a condition is true.
    Count,
    /// Share of all measured requests for which a condition is true.
    Share,
    /// Quantile, from 0 to 1.
    Quantile(f64),
    /// The last value in the order of sending.
    Last,
}

/// The aggregates, with what each makes.
pub const AGGREGATES: &[(&str, &str)] = &[
    ("mean(x), avg(x)", "arithmetic mean"),
    ("median(x), p50(x) to p99(x), p99_9(x)", "percentile"),
    ("quantile(x, q)", "quantile, q from 0 to 1"),
    ("min(x), max(x), sum(x), last(x)", "least, largest, sum, last"),
    ("sd(x)", "standard deviation, divisor n - 1"),
    ("count(x)", "requests that have the value, or for which the condition is true"),
    (
        "share(condition)",
        "share of all measured requests for which the condition is true. Failed requests count as false",
    ),
];

/// An aggregate by its name, without [`Aggregate::Quantile`] by `quantile`, which has an argument of its own.
pub(super) fn aggregate(name: &str) -> Option<Aggregate> {
    Some(match name {
        "mean" | "avg" => Aggregate::Mean,
        "sum" => Aggregate::Sum,
        "min" => Aggregate::Min,
        "max" => Aggregate::Max,
        "sd" | "stddev" => Aggregate::Deviation,
        "count" => Aggregate::Count,
        "share" => Aggregate::Share,
        "last" => Aggregate::Last,
        "median" => Aggregate::Quantile(0.5),
        _ => {
            // p99 and p99_9.
            let digits = name.strip_prefix('p')?;
            let figure = digits.replacen('_', ".", 1);
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
            let per_cent: f64 = figure.parse().ok().filter(|_| plain)?;
            Aggregate::Quantile(Some(per_cent / 100.0).filter(|q| (0.0..=1.0).contains(q))?)
        }
    })
}

/// Functions of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Without its sign.
    Abs,
    /// Square root.
    Sqrt,
    /// Natural logarithm.
    Ln,
    /// Logarithm to the base of 10.
    Log10,
    /// e raised to it.
    Exp,
    /// The first raised to the second.
    Power,
    /// The least of its arguments.
    Least,
    /// The largest of its arguments.
    Greatest,
    /// The first of its arguments that is there.
    Coalesce,
    /// The figure without its unit.
    Number,
}

/// Name, fewest and most arguments, meaning.
pub const FUNCTIONS: &[(&str, Function, usize, usize, &str)] = &[
    ("abs", Function::Abs, 1, 1, "without its sign"),
    ("sqrt", Function::Sqrt, 1, 1, "square root"),
    ("ln", Function::Ln, 1, 1, "natural logarithm"),
    ("log10", Function::Log10, 1, 1, "logarithm to the base of 10"),
    ("exp", Function::Exp, 1, 1, "e to the power of it"),
    ("power", Function::Power, 2, 2, "the first to the power of the second"),
    ("least", Function::Least, 2, 16, "the least of several"),
    ("greatest", Function::Greatest, 2, 16, "the largest of several"),
    ("coalesce", Function::Coalesce, 2, 16, "the first that has a value"),
    ("number", Function::Number, 1, 1, "the figure without its unit"),
];

/// Functions of a server's metrics, with what each makes.
pub const SERVER_FUNCTIONS: &[(&str, &str)] = &[
    ("rate", "growth of a counter for each second of the load, warm-up included"),
    ("delta", "growth of a counter during the load, warm-up included"),
    ("level", "mean of a gauge over the snapshots during the load"),
    ("peak", "largest value of a gauge in the snapshots during the load"),
    ("histogram_mean", "mean of what a histogram counted during the load"),
    ("histogram_quantile", "quantile of what a histogram counted during the load, q from 0 to 1"),
];
