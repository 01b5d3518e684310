//! Secrets that stand on other lines than their names, in elements, in columns and behind short options.

use std::collections::BTreeMap;
use std::fs;

use sparkbench::archive::mask::Masked;
use sparkbench::archive::{Identity, Mask, MaskRules, Tally};

use super::maker::mask;
use crate::support::folder::Folder;

fn masked(text: &str) -> String {
    mask().text(text, &mut Tally::new())
}

/// Each text becomes the other, and stays so.
fn become_so(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(masked(text), *expected, "of {text}");
        assert_eq!(masked(expected), *expected, "a second time");
    }
}

#[test]
fn blocks_of_yaml_lose_every_line_and_keep_their_lines() {
    become_so(&[
        (
            "db:\n  password: |\n    ab cd\n\n      ef\n    gh\n  user: ann\n",
            "db:\n  password: |\n    <masked:password>\n\n      <masked:password>\n    <masked:password>\n  user: ann\n",
        ),
        (
            "- api_key: >- # folded\n    abcd\n    efgh\n  n: 1",
            "- api_key: >- # folded\n    <masked:key>\n    <masked:key>\n  n: 1",
        ),
        (
            "secret: |2-\r\n  abcd\r\n  efgh\r\nn: 1\r\n",
            "secret: |2-\r\n  <masked:secret>\r\n  <masked:secret>\r\nn: 1\r\n",
        ),
        ("\"hf_token\": |\n  abcd1234", "\"hf_token\": |\n  <masked:token>"),
        (
            "- name: HF_TOKEN\n  value: |\n    abcd\n    efgh\n",
            "- name: HF_TOKEN\n  value: |\n    <masked:token>\n    <masked:token>\n",
        ),
        (
            "private_key: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEow\n  -----END PRIVATE KEY-----\nn: 1",
            "private_key: |\n  <masked:key>\n  <masked:key>\n  <masked:key>\nn: 1",
        ),
        // Words of a log before the name: the key shows by itself.
        (
            "INFO private_key: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEow\n  -----END PRIVATE KEY-----\nn: 1",
            "INFO private_key: |\n  <masked:key>\nn: 1",
        ),
    ]);
}

#[test]
fn lists_of_yaml_lose_their_items() {
    become_so(&[
        (
            "passwords: # old\n  - abcd\n  # why\n  - \"ef gh\" # new\n  - 'ij'\nn: 1\n",
            "passwords: # old\n  - <masked:password>\n  # why\n  - \"<masked:password>\" # new\n  - '<masked:password>'\nn: 1\n",
        ),
        ("x:\n- api_key:\n  - abcd\n  - efgh\n- n: 1", "x:\n- api_key:\n  - <masked:key>\n  - <masked:key>\n- n: 1"),
        ("access_tokens:\n- abcd\n- efgh\n", "access_tokens:\n- <masked:token>\n- <masked:token>\n"),
        ("secrets:\n  - Zx81plainButDrawn77\n", "secrets:\n  - <masked:secret>\n"),
    ]);
}

#[test]
fn elements_of_xml_lose_their_text() {
    become_so(&[
        ("<password>abcd</password>", "<password><masked:password></password>"),
        ("<ns:apiKey type=\"x\">\n  abcd\n</ns:apiKey>", "<ns:apiKey type=\"x\">\n  <masked:key>\n</ns:apiKey>"),
        ("<secret><![CDATA[ab<cd]]></secret>", "<secret><![CDATA[<masked:secret>]]></secret>"),
        ("<token>Zx81plainButDrawn77</token>", "<token><masked:token></token>"),
        (
            "<property name=\"db.password\">abcd</property>",
            "<property name=\"db.password\"><masked:password></property>",
        ),
        (
            "<name>fs.s3a.secret.key</name>\n  <value>abcd</value>",
            "<name>fs.s3a.secret.key</name>\n  <value><masked:key></value>",
        ),
        ("<key>API_KEY</key><string>abcd</string>", "<key>API_KEY</key><string><masked:key></string>"),
        ("<add key=\"password\" value=\"abcd\"/>", "<add key=\"password\" value=\"<masked:password>\"/>"),
        ("<user name=\"ann\" password='abcd'/>", "<user name=\"ann\" password='<masked:password>'/>"),
    ]);
}

