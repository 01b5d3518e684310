//! Known answers of masks where the name of a secret is known and its value stands in an unusual form.

use super::tests::{become_so, masked, stay};

/// What stands behind `token` and the like when it is a secret.
const DRAWN: &str = "Zx81plainButDrawn77";

/// Each text becomes the other with `TOKEN` masked, where `DRAWN` stands for a drawn value.
fn tokens_go(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let text = text.replace("DRAWN", DRAWN);
        assert_eq!(masked(&text), expected.replace("TAG", "<masked:token>"), "of {text}");
    }
}

#[test]
fn a_drawn_value_behind_token_goes_however_it_is_set() {
    tokens_go(&[
        ("token = \"DRAWN\"\n", "token = \"TAG\"\n"),
        ("token = 'DRAWN' # of ann\n", "token = 'TAG' # of ann\n"),
        ("token = DRAWN\n", "token = TAG\n"),
        ("token\t=\tDRAWN\n", "token\t=\tTAG\n"),
        ("  token          = DRAWN\n", "  token          = TAG\n"),
        ("hf.token = \"DRAWN\"\n", "hf.token = \"TAG\"\n"),
        ("\"token\" = \"DRAWN\"\n", "\"token\" = \"TAG\"\n"),
        ("token = Some(\"DRAWN\")", "token = Some(\"TAG\")"),
        ("Config { token: Some(\"DRAWN\") }", "Config { token: Some(\"TAG\") }"),
        ("hf = { token = \"DRAWN\", n = 1 }\n", "hf = { token = \"TAG\", n = 1 }\n"),
        ("token = { value = \"DRAWN\", type = \"x\" }\n", "token = { value = \"TAG\", type = \"x\" }\n"),
        (
            "{\"token\": {\"value\": \"DRAWN\", \"type\": \"bearer\"}}",
            "{\"token\": {\"value\": \"TAG\", \"type\": \"bearer\"}}",
        ),
        ("http://h/?token=DRAWN-Ab12&x=1", "http://h/?token=TAG&x=1"),
        ("http://h/?token=12345678901234567&x=1", "http://h/?token=TAG&x=1"),
    ]);
    stay(&[
        "token = 128\n",
        "max_tokens = 4096\n",
        "token: 12\n",
        "token = \"word\"\n",
        "token = International\n",
        "token = \"Llama-3.1-8B-Instruct-GGUF\"\n",
        "token = 1234567890123456789\n",
        "token=/root/.cache/huggingface/token1234567\n",
        "tokenizer = \"/models/Llama-3.1-8B-Instruct/tokenizer12.json\"\n",
        "eos_token = \"<|end_of_text_1234567890|>\"\n",
        "next token = 0a1b2c3d4e5f60718293a4b5\n",
        "logger.info(\"token = %s\", token)",
        "tokens = tokenizer.encode(prompt1234567890)\n",
        "let token = Some(Token1234567890abcdef::new());\n",
    ]);
}

#[test]
fn drawn_values_in_lists_of_tokens_go_one_by_one() {
    tokens_go(&[
        ("token:\n  - DRAWN\n  - word\n", "token:\n  - TAG\n  - word\n"),
        ("tokens:\n  - DRAWN\n  - \"DRAWN\"\n", "tokens:\n  - TAG\n  - \"TAG\"\n"),
        ("tokens: [DRAWN, 'DRAWN']\n", "tokens: [TAG, 'TAG']\n"),
        (
            "\"tokens\": [\n  \"DRAWN\",\n  \" word\",\n  \"DRAWN\"\n]",
            "\"tokens\": [\n  \"TAG\",\n  \" word\",\n  \"TAG\"\n]",
        ),
        ("{\"token\": [\"DRAWN\", \"DRAWN\"]}", "{\"token\": [\"TAG\", \"TAG\"]}"),
        ("tokens = [\"DRAWN\", \"DRAWN\"]\n", "tokens = [\"TAG\", \"TAG\"]\n"),
        ("Tokens:[DRAWN DRAWN] N:1", "Tokens:[TAG TAG] N:1"),
    ]);
    stay(&[
        "tokens: [128, 256]\n",
        "max_tokens: [128, 256]\n",
        "tokens:\n  - hello\n  - 128\n",
        "\"tokens\": [\"Hello\", \" world\", \"!\"]",
        "prompt_tokens: [12345678901234567a]\n",
        "keys: [a94a8fe5ccb19ba61c4c0873d391e987]\n",
    ]);
}

