//! Known answers of masks, where values stand apart from their names, and at the borders of what is read at once.

use std::io::Read as _;

use super::replacing::{AHEAD, CHUNK};
use super::*;

pub(super) fn masked(text: &str) -> String {
    let mask = Mask::new(&MaskRules::default(), &Identity::default()).unwrap();
    mask.text(text, &mut Tally::new())
}

/// Each text becomes the other, and stays so.
pub(super) fn become_so(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(masked(text), *expected, "of {text}");
        assert_eq!(masked(expected), *expected, "a second time");
    }
}

pub(super) fn stay(texts: &[&str]) {
    for text in texts {
        assert_eq!(masked(text), *text);
    }
}

#[test]
fn a_value_goes_although_a_sign_follows_its_first_characters() {
    become_so(&[
        ("password: ab&x\nn: 1\n", "password: <masked:password>\nn: 1\n"),
        ("db_password = a)bc;d\n", "db_password = <masked:password>\n"),
        ("api_key: a,bcd", "api_key: <masked:key>"),
    ]);
    stay(&[
        "password: no, thanks\n",
        "password: yes|no\n",
        "password: ab)\n",
        "password: a, b: c\n",
        "password: a&b\n",
    ]);
}

#[test]
fn a_value_goes_although_colours_stand_between_it_and_its_name() {
    become_so(&[
        ("\x1b[1mpassword:\x1b[0m abcd\n", "\x1b[1mpassword:\x1b[0m <masked:password>\n"),
        ("\x1b[1mapi_key=\x1b[0m\x1b[32m 'abcd'\x1b[0m\n", "\x1b[1mapi_key=\x1b[0m\x1b[32m '<masked:key>'\x1b[0m\n"),
        ("\x1b[1mpassword\x1b[0m: \x1b[32mabcd\x1b[0m\n", "\x1b[1mpassword\x1b[0m: \x1b[32m<masked:password>\x1b[0m\n"),
    ]);
}

#[test]
fn the_value_of_a_mapping_goes_below_the_name_of_a_secret() {
    become_so(&[
        ("password:\n  value: abcd\n  n: 1\n", "password:\n  value: <masked:password>\n  n: 1\n"),
        (
            "auth:\n  - api_key: # of ann\n      file: x\n\n      # plain\n      value: \"ab cd\"\n",
            "auth:\n  - api_key: # of ann\n      file: x\n\n      # plain\n      value: \"<masked:key>\"\n",
        ),
        ("api_keys:\n  data: abcd&ef\n", "api_keys:\n  data: <masked:key>\n"),
        ("token:\n  value: Zx81plainButDrawn77\n", "token:\n  value: <masked:token>\n"),
        (
            "secret:\n  value: |\n    abcd\n    efgh\nn: 1\n",
            "secret:\n  value: |\n    <masked:secret>\n    <masked:secret>\nn: 1\n",
        ),
    ]);
    stay(&[
        "token:\n  value: throughput\n",
        "first_token:\n  value: 0.12345\nkey:\n  value: ttft_ms_of_all_requests\n",
        "api_key:\n  type: apiKey\n  in: header\n  name: X-Api-Key\n",
        "- token: x\n  value: abcdefgh\n",
        "db:\n  value: abcdefgh\nsecrets:\n  hf_token:\n    file: ./hf_token_of_ann\n",
        "wrong password:\n  value: abcdefgh\n",
        "password: x\nother:\n  value: abcdefgh\n",
        "password:\n  value:\n  - abcdefgh\n",
    ]);
}

#[test]
fn variables_over_several_lines_lose_every_line_and_keep_their_lines() {
    become_so(&[
        (
            "A=b\nTLS_KEY=\"abcd\n  efgh==\nijkl=\"\nN=\"1\"\n",
            "A=b\nTLS_KEY=\"<masked:key>\n  <masked:key>\n<masked:key>\"\nN=\"1\"\n",
        ),
        (
            "export PRIVATE_KEY='-----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY-----\n' # of ann\r\nA=b\n",
            "export PRIVATE_KEY='<masked:key>\n<masked:key>\n<masked:key>\n' # of ann\r\nA=b\n",
        ),
        ("db_password=\"\nab \\\"cd\n\"\n", "db_password=\"\n<masked:password>\n\"\n"),
        // The key shows by itself.
        (
            "private_key: \"-----BEGIN PRIVATE KEY-----\n  MIIEow\n  -----END PRIVATE KEY-----\"\n",
            "private_key: \"<masked:key>\"\n",
        ),
        // Quotes that nothing closes.
        ("API_KEY=\"abcd\nMODEL=\"m\"\n", "API_KEY=\"<masked:key>\nMODEL=\"m\"\n"),
        ("API_KEY=\"abcd\nit said \"no\" then\n", "API_KEY=\"<masked:key>\nit said \"no\" then\n"),
    ]);
}

