//! Whether two arms were measured under the same settings: those that change the answer must agree.
//!
//! In:  two cells, and the label that is compared.  Out: differing settings with both values, and those that only one side states.
//! Not here: definitions of metrics (see `definitions`), the choice of words of a verdict (see `grammar`).
//!
//! A setting that only one side states is no reason and becomes a caveat. The label under comparison is never a reason, and neither is what
//! follows from it: a quantised checkpoint has an id of its own.

use super::case::Cell;
use super::distinct::distinct;
use super::number::{list, significant};
use sparkbench_model::{Campaign, Run};

/// Lengths of input or output that differ by more than this are other work, per cent of the baseline. Load generators that ask for text
/// of n tokens miss n by the chat template and by tokens that merge. 2 % is where a gate on the server's own count is usually set.
pub const TOKENS_TOLERANCE_PCT: f64 = 2.0;

/// The report on a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Code of rule 1: `C1` .... Empty where the rule names none.
    pub code: &'static str,
    /// Trap that reports it.
    pub trap: &'static str,
    /// Fits after "the".
    pub setting: &'static str,
    /// Baseline.
    pub left: String,
    /// Candidate.
    pub right: String,
}

impl Difference {
    /// Fits after "because".
    pub fn because(&self) -> String {
        let code = if self.code.is_empty() { String::new() } else { format!(" ({})", self.code) };
        format!("the {} differs: {} against {}{code}", self.setting, self.left, self.right)
    }
}

/// Two cells beside each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sides {
    /// Known on both sides and not the same.
    pub differ: Vec<Difference>,
    /// Known on both sides and the same, by trap and setting.
    pub agree: Vec<(&'static str, &'static str)>,
    /// Known of one environment only: environment, setting.
    pub lone: Vec<(String, &'static str)>,
    /// Not the same, and implied by what is compared: no reason against a verdict, and said beside it.
    pub implied: Vec<Difference>,
}

/// Trap of lengths.
pub const TOKEN_COUNTS: &str = "token-counts-differ";
/// Trap of engines.
pub const ENGINE: &str = "engine-differs";
/// Trap of every other setting.
pub const SETTINGS: &str = "settings-differ";

enum Kind {
    /// Words, or numbers that are set: the same or not.
    Set(fn(&Run) -> Option<String>),
    /// Lengths, set or measured: within [`TOKENS_TOLERANCE_PCT`].
    Tokens(fn(&Run) -> Option<f64>),
    /// A number that is a setting where every run has the same, and else an outcome.
    Planned(fn(&Run) -> Option<f64>),
}

