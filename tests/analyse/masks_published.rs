//! Secrets that no single row or setting shows, because they stretch over several rows or were told by a neighbour, are published nowhere.

use serde_json::{Value, json};

use crate::analyse;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::repository;

/// Begins every planted secret.
const SECRET: &str = "SeKret";

/// One run of a study whose logs are shown.
fn put_run(folder: &Folder, arm: &str, repeat: usize, minute: usize, log: &str) {
    let name = format!("{arm}_tiny_iter{repeat}_20260101_10{minute:02}00");
    let metadata = json!({
        "environment": arm, "model_name": "tiny", "model_id": "org/tiny", "iteration": repeat,
        "timestamp": format!("20260101_10{minute:02}30"), "start_temp_celsius": 40, "end_temp_celsius": 50, "exit_code": 0,
    });
    folder.put(&format!("in/flat/{name}_metadata.json"), metadata.to_string());
    folder.put(&format!("in/flat/{name}.log"), log);
}

/// Pages and data of the site, by path.
fn site(folder: &Folder) -> Vec<(String, String)> {
    let files = files_below(&folder.path().join("site")).into_iter();
    files.map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned())).collect()
}

fn holds_no_secret(site: &[(String, String)]) {
    for (path, text) in site {
        if let Some(at) = text.find(SECRET) {
            panic!(
                "{path}: {}",
                String::from_utf8_lossy(text.as_bytes().get(at.saturating_sub(80)..at + 20).unwrap_or_default())
            );
        }
    }
}

/// Of pages of runs, those that show a line of a log with a text.
fn pages<'a>(site: &'a [(String, String)], text: &str) -> Vec<&'a str> {
    let of_runs = site.iter().filter(|(path, _)| path.starts_with("r/") && path.ends_with(".html"));
    of_runs.map(|(_, page)| page.as_str()).filter(|page| page.contains(text)).collect()
}

#[test]
fn a_secret_over_several_rows_of_a_log_is_masked_and_rows_keep_their_numbers() {
    const LOG: &str = r#"config follows
password: |
  SeKret01Zq7x9Kp
  SeKret02Zq7x9Kp
curl -X POST \
  -u ann:SeKret03Zq7x9Kp http://h
{
  "api_key":
     "SeKret04Zq7x9Kp",
  "api_keys": [
     "SeKret05Zq7x9Kp",
     "SeKret06Zq7x9Kp"
  ],
  "env": [ {
    "name": "HF_TOKEN",
    "value": "SeKret07Zq7x9Kp"
  } ]
}
api_key="""
SeKret08Zq7x9Kp
"""
-----BEGIN OPENSSH PRIVATE KEY-----
SeKret09Zq7x9Kp
-----END OPENSSH PRIVATE KEY-----
the last row
"#;
    let folder = Folder::new("masks-published-rows");
    for k in 0..6 {
        let log = format!("{LOG}= PERFORMANCE OVERVIEW\nTotal Output Throughput (tokens/sec):  {}\n", 100 + k);
        put_run(&folder, ["native", "container"][k % 2], k / 2 + 1, k, &log);
    }
    let ending = analyse(&folder, &[]).expect(0);
    ending.complains(&["privacy: replaced", "passwords"]);
    let site = site(&folder);
    holds_no_secret(&site);
    let row = LOG.lines().count();
    let last = format!("<span>{row}</span><code>the last row</code>");
    assert!(!pages(&site, &last).is_empty(), "no page shows the last row as {row}");
    let report = site.iter().find(|(path, _)| path == "data/PRIVACY.md").map(|(_, text)| text.as_str());
    assert!(
        report.is_some_and(|report| report.contains("| logs | passwords |") && report.contains("| logs | keys |")),
        "{report:?}"
    );
}

