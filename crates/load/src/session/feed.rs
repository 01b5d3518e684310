//! The source of a load's requests: a plan with its schedule, or conversations.
//!
//! In:  [`Session`], [`Settings`], the engine's waker.  Out: [`Feed`], a source for the engine, and its final report.
//! Not here: the plan (see `plan`), bodies (see `build`), conversations (see `chat`).

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use super::recount::AnswerRecorder;
use super::{Session, lengths};
use crate::build::{self, Form, Maker};
use crate::chat::log::CONVERSATIONS_FILE;
use crate::chat::{ChatSource, Figures, Frame, Library, Parts};
use crate::order::{EndedBy, Gate, Phase, Sink, Source};
use crate::plan::{Plan, PlanInput};
use crate::schedule::{self, Scheduler};
use crate::settings::{Exact, Settings, Work};
use crate::tokens::Counter;
use sparkbench_host::net::{Ns, Waker};
use sparkbench_text::error::Error;
use sparkbench_text::plural::counted;

/// Time for which places stayed free after failures from which on it is told, seconds. Less is a few single failures.
const HELD_TOLD: f64 = 1.0;

/// See the module.
pub(super) enum Feed {
    /// Requests that have nothing to do with each other.
    Plan {
        /// The requests with their times, and the answers where they are counted afterwards.
        kept: Box<AnswerRecorder>,
        /// Counts them.
        counter: Option<Arc<dyn Counter>>,
        /// The same for the same settings and seed.
        plan: Arc<Plan>,
        /// How lengths were made, and what the input lacked.
        made: Vec<String>,
        /// Known once the engine is done.
        report: Option<schedule::ScheduleReport>,
    },
    /// Turns of conversations.
    Chat {
        /// The requests with their times.
        source: Box<ChatSource>,
        /// Measured turns, where they are known.
        planned: Option<u64>,
        /// How lengths were made, and what the input lacked.
        made: Vec<String>,
    },
}

/// Final report of a feed.
#[derive(Debug, Default)]
pub(super) struct FeedSummary {
    /// Requests that were due before their prompt was built.
    pub bodies_late: u64,
    /// Requests that waited for the cap of an open loop.
    pub waited: u64,
    /// For conversations.
    pub figures: Option<Figures>,
    /// How our counts and the server's compare, where a tokenizer was given.
    pub audit: Option<String>,
    /// What ended it, as far as the feed knows.
    pub ended_by: EndedBy,
    /// Failures in a row that ended it.
    pub gave_up: Option<u64>,
}

impl Feed {
    /// Reads what the settings name, and starts the thread that builds.
    ///
    /// # Errors
    /// When the settings make no plan, a file cannot be read, or the longest request is beyond the server's limit.
    pub(super) fn new(session: &Session<'_>, settings: &Settings, waker: &Waker, folder: &Path) -> Result<Self, Error> {
        let exact = session.known.exact(settings);
        match &settings.work {
            Work::Conversations(_) => Self::chat(session, settings, exact, waker, folder),
            _ => Self::plan(session, settings, exact, waker, folder),
        }
    }

    fn plan(
        session: &Session<'_>,
        settings: &Settings,
        exact: Exact,
        waker: &Waker,
        folder: &Path,
    ) -> Result<Self, Error> {
        let input = PlanInput::read(settings)?;
        let plan = Arc::new(Plan::new(settings, &input)?);
        session.fits(plan.longest())?;
        let (recipe, how) = lengths::recipe(session, settings, &plan)?;
        let made = input.notes.into_iter().chain([how]).collect();
        let counter = lengths::local(settings)?;
        let form = Form::new(settings, &session.known.model.id, exact, counter.is_some())?;
        let maker = Maker::new(Arc::clone(&plan), recipe, form)?;
        let bell = waker.clone();
        let builder = build::start(maker, settings, move || bell.wake())?;
        let scheduler = Box::new(Scheduler::new(settings, Arc::clone(&plan), Box::new(builder)));
        let kept = Box::new(AnswerRecorder::new(scheduler, counter.is_some(), folder)?);
        Ok(Self::Plan { kept, counter, plan, made, report: None })
    }

    fn chat(
        session: &Session<'_>,
        settings: &Settings,
        exact: Exact,
        waker: &Waker,
        folder: &Path,
    ) -> Result<Self, Error> {
        let library = Library::read(settings)?;
        let mut made = library.notes().to_vec();
        let (texts, how) = lengths::texts(session, settings)?;
        made.push(how);
        let path = folder.join(CONVERSATIONS_FILE);
        let log = File::create(&path)
            .map_err(|cause| Error::archive(format!("cannot create '{}'", path.display())).because(cause))?;
        let parts = Parts {
            library,
            texts,
            frame: Frame::new(settings, &session.known.model.id, exact),
            request_ids: format!("sparkbench-{:016x}", settings.nonce),
            log: Some(Box::new(BufWriter::new(log))),
            // Results alone go to standard output.
            print: Some(Box::new(session.secrets_of(settings).veil().over(std::io::stderr()))),
        };
        let planned = match &settings.work {
            Work::Conversations(chat) => chat.max_requests,
            _ => None,
        };
        let source = ChatSource::new(settings, parts)?;
        source.wake(waker.clone());
        Ok(Self::Chat { source: Box::new(source), planned, made })
    }