#[test]
fn columns_with_the_name_of_a_secret_lose_their_cells() {
    become_so(&[
        (
            "user,password,n\nann,abcd,1\nbob,\"ef,\"\"gh\",2\ncy,,3\n",
            "user,password,n\nann,<masked:password>,1\nbob,\"<masked:password>\",2\ncy,,3\n",
        ),
        ("\u{feff}API Key;Model\r\nabcd;m\r\nefgh;m", "\u{feff}API Key;Model\r\n<masked:key>;m\r\n<masked:key>;m"),
        ("# by hand\n\n\tpassword\n0\tab cd\n1\tnone\n", "# by hand\n\n\tpassword\n0\t<masked:password>\n1\tnone\n"),
        (
            "user, hf_token\nann, abcd\nbob, \"ef\ngh\"\n",
            "user, hf_token\nann, <masked:token>\nbob, \"<masked:token>\n\"\n",
        ),
        // A quote that nothing closes costs no other cell.
        ("password,n\n\"abcd,1\nefgh,2\n", "password,n\n<masked:password>,1\n<masked:password>,2\n"),
        (
            "| user | password |\n|---|---|\n| ann | abcd |\n",
            "| user | password |\n|---|---|\n| ann | <masked:password> |\n",
        ),
    ]);
}

#[test]
fn passwords_behind_short_options_go_where_the_program_is_known() {
    become_so(&[
        ("curl -u ann:abcd http://h", "curl -u ann:<masked:password> http://h"),
        (
            "$ /usr/bin/curl -sSLu 'ann:ab cd' \\\n  -X GET h",
            "$ /usr/bin/curl -sSLu 'ann:<masked:password>' \\\n  -X GET h",
        ),
        ("curl http://h \\\n  --user \"ann:abcd\"\n", "curl http://h \\\n  --user \"ann:<masked:password>\"\n"),
        ("x=$(curl --proxy-user=ann:abcd h)", "x=$(curl --proxy-user=ann:<masked:password> h)"),
        ("[\"curl\", \"-u\", \"ann:abcd\", \"h\"]", "[\"curl\", \"-u\", \"ann:<masked:password>\", \"h\"]"),
        ("wget --user=ann --password=abcd h", "wget --user=ann --password=<masked:password> h"),
        ("sshpass -p 'ab cd' ssh -p 2222 h", "sshpass -p '<masked:password>' ssh -p 2222 h"),
        ("sshpass -pabcd scp a h:", "sshpass -p<masked:password> scp a h:"),
        ("redis-cli -h h -a abcd ping", "redis-cli -h h -a <masked:password> ping"),
        ("mysql -uroot -pabcd -h db", "mysql -uroot -p<masked:password> -h db"),
        (
            "docker exec db mysqldump --user root -p'ab cd' x",
            "docker exec db mysqldump --user root -p'<masked:password>' x",
        ),
    ]);
    let line = ["curl", "-s", "-u", "ann:Comm4nd-Line", "http://h"].map(str::to_owned);
    let mut tally = Tally::new();
    assert_eq!(mask().arguments(&line, &mut tally)[3], "ann:<masked:password>");
    assert_eq!(tally, BTreeMap::from([("password".to_owned(), 1)]));
    let mut mask = Mask::new(&MaskRules::default(), &Identity::default()).unwrap();
    mask.learn_arguments(&line);
    assert_eq!(mask.text("it sent Comm4nd-Line", &mut Tally::new()), "it sent <masked:password>");
}

#[test]
fn values_of_settings_go_however_they_are_laid_out() {
    become_so(&[
        // Columns of signs and of values.
        ("password:        abcd\n", "password:        <masked:password>\n"),
        ("api_key     = \"abcd\"\n", "api_key     = \"<masked:key>\"\n"),
        ("password\t=\tabcd\n", "password\t=\t<masked:password>\n"),
        // To the end of the line.
        ("password: abcd&ef\nn: 1\n", "password: <masked:password>\nn: 1\n"),
        ("password: abcd,ef\n", "password: <masked:password>\n"),
        ("password: P@ss(1)x\n", "password: <masked:password>\n"),
        ("password: abcd,user=ann\n", "password: <masked:password>,user=ann\n"),
        // A mark before the first line.
        ("\u{feff}password: abcd&ef\n", "\u{feff}password: <masked:password>\n"),
        ("\u{feff}passwords:\n  - abcd\n", "\u{feff}passwords:\n  - <masked:password>\n"),
        ("\u{feff}DB_PASSWORD=abcd&ef\n", "\u{feff}DB_PASSWORD=<masked:password>\n"),
        // Lists, quotes, colours.
        ("passwords: [\"abcd\", \"efgh\"]\n", "passwords: [\"<masked:password>\"]\n"),
        ("\"api_keys\": [\"ab]cd\", \"efgh\"]", "\"api_keys\": [\"<masked:key>\"]"),
        ("password: 'it''abcd'\n", "password: '<masked:password>'\n"),
        ("\x1b[36m\"api_key\"\x1b[0m: \"abcd\"", "\x1b[36m\"api_key\"\x1b[0m: \"<masked:key>\""),
        ("cfg[\"api_key\"] = \"abcd\"", "cfg[\"api_key\"] = \"<masked:key>\""),
        ("os.environ['HF_TOKEN']='abcd'", "os.environ['HF_TOKEN']='<masked:token>'"),
        (
            "token: |\n  Zx81plainButDrawn77\n  Yw92plainButDrawn88\nn: 1\n",
            "token: |\n  <masked:token>\n  <masked:token>\nn: 1\n",
        ),
        (
            "{\"name\":\"HF_TOKEN\",\"type\":\"plain\",\"value\":\"abcd\"}",
            "{\"name\":\"HF_TOKEN\",\"type\":\"plain\",\"value\":\"<masked:token>\"}",
        ),
        ("Server=h;Uid=ann;Pwd=abcd;", "Server=h;Uid=ann;Pwd=<masked:password>;"),
        // Options.
        ("--api-key\tabcd", "--api-key\t<masked:key>"),
        (
            "[\n            \"--api-key\",\n            \"abcd\"\n]",
            "[\n            \"--api-key\",\n            \"<masked:key>\"\n]",
        ),
        ("args:\n- --api-key\n- abcd\n", "args:\n- --api-key\n- <masked:key>\n"),
        ("  - \"--api-key\"\n  - \"abcd\"\n", "  - \"--api-key\"\n  - \"<masked:key>\"\n"),
    ]);
}

