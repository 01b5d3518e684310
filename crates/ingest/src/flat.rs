//! The flat layout: `{environment}_{model}_iter{n}_{YYYYMMDD_HHMMSS}_metadata.json`, with `.log`, `.json` and `_gpu.csv` beside it.
//!
//! In:  the metadata object.  Out: one partial run for the launch. Files beside it join by their common prefix.
//! Not here: those files.
//!
//! Environment and model may hold underscores themselves, so the name is never split. The fields inside are used instead. The time in the
//! name is the start. The time inside is the same one in all known files. If it is later, it is the end.

use super::at::At;
use super::json;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Instant, LooseStart, Setup, Status};
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct FlatMetadata;

const RULE: &str = "flat.metadata";
const ENDING: &str = "_metadata.json";
/// Characters of `YYYYMMDD_HHMMSS`.
const STAMP: usize = 15;

impl Format for FlatMetadata {
    fn name(&self) -> &'static str {
        "flat metadata"
    }

    fn about(&self) -> About {
        About {
            tool: "the scripts of the phase 1 study and of the H200 run",
            versions: "2025 to 2026",
            sign: "`*_metadata.json` with `environment` and `timestamp`",
            reads: "labels, start, temperatures, exit code",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name.ends_with(ENDING) && head.is_object() && head.has_keys(&["environment", "timestamp"])
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        for name in ["environment", "model_name"] {
            root.need(name)?;
        }
        let mut partial = PartialRun { join_role: JoinRole::Base, ..common(&root)? };
        for (theirs, ours) in [("start_temp_celsius", "gpu_temp_start_c"), ("end_temp_celsius", "gpu_temp_end_c")] {
            if let Some(at) = root.get(theirs) {
                partial.readings.push(file.reading(ours, &at, RULE)?);
            }
        }
        let inside = match root.get("timestamp") {
            Some(at) => at
                .text()?
                .map(|text| Instant::parse(text).ok_or_else(|| at.unlike("a moment as YYYYMMDD_HHMMSS")))
                .transpose()?,
            None => None,
        };
        partial.id = file.name().strip_suffix(ENDING).map(str::to_owned);
        match stamp(file.name()) {
            Some(at) => {
                partial.started = Some(at);
                partial.course.loose_start = Some((at, LooseStart::Name));
            }
            None => partial.started_somewhere(inside),
        }
        partial.ended = inside.filter(|end| partial.started.is_some_and(|start| *end > start));
        Ok(Parsed { records: vec![Record::Run(Box::new(partial))], ..Parsed::default() })
    }
}

/// The start in the name.
fn stamp(name: &str) -> Option<Instant> {
    let stem = name.strip_suffix(ENDING)?;
    Instant::from_stamp(stem.get(stem.len().checked_sub(STAMP)?..)?)
}

/// The fields that metadata files and the combined results share.
pub(super) fn common(at: &At<'_>) -> Result<PartialRun, Error> {
    let text = |name: &str| -> Result<Option<String>, Error> {
        let Some(found) = at.get(name) else { return Ok(None) };
        Ok(found.text()?.filter(|text| !text.trim().is_empty()).map(str::to_owned))
    };
    let figure = |name: &str| -> Result<Option<f64>, Error> {
        at.get(name).map_or(Ok(None), |found| found.figure().map(super::Figure::finite))
    };
    let exit_code = at.get("exit_code").map_or(Ok(None), |found| found.whole())?;
    Ok(PartialRun {
        environment: text("environment")?,
        model: text("model_name")?,
        repeat: at.get("iteration").map_or(Ok(None), |found| found.count())?,
        status: status(exit_code),
        setup: Setup {
            model_id: text("model_id")?,
            start_temp_c: figure("start_temp_celsius")?,
            end_temp_c: figure("end_temp_celsius")?,
            exit_code,
            ..Setup::default()
        },
        ..PartialRun::default()
    })
}

/// The meaning of an exit code. `None` without one.
pub(super) fn status(exit_code: Option<i64>) -> Option<Status> {
    exit_code.map(|code| if code == 0 { Status::Done } else { Status::Failed(format!("exit code {code}")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> PartialRun {
        let mut input = text.as_bytes();
        let mut file = SourceFile::new(name, text.len() as u64, &mut input);
        let parsed = FlatMetadata.parse(&mut file).unwrap();
        match parsed.records.into_iter().next() {
            Some(Record::Run(partial)) => *partial,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn labels_with_underscores_are_read_from_the_fields() {
        let partial = read(
            "my_env_my_model_iter2_20260101_000000_metadata.json",
            r#"{"environment":"my_env","model_name":"my_model","iteration":2,"timestamp":"20260101_001000","exit_code":3}"#,
        );
        assert_eq!((partial.environment.as_deref(), partial.model.as_deref()), (Some("my_env"), Some("my_model")));
        assert_eq!(partial.started, Instant::parse("2026-01-01T00:00:00Z"));
        assert_eq!(partial.ended, Instant::parse("2026-01-01T00:10:00Z"));
        assert_eq!(partial.status, Some(Status::Failed("exit code 3".into())));
    }

    #[test]
    fn one_moment_is_a_start_without_an_end() {
        let partial = read(
            "a_b_iter1_20260101_000000_metadata.json",
            r#"{"environment":"a","model_name":"b","iteration":1,"timestamp":"20260101_000000"}"#,
        );
        assert_eq!((partial.ended, partial.status), (None, None));
    }
}
