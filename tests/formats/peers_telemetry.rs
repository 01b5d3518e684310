//! Telemetry and looks at machines as other people kept them, held against what a person reads in the files.
//!
//! The files lie beside this repository and are not part of it. Without them nothing is checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sparkbench::archive;
use sparkbench::ingest::{self, Look, Options, PartialRun, Record};
use sparkbench::model::{ExtraValue, Sample};

fn peers() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/peers");
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("not checked: the files of others are not beside this repository");
    None
}

fn look(path: &Path) -> (Look, PartialRun) {
    let mut look = ingest::inspect(path).unwrap();
    let parsed = look.outcome.as_mut().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match parsed.records.pop() {
        Some(Record::Run(partial)) => (look, *partial),
        other => panic!("{}: {other:?}", path.display()),
    }
}

fn number(partial: &PartialRun, name: &str) -> Option<f64> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(|extra| match extra.value {
        ExtraValue::Number(value) => Some(value),
        ExtraValue::Text(_) => None,
    })
}

#[test]
fn every_file_is_recognised_and_none_is_left_out() {
    let Some(peers) = peers() else { return };
    let mut formats: BTreeMap<String, usize> = BTreeMap::new();
    for folder in ["nvidia_smi", "telemetry_csv"] {
        let found = archive::discover(&[peers.join(folder)]).unwrap();
        for input in ingest::all(&found, &Options::default()).unwrap().inputs {
            assert!(!input.skipped, "{input:?}");
            *formats.entry(input.format.unwrap()).or_default() += 1;
        }
    }
    let expected = [
        ("free-log", 1),
        ("kept", 2),
        ("nvidia-smi-csv", 3),
        ("nvidia-smi-table", 3),
        ("telemetry-csv", 8),
        ("telemetry-json", 3),
        ("token-per-watt", 1),
    ];
    assert_eq!(formats.into_iter().collect::<Vec<_>>(), expected.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn a_log_without_a_header_is_told_by_its_units() {
    let Some(peers) = peers() else { return };
    let (_, partial) = look(&peers.join("nvidia_smi/jschmied__qwen38-flash-next-gb10/clk-decode-0925.excerpt.csv"));
    assert_eq!(partial.telemetry.len(), 20);
    let (first, last) = (partial.telemetry[0], partial.telemetry[19]);
    assert_eq!(
        (first.at.iso().as_str(), last.at.iso().as_str()),
        ("2026-09-25T03:21:37.942Z", "2026-09-25T03:21:42.699Z")
    );
    let figures = |s: Sample| (s.sm_clock_mhz, s.power_w, s.gpu_c, s.throttle_bits, s.gpu_util_pct);
    assert_eq!(figures(first), (Some(2405.0), Some(10.91), Some(40.0), Some(0), Some(0.0)));
    assert_eq!(figures(last), (Some(2528.0), Some(29.88), Some(44.0), Some(0), Some(95.0)));
}

#[test]
fn a_box_of_eight_gpus_is_a_look_with_every_cell() {
    let Some(peers) = peers() else { return };
    let path = peers.join("nvidia_smi/waynehacking8__trtllm-triton-serving/results__waterfall__W0a_kv090.boxstate.csv");
    let (_, partial) = look(&path);
    assert!(partial.telemetry.is_empty());
    assert_eq!(partial.extras.len(), 8 * 5, "five figures a GPU beside its index");
    assert_eq!(number(&partial, "GPU 0, power.draw"), Some(405.68));
    assert_eq!(
        (number(&partial, "GPU 7, memory.used"), number(&partial, "GPU 2, clocks.current.sm")),
        (Some(531.0), Some(345.0))
    );
}

#[test]
fn gb10_tables_have_no_memory_but_that_of_processes() {
    let Some(peers) = peers() else { return };
    let folder = peers.join("nvidia_smi");
    let (look_, partial) = look(&folder.join("PalatineVision__dgx-spark-benchmark/nvidia-smi-info.txt"));
    assert_eq!(
        (number(&partial, "power"), number(&partial, "temperature"), number(&partial, "utilisation")),
        (Some(42.0), Some(78.0), Some(96.0))
    );
    assert_eq!(number(&partial, "memory used"), None);
    assert!(look_.outcome.unwrap().not_understood[0].contains("10911..."));
    let (_, partial) = look(
        &folder.join("jethac__dgx-spark-hijinks/results__llamacpp_gemma4_26b_q4_0_20260607T135911Z_nvidia_smi.txt"),
    );
    assert_eq!(number(&partial, "memory of process llama-server"), Some(15136.0));
    assert_eq!(
        (partial.setup.machine.as_deref(), partial.setup.more["driver_version"].as_str()),
        (Some("NVIDIA GB10"), "580.159.03")
    );
}

#[test]
fn every_cell_of_a_script_s_table_is_in_its_samples() {
    let Some(peers) = peers() else { return };
    let folder = peers.join("telemetry_csv/djangodevreng__dgx-spark-benchmarks");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, partial) = look(&path);
        let rows: Vec<Vec<f64>> =
            text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
        let read: Vec<Vec<f64>> = partial
            .telemetry
            .iter()
            .map(|s| {
                let fields = [s.power_w, s.gpu_c, s.sm_clock_mhz, s.gpu_util_pct, s.host_memory_used_mib];
                let time = s.at.0 as f64 / 1000.0;
                std::iter::once(time).chain(fields.map(Option::unwrap)).collect()
            })
            .collect();
        assert_eq!(read, rows, "{}", path.display());
    }
}

