//! What the engine alone reaches against a server: its error, its speed, its cost, without plan, files or statistics around it.
//!
//! In:  a server's address, streams at once (or `rate=R` requests a second), requests, tokens of each; the truth file of `sparkbench mock`.
//! Out: figures on standard output.
//! Not here: the measurement that users make (see `sparkbench load`).
//!
//! ```text
//! sparkbench mock --port 8765 --ttft-ms 50 --itl-ms 10 --truth truth.jsonl &
//! cargo run --release --no-default-features --features collect,examples --example load_floor -- http://127.0.0.1:8765 256 2560 128 truth.jsonl
//! ```

#[cfg(all(feature = "collect", target_os = "linux"))]
fn main() -> Result<(), sparkbench::error::Error> {
    floor::run()
}

#[cfg(not(all(feature = "collect", target_os = "linux")))]
fn main() {
    eprintln!("load is for Linux, with the feature 'collect'");
}

#[cfg(all(feature = "collect", target_os = "linux"))]
mod floor {
    use std::collections::HashMap;

    use sparkbench::error::Error;
    use sparkbench::host::net::{Ns, now};
    use sparkbench::load::engine::{Control, Engine, Options};
    use sparkbench::load::order::{Asked, Chunk, Next, Order, Record, Sink, Source};
    use sparkbench::load::target::Target;

    struct Orders {
        sent: u64,
        count: u64,
        tokens: u32,
        concurrency: usize,
        /// Time between two, in an open loop.
        gap: Option<Ns>,
        start: Ns,
    }

    impl Source for Orders {
        fn next(&mut self, now: Ns, in_flight: usize) -> Next {
            if self.sent == self.count {
                return Next::Done;
            }
            if self.start == 0 {
                self.start = now;
            }
            let intended = self.gap.map(|gap| self.start + self.sent * gap);
            match intended {
                Some(at) if at > now => return Next::At(at),
                None if in_flight >= self.concurrency => return Next::Wait,
                _ => {}
            }
            let (index, tokens) = (self.sent, self.tokens);
            self.sent += 1;
            let body = format!(
                "{{\"model\":\"mock\",\"messages\":[{{\"role\":\"user\",\"content\":\"{}\"}}],\"max_tokens\":{tokens},\
                 \"ignore_eos\":true,\"min_tokens\":{tokens},\"stream\":true,\"stream_options\":{{\"include_usage\":true}}}}",
                "word ".repeat(128)
            );
            Next::Send(Box::new(Order {
                index,
                intended,
                body: body.into_bytes(),
                request_id: format!("f{index}"),
                asked: Asked { osl: Some(tokens), exact: true, ..Asked::default() },
                ..Order::default()
            }))
        }

        fn ended(&mut self, _: Ns, _: &Record, _: Option<Vec<u8>>) {}
    }

    #[derive(Default)]
    struct Kept {
        records: Vec<Record>,
        chunks: u64,
    }

    impl Sink for Kept {
        fn chunks(&mut self, _: u64, _: u32, chunks: &[Chunk]) {
            self.chunks += chunks.len() as u64;
        }

        fn ended(&mut self, record: Record) {
            self.records.push(record);
        }
    }

