//! Whether two arms were measured under the same settings: those that change the answer must agree.
//!
//! In:  two cells, and what is compared.  Out: differing settings with both values, and those that only one side states.
//! Not here: definitions of metrics (see `definitions`), the choice of words of a verdict (see `grammar`).
//!
//! A setting that only one side states is no reason and becomes a caveat. What is compared is never a reason. Neither is what follows from
//! it (a quantised checkpoint has an id of its own), nor a treatment that changes with it in every run. Another load is other work.

use super::case::Cell;
use super::distinct::distinct;
use super::number::{list, significant};
use sparkbench_model::{Campaign, Run, Setting, SettingKind};

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
    pub setting: String,
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

/// Code of the rule, trap, name of the setting as it is declared, words that fit after "the", and how it is read.
struct Field(&'static str, &'static str, &'static str, &'static str, Kind);

use Kind::{Planned, Set, Tokens};

/// What tells the arms of a comparison apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compared<'a> {
    /// Name of the setting. Absent for environments.
    pub setting: Option<&'a str>,
    /// Settings whose levels go together with it one to one.
    pub with: &'a [String],
}

impl<'a> Compared<'a> {
    /// Of the arms of a campaign.
    pub fn of(campaign: &'a Campaign) -> Self {
        let asked = campaign.asked.as_ref().map(|asked| asked.factor.as_str());
        let setting = asked.or(campaign.compare_by.as_deref());
        let factor = campaign.factors.iter().find(|factor| Some(factor.name.as_str()) == setting);
        Self { setting, with: factor.map_or(&[], |factor| factor.aliased_with.as_slice()) }
    }

    /// Treatments that change with what is compared. A load that changes with it stays other work.
    fn treatments(self) -> impl Iterator<Item = &'a str> {
        self.with.iter().map(String::as_str).filter(|name| Setting::kind_of(name) == SettingKind::Treatment)
    }
}

/// Names that say where runs lie, and nothing about how they were made.
const PLACES: [&str; 2] = ["folder", "file"];

const FIELDS: &[Field] = &[
    Field("C1", SETTINGS, "model", "model", Set(|r| r.setup.model_served.clone().or_else(|| r.setup.model_id.clone()))),
    Field(
        "C2",
        SETTINGS,
        "quantisation",
        "quantisation",
        Set(|r| r.setup.quantisation.as_ref().map(|q| q.to_lowercase())),
    ),
    Field("C3", TOKEN_COUNTS, "isl", "input length", Tokens(|r| r.setup.isl)),
    Field("C3", TOKEN_COUNTS, "osl", "output length", Tokens(|r| r.setup.osl)),
    Field("C3", SETTINGS, "requests", "number of requests", Planned(|r| r.setup.requests)),
    Field("C4", ENGINE, "engine", "engine", Set(|r| r.setup.engine.as_ref().map(|e| e.to_lowercase()))),
    Field("C4", ENGINE, "engine_version", "engine version", Set(|r| r.setup.engine_version.clone())),
    Field("C5", SETTINGS, "concurrency", "batch limit", Set(|r| r.setup.batch.map(|v| v.to_string()))),
    Field("", SETTINGS, "request_rate", "request rate", Set(|r| r.setup.request_rate.map(rate))),
    Field("", SETTINGS, "max_model_len", "maximum model length", Set(|r| r.setup.max_model_len.map(|v| v.to_string()))),
    Field(
        "",
        SETTINGS,
        "memory_utilisation",
        "memory utilisation",
        Set(|r| r.setup.memory_utilisation.map(|v| significant(v, 4))),
    ),
    Field(
        "",
        SETTINGS,
        "kv_dtype",
        "data type of the KV cache",
        Set(|r| r.setup.kv_dtype.as_ref().map(|t| t.to_lowercase())),
    ),
    Field("", SETTINGS, "speculative", "speculative decoding", Set(|r| r.setup.speculative.clone())),
    Field(
        "",
        SETTINGS,
        "prefix_cache",
        "prefix cache",
        Set(|r| r.setup.prefix_cache.map(|on| if on { "on" } else { "off" }.to_owned())),
    ),
    Field("", SETTINGS, "parallel", "parallelism", Set(|r| r.setup.parallel.clone())),
    Field("", SETTINGS, "tool", "benchmark", Set(|r| r.setup.tool.clone())),
    Field("", SETTINGS, "environment", "environment", Set(|r| r.setup.more.get(Campaign::ENVIRONMENT_KEY).cloned())),
];

fn rate(rate: f64) -> String {
    if rate.is_infinite() { "unlimited".to_owned() } else { format!("{rate} req/s") }
}

