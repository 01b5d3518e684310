//! The steps of a probe, part by part: load, warm up, time, read the GPU while it works, check the result.
//!
//! In:  a device, a wish.  Out: [`Report`], in which each part is measured, skipped with its reason, or failed with its reason.
//! Not here: the driver (see `host::cuda`), files, tables.

use super::operand;
use super::plan::{self, GEMV_ROWS, Part, ProbePlan, buffer_values, room, too_large};
use super::report::{Check, Measured, PartOutcome, PartResult, Report};
use sparkbench_host::cuda::{Device, Precision, Task, Timed};
use sparkbench_host::gpu::GpuSample;
use sparkbench_text::error::{Error, Kind};

/// Launches before the first timed interval at least: the first loads the kernel, the second shows how long one takes.
const LEAST_WARMUP: u32 = 3;
/// Launches in one interval at most.
const MOST_LAUNCHES: u32 = 10_000;
/// Device time may exceed the host time around it by this share: the resolution of the events.
const DEVICE_OVER_HOST: f64 = 0.01;
/// Host time may exceed the device time inside it by this share and this long: start of the first launch, end of the wait.
const HOST_OVER_DEVICE: (f64, f64) = (0.10, 0.000_5);

/// Inputs of a probe beside the device.
pub struct ProbeContext<'a> {
    /// A reading of the GPU while it works. Nothing where no driver reads it.
    pub sample: &'a mut dyn FnMut() -> Option<GpuSample>,
    /// `MemAvailable` of the host, bytes.
    pub available: &'a dyn Fn() -> Option<u64>,
    /// Whether someone asked to stop. Looked at between intervals.
    pub stop: &'a dyn Fn() -> bool,
    /// Told what is measured now.
    pub news: &'a dyn Fn(&str),
}

/// Measures everything wished for. A part that fails does not end the probe.
pub fn probe(device: &mut dyn Device, plan: &ProbePlan, around: &mut ProbeContext<'_>) -> Report {
    let mut report = Report::new(device.facts().clone(), plan);
    // Operands are made once for each precision.
    let mut pools: Option<(Precision, Vec<f32>, Vec<f32>)> = None;
    for part in &plan.parts {
        let precision = match part {
            Part::Gemm { precision, .. } => *precision,
            Part::Copy | Part::ReadGemv | Part::ReadAsum => Precision::Fp32,
        };
        if pools.as_ref().is_none_or(|(made, ..)| *made != precision) {
            let of = |seed| operand::pool(seed, operand::POOL, precision);
            pools = Some((precision, of(1), of(2)));
        }
        let Some((_, a, b)) = &pools else { continue };
        let space = device.memory().map(|memory| room(device.facts(), memory, (around.available)()));
        let outcome = match space.map(|space| job(*part, space, a, b)) {
            Err(error) => PartOutcome::Failed(error.in_short()),
            Ok(Err(why)) => PartOutcome::Skipped(why),
            Ok(Ok(job)) => {
                (around.news)(&job.name);
                match measure(device, &job, plan, around) {
                    Ok(measured) => PartOutcome::Measured(Box::new(measured)),
                    Err(error) => PartOutcome::Failed(error.in_short()),
                }
            }
        };
        device.unload();
        report.results.push(PartResult { part: *part, outcome });
    }
    report
}

/// One part made concrete.
struct Job<'a> {
    name: String,
    task: Task<'a>,
    /// Operations or bytes of one launch.
    work: f64,
    /// Places of the result.
    places: Vec<usize>,
}

impl Job<'_> {
    /// Expected value of a place, and its tolerance.
    fn expected(&self, place: usize) -> (f64, f64) {
        match &self.task {
            Task::Gemm { n, precision, a, b } => {
                let exact = operand::gemm(a, b, *n, place);
                (exact, operand::allowance(*precision, *n, exact))
            }
            Task::Copy { pool, .. } => (operand::at(pool, place), 0.0),
            Task::Gemv { rows, pool, x, .. } => {
                let exact = operand::gemv(pool, x, *rows, place);
                (exact, operand::allowance(Precision::Fp32, *rows, exact))
            }
            Task::Asum { values, pool } => {
                let exact = operand::asum(pool, *values);
                (exact, exact * operand::SUM_SHARE)
            }
        }
    }
}

fn job<'a>(part: Part, space: plan::Room, a: &'a [f32], b: &'a [f32]) -> Result<Job<'a>, String> {
    match part {
        Part::Gemm { precision, n } => {
            if let Some(why) = too_large(precision, n, space) {
                return Err(why);
            }
            let task = Task::Gemm { n, precision, a, b };
            let name = format!("product of {n} x {n} in {}", precision.name());
            Ok(Job { name, task, work: plan::flops(n), places: operand::places(n * n) })
        }
        Part::Copy => {
            let values = buffer_values(space, 2)?;
            let task = Task::Copy { values, pool: a };
            let places = operand::places(values);
            Ok(Job { name: "copy within the GPU".to_owned(), task, work: 8.0 * values as f64, places })
        }
        Part::ReadGemv => {
            let values = buffer_values(space, 1)?;
            let (rows, columns) = (GEMV_ROWS, values / GEMV_ROWS);
            let x = b.get(..rows).ok_or("the pool is shorter than a column")?;
            let task = Task::Gemv { rows, columns, pool: a, x };
            let bytes = 4.0 * (values + rows + columns) as f64;
            Ok(Job { name: "read by sgemv".to_owned(), task, work: bytes, places: operand::places(columns) })
        }
        Part::ReadAsum => {
            let values = buffer_values(space, 1)?;
            let task = Task::Asum { values, pool: a };
            Ok(Job { name: "read by sasum".to_owned(), task, work: 4.0 * values as f64, places: vec![0] })
        }
    }
}