struct Field(&'static str, &'static str, &'static str, Kind);

use Kind::{Planned, Set, Tokens};

const FIELDS: &[Field] = &[
    Field("C1", SETTINGS, "model", Set(|r| r.setup.model_served.clone().or_else(|| r.setup.model_id.clone()))),
    Field("C2", SETTINGS, "quantisation", Set(|r| r.setup.quantisation.as_ref().map(|q| q.to_lowercase()))),
    Field("C3", TOKEN_COUNTS, "input length", Tokens(|r| r.setup.isl)),
    Field("C3", TOKEN_COUNTS, "output length", Tokens(|r| r.setup.osl)),
    Field("C3", SETTINGS, "number of requests", Planned(|r| r.setup.requests)),
    Field("C4", ENGINE, "engine", Set(|r| r.setup.engine.as_ref().map(|e| e.to_lowercase()))),
    Field("C4", ENGINE, "engine version", Set(|r| r.setup.engine_version.clone())),
    Field("C5", SETTINGS, "batch limit", Set(|r| r.setup.batch.map(|v| v.to_string()))),
    Field("", SETTINGS, "request rate", Set(|r| r.setup.request_rate.map(rate))),
    Field("", SETTINGS, "maximum model length", Set(|r| r.setup.max_model_len.map(|v| v.to_string()))),
    Field("", SETTINGS, "memory utilisation", Set(|r| r.setup.memory_utilisation.map(|v| significant(v, 4)))),
    Field("", SETTINGS, "data type of the KV cache", Set(|r| r.setup.kv_dtype.as_ref().map(|t| t.to_lowercase()))),
    Field("", SETTINGS, "speculative decoding", Set(|r| r.setup.speculative.clone())),
    Field(
        "",
        SETTINGS,
        "prefix cache",
        Set(|r| r.setup.prefix_cache.map(|on| if on { "on" } else { "off" }.to_owned())),
    ),
    Field("", SETTINGS, "parallelism", Set(|r| r.setup.parallel.clone())),
    Field("", SETTINGS, "benchmark", Set(|r| r.setup.tool.clone())),
    Field("", SETTINGS, "environment", Set(|r| r.setup.more.get(Campaign::ENVIRONMENT_KEY).cloned())),
];

fn rate(rate: f64) -> String {
    if rate.is_infinite() { "unlimited".to_owned() } else { format!("{rate} req/s") }
}

/// Settings that are the label under comparison, or the same thing under another name.
fn exempt(compared: Option<&str>, setting: &str) -> bool {
    match compared {
        Some("engine") => matches!(setting, "engine" | "engine version"),
        Some("engine_version") => setting == "engine version",
        Some("quantisation") => matches!(setting, "quantisation" | "model"),
        Some("model") => setting == "model",
        Some("tool") => setting == "benchmark",
        Some("kv_dtype") => setting == "data type of the KV cache",
        Some("parallel") => setting == "parallelism",
        Some("prefix_cache") => setting == "prefix cache",
        Some("speculative") => setting == "speculative decoding",
        // The environment is beside the runs only where another label is compared.
        _ => setting == "environment",
    }
}

/// Settings that follow from the compared label without being it. A model comes in one quantisation, and an engine has its own way to count
/// the memory it may use.
fn implied(compared: Option<&str>, setting: &str) -> bool {
    match compared {
        Some("model") => matches!(setting, "quantisation" | "data type of the KV cache" | "maximum model length"),
        Some("quantisation") => setting == "data type of the KV cache",
        Some("engine") => {
            matches!(setting, "memory utilisation" | "maximum model length" | "data type of the KV cache")
        }
        _ => false,
    }
}

/// Compares two cells. `compared` is the label that distinguishes the arms, where it is not the environment.
pub fn hold(a: &Cell<'_>, b: &Cell<'_>, compared: Option<&str>) -> Sides {
    let mut sides = Sides::default();
    for Field(code, trap, setting, kind) in FIELDS {
        if exempt(compared, setting) {
            continue;
        }
        let (left, right) = match kind {
            Set(of) => (a.stated(of), b.stated(of)),
            Tokens(of) => match (mean(a, *of), mean(b, *of)) {
                (Some(x), Some(y)) if near(x, y) => {
                    sides.agree.push((trap, setting));
                    continue;
                }
                (x, y) => (x.map(tokens), y.map(tokens)),
            },
            Planned(of) => match (constant(a, *of), constant(b, *of)) {
                (Some(x), Some(y)) => (Some(x.to_string()), Some(y.to_string())),
                _ => continue,
            },
        };
        match (left, right) {
            (Some(left), Some(right)) if left == right => sides.agree.push((trap, setting)),
            (Some(left), Some(right)) => {
                let difference = Difference { code, trap, setting, left, right };
                let known = if implied(compared, setting) { &mut sides.implied } else { &mut sides.differ };
                known.push(difference);
            }
            (Some(_), None) => sides.lone.push((a.environment.to_owned(), setting)),
            (None, Some(_)) => sides.lone.push((b.environment.to_owned(), setting)),
            (None, None) => {}
        }
    }
    sides
}

impl Sides {
    /// Settings that only one side states, as a caveat. `None` where both state the same ones.
    pub fn caveat(&self) -> Option<String> {
        let environments: Vec<&str> = distinct(self.lone.iter().map(|(environment, _)| environment.as_str()));
        let said: Vec<String> = environments
            .into_iter()
            .map(|name| {
                let settings: Vec<&str> =
                    self.lone.iter().filter(|(environment, _)| environment == name).map(|(_, s)| *s).collect();
                format!("{} known of {name} alone", list(&settings))
            })
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Settings that differ along with the compared label, as caveats.
    pub fn with_it(&self) -> Vec<String> {
        let said = |d: &Difference| format!("the {} differs too: {} against {}", d.setting, d.left, d.right);
        self.implied.iter().map(said).collect()
    }
}

fn mean(cell: &Cell<'_>, of: fn(&Run) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = cell.runs.iter().filter_map(|run| of(run)).filter(|v| v.is_finite()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn constant(cell: &Cell<'_>, of: fn(&Run) -> Option<f64>) -> Option<f64> {
    let mut values = cell.runs.iter().filter_map(|run| of(run));
    let first = values.next()?;
    values.all(|v| v == first).then_some(first)
}

fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= TOKENS_TOLERANCE_PCT / 100.0 * x.abs()
}

fn tokens(value: f64) -> String {
    format!("{} tokens", significant(value, 6))
}
