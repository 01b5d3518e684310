//! The verdicts of `compare` for programs: JSON, and JUnit's XML as most services for continuous integration show it.
//!
//! In:  the comparisons that are shown, the names of both sides, the decision.  Out: text.
//! Not here: the decision (see the verb).

use serde::Serialize;

use crate::cli::outcome::Outcome;
use sparkbench_site::chart::xml;
use sparkbench_text::error::Error;
use sparkbench_verdict::number::list;
use sparkbench_verdict::report::{Analysis, Comparison, Scope, VerdictKind};

/// Schema of the JSON.
const SCHEMA: &str = "sparkbench.compare/1";

#[derive(Serialize)]
struct Compared<'a> {
    schema: &'static str,
    tool: &'a sparkbench_verdict::report::Tool,
    settings: &'a sparkbench_verdict::report::SettingsReport,
    base: &'a str,
    /// The first of the candidates.
    candidate: &'a str,
    candidates: &'a [String],
    /// `passed`, `regression` or `undecided`: exit codes 0, 1 and 6.
    gate: &'static str,
    comparisons: &'a [&'a Comparison],
}

/// One object: the decision, and each comparison under the names that `analysis.json` has.
///
/// # Errors
/// A figure that cannot be written.
pub(super) fn json(
    shown: &[&Comparison],
    names: &[String],
    gate: Outcome,
    analysis: &Analysis,
) -> Result<String, Error> {
    let gate = match gate {
        Outcome::Done => "passed",
        Outcome::Refused => "regression",
        Outcome::Undecided => "undecided",
    };
    let all = Compared {
        schema: SCHEMA,
        tool: &analysis.tool,
        settings: &analysis.settings,
        base: names.first().map_or("", String::as_str),
        candidate: names.get(1).map_or("", String::as_str),
        candidates: names.get(1..).unwrap_or_default(),
        gate,
        comparisons: shown,
    };
    let text = serde_json::to_string_pretty(&all)
        .map_err(|cause| Error::archive("the verdicts cannot be written as JSON").because(cause))?;
    Ok(format!("{text}\n"))
}

/// A test for each comparison: failed where the gate says no, skipped where nothing is known, passed elsewhere.
pub(super) fn junit(shown: &[&Comparison], names: &[String], refuses: impl Fn(&Comparison) -> bool) -> String {
    let open = |c: &Comparison| matches!(c.verdict.kind, VerdictKind::Inconclusive | VerdictKind::NotComparable);
    let failed = shown.iter().filter(|c| refuses(c)).count();
    let skipped = shown.iter().filter(|c| !refuses(c) && open(c)).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{} against {}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">\n",
        xml(&list(names.get(1..).unwrap_or_default())),
        xml(names.first().map_or("", String::as_str)),
        shown.len(),
    );
    for c in shown {
        let (class, name) = (
            xml(&format!("{}.{}", c.model, if c.scope == Scope::AllLoads { "all loads" } else { c.workload.as_str() })),
            xml(&c.metric),
        );
        let (said, whole) = (xml(&c.verdict.said), xml(&c.verdict.text));
        text.push_str(&format!("  <testcase classname=\"{class}\" name=\"{name}\">"));
        if refuses(c) {
            text.push_str(&format!("<failure type=\"{}\" message=\"{said}\"/>", c.verdict.kind.word()));
        } else if open(c) {
            text.push_str(&format!("<skipped message=\"{said}\"/>"));
        } else {
            text.push_str(&format!("<system-out>{whole}</system-out>"));
        }
        text.push_str("</testcase>\n");
    }
    text.push_str("</testsuite>\n");
    text
}
