//! A GPU through one `nvidia-smi` that stays and prints a line for each reading.
//!
//! In:  a host, the number of the GPU, an interval.  Out: [`Smi`], a [`Gpu`] for machines where the library cannot be loaded.
//! Not here: NVML itself (see `nvml`), the question which source is taken (see `open`).
//!
//! The child keeps its own time, so its lines drift against the caller. A reading therefore carries its age. The newest one is handed
//! over, and one that is too old is waited for. A child that ends is started again a few times, and every gap is noted.

pub mod cell;
pub mod columns;
pub mod query;
pub mod row;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use self::columns::{Choice, choose, known};
use self::row::Line;
use super::{Gpu, GpuIdentity, GpuProcess, GpuSample, Missing};
use crate::{Host, Lines, Question};
use sparkbench_model::Instant;
use sparkbench_text::error::{Error, Kind};

/// As found on the `PATH`.
pub const PROGRAM: &str = "nvidia-smi";

/// The first line may have to wait for the driver to be loaded.
const FIRST_LINE: Duration = Duration::from_secs(15);
/// A child that is silent for this time, or for [`SILENT_INTERVALS`], counts as failed.
const SILENT: Duration = Duration::from_secs(20);
/// See [`SILENT`].
const SILENT_INTERVALS: u32 = 10;
/// Pause before each new start, counted from the end of the child before. As many starts as there are pauses within [`WINDOW`]: a
/// driver that was reloaded comes back, one that is broken does not.
const PAUSES: &[Duration] = &[Duration::ZERO, Duration::from_secs(5), Duration::from_secs(30)];
/// See [`PAUSES`].
const WINDOW: Duration = Duration::from_secs(600);
/// Permitted delay of a reading beyond half an interval.
const TARDY: Duration = Duration::from_millis(50);
/// Longest wait for a reading, whatever the interval.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// Gaps told one by one at most.
const GAPS: usize = 20;

/// See the module.
pub struct Smi {
    host: Arc<dyn Host>,
    index: u32,
    interval: Duration,
    choice: Choice,
    help: String,
    performance: String,
    identity: GpuIdentity,
    missing: Missing,
    child: Option<Box<dyn Lines>>,
    /// Newest reading, the driver's time for it, and when we read it.
    last: Option<(GpuSample, Option<Instant>, Duration)>,
    /// When the child last said anything.
    heard: Duration,
    /// Last other output of the child.
    words: Option<String>,
    /// Moments of new starts.
    starts: Vec<Duration>,
    /// When the child ended, and why.
    ended: Option<(Duration, String)>,
    gaps: Vec<String>,
    cut_short: u64,
    /// Processor time of children that have ended.
    past_cpu: Duration,
    /// Processor time of this child, as last read: of one that has ended nothing can be read any more.
    child_cpu: Duration,
}

impl Smi {
    /// Asks once what this version can do and what the GPU is, then starts the child and waits for its first reading.
    ///
    /// # Errors
    /// When `nvidia-smi` is not there, fails, or prints no reading.
    pub fn open(host: Arc<dyn Host>, index: u32, interval: Duration) -> Result<Self, Error> {
        let help = query::ask(host.as_ref(), &["--help-query-gpu"])?;
        let names = known(&help);
        let choice = choose(&names);
        let mut identity = query::identity(host.as_ref(), index, &names)?;
        // An old version that does not know the word still works.
        let performance = query::performance(host.as_ref(), index).unwrap_or_default();
        identity.cuda = query::cuda(&performance);
        let mut missing = Missing::default();
        missing.note("energy_mj", "nvidia-smi has no column for it");
        missing.note(
            "gpu_processes_mib",
            "nvidia-smi is asked for processes before and after a run, not with each sample",
        );
        for field in &choice.lacking {
            missing.note(field, "this version of nvidia-smi has no such column");
        }
        let now = host.monotonic();
        let mut smi = Self {
            host,
            index,
            interval,
            choice,
            help,
            performance,
            identity,
            missing,
            child: None,
            last: None,
            heard: now,
            words: None,
            starts: Vec::new(),
            ended: None,
            gaps: Vec::new(),
            cut_short: 0,
            past_cpu: Duration::ZERO,
            child_cpu: Duration::ZERO,
        };
        smi.start()?;
        smi.first()?;
        Ok(smi)
    }

