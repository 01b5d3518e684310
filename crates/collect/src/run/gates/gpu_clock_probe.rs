//! Does the GPU reach its clocks under load? A stuck one looks healthy at rest and carries no flag.
//!
//! In:  a short load by this program's own verb `gpu-probe`.  Out: the gate `gpu-clock-probe`. The GPU is warmer afterwards.
//! Not here: the load itself and its rates (see `workload`).
//!
//! The figures of a healthy and of a stuck GPU are in `load`. Power only marks a run here. It is an average over a second, and a short probe
//! may not fill that second.

use std::time::Duration;

use serde::Deserialize;

use super::gate::{Context, Gate, absent};
use super::load::{HEALTHY_W, LOADED_PCT, STUCK_MHZ, STUCK_W, UNSTICK, is_spark};
use super::readings::Readings;
use sparkbench_host::Question;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct GpuClockProbe;

/// The probe works for a second or two. Loading its libraries for the first time from a slow disk takes longer.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed {
    probe: Probe,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Probe {
    health: Option<Health>,
    parts: Vec<Part>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Health {
    state: String,
    bf16_tflops: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    gpu_under_load: Option<Load>,
}

/// The GPU while the probe worked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Load {
    sm_clock_mhz: Option<f64>,
    power_w: Option<f64>,
    util_pct: Option<f64>,
}

impl Gate for GpuClockProbe {
    fn name(&self) -> &'static str {
        "gpu-clock-probe"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    fn warms(&self) -> bool {
        true
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        if let Err(finding) = seen.gpu(self) {
            return finding;
        }
        match ctx.gates.clock_probe_min_mhz {
            None => absent(
                self,
                "not probed, no limit is set",
                "set 'clock_probe_min_mhz' in [gates] (2000 for a DGX Spark) to test the clocks under load before each run",
            ),
            Some(least) => {
                absent(self, "tested right before each run", "test it now with 'sparkbench gpu-probe --quick'")
                    .limit(format!("at least {least} MHz under load"))
            }
        }
    }

    fn act(&self, ctx: &Context<'_>, seen: &Readings) -> Option<Finding> {
        let least = ctx.gates.clock_probe_min_mhz?;
        seen.gpu.as_ref()?;
        let finding = match ask(ctx) {
            Ok(printed) => judge(self, &printed, least, is_spark(seen.identity.name.as_deref())),
            Err(why) => Finding::refused(
                self.name(),
                format!("the probe failed: {why}"),
                "run 'sparkbench gpu-probe --quick' by hand, or set clock_probe_min_mhz = false in [gates]",
            ),
        };
        Some(finding.limit(format!("at least {least} MHz under load")))
    }
}

fn ask(ctx: &Context<'_>) -> Result<Printed, String> {
    let program = ctx.host.own_program().map_err(|cause| format!("this program cannot be found: {cause}"))?;
    let argv = [program.display().to_string(), "gpu-probe".to_owned(), "--quick".to_owned(), "--json".to_owned()];
    let answer = ctx.host.ask(&Question::new(argv).within(LIMIT)).map_err(|cause| cause.to_string())?;
    if !answer.ok() {
        return Err(answer.complaint());
    }
    serde_json::from_slice(&answer.stdout).map_err(|cause| format!("its output cannot be read: {cause}"))
}