#[test]
fn memory_of_the_machine_is_read_row_by_row() {
    let Some(peers) = peers() else { return };
    let (_, partial) = look(&peers.join("telemetry_csv/SuperElectron__dgx-spark-tuner/hostmem.excerpt.log"));
    assert_eq!(partial.telemetry.len(), 18);
    let (first, last) = (partial.telemetry[0], partial.telemetry[17]);
    assert_eq!(
        (first.host_memory_used_mib, first.host_memory_available_mib, first.host_swap_used_mib),
        (Some(4691.0), Some(119_919.0), Some(417.0))
    );
    assert_eq!((last.host_memory_used_mib, last.at.seconds_since(first.at)), (Some(2782.0), 170.0));
    assert_eq!(number(&partial, "memory of the machine"), Some(124_610.0));
}

/// Every number of a document, by the last keys of its place.
fn numbers(value: &serde_json::Value, into: &mut Vec<f64>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                // What identifies a process of that hour, or says how a command ended.
                if !["pid", "ppid", "pids", "returncode"].contains(&key.as_str()) {
                    numbers(inner, into);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|inner| numbers(inner, into)),
        serde_json::Value::Number(number) => into.extend(number.as_f64()),
        _ => {}
    }
}

#[test]
fn every_number_of_a_json_document_is_taken() {
    let Some(peers) = peers() else { return };
    for path in [
        "nvidia_smi/jethac__dgx-spark-hijinks/results__litert_lm_gpu_e2b_bench_256p64d_telemetry.json",
        "nvidia_smi/jethac__dgx-spark-hijinks/results__spark_doctor_before_sglang_20260607T115213Z.json",
        "telemetry_csv/E27-25__fusionxpark-gb10-hwtest/results__hardware__hw_bench_20260430_160919.json",
    ] {
        let path = peers.join(path);
        let (_, partial) = look(&path);
        let document = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut there = Vec::new();
        numbers(&document, &mut there);
        let mut taken: Vec<f64> = partial
            .extras
            .iter()
            .filter_map(|extra| match extra.value {
                ExtraValue::Number(value) => Some(value),
                ExtraValue::Text(_) => None,
            })
            .collect();
        taken.extend(partial.telemetry.iter().map(|sample| sample.at.0 as f64 / 1000.0));
        for number in there {
            assert!(taken.iter().any(|value| (value - number).abs() < 1e-3), "{}: {number} is lost", path.display());
        }
        assert_eq!(
            partial.setup.machine.as_deref().map(|name| name.starts_with("NVIDIA GB10")),
            path.to_str().map(|p| !p.contains("litert")).filter(|known| *known),
            "{}",
            path.display()
        );
    }
}
