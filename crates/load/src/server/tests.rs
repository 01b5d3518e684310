//! Known answers of servers, scripted on the loopback interface.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use super::cache::PromiseOutcome;
use super::*;
use crate::settings::{Cache, Endpoint, Exact};
use crate::target::Target;
use sparkbench_host::replay::Replay;
use sparkbench_host::web::{HttpAnswer, Tls};
use sparkbench_testing::{Folder, LIMIT};

/// Path to status and body.
type Pages = BTreeMap<&'static str, (u16, String)>;

/// A server for as long as the test runs. What it was asked is kept.
struct Stage {
    web: Web,
    pages: Arc<Mutex<Pages>>,
    asked: Arc<Mutex<Vec<String>>>,
}

fn stage(pages: &[(&'static str, u16, &str)]) -> Stage {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let pages: Pages = pages.iter().map(|(path, status, body)| (*path, (*status, (*body).to_owned()))).collect();
    let (pages, asked) = (Arc::new(Mutex::new(pages)), Arc::new(Mutex::new(Vec::new())));
    let (known, seen) = (Arc::clone(&pages), Arc::clone(&asked));
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut text = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let count = stream.read(&mut buffer).unwrap_or(0);
                text.extend_from_slice(&buffer[..count]);
                let head = String::from_utf8_lossy(&text).to_lowercase();
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                let length: usize = length.and_then(|number| number.parse().ok()).unwrap_or(0);
                if count == 0 || head.find("\r\n\r\n").is_some_and(|at| text.len() >= at + 4 + length) {
                    break;
                }
            }
            let text = String::from_utf8_lossy(&text).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
            let (status, body) = known.lock().unwrap().get(path.as_str()).cloned().unwrap_or((404, "{}".to_owned()));
            seen.lock().unwrap().push(text);
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\nserver: uvicorn\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    Stage { web: Web::new(&base, &[], &Tls::default()).unwrap(), pages, asked }
}

impl Stage {
    fn set(&self, path: &'static str, status: u16, body: &str) {
        self.pages.lock().unwrap().insert(path, (status, body.to_owned()));
    }
}

const VLLM_MODELS: &str = r#"{"object":"list","data":[{"id":"Qwen/Qwen2.5-7B-Instruct","object":"model","created":1,"owned_by":"vllm",
    "root":"/models/qwen","parent":null,"max_model_len":32768,"permission":[]}]}"#;

#[test]
fn a_list_of_models_gives_names_and_limits_where_the_server_states_them() {
    let vllm = stage(&[("/v1/models", 200, VLLM_MODELS)]);
    let models = models(&vllm.web, LIMIT).unwrap();
    let expected = Served {
        id: "Qwen/Qwen2.5-7B-Instruct".to_owned(),
        root: Some("/models/qwen".to_owned()),
        max_model_len: Some(32_768),
        owner: Some("vllm".to_owned()),
    };
    assert_eq!(models, [expected]);
    assert_eq!(choose(&models, None).unwrap().id, "Qwen/Qwen2.5-7B-Instruct");
    let other = choose(&models, Some("other")).unwrap_err();
    assert!(other.what.contains("'other' was asked for, but the server serves: Qwen/Qwen2.5-7B-Instruct"), "{other}");
    let two = [models[0].clone(), Served { id: "b".to_owned(), ..Served::default() }];
    let several = choose(&two, None).unwrap_err();
    assert!(several.what.ends_with("several models: Qwen/Qwen2.5-7B-Instruct, b"), "{several}");
    assert_eq!(choose(&two, Some("b")).unwrap().id, "b");
    assert!(choose(&[], None).is_err());
}

