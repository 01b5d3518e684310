//! Sensors of the machine: whatever the kernel's hardware monitoring and thermal zones offer.
//!
//! In:  a host.  Out: readings by name, `<chip>_<label>_<unit>`, in degrees Celsius, watts, volts, amperes, revolutions a minute.
//! Not here: which of them matter.
//!
//! A DGX Spark offers little by itself (acpitz, nvme, network). An out-of-tree driver adds the rails of its power supply. So whatever is
//! found is read, under the name it gives itself.
//! Source: Linux, `Documentation/hwmon/sysfs-interface.rst` and `Documentation/driver-api/thermal/sysfs-api.rst`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Host;

/// One folder a chip.
pub(crate) const HWMON: &str = "/sys/class/hwmon";
/// One folder a zone.
pub(crate) const THERMAL: &str = "/sys/class/thermal";

/// Sensors read at most: a server with hundreds of voltage rails must not slow the sampling down.
pub(crate) const MOST: usize = 64;

/// Kinds of sensor: prefix and suffix of the file, what the file's number is divided by, unit.
const KINDS: &[(&str, &str, f64, &str)] = &[
    ("temp", "_input", 1e3, "c"),
    ("power", "_input", 1e6, "w"),
    ("power", "_average", 1e6, "average_w"),
    ("in", "_input", 1e3, "v"),
    ("curr", "_input", 1e3, "a"),
    ("fan", "_input", 1.0, "rpm"),
];

#[derive(Debug, Clone, PartialEq)]
struct Sensor {
    name: String,
    file: PathBuf,
    divisor: f64,
}

/// Every sensor of the machine that could be read once.
#[derive(Debug, Clone, Default)]
pub struct Sensors {
    found: Vec<Sensor>,
}

impl Sensors {
    /// Looks for sensors, and keeps those that answer.
    pub(crate) fn find(host: &dyn Host) -> Self {
        let mut found: Vec<Sensor> = Vec::new();
        for chip in host.list(Path::new(HWMON)).unwrap_or_default() {
            found.extend(chip_sensors(host, &Path::new(HWMON).join(chip)));
        }
        let has_zones = found.iter().any(|sensor| sensor.name.starts_with("acpitz"));
        if !has_zones {
            found.extend(zones(host));
        }
        found.retain(|sensor| sensor.read(host).is_some());
        unlike_names(&mut found);
        found.truncate(MOST);
        Self { found }
    }

    /// Names, in the order in which they are read.
    pub fn names(&self) -> Vec<String> {
        self.found.iter().map(|sensor| sensor.name.clone()).collect()
    }

    /// Takes the readings. A sensor that does not answer is left out of this one.
    pub(crate) fn read(&self, host: &dyn Host) -> BTreeMap<String, f64> {
        self.found.iter().filter_map(|sensor| Some((sensor.name.clone(), sensor.read(host)?))).collect()
    }
}

impl Sensor {
    fn read(&self, host: &dyn Host) -> Option<f64> {
        let figure: f64 = host.read(&self.file).ok()?.trim().parse().ok()?;
        Some(figure / self.divisor)
    }
}

fn chip_sensors(host: &dyn Host, folder: &Path) -> Vec<Sensor> {
    let text = |file: &str| Some(host.read(&folder.join(file)).ok()?.trim().to_owned()).filter(|text| !text.is_empty());
    let chip = text("name").unwrap_or_else(|| "hwmon".to_owned());
    let files = host.list(folder).unwrap_or_default();
    let sensor = |file: &String| {
        let (_, suffix, divisor, unit) = KINDS.iter().find(|(prefix, suffix, ..)| number(file, prefix, suffix))?;
        let channel = file.strip_suffix(suffix)?;
        let label = text(&format!("{channel}_label")).unwrap_or_else(|| channel.to_owned());
        Some(Sensor { name: named(&[&chip, &label, unit]), file: folder.join(file), divisor: *divisor })
    };
    files.iter().filter_map(sensor).collect()
}

