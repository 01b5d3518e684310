//! The workflow that `init` writes: it is YAML, it asks for no more than it needs, and what it runs is there.
//!
//! Not here: what workflows may run with which rights (see `house::workflows`).

#![cfg(feature = "analyse")]

use yaml_rust2::{Yaml, YamlLoader};

use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::{FEW, repository, run_in};

fn text() -> String {
    let text = std::fs::read_to_string(repository().join("src/cli/pages.yml")).unwrap();
    text.replace("{source}", "sparkbench.tar.gz")
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
    let jobs = &workflow["jobs"];
    assert_eq!(rights(&jobs["site"]), ["contents read", "pages read"]);
    assert_eq!(rights(&jobs["deploy"]), ["pages write", "id-token write"]);
    assert!(
        jobs["compare"]["permissions"].is_badvalue(),
        "it judges what a stranger may have written: it reads and no more"
    );
    assert_eq!(rights(&jobs["comment"]), ["pull-requests write"]);
    assert_eq!(jobs["site"]["if"].as_str(), Some("github.event_name != 'pull_request'"));
    assert_eq!((jobs["deploy"]["needs"].as_str(), jobs["comment"]["needs"].as_str()), (Some("site"), Some("compare")));
    let when = jobs["comment"]["if"].as_str().expect("a condition");
    assert!(when.contains("head.repo.full_name == github.repository"), "a fork may not write here: {when}");
}

/// The project's own workflows. Their form is held against GitHub's schema by `.ci/run`.
#[test]
fn the_projects_own_workflows_run_scripts_that_are_there() {
    for name in ["ci", "pages", "release"] {
        let text = std::fs::read_to_string(repository().join(format!(".github/workflows/{name}.yml"))).unwrap();
        let workflow = YamlLoader::load_from_str(&text).expect("YAML").remove(0);
        for step in workflow["jobs"].as_hash().unwrap().values().flat_map(steps) {
            let words = step["run"].as_str().unwrap_or_default().split_whitespace();
            for script in words.filter(|word| word.starts_with("tests/") || word.starts_with(".ci/")) {
                assert!(repository().join(script).is_file(), "{name}: {script}");
            }
        }
    }
}

/// A stage that a landing runs and nobody else does, or the other way round, would be told apart too late.
#[test]
fn the_stages_of_a_landing_are_scripts_and_jobs_of_ci() {
    let run = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    let list =
        run.split_once("stages=(deciding").and_then(|(_, rest)| rest.split_once(')')).expect("the list of stages");
    let stages: Vec<String> = format!("deciding{}", list.0).split_whitespace().map(str::to_owned).collect();
    assert_eq!(stages.len(), 7, "{stages:?}");
    let text = std::fs::read_to_string(repository().join(".github/workflows/ci.yml")).unwrap();
    let ci = YamlLoader::load_from_str(&text).expect("YAML").remove(0);
    let jobs = ci["jobs"]["stage"]["strategy"]["matrix"]["stage"].as_vec().expect("a matrix of stages");
    let jobs: Vec<&str> = jobs.iter().filter_map(|stage| stage.as_str()).collect();
    assert_eq!(jobs, stages);
    for stage in stages {
        let script = std::fs::read_to_string(repository().join(".ci").join(&stage)).expect("a script");
        assert!(script.ends_with("\ncloses\n"), "{stage} tells at its end what failed");
    }
}

/// What `cargo binstall` asks for is what a release holds, under the same name.
#[test]
fn the_archive_of_a_release_is_the_one_that_the_manifest_names() {
    let release = std::fs::read_to_string(repository().join(".github/workflows/release.yml")).unwrap();
    let manifest = std::fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    assert!(
        release.contains("dist/sparkbench-$TARGET.tar.gz") && release.contains("target: aarch64-unknown-linux-gnu")
    );
    assert!(manifest.contains("/releases/download/v{ version }/sparkbench-{ target }.tar.gz"), "{manifest}");
    if !is_there("python3") {
        return;
    }
    let folder = Folder::new("workflow-pack");
    folder.put("wheel/sparkbench-0.1.0.data/scripts/sparkbench", "#!/bin/sh\necho packed\n");
    let pack = format!(
        "(cd wheel && python3 -m zipfile -c ../it.whl sparkbench-0.1.0.data)\nsh {}/tests/pack.sh it.whl it.tar.gz\ntar -xzf it.tar.gz\n./sparkbench",
        repository().display()
    );
    let packed = bash(folder.path(), &pack).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&packed.stdout), "packed\n", "{}", String::from_utf8_lossy(&packed.stderr));
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

/// Serves a folder on this machine as long as this process lives, on a port of the kernel's choice: GET, whole files, one request a
/// connection.
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

/// A script as the runner of GitHub calls it.
fn bash(folder: &std::path::Path, script: &str) -> std::process::Command {
    let mut bash = std::process::Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder);
    bash.env("no_proxy", "127.0.0.1").stdin(std::process::Stdio::null());
    bash
}

/// The script of the step that fetches earlier versions, run in a folder.
fn fetch(folder: &std::path::Path, base: &str) -> std::process::Output {
    let workflow = workflow();
    let step = steps(&workflow["jobs"]["site"]).into_iter().find(|step| step["env"]["BASE_URL"].as_str().is_some());
    let script = step.and_then(|step| step["run"].as_str()).expect("a step that knows the address of the site");
    bash(folder, script).env("BASE_URL", base).output().expect("bash is there")
}

