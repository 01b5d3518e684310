//! One load, from its plan to its summary.
//!
//! In:  [`Session`], [`Settings`], a folder.  Out: the raw files in the folder, [`Loaded`].
//! Not here: requests and their times (see `feed`), sending (see `engine`), figures (see `summary`).

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::Value;

use super::feed::{Feed, FeedSummary};
use super::view::View;
use super::{Session, seconds, shown_settings};
use crate::calibrate::Calibration;
use crate::certificate::{self, Evidence, STALL_MS};
use crate::chat::Figures;
use crate::engine::{Control, Engine, EngineReport, Options};
use crate::order::EndedBy;
use crate::ranks::{RankReport, Whole};
use crate::server::cache::PromiseOutcome;
use crate::server::{CacheCheck, Scraped, Scraper, scrape};
use crate::settings::{Cache, Settings, Shape, Share, Work};
use crate::store::{Store, Stored};
use crate::summary::{Facts, Summary};
use crate::until::{self, UntilReport};
use sparkbench_archive::mask::{Secrets, Veil};
use sparkbench_host::net::{Ns, now, usage};
use sparkbench_text::error::{Error, Kind};

/// Time between two checks of a load that runs.
const LOOK: Duration = Duration::from_millis(200);

/// Connections opened ahead for an open loop: what is needed beyond them is opened when it is needed.
const AHEAD: usize = 32;

/// Name of the summary in the folder of a load.
pub const SUMMARY_FILE: &str = "summary.json";

/// A load that was done.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its name. Empty for a single load.
    pub name: String,
    /// Its totals.
    pub summary: Summary,
    /// Someone asked us to stop before its end.
    pub interrupted: bool,
    /// First send to last piece of the measured part, seconds on the monotonic clock of the machine.
    pub window_s: Option<(f64, f64)>,
}

/// A load before its first request.
struct Begun {
    engine: Engine,
    feed: Feed,
    scraper: Option<Scraper>,
    /// From where its times count.
    origin: Ns,
}

/// Result of the engine's thread.
struct Ran {
    report: EngineReport,
    stored: Stored,
    feed: Feed,
    until: Option<UntilReport>,
}

