//! Nothing that a load is given as a secret is printed or written, although the server repeats all of it.

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use crate::support::echo::{self, Echo};
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{Ending, run_in};

const KEY: &str = "plainnonshapedkey99";
const HEADER: &str = "header value \"secret\" 77";
const MEMBER: &str = "extrabodykey66";
const DEEP: &str = "w0rd/in+depth";
const PASSWORD: &str = "sesame-open-5520";

/// Every secret in every form in which it could be shown.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> = [KEY, "secret\" 77", MEMBER, DEEP, PASSWORD].map(str::to_owned).into();
    // Encoded with what stands around it, and alone.
    forms.extend(
        ["secret%22%2077", "w0rd%2Fin%2Bdepth", "w0rd\\/in", "secret\\\" 77", "secret&quot; 77"].map(str::to_owned),
    );
    forms.extend([KEY, MEMBER].map(|text| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()));
    // `someone:sesame-open-5520` in base 64.
    forms.push("c29tZW9uZTpzZXNhbWUtb3Blbi01NTIw".to_owned());
    forms
}

#[track_caller]
fn nothing_of_it(place: &str, bytes: &[u8]) {
    for form in forms() {
        let found = bytes.windows(form.len()).position(|window| window == form.as_bytes());
        if let Some(at) = found {
            let near = &bytes[at.saturating_sub(80)..(at + form.len() + 20).min(bytes.len())];
            panic!("{form} is in {place}: {}", String::from_utf8_lossy(near));
        }
    }
}

#[track_caller]
fn nothing_shown(ending: &Ending) {
    nothing_of_it("standard output", ending.out.as_bytes());
    nothing_of_it("standard error", ending.err.as_bytes());
}

#[track_caller]
fn nothing_below(folder: &Path) {
    let files = files_below(folder);
    assert!(!files.is_empty(), "'{}' has files", folder.display());
    for (name, bytes) in files {
        nothing_of_it(&name, &bytes);
    }
}

/// The variable's own name says nothing of a secret.
const VARIABLES: &[(&str, &str)] = &[("FOR_THE_LAB", KEY)];

/// A load that asks nothing before it, because the server would refuse to answer.
fn load(folder: &Folder, url: &str, more: &[&str]) -> Ending {
    folder.put("prompts.jsonl", "{\"prompt\": \"say something\"}\n".repeat(2));
    ask(folder, url, &[&["--prompts", "prompts.jsonl", "--exact", "min-tokens"][..], more].concat())
}

