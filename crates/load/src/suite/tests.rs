//! Tables as people write them.

use super::*;
use crate::settings::{Cache, Exact, Prefix, Sampling};
use crate::sweep::Search;
use sparkbench_plan::{Faults, Kinds, Suite};
use std::collections::BTreeSet;

/// Reads the keys of a table, and what is wrong with them.
fn table(text: &str) -> (Vec<Planned>, Vec<String>) {
    let text = format!("[environments.a]\n{text}");
    let kinds = Kinds { environments: &["native"], workloads: &[] };
    let suite = Suite::parse(&text, &kinds).suite.unwrap();
    let mut faults = Faults::default();
    let mut keys = suite.environments[0].reader(&mut faults);
    keys.ignore(&["kind"]);
    let planned = read(&mut keys, Path::new(sparkbench_testing::ROOT));
    keys.finish();
    let faults = faults.sorted().iter().map(|fault| format!("{}: {}", fault.key, fault.what)).collect();
    (planned, faults)
}

fn well(text: &str) -> Vec<Planned> {
    let (planned, faults) = table(text);
    assert_eq!(faults, Vec::<String>::new(), "{text}");
    planned
}

#[test]
fn an_empty_table_is_the_load_that_a_command_line_without_options_is() {
    let planned = well("");
    let work =
        Work::Synthetic { isl: Lengths::Fixed(128), osl: Lengths::Fixed(128), prefix: Prefix { tokens: 0, groups: 1 } };
    let settings = Settings { requests: Some(20), work, warmup: None, ..Settings::default() };
    assert_eq!(planned, [Planned::new("", false, settings)]);
}

#[test]
fn every_setting_stands_under_its_own_name() {
    let planned = well(
        "endpoint = 'completions'\npath = '/v3/completions'\nmodel = 'm'\nrate = 2.5\narrival = 'gamma'\nburstiness = 0.5\nmax_concurrency = 64\nramp_s = 10\n\
         ramp_from = 0.5\nramp_exponential = true\nisl = 'normal:512,64'\nosl = 256\nprefix_tokens = 32\nprefix_groups = 4\nrequests = 100\n\
         duration_s = 60\ndrain_s = 5\nwarmup = 8\ncooldown_cut_s = 2\nseed = 7\ntimeout_s = 30\nretries = 2\ncache = 'natural'\n\
         exact = 'ignore-eos'\ntemperature = 0.5\nextra_body = { top_p = 0.9, stop = ['a'], chat_template_kwargs = { thinking = false } }\n\
         headers = { X-Team = 'lab' }\napi_key_env = 'KEY'\napi_key_header = 'api-key'\ntokenizer = 'Cargo.toml'\ntoken_ids = true\ncontinuous_usage = true\n\
         slos = { ttft_ms = 200, tpot_ms = 50, e2e_ms = 5000 }\ninsecure = true\nca_file = 'LICENSE'",
    );
    let root = Path::new(sparkbench_testing::ROOT);
    let settings = Settings {
        endpoint: Endpoint::Completions,
        path: Some("/v3/completions".into()),
        model: Some("m".into()),
        shape: Shape::Open { rate: 2.5, arrival: Arrival::Gamma(0.5), max_concurrency: Some(64) },
        ramp: Some(Ramp { from: 0.5, over_s: 10.0, exponential: true }),
        work: Work::Synthetic {
            isl: Lengths::parse("normal:512,64").unwrap(),
            osl: Lengths::Fixed(256),
            prefix: Prefix { tokens: 32, groups: 4 },
        },
        requests: Some(100),
        duration_s: Some(60.0),
        drain_s: 5.0,
        warmup: Some(8),
        cooldown_cut_s: 2.0,
        seed: 7,
        timeout_s: 30.0,
        retries: 2,
        cache: Cache::Natural,
        exact: Exact::IgnoreEos,
        temperature: 0.5,
        extra_body: [
            ("chat_template_kwargs".to_owned(), serde_json::json!({"thinking": false})),
            ("stop".to_owned(), serde_json::json!(["a"])),
            ("top_p".to_owned(), serde_json::json!(0.9)),
        ]
        .into(),
        headers: [("x-team".to_owned(), "lab".to_owned())].into(),
        api_key_env: Some("KEY".into()),
        api_key_header: Some("api-key".into()),
        tokenizer: Some(root.join("Cargo.toml")),
        token_ids: true,
        continuous_usage: true,
        slos: Slos { ttft_ms: Some(200.0), tpot_ms: Some(50.0), e2e_ms: Some(5000.0) },
        insecure: true,
        ca_file: Some(root.join("LICENSE")),
        ..Settings::default()
    };
    assert_eq!(planned, [Planned::new("", true, settings)]);
}