/// Whether a program is there. A landing must not go without.
fn is_there(program: &str) -> bool {
    let there = std::process::Command::new(program).arg("--version").output().is_ok();
    if !there {
        needs::skip(&format!("{program} is not installed"));
    }
    there
}

/// Runs every `run:` of a job in order in a folder, as GitHub does: what a step adds to GITHUB_PATH is found by those after it. The
/// program that GitHub's steps talk to it with, `gh`, is a script here that writes down what it was asked.
fn run_job(folder: &std::path::Path, job: &str, base: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let workflow = workflow();
    let around = folder.parent().expect("a folder around").join(format!("runner-{job}"));
    std::fs::create_dir_all(around.join("bin")).unwrap();
    let gh = around.join("bin/gh");
    std::fs::write(&gh, format!("#!/bin/sh\necho \"$@\" >> {}\n", around.join("asked").display())).unwrap();
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = format!("{}:{}", around.join("bin").display(), std::env::var("PATH").unwrap());
    let added = around.join("path");
    std::fs::write(&added, "").unwrap();
    let given = |step: &Yaml, key: &str| step["env"][key].as_str().map(str::to_owned);
    for step in steps(&workflow["jobs"][job]) {
        let Some(script) = step["run"].as_str() else { continue };
        // The step that fails a job is for a regression alone.
        if step["if"].as_str().is_some_and(|when| when.contains("code == '1'")) {
            continue;
        }
        let mut bash = bash(folder, script);
        for key in ["SPARKBENCH", "BASE", "CANDIDATE"] {
            bash.env(key, workflow["env"][key].as_str().unwrap());
        }
        if given(step, "BASE_URL").is_some() {
            bash.env("BASE_URL", base);
        }
        bash.env("PATH", &path).env("GITHUB_PATH", &added).env("RUNNER_TEMP", around.join("temp"));
        bash.env("GITHUB_OUTPUT", around.join("output")).env("GITHUB_STEP_SUMMARY", around.join("summary.md"));
        bash.env("GITHUB_REPOSITORY", "someone/results").env("NUMBER", "7");
        let ended = bash.output().expect("bash is there");
        let name = step["name"].as_str().unwrap_or_default();
        let told = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "step '{name}' of '{job}':\n{told}");
        for line in std::fs::read_to_string(&added).unwrap().lines() {
            path = format!("{line}:{path}");
        }
        std::fs::write(&added, "").unwrap();
    }
}

/// Issue 15, point 18: the steps named a registry that has no such entry, and a folder that `collect` does not write to.
#[cfg(all(feature = "collect", target_os = "linux"))]
#[test]
fn the_steps_publish_an_archive_as_collect_writes_it_by_default() {
    if !is_there("curl") {
        return;
    }
    let folder = Folder::new("workflow-steps");
    let checkout = folder.path().join("checkout");
    std::fs::create_dir_all(&checkout).unwrap();
    run_in(&checkout, &["init", "--source", "sparkbench.tar.gz"], &[]).expect(0);
    let written = std::fs::read_to_string(checkout.join(".github/workflows/pages.yml")).unwrap();
    assert_eq!(written, text());
    let suite = "schema = \"sparkbench.suite/1\"\nname = \"short\"\nrepeats = 5\nbaseline = \"native\"\nprimary = [\"ttft_ms\"]\n\
                 [environments.native]\n[environments.docker]\nkind = \"native\"\n\
                 [workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"echo ttft_ms=12.{repeat}\"]\n\
                 reports = [{ path = \"stdout\", parser = \"lines\" }]\nexpected_s = 0.1\n\
                 [gates]\ngpu_required = false\ngpu_temp_max_c = false\ncooldown_min_s = 0\nhost_load_max_per_core = false\n\
                 memory_available_min_gib = false\ndisk_free_min_gib = 0\n[watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n\
                 [telemetry]\ngpu = \"off\"\n";
    std::fs::write(checkout.join("suite.toml"), suite).unwrap();
    run_in(&checkout, &["collect", "suite.toml"], &[]).expect(0);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_sparkbench"));
    let mut tar = std::process::Command::new("tar");
    tar.args(["-czf", "sparkbench.tar.gz", "-C"])
        .arg(program.parent().unwrap())
        .arg("sparkbench")
        .current_dir(&checkout);
    assert!(tar.status().expect("tar is there").success());
    let base = served(folder.path().join("nothing"));
    run_job(&checkout, "site", &base);
    for file in ["site/index.html", "site/data/analysis.json", "site/c/short/index.html"] {
        assert!(checkout.join(file).is_file(), "{file}");
    }
    run_job(&checkout, "compare", &base);
    let output = std::fs::read_to_string(folder.path().join("runner-compare/output")).unwrap();
    assert!(["code=0\n", "code=6\n"].contains(&output.as_str()), "{output}");
    // The comment comes by an artefact, into a folder with nothing else in it.
    let desk = folder.path().join("desk");
    std::fs::create_dir_all(&desk).unwrap();
    std::fs::copy(checkout.join("comment.md"), desk.join("comment.md")).unwrap();
    run_job(&desk, "comment", &base);
    let asked = std::fs::read_to_string(folder.path().join("runner-comment/asked")).unwrap();
    assert!(asked.contains("--method POST repos/someone/results/issues/7/comments"), "{asked}");
    let comment = std::fs::read_to_string(desk.join("short.md")).unwrap();
    assert!(comment.contains("docker") && comment.contains("native"), "{comment}");
}

#[test]
fn versions_that_stand_on_the_site_are_taken_over_and_a_damaged_one_is_refused() {
    if !is_there("curl") {
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
