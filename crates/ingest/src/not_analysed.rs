//! Files that belong to an archive and hold no measurement of a run: descriptions of the machine, lists of packages, prose.
//!
//! In:  names and first bytes.  Out: a word on what the file is. It is hashed and listed, never an error.
//! Not here: anything taken from them.

use super::{About, Format, Head, Parsed, SourceFile, markdown};
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct NotAnalysed;

/// Lines that are looked at.
const LINES: usize = 8;

const MACHINE: &str = "a description of the machine, kept and not analysed";
const PROCESSES: &str = "the processes on a GPU, as nvidia-smi pmon shows them, kept and not read";
const LIST: &str = "a list of hashes, with which the files beside it are compared";

/// Beginnings that only one program prints.
const PRINTS: &[&str] = &["List of valid properties to query", "Linux "];

/// Last part of a name, what it is.
const ENDINGS: &[(&str, &str)] = &[
    (".md", "prose, kept"),
    (".sh", "a script, kept"),
    (".py", "a script, kept"),
    (".yaml", "settings, kept"),
    (".yml", "settings, kept"),
    (".svg", "a picture, kept"),
    (".png", "a picture, kept"),
    (".html", "a page, kept"),
    (".pdf", "a page, kept"),
    ("journal.jsonl", "the journal of the campaign, kept"),
    ("chunks.sbc", "the times of every chunk of a load, kept"),
    ("seal.json", "the seal of the campaign, kept"),
    ("phase_manifest.json", "the list of phases of an AIPerf run, kept"),
    ("server_metrics_export.parquet", "the scrapes of an AIPerf run once more, kept while its JSON is read"),
    ("SHA256SUMS", LIST),
    ("SHA256SUM", LIST),
    ("SHA256SUMS.txt", LIST),
    ("sha256sums", LIST),
    ("sha256sum", LIST),
    ("sha256sums.txt", LIST),
    ("sha256sum.txt", LIST),
    (".sha256", LIST),
    ("LICENSE", "a licence, kept"),
    ("LICENSE.txt", "a licence, kept"),
];

/// End of a name, what the first bytes hold too, what it is.
const SIDE: &[(&str, &[&str], &str)] = &[
    ("inputs.json", &["\"session_id\"", "\"payloads\""], "the prompts of an AIPerf run, kept and not read"),
    ("inputs.json", &["\"data\":", "\"payload\":"], "the prompts of a GenAI-Perf run, kept and not read"),
    ("outputs.json", &["\"session_num\"", "\"request_start_ns\""], "the answers of an AIPerf run, kept and not read"),
    (
        "profile_export_raw.jsonl",
        &["\"session_num\"", "\"start_perf_ns\""],
        "requests and answers of an AIPerf run, kept and not read",
    ),
    (
        "server_metrics.json",
        &["\"benchmark_id\"", "\"endpoint_summaries\""],
        "the server's families of one phase of an AIPerf run, kept while the export of the run is read",
    ),
    (
        "_individual_responses.json",
        &["\"inter_token_latency_s\"", "\"ttft_s\""],
        "the requests of an LLMPerf run, kept and not read",
    ),
    ("aiperf.log", &[" - aiperf.", " - INFO - "], "the log of AIPerf itself, kept and not read"),
];

impl Format for NotAnalysed {
    fn name(&self) -> &'static str {
        "kept"
    }

    fn about(&self) -> About {
        About {
            tool: "anything",
            versions: "",
            sign: "names and first lines of descriptions, scripts, prose and packages",
            reads: "nothing: the file is hashed and listed",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        what(head.name, head.text).is_some()
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut lines = file.lines(sparkbench_archive::LINE_LIMIT);
        let mut head = String::new();
        // The word comes from the same first lines that were sniffed.
        while head.len() < sparkbench_archive::HEAD_BYTES
            && let Some(line) = lines.next_line().map_err(super::source_file::unreadable)?
        {
            head.push_str(&String::from_utf8_lossy(line.bytes));
            head.push('\n');
        }
        let word = what(file.name(), head.trim_start_matches('\u{feff}')).unwrap_or(MACHINE);
        let table = if file.name().ends_with(".md") { markdown::note(&head) } else { None };
        Ok(Parsed { notes: std::iter::once(word.to_owned()).chain(table).collect(), ..Parsed::default() })
    }
}

