//! Answers that were made token by token and handed over at once.
//!
//! In:  TPOT of each request, or the median and the mean of the gaps between tokens.  Out: one finding for each question.
//! Not here: why (a server without a core for its sender, a proxy that buffers, a client that was not scheduled).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, read, seen};
use crate::case::Case;
use crate::number::{count, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Run, known_extra};

/// No engine makes a token in less: 10,000 tokens a second for one stream, milliseconds.
const FASTEST_TOKEN_MS: f64 = 0.1;
/// Share of the answers of a run that came whole from which on it counts.
const WHOLE_SHARE: f64 = 0.05;
/// The median gap is below this share of the mean one where tokens come in bursts. Of gaps from an exponential distribution it is 0.69.
const MEDIAN_SHARE: f64 = 0.05;

/// Times of the handing over that pass for times of the engine.
pub(super) struct AnswersInBursts;

impl Trap for AnswersInBursts {
    fn id(&self) -> &'static str {
        "answers-in-bursts"
    }
    fn title(&self) -> &'static str {
        "Answers that arrive in bursts"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "Many tokens of an answer arrive at once, although a server makes them one by one.\n\n\
             The sending process, a proxy or the client had to wait for a processor, or filled a buffer. TTFT is then up to the \
             time of the whole answer, and TPOT is near zero. Both are times of the delivery, not of the model. E2E latency and \
             throughput hold.\n\n\
             The check fires when {} % of the answers of a run have a TPOT below {FASTEST_TOKEN_MS} ms, which no engine reaches. It \
             also fires when half of the gaps between tokens are below {} % of their mean.\n\n\
             Give the server one core more than its engine keeps busy. Turn off buffering in a proxy. Run the client on another \
             machine.",
            significant(100.0 * WHOLE_SHARE, 2),
            significant(100.0 * MEDIAN_SHARE, 2)
        )
    }
    fn undermines(&self) -> &'static str {
        "TTFT, TPOT and ITL"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

/// Fault in the times of a run, `Some(None)` without one. Absent where nothing is known.
fn bursts(run: &Run) -> Option<Option<Evidence>> {
    let times = run.series.iter().find(|series| series.metric == "tpot_ms");
    let times: Vec<f64> =
        times.into_iter().flat_map(|series| &series.values).copied().filter(|v| v.is_finite()).collect();
    // Those that came at one moment have no TPOT.
    let at_one_moment = known_extra::number(run, &[known_extra::WHOLE_ANSWERS]).map_or(0, |answers| answers as usize);
    let whole = times.iter().filter(|tpot| **tpot < FASTEST_TOKEN_MS).count() + at_one_moment;
    let answers = times.len() + at_one_moment;
    if whole > 0 && whole as f64 >= WHOLE_SHARE * answers as f64 {
        let text = format!("{whole} of {} came whole, at their end", count(answers, "answer"));
        return Some(Some(seen(run, text)));
    }
    let gaps = run.value("itl_ms").zip(run.value("itl_ms_p50"));
    match gaps {
        Some((mean, half)) if half < MEDIAN_SHARE * mean => {
            let (half, mean) = (significant(half, 3), significant(mean, 3));
            Some(Some(read(
                run,
                "itl_ms_p50",
                format!("half of the gaps are below {half} ms, their mean is {mean} ms"),
            )))
        }
        Some(_) => Some(None),
        None => (!times.is_empty()).then_some(None),
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let (mut told, mut found) = (0, Vec::new());
    for run in case.runs_by_arm(model, workload) {
        if let Some(evidence) = bursts(run) {
            told += 1;
            found.extend(evidence);
        }
    }
    if told == 0 {
        return Finding::not_evaluated(subject, format!("{place}: missing times of single tokens"));
    }
    if found.is_empty() {
        return Finding::passed(subject, format!("{place}: tokens arrive one by one in {}", count(told, "run")));
    }
    let message = format!(
        "{place}: in {} of {} answers arrive in bursts, so TTFT and TPOT are those of the delivery and not of the engine",
        found.len(),
        count(told, "run")
    );
    Finding::fired(subject, message).evidence(found).remedy(
        "look at E2E latency and throughput. Give the server one core more than its engine uses, or move the client to another machine",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, reading};
    use sparkbench_model::{Extra, Series, Setup};

    fn with(values: &[f64]) -> Run {
        let mut run = measured("a", Setup::default(), &[]);
        let origin = reading("tpot_ms", 1.0).origin;
        run.series.push(Series { metric: "tpot_ms".to_owned(), values: values.to_vec(), origin });
        run
    }

    #[test]
    fn answers_that_came_whole_and_gaps_in_bursts_are_seen_and_even_ones_are_not() {
        let mut even = vec![4.0; 19];
        assert!(matches!(bursts(&with(&even)), Some(None)));
        even.push(0.01);
        assert!(bursts(&with(&even)).unwrap().is_some(), "one in twenty");
        // Those that came at one moment have no TPOT, but count.
        let at_one_moment = |answers: f64| {
            let mut run = with(&[4.0; 19]);
            let origin = reading("tpot_ms", 1.0).origin;
            run.extras.push(Extra::number(known_extra::WHOLE_ANSWERS, "", answers, None, origin));
            bursts(&run).unwrap().map(|evidence| evidence.text)
        };
        assert!(at_one_moment(1.0).unwrap().contains("1 of 20 answers"));
        let gaps = |half: f64| bursts(&measured("a", Setup::default(), &[("itl_ms", 4.0), ("itl_ms_p50", half)]));
        assert!(matches!(gaps(3.0), Some(None)));
        assert!(gaps(0.1).unwrap().is_some());
        assert!(bursts(&measured("a", Setup::default(), &[("ttft_ms", 4.0)])).is_none());
    }
}
