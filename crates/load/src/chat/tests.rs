//! A source driven through a whole load with given times: no sockets, no clock, no sleeping.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;

use super::log::{ConversationHead, Request, Why};
use super::*;
use crate::order::{Next, Order, Phase, Record, Source, Status, Usage};
use crate::settings::{Cache, ConversationInput, Conversations, Exact, Lengths, Sampling, Settings, Share, Work};
use sparkbench_host::net::{Ns, Stamp};
use sparkbench_stats::random::Stream;

const MS: Ns = 1_000_000;

/// Bytes that a thread writes and a test reads.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A message of the history.
#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
}

/// A line of `conversations.jsonl` as it is read back.
#[derive(Deserialize)]
struct Line {
    #[serde(flatten)]
    head: ConversationHead,
    messages: Vec<Message>,
    requests: Vec<Request>,
}

/// Compares as values, so that unknown members of a line do not matter.
fn read_lines(text: &str) -> Vec<Line> {
    let line = |line| serde_json::from_value(serde_json::from_str(line).unwrap()).unwrap();
    text.lines().map(line).collect()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(sparkbench_testing::ROOT).join("tests/fixtures/load/chat").join(name)
}

fn settings(chat: Conversations) -> Settings {
    Settings { work: Work::Conversations(Box::new(chat)), cache: Cache::Natural, seed: 7, ..Settings::default() }
}

fn made(clients: u32, count: u32) -> Conversations {
    Conversations {
        clients,
        count: Some(count),
        max_active: Some(clients),
        turns: Lengths::Fixed(3),
        isl: Lengths::Fixed(5),
        osl: Lengths::Fixed(4),
        ..Conversations::default()
    }
}

/// One request as the driver saw it.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    at: Ns,
    intended: Option<Ns>,
    index: u64,
    phase: Phase,
    client: u32,
    conversation: u32,
    turn: u32,
    body: Value,
    raw: Vec<u8>,
    order: Order,
}

/// Outcome of a load.
struct Load {
    sent: Vec<Sent>,
    figures: Figures,
    lines: Vec<Line>,
    printed: String,
    end: Ns,
    most_in_flight: usize,
}

/// How a turn is answered: status, text, and how long it takes.
type Answer<'a> = &'a mut dyn FnMut(&Sent) -> (Status, Option<Vec<u8>>, Ns);

fn plain(sent: &Sent) -> (Status, Option<Vec<u8>>, Ns) {
    (Status::Ok, Some(format!("answer {}.{}", sent.conversation, sent.turn).into_bytes()), 100 * MS)
}

/// A request in flight: when it ends, and as what.
type Flying = (Ns, Sent, (Status, Option<Vec<u8>>));

fn lead(settings: &Settings, answer: Answer<'_>) -> Load {
    let (file, screen) = (Shared::default(), Shared::default());
    let parts = Parts {
        library: Library::read(settings).unwrap(),
        texts: Box::new(Estimate),
        frame: Frame::new(settings, "m", Exact::Auto),
        request_ids: "sb".to_owned(),
        log: Some(Box::new(file.clone())),
        print: Some(Box::new(screen.clone())),
    };
    lead_with(settings, parts, &file, &screen, answer)
}

fn lead_with(settings: &Settings, parts: Parts, file: &Shared, screen: &Shared, answer: Answer<'_>) -> Load {
    let mut source = ChatSource::new(settings, parts).unwrap();
    source.count_times_from(1000 * MS);
    let mut now = 1000 * MS;
    let mut flying: Vec<Flying> = Vec::new();
    let mut sent = Vec::new();
    let mut most_in_flight = 0;
    loop {
        let mut next = source.next(now, flying.len());
        if !matches!(next, Next::Send(_) | Next::Done) {
            // The real builder is quick. Here it takes no time at all.
            source.settle(now);
            next = source.next(now, flying.len());
        }
        let until = match next {
            Next::Send(order) => {
                let turn = order.turn.unwrap();
                let one = Sent {
                    at: now,
                    intended: order.intended,
                    index: order.index,
                    phase: order.phase,
                    client: turn.client,
                    conversation: turn.conversation,
                    turn: turn.turn,
                    body: serde_json::from_slice(&order.body).unwrap(),
                    raw: order.body.clone(),
                    order: *order,
                };
                assert!(one.order.keep_text);
                let (status, text, takes) = answer(&one);
                flying.push((now + takes, one.clone(), (status, text)));
                sent.push(one);
                most_in_flight = most_in_flight.max(flying.len());
                continue;
            }
            Next::Done if flying.is_empty() => break,
            Next::Done => None,
            Next::At(moment) => {
                assert!(moment > now, "asked to come again at once");
                Some(moment)
            }
            Next::Wait => {
                assert!(!flying.is_empty(), "waits for nothing");
                None
            }
        };
        flying.sort_by_key(|(end, one, _)| (*end, one.index));
        let end = flying.first().map(|(end, _, _)| *end);
        match (end, until) {
            (Some(end), until) if until.is_none_or(|until| end <= until) => {
                now = end;
                let (_, one, (status, text)) = flying.remove(0);
                let stamp = |at| Some(Stamp { kernel: None, user: at });
                let answered = status.answered();
                let record = Record {
                    index: one.index,
                    phase: one.phase,
                    turn: one.order.turn,
                    intended: one.intended,
                    sent: Some(one.at),
                    first_token: if answered { stamp(one.at + 10 * MS) } else { None },
                    last_token: if answered { stamp(now) } else { None },
                    end: stamp(now),
                    usage: Usage { input: Some(20), output: answered.then_some(4), cached: Some(8), reasoning: None },
                    status,
                    // A refusal asks for five seconds.
                    http: (status == Status::Http).then_some(429),
                    retry_after: (status == Status::Http).then(|| "5".to_owned()),
                    ..Record::default()
                };
                source.ended(now, &record, text);
            }
            (_, Some(until)) => now = until,
            _ => unreachable!(),
        }
    }
    let figures = source.finish().unwrap();
    Load { sent, figures, lines: read_lines(&file.text()), printed: screen.text(), end: now, most_in_flight }
}