#[test]
fn columns_named_token_or_key_lose_what_looks_drawn() {
    become_so(&[
        (
            "user,token\nann,Zx81plainButDrawn77\nbob,International\n",
            "user,token\nann,<masked:token>\nbob,International\n",
        ),
        ("key;n\na94a8fe5ccb19ba61c4c0873d391e987\n", "key;n\na94a8fe5ccb19ba61c4c0873d391e987\n"),
        ("key;n\na94a8fe5ccb19ba61c4c0873d391e987;1\n", "key;n\n<masked:key>;1\n"),
    ]);
    stay(&[
        "tokens,prompt_tokens,token_count,token\n128,1234567890123,99999,12345678901234567\n",
        "key,value,cache_key\nresult_time_per_output_token_99.90_percentile_ns,1.5,a94a8fe5ccb19ba61c4c0873d391e987\n",
        "model,token,n\nm,Llama-3.1-8B-Instruct-GGUF,\"a\nb\"\n",
    ]);
}

#[test]
fn a_cell_over_several_lines_keeps_their_ends() {
    become_so(&[(
        "user,password\nann,\"ab\r\ncd\nef\"\nbob,none\n",
        "user,password\nann,\"<masked:password>\r\n\n\"\nbob,none\n",
    )]);
    let long = format!("n,password\r\n1,{}\r\n2,x\r\n", "q".repeat(CHUNK));
    assert_eq!(masked(&long), "n,password\r\n1,<masked:password>\r\n2,x\r\n");
}

#[test]
fn xml_loses_secrets_in_other_spellings() {
    become_so(&[
        ("<entry key=\"password\" value=\"abcd\"/>", "<entry key=\"password\" value=\"<masked:password>\"/>"),
        ("<entry value=\"abcd\" key=\"password\"/>", "<entry value=\"<masked:password>\" key=\"password\"/>"),
        ("<add name='api_key' type='text' value='abcd' />", "<add name='api_key' type='text' value='<masked:key>' />"),
        ("<Entry Key = \"password\">abcd</Entry>", "<Entry Key = \"password\"><masked:password></Entry>"),
        ("<prop key=\"password\">abcd</prop>", "<prop key=\"password\"><masked:password></prop>"),
        (
            "<setting name=\"password\" a=\"b\">\n  <value>abcd</value>",
            "<setting name=\"password\" a=\"b\">\n  <value><masked:password></value>",
        ),
        (
            "<entry key=\"password\">\n <![CDATA[ab<cd]]>\n</entry>",
            "<entry key=\"password\">\n <![CDATA[<masked:password>]]>\n</entry>",
        ),
    ]);
    stay(&[
        "<entry value=\"abcd\" key=\"model\"/><entry key=\"password\"/>",
        "<add key=\"api_key_count\" value=\"abcd\"/>",
        "<property name=\"model\"><value>abcd</value></property>",
        "a < b value=\"abcd\" key=\"password\"",
    ]);
}

#[test]
fn a_block_of_any_length_loses_every_line_wherever_it_is_cut() {
    let block = |word: &str, indent: usize, lines: usize, rest: &str| {
        format!("a:\n  password: |\n{}{rest}", format!("{}{word}\n", " ".repeat(indent)).repeat(lines))
    };
    for (indent, rest) in [(4, "  n: 1\n"), (5, ""), (2000, "\n\nlast: 1\n"), (7, "    \n")] {
        for word in ["x abcd", "abcd efgh ijkl\r"] {
            let lines = 3 * CHUNK / 2 / (indent + word.len() + 1);
            let clean = &word.replace(word.trim(), "<masked:password>");
            let text = block(word, indent, lines, rest);
            assert!(masked(&text) == block(clean, indent, lines, rest), "{indent} blanks, {word}, {rest}");
        }
    }
    // A line that is longer than what is read at once.
    let long = format!("password: |\n  {}\n  abcd\nn: 1\n", "ab ".repeat(CHUNK));
    assert_eq!(masked(&long), "password: |\n  <masked:password>\n  <masked:password>\nn: 1\n");
    let drawn = format!("token: |\n{}n: 1\n", "  Zx81plainButDrawn77\n".repeat(CHUNK / 12));
    assert_eq!(masked(&drawn), drawn.replace("Zx81plainButDrawn77", "<masked:token>"));
    // Published, every line is in its place.
    let text = block("abcd efgh", 4, 2 * (CHUNK + AHEAD) / 14, "  n: 1\n");
    let mut out = String::new();
    WithoutSecrets::new(text.as_bytes()).unwrap().read_to_string(&mut out).unwrap();
    assert!(out == masked(&text));
}

#[test]
fn json_stays_json() {
    for text in [
        "{\"token\": {\n  \"value\": \"Zx81plainButDrawn77\"\n}, \"n\": 1}",
        "{\n  \"password\":\n  {\n    \"value\": 12345678\n  }\n}",
        "{\"log\": \"password: ab&x\", \"env\": \"DB_PASSWORD=\\\"abcd\\nefgh\\\"\\nA=b\"}",
        "{\"x\": \"\\u001b[1mpassword:\\u001b[0m abcd\", \"y\": \"<entry value=\\\"abcd\\\" key=\\\"password\\\"/>\"}",
        "{\"yaml\": \"password:\\n  value: abcd\\n\", \"csv\": \"user,token\\nann,Zx81plainButDrawn77\\n\"}",
        "[\n  \"password: ab&x\",\n  \"token\"\n]",
        "{\n  \"password\": \"ab\",\n  \"data\": \"abcdefgh\"\n}",
    ] {
        let told = |text: &str| serde_json::from_str::<serde_json::Value>(text);
        assert!(told(text).is_ok() && told(&masked(text)).is_ok(), "{text} became {}", masked(text));
    }
}
