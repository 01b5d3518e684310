//! Tests of the method over a device that computes the results on the host and returns the given times.

use super::*;
use sparkbench_host::cuda::{Facts, Memory};

/// Computes like a GPU would. Its clock is what the test says.
struct Fake {
    facts: Facts,
    memory: Memory,
    /// Seconds of one launch by the device's clock, and by the host's.
    once_s: (f64, f64),
    /// Added to every value of the result.
    off: f64,
    /// Fails when this many launches were made.
    breaks_after: Option<u32>,
    loaded: Option<Kept>,
    launched: u32,
}

/// The part of a task that a fake keeps.
struct Kept {
    values: Vec<f64>,
    length: usize,
}

impl Fake {
    fn new() -> Self {
        Self {
            facts: Facts { name: "NVIDIA GB10".to_owned(), ..Facts::default() },
            memory: Memory { free: 8 << 30, total: 8 << 30 },
            once_s: (0.004, 0.004_1),
            off: 0.0,
            breaks_after: None,
            loaded: None,
            launched: 0,
        }
    }
}

impl Device for Fake {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn memory(&self) -> Result<Memory, Error> {
        Ok(self.memory)
    }

    fn load(&mut self, task: &Task<'_>) -> Result<(), Error> {
        // The values at the places that will be asked for, by the same formulas but through FP32 sums.
        let (length, value): (usize, Box<dyn Fn(usize) -> f64 + '_>) = match *task {
            Task::Gemm { n, precision, a, b } => (
                n * n,
                Box::new(move |place| {
                    let sum = (0..n).fold(0.0_f32, |sum, k| {
                        sum + a[(place % n + k * n) % a.len()] * b[(k + place / n * n) % b.len()]
                    });
                    f64::from(precision.round(sum))
                }),
            ),
            Task::Copy { values, pool } => (values, Box::new(move |place| f64::from(pool[place % pool.len()]))),
            Task::Gemv { rows, columns, pool, x } => (
                columns,
                Box::new(move |place| {
                    f64::from((0..rows).fold(0.0_f32, |sum, k| sum + pool[(k + place * rows) % pool.len()] * x[k]))
                }),
            ),
            Task::Asum { values, pool } => (1, Box::new(move |_| operand::asum(pool, values) * (1.0 + 1e-6))),
        };
        let values = operand::places(length).into_iter().map(|place| value(place) + self.off).collect();
        self.loaded = Some(Kept { values, length });
        Ok(())
    }

    fn run(&mut self, launches: u32, during: &mut dyn FnMut()) -> Result<Timed, Error> {
        self.launched += launches;
        if self.breaks_after.is_some_and(|limit| self.launched > limit) {
            return Err(Error::new(sparkbench_text::error::Kind::Workload, "the GPU failed while at work"));
        }
        during();
        let launches_s = f64::from(launches);
        Ok(Timed { launches, device_s: self.once_s.0 * launches_s, host_s: self.once_s.1 * launches_s })
    }

    fn peek(&mut self, places: &[usize]) -> Result<Vec<f64>, Error> {
        let kept = self.loaded.as_ref().unwrap();
        assert_eq!(places, operand::places(kept.length), "other places than the test worked out");
        Ok(kept.values.clone())
    }

    fn unload(&mut self) {
        self.loaded = None;
    }
}

fn small(precisions: &[Precision]) -> ProbePlan {
    ProbePlan { warmup_s: 0.02, ..ProbePlan::full(precisions, &[96], 5, Precision::Bf16) }
}

fn run(device: &mut Fake, plan: &ProbePlan) -> Report {
    let mut sample = || Some(GpuSample { sm_clock_mhz: Some(2418.0), ..GpuSample::default() });
    let mut around = ProbeContext { sample: &mut sample, available: &|| None, stop: &|| false, news: &|_| () };
    probe(device, plan, &mut around)
}

#[test]
fn rates_are_work_over_the_time_of_the_device() {
    let report = run(&mut Fake::new(), &small(&Precision::ALL));
    assert_eq!(report.faults(), Vec::<String>::new());
    // 2 x 96^3 operations in 4 ms.
    let rate = report.gemm().unwrap().rate().unwrap();
    assert!((rate - 2.0 * 96_f64.powi(3) / 0.004 / 1e12).abs() < 1e-15, "{rate}");
    // 1 GiB and one row and one column of 16384 in 4 ms. The copy reads and writes.
    let json = report.json();
    let gib = (1_u64 << 30) as f64;
    let read = (gib + 8.0 * 16384.0) / 0.004 / 1e9;
    assert!((json["metrics"]["memory_bandwidth_gb_s"].as_f64().unwrap() - read).abs() < 1e-9 * read);
    assert!((json["probe"]["copy_gb_s"].as_f64().unwrap() - 2.0 * gib / 0.004 / 1e9).abs() < 1e-6);
    assert_eq!(json["probe"]["parts"][0]["gpu_under_load"]["sm_clock_mhz"], 2418.0);
    // 10 ms of 4 ms launches.
    assert_eq!(json["probe"]["parts"][0]["launches_per_interval"], 3);
    assert_eq!(json["iterations"].as_array().unwrap().len(), 4 + 3);
}