#[test]
fn several_values_are_a_sweep_with_a_name_for_each_point() {
    let names = |text: &str| -> Vec<String> { well(text).into_iter().map(|planned| planned.name).collect() };
    assert_eq!(names("concurrency = [1, 4, 16]"), ["c1", "c4", "c16"]);
    assert_eq!(names("concurrency = '1..8'"), ["c1", "c2", "c4", "c8"]);
    assert_eq!(names("rate = '0.5,2'"), ["r0.5", "r2"]);
    assert_eq!(names("concurrency = 8"), [""]);
    let counts: Vec<_> = well("concurrency = [1, 64]").into_iter().map(|planned| planned.settings.requests).collect();
    assert_eq!(counts, [Some(20), Some(256)], "every place is filled anew a few times");
    assert_eq!(well("duration_s = 5")[0].settings.requests, None);
    assert_eq!(concurrencies("3..10").unwrap(), [3, 6, 10]);
    for wrong in ["", "0", "-1", "a", "8..1", "1..", "1,,2"] {
        assert!(concurrencies(wrong).is_err(), "{wrong}");
    }
    assert!(rates("inf").is_err() && rates("0").is_err());
}

#[test]
fn conversations_go_by_the_names_of_the_known_scripts() {
    let planned = well(
        "osl = 64\n[environments.a.conversations]\nnum_clients = 4\nmax_active_conversations = 12\ncount = 24\nrequest_rate = 0.5\n\
         max_num_requests = 100\nmax_turns = 6\nwarmup_step = true\nlimit_min_tokens = 8\nlimit_max_tokens = 64\n\
         conversation_sampling = 'random'\nprint_content = true\nearly_stop = true\nrecorded_answers = true\nturns = '3-5'\nisl = 100\ncommon_prefix = 512\nown_prefix = '10-20'",
    );
    assert_eq!(planned[0].settings.shape, Shape::Closed { concurrency: 4 }, "each client has one turn in flight");
    let Work::Conversations(found) = &planned[0].settings.work else { panic!("conversations were asked for") };
    let expected = Conversations {
        input: ConversationInput::Synthetic,
        clients: 4,
        max_active: Some(12),
        count: Some(24),
        request_rate: Some(0.5),
        max_requests: Some(100),
        max_turns: Some(6),
        warmup_step: true,
        min_tokens: Some(8),
        max_tokens: Some(64),
        sampling: Sampling::Random,
        print_content: true,
        early_stop: true,
        recorded_answers: true,
        turns: Lengths::Uniform(3, 5),
        isl: Lengths::Fixed(100),
        osl: Lengths::Fixed(64),
        common_prefix: Lengths::Fixed(512),
        own_prefix: Lengths::Uniform(10, 20),
    };
    assert_eq!(**found, expected);
    let file = well("[environments.a.conversations]\ninput = 'Cargo.toml'");
    let Work::Conversations(found) = &file[0].settings.work else { panic!("conversations were asked for") };
    assert!(matches!(&found.input, ConversationInput::File(path) if path.ends_with("Cargo.toml")));
    assert_eq!(file[0].settings.requests, None, "conversations end by themselves");
}

#[test]
fn what_does_not_fit_is_named_with_its_key() {
    for (text, key) in [
        ("concurrency = 1\nrate = 1", "environments.a.rate"),
        ("concurrency = '4..1'", "environments.a.concurrency"),
        ("concurrency = 1\nmax_concurrency = 2", "environments.a.max_concurrency"),
        ("burstiness = 2\nrate = 1", "environments.a.burstiness"),
        ("ramp_from = 1", "environments.a.ramp_from"),
        ("isl = 'many'", "environments.a.isl"),
        ("isl = true", "environments.a.isl"),
        ("prompts = 'nowhere.jsonl'", "environments.a.prompts"),
        ("trace = 'nowhere.jsonl'", "environments.a.trace"),
        ("token_ids = true", "environments.a.token_ids"),
        ("cache = 'warm'", "environments.a.cache"),
        ("headers = { 'a b' = 'secret' }", "environments.a.headers"),
        ("slos = { ttft = 3 }", "environments.a.slos.ttft"),
        ("requests = 0", "environments.a.requests"),
        ("prompts = 'Cargo.toml'\nconversations = {}", "environments.a.prompts"),
        ("conversations = { input = 'Cargo.toml', generate = 'Cargo.toml' }", "environments.a.conversations.input"),
        ("concurency = 3", "environments.a.concurency"),
    ] {
        let (_, faults) = table(text);
        assert!(faults.iter().any(|fault| fault.starts_with(&format!("{key}: "))), "{text}: {faults:?}");
        assert!(!faults.iter().any(|fault| fault.contains("secret")), "{faults:?}");
    }
}

