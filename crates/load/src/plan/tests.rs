//! Plans: order of access, phases, shares, bytes.

use std::path::PathBuf;
use std::sync::Arc;

use super::prompts::Prompts;
use super::trace::Trace;
use super::*;
use crate::settings::{Arrival, Prefix, Ramp, Work};

fn open(rate: f64) -> Settings {
    Settings {
        shape: Shape::Open { rate, arrival: Arrival::Poisson, max_concurrency: None },
        work: Work::Synthetic {
            isl: Lengths::Uniform(100, 200),
            osl: Lengths::LogNormal(64.0, 16.0, 1, 512),
            prefix: Prefix { tokens: 32, groups: 3 },
        },
        requests: Some(2_500),
        warmup: Some(5),
        ..Settings::default()
    }
}

fn plan(settings: &Settings) -> Plan {
    Plan::new(settings, &PlanInput::default()).unwrap()
}

fn text(plan: &Plan, entry: &Entry) -> String {
    let PromptSpec::Made { head, own } = entry.prompt else { panic!("made text") };
    let mut out = String::new();
    let isl = entry.isl.unwrap();
    let headed = plan.write_head(head, isl, &|tokens| tokens, &mut out);
    plan.write_text(own, isl - headed, &mut out);
    out
}

#[test]
fn an_entry_is_the_same_in_whatever_order_it_is_asked_for() {
    let settings = open(20.0);
    let (one, other) = (plan(&settings), plan(&settings));
    let all: Vec<Entry> = one.entries(0).collect();
    assert_eq!(all.len(), 2_505);
    for i in (0..2_505).rev().step_by(97) {
        assert_eq!(other.entry(i), Some(all[i as usize]), "{i}");
    }
    assert_eq!(other.entries(1_700).next(), Some(all[1_700]));
    assert_eq!(one.entry(2_505), None);
    assert!(all[5..].windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn phases_follow_and_warm_up_with_prompts_of_their_own() {
    let settings = Settings { cache: Cache::Primed, requests: Some(20), ..open(5.0) };
    let plan = plan(&settings);
    let all: Vec<Entry> = plan.entries(0).collect();
    let phases: Vec<Phase> = all.iter().map(|entry| entry.phase).collect();
    assert_eq!(phases, [[Phase::Warmup; 5].as_slice(), &[Phase::Prime; 20], &[Phase::Measured; 20]].concat());
    assert!(all[..25].iter().all(|entry| entry.at.is_none()) && all[25..].iter().all(|entry| entry.at.is_some()));
    for j in 0..20 {
        assert_eq!(text(&plan, &all[5 + j]), text(&plan, &all[25 + j]), "each is primed with its own prompt");
        assert_eq!((all[5 + j].osl, all[5 + j].isl), (1, all[25 + j].isl));
    }
    let head = |text: &str| text.split(' ').take(32).collect::<Vec<_>>().join(" ");
    for warm in &all[..5] {
        assert!(all[25..].iter().all(|entry| head(&text(&plan, entry)) != head(&text(&plan, warm))));
    }
}

#[test]
fn shared_heads_are_the_same_bytes_and_what_follows_is_not() {
    let settings = open(5.0);
    let plan = plan(&settings);
    let texts: Vec<String> = plan.entries(5).take(9).map(|entry| text(&plan, &entry)).collect();
    let head = |i: usize| texts[i].split(' ').take(32).collect::<Vec<_>>().join(" ");
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(head(i), head(i % 3));
        assert!(text.starts_with(&head(i % 3)));
    }
    assert_ne!(head(0), head(1));
    let rest: std::collections::HashSet<String> =
        texts.iter().map(|text| text.split(' ').skip(32).take(4).collect()).collect();
    assert_eq!(rest.len(), 9, "the four words behind the head are the request's own");
    let other = Plan::new(&Settings { nonce: 1, ..settings }, &PlanInput::default()).unwrap();
    let again = text(&other, &other.entry(5).unwrap());
    assert!(!again.starts_with(&head(0)[..20]), "another load has other heads");
}

#[test]
fn no_two_cold_prompts_share_the_first_words() {
    let work = Work::Synthetic { isl: Lengths::Fixed(16), osl: Lengths::Fixed(1), prefix: Prefix::default() };
    let plan = plan(&Settings { work, requests: Some(5_000), warmup: Some(100), ..Settings::default() });
    let heads: std::collections::HashSet<String> = plan
        .entries(0)
        .map(|entry| text(&plan, &entry).split(' ').take(NONCE_WORDS as usize).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(heads.len(), 5_100);
}

#[test]
fn the_shares_of_all_clients_are_the_plan() {
    let settings = |rank| Settings { share: Share { rank, world: 3 }, ..open(20.0) };
    let mut all = Vec::new();
    for rank in 0..3 {
        let plan = plan(&settings(rank));
        all.extend(plan.entries(0).filter(|entry| plan.mine(entry.index)));
    }
    all.sort_by_key(|entry| entry.index);
    let whole = plan(&open(20.0));
    assert_eq!(all, whole.entries(0).collect::<Vec<_>>());
    assert_eq!(plan(&settings(2)).sha256(), whole.sha256());
}

#[test]
fn the_bytes_of_a_plan_are_those_of_the_golden_file() {
    let settings = Settings {
        requests: Some(8),
        warmup: Some(2),
        ramp: Some(Ramp { from: 1.0, over_s: 2.0, exponential: false }),
        ..open(4.0)
    };
    let mut bytes = Vec::new();
    plan(&settings).write_jsonl(&mut bytes).unwrap();
    let path = PathBuf::from(sparkbench_testing::ROOT).join("tests/golden/load/plan.jsonl");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(String::from_utf8(bytes).unwrap(), std::fs::read_to_string(path).unwrap());
    let other = Settings { nonce: 77, ..settings.clone() };
    assert_eq!(plan(&other).sha256(), plan(&settings).sha256(), "a nonce is not a part of the plan");
    assert_ne!(plan(&Settings { seed: 43, ..settings.clone() }).sha256(), plan(&settings).sha256());
    assert_ne!(
        plan(&Settings { requests: None, duration_s: Some(1.0), ..settings.clone() }).sha256(),
        plan(&settings).sha256()
    );
}

#[test]
fn a_trace_shares_its_blocks_and_keeps_its_times() {
    let lines = r#"{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [10, 11, 12]}
{"timestamp": 500, "input_length": 1300, "output_length": 6, "hash_ids": [10, 11, 13]}
{"timestamp": 500, "input_length": 600, "output_length": 7, "hash_ids": [20, 11]}
{"timestamp": 3000, "input_length": 700, "output_length": 8}"#;
    let input = PlanInput { trace: Some(Arc::new(Trace::parse("t", lines).unwrap())), ..PlanInput::default() };
    let shape = Shape::Trace { path: "t".into(), speed: 2.0, max_concurrency: None };
    let settings = Settings { shape, warmup: Some(1), ..Settings::default() };
    let plan = Plan::new(&settings, &input).unwrap();
    let all: Vec<Entry> = plan.entries(0).collect();
    assert_eq!(
        all.iter().map(|entry| entry.at).collect::<Vec<_>>(),
        [None, Some(0), Some(250_000_000), Some(250_000_000), Some(1_500_000_000)]
    );
    let texts: Vec<Vec<String>> =
        all.iter().map(|entry| text(&plan, entry).split(' ').map(str::to_owned).collect()).collect();
    assert_eq!(texts.iter().map(Vec::len).collect::<Vec<_>>(), [1100, 1100, 1300, 600, 700]);
    assert_eq!(texts[1][..1024], texts[2][..1024]);
    assert_ne!(texts[1][1024..1100], texts[2][1024..1100]);
    assert_eq!(texts[3][512..], texts[1][512..600], "a block has its text wherever it stands");
    assert_ne!(texts[0][..16], texts[1][..16], "the warm-up shares nothing");
    assert!(Plan::new(&Settings { requests: Some(5), ..settings }, &input).is_err());
}

#[test]
fn prompts_of_a_file_are_sent_once_and_the_first_ones_warm_up() {
    let lines = "{\"prompt\": \"a\", \"output_len\": 4}\n{\"prompt\": \"b\"}\n{\"prompt\": \"c\"}\n";
    let input = PlanInput { prompts: Some(Arc::new(Prompts::parse("p", lines).unwrap())), ..PlanInput::default() };
    let work = Work::Prompts { path: "p".into(), osl: Some(Lengths::Fixed(9)) };
    let settings = Settings { work, warmup: Some(1), cache: Cache::Natural, ..Settings::default() };
    let plan = Plan::new(&settings, &input).unwrap();
    let seen: Vec<_> = plan.entries(0).map(|entry| (entry.phase, entry.prompt, entry.osl, entry.isl)).collect();
    assert_eq!(
        seen,
        [
            (Phase::Warmup, PromptSpec::Line(0, None), 4, None),
            (Phase::Measured, PromptSpec::Line(1, None), 9, None),
            (Phase::Measured, PromptSpec::Line(2, None), 9, None)
        ]
    );
    let too_many = Plan::new(&Settings { requests: Some(3), ..settings.clone() }, &input).unwrap_err().to_string();
    assert!(too_many.contains("3 requests are asked for, but the file has 2"), "{too_many}");
    assert!(Plan::new(&Settings { warmup: Some(3), ..settings }, &input).is_err());
}

#[test]
fn a_warm_up_that_nobody_asked_for_leaves_all_prompts_of_a_file_to_be_measured() {
    let input = PlanInput { prompts: Some(Arc::new(Prompts::parse("p", "a\nb\n").unwrap())), ..PlanInput::default() };
    let work = Work::Prompts { path: "p".into(), osl: Some(Lengths::Fixed(9)) };
    let settings = Settings { work, warmup: None, shape: Shape::Closed { concurrency: 3 }, ..Settings::default() };
    let plan = Plan::new(&settings, &input).unwrap();
    let seen: Vec<_> = plan
        .entries(0)
        .map(|entry| match entry.prompt {
            PromptSpec::Line(line, Some(own)) => (entry.phase, line, own.purpose),
            other => panic!("{other:?}"),
        })
        .collect();
    let (warm, measured) = ((Phase::Warmup, Purpose::Warmup), (Phase::Measured, Purpose::Measured));
    let expected = [(warm, 0), (warm, 1), (warm, 0), (measured, 0), (measured, 1)];
    assert_eq!(seen, expected.map(|((phase, purpose), line)| (phase, line, purpose)));
}

#[test]
fn settings_that_make_no_plan_say_why() {
    let base = Settings { requests: Some(1), ..Settings::default() };
    let closed = |concurrency| Shape::Closed { concurrency };
    for (settings, why) in [
        (Settings::default(), "the load has no end"),
        (Settings { requests: Some(0), ..base.clone() }, "0 requests"),
        (Settings { shape: closed(0), ..base.clone() }, "0 requests at a time"),
        (Settings { share: Share { rank: 2, world: 2 }, ..base.clone() }, "client 2 of 2"),
        (Settings { shape: closed(3), share: Share { rank: 0, world: 4 }, ..base.clone() }, "cannot be shared"),
        (Settings { shape: open(0.0).shape, ..base.clone() }, "the rate is 0"),
        (Settings { ramp: Some(Ramp { from: 9.0, over_s: 1.0, exponential: false }), ..base.clone() }, "from 9 to 1"),
        (Settings { ramp: Some(Ramp { from: 0.0, over_s: 1.0, exponential: true }), ..base.clone() }, "from 0 to 1"),
        (Settings { cache: Cache::Primed, requests: None, duration_s: Some(1.0), ..base.clone() }, "needs a number"),
        (
            Settings {
                work: Work::Synthetic {
                    isl: Lengths::Fixed(9),
                    osl: Lengths::Fixed(8),
                    prefix: Prefix { tokens: 9, groups: 1 },
                },
                ..base.clone()
            },
            "leaves nothing",
        ),
        (
            Settings {
                work: Work::Synthetic {
                    isl: Lengths::Fixed(8),
                    osl: Lengths::Fixed(8),
                    prefix: Prefix { tokens: 9, groups: 1 },
                },
                ..base.clone()
            },
            "longer than a prompt",
        ),
        (
            Settings {
                work: Work::Synthetic { isl: Lengths::Fixed(0), osl: Lengths::Fixed(8), prefix: Prefix::default() },
                ..base.clone()
            },
            "ISL is 0",
        ),
    ] {
        let error = Plan::new(&settings, &PlanInput::default()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn lengths_of_warm_up_and_load_are_drawn_apart() {
    let plan = plan(&Settings { requests: Some(50), warmup: Some(50), ..open(5.0) });
    let isl = |first| plan.entries(first).take(50).map(|entry| entry.isl).collect::<Vec<_>>();
    assert_ne!(isl(0), isl(50));
    assert_eq!(plan.longest(), (Some(200), 512));
}

#[test]
fn a_distribution_without_an_end_is_as_long_as_what_is_drawn_from_it() {
    let settings = |requests: Option<u64>| Settings {
        work: Work::Synthetic {
            isl: Lengths::parse("lognormal:64,16").unwrap(),
            osl: Lengths::parse("normal:32,4").unwrap(),
            prefix: Prefix::default(),
        },
        requests,
        duration_s: Some(1.0),
        warmup: Some(3),
        ..Settings::default()
    };
    let longest = |settings: &Settings| Plan::new(settings, &PlanInput::default()).unwrap().longest();
    let bounded = settings(Some(500));
    let plan = Plan::new(&bounded, &PlanInput::default()).unwrap();
    let seen = plan.entries(0).fold((Some(0), 0), |most, entry| (most.0.max(entry.isl), most.1.max(entry.osl)));
    assert_eq!(longest(&bounded), seen);
    assert!(seen.0 < Some(300) && seen.1 < 64, "{seen:?}");
    assert_eq!(longest(&settings(None)), (Some(LONGEST), LONGEST));
}
