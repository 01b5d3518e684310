//! One GPU through the CUDA driver and cuBLAS.
//!
//! In:  its place among the GPUs of CUDA.  Out: [`open`], a [`Device`].
//! Not here: calls that need `unsafe` (see `calls`), the choice of tasks.
//!
//! Everything runs on the default stream: one queue, in order, so that two events around launches time exactly these launches.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Instant;

use cudarc::cublas::CudaBlas;
use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DeviceRepr, DriverError, ValidAsZeroBits};
use half::{bf16, f16};

use super::calls::{self, Half, MissingSymbol};
use super::{Device, Facts, Memory, Precision, Task, Timed};
use sparkbench_text::error::{Error, Kind};

/// Oldest driver with every function that is used, for messages. Source: `cuEventElapsedTime_v2` came with CUDA 12.8.
const LEAST_DRIVER: &str = "570 (CUDA 12.8)";

/// Opens a GPU.
///
/// # Errors
/// A pre-flight error: no driver, no cuBLAS, no such GPU, or a driver that does not start.
pub fn open(index: u32) -> Result<Box<dyn Device>, Error> {
    if let Some(lack) = calls::driver_lacks() {
        return Err(no_driver(&lack));
    }
    if let Some(lack) = calls::blas_lacks() {
        return Err(no_blas(&lack));
    }
    let count = CudaContext::device_count().map_err(|error| no_device(&error))?;
    if i32::try_from(index).map_or(true, |index| index >= count) {
        return Err(Error::new(Kind::Preflight, format!("no GPU {index}: CUDA shows {count}"))
            .hint("give a smaller --device, or look at CUDA_VISIBLE_DEVICES"));
    }
    let context = CudaContext::new(index as usize).map_err(|error| no_device(&error))?;
    let stream = context.default_stream();
    let blas = CudaBlas::new(Arc::clone(&stream)).map_err(|error| {
        Error::new(Kind::Preflight, format!("cuBLAS does not start on GPU {index}: {error}"))
            .hint("use a cuBLAS of the CUDA release that the driver and this GPU support")
    })?;
    let facts = facts(&context, &blas, index).map_err(|error| no_device(&error))?;
    Ok(Box::new(CudaDevice { context, stream, blas: ManuallyDrop::new(blas), facts, loaded: None }))
}

fn no_driver(lack: &MissingSymbol) -> Error {
    match lack {
        MissingSymbol::Library => Error::new(Kind::Preflight, "no libcuda.so.1: the CUDA driver cannot be loaded").hint(
            "install the NVIDIA driver. In a container, pass the GPU in (--gpus all). In a root file system, bind the driver's libraries",
        ),
        MissingSymbol::Function(name) => Error::new(Kind::Preflight, format!("the CUDA driver has no function {name}"))
            .hint(format!("update the NVIDIA driver: {LEAST_DRIVER} or newer is needed")),
    }
}

fn no_blas(lack: &MissingSymbol) -> Error {
    let error = match lack {
        MissingSymbol::Library => {
            Error::new(Kind::Preflight, "no libcublas.so.13, .12 or .11: cuBLAS cannot be loaded")
        }
        MissingSymbol::Function(name) => Error::new(Kind::Preflight, format!("cuBLAS has no function {name}")),
    };
    error.hint("install the CUDA toolkit or its cuBLAS package, and put its folder into LD_LIBRARY_PATH")
}

fn no_device(error: &DriverError) -> Error {
    let (what, hint) = match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => {
            ("the CUDA driver finds no GPU", "check with nvidia-smi. In a container, pass the GPU in (--gpus all)")
        }
        CUresult::CUDA_ERROR_STUB_LIBRARY => (
            "libcuda.so is the stub of the toolkit, not the driver",
            "take the folder 'stubs' out of LD_LIBRARY_PATH, and install the NVIDIA driver",
        ),
        _ => ("the CUDA driver does not start", "look at nvidia-smi and the kernel log"),
    };
    Error::new(Kind::Preflight, what).detail(say(error)).hint(hint)
}