impl Session<'_> {
    /// Does one load. `folder` is there and takes the raw files: `requests.jsonl`, `chunks.sbc`, `metrics/`, `conversations.jsonl`,
    /// [`SUMMARY_FILE`].
    ///
    /// # Errors
    /// When the settings make no plan, the machine cannot take it (descriptors), or a file cannot be written. What happens to a request
    /// is in the summary, never here. Where a disk fills in the middle, [`Watcher::broken`](super::Watcher::broken) receives the figures
    /// so far.
    pub fn load(
        &self,
        settings: &Settings,
        name: &str,
        folder: &Path,
        calibration: Option<Calibration>,
    ) -> Result<Loaded, Error> {
        let secrets = self.secrets_of(settings);
        let veil = secrets.veil();
        let hidden = |error| veil.error(error);
        let Some(ranks) = &self.ranks else {
            return self.one(settings, name, folder, calibration, (secrets, &veil)).map_err(hidden);
        };
        let own = Settings { share: ranks.share(), ..settings.clone() };
        let done = ranks
            .call(name, settings, &|| self.interrupted())
            .and_then(|()| self.one(&own, name, folder, calibration, (secrets, &veil)))
            .map_err(hidden);
        if let (Err(error), true) = (&done, ranks.is_head()) {
            ranks.failed(&error.in_short());
        }
        done
    }

    fn one(
        &self,
        settings: &Settings,
        name: &str,
        folder: &Path,
        calibration: Option<Calibration>,
        (secrets, veil): (Secrets, &Veil),
    ) -> Result<Loaded, Error> {
        let shown = secrets.members(&settings.extra_body);
        let Begun { engine, feed, scraper, origin } = self.begin(settings, folder, secrets)?;
        let started_utc = self.host.utc().iso();
        let ran = self.run(engine, feed, settings, name, folder, origin)?;
        let (scraped, unscraped) = apart(scraper.map_or_else(|| Ok(Scraped::default()), Scraper::stop));
        let interrupted = self.interrupted();
        let facts = |settings: &Settings, planned| {
            let mut facts = self.facts(settings, &ran.feed, &shown);
            facts.started_utc.clone_from(&started_utc);
            facts.planned = planned;
            facts
        };
        let met = ran.until.as_ref().is_some_and(|until| until.met);
        // A load that ended because its figure was known had no more to make.
        let own_facts = facts(settings, ran.feed.planned().filter(|_| !met));
        let shared = self.ranks.as_ref().filter(|ranks| ranks.is_head());
        let all_facts = shared.map(|ranks| {
            let mut facts = facts(&Settings { share: Share::default(), ..settings.clone() }, ran.feed.planned_by_all());
            if let Some(settings) = facts.settings.as_object_mut() {
                settings.insert("world".to_owned(), ranks.share().world.into());
            }
            facts
        });
        let Ran { report, mut stored, feed, until } = ran;
        let (fed, unfed) = apart(feed.finish());
        let mut failure = stored.failure.take().or(unfed).or(unscraped);
        let counted = Summary::count(own_facts, &mut stored)?;
        let evidence = evidence(&report, &stored, &counted, &fed, settings);
        let mut window_s = counted.span.map(|(from, to)| (seconds(from), seconds(to)));
        let mut summary = counted.certified(certificate::judge(&evidence, calibration));
        unasked(&mut summary, report.unasked);
        summary.ended_by = match (interrupted, met) {
            (true, _) => EndedBy::Stopped,
            (_, true) => EndedBy::Until,
            _ => fed.ended_by,
        };
        let gave_up = fed.gave_up.map(|failures| gave_up(failures, &summary));
        if let Some(why) = &gave_up {
            summary.valid = false;
            summary.invalid_because.push(why.clone());
        }
        summary.conversations = fed.figures;
        // First of all: it says why the load has this length.
        summary.notes.splice(0..0, until.as_ref().map(UntilReport::sentence));
        summary.until = until;
        if interrupted {
            summary.valid = false;
            summary.invalid_because.push("stopped before the end".to_owned());
        }
        // Before anything of it goes to rank 0, which may have been given another key.
        summary.hide(veil);
        if let Some(ranks) = &self.ranks {
            let first_late_ns = first_late(&mut stored, ranks.opened())?;
            let mut report = RankReport::of(&summary, &stored, first_late_ns, failure.as_ref());
            report.gave_up = gave_up;
            if let Some(facts) = all_facts.filter(|_| failure.is_none()) {
                let whole = ranks.gather(&mut stored, folder, report, &|| self.interrupted());
                match whole.and_then(|whole| count_all(facts, &mut stored, whole, evidence.wall_s, &summary)) {
                    Ok(all) => (summary, window_s) = all,
                    // The figures of the own share are there all the same.
                    Err(error) => failure = Some(error),
                }
            } else if !ranks.is_head() {
                ranks.hand_in(&mut stored, folder, report)?;
            }
        }
        summary.notes.extend(kept_cache(settings, &scraped, summary.completed, summary.input_tokens));
        summary.notes.extend(preempted(&scraped));
        summary.notes.extend(summary.conversations.as_ref().and_then(Figures::empty_answers));
        summary.notes.extend(fed.audit);
        if let Some(failure) = &failure {
            summary.valid = false;
            summary.invalid_because.push(failure.in_short());
        }
        summary.hide(veil);
        let unwritten = write_summary(folder, &summary).err();
        let loaded = Loaded { name: name.to_owned(), summary, interrupted, window_s };
        match failure.or(unwritten) {
            Some(failure) => {
                self.watcher.broken(&loaded);
                Err(failure)
            }
            None => Ok(loaded),
        }
    }

    /// Everything that has to be there before the first request. All clients of one load agree here on when it begins.
    fn begin(&self, settings: &Settings, folder: &Path, secrets: Secrets) -> Result<Begun, Error> {
        let engine = Engine::new(&self.target, &self.options(settings, secrets))?;
        let mut feed = Feed::new(self, settings, &engine.waker(), folder)?;
        // Of several clients one is enough to ask for the server's own counts.
        let scraper = if self.ranks.as_ref().is_none_or(|ranks| ranks.is_head()) {
            let (web, engine) = (&self.known.web, self.known.identity.engine);
            Some(Scraper::start(web, engine, &folder.join("metrics"), scrape::EVERY)?)
        } else {
            None
        };
        let origin = match &self.ranks {
            None => now(),
            Some(ranks) => {
                feed.begin_by(ranks.gate());
                ranks.agree(&feed.digest(), folder, &engine.waker(), &|| self.interrupted())?
            }
        };
        Ok(Begun { engine, feed, scraper, origin })
    }

    /// For the summary: what was asked for, and of which server. `shown` are the further members as they may be shown.
    fn facts(&self, settings: &Settings, feed: &Feed, shown: &Value) -> Facts {
        let mut facts = Facts::of(settings);
        facts.url = self.target.shown();
        facts.model = Some(self.known.model.id.clone());
        facts.settings = shown_settings::settings(settings, &self.known, feed.sha256(), shown);
        facts.notes.clone_from(&self.known.notes);
        facts.notes.extend(feed.notes());
        facts.loud.extend(feed.held_back());
        facts
    }

    /// The engine on its own thread, and the waiting for it here.
    fn run(
        &self,
        engine: Engine,
        mut feed: Feed,
        settings: &Settings,
        name: &str,
        folder: &Path,
        origin: Ns,
    ) -> Result<Ran, Error> {
        let (mut sink, store) = Store::begin(folder, origin)?;
        let control = Control::default();
        let waker = engine.waker();
        let planned = feed.planned_in_all();
        feed.count_times_from(origin);
        let cuts = (settings.ramp.map_or(0.0, |ramp| ramp.over_s), settings.cooldown_cut_s);
        let (report, sink, feed, until) = std::thread::scope(|scope| {
            let theirs = control.clone();
            let thread = std::thread::Builder::new().name("engine".to_owned()).spawn_scoped(scope, move || {
                let Some(until) = settings.until else {
                    let report = engine.run(feed.source(), &mut sink, &theirs);
                    feed.give_back(&mut sink, now());
                    return (report, sink, feed, None);
                };
                let bell = engine.waker();
                match until::watch(until, cuts, feed.source(), move || bell.wake()) {
                    Ok((mut watched, looker)) => {
                        let report = engine.run(&mut watched, &mut sink, &theirs);
                        drop(watched);
                        let (until, met_at) = looker.finish();
                        // What came due while the last answers were waited for was not wanted any more.
                        feed.give_back(&mut sink, met_at.unwrap_or_else(now));
                        (report, sink, feed, until)
                    }
                    Err(cause) => {
                        let error = Error::new(Kind::Preflight, "cannot start a thread").because(cause);
                        (Err(error), sink, feed, None)
                    }
                }
            });
            let thread = thread.map_err(|cause| Error::new(Kind::Preflight, "cannot start a thread").because(cause))?;
            let mut view = View::new(origin, name, planned, settings);
            let mut told = origin;
            while !thread.is_finished() {
                self.host.pause(LOOK);
                if self.interrupted()
                    && let Some(ranks) = &self.ranks
                {
                    ranks.stop("stopped before the end");
                }
                if self.interrupted() || store.failed() || self.ranks.as_ref().is_some_and(|ranks| ranks.stopped()) {
                    control.stop.store(true, Relaxed);
                    waker.wake();
                    // A pause ends at once from here on, and the engine needs a moment.
                    std::thread::sleep(Duration::from_millis(5));
                }
                control.progress.heard().iter().for_each(|news| self.watcher.say(news));
                let mut live = view.look(&control.progress, false);
                if let Some(ranks) = &self.ranks {
                    if live_is_due(&mut told) {
                        ranks.tell(&live);
                    }
                    live = ranks.together(live);
                }
                self.watcher.live(&live);
            }
            self.watcher.live(&view.look(&control.progress, true));
            if let Some(ranks) = &self.ranks {
                ranks.over();
            }
            thread
                .join()
                .map_err(|_| Error::new(Kind::Workload, "the thread that sends and reads stopped unexpectedly"))
        })?;
        let stored = store.finish(sink)?;
        Ok(Ran { report: report?, stored, feed, until })
    }

    pub(super) fn interrupted(&self) -> bool {
        self.host.interrupted() || self.stop.load(Relaxed)
    }

    /// What this load gives the server and nobody may repeat.
    pub(super) fn secrets_of(&self, settings: &Settings) -> Secrets {
        let mut secrets = self.secrets.clone();
        settings.headers.iter().for_each(|(name, value)| secrets.learn_header(name, value));
        secrets.learn_members(&settings.extra_body);
        secrets
    }

    fn options(&self, settings: &Settings, secrets: Secrets) -> Options {
        let (streams, ahead) = match settings.shape {
            Shape::Closed { concurrency } => {
                let own = settings.share.of(concurrency);
                (Some(u64::from(own)), own as usize)
            }
            Shape::Open { max_concurrency, .. } | Shape::Trace { max_concurrency, .. } => {
                let max_concurrency = max_concurrency.map(|most| settings.share.of(most));
                (max_concurrency.map(u64::from), max_concurrency.map_or(AHEAD, |most| AHEAD.min(most as usize)))
            }
        };
        let nanoseconds = |seconds: f64| (seconds * 1e9) as Ns;
        let ahead = settings.requests.map_or(ahead, |requests| ahead.min(usize::try_from(requests).unwrap_or(ahead)));
        Options {
            endpoint: settings.endpoint,
            headers: self.known.headers.clone(),
            key_header: settings.api_key_env.as_ref().and(settings.api_key_header.clone()),
            timeout: nanoseconds(settings.timeout_s),
            retries: settings.retries,
            preconnect: ahead,
            streams,
            drain: settings.duration_s.map(|_| nanoseconds(settings.drain_s)),
            trust: self.known.trust.clone(),
            secrets,
            ..Options::default()
        }
    }
}

