//! The CUDA driver and cuBLAS, loaded while running: matrix products and passes over memory, timed on the device and on the host.
//!
//! In:  a [`Task`].  Out: [`Device`], its [`Facts`], [`Timed`] intervals, single values of the result.
//! Not here: which tasks, how often, whether a result is right, what a time means (see `workload::gpu_probe`).
//!
//! Nothing of CUDA is needed to build, and a machine without it answers with an error of pre-flight, never with a panic.

mod calls;
mod device;

use serde::Serialize;

use sparkbench_text::error::Error;

pub use device::open;

/// A GPU that takes one task at a time.
pub trait Device {
    /// Identity of the device.
    fn facts(&self) -> &Facts;
    /// Its memory now.
    ///
    /// # Errors
    /// When the driver does not answer.
    fn memory(&self) -> Result<Memory, Error>;
    /// Takes memory for a task and fills it. The task before is released first.
    ///
    /// # Errors
    /// When memory runs out, or the driver or cuBLAS refuses.
    fn load(&mut self, task: &Task<'_>) -> Result<(), Error>;
    /// Runs the loaded task `launches` times without a pause and waits for the end. `during` is called once, when everything is
    /// launched and the GPU is still at work.
    ///
    /// # Errors
    /// When nothing is loaded, or the driver or cuBLAS reports a fault, also one of an earlier launch.
    fn run(&mut self, launches: u32, during: &mut dyn FnMut()) -> Result<Timed, Error>;
    /// Values of the result by place (see [`Task`]).
    ///
    /// # Errors
    /// When nothing is loaded, a place lies outside, or the driver reports a fault.
    fn peek(&mut self, places: &[usize]) -> Result<Vec<f64>, Error>;
    /// Lets the memory of the task go.
    fn unload(&mut self);
}

/// Identity of a GPU, from CUDA.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Facts {
    /// Place among the GPUs that CUDA shows.
    pub index: u32,
    /// E.g. `NVIDIA GB10`.
    pub name: String,
    /// As the driver prints it, `GPU-` and five groups. Absent where it does not say. CUDA and the driver may count GPUs differently.
    pub uuid: Option<String>,
    /// E.g. `12.1`.
    pub compute_capability: String,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The GPU shares the memory of the host.
    pub integrated: bool,
    /// Memory that CUDA counts, bytes.
    pub memory_bytes: u64,
    /// Second-level cache, bytes. What is read must be larger.
    pub l2_bytes: Option<u64>,
    /// Newest CUDA version that the driver supports, e.g. `13.0`.
    pub cuda: Option<String>,
    /// Version of cuBLAS, e.g. `13.0.2`.
    pub cublas: Option<String>,
}

/// Memory of the device, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Free as CUDA says. Follows `MemFree` where the GPU shares the memory of the host.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

/// Number format of a matrix product. Sums are kept in FP32 in every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32 bits in, 32 bits out, no rounding to TF32.
    Fp32,
    /// 32 bits in and out, rounded to TF32 (10 bits of significand) on the way into the tensor cores.
    Tf32,
    /// IEEE half in and out.
    Fp16,
    /// bfloat16 in and out.
    Bf16,
}

impl Precision {
    /// Every one, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Tf32, Self::Fp16, Self::Bf16];

    /// As typed and archived.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }

    /// From its name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// Bytes of one value.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp32 | Self::Tf32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
        }
    }

    /// The call and the math mode of cuBLAS, for the archive.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Fp32 => "cublasSgemm, CUBLAS_DEFAULT_MATH",
            Self::Tf32 => "cublasSgemm, CUBLAS_TF32_TENSOR_OP_MATH",
            Self::Fp16 => "cublasGemmEx, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLAS_DEFAULT_MATH",
            Self::Bf16 => "cublasGemmEx, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUBLAS_DEFAULT_MATH",
        }
    }

    /// The value that this format keeps of a number. TF32 keeps FP32 in memory.
    pub fn round(self, value: f32) -> f32 {
        match self {
            Self::Fp32 | Self::Tf32 => value,
            Self::Fp16 => half::f16::from_f32(value).to_f32(),
            Self::Bf16 => half::bf16::from_f32(value).to_f32(),
        }
    }
}

/// Task of the device. Operands repeat a pool of values: place `p` of an operand holds value `p mod length` of its pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Task<'a> {
    /// C = A B with n x n matrices, column by column: place of row `i`, column `j` is `i + j n`. Peeks at C.
    Gemm {
        /// Rows and columns.
        n: usize,
        /// Number format.
        precision: Precision,
        /// Pool of A.
        a: &'a [f32],
        /// Pool of B.
        b: &'a [f32],
    },
    /// Copies FP32 values from one buffer of the device to another. Peeks at the target.
    Copy {
        values: usize,
        /// Pool of the source.
        pool: &'a [f32],
    },
    /// y = A' x with an FP32 matrix of `rows` x `columns`, column by column: reads the matrix once. Peeks at y.
    Gemv {
        /// Length of a column and of x.
        rows: usize,
        /// Columns, and length of y.
        columns: usize,
        /// Pool of the matrix.
        pool: &'a [f32],
        /// x. Exactly `rows` values.
        x: &'a [f32],
    },
    /// Sum of absolute FP32 values: reads the vector once. Peeks at the sum, at place 0.
    Asum {
        values: usize,
        /// Pool of the vector.
        pool: &'a [f32],
    },
}

/// One timed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    pub launches: u32,
    /// Between two events of the device, seconds.
    pub device_s: f64,
    /// On the monotonic clock of the host, from before the first event to the end of the wait, seconds.
    pub host_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_is_found_by_its_name_and_rounds_as_its_format_does() {
        for precision in Precision::ALL {
            assert_eq!(Precision::find(precision.name()), Some(precision));
        }
        assert_eq!(Precision::find("fp8"), None);
        let third = 1.0_f32 / 3.0;
        assert_eq!(Precision::Fp32.round(third), third);
        // 0.333 has 11 significant bits as half and 8 as bfloat16.
        assert_eq!(Precision::Fp16.round(third), 0.333_251_95);
        assert_eq!(Precision::Bf16.round(third), 0.333_984_38);
    }
}