/// Settings that are what is compared, or the same thing under another name.
fn exempt(compared: Compared<'_>, name: &str) -> bool {
    // A quantised checkpoint has an id of its own.
    if name == "model" && compared.treatments().any(|with| with == "quantisation") {
        return true;
    }
    match compared.setting {
        Some("engine") => matches!(name, "engine" | "engine_version"),
        Some("quantisation") => matches!(name, "quantisation" | "model"),
        // The environment is beside the runs only where something else is compared.
        None | Some("environment") => name == "environment",
        Some(setting) => name == setting,
    }
}

/// Settings that follow from what is compared without being it. A model comes in one quantisation, and an engine has its own way to count
/// the memory it may use. Where a treatment changes with it in every run of the campaign, nobody can tell the two apart.
fn implied(compared: Compared<'_>, name: &str) -> bool {
    let follows = match compared.setting {
        Some("model") => matches!(name, "quantisation" | "kv_dtype" | "max_model_len"),
        Some("quantisation") => name == "kv_dtype",
        Some("engine") => matches!(name, "memory_utilisation" | "max_model_len" | "kv_dtype"),
        _ => false,
    };
    follows || compared.treatments().any(|with| with == name)
}

/// Compares two cells that differ in what is compared.
pub fn hold(a: &Cell<'_>, b: &Cell<'_>, compared: Compared<'_>) -> Sides {
    let mut sides = Sides::default();
    for Field(code, trap, name, setting, kind) in FIELDS {
        if exempt(compared, name) {
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
                let difference = Difference { code, trap, setting: (*setting).to_owned(), left, right };
                let known = if implied(compared, name) { &mut sides.implied } else { &mut sides.differ };
                known.push(difference);
            }
            (Some(_), None) => sides.lone.push((a.environment.to_owned(), setting)),
            (None, Some(_)) => sides.lone.push((b.environment.to_owned(), setting)),
            (None, None) => {}
        }
    }
    sides.implied.extend(others(a, b, compared));
    sides
}

/// Treatments that change with what is compared and that no rule names: a GPU, a back end, a setting of one tool.
fn others(a: &Cell<'_>, b: &Cell<'_>, compared: Compared<'_>) -> Vec<Difference> {
    let is_field = |name: &str| FIELDS.iter().any(|Field(_, _, field, ..)| *field == name);
    let named = compared.treatments().filter(|name| !is_field(name) && !PLACES.contains(name));
    let differing = named.filter_map(|name| {
        let said = |cell: &Cell<'_>| cell.stated(|run| run.settings.get(name).map(|setting| setting.value.clone()));
        let (left, right) = said(a).zip(said(b)).filter(|(left, right)| left != right)?;
        Some(Difference { code: "", trap: SETTINGS, setting: Setting::label_of(name), left, right })
    });
    differing.collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::testing::{asked, factor, measured, set};
    use sparkbench_model::{Facts, Setup};

    /// Two arms, whose engines and lengths differ too.
    fn runs() -> Vec<Run> {
        let one = |arm: &str, version: &str, gpu: &str, isl: f64| {
            let setup = Setup { engine_version: Some(version.into()), isl: Some(isl), ..Setup::default() };
            let run = Run { environment: arm.into(), ..measured(arm, setup, &[("ttft_ms", 1.0)]) };
            set(run, &[("backend", arm), ("gpu", gpu)])
        };
        vec![one("rocm", "7.0", "A", 512.0), one("vulkan", "1.4", "B", 1024.0)]
    }

    #[test]
    fn a_treatment_that_changes_with_what_is_compared_is_a_caveat_and_another_length_stays_a_reason() {
        let runs = runs();
        let facts = Facts::default();
        let hold_with = |aliased: &[&str]| {
            let factors = vec![factor("backend", &["rocm", "vulkan"], aliased)];
            let campaign = Campaign { factors, asked: Some(asked("backend")), ..Campaign::default() };
            let case = Case::of_runs(&campaign, runs.iter().collect(), &facts);
            hold(&case.cells[0], &case.cells[1], Compared::of(&campaign))
        };
        let sides = hold_with(&["engine_version", "isl", "gpu", "folder"]);
        let reasons: Vec<&str> = sides.differ.iter().map(|d| d.setting.as_str()).collect();
        assert_eq!(reasons, ["input length"]);
        assert_eq!(
            sides.with_it(),
            ["the engine version differs too: 7.0 against 1.4", "the GPU differs too: A against B"]
        );
        let alone = hold_with(&[]);
        let reasons: Vec<&str> = alone.differ.iter().map(|d| d.setting.as_str()).collect();
        assert_eq!(reasons, ["input length", "engine version"]);
        assert!(alone.with_it().is_empty());
    }
}