/// Between two words of a rank on how far it is.
const TOLD_EVERY: Ns = 1_000_000_000;

/// Whether a second has gone by since `told`, which then is now.
fn live_is_due(told: &mut Ns) -> bool {
    let at = now();
    let due = at.saturating_sub(*told) >= TOLD_EVERY;
    if due {
        *told = at;
    }
    due
}

/// How long after its time the first measured request was sent, ns. In a closed loop its time is the beginning of the measured part.
fn first_late(stored: &mut Stored, opened: Option<Ns>) -> Result<Option<i64>, Error> {
    let mut first: Option<(Ns, Option<Ns>)> = None;
    stored.rows.each(|row| {
        if let Some(sent) = row.sent.filter(|sent| first.is_none_or(|(earliest, _)| *sent < earliest)) {
            first = Some((sent, row.intended));
        }
    })?;
    Ok(first.and_then(|(sent, intended)| Some(sent.wrapping_sub(intended.or(opened)?).cast_signed())))
}

fn write_summary(folder: &Path, summary: &Summary) -> Result<(), Error> {
    let path = folder.join(SUMMARY_FILE);
    std::fs::write(&path, summary.json()).map_err(|cause| {
        Error::archive(format!("cannot write '{}'", path.display()))
            .hint("free space on the disk of the archive. Without an archive, records are in TMPDIR or /tmp")
            .because(cause)
    })
}