    /// One-time queries, for the archive: name of a file and its text. No serial number and no UUID is in it.
    pub fn raw(&self) -> BTreeMap<String, String> {
        let columns = self.choice.columns.iter().map(|(_, name)| format!("{name}\n")).collect();
        BTreeMap::from([
            ("nvidia-smi-help-query-gpu.txt".to_owned(), self.help.clone()),
            ("nvidia-smi-performance.txt".to_owned(), self.performance.clone()),
            ("nvidia-smi-columns.txt".to_owned(), columns),
        ])
    }

    fn start(&mut self) -> Result<(), Error> {
        let argv = [
            PROGRAM.to_owned(),
            "-i".to_owned(),
            self.index.to_string(),
            format!("--query-gpu={}", self.choice.names()),
            "--format=csv,noheader,nounits".to_owned(),
            // Less than a millisecond would be no pause at all.
            format!("--loop-ms={}", self.interval.as_millis().max(1)),
        ];
        self.heard = self.host.monotonic();
        self.words = None;
        let child = self.host.follow(&Question::new(argv));
        self.child = Some(child.map_err(|cause| {
            Error::new(Kind::Preflight, format!("cannot start '{PROGRAM}'"))
                .hint("install the driver's utilities, or put nvidia-smi on the PATH")
                .because(cause)
        })?);
        Ok(())
    }

    /// The first reading, which shows that the columns are right.
    fn first(&mut self) -> Result<(), Error> {
        let until = self.host.monotonic() + FIRST_LINE;
        while self.last.is_none() {
            let left = until.saturating_sub(self.host.monotonic());
            if left.is_zero() {
                return Err(self.gone("it has printed no reading within 15 seconds"));
            }
            if let Err(cause) = self.listen(left) {
                if self.last.is_none() {
                    return Err(self.gone(&cause));
                }
                // It has shown that the columns are right, and is started again when its turn comes.
                self.lost(cause);
            }
        }
        Ok(())
    }

    /// Takes the lines that are there, waiting for the first one at most `limit`. The error is the child's end.
    fn listen(&mut self, limit: Duration) -> Result<(), String> {
        let mut wait = limit;
        loop {
            let Some(child) = &mut self.child else { return Err("it is not running".to_owned()) };
            let line = match child.next_line(wait) {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(()),
                Err(cause) => {
                    let said = self.words.take().map(|words| format!("it said '{words}', ")).unwrap_or_default();
                    return Err(format!("{said}{cause}"));
                }
            };
            // Only what has already been printed is drained without waiting.
            wait = Duration::ZERO;
            self.heard = self.host.monotonic();
            match row::read(&line, &self.choice.columns, self.index, &mut self.missing) {
                Line::Reading(sample, time) => self.last = Some((*sample, time, self.heard)),
                Line::Words(words) => {
                    // A line cut short begins like a reading. Words are for people.
                    if words.starts_with(|letter: char| letter.is_ascii_digit()) {
                        self.cut_short += 1;
                    }
                    self.words = Some(words.chars().take(200).collect());
                }
                Line::Other | Line::Blank => {}
            }
        }
    }

    /// The newest reading and its age.
    fn newest(&self) -> Option<GpuSample> {
        let (sample, time, read) = self.last.as_ref()?;
        // Without a time of the driver's own the age is at least the time since the line was read.
        let since = (self.host.monotonic().saturating_sub(*read)).as_secs_f64() * 1000.0;
        let age = time.and_then(|time| row::age_ms(time, self.host.utc())).unwrap_or(since);
        Some(GpuSample { age_ms: Some(age), ..sample.clone() })
    }

    /// Whether a reading may stand for this moment: the child is on time up to half an interval.
    fn fresh(&self, sample: &GpuSample) -> bool {
        let limit = (self.interval * 3 / 2 + TARDY).as_secs_f64() * 1000.0;
        sample.age_ms.is_some_and(|age| age <= limit)
    }

    fn silent(&self) -> Option<Duration> {
        let since = self.host.monotonic().saturating_sub(self.heard);
        (since > SILENT.max(self.interval * SILENT_INTERVALS)).then_some(since)
    }

