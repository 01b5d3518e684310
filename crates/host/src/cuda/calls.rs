//! The `unsafe` calls of the CUDA bindings, each behind a safe function that checks the requirements.
//!
//! In:  buffers that live on one stream.  Out: the same calls, with lengths checked before them.
//! Not here: timing, allocation, meaning.
//!
//! This is the one file of the room with `unsafe` in it. Each block says why it is sound.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use cudarc::cublas::result::gemm_ex;
use cudarc::cublas::sys::{cublasComputeType_t, cublasGemmAlgo_t, cublasMath_t, cublasOperation_t, cudaDataType_t};
use cudarc::cublas::{Asum, AsumConfig, CudaBlas, Gemm, GemmConfig, Gemv, GemvConfig};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};

/// Functions of the driver that the bindings look up for what this room does. A missing one would end the program at first use.
const DRIVER: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuMemGetInfo_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemsetD8Async",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuStreamSynchronize",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime_v2",
    "cuEventDestroy_v2",
];

/// Likewise of cuBLAS.
const BLAS: &[&str] = &[
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSetMathMode",
    "cublasGetVersion_v2",
    "cublasSgemm_v2",
    "cublasGemmEx",
    "cublasSgemv_v2",
    "cublasSasum_v2",
];

/// Missing symbols of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MissingSymbol {
    /// The library itself.
    Library,
    /// One of its functions.
    Function(&'static str),
}

/// Whether the driver's library is there with every function that is used.
pub(super) fn driver_lacks() -> Option<MissingSymbol> {
    use cudarc::driver::sys::{culib, is_culib_present};
    // SAFETY: loading runs the initialisers of the machine's own CUDA driver, which is what the caller asks for. `culib` panics
    // without a library, so it is asked only after the check.
    unsafe {
        if !is_culib_present() {
            return Some(MissingSymbol::Library);
        }
        let library = culib();
        DRIVER.iter().find(|name| library.get::<unsafe extern "C" fn()>(name.as_bytes()).is_err())
    }
    .map(|name| MissingSymbol::Function(name))
}

/// Whether cuBLAS is there with every function that is used.
pub(super) fn blas_lacks() -> Option<MissingSymbol> {
    use cudarc::cublas::sys::{culib, is_culib_present};
    // SAFETY: as for the driver.
    unsafe {
        if !is_culib_present() {
            return Some(MissingSymbol::Library);
        }
        let library = culib();
        BLAS.iter().find(|name| library.get::<unsafe extern "C" fn()>(name.as_bytes()).is_err())
    }
    .map(|name| MissingSymbol::Function(name))
}

/// Newest CUDA version of the driver as it codes it, 1000 major + 10 minor.
pub(super) fn driver_version() -> Option<i32> {
    let mut version: c_int = 0;
    // SAFETY: writes one integer to a place that outlives the call. Needs no context.
    let status = unsafe { cudarc::driver::sys::cuDriverGetVersion(&raw mut version) };
    status.result().ok().map(|()| version)
}

/// Version of cuBLAS as it codes it.
pub(super) fn blas_version(blas: &CudaBlas) -> Option<i32> {
    let mut version: c_int = 0;
    // SAFETY: the handle lives as long as `blas`. Writes one integer to a place that outlives the call.
    let status = unsafe { cudarc::cublas::sys::cublasGetVersion_v2(*blas.handle(), &raw mut version) };
    status.result().ok().map(|()| version)
}

/// Chooses how FP32 products are made: in FP32, or rounded to TF32.
pub(super) fn set_tf32(blas: &CudaBlas, on: bool) -> Result<(), String> {
    let mode = if on { cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH } else { cublasMath_t::CUBLAS_DEFAULT_MATH };
    // SAFETY: the handle lives as long as `blas`, and the mode is one of the library's own.
    let status = unsafe { cudarc::cublas::sys::cublasSetMathMode(*blas.handle(), mode) };
    status.result().map_err(|error| format!("cublasSetMathMode: {error}"))
}

