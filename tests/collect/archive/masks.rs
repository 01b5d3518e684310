//! What is masked, and what stays byte for byte.

use std::collections::BTreeMap;
use std::fs;

use sparkbench::archive::mask::Masked;
use sparkbench::archive::{Identity, Mask, MaskRules, Tally};

use super::maker::{SECRET, mask};
use crate::support::folder::Folder;

fn masked(text: &str) -> String {
    mask().text(text, &mut Tally::new())
}

/// Pseudonyms of the names that [`mask`] knows.
fn names() -> (String, String) {
    (masked("lab-spark-7"), masked("jane"))
}

#[test]
fn secrets_are_masked_wherever_they_show() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    let cases: Vec<(String, &str)> = vec![
        // By shape.
        (format!("login {SECRET}."), "login <masked:token>."),
        ("nvapi-abcdefghijklmnopqrstuvwx_1".into(), "<masked:token>"),
        ("\"sk-proj-AbCdEf1234567890abcdef\"".into(), "\"<masked:token>\""),
        ("sk-ant-api03-AAAAAAAAAAAAAAAA1234".into(), "<masked:token>"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789".into(), "<masked:token>"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnop".into(), "<masked:token>"),
        ("id AKIAIOSFODNN7EXAMPLE end".into(), "id <masked:token> end"),
        (format!("jwt={jwt};"), "jwt=<masked:token>;"),
        ("Authorization: Bearer abc123def456".into(), "Authorization: Bearer <masked:credential>"),
        ("authorization: Basic dXNlcjpwYXNz".into(), "authorization: Basic <masked:credential>"),
        ("{\"Authorization\": \"token s3cr3tvalue\"}".into(), "{\"Authorization\": \"token <masked:credential>\"}"),
        ("https://bob:hunter2@example.com/x".into(), "https://<masked:url>@example.com/x"),
        ("http://bob:p@ss@proxy:3128".into(), "http://<masked:url>@proxy:3128"),
        ("https://x0auth9token8value7@example.com".into(), "https://<masked:url>@example.com"),
        (
            "http://0.0.0.0:8888/?token=0123456789abcdef0123456789abcdef".into(),
            "http://0.0.0.0:8888/?token=<masked:token>",
        ),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK=\n-----END RSA PRIVATE KEY-----\nb".into(),
            "a\n<masked:key>\nb",
        ),
        (
            "{\"k\":\"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n\"}".into(),
            "{\"k\":\"<masked:key>\\n\"}",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\nNzaC1r".into(), "<masked:key>"),
        // By name.
        ("HF_TOKEN=abcd1234".into(), "HF_TOKEN=<masked:token>"),
        ("export NGC_API_KEY='with blanks in it' x".into(), "export NGC_API_KEY='<masked:key>' x"),
        ("{\"api_key\": \"abcd\", \"n\": 1}".into(), "{\"api_key\": \"<masked:key>\", \"n\": 1}"),
        ("api_key='abcd1234', model='m'".into(), "api_key='<masked:key>', model='m'"),
        ("password: hunter2".into(), "password: <masked:password>"),
        ("db_password=12345678".into(), "db_password=<masked:password>"),
        (
            "Env\": [\"PATH=/bin\", \"WANDB_API_KEY=0123abcd\"]".into(),
            "Env\": [\"PATH=/bin\", \"WANDB_API_KEY=<masked:key>\"]",
        ),
        ("line\\nHF_TOKEN=abcd1234\\nnext".into(), "line\\nHF_TOKEN=<masked:token>\\nnext"),
        (
            "{\"log\": \"{\\\"api_key\\\": \\\"abcd1234\\\"}\"}".into(),
            "{\"log\": \"{\\\"api_key\\\": \\\"<masked:key>\\\"}\"}",
        ),
        ("serve --api-key abcd1234 --port 8000".into(), "serve --api-key <masked:key> --port 8000"),
        ("serve --api-key=abcd1234 --port 8000".into(), "serve --api-key=<masked:key> --port 8000"),
        (
            "[\"serve\", \"--api-key\", \"abcd 1234\", \"-v\"]".into(),
            "[\"serve\", \"--api-key\", \"<masked:key>\", \"-v\"]",
        ),
        ("--password \"a\\\"b c\" x".into(), "--password \"<masked:password>\" x"),
        ("{\"token\": \"a94a8fe5ccb19ba61c4c0873d391e987982fbbd3\"}".into(), "{\"token\": \"<masked:token>\"}"),
        ("{'token': 'Zx81plainButDrawn77', 'n': 1}".into(), "{'token': '<masked:token>', 'n': 1}"),
        ("token: a94a8fe5ccb19ba61c4c0873d391e987982fbbd3".into(), "token: <masked:token>"),
        ("key a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 sent".into(), "key <masked:key> sent"),
        (
            "{\"secret\": \"abcd\", \"authorization\": \"abcd\"}".into(),
            "{\"secret\": \"<masked:secret>\", \"authorization\": \"<masked:credential>\"}",
        ),
        ("TOKEN=abcd1234\nexport AUTH='x y z w'".into(), "TOKEN=<masked:token>\nexport AUTH='<masked:credential>'"),
        ("api_key = \"abcd\" # of a table".into(), "api_key = \"<masked:key>\" # of a table"),
        ("api_key: >-\n  abcd1234\nn: 1".into(), "api_key: >-\n  <masked:key>\nn: 1"),
        ("api_key=['abcd', 'efgh'], n=1".into(), "api_key=['<masked:key>'], n=1"),
        ("{\"api_keys\": [\"abcd\", \"efgh\"]}".into(), "{\"api_keys\": [\"<masked:key>\"]}"),
        ("- name: DB_PASSWORD\n  value: abcd1234".into(), "- name: DB_PASSWORD\n  value: <masked:password>"),
        (
            "{\"name\": \"HF_TOKEN\", \"value\": \"abcd\"}".into(),
            "{\"name\": \"HF_TOKEN\", \"value\": \"<masked:token>\"}",
        ),
        ("[('x-api-key', 'abcd1234'), ('n', '1')]".into(), "[('x-api-key', '<masked:key>'), ('n', '1')]"),
        ("Cookie: a=b1234; c=d1234\nHost: h".into(), "Cookie: <masked:cookie>\nHost: h"),
        // What a value ends with, and what stays JSON.
        (
            "{\"password\":\"abcd\\\\\",\"model\":\"keepA\"}".into(),
            "{\"password\":\"<masked:password>\",\"model\":\"keepA\"}",
        ),
        ("{\"password\":\"ab\\\\\\\"cd\",\"n\":1}".into(), "{\"password\":\"<masked:password>\",\"n\":1}"),
        ("{\"api_key\": 1234567890123}".into(), "{\"api_key\": \"<masked:key>\"}"),
        ("{\"secret\":[1,2,3,4],\"n\":1}".into(), "{\"secret\":[\"<masked:secret>\"],\"n\":1}"),
        // What stands around a value.
        ("Config { api_key: Some(\"abcd\"), n: 1 }".into(), "Config { api_key: Some(\"<masked:key>\"), n: 1 }"),
        ("api_key: Some(\n    \"abcd\",\n)".into(), "api_key: Some(\n    \"<masked:key>\",\n)"),
        ("api_key: Some(Secret(\"abcd\"))".into(), "api_key: Some(Secret(\"<masked:key>\"))"),
        ("api_key: !!str abcd1234\nn: 1".into(), "api_key: !!str <masked:key>\nn: 1"),
        ("password: &anchor abcd1234\nn: 1".into(), "password: &anchor <masked:password>\nn: 1"),
        ("password = \"\"\"abcd\"\"\"\nn = 1".into(), "password = \"\"\"<masked:password>\"\"\"\nn = 1"),
        ("api_key = '''\nab\ncd\n'''\nn = 1".into(), "api_key = '''\n<masked:key>\n'''\nn = 1"),
        ("x(api_key=b'abcd', n=1)".into(), "x(api_key=b'<masked:key>', n=1)"),
        ("{'api_key': b'abcd', 'n': 1}".into(), "{'api_key': b'<masked:key>', 'n': 1}"),
        ("x(token=u'Zx81plainButDrawn77')".into(), "x(token=u'<masked:token>')"),
        ("x(password=('abcd',))".into(), "x(password=('<masked:password>',))"),
        ("['authorization','Bearer abcd']".into(), "['authorization','Bearer <masked:credential>']"),
        // Files of variables, and .netrc.
        ("DB_PASSWORD=ab&cd;ef,gh)ij|kl\"mn\nA=b".into(), "DB_PASSWORD=<masked:password>\nA=b"),
        ("a=b\nexport REDIS_PASSWORD=ab\\ cd\nn=1".into(), "a=b\nexport REDIS_PASSWORD=<masked:password>\nn=1"),
        ("MYSQL_PASSWORD=$ecret-Pa55\nn=1".into(), "MYSQL_PASSWORD=<masked:password>\nn=1"),
        ("{\"password\": \"$ecret-Pa55\"}".into(), "{\"password\": \"<masked:password>\"}"),
        ("API_KEY=abcd,MODEL=keep".into(), "API_KEY=<masked:key>,MODEL=keep"),
        ("machine h login bob password abcd".into(), "machine h login bob password <masked:password>"),
        ("machine h\n  login bob\n  password abcd\n".into(), "machine h\n  login bob\n  password <masked:password>\n"),
        // JSON over several lines, below a name, in pairs.
        ("{\"api_key\":\n  \"abcd\"}".into(), "{\"api_key\":\n  \"<masked:key>\"}"),
        ("{\"password\":{\"value\":\"abcd\"}}".into(), "{\"password\":{\"value\":\"<masked:password>\"}}"),
        (
            "{\"api_keys\":{\"a\":\"abcd\",\"b\":\"efgh\"},\"n\":\"x\"}".into(),
            "{\"api_keys\":{\"a\":\"<masked:key>\",\"b\":\"<masked:key>\"},\"n\":\"x\"}",
        ),
        ("{\"secrets\":{\"hf\":\"abcd\"}}".into(), "{\"secrets\":{\"hf\":\"<masked:secret>\"}}"),
        ("{\"passwords\":[\"abcd\"]}".into(), "{\"passwords\":[\"<masked:password>\"]}"),
        ("{\"access_tokens\": [\"abcd\"]}".into(), "{\"access_tokens\": [\"<masked:token>\"]}"),
        ("[\"Authorization\",\"Bearer abcd\"]".into(), "[\"Authorization\",\"Bearer <masked:credential>\"]"),
        (
            "{\"key\":\"Authorization\",\"value\":\"Bearer abcd\"}".into(),
            "{\"key\":\"Authorization\",\"value\":\"Bearer <masked:credential>\"}",
        ),
        ("serve\0--api-key\0abcd\0-v".into(), "serve\0--api-key\0<masked:key>\0-v"),
        (
            "\u{1b}[1;36mapi_key\u{1b}[0m=\u{1b}[35mabcd\u{1b}[0m n".into(),
            "\u{1b}[1;36mapi_key\u{1b}[0m=\u{1b}[35m<masked:key>\u{1b}[0m n",
        ),
        // By value.
        ("it said open-sesame-please to me".into(), "it said <masked:password> to me"),
        ("xopen-sesame-pleasex".into(), "x<masked:password>x"),
        ("0123456789abcdef0123456789abcdef".into(), "<masked:machine-id>"),
    ];
    for (text, expected) in &cases {
        assert_eq!(masked(text), *expected, "of {text}");
        assert_eq!(masked(expected), *expected, "a second time");
    }
}

