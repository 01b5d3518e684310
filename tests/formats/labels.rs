//! Labels that no file says: from the path, from `labels.toml`, and asked for in one file to fill in.

use std::path::{Path, PathBuf};

use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options};

use crate::support::folder::Folder;

/// A console log of trtllm-bench that names no environment.
const LOG: &str = "fixtures/ingest/trtllm-bench/W0a_kv090.txt";

/// Its wall time, ms.
const TOTAL_MS: &str = "138204.2020";

/// A folder of the test, and in it another that is read, with the log under each of these names.
fn folder(name: &str, paths: &[&str]) -> (Folder, PathBuf) {
    let place = Folder::new(&format!("labels-{name}"));
    let folder = place.path().join("read");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(LOG);
    let log = std::fs::read_to_string(log).expect("the fixture is there");
    assert!(log.contains(TOTAL_MS));
    for (number, path) in paths.iter().enumerate() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        // Each with a wall time of its own: copies of one run would be one run.
        std::fs::write(path, log.replace(TOTAL_MS, &format!("{}.5", 40_000 + number))).expect("a file can be written");
    }
    (place, folder)
}

fn read(folder: &Path, labels: Option<PathBuf>) -> Intake {
    let found = archive::discover(&[folder.to_owned()]).expect("the folder is there");
    ingest::all(&found, &Options { labels, ..Options::default() }).expect("labels that can be used")
}

/// The same where environments are asked about: whoever asks nothing needs none.
fn by_environment(folder: &Path, labels: Option<PathBuf>) -> Intake {
    let found = archive::discover(&[folder.to_owned()]).expect("the folder is there");
    let compare_by = Some("environment".to_owned());
    ingest::all(&found, &Options { labels, compare_by, ..Options::default() }).expect("labels that can be used")
}

#[test]
fn the_path_says_what_the_file_does_not_and_never_overrides_it() {
    let (_place, folder) = folder("path", &["docker/fp4/run1.log", "native/run2.log"]);
    let intake = read(&folder, None);
    let said: Vec<(&str, Option<u32>, Option<&str>)> = intake
        .runs
        .iter()
        .map(|run| (run.environment.as_str(), run.repeat, run.setup.quantisation.as_deref()))
        .collect();
    assert_eq!(said, [("docker", Some(1), Some("FP8")), ("native", Some(2), Some("FP8"))], "the log says FP8");
    let reason = intake.inputs[0].reason.as_deref().expect("a note");
    assert!(reason.contains("taken from the path: environment 'docker', repeat '1'"), "{reason}");
    assert_eq!(intake.ask, None);
}

#[test]
fn what_nobody_says_is_asked_once_and_the_filled_file_answers() {
    let (place, folder) = folder("ask", &["a/x.log", "a/y.log", "b [1]/z.log"]);
    let ask = by_environment(&folder, None).ask.expect("no environment is known");
    assert_eq!(ask.message, "3 files (a/x.log, a/y.log, b [1]/z.log) say no environment");
    assert_eq!(ask.labels.matches("[[files]]").count(), 3, "one entry a file: {}", ask.labels);
    assert!(
        ask.labels.contains("glob = \"a/x.log\"\n") && ask.labels.contains("# model: Llama-3.1-8B"),
        "{}",
        ask.labels
    );
    let file = place.put("filled.toml", &ask.labels);
    assert!(by_environment(&folder, Some(file.clone())).ask.is_some(), "an empty value is not a label");
    let filled = ask.labels.replacen("environment = \"\"", "environment = \"docker\"", 2);
    let filled = filled.replacen("environment = \"\"", "environment = \"native\"", 1);
    std::fs::write(&file, &filled).expect("a file can be written");
    let intake = by_environment(&folder, Some(file));
    let mut said: Vec<(&str, &str)> =
        intake.runs.iter().map(|run| (run.source.path.as_str(), run.environment.as_str())).collect();
    said.sort_unstable();
    assert_eq!(said, [("a/x.log", "docker"), ("a/y.log", "docker"), ("b [1]/z.log", "native")], "{filled}");
    assert_eq!(intake.ask, None);
}