    /// For the engine.
    pub(super) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Plan { kept, .. } => kept.as_mut(),
            Self::Chat { source, .. } => source.as_mut(),
        }
    }

    /// Before the engine starts: moments in files count from here.
    pub(super) fn count_times_from(&mut self, origin: Ns) {
        if let Self::Chat { source, .. } = self {
            source.count_times_from(origin);
        }
    }

    /// Before the engine starts: parts of the load begin when this says so.
    pub(super) fn begin_by(&mut self, gate: Box<dyn Gate>) {
        match self {
            Self::Plan { kept, .. } => kept.scheduler().begin_by(gate),
            Self::Chat { source, .. } => source.begin_by(gate),
        }
    }

    /// What the plan depends on: the same on every client of one load. Conversations have no plan. What they depend on is in the settings.
    pub(super) fn digest(&self) -> String {
        match self {
            Self::Plan { plan, .. } => plan.to_string(),
            Self::Chat { made, .. } => made.join("; "),
        }
    }

    /// After the engine's end, on its thread: what was due before `stopped` and never sent goes into the records.
    pub(super) fn give_back(&mut self, sink: &mut dyn Sink, stopped: Ns) {
        if let Self::Plan { kept, report, .. } = self {
            let scheduler = kept.scheduler();
            scheduler.not_sent(stopped).for_each(|record| sink.ended(record));
            *report = Some(scheduler.report(stopped));
        }
    }

    /// Measured requests of this client, where the plan has a number of them. Conversations have none: a limit on their turns does not
    /// promise that number, and the conversations count turns behind a failed one.
    pub(super) fn planned(&self) -> Option<u64> {
        match self {
            Self::Plan { plan, .. } => plan.own(Phase::Measured),
            Self::Chat { .. } => None,
        }
    }

    /// Measured requests of all clients.
    pub(super) fn planned_by_all(&self) -> Option<u64> {
        match self {
            Self::Plan { plan, .. } => plan.count(Phase::Measured),
            Self::Chat { .. } => None,
        }
    }

    /// Requests of every part. Of conversations at most as many.
    pub(super) fn planned_in_all(&self) -> Option<u64> {
        match self {
            Self::Plan { plan, .. } => {
                [Phase::Warmup, Phase::Prime, Phase::Measured].into_iter().map(|phase| plan.own(phase)).sum()
            }
            Self::Chat { planned, .. } => *planned,
        }
    }

    /// Hash of the plan, where it is one. It goes through all of it: not to be asked for before the load.
    pub(super) fn sha256(&self) -> Option<String> {
        match self {
            Self::Plan { plan, .. } => Some(plan.sha256()),
            Self::Chat { .. } => None,
        }
    }

    /// Notes for the reader of the summary.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Plan { made, report, .. } => {
                let mut notes = made.clone();
                if let Some(report) = report.filter(|report| report.degenerate) {
                    notes.push(format!(
                        "the open loop reached its limit and behaved as a closed loop: {} of {} requests were delayed or never sent",
                        report.waited + report.due.unwrap_or(report.sent).saturating_sub(report.sent),
                        report.due.unwrap_or(report.sent)
                    ));
                }
                notes
            }
            Self::Chat { made, .. } => made.clone(),
        }
    }

    /// A note that no summary may leave out: the load was less than it was to be, because requests failed.
    pub(super) fn held_back(&self) -> Option<String> {
        let often = |pauses| usize::try_from(pauses).unwrap_or(usize::MAX);
        let (pauses, what) = match self {
            Self::Plan { report, .. } => {
                let pauses = report.as_ref()?.pauses;
                let places = counted(often(pauses.0), "place was", "places were");
                (pauses, format!("{places} not taken again at once after failures"))
            }
            Self::Chat { source, .. } => {
                let pauses = source.pauses();
                (pauses, format!("clients waited after {}", counted(often(pauses.0), "failed turn", "failed turns")))
            }
        };
        (pauses.1 >= HELD_TOLD).then(|| {
            format!(
                "{what}, for {:.1} s in all: for as long as the server asked by Retry-After, or for 10 ms to 1 s",
                pauses.1
            )
        })
    }

    /// Ends the threads behind it.
    ///
    /// # Errors
    /// When bodies could not be built, or conversations not be written.
    pub(super) fn finish(self) -> Result<FeedSummary, Error> {
        match self {
            Self::Plan { mut kept, counter, report, .. } => match kept.scheduler().fault() {
                Some(fault) => Err(fault),
                None => {
                    let audit = counter.map(|counter| kept.recount(counter.as_ref())).transpose()?.flatten();
                    let (bodies_late, waited) = report.map_or((0, 0), |report| (report.starved, report.waited));
                    let gave_up = report.and_then(|report| report.gave_up);
                    let ended_by = report.map_or(EndedBy::Plan, |report| report.ended_by);
                    Ok(FeedSummary { bodies_late, waited, figures: None, audit, ended_by, gave_up })
                }
            },
            Self::Chat { source, .. } => {
                let (ended_by, gave_up) = (source.ended_by(), source.gave_up());
                Ok(FeedSummary { figures: Some(source.finish()?), ended_by, gave_up, ..FeedSummary::default() })
            }
        }
    }
}
