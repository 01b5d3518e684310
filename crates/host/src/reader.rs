//! Everything about the machine beside the GPU, read again and again.
//!
//! In:  a host.  Out: one [`HostSample`] a call.
//! Not here: each kind of reading (see `memory`, `cpu`, `pressure`, `hwmon`), when to read.

use super::Host;
use super::cpu::{self, Busy, Clocks};
use super::hwmon::Sensors;
use super::sample::HostSample;
use super::{memory, pressure};

/// Data that is found once and kept between readings.
#[derive(Debug, Clone, Default)]
pub struct HostReader {
    busy: Busy,
    clocks: Clocks,
    sensors: Sensors,
}

impl HostReader {
    /// Looks for the clocks and sensors of this machine.
    pub fn open(host: &dyn Host) -> Self {
        Self { busy: Busy::default(), clocks: Clocks::find(host), sensors: Sensors::find(host) }
    }

    /// Takes one reading. What cannot be read is absent. It never fails as a whole.
    pub fn read(&mut self, host: &dyn Host) -> HostSample {
        let mut sample = HostSample::default();
        memory::read(host, &mut sample);
        pressure::read(host, &mut sample);
        cpu::load(host, &mut sample);
        self.busy.read(host, &mut sample);
        self.clocks.read(host, &mut sample);
        sample.hwmon = self.sensors.read(host);
        sample
    }

    /// Sensors found.
    pub fn sensors(&self) -> &Sensors {
        &self.sensors
    }
}
