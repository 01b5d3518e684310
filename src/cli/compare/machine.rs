//! The verdicts of `compare` for programs: JSON, and JUnit's XML as most services for continuous integration show it.
//!
//! In:  the comparisons that are shown, the names of both sides, the decision.  Out: text.
//! Not here: the decision (see the verb).

use serde::Serialize;

use super::super::Outcome;
use crate::error::Error;
use crate::verdict::report::{Analysis, Comparison, VerdictKind};

/// Schema of the JSON.
const SCHEMA: &str = "sparkbench.compare/1";

#[derive(Serialize)]
struct Compared<'a> {
    schema: &'static str,
    tool: &'a crate::verdict::report::Tool,
    settings: &'a crate::verdict::report::Settings,
    base: &'a str,
    candidate: &'a str,
    /// `passed`, `regression` or `undecided`: exit codes 0, 1 and 6.
    gate: &'static str,
    comparisons: &'a [&'a Comparison],
}

/// One object: the decision, and each comparison under the names that `analysis.json` has.
///
/// # Errors
/// A figure that cannot be written.
pub fn json(
    shown: &[&Comparison],
    names: &(String, String),
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
        base: &names.0,
        candidate: &names.1,
        gate,
        comparisons: shown,
    };
    let text = serde_json::to_string_pretty(&all)
        .map_err(|cause| Error::archive("the verdicts cannot be written as JSON").because(cause))?;
    Ok(format!("{text}\n"))
}

/// A test for each comparison: failed where the gate says no, skipped where nothing is known, passed elsewhere.
pub fn junit(shown: &[&Comparison], names: &(String, String), refuses: impl Fn(&Comparison) -> bool) -> String {
    let open = |c: &Comparison| matches!(c.verdict.kind, VerdictKind::Inconclusive | VerdictKind::NotComparable);
    let failed = shown.iter().filter(|c| refuses(c)).count();
    let skipped = shown.iter().filter(|c| !refuses(c) && open(c)).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{} against {}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">\n",
        attribute(&names.1),
        attribute(&names.0),
        shown.len(),
    );
    for c in shown {
        let (class, name) = (attribute(&format!("{}.{}", c.model, c.workload)), attribute(&c.metric));
        let said = attribute(&c.verdict.text);
        text.push_str(&format!("  <testcase classname=\"{class}\" name=\"{name}\">"));
        if refuses(c) {
            text.push_str(&format!("<failure type=\"{}\" message=\"{said}\"/>", c.verdict.kind.word()));
        } else if open(c) {
            text.push_str(&format!("<skipped message=\"{said}\"/>"));
        } else {
            text.push_str(&format!("<system-out>{said}</system-out>"));
        }
        text.push_str("</testcase>\n");
    }
    text.push_str("</testsuite>\n");
    text
}

/// Escaped for an attribute and for content; what XML 1.0 cannot hold at all becomes U+FFFD.
fn attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_text_and_nothing_that_xml_forbids_gets_through() {
        assert_eq!(attribute("a<b>&\"c\"\n\u{1}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c&quot; \u{fffd}\u{fffd}");
    }
}
