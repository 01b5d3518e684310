//! Texts of wanted lengths, with tokenizers made for the test.

use std::sync::Arc;

use super::*;
use crate::plan::{Entry, Plan, PlanInput, PromptSpec, TextWriter};
use crate::settings::{Lengths, Prefix, Settings, Work};

/// A word is a token.
const PLAIN: &str = r#"{"version": "1.0", "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
    "padding": null, "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null,
    "decoder": null, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "this": 1}, "unk_token": "[UNK]"}}"#;

/// A word is as many tokens as it has pieces between the letters e.
const UNEVEN: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
        {"type": "Split", "pattern": {"String": "e"}, "behavior": "MergedWithPrevious", "invert": false}]},
    "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}}"#;

fn plan(isl: u32, prefix: u32) -> Plan {
    let work = Work::Synthetic {
        isl: Lengths::Fixed(isl),
        osl: Lengths::Fixed(1),
        prefix: Prefix { tokens: prefix, groups: 1 },
    };
    Plan::new(&Settings { work, requests: Some(40), ..Settings::default() }, &PlanInput::default()).unwrap()
}

fn write(recipe: &Recipe, plan: &Plan, entry: &Entry) -> (String, Option<u32>) {
    let PromptSpec::Made { head, own } = entry.prompt else { panic!("made text") };
    let mut text = String::new();
    let sent = recipe.write(plan, head, own, entry.isl.unwrap(), &mut text).unwrap();
    (text, sent)
}

fn local(json: &str) -> Arc<dyn Counter> {
    Arc::new(Local::parse(json.as_bytes()).unwrap())
}

/// A server whose template costs eleven tokens.
fn gauge(counter: &dyn Counter) -> Gauge {
    let mut ask = |text: &str| Ok(counter.count(text)?.map(|tokens| tokens + 11));
    Gauge::take(TextWriter::new(1, 2), &mut ask).unwrap().unwrap()
}

#[test]
fn a_limit_that_the_file_sets_is_lifted() {
    assert_eq!(local(PLAIN).count("a b c d e f g h i j").unwrap(), Some(10));
    assert_eq!(local(PLAIN).ids("this x").unwrap(), Some(vec![1, 0]));
    assert!(Local::parse(b"{}").is_err());
}

#[test]
fn a_file_that_is_no_tokenizer_is_named() {
    let error = Local::read(std::path::Path::new("/nonexistent/tokenizer.json")).err().unwrap().to_string();
    assert!(
        error.contains("/nonexistent/tokenizer.json") && error.contains("beside the weights of the model"),
        "{error}"
    );
}

#[test]
fn words_of_one_token_need_no_counting() {
    let counter = local(PLAIN);
    let recipe = Recipe::new(Arc::clone(&counter), Some(&gauge(&*counter))).unwrap();
    assert_eq!((recipe.overhead(), recipe.tokens_per_word()), (Some(11), 1.0));
    let plan = plan(100, 30);
    for entry in plan.entries(0).take(5) {
        let (text, sent) = write(&recipe, &plan, &entry);
        assert_eq!((sent, counter.count(&text).unwrap()), (Some(89), Some(89)), "with the template it is a hundred");
    }
}

#[test]
fn uneven_words_are_corrected_until_they_fit() {
    let counter = local(UNEVEN);
    let recipe = Recipe::new(Arc::clone(&counter), None).unwrap();
    assert!(recipe.tokens_per_word() > 1.2 && recipe.overhead().is_none());
    let plan = plan(200, 64);
    let mut heads = std::collections::HashSet::new();
    for entry in plan.entries(0) {
        let (text, sent) = write(&recipe, &plan, &entry);
        assert_eq!(sent, counter.count(&text).unwrap());
        assert!(sent.unwrap().abs_diff(200) <= 1, "{sent:?}: within the tokens of one word");
        heads.insert(text.split(' ').take(recipe.words(64) as usize).collect::<Vec<_>>().join(" "));
    }
    assert_eq!(heads.len(), 1, "the shared head is not corrected");
}

#[test]
fn token_ids_are_exactly_as_many_as_asked_for() {
    let plan = plan(77, 0);
    for json in [PLAIN, UNEVEN] {
        let recipe = Recipe::new(local(json), None).unwrap();
        assert!(recipe.has_ids());
        for entry in plan.entries(0) {
            let PromptSpec::Made { head, own } = entry.prompt else { panic!("made text") };
            assert_eq!(recipe.ids(&plan, head, own, 77, &mut String::new()).unwrap().len(), 77);
        }
    }
}

#[test]
fn without_anything_known_nothing_is_said_of_what_was_sent() {
    let recipe = Recipe::unknown();
    let plan = plan(50, 0);
    let (text, sent) = write(&recipe, &plan, &plan.entry(0).unwrap());
    assert_eq!((text.split(' ').count(), sent, recipe.origin()), (50, None, Origin::Unknown));
    assert!(!recipe.has_ids());
}

#[test]
fn a_gauge_finds_the_template_and_says_how_well_it_fits() {
    let even = gauge(&*local(PLAIN));
    assert_eq!((even.overhead.round(), even.tokens_per_word), (11.0, 1.0));
    assert!(even.residual < 1e-9);
    let recipe = Recipe::new(Arc::new(even.clone()), Some(&even)).unwrap();
    assert_eq!((recipe.overhead(), recipe.origin()), (Some(11), Origin::Gauge));
    let plan = plan(50, 0);
    let (text, sent) = write(&recipe, &plan, &plan.entry(0).unwrap());
    assert_eq!((text.split(' ').count(), sent), (39, None), "a straight line is not a count");
    let uneven = gauge(&*local(UNEVEN));
    assert!(uneven.residual > 0.0 && uneven.tokens_per_word > 1.2);
    let silent = Gauge::take(TextWriter::new(1, 2), &mut |_| Ok(None)).unwrap();
    assert_eq!(silent, None, "a server without usage");
    let mut small = |text: &str| Ok(Some(text.split(' ').count() as u32 + 3).filter(|tokens| *tokens < 200));
    let small = Gauge::take(TextWriter::new(1, 2), &mut small).unwrap().unwrap();
    assert_eq!((small.points.len(), small.overhead.round()), (2, 3.0), "a server that takes only short texts");
    let constant = Gauge::take(TextWriter::new(1, 2), &mut |_| Ok(Some(9))).unwrap();
    assert_eq!(constant, None, "a count that does not grow");
}

#[test]
fn a_server_that_counts_is_not_asked_while_the_load_runs() {
    let counter = Server(|text: &str| Ok(text.split(' ').count() as u32));
    assert!(!counter.live() && counter.origin() == Origin::Server);
    let recipe = Recipe::new(Arc::new(counter), None).unwrap();
    let plan = plan(20, 0);
    assert_eq!(write(&recipe, &plan, &plan.entry(0).unwrap()).1, None);
}

#[test]
fn a_prompt_shorter_than_the_template_is_one_word() {
    let counter = local(PLAIN);
    let recipe = Recipe::new(Arc::clone(&counter), Some(&gauge(&*counter))).unwrap();
    let plan = plan(5, 0);
    assert_eq!(write(&recipe, &plan, &plan.entry(0).unwrap()).1, Some(1));
}