#[test]
fn what_is_no_list_of_models_is_told_from_a_server_that_wants_a_key() {
    for (status, body, words) in [
        (401, r#"{"error":"Unauthorized"}"#, "requires a key: status 401: Unauthorized"),
        (404, "", "does not list its models: status 404"),
        (200, "<html>", "not a list of models"),
        (200, r#"{"data":3}"#, "not a list of models"),
    ] {
        let error = models(&stage(&[("/v1/models", status, body)]).web, LIMIT).unwrap_err();
        assert!(error.what.contains(words) && error.hint.is_some(), "{error}");
    }
}

#[test]
fn a_server_without_a_list_or_that_still_loads_is_told_with_what_to_do() {
    let unlisted = models(&stage(&[("/v1/models", 404, "")]).web, LIMIT).unwrap_err();
    assert!(unlisted.hint.as_ref().unwrap().contains("--model NAME"), "{unlisted}");
    assert!(unlisted.to_string().contains("/v1/models was asked"), "{unlisted}");
    let loading = stage(&[("/v1/models", 503, r#"{"error":{"message":"Loading model"}}"#)]);
    let loading = models(&loading.web, LIMIT).unwrap_err();
    assert!(loading.what.ends_with("status 503: Loading model"), "{loading}");
    assert!(loading.hint.as_ref().unwrap().contains("--wait"), "{loading}");
}

#[test]
fn an_api_lies_at_v1_below_an_address_or_at_the_address_itself() {
    let at = |pages: &[(&'static str, u16, &str)], path: &str| {
        let server = stage(pages);
        let web = Web::new(&format!("{}{path}", server.web.base()), &[], &Tls::default()).unwrap();
        let found = settled(&web, LIMIT).asked("/v1/models");
        found.strip_prefix(&server.web.base()).unwrap().to_owned()
    };
    let listed = |path: &'static str| (path, 200, VLLM_MODELS);
    assert_eq!(at(&[listed("/api/v3/models")], "/api/v3"), "/api/v3/models");
    assert_eq!(at(&[listed("/api/v3/v1/models"), listed("/api/v3/models")], "/api/v3"), "/api/v3/v1/models");
    assert_eq!(at(&[listed("/v1beta/openai/models")], "/v1beta/openai/"), "/v1beta/openai/models");
    assert_eq!(at(&[("/openai/models", 401, "")], "/openai"), "/openai/models", "a list that wants a key");
    assert_eq!(at(&[("/base/models", 200, "<html>")], "/base"), "/base/v1/models", "a page is no list");
    // Nobody lists models: a version is taken at its word, another path is not.
    assert_eq!(at(&[], "/api/v3"), "/api/v3/models");
    assert_eq!(at(&[], "/base"), "/base/v1/models");
    // A server that still loads may have its list later.
    assert_eq!(at(&[("/api/v3/v1/models", 503, "")], "/api/v3"), "/api/v3/v1/models");
    let gateway = stage(&[("/api/v3/models", 200, VLLM_MODELS)]);
    let web = Web::new(&format!("{}/api/v3", gateway.web.base()), &[], &Tls::default()).unwrap();
    assert_eq!(ready(&web, None, LIMIT), Ok(()));
}

#[test]
fn a_server_that_loads_is_waited_for_until_it_answers_or_time_is_up() {
    let host = Replay::default();
    let server =
        stage(&[("/health", 503, r#"{"error":{"message":"Loading model"}}"#), ("/v1/models", 200, VLLM_MODELS)]);
    let said = Mutex::new(Vec::new());
    let told = |line: &str| {
        said.lock().unwrap().push(line.to_owned());
        server.set("/health", 200, "");
    };
    let ready = |_: Duration| Ok(());
    assert_eq!(wait(&server.web, &host, Duration::from_secs(600), &ready, &told).unwrap(), LOOK);
    let words =
        format!("waiting for {}: status 503: Loading model (waited 0 s, gives up after 600 s)", server.web.base());
    assert_eq!(*said.lock().unwrap(), [words]);
    // Nobody listens there on any machine, and a route that is not there is an answer.
    let nobody = Web::new("http://127.0.0.1:1", &[], &Tls::default()).unwrap();
    let lines = Mutex::new(0);
    let late = wait(&nobody, &host, Duration::from_secs(90), &ready, &|_| *lines.lock().unwrap() += 1).unwrap_err();
    assert!(late.what.starts_with("http://127.0.0.1:1 did not answer within 90 s: ") && late.hint.is_some(), "{late}");
    assert!(late.what.contains("refused"), "{late}");
    assert_eq!(*lines.lock().unwrap(), 2, "once a minute");
    assert_eq!(wait(&stage(&[]).web, &host, Duration::ZERO, &ready, &|_| ()).unwrap(), Duration::ZERO);
    // A server may list its models and answer no request yet.
    let lefts = Mutex::new(Vec::new());
    let attempt = |left: Duration| {
        let mut lefts = lefts.lock().unwrap();
        lefts.push(left.as_secs());
        if lefts.len() > 2 { Ok(()) } else { Err("/v1/completions answers with status 503".to_owned()) }
    };
    let heard = Mutex::new(Vec::new());
    let hear = |line: &str| heard.lock().unwrap().push(line.to_owned());
    assert_eq!(wait(&server.web, &host, Duration::from_secs(600), &attempt, &hear).unwrap(), 2 * LOOK);
    assert_eq!(*lefts.lock().unwrap(), [600, 599, 598]);
    let heard = heard.into_inner().unwrap();
    assert!(heard.len() == 1 && heard[0].contains("/v1/completions answers with status 503 (waited 0 s"), "{heard:?}");
}

#[test]
fn a_route_that_is_not_there_is_told_with_those_that_answer() {
    let there = r#"{"choices":[{"message":{"content":"yes"}}]}"#;
    let refusal = |pages: &[(&'static str, u16, &str)], own: &str| {
        let server = stage(pages);
        let base = server.web.base();
        let target = Target::parse(&base).unwrap().with_path(Some(own)).unwrap();
        let web = server.web.at(target.place().clone());
        let answer = HttpAnswer { status: 404, body: b"Not Found".to_vec(), ..HttpAnswer::default() };
        let error = routes::missing(&web, &target, Endpoint::Chat, "m", &answer, LIMIT);
        (error.what.replace(&base, ""), error.hint.unwrap().replace(&base, ""))
    };
    let pages = [("/v1/chat/completions", 200, there), ("/v1/completions", 400, "{}"), ("/chat/completions", 405, "")];
    for own in ["/v2/chat/completions", "/wrong/chat/completions", "/generate"] {
        let (what, hint) = refusal(&pages, own);
        assert_eq!(what, format!("{own} answers with status 404: Not Found"));
        assert!(hint.ends_with("--url /v1/chat/completions, or --url /v1/completions"), "{hint}");
    }
    let (_, hint) = refusal(&[("/chat/completions", 200, there)], "/generate");
    assert!(hint.ends_with("give the address that answers: --url /chat/completions"), "{hint}");
    let (_, hint) = refusal(&[], "/generate");
    assert!(hint.contains("None of /v1/chat/completions"), "{hint}");
}

#[test]
fn a_key_that_is_refused_is_told_from_one_that_was_not_given() {
    let server = stage(&[("/v1/models", 401, "")]);
    let headers = [("Authorization".to_owned(), "Bearer x".to_owned())];
    let web = Web::new(&server.web.base(), &headers, &Tls::default()).unwrap();
    assert!(models(&web, LIMIT).unwrap_err().what.contains("does not accept the key"));
    assert!(models(&server.web, LIMIT).unwrap_err().what.contains("requires a key"));
}

#[test]
fn a_server_is_ready_by_its_health_or_by_its_models() {
    let server = stage(&[("/health", 503, r#"{"error":{"message":"Loading model"}}"#)]);
    assert_eq!(ready(&server.web, None, LIMIT), Err("/health answers with status 503: Loading model".to_owned()));
    server.set("/health", 200, "");
    assert_eq!(ready(&server.web, None, LIMIT), Ok(()));
    let without = stage(&[]);
    assert!(ready(&without.web, None, LIMIT).unwrap_err().starts_with("/v1/models answers with status 404"));
    without.set("/v1/models", 200, VLLM_MODELS);
    assert_eq!(ready(&without.web, None, LIMIT), Ok(()));
    assert!(ready(&without.web, Some("/ping"), LIMIT).is_err(), "a route that was named is not replaced by another");
}

#[test]
fn engines_are_named_by_their_own_words_and_never_guessed() {
    let llama = r#"{"data":[{"id":"m.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}"#;
    let trt = r#"{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}"#;
    let sglang = r#"{"data":[{"id":"m","owned_by":"sglang","max_model_len":4096}]}"#;
    let nobody = r#"{"data":[{"id":"m","owned_by":"me"}]}"#;
    type Case<'a> = (&'a [(&'static str, u16, &'a str)], Option<InferenceEngine>, Option<&'a str>, Option<u64>);
    let cases: [Case<'_>; 5] = [
        (
            &[("/v1/models", 200, VLLM_MODELS), ("/version", 200, r#"{"version":"0.19.1"}"#)],
            Some(InferenceEngine::Vllm),
            Some("0.19.1"),
            None,
        ),
        (
            &[("/v1/models", 200, trt), ("/version", 200, r#"{"version":"1.3.0rc13"}"#)],
            Some(InferenceEngine::TrtllmServe),
            Some("1.3.0rc13"),
            None,
        ),
        (
            &[("/v1/models", 200, sglang), ("/get_server_info", 200, r#"{"version":"0.5.9","context_length":4096}"#)],
            Some(InferenceEngine::Sglang),
            Some("0.5.9"),
            Some(4096),
        ),
        (
            &[
                ("/v1/models", 200, llama),
                ("/props", 200, r#"{"build_info":"b8123-abc","default_generation_settings":{"n_ctx":8192}}"#),
            ],
            Some(InferenceEngine::LlamaServer),
            Some("b8123-abc"),
            Some(8192),
        ),
        (&[("/v1/models", 200, nobody), ("/version", 200, r#"{"version":"3"}"#)], None, Some("3"), None),
    ];
    for (pages, engine, version, context) in cases {
        let server = stage(pages);
        let found = identify(&server.web, &models(&server.web, LIMIT).unwrap(), LIMIT);
        assert_eq!((found.engine, found.version.as_deref(), found.context), (engine, version, context), "{found:?}");
        assert_eq!(found.server.as_deref(), Some("uvicorn"));
    }
}

#[test]
fn tokens_are_counted_in_the_shape_that_the_server_takes() {
    let found = |server: &Stage| {
        Tokenize::find(&server.web, "m", LIMIT, &|body| server.web.post_json("/tokenize", body, LIMIT)).unwrap()
    };
    let vllm = stage(&[("/tokenize", 200, r#"{"count":3,"max_model_len":4096,"tokens":[1,2,3]}"#)]);
    let counter = found(&vllm).unwrap();
    assert_eq!(counter.count("a b c").unwrap(), 3);
    assert!(vllm.asked.lock().unwrap().last().unwrap().contains(r#""prompt":"a b c""#));
    // llama-server does not know `prompt` and counts nothing of it.
    let llama = stage(&[("/tokenize", 200, r#"{"tokens":[]}"#)]);
    assert!(found(&llama).is_none());
    assert!(llama.asked.lock().unwrap().last().unwrap().contains("\"content\""));
    llama.set("/tokenize", 200, r#"{"tokens":[15339,1917]}"#);
    assert_eq!(found(&llama).unwrap().count("hello world").unwrap(), 2);
    assert!(found(&stage(&[])).is_none());
    vllm.set("/tokenize", 500, r#"{"error":"out of order"}"#);
    assert!(counter.count("a").unwrap_err().what.contains("status 500: out of order"));
}

fn answer(status: u16, body: &serde_json::Value) -> HttpAnswer {
    HttpAnswer { status, body: body.to_string().into_bytes(), ..HttpAnswer::default() }
}

/// Answers by the members of the body: `honours` are those that count, `refuses` those that are no members at all.
fn model(honours: &[&str], refuses: &[&str], natural: u64, body: &serde_json::Value) -> HttpAnswer {
    if let Some(name) = refuses.iter().find(|name| body.get(**name).is_some()) {
        return answer(400, &json!({"message": format!("{name}: extra inputs are not permitted")}));
    }
    let asked = body["max_tokens"].as_u64().unwrap();
    let kept = honours.iter().all(|name| body.get(*name).is_some()) && !honours.is_empty();
    answer(200, &json!({"usage": {"completion_tokens": if kept { asked } else { natural.min(asked) }}}))
}

#[test]
fn the_first_way_that_is_taken_and_kept_asks_for_exact_lengths() {
    let body = exact::question(Endpoint::Chat, "m");
    for (honours, refuses, natural, way, proven) in [
        (&["ignore_eos", "min_tokens"][..], &[][..], 2, Exact::MinTokens, true),
        (&["min_new_tokens"], &["min_tokens"], 2, Exact::MinNewTokens, true),
        (&["ignore_eos"], &["min_tokens", "min_new_tokens"], 2, Exact::IgnoreEos, true),
        (&["ignore_eos"], &[], 2, Exact::MinTokens, true),
        (&[], &[], 2, Exact::Off, false),
        (&[], &["ignore_eos"], 2, Exact::Off, false),
        (&[], &[], 99, Exact::MinTokens, false),
    ] {
        let found = exact::probe(&body, &|body| Ok(model(honours, refuses, natural, &body))).unwrap();
        assert_eq!((found.way, found.proven), (way, proven), "{found:?}");
        assert_eq!(found.tries[0].way, Exact::Off);
        assert!(found.tries.iter().all(|tried| !tried.words.is_empty()));
    }
    let silent = exact::probe(&body, &|_| Ok(answer(200, &json!({"choices": []})))).unwrap();
    assert_eq!((silent.way, silent.tries.len()), (Exact::Off, 4));
    assert!(silent.tries[0].words.contains("without a count"));
    assert_eq!(exact::question(Endpoint::Completions, "m")["stream"], false);
    let none = exact::probe(&body, &|_| Err(Error::new(Kind::Workload, "status 429")));
    assert_eq!(none.unwrap_err().what, "status 429", "no answer is no answer to the question");
}

fn vllm(queries: u32, hits: u32, preemptions: u32) -> prometheus::Snapshot {
    prometheus::parse(&format!(
        "vllm:prefix_cache_queries_total{{engine=\"0\"}} {queries}.0\nvllm:prefix_cache_hits_total{{engine=\"0\"}} {hits}.0\n\
         vllm:prompt_tokens_total{{engine=\"0\"}} {queries}\nvllm:num_preemptions_total{{engine=\"0\"}} {preemptions}\n"
    ))
}

#[test]
fn a_difference_of_two_snapshots_is_what_the_load_added() {
    let none = prometheus::parse("vllm:prompt_tokens_total 0\n");
    let difference = Difference::between(&vllm(1000, 100, 0), &vllm(3000, 1900, 2));
    assert_eq!(difference.hit_rate(), Some(0.9));
    assert_eq!(difference.preemptions, Some(2.0));
    assert_eq!(difference.cache_source, Some("vllm:prefix_cache_hits_total"));
    assert_eq!(Difference::between(&none, &vllm(1000, 0, 0)).hit_rate(), Some(0.0));
    let again = Difference::between(&vllm(5000, 0, 0), &vllm(100, 0, 0));
    assert_eq!(again.cache_queries, None, "started anew in between");
    let older = prometheus::parse("vllm:gpu_prefix_cache_queries_total 8\nvllm:gpu_prefix_cache_hits_total 4\n");
    assert_eq!(Difference::between(&prometheus::Snapshot::default(), &older).hit_rate(), Some(0.5));
    let unknown = Difference::between(&none, &prometheus::parse("python_gc_objects_collected_total 1\n"));
    assert_eq!(unknown.hit_rate(), None);
}

#[test]
fn a_real_llama_server_tells_what_its_cache_knew() {
    let page = |name: &str| {
        let path = format!("{}/tests/fixtures/load/llama-server/{name}.http", sparkbench_testing::ROOT);
        let text = std::fs::read_to_string(path).unwrap();
        prometheus::parse(text.split_once("\r\n\r\n").unwrap().1)
    };
    let difference = Difference::between(&page("metrics-before"), &page("metrics-after"));
    assert_eq!((difference.prompt_tokens, difference.cache_hits), (Some(410.0), Some(179.0)));
    assert_eq!(difference.cache_queries, Some(589.0), "computed and found");
    assert_eq!(difference.cache_source, Some("llamacpp:prompt_tokens_cached_total"));
}

#[test]
fn sglang_counts_by_source_and_shows_a_counter_only_once_it_has_counted() {
    let sglang = |prompt: u32, cached: Option<(u32, u32)>| {
        let cached = cached.map_or(String::new(), |(device, host)| {
            format!("sglang:cached_tokens_total{{cache_source=\"device\"}} {device}\nsglang:cached_tokens_total{{cache_source=\"host\"}} {host}\n")
        });
        prometheus::parse(&format!("sglang:prompt_tokens_total{{is_streaming=\"true\"}} {prompt}.0\n{cached}"))
    };
    assert_eq!(Difference::between(&sglang(0, None), &sglang(1000, None)).hit_rate(), Some(0.0));
    assert_eq!(Difference::between(&sglang(0, None), &sglang(1000, Some((300, 200)))).hit_rate(), Some(0.5));
    assert_eq!(
        Difference::between(&sglang(500, Some((1, 0))), &sglang(500, Some((1, 0)))).hit_rate(),
        None,
        "no prompts"
    );
}

#[test]
fn a_cache_contract_is_kept_broken_or_cannot_be_told() {
    let judge = |promised, before: &prometheus::Snapshot, after: &prometheus::Snapshot, requests| {
        CacheCheck::judge(promised, Some(&Difference::between(before, after)), requests)
    };
    let none = vllm(0, 0, 0);
    for (promised, queries, hits, requests, kept) in [
        (Cache::Cold, 10_000, 0, 10, PromiseOutcome::Yes),
        (Cache::Cold, 10_000, 99, 10, PromiseOutcome::Yes),
        (Cache::Cold, 10_000, 100, 10, PromiseOutcome::No),
        // 128 tokens each, the last block of 16 recomputed.
        (Cache::Primed, 1280, 1120, 10, PromiseOutcome::Yes),
        (Cache::Primed, 10_240, 9216, 10, PromiseOutcome::Yes),
        (Cache::Primed, 10_240, 5000, 10, PromiseOutcome::No),
        (Cache::Primed, 1280, 0, 10, PromiseOutcome::No),
        (Cache::Natural, 1000, 500, 10, PromiseOutcome::NotPromised),
        (Cache::Cold, 0, 0, 0, PromiseOutcome::Unknown),
    ] {
        let check = judge(promised, &none, &vllm(queries, hits, 0), requests);
        assert_eq!(check.kept, kept, "{check:?}");
        assert_eq!(check.note().is_some(), matches!(kept, PromiseOutcome::No | PromiseOutcome::Unknown), "{check:?}");
    }
    // The prompts were sent once before: half of all that was looked for could not be found.
    let primed = Difference::between(&none, &vllm(20_480, 10_000, 0)).without_priming(10_240.0);
    assert_eq!(CacheCheck::judge(Cache::Primed, Some(&primed), 10).kept, PromiseOutcome::Yes);
    // Ten prompts of 128 tokens, four of each the head of the template: kept where single tokens are shared, not where blocks are.
    let by_token = |found: u64| {
        prometheus::parse(&format!(
            "llamacpp:prompt_tokens_total {}\nllamacpp:prompt_tokens_cached_total {found}\n",
            1280 - found
        ))
    };
    let nothing = prometheus::parse("llamacpp:prompt_tokens_total 0\nllamacpp:prompt_tokens_cached_total 0\n");
    assert_eq!(judge(Cache::Cold, &nothing, &by_token(40), 10).kept, PromiseOutcome::Yes);
    assert_eq!(judge(Cache::Cold, &nothing, &by_token(100), 10).kept, PromiseOutcome::No);
    assert_eq!(judge(Cache::Cold, &none, &vllm(1280, 40, 0), 10).kept, PromiseOutcome::No);
    let llama = prometheus::parse("llamacpp:prompt_tokens_total 5\n");
    assert_eq!(judge(Cache::Cold, &llama, &llama, 1).kept, PromiseOutcome::Unknown);
    assert_eq!(CacheCheck::judge(Cache::Cold, None, 1).kept, PromiseOutcome::Unknown);
    assert_eq!(CacheCheck::judge(Cache::Natural, None, 1).kept, PromiseOutcome::NotPromised);
}

#[test]
fn metrics_are_kept_raw_before_during_and_after_a_load() {
    let server = stage(&[("/metrics", 200, "vllm:prompt_tokens_total 5\n")]);
    let folder = Folder::new("metrics");
    let scraper = Scraper::start(&server.web, None, &folder, Duration::from_millis(2)).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("before.txt"), "vllm:prompt_tokens_total 5\n");
    while read("during.txt").matches(scrape::MARK).count() < 2 {
        thread::yield_now();
    }
    server.set("/metrics", 200, "vllm:prompt_tokens_total 25");
    let scraped = scraper.stop().unwrap();
    assert_eq!(read("after.txt"), "vllm:prompt_tokens_total 25");
    assert_eq!(scraped.difference().unwrap().prompt_tokens, Some(20.0));
    let during = read("during.txt");
    let marks: Vec<f64> = during
        .lines()
        .filter_map(|line| line.strip_prefix(scrape::MARK))
        .map(|seconds| seconds.parse().unwrap())
        .collect();
    assert_eq!(marks.len(), scraped.during as usize);
    assert!(marks.is_sorted() && scraped.notes.is_empty(), "{scraped:?}");
}

#[test]
fn a_server_without_metrics_is_said_and_is_no_error() {
    let json = stage(&[("/metrics", 200, "[]")]);
    let folder = Folder::new("metrics");
    let inside = folder.join("metrics");
    let scraped = Scraper::start(&json.web, None, &inside, EVERY).unwrap().stop().unwrap();
    assert_eq!((&scraped.path, scraped.difference()), (&None, None));
    assert_eq!(scraped.notes.len(), 2, "{:?}", scraped.notes);
    assert!(!inside.exists(), "no empty files");
    // Reading it there would take the iterations away from whoever looks at them.
    let trt = stage(&[("/metrics", 200, "[]"), ("/prometheus/metrics", 200, "trtllm_prompt_tokens_total 1\n")]);
    let found = Scraper::start(&trt.web, Some(InferenceEngine::TrtllmServe), &inside, EVERY).unwrap().stop().unwrap();
    assert_eq!(found.path.as_deref(), Some("/prometheus/metrics"));
    assert!(trt.asked.lock().unwrap().iter().all(|text| text.starts_with("GET /prometheus/metrics ")));
}

const EVERY: Duration = scrape::EVERY;