#[test]
fn a_matrix_makes_its_cells_with_passes_to_warm_up() {
    let cells = well("matrix = 'standard'");
    let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["128-128", "256-256", "1024-1024", "1024-128", "128-1024"]);
    assert!(cells.iter().all(|cell| cell.warmups == 2 && cell.role == Role::Cell { ends: false }));
    assert!(cells.iter().all(|cell| cell.settings.requests == Some(1) && cell.settings.temperature == 0.0));
    let four = well("matrix = 'standard'\nconcurrency = 4\nwarmup_passes = 0");
    assert!(four.iter().all(|cell| cell.warmups == 0 && cell.settings.requests == Some(4)));
    let tests: Vec<String> = well("matrix = 't1-t6'").into_iter().map(|cell| cell.name).collect();
    assert_eq!(tests, ["t1", "t2", "t3", "t4", "t5", "t6"]);
    let row = well("matrix = 'concurrency'\nisl = 64\nosl = 16");
    assert_eq!(row.last().unwrap().settings.shape, Shape::Closed { concurrency: 128 });
    assert!(row.iter().all(|cell| cell.role == Role::Cell { ends: true }));
}

#[test]
fn a_cell_that_is_too_long_for_the_server_says_so_and_a_plain_load_is_sent_as_asked() {
    let cells = well("matrix = 'extended'");
    let long = cells.iter().find(|cell| cell.name == "8192-1024").unwrap();
    assert_eq!(
        long.too_long(Some(8192)).as_deref(),
        Some("8192 + 1024 tokens are more than the 8192 that the server accepts")
    );
    assert_eq!((long.too_long(Some(9216)), long.too_long(None)), (None, None));
    assert_eq!(well("isl = 8192\nosl = 1024")[0].too_long(Some(100)), None);
}

#[test]
fn a_search_begins_at_the_first_of_its_points_and_ends_at_the_last() {
    let search = |text: &str| match well(text).as_slice() {
        [only] => (only.role, only.settings.shape.clone()),
        several => panic!("{} loads", several.len()),
    };
    let (role, shape) = search("saturation = true\nconcurrency = '2..64'");
    assert_eq!(role, Role::Search(Search { from: 2.0, ..Search::concurrencies(64) }));
    assert_eq!(shape, Shape::Closed { concurrency: 2 });
    assert_eq!(search("saturation = true").0, Role::Search(Search::concurrencies(1024)));
    assert_eq!(search("saturation = true\nrate = '1,8'").0, Role::Search(Search::rates(1.0, 8.0)));
}

#[test]
fn sets_that_contradict_other_keys_are_faults() {
    for (text, key) in [
        ("matrix = 'standard'\nisl = 64", "isl"),
        ("matrix = 't1-t6'\nconcurrency = 4", "concurrency"),
        ("matrix = 'standard'\nconcurrency = [1, 2]", "concurrency"),
        ("matrix = 'standard'\nrate = 1", "matrix"),
        ("matrix = 'standard'\nsaturation = true", "saturation"),
        ("matrix = 'huge'", "matrix"),
        ("saturation = true\ntrace = 'Cargo.toml'", "saturation"),
        ("saturation = true\nconversations = { num_clients = 2 }", "saturation"),
        ("concurrency = 4\nconversations = { num_clients = 2 }", "concurrency"),
        ("rate = 4\nconversations = {}", "rate"),
        ("api_key_header = 'api-key'", "api_key_header"),
    ] {
        let (planned, faults) = table(text);
        assert!(faults.iter().any(|fault| fault.contains(key)), "{text}: {faults:?} {planned:?}");
    }
}

#[test]
fn a_search_fills_every_place_and_leaves_a_duration_alone() {
    let closed = |concurrency, requests, duration_s| {
        let shape = Shape::Closed { concurrency };
        let mut settings = Settings { shape, requests, duration_s, ..Settings::default() };
        (filled(&mut settings), settings.requests)
    };
    assert_eq!(closed(32, Some(20), None), (true, Some(128)));
    assert_eq!(closed(4, Some(20), None), (false, Some(20)));
    assert_eq!(closed(32, Some(20), Some(10.0)), (false, Some(20)));
    assert_eq!(closed(32, None, None), (false, None));
}

