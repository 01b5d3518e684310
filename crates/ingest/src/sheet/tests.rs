use super::super::json;
use super::*;

fn sheet<T>(text: &str, take: impl FnOnce(&mut Sheet<'_, '_>, &At<'_>) -> T) -> (PartialRun, Parsed) {
    let node = json::parse(text).unwrap();
    let mut input: &[u8] = b"";
    let file = SourceFile::new("f.json", 0, &mut input);
    let mut sheet = Sheet::new(&file, "r", "r.derived");
    take(&mut sheet, &At::root(&node));
    let mut parsed = Parsed::default();
    (sheet.into(&mut parsed), parsed)
}

fn settings(partial: &PartialRun) -> Vec<String> {
    partial.setup.more.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn extras(partial: &PartialRun) -> Vec<(&str, &str)> {
    partial.extras.iter().map(|extra| (extra.name.as_str(), extra.unit.as_str())).collect()
}

#[test]
fn what_nobody_asked_for_is_kept_and_secrets_are_not() {
    let (partial, _) = sheet(
        "{\"a_ms\": 1.5, \"b\": {\"c\": 2, \"api_key\": \"sk\", \"kind\": \"x\"}, \"base_url\": \"http://h\", \"l\": [1, 2],\n\
         \"m\": [{\"q\": 3}], \"none\": null, \"home\": \"/root/x\", \"taken\": 9, \"api_key\": 5}",
        |sheet, root| sheet.rest(root, &["taken"], None),
    );
    assert_eq!(extras(&partial), [("a", "ms"), ("b.c", ""), ("m.0.q", "")]);
    assert_eq!(settings(&partial), ["b.kind=x", "l=1 2"]);
    assert_eq!(partial.extras[2].origin.line, Some(2));
}

#[test]
fn a_configuration_gives_nobody_away() {
    let (partial, _) = sheet(
        r#"{"model": "org/m", "url": "http://10.0.0.1:80", "api_key": 5, "target": "box", "stream": true,
            "extra": [["min_tokens", 200], ["api_key", 7]], "cli_command": "x --key 1", "rate": 1.50, "mode": "constant",
            "tokenizer": {"model": "/home/me/tok", "kind": "auto"}, "deep": {"max_tokens": 3}, "note": "a b c d e f g"}"#,
        |sheet, root| sheet.configuration(root, ""),
    );
    assert_eq!(
        settings(&partial),
        [
            "deep.max_tokens=3",
            "extra.min_tokens=200",
            "mode=constant",
            "model=org/m",
            "rate=1.50",
            "stream=true",
            "tokenizer.kind=auto"
        ]
    );
}

#[test]
fn a_name_beside_a_secret_hides_it_as_a_key_above_it_does() {
    let text = r#"{"env": [{"name": "HF_TOKEN", "value": "s3cret1"}, {"name": "MODE", "value": "fast"}, {"key": "OPENAI_KEY", "value": "s3cret2"},
        {"name": "api_key", "value": 123}], "args": ["--api-key", "s3cret3", "--tp", "2"], "extra": [["api_key", "s3cret4"], ["kind", "x"]]}"#;
    let (whole, _) = sheet(text, |sheet, root| sheet.configuration(root, ""));
    let (rest, _) = sheet(text, |sheet, root| sheet.rest(root, &[], None));
    let (named, _) = sheet(text, |sheet, root| sheet.settings_but(root, "", &[]));
    for partial in [&whole, &rest, &named] {
        assert!(!format!("{partial:?}").contains("s3cret"), "{partial:?}");
    }
    let all = settings(&whole);
    assert!(
        ["env.1.value=fast", "args.3=2", "extra.1.1=x"].iter().all(|kept| all.iter().any(|one| one == kept)),
        "{all:?}"
    );
    assert!(extras(&rest).is_empty() && all.iter().all(|one| !one.contains("123")), "{all:?}");
}

