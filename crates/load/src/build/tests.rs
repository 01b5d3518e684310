//! Bodies: their members, and the thread that makes them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::queue::READY_LEAST;
use super::*;
use crate::plan::PlanInput;
use crate::plan::prompts::Prompts;
use crate::schedule::{NextOrder, OrderFeed};
use crate::settings::{Cache, Exact, Lengths, Prefix, Settings, Shape, Work};

fn settings() -> Settings {
    let work = Work::Synthetic { isl: Lengths::Fixed(32), osl: Lengths::Fixed(7), prefix: Prefix::default() };
    Settings { work, requests: Some(300), warmup: Some(2), nonce: 0xab, ..Settings::default() }
}

fn maker(settings: &Settings, input: &PlanInput, exact: Exact) -> Result<Maker, Error> {
    let plan = Arc::new(Plan::new(settings, input)?);
    Maker::new(plan, Recipe::unknown(), Form::new(settings, "org/m", exact, false)?)
}

fn body(settings: &Settings, exact: Exact) -> (Value, Order) {
    let mut maker = maker(settings, &PlanInput::default(), exact).unwrap();
    let entry = maker.plan.entry(2).unwrap();
    let order = *maker.make(&entry).unwrap().order;
    (serde_json::from_slice(&order.body).unwrap(), order)
}

#[test]
fn a_chat_body_has_its_members() {
    let (mut value, order) = body(&settings(), Exact::MinTokens);
    let text = value["messages"][0]["content"].take();
    assert_eq!(text.as_str().unwrap().split(' ').count(), 32);
    assert_eq!(
        value,
        json!({"model": "org/m", "stream": true, "messages": [{"role": "user", "content": null}], "stream_options": {"include_usage": true},
               "temperature": 0.0, "max_tokens": 7, "ignore_eos": true, "min_tokens": 7})
    );
    assert_eq!(order.request_id, "sparkbench-00000000000000ab-2");
    assert_eq!(
        order.asked,
        Asked { isl: Some(32), isl_sent: None, osl: Some(7), exact: true },
        "nobody counted what was sent"
    );
}

#[test]
fn each_way_of_an_exact_length_is_asked_for() {
    let members = |exact| {
        let (value, order) = body(&Settings { endpoint: Endpoint::Completions, ..settings() }, exact);
        assert!(value["prompt"].is_string());
        let has = |name| !value[name].is_null();
        (has("ignore_eos"), has("min_tokens"), has("min_new_tokens"), order.asked.exact)
    };
    assert_eq!(members(Exact::MinTokens), (true, true, false, true));
    assert_eq!(members(Exact::MinNewTokens), (true, false, true, true));
    assert_eq!(members(Exact::IgnoreEos), (true, false, false, true));
    assert_eq!(members(Exact::Off), (false, false, false, false));
    assert!(Form::new(&settings(), "m", Exact::Auto, false).is_err());
}

#[test]
fn members_of_the_user_win() {
    let extra = |json: Value| Settings {
        extra_body: serde_json::from_value(json).unwrap(),
        continuous_usage: true,
        ..settings()
    };
    let (value, order) = body(
        &extra(
            json!({"temperature": 0.7, "ignore_eos": false, "max_tokens": null, "max_completion_tokens": 9, "top_k": 1}),
        ),
        Exact::MinTokens,
    );
    assert_eq!((&value["temperature"], &value["ignore_eos"], &value["top_k"]), (&json!(0.7), &json!(false), &json!(1)));
    assert!(value.get("max_tokens").is_none());
    assert_eq!((&value["max_completion_tokens"], order.asked.osl), (&json!(9), Some(9)));
    assert_eq!(value["stream_options"]["continuous_usage_stats"], json!(true));
    let (value, order) = body(&extra(json!({"max_tokens": null, "model": "other"})), Exact::MinTokens);
    assert_eq!((order.asked.osl, order.asked.exact, &value["model"]), (None, false, &json!("other")));
    assert!(value.get("min_tokens").is_none());
    for name in ["stream", "messages", "prompt"] {
        assert!(Form::new(&extra(json!({ name: 1 })), "m", Exact::Off, false).unwrap_err().to_string().contains(name));
    }
    for several in [json!({"n": 2}), json!({"echo": true})] {
        assert!(Form::new(&extra(several), "m", Exact::Off, false).is_err());
    }
}