    pub fn run() -> Result<(), Error> {
        let usage = || Error::usage("load_floor URL STREAMS|rate=R REQUESTS TOKENS [TRUTH]");
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [url, shape, count, tokens, rest @ ..] = arguments.as_slice() else { return Err(usage()) };
        let rate: Option<f64> = shape.strip_prefix("rate=").map(str::parse).transpose().map_err(|_| usage())?;
        let concurrency = if rate.is_some() { 64 } else { shape.parse().map_err(|_| usage())? };
        let (count, tokens) = (count.parse().map_err(|_| usage())?, tokens.parse().map_err(|_| usage())?);
        let target = Target::parse(url)?;
        let options = Options { preconnect: concurrency, streams: Some(concurrency as u64), ..Options::default() };
        let options = if rate.is_some() { Options { streams: None, ..options } } else { options };
        let gap = rate.map(|rate| (1e9 / rate) as Ns);
        let mut orders = Orders { sent: 0, count, tokens, concurrency, gap, start: 0 };
        let mut kept = Kept { records: Vec::with_capacity(count as usize), chunks: 0 };
        let began = now();
        let report = Engine::new(&target, &options)?.run(&mut orders, &mut kept, &Control::default())?;
        println!("opened ahead in {:.1} ms", (report.began - began) as f64 / 1e6);
        let wall = (report.ended - report.began) as f64 / 1e9;
        let tokens: u64 = kept.records.iter().map(|record| u64::from(record.usage.output.unwrap_or(0))).sum();
        let failed = kept.records.iter().filter(|record| !record.status.answered()).count();
        if let Some(record) = kept.records.iter().find(|record| !record.status.answered()) {
            println!("first failure: {:?} {:?}", record.status, record.error);
        }
        let answers = kept.records.len();
        println!(
            "{answers} answers, {failed} failed, {tokens} tokens, {} chunks in {wall:.3} s: {:.0} tok/s",
            kept.chunks,
            tokens as f64 / wall
        );
        println!(
            "cpu {:.4} s per 1,000 tokens; busy {:.3}; {} waits, {} reads; peak {:.1} MiB; run queue {:?} s; switches {}",
            report.cpu_s() / tokens as f64 * 1000.0,
            report.busy,
            report.waits,
            report.reads,
            report.usage_after.peak_rss_mib,
            report.run_queue_s(),
            report.usage_after.involuntary_switches - report.usage_before.involuntary_switches,
        );
        println!(
            "in flight {:.2} mean, {:.2} while sending, {} peak; opened {}, reused {}, resent {}; stamped {}, not {}",
            report.in_flight_mean.unwrap_or(0.0),
            report.in_flight_mean_sending.unwrap_or(0.0),
            report.in_flight_peak,
            report.opened,
            report.reused,
            report.resent,
            report.events_stamped,
            report.events_unstamped
        );
        for (name, times) in
            [("stalls", &report.stalls), ("read lag", &report.read_lag), ("schedule lag", &report.schedule_lag)]
        {
            let at = |share| times.value_at_quantile(share) as f64 / 1e6;
            println!(
                "{name}: mean {:.4}, p50 {:.4}, p99 {:.4}, max {:.4} ms",
                times.mean() / 1e6,
                at(0.5),
                at(0.99),
                at(1.0)
            );
        }
        if let [truth] = rest {
            println!("end the mock, so that it writes down the rest of its truths; then press Enter");
            let _ = std::io::stdin().read_line(&mut String::new());
            against(truth, &kept.records)?;
        }
        Ok(())
    }

    /// What we say minus what the server did, ms.
    fn against(path: &str, records: &[Record]) -> Result<(), Error> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::archive("cannot read the truth").because(error))?;
        let truths: HashMap<String, serde_json::Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|truth| Some((truth["id"].as_str()?.to_owned(), truth)))
            .collect();
        let (mut ttft, mut e2e, mut tpot) = (Vec::new(), Vec::new(), Vec::new());
        let mut missing = 0;
        for record in records.iter().filter(|record| record.status.answered()) {
            let figures = || {
                let truth = truths.get(&record.request_id)?;
                let (received, first, last) =
                    (truth["received_ns"].as_f64()?, truth["first_ns"].as_f64()?, truth["last_ns"].as_f64()?);
                let ours = (record.sent? as f64, record.first_token?.at() as f64, record.last_token?.at() as f64);
                let steps = f64::from(record.usage.output?) - 1.0;
                Some((
                    (ours.1 - ours.0) - (first - received),
                    (ours.2 - ours.0) - (last - received),
                    ((ours.2 - ours.1) - (last - first)) / steps.max(1.0),
                ))
            };
            match figures() {
                Some((a, b, c)) => {
                    ttft.push(a / 1e6);
                    e2e.push(b / 1e6);
                    tpot.push(c / 1e6);
                }
                None => missing += 1,
            }
        }
        for (name, mut errors) in [("TTFT", ttft), ("E2E", e2e), ("TPOT", tpot)] {
            errors.sort_by(f64::total_cmp);
            if let Some(last) = errors.len().checked_sub(1) {
                let at = |share: f64| errors[(last as f64 * share) as usize];
                println!(
                    "error of {name}: mean {:.4}, p1 {:.4}, p50 {:.4}, p99 {:.4}, max {:.4} ms",
                    errors.iter().sum::<f64>() / errors.len() as f64,
                    at(0.01),
                    at(0.5),
                    at(0.99),
                    errors[last]
                );
            }
        }
        println!("{missing} answers without a truth");
        Ok(())
    }
}
