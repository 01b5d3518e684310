use std::io::{self, Write as _};

use serde_json::json;

use super::*;
use crate::mask::{Identity, MaskRules, Tally};
use sparkbench_text::error::Error;

fn given() -> Secrets {
    let mut secrets = Secrets::default();
    secrets.learn_header("authorization", "Bearer plainkey99");
    secrets.learn_header("x-tok", "headervalue77secret");
    secrets.learn_header("x-team", "prod");
    secrets.learn_header("x-short", "ab1");
    secrets.learn_header("accept", "text/event-stream");
    secrets.learn_address("--url", "https://ann:p%40ss-word@host:8000/v1?api_key=inquery55&page=12345678");
    secrets
}

#[test]
fn what_a_server_repeats_loses_every_secret_in_every_form() {
    let veil = given().veil();
    for (text, expected) in [
        ("wrong key plainkey99", "wrong key ***"),
        (
            "authorization: Bearer plainkey99, accept: text/event-stream",
            "authorization: ***, accept: text/event-stream",
        ),
        ("x-tok: headervalue77secret", "x-tok: ***"),
        ("xheadervalue77secretx", "x***x"),
        ("plainkey990 is another word", "plainkey990 is another word"),
        ("Basic YW5uOnBAc3Mtd29yZA==", "Basic ***"),
        ("ann:p%40ss-word and p@ss-word", "*** and ***"),
        ("key inquery55 on page 12345678", "key *** on page 12345678"),
        ("in team prod", "in team ***"),
        ("ab1 is too short", "ab1 is too short"),
        // Cut off by an excerpt.
        ("the key headervalue77se…", "the key ***…"),
        ("it begins with \"headervalue77\"", "it begins with \"***\""),
    ] {
        assert_eq!(veil.said(text), expected);
    }
    assert_eq!(veil.text("in team prod"), "in team prod");
    assert_eq!(given().too_short().collect::<Vec<_>>(), ["x-short"]);
}

#[test]
fn a_secret_in_base_64_with_its_neighbours_is_found() {
    let veil = given().veil();
    for before in 0..4 {
        let body = format!("{}headervalue77secret end", "x".repeat(before));
        let coded = base64(&body);
        assert!(veil.text(&coded).contains("***"), "{coded}");
    }
}

#[test]
fn members_of_a_body_are_secret_by_their_names_at_any_depth() {
    let body = json!({
        "api_key": "extrabody66", "top_p": 0.9, "stop_token_ids": [1, 2], "max_tokens": 16, "user": "ann",
        "metadata": { "auth": { "token": "t0k-in-depth", "note": "see api_key" } },
        "credentials": { "name": "svc", "pin": "hidden-pin-1" },
        "headers": { "Authorization": "Basic YW5uOnNlc2FtZTI=" },
        "callback": "https://bob:hunter222@hook/x",
        "password": 12_345_678, "secret": "abc", "eos_token": "</s>",
    });
    let members: BTreeMap<String, Value> = serde_json::from_value(body).unwrap();
    let mut secrets = Secrets::default();
    secrets.learn_members(&members);
    let shown = secrets.members(&members);
    let expected = json!({
        "api_key": "***", "top_p": 0.9, "stop_token_ids": [1, 2], "max_tokens": 16, "user": "ann",
        "metadata": { "auth": { "token": "***", "note": "see api_key" } },
        "credentials": { "name": "***", "pin": "***" },
        "headers": { "Authorization": "***" },
        "callback": "https://<masked:url>@hook/x",
        "password": "***", "secret": "***", "eos_token": "</s>",
    });
    assert_eq!(shown, expected);
    let veil = secrets.veil();
    let said = veil.said("extrabody66 t0k-in-depth hidden-pin-1 sesame2 hunter222 12345678 abc");
    assert_eq!(said, "*** *** *** *** *** *** abc");
}

#[test]
fn members_that_hold_several_secrets_or_name_them_beside_are_secret_too() {
    for (body, shown) in [
        (json!({ "secrets": { "hf": "drawn-key-01" } }), json!({ "secrets": { "hf": "***" } })),
        (json!({ "token": { "value": "drawn-key-01" } }), json!({ "token": { "value": "***" } })),
        (json!({ "auth": { "bearer": "drawn-key-01" } }), json!({ "auth": { "bearer": "***" } })),
        (json!({ "auth": { "x": { "y": "drawn-key-01" } } }), json!({ "auth": { "x": { "y": "***" } } })),
        (json!({ "tokens": ["drawn-key-01"] }), json!({ "tokens": ["***"] })),
        (json!({ "access_tokens": ["drawn-key-01"] }), json!({ "access_tokens": ["***"] })),
        (json!({ "passwords": { "a": "drawn-key-01" } }), json!({ "passwords": { "a": "***" } })),
        (
            json!({ "headers": [{ "name": "Authorization", "value": "Bearer drawn-key-01" }] }),
            json!({ "headers": [{ "name": "Authorization", "value": "***" }] }),
        ),
        (
            json!({ "extra_headers": ["Authorization: Bearer drawn-key-01"] }),
            json!({ "extra_headers": ["Authorization: Bearer <masked:credential>"] }),
        ),
        (json!({ "env": "HF_TOKEN=drawn-key-01" }), json!({ "env": "HF_TOKEN=<masked:token>" })),
        (json!({ "config": "{\"api_key\":\"drawn-key-01\"}" }), json!({ "config": "{\"api_key\":\"<masked:key>\"}" })),
    ] {
        let members: BTreeMap<String, Value> = serde_json::from_value(body).unwrap();
        let mut secrets = Secrets::default();
        secrets.learn_members(&members);
        assert_eq!(secrets.members(&members), shown);
        assert_eq!(secrets.veil().said("it was drawn-key-01 then"), "it was *** then", "{shown}");
    }
}