/// C = A B in FP32, n x n, all column by column.
pub(super) fn gemm(
    blas: &CudaBlas,
    n: usize,
    (a, b): (&CudaSlice<f32>, &CudaSlice<f32>),
    c: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let side = square_side(n, [a.len(), b.len(), c.len()])?;
    let cfg = GemmConfig {
        transa: cublasOperation_t::CUBLAS_OP_N,
        transb: cublasOperation_t::CUBLAS_OP_N,
        m: side,
        n: side,
        k: side,
        alpha: 1.0,
        lda: side,
        ldb: side,
        beta: 0.0,
        ldc: side,
    };
    // SAFETY: each matrix is n x n with leading dimension n, and each buffer holds at least n * n values (checked above). All
    // buffers and the handle are of one stream, which orders this call with every other.
    unsafe { blas.gemm(cfg, a, b, c) }.map_err(|error| format!("cublasSgemm: {error}"))
}

/// The 16-bit formats of [`gemm_half`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// IEEE half.
    Fp16,
    /// bfloat16.
    Bf16,
}

/// C = A B with 16-bit values, sums in FP32, n x n, all column by column.
pub(super) fn gemm_half(
    blas: &CudaBlas,
    stream: &CudaStream,
    n: usize,
    format: Half,
    (a, b): (&CudaSlice<u16>, &CudaSlice<u16>),
    c: &mut CudaSlice<u16>,
) -> Result<(), String> {
    let side = square_side(n, [a.len(), b.len(), c.len()])?;
    let kind = match format {
        Half::Fp16 => cudaDataType_t::CUDA_R_16F,
        Half::Bf16 => cudaDataType_t::CUDA_R_16BF,
    };
    let (one, zero) = (1.0_f32, 0.0_f32);
    let (a, _reading_a) = a.device_ptr(stream);
    let (b, _reading_b) = b.device_ptr(stream);
    let (c, _writing_c) = c.device_ptr_mut(stream);
    // SAFETY: each matrix is n x n with leading dimension n, and each buffer holds at least n * n values of 16 bits (checked above).
    // The scale factors are FP32 as the compute type wants them, and outlive the call. One stream orders all.
    unsafe {
        gemm_ex(
            *blas.handle(),
            cublasOperation_t::CUBLAS_OP_N,
            cublasOperation_t::CUBLAS_OP_N,
            side,
            side,
            side,
            (&raw const one).cast(),
            a as *const c_void,
            kind,
            side,
            b as *const c_void,
            kind,
            side,
            (&raw const zero).cast(),
            c as *mut c_void,
            kind,
            side,
            cublasComputeType_t::CUBLAS_COMPUTE_32F,
            cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
        )
    }
    .map_err(|error| format!("cublasGemmEx: {error}"))
}

fn square_side(n: usize, lengths: [usize; 3]) -> Result<c_int, String> {
    let fits = n.checked_mul(n).is_some_and(|values| lengths.iter().all(|length| *length >= values));
    match c_int::try_from(n) {
        Ok(side) if fits => Ok(side),
        _ => Err(format!("matrices of {n} x {n} do not fit their buffers")),
    }
}

/// y = A' x, with A of `rows` x `columns`, column by column.
pub(super) fn gemv(
    blas: &CudaBlas,
    (rows, columns): (usize, usize),
    a: &CudaSlice<f32>,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), String> {
    let fits = rows.checked_mul(columns).is_some_and(|values| a.len() >= values);
    let sides = (c_int::try_from(rows), c_int::try_from(columns));
    let (true, (Ok(m), Ok(n))) = (fits && x.len() >= rows && y.len() >= columns, sides) else {
        return Err(format!("a matrix of {rows} x {columns} does not fit its buffers"));
    };
    let cfg =
        GemvConfig { trans: cublasOperation_t::CUBLAS_OP_T, m, n, alpha: 1.0, lda: m, incx: 1, beta: 0.0, incy: 1 };
    // SAFETY: the matrix has leading dimension `rows`. X holds `rows` and y `columns` values (checked above). One stream orders all.
    unsafe { blas.gemv(cfg, a, x, y) }.map_err(|error| format!("cuBLAS sgemv: {error}"))
}

/// Sum of the absolute values of the whole buffer. Waits for the result.
pub(super) fn asum(blas: &CudaBlas, x: &CudaSlice<f32>) -> Result<f32, String> {
    let Ok(n) = c_int::try_from(x.len()) else {
        return Err(format!("a vector of {} values is longer than cuBLAS can count", x.len()));
    };
    let mut sum = 0.0;
    // SAFETY: the buffer holds n values one beside the other. The handle keeps its default pointer mode, in which the result is
    // written to host memory before the call returns.
    unsafe { blas.asum(AsumConfig { n, incx: 1 }, x, &mut sum) }.map_err(|error| format!("cuBLAS sasum: {error}"))?;
    Ok(sum)
}
