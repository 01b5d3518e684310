//! Arms whose figures have one name and two meanings.
//!
//! In:  which tool read which metric.  Out: one finding for each candidate.
//! Not here: what each tool measures (see `model::definition`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use super::sides;
use crate::case::Case;
use crate::definitions::{self, DEFINITION, DefinitionCheck};
use crate::number::{count, list};
use crate::report::{Evidence, Severity};
use sparkbench_model::Metric;

pub(super) struct DefinitionDiffers;

impl Trap for DefinitionDiffers {
    fn id(&self) -> &'static str {
        DEFINITION
    }
    fn title(&self) -> &'static str {
        "One name, two definitions"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        "Two tools use one name for two measurements.\n\n\
         Tools that people compare every day call four different events the first token. On a server that prefills in pieces \
         these lie more than a second apart. One tool's time per output token includes the first token, and another's \
         inter-token latency is a mean over the request. Some count chunks and call them tokens.\n\n\
         A catalogue says what the tool behind each figure measures. The check fires when a candidate and its baseline have \
         figures of one metric from two classes of it. A tool that the catalogue does not know becomes a caveat.\n\n\
         Measure both sides with one tool and one version."
            .to_owned()
    }
    fn undermines(&self) -> &'static str {
        "comparisons of figures that share a name alone"
    }
    fn told_by_pair(&self) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let metrics: Vec<Metric> = case.metrics().into_iter().filter_map(Metric::find).collect();
        sides::by_candidate(case, |base, cell, subject, place| {
            let (mut differ, mut held): (Vec<(String, String)>, usize) = (Vec::new(), 0);
            for metric in &metrics {
                match definitions::hold(base, cell, metric) {
                    Some(DefinitionCheck::Differ(because)) => differ.push((metric.name.clone(), because)),
                    Some(DefinitionCheck::Same | DefinitionCheck::Alike(_)) => held += 1,
                    Some(DefinitionCheck::Unknown(_)) | None => {}
                }
            }
            if !differ.is_empty() {
                let names: Vec<&str> = differ.iter().map(|(name, _)| name.as_str()).collect();
                let message = format!("{place}: two definitions of {}", list(&names));
                let rows = differ.iter().map(|(_, because)| Evidence::text(because.clone()));
                let remedy = "measure both sides with one tool, or compare the metrics that both define alike";
                return Finding::fired(subject, message).evidence(rows).remedy(remedy);
            }
            if held == 0 {
                return Finding::not_evaluated(
                    subject,
                    format!("{place}: no metric whose definition is known on both sides"),
                );
            }
            Finding::passed(subject, format!("{place}: one definition of each of {}", count(held, "metric")))
        })
    }
}