#[test]
fn what_is_no_secret_stays_byte_for_byte() {
    for text in [
        "eos_token='</s>', pad_token_id=0, max_tokens=4096",
        "\"eos_token\": \"<|endoftext|>\", \"bos_token\": \"<s>\"",
        "{\"key\": \"throughput\", \"cache_key\": \"abc123\", \"tokens\": 12}",
        "energy_j_per_token: 0.1234, first_token_s=1.25",
        "TOKENIZERS_PARALLELISM=false KEYBOARD=us MAX_TOKENS=128000",
        "api_key=None, hf_token=null, token=True, password=",
        "HF_TOKEN=$HF_TOKEN HF_TOKEN=${TOKEN} --api-key $KEY",
        "scikit-learn sk-learn-is-not-a-key hf_transfer hf_hub_download",
        "bearer of news; Bearer token missing; the bearer shall",
        "https://example.com/a@b http://example.com:8000/v1 ssh://git@example.com",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "eyJ is not a token, neither is eyJhbGciOiJIUzI1NiJ9 alone",
        "AKIA is short and XAKIAIOSFODNN7EXAMPLE is a word",
        "user=bob author=alice monkey=banana keyboard=us",
        "lab-spark-70 xlab-spark-7 janet jane5 marijane",
        "\u{1f600} naïve café 日本 \u{0}",
        "--tokenizer x --max-tokens 12 --trust-remote-code --key-value",
        "commit a94a8fe5ccb19ba61c4c0873d391e987982fbbd3, snapshots/a94a8fe5ccb19ba61c4c0873d391e987982fbbd3/x",
        "{\"sha\": \"a94a8fe5ccb19ba61c4c0873d391e987982fbbd3\", \"cache_key\": \"a94a8fe5ccb19ba61c4c0873d391e987982fbbd3\"}",
        "the cache key a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 is a hash",
        "{\"key\": \"result_time_per_output_token_99.90_percentile_ns\", \"token\": \" International\"}",
        "{\"name\": \"OUTPUT_TOKEN\", \"value\": 1234.56789012}, {\"name\": \"mean\", \"value\": \"abcd\"}",
        "\"required\": [\"api_key\", \"model\"], password: [], api_key=[]",
        "{\"pause_token\": \"<pause>\"}, {\"pause_token\": \"abcd\"}",
        "pass: llama-3.1-8b-instruct-q4, {\"pass\": \"warmup-2-of-3-llama\"}",
        "{\"token\":\"Llama-3.1-8B-Instruct-GGUF\"}",
        "{\"password\": {\"type\": \"string\", \"title\": \"Password\"}}",
        "{\"access_tokens\": 12345, \"secrets\": [], \"passwords\": {}}",
        "login needs a password first",
        "api_key=${KEY}, password: {{ key }}, \"password\": \"%KEY%\", 'secret': '<your-secret>'",
        "--api-key",
        "--api-key --verbose",
        "",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn names_become_pseudonyms_as_whole_words() {
    let (host, user) = names();
    assert!(host.starts_with("host-") && host.len() == 11, "{host}");
    assert!(user.starts_with("user-") && user.len() == 11, "{user}");
    for (text, expected) in [
        ("Linux lab-spark-7 6.17".to_owned(), format!("Linux {host} 6.17")),
        ("LAB-SPARK-7.example.org".to_owned(), format!("{host}.example.org")),
        ("events.1763.lab-spark-7.42".to_owned(), format!("events.1763.{host}.42")),
        ("/home/jane/.cache".to_owned(), format!("/home/{user}/.cache")),
        ("/tmp/torchinductor_jane/x".to_owned(), format!("/tmp/torchinductor_{user}/x")),
        ("jane@lab-spark-7:~$".to_owned(), format!("{user}@{host}:~$")),
        ("\\njane\\tjane".to_owned(), format!("\\n{user}\\t{user}")),
        ("\u{1b}[32mjane\u{1b}[0m".to_owned(), format!("\u{1b}[32m{user}\u{1b}[0m")),
    ] {
        assert_eq!(masked(&text), expected);
        assert_eq!(masked(&expected), expected, "a second time");
    }
}

#[test]
fn common_names_stay_and_the_report_says_so() {
    let rules = MaskRules { pseudonyms: true, keep: vec!["Turing".into()], ..MaskRules::default() };
    let named = |host: &str, user: &str| Identity {
        hosts: vec![host.into()],
        users: vec![user.into()],
        archive_id: "a".into(),
        ..Identity::default()
    };
    for (host, user) in
        [("native", "root"), ("vm", "ubuntu"), ("localhost", "al"), ("turing", "1000"), ("spark", "user")]
    {
        let mask = Mask::new(&rules, &named(host, user)).unwrap();
        let text = format!("{host} runs as {user} on {host}");
        assert_eq!(mask.text(&text, &mut Tally::new()), text);
        let report = mask.report();
        assert_eq!(report.iter().filter(|line| line.contains(" is kept: ")).count(), 2, "{report:?}");
    }
    let off = Mask::new(&MaskRules::default(), &named("lab-spark-7", "jane")).unwrap();
    assert_eq!(off.text("jane on lab-spark-7", &mut Tally::new()), "jane on lab-spark-7");
    assert!(off.report().is_empty());
}

#[test]
fn a_pseudonym_is_the_machines_own_and_hides_the_name_behind_the_machine_id() {
    let of = |machine: Option<&str>, archive: &str| {
        let identity = Identity {
            hosts: vec!["lab-spark-7".into()],
            machine_id: machine.map(str::to_owned),
            archive_id: archive.into(),
            ..Identity::default()
        };
        let rules = MaskRules { pseudonyms: true, ..MaskRules::default() };
        Mask::new(&rules, &identity).unwrap().text("lab-spark-7", &mut Tally::new())
    };
    assert_eq!(of(Some("machine-one-1"), "a"), of(Some("machine-one-1"), "b"));
    assert_ne!(of(Some("machine-one-1"), "a"), of(Some("machine-two-2"), "a"));
    assert_ne!(of(None, "a"), of(None, "b"));
}

#[test]
fn variables_and_command_lines_lose_their_secrets() {
    let mut tally = Tally::new();
    let rules =
        MaskRules { secret_variables: vec!["acme_*".into()], words: vec!["Project-X".into()], ..MaskRules::default() };
    let mask = Mask::new(&rules, &Identity::default()).unwrap();
    let variables: BTreeMap<String, String> = [
        ("HF_TOKEN", "short"),
        ("KEY", "k3y"),
        ("ACME_LICENCE", "42"),
        ("HTTP_PROXY", "http://bob:hunter2@proxy:80"),
        ("PATH", "/bin"),
        ("MAX_TOKENS", "4096"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("NOTE", SECRET),
        ("TITLE", "about Project-X"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let masked = mask.variables(&variables, &mut tally);
    let values: Vec<&str> = masked.values().map(String::as_str).collect();
    assert_eq!(
        values,
        [
            "<masked:secret>",
            "<masked:token>",
            "http://<masked:url>@proxy:80",
            "<masked:key>",
            "4096",
            "<masked:token>",
            "/bin",
            "/tmp/agent",
            "about <masked:word>",
        ]
    );
    let expected = [("key", 1), ("secret", 1), ("token", 2), ("url", 1), ("word", 1)];
    assert_eq!(tally, expected.map(|(kind, times)| (kind.to_owned(), times)).into());
    let line =
        "run -e HF_TOKEN=abc --env ACME_LICENCE=42 -e A=b --token t0k --port 80 --api-key=x9 PASSWORD=p --verbose file";
    let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    assert_eq!(
        mask.arguments(&arguments, &mut Tally::new()).join(" "),
        "run -e HF_TOKEN=<masked:token> --env ACME_LICENCE=<masked:secret> -e A=b --token <masked:token> --port 80 \
         --api-key=<masked:key> PASSWORD=<masked:password> --verbose file"
    );
    assert!(
        Mask::new(&MaskRules { secret_variables: vec!["a[".into()], ..MaskRules::default() }, &Identity::default())
            .is_err()
    );
}

#[test]
fn values_learned_from_variables_are_found_in_later_logs() {
    let mut mask = Mask::new(&MaskRules::default(), &Identity::default()).unwrap();
    let variables =
        [("A_TOKEN", "quite \"odd\"\nvalue"), ("B_TOKEN", "sesame"), ("C_TOKEN", "abc"), ("N_TOKEN", "none")];
    mask.learn(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    for (text, expected) in [
        ("got quite \"odd\"\nvalue here", "got <masked:token> here"),
        ("{\"x\": \"quite \\\"odd\\\"\\nvalue\"}", "{\"x\": \"<masked:token>\"}"),
        ("open sesame now", "open <masked:token> now"),
        ("sesameoil and abc and none", "sesameoil and abc and none"),
    ] {
        assert_eq!(mask.text(text, &mut Tally::new()), expected);
    }
    assert!(mask.report().iter().any(|line| line.contains("C_TOKEN") && line.contains("too short")));
    assert!(!mask.report().concat().contains("sesame"));
}

#[test]
fn secrets_of_a_command_line_are_found_in_every_form_and_words_of_the_field_stay() {
    let mut mask = Mask::new(&MaskRules::default(), &Identity::default()).unwrap();
    let line = [
        "bench",
        "--api-key",
        "Comm4ndLine",
        "--token=equ4lsValue1",
        "-e",
        "HF_TOKEN=c0ntainer99",
        "--sort-key",
        "ttft_ms",
    ];
    mask.learn_arguments(&line.map(str::to_owned));
    let text = "Namespace(a='Comm4ndLine', b=[\n  \"equ4lsValue1\"\n], c=c0ntainer99) sorted by ttft_ms";
    let masked = mask.text(text, &mut BTreeMap::new());
    assert_eq!(masked, "Namespace(a='<masked:key>', b=[\n  \"<masked:token>\"\n], c=<masked:token>) sorted by ttft_ms");
}

#[test]
fn a_file_of_any_size_loses_secrets_at_every_border() {
    let folder = Folder::new("archive-mask-large");
    let mask = mask();
    // Windows are 1 MiB and a quarter ahead: a secret at every offset around those borders, in one endless line.
    for border in [768 << 10, 1 << 20, (1 << 20) + (256 << 10), 2 << 20] {
        for before in [0usize, 1, 20, 36, 37, 60] {
            let at = border - before;
            let text = [&vec![b' '; at][..], SECRET.as_bytes(), b" HF_TOKEN=xyzzy123 ", &vec![b'z'; 1 << 20]].concat();
            let path = folder.put("a.log", &text);
            let mut tally = Tally::new();
            assert_eq!(mask.file(&path, &mut tally).unwrap(), Masked::Rewritten);
            let expected =
                [&vec![b' '; at][..], b"<masked:token> HF_TOKEN=<masked:token> ", &vec![b'z'; 1 << 20]].concat();
            assert!(fs::read(&path).unwrap() == expected, "{before} bytes before {border}");
            assert_eq!(tally.get("token"), Some(&2));
        }
    }
    // A secret longer than any window.
    let path = folder.put("b.log", ["a hf_".as_bytes(), &vec![b'q'; 5 << 20], b" end"].concat());
    mask.file(&path, &mut Tally::new()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a <masked:token> end");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside");
}

#[test]
fn what_has_nothing_to_mask_is_not_rewritten() {
    let folder = Folder::new("archive-mask-as-is");
    let bytes: Vec<u8> = (0..3 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    let path = folder.put("odd.txt", &bytes);
    assert_eq!(mask().file(&path, &mut Tally::new()).unwrap(), Masked::Untouched);
    assert!(fs::read(&path).unwrap() == bytes);
}

#[test]
fn text_in_utf_16_loses_its_secrets_and_stays_text() {
    let folder = Folder::new("archive-mask-wide");
    let wide = |text: &str, big: bool| {
        let units = text.encode_utf16();
        units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect::<Vec<u8>>()
    };
    for big in [false, true] {
        for mark in ["", "\u{feff}"] {
            // Over the border of a window too.
            let before = "naïve 日本 \u{1f600}\r\n".repeat(if mark.is_empty() { 1 } else { 40_000 });
            let text =
                |token: &str, word: &str| format!("{mark}plain words first\n{before}HF_TOKEN={token} said {word}\r\n");
            let path = folder.put("wide.log", wide(&text(SECRET, "open-sesame-please"), big));
            let mut tally = Tally::new();
            assert_eq!(mask().file(&path, &mut tally).unwrap(), Masked::Rewritten);
            assert!(fs::read(&path).unwrap() == wide(&text("<masked:token>", "<masked:password>"), big), "big: {big}");
            assert_eq!((tally.get("token"), tally.get("password")), (Some(&1), Some(&1)));
            let clean = folder.put("clean.log", wide(&text("none", "nothing"), big));
            assert_eq!(mask().file(&clean, &mut Tally::new()).unwrap(), Masked::Untouched);
        }
    }
    // Within a binary file a known value is overwritten.
    let bytes = [&b"\0\x01\x02\xff\xfe\xff\0\x07\x08\x01\x01\x01"[..], &wide("open-sesame-please", false), &[0xff; 65]]
        .concat();
    let path = folder.put("wide.bin", &bytes);
    assert_eq!(mask().file(&path, &mut Tally::new()).unwrap(), Masked::Blotted);
    let after = fs::read(&path).unwrap();
    assert_eq!(after.len(), bytes.len());
    assert!(!after.windows(8).any(|window| window == b"s\0e\0s\0a\0"));
}

#[test]
fn packed_files_stay_as_they_are_and_are_named() {
    let folder = Folder::new("archive-mask-packed");
    let gzip = [&b"\x1f\x8b\x08\0"[..], &[0x5a; 40]].concat();
    folder.put("a/trace.json.gz", &gzip);
    folder.put("model.npz", b"PK\x03\x04\x14\0\0\0");
    folder.put("plain.log", "nothing");
    let swept = mask().folder(folder.path(), &mut Tally::new()).unwrap();
    let named: Vec<(String, &str)> = swept.packed.iter().map(|(path, form)| (path.to_string(), *form)).collect();
    assert_eq!(named, [("a/trace.json.gz".to_owned(), "gzip"), ("model.npz".to_owned(), "zip")]);
    assert!(fs::read(folder.path().join("a/trace.json.gz")).unwrap() == gzip);
}

#[test]
fn a_binary_file_keeps_its_length_and_loses_its_secrets() {
    let folder = Folder::new("archive-mask-binary");
    let bytes = [b"\0\x01HF_TOKEN=", SECRET.as_bytes(), b"\0/home/jane\0", &[0xff; 64]].concat();
    let path = folder.put("report.sqlite", &bytes);
    let mut tally = Tally::new();
    assert_eq!(mask().file(&path, &mut tally).unwrap(), Masked::Blotted);
    let stars = "*".repeat(SECRET.len());
    let expected = [b"\0\x01HF_TOKEN=", stars.as_bytes(), b"\0/home/jane\0", &[0xff; 64]].concat();
    assert_eq!(fs::read(&path).unwrap(), expected);
    assert_eq!(tally, [("token".to_owned(), 1)].into());
    let names = folder.put("names.bin", b"\0/home/jane\0");
    assert_eq!(mask().file(&names, &mut Tally::new()).unwrap(), Masked::Untouched);
}

#[test]
fn names_of_files_and_folders_are_masked_too() {
    let folder = Folder::new("archive-mask-names");
    let (host, user) = names();
    folder.put("jane/events.lab-spark-7.0", "x");
    folder.put("jane/plain.txt", "x");
    let mut tally = Tally::new();
    mask().folder(folder.path(), &mut tally).unwrap();
    assert!(folder.path().join(format!("{user}/events.{host}.0")).exists());
    assert!(folder.path().join(format!("{user}/plain.txt")).exists());
    assert_eq!(tally, [("host".to_owned(), 1), ("user".to_owned(), 1)].into());
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let place = |name: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(name));
        fs::write(place(b"bad\xff.log"), "x").unwrap();
        fs::write(place(b"bad\xff.lab-spark-7.\xfe"), "x").unwrap();
        mask().folder(folder.path(), &mut tally).unwrap();
        assert!(place(b"bad\xff.log").exists(), "a name that is no text stays byte for byte");
        assert!(place(&[b"bad\xff.", host.as_bytes(), b".\xfe"].concat()).exists(), "but for what is masked in it");
        // A pseudonym can be longer than the name, and the name of the file as long as Linux allows.
        let long = [b"jane-".as_slice(), &[b'n'; 250]].concat();
        fs::write(place(&long), "x").unwrap();
        mask().folder(folder.path(), &mut tally).unwrap();
        assert!(!place(&long).exists());
        assert!(place(&[user.as_bytes(), b"-", &[b'n'; 243]].concat()).exists());
    }
}

#[test]
fn json_keeps_its_shape() {
    let mut value = serde_json::json!({
        "password": "hunter2", "token": "abc", "n": 1, "on": "lab-spark-7",
        "deep": [{"api_key": null}, {"api_key": "y"}, ["--token", "t0k"]],
    });
    let (host, _) = names();
    mask().json(&mut value, &mut Tally::new());
    let expected = serde_json::json!({
        "password": "<masked:password>", "token": "abc", "n": 1, "on": host,
        "deep": [{"api_key": null}, {"api_key": "<masked:key>"}, ["--token", "<masked:token>"]],
    });
    assert_eq!(value, expected);
}
