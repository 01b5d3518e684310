//! `sparkbench gpu-probe`: how fast this GPU multiplies and reads, as a table or as a file.
//!
//! In:  precisions, sizes.  Out: a table or `sparkbench.result/1`.
//! Not here: how it is measured (see `workload::gpu_probe`), the driver (see `host::cuda`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::outcome::Outcome;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive as archive;
use sparkbench_collect::workload::gpu_probe::plan::{ITERATIONS, MOST_ITERATIONS, MOST_SIZE};
use sparkbench_collect::workload::gpu_probe::{ProbeContext, ProbePlan, Report, probe};
use sparkbench_host::Host;
use sparkbench_host::cuda::{self, Facts, Precision};
use sparkbench_host::gpu::{self, Gpu};
use sparkbench_host::machine::Machine;
use sparkbench_text::error::{Error, Kind};

/// Variables of these names, or beginning so, change what CUDA or cuBLAS do, and are archived with the figures.
const VARIABLES: &[&str] = &[
    "CUBLAS_",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
];

/// More GPUs than any one machine has.
const MOST_GPUS: u32 = 64;

/// Measure how fast this GPU multiplies matrices and reads its memory
///
/// Multiplies FP32 matrices of 10,000 x 10,000, and FP16 and BF16 matrices from 2,048 to 16,384. Then it copies memory and reads it in two
/// ways. Every result is checked against known answers. The CUDA driver and cuBLAS are loaded at run time.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sparkbench gpu-probe                        everything, about 20 seconds on a DGX Spark\n  \
                        sparkbench gpu-probe --quick                a stuck clock or a healthy GPU, in seconds\n  \
                        sparkbench gpu-probe --precisions bf16 --sizes 8192 --json probe.json\n\n\
                        Exit codes: 0 measured, 2 usage, 3 no CUDA driver, no cuBLAS or no GPU, 4 a part failed."
)]
pub(crate) struct GpuProbe {
    /// Measure one BF16 product and one read, in one or two seconds
    #[arg(long, conflicts_with_all = ["sizes", "precisions", "iterations", "headline"])]
    quick: bool,
    /// Number of the GPU, as CUDA counts
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: u32,
    /// Write the figures as JSON. `-` is standard output, without the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Sides of the matrices, for every precision [default: 10000 for fp32 and tf32, 2048,4096,8192,16384 for fp16 and bf16]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    sizes: Vec<usize>,
    /// Number formats: fp32, tf32, fp16, bf16
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "fp32,fp16,bf16")]
    precisions: Vec<String>,
    /// Number of timed intervals of each part
    #[arg(long, value_name = "N", default_value_t = ITERATIONS)]
    iterations: u32,
    /// Number format that `gemm_tflops` is measured with, at its largest size
    #[arg(long, value_name = "NAME", default_value = "bf16")]
    headline: String,
}

impl GpuProbe {
    fn plan(&self) -> Result<ProbePlan, Error> {
        if self.quick {
            return Ok(ProbePlan::quick());
        }
        let precisions = self.precisions.iter().map(|name| precision(name)).collect::<Result<Vec<_>, _>>()?;
        if let Some(size) = self.sizes.iter().find(|size| !(1..=MOST_SIZE).contains(*size)) {
            return Err(Error::usage(format!("--sizes {size} is not a valid side of a matrix"))
                .hint(format!("give 1 to {MOST_SIZE}")));
        }
        if !(1..=MOST_ITERATIONS).contains(&self.iterations) {
            return Err(Error::usage(format!("--iterations {} is out of range", self.iterations))
                .hint(format!("give 1 to {MOST_ITERATIONS} (default {ITERATIONS})")));
        }
        // Without a product in it the headline stands for nothing that was asked for.
        let headline = precision(&self.headline)?;
        let headline = if precisions.contains(&headline) {
            headline
        } else if self.headline == "bf16" {
            precisions.last().copied().unwrap_or(headline)
        } else {
            return Err(Error::usage(format!("--headline {} is not among --precisions", self.headline))
                .hint("add it to --precisions, or name one of them"));
        };
        Ok(ProbePlan::full(&precisions, &self.sizes, self.iterations, headline))
    }
}

fn precision(name: &str) -> Result<Precision, Error> {
    Precision::find(name.trim()).ok_or_else(|| {
        let known: Vec<&str> = Precision::ALL.iter().map(|precision| precision.name()).collect();
        Error::usage(format!("\"{name}\" is not a known number format")).hint(format!("known: {}", known.join(", ")))
    })
}

/// Opens the GPU, measures, prints.
pub(crate) fn run(args: &GpuProbe, talk: &Talk) -> Result<Outcome, Error> {
    let plan = args.plan()?;
    let mut device = cuda::open(args.device)?;
    let host: Arc<dyn Host> = Arc::new(Machine::new()?);
    let (mut gpu, no_sample) = readings(&host, device.facts());
    let mut around = ProbeContext {
        sample: &mut || gpu.as_mut().and_then(|gpu| gpu.sample().ok()),
        available: &memory_available,
        stop: &|| host.interrupted(),
        news: &|name| talk.say(&format!("{name} ...")),
    };
    let mut report = probe(device.as_mut(), &plan, &mut around);
    report.variables = variables();
    report.no_sample = no_sample;
    show(args.json.as_deref(), &report)?;
    match report.faults() {
        faults if faults.is_empty() => Ok(Outcome::Done),
        faults => Err(Error::new(Kind::Workload, "the probe failed")
            .detail(faults.join("; "))
            .hint("check the kernel log for Xid and NVRM lines, and check what else uses the GPU")),
    }
}

