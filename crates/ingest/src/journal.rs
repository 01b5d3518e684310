//! `journal.jsonl` of our own campaigns: why planned runs are missing, and what was given up as lost.
//!
//! In:  the journal.  Out: one [`Outcome`] for each run that it names, and what was given up. Whoever assembles the campaign tells present runs from missing ones.
//! Not here: the chain of hashes, which `sparkbench verify` checks.

use serde::Deserialize;

use super::source_file::{JSON_LINE_LIMIT, unreadable};
use super::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_archive::manifest::JOURNAL_FILE;
use sparkbench_model::course::{Loss, MissingReason, Outcome};
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct Journal;

/// Event of something that was given up.
const LOST: &str = "lost";

/// One line, as far as it is read here.
#[derive(Deserialize)]
struct Wire {
    event: String,
    run: Option<String>,
    path: Option<String>,
    #[serde(default)]
    why: Option<String>,
}

impl Format for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench collect",
            versions: "sparkbench.campaign/1",
            sign: "`journal.jsonl`: one event a line",
            reads: "why planned runs were left out or did not end",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == JOURNAL_FILE && head.has_keys(&["event"])
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut lost: Vec<Loss> = Vec::new();
        let mut lines = file.lines(JSON_LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            // A torn line is what a crash left. The next one says so, and `verify` reports more.
            let Ok(wire) = serde_json::from_slice::<Wire>(line.bytes) else { continue };
            if wire.event == LOST {
                lost.push(Loss {
                    path: wire.path.clone().unwrap_or_default(),
                    why: wire.why.clone().unwrap_or_default(),
                });
            }
            let Some(run) = wire.run.filter(|run| !run.contains('/')) else { continue };
            let gone = match wire.event.as_str() {
                "skipped" => MissingReason::Skipped,
                "started" | "interrupted" => MissingReason::Interrupted,
                "finished" | "failed" | "adopted" => MissingReason::Unreadable,
                LOST => MissingReason::Lost,
                _ => continue,
            };
            let why = wire.why.unwrap_or_default();
            match outcomes.iter_mut().find(|outcome| outcome.run == run) {
                // Its remains are set aside, or it is not made again. It is lost all the same.
                Some(outcome)
                    if outcome.gone == MissingReason::Lost && matches!(&*wire.event, "interrupted" | "skipped") => {}
                Some(outcome) => (outcome.gone, outcome.why) = (gone, why),
                None => outcomes.push(Outcome { run, gone, why }),
            }
        }
        parsed.notes.push("the journal of the campaign: what became of planned runs".to_owned());
        parsed.records.push(Record::Journal(outcomes));
        if !lost.is_empty() {
            parsed.records.push(Record::Losses(lost));
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_a_run_counts_and_torn_lines_do_not() {
        let text = concat!(
            "{\"seq\":1,\"event\":\"created\",\"chain\":\"x\"}\n",
            "{\"seq\":2,\"event\":\"skipped\",\"run\":\"a\",\"why\":\"too hot\"}\n",
            "{\"seq\":3,\"event\":\"started\",\"run\":\"b\"}\n",
            "{\"seq\":4,\"ev",
            "\n{\"seq\":5,\"event\":\"interrupted\",\"run\":\"b\",\"why\":\"power\"}\n",
            "{\"seq\":6,\"event\":\"interrupted\",\"run\":\"probes/x\",\"why\":\"power\"}\n",
            "{\"seq\":7,\"event\":\"started\",\"run\":\"c\"}\n",
            "{\"seq\":8,\"event\":\"finished\",\"run\":\"c\"}\n",
            "{\"seq\":9,\"event\":\"finished\",\"run\":\"d\"}\n",
            "{\"seq\":10,\"event\":\"lost\",\"path\":\"runs/d\",\"run\":\"d\",\"files\":[],\"why\":\"x was changed\"}\n",
            "{\"seq\":11,\"event\":\"interrupted\",\"run\":\"d\",\"why\":\"its result was lost\"}\n",
        );
        let mut input = text.as_bytes();
        let parsed = Journal.parse(&mut SourceFile::new("journal.jsonl", text.len() as u64, &mut input)).unwrap();
        let [Record::Journal(outcomes), Record::Losses(lost)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let said: Vec<(&str, MissingReason, &str)> =
            outcomes.iter().map(|o| (o.run.as_str(), o.gone, o.why.as_str())).collect();
        assert_eq!(
            said,
            [
                ("a", MissingReason::Skipped, "too hot"),
                ("b", MissingReason::Interrupted, "power"),
                ("c", MissingReason::Unreadable, ""),
                ("d", MissingReason::Lost, "x was changed")
            ]
        );
        assert_eq!(lost.iter().map(Loss::to_string).collect::<Vec<_>>(), ["runs/d (x was changed)"]);
    }
}