fn judge(gate: &GpuClockProbe, printed: &Printed, least: f64, spark: bool) -> Finding {
    let highest = |take: fn(&Load) -> Option<f64>| {
        let values = printed.probe.parts.iter().filter_map(|part| take(part.gpu_under_load.as_ref()?));
        values.reduce(f64::max)
    };
    let (clock, power, util) =
        (highest(|load| load.sm_clock_mhz), highest(|load| load.power_w), highest(|load| load.util_pct));
    let mut words = Vec::new();
    words.extend(clock.map(|clock| format!("SM {clock:.0} MHz")));
    words.extend(power.map(|power| format!("{power:.0} W")));
    words.extend(util.map(|util| format!("{util:.0} % in use")));
    if let Some(health) = &printed.probe.health
        && let Some(tflops) = health.bf16_tflops
    {
        words.push(format!("BF16 {tflops:.1} TFLOP/s: {}", health.state));
    }
    let reading = words.join(", ");
    let Some(clock) = clock else {
        return absent(
            gate,
            format!(
                "the probe could not read the SM clock while it worked{}{reading}",
                if reading.is_empty() { "" } else { ": " }
            ),
            "see the notes of 'sparkbench gpu-probe --quick'",
        );
    };
    let loaded = util.is_none_or(|util| util >= LOADED_PCT);
    let finding = if clock < least && spark && loaded && clock < STUCK_MHZ {
        Finding::refused(gate.name(), format!("stuck clock: {reading}"), UNSTICK)
    } else if clock < least {
        let remedy = "undo clock limits (nvidia-smi -rgc), check power supply and cooling, or lower 'clock_probe_min_mhz' if this clock is intended";
        Finding::refused(gate.name(), reading, remedy)
    } else if printed.probe.health.as_ref().is_some_and(|health| health.state == "slow") {
        Finding::warned(
            gate.name(),
            reading,
            "end other users of the GPU or its memory: the clock is high, but the speed is low. Then compare with 'sparkbench gpu-probe'",
        )
    } else if let Some(power) = power.filter(|power| spark && loaded && *power < HEALTHY_W) {
        let least = if power < STUCK_W { STUCK_W } else { HEALTHY_W };
        Finding::warned(
            gate.name(),
            format!("{reading}: below the {least:.0} W of a healthy one under load"),
            "try a longer load with 'sparkbench gpu-probe'. If the power stays low, use the adapter that came with the machine",
        )
    } else {
        Finding::passed(gate.name(), reading)
    };
    finding.value(clock, "MHz")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::Level;

    fn finding(load: &str, health: &str, spark: bool) -> Finding {
        let text = format!(
            r#"{{"schema":"sparkbench.result/1","probe":{{"health":{health},"parts":[{{"name":"gemm bf16 8192","gpu_under_load":{load}}},{{"gpu_under_load":null}}]}}}}"#
        );
        judge(&GpuClockProbe, &serde_json::from_str(&text).unwrap(), 2000.0, spark)
    }

    #[test]
    fn the_published_figures_of_a_healthy_and_of_a_stuck_spark_are_told_apart() {
        let healthy = finding(
            r#"{"sm_clock_mhz":2405,"power_w":92,"util_pct":96}"#,
            r#"{"state":"healthy","bf16_tflops":91.6}"#,
            true,
        );
        assert_eq!(healthy.level, Level::Passed, "{healthy:?}");
        assert_eq!(healthy.value, Some(2405.0));
        let stuck = finding(
            r#"{"sm_clock_mhz":799,"power_w":19.5,"util_pct":96}"#,
            r#"{"state":"slow","bf16_tflops":36.5}"#,
            true,
        );
        assert_eq!(stuck.level, Level::Refused);
        assert!(stuck.reading.starts_with("stuck clock: SM 799 MHz"), "{}", stuck.reading);
        assert!(stuck.remedy.unwrap().contains("power cord"));
    }

    #[test]
    fn a_low_clock_is_refused_everywhere_and_called_stuck_only_where_that_state_is_known() {
        let low = finding(r#"{"sm_clock_mhz":1200,"power_w":300,"util_pct":99}"#, "null", false);
        assert_eq!((low.level, low.reading.as_str()), (Level::Refused, "SM 1200 MHz, 300 W, 99 % in use"));
        let capped = finding(r#"{"sm_clock_mhz":1800,"power_w":70,"util_pct":99}"#, "null", true);
        assert_eq!(capped.level, Level::Refused);
        assert!(!capped.reading.contains("stuck"));
    }

    #[test]
    fn little_power_or_little_speed_at_a_good_clock_is_a_mark() {
        let weak = finding(r#"{"sm_clock_mhz":2300,"power_w":41,"util_pct":95}"#, "null", true);
        assert_eq!(weak.level, Level::Warned, "{weak:?}");
        let slow = finding(
            r#"{"sm_clock_mhz":2300,"power_w":91,"util_pct":95}"#,
            r#"{"state":"slow","bf16_tflops":40}"#,
            true,
        );
        assert_eq!(slow.level, Level::Warned);
    }

    #[test]
    fn a_probe_that_saw_no_clock_is_not_available() {
        let blind = finding("null", "null", true);
        assert_eq!(blind.level, Level::NotAvailable);
        assert!(blind.remedy.is_some());
    }
}
