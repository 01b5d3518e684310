//! Nothing is hard-wired: the published study under other names and in other units of size gives the same findings.
//!
//! Every label, id, campaign and machine gets a name that sorts the other way round, rates and memory grow tenfold (the
//! decimal point moves, so that the printed digits stay what they are), and facts about the machine and the models that
//! hold for that world come from a file beside the rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::folder::Folder;
use crate::support::program::repository;
use crate::support::report::{Report, kind, list, number, text, texts};
use crate::{analyse, published};

/// Old and new names, the longer ones first. The new ones sort the other way round.
const NAMES: [(&str, &str); 15] = [
    ("DeepSeek R1 Distill Qwen 7B", "Zinc"),
    ("GPT-OSS 120B", "Mica"),
    ("Qwen2.5 72B Instruct", "Alum"),
    ("GB10 (Grace Blackwell)", "Kiln"),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "ore/zinc-small"),
    ("Qwen/Qwen2.5-72B-Instruct", "ore/alum-large"),
    ("openai/gpt-oss-120b", "ore/mica-sparse"),
    ("NVIDIA_DGX_Spark", "kiln-7"),
    ("Grace Hopper", "Another Furnace"),
    ("container", "shed"),
    ("native", "attic"),
    ("deepseek", "zinc"),
    ("gpt120b", "mica"),
    ("qwen72b", "alum"),
    ("phase1", "quarry"),
];

const RATES: [&str; 2] = ["request_throughput_req_s", "output_throughput_tok_s"];
const SIZES: [&str; 2] = ["peak_memory_gib", "kv_cache_gib"];

fn renamed(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Ten times as much, with the same digits: `119.1443` becomes `1191.443`.
fn tenfold(printed: &str) -> String {
    let Some((whole, part)) = printed.split_once('.') else {
        return if printed.is_empty() { String::new() } else { format!("{printed}0") };
    };
    let (digit, rest) = part.split_at(1);
    let moved = format!("{whole}{digit}");
    let (sign, digits) = moved.split_at(usize::from(moved.starts_with(['+', '-'])));
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    if rest.is_empty() { format!("{sign}{digits}") } else { format!("{sign}{digits}.{rest}") }
}

#[test]
fn moving_the_point_keeps_the_digits() {
    for (from, to) in
        [("119.1443", "1191.443"), ("0.93", "9.3"), ("-0.2", "-2"), ("+30.83", "+308.3"), ("7", "70"), ("", "")]
    {
        assert_eq!(tenfold(from), to);
    }
}

fn data(name: &str) -> PathBuf {
    repository().join("data").join(name)
}

/// A table with the wanted cells tenfold.
fn rewritten(path: &Path, scaled: impl Fn(&BTreeMap<String, String>, &str) -> bool) -> String {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path).expect("a table");
    let headers = reader.headers().expect("a header").clone();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&headers).expect("in memory");
    for record in reader.records() {
        let record = record.expect("a row");
        let row: BTreeMap<String, String> =
            headers.iter().zip(&record).map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect();
        let cells = headers
            .iter()
            .zip(&record)
            .map(|(name, cell)| if scaled(&row, name) { tenfold(cell) } else { renamed(cell) });
        writer.write_record(cells).expect("in memory");
    }
    String::from_utf8(writer.into_inner().expect("in memory")).expect("UTF-8")
}

/// The study in its other world, without facts.
fn put_study(folder: &Folder) {
    let runs = rewritten(&data("phase1/runs.csv"), |_, name| RATES.contains(&name) || SIZES.contains(&name));
    folder.put("in/some-folder/runs.csv", runs);
    let labels = fs::read_to_string(data("phase1/labels.toml")).expect("labels");
    folder.put("in/some-folder/labels.toml", renamed(&labels).replace("machine = \"gb10\"", "machine = \"kiln\""));
    let published =
        rewritten(&data("phase1/published.csv"), |row, name| name == "printed" && row["statistic"] != "loss_pct");
    folder.put("in/some-folder/published.csv", published);
}