#[test]
fn members_of_the_field_stay() {
    let body = json!({
        "max_tokens": 4096, "stop_token_ids": [1, 2], "tokens": ["hello", "world"], "bad_tokens": ["<|reserved_7|>"],
        "auth": { "type": "bearer", "note": "see page 12 of the manual", "url": "https://idp.example/v1" },
        "messages": [{ "role": "user", "content": "The password: letters and digits, 8 or more" }],
        "token_counts": [12_345_678_901_u64], "key": "123456789", "stop": ["a: b", "{x}"],
    });
    let members: BTreeMap<String, Value> = serde_json::from_value(body.clone()).unwrap();
    let mut secrets = Secrets::default();
    secrets.learn_members(&members);
    for member in ["max_tokens", "tokens", "bad_tokens", "auth", "token_counts", "key", "stop"] {
        assert_eq!(secrets.members(&members).get(member), body.get(member), "{member}");
    }
    let text = "letters hello world bearer 12345678901 123456789 https://idp.example/v1 digits";
    assert_eq!(secrets.veil().said(text), text);
}

#[test]
fn the_parts_of_a_header_are_found_alone() {
    for (name, value) in [
        ("X-Up", "Bearer drawn-key-01"),
        ("Authorization", "Digest username=\"ann\", uri=\"/v1/models\", response=\"drawn-key-01\""),
        ("Authorization", "Token token=drawn-key-01"),
        ("Authorization", "Bearer id:drawn-key-01"),
        ("Cookie", "a=\"drawn-key-01\"; theme=dark"),
        ("X-Auth", "id:drawn-key-01"),
        ("Forwarded", "for=1; secret=drawn-key-01"),
        ("X-Tok", "first, drawn-key-01"),
    ] {
        let mut secrets = Secrets::default();
        secrets.learn_header(name, value);
        let said = secrets.veil().said("it was drawn-key-01 on /v1/models of response production");
        assert_eq!(said, "it was *** on /v1/models of response production", "{name}: {value}");
    }
    let mut secrets = Secrets::default();
    secrets.learn_header("x-team", "blue, production");
    assert_eq!(secrets.veil().said("in production"), "in production");
}

#[test]
fn an_archive_masks_what_was_given_and_keeps_plain_words() {
    let mut mask = Mask::new(&MaskRules::default(), &Identity::default()).unwrap();
    mask.learn_secrets(&given());
    let text = "x=plainkey99 y=headervalue77secret z=prod base=cGxhaW5rZXk5OQ== hex=706c61696e6b65793939";
    let masked = mask.text(text, &mut Tally::new());
    assert_eq!(
        masked,
        "x=<masked:credential> y=<masked:header> z=prod base=<masked:credential> hex=<masked:credential>"
    );
    let report = mask.report().join("\n");
    assert!(report.contains("x-team are plain words") && report.contains("x-short is too short"), "{report}");
    assert!(!report.contains("plainkey99") && !report.contains("headervalue77"), "{report}");
}

#[test]
fn an_error_and_what_is_written_line_by_line_are_without_secrets_too() {
    let veil = given().veil();
    let error = Error::usage("no plainkey99").detail("at p@ss-word").because(io::Error::other("headervalue77secret"));
    assert_eq!(veil.error(error).to_string(), "no ***\n  where: at ***\n  cause: ***");
    let mut out = Vec::new();
    let mut writer = veil.over(&mut out);
    for part in ["user: plain", "key99\nassist", "ant: headervalue77", "secret"] {
        writer.write_all(part.as_bytes()).unwrap();
    }
    writer.flush().unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "user: ***\nassistant: ***");
}

#[test]
fn neither_debug_nor_an_empty_veil_shows_or_changes_anything() {
    let shown = format!("{:?} {:?}", given(), given().veil());
    assert!(!shown.contains("plainkey99") && shown.contains("x-tok"), "{shown}");
    let none = Veil::default();
    assert!(none.is_empty());
    assert_eq!(none.said("--api-key abcd1234 token=x"), "--api-key abcd1234 token=x");
}
