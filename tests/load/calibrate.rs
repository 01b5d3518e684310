//! The engine, the store and the summary against the mock as a process of its own, joined to what the mock wrote down.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::Path;

use crate::support::folder::Folder;
use crate::support::machine::machine;
use crate::support::needs;
use sparkbench::error::Error;
use sparkbench::host::net::{self, Ns};
use sparkbench::load::calibrate::{self, Like};
use sparkbench::load::engine::{Control, Engine, Options};
use sparkbench::load::order::{Asked, Next, Order, Record, Source};
use sparkbench::load::settings::{Settings, Shape};
use sparkbench::load::store::{Store, Stored};
use sparkbench::load::summary::{Counted, Facts, Summary};
use sparkbench::load::target::Target;

const STREAMS: usize = 16;
const REQUESTS: u64 = 120;
const TOKENS: u32 = 24;
/// What a moment of the kernel may lie before its true one, ms. Its stamps are on the wall clock, which is read beside the monotonic one:
/// a pair may be a microsecond or two apart.
const STAMP_MS: f64 = 0.02;

/// A closed loop of equal requests.
struct Equal {
    next: u64,
    /// Member of the body that asks the mock for a shape.
    shape: &'static str,
}

impl Source for Equal {
    fn next(&mut self, _: Ns, in_flight: usize) -> Next {
        if self.next == REQUESTS {
            return Next::Done;
        }
        if in_flight >= STREAMS {
            return Next::Wait;
        }
        let index = self.next;
        self.next += 1;
        let body = format!(
            "{{\"model\":\"mock\",\"messages\":[{{\"role\":\"user\",\"content\":\"number {index}\"}}],\"stream\":true,\
             \"stream_options\":{{\"include_usage\":true}},\"max_tokens\":{TOKENS},\"min_tokens\":{TOKENS},\"ignore_eos\":true{}}}",
            self.shape
        );
        Next::Send(Box::new(Order {
            index,
            body: body.into_bytes(),
            request_id: format!("calibrate-{index}"),
            asked: Asked { osl: Some(TOKENS), exact: true, ..Asked::default() },
            ..Order::default()
        }))
    }

    fn ended(&mut self, _: Ns, _: &Record, _: Option<Vec<u8>>) {}
}

fn load(url: &str, folder: &Path, shape: &'static str) -> Result<Stored, Error> {
    let (mut sink, handle) = Store::begin(folder, net::now())?;
    let target = Target::parse(url)?;
    Engine::new(&target, &Options::default())?.run(&mut Equal { next: 0, shape }, &mut sink, &Control::default())?;
    handle.finish(sink)
}

fn count(stored: &mut Stored) -> Counted {
    let settings = Settings { shape: Shape::Closed { concurrency: STREAMS as u32 }, ..Settings::default() };
    Summary::count(Facts::of(&settings), stored).unwrap()
}

#[test]
fn every_token_of_the_mock_is_counted_and_its_times_are_those_it_wrote_down() {
    let folder = Folder::new("load-calibrate");
    let mut stored = None;
    let like = Like { ttft_ms: 20.0, itl_ms: 2.0, tokens_per_chunk: 1 };
    let found = calibrate::run(&machine(), folder.path(), like, Some(STREAMS as f64), |url| {
        stored = Some(load(url, folder.path(), "")?);
        Ok(())
    })
    .unwrap();
    eprintln!("{}\n{found:#?}", found.sentence());
    assert_eq!((found.requests, found.unmatched, found.tokens_missed), (REQUESTS, 0, 0));
    assert_eq!((found.faults_missed, found.faults_made_up), (0, 0));
    assert_eq!(found.itl_error_ms.n, REQUESTS * u64::from(TOKENS - 1));
    assert_eq!(found.chunk_error_ms.n, REQUESTS * u64::from(TOKENS));
    // How large an error is depends on what else the machine does (see `benches/README.md`). But nothing is there before it was sent.
    let least = |spread: calibrate::ErrorSpread| spread.min.unwrap();
    assert!(least(found.chunk_error_ms) >= -STAMP_MS, "a piece came before it was written: {found:?}");
    for whole in [found.ttft_error_ms, found.e2e_error_ms, found.user_ttft_error_ms] {
        assert_eq!(whole.n, REQUESTS);
        assert!(least(whole) >= -STAMP_MS, "a time is shorter than the server's own: {found:?}");
    }
    let counted = count(&mut stored.unwrap());
    let summary = &counted.summary;
    assert_eq!(
        (summary.completed, summary.failed, summary.output_tokens),
        (REQUESTS, 0, Some(REQUESTS * u64::from(TOKENS)))
    );
    assert_eq!(summary.itl_ms.n, REQUESTS * u64::from(TOKENS - 1), "{:?}", summary.itl_ms.absent);
    // The last token is due 23 gaps of 2 ms after the first. Whether the first was late is the machine's.
    assert!(summary.ttft_ms.min.unwrap() >= 20.0 - STAMP_MS && summary.e2e_latency_ms.min.unwrap() >= 66.0 - STAMP_MS);
    if counted.kernel_clock {
        assert!(found.user_ttft_error_ms.mean.unwrap() >= found.ttft_error_ms.mean.unwrap());
        assert!(found.read_lag_ratio.unwrap() > 0.0);
    }
}

#[test]
fn the_stated_read_lag_is_a_part_of_the_true_delay() {
    let folder = Folder::new("load-lag");
    let like = Like { ttft_ms: 20.0, itl_ms: 2.0, tokens_per_chunk: 1 };
    let found = calibrate::run(&machine(), folder.path(), like, Some(STREAMS as f64), |url| {
        load(url, folder.path(), "").map(|_| ())
    })
    .unwrap();
    let Some(ratio) = found.read_lag_ratio else { return needs::skip("this kernel stamps no packets") };
    // How large a part is the machine's: what holds the server up between writing a moment down and writing the bytes is no read lag.
    // A tenth is for the microsecond of the stamps, beside delays of ten and more.
    assert!(ratio > 0.0 && ratio <= 1.1, "stated over true: {ratio}");
}