#[test]
fn passwords_of_commands_go_whatever_stands_around_them() {
    become_so(&[
        ("curl -d 'a;b|c' -u ann:abcd h", "curl -d 'a;b|c' -u ann:<masked:password> h"),
        ("curl.exe -u ann:abcd h", "curl.exe -u ann:<masked:password> h"),
        ("cd x;curl -u ann:abcd h", "cd x;curl -u ann:<masked:password> h"),
        ("cd x&&curl -u ann:abcd h", "cd x&&curl -u ann:<masked:password> h"),
        ("sshpass -v -p abcd ssh h", "sshpass -v -p <masked:password> ssh h"),
        ("curl -u ann:ab\\;cd h", "curl -u ann:<masked:password> h"),
        ("curl -u ann:'ab cd' h", "curl -u ann:'<masked:password>' h"),
    ]);
}

#[test]
fn lists_and_objects_of_many_secrets_lose_all_of_them() {
    for (open, item, close) in [("[", "\"Zx81plain\",\n", "\"\"]"), ("{", "\"a\": \"Zx81plain\",\n", "\"b\": 1}")] {
        let text = format!("{{\"api_keys\": {open}{}{close}}}", item.repeat(2_000));
        assert!(!masked(&text).contains("Zx81plain"), "{open}");
    }
}

/// What begins again and again, and never ends, is not read to its end from each beginning. Whoever reads it so takes minutes.
#[test]
fn beginnings_without_an_end_cost_no_more_than_their_length() {
    const LENGTH: usize = 512 << 10;
    for part in [
        "-----BEGIN PRIVATE KEY-----\n!",
        "<password><![CDATA[",
        "<a><![CDATA[",
        "\"api_keys\":{",
        "sk-",
        "-eyJ",
        "key=",
        "bearer-",
        "password-",
        "password='\n",
        "password=\"\na",
        "password: |\n ",
        "token:\n value: ",
        "<a value=",
        "<password> ",
        "token,key\n",
    ] {
        let text = part.repeat(LENGTH / part.len());
        assert!(!masked(&text).is_empty(), "{part}");
    }
}

#[test]
fn half_a_letter_at_the_end_of_utf_16_stays() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).chain([b'x']).collect::<Vec<u8>>();
    let folder = Folder::new("masks-lines-half");
    let path = folder.put("a.log", wide("\u{feff}api_key: abcdefgh\r\n"));
    assert_eq!(mask().file(&path, &mut Tally::new()).unwrap(), Masked::Rewritten);
    assert!(fs::read(&path).unwrap() == wide("\u{feff}api_key: <masked:key>\r\n"));
}

