//! Telemetry and machine states that scripts write as JSON.
//!
//! In:  an object, a list or JSON Lines.  Out: samples from lists with times and known figures, all other figures as extras.
//! Not here: printed text of programs other than nvidia-smi and free, because it may name hosts, paths and people.
//!
//! Three shapes are known:
//! - lists of flat objects (`{"timestamp": ..., "power_w": ...}`).
//! - objects with the output of a command in `cmd` and `stdout`, where `cmd` is `nvidia-smi --query-gpu=...` or `free -b`.
//! - reports on a machine with figures such as `power_draw_w`, `temperature_c` and `sm_clock_mhz` in one place.

use super::collect::Collect;
use super::column::{self, Column};
use super::csv::put;
use super::{cell, detail, plain};
use crate::at::At;
use crate::json::{self, Kind};
use crate::outline::Outline;
use crate::{About, Format, Head, Parsed, Record, SourceFile};
use sparkbench_model::Sample;
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct TelemetryJson;

const RULE: &str = "telemetry-json";
/// Figures of telemetry that must occur together.
const TOGETHER: usize = 3;
/// Deepest place that is read.
const DEPTH: usize = 24;
const MIB: f64 = 1_048_576.0;

/// Numbers that identify or only count processes of that hour.
const IGNORED: &[&str] = &["pid", "ppid", "pids", "returncode", "uid"];

impl Format for TelemetryJson {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "scripts that sample or describe a machine",
            versions: "any",
            sign: "JSON in which nvidia-smi's answer stands beside its command line, or three known figures of telemetry at one place",
            reads: "samples where there are times, every other figure as an extra",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.outline().is_some_and(|outline| holds(outline, 0))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut walk = Walk::default();
        match json::parse(&text) {
            Ok(node) => walk.value(&At::root(&node), "", 0),
            // JSON Lines, where the first line is a document of its own.
            Err(error) => {
                let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
                if lines.len() < 2 {
                    return Err(error);
                }
                for line in lines {
                    match json::parse(line) {
                        Ok(node) => {
                            let root = At::root(&node);
                            if !walk.sample(&root) {
                                walk.value(&root, "", 0);
                            }
                        }
                        Err(error) if walk.parsed.left_out.len() < 20 => walk.parsed.left_out.push(error),
                        Err(_) => {}
                    }
                }
            }
        }
        let mut parsed = walk.parsed;
        let (samples, extras, notes) = walk.all.finish(file, RULE);
        parsed.notes.extend(notes);
        let mut partial = detail();
        (partial.telemetry, partial.extras) = (samples, extras);
        partial.setup.machine = walk.machine;
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

/// True where one of the three shapes occurs.
fn holds(outline: &Outline<'_>, depth: usize) -> bool {
    match outline {
        Outline::Map(entries) if depth < 6 => {
            let measured = entries
                .iter()
                .filter_map(|(key, inner)| matches!(inner, Outline::Bare(_)).then(|| Column::of(key)).flatten())
                .filter(|(column, _)| column.is_measured())
                .count();
            let printed =
                entries.iter().any(|(key, inner)| key.starts_with("nvidia_smi") && inner.has(&["cmd", "stdout"]));
            measured >= TOGETHER || printed || entries.iter().any(|(_, inner)| holds(inner, depth + 1))
        }
        Outline::List(Some(first)) if depth < 6 => holds(first, depth + 1),
        _ => false,
    }
}

#[derive(Default)]
struct Walk {
    all: Collect,
    parsed: Parsed,
    machine: Option<String>,
}

impl Walk {
    fn value(&mut self, at: &At<'_>, path: &str, depth: usize) {
        if depth > DEPTH {
            return;
        }
        match &at.node.kind {
            Kind::Map(_) => {
                if let Some(answer) = printed(at) {
                    for (name, value, unit) in answer {
                        self.all.figure("", &join(path, &name), value, unit);
                    }
                    return;
                }
                for (key, inner) in at.entries().into_iter().flatten() {
                    if IGNORED.contains(&key) {
                        continue;
                    }
                    self.value(&inner, &join(path, key), depth + 1);
                    if let (Kind::Text(text), true) =
                        (&inner.node.kind, matches!(key, "device" | "gpu" | "gpu_name" | "name"))
                        && text.contains("NVIDIA")
                        && self.machine.is_none()
                    {
                        self.machine = Some(crate::figure::excerpt(text));
                    }
                    if let (Kind::Text(text), true) = (&inner.node.kind, matches!(key, "stdout" | "stdout_tail"))
                        && text.bytes().any(|byte| byte.is_ascii_digit())
                        && self.parsed.not_understood.len() < 20
                    {
                        self.parsed
                            .not_understood
                            .push(format!("{}: text that a program printed is not read", join(path, key)));
                    }
                }
            }
            Kind::List(_) => {
                for (place, item) in at.items().into_iter().flatten().enumerate() {
                    if !self.sample(&item) {
                        self.value(&item, &join(path, &place.to_string()), depth + 1);
                    }
                }
            }
            Kind::Number(_) => {
                if let Some(value) = at.figure().ok().and_then(super::Figure::finite) {
                    let key = path.rsplit('/').next().unwrap_or(path);
                    self.all.figure("", path, value, column::unit(key));
                }
            }
            _ => {}
        }
    }

