//! Before a run: read every gate, wait where time helps, act where a gate must, and read every gate again.
//!
//! In:  a [`Context`], an observer of the waiting.  Out: one finding for each gate, with the seconds waited.
//! Not here: single conditions.
//!
//! 1. Everything is read once. When something refuses that waiting cannot mend, that is the answer, with all other readings beside it.
//! 2. While a gate refuses that waiting can mend, it is asked again every second, up to its own limit and that of the suite. All of them
//!    must hold at the same look: a machine that cools down while its load rises is not ready.
//! 3. What warms the GPU (the short probe) is done, and the waiting gates are asked again. Then the page cache is dropped.
//! 4. Everything is read again: during a wait of minutes, memory and disk may have changed. A gate that waits and refuses now is waited
//!    for again, within the same limit.

use std::collections::BTreeMap;
use std::time::Duration;

use super::gate::{Context, Gate, Patience, SETTLE_S};
use super::readings::Readings;
use super::{GATES, finish, read};
use crate::run::Watcher;
use sparkbench_model::{Finding, Level};

/// Time between two looks while waiting.
const POLL: Duration = Duration::from_secs(1);

/// The readings before a run, every gate once and in order. The run may start when none of them is [`Level::Refused`].
///
/// Waits as long as the suite allows, and tells `watcher` for what. An interrupt ends the waiting at once. The gates that did not hold
/// are then listed as refused, so the caller asks [`sparkbench_host::Host::interrupted`] first.
pub fn before(ctx: &Context<'_>, watcher: &dyn Watcher) -> Vec<Finding> {
    Round::new(ctx, watcher).go()
}

struct Round<'a, 'b> {
    ctx: &'a Context<'b>,
    watcher: &'a dyn Watcher,
    began: Duration,
    /// Looks taken because something was waited for.
    polls: u64,
    /// Since when each gate refuses that does so now, seconds since the beginning.
    since: BTreeMap<&'static str, f64>,
    /// When each gate that ever refused was last waited for, seconds since the beginning.
    waited: BTreeMap<&'static str, f64>,
    /// The gate that the watcher was told of last, and its limit.
    told: Option<(Finding, f64)>,
    /// Gates that have acted: their finding then is final.
    done: Vec<&'static str>,
}

impl<'a, 'b> Round<'a, 'b> {
    fn new(ctx: &'a Context<'b>, watcher: &'a dyn Watcher) -> Self {
        Self {
            ctx,
            watcher,
            began: ctx.host.monotonic(),
            polls: 0,
            since: BTreeMap::new(),
            waited: BTreeMap::new(),
            told: None,
            done: Vec::new(),
        }
    }

    fn go(mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        // Nothing when it refuses permanently. The findings say why.
        let _ = self.ready(&mut findings);
        for (gate, finding) in GATES.iter().zip(findings.iter_mut()) {
            if gate.patience() != Patience::None {
                finding.waited_s = Some(self.waited.get(gate.name()).copied().unwrap_or(0.0));
            }
        }
        findings
    }

    fn ready(&mut self, findings: &mut Vec<Finding>) -> Option<()> {
        let seen = self.look(findings);
        let mut seen = self.wait(findings, seen)?;
        if self.act(findings, &mut seen, true)? {
            let again = self.look(findings);
            seen = self.wait(findings, again)?;
        }
        self.act(findings, &mut seen, false)?;
        // Until a whole look finds nothing to wait for. The first one does, when nothing was waited for and nothing done.
        let mut fresh = self.polls == 0 && self.done.is_empty();
        while !fresh {
            let polls = self.polls;
            let again = self.look(findings);
            self.wait(findings, again)?;
            fresh = self.polls == polls;
        }
        Some(())
    }

    /// Reads every gate, those excepted that have acted.
    fn look(&self, findings: &mut Vec<Finding>) -> Readings {
        let seen = Readings::take(self.ctx);
        let old = std::mem::take(findings).into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        findings.extend(GATES.iter().zip(old).map(|(gate, old)| match old {
            Some(old) if self.done.contains(&gate.name()) => old,
            _ => read(*gate, self.ctx, &seen),
        }));
        seen
    }

