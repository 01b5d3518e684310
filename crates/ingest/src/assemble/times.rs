//! Whether telemetry was sampled while a run was made.
//!
//! In:  the samples and the run.  Out: the rule by which they belong to it, or the reason why not.
//! Not here: which files are beside each other (see `join`).

use crate::PartialRun;
use sparkbench_model::Instant;

/// Zones lie whole quarters of an hour apart.
const ZONE_STEP_MIN: i64 = 15;
/// The farthest zone from UTC. Programs print local times without their zone.
const ZONE_MOST_MIN: i64 = 14 * 60;

/// First and last moment of samples that have a date.
pub(super) fn span(samples: &PartialRun) -> Option<(Instant, Instant)> {
    let (first, last) = (samples.telemetry.first()?.at, samples.telemetry.last()?.at);
    (!first.is_relative()).then_some((first, last))
}

/// The rule or the reason for a detail whose name is that of a run, as `rule` says. Of telemetry the times decide where both are known.
pub(super) fn of_name(run: &PartialRun, detail: &PartialRun, rule: &str) -> Result<String, String> {
    let (Some((first, last)), Some((from, to))) = (span(detail), run.started.zip(run.ended)) else {
        return Ok(rule.to_owned());
    };
    // How long both were at it, with the clock of the samples set so far. Below 0 they do not meet.
    let shared_ms = |shift_min: i64| {
        let shift = |at: Instant| at.0 + shift_min * 60_000;
        to.0.min(shift(last)) - from.0.max(shift(first))
    };
    if shared_ms(0) >= 0 {
        return Ok(format!("{rule}, and their times agree"));
    }
    let steps = ZONE_MOST_MIN / ZONE_STEP_MIN;
    let shifts = (-steps..=steps).map(|step| step * ZONE_STEP_MIN);
    // Of zones that fit alike the nearest: it is the least that has to be assumed.
    match shifts.max_by_key(|shift| (shared_ms(*shift), -shift.abs())).filter(|shift| shared_ms(*shift) >= 0) {
        Some(shift) => {
            let (hours, minutes) = (shift.abs() / 60, shift.abs() % 60);
            Ok(format!("{rule}, and their times agree if its clock is of a time zone {hours}:{minutes:02} h away"))
        }
        None => Err(format!(
            "it was sampled from {} to {}, and the run of its name was made from {} to {}",
            first.iso(),
            last.iso(),
            from.iso(),
            to.iso()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Sample;

    fn partial(from: &str, to: &str) -> PartialRun {
        PartialRun { started: Instant::parse(from), ended: Instant::parse(to), ..PartialRun::default() }
    }

    fn samples(from: &str, to: &str) -> PartialRun {
        let at = |text| Sample::new(Instant::parse(text).unwrap());
        PartialRun { telemetry: vec![at(from), at(to)], ..PartialRun::default() }
    }

    #[test]
    fn telemetry_of_another_day_does_not_belong_to_the_run_of_its_name() {
        let run = partial("2026-01-02T10:00:00Z", "2026-01-02T10:05:00Z");
        for (from, to, rule) in [
            ("2026-01-02T10:00:05Z", "2026-01-02T10:05:00Z", Some("and their times agree")),
            ("2026-01-02T18:00:05Z", "2026-01-02T18:05:00Z", Some("of a time zone 8:00 h away")),
            ("2026-01-01T10:00:05Z", "2026-01-01T10:05:00Z", None),
        ] {
            let found = of_name(&run, &samples(from, to), "by its name");
            match rule {
                Some(rule) => assert!(found.as_ref().is_ok_and(|found| found.contains(rule)), "{found:?}"),
                None => assert!(found.is_err(), "{found:?}"),
            }
        }
        assert_eq!(
            of_name(&PartialRun::default(), &samples("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"), "by its name")
                .unwrap(),
            "by its name"
        );
    }
}