#[test]
fn lists_and_mappings_in_brackets_need_no_quotes() {
    become_so(&[
        ("passwords: [ab, cdef]\n", "passwords: [<masked:password>, <masked:password>]\n"),
        ("Config{passwords=[abcd, efgh], n=1}", "Config{passwords=[<masked:password>, <masked:password>], n=1}"),
        ("{Passwords:[abcd efgh ijkl] N:1}", "{Passwords:[<masked:password> <masked:password> <masked:password>] N:1}"),
        (
            "passwords: [\n  abcd, # of ann\n  \"ef gh\",\n]\n",
            "passwords: [\n  <masked:password>, # of ann\n  \"<masked:password>\",\n]\n",
        ),
        ("passwords: [\"abcd\", efgh]\n", "passwords: [\"<masked:password>\", <masked:password>]\n"),
        (
            "passwords: {ann: abcd, bob: \"ef gh\"}\n",
            "passwords: {ann: <masked:password>, bob: \"<masked:password>\"}\n",
        ),
        ("access_tokens: [abcd, efgh]\n", "access_tokens: [<masked:token>, <masked:token>]\n"),
        ("secrets: [Zx81plainButDrawn77, cert]\n", "secrets: [<masked:secret>, cert]\n"),
        ("api_keys: [abcd]\n", "api_keys: [<masked:key>]\n"),
        ("password: {value: abcd}\n", "password: {value: <masked:password>}\n"),
        (
            "password = { kind = \"plain\", value = \"abcd\" }\n",
            "password = { kind = \"plain\", value = \"<masked:password>\" }\n",
        ),
    ]);
    stay(&[
        "passwords: [1, 2]\n",
        "passwords: []\n",
        "passwords = [first, second]\n",
        "passwords: [ see the manual\n",
        "passwords: [must have letters and digits]\n",
        "secrets: [hf_token, cert]\n",
        "COLUMN_KEYS: [ttft_ms, result_time]\n",
        "SUBFIELD_KEYS = {\n  \"S3ContentLocation\": \"S3ContentLocationDescription\",\n}\n",
        "model: {value: abcd}\n",
    ]);
}

#[test]
fn a_value_of_a_member_goes_to_the_end_of_its_line() {
    become_so(&[
        ("api_key:\n  value: ab&cdef\n", "api_key:\n  value: <masked:key>\n"),
        ("api_key:\n  value: abcd&efgh\n", "api_key:\n  value: <masked:key>\n"),
        ("- name: HF_TOKEN\n  value: ab&cdef\n", "- name: HF_TOKEN\n  value: <masked:token>\n"),
        ("- name: DB_PASSWORD\n  value: 12345678\n", "- name: DB_PASSWORD\n  value: <masked:password>\n"),
        (
            "secret:\n  - value: abcd\n  - value: ef&gh\n",
            "secret:\n  - value: <masked:secret>\n  - value: <masked:secret>\n",
        ),
        ("secrets:\n- name: x\n  value: abcd\n", "secrets:\n- name: x\n  value: <masked:secret>\n"),
    ]);
    stay(&[
        "env:\n  - value: abcdefgh\n",
        "secrets:\n  - source: cert\n    target: x\n",
        "metrics:\n- name: OUTPUT_TOKEN\n  value: 1234567890123\n",
        "token:\n  - value: throughput\n",
    ]);
}

#[test]
fn a_backslash_ends_a_value_only_where_it_begins_an_escape() {
    become_so(&[
        ("password: ab\\Cdef\n", "password: <masked:password>\n"),
        ("password: abcd\\new\n", "password: <masked:password>\n"),
        ("password: \\abcd\n", "password: <masked:password>\n"),
        ("\tpassword = ab\\cd&ef\n", "\tpassword = <masked:password>\n"),
        ("INFO password=ab\\Cdef x\n", "INFO password=<masked:password> x\n"),
        ("serve --password ab\\Cdef --port 1", "serve --password <masked:password> --port 1"),
        ("{\"log\": \"password: ab\\\\Cdef x\"}", "{\"log\": \"password: <masked:password> x\"}"),
        ("{\"log\": \"api_key=ab\\/cd\\nn=1\"}", "{\"log\": \"api_key=<masked:key>\\nn=1\"}"),
        ("Cookie: a=b\\Cdef; c=d\n", "Cookie: <masked:cookie>\n"),
        ("[\n  \"password: abcd\\nn: 1\"\n]", "[\n  \"password: <masked:password>\\nn: 1\"\n]"),
        ("authorization: Basic abcd\\r\\n\\r\\n\"\n", "authorization: Basic <masked:credential>\\r\\n\\r\\n\"\n"),
    ]);
    stay(&["password: \\\n", "password: \\n\n", "cookie = \\\"%s\\\";\n", "secret: &Secret,\n", "password: &str,\n"]);
}

