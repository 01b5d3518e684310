//! Joins the shares of one load that several clients measured separately.
//!
//! In:  drafts, some of which are one client's share of a plan.  Out: drafts in which all shares of a plan are one run.
//! Not here: clients that were connected and are one load already (see `load::ranks`).
//!
//! Such clients were started by hand with `--rank` and `--world`, each with its own archive. They load at about the same time and know
//! nothing of each other. Their requests are pooled. Latencies stay as they are. Rates count from the first send of any client to the last
//! token of any, by the wall clocks of their machines. Percentiles of shares are never combined.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, Home};
use crate::Share;
use crate::file_report::FileReport;
use sparkbench_model::{Extra, ExtraValue, Instant, Span, Status};

/// Rates over the time of the whole load.
const RATES: [&str; 3] = ["request_throughput_req_s", "output_throughput_tok_s", "total_throughput_tok_s"];
/// Counts that add up.
const COUNTS: [&str; 2] = ["completed_requests", "failed_requests"];

/// Key of shares of the same load: plan, how many there are, the load's name.
type Key = (String, u32, Option<String>);

/// See the module. Campaigns of which nothing is left are taken out of `homes`.
pub(super) fn gather(drafts: Vec<Draft>, homes: &mut BTreeMap<String, Home>, report: &mut FileReport) -> Vec<Draft> {
    let mut loads: BTreeMap<Key, BTreeMap<u32, Vec<Draft>>> = BTreeMap::new();
    let mut rest = Vec::new();
    for draft in drafts {
        match &draft.partial.share {
            Some(share) => {
                let key = (share.plan.clone(), share.world, draft.partial.part.clone());
                loads.entry(key).or_default().entry(share.rank).or_default().push(draft);
            }
            None => rest.push(draft),
        }
    }
    let before: BTreeSet<String> =
        loads.values().flat_map(BTreeMap::values).flatten().map(|draft| draft.home.clone()).collect();
    for ((_, world, _), mut ranks) in loads {
        ranks
            .values_mut()
            .for_each(|own| own.sort_by_key(|draft| draft.partial.share.as_ref().and_then(|s| s.started)));
        let passes = ranks.values().map(Vec::len).max().unwrap_or(0);
        let whole = ranks.len() == world as usize && ranks.values().all(|own| own.len() == passes);
        if !whole {
            let here: Vec<String> = ranks.keys().map(u32::to_string).collect();
            for draft in ranks.into_values().flatten() {
                let why = format!(
                    "one client's share of a load by {world}: not put together, since of this plan there are the ranks {} alone",
                    here.join(", ")
                );
                report.warn(why.clone());
                report.note(draft.main, why);
                rest.push(draft);
            }
            continue;
        }
        for _ in 0..passes {
            let shares: Vec<Draft> = ranks.values_mut().map(|own| own.remove(0)).collect();
            rest.extend(together(shares, report));
        }
    }
    let after: BTreeSet<&String> = rest.iter().map(|draft| &draft.home).collect();
    for home in before.iter().filter(|home| !after.contains(home)) {
        homes.remove(home);
    }
    rest.sort_by_key(|draft| draft.main);
    rest
}

/// The shares of one pass, in order of their ranks, as one run.
fn together(shares: Vec<Draft>, report: &mut FileReport) -> Vec<Draft> {
    let windows: Option<Vec<(f64, f64)>> = shares.iter().map(window).collect();
    let Some(windows) = windows else {
        let why = "a share of a load is not put together with the others: one of them has no requests with times";
        shares.iter().for_each(|draft| report.note(draft.main, why.to_owned()));
        report.warn(why.to_owned());
        return shares;
    };
    let from = windows.iter().map(|(from, _)| *from).fold(f64::INFINITY, f64::min);
    let to = windows.iter().map(|(_, to)| *to).fold(f64::NEG_INFINITY, f64::max);
    let amount = |metric: &str| -> Option<f64> {
        let each = shares.iter().zip(&windows).map(|(draft, (from, to))| {
            let rate = draft.partial.readings.iter().find(|reading| reading.metric == metric)?.value;
            Some(rate * (to - from))
        });
        each.sum()
    };
    let rates: Vec<(&str, f64)> =
        RATES.iter().filter_map(|metric| Some((*metric, amount(metric)? / (to - from)))).collect();
    let count = |name: &str| -> f64 {
        let of = |extra: &Extra| extra.as_number().filter(|_| extra.name == name);
        shares.iter().filter_map(|draft| draft.partial.extras.iter().find_map(of)).sum()
    };
    let counts = COUNTS.map(|name| (name, count(name)));
    let mut shares = shares.into_iter();
    let Some(mut whole) = shares.next() else { return Vec::new() };
    let origin = begun(&whole.partial.share);
    // Of the other figures none adds up: they are those of one client.
    whole.partial.readings.retain(|reading| RATES.contains(&reading.metric.as_str()));
    for share in shares {
        let partial = share.partial;
        for series in partial.series {
            if let Some(own) = whole.partial.series.iter_mut().find(|own| own.metric == series.metric) {
                own.values.extend(series.values);
            }
        }
        let later = begun(&partial.share).zip(origin).map_or(0.0, |(theirs, ours)| theirs - ours);
        let moved = |span: Span| Span {
            sent_s: span.sent_s + later,
            first_token_s: span.first_token_s.map(|at| at + later),
            end_s: span.end_s.map(|at| at + later),
            ..span
        };
        whole.partial.course.requests.extend(partial.course.requests.into_iter().map(moved));
        if let (Some(Status::Failed(why)), Some(rank)) =
            (&partial.status, partial.share.as_ref().map(|share| share.rank))
            && !matches!(whole.partial.status, Some(Status::Failed(_)))
        {
            whole.partial.status = Some(Status::Failed(format!("client {rank}: {why}")));
        }
        whole.partial.setup.requests = whole.partial.setup.requests.zip(partial.setup.requests).map(|(a, b)| a + b);
        let rule = "it is another client's share of the same plan";
        whole.take(share.main, rule);
        share.others.iter().for_each(|(number, _)| whole.take(*number, rule));
    }
    for reading in &mut whole.partial.readings {
        if let Some((_, rate)) = rates.iter().find(|(metric, _)| *metric == reading.metric) {
            reading.value = *rate;
            reading.decimals = None;
        }
    }
    for extra in &mut whole.partial.extras {
        if let Some((_, sum)) = counts.iter().find(|(name, _)| *name == extra.name) {
            extra.value = ExtraValue::Number(*sum);
        }
    }
    let clients = whole.partial.share.as_ref().map_or(0, |share| share.world);
    report.note(whole.main, format!("the shares of {clients} clients of one plan, put together"));
    vec![whole]
}

