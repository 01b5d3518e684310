//! The archives in `data/` are read as what they are, value by value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options};
use sparkbench::model::{ExtraValue, Instant, Run, Status};
use sparkbench::verdict::Memory;

fn read(path: &Path) -> Intake {
    ingest::all(&archive::discover(&[path.to_owned()]).unwrap(), &Options::default()).unwrap()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// Everything about a run that does not depend on the file it came from.
fn essence(run: &Run) -> impl PartialEq + std::fmt::Debug + use<> {
    let readings: BTreeMap<String, (u64, Option<u8>)> = run
        .readings
        .iter()
        // Every missing value is the same missing value.
        .map(|r| (r.metric.clone(), (if r.value.is_nan() { u64::MAX } else { r.value.to_bits() }, r.decimals)))
        .collect();
    let labels = (run.id.clone(), run.environment.clone(), run.model.clone(), run.repeat);
    (labels, run.started, run.ended, run.status.clone(), readings, run.setup.model_id.clone(), run.setup.start_temp_c)
}

#[test]
fn the_published_study_is_63_runs_and_33_figures_with_nothing_left_out() {
    let intake = read(&data("phase1"));
    assert_eq!((intake.runs.len(), intake.skipped()), (63, 0), "{:?}", intake.inputs);
    let mut cells: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for run in &intake.runs {
        *cells.entry((run.model.as_str(), run.environment.as_str())).or_default() += 1;
    }
    assert_eq!(cells.values().copied().collect::<Vec<_>>(), [10, 10, 10, 13, 10, 10], "{cells:?}");
    let [campaign] = intake.campaigns.as_slice() else { panic!("{:?}", intake.campaigns) };
    assert_eq!((campaign.name.as_str(), campaign.published.len(), campaign.planned_repeats), ("phase1", 33, Some(10)));
    assert!(campaign.margins_pct.is_empty(), "the study fixed no margins");
    assert_eq!(campaign.archive_sha256.len(), 64);
}

#[test]
fn a_figure_of_the_published_study_keeps_its_digits_and_its_place() {
    let intake = read(&data("phase1"));
    let run = intake.runs.iter().find(|run| run.id == "native_deepseek_iter10_20251109_042404").unwrap();
    let reading = run.reading("output_throughput_tok_s").unwrap();
    assert_eq!((reading.value, reading.decimals), (119.1443, Some(4)));
    assert_eq!((reading.origin.file.as_str(), reading.origin.line), ("runs.csv", Some(2)));
    assert_eq!(run.started, Instant::parse("20251109_042404"));
    assert!(run.reading("e2e_latency_ms").unwrap().value.is_nan(), "planned and never reported");
    assert_eq!((run.status.clone(), run.setup.batch, run.setup.osl), (Status::Done, Some(8.0), Some(128.0)));
}

#[test]
fn the_table_and_the_original_results_are_the_same_63_runs() {
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/phase1");
    if !original.is_dir() {
        eprintln!("not checked: the original results are not beside this repository");
        return;
    }
    let (ours, theirs) = (read(&data("phase1")), read(&original));
    assert_eq!(theirs.skipped(), 0, "{:?}", theirs.inputs);
    let sorted = |intake: &Intake| {
        let mut all: Vec<_> = intake.runs.iter().map(|run| (run.id.clone(), essence(run))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    assert_eq!(theirs.runs.len(), 63);
    for (one, other) in sorted(&ours).iter().zip(&sorted(&theirs)) {
        assert!(one == other, "{one:?}\n{other:?}");
    }
}

#[test]
fn our_own_measurement_is_14_launches_of_three_workloads_in_seven_blocks() {
    let intake = read(&data("h200-chroot"));
    assert_eq!((intake.runs.len(), intake.skipped()), (42, 0), "{:?}", intake.inputs);
    let mut launches: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for run in &intake.runs {
        launches.entry(run.launch.unwrap()).or_default().push(&run.workload);
        assert_eq!(run.model, "llama1b");
        assert_eq!(run.setup.model_id.as_deref(), Some("llama-shaped-1.1B-random"));
        assert!((1..=7).contains(&run.block.unwrap()) && run.block == run.repeat);
        assert_eq!((run.status.clone(), run.setup.exit_code), (Status::Done, Some(0)));
        assert_eq!(run.files.len(), 3, "log, telemetry and metadata: {:?}", run.files);
        assert!(run.telemetry.len() > 20 && run.telemetry.is_sorted_by_key(|sample| sample.at));
        assert!(run.started.unwrap() < run.ended.unwrap());
        for metric in ["e2e_latency_ms", "ttft_ms", "tpot_ms"] {
            assert_eq!(run.series.iter().find(|s| s.metric == metric).unwrap().values.len(), 30);
        }
    }
    assert_eq!(launches.len(), 14);
    assert!(launches.values().all(|workloads| workloads == &["T1", "T2", "T5"]), "{launches:?}");
}

#[test]
fn the_slow_native_run_is_there() {
    let intake = read(&data("h200-chroot"));
    let run = intake.runs.iter().find(|run| run.id == "native_llama1b_iter3_20261120_234531_t1").unwrap();
    let latency = &run.series.iter().find(|s| s.metric == "e2e_latency_ms").unwrap().values;
    let mean = latency.iter().sum::<f64>() / latency.len() as f64;
    assert!((mean - 76.6).abs() < 0.05, "{mean}");
}

#[test]
fn what_describes_the_machine_is_recognised_and_is_no_run() {
    let intake = read(&data("h200-chroot"));
    for (name, format) in [
        ("dmon.txt", "nvidia-smi-dmon"),
        ("nvidia-smi-q.txt", "nvidia-smi-q"),
        ("query-full.csv", "nvidia-smi-csv"),
        ("help-query-gpu.txt", "kept"),
        ("system.txt", "kept"),
        ("pip-freeze.txt", "kept"),
        ("PROVENANCE.md", "kept"),
    ] {
        let input = intake.inputs.iter().find(|input| input.path == name).unwrap();
        assert_eq!(input.format.as_deref(), Some(format));
        assert!(!input.skipped && input.runs == 0 && input.sha256.is_some(), "{input:?}");
        assert!(input.reason.as_deref().is_some_and(|reason| reason.contains("kept")), "{input:?}");
    }
}

/// Mean of the samples within a launch, by hand from the rows of its telemetry.
#[test]
fn power_of_a_launch_is_that_of_its_rows_and_no_figure_of_one_of_its_workloads() {
    let mut intake = read(&data("h200-chroot"));
    Memory::none().derive(&mut intake.runs);
    let run = intake.runs.iter().find(|run| run.id == "native_llama1b_iter1_20261120_234334_t1").unwrap();
    assert_eq!(run.value("power_w"), None, "three workloads share the launch");
    let power = run.extras.iter().find(|extra| extra.name == "power_w of the launch").unwrap();
    let ExtraValue::Number(watts) = power.value else { panic!("{power:?}") };
    // Trapezoids over the rows around 23:43:37.827 to 23:44:03.189, reckoned apart: 6702.222 J in 25.362 s.
    assert!((watts - 6702.222 / 25.362).abs() < 0.001, "{watts}");
    assert!(power.why.is_some() && power.origin.file.ends_with("_gpu.csv"));
    let before = run.extras.iter().find(|extra| extra.name == "power before the run").unwrap();
    assert!(matches!(before.value, ExtraValue::Number(watts) if (75.8..76.0).contains(&watts)), "{before:?}");
}

#[test]
fn ids_and_runs_do_not_depend_on_how_much_is_read_at_once() {
    let whole = read(&data(""));
    for name in ["phase1", "h200-chroot"] {
        let part = read(&data(name));
        let ids = |intake: &Intake| -> Vec<String> {
            intake.runs.iter().filter(|run| run.campaign == name).map(|run| run.id.clone()).collect()
        };
        assert_eq!(ids(&whole), ids(&part));
        let hash = |intake: &Intake| intake.campaigns.iter().find(|c| c.name == name).unwrap().archive_sha256.clone();
        assert_eq!(hash(&whole), hash(&part));
    }
    let both = archive::discover(&[data("phase1"), data("h200-chroot")]).unwrap();
    let both = ingest::all(&both, &Options::default()).unwrap();
    assert_eq!(both.runs.len(), 63 + 42);
    assert!(
        both.inputs.iter().all(|input| input.path.starts_with("phase1/") || input.path.starts_with("h200-chroot/"))
    );
}