/// Kind of a file by its name alone.
pub(super) fn by_name(name: &str) -> Option<&'static str> {
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, word)| *word)
}

/// True for a log whose words no kind of text reads: that which AIPerf writes of itself, and that of `nvidia-smi pmon`.
pub(super) fn is_kept_log(head: &Head<'_>) -> bool {
    let of_aiperf = SIDE.iter().any(|(end, signs, _)| {
        *end == "aiperf.log" && head.name == *end && signs.iter().all(|sign| head.text.contains(sign))
    });
    of_aiperf || head.text.lines().filter(|line| !line.trim().is_empty()).take(LINES).any(is_pmon)
}

fn what(name: &str, text: &str) -> Option<&'static str> {
    if let Some(word) = by_name(name) {
        return Some(word);
    }
    if text.contains('\0') {
        return None;
    }
    if let Some((.., word)) =
        SIDE.iter().find(|(ending, signs, _)| name.ends_with(ending) && signs.iter().all(|sign| text.contains(sign)))
    {
        return Some(word);
    }
    // LoadGen leaves both beside every run, without items where it logs none.
    if matches!(name, "mlperf_log_trace.json" | "mlperf_log_accuracy.json")
        && text.chars().all(|c| c.is_whitespace() || matches!(c, '[' | ']'))
    {
        return Some("a log of LoadGen without items, kept");
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(LINES).collect();
    if lines.iter().any(|line| PRINTS.iter().any(|print| line.trim_start_matches(['|', ' ']).starts_with(print))) {
        return Some(MACHINE);
    }
    if lines.iter().any(|line| is_pmon(line)) {
        return Some(PROCESSES);
    }
    let is_package =
        |line: &&str| line.split_once("==").is_some_and(|(name, version)| !name.contains(' ') && !version.is_empty());
    (!lines.is_empty() && lines.iter().all(is_package)).then_some("a list of installed packages, kept and not analysed")
}

/// True for the line with which `nvidia-smi pmon` names its columns, whichever of them were asked for.
fn is_pmon(line: &str) -> bool {
    let Some(names) = line.strip_prefix('#') else { return false };
    let names: Vec<String> =
        names.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    names.windows(3).any(|three| three == ["gpu", "pid", "type"]) && names.iter().any(|name| name == "command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companions_are_told_from_results() {
        for (name, text, known) in [
            ("help.txt", "List of valid properties to query for the switch\n", true),
            ("system.txt", "Linux vm 6.18.44 x86_64\n", true),
            ("pip-freeze.txt", "absl-py==2.5.0\naccelerate==1.15.0\n", true),
            ("README.md", "", true),
            ("pmon.txt", "# gpu         pid   type     sm    command\n# Idx           #    C/G      %    name\n", true),
            ("pmon.txt", "#Date       Time        gpu   pid   type     fb   command\n#YYYYMMDD   HH:MM:SS\n", true),
            ("notes.txt", "# gpu and pid of each type of command\n", false),
            ("notes.txt", "it was a slow day\n", false),
            ("x.txt", "a==1\nsome words == 2\n", false),
            ("x.bin", "Linux \0\0", false),
            ("inputs.json", "{\"data\": [{\"session_id\": \"a\", \"payloads\": []}]}", true),
            ("inputs.json", "{\"data\": []}", false),
            ("inputs.json", "{\"data\": [{\"payload\": [{\"model\": \"m\"}]}]}", true),
            ("outputs.json", "{\"data\": [{\"session_num\": 0, \"request_start_ns\": 1}]}", true),
            ("outputs.json", "{\"throughput\": 5}", false),
            ("profile_export_raw.jsonl", "{\"metadata\": {\"session_num\": 1}, \"start_perf_ns\": 2}", true),
            ("server_metrics.json", "{\"data\": {\"benchmark_id\": \"b\", \"endpoint_summaries\": {}}}", true),
            ("aiperf.log", "2026-11-23 03:59:18.695 - aiperf.cli_runner - INFO - Starting\n", true),
            ("mlperf_log_trace.json", "", true),
            ("mlperf_log_accuracy.json", "[\n]\n", true),
            ("mlperf_log_accuracy.json", "[{\"seq_id\": 0}]", false),
            ("other.json", "[\n]\n", false),
        ] {
            assert_eq!(what(name, text).is_some(), known, "{name}");
        }
    }
}