/// What is known of the other world: tenfold weights and memory, and a hundredfold bandwidth, since steps grow tenfold too.
fn put_facts(folder: &Folder) {
    let machines: toml::Table = fs::read_to_string(data("facts/machines.toml")).expect("facts").parse().expect("TOML");
    let models: toml::Table = fs::read_to_string(data("facts/models.toml")).expect("facts").parse().expect("TOML");
    let grown = |table: &toml::Value, factors: &[(&str, f64)]| {
        let mut table = table.as_table().expect("a table").clone();
        for (name, factor) in factors {
            if let Some(value) = table.get_mut(*name) {
                *value = toml::Value::Float(value.as_float().expect("a figure") * factor);
            }
        }
        table.insert("title".into(), "A thing of another world".into());
        table.insert("sources".into(), toml::Value::Array(vec!["the test of names".into()]));
        toml::Value::Table(table)
    };
    let mut kiln = grown(&machines["machines"]["gb10"], &[("memory_gib", 10.0), ("bandwidth_gb_s", 100.0)]);
    kiln["aliases"] = toml::Value::Array(vec!["kiln-7".into()]);
    kiln["not"] = toml::Value::Array(vec!["Another Furnace".into()]);
    let mut known = toml::Table::new();
    for id in ["deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "Qwen/Qwen2.5-72B-Instruct", "openai/gpt-oss-120b"] {
        let sizes =
            [("weight_bytes", 10.0), ("step_bytes", 10.0), ("expert_bytes", 10.0), ("kv_bytes_per_token", 10.0)];
        known.insert(renamed(id), grown(&models["models"][id], &sizes));
    }
    let mut facts = toml::Table::new();
    facts.insert("schema".into(), "sparkbench.facts/1".into());
    facts.insert("machines".into(), toml::Value::Table(toml::Table::from_iter([("kiln".to_owned(), kiln)])));
    facts.insert("models".into(), toml::Value::Table(known));
    // Any price will do: what is compared is a ratio.
    let prices: toml::Table = fs::read_to_string(data("facts/prices.toml")).expect("facts").parse().expect("TOML");
    let mut price = prices["prices"]["gb10-owned"].clone();
    price["machine"] = "kiln".into();
    facts.insert("prices".into(), toml::Value::Table(toml::Table::from_iter([("kiln-owned".to_owned(), price)])));
    folder.put("in/known.toml", toml::to_string(&facts).expect("TOML"));
}

/// Verdicts by question, under the new names: kind, reasons, and the estimate in per cent.
fn verdicts<'r>(
    comparisons: impl Iterator<Item = &'r serde_json::Value>,
) -> BTreeMap<[String; 5], (String, Vec<String>, Option<f64>)> {
    let name = |c: &serde_json::Value, key: &str| renamed(text(c, key));
    comparisons
        .map(|c| {
            let question = ["model", "workload", "metric", "baseline", "candidate"].map(|key| name(c, key));
            let reasons = texts(&c["verdict"], "reasons").into_iter().map(str::to_owned).collect();
            (question, (kind(c).to_owned(), reasons, c["overhead_pct"].as_f64()))
        })
        .collect()
}

/// Trap reports by subject, under the new names: severity and status.
fn traps(report: &Report, campaign: &str) -> BTreeMap<Vec<String>, (String, String)> {
    let part = |subject: &serde_json::Value, key: &str| renamed(subject[key].as_str().unwrap_or("all"));
    list(&report.0, "traps")
        .iter()
        .filter(|t| t["subject"]["campaign"] == campaign)
        .map(|t| {
            let subject = ["model", "workload", "environment", "metric"].map(|key| part(&t["subject"], key));
            let key = std::iter::once(text(t, "id").to_owned()).chain(subject).collect();
            (key, (text(t, "severity").to_owned(), text(t, "status").to_owned()))
        })
        .collect()
}