/// The summary of all clients, from what all of them stored. `own` is that of this client's share.
fn count_all(
    facts: Facts,
    stored: &mut Stored,
    whole: Whole,
    wall_s: f64,
    own: &Summary,
) -> Result<(Summary, Option<(f64, f64)>), Error> {
    let counted = Summary::count(facts, stored)?;
    let window_s = counted.span.map(|(from, to)| (seconds(from), seconds(to)));
    let clients: Vec<_> = whole.reports.iter().map(|(rank, report)| (*rank, &report.client)).collect();
    let steady = counted.summary.steady.as_ref().and_then(|steady| Some((steady.target?, steady.concurrency_mean)));
    let (schedule, read) = (counted.schedule_lag_ms, counted.read_lag_ms);
    let mut summary = counted.certified(certificate::together(&clients, schedule, read, wall_s, steady));
    summary.conversations.clone_from(&own.conversations);
    summary.ended_by = own.ended_by;
    unasked(&mut summary, whole.reports.iter().map(|(_, report)| report.unasked).sum());
    for (rank, report) in &whole.reports {
        if let (1.., Some(theirs)) = (rank, &report.figures) {
            summary.conversations.get_or_insert_default().join(theirs);
        }
        if report.gave_up.is_some() {
            summary.ended_by = EndedBy::MaxErrors;
        }
        for why in report.failure.iter().chain(&report.gave_up) {
            summary.valid = false;
            summary.invalid_because.push(format!("rank {rank}: {why}"));
        }
    }
    if let Some(why) = &whole.broken {
        summary.valid = false;
        // What was cancelled was cancelled for this.
        summary.invalid_because.insert(0, why.clone());
    }
    summary.ranks = whole.lines;
    Ok((summary, window_s))
}

/// Why a load ended that did nothing but fail.
fn gave_up(failures: u64, summary: &Summary) -> String {
    let mut why = format!("it ended because the last {failures} requests all failed (see --max-errors)");
    if summary.not_sent > 0 {
        let _ = write!(why, ", and {} of {} planned requests were never sent", summary.not_sent, summary.planned);
    }
    why
}

