//! `sparkbench load` measures a real engine: llama.cpp's server on this machine's processor, with a tiny random model.
//!
//! In:  the server of `tests/server/`.  Out: nothing.
//! Not here: how near the times are to the server's own (`benches/engine.py`), and to a known truth (the mock).
//!
//! ```text
//! SPARKBENCH_REAL_SERVER=1 cargo test --test engines real_server:: -- --nocapture
//! ```
//!
//! What the client says is held against what the server says about the same work: its counters in `/metrics` before and after, which
//! count every token that it read or made, and the seconds that it spent on them. Nobody told either of them what the other says.

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::collections::BTreeMap;
use std::time::Duration;

use crate::adds_up;
use crate::support::folder::Folder;
use crate::support::program::{Ending, run_in};
use crate::support::real_server::{RealServer, tokenizer};
use crate::support::wait;
use serde_json::Value;

/// One load, and what the server counted meanwhile.
struct Measured {
    ending: Ending,
    summary: Value,
    counted: BTreeMap<String, f64>,
}

/// Runs the verb with its summary on standard output, as a script would.
fn load(server: &RealServer, name: &str, options: &[&str]) -> Measured {
    let folder = Folder::new(&format!("real-{name}"));
    let before = server.metrics();
    let url = server.url();
    let ending =
        run_in(folder.path(), &[&["load", "--url", &url, "--json", "-", "--warmup", "0"], options].concat(), &[]);
    let counted = server.metrics().into_iter().map(|(name, after)| {
        let more = after - before.get(&name).copied().unwrap_or(0.0);
        (name, more)
    });
    let summary = serde_json::from_str(&ending.out).unwrap_or(Value::Null);
    Measured { counted: counted.collect(), ending, summary }
}

impl Measured {
    #[track_caller]
    fn number(&self, pointer: &str) -> f64 {
        self.summary
            .pointer(pointer)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("no {pointer} in {:#}", self.summary))
    }

    /// Demands that so many requests were answered and none failed.
    #[track_caller]
    fn all_answered(&self, requests: u64) {
        let Ending { code, err, .. } = &self.ending;
        assert_eq!(*code, Some(0), "{err}");
        assert_eq!(self.summary["completed"], requests, "{:#}", self.summary);
        assert_eq!(self.summary["failed"], 0, "{:#}", self.summary);
        assert_eq!(self.summary["valid"], true, "{:#}", self.summary);
    }

    /// Tokens that the server read: worked on, or found in its cache.
    fn read(&self) -> f64 {
        self.counted["prompt_tokens_total"] + self.counted["prompt_tokens_cached_total"]
    }

    /// Tokens that the server made.
    fn made(&self) -> f64 {
        self.counted["tokens_predicted_total"]
    }
}

/// Output tokens of a request where nothing else is said: long enough that the ends of an answer weigh little in its TPOT.
const OSL: u32 = 64;

/// Before the load the program learns from three requests of one token each what a word and the chat template come to.
const PROBES: f64 = 3.0;

/// Options that say how lengths are fixed, so that this is not found out by further probes.
fn fixed<'o>(more: &[&'o str]) -> Vec<&'o str> {
    [&["--exact", "ignore-eos"], more].concat()
}

/// A file with prompts of our own. They go out as they are, without a probe: the server's counters then hold the load and nothing else.
fn prompts(name: &str, count: usize) -> (Folder, String) {
    let folder = Folder::new(&format!("real-prompts-{name}"));
    let lines = (0..count).map(|at| {
        let words = "the first ship would carry what they found over the sea in winter".split(' ').cycle().skip(at % 7);
        let text: Vec<&str> = words.take(40 + 9 * at).collect();
        format!("{}\n", serde_json::json!({ "prompt": format!("{at} {}", text.join(" ")) }))
    });
    let path = folder.put("prompts.jsonl", lines.collect::<String>()).display().to_string();
    (folder, path)
}

