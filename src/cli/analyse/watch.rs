//! `sparkbench analyse --watch`: stays, and brings the site up to date whenever its input changes.
//!
//! In:  the arguments of the verb.  Out: the site, which after each change is what a fresh analysis would write, byte for byte.
//! Not here: how a judgement or a page is kept (see the memories of `ingest`, `verdict` and `page`).
//!
//! Changes are found by looking: names, sizes and moments of all files, four times a second. The kernel's own notice of changes would
//! say nothing of a folder on another machine, where a campaign is often collected, and has a limit on the number of folders. A look at
//! three thousand files takes some milliseconds, and where it takes longer there are fewer looks, so that they never take more than a
//! tenth of one core.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::{Analyse, begin, beside, downloads, extras, logs, open, summarise, tell_others};
use crate::cli::intake;
use crate::cli::outcome::Outcome;
use crate::cli::talk::Talk;
use sparkbench_archive::{self as archive, Discovery, Found};
use sparkbench_site::page::{self, Extras, HashedPage, Publication, Written};
use sparkbench_text::error::Error;

/// Between two looks.
const BETWEEN: Duration = Duration::from_millis(250);
/// Looks take at most one part in so many of the time.
const SHARE: u32 = 10;
/// However long a look takes, the next comes after this.
const LONGEST: Duration = Duration::from_secs(5);
/// After a change it is looked again so soon whether more is coming: a run of several files arrives as one.
const SETTLING: Duration = Duration::from_millis(50);
/// Looks that a change that goes on and on can delay the site.
const MOST_SETTLING: usize = 5;
/// A file that was written less than this ago and cannot be read is taken to be half-written, not broken.
const HALF_WRITTEN: Duration = Duration::from_secs(2);
/// After so long without a change, what takes longer than a second is made too.
const QUIET: Duration = Duration::from_secs(2);
/// What takes less than this is made with every change.
const CHEAP: Duration = Duration::from_millis(150);

/// Looks, builds, and looks again until it is interrupted.
pub(super) fn run(args: &Analyse, talk: &Talk) -> Result<Outcome, Error> {
    let stop = interruption()?;
    let begun = begin(args, talk, || !stop.load(Ordering::Relaxed))?;
    // Held until the end: nobody else may change pages that are taken to be there.
    let Some((_lock, publication)) = begun else { return Ok(Outcome::Done) };
    let mut watch = Watch::new(args, talk, publication);
    let mut state = State::look(args)?;
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let look = State::look(args);
        let pause = (begun.elapsed() * SHARE).clamp(BETWEEN, LONGEST);
        match look {
            Ok(now) => {
                if watch.shown.is_none() || now != state {
                    state = settled(now, args, &stop);
                    watch.changed = Instant::now();
                    watch.bring(&state, watch.is_cheap());
                } else if watch.behind && watch.changed.elapsed() >= QUIET {
                    watch.bring(&state, true);
                }
            }
            Err(error) => watch.tell(&error),
        }
        rest(pause, &stop);
    }
    if watch.behind {
        talk.say("stopping after the largest downloads are written, Ctrl-C again stops at once");
        watch.bring(&state, true);
    }
    talk.say("stopped, the site is kept");
    Ok(Outcome::Done)
}

/// Set by the first interruption. The second ends the program where it stands.
fn interruption() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag::{register, register_conditional_shutdown};
    /// As of a program that the signal ended.
    const INTERRUPTED: i32 = 130;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop))
            .and_then(|_| register(signal, Arc::clone(&stop)))
            .map_err(|cause| Error::archive("cannot listen for interrupts (Ctrl-C)").because(cause))?;
    }
    Ok(stop)
}

/// Waits in pieces, so that an interruption is heard.
fn rest(time: Duration, stop: &AtomicBool) {
    let until = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(SETTLING));
    }
}

/// What lies below the paths, as far as a change of it shows.
#[derive(Debug, Clone)]
struct State {
    found: Discovery,
    labels: Option<(u64, Option<SystemTime>)>,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.found.files == other.found.files && self.found.unread == other.found.unread && self.labels == other.labels
    }
}

impl State {
    fn look(args: &Analyse) -> Result<Self, Error> {
        let meta = args.judging.labels.as_deref().and_then(|path| path.metadata().ok());
        let labels = meta.map(|meta| (meta.len(), meta.modified().ok()));
        Ok(Self { found: archive::discover(&args.paths)?, labels })
    }
}

/// The state once two looks agree.
fn settled(mut state: State, args: &Analyse, stop: &AtomicBool) -> State {
    for _ in 0..MOST_SETTLING {
        rest(SETTLING, stop);
        match State::look(args) {
            Ok(now) if now != state => state = now,
            _ => break,
        }
    }
    state
}

/// What is kept from one look to the next.
struct Watch<'a> {
    args: &'a Analyse,
    talk: &'a Talk,
    intake: intake::IntakeMemory,
    logs: logs::LogMemory,
    pages: page::Memory,
    written: Written,
    /// Where the site will stand, and the versions that stood there before: what comes and goes while this watches is no version to keep.
    publication: Publication,
    /// The files of every request as they were made last, and how long that took.
    late: Option<(Vec<Arc<HashedPage>>, Duration)>,
    /// Whether something that takes long is older than the rest.
    behind: bool,
    /// When the input changed last.
    changed: Instant,
    /// Inputs of the site as it stands that were left out. None before there is a site or while a change waits to be shown.
    shown: Option<BTreeSet<String>>,
    /// What was told last, so that it is told once.
    told: BTreeSet<String>,
}