#[test]
fn every_key_of_the_table_of_options_is_read_and_what_makes_a_load_is_written_down() {
    let shared = "endpoint = 'completions'\npath = '/v3/completions'\nmodel = 'm'\nramp_s = 10\nramp_from = 0.5\nramp_exponential = true\nrequests = 100\nduration_s = 60\n\
        until = 'ttft_p99=2%'\nuntil_least = 7\ndrain_s = 5\nwarmup = 8\ncooldown_cut_s = 2\nseed = 7\ntimeout_s = 31\nretries = 2\nmax_errors = 7\n\
        cache = 'natural'\nexact = 'ignore-eos'\ntemperature = 0.5\napi_key_env = 'KEY'\napi_key_header = 'api-key'\ntokenizer = 'Cargo.toml'\ntoken_ids = true\n\
        continuous_usage = true\ninsecure = true\nca_file = 'LICENSE'\nrank = 1\nworld = 2";
    let suites = [
        format!("{shared}\nrate = 2.5\narrival = 'gamma'\nburstiness = 0.5\nmax_concurrency = 64\nisl = 3\nosl = '4-8'\nprefix_tokens = 32\nprefix_groups = 4"),
        format!("{shared}\ntrace = 'Cargo.toml'\ntrace_speed = 2\nmax_concurrency = 64\nprompts = 'LICENSE'\nosl = 3"),
        format!("{shared}\nconcurrency = 8"),
        "[environments.a.conversations]\nnum_clients = 4\nmax_active_conversations = 12\ncount = 24\nrequest_rate = 0.5\nmax_num_requests = 100\n\
         max_turns = 6\nwarmup_step = true\nlimit_min_tokens = 8\nlimit_max_tokens = 64\nconversation_sampling = 'random'\nearly_stop = true\n\
         recorded_answers = true\nturns = '3-5'\nisl = 100\ncommon_prefix = 512\nown_prefix = '10-20'"
            .to_owned(),
    ];
    // Sets of loads, and what is for the eyes alone.
    let mut seen: BTreeSet<&str> = ["matrix", "saturation", "warmup_passes", "print_content"].into();
    for suite in &suites {
        let options = LoadOptions::of(&well(suite)[0].settings);
        let given = |key: &str| suite.lines().any(|line| line.starts_with(&format!("{key} = ")));
        for option in OPTIONS.iter().filter(|option| option.is_key() && given(option.key)) {
            let own = option.group == CONVERSATIONS || !suite.contains("conversations");
            assert!(!own || option.value(&options).is_some(), "{} is not written down: {suite}", option.key);
            seen.insert(option.key);
        }
        let written = toml::to_string(&write(&well(suite)[0].settings)).unwrap();
        let again = written.replace("[conversations]", "[environments.a.conversations]");
        assert_eq!(well(&again)[0].settings, well(suite)[0].settings, "{written}");
    }
    let keys: BTreeSet<&str> = OPTIONS.iter().filter(|option| option.is_key()).map(|option| option.key).collect();
    assert_eq!(keys.difference(&seen).collect::<Vec<_>>(), Vec::<&&str>::new(), "keys without a case here");
    let summary: Vec<&str> = OPTIONS.iter().map(|option| option.summary).filter(|name| !name.is_empty()).collect();
    assert_eq!(summary.iter().collect::<BTreeSet<_>>().len(), summary.len(), "a name of a summary stands twice");
}

#[test]
fn a_limit_of_tokens_is_written_as_it_is_read_also_where_there_is_none() {
    let limits = |text: &str| {
        let planned = well(&format!("[environments.a.conversations]\ncount = 2\n{text}"));
        let settings = planned[0].settings.clone();
        let written = toml::to_string(&write(&settings)).unwrap();
        let again = well(&written.replace("[conversations]", "[environments.a.conversations]"));
        assert_eq!(again[0].settings, settings, "{written}");
        let Work::Conversations(chat) = settings.work else { panic!("conversations were asked for") };
        (chat.min_tokens, chat.max_tokens)
    };
    assert_eq!(limits("limit_min_tokens = -1\nlimit_max_tokens = 64"), (Some(0), Some(64)));
    assert_eq!(limits("limit_min_tokens = 0\nlimit_max_tokens = -1"), (None, Some(0)));
    assert_eq!(limits(""), (None, None));
}

#[test]
fn a_body_that_asks_for_several_answers_is_a_fault_of_the_suite() {
    let (planned, faults) = table("extra_body = { n = 2 }");
    assert!(planned.is_empty() && faults.len() == 1 && faults[0].contains("is not 1"), "{faults:?}");
    assert_eq!(well("extra_body = { n = 1, echo = false }").len(), 1);
}