/// Answers that nobody had asked for: any other may belong to another request.
fn unasked(summary: &mut Summary, answers: u64) {
    if answers == 0 {
        return;
    }
    let what = if answers == 1 { "an answer".to_owned() } else { format!("{answers} answers") };
    summary.unasked = answers;
    summary.valid = false;
    let why = "that nobody had asked for, so answers before it may belong to other requests";
    summary.invalid_because.push(format!("the server sent {what} {why}"));
}

/// Available results, and why some are missing. A file that cannot be written is no reason to lose the figures.
fn apart<T: Default>(result: Result<T, Error>) -> (T, Option<Error>) {
    result.map_or_else(|error| (T::default(), Some(error)), |found| (found, None))
}

/// Beginning of a note on a server that was short of memory.
pub const PREEMPTED: &str = "the server preempted";

/// Requests that lost their place in the KV cache and were recomputed.
fn preempted(scraped: &Scraped) -> Option<String> {
    let times = scraped.difference()?.preemptions.filter(|times| *times > 0.0)?;
    let what = if times == 1.0 { "a request once" } else { "requests" };
    let how_often = if times == 1.0 { String::new() } else { format!(" {times} times") };
    Some(format!(
        "{PREEMPTED} {what}{how_often}: its KV cache was full, so the latencies are those of a server without enough memory"
    ))
}

/// Evidence against the cache contract, or why it is undecided. The priming asks the same prompts once before, and the counters have both.
fn kept_cache(settings: &Settings, scraped: &Scraped, requests: u64, input_tokens: Option<u64>) -> Option<String> {
    let mut difference = scraped.difference();
    if let (Cache::Primed, Some(tokens)) = (settings.cache, input_tokens) {
        difference = difference.map(|difference| difference.without_priming(tokens as f64));
    }
    // A later turn finds the turns before it: what is cold is each conversation's beginning, which the counters do not tell apart.
    // Nor do they a shared head, which is meant to be found again.
    let shares = match &settings.work {
        Work::Conversations(_) => true,
        Work::Synthetic { prefix, .. } => prefix.tokens > 0,
        Work::Prompts { .. } => false,
    };
    let shares = shares || matches!(settings.shape, Shape::Trace { .. });
    let promised = if shares && settings.cache == Cache::Cold { Cache::Natural } else { settings.cache };
    let check = CacheCheck::judge(promised, difference.as_ref(), requests);
    match check.kept {
        PromiseOutcome::NotPromised => check.hit_rate.map(|_| check.words),
        _ => check.note(),
    }
}

/// Inputs of the certificate.
fn evidence(
    report: &EngineReport,
    stored: &Stored,
    counted: &crate::summary::Counted,
    fed: &FeedSummary,
    settings: &Settings,
) -> Evidence {
    let wall_s = seconds(report.ended.saturating_sub(report.began));
    let over = (STALL_MS * 1e6) as u64;
    let stalls = || report.stalls.iter_recorded().filter(move |value| value.value_iterated_to() > over);
    let closed = matches!(settings.shape, Shape::Closed { .. });
    let steady = counted.summary.steady.as_ref();
    Evidence {
        kernel_clock: counted.kernel_clock,
        // What waited at a cap that the user set was not late by our fault.
        capped: fed.waited > 0,
        schedule_lag_ms: counted.schedule_lag_ms,
        read_lag_ms: counted.read_lag_ms,
        ttft_p50_ms: counted.summary.ttft_ms.p50,
        wall_s,
        cpu_s: report.usage_after.process_cpu_s - report.usage_before.process_cpu_s,
        engine_cpu_s: Some(report.cpu_s()),
        busy: Some(report.busy),
        run_queue_s: report.run_queue_s(),
        involuntary_switches: Some(
            report.usage_after.involuntary_switches.saturating_sub(report.usage_before.involuntary_switches),
        ),
        stalls: stalls().map(|value| value.count_at_value()).sum(),
        stalled_s: stalls().map(|value| value.value_iterated_to() as f64 / 1e9 * value.count_at_value() as f64).sum(),
        longest_stall_ms: Some(report.stalls.max() as f64 / 1e6),
        store_waits: stored.waits,
        store_waited_s: stored.waited_s,
        descriptors: Some(report.in_flight_peak.max(report.opened.min(report.descriptors)))
            .zip(usage::open_descriptors())
            .map(|(connections, open)| connections + open),
        descriptors_limit: Some(report.descriptors),
        dropped: 0,
        bodies_late: fed.bodies_late,
        peak_rss_mib: report.usage_after.peak_rss_mib,
        concurrency: steady.filter(|_| closed).and_then(|steady| Some((steady.target?, steady.concurrency_mean))),
    }
}