#[test]
fn every_token_is_counted_as_the_server_counts_it_on_both_routes() {
    let Some(server) = RealServer::start(&[]) else { return };
    let (_folder, prompts) = prompts("counted", 24);
    let (tokenizer, osl) = (tokenizer(), OSL.to_string());
    for endpoint in ["chat", "completions"] {
        let options =
            ["--endpoint", endpoint, "--concurrency", "4", "--requests", "24", "--osl", &osl, "--cache", "natural"];
        let files = ["--prompts", &prompts, "--tokenizer", &tokenizer];
        let measured = load(&server, endpoint, &fixed(&[&options[..], &files].concat()));
        measured.all_answered(24);
        assert_eq!(measured.summary["schema"], "sparkbench.load/1");
        assert_eq!(measured.summary["token_source"], "usage", "{endpoint}");
        assert_eq!(measured.summary["model"], "tiny-random", "{endpoint}");
        assert_eq!(measured.number("/output_tokens"), f64::from(24 * OSL), "{endpoint}: the length asked for");
        assert_eq!(measured.made(), measured.number("/output_tokens"), "{endpoint}: made by the server, counted by us");
        assert_eq!(measured.read(), measured.number("/input_tokens"), "{endpoint}: read by the server, counted by us");
        let cached = measured.counted["prompt_tokens_cached_total"];
        assert_eq!(measured.number("/cached_tokens"), cached, "{endpoint}: found in its cache, counted by us");
    }
}

#[test]
fn made_prompts_are_as_long_as_was_asked_whoever_counts_them() {
    let Some(server) = RealServer::start(&[]) else { return };
    let tokenizer = tokenizer();
    for endpoint in ["chat", "completions"] {
        for counter in [&["--tokenizer", &tokenizer][..], &[]] {
            let options =
                ["--endpoint", endpoint, "--concurrency", "4", "--requests", "12", "--isl", "400", "--osl", "4"];
            let measured = load(&server, "made", &fixed(&[&options[..], counter].concat()));
            measured.all_answered(12);
            assert_eq!(measured.made(), 12.0 * 4.0 + PROBES, "{endpoint}");
            let isl = measured.number("/input_tokens") / 12.0;
            assert!(
                (isl / 400.0 - 1.0).abs() <= 0.02,
                "{endpoint}, {counter:?}: {isl} tokens a request, 400 were asked for"
            );
        }
    }
}

#[test]
fn times_are_never_shorter_than_the_seconds_that_the_server_counts() {
    const REQUESTS: u32 = 12;
    let Some(server) = RealServer::start(&[]) else { return };
    let osl = 4 * OSL;
    let (requests, steps) = (f64::from(REQUESTS), f64::from(osl - 1));
    let (asked, length) = (REQUESTS.to_string(), osl.to_string());
    let (_folder, prompts) = prompts("timed", REQUESTS as usize);
    for concurrency in ["1", "2"] {
        let options = ["--concurrency", concurrency, "--requests", &asked, "--prompts", &prompts, "--osl", &length];
        let measured =
            load(&server, &format!("times-{concurrency}"), &fixed(&[&options[..], &["--cache", "natural"]].concat()));
        measured.all_answered(REQUESTS.into());
        assert_eq!(measured.made(), requests * (steps + 1.0));
        adds_up(&measured.summary, steps, false);

        // The server counts the seconds in which it reads a prompt, and those from an answer's first token to its last. Neither ends before
        // the client has asked or after the client has seen it, however busy the machine is.
        let ms = |counter: &str| measured.counted[counter] * 1e3 / requests;
        let (reading, making) = (ms("prompt_seconds_total"), ms("tokens_predicted_seconds_total"));
        let (ttft, e2e) = (measured.number("/ttft_ms/mean"), measured.number("/e2e_latency_ms/mean"));
        let words = format!(
            "{concurrency} at a time: TTFT {ttft:.3} ms, of which the server read the prompt for {reading:.3} ms; E2E {e2e:.3} ms, \
             of which it made the answer for {making:.3} ms more"
        );
        println!("{words}");
        assert!(reading > 0.0 && making > 0.0, "{words}");
        assert!(ttft >= reading, "{words}");
        assert!(e2e >= reading + making, "{words}");
    }
}

/// Answers of one to eight words, whatever the weights are: after the eighth nothing but the end is left.
const SHORT: &str = r#"{"grammar": "root ::= (\" plan\" | \" paint\" | \" usual\"){1,8}"}"#;
/// Answers that end before they have begun.
const EMPTY: &str = r#"{"grammar": "root ::= \"\""}"#;

