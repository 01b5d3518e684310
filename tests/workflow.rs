//! The workflow that `init` writes: it is YAML, it asks for no more than it needs, and what it runs is there.

#![cfg(feature = "analyse")]

use yaml_rust2::{Yaml, YamlLoader};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/program.rs"]
mod program;

use folder::Folder;
use program::{FEW, repository, run_in};

fn text() -> String {
    std::fs::read_to_string(repository().join("src/cli/pages.yml")).unwrap()
}

fn workflow() -> Yaml {
    let mut documents = YamlLoader::load_from_str(&text()).expect("the workflow is YAML");
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

fn steps(job: &Yaml) -> Vec<&Yaml> {
    job["steps"].as_vec().expect("a job has steps").iter().collect()
}

/// Every line of every step that starts a program of ours: verb and options.
fn commands() -> Vec<(String, Vec<String>)> {
    let workflow = workflow();
    let jobs = workflow["jobs"].as_hash().unwrap();
    let scripts = jobs.values().flat_map(steps).filter_map(|step| step["run"].as_str());
    let lines: Vec<&str> = scripts.flat_map(str::lines).map(str::trim).collect();
    let ours = lines.into_iter().filter_map(|line| line.strip_prefix("sparkbench "));
    ours.map(|line| {
        let mut words = line.split(' ').map(str::to_owned);
        let verb = words.next().unwrap();
        (verb, words.take_while(|word| word != "||").filter(|word| word.starts_with("--")).collect())
    })
    .collect()
}

#[test]
fn every_command_and_option_is_one_that_the_program_has() {
    let verbs = run_in(repository(), &["--help"], &[]).expect(0).out;
    let commands = commands();
    assert!(commands.len() >= 4, "{commands:?}");
    for (verb, options) in commands {
        assert!(verbs.contains(&format!("\n  {verb} ")), "{verb}");
        let help = run_in(repository(), &[&verb, "--help"], &[]).expect(0).out;
        for option in options {
            let known = |line: &str| line.split([' ', ',']).any(|word| word == option);
            assert!(help.lines().any(known), "{verb} has no {option}");
        }
    }
}

#[test]
fn each_job_may_do_what_it_needs_and_no_more() {
    let workflow = workflow();
    let rights = |of: &Yaml| -> Vec<String> {
        let rights = of["permissions"].as_hash().expect("permissions are stated");
        rights.iter().map(|(what, how)| format!("{} {}", what.as_str().unwrap(), how.as_str().unwrap())).collect()
    };
    assert_eq!(rights(&workflow), ["contents read"]);
    assert_eq!(rights(&workflow["jobs"]["site"]), ["contents read", "pages write", "id-token write"]);
    assert_eq!(rights(&workflow["jobs"]["compare"]), ["contents read", "pull-requests write"]);
    assert_eq!(workflow["jobs"]["site"]["if"].as_str(), Some("github.event_name != 'pull_request'"));
    // What a stranger names a branch or a title must not become part of a script.
    for step in workflow["jobs"].as_hash().unwrap().values().flat_map(steps) {
        assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{step:?}");
    }
}

#[test]
fn actions_are_named_with_their_version() {
    let workflow = workflow();
    let used: Vec<&str> =
        workflow["jobs"].as_hash().unwrap().values().flat_map(steps).filter_map(|step| step["uses"].as_str()).collect();
    assert_eq!(used.len(), 5, "{used:?}");
    for action in used {
        let (name, version) = action.split_once("@v").expect("a version");
        assert!(name.starts_with("actions/") && version.parse::<u32>().is_ok(), "{action}");
    }
}

#[test]
fn the_comment_is_found_again_by_the_first_line_that_compare_writes() {
    let folder = Folder::new("workflow-mark");
    for (side, centre) in [("main", 100), ("branch", 110)] {
        let rows: String = (0..8).map(|k| format!("native,m,chat,{}.{k}\n", centre)).collect();
        folder.put(&format!("{side}/runs.csv"), format!("environment,model,workload,e2e_latency_ms\n{rows}"));
    }
    let arguments = [&["compare", "main", "branch", "--markdown", "comment.md"][..], &FEW].concat();
    run_in(folder.path(), &arguments, &[]).expect(1);
    let comment = std::fs::read_to_string(folder.path().join("comment.md")).unwrap();
    let mark = comment.lines().next().unwrap();
    assert!(mark.starts_with("<!--") && text().contains(&format!("startswith(\"{mark}\")")), "{mark}");
    assert!(comment.lines().nth(1).is_some_and(|line| line.starts_with("### ")), "{comment}");
}

/// Serves a folder on this machine until it has nothing to serve any more: GET, whole files, one request a connection.
fn served(folder: std::path::PathBuf) -> String {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let path = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned)).unwrap_or_default();
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            let (status, body) = match std::fs::read(folder.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    format!("http://{address}/")
}

/// The script of the step that fetches earlier versions, run in a folder.
fn fetch(folder: &std::path::Path, base: &str) -> std::process::Output {
    let workflow = workflow();
    let step = steps(&workflow["jobs"]["site"]).into_iter().find(|step| step["env"]["BASE_URL"].as_str().is_some());
    let script = step.and_then(|step| step["run"].as_str()).expect("a step that knows the address of the site");
    let mut bash = std::process::Command::new("bash");
    // As the runner calls it.
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder).env("BASE_URL", base);
    bash.env("no_proxy", "127.0.0.1").output().expect("bash is there")
}

#[test]
fn versions_that_stand_on_the_site_are_taken_over_and_a_damaged_one_is_refused() {
    if std::process::Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("SPARKBENCH_REQUIRE_ALL").is_none(), "curl is not installed");
        eprintln!("skipped: curl is not installed");
        return;
    }
    let folder = Folder::new("workflow-versions");
    let table = |centre: u32| {
        let rows: String = (0..6).map(|k| format!("native,m,chat,{centre}.{k}\n")).collect();
        format!("environment,model,workload,e2e_latency_ms\n{rows}")
    };
    let analyse = |data: &str, site: &str| {
        folder.put(&format!("{data}/runs.csv"), table(if data == "old" { 100 } else { 120 }));
        run_in(folder.path(), &[&["analyse", data, "--site", site][..], &FEW].concat(), &[]).expect(0);
    };
    let versions = |site: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder.path().join(site).join("v")).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let new = folder.path().join("checkout");
    std::fs::create_dir_all(&new).unwrap();
    let base = served(folder.path().join("live"));
    let first = fetch(&new, &base);
    assert!(first.status.success(), "no site yet: {first:?}");

    analyse("old", "live");
    let before = versions("live");
    assert_eq!(before.len(), 1);
    let second = fetch(&new, &base);
    assert!(second.status.success(), "{second:?}");
    assert_eq!(versions("checkout/site"), before);
    analyse("new", "checkout/site");
    let after = versions("checkout/site");
    assert!(after.len() == 2 && after.contains(&before[0]), "{after:?}");

    let damaged = folder.path().join("live/v").join(&before[0]).join("index.json");
    std::fs::write(damaged, "{}").unwrap();
    assert!(!fetch(&new, &base).status.success(), "a damaged version is taken over");
}