fn measure(
    device: &mut dyn Device,
    job: &Job<'_>,
    plan: &ProbePlan,
    around: &mut ProbeContext<'_>,
) -> Result<Measured, Error> {
    unless_stopped(around)?;
    device.load(&job.task)?;
    let (warmup_launches, once_s) = warm_up(device, plan)?;
    let launches = launches_for(plan.interval_s, once_s);
    let mut timed = Vec::new();
    for _ in 0..plan.iterations {
        unless_stopped(around)?;
        timed.push(device.run(launches, &mut || ())?);
    }
    // One more interval, not counted, in which the GPU is read while it is still loaded.
    let mut gpu = None;
    device.run(launches, &mut || gpu = (around.sample)())?;
    let check = check(device, job)?;
    let marks = marks(&timed);
    Ok(Measured { work: job.work, launches, warmup_launches, timed, gpu, check, marks })
}

fn unless_stopped(around: &ProbeContext<'_>) -> Result<(), Error> {
    if (around.stop)() { Err(Error::new(Kind::Workload, "interrupted")) } else { Ok(()) }
}

/// Launches until the clocks have had time to rise. Gives their number, and the device seconds of one launch at the end.
fn warm_up(device: &mut dyn Device, plan: &ProbePlan) -> Result<(u32, f64), Error> {
    let (mut launches, mut spent_s, mut once_s) = (0_u32, 0.0, 0.0);
    let mut batch = 1;
    while launches < LEAST_WARMUP || spent_s < plan.warmup_s {
        let timed = device.run(batch, &mut || ())?;
        launches = launches.saturating_add(batch);
        // A clock that stands still must not make this loop endless.
        spent_s += timed.host_s.max(1e-6 * f64::from(batch));
        once_s = timed.device_s / f64::from(batch);
        // The first launches carry the loading of the kernel. After them batches are of the length that is timed later.
        batch = if launches < LEAST_WARMUP - 1 { 1 } else { launches_for(plan.interval_s, once_s) };
    }
    Ok((launches, once_s))
}

/// Launches that fill an interval.
fn launches_for(interval_s: f64, once_s: f64) -> u32 {
    if once_s <= 0.0 {
        return MOST_LAUNCHES;
    }
    // Within 1 to MOST_LAUNCHES by the clamp, so the cast keeps the value.
    (interval_s / once_s).ceil().clamp(1.0, f64::from(MOST_LAUNCHES)) as u32
}

fn check(device: &mut dyn Device, job: &Job<'_>) -> Result<Check, Error> {
    let values = device.peek(&job.places)?;
    let mut check = Check { places: values.len(), worst_error: 0.0, worst_share: 0.0, wrong: None };
    for (place, value) in job.places.iter().zip(&values) {
        let (exact, allowed) = job.expected(*place);
        let error = (value - exact).abs();
        // Written so that a value that is no number counts as wrong.
        let right = error <= allowed;
        if !right && check.wrong.is_none() {
            check.wrong = Some(format!("place {place} holds {value}, expected {exact} within {allowed:.3e}"));
        }
        check.worst_error = check.worst_error.max(error);
        if allowed > 0.0 {
            check.worst_share = check.worst_share.max(error / allowed);
        }
    }
    if values.len() != job.places.len() {
        check.wrong = Some(format!("{} of {} places could be read", values.len(), job.places.len()));
    }
    Ok(check)
}

/// Oddities of the times: the device's clock against the host's.
fn marks(timed: &[Timed]) -> Vec<String> {
    let longer = timed.iter().filter(|t| t.device_s > t.host_s * (1.0 + DEVICE_OVER_HOST)).count();
    let (share, fixed) = HOST_OVER_DEVICE;
    let shorter = timed.iter().filter(|t| t.host_s > t.device_s * (1.0 + share) + fixed).count();
    let n = timed.len();
    let mut marks = Vec::new();
    if longer > 0 {
        marks.push(format!(
            "in {longer} of {n} intervals the device counts more time than passed on the host: its clock is wrong"
        ));
    }
    if shorter > 0 {
        marks.push(format!(
            "in {shorter} of {n} intervals the host waited over {:.0} % longer than the device counts: \
             the host was busy, or the device's clock runs slow",
            share * 100.0
        ));
    }
    marks
}

#[cfg(test)]
#[path = "method_tests.rs"]
mod tests;
