//! Over TLS, against a server in the test with a certificate of the tests' own authority.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::tests::{Kept, chunked, content, finish, options, queue, run};
use super::*;
use sparkbench_host::net::tls::Trust;

fn fixture(name: &str) -> PathBuf {
    Path::new(sparkbench_testing::ROOT).join("tests/fixtures/tls").join(name)
}

/// Answers every request of as many connections with the same. A client that does not trust it is dropped.
fn server(connections: usize, answer: Vec<u8>) -> (u16, std::thread::JoinHandle<()>) {
    let certificate = CertificateDer::from_pem_file(fixture("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut threads = Vec::new();
        for _ in 0..connections {
            let (stream, _) = listener.accept().unwrap();
            let (config, answer) = (Arc::clone(&config), answer.clone());
            threads.push(std::thread::spawn(move || {
                let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                let mut heard = Vec::new();
                let mut room = [0; 4096];
                while let Ok(count) = stream.read(&mut room) {
                    heard.extend_from_slice(&room[..count]);
                    if count == 0 {
                        break;
                    }
                    if heard.ends_with(b"}") {
                        heard.clear();
                        if stream.write_all(&answer).is_err() {
                            break;
                        }
                    }
                }
            }));
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
    (port, thread)
}

fn long_answer() -> Vec<u8> {
    let text: String = (0..2000).map(|_| content("abcdefgh")).collect();
    chunked(&[text.as_str(), finish().as_str(), "data: [DONE]\n\n"].concat())
}

#[test]
fn over_tls_the_same_is_seen_and_connections_are_used_again() {
    for trust in [Trust { ca_file: Some(fixture("ca.pem")), insecure: false }, Trust { ca_file: None, insecure: true }]
    {
        let (port, thread) = server(2, long_answer());
        let target = Target::parse(&format!("https://127.0.0.1:{port}")).unwrap();
        let mut kept = Kept::default();
        let options = Options { trust, preconnect: 2, ..options() };
        let report = run(&target, &options, &mut queue(8, 2), &mut kept, &Control::default()).unwrap();
        thread.join().unwrap();
        assert_eq!((report.opened, kept.records.len()), (2, 8));
        for record in &kept.records {
            assert_eq!((record.status, record.pieces, record.events), (Status::Ok, 2000, 2001), "{:?}", record.error);
        }
    }
}

#[test]
fn an_unknown_certificate_is_said_with_what_to_do() {
    let (port, thread) = server(1, long_answer());
    let target = Target::parse(&format!("https://127.0.0.1:{port}")).unwrap();
    let mut kept = Kept::default();
    run(&target, &options(), &mut queue(1, 1), &mut kept, &Control::default()).unwrap();
    thread.join().unwrap();
    let said = kept.records[0].error.clone().unwrap();
    assert_eq!(kept.records[0].status, Status::Tls, "{said}");
    assert!(
        said.contains("--ca-file") && said.contains("--insecure") && said.contains("not signed by an authority"),
        "{said}"
    );
}

#[test]
fn a_file_without_certificates_is_refused_before_anything_is_sent() {
    let target = Target::parse("https://127.0.0.1:9").unwrap();
    for (name, code) in [("README.md", 2), ("server.key", 2), ("absent.pem", 5)] {
        let trust = Trust { ca_file: Some(fixture(name)), insecure: false };
        let Err(error) = Engine::new(&target, &Options { trust, ..options() }) else { panic!("{name} was believed") };
        assert_eq!(error.kind.exit_code(), code, "{name}: {error}");
    }
}
