//! A scripted server on the loopback interface answers once for each connection.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use super::*;
use sparkbench_testing::LIMIT;

/// Answers the first connections with these bytes each, and gives back what was asked.
fn server(answers: Vec<Vec<u8>>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let count = stream.read(&mut buffer).unwrap_or(0);
                seen.extend_from_slice(&buffer[..count]);
                let text = String::from_utf8_lossy(&seen).to_lowercase();
                let length = text
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.lines().next())
                    .and_then(|number| number.parse::<usize>().ok())
                    .unwrap_or(0);
                // A greeting of TLS has no lines.
                if count == 0
                    || seen.first() == Some(&22)
                    || text.find("\r\n\r\n").is_some_and(|at| seen.len() >= at + 4 + length)
                {
                    break;
                }
            }
            asked.push(String::from_utf8_lossy(&seen).into_owned());
            // A client that has seen enough may have gone.
            let _ = stream.write_all(&answer);
        }
        asked
    });
    (base, thread)
}

fn said(status: &str, head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).into_bytes()
}

fn web(base: &str) -> Web {
    Web::new(base, &[("Authorization".into(), "Bearer secret-key".into())], &Tls::default()).unwrap()
}

#[test]
fn an_answer_of_any_status_is_an_answer() {
    let (base, thread) = server(vec![
        said("200 OK", "Content-Type: application/json\r\nServer: uvicorn\r\n", "{\"version\":\"0.9\"}"),
        said(
            "503 Service Unavailable",
            "Retry-After: 5\r\n",
            "{\"error\":{\"message\":\"Loading model\",\"code\":503}}",
        ),
        said("302 Found", "Location: http://user:pass@elsewhere/login?token=1\r\n", ""),
    ]);
    let web = web(&base);
    let answer = web.get("/version", LIMIT).unwrap();
    assert!(answer.ok());
    assert_eq!(answer.json().unwrap()["version"], "0.9");
    assert_eq!((answer.content_type.as_deref(), answer.server.as_deref()), (Some("application/json"), Some("uvicorn")));
    let loading = web.get("/health", LIMIT).unwrap();
    assert_eq!((loading.status, loading.retry_after.as_deref()), (503, Some("5")));
    assert_eq!(loading.gist(), "status 503: Loading model");
    let moved = web.post_json("/tokenize", &serde_json::json!({"content": "a"}), LIMIT).unwrap();
    assert_eq!(moved.gist(), "status 302, a redirect to http://elsewhere/login");
    let asked = thread.join().unwrap();
    assert!(asked[0].starts_with("GET /version HTTP/1.1\r\n"));
    assert!(asked.iter().all(|text| text.to_lowercase().contains("authorization: bearer secret-key")));
    assert!(asked[2].starts_with("POST /tokenize HTTP/1.1\r\n") && asked[2].ends_with("{\"content\":\"a\"}"));
}

#[test]
fn an_address_may_have_a_path_a_version_and_a_login_that_is_never_shown() {
    for (given, base, login) in [
        ("http://localhost:8000", "http://localhost:8000", None),
        ("http://localhost:8000/", "http://localhost:8000", None),
        ("HTTP://localhost:8000/v1/", "http://localhost:8000", None),
        ("https://host/openai/v1", "https://host/openai", None),
        ("http://[::1]:8000", "http://[::1]:8000", None),
        ("http://me:p%40ss@host:1", "http://host:1", Some("me:p@ss")),
    ] {
        let read = read(given).unwrap();
        assert_eq!(format!("{}{}", read.origin, read.place.shown()), base, "{given}");
        assert_eq!((read.login.as_deref(), read.query), (login, None), "{given}");
    }
    for wrong in [
        "localhost:8000",
        "ftp://me:hunter2@host",
        "http://",
        "http://:80",
        "http://a b",
        "http://me:hunter2@",
        "http://me:hunter2@host/?key=hunter2#hunter2",
        "http://me:hunter2@host/?key=hunter2 hunter2",
    ] {
        let error = read(wrong).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(error.hint.is_some());
    }
    let (base, thread) = server(vec![said("200 OK", "", "")]);
    let with_login = base.replace("http://", "http://me:p%40ss@");
    let web = Web::new(&with_login, &[], &Tls::default()).unwrap();
    assert_eq!(web.base(), base);
    web.get("/", LIMIT).unwrap();
    assert!(thread.join().unwrap()[0].to_lowercase().contains(&format!("authorization: {}", "basic bwu6cebzcw==")));
}