fn ask(folder: &Folder, url: &str, more: &[&str]) -> Ending {
    let body = format!(r#"{{"api_key":"{MEMBER}","metadata":{{"auth":[{{"password":"{DEEP}"}}]}}}}"#);
    let shared = ["load", "--url", url, "--requests", "2", "--osl", "1", "--extra-body", &body, "--verbose"];
    run_in(folder.path(), &[&shared[..], more].concat(), VARIABLES)
}

#[test]
fn no_output_of_a_load_repeats_a_secret_that_the_server_repeats() {
    let folder = Folder::new("load-secrets");
    let url = format!("http://{}", echo::start(Echo::Refuses));
    let header = format!("X-Tok: {HEADER}");
    let mut more = vec!["--api-key-env", "FOR_THE_LAB", "--header", &header];
    more.extend(["--json", "out/o.json", "--csv", "out/o.csv", "--markdown", "out/o.md"]);
    if cfg!(feature = "page") {
        more.extend(["--html", "out/o.html"]);
    }
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let asked = ask(&folder, &url, &more).expect(4);
    asked.complains(&["refused to answer", "***"]);
    nothing_shown(&asked);
    let ending = load(&folder, &url, &more).expect(4);
    // It did repeat it: what is hidden is marked.
    assert!(ending.out.contains("***") || ending.err.contains("***"), "{}\n{}", ending.out, ending.err);
    nothing_shown(&ending);
    nothing_below(&folder.path().join("out"));
    let json = std::fs::read_to_string(folder.path().join("out/o.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(summary.pointer("/settings/extra_body/api_key").unwrap(), "***");
    assert_eq!(summary.pointer("/settings/extra_body/metadata/auth/0/password").unwrap(), "***");
    assert_eq!(summary.pointer("/settings/headers/0").unwrap(), "x-tok", "the name of a header stays");
}

#[test]
fn the_login_of_an_address_is_hidden_in_the_form_that_the_server_got() {
    let folder = Folder::new("load-secrets-login");
    let url = format!("http://someone:{PASSWORD}@{}", echo::start(Echo::Refuses));
    nothing_shown(&load(&folder, &url, &["--json", "-"]).expect(4));
    nothing_shown(&run_in(folder.path(), &["load", &url], &[]).expect(2));
}

#[test]
fn an_archive_of_a_load_holds_no_secret_that_the_server_repeats() {
    let folder = Folder::new("load-secrets-archive");
    let url = format!("http://{}", echo::start(Echo::Refuses));
    nothing_shown(&load(&folder, &url, &["--api-key-env", "FOR_THE_LAB", "--archive", "archive"]).expect(4));
    nothing_below(&folder.path().join("archive"));
}

#[test]
fn answers_that_repeat_a_secret_are_shown_and_archived_without_it() {
    let folder = Folder::new("load-secrets-answers");
    let url = format!("http://someone:{PASSWORD}@{}", echo::start(Echo::Answers));
    let chat = ["--conversations", "2", "--turns", "2", "--num-clients", "2", "--print-content", "--exact", "off"];
    let body = format!(r#"{{"token":"{MEMBER}"}}"#);
    for archive in [&[][..], &["--archive", "archive"]] {
        let arguments =
            [&["load", "--url", &url, "--isl", "8", "--osl", "1", "--extra-body", &body][..], &chat, archive].concat();
        let ending = run_in(folder.path(), &arguments, &[]).expect(0);
        if archive.is_empty() {
            assert!(ending.err.contains("assistant") && ending.err.contains("***"), "{}", ending.err);
        }
        nothing_shown(&ending);
    }
    nothing_below(&folder.path().join("archive"));
}

#[test]
fn a_suite_may_give_servers_secrets_and_its_archive_has_none_of_them() {
    let folder = Folder::new("load-secrets-suite");
    let url = format!("http://someone:{PASSWORD}@{}", echo::start(Echo::Answers));
    folder.put(
        "suite.toml",
        format!(
            "schema = \"sparkbench.suite/1\"\nname = \"scene\"\nrepeats = 1\nseed = 7\n[environments.native]\n[models.mock]\nid = 'mock'\n\
             [workloads.server]\nkind = 'serve'\nattach = {{ url = '{url}' }}\n\
             [workloads.server.load]\nrequests = 2\nisl = 8\nosl = 1\nexact = 'off'\napi_key_env = 'FOR_THE_LAB'\n\
             headers = {{ 'x-tok' = '{HEADER}' }}\nextra_body = {{ token = '{MEMBER}', deep = {{ password = '{DEEP}' }} }}\n\
             [gates]\ngpu_required = false\ngpu_temp_max_c = false\ncooldown_min_s = 0\nhost_load_max_per_core = false\n\
             memory_available_min_gib = false\ndisk_free_min_gib = 0\n[watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n"
        ),
    );
    let ending = run_in(folder.path(), &["collect", "suite.toml", "--archive", "archive", "--verbose"], VARIABLES);
    assert!(matches!(ending.code, Some(0 | 4)), "{}", ending.err);
    nothing_shown(&ending);
    nothing_below(&folder.path().join("archive"));
}

/// A server that lists one model under this name, and hands every other question to one that repeats what it is sent. Gives host and port.
fn serving(model: &str) -> String {
    let (listener, behind) = (TcpListener::bind("127.0.0.1:0").unwrap(), echo::start(Echo::Answers));
    let address = listener.local_addr().unwrap().to_string();
    let list = serde_json::json!({ "data": [{ "id": model, "max_model_len": 4096 }] }).to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (list, behind) = (list.clone(), behind.clone());
            // Clients may keep a connection open before they ask.
            std::thread::spawn(move || hand_on(&stream, &list, &behind));
        }
    });
    address
}

/// One question, one answer, the end of the connection.
fn hand_on(stream: &TcpStream, list: &str, behind: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while reader.read_line(&mut head)? > 0 && !head.ends_with("\r\n\r\n") {
        let last = head.lines().next_back().unwrap_or_default().to_ascii_lowercase();
        if let Some(given) = last.strip_prefix("content-length:") {
            length = given.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut out = stream;
    if head.split_whitespace().nth(1).is_some_and(|path| path.ends_with("/models")) {
        let length = list.len();
        return write!(
            out,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{list}"
        );
    }
    let mut behind = TcpStream::connect(behind)?;
    behind.write_all(&[head.as_bytes(), &body].concat())?;
    std::io::copy(&mut behind, &mut out).map(drop)
}

#[test]
fn no_folder_and_no_file_of_an_archive_is_named_after_a_secret() {
    let folder = Folder::new("load-secrets-label");
    let key = "Plain/NonShaped-Key99";
    let model = format!("lab-{key}");
    let url = format!("http://{}", serving(&model));
    let arguments = ["load", "--url", &url, "--requests", "2", "--isl", "8", "--osl", "1", "--exact", "off"];
    let more = ["--model", &model, "--api-key-env", "FOR_THE_LAB", "--archive", "archive"];
    let ending = run_in(folder.path(), &[&arguments[..], &more].concat(), &[("FOR_THE_LAB", key)]).expect(0);
    for text in [&ending.out, &ending.err] {
        let text = text.to_lowercase();
        assert!(!text.contains("nonshaped-key99"), "{text}");
    }
    let archive = folder.path().join("archive");
    let files = files_below(&archive);
    for end in ["campaign.json", "seal.json", "run.json", "requests.jsonl"] {
        assert!(files.keys().any(|name| name.ends_with(end)), "no {end} in {:?}", files.keys());
    }
    for (name, bytes) in files {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        assert!(!name.to_lowercase().contains("nonshaped-key99"), "{name}");
        assert!(!text.contains("nonshaped-key99"), "{name}");
    }
}

#[test]
fn a_number_given_as_a_secret_is_in_no_archive() {
    const NUMBER: &str = "987650123498765";
    let folder = Folder::new("load-secrets-number");
    let url = format!("http://{}", echo::start(Echo::Answers));
    let body = format!("{{\"access_token\":{NUMBER}}}");
    let arguments = ["load", "--url", &url, "--requests", "2", "--isl", "8", "--osl", "1", "--exact", "off"];
    let more = ["--extra-body", &body, "--archive", "archive"];
    let ending = run_in(folder.path(), &[&arguments[..], &more].concat(), &[]);
    assert!(matches!(ending.code, Some(0 | 4)), "{}", ending.err);
    for (name, bytes) in files_below(&folder.path().join("archive")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(NUMBER), "{name}");
    }
}

#[test]
fn a_body_that_is_no_object_is_refused_without_its_words() {
    let folder = Folder::new("load-secrets-usage");
    for body in [format!("\"{MEMBER}\""), format!("{{\"api_key\": {MEMBER}}}"), format!("[\"{KEY}\"]")] {
        let ending =
            run_in(folder.path(), &["load", "--url", "http://127.0.0.1:1", "--extra-body", &body], &[]).expect(2);
        ending.complains(&["--extra-body", "column"]);
        nothing_shown(&ending);
    }
}