fn facts(context: &CudaContext, blas: &CudaBlas, index: u32) -> Result<Facts, DriverError> {
    let (major, minor) = context.compute_capability()?;
    let count = |attribute| context.attribute(attribute).ok().and_then(|value| u32::try_from(value).ok());
    Ok(Facts {
        index,
        name: context.name()?,
        // The bytes come as the C type `char`, which has a sign on some processors.
        uuid: context.uuid().ok().map(|uuid| uuid_text(&uuid.bytes.map(|byte| byte as u8))),
        compute_capability: format!("{major}.{minor}"),
        multiprocessors: count(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        integrated: context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0,
        memory_bytes: context.total_mem()? as u64,
        l2_bytes: count(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
            .map(u64::from)
            .filter(|bytes| *bytes > 0),
        cuda: calls::driver_version().map(|code| format!("{}.{}", code / 1000, code % 1000 / 10)),
        cublas: calls::blas_version(blas).map(cublas_version),
    })
}

/// cuBLAS codes 13.0.2 as 130002 and codes before 10 as four digits. Source: `CUBLAS_VERSION` of `cublas_api.h`, 10000 major + 100 minor + patch.
fn cublas_version(code: i32) -> String {
    format!("{}.{}.{}", code / 10_000, code % 10_000 / 100, code % 100)
}

/// As NVML and `nvidia-smi` print it.
fn uuid_text(bytes: &[u8]) -> String {
    let mut text = "GPU-".to_owned();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The driver's word and its sentence.
fn say(error: &DriverError) -> String {
    let sentence = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{:?}: {sentence}", error.0)
}

fn failed(doing: &str, error: &DriverError) -> Error {
    let failure = Error::new(Kind::Workload, format!("the GPU failed while {doing}")).detail(say(error));
    if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return failure.hint("end what else uses the memory, or give smaller --sizes");
    }
    failure.hint("look at the kernel log for Xid and NVRM lines")
}

fn refused(what: String) -> Error {
    Error::new(Kind::Workload, what).hint("look at the kernel log for Xid and NVRM lines")
}

struct CudaDevice {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Never released: after a fault of the GPU its end would be a panic, and the process gives it back anyway.
    blas: ManuallyDrop<CudaBlas>,
    facts: Facts,
    loaded: Option<Loaded>,
}

/// Two operands and a result, n x n.
struct Product<T> {
    n: usize,
    a: CudaSlice<T>,
    b: CudaSlice<T>,
    c: CudaSlice<T>,
}

enum Loaded {
    Full { product: Product<f32>, tf32: bool },
    Half { product: Product<u16>, format: Half },
    Copy { from: CudaSlice<f32>, to: CudaSlice<f32> },
    Gemv { sides: (usize, usize), a: CudaSlice<f32>, x: CudaSlice<f32>, y: CudaSlice<f32> },
    Asum { x: CudaSlice<f32>, sum: f32 },
}

impl<T: DeviceRepr + ValidAsZeroBits> Product<T> {
    fn load(
        stream: &Arc<CudaStream>,
        n: usize,
        (a, b): (&[f32], &[f32]),
        narrow: fn(f32) -> T,
    ) -> Result<Self, DriverError> {
        let values = n * n;
        Ok(Self {
            n,
            a: tiled(stream, values, a, narrow)?,
            b: tiled(stream, values, b, narrow)?,
            c: stream.alloc_zeros(values)?,
        })
    }
}

/// A buffer that repeats a pool.
fn tiled<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    values: usize,
    pool: &[f32],
    narrow: fn(f32) -> T,
) -> Result<CudaSlice<T>, DriverError> {
    let mut buffer = stream.alloc_zeros::<T>(values)?;
    let tile: Vec<T> = pool.iter().map(|value| narrow(*value)).collect();
    let mut at = 0;
    while at < values && !tile.is_empty() {
        let end = (at + tile.len()).min(values);
        if let (Some(mut target), Some(source)) = (buffer.try_slice_mut(at..end), tile.get(..end - at)) {
            stream.memcpy_htod(source, &mut target)?;
        }
        at = end;
    }
    // The tile is freed on return, so the copies must have ended.
    stream.synchronize()?;
    Ok(buffer)
}

fn values_at<T: DeviceRepr + Copy>(
    stream: &Arc<CudaStream>,
    buffer: &CudaSlice<T>,
    places: &[usize],
    widen: fn(T) -> f64,
) -> Result<Vec<f64>, Error> {
    let mut values = Vec::with_capacity(places.len());
    for place in places {
        let view = buffer
            .try_slice(*place..place + 1)
            .ok_or_else(|| refused(format!("the result has no value {place}: it holds {}", buffer.len())))?;
        let copy = stream.clone_dtoh(&view).map_err(|error| failed("reading its result", &error))?;
        stream.synchronize().map_err(|error| failed("reading its result", &error))?;
        values.extend(copy.into_iter().map(widen));
    }
    Ok(values)
}

impl CudaDevice {
    fn try_load(&self, task: &Task<'_>) -> Result<Loaded, DriverError> {
        let stream = &self.stream;
        let same: fn(f32) -> f32 = |value| value;
        Ok(match *task {
            Task::Gemm { n, precision, a, b } => match precision {
                Precision::Fp32 | Precision::Tf32 => Loaded::Full {
                    product: Product::load(stream, n, (a, b), same)?,
                    tf32: precision == Precision::Tf32,
                },
                Precision::Fp16 => Loaded::Half {
                    product: Product::load(stream, n, (a, b), |value| f16::from_f32(value).to_bits())?,
                    format: Half::Fp16,
                },
                Precision::Bf16 => Loaded::Half {
                    product: Product::load(stream, n, (a, b), |value| bf16::from_f32(value).to_bits())?,
                    format: Half::Bf16,
                },
            },
            Task::Copy { values, pool } => {
                Loaded::Copy { from: tiled(stream, values, pool, same)?, to: stream.alloc_zeros(values)? }
            }
            Task::Gemv { rows, columns, pool, x } => Loaded::Gemv {
                sides: (rows, columns),
                a: tiled(stream, rows * columns, pool, same)?,
                x: tiled(stream, rows, x, same)?,
                y: stream.alloc_zeros(columns)?,
            },
            Task::Asum { values, pool } => Loaded::Asum { x: tiled(stream, values, pool, same)?, sum: 0.0 },
        })
    }

    fn event(&self) -> Result<CudaEvent, DriverError> {
        self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
    }
}

impl Device for CudaDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn memory(&self) -> Result<Memory, Error> {
        let (free, total) = self.context.mem_get_info().map_err(|error| failed("saying its free memory", &error))?;
        Ok(Memory { free: free as u64, total: total as u64 })
    }

    fn load(&mut self, task: &Task<'_>) -> Result<(), Error> {
        self.unload();
        let loaded = self.try_load(task).map_err(|error| failed("taking memory", &error))?;
        calls::set_tf32(&self.blas, matches!(loaded, Loaded::Full { tf32: true, .. })).map_err(refused)?;
        self.loaded = Some(loaded);
        Ok(())
    }

    fn run(&mut self, launches: u32, during: &mut dyn FnMut()) -> Result<Timed, Error> {
        let at_work = |error: DriverError| failed("at work", &error);
        let (begin, end) = (self.event().map_err(at_work)?, self.event().map_err(at_work)?);
        self.stream.synchronize().map_err(at_work)?;
        let Some(loaded) = &mut self.loaded else { return Err(refused("nothing is loaded onto the GPU".to_owned())) };
        let started = Instant::now();
        begin.record(&self.stream).map_err(at_work)?;
        for _ in 0..launches {
            match loaded {
                Loaded::Full { product: Product { n, a, b, c }, .. } => {
                    calls::gemm(&self.blas, *n, (a, b), c).map_err(refused)?;
                }
                Loaded::Half { product: Product { n, a, b, c }, format } => {
                    calls::gemm_half(&self.blas, &self.stream, *n, *format, (a, b), c).map_err(refused)?;
                }
                Loaded::Copy { from, to } => self.stream.memcpy_dtod(from, to).map_err(at_work)?,
                Loaded::Gemv { sides, a, x, y } => calls::gemv(&self.blas, *sides, a, x, y).map_err(refused)?,
                Loaded::Asum { x, sum } => *sum = calls::asum(&self.blas, x).map_err(refused)?,
            }
        }
        end.record(&self.stream).map_err(at_work)?;
        during();
        end.synchronize().map_err(at_work)?;
        let host_s = started.elapsed().as_secs_f64();
        let device_s = f64::from(begin.elapsed_ms(&end).map_err(at_work)?) / 1000.0;
        self.context.check_err().map_err(at_work)?;
        Ok(Timed { launches, device_s, host_s })
    }

    fn peek(&mut self, places: &[usize]) -> Result<Vec<f64>, Error> {
        let stream = &self.stream;
        match &self.loaded {
            None => Err(refused("nothing is loaded onto the GPU".to_owned())),
            Some(Loaded::Full { product, .. }) => values_at(stream, &product.c, places, f64::from),
            Some(Loaded::Half { product, format: Half::Fp16 }) => {
                values_at(stream, &product.c, places, |bits| f16::from_bits(bits).to_f64())
            }
            Some(Loaded::Half { product, format: Half::Bf16 }) => {
                values_at(stream, &product.c, places, |bits| bf16::from_bits(bits).to_f64())
            }
            Some(Loaded::Copy { to, .. }) => values_at(stream, to, places, f64::from),
            Some(Loaded::Gemv { y, .. }) => values_at(stream, y, places, f64::from),
            Some(Loaded::Asum { sum, .. }) => Ok(places.iter().map(|_| f64::from(*sum)).collect()),
        }
    }

    fn unload(&mut self) {
        self.loaded = None;
        // Memory goes back when the stream has passed the point where it was released. A fault here is reported by the next call.
        self.context.record_err(self.stream.synchronize());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_a_refusal_of_pre_flight_with_a_remedy() {
        for error in [
            no_driver(&MissingSymbol::Library),
            no_driver(&MissingSymbol::Function("cuInit")),
            no_blas(&MissingSymbol::Library),
        ] {
            assert_eq!(error.kind, Kind::Preflight);
            assert!(error.hint.is_some(), "{error}");
        }
        assert!(no_driver(&MissingSymbol::Library).what.starts_with("no libcuda.so.1: "));
    }

    #[test]
    fn versions_of_cublas_are_decoded() {
        assert_eq!(cublas_version(130_002), "13.0.2");
        assert_eq!(cublas_version(120_805), "12.8.5");
        assert_eq!(cublas_version(111_103), "11.11.3");
    }

    #[test]
    fn a_uuid_is_written_as_the_driver_prints_it() {
        let bytes: Vec<u8> = (0..16).map(|byte| byte * 17).collect();
        assert_eq!(uuid_text(&bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn opening_a_gpu_never_panics() {
        // Whatever this machine has: a device with a name, or a refusal of pre-flight.
        match open(0) {
            Ok(device) => assert!(!device.facts().name.is_empty()),
            Err(error) => assert_eq!(error.kind, Kind::Preflight, "{error}"),
        }
    }
}