/// Zones of the machine's firmware, where no chip shows them.
fn zones(host: &dyn Host) -> Vec<Sensor> {
    let zones = host.list(Path::new(THERMAL)).unwrap_or_default();
    let sensor = |zone: &String| {
        let index = zone.strip_prefix("thermal_zone")?;
        let folder = Path::new(THERMAL).join(zone);
        let kind = host.read(&folder.join("type")).ok()?;
        Some(Sensor {
            name: named(&[kind.trim(), &format!("zone{index}"), "c"]),
            file: folder.join("temp"),
            divisor: 1e3,
        })
    };
    zones.iter().filter_map(sensor).collect()
}

/// `temp12_input` is number 12 of the kind `temp`, `_input`.
fn number(file: &str, prefix: &str, suffix: &str) -> bool {
    let digits = file.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Words of small letters and digits, joined by underscores: fit for the header of a table.
fn named(parts: &[&str]) -> String {
    let mut name = String::new();
    for letter in parts.join("_").chars() {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            _ if !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    name.trim_matches('_').to_owned()
}

/// Two chips of one kind (two disks) give the same names: the later ones are numbered, in the order of the kernel.
fn unlike_names(sensors: &mut [Sensor]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for sensor in sensors {
        let times = seen.entry(sensor.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            sensor.name = format!("{}_{times}", sensor.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;

    #[test]
    fn every_chip_is_read_under_its_own_names_and_units() {
        let host = Replay::new()
            .file("/sys/class/hwmon/hwmon0/name", "acpitz\n")
            .file("/sys/class/hwmon/hwmon0/temp1_input", "41000\n")
            .file("/sys/class/hwmon/hwmon0/temp1_crit", "110000\n")
            .file("/sys/class/hwmon/hwmon1/name", "spark_hwmon\n")
            .file("/sys/class/hwmon/hwmon1/power1_input", "95500000\n")
            .file("/sys/class/hwmon/hwmon1/power1_label", "DC Input\n")
            .file("/sys/class/hwmon/hwmon1/power2_input", "no\n")
            .file("/sys/class/hwmon/hwmon2/name", "nvme\n")
            .file("/sys/class/hwmon/hwmon2/temp1_input", "-5000\n")
            .file("/sys/class/hwmon/hwmon3/name", "nvme\n")
            .file("/sys/class/hwmon/hwmon3/temp1_input", "39850\n")
            .file("/sys/class/thermal/thermal_zone0/type", "acpitz\n")
            .file("/sys/class/thermal/thermal_zone0/temp", "41000\n");
        let sensors = Sensors::find(&host);
        let read: Vec<(String, f64)> = sensors.read(&host).into_iter().collect();
        let expected = [
            ("acpitz_temp1_c", 41.0),
            ("nvme_temp1_c", -5.0),
            ("nvme_temp1_c_2", 39.85),
            ("spark_hwmon_dc_input_w", 95.5),
        ];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value)));
        host.set_file("/sys/class/hwmon/hwmon2/temp1_input", "");
        assert_eq!(sensors.read(&host).len(), 3, "a sensor that falls silent is left out");
        assert_eq!(sensors.names().len(), 4, "and keeps its column");
    }

    #[test]
    fn thermal_zones_stand_in_where_no_chip_shows_them() {
        let host = Replay::new()
            .file("/sys/class/thermal/thermal_zone3/type", "x86_pkg_temp\n")
            .file("/sys/class/thermal/thermal_zone3/temp", "52000\n")
            .file("/sys/class/thermal/cooling_device0/type", "Processor\n");
        assert_eq!(Sensors::find(&host).names(), ["x86_pkg_temp_zone3_c"]);
        assert!(Sensors::find(&Replay::new()).names().is_empty());
    }

    #[test]
    fn a_machine_full_of_sensors_is_read_within_bounds() {
        let mut host = Replay::new().file("/sys/class/hwmon/hwmon0/name", "many\n");
        for channel in 0..70 {
            host = host.file(format!("/sys/class/hwmon/hwmon0/in{channel}_input"), "1000\n");
        }
        let sensors = Sensors::find(&host);
        assert_eq!(sensors.names().len(), MOST);
    }
}
