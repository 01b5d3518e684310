//! Columns to ask `nvidia-smi` for, under the names that this version knows.
//!
//! In:  the text of `nvidia-smi --help-query-gpu`.  Out: [`Column`]s with the names to ask for, and what this version does not have.
//! Not here: asking, reading the answers.
//!
//! Names change without notice: `clocks_throttle_reasons.active` became `clocks_event_reasons.active` in 535, `clocks.sm` has a longer
//! twin, `power.draw` got two companions. So the help text decides, once, and is archived.

/// A column of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// When the driver was asked, in the machine's own time zone.
    Time,
    /// Number of the GPU.
    Index,
    /// Utilisation, per cent.
    Util,
    /// Power, averaged over a second on Ampere and later, watts.
    Power,
    /// Power without averaging, watts.
    PowerInstant,
    /// Temperature, degrees Celsius.
    Temperature,
    /// SM clock, MHz.
    SmClock,
    /// Memory clock, MHz.
    MemoryClock,
    /// Memory in use, MiB.
    MemoryUsed,
    /// Performance state.
    State,
    /// Reasons of lower clocks, bits.
    Throttle,
}

/// Every column of a reading, the names it has had (newest first), and the field of telemetry it fills.
const WANTED: &[(Column, &[&str], &str)] = &[
    (Column::Time, &["timestamp"], "gpu_age_ms"),
    (Column::Util, &["utilization.gpu"], "gpu_util_pct"),
    (Column::Power, &["power.draw", "power.draw.average", "gpu.power.draw.average"], "power_w"),
    (Column::PowerInstant, &["power.draw.instant", "gpu.power.draw.instant"], "power_instant_w"),
    (Column::Temperature, &["temperature.gpu"], "gpu_c"),
    (Column::SmClock, &["clocks.current.sm", "clocks.sm"], "sm_clock_mhz"),
    (Column::MemoryClock, &["clocks.current.memory", "clocks.mem"], "memory_clock_mhz"),
    (Column::MemoryUsed, &["memory.used"], "memory_used_mib"),
    (Column::State, &["pstate"], "pstate"),
    (Column::Throttle, &["clocks_event_reasons.active", "clocks_throttle_reasons.active"], "throttle_bits"),
    // Last: a line that is cut short has lost it, and is known by that.
    (Column::Index, &["index"], "gpu_index"),
];

/// Columns to ask for, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Column and its name in this version.
    pub columns: Vec<(Column, String)>,
    /// Fields of telemetry whose column this version does not have.
    pub lacking: Vec<&'static str>,
}

impl Choice {
    /// As the switch `--query-gpu` takes it.
    pub fn names(&self) -> String {
        self.columns.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(",")
    }
}

impl Column {
    /// Field of telemetry that it fills.
    pub fn field(self) -> &'static str {
        WANTED.iter().find(|(column, ..)| *column == self).map_or("", |(.., field)| field)
    }
}

/// Names of properties in a help text. Twins each by themselves.
pub fn known(help: &str) -> Vec<&str> {
    let heads = help.lines().filter(|line| line.starts_with('"'));
    heads.flat_map(|line| line.split('"').skip(1).step_by(2)).filter(|name| is_name(name)).collect()
}

/// A property, not a value that a description puts in quotation marks.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'))
}

/// Chooses the columns of a reading.
pub fn choose(known: &[&str]) -> Choice {
    let mut choice = Choice { columns: Vec::new(), lacking: Vec::new() };
    for (column, names, field) in WANTED {
        match first_known(names, known) {
            Some(name) => choice.columns.push((*column, name.to_owned())),
            None => choice.lacking.push(field),
        }
    }
    choice
}

/// The first of several names that a version knows.
pub fn first_known<'a>(names: &[&'a str], known: &[&str]) -> Option<&'a str> {
    names.iter().copied().find(|name| known.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = include_str!("../../../../../tests/fixtures/nvidia-smi/h200/help-query-gpu.txt");

    #[test]
    fn a_real_help_text_gives_every_name_and_its_twin() {
        let known = known(HELP);
        for name in [
            "timestamp",
            "gpu_uuid",
            "clocks.sm",
            "clocks.current.sm",
            "clocks_throttle_reasons.active",
            "power.draw.instant",
        ] {
            assert!(known.contains(&name), "{name}");
        }
        assert!(!known.contains(&"0: Default"), "a value in quotation marks is not a column");
    }

    #[test]
    fn a_new_version_is_asked_by_its_new_names() {
        let choice = choose(&known(HELP));
        assert_eq!(
            choice.names(),
            "timestamp,utilization.gpu,power.draw,power.draw.instant,temperature.gpu,clocks.current.sm,\
             clocks.current.memory,memory.used,pstate,clocks_event_reasons.active,index"
        );
        assert!(choice.lacking.is_empty());
    }

    #[test]
    fn an_old_version_is_asked_by_its_old_names_and_what_it_lacks_is_said() {
        let help = "\"timestamp\"\ntext\n\"utilization.gpu\"\n\"power.draw\"\n\"clocks.sm\" or \"clocks.old.sm\"\n\
                    \"clocks_throttle_reasons.active\"\nBitmask.\n\"index\"\n\"pstate\"\n\"memory.used\"\n\"temperature.gpu\"\n";
        let choice = choose(&known(help));
        let names = choice.names();
        assert!(names.contains("clocks.sm") && names.contains("clocks_throttle_reasons.active"), "{names}");
        assert_eq!(choice.lacking, ["power_instant_w", "memory_clock_mhz"]);
        assert_eq!(choose(&[]).columns, []);
    }
}
