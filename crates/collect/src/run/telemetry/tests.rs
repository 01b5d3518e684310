//! The sampler as a whole: real threads, a replayed or the real machine, a GPU made of words.

use std::collections::VecDeque;

use super::*;
use sparkbench_host::gpu::{Gpu, GpuIdentity, GpuProcess, GpuSample};
use sparkbench_host::machine::Machine;
use sparkbench_host::replay::Replay;
use sparkbench_ingest::SourceFile;
use sparkbench_testing::{Folder, until};
use sparkbench_text::error::Kind;

/// A GPU that answers with what it was given, and the last answer again and again.
struct Told {
    answers: VecDeque<Result<GpuSample, &'static str>>,
    /// A driver that does not come back from a call as long as the other end is held.
    stuck: Option<Receiver<()>>,
    interval: Duration,
}

impl Gpu for Told {
    fn source(&self) -> &'static str {
        "told"
    }
    fn identity(&self) -> GpuIdentity {
        GpuIdentity::default()
    }
    fn sample(&mut self) -> Result<GpuSample, Error> {
        if let Some(end) = &self.stuck {
            let _ = end.recv();
        }
        let answer = if self.answers.len() > 1 { self.answers.pop_front() } else { self.answers.front().cloned() };
        answer.unwrap_or(Err("nothing")).map_err(|what| Error::new(Kind::Preflight, what))
    }
    fn absent(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("memory_used_mib".to_owned(), "not supported".to_owned()),
            ("gpu_c".to_owned(), "a noisy sensor".to_owned()),
        ])
    }
    fn processes(&mut self) -> Result<Vec<GpuProcess>, Error> {
        Ok(Vec::new())
    }
    fn throttle_counters(&mut self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
    fn child_cpu_s(&self) -> f64 {
        0.0
    }
    fn set_interval(&mut self, interval: Duration) -> Result<(), Error> {
        self.interval = interval;
        Ok(())
    }
}

fn told(answers: Vec<Result<GpuSample, &'static str>>, stuck: Option<Receiver<()>>) -> SharedGpu {
    Arc::new(Mutex::new(Box::new(Told { answers: answers.into(), stuck, interval: Duration::ZERO })))
}

fn reading(power_w: f64, temp_c: Option<f64>) -> GpuSample {
    GpuSample { power_w: Some(power_w), temp_c, ..GpuSample::default() }
}

const FILE: &str = "telemetry.csv";

fn start(host: Arc<dyn Host>, gpu: Option<SharedGpu>, interval_ms: u64, folder: &Folder) -> Sampler {
    let tree = Arc::new(Mutex::new(TreeSource { pids: vec![std::process::id()], ..TreeSource::default() }));
    let file = Appender::create(&folder.join(FILE)).unwrap();
    Sampler::start(host, gpu, Duration::from_millis(interval_ms), file, tree).unwrap()
}

/// Waits for rows, not for time.
fn wait_for(sampler: &Sampler, rows: usize) {
    until("the sampler takes rows", || sampler.shared.buffer().rows.len() >= rows);
}

fn power(row: &Row) -> Option<f64> {
    row.gpu.as_ref()?.power_w
}

#[test]
fn the_interval_is_the_suite_s_or_follows_from_the_length_of_the_run() {
    let asked = |interval_s| TelemetrySettings { interval_s, ..TelemetrySettings::default() };
    let ms = |settings: &TelemetrySettings, expected| interval_for(settings, expected).as_millis();
    assert_eq!((ms(&asked(None), None), ms(&asked(None), Some(30.0)), ms(&asked(None), Some(29.9))), (1000, 1000, 100));
    assert_eq!(ms(&asked(Some(0.25)), Some(5.0)), 250);
    for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(ms(&asked(Some(nonsense)), None), 1000, "{nonsense}");
    }
}

#[test]
fn the_file_of_this_machine_is_read_back_by_the_analysis() {
    let folder = Folder::new("telemetry");
    let samples = vec![Ok(reading(4.5, Some(38.0))), Err("a hiccup"), Ok(reading(90.25, None))];
    let sampler = start(Arc::new(Machine::new().unwrap()), Some(told(samples, None)), 200, &folder);
    wait_for(&sampler, 5);
    // The driver is asked in a thread of its own, which may come too late for a row. All three answers have been given by then.
    until("the last reading is in a row", || sampler.latest().as_ref().and_then(power) == Some(90.25));
    assert!(sampler.latest().unwrap().host.memory_available_mib.unwrap() > 1.0);
    let taken = sampler.take_new().len();
    let stopped = sampler.stop();
    assert!(stopped.failure.is_none());
    assert!(taken >= 5 && stopped.rows.len() >= taken);
    assert_eq!(stopped.wire.gpu_source, "told");
    assert_eq!((stopped.wire.samples as usize, stopped.wire.interval_s), (stopped.rows.len(), 0.2));
    assert!(stopped.wire.cpu_s > 0.0 && stopped.wire.cpu_pct > 0.0 && stopped.wire.longest_ms > 0.0);
    // Rows: on a grid, our own memory in the tree.
    assert!(stopped.rows.windows(2).all(|pair| pair[1].monotonic_s > pair[0].monotonic_s));
    assert!(stopped.rows[0].tree.rss_mib.unwrap() > 1.0);
    // What stayed empty says why.
    assert_eq!(stopped.absent["memory_used_mib"], "not supported");
    let powers: Vec<Option<f64>> = stopped.rows.iter().map(power).collect();
    let unread = powers.iter().filter(|power| power.is_none()).count();
    let why = &stopped.absent["gpu"];
    assert!(unread >= 1, "the hiccup: {powers:?}");
    assert!(why.starts_with(&format!("no reading in {unread} of {} samples: ", powers.len())), "{why}");
    assert!(why.ends_with("a hiccup") || why.contains("the driver had not answered after"), "{why}");
    assert!(stopped.absent["gpu_c"].ends_with("a noisy sensor"), "{}", stopped.absent["gpu_c"]);
    assert!(!stopped.absent.contains_key("power_w") && !stopped.absent.contains_key("host_memory_free_mib"));

    let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
    let mut bytes = text.as_bytes();
    let mut file = SourceFile::new("runs/a/telemetry.csv", text.len() as u64, &mut bytes);
    let csv = sparkbench_ingest::FORMATS.iter().find(|format| format.name() == "telemetry-csv").unwrap();
    let parsed = csv.parse(&mut file).unwrap();
    assert!(parsed.left_out.is_empty(), "{:?}", parsed.left_out);
    let Some(sparkbench_ingest::Record::Run(partial)) = parsed.records.into_iter().next() else { panic!("no piece") };
    assert_eq!(partial.telemetry.len(), stopped.rows.len());
    for (read, row) in partial.telemetry.iter().zip(&stopped.rows) {
        assert_eq!((read.at, read.power_w, read.memory_used_mib), (row.utc, power(row), None));
        // The first answer alone has a temperature.
        assert_eq!(read.gpu_c, power(row).filter(|power| *power < 90.0).map(|_| 38.0));
    }
    // What the driver said, in its order: the first answer or none, then the last again and again.
    let said: Vec<f64> = powers.into_iter().flatten().collect();
    assert!(said.iter().all(|power| [4.5, 90.25].contains(power)) && said.is_sorted(), "{said:?}");
    assert!(said.iter().filter(|power| **power < 90.0).count() <= 1, "{said:?}");
}