#[test]
fn a_query_goes_with_every_question_and_is_never_shown() {
    let (base, thread) = server(vec![said("200 OK", "", ""), said("200 OK", "", ""), said("200 OK", "", "")]);
    let address = format!("{base}/api/v3/chat/completions?version=1&key=hidden");
    let web = Web::new(&address, &[], &Tls::default()).unwrap();
    web.get("/v1/models", LIMIT).unwrap();
    web.get("/metrics?all=1", LIMIT).unwrap();
    web.post_json("/v1/chat/completions", &serde_json::json!({}), LIMIT).unwrap();
    let asked: Vec<String> =
        thread.join().unwrap().iter().filter_map(|text| Some(text.lines().next()?.to_owned())).collect();
    assert_eq!(
        asked,
        [
            "GET /api/v3/models?version=1&key=hidden HTTP/1.1",
            "GET /api/metrics?all=1&version=1&key=hidden HTTP/1.1",
            "POST /api/v3/chat/completions?version=1&key=hidden HTTP/1.1",
        ]
    );
    assert_eq!((web.base(), web.asked("/v1/models")), (format!("{base}/api/v3"), format!("{base}/api/v3/models")));
    let nobody = Web::new("http://127.0.0.1:1/v1?key=hidden", &[], &Tls::default()).unwrap();
    assert!(!nobody.get("/health", LIMIT).unwrap_err().to_string().contains("hidden"));
}

#[test]
fn base64_is_that_of_the_standard() {
    for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(plain.as_bytes()), coded);
    }
}

#[test]
fn what_went_wrong_is_told_in_words_without_secrets() {
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let base = format!("http://{}", mute.local_addr().unwrap());
    // It accepts and says nothing.
    let silent = web(&base).get("/health", Duration::from_millis(50)).unwrap_err();
    assert!(silent.what.ends_with("no answer within 0.05 s"), "{silent}");
    // Nobody listens there on any machine.
    let refused = web("http://127.0.0.1:1").get("/health", LIMIT).unwrap_err();
    assert_eq!(refused.what, "cannot ask http://127.0.0.1:1/health: the connection is refused");
    let (base, thread) = server(vec![b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec(), Vec::new()]);
    let ssh = web(&base).get("/health", LIMIT).unwrap_err();
    assert!(ssh.what.contains("no HTTP"), "{ssh}");
    let nothing = web(&base).get("/health", LIMIT).unwrap_err();
    assert!(nothing.what.contains("closed before an answer came"), "{nothing}");
    thread.join().unwrap();
    // A label may have 63 letters: this name is refused without asking anybody.
    let unknown = web(&format!("http://{}.invalid", "x".repeat(64))).get("/", LIMIT).unwrap_err();
    assert!(unknown.what.contains("name of the host is unknown"), "{unknown}");
    for error in [silent, refused, ssh, nothing, unknown] {
        assert!(error.hint.is_some() && !error.to_string().contains("secret-key"), "{error}");
    }
}

#[test]
fn an_endless_answer_is_cut_off_and_said_so() {
    let mut endless = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    endless.resize(endless.len() + (BODY_MAX as usize) + 10, b'x');
    let (base, thread) = server(vec![endless]);
    let error = web(&base).get("/metrics", LIMIT).unwrap_err();
    assert!(error.what.contains("longer than 8 MiB"), "{error}");
    thread.join().unwrap();
}

#[test]
fn a_plain_server_asked_for_tls_is_told_from_one_that_is_not_trusted() {
    let (base, thread) = server(vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()]);
    let tls = Tls { insecure: true, ca_file: None };
    let web = Web::new(&base.replace("http://", "https://"), &[], &tls).unwrap();
    let error = web.get("/health", LIMIT).unwrap_err();
    assert!(error.what.contains("does not speak TLS"), "{error}");
    thread.join().unwrap();
    let missing = Tls { insecure: false, ca_file: Some("/does/not/exist.pem".into()) };
    assert!(Web::new("https://host", &[], &missing).unwrap_err().what.contains("/does/not/exist.pem"));
    let folder = sparkbench_testing::Folder::new("no-authorities");
    let file = folder.join("empty.pem");
    std::fs::write(&file, "").unwrap();
    let empty = Tls { insecure: false, ca_file: Some(file) };
    assert!(Web::new("https://host", &[], &empty).unwrap_err().what.contains("has no certificate authorities"));
}