#[test]
fn numbers_keep_their_names_and_long_lists_stay_lists() {
    let long = vec!["1"; 65].join(",");
    let (partial, parsed) = sheet(
        &format!(r#"{{"a b": {{"c_ms": 1, "word": "x", "d": [2, null, true]}}, "long": [{long}]}}"#),
        |sheet, root| sheet.numbers(root, "n", "", None),
    );
    assert_eq!(extras(&partial), [("n.a_b.c_ms", "ms"), ("n.a_b.d.0", "")]);
    assert_eq!((parsed.lists[0].name.as_str(), parsed.lists[0].values.len()), ("n.long", 65));
}

#[test]
fn of_equal_keys_the_last_counts_and_of_two_keys_the_first() {
    let (partial, _) = sheet(r#"{"a": 1, "a": 2.50, "b": 3}"#, |sheet, root| {
        for (_, at) in root.entries().unwrap() {
            sheet.metric(&at, "ttft_ms");
        }
    });
    let [reading] = partial.readings.as_slice() else { panic!("{partial:?}") };
    assert_eq!((reading.value, reading.decimals), (2.5, Some(2)));
}

#[test]
fn infinite_and_a_tpot_of_zero_are_no_metrics_and_are_kept_beside_them() {
    let (partial, _) = sheet(r#"{"a": Infinity, "b": 0}"#, |sheet, root| {
        let (infinite, zero) = (root.get("a").unwrap(), root.get("b").unwrap());
        assert_eq!((sheet.metric(&infinite, "ttft_ms"), sheet.metric(&zero, "tpot_ms")), (None, None));
        sheet.extra(&infinite, "rate", "", None);
    });
    assert!(partial.readings.is_empty());
    let infinite = || ExtraValue::Text("inf".to_owned());
    let found: Vec<_> = partial.extras.iter().map(|extra| (extra.value.clone(), extra.why)).collect();
    assert_eq!(found, [(infinite(), Some(INFINITE)), (ExtraValue::Number(0.0), Some(NO_FURTHER)), (infinite(), None)]);
}

#[test]
fn digits_behind_the_point_move_from_seconds_and_are_unknown_after_other_factors() {
    let (partial, _) = sheet("0.2505", |sheet, root| {
        sheet.scaled(root, "ttft_ms", Scale::Seconds);
        sheet.scaled(root, "itl_ms", Scale::Times(1e-3));
        sheet.scaled(root, "e2e_latency_ms", Scale::Times(1.0));
    });
    let digits: Vec<_> = partial.readings.iter().map(|reading| reading.decimals).collect();
    assert_eq!(digits, [Some(1), None, Some(4)]);
}

#[test]
fn faults_and_figures_have_the_line_of_the_file() {
    let node = json::parse("{\"a\": 1, \"b\": {}}").unwrap();
    let root = At::root(&node);
    let mut input: &[u8] = b"";
    let file = SourceFile::new("f.json", 0, &mut input);
    for (sheet, place, field) in [
        (Sheet::new(&file, "r", "d").below(4), "line 5, field '/b'", "/a"),
        (Sheet::new(&file, "r", "d").row(7), "line 7, field 'b'", "a"),
    ] {
        let mut sheet = sheet;
        sheet.metric(&root.get("a").unwrap(), "ttft_ms");
        sheet.metric(&root.get("b").unwrap(), "itl_ms");
        let mut parsed = Parsed::default();
        let partial = sheet.into(&mut parsed);
        assert_eq!(partial.readings[0].origin.field.as_deref(), Some(field));
        assert!(parsed.left_out[0].to_string().contains(place), "{}", parsed.left_out[0]);
    }
}

#[test]
fn endings_say_units_and_the_longest_wins() {
    assert_eq!(unit_of("mean_input_throughput_tokens_per_s"), ("mean_input_throughput", "tok/s"));
    assert_eq!(unit_of("std_ttft_ms"), ("std_ttft", "ms"));
    assert_eq!(unit_of("completed"), ("completed", ""));
    assert_eq!(last_part("/workspace/m/"), "m");
}

#[test]
fn a_way_is_a_key_or_several() {
    let node = json::parse(r#"{"a": {"b": 3, "c": ["x", "y"], "d": "/home/me", "e": true}}"#).unwrap();
    let root = At::root(&node);
    assert_eq!((number_at(&root, ["a", "b"]), number_at(&root, "a")), (Some(3.0), None));
    assert_eq!((text_at(&root, ["a", "c"]).as_deref(), text_at(&root, ["a", "d"])), (Some("x"), None));
    assert_eq!((raw_at(&root, ["a", "d"]).as_deref(), bool_at(&root, ["a", "e"])), (Some("/home/me"), Some(true)));
}