#[test]
fn files_of_benchmarks_stay_byte_for_byte() {
    for text in [
        // Settings and logs.
        "max_tokens: 128\ntokenizer: x\nstop_tokens:\n  - </s>\n  - <|im_end|>\neos_token: |\n  </s>\n",
        "password: |\npasswords:\nn: 1\n",
        "password: |\n  ${DB_PASSWORD}\napi_keys:\n  - $API_KEY\n  - none\n",
        "MAX_TOKENS:\n  - 128\n  - 256\nSORT_KEYS:\n  - model\nCOLUMN_KEYS:\n  - ttft_ms\n",
        // Names of secrets, as compose and Kubernetes list them.
        "services:\n  vllm:\n    secrets:\n      - hf_token\n      - source: cert\n        target: x\nsecrets:\n  hf_token:\n    file: ./hf\n",
        "imagePullSecrets:\n- name: regcred\n",
        "password:\n  - must have letters and digits\n  - required\n",
        "ERROR: wrong password:\n  - asked twice\n  - gave up\n",
        "password: > 8 letters\n  and digits\n",
        // Tables.
        "model,output_tokens,token_latency,max_tokens,key\nm,128,1.25,4096,ttft_ms\n",
        "prompt_tokens;cache_key;first_token_s\n12;0a1b2c3d4e5f;0.1\n",
        "password,n\none line of prose without a second cell\n",
        "The password, as the key, is asked for.\nThe user, and no other, knows it.\n",
        "user=ann,password=\nuser=bob,password=\n",
        // Elements and types.
        "<tokens>128</tokens><token>International</token><key>throughput</key>",
        "<name>OUTPUT_TOKEN</name><value>1234.5</value>",
        "let x: Option<Password> = None; Vec<Secret>abcd</b>",
        "<s>word</s><think>abcd</think> a -> b => c <password/>abcd",
        "<password>${db.password}</password><password></password>",
        // Hashes and numbers of tokens and keys, switches, models.
        "\"token_pool_sha256\": \"4873d0c41b7e4f0a9f5b2b7a6c1d8e3f4873d0c41b7e4f0a9f5b2b7a6c1d8e3f\"",
        "key_hash: 0a1b2c3d4e5f60718293a4b5c6d7e8f9\nprefix_cache_key_hash=0a1b2c3d4e5f60718293a4b5c6d7e8f9\n",
        "token_ids_md5=0a1b2c3d4e5f60718293a4b5c6d7e8f9 config_key_sha: 0a1b2c3d4e5f60718293a4b5c6d7e8f9\n",
        "INFO block key: 0a1b2c3d4e5f60718293a4b5c6d7e8f9\ngraph_key=0a1b2c3d4e5f60718293a4b5c6d7e8f9\n",
        "request_key=cmpl0a1b2c3d4e5f60718293a4b5c6d7e8f9\n",
        "cookie: disabled\nauthorization: disabled\npassword: missing\n",
        "model: sk-hynix-1b-instruct-2024-05\n",
        "secrets: [\"hf_token\"]\nCOLUMN_KEYS: [\"ttft_ms\"]\n",
        "  --api-key\n                        Words of a help.\n",
        "os.environ[\"HF_TOKEN\"] = token\n",
        "PWD=/home;OLDPWD=/work;PWD=/tmp",
        // Ports and users.
        "docker run -u 1000:1000 -p 8000:8000 vllm",
        "curl http://h | docker run -u 1000:1000 x",
        "curl -u ann:$PASSWORD h; curl -u ann h; curl -u \"$USER:${PASSWORD}\" h",
        "ssh -p 2222 h; mysql -prose without a user",
        "docker run -p3306:3306 mysql",
        "curl -u ann:",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn lines_below_a_name_are_found_at_every_border() {
    let folder = Folder::new("masks-lines-border");
    let mask = mask();
    let lines = |word: &str| format!("\ndb:\n  password: |\n    {word}\n    {word}\n  keys: 1\n");
    let (secret, clean) = (lines("abcd efgh"), lines("<masked:password>"));
    for border in [768 << 10, 1 << 20, (1 << 20) + (256 << 10)] {
        for before in [0usize, 1, 10, 17, 19, 25, 40] {
            let around =
                |inner: &str| [&vec![b'z'; border - before][..], inner.as_bytes(), &vec![b'z'; 1 << 20]].concat();
            let path = folder.put("a.yaml", around(&secret));
            assert_eq!(mask.file(&path, &mut Tally::new()).unwrap(), Masked::Rewritten);
            assert!(fs::read(&path).unwrap() == around(&clean), "{before} bytes before {border}");
        }
    }
}

#[test]
fn a_table_of_any_size_loses_its_column() {
    const ROWS: usize = 100_000;
    let folder = Folder::new("masks-lines-table");
    let table = |cell: &str| {
        let rows = (0..ROWS).map(|row| format!("{row},{cell},m{row}\n"));
        format!("n,password,model\n{}", rows.collect::<String>())
    };
    let path = folder.put("users.csv", table("\"ab,\ncd\""));
    let mut tally = Tally::new();
    assert_eq!(mask().file(&path, &mut tally).unwrap(), Masked::Rewritten);
    assert!(fs::read_to_string(&path).unwrap() == table("\"<masked:password>\n\""));
    assert_eq!(tally.get("password"), Some(&(ROWS as u64)));
    // A cell longer than whatever is read at once.
    let path = folder.put("long.csv", format!("n,password\n1,{}\n2,x\n3,abcd\n", "q".repeat((3 << 20) + 2)));
    mask().file(&path, &mut Tally::new()).unwrap();
    let after = fs::read_to_string(&path).unwrap();
    assert_eq!(after, "n,password\n1,<masked:password>\n2,x\n3,<masked:password>\n");
}