#[test]
fn the_study_under_other_names_and_sizes_gives_the_same_verdicts_and_traps() {
    let folder = Folder::new("analyse-renamed");
    put_study(&folder);
    put_facts(&folder);
    analyse(&folder, &["--strict"]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    let (ours, theirs) = (report.campaign("quarry"), published().campaign("phase1"));

    let same = |found: BTreeMap<[String; 5], (String, Vec<String>, Option<f64>)>,
                wanted: BTreeMap<[String; 5], (String, Vec<String>, Option<f64>)>| {
        assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        for (question, (kind, reasons, overhead)) in &wanted {
            let (found_kind, found_reasons, found_overhead) = &found[question];
            assert_eq!((found_kind, found_reasons), (kind, reasons), "{question:?}");
            let near = match (found_overhead, overhead) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                (a, b) => a == b,
            };
            assert!(near, "{question:?}: {found_overhead:?} {overhead:?}");
        }
    };
    same(verdicts(report.comparisons("quarry").into_iter()), verdicts(published().comparisons("phase1").into_iter()));
    same(verdicts(list(ours, "pooled").iter()), verdicts(list(theirs, "pooled").iter()));
    assert_eq!(list(ours, "pooled").len(), 2);

    assert_eq!(traps(&report, "quarry"), traps(published(), "phase1"));

    let orders = |campaign: &serde_json::Value| -> BTreeMap<String, (String, Option<u64>)> {
        let of =
            |o: &serde_json::Value| (renamed(text(o, "model")), (text(o, "kind").to_owned(), o["stretches"].as_u64()));
        list(campaign, "order").iter().map(of).collect()
    };
    assert_eq!(orders(ours), orders(theirs));

    let reproduced = |campaign: &serde_json::Value| -> Vec<(String, String, bool)> {
        let of =
            |p: &serde_json::Value| (renamed(text(p, "model")), text(p, "metric").to_owned(), p["reproduces"] == true);
        list(campaign, "published").iter().map(of).collect()
    };
    assert_eq!(reproduced(ours), reproduced(theirs));
    for key in ["headline", "supported", "unsupported"] {
        assert_eq!(list(ours, key).len(), list(theirs, key).len(), "{key}");
    }
    // And the figures of the sentences are those of this world.
    report.says(
        "quarry",
        "supported",
        &["shed has 30.3 to 43.7 % more peak memory than attic (by 217.1 to 308.3 GiB)"],
    );
    report.says("quarry", "supported", &["kv_cache_gib = 0.9 x (1197.0"]);
    report.says("quarry", "supported", &["32 of 33 published figures"]);
    let drift = number(&report.group("quarry", "zinc", "throughput", "attic", RATES[1])["drift"], "drift_pct");
    let known =
        number(&published().group("phase1", "deepseek", "throughput", "native", RATES[1])["drift"], "drift_pct");
    assert!((drift - known).abs() < 1e-9, "{drift} {known}");
    // No old name may come from anywhere but the input.
    let everything =
        report.0.to_string() + &fs::read_to_string(folder.path().join("site/c/quarry/index.html")).expect("the page");
    for old in ["deepseek", "DeepSeek", "gpt120b", "gpt-oss", "qwen72b", "Qwen2.5", "phase1", "119.70", "GB10"] {
        assert!(!everything.contains(old), "'{old}' is in the report of an archive that does not name it");
    }
}

#[test]
fn what_the_physical_checks_know_of_a_model_comes_from_facts_and_from_nowhere_else() {
    let folder = Folder::new("analyse-renamed-no-facts");
    put_study(&folder);
    analyse(&folder, &[]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    for id in ["weights-exceed-memory", "decode-above-roofline", "same-speed-unlike-models", "memory-inconsistent"] {
        for trap in report.traps("quarry", id) {
            assert_eq!(text(trap, "status"), "not_evaluated", "{trap}");
        }
    }
    // What the rows say by themselves is still said.
    for (id, status) in
        [("derived-column", "fired"), ("affine-columns", "fired"), ("run-count", "fired"), ("model-mismatch", "fired")]
    {
        assert!(report.traps("quarry", id).iter().any(|trap| trap["status"] == status), "{id}");
    }
}

/// Code that is neither a comment nor a test.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("source files are text");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn files_of(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_of(&path, extensions));
        } else if path.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted))
            && !path.ends_with("tests.rs")
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_source_names_no_label_figure_or_author_of_an_archive() {
    let mut words: Vec<String> =
        ["brandonrc", "119.7", "gb10", "dgx spark", "grace", "qwen", "deepseek", "gpt-oss", "135.4", "145.4"]
            .map(str::to_owned)
            .to_vec();
    // The labels are taken from the archives, so that a new archive in `data/` is watched too.
    for run in list(&published().0, "runs") {
        words.extend([text(run, "id"), text(run, "model"), text(run, "campaign")].map(str::to_lowercase));
    }
    words.sort_unstable();
    words.dedup();
    let mut found = Vec::new();
    for folder in ["src", "templates", "static"] {
        for path in files_of(&repository().join(folder), &["rs", "html", "md", "css", "txt", "svg"]) {
            for line in code(&path).to_lowercase().lines() {
                for word in words.iter().filter(|word| line.contains(word.as_str())) {
                    if !allowed(&path, line, word) {
                        found.push(format!("{}: '{word}' in: {}", path.display(), line.trim()));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The format of the study is named after it where formats are registered, and the examples of the help name a folder that
/// everybody has.
fn allowed(path: &Path, line: &str, word: &str) -> bool {
    let room = |name: &str| path.starts_with(repository().join("src").join(name));
    // Whoever measures a machine has to know it by its name, and gives programs a grace period. Whoever judges an archive does not.
    let measures = ["plan", "host", "env", "load", "workload", "run", "cli", "archive"].into_iter().any(room);
    if ["gb10", "dgx spark", "grace"].contains(&word) && measures {
        return true;
    }
    // Kinds of models are keys of a checkpoint's configuration.
    if word == "qwen" && room("ingest/checkpoint") && line.contains("family {") {
        return true;
    }
    word == "phase1"
        && (room("ingest") || (room("cli") && line.contains("sparkbench ") && line.contains("data/phase1")))
}