#[test]
fn a_driver_that_does_not_answer_costs_its_own_columns_only() {
    let folder = Folder::new("telemetry");
    let (answers, stuck) = mpsc::channel();
    let gpu = told(vec![Ok(reading(1.0, None))], Some(stuck));
    let sampler = start(Arc::new(Machine::new().unwrap()), Some(gpu), 20, &folder);
    wait_for(&sampler, 6);
    // The end does not wait for the driver, which answers behind it.
    let stopped = sampler.stop();
    drop(answers);
    assert!(stopped.rows.len() >= 6);
    assert!(stopped.rows.iter().all(|row| row.gpu.is_none() && row.host.memory_free_mib.is_some()));
    assert!(stopped.absent["gpu"].contains("the driver had not answered after"), "{}", stopped.absent["gpu"]);
    assert!(stopped.absent.contains_key("power_w"));
}

#[test]
fn a_machine_without_a_gpu_is_sampled_all_the_same() {
    let folder = Folder::new("telemetry");
    let host = Replay::new().file("/proc/meminfo", "MemFree: 1024 kB\n");
    let sampler = start(Arc::new(host), None, 10, &folder);
    wait_for(&sampler, 1);
    let stopped = sampler.stop();
    assert_eq!(stopped.wire.gpu_source, "none: no GPU is read");
    assert_eq!(stopped.rows[0].host.memory_free_mib, Some(1.0));
    assert_eq!(stopped.absent["power_w"], "no GPU is read");
    assert_eq!(stopped.absent["host_cached_mib"], "'/proc/meminfo' does not give it on this machine");
    assert!(stopped.absent["host_load_1m"].starts_with("'/proc/loadavg' cannot be read"));
    assert_eq!(stopped.absent["tree_cgroup_memory_mib"], "the run has no control group of its own to read it from");
}

#[test]
fn a_file_that_cannot_be_written_any_more_is_told_and_rows_go_on() {
    // As on a full disk: the name leads to the device that is always full, made after the header was written.
    let shared = Arc::new(Shared::default());
    let table = Arc::new(Table::new(&[]));
    let host: Arc<dyn Host> = Arc::new(Replay::new().file("/proc/meminfo", "MemFree: 1024 kB\n"));
    let Some(file) = Appender::on_full_device() else {
        eprintln!("skipped: no /dev/full");
        return;
    };
    let out = thread::Out { file, table, shared: Arc::clone(&shared) };
    let tree = Arc::new(Mutex::new(TreeSource::default()));
    let mut sampling =
        thread::Sampling::new(Arc::clone(&host), None, INTERVAL, out, (HostReader::open(host.as_ref()), tree));
    sampling.sample(false);
    sampling.sample(true);
    assert_eq!(shared.buffer().rows.len(), 2);
    let (stop, stopped) = mpsc::channel();
    drop(stop);
    let end = sampling.run(&stopped);
    let failure = end.failure.unwrap().to_string();
    assert!(
        failure.contains("3 of 3 rows of telemetry are not in the file") && failure.contains("No space left"),
        "{failure}"
    );
}

#[test]
fn rows_beyond_what_is_kept_leave_the_oldest_and_none_is_taken_twice() {
    let row = |k: usize| Row {
        utc: sparkbench_model::Instant(k as i64),
        monotonic_s: 0.0,
        gpu: None,
        host: Default::default(),
        tree: Default::default(),
    };
    let mut kept = Buffer::default();
    for k in 0..KEPT {
        kept.push(row(k));
    }
    kept.taken = KEPT;
    kept.push(row(KEPT));
    assert_eq!(kept.rows.len(), KEPT / 2 + 1);
    let new: Vec<i64> = kept.rows[kept.taken..].iter().map(|row| row.utc.0).collect();
    assert_eq!(new, [KEPT as i64]);
}