    /// Ends the child, and keeps what it cost.
    fn end_child(&mut self) {
        if let Some(child) = self.child.take() {
            self.past_cpu += child.cpu().unwrap_or(self.child_cpu);
            self.child_cpu = Duration::ZERO;
        }
    }

    /// Notes the end of the child, once.
    fn lost(&mut self, cause: String) {
        if self.child.is_some() {
            self.end_child();
            self.ended = Some((self.host.monotonic(), cause));
        }
    }

    /// Starts a child again when its turn has come. The error says when that will be, or that it will not.
    fn revive(&mut self) -> Result<(), Error> {
        let now = self.host.monotonic();
        let (at, cause) = self.ended.clone().unwrap_or((now, "it is not running".to_owned()));
        self.starts.retain(|start| now.saturating_sub(*start) < WINDOW);
        let Some(pause) = PAUSES.get(self.starts.len()) else {
            return Err(self.gone(&format!("{cause}. Started again {} times in vain", PAUSES.len())));
        };
        if now < at + *pause {
            return Err(self.gone(&format!("{cause}. It will be started again")));
        }
        self.starts.push(now);
        self.start()?;
        if self.gaps.len() < GAPS {
            let missed = now.saturating_sub(at).as_secs_f64();
            self.gaps.push(format!(
                "{}: nvidia-smi had ended ({cause}) and was started again after {missed:.1} s",
                self.host.utc().iso()
            ));
        }
        Ok(())
    }

    fn gone(&self, cause: &str) -> Error {
        Error::new(Kind::Preflight, "nvidia-smi gives no readings")
            .detail(cause)
            .hint("run 'nvidia-smi' by hand. Look for Xid or NVRM in the kernel log")
    }
}

impl Gpu for Smi {
    fn source(&self) -> &'static str {
        PROGRAM
    }

    fn identity(&self) -> GpuIdentity {
        self.identity.clone()
    }

    fn sample(&mut self) -> Result<GpuSample, Error> {
        if self.child.is_none() {
            self.revive()?;
        }
        // One turn of the child and a half: after a long time unasked it may have been held up by a full pipe.
        let until = self.host.monotonic() + (self.interval * 3 / 2 + TARDY).min(LONGEST_WAIT);
        let mut wait = Duration::ZERO;
        loop {
            if let Err(cause) = self.listen(wait) {
                self.lost(cause.clone());
                return Err(self.gone(&cause));
            }
            self.child_cpu = self.child.as_ref().and_then(|child| child.cpu()).unwrap_or(self.child_cpu);
            let newest = self.newest();
            if let Some(sample) = newest.filter(|sample| self.fresh(sample)) {
                return Ok(sample);
            }
            wait = until.saturating_sub(self.host.monotonic());
            if wait.is_zero() || self.host.interrupted() {
                break;
            }
        }
        if let Some(since) = self.silent() {
            let cause = format!("it has been silent for {:.0} s", since.as_secs_f64());
            self.lost(cause.clone());
            return Err(self.gone(&cause));
        }
        Err(self.gone("its newest reading is too old"))
    }

    fn absent(&self) -> BTreeMap<String, String> {
        let mut absent = self.missing.reasons();
        let mut gaps = self.gaps.clone();
        if self.cut_short > 0 {
            gaps.push(format!("{} lines were cut short and passed over", self.cut_short));
        }
        if !gaps.is_empty() {
            absent.insert("gpu_gaps".to_owned(), gaps.join("; "));
        }
        absent
    }

    fn processes(&mut self) -> Result<Vec<GpuProcess>, Error> {
        query::processes(self.host.as_ref(), self.index)
    }

    fn throttle_counters(&mut self) -> BTreeMap<String, u64> {
        query::performance(self.host.as_ref(), self.index).map(|text| query::counters(&text)).unwrap_or_default()
    }

    fn child_cpu_s(&self) -> f64 {
        (self.past_cpu + self.child_cpu).as_secs_f64()
    }

    fn set_interval(&mut self, interval: Duration) -> Result<(), Error> {
        if interval == self.interval && self.child.is_some() {
            return Ok(());
        }
        self.interval = interval;
        self.end_child();
        // The first reading at the new pace may take as long as loading the driver does. The next question waits for it.
        self.last = None;
        self.start()?;
        self.first()
    }
}
