//! What gives a load its requests: a plan with its schedule, or conversations.
//!
//! In:  [`Session`], [`Settings`], the engine's waker.  Out: [`Feed`], a source for the engine, and what it says of itself afterwards.
//! Not here: the plan (see `plan`), bodies (see `build`), conversations (see `chat`).

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use super::recount::Kept;
use super::{Session, lengths};
use crate::error::Error;
use crate::host::net::{Ns, Waker, now};
use crate::load::build::{self, Form, Maker};
use crate::load::chat::{ChatSource, Figures, Frame, Library, Parts};
use crate::load::order::{Gate, Phase, Sink, Source};
use crate::load::plan::{Plan, PlanInput};
use crate::load::schedule::{self, Scheduler};
use crate::load::settings::{Exact, Settings, Work};
use crate::load::tokens::Counter;

/// File of conversations in the folder of a load.
pub const CONVERSATIONS_FILE: &str = "conversations.jsonl";

/// See the module.
pub enum Feed {
    /// Requests that have nothing to do with each other.
    Plan {
        /// What is sent when, and the answers where they are counted afterwards.
        kept: Box<Kept>,
        /// Counts them.
        counter: Option<Arc<dyn Counter>>,
        /// The same for the same settings and seed.
        plan: Arc<Plan>,
        /// How lengths were made, and what the input lacked.
        made: Vec<String>,
        /// Known once the engine is done.
        report: Option<schedule::Report>,
    },
    /// Turns of conversations.
    Chat {
        /// What is sent when.
        source: Box<ChatSource>,
        /// Measured turns, where they are known.
        planned: Option<u64>,
        /// How lengths were made, and what the input lacked.
        made: Vec<String>,
    },
}

/// What a feed says when it is done.
#[derive(Debug, Default)]
pub struct Fed {
    /// Requests that were due before their prompt was built.
    pub bodies_late: u64,
    /// Requests that waited for the cap of an open loop.
    pub waited: u64,
    /// Of conversations.
    pub figures: Option<Figures>,
    /// How our counts and the server's compare, where a tokenizer was given.
    pub audit: Option<String>,
}

impl Feed {
    /// Reads what the settings name, and starts the thread that builds.
    ///
    /// # Errors
    /// When the settings make no plan, a file cannot be read, or the longest request is beyond the server's limit.
    pub fn new(session: &Session<'_>, settings: &Settings, waker: &Waker, folder: &Path) -> Result<Self, Error> {
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
        let kept = Box::new(Kept::new(scheduler, counter.is_some(), folder)?);
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
            .map_err(|cause| Error::archive(format!("cannot make '{}'", path.display())).because(cause))?;
        let parts = Parts {
            library,
            texts,
            frame: Frame::new(settings, &session.known.model.id, exact),
            request_ids: format!("sparkbench-{:016x}", settings.nonce),
            log: Some(Box::new(BufWriter::new(log))),
            // Results alone go to standard output.
            print: Some(Box::new(std::io::stderr())),
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
    pub fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Plan { kept, .. } => kept.as_mut(),
            Self::Chat { source, .. } => source.as_mut(),
        }
    }

    /// Before the engine starts: moments in files count from here.
    pub fn count_times_from(&mut self, origin: Ns) {
        if let Self::Chat { source, .. } = self {
            source.count_times_from(origin);
        }
    }

    /// Before the engine starts: parts of the load begin when this says so.
    pub fn begin_by(&mut self, gate: Box<dyn Gate>) {
        match self {
            Self::Plan { kept, .. } => kept.scheduler().begin_by(gate),
            Self::Chat { source, .. } => source.begin_by(gate),
        }
    }

    /// What the plan depends on: the same on every client of one load. Conversations have no plan; what they depend on is in the settings.
    pub fn digest(&self) -> String {
        match self {
            Self::Plan { plan, .. } => plan.to_string(),
            Self::Chat { made, .. } => made.join("; "),
        }
    }

    /// After the engine's end, on its thread: what was due and never sent goes into the records.
    pub fn give_back(&mut self, sink: &mut dyn Sink) {
        if let Self::Plan { kept, report, .. } = self {
            let scheduler = kept.scheduler();
            let stopped = now();
            scheduler.not_sent(stopped).for_each(|record| sink.ended(record));
            *report = Some(scheduler.report(stopped));
        }
    }

    /// Measured requests of this client, where the plan has a number of them. Conversations have none: a limit on their turns is no promise of as many,
    /// and turns behind a failed one are counted by the conversations.
    pub fn planned(&self) -> Option<u64> {
        match self {
            Self::Plan { plan, .. } => plan.own(Phase::Measured),
            Self::Chat { .. } => None,
        }
    }

    /// Measured requests of all clients.
    pub fn planned_by_all(&self) -> Option<u64> {
        match self {
            Self::Plan { plan, .. } => plan.count(Phase::Measured),
            Self::Chat { .. } => None,
        }
    }

    /// Requests of every part; of conversations at most as many.
    pub fn planned_in_all(&self) -> Option<u64> {
        match self {
            Self::Plan { plan, .. } => {
                [Phase::Warmup, Phase::Prime, Phase::Measured].into_iter().map(|phase| plan.own(phase)).sum()
            }
            Self::Chat { planned, .. } => *planned,
        }
    }

    /// Hash of the plan, where it is one. It goes through all of it: not to be asked for before the load.
    pub fn sha256(&self) -> Option<String> {
        match self {
            Self::Plan { plan, .. } => Some(plan.sha256()),
            Self::Chat { .. } => None,
        }
    }

    /// What a reader of the summary should know.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Plan { made, report, .. } => {
                let mut notes = made.clone();
                if let Some(report) = report.filter(|report| report.degenerate) {
                    notes.push(format!(
                        "the open loop was a closed one at its cap: {} of {} requests had to wait for a place or were never sent",
                        report.waited + report.due.unwrap_or(report.sent).saturating_sub(report.sent),
                        report.due.unwrap_or(report.sent)
                    ));
                }
                notes
            }
            Self::Chat { made, .. } => made.clone(),
        }
    }

    /// Ends the threads behind it.
    ///
    /// # Errors
    /// When bodies could not be built, or conversations not be written.
    pub fn finish(self) -> Result<Fed, Error> {
        match self {
            Self::Plan { mut kept, counter, report, .. } => match kept.scheduler().fault() {
                Some(fault) => Err(fault),
                None => {
                    let audit = counter.map(|counter| kept.recount(counter.as_ref())).transpose()?.flatten();
                    let (bodies_late, waited) = report.map_or((0, 0), |report| (report.starved, report.waited));
                    Ok(Fed { bodies_late, waited, figures: None, audit })
                }
            },
            Self::Chat { source, .. } => Ok(Fed { figures: Some(source.finish()?), ..Fed::default() }),
        }
    }
}