/// When a load began, seconds on the wall clock.
fn begun(share: &Option<Share>) -> Option<f64> {
    share.as_ref()?.started.map(seconds)
}

fn seconds(at: Instant) -> f64 {
    at.0 as f64 / 1e9
}

/// First send and last token of a share, seconds on the wall clock.
fn window(draft: &Draft) -> Option<(f64, f64)> {
    let origin = begun(&draft.partial.share)?;
    let spans = &draft.partial.course.requests;
    let from = spans.iter().map(|span| span.sent_s).reduce(f64::min)?;
    let to = spans.iter().filter(|span| span.answered).filter_map(|span| span.end_s).reduce(f64::max)?;
    (to > from).then_some((origin + from, origin + to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartialRun;
    use sparkbench_model::{Origin, Reading, Series};

    /// A share that begins at a second of 1970 and has requests of a second each, one after the other.
    fn share(rank: u32, world: u32, plan: &str, begun: i64, requests: u32) -> Draft {
        let origin = Origin { file: format!("a{rank}"), line: None, field: None, rule: "test" };
        let spans: Vec<Span> = (0..requests)
            .map(|k| Span {
                sent_s: f64::from(k),
                first_token_s: Some(f64::from(k) + 0.5),
                end_s: Some(f64::from(k) + 1.0),
                answered: true,
            })
            .collect();
        let mut partial = PartialRun {
            share: Some(Share { rank, world, plan: plan.to_owned(), started: Some(Instant(begun * 1_000_000_000)) }),
            ..PartialRun::default()
        };
        partial.course.requests = spans;
        partial.setup.requests = Some(f64::from(requests));
        partial.series.push(Series {
            metric: "ttft_ms".into(),
            values: vec![f64::from(rank); requests as usize],
            origin: origin.clone(),
        });
        let reading = |metric: &str, value: f64| Reading {
            metric: metric.into(),
            value,
            decimals: Some(1),
            origin: origin.clone(),
        };
        partial.readings = vec![reading("request_throughput_req_s", 1.0), reading("itl_ms", 7.0)];
        Draft {
            partial,
            home: format!("a{rank}"),
            main: rank as usize,
            others: Vec::new(),
            together: None,
            shown_only: false,
        }
    }

    fn gathered(drafts: Vec<Draft>) -> (Vec<Draft>, Vec<String>, usize) {
        let mut homes: BTreeMap<String, Home> =
            drafts.iter().map(|draft| (draft.home.clone(), Home::default())).collect();
        let mut report = FileReport::new(&sparkbench_archive::Discovery::default(), &[]);
        let drafts = gather(drafts, &mut homes, &mut report);
        (drafts, report.warnings(), homes.len())
    }

    #[test]
    fn shares_of_one_plan_are_one_run_with_every_request_of_all() {
        // The second begins two seconds later, so the load lasts twelve seconds and not ten.
        let (drafts, warnings, homes) = gathered(vec![share(0, 2, "p", 100, 10), share(1, 2, "p", 102, 10)]);
        let [whole] = drafts.as_slice() else { panic!("{}", drafts.len()) };
        assert_eq!((warnings, homes), (Vec::<String>::new(), 1), "the other campaign has no run of its own");
        assert_eq!(whole.partial.setup.requests, Some(20.0));
        assert_eq!(whole.partial.series[0].values.len(), 20);
        let rates: Vec<(&str, f64)> = whole.partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(rates, [("request_throughput_req_s", 20.0 / 12.0)], "a figure of one share is none of the whole");
        assert_eq!(whole.partial.course.requests.iter().filter_map(|span| span.end_s).reduce(f64::max), Some(12.0));
        assert_eq!(whole.others[0].0, 1);
    }

    #[test]
    fn shares_of_other_plans_or_with_one_missing_stay_apart_and_are_named() {
        let (drafts, warnings, homes) = gathered(vec![share(0, 2, "p", 100, 10), share(1, 2, "q", 100, 10)]);
        assert_eq!((drafts.len(), warnings.len(), homes), (2, 2, 2));
        assert!(warnings[0].contains("of this plan there are the ranks 0 alone"), "{warnings:?}");
        let (drafts, warnings, _) = gathered(vec![share(0, 3, "p", 100, 10), share(2, 3, "p", 100, 10)]);
        assert_eq!(drafts.len(), 2);
        assert!(warnings[0].contains("the ranks 0, 2 alone"), "{warnings:?}");
    }
}