#[test]
fn without_a_fixed_length_answers_end_by_themselves_and_are_counted_as_they_came() {
    const REQUESTS: usize = 24;
    let Some(server) = RealServer::start(&[]) else { return };
    let (_folder, prompts) = prompts("free", REQUESTS);
    let requests = REQUESTS.to_string();
    let load_of = |name: &str, more: &[&str]| {
        let options = ["--exact", "off", "--concurrency", "4", "--requests", &requests, "--osl", "256"];
        load(&server, name, &[&options[..], &["--prompts", &prompts, "--cache", "natural"], more].concat())
    };
    // As the model likes it. A model of random weights may end an answer before it has begun, and may end none early.
    let measured = load_of("off", &[]);
    let summary = &measured.summary;
    // That is no answer, and is told as what it is.
    let empty = summary["errors"]["empty"].as_u64().unwrap_or(0);
    assert_eq!(measured.number("/failed"), empty as f64, "{summary:#}");
    assert_eq!(measured.number("/completed") + empty as f64, REQUESTS as f64, "{summary:#}");
    assert_eq!(summary["valid"], empty == 0, "{summary:#}");
    let output = summary["output_tokens"].as_f64().unwrap_or(0.0);
    // Of an empty answer the server counts the token that ended it.
    assert!((output..=output + empty as f64).contains(&measured.made()), "{} made, {output} told", measured.made());
    assert!(output <= REQUESTS as f64 * 256.0, "{output}");
    assert_eq!(measured.number("/short"), 0.0, "nothing was asked exactly");

    let short = load_of("off-short", &["--extra-body", SHORT]);
    short.all_answered(REQUESTS as u64);
    let output = short.number("/output_tokens");
    assert_eq!(short.made(), output, "made by the server, counted by us");
    // The longest is eight words letter by letter, and the token that ends it.
    let longest = 8.0 * " paint".len() as f64 + 1.0;
    assert!((1.0..=longest).contains(&(output / REQUESTS as f64)), "no answer ended by itself: {output}");
    assert_eq!(short.number("/short"), 0.0, "nothing was asked exactly");

    let nothing = load_of("off-empty", &["--extra-body", EMPTY]);
    assert_eq!(nothing.ending.code, Some(4), "{}", nothing.ending.err);
    assert_eq!(nothing.summary["completed"], 0, "{:#}", nothing.summary);
    assert_eq!(nothing.summary["errors"]["empty"], REQUESTS, "{:#}", nothing.summary);
    assert_eq!(nothing.summary["valid"], false, "{:#}", nothing.summary);
    assert!(nothing.summary["output_tokens"].is_null(), "{:#}", nothing.summary);
    assert_eq!(nothing.made(), REQUESTS as f64, "the tokens that ended them");
}

#[test]
fn the_way_to_an_exact_length_is_found_and_honoured() {
    let Some(server) = RealServer::start(&[]) else { return };
    let measured = load(&server, "auto", &["--concurrency", "2", "--requests", "16", "--isl", "40", "--osl", "256"]);
    measured.all_answered(16);
    assert_eq!(measured.number("/output_tokens"), 16.0 * 256.0);
    assert_eq!(measured.number("/short"), 0.0);
    assert!(
        measured.made() > measured.number("/output_tokens"),
        "the probes are in the server's count and not in ours"
    );
}

