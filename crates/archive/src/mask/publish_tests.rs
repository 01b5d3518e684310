//! Known answers of replacements on publishing.

use super::super::replacing::{AHEAD, CHUNK, line_ends};
use super::*;

fn scrub(learned: &[&str]) -> Scrub {
    let mut scrub = Scrub::new("salt", ["native".to_owned(), "tiny-model".to_owned()]);
    learned.iter().for_each(|text| scrub.learn(text));
    scrub.ready();
    scrub
}

fn one(text: &str) -> String {
    scrub(&[]).text("test", text)
}

#[test]
fn every_kind_of_private_word_is_replaced_and_the_rest_stays() {
    for (text, secret, kind) in [
        ("weights in /home/annika/models", "annika", "user-"),
        ("C:\\Users\\annika\\x", "annika", "user-"),
        ("annika@bigbox7:~/run$ python x.py", "annika", "user-"),
        ("annika@bigbox7:~/run$ python x.py", "bigbox7", "host-"),
        ("Linux bigbox7 6.8.0-31-generic #1 SMP", "bigbox7", "host-"),
        ("\"hostname\": \"bigbox7.example.org\"", "bigbox7", "host-"),
        ("GET http://bigbox7.lan:8000/v1", "bigbox7", "host-"),
        ("GET http://bigbox7:8000/v1", "bigbox7", "host-"),
        ("from 192.168.17.4:1234", "192.168.17.4", "ip-"),
        ("from [fe80::1ff:fe23:4567:890a]:80", "fe80", "ip-"),
        ("link/ether 3c:6d:66:12:ab:cd brd", "3c:6d:66:12:ab:cd", "mac-"),
        ("GPU UUID : GPU-1b2c3d4e-0000-1111-2222-333344445555", "1b2c3d4e", "gpu-"),
        ("    Serial Number                         : 1650922012345", "1650922012345", "serial-"),
        ("machine_id=0123456789abcdef0123456789abcdef", "0123456789abcdef", "id-"),
        ("mail annika.berg@example.org now", "annika.berg", "email-"),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "hf_abcdef", "<masked:token>"),
    ] {
        let out = one(text);
        assert!(!out.contains(secret), "{text}: {out}");
        assert!(out.contains(kind), "{text}: {out}");
    }
    for text in [
        "tok/s 12.5, 3 of 4 blocks, p < 0.001, 10:42:07",
        "TensorRT-LLM version 1.2.3.4 on driver 580.95.05",
        "nvidia/Llama-3.1-8B at https://huggingface.co/nvidia/x, git@github.com:a/b",
        "/home/ubuntu/results, /root/x, /workspace, http://localhost:8000, 127.0.0.1",
        "host-1a2b3c and <masked:token> of user-0f0f0f",
        "serial execution of runs; user time 3 s; the native arm",
        "x::y::z of std::vector, 00000000:01:00.0",
        "--------------------Inter-token Latency---------------------",
        "---------------Inter-Token Latency----------------",
        "Token usage: ----- max-token 5 -----",
    ] {
        assert_eq!(one(text), text);
    }
}

#[test]
fn a_name_that_one_text_gives_away_is_replaced_in_all() {
    let scrub = scrub(&["/home/annika/models/x"]);
    let out = scrub.text("test", "run of annika, by annika_7b; annikas stays");
    let name = one("/home/annika/x").replace("/home/", "").replace("/x", "");
    assert_eq!(out, format!("run of {name}, by {name}_7b; annikas stays"));
    assert_eq!(scrub.places()["test"]["user"], 2);
}

#[test]
fn one_salt_gives_one_pseudonym_and_another_salt_another() {
    let with = |salt: &str| Scrub::new(salt, []).text("test", "/home/annika/x");
    assert_eq!(with("a"), with("a"));
    assert_ne!(with("a"), with("b"));
}

#[test]
fn labels_of_the_campaign_stay_what_they_are() {
    assert_eq!(one("/home/native/x of tiny-model"), "/home/native/x of tiny-model");
}

#[test]
fn settings_are_judged_by_their_name_too() {
    let scrub = scrub(&[]);
    let of = |name, value| scrub.setting("test", name, value);
    assert!(of("server.hostname", "bigbox7").starts_with("host-"));
    assert!(of("gpu.serial", "1650922012345").starts_with("serial-"));
    assert_eq!(of("serial", "[N/A]"), "[N/A]");
    assert_eq!(of("api_key", "abcdefgh1"), "<masked:key>");
    assert_eq!(of("tensorrt_version", "10.9.0.34"), "10.9.0.34");
    assert_eq!(of("listen", "10.9.0.34").get(..3), Some("ip-"));
    assert_eq!(of("eos_token", "</s>"), "</s>");
}

#[test]
fn a_text_that_was_scrubbed_stays_as_it_is() {
    let scrub = scrub(&["/home/annika"]);
    let text = "annika@bigbox7:/home/annika$ curl http://10.1.2.3:80 GPU-1b2c3d4e-0000-1111-2222-333344445555 3c:6d:66:12:ab:cd";
    let once = scrub.text("test", text);
    assert_eq!(scrub.text("test", &once), once);
}

