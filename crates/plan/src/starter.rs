//! The commented suite that `sparkbench init` writes.
//!
//! In:  the defaults of the code, whether there is a GPU.  Out: text that parses without a fault.
//! Not here: writing it.

use super::read::SEED;
use super::suite::{REPEATS_FEW, SUITE_SCHEMA};
use super::{Gates, Privacy, Retention, TelemetrySettings, Watchdogs};

const TEMPLATE: &str = include_str!("starter.toml");

/// The text. Its defaults come from the constants that decide, so that it cannot drift from the code. On a machine without a GPU no
/// container gets one, and its absence refuses nothing.
pub fn starter(gpu: bool) -> String {
    let gates = Gates::default();
    let watchdogs = Watchdogs::default();
    let telemetry = TelemetrySettings::default();
    let values = [
        ("schema", SUITE_SCHEMA.to_owned()),
        ("repeats_few", REPEATS_FEW.to_string()),
        ("seed", SEED.to_string()),
        ("gpu_temp_max_c", or_off(gates.gpu_temp_max_c)),
        ("cooldown_min_s", gates.cooldown_min_s.to_string()),
        ("wait_max_s", gates.wait_max_s.to_string()),
        ("gpu_idle_power_max_w", or_off(gates.gpu_idle_power_max_w)),
        ("host_load_max_per_core", or_off(gates.host_load_max_per_core)),
        ("memory_available_min_gib", or_off(gates.memory_available_min_gib)),
        ("swap_used_max_gib", or_off(gates.swap_used_max_gib)),
        ("disk_free_min_gib", gates.disk_free_min_gib.to_string()),
        ("page_cache", gates.page_cache.word().to_owned()),
        ("gpu_exclusive", gates.gpu_exclusive.to_string()),
        (
            "gpu_required",
            if gpu { format!("# gpu_required = {}", gates.gpu_required) } else { "gpu_required = false".to_owned() },
        ),
        ("gpu_flag", if gpu { "\"--gpus=all\", " } else { "" }.to_owned()),
        ("clock_probe_min_mhz", or_off(gates.clock_probe_min_mhz)),
        ("memory_floor_gib", or_off(watchdogs.memory_floor_gib)),
        ("time_limit_s", watchdogs.time_limit_s.to_string()),
        ("grace_s", watchdogs.grace_s.to_string()),
        ("clock_sag_pct", or_off(watchdogs.clock_sag_pct)),
        ("kernel_log", watchdogs.kernel_log.to_string()),
        ("gpu", telemetry.gpu),
        ("gpu_index", telemetry.gpu_index.to_string()),
        ("file_max_mib", Retention::default().file_max_mib.to_string()),
        ("pseudonyms", Privacy::default().pseudonyms.to_string()),
    ];
    values.iter().fold(TEMPLATE.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// A limit as a suite would give it. `false` for none.
fn or_off(limit: Option<f64>) -> String {
    limit.map_or_else(|| "false".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kinds, Suite};

    const KINDS: Kinds<'static> = Kinds { environments: &["native", "docker"], workloads: &["serve"] };

    #[test]
    fn the_starter_is_a_suite_without_fault_and_without_warning() {
        for gpu in [true, false] {
            let parsed = Suite::parse(&starter(gpu), &KINDS);
            assert_eq!(parsed.faults.sorted(), []);
            assert_eq!(parsed.warnings, []);
            assert_eq!(parsed.suite.unwrap().gates.gpu_required, gpu);
        }
    }

    #[test]
    fn the_keys_it_shows_at_their_default_are_at_their_default() {
        let text = starter(true);
        let (_, conditions) = text.split_once("\n[gates]\n").expect("the gates are there");
        let mut shown = String::from("[gates]\n");
        for line in conditions.lines() {
            let key = line.strip_prefix("# ").filter(|rest| {
                rest.split_once(" = ").is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
            });
            shown += &format!("{}\n", key.unwrap_or(line));
        }
        assert!(shown.matches(" = ").count() > 20, "{shown}");
        let head =
            "schema = \"sparkbench.suite/1\"\nname = \"x\"\nrepeats = 3\n[environments.native]\n[workloads.serve]\n";
        let parse = |text: &str| {
            let parsed = Suite::parse(text, &KINDS);
            assert_eq!(parsed.faults.sorted(), []);
            let suite = parsed.suite.expect("a suite");
            // A second is the usual interval, and the only default that is not one value.
            let telemetry = TelemetrySettings { interval_s: None, ..suite.telemetry };
            (suite.gates, suite.watchdogs, telemetry, suite.retention, suite.privacy)
        };
        assert_eq!(parse(&format!("{head}{shown}")), parse(head));
    }

    #[test]
    fn nothing_of_the_template_is_left_to_fill() {
        let text = starter(true).replace("{{json .RepoDigests}}", "").replace("{model.path}", "");
        let text: String = text.lines().filter(|line| !line.contains(" = {")).collect();
        assert!(!text.contains('{') && !text.contains('}'));
    }
}