#[test]
fn prompts_of_a_file_go_out_as_they_are_behind_a_nonce() {
    let lines = r#"{"prompt": "say \"é\"", "max_tokens": 3}
{"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x"}]}"#;
    let input = PlanInput { prompts: Some(Arc::new(Prompts::parse("p", lines).unwrap())), ..PlanInput::default() };
    let work = Work::Prompts { path: "p".into(), osl: Some(Lengths::Fixed(9)) };
    let made = |cache, i| {
        let settings = Settings { work: work.clone(), cache, warmup: Some(0), requests: None, ..settings() };
        let mut maker = maker(&settings, &input, Exact::Off).unwrap();
        let entry = maker.plan.entry(i).unwrap();
        serde_json::from_slice::<Value>(&maker.make(&entry).unwrap().order.body).unwrap()
    };
    let natural = made(Cache::Natural, 0);
    assert_eq!((&natural["messages"][0]["content"], &natural["max_tokens"]), (&json!("say \"é\""), &json!(3)));
    let cold = made(Cache::Cold, 0);
    let text = cold["messages"][0]["content"].as_str().unwrap();
    assert!(text.ends_with("\n\nsay \"é\"") && text.split_whitespace().count() == 6, "{text}");
    let cold = made(Cache::Cold, 1);
    assert!(cold["messages"][0]["content"].as_str().unwrap().ends_with("\n\nbe brief"));
    assert_eq!(cold["messages"][1]["content"], json!("x"));
}

#[test]
fn prompts_that_the_route_cannot_take_are_named() {
    let error = |line: &str, endpoint, cache| {
        let prompts = Prompts::parse("p", &format!("{{\"prompt\": \"x\"}}\n{line}")).unwrap();
        let input = PlanInput { prompts: Some(Arc::new(prompts)), ..PlanInput::default() };
        let work = Work::Prompts { path: "p".into(), osl: Some(Lengths::Fixed(9)) };
        let settings = Settings { work, endpoint, cache, warmup: Some(0), requests: None, ..settings() };
        maker(&settings, &input, Exact::Off).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let messages = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}";
    assert!(error(messages, Endpoint::Completions, Cache::Cold).contains("line 2"));
    assert!(
        error("{\"prompt\": [1]}", Endpoint::Chat, Cache::Natural).contains("token ids need --endpoint completions")
    );
    assert!(error("{\"prompt\": [1]}", Endpoint::Completions, Cache::Cold).contains("--cache natural"));
    assert_eq!(error("{\"prompt\": [1]}", Endpoint::Completions, Cache::Natural), "");
}

#[test]
fn the_thread_gives_the_plan_in_order_and_wakes_who_waits() {
    let settings = settings();
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let maker = maker(&settings, &PlanInput::default(), Exact::Off).unwrap();
    let mut builder = start(maker, &settings, move || {
        count.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    let mut seen = Vec::new();
    loop {
        match builder.take() {
            NextOrder::Order(built) => seen.push(built.order.index),
            NextOrder::Dry => std::thread::yield_now(),
            NextOrder::End => break,
            NextOrder::Failed(error) => panic!("{error}"),
        }
    }
    assert_eq!(seen, (0..302).collect::<Vec<_>>());
    // It wakes behind the last order: that is over when the thread is.
    drop(builder);
    assert!(woken.load(Ordering::Relaxed) >= 1, "the end wakes");
}

#[test]
fn few_bodies_are_ready_and_dropping_ends_the_thread() {
    let settings = Settings { requests: None, duration_s: Some(1e9), ..settings() };
    let maker = maker(&settings, &PlanInput::default(), Exact::Off).unwrap();
    let builder = start(maker, &settings, || {}).unwrap();
    assert_eq!(sparkbench_testing::until_some("the thread rests", || builder.resting()), READY_LEAST);
    drop(builder);
}

#[test]
fn a_client_builds_its_own_share() {
    let settings = Settings {
        share: crate::settings::Share { rank: 1, world: 2 },
        shape: Shape::Closed { concurrency: 2 },
        requests: Some(8),
        ..settings()
    };
    let maker = maker(&settings, &PlanInput::default(), Exact::Off).unwrap();
    let mut builder = start(maker, &settings, || {}).unwrap();
    let mut seen = Vec::new();
    loop {
        match builder.take() {
            NextOrder::Order(built) => seen.push(built.order.index),
            NextOrder::Dry => std::thread::yield_now(),
            _ => break,
        }
    }
    assert_eq!(seen, [1, 3, 5, 7, 9]);
}