    /// Seconds since the beginning.
    fn passed(&self) -> f64 {
        self.ctx.host.monotonic().saturating_sub(self.began).as_secs_f64()
    }

    /// When the patience with a gate that refuses ends, seconds since the beginning.
    fn limit(&self, gate: &dyn Gate) -> f64 {
        let most = self.ctx.gates.wait_max_s;
        match gate.patience() {
            Patience::None => 0.0,
            Patience::Settles => most.min(self.since.get(gate.name()).copied().unwrap_or(0.0) + SETTLE_S),
            Patience::Waits => most,
        }
    }

    /// Waits until every gate holds. Gives the last reading when they do, nothing when one refuses permanently or someone interrupts.
    fn wait(&mut self, findings: &mut [Finding], mut seen: Readings) -> Option<Readings> {
        loop {
            let refusing = self.refusing(findings);
            let Some((gate, finding)) = refusing.first().copied() else {
                self.tell(None, findings);
                return Some(seen);
            };
            let passed = self.passed();
            if self.ctx.host.interrupted() || refusing.iter().any(|(gate, _)| passed >= self.limit(*gate)) {
                self.tell(None, findings);
                return None;
            }
            let now = (finding.clone(), self.limit(gate));
            self.tell(Some(now), findings);
            self.ctx.host.pause(POLL);
            self.polls += 1;
            seen = Readings::take(self.ctx);
            for (gate, finding) in GATES.iter().zip(findings.iter_mut()) {
                if gate.patience() != Patience::None {
                    *finding = read(*gate, self.ctx, &seen);
                }
            }
        }
    }

    /// The gates that refuse, with their findings. Keeps the times of those that wait.
    fn refusing<'f>(&mut self, findings: &'f [Finding]) -> Vec<(&'static dyn Gate, &'f Finding)> {
        let passed = self.passed();
        let mut refusing = Vec::new();
        for (gate, finding) in GATES.iter().copied().zip(findings) {
            let refuses = finding.level == Level::Refused;
            if refuses {
                refusing.push((gate, finding));
                self.since.entry(gate.name()).or_insert(passed);
                self.waited.insert(gate.name(), passed);
            } else if self.since.remove(gate.name()).is_some() {
                self.waited.insert(gate.name(), passed);
            }
        }
        refusing
    }

    /// Tells the watcher what is waited for now. The gate waited for until now is done when it is another one, or none. What it reads by
    /// then is reported: it may hold, or may still refuse with its time used up.
    fn tell(&mut self, now: Option<(Finding, f64)>, findings: &[Finding]) {
        let passed = self.passed();
        if let Some((finding, limit)) = self.told.take()
            && now.as_ref().is_none_or(|(next, _)| next.gate != finding.gate)
        {
            let last = findings.iter().find(|last| last.gate == finding.gate).unwrap_or(&finding);
            self.watcher.waiting(last, passed, limit, true);
        }
        if let Some((finding, limit)) = &now {
            self.watcher.waiting(finding, passed, *limit, false);
        }
        self.told = now;
    }

    /// Does what has to be done by the gates that warm the GPU, or by the others. Whether anything was done. Nothing when it failed.
    fn act(&mut self, findings: &mut [Finding], seen: &mut Readings, warms: bool) -> Option<bool> {
        let mut any = false;
        for (gate, finding) in GATES.iter().zip(findings.iter_mut()).filter(|(gate, _)| gate.warms() == warms) {
            if self.ctx.host.interrupted() {
                return None;
            }
            let Some(done) = gate.act(self.ctx, seen) else { continue };
            any = true;
            self.done.push(gate.name());
            *finding = finish(*gate, self.ctx, done);
            if finding.level == Level::Refused {
                return None;
            }
            *seen = Readings::take(self.ctx);
        }
        Some(any)
    }
}