#[test]
fn a_secret_where_a_row_is_cut_and_behind_colours_is_masked() {
    let folder = Folder::new("masks-published-cut");
    // The rows around that of the figure are shown, and cut.
    for (k, length) in (340..420).step_by(8).enumerate() {
        let before = "x ".repeat(length / 2);
        let log = format!(
            "{before}url postgres://ann:SeKret01Zq7x9Kp@h:5/x\n\
             {before} ghp_Ab1Ab1Ab1SeKret02Z9Ab1cd2Ef3Z9Ab1cd2Ef3\n\
             = PERFORMANCE OVERVIEW\n\
             Total Output Throughput (tokens/sec):  100\n\
             {before}args: {{'api_key': ['SeKret03Zq7x9Kp', 'SeKret04Zq7x9Kp'], 'b': 1}}\n\
             \x1b[33mghp_Ab1Ab1Ab1SeKret05Z9Ab1cd2Ef3Z9Ab1cd2Ef3\x1b[0m api_key=\x1b[33mSeKret07Zq7x9Kp\x1b[0m\nthe last row\n"
        );
        put_run(&folder, ["native", "container"][k % 2], k / 2 + 1, k, &log);
    }
    analyse(&folder, &[]).expect(0);
    let site = site(&folder);
    holds_no_secret(&site);
    assert!(!pages(&site, "the last row").is_empty(), "no page shows the logs");
}

/// The site of a result of `vllm bench serve` with more keys.
fn site_with(name: &str, more: &[(&str, Value)]) -> Vec<(String, String)> {
    let fixture = repository().join("tests/fixtures/ingest/formats/vllm-bench-serve/0.33.0/full.json");
    let fixture = std::fs::read(&fixture).unwrap_or_else(|fault| panic!("{}: {fault}", fixture.display()));
    let mut result: Value = serde_json::from_slice(&fixture).expect("JSON");
    for (key, value) in more {
        result[*key] = value.clone();
    }
    let folder = Folder::new(name);
    folder.put("in/full.json", result.to_string());
    analyse(&folder, &[]).expect(0);
    site(&folder)
}

fn analysis(site: &[(String, String)]) -> &str {
    site.iter().find(|(path, _)| path == "data/analysis.json").map(|(_, text)| text.as_str()).unwrap_or_default()
}

#[test]
fn a_setting_is_judged_by_the_name_or_the_option_beside_it() {
    let env = json!([{"name": "NGC_CLI_KEY", "value": "SeKret01Zq7x9Kp"}, {"name": "WORDS", "value": "plainword"}]);
    let words = json!(["bench", "--token", "SeKret02Zq7x9Kp", "--words", "otherword"]);
    let probe = json!(["curl", "-u", "ann:SeKret03Zq7x9Kp"]);
    let site = site_with("masks-published-settings", &[("env", env), ("words", words), ("probe", probe)]);
    holds_no_secret(&site);
    for word in ["<masked:token>", "<masked:key>", "ann:<masked:password>", "plainword", "otherword"] {
        assert!(analysis(&site).contains(word), "{word} is not in the analysis");
    }
}

#[test]
fn lists_of_secrets_are_published_nowhere() {
    let extra = json!({
        "api_keys": ["SeKret01", "SeKret02"], "passwords": {"ann": "SeKret03"}, "access_tokens": [{"of": "SeKret04"}],
        "env": [{"name": "api_keys", "value": ["SeKret05"]}], "words": ["plainword"],
    });
    let site =
        site_with("masks-published-lists", &[("extra", extra), ("kv_passwords", json!(["SeKret06", "SeKret07"]))]);
    holds_no_secret(&site);
    assert!(analysis(&site).contains("plainword"), "the other words stay");
}

#[test]
fn a_setting_is_not_taken_where_the_name_or_the_option_beside_it_is_private() {
    let env = json!([{"name": "HF_TOKEN", "value": "SeKret01Zq7x9Kp"}, {"name": "WORDS", "value": "plainword"}]);
    let words = json!(["bench", "--api-key", "SeKret02Zq7x9Kp", "--words", "otherword"]);
    let site = site_with("masks-published-private", &[("env", env), ("words", words)]);
    holds_no_secret(&site);
    for word in ["plainword", "otherword"] {
        assert!(analysis(&site).contains(word), "{word} is not in the analysis");
    }
}