#[test]
fn rows_of_one_file_share_their_names_and_those_of_a_key_go_one_by_one() {
    let mut rows: Vec<String> = [
        "annika@bigbox7:~$ cat key",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
        "-----END OPENSSH PRIVATE KEY-----",
        "bye annika",
    ]
    .map(str::to_owned)
    .to_vec();
    let scrub = scrub(&[]);
    scrub.rows("logs", rows.iter_mut().collect());
    assert_eq!(rows.len(), 5);
    assert!(
        rows.iter().all(|row| !row.contains("annika") && !row.contains("bigbox7") && !row.contains("b3Blbn")),
        "{rows:?}"
    );
    assert_eq!(rows[2], "<masked:key>");
    assert!(rows[4].starts_with("bye user-"), "{rows:?}");
    assert!(scrub.places()["logs"]["user"] >= 2);
}

#[test]
fn times_of_a_log_stay_and_addresses_in_it_go() {
    let mut rows: Vec<String> = [
        "0.00.071.788 I srv          init: running without SSL",
        "10.12.118.200 I slot print_timing: id  0 | task 0 | prompt eval time =    1220.04 ms /    83 tokens",
        "10.12.300.001 srv  without the letter of a level",
        "10.13.118.205 srv  between two of its clock",
        "10.13.118.999 srv  the same",
        "10.14.118.206 I srv  init: listening on http://10.12.118.201:8000",
        "10.15.118.207 up",
    ]
    .map(str::to_owned)
    .to_vec();
    let before = rows.clone();
    let scrub = scrub(&[]);
    let tally = scrub.rows("logs", rows.iter_mut().collect());
    assert_eq!(tally, Tally::from([("ip".to_owned(), 2)]), "{rows:?}");
    assert_eq!(rows[..5], before[..5]);
    assert!(rows[5].starts_with("10.14.118.206 I srv  init: listening on http://ip-"), "{rows:?}");
    assert!(rows[6].starts_with("ip-"), "{rows:?}");
}

fn without_secrets(text: &[u8]) -> (String, Tally) {
    let mut reader = WithoutSecrets::new(text).expect("in memory");
    let mut out = Vec::new();
    reader.read_to_end(&mut out).expect("in memory");
    (String::from_utf8(out).expect("text"), reader.into_tally())
}

#[test]
fn a_file_without_its_secrets_has_every_line_in_its_place() {
    for text in [
        "1\npassword: |\n  SeKretZq7x9Kp\n  SeKretZq7x9Kp\nlast: 5\n",
        "1\r\n-----BEGIN RSA PRIVATE KEY-----\r\nSeKretZq7x9Kp\r\n-----END RSA PRIVATE KEY-----\r\nlast\r\n",
        "{\"api_keys\": [\n \"SeKretZq7x9Kp\",\n \"SeKretZq7x9Kq\"\n],\n\"last\": 1}\n",
        "1\ruser ann\rapi_key=SeKretZq7x9Kp\rlast\r",
        "user,password\nann,SeKretZq7x9Kp\nlast,none\n",
    ] {
        let (out, tally) = without_secrets(text.as_bytes());
        assert!(!out.contains("SeKret"), "{text}: {out}");
        assert_eq!(line_ends(out.as_bytes()), line_ends(text.as_bytes()), "{text}: {out:?}");
        let last = |text: &str| text.get(text.find("last").unwrap_or(text.len())..).unwrap_or_default().to_owned();
        assert_eq!(last(&out), last(text));
        assert!(tally.values().sum::<u64>() > 0, "{text}");
    }
    let json = without_secrets(b"{\"api_keys\": [\n \"SeKretZq7x9Kp\",\n \"SeKretZq7x9Kq\"\n]}").0;
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
}

#[test]
fn a_secret_at_the_border_of_what_is_read_at_once_is_found_and_lines_are_kept() {
    for place in [CHUNK - 8, CHUNK + 1, CHUNK + AHEAD - 8, 2 * CHUNK + AHEAD - 20] {
        let text = format!("{}\npassword: |\n  SeKretZq7x9Kp\n  SeKretZq7x9Kp\nlast\n", "x ".repeat(place / 2));
        let (out, tally) = without_secrets(text.as_bytes());
        assert!(!out.contains("SeKret"), "{place}");
        assert_eq!(out.lines().position(|line| line == "last"), Some(4), "{place}");
        assert_eq!(tally.keys().collect::<Vec<_>>(), ["password"], "{place}");
    }
}

#[test]
fn a_secret_without_an_end_costs_no_memory() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\n".as_bytes().chain(io::repeat(b'\n').take(16 << 20));
    let mut reader = WithoutSecrets::new(key).expect("in memory");
    let lines = io::copy(&mut reader, &mut io::sink()).expect("in memory");
    assert!(lines >= 16 << 20, "{lines}");
    assert!(reader.0.ready.capacity() <= 8 * CHUNK, "{}", reader.0.ready.capacity());
}