/// Issue 15: the file asked for was a pattern a folder, and what its files say did not stand in it.
#[test]
fn the_file_that_write_labels_writes_is_read_again_and_one_value_filled_in_is_used() {
    let (place, folder) = folder("whole-way", &["one/x.log", "two/y.log"]);
    let file = place.path().join("written.toml");
    let site = place.path().join("site");
    let analyse = |more: &[&str]| {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args(["analyse", "--resamples", "999", "--compare-by", "environment", "--site"])
            .args([&site, &folder])
            .args(more)
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(0), "{said}");
        let analysis = std::fs::read_to_string(site.join("data/analysis.json")).expect("an analysis");
        let analysis: serde_json::Value = serde_json::from_str(&analysis).expect("JSON");
        let runs = analysis["runs"].as_array().expect("runs").iter();
        let runs = runs.map(|run| format!("{} {}", run["source"]["path"], run["environment"]).replace('"', ""));
        (runs.collect::<std::collections::BTreeSet<String>>(), said)
    };
    let (before, said) = analyse(&["--write-labels", file.to_str().expect("UTF-8")]);
    assert_eq!(before.iter().collect::<Vec<_>>(), ["one/x.log unlabelled", "two/y.log unlabelled"], "{said}");
    let written = std::fs::read_to_string(&file).expect("the file was written");
    for line in
        ["[[files]]", "glob = \"one/x.log\"", "# model: Llama-3.1-8B", "# quantisation: FP8", "environment = \"\""]
    {
        assert!(written.lines().any(|own| own.starts_with(line)), "{line}: {written}");
    }
    // As it is written it says nothing.
    let labels = ["--labels", file.to_str().expect("UTF-8")];
    assert_eq!(analyse(&labels).0, before);
    let filled = written.replacen("environment = \"\"", "environment = \"docker\"", 1);
    std::fs::write(&file, filled).expect("a file can be written");
    let (after, said) = analyse(&labels);
    assert_eq!(after.iter().collect::<Vec<_>>(), ["one/x.log docker", "two/y.log unlabelled"], "{said}");
    assert!(said.contains("1 file (two/y.log) says no environment"), "{said}");
}

#[test]
fn a_campaign_can_compare_another_label_in_place_of_the_environment() {
    let (_place, folder) = folder("arms", &["x/vllm.log", "x/sglang.log"]);
    let labels = |text: &str| {
        let text = format!("schema = \"sparkbench.labels/1\"\n{text}\n");
        std::fs::write(folder.join("labels.toml"), text).expect("a file can be written");
        read(&folder, None)
    };
    // The log itself says its engine, so the arms are told by rules here: quantisation is what the log says of both.
    let intake = labels("compare_by = \"quantisation\"\n[defaults]\nenvironment = \"docker\"");
    assert!(intake.runs.iter().all(|run| run.environment == "fp8" && run.setup.more["environment"] == "docker"));
    assert_eq!(intake.campaigns[0].compare_by.as_deref(), Some("quantisation"));
    let wrong = labels("compare_by = \"quantisatoin\"");
    let told = wrong.warnings.iter().any(|line| line.contains("did you mean \"quantisation\"?"));
    assert!(told, "{:?}", wrong.warnings);
}

/// Issue 15: labels that could not be read were passed over, and every judgement was of other arms than the person named.
#[test]
fn labels_that_cannot_be_read_are_an_error_and_unused_ones_are_reported() {
    let (_place, folder) = folder("unreadable", &[]);
    let table =
        "environment,model,workload,quantization,output_throughput_tok_s\nnative,m,w,fp8,100\ndocker,m,w,fp8,99\n";
    std::fs::write(folder.join("runs.csv"), table).expect("a file can be written");
    let analyse = || {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args(["analyse", ".", "--site", "../site", "--resamples", "999"])
            .current_dir(&folder)
            .output()
            .expect("the program starts");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    std::fs::write(folder.join("labels.toml"), "schema = \"sparkbench.labels/1\"\nbase = 1\n").expect("a file");
    let (code, said) = analyse();
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("cannot use 'labels.toml' as labels") && said.contains("line 2"), "{said}");
    let rules = "schema = \"sparkbench.labels/1\"\n[defaults]\nquantization = \"bf16\"\n[[files]]\nglob = \"gone/*\"\nmodel = \"x\"\n";
    std::fs::write(folder.join("labels.toml"), rules).expect("a file");
    let (code, said) = analyse();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("labels.toml: the pattern 'gone/*' fits no file with a run"), "{said}");
    // The other spelling is read in tables and in labels. What the file says comes first.
    let intake = read(&folder, None);
    assert!(
        intake.runs.iter().all(|run| run.setup.quantisation.as_deref() == Some("fp8")),
        "{:?}",
        intake.runs[0].setup
    );
}