#[test]
fn a_text_in_quotes_that_is_in_such_a_text_is_read_to_its_own_quote() {
    become_so(&[
        (
            "{\"log\": \"{\\\"password\\\": \\\"ab cd&ef\\\"}\"}",
            "{\"log\": \"{\\\"password\\\": \\\"<masked:password>\\\"}\"}",
        ),
        (
            "{\"log\": \"{\\\"password\\\": \\\"ab\\\\\\\"cd ef\\\", \\\"n\\\": 1}\"}",
            "{\"log\": \"{\\\"password\\\": \\\"<masked:password>\\\", \\\"n\\\": 1}\"}",
        ),
        (
            "{\"log\": \"{\\\"password\\\": \\\"abcd\\\\\\\\\\\", \\\"n\\\": 1}\"}",
            "{\"log\": \"{\\\"password\\\": \\\"<masked:password>\\\", \\\"n\\\": 1}\"}",
        ),
        (
            "{\"a\": \"{\\\"b\\\": \\\"{\\\\\\\"api_key\\\\\\\": \\\\\\\"ab cd\\\\\\\"}\\\"}\"}",
            "{\"a\": \"{\\\"b\\\": \\\"{\\\\\\\"api_key\\\\\\\": \\\\\\\"<masked:key>\\\\\\\"}\\\"}\"}",
        ),
        (
            "\"{\\\"Authorization\\\": \\\"Bearer abcd efgh\\\"}\"",
            "\"{\\\"Authorization\\\": \\\"Bearer <masked:credential>\\\"}\"",
        ),
        (
            "\"{\\\"passwords\\\": {\\\"a\\\": \\\"ab cd\\\"}}\"",
            "\"{\\\"passwords\\\": {\\\"a\\\": \\\"<masked:password>\\\"}}\"",
        ),
    ]);
}

#[test]
fn colours_may_stand_anywhere_between_a_name_and_its_value() {
    // As `jq -C` of version 1.6 prints it.
    let name = |name: &str| format!("\x1b[0m\x1b[34;1m\"{name}\"\x1b[0m\x1b[1;39m: \x1b[0m");
    let value = |value: &str| format!("\x1b[0;32m\"{value}\"\x1b[0m\x1b[1;39m,\n");
    for (before, secret, after) in [
        (name("api_key"), "abcd", String::new()),
        (format!("{}{}{}", name("name"), value("HF_TOKEN"), name("value")), "abcd", String::new()),
        (format!("{}\x1b[1;39m{{\n{}", name("password"), name("value")), "ab cd", "\x1b[1;39m}".to_owned()),
        (format!("{}\x1b[1;39m[\n", name("tokens")), DRAWN, "\x1b[1;39m]".to_owned()),
    ] {
        let text = |secret: &str| format!("{before}{}{after}", value(secret));
        let kind = if before.contains("password") {
            "password"
        } else if before.contains("key") {
            "key"
        } else {
            "token"
        };
        assert_eq!(masked(&text(secret)), text(&format!("<masked:{kind}>")));
    }
    let list = format!("{}\x1b[1;39m[\n{}{}\x1b[1;39m]", name("api_keys"), value("abcd"), value("efgh"));
    let masked_list = masked(&list);
    assert!(!masked_list.contains("abcd") && !masked_list.contains("efgh"), "{masked_list:?}");
    become_so(&[
        (
            "\x1b[94m\"api_key\"\x1b[39;49;00m\x1b[37m:\x1b[39;49;00m\x1b[37m \x1b[39;49;00m\x1b[33m\"abcd\"\x1b[39m",
            "\x1b[94m\"api_key\"\x1b[39;49;00m\x1b[37m:\x1b[39;49;00m\x1b[37m \x1b[39;49;00m\x1b[33m\"<masked:key>\"\x1b[39m",
        ),
        (
            "\x1b[38;2;255;255;255mapi_key\x1b[0m = \x1b[38;2;1;2;3mabcd\x1b[0m",
            "\x1b[38;2;255;255;255mapi_key\x1b[0m = \x1b[38;2;1;2;3m<masked:key>\x1b[0m",
        ),
        (
            "\x1b[36mpassword\x1b[0m: |\n  \x1b[32mab cd\n  ef\x1b[0m\nn: 1\n",
            "\x1b[36mpassword\x1b[0m: |\n  \x1b[32m<masked:password>\n  <masked:password>\x1b[0m\nn: 1\n",
        ),
        (
            "\x1b[36mapi_key:\x1b[0m\n  \x1b[36mvalue:\x1b[0m ab&cd\n",
            "\x1b[36mapi_key:\x1b[0m\n  \x1b[36mvalue:\x1b[0m <masked:key>\n",
        ),
        (
            "{\"log\":\"\\u001b[1mpassword\\u001b[0m: \\u001b[32mabcd\\u001b[0m\\n\"}",
            "{\"log\":\"\\u001b[1mpassword\\u001b[0m: \\u001b[32m<masked:password>\\u001b[0m\\n\"}",
        ),
    ]);
}

