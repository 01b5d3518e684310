//! Interim looks at a campaign that stops when it is decided.
//!
//! In:  the design, runs with an outcome, a judge.  Out: whether the campaign has ended, and a `looked` event in the journal.
//! Not here: reading results (see [`Judge`](super::Judge)), the boundaries (see `stats::sequential`).

use super::collector::Collector;
use super::{Look, LookResult};
use sparkbench_archive::journal::Event;
use sparkbench_model::SequentialDesign;
use sparkbench_text::error::Error;

impl Collector<'_> {
    /// Takes the look that is due, and says whether the campaign has ended at it. Elsewhere nothing happens.
    ///
    /// A look is due when every run of its blocks has an outcome, whatever that is. So a campaign that was killed within a block, or made in
    /// parts, looks at the same blocks as one without a break.
    pub(super) fn looks(&mut self) -> Result<bool, Error> {
        let experiment = self.experiment;
        let (Some(design), Some(judge)) = (&experiment.suite.sequential, self.judge) else { return Ok(false) };
        if self.writer.progress().closed {
            return Ok(false);
        }
        let taken = self.writer.progress().looks;
        if self.writer.progress().ended.is_none() {
            let open = self.writer.progress().left(&experiment.plan.runs);
            let over = open.iter().filter_map(|run| run.repeat).min().map_or(design.blocks(), |repeat| repeat - 1);
            let due = design.looks.iter().take_while(|blocks| **blocks <= over).count();
            let (Ok(due), Ok(of)) = (u32::try_from(due), u32::try_from(design.looks.len())) else { return Ok(false) };
            if due <= taken {
                return Ok(false);
            }
            let blocks = design.looks.get(due as usize - 1).copied().unwrap_or(over);
            let look = Look { look: due, of, blocks, most: design.blocks() };
            let ruling = judge.judge(&self.archive, look)?;
            ruling.lines.iter().for_each(|line| self.watcher.say(line));
            let end = ending(look, &ruling, design);
            let (decided, open) = (ruling.decided as u64, ruling.open as u64);
            self.writer.log(Event::Looked { look: due, blocks, decided, open, end })?;
        }
        let Some(why) = self.writer.progress().ended.clone() else { return Ok(false) };
        // After a crash in the middle of these lines the rest of them is written by whoever goes on.
        let open: Vec<String> =
            self.writer.progress().left(&self.experiment.plan.runs).iter().map(|run| run.id.clone()).collect();
        for run in open {
            let lost = self.writer.progress().lost.contains_key(&run);
            self.writer.skip(
                &run,
                &if lost { format!("its result was lost after the campaign had ended: {why}") } else { why.clone() },
            )?;
        }
        Ok(true)
    }
}

/// Why a campaign ends at a look. Nothing where it goes on, or where the look was the last one anyway.
fn ending(look: Look, ruling: &LookResult, design: &SequentialDesign) -> Option<String> {
    if look.blocks >= look.most {
        return None;
    }
    let place = format!("look {} of {} with {} of {} blocks", look.look, look.of, look.blocks, look.most);
    if ruling.open == 0 && ruling.decided > 0 {
        return Some(format!("every primary comparison is decided at {place}"));
    }
    let futile = ruling.open > 0 && ruling.open == ruling.without_prospects;
    (futile && design.futility == SequentialDesign::STOP)
        .then(|| format!("no later look can decide the comparisons that are open at {place}"))
}
