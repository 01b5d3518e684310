//! Figures of a GPU at rest, under load, and stuck, shared by gates and watchdogs.
//!
//! In:  nothing.  Out: constants with their sources.
//! Not here: readings.
//!
//! A GB10 can be stuck at 500 to 850 MHz. It then shows 96 % in use, state P0, a cool chip, 799 MHz, 19.5 W, and no reason of lower clocks.
//! It has a third of its speed. Only disconnecting the power cures it. A healthy one holds 2.28 to 2.41 GHz at about 92 W. Source:
//! Blackwellboy/model-serving-minefield, trap 124. ParallelArchitect/spark-gpu-throttle-check.

/// Utilisation from which a GPU is not at rest, per cent. A desktop that redraws stays below it. Any engine that serves does not.
pub(crate) const BUSY_PCT: f64 = 10.0;

/// Utilisation from which a GPU is loaded, per cent: below it, its clocks say little.
pub(crate) const LOADED_PCT: f64 = 90.0;

/// Clock under load below which a GB10 is stuck rather than merely slow, MHz. The highest stuck one had 850, the lowest healthy one 2,280.
pub(crate) const STUCK_MHZ: f64 = 1400.0;

/// Power under load below which a GB10 may be stuck, watts. A mark, no proof: light work draws little too.
pub(crate) const STUCK_W: f64 = 30.0;

/// Power from which a GB10 under heavy load is well, watts.
pub(crate) const HEALTHY_W: f64 = 60.0;

/// Bit of the driver's reasons of lower clocks: someone set the clocks. Source: NVML API reference, `nvmlClocksEventReasons`.
pub(crate) const SET_BY_SOMEONE: u64 = 0x2;

/// What to do about a stuck clock.
pub(crate) const UNSTICK: &str = "unplug the power cord from the wall and from the device for at least a minute, then start again. A reboot, a reset \
                           or a clock lock does not help a stuck clock. Use the adapter that came with the machine";

/// True for the GPU of a DGX Spark and its twins, whose stuck state is known in figures.
pub(crate) fn is_spark(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.contains("GB10"))
}