impl<'a> Watch<'a> {
    fn new(args: &'a Analyse, talk: &'a Talk, publication: Publication) -> Self {
        Self {
            args,
            talk,
            intake: intake::IntakeMemory::default(),
            logs: logs::LogMemory::default(),
            pages: page::Memory::default(),
            written: Written::default(),
            publication,
            late: None,
            behind: false,
            changed: Instant::now(),
            shown: None,
            told: BTreeSet::new(),
        }
    }

    /// Whether everything is made with every change, because nothing takes long.
    fn is_cheap(&self) -> bool {
        self.late.as_ref().is_none_or(|(_, took)| *took < CHEAP)
    }

    /// Brings the site up to date, or tells why not: the site then stays as it is.
    fn bring(&mut self, state: &State, whole: bool) {
        let first = self.written.is_empty();
        match self.build(state, whole) {
            Ok(()) if first => {
                self.talk.say("watching for changes, Ctrl-C ends");
                if self.args.open {
                    open(&self.args.site, self.talk);
                }
            }
            Ok(()) => {}
            Err(error) => {
                // Told once and not tried again until something changes.
                self.shown.get_or_insert_default();
                self.behind = false;
                self.tell(&error);
            }
        }
    }

    fn build(&mut self, state: &State, whole: bool) -> Result<(), Error> {
        let begun = Instant::now();
        let intake = self.intake.runs_of(&state.found, &self.args.judging, &self.args.paths)?;
        let left_out: BTreeSet<String> =
            intake.inputs.iter().filter(|input| input.skipped).map(|input| input.path.clone()).collect();
        for input in intake.inputs.iter().filter(|input| input.skipped) {
            let line = format!("{}: {}", input.path, input.reason.as_deref().unwrap_or("left out"));
            if self.told.insert(line.clone()) {
                self.talk.warn(&line);
            }
        }
        for altered in intake.inputs.iter().filter_map(|input| input.altered.as_ref()) {
            let line = format!("{}. Try: {}", altered.sentence(), altered.remedy);
            if self.told.insert(line.clone()) {
                self.talk.warn(&line);
            }
        }
        if !self.written.is_empty() && self.half_written(&left_out, state) {
            if self.shown.take().is_some() {
                self.talk.say("a file may be half-written: the site is kept as it is until it can be read");
            }
            return Ok(());
        }
        let mut judged = self.intake.judge(intake, &state.found, &self.args.judging, !self.args.no_scrub, whole)?;
        for conflict in &judged.study.facts.conflicts {
            let line = conflict.sentence();
            if self.told.insert(line.clone()) {
                self.talk.warn(&line);
            }
        }
        let kept = self.late.as_ref().filter(|_| !whole).map(|(pages, _)| pages.as_slice());
        let making = Instant::now();
        let logs = if self.args.no_logs {
            Vec::new()
        } else {
            let scrubbed = judged.scrubbed.as_ref();
            self.logs.read(&state.found, &judged.analysis.runs, &judged.analysis.inputs, scrubbed)
        };
        let publication = self.publication.clone();
        let extras = Extras { publication, ..extras(&mut judged, self.args, logs, kept)? };
        let sheets = page::again(&judged.analysis, &extras, &mut self.pages, whole)?;
        if whole {
            // The site in one file is made last, so the time is that of all that can wait, and of what cannot.
            let late = extras.extra_files.iter().filter(|file| downloads::LATE.contains(&file.page.path.as_str()));
            self.late = Some((late.cloned().collect(), making.elapsed()));
        }
        let first = self.written.is_empty();
        let changes = page::update(&self.args.site, &sheets, &mut self.written)?;
        tell_others(&changes.others, self.talk);
        self.shown = Some(left_out);
        self.behind = !whole;
        if whole {
            beside(&judged, &extras, self.args)?;
        }
        if first {
            summarise(&judged, self.args, sheets.len(), self.shown.as_ref().map_or(0, BTreeSet::len), self.talk)?;
        } else if changes.written + changes.removed > 0 {
            self.talk.say(&format!(
                "{} runs, {} files written, {} removed, {:.2} s{}",
                judged.analysis.runs.len(),
                changes.written,
                changes.removed,
                begun.elapsed().as_secs_f64(),
                if whole { "" } else { ", the largest downloads follow" },
            ));
        }
        Ok(())
    }

    /// Whether a file that the site has is left out now, and was written so recently that its writer may still be at it.
    fn half_written(&self, left_out: &BTreeSet<String>, state: &State) -> bool {
        let known = self.shown.as_ref();
        let fresh = |file: &Found| {
            let age = file.modified.and_then(|at| SystemTime::now().duration_since(at).ok());
            age.is_some_and(|age| age < HALF_WRITTEN)
        };
        left_out
            .iter()
            .filter(|path| known.is_none_or(|known| !known.contains(*path)))
            .any(|path| state.found.get(path).is_some_and(fresh))
    }

    fn tell(&mut self, error: &Error) {
        if self.told.insert(error.to_string()) {
            self.talk.warn(&format!("{error}\n  the site is kept as it was"));
        }
    }
}