fn plan(load: &Load) -> Vec<(u32, u32, u32)> {
    load.sent.iter().map(|sent| (sent.client, sent.conversation, sent.turn)).collect()
}

#[test]
fn turns_come_in_order_and_one_at_a_time_for_each_client() {
    let load = lead(&settings(made(2, 4)), &mut plain);
    assert_eq!(load.most_in_flight, 2);
    for client in 0..2 {
        let own: Vec<_> = load.sent.iter().filter(|sent| sent.client == client).collect();
        let turns: Vec<_> = own.iter().map(|sent| (sent.conversation, sent.turn)).collect();
        let (first, second) = (client, client + 2);
        assert_eq!(turns, [(first, 0), (first, 1), (first, 2), (second, 0), (second, 1), (second, 2)]);
        assert!(
            own.windows(2).all(|pair| pair[1].at == pair[0].at + 100 * MS),
            "the next turn follows the answer at once"
        );
        assert_eq!(
            own.iter().map(|sent| sent.index).collect::<Vec<_>>(),
            (0..6).map(|n| n * 2 + u64::from(client)).collect::<Vec<_>>()
        );
    }
    assert_eq!(load.end, 1000 * MS + 600 * MS);
    assert_eq!(load.figures.conversations.done, 4);
    assert_eq!((load.figures.turns.measured, load.figures.turns.answered), (12, 12));
}

