//! The same traps over the archives in `data/`, as the program reads them.

use super::*;

use sparkbench::verdict::Memory;
use sparkbench::{archive, ingest};

/// Reads one archive the way the program does, requests summed up.
fn archived(name: &str) -> (Vec<TrapReport>, Vec<(String, String)>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    let found = archive::discover(&[path]).expect("the archive is there");
    let mut intake = ingest::all(&found, &ingest::Options::default()).expect("the archive reads");
    Memory::none().derive(&mut intake.runs);
    let [campaign] = intake.campaigns.as_slice() else { panic!("one campaign") };
    let (facts, settings) = (facts(), settings());
    let case = lay_out(campaign, intake.runs.iter().collect(), &facts, &settings);
    let derived = case.derived().iter().map(|d| (d.column.clone(), d.rule.clone())).collect();
    (look(&case), derived)
}

/// Trap and model.
type Hit<'r> = (&'static str, Option<&'r str>);

fn fired_in(all: &[TrapReport], severity: Severity) -> BTreeSet<Hit<'_>> {
    all.iter()
        .filter(|r| r.status == TrapStatus::Fired && r.severity == severity)
        .map(|r| (r.id, r.subject.model.as_deref()))
        .collect()
}

#[test]
fn the_published_study_fails_on_the_models_that_never_ran() {
    let (all, derived) = archived("phase1");
    let expected = BTreeSet::from([
        ("weights-exceed-memory", Some("qwen72b")),
        ("decode-above-roofline", Some("qwen72b")),
        ("same-speed-unlike-models", Some("qwen72b")),
        ("memory-inconsistent", Some("qwen72b")),
        ("model-mismatch", Some("qwen72b")),
        ("model-mismatch", Some("gpt120b")),
    ]);
    assert_eq!(fired_in(&all, Severity::Error), expected);
    assert_eq!(
        derived,
        [
            (
                "request_throughput_req_s".to_owned(),
                "output_throughput_tok_s = 128 x request_throughput_req_s".to_owned()
            ),
            ("kv_cache_gib".to_owned(), "kv_cache_gib = 0.9 x (119.708 - peak_memory_gib)".to_owned()),
        ]
    );
}

#[test]
fn our_own_measurement_has_no_errors_and_its_workloads_share_launches_by_right() {
    let (all, derived) = archived("h200-chroot");
    assert_eq!(fired_in(&all, Severity::Error), BTreeSet::new());
    for id in ["duplicate-runs", "runs-overlap", "order-not-interleaved", "run-count", "missing-metric"] {
        assert!(of(&all, id).iter().all(|r| r.status == TrapStatus::Passed), "{id}");
    }
    assert!(of(&all, "clock-unstable").iter().all(|r| r.status == TrapStatus::Passed), "1,972 and 1,973 MHz");
    assert!(of(&all, "throttled").iter().all(|r| r.status == TrapStatus::NotEvaluated), "no reasons were asked for");
    assert!(
        derived.iter().any(|(column, _)| column == "output_throughput_tok_s"),
        "throughput is batch x tokens over latency: {derived:?}"
    );
}