    /// Takes an object with a moment and known figures as a sample.
    fn sample(&mut self, at: &At<'_>) -> bool {
        let Ok(entries) = at.entries() else { return false };
        let mut moment = None;
        for (key, inner) in entries {
            if let Some((Column::Time, _)) = Column::of(key) {
                moment = match &inner.node.kind {
                    Kind::Text(text) => cell::moment(text),
                    Kind::Number(digits) => cell::moment(digits),
                    _ => None,
                };
            }
        }
        let Some(moment) = moment else { return false };
        let mut leaves = Vec::new();
        gather(at, "", 0, &mut leaves);
        let mut sample = Sample::new(moment);
        let mut known = false;
        for (name, value, unit) in leaves {
            match Column::of(name.rsplit('/').next().unwrap_or(&name)) {
                Some((Column::Time, _)) => {}
                Some((column, _)) if column.is_measured() => {
                    known = true;
                    put(&mut sample, column, (value >= 0.0 || !column.is_never_negative()).then_some(value));
                }
                _ => self.all.figure("", &name, value, unit),
            }
        }
        if known {
            self.all.sample("", sample);
        }
        true
    }
}

/// All figures below a place, with what commands printed.
fn gather(at: &At<'_>, path: &str, depth: usize, into: &mut Vec<(String, f64, &'static str)>) {
    if depth > DEPTH || into.len() > 1000 {
        return;
    }
    match &at.node.kind {
        Kind::Map(_) => {
            if let Some(answer) = printed(at) {
                into.extend(answer.into_iter().map(|(name, value, unit)| (join(path, &name), value, unit)));
                return;
            }
            for (key, inner) in at.entries().into_iter().flatten() {
                if !IGNORED.contains(&key) {
                    gather(&inner, &join(path, key), depth + 1, into);
                }
            }
        }
        Kind::List(_) => {
            for item in at.items().into_iter().flatten() {
                gather(&item, path, depth + 1, into);
            }
        }
        Kind::Number(_) => {
            if let Some(value) = at.figure().ok().and_then(super::Figure::finite) {
                into.push((path.to_owned(), value, column::unit(path.rsplit('/').next().unwrap_or(path))));
            }
        }
        _ => {}
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") }
}

/// The figures that a command printed, by the names of its fields. Nothing for another object.
fn printed(at: &At<'_>) -> Option<Vec<(String, f64, &'static str)>> {
    let out = at.get("stdout")?.text().ok()??.to_owned();
    let command = at.get("cmd")?;
    let words: Vec<String> = match &command.node.kind {
        Kind::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        _ => command.items().ok()?.filter_map(|item| item.text().ok().flatten().map(str::to_owned)).collect(),
    };
    let program = words.first()?.rsplit('/').next()?.to_owned();
    if program == "nvidia-smi" {
        let fields = words.iter().find_map(|word| word.strip_prefix("--query-gpu="));
        let Some(fields) = fields else { return Some(Vec::new()) };
        let row = out.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let figures = fields.split(',').zip(row.split(',')).filter_map(|(field, text)| {
            // A version is no figure.
            let (value, unit) = plain(text.trim()).filter(|_| !field.contains("version"))?;
            Some((field.trim().to_owned(), value, unit))
        });
        return Some(figures.collect());
    }
    if program == "free" && words.iter().any(|word| word == "-b") {
        let row = |label: &str| -> Vec<f64> {
            let line = out.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap_or_default();
            line.split_whitespace().filter_map(|word| Some(plain(word)?.0 / MIB)).collect()
        };
        let (memory, swap) = (row("Mem:"), row("Swap:"));
        let named = |name: &str, value: Option<&f64>| value.map(|value| (name.to_owned(), *value, "MiB"));
        return Some(
            [
                named("ram_total_mib", memory.first()),
                named("host_memory_used_mib", memory.get(1)),
                named("host_memory_available_mib", memory.get(5)),
                named("host_swap_used_mib", swap.get(1)),
            ]
            .into_iter()
            .flatten()
            .collect(),
        );
    }
    // What other programs print may name the host.
    Some(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartialRun;

    fn read(text: &str) -> (PartialRun, Parsed) {
        assert!(TelemetryJson.sniff(&Head::new("x.json", text, 1)), "{text}");
        let mut input = text.as_bytes();
        let mut parsed = TelemetryJson.parse(&mut SourceFile::new("x.json", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_with_a_time_are_samples() {
        let list = "[{\"timestamp\": 1780842021.5, \"power_w\": 38.5, \"temperature_c\": 61, \"gpu_util_pct\": 96, \"rpm\": 900},\
                     {\"timestamp\": \"2026-06-07T14:20:22.5Z\", \"power_w\": null, \"temperature_c\": 62, \"gpu_util_pct\": -1}]";
        let (partial, _) = read(list);
        assert_eq!(partial.telemetry.len(), 2);
        assert_eq!((partial.telemetry[0].power_w, partial.telemetry[1].gpu_c), (Some(38.5), Some(62.0)));
        assert_eq!((partial.telemetry[1].gpu_util_pct, partial.extras[0].name.as_str()), (None, "rpm"));
        let lines = list.trim_matches(['[', ']']).replace("},", "}\n");
        assert_eq!(read(&lines).0.telemetry, partial.telemetry);
    }

    #[test]
    fn what_nvidia_smi_and_free_printed_is_read_by_their_command_lines() {
        let (partial, parsed) = read(
            r#"{"samples": [{"timestamp": 1780842021.6, "rss_kib": 10848, "pids": [4711], "memory": {
                "free": {"cmd": ["free", "-b"], "stdout": "total used free shared buff/cache available\nMem: 128452014080 4386361344 1 2 3 124065652736\nSwap: 17179865088 340000768 5"},
                "nvidia_smi": {"cmd": ["nvidia-smi", "--query-gpu=name,memory.used,utilization.gpu", "--format=csv,noheader,nounits"], "stdout": "NVIDIA GB10, [N/A], 6"}}}],
                "uname": {"cmd": ["uname", "-a"], "stdout": "Linux secret-host 6.17"}, "stdout_tail": "Decode speed: 43.70 tokens/s"}"#,
        );
        let sample = partial.telemetry[0];
        assert_eq!((sample.gpu_util_pct, sample.memory_used_mib), (Some(6.0), None));
        assert!((sample.host_memory_used_mib.unwrap() - 4183.16).abs() < 0.01);
        let names: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(names, ["memory/free/ram_total_mib", "rss_kib"]);
        assert!(!format!("{partial:?}").contains("secret-host"));
        assert!(parsed.not_understood[0].contains("stdout_tail"));
    }

    #[test]
    fn a_report_on_a_machine_gives_every_figure_with_its_place() {
        let (partial, _) = read(
            r#"{"device": "NVIDIA GB10", "idle": {"power_draw_w": 10.92, "temperature_c": 49, "sm_clock_mhz": 2405}, "bw": {"1GB": {"bw_gbs": 133.6}}}"#,
        );
        let names: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(names, ["bw/1GB/bw_gbs", "idle/power_draw_w", "idle/sm_clock_mhz", "idle/temperature_c"]);
        assert_eq!(partial.setup.machine.as_deref(), Some("NVIDIA GB10"));
    }

    #[test]
    fn results_of_benchmarks_are_not_taken() {
        for text in [
            r#"{"points": [{"gpu": {"temperature_c": 1, "power_draw_w": 2}}]}"#,
            r#"{"mean_ttft_ms": 1, "duration": 2}"#,
            "[1, 2]",
        ] {
            assert!(!TelemetryJson.sniff(&Head::new("x.json", text, 1)), "{text}");
        }
    }
}