#[test]
fn a_wrong_result_gives_no_rate_and_fails() {
    for off in [f64::NAN, f64::INFINITY, 5.0] {
        let report = run(&mut Fake { off, ..Fake::new() }, &small(&[Precision::Bf16]));
        let json = report.json();
        assert!(json["metrics"]["gemm_tflops"].is_null(), "{off}");
        assert!(report.faults()[0].contains("the result is wrong"), "{:?}", report.faults());
        assert!(report.table().contains("failed"));
        assert_eq!(json["probe"]["parts"][0]["rate"], serde_json::Value::Null);
    }
}

#[test]
fn a_part_that_does_not_fit_is_skipped_with_its_reason_and_is_no_failure() {
    let little = Memory { free: 300 << 20, total: 8 << 30 };
    let report = run(
        &mut Fake { memory: little, ..Fake::new() },
        &ProbePlan { parts: vec![Part::Gemm { precision: Precision::Bf16, n: 8192 }, Part::Copy], ..small(&[]) },
    );
    assert_eq!(report.faults(), Vec::<String>::new());
    assert!(report.notes().iter().all(|note| note.contains("skipped")), "{:?}", report.notes());
    assert!(report.json()["metrics"]["gemm_tflops"].is_null());
}

#[test]
fn a_smaller_product_does_not_stand_in_for_the_largest() {
    let little = Memory { free: 300 << 20, total: 8 << 30 };
    let gemm = |n| Part::Gemm { precision: Precision::Bf16, n };
    let plan = ProbePlan { parts: vec![gemm(96), gemm(8192)], ..small(&[]) };
    let report = run(&mut Fake { memory: little, ..Fake::new() }, &plan);
    assert!(report.results[0].rate().is_some());
    assert!(report.json()["metrics"]["gemm_tflops"].is_null());
}

#[test]
fn a_gpu_that_breaks_half_way_fails_the_part_and_keeps_what_was_measured() {
    let plan = small(&[Precision::Fp32, Precision::Bf16]);
    let whole = {
        let mut device = Fake::new();
        run(&mut device, &ProbePlan { parts: plan.parts[..1].to_vec(), ..plan.clone() });
        device.launched
    };
    let report = run(&mut Fake { breaks_after: Some(whole), ..Fake::new() }, &plan);
    assert!(report.results[0].rate().is_some());
    assert_eq!(report.faults().len(), plan.parts.len() - 1);
}

#[test]
fn an_interrupt_ends_every_part_that_is_left() {
    let asked = std::cell::Cell::new(0);
    // The first part begins and has one interval. Then someone asks to stop.
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 2
    };
    let mut around = ProbeContext { sample: &mut || None, available: &|| None, stop: &stop, news: &|_| () };
    let plan = small(&[Precision::Fp32, Precision::Bf16]);
    let report = probe(&mut Fake::new(), &plan, &mut around);
    assert_eq!(report.faults().len(), plan.parts.len());
    assert!(report.faults().iter().all(|fault| fault.ends_with("interrupted")), "{:?}", report.faults());
}

#[test]
fn clocks_that_disagree_are_marked() {
    // The device counts twice what passed. Half of what passed. No time at all.
    let marks_of = |once_s| run(&mut Fake { once_s, ..Fake::new() }, &small(&[Precision::Bf16])).notes();
    assert!(marks_of((0.008, 0.004)).iter().any(|note| note.contains("its clock is wrong")));
    assert!(marks_of((0.004, 0.008)).iter().any(|note| note.contains("host waited")));
    assert!(marks_of((0.004, 0.004_1)).is_empty());
    assert!(marks_of((0.0, 0.004)).iter().any(|note| note.contains("no time")));
}

#[test]
fn a_stuck_clock_is_told_from_a_healthy_gpu_by_a_large_product_alone() {
    let at = |n: usize, tflops: f64| {
        let device_s = plan::flops(n) / (tflops * 1e12);
        let measured = Measured {
            work: plan::flops(n),
            launches: 1,
            warmup_launches: 3,
            timed: vec![Timed { launches: 1, device_s, host_s: device_s }; 3],
            gpu: None,
            check: Check { places: 32, worst_error: 0.0, worst_share: 0.0, wrong: None },
            marks: Vec::new(),
        };
        let part = Part::Gemm { precision: Precision::Bf16, n };
        let mut report = Report::new(Fake::new().facts, &ProbePlan::quick());
        report.results.push(PartResult { part, outcome: PartOutcome::Measured(Box::new(measured)) });
        report
    };
    assert_eq!(at(8192, 91.6).health().unwrap().state, "healthy");
    assert!(at(8192, 91.6).notes().is_empty());
    assert_eq!(at(16384, 36.5).health().unwrap().state, "slow");
    assert!(at(16384, 36.5).notes()[0].contains("published"));
    assert_eq!(at(2048, 36.5).health(), None);
}

#[test]
fn launches_fill_an_interval_whatever_the_clock_says() {
    assert_eq!(launches_for(0.01, 0.1), 1);
    assert_eq!(launches_for(0.01, 0.003), 4);
    assert_eq!(launches_for(0.01, 0.0), MOST_LAUNCHES);
    assert_eq!(launches_for(0.01, 1e-12), MOST_LAUNCHES);
    assert_eq!(launches_for(0.01, f64::INFINITY), 1);
}