#[test]
fn more_streams_than_the_server_has_places_wait_in_their_ttft() {
    const STREAMS: u32 = 24;
    const PLACES: u32 = 4;
    const LOOK: Duration = Duration::from_millis(10);
    let Some(server) = RealServer::start(&["-np", "4", "-c", "8192"]) else { return };
    let (streams, osl) = (STREAMS.to_string(), 8 * OSL);
    let length = osl.to_string();
    let options = ["--isl", "40", "--osl", &length, "--requests", &streams, "--concurrency", &streams];
    let (measured, waited) = std::thread::scope(|scope| {
        let running = scope.spawn(|| load(&server, "beyond", &fixed(&options)));
        // Each stream has one request. As long as the server says at each look that twenty have no place, these twenty wait.
        let (mut waited, mut all_waited) = (Duration::ZERO, false);
        while !running.is_finished() {
            let all_wait = server.metrics()["requests_deferred"] == f64::from(STREAMS - PLACES);
            if all_waited && all_wait {
                waited += LOOK;
            }
            all_waited = all_wait;
            wait::let_pass(LOOK);
        }
        (running.join().unwrap(), waited)
    });
    measured.all_answered(STREAMS.into());
    assert_eq!(measured.number("/output_tokens"), f64::from(STREAMS * osl));
    assert_eq!(measured.made(), f64::from(STREAMS * osl) + PROBES);
    // Four of the twenty-four did not wait, so the median did. A test that was not let look waited for nothing that it knows of.
    let waited = waited.as_secs_f64() * 1e3;
    let (p50, max) = (measured.number("/ttft_ms/p50"), measured.number("/ttft_ms/max"));
    println!("seen to wait for {waited} ms; TTFT {p50} ms in the median, {max} ms at most");
    assert!(p50 >= waited && max >= p50, "TTFT {p50} ms, seen to wait for {waited} ms");
}

#[test]
fn an_open_loop_sends_each_request_when_its_time_has_come_and_none_before() {
    const REQUESTS: u64 = 40;
    let Some(server) = RealServer::start(&[]) else { return };
    let requests = REQUESTS.to_string();
    let options = ["--rate", "20", "--arrival", "constant", "--requests", &requests, "--isl", "40", "--osl", "8"];
    let measured = load(&server, "open", &fixed(&options));
    measured.all_answered(REQUESTS);
    assert_eq!(measured.made(), REQUESTS as f64 * 8.0 + PROBES);
    let offered = measured.number("/offered_rate_req_s");
    assert!((offered - 20.0).abs() < 1e-6, "{offered} requests a second were scheduled");
    let lag = |pointer: &str| measured.number(&format!("/client/schedule_lag_ms/{pointer}"));
    assert_eq!(lag("n"), REQUESTS as f64);
    assert!(lag("p50") >= 0.0 && lag("max") >= lag("p50"), "{:#}", measured.summary["client"]);
    // From the first sending, which may be late, to the end of the last answer, which was not sent before its time.
    let (duration, last) = (measured.number("/duration_s"), (REQUESTS - 1) as f64 / 20.0);
    assert!(duration >= last - lag("max") / 1e3 - 1e-6, "over after {duration} s, the last was due after {last} s");
}

#[test]
fn a_conversation_carries_its_live_answers_and_the_server_finds_them_in_its_cache() {
    let Some(server) = RealServer::start(&[]) else { return };
    let options = ["--num-clients", "2", "--conversations", "4", "--turns", "3", "--isl", "40", "--osl", "24"];
    let measured = load(&server, "turns", &fixed(&[&options[..], &["--max-active-conversations", "4"]].concat()));
    measured.all_answered(12);
    assert_eq!(measured.number("/output_tokens"), 12.0 * 24.0);
    assert_eq!(measured.made(), 12.0 * 24.0);
    assert_eq!(measured.read(), measured.number("/input_tokens"));
    assert_eq!(measured.number("/cached_tokens"), measured.counted["prompt_tokens_cached_total"]);

    // Turn by turn and with no other in between, the second turn brings the first again, the third the first two: a good half of all that
    // is read. Two clients may take each other's place, as the order of their turns will have it.
    let alone = ["--num-clients", "1", "--conversations", "4", "--turns", "3", "--isl", "40", "--osl", "24"];
    let measured = load(&server, "turns-alone", &fixed(&[&alone[..], &["--max-active-conversations", "1"]].concat()));
    measured.all_answered(12);
    let cached = measured.counted["prompt_tokens_cached_total"];
    assert_eq!(measured.number("/cached_tokens"), cached);
    assert!(cached > 0.4 * measured.read(), "{cached} of {} tokens were in the cache", measured.read());
}