/// NVML's readings of the very GPU that CUDA opened, or why there are none. A program that prints readings would be one more load
/// beside the measurement, so there is no second source.
fn readings(host: &Arc<dyn Host>, facts: &Facts) -> (Option<Box<dyn Gpu>>, Option<String>) {
    let open = |index| gpu::open(host, "nvml", index, Duration::from_secs(1));
    let first = open(facts.index);
    let why = first.why();
    let Some(gpu) = first.gpu else { return (None, Some(why)) };
    let same = |gpu: &dyn Gpu| facts.uuid.is_some() && gpu.identity().uuid == facts.uuid;
    if same(gpu.as_ref()) {
        return (Some(gpu), None);
    }
    // CUDA_VISIBLE_DEVICES and CUDA's own order make its numbers differ from the driver's.
    let count = gpu.identity().count.unwrap_or(0).min(MOST_GPUS);
    let found = (0..count).filter_map(|index| open(index).gpu).find(|gpu| same(gpu.as_ref()));
    let why = found.is_none().then(|| "the driver lists no GPU with the UUID of the one that CUDA opened".to_owned());
    (found, why)
}

fn show(json: Option<&Path>, report: &Report) -> Result<(), Error> {
    let Some(file) = json else { return print(&report.table()) };
    let text = format!("{:#}\n", report.json());
    if file == Path::new("-") {
        return print(&text);
    }
    archive::write_atomic(file, text.as_bytes())?;
    print(&report.table())
}

/// `MemAvailable`, bytes.
fn memory_available() -> Option<u64> {
    available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn variables() -> Vec<(String, String)> {
    let all = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut ours: Vec<(String, String)> = all
        .filter(|(name, _)| {
            VARIABLES.iter().any(|known| name == known || known.ends_with('_') && name.starts_with(known))
        })
        .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
        .collect();
    ours.sort();
    ours
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use sparkbench_collect::workload::gpu_probe::plan::Part;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        probe: GpuProbe,
    }

    fn plan(line: &str) -> Result<ProbePlan, Error> {
        Line::try_parse_from(std::iter::once("x").chain(line.split_whitespace())).unwrap().probe.plan()
    }

    #[test]
    fn without_options_the_studys_sanity_check_and_the_half_precisions_are_measured() {
        let plan = plan("").unwrap();
        assert_eq!((plan.iterations, plan.headline, plan.quick), (10, Precision::Bf16, false));
        assert_eq!(plan.parts.len(), 1 + 4 + 4 + 3);
    }

    #[test]
    fn sizes_hold_for_every_precision_and_the_headline_is_one_that_is_measured() {
        let some = plan("--precisions fp32,tf32 --sizes 64,128 --iterations 3").unwrap();
        assert_eq!(some.parts[1], Part::Gemm { precision: Precision::Fp32, n: 128 });
        assert_eq!((some.parts.len(), some.headline), (4 + 3, Precision::Tf32));
        assert_eq!(plan("--headline fp32").unwrap().headline, Precision::Fp32);
    }

    #[test]
    fn what_makes_no_sense_is_said_with_what_would() {
        for (line, words) in [
            ("--precisions fp8", "not a known number format"),
            ("--sizes 0", "--sizes 0"),
            ("--sizes 1000000", "--sizes 1000000"),
            ("--iterations 0", "--iterations 0"),
            ("--headline tf32", "not among"),
        ] {
            let error = plan(line).unwrap_err();
            assert!(error.what.contains(words) && error.hint.is_some() && error.kind == Kind::Usage, "{line}: {error}");
        }
    }

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available_in("MemTotal: 9 kB\n"), None);
        assert_eq!(available_in("MemAvailable: many kB\n"), None);
    }

    #[test]
    fn the_options_are_those_that_the_workload_gives() {
        use sparkbench_collect::workload::{Cell, Placement, WorkloadKind as _, gpu_probe};
        use sparkbench_plan::{Faults, Model, Settings};
        let (model, program) = (Model::default(), Path::new("/w/sparkbench"));
        for text in ["", "quick = true", "precisions = [\"tf32\"]\nsizes = [64]"] {
            let table = toml::de::DeTable::parse(text).unwrap();
            let settings = Settings::from_toml("workloads.probe", 1, table.get_ref(), text);
            let mut faults = Faults::default();
            let workload = gpu_probe::GpuProbe.read(&mut settings.reader(&mut faults), Path::new(".")).unwrap();
            let cell = Cell {
                model: &model,
                probed: None,
                prepared: &[],
                repeat: 1,
                seed: 1,
                own_program: Some(program),
                placement: Placement::ALONE,
            };
            let argv = workload.measure(&cell, Path::new("/w")).unwrap().argv;
            assert!(Line::try_parse_from(&argv[1..]).is_ok(), "{argv:?}");
        }
    }
}
