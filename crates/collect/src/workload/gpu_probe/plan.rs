//! The plan of a GPU probe, and whether it fits into memory.
//!
//! In:  precisions and sizes as typed.  Out: [`ProbePlan`], the memory that each part takes, the room there is.
//! Not here: measuring.

use sparkbench_host::cuda::{Facts, Memory, Precision};

/// Size of the sanity check of the published study: FP32, 10,000 x 10,000, 10 iterations.
pub const SANITY_SIZE: usize = 10_000;
/// Sizes of the products in half precision: from where launches still count to where only arithmetic does.
pub const HALF_SIZES: [usize; 4] = [2048, 4096, 8192, 16384];
/// Iterations of each part, as the published study made them.
pub const ITERATIONS: u32 = 10;
/// Largest size: at FP32 its three matrices take 48 GiB.
pub const MOST_SIZE: usize = 65_536;
pub const MOST_ITERATIONS: u32 = 10_000;
/// Size of the product in a quick probe: large enough to load every unit, a few milliseconds on a healthy GB10.
pub const QUICK_SIZE: usize = 8192;
/// Buffer that is read and copied. Every second-level cache known is smaller by a factor of ten.
const BUFFER_BYTES: u64 = 1 << 30;
/// Smallest buffer that is still larger than every cache by a wide margin.
const LEAST_BUFFER_BYTES: u64 = 256 << 20;
/// cuBLAS's own workspace and the driver's own needs, generously. cuBLAS takes 32 MiB on Hopper, less elsewhere
/// (cuBLAS documentation, "cublasSetWorkspace").
const WORKSPACE_BYTES: u64 = 256 << 20;
/// Left to the host where the GPU shares its memory: a machine that runs out there may need a power cycle.
const LEFT_TO_HOST_BYTES: u64 = 4 << 30;

/// A measurement of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A matrix product, n x n.
    Gemm {
        /// Number format.
        precision: Precision,
        /// Rows and columns.
        n: usize,
    },
    /// Device memory to device memory.
    Copy,
    /// A read by a matrix-vector product, as in the decoding of a model.
    ReadGemv,
    /// A read by a sum.
    ReadAsum,
}

/// Everything that one probe measures.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbePlan {
    /// In this order.
    pub parts: Vec<Part>,
    /// Timed intervals of each part.
    pub iterations: u32,
    /// Work before the first timed interval, seconds: an idle GPU takes a few tenths of a second to raise its clocks.
    pub warmup_s: f64,
    /// Least length of a timed interval, seconds. Shorter work is launched several times in it.
    pub interval_s: f64,
    /// Number format that gives `gemm_tflops`.
    pub headline: Precision,
    /// Only distinguishes a stuck clock from a healthy GPU.
    pub quick: bool,
}

impl ProbePlan {
    /// Products of each precision at each size, then the memory. Without sizes each precision has its own usual ones.
    pub fn full(precisions: &[Precision], sizes: &[usize], iterations: u32, headline: Precision) -> Self {
        let mut parts = Vec::new();
        for precision in precisions {
            let usual: &[usize] = match precision {
                Precision::Fp32 | Precision::Tf32 => &[SANITY_SIZE],
                Precision::Fp16 | Precision::Bf16 => &HALF_SIZES,
            };
            let sizes = if sizes.is_empty() { usual } else { sizes };
            parts.extend(sizes.iter().map(|n| Part::Gemm { precision: *precision, n: *n }));
        }
        parts.extend([Part::Copy, Part::ReadGemv, Part::ReadAsum]);
        // An interval of 10 ms makes the few microseconds of launch and event a share below a thousandth.
        Self { parts, iterations, warmup_s: 0.5, interval_s: 0.01, headline, quick: false }
    }

    /// A second or two: one product in BF16 and one read.
    pub fn quick() -> Self {
        Self {
            parts: vec![Part::Gemm { precision: Precision::Bf16, n: QUICK_SIZE }, Part::ReadGemv],
            iterations: 20,
            warmup_s: 0.3,
            interval_s: 0.04,
            headline: Precision::Bf16,
            quick: true,
        }
    }

    /// Seconds that it takes on a GB10, loading and filling included. For estimates. From the published rates of that machine.
    pub fn expected_s(&self) -> f64 {
        // BF16 91.6 TFLOP/s (healthy, see `known`). FP32 on the same chip is a fifth of that at best.
        const TFLOPS: [(Precision, f64); 4] =
            [(Precision::Fp32, 18.0), (Precision::Tf32, 45.0), (Precision::Fp16, 91.6), (Precision::Bf16, 91.6)];
        let start_s = 3.0;
        let part_s = |part: &Part| {
            let once_s = match part {
                Part::Gemm { precision, n } => {
                    let rate = TFLOPS.iter().find(|(known, _)| known == precision).map_or(20.0, |(_, rate)| *rate);
                    flops(*n) / (rate * 1e12)
                }
                Part::Copy | Part::ReadGemv | Part::ReadAsum => 0.01,
            };
            0.5 + self.warmup_s.max(once_s) + f64::from(self.iterations) * once_s.max(self.interval_s)
        };
        start_s + self.parts.iter().map(part_s).sum::<f64>()
    }
}

/// Operations of a product of n x n matrices: one multiplication and one addition for each of n^3 terms.
pub fn flops(n: usize) -> f64 {
    2.0 * (n as f64).powi(3)
}

/// Bytes of three n x n matrices.
pub fn gemm_bytes(precision: Precision, n: usize) -> u64 {
    let side = n as u64;
    side.saturating_mul(side).saturating_mul(3 * precision.bytes())
}