#[test]
fn a_cold_cache_stays_cold_and_a_primed_one_is_warm() {
    let Some(server) = RealServer::start(&[]) else { return };
    let share = |cache: &str| {
        // One at a time: which place of the server a prompt gets then depends on the prompts alone.
        let options = ["--cache", cache, "--requests", "8", "--concurrency", "1", "--isl", "120", "--osl", "8"];
        let measured = load(&server, cache, &fixed(&options));
        measured.all_answered(8);
        let notes = measured.summary["notes"].to_string();
        assert!(!notes.contains("cache contract"), "the server's own counters say that it was kept: {notes}");
        measured.number("/cached_tokens") / measured.number("/input_tokens")
    };
    let (cold, primed) = (share("cold"), share("primed"));
    // What a cold prompt has in common with others is the head of the chat template.
    assert!(cold < 0.15, "{cold}");
    assert!(primed > 0.9, "{primed}");
}

#[test]
fn a_prompt_beyond_the_server_s_length_is_named_with_its_reason() {
    let Some(server) = RealServer::start(&["-np", "1", "-c", "1024"]) else { return };
    let measured = load(&server, "long", &fixed(&["--isl", "1500", "--osl", "8", "--requests", "2"]));
    assert_ne!(measured.ending.code, Some(0), "{}", measured.ending.err);
    measured.ending.complains(&["1024"]);
    assert_eq!(measured.made(), 0.0);
}

#[test]
fn a_model_that_is_not_served_is_refused_before_anything_is_measured() {
    let Some(server) = RealServer::start(&[]) else { return };
    let measured = load(&server, "model", &["--model", "no-such-model", "--requests", "2"]);
    assert_eq!(measured.ending.code, Some(2), "{}", measured.ending.err);
    measured.ending.complains(&["no-such-model", "tiny-random"]);
    assert_eq!(measured.made(), 0.0, "the server would have answered for any name");
}

#[test]
fn a_key_is_sent_where_it_is_named_and_missed_where_it_is_not() {
    let Some(server) = RealServer::start(&["--api-key", "sesame-42"]) else { return };
    let folder = Folder::new("real-key");
    let url = server.url();
    let options = ["load", "--url", &url, "--json", "-", "--requests", "2", "--isl", "40", "--osl", "8"];
    let refused = run_in(folder.path(), &options, &[]);
    assert_ne!(refused.code, Some(0));
    refused.complains(&["--api-key-env"]);
    let with_key = [&options[..], &["--api-key-env", "REAL_SERVER_KEY"]].concat();
    let taken = run_in(folder.path(), &with_key, &[("REAL_SERVER_KEY", "sesame-42")]).expect(0);
    let summary: Value = serde_json::from_str(&taken.out).unwrap();
    assert_eq!(summary["completed"], 2);
    assert!(!format!("{}{}", taken.out, taken.err).contains("sesame"), "the key is never printed");
}

#[test]
fn a_server_that_dies_under_the_load_is_counted_and_not_waited_for() {
    let Some(mut server) = RealServer::start(&[]) else { return };
    let folder = Folder::new("real-dies");
    let url = server.url();
    let options = ["load", "--url", &url, "--json", "-", "--exact", "ignore-eos", "--concurrency", "4", "--isl", "40"];
    // Whoever waited for any of these would wait until the program is ended by force.
    let bounds = ["--osl", "3000", "--requests", "200", "--timeout", "3600"];
    let ending = std::thread::scope(|scope| {
        let running = scope.spawn(|| run_in(folder.path(), &[&options[..], &bounds].concat(), &[]));
        wait::until("the server works on four answers", || {
            assert!(!running.is_finished(), "the load is over before its server is");
            server.metrics()["requests_processing"] >= 4.0
        });
        server.kill();
        running.join().unwrap()
    });
    assert_eq!(ending.code, Some(4), "{}", ending.err);
    let summary: Value = serde_json::from_str(&ending.out).unwrap();
    let count = |key: &str| summary[key].as_u64().unwrap();
    // Those under way broke off, the next ones found nobody, and the load ended before it had tried all.
    let sent = count("completed") + count("failed");
    assert!((4..=200).contains(&sent) && count("planned") == 200, "{summary:#}");
    assert_eq!(summary["valid"], false);
    assert!(sent == 200 || summary["ended_by"] == "max-errors", "{summary:#}");
    let errors = summary["errors"].as_object().unwrap();
    assert_eq!(errors.values().filter_map(Value::as_u64).sum::<u64>(), count("failed"), "{errors:?}");
    assert!(errors.keys().all(|word| ["stream-broken", "connect"].contains(&word.as_str())), "{errors:?}");
}
