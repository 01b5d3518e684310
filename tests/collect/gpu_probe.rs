//! The verb `gpu-probe` against a CUDA driver and a cuBLAS that are built on the spot and compute on the host.
//!
//! They show that every call arrives as the signatures want it, that the results of each part are checked, and that a machine
//! without CUDA, without a GPU or with an old driver gets an answer. They show nothing about the speed of any GPU.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use sparkbench::archive::manifest::ReportWire;

use crate::support::folder::Folder;
use crate::support::needs::skip;

/// Libraries in a folder of the test's own.
struct Cuda {
    folder: Folder,
}

impl Cuda {
    /// Builds what is named: `driver`, `old` (a driver of before CUDA 12.8), `blas`. Nothing without a C compiler.
    fn build(test: &str, parts: &[&str]) -> Option<Self> {
        let folder = Folder::new(&format!("cuda-{test}"));
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cuda");
        for part in parts {
            let (source, library, define) = match *part {
                "driver" => ("driver.c", "libcuda.so", "-DNEW"),
                "old" => ("driver.c", "libcuda.so", "-DOLD"),
                // The name that only CUDA 13 has: it must be found without the plain one beside it.
                _ => ("blas.c", "libcublas.so.13", "-DNEW"),
            };
            let built = Command::new("cc")
                .args(["-O2", "-shared", "-fPIC", define, "-o"])
                .arg(folder.path().join(library))
                .arg(sources.join(source))
                .arg("-lm")
                .output();
            match built {
                Ok(built) if built.status.success() => {}
                other => {
                    let why = match other {
                        Ok(built) => String::from_utf8_lossy(&built.stderr).into_owned(),
                        Err(error) => format!("no C compiler: {error}"),
                    };
                    skip(&why);
                    return None;
                }
            }
        }
        Some(Self { folder })
    }

    fn probe(&self, arguments: &str, variables: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .arg("gpu-probe")
            .args(arguments.split_whitespace())
            .env("LD_LIBRARY_PATH", self.folder.path())
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn figures(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

fn parts(figures: &Value) -> Vec<(String, String)> {
    let list = figures["probe"]["parts"].as_array().unwrap();
    list.iter().map(|part| (part["name"].as_str().unwrap().into(), part["state"].as_str().unwrap().into())).collect()
}

#[test]
fn every_precision_and_every_way_over_memory_gives_a_checked_result() {
    let Some(cuda) = Cuda::build("all", &["driver", "blas"]) else { return };
    for pools in [&[][..], &[("SPARKBENCH_TEST_NO_POOLS", "1")]] {
        let free = [("SPARKBENCH_TEST_FREE_MIB", "800")];
        let variables: Vec<_> = pools.iter().chain(&free).copied().collect();
        let output = cuda.probe("--precisions fp32,tf32,fp16,bf16 --sizes 48,65 --iterations 2 --json -", &variables);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let figures = figures(&output);
        let parts = parts(&figures);
        assert_eq!(parts.len(), 8 + 3);
        assert!(parts.iter().all(|(_, state)| state == "measured"), "{parts:?}");
        for part in figures["probe"]["parts"].as_array().unwrap() {
            assert!(part["rate"].as_f64().unwrap() > 0.0, "{part}");
            assert_eq!(part["device_ms_per_launch"].as_array().unwrap().len(), 2);
        }
        assert_eq!(figures["schema"], "sparkbench.result/1");
        assert_eq!(figures["seen"]["machine"], "Test GPU");
        assert_eq!(figures["seen"]["engine_version"], "13.0.2");
        // The file is read as the analysis reads it, and nothing of it is left out.
        let entry = ReportWire { parser: "result-json".to_owned(), ..ReportWire::default() };
        let read = sparkbench::ingest::reports::report("result.json", &output.stdout, &entry).unwrap();
        assert_eq!(read.left_out, Vec::<String>::new());
        assert!(read.parts[0].metrics["gemm_tflops"].is_some() && read.parts[0].series["gemm_tflops"].len() == 2);
        assert_eq!(read.parts[0].seen.quantisation.as_deref(), Some("bf16"));
        let headline = figures["iterations"].as_array().unwrap().iter().find(|list| list["metric"] == "gemm_tflops");
        assert_eq!(headline.unwrap()["name"], "gemm bf16 65");
        assert!(figures["metrics"]["memory_bandwidth_gb_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_product_of_zeros_fails_the_probe_and_the_file_says_so() {
    let Some(cuda) = Cuda::build("wrong", &["driver", "blas"]) else { return };
    let variables = [("SPARKBENCH_TEST_WRONG", "1"), ("SPARKBENCH_TEST_FREE_MIB", "300")];
    let output = cuda.probe("--precisions fp32,bf16 --sizes 48 --iterations 1 --json -", &variables);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the result is wrong"), "{}", text(&output.stderr));
    let figures = figures(&output);
    assert!(figures["metrics"]["gemm_tflops"].is_null());
    // 300 MiB free leave no buffer beyond every cache: skipped, and not a failure.
    assert_eq!(parts(&figures).iter().filter(|(_, state)| state == "skipped").count(), 3);
}

#[test]
fn a_quick_probe_prints_a_table_of_what_fits() {
    let Some(cuda) = Cuda::build("quick", &["driver", "blas"]) else { return };
    let output = cuda.probe("--quick", &[("SPARKBENCH_TEST_FREE_MIB", "310"), ("CUBLAS_WORKSPACE_CONFIG", ":16:8")]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(table.contains("GPU 0: Test GPU, compute capability 12.1"), "{table}");
    assert!(table.contains("gemm bf16 8192     skipped"), "{table}");
    assert!(table.contains("CUBLAS_WORKSPACE_CONFIG"), "{table}");
}

#[test]
fn what_is_missing_is_named_and_refused() {
    let both: &[&str] = &["driver", "blas"];
    let none: &[(&str, &str)] = &[];
    let cases = [
        ("no-driver", &[][..], "", none, "no libcuda.so.1"),
        ("no-blas", &["driver"], "", none, "no libcublas.so.13"),
        ("old-driver", &["old", "blas"], "", none, "cuEventElapsedTime_v2"),
        ("no-gpu", both, "", &[("SPARKBENCH_TEST_GPUS", "0")], "finds no GPU"),
        ("no-such-gpu", both, "--device 3", none, "no GPU 3"),
    ];
    for (name, build, arguments, variables, words) in cases {
        let Some(cuda) = Cuda::build(name, build) else { return };
        if build.is_empty() && Path::new("/proc/driver/nvidia/version").exists() {
            eprintln!("skipped: {name}: this machine has a driver");
            continue;
        }
        if name == "no-blas" && cuda.probe("--quick", &[("SPARKBENCH_TEST_FREE_MIB", "10")]).status.success() {
            eprintln!("skipped: {name}: this machine has cuBLAS");
            continue;
        }
        let output = cuda.probe(arguments, variables);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {said}");
        assert!(said.contains(words) && said.contains("try:") && !said.contains("panicked"), "{name}: {said}");
    }
}