/// Room for a part, and where the figure is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub bytes: u64,
    /// For messages.
    pub from: &'static str,
}

/// Memory that a part may take. On a GPU with its own memory, the free memory of CUDA. Where the GPU shares the memory of the host,
/// `MemAvailable`, because CUDA counts page cache as used, less what the host needs.
pub fn room(facts: &Facts, memory: Memory, available: Option<u64>) -> Room {
    match available {
        Some(available) if facts.integrated => {
            Room { bytes: available.saturating_sub(LEFT_TO_HOST_BYTES + WORKSPACE_BYTES), from: "MemAvailable" }
        }
        _ if facts.integrated => {
            Room { bytes: memory.free.saturating_sub(LEFT_TO_HOST_BYTES + WORKSPACE_BYTES), from: "free as CUDA says" }
        }
        _ => Room { bytes: memory.free.saturating_sub(WORKSPACE_BYTES), from: "free as CUDA says" },
    }
}

/// Why a product does not fit, if so.
pub fn too_large(precision: Precision, n: usize, room: Room) -> Option<String> {
    let needed = gemm_bytes(precision, n);
    (needed > room.bytes).then(|| {
        format!(
            "three matrices of {} x {n} in {} need {}, but {} is free for them ({})",
            n,
            precision.name(),
            gib(needed),
            gib(room.bytes),
            room.from
        )
    })
}

/// Length of the buffer that is read or copied, FP32 values. The reason when even the smallest does not fit. `buffers` is how many
/// of that size are held at once.
pub fn buffer_values(room: Room, buffers: u64) -> Result<usize, String> {
    let bytes = BUFFER_BYTES.min(room.bytes / buffers);
    if bytes < LEAST_BUFFER_BYTES {
        return Err(format!(
            "a buffer larger than every cache needs {}, {buffers} of them are needed, but {} is free for them ({})",
            gib(LEAST_BUFFER_BYTES),
            gib(room.bytes),
            room.from
        ));
    }
    // Whole columns of the matrix-vector product.
    let columns = bytes / 4 / GEMV_ROWS as u64;
    usize::try_from(columns)
        .map(|columns| columns * GEMV_ROWS)
        .map_err(|_| "the buffer is too long to count".to_owned())
}

/// Rows of the matrix-vector product: the width of a large model's layer.
pub const GEMV_ROWS: usize = 16_384;

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Facts = Facts {
        index: 0,
        name: String::new(),
        uuid: None,
        compute_capability: String::new(),
        multiprocessors: None,
        integrated: false,
        memory_bytes: 0,
        l2_bytes: None,
        cuda: None,
        cublas: None,
    };

    fn gb(gib: u64) -> u64 {
        gib << 30
    }

    #[test]
    fn a_product_of_ten_thousand_takes_two_million_million_operations_and_1200_megabytes() {
        assert_eq!(flops(10_000), 2e12);
        assert_eq!(gemm_bytes(Precision::Fp32, 10_000), 1_200_000_000);
        assert_eq!(gemm_bytes(Precision::Bf16, 16_384), 3 << 29);
        assert_eq!(gemm_bytes(Precision::Fp32, usize::MAX), u64::MAX);
    }

    #[test]
    fn the_usual_sizes_are_those_of_the_study_and_given_ones_hold_for_every_precision() {
        let usual = ProbePlan::full(&[Precision::Fp32, Precision::Bf16], &[], 10, Precision::Bf16);
        assert_eq!(usual.parts.first(), Some(&Part::Gemm { precision: Precision::Fp32, n: 10_000 }));
        assert_eq!(usual.parts.len(), 1 + 4 + 3);
        let given = ProbePlan::full(&[Precision::Fp32, Precision::Bf16], &[64], 10, Precision::Bf16);
        assert_eq!(given.parts.len(), 2 + 3);
        assert!(usual.expected_s() > given.expected_s() && ProbePlan::quick().expected_s() < usual.expected_s());
    }

    #[test]
    fn shared_memory_is_counted_as_available_and_the_host_keeps_its_share() {
        let shared = Facts { integrated: true, ..OWN };
        let memory = Memory { free: gb(3), total: gb(120) };
        // 2.77 GiB free as CUDA says while 52 GiB are available: page cache counts as used there.
        assert_eq!(room(&shared, memory, Some(gb(52))).bytes, gb(48) - (256 << 20));
        assert_eq!(room(&shared, memory, None).bytes, 0);
        assert_eq!(room(&OWN, memory, Some(gb(1))).bytes, gb(3) - (256 << 20));
    }

    #[test]
    fn what_does_not_fit_says_how_much_it_takes_and_how_much_there_is() {
        let room = Room { bytes: gb(1), from: "MemAvailable" };
        assert_eq!(too_large(Precision::Bf16, 8192, room), None);
        let why = too_large(Precision::Fp32, 10_000, room).unwrap();
        assert!(why.contains("1.12 GiB") && why.contains("1.00 GiB") && why.contains("MemAvailable"), "{why}");
    }

    #[test]
    fn buffers_shrink_with_the_room_down_to_a_least_size() {
        let of = |bytes, buffers| buffer_values(Room { bytes, from: "x" }, buffers);
        assert_eq!(of(gb(8), 2).unwrap() * 4, 1 << 30);
        assert_eq!(of(gb(1), 2).unwrap() * 4, 1 << 29);
        assert!(of(gb(1) / 4, 2).unwrap_err().contains("0.25 GiB"));
    }
}