#[test]
fn the_live_answer_is_carried_over_byte_for_byte() {
    let odd = "ä€𝄞 \"quoted\"\\ \n\t\u{7f}\u{0}</s> ";
    let mut answer = |sent: &Sent| (Status::Ok, Some(format!("{odd}{}", sent.turn).into_bytes()), MS);
    let load = lead(&settings(made(1, 1)), &mut answer);
    let messages = |sent: &Sent| sent.body["messages"].as_array().unwrap().clone();
    let roles = |sent: &Sent| messages(sent).iter().map(|m| m["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(roles(&load.sent[0]), ["user"]);
    assert_eq!(roles(&load.sent[2]), ["user", "assistant", "user", "assistant", "user"]);
    let last = messages(&load.sent[2]);
    assert_eq!(last[1]["content"], format!("{odd}0"));
    assert_eq!(last[3]["content"], format!("{odd}1"));
    assert_eq!(last[0], messages(&load.sent[0])[0]);
    assert_eq!(last[2], messages(&load.sent[1])[2]);
    // Each body begins with the one before, so the server finds the history in its cache.
    let shared = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let history = load.sent[1].raw.windows(2).position(|w| w == b"],").unwrap();
    assert_eq!(shared(&load.sent[1].raw, &load.sent[2].raw), history);
    // And what is written down is what was sent, with the last answer behind it.
    let line = &load.lines[0];
    assert_eq!((line.messages.len(), line.head.ended), (6, Why::Done));
    assert_eq!(line.messages[5].content, format!("{odd}2"));
    assert_eq!(line.messages[0].content, last[0]["content"].as_str().unwrap());
}

#[test]
fn an_answer_that_is_no_text_is_repaired_and_counted() {
    let mut answer = |_: &Sent| (Status::Ok, Some(vec![b'a', 0xFF, b'b']), MS);
    let load = lead(&settings(made(1, 1)), &mut answer);
    assert_eq!(load.figures.answers_repaired, 3);
    assert_eq!(load.lines[0].messages[1].content, "a\u{FFFD}b");
}

#[test]
fn an_answer_without_visible_text_is_carried_over_as_empty() {
    let load = lead(&settings(made(1, 1)), &mut |_: &Sent| (Status::Short, None, MS));
    assert_eq!(load.sent[1].body["messages"][1], serde_json::json!({ "role": "assistant", "content": "" }));
}

#[test]
fn the_requests_of_a_line_say_when_and_how_much() {
    let load = lead(&settings(made(1, 1)), &mut plain);
    let request = &load.lines[0].requests[1];
    assert_eq!(
        (request.turn, request.request, request.phase.as_str(), request.status.as_str()),
        (1, 1, "measured", "ok")
    );
    assert_eq!((request.sent_s, request.first_token_s, request.end_s), (Some(0.1), Some(0.11), Some(0.2)));
    assert_eq!((request.input_tokens, request.output_tokens, request.cached_tokens), (Some(20), Some(4), Some(8)));
    assert_eq!((request.intended_s, request.answer.as_deref()), (None, None));
}

#[test]
fn active_conversations_take_turns() {
    let chat = Conversations { max_active: Some(2), ..made(1, 3) };
    let load = lead(&settings(chat), &mut plain);
    assert_eq!(
        plan(&load).iter().map(|(_, conversation, turn)| (*conversation, *turn)).collect::<Vec<_>>(),
        [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0), (2, 1), (2, 2)]
    );
}

#[test]
fn without_a_number_each_client_leads_three_conversations() {
    let chat = Conversations { max_active: None, ..made(2, 12) };
    let load = lead(&settings(chat), &mut plain);
    let own: Vec<_> = load.sent.iter().filter(|sent| sent.client == 0).map(|sent| sent.conversation).collect();
    assert_eq!(own[..6], [0, 2, 4, 0, 2, 4]);
}

#[test]
fn random_sampling_chooses_by_the_seed() {
    let chat =
        Conversations { max_active: Some(4), sampling: Sampling::Random, turns: Lengths::Fixed(6), ..made(1, 8) };
    let first = lead(&settings(chat.clone()), &mut plain);
    let again = lead(&settings(chat.clone()), &mut plain);
    let other = lead(&Settings { seed: 8, ..settings(chat) }, &mut plain);
    assert_eq!(plan(&first), plan(&again));
    assert_ne!(plan(&first), plan(&other));
    let mut sorted = plan(&first);
    sorted.sort_unstable();
    let all: Vec<_> = (0..8).flat_map(|conversation| (0..6).map(move |turn| (0, conversation, turn))).collect();
    assert_eq!(sorted, all, "every turn is sent once");
    let chosen: Vec<_> = plan(&first).iter().take(12).map(|(_, conversation, _)| *conversation).collect();
    assert_ne!(chosen, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_whatever_the_answers_speed() {
    let chat = Conversations {
        turns: Lengths::Uniform(1, 5),
        isl: Lengths::Uniform(3, 30),
        max_active: Some(6),
        ..made(3, 12)
    };
    let run = |slow: Ns, seed: u64| {
        let mut answer = |sent: &Sent| {
            let (status, text, _) = plain(sent);
            (status, text, (1 + u64::from(sent.client) * slow) * MS)
        };
        let mut sent = lead(&Settings { seed, ..settings(chat.clone()) }, &mut answer).sent;
        sent.sort_by_key(|one| one.index);
        sent.into_iter().map(|one| (one.index, one.client, one.conversation, one.turn, one.raw)).collect::<Vec<_>>()
    };
    assert_eq!(run(0, 1), run(50, 1));
    assert_ne!(run(0, 1), run(0, 2));
}

#[test]
fn requests_are_limited_over_all_clients() {
    let chat = Conversations { max_requests: Some(7), ..made(3, 30) };
    let load = lead(&settings(chat.clone()), &mut plain);
    let of = |client| load.sent.iter().filter(|sent| sent.client == client).count();
    assert_eq!([of(0), of(1), of(2)], [3, 2, 2]);
    assert_eq!((load.figures.conversations.done, load.figures.conversations.cut), (1, 2));
    assert_eq!(
        load.lines.iter().filter(|line| line.head.ended == Why::Cut).map(|line| line.head.not_sent).sum::<u32>(),
        2
    );
    // A turn that was built and never sent is no part of the history.
    assert!(load.lines.iter().all(|line| line.messages.len() == line.requests.len() * 2));
    let general = Settings { requests: Some(7), ..settings(Conversations { max_requests: None, ..chat }) };
    assert_eq!(lead(&general, &mut plain).sent.len(), 7);
}

#[test]
fn conversations_are_cut_at_the_greatest_number_of_turns_of_both_sides() {
    for (most, turns) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (99, 3)] {
        let load = lead(&settings(Conversations { max_turns: Some(most), ..made(1, 1) }), &mut plain);
        assert_eq!(load.sent.len(), turns, "--max-turns {most}");
        assert_eq!(load.figures.conversations.done, 1);
    }
}

#[test]
fn nothing_is_sent_after_the_time_is_up() {
    let chat = Conversations { count: None, ..made(2, 1) };
    let load = lead(&Settings { duration_s: Some(1.05), ..settings(chat) }, &mut plain);
    assert_eq!(load.sent.len(), 22);
    assert_eq!(load.sent.last().unwrap().at, 2000 * MS);
    assert_eq!(load.end, 2100 * MS);
    assert_eq!(load.figures.conversations.cut, 2);
}

#[test]
fn a_failed_turn_ends_its_conversation_and_another_takes_its_place() {
    let mut answer = |sent: &Sent| match (sent.conversation, sent.turn) {
        (0, 1) => (Status::Broken, Some(b"half an ans".to_vec()), 50 * MS),
        _ => plain(sent),
    };
    let load = lead(&settings(made(1, 2)), &mut answer);
    assert_eq!(
        plan(&load).iter().map(|(_, conversation, turn)| (*conversation, *turn)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    );
    assert_eq!((load.figures.conversations.failed, load.figures.conversations.done), (1, 1));
    assert_eq!((load.figures.turns.failed, load.figures.turns.not_sent, load.figures.turns.answered), (1, 1, 4));
    let line = &load.lines[0];
    assert_eq!((line.head.ended, line.head.not_sent, line.messages.len()), (Why::Failed, 1, 3));
    assert_eq!(line.messages[2].role, "user");
    assert_eq!(
        (line.requests[1].status.as_str(), line.requests[1].answer.as_deref()),
        ("stream-broken", Some("half an ans"))
    );
    // The next one comes after a short pause.
    assert_eq!(load.sent[2].at - load.sent[1].at, 60 * MS);
}

#[test]
fn a_server_that_is_down_is_not_stormed() {
    let chat = Conversations { count: None, ..made(1, 1) };
    let load =
        lead(&Settings { duration_s: Some(10.0), ..settings(chat) }, &mut |_: &Sent| (Status::Connect, None, MS));
    // 10, 20, ... 640 ms and then one a second.
    assert!((15..=17).contains(&load.sent.len()), "{}", load.sent.len());
    assert_eq!(load.figures.turns.not_sent, 2 * load.sent.len() as u64);
}

#[test]
fn what_the_end_of_the_load_cancels_has_not_failed() {
    let load = lead(&settings(made(1, 1)), &mut |_: &Sent| (Status::Cancelled, None, MS));
    assert_eq!((load.figures.conversations.cut, load.figures.conversations.failed), (1, 0));
}

/// Issue 34: a model whose thinking ate its tokens left empty messages in the history, and nobody was told.
#[test]
fn answers_without_text_are_counted_and_named_with_what_the_history_holds() {
    let load = lead(&settings(made(1, 2)), &mut |sent: &Sent| {
        let text = if sent.conversation == 0 { "" } else { "an answer" };
        (Status::Ok, Some(text.into()), MS)
    });
    assert_eq!((load.figures.turns.answered, load.figures.turns.without_text), (6, 3));
    assert_eq!((load.figures.conversations.done, load.figures.turns.failed), (2, 0));
    // The last of the three is in no history.
    assert_eq!(load.figures.turns.empty_history, 2);
    let note = load.figures.empty_answers().unwrap();
    let said = "3 of 6 answers have no visible text, so the history holds 2 empty assistant messages";
    assert!(note.starts_with(said), "{note}");
    assert_eq!(lead(&settings(made(1, 1)), &mut plain).figures.empty_answers(), None);
    let mut joined = load.figures.clone();
    joined.join(&load.figures);
    assert_eq!((joined.turns.without_text, joined.turns.empty_history), (6, 4));
    // A conversation of one turn has no history.
    let single = Conversations { turns: Lengths::Fixed(1), ..made(1, 1) };
    let load = lead(&settings(single), &mut |_: &Sent| (Status::Ok, Some(Vec::new()), MS));
    assert_eq!((load.figures.turns.answered, load.figures.turns.empty_history), (1, 0));
    let note = load.figures.empty_answers().unwrap();
    assert!(note.starts_with("1 of 1 answer has no visible text. Give answers more tokens"), "{note}");
}

#[test]
fn a_warm_up_step_sends_every_first_turn_before_anything_is_measured() {
    let chat = Conversations { warmup_step: true, max_active: Some(4), ..made(2, 6) };
    let load = lead(&settings(chat), &mut plain);
    let (warm, measured): (Vec<_>, Vec<_>) = load.sent.iter().partition(|sent| sent.phase == Phase::Warmup);
    assert_eq!(warm.len(), 6);
    assert!(warm.iter().all(|sent| sent.turn == 0));
    let ready = warm.iter().map(|sent| sent.at).max().unwrap() + 100 * MS;
    assert!(measured.iter().all(|sent| sent.turn > 0 && sent.at >= ready));
    assert_eq!(measured.len(), 12);
    assert_eq!(load.figures.turns.warmup, 6);
    assert_eq!((load.figures.first_turn.ttft_ms.n, load.figures.later_turns.ttft_ms.n), (0, 12));
    // Live answers of the warm-up are carried over too.
    let second = measured.iter().find(|sent| sent.conversation == 3 && sent.turn == 1).unwrap();
    assert_eq!(second.body["messages"][1]["content"], "answer 3.0");
    let own: Vec<_> = measured.iter().filter(|sent| sent.client == 0).map(|sent| sent.conversation).collect();
    assert_eq!(own, [0, 2, 0, 2, 4, 4]);
    let indices: std::collections::BTreeSet<_> = load.sent.iter().map(|sent| sent.index).collect();
    assert_eq!(indices.len(), load.sent.len(), "no place in the plan is taken twice");
}

#[test]
fn conversations_of_one_turn_are_over_after_the_warm_up_step() {
    let chat = Conversations { warmup_step: true, turns: Lengths::Fixed(1), ..made(1, 3) };
    let load = lead(&settings(chat), &mut plain);
    assert_eq!((load.figures.turns.warmup, load.figures.turns.measured), (3, 0));
    assert_eq!(load.figures.conversations.done, 3);
}

#[test]
fn what_fails_in_the_warm_up_step_is_left_out_of_the_measured_part() {
    let chat = Conversations { warmup_step: true, ..made(1, 2) };
    let mut answer = |sent: &Sent| match (sent.conversation, sent.turn) {
        (0, 0) => (Status::Http, None, MS),
        _ => plain(sent),
    };
    let load = lead(&settings(chat), &mut answer);
    assert_eq!(plan(&load).iter().map(|one| (one.1, one.2)).collect::<Vec<_>>(), [(0, 0), (1, 0), (1, 1), (1, 2)]);
}

/// Issue 34: clients of conversations asked again after 10 ms whatever the server asked for.
#[test]
fn a_client_whose_turn_failed_waits_like_a_place_of_any_closed_loop() {
    let waits = |settings: &Settings, status: Status| {
        let load = lead(settings, &mut |_: &Sent| (status, None, MS));
        let own: Vec<Ns> = load.sent.iter().filter(|sent| sent.client == 0).map(|sent| sent.at).collect();
        let waits: Vec<Ns> = own.windows(2).map(|pair| (pair[1] - pair[0]) / MS - 1).collect();
        (waits, load.sent.len())
    };
    // Ten conversations of two clients: each of them goes to its end, since the first turn fails.
    let plain = settings(made(2, 10));
    assert_eq!(waits(&plain, Status::Http), (vec![5000; 4], 10));
    assert_eq!(waits(&plain, Status::Connect), (vec![10, 20, 40, 80], 10));
    // One that ran into its time limit has taken its time.
    assert_eq!(waits(&plain, Status::Timeout), (vec![0; 4], 10));
    let short = Settings { timeout_s: 2.0, ..plain.clone() };
    assert_eq!(waits(&short, Status::Http), (vec![2000; 4], 10));
    // The wait ends with the load: nobody comes back after it.
    let over = Settings { duration_s: Some(12.0), ..plain.clone() };
    assert_eq!(waits(&over, Status::Http), (vec![5000; 2], 6));
    let given_up = Settings { max_errors: Some(4), ..plain };
    assert_eq!(waits(&given_up, Status::Http), (vec![5000], 4));
}

#[test]
fn a_rate_gives_each_client_poisson_times_of_its_own() {
    let chat = Conversations { request_rate: Some(5.0), turns: Lengths::Fixed(1), ..made(2, 800) };
    let load = lead(&settings(chat.clone()), &mut |sent: &Sent| (plain(sent).0, plain(sent).1, MS));
    let mut both = Vec::new();
    for client in 0..2 {
        let own: Vec<_> = load.sent.iter().filter(|sent| sent.client == client).collect();
        let intended: Vec<Ns> = own.iter().map(|sent| sent.intended.unwrap()).collect();
        assert!(own.iter().all(|sent| sent.at >= sent.intended.unwrap()));
        let mean = (intended[399] - 1000 * MS) as f64 / 400.0 / 1e9;
        assert!((mean / 0.2 - 1.0).abs() < 0.15, "mean gap {mean} s");
        both.push(intended);
    }
    assert_ne!(both[0], both[1]);
    let again = lead(&settings(chat), &mut |sent: &Sent| (plain(sent).0, plain(sent).1, 37 * MS));
    let intended: Vec<Ns> =
        again.sent.iter().filter(|sent| sent.client == 0).map(|sent| sent.intended.unwrap()).collect();
    assert_eq!(intended, both[0], "the plan does not depend on the server");
    assert!((load.figures.clients[0].rate_req_s.unwrap() / 5.0 - 1.0).abs() < 0.15);
}

#[test]
fn a_turn_that_had_to_wait_for_the_answer_before_it_keeps_its_intended_time() {
    let chat = Conversations { request_rate: Some(100.0), ..made(1, 1) };
    let load = lead(&settings(chat), &mut plain);
    assert!(load.sent[1].intended.unwrap() < load.sent[0].at + 100 * MS);
    assert_eq!(load.sent[1].at, load.sent[0].at + 100 * MS);
}

#[test]
fn machines_split_the_plan_without_a_gap_or_a_repeat() {
    let chat = Conversations { isl: Lengths::Uniform(3, 20), ..made(4, 10) };
    let whole = lead(&settings(chat.clone()), &mut plain);
    let parts: Vec<_> = (0..2)
        .map(|rank| lead(&Settings { share: Share { rank, world: 2 }, ..settings(chat.clone()) }, &mut plain))
        .collect();
    for (rank, part) in (0..).zip(&parts) {
        assert!(part.sent.iter().all(|sent| sent.conversation % 2 == rank && sent.client % 2 == rank));
    }
    let key = |sent: &Sent| (sent.index, sent.client, sent.conversation, sent.turn, sent.raw.clone());
    let mut all: Vec<_> = parts.iter().flat_map(|part| part.sent.iter().map(key)).collect();
    let mut one: Vec<_> = whole.sent.iter().map(key).collect();
    all.sort();
    one.sort();
    assert!(all == one, "two machines send what one would");
}

#[test]
fn the_load_can_end_with_the_first_client_that_runs_out() {
    let chat = Conversations { early_stop: true, ..made(2, 3) };
    let load = lead(&settings(chat), &mut plain);
    // Client 0 has begun its second conversation when client 1 runs out. That turn is answered, and no other is sent.
    assert_eq!(load.sent.iter().filter(|sent| sent.conversation == 2).count(), 1);
    assert_eq!(load.figures.conversations.cut, 1);
    let all = lead(&settings(made(2, 3)), &mut plain);
    assert_eq!(all.sent.len(), 9);
}

#[test]
fn lengths_that_the_plan_wants_are_asked_for() {
    let load = lead(&settings(made(1, 1)), &mut plain);
    let asked: Vec<_> = load.sent.iter().map(|sent| sent.order.asked).collect();
    assert_eq!(asked[0].osl, Some(4));
    assert!(asked[0].exact);
    // Five words of the user a turn, four tokens an answer.
    assert_eq!(asked.iter().map(|asked| asked.isl).collect::<Vec<_>>(), [Some(5), Some(14), Some(23)]);
    assert_eq!(asked[0].isl_sent, None, "nothing estimated is called counted");
    assert_eq!(load.figures.lengths, "estimated");
    assert_eq!(load.sent[0].body["max_tokens"], 4);
    assert_eq!(load.sent[0].body["min_tokens"], 4);
    let limited = lead(&settings(Conversations { min_tokens: Some(1), max_tokens: Some(9), ..made(1, 1) }), &mut plain);
    assert_eq!(
        (&limited.sent[0].body["min_tokens"], &limited.sent[0].body["max_tokens"]),
        (&Value::from(1), &Value::from(9))
    );
    assert!(!limited.sent[0].order.asked.exact);
}

/// Counts exactly: a word is a token.
struct Words;

impl Texts for Words {
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> CountedText {
        Estimate.made(stream, tokens)
    }
    fn head(&mut self, text: &str, tokens: u32) -> CountedText {
        Estimate.head(text, tokens)
    }
    fn count(&mut self, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap()
    }
    fn exact(&self) -> bool {
        true
    }
}

#[test]
fn what_is_sent_is_counted_where_a_tokenizer_is_at_hand() {
    let settings = settings(made(1, 1));
    let parts = Parts {
        library: Library::read(&settings).unwrap(),
        texts: Box::new(Words),
        frame: Frame::new(&settings, "m", Exact::Auto),
        request_ids: "sb".to_owned(),
        log: None,
        print: None,
    };
    let load = lead_with(&settings, parts, &Shared::default(), &Shared::default(), &mut plain);
    // Five words of the user a turn and two of "answer 0.1".
    let asked: Vec<_> = load.sent.iter().map(|sent| sent.order.asked.isl_sent).collect();
    assert_eq!(asked, [Some(5), Some(12), Some(19)]);
    assert_eq!(load.figures.lengths, "counted");
}

#[test]
fn prefixes_are_shared_by_all_or_by_none() {
    let chat = Conversations { common_prefix: Lengths::Fixed(30), own_prefix: Lengths::Fixed(20), ..made(1, 2) };
    for cache in [Cache::Natural, Cache::Cold] {
        let load = lead(&Settings { cache, ..settings(chat.clone()) }, &mut plain);
        let first = |conversation: u32| {
            let sent = load.sent.iter().find(|sent| sent.conversation == conversation && sent.turn == 0).unwrap();
            sent.body["messages"][0]["content"].as_str().unwrap().to_owned()
        };
        let (a, b) = (first(0), first(1));
        let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let nonces = if cache == Cache::Cold { 1 } else { 0 };
        let words = a[..shared].split_whitespace().count() - nonces;
        assert!((30..=32).contains(&words), "{words} words shared under {cache:?}");
        let later = load.sent.iter().find(|sent| sent.turn == 1).unwrap();
        assert!(
            !later.body["messages"][2]["content"].as_str().unwrap().contains('['),
            "a nonce heads the first turn alone"
        );
        assert_eq!(load.sent[0].order.asked.isl, Some(55));
    }
}

#[test]
fn a_cold_cache_sets_loads_apart_and_nothing_else() {
    let cold = |nonce| {
        let load = lead(&Settings { cache: Cache::Cold, nonce, ..settings(made(1, 1)) }, &mut plain);
        load.sent[0].body["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    let (a, b) = (cold(1), cold(2));
    assert_eq!(a, cold(1));
    assert_ne!(a[..10], b[..10]);
    assert_eq!(a.rsplit(' ').next(), b.rsplit(' ').next());
}

#[test]
fn recorded_conversations_are_led_with_live_answers() {
    let chat = Conversations {
        input: ConversationInput::File(fixture("messages.json")),
        max_active: Some(1),
        ..Conversations::default()
    };
    let load = lead(&settings(chat), &mut plain);
    assert_eq!(load.sent.len(), 5);
    let third = load.sent[2].body["messages"].as_array().unwrap();
    assert_eq!(third[0]["content"], "Why are there two high tides a day?");
    assert_eq!(third[1]["content"], "answer 0.0", "the live answer, not the recorded one");
    assert_eq!(load.sent[2].body.get("max_tokens"), None, "the last question has no recorded answer, so no length");
    // 95 bytes of answer, by the rule of thumb.
    assert_eq!(load.sent[0].body["max_tokens"], 24);
    assert_eq!(load.sent[3].body["messages"][0]["role"], "system");
    assert_eq!(load.sent[3].order.asked.isl, None);
    assert_eq!(load.lines[0].head.id, "tides");
}

#[test]
fn recorded_answers_can_be_carried_over_instead() {
    let chat = Conversations {
        input: ConversationInput::File(fixture("messages.json")),
        max_active: Some(1),
        recorded_answers: true,
        ..Conversations::default()
    };
    let load = lead(&settings(chat), &mut plain);
    assert!(load.sent[1].body["messages"][1]["content"].as_str().unwrap().starts_with("Because the Earth turns"));
    assert_eq!(load.lines[0].requests[0].answer.as_deref(), Some("answer 0.0"));
}

#[test]
fn what_was_written_down_can_be_led_again() {
    let chat = Conversations {
        input: ConversationInput::File(fixture("sharegpt.jsonl")),
        max_active: Some(1),
        ..Conversations::default()
    };
    let library = Library::read(&settings(chat.clone())).unwrap();
    assert_eq!(library.count(), Some(2));
    assert_eq!(library.notes().len(), 2, "{:?}", library.notes());
    let first = lead(&settings(chat.clone()), &mut plain);
    let folder = sparkbench_testing::Folder::new("chat");
    let path = folder.join("conversations.jsonl");
    let lines: Vec<String> = first
        .lines
        .iter()
        .map(|line| {
            let messages: Vec<_> =
                line.messages.iter().map(|m| serde_json::json!({ "role": m.role, "content": m.content })).collect();
            serde_json::json!({ "id": line.head.id, "conversation": 0, "messages": messages, "requests": [] })
                .to_string()
        })
        .collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let again = lead(&settings(Conversations { input: ConversationInput::File(path), ..chat }), &mut plain);
    let bodies = |load: &Load| load.sent.iter().map(|sent| sent.body["messages"].clone()).collect::<Vec<_>>();
    assert_eq!(bodies(&first), bodies(&again));
}

#[test]
fn a_generation_file_makes_its_conversations_of_its_text() {
    let chat = Conversations {
        input: ConversationInput::File(fixture("generate.json")),
        clients: 2,
        ..Conversations::default()
    };
    let load = lead(&settings(chat), &mut plain);
    let ends: Vec<_> = load.lines.iter().map(|line| line.head.planned_turns).collect();
    assert_eq!(ends.len(), 6);
    assert!(
        ends.iter().all(|turns| [2, 3].contains(turns)),
        "3 to 6 turns of both sides are 2 or 3 of the user: {ends:?}"
    );
    let corpus = std::fs::read_to_string(fixture("corpus.txt")).unwrap();
    let first = load.lines[0].messages[0].content.clone();
    assert!(first.starts_with(&corpus[..80]), "20 tokens of the text's beginning are shared: {first}");
    assert!(load.lines.iter().all(|line| line.messages[0].content.starts_with(&corpus[..80])));
    assert!(load.sent.iter().all(|sent| (4..=6).contains(&sent.body["max_tokens"].as_u64().unwrap())));
}

#[test]
fn a_text_is_cut_into_turns() {
    let chat = Conversations { input: ConversationInput::Texts(vec![fixture("corpus.txt")]), ..made(1, 2) };
    let load = lead(&settings(chat), &mut plain);
    let text = std::fs::read_to_string(fixture("corpus.txt")).unwrap();
    // What reaches its end goes on at its beginning.
    let corpus = format!("{}\n\n{}", text.trim(), text.trim());
    for line in &load.lines {
        for message in line.messages.iter().filter(|message| message.role == "user") {
            assert!(corpus.contains(message.content.trim()), "{} is not of the text", message.content);
        }
    }
}

#[test]
fn every_kind_of_input_is_recognised() {
    assert_eq!(recognise(&fixture("messages.json")).unwrap(), ConversationInput::File(fixture("messages.json")));
    assert_eq!(recognise(&fixture("sharegpt.jsonl")).unwrap(), ConversationInput::File(fixture("sharegpt.jsonl")));
    assert_eq!(recognise(&fixture("generate.json")).unwrap(), ConversationInput::Generate(fixture("generate.json")));
    assert_eq!(recognise(&fixture("corpus.txt")).unwrap(), ConversationInput::Texts(vec![fixture("corpus.txt")]));
    assert!(recognise(&fixture("nothing.json")).unwrap_err().to_string().contains("cannot read"));
}

#[test]
fn content_is_printed_where_it_is_asked_for() {
    let chat = Conversations { print_content: true, turns: Lengths::Fixed(1), ..made(1, 1) };
    let load = lead(&settings(chat), &mut |_: &Sent| (Status::Ok, Some(b"red \x1b[31m".to_vec()), MS));
    assert!(load.printed.starts_with("== conversation-0, turn 1, client 0 ==\nuser: "), "{}", load.printed);
    assert!(load.printed.ends_with("\nassistant (ok, 4 tokens): red \u{FFFD}[31m\n"), "{}", load.printed);
    assert_eq!(lead(&settings(made(1, 1)), &mut plain).printed, "");
}

#[test]
fn the_figures_tell_first_turns_from_later_ones() {
    let load = lead(&settings(made(2, 4)), &mut plain);
    let figures = &load.figures;
    assert_eq!((figures.first_turn.ttft_ms.n, figures.later_turns.ttft_ms.n), (4, 8));
    assert_eq!(
        figures.by_turn.iter().map(|turn| (turn.turn, turn.ttft_ms.n)).collect::<Vec<_>>(),
        [(1, 4), (2, 4), (3, 4)]
    );
    assert_eq!(figures.by_turn[1].ttft_ms.mean, Some(10.0));
    assert_eq!(
        figures.clients.iter().map(|client| (client.client, client.turns)).collect::<Vec<_>>(),
        [(0, 6), (1, 6)]
    );
    assert_eq!(figures.clients[0].rate_req_s, Some(10.0));
    let text = serde_json::to_value(figures).unwrap();
    assert_eq!(text["by_turn"][0]["cached_tokens"]["mean"], 8.0);
    assert_eq!(text["conversations"]["done"], 4);
}

#[test]
fn settings_that_do_not_go_together_are_all_named() {
    let chat = Conversations {
        clients: 4,
        max_active: Some(2),
        min_tokens: Some(9),
        max_tokens: Some(3),
        max_requests: Some(1),
        recorded_answers: true,
        ..Conversations::default()
    };
    let mut bad = Settings {
        cache: Cache::Primed,
        share: Share { rank: 0, world: 8 },
        token_ids: true,
        warmup: Some(1),
        ..settings(chat)
    };
    bad.cache = Cache::Primed;
    bad.extra_body.insert("messages".to_owned(), Value::Null);
    let said = Library::read(&bad).unwrap_err().to_string();
    for part in [
        "9 settings",
        "--max-active-conversations is 2",
        "8 machines",
        "--limit-min-tokens is 9",
        "--max-num-requests",
        "primed",
        "recorded",
        "\"messages\"",
        "token ids",
        "--warmup-step",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn made_conversations_need_an_end() {
    let endless = Conversations { count: None, ..made(1, 1) };
    assert!(Library::read(&settings(endless.clone())).unwrap_err().to_string().contains("--conversations"));
    assert!(Library::read(&Settings { duration_s: Some(1.0), ..settings(endless.clone()) }).is_ok());
    assert!(Library::read(&Settings { requests: Some(5), ..settings(endless.clone()) }).is_ok());
    let warm = Settings { duration_s: Some(1.0), ..settings(Conversations { warmup_step: true, ..endless }) };
    assert!(Library::read(&warm).unwrap_err().to_string().contains("needs their number"));
}

#[test]
fn a_text_file_that_is_missing_or_empty_is_named() {
    let chat = |input| settings(Conversations { input, ..made(1, 1) });
    let missing = Library::read(&chat(ConversationInput::Texts(vec![fixture("none.txt")]))).unwrap_err().to_string();
    assert!(missing.contains("cannot read") && missing.contains("none.txt"), "{missing}");
}

/// Keeps what the engine saw.
#[derive(Default)]
struct Kept(Vec<Record>);

impl crate::order::Sink for Kept {
    fn chunks(&mut self, _: u64, _: u32, _: &[crate::order::Chunk]) {}
    fn ended(&mut self, record: Record) {
        self.0.push(record);
    }
}

#[test]
fn over_real_sockets_each_turn_finds_the_one_before_in_the_servers_cache() {
    use crate::engine::{Control, Engine, Options};

    let mock = sparkbench_mock::start(sparkbench_mock::Settings { ttft_ns: MS, itl_ns: 100_000, ..Default::default() })
        .unwrap();
    let chat = Conversations { isl: Lengths::Fixed(40), osl: Lengths::Fixed(12), max_active: Some(6), ..made(3, 9) };
    let settings = settings(chat);
    let file = Shared::default();
    let parts = Parts {
        library: Library::read(&settings).unwrap(),
        texts: Box::new(Estimate),
        frame: Frame::new(&settings, "mock", Exact::MinTokens),
        request_ids: "sb".to_owned(),
        log: Some(Box::new(file.clone())),
        print: None,
    };
    let mut source = ChatSource::new(&settings, parts).unwrap();
    let target = crate::target::Target::parse(&mock.url()).unwrap();
    let engine = Engine::new(&target, &Options { timeout: 20_000 * MS, ..Options::default() }).unwrap();
    source.wake(engine.waker());
    let mut kept = Kept::default();
    engine.run(&mut source, &mut kept, &Control::default()).unwrap();
    let figures = source.finish().unwrap();
    mock.stop().unwrap();

    assert_eq!(kept.0.len(), 27);
    assert!(kept.0.iter().all(|record| record.status == Status::Ok), "{:?}", kept.0);
    assert_eq!((figures.conversations.done, figures.turns.answered), (9, 27));
    for record in &kept.0 {
        let turn = record.turn.unwrap().turn;
        let (input, cached) = (record.usage.input.unwrap(), record.usage.cached.unwrap_or_default());
        // Forty words of the user and twelve of each answer, and the template of the mock.
        let history = turn * (40 + 12);
        assert!(input >= history + 40, "turn {turn}: {input}");
        assert!(turn == 0 || cached >= (history - 12) / 16 * 16, "turn {turn}: {cached} of {input} cached");
    }
    let cached = |turns: &figures::TurnFigures| turns.cached_tokens.mean.unwrap_or_default();
    assert!(cached(&figures.later_turns) > cached(&figures.first_turn) + 30.0, "{figures:?}");
    let lines = read_lines(&file.text());
    assert_eq!(lines.len(), 9);
    assert!(
        lines.iter().all(|line| line.messages.len() == 6 && line.messages[1].content.split_whitespace().count() == 12)
    );
}
