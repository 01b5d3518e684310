//! The thread that talks to the driver.
//!
//! In:  a GPU, questions.  Out: answers, or that there is none yet.
//! Not here: when to ask, how answers are used.
//!
//! A driver in trouble may not come back from a call for minutes. Then this thread stands still, and nothing else does.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sparkbench_host::Host;
use sparkbench_host::gpu::{GpuSample, SharedGpu};

/// An answer and what it cost so far.
struct Answer {
    question: u64,
    reading: Result<GpuSample, String>,
    cost: Cost,
}

/// Processor time since the first question.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub thread: Duration,
    /// Of a child of the source, seconds.
    pub child_s: f64,
}

/// See the module.
pub(super) struct Worker {
    ask: Sender<u64>,
    answers: Receiver<Answer>,
    question: u64,
    /// Whether the last question is still open, and when it was asked.
    open: Option<Duration>,
    cost: Cost,
}

impl Worker {
    /// Starts the thread, which first brings the source to the interval.
    pub(super) fn start(host: Arc<dyn Host>, gpu: SharedGpu, interval: Duration) -> Self {
        let (ask, questions) = mpsc::channel();
        let (give, answers) = mpsc::channel();
        std::thread::spawn(move || serve(host.as_ref(), &gpu, interval, &questions, &give));
        Self { ask, answers, question: 0, open: None, cost: Cost::default() }
    }

    /// Asks for a reading, unless the last question is still open.
    pub(super) fn ask(&mut self, now: Duration) {
        while let Ok(answer) = self.answers.try_recv() {
            // It came too late for its sample, and does not count for this one.
            self.close(&answer);
        }
        if self.open.is_none() {
            self.question += 1;
            // A thread that has gone is told from its silence.
            let _ = self.ask.send(self.question);
            self.open = Some(now);
        }
    }

    /// The reading that was asked for, waiting at most `limit`. Else why there is none.
    pub(super) fn answer(&mut self, now: Duration, limit: Duration) -> Result<GpuSample, String> {
        let asked = self.open.unwrap_or(now);
        if asked < now {
            return Err(silence(now.saturating_sub(asked)));
        }
        match self.answers.recv_timeout(limit) {
            Ok(answer) => {
                self.close(&answer);
                answer.reading
            }
            Err(RecvTimeoutError::Timeout) => Err(silence(limit)),
            Err(RecvTimeoutError::Disconnected) => Err("the thread that asks the driver has ended".to_owned()),
        }
    }

    /// Its cost up to the last answer.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    fn close(&mut self, answer: &Answer) {
        self.cost = answer.cost;
        if answer.question == self.question {
            self.open = None;
        }
    }
}

fn silence(time: Duration) -> String {
    format!("the driver had not answered after {} ms", time.as_millis())
}

fn serve(host: &dyn Host, gpu: &SharedGpu, interval: Duration, questions: &Receiver<u64>, give: &Sender<Answer>) {
    let lock = || gpu.lock().unwrap_or_else(PoisonError::into_inner);
    let before = lock().child_cpu_s();
    // When it cannot be changed over, the first reading says so.
    let mut trouble = lock().set_interval(interval).err();
    while let Ok(question) = questions.recv() {
        let mut gpu = lock();
        let reading = trouble.take().map_or_else(|| gpu.sample(), Err);
        let reading = reading.map_err(|error| {
            let detail = error.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            format!("{}{detail}", error.what)
        });
        let cost = Cost { thread: host.thread_cpu(), child_s: gpu.child_cpu_s() - before };
        drop(gpu);
        if give.send(Answer { question, reading, cost }).is_err() {
            return;
        }
    }
}