#[test]
fn xml_loses_secrets_wherever_the_name_stands_in_the_tag() {
    become_so(&[
        ("<password value=\"abcd\"/>", "<password value=\"<masked:password>\"/>"),
        (
            "<ns:password type=\"x\" value='abcd'></ns:password>",
            "<ns:password type=\"x\" value='<masked:password>'></ns:password>",
        ),
        ("<password value=\"12345678\"/>", "<password value=\"<masked:password>\"/>"),
        ("<token value=\"Zx81plainButDrawn77\"/>", "<token value=\"<masked:token>\"/>"),
        ("<value key=\"password\">abcd</value>", "<value key=\"password\"><masked:password></value>"),
        ("<string name=\"api_key\">abcd</string>", "<string name=\"api_key\"><masked:key></string>"),
        ("<password><!-- old -->abcd</password>", "<password><!-- old --><masked:password></password>"),
        ("<password> abcd <!-- old --></password>", "<password> <masked:password> <!-- old --></password>"),
        ("<password>ab<!-- x -->cd</password>", "<password><masked:password><!-- x --><masked:password></password>"),
        ("<password hint=\"a>x\">abcd</password>", "<password hint=\"a>x\"><masked:password></password>"),
        (
            "<property note=\"a>x\" name=\"password\">abcd</property>",
            "<property note=\"a>x\" name=\"password\"><masked:password></property>",
        ),
        (
            "<entry key=\"password\" note=\"a>x\" value=\"abcd\"/>",
            "<entry key=\"password\" note=\"a>x\" value=\"<masked:password>\"/>",
        ),
        (
            "<entry value=\"abcd\" note='a>x' key=\"password\"/>",
            "<entry value=\"<masked:password>\" note='a>x' key=\"password\"/>",
        ),
        (
            "<setting note=\"a>b\" name=\"password\">\n <value>abcd</value>",
            "<setting note=\"a>b\" name=\"password\">\n <value><masked:password></value>",
        ),
    ]);
    stay(&[
        "<password value=\"\"/>",
        "<password value=\"${db.password}\"/>",
        "<token value=\"128\"/>",
        "<password><!-- set me --></password>",
        "<value key=\"model\">abcd</value>",
        "<entry note=\"a>x\" key=\"model\" value=\"abcd\"/>",
        "<label name=\"password\">Password</label>",
        "if a < b and value=\"abcd\" > c: password",
    ]);
}

#[test]
fn texts_in_quotes_over_several_lines_of_yaml_lose_every_line() {
    become_so(&[
        ("password: \"abcd\n  ef gh\"\nn: 1\n", "password: \"<masked:password>\n  <masked:password>\"\nn: 1\n"),
        (
            "- password: 'it''s\n\n    abcd' # of ann\n",
            "- password: '<masked:password>\n\n    <masked:password>' # of ann\n",
        ),
        (
            "password:\n  value: \"ab\n    cd ef\"\n",
            "password:\n  value: \"<masked:password>\n    <masked:password>\"\n",
        ),
        (
            "passwords:\n  - \"abcd\n    ef gh\"\n  - ijkl\n",
            "passwords:\n  - \"<masked:password>\n    <masked:password>\"\n  - <masked:password>\n",
        ),
    ]);
    stay(&["password: \"ab\nn: 1\n", "title: \"password: x\n  y\"\n"]);
}

#[test]
fn variables_that_are_set_without_a_sign_lose_their_values() {
    become_so(&[
        ("FROM x\nENV HF_TOKEN ab cd\nRUN y\n", "FROM x\nENV HF_TOKEN <masked:token>\nRUN y\n"),
        ("ENV DB_PASSWORD \"ab cd\"\n", "ENV DB_PASSWORD \"<masked:password>\"\n"),
        ("ENV HF_TOKEN \\\n  abcd\n", "ENV HF_TOKEN \\\n  <masked:token>\n"),
        ("ENV TOKEN abcd\n", "ENV TOKEN <masked:token>\n"),
        ("Step 3/5 : ENV HF_TOKEN abcd\n", "Step 3/5 : ENV HF_TOKEN <masked:token>\n"),
        ("#7 [stage 3/5] ENV HF_TOKEN abcd\n", "#7 [stage 3/5] ENV HF_TOKEN <masked:token>\n"),
        ("[\"ENV HF_TOKEN abcd\\nRUN x\"]", "[\"ENV HF_TOKEN <masked:token>\\nRUN x\"]"),
        ("$ setenv HF_TOKEN abcd\n", "$ setenv HF_TOKEN <masked:token>\n"),
        ("set -gx HF_TOKEN abcd; x\n", "set -gx HF_TOKEN <masked:token>; x\n"),
        ("setx HF_TOKEN 'ab cd'\n", "setx HF_TOKEN '<masked:token>'\n"),
    ]);
    stay(&[
        "ENV PATH /usr/bin\n",
        "ENV MAX_TOKENS 128\n",
        "ENV HF_TOKEN $HF_TOKEN\n",
        "ENV HF_TOKEN\nRUN x\n",
        "the ENV HF_TOKEN must be set\n",
        "# ENV HF_TOKEN is needed\n",
        "environment: ENV HF_TOKEN was read\n",
        "please setenv HF_TOKEN first\n",
        "set HF_TOKEN first\nset -e HF_TOKEN x\n",
    ]);
}

#[test]
fn what_is_json_stays_json_in_these_forms_too() {
    for text in [
        "{\"password\": {\"value\": \"ab cd\"}, \"tokens\": [\"Zx81plainButDrawn77\", \"a\"], \"n\": 1}",
        "{\"log\": \"{\\\"password\\\": \\\"ab\\\\\\\"cd ef\\\", \\\"n\\\": 1}\"}",
        "{\"log\": \"passwords: [abcd, efgh]\\nENV HF_TOKEN abcd\\ntoken = \\\"Zx81plainButDrawn77\\\"\"}",
        "{\"api_keys\": [\"abcd\", 12345], \"passwords\": [12345678, 1.5e3], \"secrets\": [{\"name\": \"regcred\"}]}",
        "{\"access_tokens\": [{\"id\": 12, \"value\": \"abcd\"}], \"xml\": \"<password value=\\\"abcd\\\"/>\"}",
        "[\n  \"password: ab\\\\Cdef\",\n  \"password: ab\\tcd\"\n]",
    ] {
        let told = |text: &str| serde_json::from_str::<serde_json::Value>(text);
        assert!(told(text).is_ok() && told(&masked(text)).is_ok(), "{text} became {}", masked(text));
    }
}

/// What begins again and again, and never ends, is not read to its end from each beginning. Whoever reads it so takes minutes.
#[test]
fn beginnings_without_an_end_cost_little() {
    const LENGTH: usize = 512 << 10;
    let eyes = format!("{}.{}\n", "-eyJ".repeat(1_000), "a".repeat(60_000));
    for part in [
        "-eyJ",
        &eyes,
        "key=",
        "auth=",
        "tokens:[",
        "api_keys:[",
        "password:{",
        "passwords: [",
        "passwords:[a ",
        "passwords: {",
        "tokens:[\"a\",",
        "password=\\\"",
        "password=\\\"a password=\\'b ",
        "password\x1b[0m\x1b[1m:\x1b[0m",
        "<password><!--",
        "<password a=\"",
        "<a\">",
        "password={value: ",
        "ENV A_TOKEN \\\n",
        "password: \"a\n ",
        "passwords:\n - \"\n",
        "password: ab\\",
    ] {
        assert!(!masked(&part.repeat(LENGTH / part.len())).is_empty(), "{part}");
    }
}
